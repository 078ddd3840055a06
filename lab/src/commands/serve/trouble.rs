//! Why a request has no answer.

use crate::server::LabError;
use tarebench::compare::stored::StoredCompareError;
use tarebench::documents::DocumentError;
use tarebench::store::StoreError;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::kind::PageError;

/// Reasons, each with a sentence for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is nothing of this name or number.
    NoSuch(String),
    /// The address asks for something that cannot be.
    Wrong(String),
    /// The database does not answer, or not as expected.
    Away(String),
    /// Too much is asked at once.
    Busy,
    /// It took too long.
    Slow,
    Failed(String),
}

impl Trouble {
    /// Whether the same may be answered later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Trouble::Away(_) | Trouble::Busy | Trouble::Slow)
    }

    /// HTTP status, heading and sentence.
    pub fn said(&self) -> (u16, &'static str, String) {
        match self {
            Trouble::NoSuch(text) => (404, "Not found", sentence(text)),
            Trouble::Wrong(text) => (400, "Bad request", sentence(text)),
            Trouble::Away(text) => (
                503,
                "The lab's database does not answer",
                format!("{} This page tries again by itself.", sentence(text)),
            ),
            Trouble::Busy => (
                503,
                "Busy",
                "Too many requests are in progress, or this is being computed. This page tries again by itself."
                    .to_owned(),
            ),
            Trouble::Slow => (504, "Too slow", "The answer took too long. The database may be overloaded.".to_owned()),
            Trouble::Failed(text) => (500, "Error", sentence(text)),
        }
    }
}

/// With a capital letter and a period.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

impl From<StoreError> for Trouble {
    fn from(e: StoreError) -> Trouble {
        use StoreError as S;
        match &e {
            S::NoSuch { .. } => Trouble::NoSuch(e.to_string()),
            S::AmbiguousRun { .. } => Trouble::Wrong(e.to_string()),
            _ => Trouble::Away(e.to_string()),
        }
    }
}

impl From<LabError> for Trouble {
    fn from(e: LabError) -> Trouble {
        match &e {
            LabError::NoSuchCampaign { .. } | LabError::NoSuchTask { .. } | LabError::NoSuchMachine { .. } => {
                Trouble::NoSuch(e.to_string())
            }
            LabError::AmbiguousCampaign { .. } => Trouble::Wrong(e.to_string()),
            // Also a database that is no lab: it may become one.
            _ => Trouble::Away(e.to_string()),
        }
    }
}

impl From<DocumentError> for Trouble {
    fn from(e: DocumentError) -> Trouble {
        match e {
            DocumentError::Store(e) => e.into(),
            other => Trouble::Failed(other.to_string()),
        }
    }
}

impl From<StoredCompareError> for Trouble {
    fn from(e: StoredCompareError) -> Trouble {
        match e {
            StoredCompareError::Store(e) => e.into(),
            other => Trouble::Wrong(other.to_string()),
        }
    }
}

impl From<PageError> for Trouble {
    fn from(e: PageError) -> Trouble {
        match e {
            PageError::Store(e) => e.into(),
            PageError::Other(e) => e.into(),
        }
    }
}

impl From<Failure> for Trouble {
    fn from(e: Failure) -> Trouble {
        match e.exit {
            Exit::Usage => Trouble::NoSuch(e.message),
            _ => Trouble::Failed(e.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_sentence() {
        assert_eq!(sentence("run 3 is not stored"), "Run 3 is not stored.");
        assert_eq!(sentence(""), ".");
        let (status, _, text) = Trouble::Away("connection refused".to_owned()).said();
        assert_eq!((status, text.as_str()), (503, "Connection refused. This page tries again by itself."));
    }
}
