//! Measure how long programs take on Linux: gross minus tare is net.
//!
//! This crate joins the runner, the store and the renderers; the command `tare` is a thin layer over it.
//!
//! - [`run::request`]: the plan of a run, from what a user asks for; [`programs`]: its programs, their parameters and shells.
//! - [`run::session`]: measure a plan, resume a run or make it longer, read a report back.
//! - [`builds`]: the two builds that a gate compares.
//! - [`gate()`]: whether a change makes programs slower, from the builds to the verdicts; [`compare::gate`]: of builds that are there.
//! - [`compare::history`]: the gates of a store, for the history of benchmarks over commits.
//! - [`compare::stored`]: programs of stored runs against each other.
//! - [`documents`], [`listed`]: stored results other than runs and profiles, and lists of all kinds.
//! - [`event`]: the events that a measurement reports while it runs.
//! - [`noise`]: what delays a fixed piece of work, and what that costs parallel jobs.
//! - [`profile`]: learn which daemons disturb the machine, and their cutoffs.
//! - [`copy`]: stored results from one store to another.
//! - [`machine_lock`]: who measures on this machine.
//! - [`kbest`]: the machine's timing mechanisms, and which to use.
//! - [`run::self_check`]: what tracing costs the measured programs.
//! - [`suite`]: the file of a suite of benchmarks; [`written`]: what is wrong in a file that a user wrote.
//! - [`trace`]: when a process had its CPU.
//! - [`inc::workload`]: INC and the papers' other reference programs.

#![warn(missing_docs)]

pub mod builds;
pub mod compare;
pub mod copy;
pub mod documents;
pub mod event;
pub mod inc;
pub mod kbest;
pub mod listed;
pub mod machine;
pub mod machine_lock;
pub mod noise;
pub mod profile;
pub mod programs;
pub mod run;
pub mod suite;
pub mod trace;
pub mod written;

pub use compare::gate_request::gate;
pub use tarebench_core as core;
pub use tarebench_host as host;
pub use tarebench_render as render;
pub use tarebench_report as report;
pub use tarebench_run::RunError;
pub use tarebench_store as store;
pub use tarebench_sys as sys;

/// Version of tare, as recorded with every run.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
