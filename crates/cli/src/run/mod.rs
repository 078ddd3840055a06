//! `tare run`: timing programs.

pub mod args;
pub mod command;
pub mod plan;
pub mod self_check;
