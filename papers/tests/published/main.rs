//! What the papers computed from values that they printed, computed again by the analyses.
// clippy.toml allows these in test functions; here every function is for tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../crates/core/tests/core/common.rs"]
mod common;
mod emp;
mod emp_profile;
#[path = "../../../crates/core/tests/core/machine.rs"]
mod machine;
mod papers;
mod published;
