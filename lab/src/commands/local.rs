//! Measures a task's programs on this machine, as `tare run` does.

use crate::data::state::LabProgress;
use crate::data::tasks::LabTaskPlan;
use crate::work::lease::LabGo;
use crate::work::task::{BetweenSamples, LabMeasured, LabRunEnd, LabWork};
use clap::Parser;
use std::path::PathBuf;
use tarebench::core::run::last_words::LastWords;
use tarebench::core::run::notes::Note;
use tarebench::core::run::plan::{RunCount, RunPlan};
use tarebench::core::run::report::data::RunReport;
use tarebench::core::sample::data::Phase;
use tarebench::event::Event;
use tarebench::render::run::terminal::failed::failed;
use tarebench::report::style::Style;
use tarebench::report::text::escape;
use tarebench::run::request::RequestedRun;
use tarebench::run::session::{self, ImportTrust, MeasuredRun, RunEvent, RunOptions, StopReason, StorePlace, load};
use tarebench::store::SqliteStore;
use tarebench::store::Store;
use tarebench::sys::process;
use tarebench::sys::signals::{self, Signals};
use tarebench_cli::exit::Failure;
use tarebench_cli::machine::tune::TuneAround;
use tarebench_cli::run::args::RunArgs;
use tarebench_cli::run::command::note_shells;
use tarebench_cli::run::plan;
use tarebench_cli::run::startable;

/// What ends the measurement between two samples, as a user's Ctrl-C does.
const SIGTERM: i32 = 15;

/// The words after `tare run`.
#[derive(Parser)]
#[command(name = "run", no_binary_name = true, disable_help_flag = true)]
struct TaskWords {
    #[command(flatten)]
    run: RunArgs,
}

/// Reads the arguments of a task; those that print, write files or choose a store have no place there.
///
/// # Errors
/// The first wrong one.
pub fn words(task: &LabTaskPlan) -> Result<RunArgs, Failure> {
    let words = TaskWords::try_parse_from(&task.arguments).map_err(|e| {
        let text = e.to_string();
        let first = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let first = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
        Failure::usage(format!("the options of the campaign: {first}")).hint("`tare run --help` lists them")
    })?;
    if words.run.exports.any() {
        let what = "the options of the campaign: --json and --export-… write files, which tasks do not";
        return Err(Failure::usage(what).hint("`tare lab results CAMPAIGN --export FOLDER` writes the runs"));
    }
    if words.run.push.is_some() || words.run.self_check.is_some() {
        return Err(Failure::usage("the options of the campaign: --push and --self-check have no place there"));
    }
    Ok(words.run)
}

/// Measures into the local store.
pub struct LocalMeasurer {
    /// Its file.
    pub local: PathBuf,
    /// Whether runs are resumed that were imported.
    pub trust: ImportTrust,
    /// How messages are drawn.
    pub style: Style,
}

impl LocalMeasurer {
    /// Does what is asked for; an error is what prevented the first sample.
    pub fn measure(
        &mut self,
        work: LabWork<'_>,
        signals: &Signals,
        between: BetweenSamples<'_>,
    ) -> Result<LabMeasured, String> {
        let done = match work {
            LabWork::Judge(run) => self.judge(run),
            LabWork::Measure(task) => self.begin(task, signals, between),
            LabWork::Resume(task, run) => self.resume(task, run, signals, between),
        };
        done.map_err(|failure| failure.message)
    }

    fn judge(&self, run: i64) -> Result<LabMeasured, Failure> {
        let store = SqliteStore::open(&self.local)?;
        let report = load(&store, run)?.report()?;
        Ok(LabMeasured { run, ended: self.ended(&report, &[]) })
    }

    fn begin(
        &self,
        task: &LabTaskPlan,
        signals: &Signals,
        between: BetweenSamples<'_>,
    ) -> Result<LabMeasured, Failure> {
        let args = words(task)?;
        let RequestedRun { mut plan, .. } = plan::build(&args)?;
        startable::check(&plan)?;
        // An execution that hangs would never come to the end of the task's time.
        plan.timeout = plan.timeout.or(task.time_limit);
        let mut place = StorePlace::Store(Box::new(SqliteStore::open(&self.local)?));
        let tuned = args.tuning.begin(signals)?;
        let mut notes: Vec<Note> = tuned.iter().map(|t| Note::Tuned(t.report().tuning())).collect();
        let noted = note_shells(&plan, signals, &mut notes);
        let options = RunOptions { pt_source: args.pt_source.map(Into::into), notes, ..RunOptions::default() };
        let mut gate = TaskGate::new(&plan, 0, signals, between);
        let measured = match noted {
            Ok(()) => session::measure(plan, &mut place, options, signals, &mut |e| gate.on(&e)).map_err(Failure::from),
            Err(e) => Err(e),
        };
        gate.end();
        restored(TuneAround::end(tuned));
        self.measured(&measured?, &place)
    }

    fn resume(
        &self,
        task: &LabTaskPlan,
        run: i64,
        signals: &Signals,
        between: BetweenSamples<'_>,
    ) -> Result<LabMeasured, Failure> {
        let args = words(task)?;
        let store = SqliteStore::open(&self.local)?;
        let plan = store.run(run)?.plan;
        let mut counted = 0;
        store.each_sample_alone(run, &mut |sample| counted += u64::from(sample.phase == Phase::Counted))?;
        let mut place = StorePlace::Store(Box::new(store));
        let tuned = args.tuning.begin(signals)?;
        let mut gate = TaskGate::new(&plan, counted, signals, between);
        let measured = session::resume(run, &mut place, self.trust, signals, &mut |e| gate.on(&e));
        gate.end();
        restored(TuneAround::end(tuned));
        self.measured(&measured?, &place)
    }

    fn measured(&self, measured: &MeasuredRun, place: &StorePlace) -> Result<LabMeasured, Failure> {
        let ended = match &measured.why {
            StopReason::Finished => self.ended(&measured.report(place)?, &measured.last_words),
            StopReason::Interrupted(_) => LabRunEnd::Interrupted,
            StopReason::NotKept(e) => LabRunEnd::Failed(format!("a sample could not be stored: {e}")),
            StopReason::Failed(e) => LabRunEnd::Failed(format!("measuring stopped: {e}")),
        };
        Ok(LabMeasured { run: measured.run.id, ended })
    }

    /// How a finished run ended: with its first failure that was not accepted, if there is one.
    fn ended(&self, report: &RunReport, last_words: &[LastWords]) -> LabRunEnd {
        match failed(report, last_words, &self.style).into_iter().next() {
            Some(failure) => LabRunEnd::Failed(failure.text),
            None => LabRunEnd::Finished,
        }
    }
}

/// A machine that is not as before is reported; the samples count.
fn restored(ended: Result<(), Failure>) {
    if let Err(e) = ended {
        tarebench_cli::output::error(&e);
    }
}

/// Counts samples, and asks after each whether the next one is to be taken.
struct TaskGate<'a> {
    done: u64,
    wanted: Option<u64>,
    signals: &'a Signals,
    between: BetweenSamples<'a>,
    /// It has asked the run to end.
    stopped: bool,
}

impl<'a> TaskGate<'a> {
    fn new(plan: &RunPlan, done: u64, signals: &'a Signals, between: BetweenSamples<'a>) -> TaskGate<'a> {
        let wanted = match plan.runs {
            RunCount::Fixed(n) => Some(u64::from(n) * plan.programs.len() as u64),
            RunCount::Adaptive { .. } | RunCount::Detect { .. } => None,
        };
        TaskGate { done, wanted, signals, between, stopped: false }
    }

    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Run(_, RunEvent::Done { sample }) => {
                self.done += u64::from(sample.phase == Phase::Counted);
                self.ask();
            }
            Event::Run(_, RunEvent::DoneDuet { .. }) => self.ask(),
            Event::Run(_, RunEvent::Warning(text)) => eprintln!("tare: warning: {}", escape(text)),
            _ => {}
        }
    }

    fn ask(&mut self) {
        // A block may hold several executions.
        let wanted = self.wanted.filter(|wanted| *wanted >= self.done);
        let go = (self.between)(LabProgress { done: self.done, wanted });
        // What came meanwhile is let in first, so that a signal from outside is not taken for this one.
        if go == LabGo::Stop && !self.stopped && self.signals.caught().is_none() {
            self.stopped = process::kill(process::own_pid(), SIGTERM).is_ok();
        }
    }

    /// The signal that this sent is forgotten, unless another one came.
    fn end(self) {
        if self.stopped && self.signals.caught().is_some() && self.signals.times() == 1 {
            signals::forget();
        }
    }
}
