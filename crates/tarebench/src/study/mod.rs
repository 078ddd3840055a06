//! The papers' studies, measured on this machine.

pub mod error;
pub mod measure;
pub mod run;
