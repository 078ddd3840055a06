//! The choice of the undisturbed grain.

use clap::ValueEnum;
use tarebench::core::noise::undisturbed::UndisturbedRule;

/// By what slowdowns are divided. The default is the paper's; the others serve where the clock speed changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UndisturbedArg {
    /// The shortest phase, as in the paper
    Minimum,
    /// The most frequent duration: for machines whose clock speed changes, on which the minimum overstates slowdowns
    Mode,
    /// The length that the loop was calibrated to
    Calibration,
}

impl UndisturbedArg {
    pub fn rule(self) -> UndisturbedRule {
        match self {
            UndisturbedArg::Minimum => UndisturbedRule::Minimum,
            UndisturbedArg::Mode => UndisturbedRule::Mode,
            UndisturbedArg::Calibration => UndisturbedRule::Calibration,
        }
    }
}
