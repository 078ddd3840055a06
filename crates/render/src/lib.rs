//! What a user reads: terminal tables, JSON, CSV, Markdown, hyperfine's JSON.
//!
//! Everything here is a pure function of the typed report (and, for exports,
//! of the samples): it reads no clock, no environment, no terminal. Every
//! figure comes from [`tarebench_core::run::report::data`], so all forms show the same.
//!
//! Strings that come from the machine or the user are shown through
//! [`tarebench_report::text::escape`]; no control character of theirs reaches a terminal.
#![forbid(unsafe_code)]

pub mod compare;
pub(crate) mod counted;
pub mod documents;
pub mod fit;
pub mod kbest;
pub mod machine;
pub mod noise;
pub(crate) mod printed;
pub mod profile;
pub mod run;
pub mod trace;
