//! `tare lab`, `tare push` and `tare pull`: a PostgreSQL server as the store and the queue of many machines.

mod agent;
pub mod command;
mod database;
mod local;
mod manage;
mod news;
pub mod push;
mod results;
#[cfg(feature = "serve")]
mod serve;
mod slurm;
mod submit;
mod task;
