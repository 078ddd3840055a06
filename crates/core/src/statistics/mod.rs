//! Statistics that several subjects use.

pub mod bins;
pub mod fit;
pub mod holm;
pub mod intervals;
pub mod limits;
pub mod periods;
pub mod random;
pub mod sequential;
pub mod series;
pub mod signed_rank;
pub mod trend;
