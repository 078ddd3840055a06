//! Pushing what was measured to a server when it has ended.

use crate::args::store::{StoreArgs, environment, shown_name};
use crate::exit::{Exit, Failure};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use tarebench::copy::{Delivered, deliver};
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::run::session::{MeasuredRun, StopReason, StorePlace};
use tarebench::store::{Store, is_server, open_place, server_name};

/// Where a run is pushed to.
pub struct PushTarget(OsString);

impl PushTarget {
    /// The server of `--push`, or the one of `--db`; `None` without one. Its name is checked before anything is
    /// measured.
    pub fn of(push: Option<&OsStr>, store: &StoreArgs) -> Result<Option<PushTarget>, Failure> {
        let Some(name) = push.filter(|name| !name.is_empty()).or_else(|| store.server()) else { return Ok(None) };
        if !is_server(name) {
            let text = format!("--push {}: expected a PostgreSQL server", name.to_string_lossy());
            return Err(
                Failure::usage(text).hint("name one as postgresql://USER@HOST/DATABASE; --db FILE selects a file")
            );
        }
        if store.is_none() {
            let text = "--push needs a stored run: --db or TARE_DB is `none`";
            return Err(Failure::usage(text).hint("omit --db and unset TARE_DB"));
        }
        check(name)?;
        Ok(Some(PushTarget(name.to_owned())))
    }

    /// Pushes a run that has ended; one that was interrupted is pushed when it was resumed.
    pub fn push(&self, place: &StorePlace, measured: &MeasuredRun, quiet: bool) -> Result<(), Failure> {
        let (StorePlace::Store(store), StopReason::Finished) = (place, &measured.why) else { return Ok(()) };
        self.push_all(&**store, &[Id::run(measured.run.id)], quiet)
    }

    fn push_all(&self, store: &dyn Store, all: &[Id], quiet: bool) -> Result<(), Failure> {
        let shown = shown_name(Path::new(&self.0));
        let mut server = None;
        for what in all {
            let pushed = opened(&mut server, &self.0).and_then(|to| Ok(deliver(store, *what, to, &mut |_| {})?));
            match pushed {
                Ok(delivered) => {
                    if !quiet {
                        eprintln!("{}", said("pushed to", &shown, &delivered));
                    }
                }
                Err(e) => {
                    let text = format!("{} is stored here, but was not pushed: {}", what.phrase(), e.message);
                    let hint = format!("push it with: `tare push {what} --to {}`", shell_words::quote(&shown));
                    return Err(Failure::system(text).hint(hint));
                }
            }
        }
        Ok(())
    }
}

/// The server, connected to when something is pushed: not before, and not while a program is measured.
fn opened<'a>(server: &'a mut Option<Box<dyn Store>>, name: &OsStr) -> Result<&'a mut dyn Store, Failure> {
    let there = match server.take() {
        Some(there) => there,
        None => open_place(name, &environment)?,
    };
    Ok(&mut **server.insert(there))
}

/// Copies what a command measured to the server of its `--db`.
pub struct PushAtEnd<'a> {
    store: &'a StoreArgs,
    to: Option<PushTarget>,
}

impl<'a> PushAtEnd<'a> {
    /// Before anything is measured: the server's name is checked.
    pub fn of(store: &'a StoreArgs) -> Result<PushAtEnd<'a>, Failure> {
        Ok(PushAtEnd { store, to: PushTarget::of(None, store)? })
    }

    /// When all is measured: pushes what is complete. Returns the exit code of the measurement.
    pub fn end(&self, exit: Exit, quiet: bool) -> Result<Exit, Failure> {
        let all = self.store.finished();
        if let Some(to) = self.to.as_ref().filter(|_| !all.is_empty()) {
            to.push_all(&*self.store.local_readable()?, &all, quiet)?;
        }
        Ok(exit)
    }
}

/// Refuses the name of a server that cannot be read, and reports what of its settings is not used.
///
/// # Errors
/// What is wrong with the name.
pub fn check(name: &OsStr) -> Result<(), Failure> {
    if let Some(warning) = server_name(name, &environment)?.warning {
        eprintln!("tare: warning: {}", tarebench::report::text::escape(&warning));
    }
    Ok(())
}

/// What was copied, in one line; `what` begins it, such as "pushed to".
pub fn said(what: &str, to: &str, delivered: &Delivered) -> String {
    use tarebench::store::copy::Pushed;
    let to = tarebench::report::text::escape(to);
    let there = delivered.there;
    let same = match delivered.here.kind {
        // Warm-ups, too, which other commands do not count as samples.
        DocumentKind::Run => {
            let plural = if delivered.samples == 1 { "" } else { "s" };
            format!("{} execution{plural}, digest equal", delivered.samples)
        }
        _ => "equal".to_owned(),
    };
    let news = match delivered.pushed {
        Pushed::New { .. } => "",
        Pushed::Added { .. } => "; what was missing was added",
        Pushed::AlreadyThere => "; it was there already",
    };
    let unfinished = if delivered.finished { "" } else { "; it has not ended: repeat the command later" };
    format!("{what} {to}: {} there, {same}{news}{unfinished}", there.phrase())
}
