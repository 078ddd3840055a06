//! Runs: what was asked, in which order, which samples count, the protocol's steps, the report.

pub mod between;
pub mod block_size;
pub mod blocks;
pub mod compared;
pub mod data;
pub mod discards;
pub mod identity;
pub mod last_words;
pub mod notes;
pub mod plan;
pub mod protocol;
pub mod report;
pub mod samples;
pub mod schedule;
pub mod shown;
pub mod stopping;
