//! `tare noise`.

pub mod bsp;
pub mod command;
pub mod files;
pub mod model;
pub mod result;
pub mod show;
pub mod undisturbed;
