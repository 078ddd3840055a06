//! Plain data and pure analyses of tare.
//!
//! Nothing here reads a file, a clock or the environment, prints, or uses
//! randomness other than from a seed that the caller gives. Collectors make
//! [`sample::Sample`]s, the store keeps them, and everything that a user reads
//! is computed from them by [`report::build`].
#![forbid(unsafe_code)]

pub mod account;
pub mod analysis;
pub mod bench;
pub mod clocks;
pub mod document;
pub mod name;
pub mod noise;
pub mod plan;
pub mod profile;
pub mod protocol;
pub mod reading;
pub mod recording;
pub mod report;
pub mod run;
pub mod sample;
pub mod study;
pub mod timeline;
pub mod timing;
pub mod units;
