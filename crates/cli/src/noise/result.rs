//! The result of a measurement of noise, as every subcommand shows it.

use crate::exit::Failure;
use crate::output::print;
use crate::replace::write_text;
use std::path::Path;
use tarebench::core::documents::head::DocumentHead;
use tarebench::core::noise::data::Noise;
use tarebench::core::noise::report::Grain;
use tarebench::noise::error::NoiseError;
use tarebench::render::kit::style::Style;
use tarebench::render::kit::table::Table;
use tarebench::render::noise::terminal::{json, terminal};
use tarebench::render::study::published::published_tables;

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

/// A measurement on standard output.
pub fn print_noise(
    head: &DocumentHead,
    noise: &Noise,
    grains: &[Grain],
    as_json: bool,
    style: &Style,
) -> Result<(), Failure> {
    if as_json {
        print(&json(head, noise, grains).map_err(Failure::system)?);
    } else {
        print(&terminal(head, noise, grains, style));
    }
    Ok(())
}

/// The paper's tables, if they are asked for.
pub fn published(asked: bool) -> Vec<Table> {
    if asked { published_tables("noise") } else { Vec::new() }
}

/// An existing file is overwritten.
pub fn write(file: &Path, text: &str) -> Result<(), Failure> {
    write_text(file, text)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
