//! `tare noise export` and `import`: noise in the forms of other tools.

use crate::args::store::StoreArgs;
use crate::args::style::TableStyleArgs;
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::noise::result::{failure, print_noise};
use crate::output::print;
use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::Kind;
use tarebench::core::noise::files::Unit;
use tarebench::noise::files::{Form, Import, written};
use tarebench::noise::measure::{load, reported};
use tarebench::store::{Store, Stored};

/// Write phases in the form of other tools
#[derive(Args)]
pub struct ExportArgs {
    /// Number of a measurement, as n1
    #[arg(value_name = "NOISE")]
    what: String,
    /// What to write
    #[arg(long = "as", value_name = "FORM", value_enum)]
    form: FormArg,
    /// Phases of this length [default: of the first grain]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grain: Option<Nanos>,
    /// Phases on this CPU [default: on the first]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// How much longer than calibrated a phase is that counts as a detour
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1us")]
    threshold: Nanos,
    /// Length of a quantum of FTQ
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1ms")]
    quantum: Nanos,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormArg {
    /// Begin, tab, length of each detour, ns: netgauge's selfish benchmark, LogGOPSim
    Detours,
    /// Begin of each quantum of time in ns, tab, the phases done in it
    Ftq,
    /// What each phase took, in units of the cycle counter
    Fwq,
    /// Percentiles of what phases are over the calibrated length, as HdrHistogram's plotter reads them
    Hdr,
}

/// Store the phases that a file of another tool or machine tells of, for the model
///
/// What `tare export n1` wrote, `tare import` reads. Here a number or two are on each line, and comments begin with #.
#[derive(Args)]
pub struct ImportArgs {
    /// File to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What is in it
    #[arg(long = "as", value_name = "FORM", value_enum)]
    form: ReadArg,
    /// Unit of durations
    #[arg(long, value_enum, default_value_t = UnitArg::Ns)]
    unit: UnitArg,
    /// Rate of the counter in Hz, for --unit cycles
    #[arg(long, value_name = "HZ", required_if_eq("unit", "cycles"))]
    hz: Option<f64>,
    /// Length of an undisturbed phase [default: the shortest; needed for detours]
    #[arg(long, value_name = "TIME", value_parser = duration, required_if_eq("form", "detours"))]
    grain: Option<Nanos>,
    /// How long detours were looked for [default: until the last one's end]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    length: Option<Nanos>,
    /// Name of the machine that it is of
    #[arg(long, value_name = "NAME", default_value = "unknown machine")]
    machine: String,
    /// Label it, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::args::values::pair)]
    tag: Vec<(String, String)>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ReadArg {
    /// What each phase took, back to back (FWQ)
    Durations,
    /// Begin and length of each detour, ns (netgauge's selfish benchmark): they delay phases of a grain
    Detours,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum UnitArg {
    Ns,
    Us,
    Cycles,
}

pub fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let id = match store.find(&args.what)? {
        Stored::Document(id) if id.kind == Kind::Noise => id,
        _ => {
            let text = format!("{} is no measurement of noise", args.what);
            return Err(Failure::usage(text).hint("`tare list` shows them: n1, n2, …"));
        }
    };
    let form = match args.form {
        FormArg::Detours => Form::Detours { threshold: args.threshold },
        FormArg::Ftq => Form::Ftq { quantum: args.quantum },
        FormArg::Fwq => Form::Fwq,
        FormArg::Hdr => Form::Hdr,
    };
    let (_, noise) = load(&store, id)?;
    let text = written(&noise, args.grain, args.cpu, form).map_err(|e| Failure::usage(format!("{id}: {e}")))?;
    if args.output.as_os_str() == "-" {
        print(&text);
    } else {
        crate::noise::result::write(&args.output, &text)?;
    }
    Ok(Exit::Done)
}

pub fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let how = how(args)?;
    let name = name(&args.file);
    // What is stored has the file's name, a failure its place.
    let place = if args.file.as_os_str() == "-" { name.clone() } else { args.file.display().to_string() };
    let text = read(&args.file).map_err(|e| Failure::usage(format!("read {place}: {e}")))?;
    let mut store = args.store.writable()?;
    let id = tarebench::noise::files::import(
        &mut store,
        &text,
        (&name, &args.machine),
        &args.tag.iter().cloned().collect(),
        &how,
    );
    let id = id.map_err(|e| {
        let mut failure = failure(e);
        failure.message = format!("{place}: {}", failure.message);
        failure
    })?;
    eprintln!("stored as {id}");
    let (head, noise) = load(&store, id)?;
    if args.json || !show.is_quiet() {
        print_noise(&head, &noise, &reported(&noise, &[]), args.json, &show.style)?;
    }
    Ok(Exit::Done)
}

fn how(args: &ImportArgs) -> Result<Import, Failure> {
    if args.form == ReadArg::Detours {
        if args.unit != UnitArg::Ns {
            return Err(Failure::usage("detours are in ns: --unit is for durations"));
        }
        let grain = args.grain.ok_or_else(|| Failure::usage("--as detours needs --grain, the length of a phase"))?;
        return Ok(Import::Detours { grain, length: args.length });
    }
    if args.length.is_some() {
        return Err(Failure::usage("--length is for detours: durations are back to back"));
    }
    let (unit, hz) = match args.unit {
        UnitArg::Ns => (Unit::Whole, 1e9),
        UnitArg::Us => (Unit::Micros, 1e9),
        UnitArg::Cycles => (Unit::Whole, args.hz.unwrap_or(f64::NAN)),
    };
    if !(hz.is_finite() && hz > 0.0) {
        return Err(Failure::usage("--hz is not over 0"));
    }
    Ok(Import::Durations { unit, hz, grain: args.grain })
}

fn name(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// A file, or standard input; bytes that are no text make their line a bad one.
fn read(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(file)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
