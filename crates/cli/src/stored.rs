//! Export, import and removal of stored results of any kind.

use crate::args::style::Show;
use crate::exit::{Exit, Failure};
use crate::output::{local_time, print};
use crate::replace::replace;
use std::cell::RefCell;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use tarebench::core::documents::head::Id;
use tarebench::report::text::escape as clean;
use tarebench::store::{Store, StoreError};

/// Writes a stored result to a file, or to standard output.
pub fn write(store: &dyn Store, id: Id, output: &Path) -> Result<Exit, Failure> {
    // An error of the store is kept, as the writer has its own only.
    let failed = RefCell::new(None);
    let export = |out: &mut dyn Write| {
        store.export(id, out).unwrap_or_else(|e| {
            let text = e.to_string();
            *failed.borrow_mut() = Some(e);
            Err(std::io::Error::other(text))
        })
    };
    let failure = |e: std::io::Error| match failed.take() {
        Some(e) => Failure::from(e),
        None => Failure::system(format!("write {}: {e}", output.display())),
    };
    if output.as_os_str() != "-" {
        return replace(output, &export).map_err(failure).map(|()| Exit::Done);
    }
    crate::output::check_open()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    // A reader that stops early (`tare export | head`) is not a failure.
    match export(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(failure(e)),
        _ => Ok(Exit::Done),
    }
}

/// Imports a file, or standard input.
pub fn read(store: &mut dyn Store, file: &Path) -> Result<Exit, Failure> {
    let stored = if file.as_os_str() == "-" {
        store.import(&mut std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file);
        let file = opened.map_err(|e| Failure::usage(format!("open {}: {e}", file.display())))?;
        store.import(&mut BufReader::new(file))
    };
    let stored = stored.map_err(|e| refused(file, e))?;
    let title = store.head(stored)?.title;
    // A title that is a name says more than a number.
    let named = match store.find(&title) {
        Ok(id) if id == stored => format!(", {} {}", id.kind.noun(), clean(&title)),
        _ => String::new(),
    };
    eprintln!("stored as {}{named}", stored.phrase());
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
    let find = |text: &String| Ok((store.find(text)?, store.versions(text)?));
    let all: Vec<(Id, Vec<Id>)> = names.iter().map(find).collect::<Result<_, StoreError>>()?;
    for (text, (id, versions)) in names.iter().zip(all) {
        if versions.is_empty() {
            store.remove(id)?;
            eprintln!("removed {}", id.phrase());
            continue;
        }
        versions.iter().try_for_each(|id| store.remove(*id))?;
        let (n, plural) = (versions.len(), if versions.len() == 1 { "" } else { "s" });
        eprintln!("removed {n} version{plural} of {}", clean(text));
    }
    Ok(Exit::Done)
}
