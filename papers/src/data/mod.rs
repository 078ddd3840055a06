//! The papers' studies: what was measured, and their tables.

pub mod about;
pub mod cells;
pub mod checked;
pub mod clocks;
pub mod compared;
pub mod condition_study;
pub mod condition_tables;
pub(crate) mod correlation_rows;
pub mod daemons;
pub mod dual;
pub mod et_pt;
pub mod evolution;
pub mod histogram;
pub(crate) mod inc;
pub mod interval_points;
pub mod outliers;
pub mod programs;
pub mod published;
pub mod report;
pub mod sample_size;
pub mod samples;
pub mod scaling;
pub mod series;
pub mod successive;
pub mod suite;
#[cfg(test)]
pub(crate) mod test_samples;
pub mod timing_row;
pub mod variance;
pub mod worst;
