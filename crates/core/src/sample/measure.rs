//! Which of a sample's times is meant.

use serde::{Deserialize, Serialize};

/// A quantity of a sample that is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    Pt,
    Et,
    Net,
}
