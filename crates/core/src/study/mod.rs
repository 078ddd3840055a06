//! The papers' studies: what was measured, and their tables.

pub mod data;
pub mod report;
