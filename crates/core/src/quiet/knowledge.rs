//! What is known of a machine before the samples of a run are looked at.

use crate::quiet::data::{QuietCoefficients, QuietLevels};
use crate::quiet::levels::LevelHistory;

/// Nothing by default: then the levels are learned from the run's own samples, and the quietest state that these saw counts as
/// quiet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuietKnowledge {
    pub levels: Option<QuietLevels>,
    pub history: Option<LevelHistory>,
    /// Of all programs.
    pub coefficients: Vec<QuietCoefficients>,
}
