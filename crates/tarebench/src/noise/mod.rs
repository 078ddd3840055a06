//! Operating-system noise: measuring it, and files of other tools.

pub mod error;
pub mod files;
pub mod histogram;
pub mod measure;
