//! Pure analyses: data and parameters in, typed results out.

pub mod activity;
pub mod clock_choice;
pub mod clusters;
pub mod comparison;
pub mod cutoffs;
pub mod discards;
pub mod dual;
pub mod explained;
pub mod families;
pub mod fit;
pub mod interval_counting;
pub mod intervals;
pub mod kbest;
pub mod lacking;
pub mod long_running;
pub mod named;
pub mod noise;
pub mod periods;
pub mod profiling;
mod random;
pub mod schedule;
pub mod series;
pub mod stopping;
pub mod studies;
mod trend;
