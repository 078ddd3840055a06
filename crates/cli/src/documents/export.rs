//! `tare export` and `tare import`: runs and other documents as files.

use crate::args::store::{StoreArgs, StoredId};
use crate::exit::{Exit, Failure};
use clap::Args;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use tarebench::store;
use tarebench::store::{Archive, DocumentArchive, Store, StoreError, Stored};

/// Write a stored run, with all its samples, benchmarks or a study as JSON that `tare import` reads
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

enum Exported {
    Run(Box<Archive>),
    Document(DocumentArchive),
}

impl Exported {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Exported::Run(archive) => archive.write(out),
            Exported::Document(archive) => archive.write(out),
        }
    }
}

pub fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let archive = match args.what.resolve(&store)? {
        Stored::Run(id) => Exported::Run(Box::new(store.export(id)?)),
        Stored::Document(id) => Exported::Document(store.export_document(id)?),
    };
    let failed = |e: std::io::Error| Failure::system(format!("write {}: {e}", args.output.display()));
    if args.output.as_os_str() == "-" {
        crate::output::check_open()?;
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
    let stored = if args.file.as_os_str() == "-" {
        store::import(&mut store, &mut std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(&args.file);
        let file = opened.map_err(|e| Failure::usage(format!("open {}: {e}", args.file.display())))?;
        store::import(&mut store, &mut BufReader::new(file))
    };
    let stored = stored.map_err(|e| refused(args, e))?;
    eprintln!("stored as {stored}");
    Ok(Exit::Done)
}

/// The failure names the file where that is at fault.
fn refused(args: &ImportArgs, e: StoreError) -> Failure {
    let file = if args.file.as_os_str() == "-" { "standard input".into() } else { args.file.to_string_lossy() };
    let of_file = matches!(
        e,
        StoreError::BadArchive { .. }
            | StoreError::NewerArchive { .. }
            | StoreError::IsProfile { .. }
            | StoreError::Duplicate { .. }
            | StoreError::DuplicateDocument { .. }
    );
    let mut failure = Failure::from(e);
    if of_file {
        failure.message = format!("{file}: {}", failure.message);
    }
    failure
}
