//! Time a piece of code in your own program (CS:APP chapter 9): the K-best scheme with the CPU's cycle counter.
//!
//! ```
//! use tarebench_kbest::Kbest;
//!
//! let data: Vec<u32> = (0..2048).collect();
//! let timing = Kbest::new().measure(|| data.iter().sum::<u32>())?;
//! // Nanoseconds for one execution, or why there is no value; `timing` holds every trial.
//! println!("{:?} ns, {:?}", timing.value(), timing.standing());
//! # Ok::<(), tarebench_kbest::KbestError>(())
//! ```
//!
//! Whatever a machine adds to a time makes it longer, so the fastest of several trials is nearest to the time of the
//! code itself; if the K fastest agree, the result is reliable. It is a lower bound without an interval. [`TimingStanding`]
//! says how reliable it is. If other processes had the CPU in every trial, there is no value, because it would be too
//! long.
//!
//! [`Kbest`] has the settings. [`bench::Harness`] makes a `cargo bench` of it. [`counter`] has the book's plain functions.

#![warn(missing_docs)]

pub mod bench;
mod chosen;
mod clear;
pub mod counter;
mod error;
mod kbest;
mod probes;
mod region;
mod ticks;

pub use crate::chosen::{ChosenMeasurement, auto};
pub use crate::error::KbestError;
pub use crate::kbest::{Kbest, Repetitions};
pub use tarebench_core::base::reading::{Absent, Reading};
pub use tarebench_core::base::units::Nanos;
pub use tarebench_core::kbest::clock_choice::{ClockChoice, ClockMethod, ClockReason};
pub use tarebench_core::kbest::clocks::ClockKind as Clock;
pub use tarebench_core::kbest::scheme::{BadParameters, Parameters, SchemeOutcome};
pub use tarebench_core::kbest::timing::{Cache, Compensation, Timing, TimingStanding, Trial};
/// Waits until the thread was inactive for more cycles than this, and returns for how many (homework problem 9.11).
pub use tarebench_sys::activity::inactive_duration;
/// Drops data from all caches, so that the next access reads memory.
pub use tarebench_sys::cache::flush;
