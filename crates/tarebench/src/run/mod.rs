//! Runs: what a user asks for, measuring programs, what tracing costs them, and the start of a shell.

pub mod count;
pub mod order;
pub(crate) mod past;
pub(crate) mod quiet;
pub mod request;
pub mod samples;
pub mod self_check;
pub mod session;
pub mod shell_start;

pub use tarebench_run::metrics;
