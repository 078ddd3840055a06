//! A lab: measurements on many machines, with a PostgreSQL server as their store and the queue of what is to be measured.
//!
//! - [`postgres`]: a store in a database of a server.
//! - [`data`]: campaigns, their tasks, and what is computed from their results.
//! - [`server`]: the queue, in the same database.
//! - [`work`]: agents, Slurm, and how a task is measured.
//! - [`pages`]: what a user and other tools read.
//! - [`commands`]: `tare lab`.
#![forbid(unsafe_code)]

#[macro_use]
extern crate tarebench_cli;

pub mod commands;
pub mod data;
pub mod pages;
pub mod postgres;
pub mod server;
pub mod work;

use std::ffi::OsString;
use tarebench::store::{ServerStores, with_servers};
use tarebench::sys::signals;

/// Has servers opened as stores in this process.
pub fn open_servers() {
    with_servers(ServerStores { name: postgres::store::name, open: postgres::store::open });
    postgres::around_calls(signals::begin_call, signals::end_call);
}

/// Runs the command, as [`tarebench_cli::main`], with `tare study`, `tare lab` and stores on servers.
pub fn main(arguments: Vec<OsString>) -> u8 {
    open_servers();
    tarebench_papers::know_studies();
    tarebench_cli::main(arguments, &[tarebench_papers::ADDITION, commands::command::ADDITION])
}
