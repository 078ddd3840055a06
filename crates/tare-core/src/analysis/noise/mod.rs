//! Operating-system noise (ICS'05): what delays a phase of work, how often, and what that costs a job on n nodes, each phase of
//! which ends with the slowest.

pub mod calibration;
pub mod empirical;
pub mod model;
pub mod proportion;
