//! The measured machine.

pub mod conditions;
pub mod data;
