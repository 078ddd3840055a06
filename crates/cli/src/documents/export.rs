//! `tare export` and `tare import`: runs and other documents as files.

use crate::args::store::{StoreArgs, StoredId};
use crate::documents::kinds::commands_of;
use crate::exit::{Exit, Failure};
use crate::stored;
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::Status;

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

/// Import a file of `tare export`, e.g. from another machine, or of a benchmark program
///
/// The format is detected from the file. Programs that use the benchmark library write files of benchmarks.
#[derive(Args)]
pub struct ImportArgs {
    /// File to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let id = args.what.resolve(&*store)?;
    if let Some(unfinished) = commands_of(id.kind)?.unfinished
        && store.head(id)?.status != Status::Finished
    {
        return Err(unfinished(id));
    }
    stored::write(&*store, id, &args.output)
}

pub fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    stored::read(&mut *args.store.writable()?, &args.file)
}
