//! `tare noise`.

pub mod bsp;
pub mod command;
pub mod files;
pub mod result;
