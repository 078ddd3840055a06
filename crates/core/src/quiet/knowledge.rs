//! What is known of a machine before the samples of a run are looked at.

use crate::quiet::data::{QuietCoefficients, QuietLevels};
use crate::quiet::levels::LevelHistory;
use serde::{Deserialize, Serialize};

/// Most other programs whose coefficients are kept with a run.
const MOST_OTHERS: usize = 32;

/// Nothing by default: then the levels are learned from the run's own samples, and the quietest state that these saw counts as
/// quiet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuietKnowledge {
    pub levels: Option<QuietLevels>,
    /// Not kept with a run.
    #[serde(skip)]
    pub history: Option<LevelHistory>,
    pub coefficients: Vec<QuietCoefficients>,
}

impl QuietKnowledge {
    /// What is kept with a run of these programs ([`crate::run::identity::program_identity`]), so that its result stays the same however
    /// much is learned later: their own coefficients, and of other programs the newest, without covariance and level, which
    /// only a program's own need.
    pub fn of_programs(&self, programs: &[String]) -> QuietKnowledge {
        let (mut kept, mut others): (Vec<_>, Vec<_>) =
            self.coefficients.iter().cloned().partition(|c| programs.contains(&c.program));
        others.sort_by(|a, b| b.fitted.cmp(&a.fitted).then_with(|| a.program.cmp(&b.program)));
        // Of several programs each is one of the others for the rest.
        others.truncate(MOST_OTHERS);
        others.iter_mut().for_each(|c| (c.covariance, c.level) = (None, None));
        kept.append(&mut others);
        QuietKnowledge { levels: self.levels.clone(), history: None, coefficients: kept }
    }
}
