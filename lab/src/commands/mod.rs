//! `tare lab`: a PostgreSQL server as the store and the queue of many machines.

mod agent;
pub mod command;
mod database;
mod exit;
mod local;
mod manage;
mod news;
mod results;
mod serve;
mod slurm;
mod submit;
mod task;
