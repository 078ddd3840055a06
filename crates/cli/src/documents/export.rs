//! `tare export` and `tare import`: runs and other documents as files.

use crate::args::store::{StoreArgs, StoredId};
use crate::exit::{Exit, Failure};
use crate::stored;
use clap::Args;
use std::path::PathBuf;

/// Write a stored result of any kind, with all its samples, as JSON that `tare import` reads
#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    what: StoredId,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Store what `tare export` wrote, e.g. on another machine, or results of benchmarks
///
/// The file itself tells what it is. Files of benchmarks are those that programs written with the library leave.
#[derive(Args)]
pub struct ImportArgs {
    /// File to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    stored::write(&args.store.readable()?, &args.what, &args.output)
}

pub fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    stored::read(&mut args.store.writable()?, &args.file)
}
