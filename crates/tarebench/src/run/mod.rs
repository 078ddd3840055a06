//! Runs: measuring programs, what tracing costs them, and the start of a shell.

pub(crate) mod quiet;
pub mod samples;
pub mod self_check;
pub mod session;
pub mod shell_start;

pub use tarebench_run::metrics;
