//! Measure how long programs take on Linux: gross, less tare, gives net.
//!
//! This crate joins the runner, the store and the renderers; the command `tare` is a thin layer over it.
//!
//! - [`session`]: measure a plan, resume a run, read a report back.
//! - [`documents`]: results beside runs and profiles.
//! - [`noise`]: how long phases of a fixed loop take, and what that costs jobs on many nodes.
//! - [`profiling`]: learn the machine's daemons and their cutoffs.
//! - [`clocks`]: the machine's timing mechanisms, and which to use.
//! - [`self_check`]: what the tracing of measured programs costs them.
//! - [`study`]: the studies of CS:APP chapter 9.
//! - [`trace`]: when a process had its CPU.
//! - [`workload`]: INC and the papers' other reference programs.

pub mod documents;
pub mod inc;
pub mod kbest;
pub mod machine;
pub mod noise;
pub mod profile;
pub mod run;
pub mod study;
pub mod trace;

pub use tarebench_core as core;
pub use tarebench_host as host;
pub use tarebench_render as render;
pub use tarebench_run::RunError;
pub use tarebench_store as store;
pub use tarebench_sys as sys;

/// Version of tare, as recorded with every run.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
