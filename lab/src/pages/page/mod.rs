//! The pages of a lab's web application: pure functions of what the queue and the store know.
//!
//! A page has its data and its style from the application itself, and works without a script: with one, its live
//! parts are replaced when the lab changes.

pub mod campaign;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod html;
pub(crate) mod interval;
pub mod left;
pub mod machine;
pub mod nodes;
pub mod overview;
pub mod problem;
pub mod results;
pub(crate) mod rows;
pub mod shell;
#[cfg(test)]
mod tests;
pub(crate) mod words;
