//! Stores on a PostgreSQL server, and the queue of a lab, from outside.
//!
//! The tests of every store are those of crate tarebench-store: here they run on a server.
// clippy.toml allows these in test functions; here every function is for tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backends;
#[path = "../../../crates/store/tests/store/children.rs"]
mod children;
mod copies;
#[path = "../../../crates/store/tests/store/crash.rs"]
mod crash;
#[path = "../../../crates/store/tests/store/data.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod data;
#[path = "../../../crates/store/tests/store/documents.rs"]
mod documents;
mod faults;
#[path = "../../../crates/store/tests/store/imports.rs"]
mod imports;
#[path = "../../../crates/store/tests/store/learned.rs"]
mod learned;
mod postgres_server;
mod queue;
mod rights;
#[path = "../../../crates/store/tests/store/round_trip.rs"]
mod round_trip;
#[path = "../../../crates/store/tests/store/runs.rs"]
mod runs;
#[path = "../../../crates/store/tests/store/sharing.rs"]
mod sharing;
mod states;
