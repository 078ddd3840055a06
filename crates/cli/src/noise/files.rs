//! `tare noise export` and `import`: noise in the formats of other tools.

use crate::args::store::StoreArgs;
use crate::args::style::TableStyleArgs;
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::noise::result::{failure, named, print_noise};
use crate::output::print;
use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::core::noise::files::DurationUnit;
use tarebench::noise::files::{Import, PhaseFileFormat, written};
use tarebench::noise::measure::{load, reported};

/// Export phases in the format of other tools
#[derive(Args)]
pub struct NoiseExportArgs {
    /// Number of a measurement, e.g. n1
    #[arg(value_name = "NOISE")]
    what: String,
    /// Format to write
    #[arg(long = "as", value_name = "FORM", value_enum)]
    form: FormArg,
    /// Grain to export [default: the first]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grain: Option<Nanos>,
    /// CPU to export [default: the first]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// How much longer than calibrated a phase must be to count as a detour
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1us")]
    threshold: Nanos,
    /// Length of an FTQ quantum
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
    /// Start, tab, length of each detour in ns: netgauge's selfish benchmark, LogGOPSim
    Detours,
    /// Start of each quantum in ns, tab, number of phases done in it
    Ftq,
    /// Duration of each phase, in cycles of the counter
    Fwq,
    /// Percentiles of the phases' delays over the calibrated length, for HdrHistogram's plotter
    Hdr,
}

/// Import phases from another tool's file
///
/// Each line holds one or two numbers; comments begin with #. Files of `tare export n1` are read by `tare import`.
#[derive(Args)]
pub struct NoiseImportArgs {
    /// File to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the file
    #[arg(long = "as", value_name = "FORM", value_enum)]
    form: ReadArg,
    /// Unit of durations
    #[arg(long, value_enum, default_value_t = DurationUnitArg::Ns)]
    unit: DurationUnitArg,
    /// Frequency of the counter in Hz, for --unit cycles
    #[arg(long, value_name = "HZ", required_if_eq("unit", "cycles"))]
    hz: Option<f64>,
    /// Length of an undisturbed phase [default: the shortest one; required for detours]
    #[arg(long, value_name = "TIME", value_parser = duration, required_if_eq("form", "detours"))]
    grain: Option<Nanos>,
    /// Length of the recording of detours [default: until the end of the last one]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    length: Option<Nanos>,
    /// Name of the measured machine
    #[arg(long, value_name = "NAME", default_value = "unknown machine")]
    machine: String,
    /// Label the measurement, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::args::values::pair)]
    tag: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ReadArg {
    /// Duration of each phase, back to back (FWQ)
    Durations,
    /// Start and length of each detour in ns (netgauge's selfish benchmark)
    Detours,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum DurationUnitArg {
    Ns,
    Us,
    Cycles,
}

pub fn export(args: &NoiseExportArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let id = named(&*store, &args.what)?;
    let form = match args.form {
        FormArg::Detours => PhaseFileFormat::Detours { threshold: args.threshold },
        FormArg::Ftq => PhaseFileFormat::Ftq { quantum: args.quantum },
        FormArg::Fwq => PhaseFileFormat::Fwq,
        FormArg::Hdr => PhaseFileFormat::Hdr,
    };
    let (_, noise) = load(&*store, id)?;
    let text = written(&noise, args.grain, args.cpu, form).map_err(|e| Failure::usage(format!("{id}: {e}")))?;
    if args.output.as_os_str() == "-" {
        print(&text);
    } else {
        crate::noise::result::write(&args.output, &text)?;
    }
    Ok(Exit::Done)
}

pub fn import(args: &NoiseImportArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let how = how(args)?;
    let name = name(&args.file);
    // The stored title is the file's name; a failure names its path.
    let place = if args.file.as_os_str() == "-" { name.clone() } else { args.file.display().to_string() };
    let text = read(&args.file).map_err(|e| Failure::usage(format!("read {place}: {e}")))?;
    let mut store = args.store.writable()?;
    let id = tarebench::noise::files::import(
        &mut *store,
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
    let (head, noise) = load(&*store, id)?;
    if args.json || !show.is_quiet() {
        print_noise(&head, &noise, &reported(&noise, &[]), args.json, &show.style)?;
    }
    Ok(Exit::Done)
}

fn how(args: &NoiseImportArgs) -> Result<Import, Failure> {
    if args.form == ReadArg::Detours {
        if args.unit != DurationUnitArg::Ns {
            return Err(Failure::usage("--unit is only for --as durations; detours are in ns"));
        }
        let grain = args.grain.ok_or_else(|| Failure::usage("--as detours needs --grain, the length of a phase"))?;
        return Ok(Import::Detours { grain, length: args.length });
    }
    if args.length.is_some() {
        return Err(Failure::usage("--length is only for --as detours"));
    }
    let (unit, hz) = match args.unit {
        DurationUnitArg::Ns => (DurationUnit::Whole, 1e9),
        DurationUnitArg::Us => (DurationUnit::Micros, 1e9),
        DurationUnitArg::Cycles => (DurationUnit::Whole, args.hz.unwrap_or(f64::NAN)),
    };
    if !(hz.is_finite() && hz > 0.0) {
        return Err(Failure::usage("--hz must be more than 0"));
    }
    Ok(Import::Durations { unit, hz, grain: args.grain })
}

fn name(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// A file, or standard input; bytes that are not UTF-8 make their line invalid.
fn read(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(file)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
