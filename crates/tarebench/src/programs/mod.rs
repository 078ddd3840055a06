//! The programs that a user names: strings and words, their parameters, names, hooks and shells.

pub mod command;
pub mod parameters;
pub mod request;
pub mod shell;
pub mod startable;

use std::borrow::Cow;
use tarebench_report::text::cut_middle;

/// A command in a message: its beginning and its end, if it is long.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    const COLUMNS: usize = 60;
    cut_middle(text, COLUMNS, "…")
}
