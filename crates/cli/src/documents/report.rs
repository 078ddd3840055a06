//! `tare report`: a run, a profile or a measurement of noise as a self-contained HTML page, or as figures in SVG.

use crate::args::hints::hints;
use crate::args::store::StoreArgs;
use crate::args::style::db_option;
use crate::exit::{Exit, Failure};
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::{Id, Kind};
use tarebench::core::profile::data::Profile;
use tarebench::core::run::report::build::build;
use tarebench::core::run::report::duals::duals;
use tarebench::profile as profiling;
use tarebench::render::kit::web::html as web;
use tarebench::render::kit::web::page::Page;
use tarebench::run::session;
use tarebench::store::{SqliteStore, Store, StoreError, Stored};
use tarebench::sys::clock;

/// Write a run, a profile or noise as a self-contained HTML page
#[derive(Args)]
#[command(after_help = "Examples:
  tare report last -o run.html
  tare report --profile -o profile.html
  tare report build7@2 --svg figures
  tare report n1 -o noise.html")]
pub struct ReportArgs {
    /// Number of a run, `last`, digits of its uuid; number of noise (`n1`) or of a profile (`p1`); or a profile's name
    #[arg(value_name = "RUN|NOISE|PROFILE", default_value = "last", conflicts_with = "profile")]
    what: String,
    /// A profile, NAME or NAME@VERSION [default: the newest of this machine]
    #[arg(long, value_name = "PROFILE", num_args = 0..=1, default_missing_value = "")]
    profile: Option<String>,
    /// File to write; `-` is standard output [default: tare-run-RUN.html and the like, unless --svg is given]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder for the main figures as SVG
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let (page, stem) = page(args, &store)?;
    if let Some(folder) = &args.svg {
        write_figures(&page, folder)?;
    }
    let output = match (&args.output, &args.svg) {
        (Some(file), _) => file.clone(),
        (None, Some(_)) => return Ok(Exit::Done),
        (None, None) => PathBuf::from(format!("tare-{stem}.html")),
    };
    let text = web::html(&page).map_err(Failure::system)?;
    if output.as_os_str() == "-" {
        crate::output::print(&text);
        return Ok(Exit::Done);
    }
    std::fs::write(&output, text).map_err(|e| Failure::system(format!("write {}: {e}", output.display())))?;
    eprintln!("wrote {}", output.display());
    Ok(Exit::Done)
}

/// The page, and the word for its file name.
fn page(args: &ReportArgs, store: &SqliteStore) -> Result<(Page, String), Failure> {
    if let Some(label) = &args.profile {
        let found = match label.as_str() {
            "" => store.newest_profile(&tarebench::machine::identity())?,
            label => store.profile(label)?,
        };
        let none = || Failure::usage(format!("there is no profile {label}").trim_end()).hint("`tare profile list`");
        return of_profile(&found.ok_or_else(none)?, &args.store);
    }
    match store.find(&args.what) {
        Ok(Stored::Document(id)) if id.kind == Kind::Noise => return of_noise(store, id),
        Ok(Stored::Document(id)) if id.kind == Kind::Profile => {
            return of_profile(&crate::profile::result::stored(store, id)?, &args.store);
        }
        Ok(Stored::Document(id)) => return Err(crate::args::store::no_run(id)),
        _ => {}
    }
    let id = match store.resolve(&args.what) {
        Ok(id) => id,
        Err(e @ StoreError::NoSuchRun { .. }) => match store.profile(&args.what)? {
            Some(profile) => return of_profile(&profile, &args.store),
            None => return Err(e.into()),
        },
        Err(e) => return Err(e.into()),
    };
    let (run, samples, profile) = session::load(store, id)?;
    if run.plan.programs.is_empty() {
        let text = format!("run {id} is a recording of the machine, without programs");
        return Err(Failure::usage(text).hint("`tare report --profile` shows what was learned from it"));
    }
    let report = build(&run, &samples, profile.as_ref());
    let found = duals(&run, &samples);
    let hints = hints(&db_option(args.store.named()));
    let zone = tarebench::sys::clock::zone();
    let page = tarebench::render::run::page::run(&report, &samples, &found, &hints, &zone, crate::output::foot());
    Ok((page, format!("run-{id}")))
}

fn of_noise(store: &SqliteStore, id: Id) -> Result<(Page, String), Failure> {
    let (head, found) = tarebench::noise::measure::load(store, id)?;
    let grains = tarebench::noise::measure::reported(&found, &[]);
    Ok((
        tarebench::render::noise::page::noise(
            &head,
            &found,
            &grains,
            &tarebench::sys::clock::zone(),
            crate::output::foot(),
        ),
        format!("noise-{id}"),
    ))
}

fn of_profile(profile: &Profile, store: &StoreArgs) -> Result<(Page, String), Failure> {
    let learned = profiling::learned(profile)?;
    let host = tarebench::host::host::describe(std::path::Path::new("/"));
    let doubts = match profile.machine == host.machine {
        true => profile.doubts(clock::realtime(), &host.machine, &host.kernel, host.cpus),
        // Doubts are about measuring with the profile; on another machine it is only read.
        false => Vec::new(),
    };
    let stem: String = profile.label().chars().map(|c| if c.is_alphanumeric() || c == '@' { c } else { '-' }).collect();
    Ok((
        tarebench::render::profile::page::profile(
            profile,
            &learned,
            &doubts,
            &hints(&db_option(store.named())),
            &tarebench::sys::clock::zone(),
            crate::output::foot(),
        ),
        format!("profile-{stem}"),
    ))
}

fn write_figures(page: &Page, folder: &std::path::Path) -> Result<(), Failure> {
    let failed = |what: &std::path::Path, e: std::io::Error| Failure::system(format!("write {}: {e}", what.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    let figures = tarebench::render::kit::svg::figures::figures(page).map_err(Failure::system)?;
    for (name, text) in &figures {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(|e| failed(&file, e))?;
    }
    eprintln!("wrote {} figures to {}", figures.len(), folder.display());
    Ok(())
}
