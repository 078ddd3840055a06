//! What a user and other tools read of programs of stored runs against each other.

pub mod csv;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod json;
pub mod markup;
pub mod page;
pub(crate) mod said;
pub(crate) mod tables;
pub mod terminal;
