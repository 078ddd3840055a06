//! The papers' studies, measured on this machine.

pub mod cells;
pub mod error;
pub mod from_runs;
pub mod planned;
pub mod run;
pub mod samples;
pub mod setting;
pub mod stored;
pub mod suite_file;
mod time_left;
