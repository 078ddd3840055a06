//! The one run loop: samples are taken in the plan's order, with collectors around each.
//!
//! [`runner::Runner`] reads like the protocol of EMP figure 5; [`sample`] like its figure 6. Between them is
//! [`sampler::Sampler`], so that the loop is tested without programs, privileges or time.

pub mod account;
pub mod daemons;
pub mod duet;
pub mod exits;
pub mod hooks;
pub mod identity;
mod last_words;
pub mod launch;
pub mod machine;
pub mod metrics;
pub mod probes;
pub mod process_time;
pub mod runner;
pub mod sample;
pub mod sampler;
pub mod watch;

/// What cannot be measured, and why.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A system call failed that has no substitute.
    #[error(transparent)]
    System(#[from] tarebench_sys::SysError),
    /// Something in the plan that this machine cannot do.
    #[error("{0}")]
    Plan(String),
}
