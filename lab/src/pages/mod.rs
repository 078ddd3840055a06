//! What a user and other tools read of a lab.

pub mod json;
pub mod metrics;
#[cfg(test)]
pub(crate) mod nodes_fixtures;
pub mod page;
pub(crate) mod said;
pub mod terminal;
