//! `tare run`: timing programs.

pub mod args;
pub mod command;
pub mod detect;
pub mod imported;
pub mod parameters;
pub mod plan;
pub mod programs;
pub mod quiet;
pub mod self_check;
pub mod shell;
pub mod startable;
