//! Export, import and removal of stored results of any kind.

use crate::args::style::Show;
use crate::exit::{Exit, Failure};
use crate::output::{local_time, print};
use crate::replace::replace;
use std::cell::RefCell;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::profile::data::Profile;
use tarebench::render::kit::text::escape as clean;
use tarebench::store;
use tarebench::store::{DocumentArchive, Store, StoreError};

enum Exported<'a> {
    /// Read while it is written: a run may have a million samples. An error of the store is kept, as the writer has its own only.
    Run {
        store: &'a dyn Store,
        id: i64,
        failed: RefCell<Option<StoreError>>,
    },
    Document(Box<DocumentArchive>),
}

impl Exported<'_> {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Exported::Run { store, id, failed } => store.write_archive(*id, out).unwrap_or_else(|e| {
                let text = e.to_string();
                *failed.borrow_mut() = Some(e);
                Err(std::io::Error::other(text))
            }),
            Exported::Document(archive) => archive.write(out),
        }
    }

    /// Why writing failed.
    fn failure(&self, e: &std::io::Error, output: &Path) -> Failure {
        match self {
            Exported::Run { failed, .. } => failed.take().map(Failure::from),
            Exported::Document(_) => None,
        }
        .unwrap_or_else(|| Failure::system(format!("write {}: {e}", output.display())))
    }
}

/// Writes a stored result to a file, or to standard output.
pub fn write(store: &dyn Store, what: Id, output: &Path) -> Result<Exit, Failure> {
    let archive = match what {
        Id { kind: DocumentKind::Run, number: id } => Exported::Run { store, id, failed: RefCell::new(None) },
        id => Exported::Document(Box::new(store.export_document(id)?)),
    };
    if output.as_os_str() == "-" {
        crate::output::check_open()?;
        let mut out = BufWriter::new(std::io::stdout().lock());
        // A reader that stops early (`tare export | head`) is not a failure.
        match archive.write(&mut out).and_then(|()| out.flush()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => return Err(archive.failure(&e, output)),
            _ => {}
        }
    } else {
        replace(output, &|out| archive.write(out)).map_err(|e| archive.failure(&e, output))?;
    }
    Ok(Exit::Done)
}

/// Imports a file, or standard input.
pub fn read(store: &mut dyn Store, file: &Path) -> Result<Exit, Failure> {
    let stored = if file.as_os_str() == "-" {
        store::import(store, &mut std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file);
        let file = opened.map_err(|e| Failure::usage(format!("open {}: {e}", file.display())))?;
        store::import(store, &mut BufReader::new(file))
    };
    let stored = stored.map_err(|e| refused(file, e))?;
    match stored {
        id if id.kind == DocumentKind::Profile => {
            let title = store.document(id)?.head.title;
            eprintln!("stored as {id}, profile {}", clean(&title));
        }
        other => eprintln!("stored as {}", other.phrase()),
    }
    Ok(Exit::Done)
}

/// The failure names the file if its content is at fault.
fn refused(file: &Path, e: StoreError) -> Failure {
    let file = if file.as_os_str() == "-" { "standard input".into() } else { file.to_string_lossy() };
    let of_file = matches!(
        e,
        StoreError::BadArchive { .. }
            | StoreError::NewerArchive { .. }
            | StoreError::DuplicateProfile { .. }
            | StoreError::Duplicate { .. }
            | StoreError::DuplicateDocument { .. }
    );
    let mut failure = Failure::from(e);
    if of_file {
        failure.message = format!("{file}: {}", failure.message);
    }
    failure
}

/// Prints, before a stored result, when it was imported, if it was.
pub fn say_imported(store: &dyn Store, what: Id, show: &Show) -> Result<(), Failure> {
    if let Some(at) = store.imported(what)?
        && !show.is_quiet()
    {
        print(&format!("{} was imported on {}\n", what.phrase(), local_time(at)));
    }
    Ok(())
}

/// Removes stored results.
pub fn remove(store: &mut dyn Store, names: &[String]) -> Result<Exit, Failure> {
    // All are looked up before any is removed: a mistyped number removes nothing.
    let all: Vec<Id> = names.iter().map(|r| store.find(r)).collect::<Result<_, _>>()?;
    for (text, one) in names.iter().zip(all) {
        match one {
            Id { kind: DocumentKind::Run, number: id } => store.remove(id)?,
            id if is_name(id, text) => {
                let n = store.remove_profile(text)?;
                let versions = if n == 1 { "version" } else { "versions" };
                eprintln!("removed {n} {versions} of {}", clean(text));
                continue;
            }
            id => store.remove_document(id)?,
        }
        eprintln!("removed {}", one.phrase());
    }
    Ok(Exit::Done)
}

/// Whether a profile was named by its name, which stands for all its versions.
fn is_name(id: Id, text: &str) -> bool {
    id.kind == DocumentKind::Profile && text.parse() != Ok(id) && Profile::parse_label(text).1.is_none()
}
