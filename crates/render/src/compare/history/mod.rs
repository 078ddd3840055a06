//! What a user and other tools read of the history of benchmarks.

#[cfg(test)]
pub(crate) mod fixtures;
pub mod json;
pub(crate) mod plot;
pub(crate) mod said;
pub mod sheet;
pub mod terminal;
