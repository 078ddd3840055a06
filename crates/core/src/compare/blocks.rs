//! The blocks of two programs of a run. What a run's samples say of them is found where runs are.

pub use crate::run::blocks::{Blocks, blocks};
