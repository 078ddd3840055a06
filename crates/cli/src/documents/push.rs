//! `tare push` and `tare pull`: copy stored results to a server, and from it.

use crate::args::store::{StoreArgs, environment, shown_name};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::pushed::said;
use clap::Args;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use tarebench::copy::{Delivered, deliver, everything};
use tarebench::report::json;
use tarebench::store::copy::Pushed;
use tarebench::store::{Store, open_place, open_place_read_only};

/// What is copied.
#[derive(Args)]
struct CopiedArgs {
    /// Numbers or uuids of runs, or `last`; numbers of other results (`p1`, `n1`, `s1`, …), or names of profiles
    #[arg(value_name = "RUN", required_unless_present = "all")]
    runs: Vec<String>,
    /// Everything
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Copy stored results to a PostgreSQL server
///
/// Only adds: what is there already, by its uuid, is not added again; what was interrupted is completed by the next
/// call. At the end the samples of both sides are compared by their digests.
#[derive(Args)]
#[command(after_help = "Examples:
  tare push last --to postgresql://alice@db.example/lab
  tare push --all --to postgresql://alice@db.example/lab")]
pub struct PushArgs {
    #[command(flatten)]
    what: CopiedArgs,
    /// The server
    #[arg(long, value_name = "URL")]
    to: OsString,
    #[command(flatten)]
    store: StoreArgs,
}

/// Copy results from a PostgreSQL server into the store
///
/// Only adds, as `tare push` does. A run that is copied is marked as imported, because its commands may be another user's.
#[derive(Args)]
#[command(after_help = "Examples:
  tare pull 4711 --from postgresql://alice@db.example/lab
  tare pull 9c1f --from postgresql://alice@db.example/lab --db copies.db")]
pub struct PullArgs {
    #[command(flatten)]
    what: CopiedArgs,
    /// The server
    #[arg(long, value_name = "URL")]
    from: OsString,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn push(args: &PushArgs) -> Result<Exit, Failure> {
    let local = args.store.local_readable()?;
    check_server("--to", &args.to)?;
    let mut server = open_place(&args.to, &environment)?;
    copy(&args.what, &*local, &mut *server, ("pushed to", &shown_name(Path::new(&args.to))))
}

pub fn pull(args: &PullArgs) -> Result<Exit, Failure> {
    check_server("--from", &args.from)?;
    let server = open_place_read_only(&args.from, &environment)?;
    let mut local = args.store.local()?;
    let to = local.path().to_owned();
    copy(&args.what, &*server, &mut *local, ("pulled into", &shown_name(&to)))
}

fn check_server(option: &str, name: &OsStr) -> Result<(), Failure> {
    if tarebench::store::is_server(name) {
        return crate::pushed::check(name);
    }
    let text = format!("{option} {}: expected a PostgreSQL server", name.to_string_lossy());
    Err(Failure::usage(text).hint("name one as postgresql://USER@HOST/DATABASE; --db FILE selects the local store"))
}

/// A result that was copied, in JSON.
#[derive(Serialize)]
struct CopiedPart {
    /// Number where it came from.
    from: String,
    /// Number where it is now.
    to: String,
    /// Samples of a run that both have.
    samples: u64,
    /// How many samples, duets or parts were new.
    added: u64,
    finished: bool,
}

impl CopiedPart {
    fn of(delivered: &Delivered) -> CopiedPart {
        let added = match delivered.pushed {
            Pushed::New { samples } | Pushed::Added { samples } => samples,
            Pushed::AlreadyThere => 0,
        };
        let Delivered { here, there, pushed: _, samples, finished } = *delivered;
        CopiedPart { from: here.to_string(), to: there.to_string(), samples, added, finished }
    }
}

/// Copies all that is named. One that cannot be copied does not keep the others from it. `how` and `shown` say where to.
fn copy(what: &CopiedArgs, from: &dyn Store, to: &mut dyn Store, (how, shown): (&str, &str)) -> Result<Exit, Failure> {
    let all = if what.all {
        everything(from)?
    } else {
        // All are looked up before any is copied.
        what.runs.iter().map(|text| from.find(text)).collect::<Result<Vec<_>, _>>()?
    };
    let (mut copied, mut failed) = (Vec::new(), None);
    for document in all {
        match deliver(from, document, to, &mut |_| {}) {
            Ok(delivered) => {
                if !what.json {
                    print(&format!("{}\n", said(how, shown, &delivered)));
                }
                copied.push(CopiedPart::of(&delivered));
            }
            Err(e) => {
                let e = Failure::from(e);
                let e = Failure { message: format!("{} was not copied: {}", document.phrase(), e.message), ..e };
                // The last one is reported as the command's failure.
                if let Some(before) = failed.replace(e) {
                    crate::output::error(&before);
                }
            }
        }
    }
    if what.json {
        print(&(json::pretty(&copied).map_err(Failure::system)? + "\n"));
    }
    match failed {
        Some(e) => Err(e.hint("what was copied stays; the same command copies the rest")),
        None => Ok(Exit::Done),
    }
}
