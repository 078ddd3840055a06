//! What a user and other tools read of the history of benchmarks.

pub mod csv;
pub(crate) mod figure;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod json;
pub mod page;
pub(crate) mod plot;
pub mod said;
pub mod terminal;
