//! The report of a run: computed once, shown the same everywhere.

pub mod account;
pub mod build;
pub mod data;
pub mod grouping;
pub mod remarks;
pub mod series;
