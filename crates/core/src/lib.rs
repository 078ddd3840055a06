//! Plain data and pure analyses of tare.
//!
//! Nothing here reads a file, a clock or the environment, prints, or uses
//! randomness other than from a seed that the caller gives. Collectors make
//! [`sample::data::Sample`]s, the store keeps them, and everything that a user reads
//! is computed from them by [`run::report::build::build`].
#![forbid(unsafe_code)]

// What tests share with those of other crates names this one from outside.
#[cfg(test)]
extern crate self as tarebench_core;

pub mod base;
pub mod compare;
pub mod documents;
pub mod fit;
pub mod kbest;
pub mod machine;
pub mod noise;
pub mod profile;
pub mod quiet;
pub mod run;
pub mod sample;
pub mod statistics;
pub mod trace;
