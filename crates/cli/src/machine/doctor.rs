//! `tare doctor`: the machine, factor by factor.

use crate::args::hints::hints;
use crate::args::style::PlainStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::Args;
use std::path::PathBuf;
use tarebench::machine::{MachineRequest, examine, machine, rules};
use tarebench::render::machine::terminal::{json, markdown, terminal};
use tarebench::sys::procfs::parse_cpu_list;

/// Check the machine for measuring, factor by factor; takes a second
///
/// ✓ as recommended, ✗ not as recommended, ! could be better for some measurements, ? unknown.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 success; 1 a factor is not as recommended (with --strict also if one could be \
better or is unknown); 2 usage error; 4 system error.")]
pub struct DoctorArgs {
    /// Check only these factors
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// CPUs to be measured on, as for `tare run`
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<Cpus>,
    /// Also fail on factors that could be better or are unknown
    #[arg(long)]
    strict: bool,
    /// Explain each factor: what is recommended, why, and the source
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the table of factors as Markdown; read none
    #[arg(long, hide = true)]
    markdown: bool,
    /// A folder with another machine's `proc` and `sys`
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
    /// D-Bus address of the bus that systemd is on
    #[arg(long, value_name = "ADDRESS", env = "TARE_SYSTEMD_BUS", hide = true)]
    bus: Option<String>,
    #[command(flatten)]
    style: PlainStyleArgs,
}

#[derive(Clone)]
struct Cpus(Vec<u32>);

fn cpus(text: &str) -> Result<Cpus, String> {
    match parse_cpu_list(text) {
        Some(list) if !list.is_empty() => Ok(Cpus(list)),
        _ => Err("expected a list of CPUs such as 0-3,8".to_owned()),
    }
}

pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    if args.markdown {
        print(&markdown(&rules()));
        return Ok(Exit::Done);
    }
    let request = MachineRequest {
        only: args.only.clone(),
        cpus: args.cpus.clone().map(|c| c.0),
        root: args.root.clone(),
        bus: args.bus.clone(),
    };
    let rows = examine(&request).map_err(|e| {
        let names: Vec<String> = rules().into_iter().map(|r| r.name).collect();
        Failure::usage(e.to_string()).hint(format!("factors: {}", names.join(", ")))
    })?;
    let rows: Vec<_> = rows.into_iter().map(|row| row.with_hints(&hints(""))).collect();
    if args.json {
        print(&json(&machine(&request), &rows).map_err(Failure::system)?);
    } else {
        let show = args.style.show()?;
        print(&terminal(&machine(&request), &rows, args.explain, &show.style));
    }
    let wrong = rows.iter().any(|r| r.is_wrong(args.strict));
    Ok(if wrong { Exit::NOT_AS_WANTED } else { Exit::Done })
}
