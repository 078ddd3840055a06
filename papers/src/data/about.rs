//! A study in words.

use serde::Serialize;

/// A study in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StudyAbout {
    /// Short name of the paper.
    pub paper: &'static str,
    /// Its tables and figures.
    pub shows: &'static str,
    /// The question that it answers.
    pub question: &'static str,
}

impl StudyAbout {
    /// `Does the NTP daemon make process times steadier? (EMP figure 10, table IV)`.
    pub fn line(&self) -> String {
        match self.paper.contains(',') {
            // Then each place says whose it is.
            true => format!("{} ({})", self.question, self.shows),
            false => format!("{} ({} {})", self.question, self.paper, self.shows),
        }
    }
}
