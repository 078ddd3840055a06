//! A machine's infrequent, long-running daemons and their cutoffs (EMPv5, SEDONA step B).

pub mod by_account;
pub mod clusters;
pub mod cutoffs;
pub(crate) mod daemon_values;
pub mod data;
pub mod dual;
pub mod effects;
pub mod lacking;
pub mod long_running;
pub mod named;
pub mod profiling;
pub mod recording;
pub mod waits;
