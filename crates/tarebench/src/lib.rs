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

pub mod calibration;
pub mod clocks;
pub mod doctor;
pub mod documents;
pub mod noise;
pub mod profiling;
pub mod self_check;
pub mod session;
pub mod study;
pub mod trace;
pub mod workload;

pub use tare_core as core;
pub use tare_host as host;
pub use tare_kbest as kbest;
pub use tare_render as render;
pub use tare_run::RunError;
pub use tare_store as store;
pub use tare_sys as sys;

/// Version of tare, as recorded with every run.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Identity of this machine, as in [`tare_core::run::Host::machine`].
pub fn machine() -> String {
    tare_host::host::identity(std::path::Path::new("/"))
}
