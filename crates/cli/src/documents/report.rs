//! `tare report`: a stored result of any kind as a self-contained web page, or as figures in SVG.

use crate::args::hints::hints;
use crate::args::store::StoreArgs;
use crate::args::style::db_option;
use crate::documents::kinds::page;
use crate::documents::kinds::profile::page_of;
use crate::exit::{Exit, Failure};
use crate::files::write_files;
use crate::kind::DocumentPage;
use crate::output;
use crate::replace::write_text;
use clap::Args;
use std::path::PathBuf;
use tarebench::report::svg::figures::figures as figures_of;
use tarebench::report::web::html as web;
use tarebench::store::Store;

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
    let (DocumentPage { page, figures, stem }, name) = find(args, &*store)?;
    if let Some(folder) = &args.svg {
        let figures = figures.map_or_else(|| figures_of(&page).map_err(Failure::system), Ok)?;
        write_files(folder, &figures, "figure")?;
    }
    let file = match (&args.output, &args.svg) {
        (Some(file), _) => file.clone(),
        (None, Some(_)) => return Ok(Exit::Done),
        (None, None) => PathBuf::from(format!("tare-{}.html", stem.unwrap_or(name))),
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

/// The page, and what its file is named after if the page does not say.
fn find(args: &ReportArgs, store: &dyn Store) -> Result<(DocumentPage, String), Failure> {
    let hints = hints(&db_option(args.store.named()));
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
        let found = page_of(&found.ok_or_else(none)?, &hints)?;
        return Ok((found, "profile".to_owned()));
    }
    let id = store.find(&args.what)?;
    let found = page(store, id, &hints)?;
    Ok((found, format!("{}-{id}", id.kind.name())))
}
