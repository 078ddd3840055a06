//! `tare run`: timing programs.

pub mod args;
pub mod command;
pub mod imported;
pub mod plan;
pub mod quiet;
mod refused;
pub mod self_check;
pub mod startable;
