//! The measured machine.

pub mod data;
