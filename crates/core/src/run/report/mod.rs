//! The report of a run: computed once, shown the same everywhere.

pub mod account;
pub mod build;
pub mod counted;
pub mod counters;
pub mod data;
pub mod duals;
pub(crate) mod duets;
pub mod findings;
pub mod grouping;
pub mod metrics;
pub(crate) mod quiet;
pub mod remarks;
pub mod retained;
pub mod series;
