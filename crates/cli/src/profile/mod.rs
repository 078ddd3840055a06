//! `tare profile`.

pub mod command;
pub mod kept;
pub mod learn;
pub mod result;
