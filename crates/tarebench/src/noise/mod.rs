//! Operating-system noise: measuring it, and files of other tools.

pub mod error;
pub mod files;
mod histogram;
pub mod measure;
