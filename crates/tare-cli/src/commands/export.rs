//! `tare export` and `tare import`: runs as documents.

use super::{RunId, StoreArgs};
use crate::exit::{Exit, Failure};
use clap::Args;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use tarebench::store::Store;

/// Write a stored run, with all its samples, as JSON that `tare import` reads
#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    run: RunId,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Store a run that `tare export` wrote, e.g. on another machine
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
    let archive = store.export(args.run.resolve(&store)?)?;
    let failed = |e: std::io::Error| Failure::system(format!("write {}: {e}", args.output.display()));
    if args.output.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        // A reader that has seen enough (`tare export | head`) is no failure.
        match archive.write(&mut out).and_then(|()| out.flush()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => return Err(failed(e)),
            _ => {}
        }
    } else {
        let mut out = BufWriter::new(std::fs::File::create(&args.output).map_err(failed)?);
        archive.write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    }
    Ok(Exit::Done)
}

pub fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let mut store = args.store.writable()?;
    let id = if args.file.as_os_str() == "-" {
        store.import(&mut std::io::stdin().lock())?
    } else {
        let opened = std::fs::File::open(&args.file);
        let file = opened.map_err(|e| Failure::usage(format!("open {}: {e}", args.file.display())))?;
        store.import(&mut BufReader::new(file))?
    };
    eprintln!("stored as run {id}");
    Ok(Exit::Done)
}
