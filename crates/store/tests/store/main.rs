//! The store, from outside.
//!
//! Some tests start this binary again as another process; it then runs the tests named `child_…`, which do
//! nothing unless [`children`] asks for it by an environment variable.
// clippy.toml allows these in test functions; here every function is for tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backends;
mod children;
mod crash;
mod damage;
mod data;
mod disks;
mod documents;
mod imports;
mod learned;
mod migration;
mod refusals;
mod round_trip;
mod runs;
mod sharing;
