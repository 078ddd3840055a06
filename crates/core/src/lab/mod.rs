//! A lab: campaigns of measurements on many machines.

pub mod campaign;
mod drift;
mod groups;
mod levels;
pub mod nodes;
mod spread;
pub mod state;
pub mod tasks;
