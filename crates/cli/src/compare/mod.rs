//! Comparing: stored results, two builds in continuous integration, commits over time.

pub mod compare_command;
pub mod gate;
pub mod gate_outputs;
pub mod history;
