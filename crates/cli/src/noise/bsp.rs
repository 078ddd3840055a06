//! `tare noise bsp`: a bulk-synchronous MPI job, measured, and predicted from the noise of its ranks.

use crate::args::style::TableStyleArgs;
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::replace::replace;
use clap::Args;
use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tarebench::core::base::units::Nanos;
use tarebench::core::noise::bsp::{Bsp, read};
use tarebench::core::noise::bsp_report::compare;
use tarebench::render::noise::bsp::{json, sheet};
use tarebench::report::terminal::sheet_text;

/// Measure a bulk-synchronous MPI job and compare its slowdown with the prediction from its ranks' noise
///
/// Every rank runs phases of the same loop, alone and with a barrier after each. Without FILE, a launcher starts the MPI program
/// `tare-bsp` (build it with `make mpi`). With FILE, its stored result is shown.
#[derive(Args)]
#[command(after_help = "Examples:
  tare noise bsp --launch 'mpirun -n 2'
  tare noise bsp --grain 100us --phases 100000 -o job.txt
  sbatch --nodes=16 --ntasks-per-node=8 tare-bsp.sbatch
  tare noise bsp tare-bsp-1234.txt --json")]
pub struct BspArgs {
    /// Result file of `tare-bsp`
    #[arg(value_name = "FILE", conflicts_with_all = ["launch", "program", "grain", "phases", "calibrations", "output"])]
    file: Option<PathBuf>,
    /// Launcher with its options [default: `srun --mpi=pmix --cpu-bind=cores` in a job of Slurm, else `mpirun --bind-to core`]
    #[arg(long, value_name = "COMMAND")]
    launch: Option<String>,
    /// MPI program [default: `tare-bsp` beside tare, or in ../libexec/tare]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Length of an undisturbed phase, 1us to 1s
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1ms")]
    grain: Nanos,
    /// Number of phases of each kind on each rank
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    phases: u64,
    /// Number of timings for calibration, each of a million iterations
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    calibrations: u64,
    /// Write the result to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
}

const GRAINS: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_millis(1_000);
const PROGRAM: &str = "tare-bsp";
/// Of the intervals.
const SEED: u64 = 1;

pub fn bsp(args: &BspArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let job = match &args.file {
        Some(file) => {
            let opened = File::open(file).map_err(|e| Failure::usage(format!("{}: {e}", file.display())))?;
            read(BufReader::new(opened)).map_err(|e| Failure::usage(format!("{}, {e}", file.display())))?
        }
        None => measured(args)?,
    };
    let compared =
        compare(&job, SEED).map_err(|e| Failure::usage(format!("the measurements cannot be compared: {e}")))?;
    if args.json {
        print(&json(&job, &compared).map_err(Failure::system)?);
    } else if !show.is_quiet() {
        print(&sheet_text(&sheet(&job, &compared), &show.style));
    }
    Ok(Exit::Done)
}

/// Runs the MPI program. Rank 0 prints the result on its standard output, since it may run on another node, without a
/// folder in common with this process.
fn measured(args: &BspArgs) -> Result<Bsp, Failure> {
    if !GRAINS.contains(&args.grain) {
        return Err(Failure::usage("--grain must be between 1us and 1s"));
    }
    let launch = launcher(args.launch.as_deref(), std::env::var_os("SLURM_JOB_ID").is_some())?;
    let program = program(args.program.as_deref())?;
    // An error is found before the measurement, and what the file holds stays until there is a result. It remains open, so that a
    // FIFO's reader waits for it.
    let output = match &args.output {
        None => None,
        Some(file) => {
            let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file);
            Some((file, opened.map_err(|e| Failure::usage(format!("output file {}: {e}", file.display())))?))
        }
    };
    let (first, rest) = launch.split_first().ok_or_else(|| Failure::usage("--launch is empty, expected a command"))?;
    let mut command = Command::new(first);
    command.args(rest).arg(&program).args(["-g", &format!("{}ns", args.grain.0)]);
    command.args(["-p", &args.phases.to_string(), "-c", &args.calibrations.to_string()]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| {
        let failure = Failure::system(format!("cannot start the launcher {first}: {e}"));
        failure.hint("install an MPI (Debian: apt-get install openmpi-bin), or give another launcher with --launch")
    })?;
    let mut result = Vec::new();
    let piped = child.stdout.take().map_or(Ok(0), |mut out| std::io::copy(&mut out, &mut result));
    let status = child.wait().map_err(|e| Failure::system(format!("wait for {first}: {e}")))?;
    piped.map_err(|e| Failure::system(format!("read the result from {first}: {e}")))?;
    if !status.success() {
        let failure =
            Failure { exit: Exit::ProgramFailed, message: format!("{first} ended with {status}"), hint: None };
        return Err(failure.hint("its messages are above; docs/noise.md lists the requirements of MPI libraries"));
    }
    if let Some((file, _opened)) = &output {
        let written = replace(file, &|out| out.write_all(&result));
        written.map_err(|e| Failure::system(format!("write {}: {e}", file.display())))?;
    }
    read(result.as_slice()).map_err(|e| {
        let message = format!("{} printed something that is not a result: {e}", program.display());
        Failure { exit: Exit::ProgramFailed, message, hint: None }
    })
}

/// The command that starts MPI programs, in words.
fn launcher(asked: Option<&str>, in_slurm: bool) -> Result<Vec<String>, Failure> {
    let command = asked.unwrap_or(if in_slurm { "srun --mpi=pmix --cpu-bind=cores" } else { "mpirun --bind-to core" });
    shell_words::split(command).map_err(|e| Failure::usage(format!("--launch {command}: {e}")))
}

/// Where the MPI program is. A launcher would look for a name without a folder in PATH.
fn program(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        return std::path::absolute(path)
            .ok()
            .filter(|p| p.is_file())
            .ok_or_else(|| Failure::usage(format!("--program {}: no such file", path.display())));
    }
    let tare = std::env::current_exe().map_err(|e| Failure::system(format!("find tare's own folder: {e}")))?;
    let folder = tare.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(PROGRAM), folder.join("../libexec/tare").join(PROGRAM)];
    places.into_iter().find(|p| p.is_file()).ok_or_else(|| {
        let failure =
            Failure::system(format!("the MPI program {PROGRAM} is not in {}, the folder of tare", folder.display()));
        failure.hint("build it with `make mpi`, or give its path with --program PATH")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_is_as_asked_for_or_fits_the_place() {
        let words = |asked, slurm| launcher(asked, slurm).unwrap().join("|");
        assert_eq!(words(None, false), "mpirun|--bind-to|core");
        assert_eq!(words(None, true), "srun|--mpi=pmix|--cpu-bind=cores");
        assert_eq!(words(Some("mpirun -n 2 --host 'a b'"), true), "mpirun|-n|2|--host|a b");
        assert!(launcher(Some("mpirun 'x"), false).is_err());
    }
}
