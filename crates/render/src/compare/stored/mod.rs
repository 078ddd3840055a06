//! What a user and other tools read of programs of stored runs against each other.

#[cfg(test)]
pub(crate) mod fixtures;
pub mod json;
pub(crate) mod said;
pub mod sheet;
pub mod tables;
