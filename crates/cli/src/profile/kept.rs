//! Stored profiles: list, show, export, import, merge, check, remove.

use crate::args::store::StoreArgs;
use crate::args::style::TableStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output::{named, print};
use crate::profile::result::{check_name, present, print_profile, shown, stored as stored_profile};
use crate::stored;
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::DocumentKind;
use tarebench::core::profile::data::Profile;
use tarebench::core::profile::lacking::{Lacking, lacking};
use tarebench::profile as profiling;
use tarebench::render::profile::sheet;
use tarebench::report::json;
use tarebench::report::sheet::Sheet;
use tarebench::report::style::Style;
use tarebench::report::terminal::sheet_text;
use tarebench::report::text::escape as clean;
use tarebench::store::{DocumentFilter, Store};

/// Lists.
#[derive(Args)]
pub struct ProfileListArgs {
    /// Print JSON, without the samples
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// Shows one.
#[derive(Args)]
pub struct ProfileShowArgs {
    #[command(flatten)]
    which: WhichProfile,
    /// Print JSON, with its samples and all tables
    #[arg(long)]
    json: bool,
    /// Also list daemons of recent runs that are not in it
    #[arg(long, conflicts_with = "json")]
    check: bool,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// A profile.
#[derive(Args)]
pub struct WhichProfile {
    /// NAME, NAME@VERSION, or its number, as p1 [default: the newest of this machine that was not imported]
    #[arg(value_name = "PROFILE")]
    label: Option<String>,
}

impl WhichProfile {
    /// The profile, which must be there.
    pub fn find(&self, store: &dyn Store) -> Result<Profile, Failure> {
        let found = match &self.label {
            Some(label) => match store.find(label) {
                Ok(id) if id.kind == DocumentKind::Profile => Some(stored_profile(store, id)?),
                _ => store.profile(label)?,
            },
            None => store.newest_profile(&tarebench::machine::identity())?,
        };
        found.ok_or_else(|| {
            let what = match &self.label {
                Some(label) => format!("there is no profile {label}"),
                None => "there is no profile of this machine that was not imported".to_owned(),
            };
            Failure::usage(what).hint(
                "`tare profile list` lists the profiles; imported ones are used by their names only; `tare profile` learns one",
            )
        })
    }
}

/// Writes one.
#[derive(Args)]
pub struct ProfileExportArgs {
    #[command(flatten)]
    which: WhichProfile,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Reads one.
#[derive(Args)]
pub struct ProfileImportArgs {
    /// File to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Joins some.
#[derive(Args)]
pub struct MergeArgs {
    /// NAME or NAME@VERSION, two or more
    #[arg(value_name = "PROFILE", required = true, num_args = 2..)]
    profiles: Vec<String>,
    /// Name of the new profile [default: that of the first]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// Compares one with runs.
#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    which: WhichProfile,
    /// Check the newest N runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    runs: u32,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// Removes some.
#[derive(Args)]
pub struct ProfileRmArgs {
    /// NAME@VERSION, its number, as p1, or NAME for all its versions
    #[arg(value_name = "PROFILE", required = true)]
    profiles: Vec<String>,
}

pub fn list(args: &ProfileListArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let show = shown(&args.style, store)?;
    let (profiles, open) = match store.readable_if_there()? {
        Some(store) => (store.profiles()?, profiling::unfinished(&*store)?),
        None => (Vec::new(), Vec::new()),
    };
    if args.json {
        let document = |p: &Profile| {
            serde_json::json!({
                "name": p.name, "version": p.version, "created": p.created, "machine": p.machine, "host": p.host,
                "kernel": p.kernel, "cpus": p.cpus, "tool": p.tool, "method": p.method, "cutoffs": p.cutoffs,
                "samples": { "short": p.short.observations.len(), "long": p.long.as_ref().map(|l| l.observations.len()) },
            })
        };
        let all: Vec<_> = profiles.iter().map(document).collect();
        print(&(json::pretty(&all).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    for name in &open {
        let (shown, end) = (clean(name), named(name, show.db_option()));
        eprintln!("Not finished: {shown} (resume with: `tare profile resume{end}`)");
    }
    if profiles.is_empty() {
        eprintln!("No profiles are stored yet; learn one with `tare profile`.");
        return Ok(Exit::Done);
    }
    print_whole(&sheet::list(&profiles, &show.style.zone), &show.style);
    Ok(Exit::Done)
}

pub fn show(args: &ProfileShowArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let show = shown(&args.style, store)?;
    let store = store.readable()?;
    let profile = args.which.find(&*store)?;
    if !args.json {
        stored::say_imported(&*store, store.find(&profile.label())?, &show)?;
    }
    present(&profile, args.json, &show)?;
    if args.check {
        return checked(&profile, &*store, 20, &show.style);
    }
    Ok(Exit::Done)
}

pub fn export(args: &ProfileExportArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let store = store.readable()?;
    let profile = args.which.find(&*store)?;
    stored::write(&*store, store.find(&profile.label())?, &args.output)
}

pub fn import(args: &ProfileImportArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    stored::read(&mut *store.writable()?, &args.file)
}

pub fn merge(args: &MergeArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let show = shown(&args.style, store)?;
    let mut store = store.writable()?;
    let find = |label: &String| WhichProfile { label: Some(label.clone()) }.find(&*store);
    let all: Vec<Profile> = args.profiles.iter().map(find).collect::<Result<_, _>>()?;
    let name = args.name.clone().or_else(|| all.first().map(|p| p.name.clone())).unwrap_or_default();
    check_name(&name)?;
    let profile = profiling::keep(&mut *store, profiling::merge(&name, &all)?)?;
    if !show.is_quiet() {
        print_profile(&profile, &show)?;
    }
    Ok(Exit::Done)
}

pub fn check(args: &CheckArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let show = shown(&args.style, store)?;
    let store = store.readable()?;
    let profile = args.which.find(&*store)?;
    checked(&profile, &*store, args.runs, &show.style)
}

/// Checks the newest runs of the profile's machine, except runs of profiles.
fn checked(profile: &Profile, store: &dyn Store, runs: u32, style: &Style) -> Result<Exit, Failure> {
    let mut samples = Vec::new();
    let mut seen = 0;
    for summary in store
        .list(&DocumentFilter::of_kind(DocumentKind::Run))?
        .into_iter()
        .filter(|r| r.head.created > profile.created)
    {
        let run = store.run(summary.head.number)?;
        if run.host.machine == profile.machine && run.plan.purpose.is_none() && seen < runs {
            samples.extend(store.samples(summary.head.number)?);
            seen += 1;
        }
    }
    let label = clean(&profile.label()).into_owned();
    if samples.is_empty() {
        eprintln!("There are no runs of this machine after the profile {label}.");
        return Ok(Exit::Done);
    }
    let found: Vec<Lacking> = lacking(profile, &samples);
    if found.is_empty() {
        print(&format!("All daemons of the last {seen} runs are in the profile {label}.\n"));
        return Ok(Exit::Done);
    }
    print_whole(&sheet::lacking(profile, &found), style);
    match found.iter().filter(|l| l.matters()).count() {
        0 => Ok(Exit::Done),
        n => {
            let daemons = if n == 1 { "daemon that disturbs samples is" } else { "daemons that disturb samples are" };
            eprintln!("tare: {n} {daemons} not in the profile {label}; learn a new one: tare profile");
            Ok(Exit::NOT_AS_WANTED)
        }
    }
}

/// With all rows and columns.
fn print_whole(sheet: &Sheet, style: &Style) {
    print(&sheet_text(sheet, &Style { full: true, ..style.clone() }));
}

pub fn rm(args: &ProfileRmArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let mut store = store.writable()?;
    stored::remove(&mut *store, &args.profiles)
}
