//! `tare run`: time programs by the protocol.

use crate::args::exports::Exports;
use crate::args::style::Show;
use crate::cores::say_shared;
use crate::exit::{Exit, Failure};
use crate::machine::tune::TuneAround;
use crate::output::short;
use crate::progress::Display;
use crate::pushed::PushTarget;
use crate::run::args::RunArgs;
use crate::run::{plan, quiet, self_check, startable};
use tarebench::core::base::signal::Signal;
use tarebench::core::run::last_words::LastWords;
use tarebench::core::run::notes::Note;
use tarebench::core::run::plan::{Command, IgnoreFailure, RunPlan};
use tarebench::core::run::report::data::{RunReport, SeriesReport};
use tarebench::core::sample::data::Outcome;
use tarebench::machine_lock::{LockMode, MachineLock, take};
use tarebench::programs::command::ByShell;
use tarebench::render::run::terminal::failed::{Failed, failed};
use tarebench::run::request::RequestedRun;
use tarebench::run::session::{MeasuredRun, RunOptions, StopReason, StorePlace, measure};
use tarebench::run::shell_start::shell_starts;
use tarebench::sys::signals::Signals;

pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    if let Some(rounds) = args.self_check {
        return self_check::run(rounds, &args.style.show()?);
    }
    let Timed { measured, place, show, restored, push } = timed(&args)?;
    let exit = finish(&measured, &place, &show, &args.exports)?;
    push.map_or(Ok(()), |to| to.push(&place, &measured, show.is_quiet()))?;
    restored.map(|()| exit)
}

/// A run that was measured, and where it is.
pub struct Timed {
    /// The run.
    pub measured: MeasuredRun,
    /// Where it is stored.
    pub place: StorePlace,
    /// How it is shown.
    pub show: Show,
    /// Whether the machine is as it was before.
    pub restored: Result<(), Failure>,
    /// Where it is to be pushed.
    pub push: Option<PushTarget>,
}

impl Timed {
    /// The report of the run; programs are compared by what the arguments ask for.
    pub fn report(&self) -> Result<RunReport, Failure> {
        let mut report = self.measured.report(&self.place)?;
        self.show.compare(&mut report);
        Ok(report)
    }
}

/// Who asks for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The command.
    Command,
    /// Another program, which shows the result itself.
    Library { show_progress: bool },
}

impl Caller {
    fn show(self, show: Show) -> Show {
        match self {
            Caller::Command => show,
            Caller::Library { show_progress } => show.for_library(show_progress),
        }
    }
}

/// Measures the programs of the arguments.
pub fn timed(args: &RunArgs) -> Result<Timed, Failure> {
    timed_for(args, Caller::Command)
}

/// The same for a caller.
pub fn timed_for(args: &RunArgs, caller: Caller) -> Result<Timed, Failure> {
    let RequestedRun { mut plan, by_shell } = plan::build(args)?;
    startable::check(&plan)?;
    if plan.sequential_for_setups() && args.count.order.is_none() {
        eprintln!(
            "tare: the programs run one after the other, each after its own setup command, because one setup may \
             undo another's; if not, use --independent-setup"
        );
    }
    args.exports.check()?;
    let push = PushTarget::of(args.push.as_deref(), &args.store)?;
    // The run is in a file, whatever it is pushed to.
    let show = caller.show(args.style.show()?.with_store(args.store.named_file()));
    show.check_number(&mut plan)?;
    if !show.is_quiet() {
        say_shell(&by_shell);
        quiet::say_cpu(args, &plan);
        say_shared(&plan.cpus);
    }
    let mut place = args.store.place()?;
    let _beside = beside_agents(&show);
    let signals = Signals::install().map_err(Failure::system)?;
    let tuned = args.tuning.begin(&signals)?;
    let mut notes: Vec<Note> = tuned.iter().map(|t| Note::Tuned(t.report().tuning())).collect();
    note_shells(&plan, &signals, &mut notes)?;
    let mut display = Display::new(&show);
    let options = RunOptions { pt_source: args.pt_source.map(Into::into), notes, ..RunOptions::default() };
    let measured = measure(plan, &mut place, options, &signals, &mut |e| display.on(e));
    drop(display);
    let restored = TuneAround::end(tuned);
    if caller == Caller::Command {
        signals.release();
    }
    Ok(Timed { measured: measured?, place, show, restored, push })
}

/// Keeps agents of a lab from starting a task meanwhile. One that runs already is no reason not to measure.
fn beside_agents(show: &Show) -> Option<MachineLock> {
    let lock = take(LockMode::User);
    if lock.is_none() && !show.is_quiet() {
        eprintln!("tare: warning: an agent of a lab measures on this machine: the two may disturb each other");
    }
    lock
}

/// Names the programs that the shell runs without an option that requests it.
pub fn say_shell(by_shell: &[ByShell]) {
    let Some(ByShell { text, syntax }) = by_shell.first() else { return };
    let text = tarebench::report::text::escape(text);
    let text = short(&text);
    let others = match by_shell.len() - 1 {
        0 => String::new(),
        1 => ", and one other program".to_owned(),
        n => format!(", and {n} other programs"),
    };
    let syntax = syntax.to_string();
    let syntax = tarebench::report::text::escape(&syntax);
    eprintln!("tare: /bin/sh runs `{text}`{others}, because it has {syntax}; use -N to forbid this");
}

/// Measures the shells' own starts, and keeps them with the run. They are part of each sample, and never subtracted.
pub fn note_shells(plan: &RunPlan, signals: &Signals, notes: &mut Vec<Note>) -> Result<(), Failure> {
    let starts = shell_starts(plan, signals).map_err(tarebench::run::session::SessionError::Run)?;
    if !starts.is_empty() {
        notes.push(Note::Shell { starts });
    }
    Ok(())
}

/// Prints and exports the result, and reports how the run ended.
pub fn finish(measured: &MeasuredRun, place: &StorePlace, show: &Show, exports: &Exports) -> Result<Exit, Failure> {
    let mut report = measured.report(place)?;
    let samples = measured.samples(place);
    show.compare(&mut report);
    show.report(&report, &samples, exports)?;
    exports.write(&report, &samples, &show.style)?;
    conclude(measured, &report, show)
}

/// Reports how the run ended.
pub fn conclude(measured: &MeasuredRun, report: &RunReport, show: &Show) -> Result<Exit, Failure> {
    let resume = match measured.run.id {
        0 => None,
        id => Some(format!("resume with: `{}`", show.resume_command(id))),
    };
    let with_hint = |f: Failure| match &resume {
        Some(hint) => f.hint(hint.clone()),
        None => f,
    };
    match &measured.why {
        StopReason::Finished => match ended(report, &measured.last_words, show) {
            Exit::Done if !measured.failed_cleanups.is_empty() => Ok(Exit::ProgramFailed),
            exit => Ok(exit),
        },
        StopReason::Interrupted(signal) => {
            let n = measured.taken;
            let stored =
                if resume.is_some() { format!("{n} samples are stored") } else { "nothing was stored".to_owned() };
            let message = format!("interrupted by {}; {stored}", Signal(*signal));
            Err(with_hint(Failure { exit: Exit::Interrupted, message, hint: None }))
        }
        StopReason::NotKept(e) => {
            let message = format!("the last sample could not be stored; the run stopped: {e}");
            Err(with_hint(Failure { exit: Exit::System, message, hint: None }))
        }
        StopReason::Failed(e) => Err(with_hint(Failure::system(format!("measuring stopped: {e}")))),
    }
}

/// How a finished run ends: with the first failure that was not accepted, if there is one. The first of each program is one line on
/// standard error.
fn ended(report: &RunReport, last_words: &[LastWords], show: &Show) -> Exit {
    let mut exit = Exit::Done;
    for failure in failed(report, last_words, &show.progress_style) {
        let Some(series) = report.series.get(failure.series) else { continue };
        let (code, hint) = cure(series, &failure, &report.run.plan.ignore_failure);
        eprintln!("tare: {}; {hint}", failure.text);
        if exit == Exit::Done {
            exit = code;
        }
    }
    exit
}

/// The exit code of a failed execution, and a hint, which fits its cause: `-i` only where it was not given and would help.
fn cure(series: &SeriesReport, failure: &Failed, ignore: &IgnoreFailure) -> (Exit, &'static str) {
    let (program, at_once) = (&series.program, failure.at_once);
    match &failure.outcome {
        _ if failure.out_of_memory => (Exit::ProgramFailed, "raise the limit of memory, or let the program use less"),
        Outcome::NotStarted { by_limit: true, .. } => (Exit::System, "raise the limit, or shorten what reaches it"),
        Outcome::NotStarted { .. } if at_once && (program.setup.is_some() || program.prepare.is_some()) => {
            (Exit::Usage, "check that the setup or prepare command creates it")
        }
        Outcome::NotStarted { .. } if at_once => (Exit::Usage, "run it by itself to see why"),
        Outcome::NotStarted { .. } => (Exit::ProgramFailed, "it could be started before; run it by itself to see why"),
        Outcome::HookFailed { .. } => (Exit::ProgramFailed, "run the command by itself to see why"),
        Outcome::Exited { code: 127 } if matches!(program.command, Command::Shell { .. }) => {
            (Exit::ProgramFailed, "the shell has no such command: check its spelling, or select another shell with -S")
        }
        Outcome::TimedOut { .. } => (Exit::ProgramFailed, "--timeout sets how long an execution may take"),
        Outcome::Stopped { signal } => (Exit::ProgramFailed, stop_hint(*signal)),
        Outcome::Signaled { signal } if signal_hint(*signal).is_some() => {
            (Exit::ProgramFailed, signal_hint(*signal).unwrap_or_default())
        }
        _ => match ignore {
            IgnoreFailure::No => (Exit::ProgramFailed, "see its output with --show-output, accept failures with -i"),
            IgnoreFailure::Codes(_) => {
                (Exit::ProgramFailed, "see its output with --show-output; -i accepts other exit codes")
            }
            IgnoreFailure::All => (Exit::ProgramFailed, "see its output with --show-output"),
        },
    }
}

/// Why a program stops itself, and what to do.
fn stop_hint(signal: i32) -> &'static str {
    const SIGTTIN: i32 = 21;
    const SIGTTOU: i32 = 22;
    match signal {
        SIGTTIN => "it read from the terminal; give it --input FILE, or your terminal with --input inherit",
        SIGTTOU => "it changed the terminal's settings or wrote to it; give it the terminal with --input inherit",
        _ => "a program that stops itself is measured only if another process continues it",
    }
}

/// What a signal says of the cause, where it does; a shell gives it as 128 and its number.
fn signal_hint(signal: i32) -> Option<&'static str> {
    const SIGPIPE: i32 = 13;
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    const SIGSYS: i32 = 31;
    Some(match signal {
        SIGPIPE => "it wrote to a pipe that nobody reads any more",
        SIGXCPU => "it reached its limit of CPU time (`ulimit -t`)",
        SIGXFSZ => "it reached the limit of the size of a file (`ulimit -f`)",
        SIGSYS => "a filter of system calls (seccomp) has ended it",
        _ => return None,
    })
}
