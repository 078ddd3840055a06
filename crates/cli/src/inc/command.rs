//! `tare inc`: the compute-only program of the papers.

use crate::exit::{Exit, Failure};
use clap::Args;
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::inc::calibration::{CalibrationError, IncCalibration};
use tarebench::inc::workload::increments;
use tarebench::report::number;
use tarebench::run::session::store_path;
use tarebench::sys::clock;

/// Run INC, the papers' reference program: a fixed number of increments
///
/// The number of increments depends only on the task length and on this machine's calibration: INC8 is the
/// same work every time. No system call is made while it runs (EMP figure 7).
#[derive(Args)]
pub struct IncArgs {
    /// Length of the work in seconds, 0.001 to 16384
    #[arg(value_name = "SECONDS", required_unless_present_any = ["calibrate", "count"])]
    seconds: Option<f64>,
    /// Recalibrate; changes how much work INC does
    #[arg(long)]
    calibrate: bool,
    /// Do exactly N increments, without calibration
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "calibrate"])]
    count: Option<u64>,
    /// Time two equal halves, one after the other, and print both
    #[arg(long)]
    split: bool,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
    /// Folder of the calibration [default: $XDG_DATA_HOME/tarebench]
    #[arg(long, value_name = "FOLDER", env = "TARE_CALIBRATION")]
    calibration: Option<PathBuf>,
}

fn failure(e: &CalibrationError) -> Failure {
    match e {
        CalibrationError::Length(_) => Failure::usage(e.to_string()),
        CalibrationError::Format { .. } => Failure::system(e).hint("recalibrate with: `tare inc --calibrate`"),
        _ => Failure::system(e),
    }
}

fn calibrated(args: &IncArgs) -> Result<IncCalibration, Failure> {
    calibration(args.calibration.as_deref(), args.calibrate, args.quiet)
}

/// This machine's calibration, stored in `folder` or the default one; measured if there is none, or if asked.
pub fn calibration(folder: Option<&Path>, anew: bool, quiet: bool) -> Result<IncCalibration, Failure> {
    let folder = match folder {
        Some(f) => f.to_owned(),
        None => store_path(None)?.parent().map(Path::to_owned).unwrap_or_default(),
    };
    let machine = tarebench::machine::identity();
    if !anew && let Some(c) = IncCalibration::load(&folder, &machine).map_err(|e| failure(&e))? {
        return Ok(c);
    }
    let c = IncCalibration::measure(&machine);
    let kept = c.save(&folder);
    if !quiet {
        let rate = c.increments_per_second / 1e9;
        eprintln!(
            "tare inc: calibrated to {rate:.4}e9 increments a second (the rate varied by {})",
            number::percent(c.spread).unwrap_or_default()
        );
        match &kept {
            Ok(path) => eprintln!("tare inc: calibration written to {}", path.display()),
            Err(e) => eprintln!(
                "tare inc: warning: the calibration cannot be written, so the next INC calibrates again and does different work: {e}"
            ),
        }
    }
    if anew {
        kept.map_err(|e| failure(&e))?;
    }
    Ok(c)
}

pub fn inc(args: &IncArgs) -> Result<Exit, Failure> {
    let count = match (args.count, args.seconds) {
        (Some(count), _) => count,
        (None, Some(seconds)) => {
            // A length out of range is refused before anything is measured.
            let any = IncCalibration {
                machine: String::new(),
                increments_per_second: 1.0,
                created: Nanos::ZERO,
                spread: 0.0,
            };
            any.increments(seconds).map_err(|e| failure(&e))?;
            calibrated(args)?.increments(seconds).map_err(|e| failure(&e))?
        }
        (None, None) => {
            calibrated(args)?;
            return Ok(Exit::Done);
        }
    };
    let halves = if args.split { vec![count / 2, count - count / 2] } else { vec![count] };
    let mut lines = String::new();
    for (i, part) in halves.iter().enumerate() {
        let (wall, cpu) = (clock::monotonic(), clock::own_cpu());
        let done = increments(*part);
        let (cpu, wall) = (clock::own_cpu() - cpu, clock::monotonic() - wall);
        let name = if args.split { format!("half {}: ", i + 1) } else { String::new() };
        lines += &format!("{name}{done} increments, elapsed {:.6} s, process time {:.6} s\n", wall.secs(), cpu.secs());
    }
    if !args.quiet {
        crate::output::print(&lines);
    }
    Ok(Exit::Done)
}
