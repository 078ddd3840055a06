//! The cost of tracing for the measured programs: interleaved with and without it, and by the kernel's own statistics.

use std::path::{Path, PathBuf};
use tarebench_bpf::KernelTypes;
pub use tarebench_bpf::account::Cost;
use tarebench_bpf::account::{AccountTracer, Statistics};
use tarebench_core::base::reading::Absent;
use tarebench_core::base::signal::Signal;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::{Ratio, compare};
use tarebench_sys::signals::Signals;
use tarebench_sys::spawn::{Launch, spawn};
use tarebench_sys::topology::possible_count;
use tarebench_sys::{SysError, process, wait};

/// Why the self-check cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SelfCheckError {
    /// Tracing is not available, so it costs nothing.
    #[error("tracing is not available, so its cost cannot be measured: {0}")]
    NoTracing(Absent),
    /// A system call.
    #[error(transparent)]
    System(#[from] SysError),
    /// The user ended it.
    #[error("interrupted by {}", Signal(*.0))]
    Interrupted(i32),
}

/// A workload of `tare work`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Workload {
    /// What it stands for.
    pub name: &'static str,
    /// Arguments.
    pub arguments: &'static [&'static str],
}

/// Computes only: the tick is traced, and the caches are cold by the next one.
pub const COMPUTING: Workload = Workload { name: "computing", arguments: &["work", "inc", "1000"] };
/// Switches context all the time.
pub const SWITCHING: Workload = Workload { name: "switching", arguments: &["work", "pipe", "20000"] };

/// Result for a workload.
#[derive(Clone, Debug)]
pub struct SelfCheckResult {
    /// Which.
    pub workload: Workload,
    /// PT with tracing divided by PT without, of neighbours in time.
    pub ratio: Option<Ratio>,
    /// Mean PT of an execution while statistics were on.
    pub pt: Nanos,
    /// Mean elapsed time of the same.
    pub elapsed: Nanos,
    /// Total cost of each kernel program in these executions; those that did not run are omitted.
    pub costs: Vec<Cost>,
    /// Number of these executions.
    pub executions: u32,
}

impl SelfCheckResult {
    /// Events traced.
    pub fn events(&self) -> u64 {
        self.costs.iter().map(|c| c.runs).sum()
    }

    /// Mean time per event, ns, including the cost of the statistics.
    pub fn per_event(&self) -> f64 {
        self.costs.iter().map(|c| c.ns).sum::<u64>() as f64 / self.events().max(1) as f64
    }

    /// Events in a second of elapsed time.
    pub fn rate(&self) -> f64 {
        self.events() as f64 / (f64::from(self.executions) * self.elapsed.secs())
    }

    /// Time in kernel programs divided by PT. An upper bound: some ran on other CPUs, for other programs.
    pub fn share(&self) -> f64 {
        self.costs.iter().map(|c| c.ns).sum::<u64>() as f64 / (f64::from(self.executions) * self.pt.as_f64())
    }
}

/// Measures a workload without, with, and without tracing, interleaved in `rounds` rounds, then with the kernel's
/// statistics. `tare` is the command itself.
pub fn check(
    tare: &Path,
    workload: Workload,
    rounds: u32,
    signals: &Signals,
) -> Result<SelfCheckResult, SelfCheckError> {
    let once = || execute(tare, workload, signals).map(|(pt, _)| pt.as_f64());
    let (mut with, mut without) = (Vec::new(), Vec::new());
    once()?;
    for round in 0..rounds {
        let before = once()?;
        let mut tracer = load()?;
        // Loading has emptied the caches of what the program needs.
        traced(&mut tracer, once)?;
        let between = traced(&mut tracer, once)?;
        drop(tracer);
        let after = once()?;
        with.push((round, between));
        without.push((round, (before + after) / 2.0));
    }
    let mut tracer = load()?;
    let _statistics = Statistics::enable().map_err(|e| SelfCheckError::NoTracing(e.absent()))?;
    let earlier = tracer.costs();
    let (mut pt, mut elapsed) = (Nanos::ZERO, Nanos::ZERO);
    for _ in 0..rounds {
        let (p, e) = traced(&mut tracer, || execute(tare, workload, signals))?;
        (pt, elapsed) = (pt + p, elapsed + e);
    }
    let was = |name: &str| earlier.iter().find(|c| c.program == name).map_or((0, 0, 0), |c| (c.ns, c.runs, c.missed));
    let since = |c: Cost| {
        let (ns, runs, missed) = was(&c.program);
        Cost { ns: c.ns - ns, runs: c.runs - runs, missed: c.missed - missed, ..c }
    };
    let mut costs: Vec<Cost> = tracer.costs().into_iter().map(since).filter(|c| c.runs > 0).collect();
    costs.sort_by_key(|c| std::cmp::Reverse(c.ns));
    let each = |t: Nanos| Nanos(t.0 / i64::from(rounds.max(1)));
    Ok(SelfCheckResult {
        workload,
        ratio: compare(&with, &without),
        pt: each(pt),
        elapsed: each(elapsed),
        costs,
        executions: rounds,
    })
}

fn load() -> Result<AccountTracer, SelfCheckError> {
    let count = possible_count(Path::new("/"))?;
    let loaded = KernelTypes::read().and_then(|types| AccountTracer::load(&types, count, None));
    loaded.map_err(|e| SelfCheckError::NoTracing(e.absent()))
}

fn traced<T>(tracer: &mut AccountTracer, run: impl FnOnce() -> Result<T, SelfCheckError>) -> Result<T, SelfCheckError> {
    let own = process::own_pid();
    let failed = |e: tarebench_bpf::BpfError| SelfCheckError::NoTracing(e.absent());
    tracer.prepare(own).map_err(failed)?;
    tracer.start(own).map_err(failed)?;
    let result = run()?;
    tracer.stop().map_err(failed)?;
    Ok(result)
}

/// PT and elapsed time of one execution.
fn execute(tare: &Path, workload: Workload, signals: &Signals) -> Result<(Nanos, Nanos), SelfCheckError> {
    if let Some(signal) = signals.caught() {
        return Err(SelfCheckError::Interrupted(signal));
    }
    let words = std::iter::once("tare").chain(workload.arguments.iter().copied());
    let mut launch = Launch::new(tare, words.map(str::as_bytes), [])?;
    let null = std::fs::File::options().write(true).open("/dev/null");
    launch.stdio(1, null.map_err(|e| SysError::io("open /dev/null", e))?.into());
    let began = tarebench_sys::clock::monotonic();
    let child = spawn(&launch, None, signals)?;
    wait::wait(&child, None, signals, &mut |_| {});
    let elapsed = tarebench_sys::clock::monotonic() - began;
    let reaped = wait::reap(child.pid, true)?;
    Ok((reaped.map_or(Nanos::ZERO, |r| r.cpu.total), elapsed))
}

/// Path of the running command.
///
/// # Errors
/// If it has been removed or replaced.
pub fn own_command() -> Result<PathBuf, SelfCheckError> {
    std::env::current_exe().map_err(|e| SysError::io("find the path of tare", e).into())
}
