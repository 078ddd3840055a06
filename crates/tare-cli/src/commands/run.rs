//! `tare run`: time programs by the protocol.

use super::tune::TuneAround;
use super::{StoreArgs, self_check};
use crate::exit::{Exit, Failure};
use crate::output::{Exports, Show, StyleArgs};
use crate::plan;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tarebench::core::sample::PtSource;
use tarebench::session::{Measured, Options, Why, measure};
use tarebench::sys::signals::Signals;

/// Time one or more programs
///
/// `tare run -- PROG ARGS…` times one program with its own arguments; `tare run 'PROG A' 'PROG B'` times each
/// string, split into words as a shell would, but without a shell (-S asks for one).
#[derive(Args)]
#[command(after_help = AFTER)]
pub struct RunArgs {
    #[command(flatten)]
    pub what: plan::WhatArgs,
    #[command(flatten)]
    pub count: plan::CountArgs,
    #[command(flatten)]
    pub hooks: plan::HookArgs,
    #[command(flatten)]
    pub conditions: plan::ConditionArgs,
    #[command(flatten)]
    tuning: TuneAround,
    #[command(flatten)]
    pub statistics: plan::StatisticsArgs,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    store: StoreArgs,
    /// Take process times from no better source than this one (for comparing sources)
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Conditions")]
    pt_source: Option<Source>,
    /// Measure what the tracing of programs costs them, with and without it in turn, and nothing else
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, require_equals = true, default_missing_value = "20",
          value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["commands", "argv"])]
    self_check: Option<u32>,
    /// One program and its arguments, taken as they are
    #[arg(last = true, value_name = "PROG ARGS", conflicts_with = "commands", help_heading = "Programs")]
    pub argv: Vec<OsString>,
}

const AFTER: &str = "Examples:
  tare run -- gzip -9 -k -c file
  tare run -r 20 'sort a.txt' 'sort -S 1G a.txt'
  tare run -L level 1,6,9 -p 'rm -f out.gz' 'gzip -{level} -k file'
  tare run --precision 0.005 --cpus 1 -- ./prog

Exit codes: 0 measured; 1 a program failed; 2 wrong usage; 3 a required step does not hold; \
4 the store or the system failed; 130 interrupted.";

#[derive(Clone, Copy, ValueEnum)]
enum Source {
    Cgroup,
    TaskClock,
    ExitRecords,
    Wait4,
}

impl From<Source> for PtSource {
    fn from(s: Source) -> PtSource {
        match s {
            Source::Cgroup => PtSource::Cgroup,
            Source::TaskClock => PtSource::TaskClock,
            Source::ExitRecords => PtSource::ExitRecords,
            Source::Wait4 => PtSource::Wait4,
        }
    }
}

pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    if let Some(rounds) = args.self_check {
        return self_check::run(rounds, &args.style.show()?);
    }
    let plan = plan::build(&args)?;
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named());
    let mut place = args.store.place()?;
    let signals = Signals::install().map_err(Failure::system)?;
    let tuned = args.tuning.begin(&signals)?;
    let notes = tuned.as_ref().map(|t| t.report().notes()).unwrap_or_default();
    let mut progress = Progress::new(&show, &plan);
    let options = Options { pt_source: args.pt_source.map(Into::into), notes };
    let measured = measure(plan, &mut place, options, &signals, &mut |run, e| progress.on(run, &e));
    drop(progress);
    let restored = TuneAround::end(tuned);
    let exit = finish(measured?, &show, &args.exports)?;
    restored.map(|()| exit)
}

/// Prints and exports what was measured, and says how it ended.
pub fn finish(measured: Measured, show: &Show, exports: &Exports) -> Result<Exit, Failure> {
    let report = measured.report();
    show.report(&report, &measured.samples, exports)?;
    exports.write(&report, &measured.samples, show)?;
    let resume = match measured.run.id {
        0 => None,
        id => Some(format!("`{}` goes on with it", show.resume_command(id))),
    };
    let with_hint = |f: Failure| match &resume {
        Some(hint) => f.hint(hint.clone()),
        None => f,
    };
    match measured.why {
        Why::Finished if report.series.iter().any(|s| s.failures.iter().any(|f| !f.ignored)) => Ok(Exit::ProgramFailed),
        Why::Finished => Ok(Exit::Done),
        Why::Interrupted(signal) => {
            let n = measured.samples.len();
            let message = format!("interrupted by signal {signal}; {n} samples are kept");
            Err(with_hint(Failure { exit: Exit::Interrupted, message, hint: None }))
        }
        Why::NotKept(e) => {
            let message = format!("the last sample could not be stored, so measuring stopped: {e}");
            Err(with_hint(Failure { exit: Exit::System, message, hint: None }))
        }
        Why::Failed(e) => Err(with_hint(Failure::system(format!("measuring stopped: {e}")))),
    }
}
