//! What the reader can do about something. Only the command knows its options, so it supplies the words.

use std::fmt;
use std::sync::Arc;

/// Something that the reader can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Resume the run of this number.
    Resume(i64),
    /// Interleave the programs that are compared.
    Interleave,
    /// Compare the programs by executions alone, without duets.
    CompareAlone,
    /// Make duets of programs that have none unasked.
    MakeDuets,
    /// State that the programs' setup commands are independent.
    IndependentSetups,
    /// See what a failing program prints, or accept its failures.
    Failures,
    /// Quiet the machine and measure again, or take more samples.
    QuietMachine,
    /// Take at least this number of samples.
    Samples(u32),
    /// Let the number of samples grow further, or quiet the machine.
    MoreForPrecision,
    /// Let leftover processes continue to run.
    LeaveRunning,
    /// Make a profile of this machine.
    LearnProfile,
    /// List the profiles of the store.
    ListProfiles,
    /// See whether daemons that are missing from the profile of this name ran in recent runs.
    CheckProfile(String),
    /// Choose s of check 2.
    Sigma,
    /// Set the factor of this name.
    SetFactor(String),
    /// Set all factors that can be set, and undo it later.
    SetFactors,
    /// See what is recommended of each factor, and why.
    ExplainFactors,
    /// Omit shorter periods of a trace.
    Threshold,
    /// Connect groups of builds by a gate between them.
    ConnectBuilds,
}

type HintWords = dyn Fn(&Hint) -> String + Send + Sync;

/// The words of hints, as the command gives them: a phrase such as ``resume with: `tare resume 3` ``, without a capital letter
/// at its beginning and without a period at its end. The default has no words, so that no hint is shown.
#[derive(Clone, Default)]
pub struct Hints(Option<Arc<HintWords>>);

impl Hints {
    /// Hints in the words of this function.
    pub fn new(words: impl Fn(&Hint) -> String + Send + Sync + 'static) -> Hints {
        Hints(Some(Arc::new(words)))
    }

    /// The phrase, if there are words.
    pub fn phrase(&self, hint: &Hint) -> Option<String> {
        self.0.as_ref().map(|words| words(hint))
    }

    /// A sentence to append to others, with a space before it; nothing without words.
    pub(crate) fn sentence(&self, hint: &Hint) -> String {
        let Some(phrase) = self.phrase(hint) else { return String::new() };
        let mut chars = phrase.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        format!(" {first}{}.", chars.as_str())
    }

    /// The phrase in parentheses, with a space before it; nothing without words.
    pub(crate) fn aside(&self, hint: &Hint) -> String {
        self.phrase(hint).map_or_else(String::new, |phrase| format!(" ({phrase})"))
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hints(…)" } else { "Hints(none)" })
    }
}

/// Equal if they are the same function.
impl PartialEq for Hints {
    fn eq(&self, other: &Hints) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_become_sentences_and_asides() {
        let hints = Hints::new(|hint| match hint {
            Hint::Resume(id) => format!("resume with: `x {id}`"),
            _ => "é".to_owned(),
        });
        assert_eq!(hints.sentence(&Hint::Resume(7)), " Resume with: `x 7`.");
        assert_eq!(hints.sentence(&Hint::Sigma), " É.");
        assert_eq!(hints.aside(&Hint::Resume(7)), " (resume with: `x 7`)");
        let none = Hints::default();
        assert_eq!((none.sentence(&Hint::Sigma), none.aside(&Hint::Sigma)), (String::new(), String::new()));
        assert!(none == Hints::default() && hints == hints.clone() && hints != none);
    }
}
