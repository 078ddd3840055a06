//! The words of hints.

use std::fmt;
use std::sync::Arc;
use tarebench_core::base::hint::Hint;

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

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The phrase, if there are words.
    pub fn phrase(&self, hint: &Hint) -> Option<String> {
        self.0.as_ref().map(|words| words(hint))
    }

    /// A sentence to append to others, with a space before it; nothing without words.
    pub fn sentence(&self, hint: &Hint) -> String {
        let Some(phrase) = self.phrase(hint) else { return String::new() };
        let mut chars = phrase.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        format!(" {first}{}.", chars.as_str())
    }

    /// The phrase in parentheses, with a space before it; nothing without words.
    pub fn aside(&self, hint: &Hint) -> String {
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
