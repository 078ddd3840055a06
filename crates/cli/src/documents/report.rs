//! `tare report`: a stored result of any kind as a self-contained web page, or as figures in SVG.

use crate::args::hints::hints;
use crate::args::store::StoreArgs;
use crate::args::style::db_option;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::replace::write_text;
use crate::study::stored as study;
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::profile::data::Profile;
use tarebench::core::run::report::duals::duals;
use tarebench::core::run::shown::ShownRun;
use tarebench::documents;
use tarebench::profile as profiling;
use tarebench::render::kbest::bench::ShownBench;
use tarebench::render::kit::web::html as web;
use tarebench::render::kit::web::page::Page;
use tarebench::run::session;
use tarebench::store::{NamedDocument, Store};
use tarebench::sys::clock;

/// Write a stored result of any kind as a self-contained HTML page
#[derive(Args)]
#[command(after_help = "Examples:
  tare report last -o run.html
  tare report --profile -o profile.html
  tare report build7@2 --svg figures
  tare report n1 -o noise.html
  tare report s1 --svg figures
  tare report b1 -o benchmarks.html
  tare report c1 -o comparison.html
  tare report g1 -o gate.html")]
pub struct ReportArgs {
    /// Number of a run, `last`, or four or more first digits of its uuid; number of a profile (`p1`), noise (`n1`), a study
    /// (`s1`), benchmarks (`b1`), a comparison (`c1`), a gate (`g1`); or a profile's name, NAME or NAME@VERSION
    #[arg(value_name = "RUN", default_value = "last", conflicts_with = "profile")]
    what: String,
    /// A profile, NAME or NAME@VERSION [default: the newest of this machine that was not imported]
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
    let Report { page, figures, stem } = find(args, &*store)?;
    if let Some(folder) = &args.svg {
        write_figures(&figures, folder)?;
    }
    let file = match (&args.output, &args.svg) {
        (Some(file), _) => file.clone(),
        (None, Some(_)) => return Ok(Exit::Done),
        (None, None) => PathBuf::from(format!("tare-{stem}.html")),
    };
    let text = web::html(&page).map_err(Failure::system)?;
    if file.as_os_str() == "-" {
        output::print(&text);
        return Ok(Exit::Done);
    }
    write_text(&file, &text)?;
    eprintln!("wrote {}", file.display());
    Ok(Exit::Done)
}

/// What is written.
struct Report {
    page: Page,
    /// File name and SVG of each figure.
    figures: Vec<(String, String)>,
    /// What the page's file name is made of.
    stem: String,
}

impl Report {
    /// With the figures of its page.
    fn new(page: Page, stem: String) -> Result<Report, Failure> {
        let figures = tarebench::render::kit::svg::figures::figures(&page).map_err(Failure::system)?;
        Ok(Report { page, figures, stem })
    }
}

fn find(args: &ReportArgs, store: &dyn Store) -> Result<Report, Failure> {
    if let Some(label) = &args.profile {
        let found = match label.as_str() {
            "" => store.newest_profile(&tarebench::machine::identity())?,
            label => store.profile(label)?,
        };
        let none = || match label.as_str() {
            "" => Failure::usage("there is no profile of this machine that was not imported")
                .hint("`tare profile list` lists all; imported ones are used by their names only: --profile NAME"),
            label => Failure::usage(format!("there is no profile {label}")).hint("`tare profile list`"),
        };
        return of_profile(&found.ok_or_else(none)?, &args.store);
    }
    match store.find(&args.what)? {
        NamedDocument::Run(id) => of_run(store, id, args),
        NamedDocument::Document(id) => match id.kind {
            // A run is not stored as a document.
            DocumentKind::Run => of_run(store, id.number, args),
            DocumentKind::Noise => of_noise(store, id),
            DocumentKind::Profile => of_profile(&crate::profile::result::stored(store, id)?, &args.store),
            DocumentKind::Study => of_study(store, id),
            DocumentKind::Bench => of_bench(store, id),
            DocumentKind::Comparison => of_comparison(store, id),
            DocumentKind::Gate => of_gate(store, id),
        },
    }
}

fn of_run(store: &dyn Store, id: i64, args: &ReportArgs) -> Result<Report, Failure> {
    let stored = session::load(store, id)?;
    if stored.run.plan.programs.is_empty() {
        let text = format!("run {id} is a recording of the machine, without programs");
        return Err(Failure::usage(text).hint("`tare report --profile` shows what was learned from it"));
    }
    let (report, shown) = (stored.report()?, ShownRun::read(&stored.run, &stored.samples)?);
    let found = duals(&stored.run, &shown);
    let hints = hints(&db_option(args.store.named()));
    let page = tarebench::render::run::page::run(&report, &shown, &found, &hints, &clock::zone(), output::foot());
    Report::new(page, format!("run-{id}"))
}

fn of_study(store: &dyn Store, id: Id) -> Result<Report, Failure> {
    let (page, figures) = study::page(&study::load(store, id)?)?;
    Ok(Report { page, figures, stem: format!("study-{id}") })
}

fn of_bench(store: &dyn Store, id: Id) -> Result<Report, Failure> {
    let (head, bench) = documents::bench(store, id)?;
    let report = tarebench::core::kbest::report::build(&bench);
    let shown = ShownBench { head: &head, bench: &bench, report: &report };
    Report::new(tarebench::render::kbest::page::bench(&shown, &clock::zone(), output::foot()), format!("bench-{id}"))
}

fn of_comparison(store: &dyn Store, id: Id) -> Result<Report, Failure> {
    let (head, found) = tarebench::compare::stored::load(store, id)?;
    let report = tarebench::core::compare::stored_report::report(&found);
    let zone = clock::zone();
    let page = tarebench::render::compare::stored::page::comparison(&head, &found, &report, &zone, output::foot());
    Report::new(page, format!("comparison-{id}"))
}

fn of_gate(store: &dyn Store, id: Id) -> Result<Report, Failure> {
    let (head, found) = tarebench::compare::gate::load(store, id)?;
    let report = tarebench::core::compare::gate_rule::report(&found);
    let page = tarebench::render::compare::gate::page::gate(&head, &found, &report, &clock::zone(), output::foot());
    Report::new(page, format!("gate-{id}"))
}

fn of_noise(store: &dyn Store, id: Id) -> Result<Report, Failure> {
    let (head, found) = tarebench::noise::measure::load(store, id)?;
    let grains = tarebench::noise::measure::reported(&found, &[]);
    let page = tarebench::render::noise::page::noise(&head, &found, &grains, &clock::zone(), output::foot());
    Report::new(page, format!("noise-{id}"))
}

fn of_profile(profile: &Profile, store: &StoreArgs) -> Result<Report, Failure> {
    let learned = profiling::learned(profile)?;
    let host = tarebench::host::host::describe(std::path::Path::new("/"));
    let doubts = match profile.machine == host.machine {
        true => profile.doubts(clock::realtime(), &host.machine, &host.kernel, host.cpus),
        // Doubts are about measuring with the profile; on another machine it is only read.
        false => Vec::new(),
    };
    let stem: String = profile.label().chars().map(|c| if c.is_alphanumeric() || c == '@' { c } else { '-' }).collect();
    let hints = hints(&db_option(store.named()));
    let page =
        tarebench::render::profile::page::profile(profile, &learned, &doubts, &hints, &clock::zone(), output::foot());
    Report::new(page, format!("profile-{stem}"))
}

fn write_figures(figures: &[(String, String)], folder: &std::path::Path) -> Result<(), Failure> {
    let failed = |what: &std::path::Path, e: std::io::Error| Failure::system(format!("write {}: {e}", what.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in figures {
        write_text(&folder.join(name), text)?;
    }
    eprintln!("wrote {} figures to {}", figures.len(), folder.display());
    Ok(())
}
