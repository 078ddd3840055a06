//! The analyses and reports, from outside: one program, as each of several would compile the reports' documents
//! anew.
// clippy.toml allows these in test functions; here every function is for tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod between;
mod common;
mod compared;
mod counters;
mod detect;
mod document;
mod duets;
mod fit;
mod gate;
mod intervals;
mod machine;
mod profile;
mod profile_account;
mod profiling;
mod quiet;
mod report;
mod short;
mod shown;
mod steadiness;
