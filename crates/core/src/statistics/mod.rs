//! Statistics that several subjects use.

pub mod bands;
pub mod bins;
pub mod blocks;
pub mod complexity;
pub mod correlation;
pub mod decomposition;
pub mod dependence;
pub mod deviations;
pub mod fit;
pub mod growth;
pub mod holm;
pub mod intervals;
pub mod limits;
pub mod log_growth;
pub mod mixture;
pub mod normality;
pub mod periods;
pub mod random;
pub mod rank_sum;
pub mod sequential;
pub mod serial;
pub mod series;
pub mod signed_rank;
pub mod spread;
pub mod steadiness;
pub mod trend;
