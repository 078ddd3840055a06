//! The result of a measurement of noise, as every subcommand shows it.

use crate::args::style::TableStyleArgs;
use crate::args::values::duration;
use crate::elsewhere::{PaperValues, paper_values};
use crate::exit::Failure;
use crate::noise::undisturbed::UndisturbedArg;
use crate::output::print;
use crate::replace::write_text;
use clap::Args;
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench::core::noise::data::Noise;
use tarebench::core::noise::report::Grain;
use tarebench::noise::error::NoiseError;
use tarebench::render::noise::json;
use tarebench::render::noise::sheet::noise as noise_sheet;
use tarebench::report::style::Style;
use tarebench::report::table::Table;
use tarebench::report::terminal::sheet_text;
use tarebench::report::web::page::Page;
use tarebench::store::Store;

/// How a measurement is shown, when it was made and later.
#[derive(Args)]
pub struct NoiseResultArgs {
    /// Delay thresholds to report probabilities for [default: 1us,10us,100us,1ms,10ms]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = duration)]
    pub delays: Vec<Nanos>,
    /// What slowdowns are divided by
    #[arg(long, value_enum, value_name = "GRAIN", default_value_t = UndisturbedArg::Minimum)]
    pub undisturbed: UndisturbedArg,
    /// Show the paper's tables, too
    #[arg(long, conflicts_with = "json")]
    pub published: bool,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub style: TableStyleArgs,
}

pub fn failure(e: NoiseError) -> Failure {
    match e {
        NoiseError::Cpu { .. } | NoiseError::File(_) => Failure::usage(e.to_string()),
        NoiseError::Priority(_) if tarebench::sys::process::effective_uid() == 0 => Failure::system(e).hint(
            "a container may forbid real-time priorities; with RT_GROUP_SCHED and cgroup v2, only the root cgroup has \
             real-time bandwidth",
        ),
        NoiseError::Priority(_) => {
            Failure::system(e).hint("run as root, or raise `ulimit -r`; without --sched the default scheduler is used")
        }
        NoiseError::Budget { .. } => Failure::system(e).hint(
            "run tare in the root cgroup, or write a bandwidth in µs to this file, and first to those of the parent \
             cgroups",
        ),
        NoiseError::Document(e) => e.into(),
        other => Failure::system(other),
    }
}

/// The stored measurement that a user means.
pub fn named(store: &dyn Store, text: &str) -> Result<Id, Failure> {
    let id = store.find(text)?;
    if id.kind == DocumentKind::Noise {
        return Ok(id);
    }
    Err(Failure::usage(format!("{text} is not a noise measurement")).hint("list them with: `tare list`"))
}

/// A measurement on standard output.
pub fn print_noise(
    head: &DocumentHead,
    noise: &Noise,
    grains: &[Grain],
    as_json: bool,
    style: &Style,
) -> Result<(), Failure> {
    if as_json {
        print(&json::noise(head, noise, grains).map_err(Failure::system)?);
    } else {
        print(&sheet_text(&noise_sheet(head, noise, grains, &style.zone, String::new()), style));
    }
    Ok(())
}

/// The paper's tables and curves.
pub struct PublishedNoise {
    values: &'static PaperValues,
    tables: Vec<Table>,
}

impl PublishedNoise {
    /// If they are asked for.
    pub fn asked(asked: bool) -> Result<Option<PublishedNoise>, Failure> {
        if !asked {
            return Ok(None);
        }
        let values = paper_values()?;
        Ok(Some(PublishedNoise { values, tables: (values.published)(COMMAND) }))
    }

    /// Prints the tables.
    pub fn print(&self, style: &Style) {
        print(&(self.values.published_text)(&self.tables, style));
    }

    /// Adds them to a page.
    pub fn add_to(&self, page: &mut Page) {
        page.tables.extend(self.tables.iter().cloned());
        (self.values.published_curves)(COMMAND, page);
    }
}

/// Whose counterparts are meant.
const COMMAND: &str = "noise";

/// An existing file is overwritten.
pub fn write(file: &Path, text: &str) -> Result<(), Failure> {
    write_text(file, text)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
