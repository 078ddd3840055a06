//! A lab: campaigns of measurements on many machines.

pub mod campaign;
mod drift;
#[cfg(test)]
pub(crate) mod fixtures;
mod groups;
mod levels;
pub mod nodes;
mod spread;
pub mod state;
pub mod tasks;
