//! The papers' studies: what they measured, measured here, beside the values that they printed.
//!
//! - [`data`]: what is measured and stored, its analyses, and the published tables.
//! - [`measure`]: measures a study, or computes it from stored runs.
//! - [`sheets`]: its tables, figures and sentences.
//! - [`commands`]: `tare study`.
#![forbid(unsafe_code)]

#[macro_use]
extern crate tarebench_cli;

pub mod commands;
pub mod data;
pub mod measure;
pub mod sheets;

use std::ffi::OsString;
use tarebench_cli::documents::kinds::add_kind;
use tarebench_cli::elsewhere::{Addition, PaperValues, with_paper_values};

/// `tare study`, for a command that has all others.
pub const ADDITION: Addition = commands::command::ADDITION;

/// Has the commands of this process know stored studies, and the values that papers printed.
pub fn know_studies() {
    add_kind(commands::kind::COMMANDS);
    with_paper_values(PaperValues {
        published: sheets::published::published_tables,
        published_text: sheets::published::published_text,
        published_curves: sheets::published_curves::add_published,
    });
}

/// Runs the command, as [`tarebench_cli::main`], with the studies.
pub fn main(arguments: Vec<OsString>) -> u8 {
    know_studies();
    tarebench_cli::main(arguments, &[ADDITION])
}
