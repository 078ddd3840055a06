//! What a user reads: terminal tables, JSON, CSV, Markdown, hyperfine's JSON.
//!
//! Everything here is a pure function of the typed report (and, for exports,
//! of the samples): no clock, no environment, no terminal is asked. Every
//! figure comes from [`tare_core::report`], so that all forms show the same.
//!
//! Strings that come from the machine or the user are shown through
//! [`text::shown`]; no control character of theirs reaches a terminal.
#![forbid(unsafe_code)]

pub mod bench;
pub mod clocks;
pub mod csv;
pub mod doctor;
mod grid;
pub mod hyperfine;
pub mod json;
pub mod list;
pub mod markup;
pub mod noise;
pub mod noise_bsp;
pub mod number;
mod page;
pub mod profile;
pub mod progress;
pub mod self_check;
pub mod study;
pub mod style;
pub mod svg;
pub mod table;
pub mod terminal;
pub mod text;
pub mod trace;
pub mod web;

/// Markdown tables; a short name for [`markup::markdown`].
pub mod markdown {
    pub use crate::markup::markdown as table;
}

/// A document could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The JSON writer failed.
    #[error("the JSON document could not be written: {0}")]
    Json(#[from] serde_json::Error),
    /// The CSV writer failed.
    #[error("the CSV table could not be written: {0}")]
    Csv(#[from] ::csv::Error),
    /// The writer given by the caller failed.
    #[error("the document could not be written: {0}")]
    Io(#[from] std::io::Error),
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
