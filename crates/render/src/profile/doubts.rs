//! Why the cutoffs of a profile may not fit, in sentences.

use tarebench_core::base::hint::Hint;
use tarebench_core::profile::data::{Doubt, Profile};
use tarebench_report::hints::Hints;

/// The sentence of a doubt about the profile of this label (`build7@2`), and what to do.
pub fn sentence(label: &str, doubt: &Doubt, hints: &Hints) -> String {
    let new = || hints.sentence(&Hint::LearnProfile);
    match doubt {
        Doubt::OtherMachine => {
            format!("The profile {label} is of another machine; its cutoffs may not fit.{}", new())
        }
        Doubt::OtherKernel { profile, run } => {
            format!("The profile {label} was made with kernel {profile}, the run with {run}.{}", new())
        }
        Doubt::OtherCpus { profile, run } => {
            format!("The profile {label} was made with {profile} CPUs, the run with {run}.{}", new())
        }
        Doubt::Old { days } => {
            let name = Profile::parse_label(label).0.to_owned();
            format!("The profile {label} is {days} days old.{}", hints.sentence(&Hint::CheckProfile(name)))
        }
    }
}
