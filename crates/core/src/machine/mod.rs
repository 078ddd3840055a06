//! The measured machine.

pub mod conditions;
pub mod data;
pub mod differences;
