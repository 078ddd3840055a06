//! What a user and other tools read of a gate.

pub mod bencher;
pub mod custom_smaller;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod google_benchmark;
pub mod json;
pub(crate) mod said;
pub mod sheet;
