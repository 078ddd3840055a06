//! The one run loop (EMP figure 5): every slot of the schedule, hooks around it, each sample kept before the next.

use crate::RunError;
use crate::hooks;
use crate::hooks::HookError;
use crate::launch::{Execution, Launcher};
use crate::sample::{Collectors, Request, take};
use std::collections::HashSet;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::run::plan::{Order, Output, Plan, RunCount};
use tarebench_core::run::schedule::{Slot, environment_padding, schedule};
use tarebench_core::run::stopping::{Decision, decide};
use tarebench_core::sample::data::{Outcome, OwnUse, Phase, Sample};
use tarebench_core::statistics::series::Values;
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// What the caller is told while a run goes on; never inside a sample.
pub enum Event<'a> {
    /// A sample is about to start.
    Starting {
        /// Which one.
        slot: Slot,
    },
    /// A sample is complete and kept.
    Done {
        /// The sample.
        sample: &'a Sample,
    },
    /// Something that the user should know, e.g. a cleanup command that failed.
    Warning(String),
}

/// Why a run ended.
#[derive(Debug)]
pub enum Why {
    /// All samples are there.
    Finished,
    /// By this signal.
    Interrupted(i32),
    /// A sample could not be kept.
    NotKept(Box<dyn std::error::Error + Send + Sync>),
    /// The machine failed us.
    Failed(RunError),
}

/// Keeps a sample durably.
pub type Sink<'a> = dyn FnMut(&Sample) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// Runs plans.
pub struct Runner<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// Starts the programs.
    pub launcher: &'a mut dyn Launcher,
    /// Observe each sample.
    pub collectors: &'a mut Collectors,
    /// The process's signals.
    pub signals: &'a Signals,
}

/// What is known of a series while it is being made.
#[derive(Clone, Debug, Default)]
struct Progress {
    set_up: bool,
    failed: bool,
    /// Its time is over, or it is precise; the others go on.
    enough: bool,
    counted: u32,
    /// PT, or ET where there is none, of the counted successes, ns.
    values: Vec<f64>,
}

enum Flow {
    Next,
    Stop(Why),
}

impl Runner<'_> {
    /// Runs what is left of the plan, given the samples that there are already.
    pub fn run(&mut self, done: &[Sample], sink: &mut Sink<'_>, watch: &mut dyn FnMut(Event<'_>)) -> Why {
        let mut progress = vec![Progress::default(); self.plan.programs.len()];
        for sample in done {
            self.note(&mut progress, sample);
        }
        let why = self.all_slots(&mut progress, done, sink, watch);
        for (program, p) in self.plan.programs.iter().zip(&progress) {
            let Some(script) = program.cleanup.as_deref().filter(|_| p.set_up) else { continue };
            if let Err(HookError::Failed(message)) = self.hook("cleanup", script, &[]) {
                watch(Event::Warning(message));
            }
        }
        why
    }

    fn all_slots(
        &mut self,
        progress: &mut [Progress],
        done: &[Sample],
        sink: &mut Sink<'_>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Why {
        let mut seq = done.iter().map(|s| s.seq + 1).max().unwrap_or(0);
        let began = clock::monotonic();
        let mut series_began = (0, began);
        let slots: Vec<Slot> = schedule(self.plan).collect();
        let slots = if done.is_empty() { slots } else { self.left(&slots, done) };
        let mut round = None;
        for slot in slots {
            if let Some(signal) = self.signals.caught() {
                return Why::Interrupted(signal);
            }
            if series_began.0 != slot.series {
                series_began = (slot.series, clock::monotonic());
            }
            let this_round = (slot.phase == Phase::Counted).then_some((self.sequential_series(slot), slot.index));
            if this_round.is_some() && this_round != round {
                round = this_round;
                let since = if self.plan.order == Order::Sequential { series_began.1 } else { began };
                if self.enough(progress, slot, clock::monotonic() - since) {
                    if self.plan.order == Order::Sequential {
                        // The rest of this series is skipped; the next one has its own measure.
                        if let Some(p) = progress.get_mut(slot.series as usize) {
                            p.enough = true;
                        }
                        continue;
                    }
                    return Why::Finished;
                }
            }
            let skip = progress.get(slot.series as usize).is_none_or(|p| p.failed || p.enough);
            if skip {
                continue;
            }
            watch(Event::Starting { slot });
            match self.one(progress, slot, seq, sink, watch) {
                Flow::Next => seq += 1,
                Flow::Stop(why) => return why,
            }
        }
        Why::Finished
    }

    fn sequential_series(&self, slot: Slot) -> u32 {
        if self.plan.order == Order::Sequential { slot.series } else { 0 }
    }

    /// The slots that are still to be done: counted ones that have no sample, after fresh warm-ups for their programs,
    /// since the caches are cold again.
    fn left(&self, slots: &[Slot], done: &[Sample]) -> Vec<Slot> {
        let there: HashSet<Slot> =
            done.iter().map(|s| Slot { series: s.series, phase: s.phase, index: s.index }).collect();
        let is_left = |s: &Slot| s.phase == Phase::Counted && !there.contains(s);
        let counted: Vec<Slot> = slots.iter().copied().filter(is_left).collect();
        let next_warmup = |series: u32| {
            done.iter()
                .filter(|s| s.series == series && s.phase == Phase::Warmup)
                .map(|s| s.index + 1)
                .max()
                .unwrap_or(0)
        };
        let mut left: Vec<Slot> = Vec::new();
        for n in 0..self.plan.warmup {
            for series in (0..self.plan.programs.len() as u32).filter(|s| counted.iter().any(|c| c.series == *s)) {
                left.push(Slot { series, phase: Phase::Warmup, index: next_warmup(series) + n });
            }
        }
        if self.plan.order == Order::Sequential {
            // Each program's warm-ups stand right before its own samples.
            let mut in_order = Vec::with_capacity(left.len() + counted.len());
            for series in 0..self.plan.programs.len() as u32 {
                in_order.extend(left.iter().chain(&counted).filter(|s| s.series == series).copied());
            }
            return in_order;
        }
        left.extend(counted);
        left
    }

    /// Whether no further round is to be begun.
    fn enough(&self, progress: &[Progress], slot: Slot, elapsed: Nanos) -> bool {
        let sequential = self.plan.order == Order::Sequential;
        let budget = self
            .plan
            .max_time
            .map(|t| if sequential { Nanos(t.0 / self.plan.programs.len().max(1) as i64) } else { t });
        if slot.index > 0 && budget.is_some_and(|b| elapsed >= b) {
            return true;
        }
        if matches!(self.plan.runs, RunCount::Fixed(_)) {
            return false;
        }
        // All go on until all are precise: programs are compared by the same number of rounds.
        let concerned = |i: usize, p: &Progress| !p.failed && (!sequential || i == slot.series as usize);
        let mut concerned = progress.iter().enumerate().filter(|(i, p)| concerned(*i, p)).map(|(_, p)| p).peekable();
        let done = |p: &Progress| match Values::new(p.values.iter().copied()) {
            Ok(values) => decide(self.plan.runs, &values, p.counted) != Decision::Continue,
            Err(_) => false,
        };
        concerned.peek().is_some() && concerned.all(done)
    }

    /// One slot: setup if it is the first of its program, prepare, sample, conclude, keep.
    fn one(
        &mut self,
        progress: &mut [Progress],
        slot: Slot,
        seq: u32,
        sink: &mut Sink<'_>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Flow {
        let Some(program) = self.plan.programs.get(slot.series as usize).cloned() else { return Flow::Next };
        let padding = environment_padding(self.plan.seed, seq);
        let environment = sample_environment(slot, padding);
        let mut before: Vec<(&str, &str)> = Vec::new();
        if let Some(p) = progress.get_mut(slot.series as usize)
            && !p.set_up
        {
            p.set_up = true;
            before.extend(program.setup.as_deref().map(|s| ("setup", s)));
        }
        before.extend(program.prepare.as_deref().map(|s| ("prepare", s)));
        let mut failure = None;
        for (kind, script) in before {
            match self.hook(kind, script, &environment) {
                Ok(()) => {}
                Err(HookError::Interrupted(signal)) => return Flow::Stop(Why::Interrupted(signal)),
                Err(HookError::Failed(message)) => {
                    failure = Some(message);
                    break;
                }
            }
        }
        let sample = match failure {
            Some(error) => not_measured(slot, seq, padding, error),
            None => {
                let request =
                    Request { slot, seq, environment: &environment, padding, leave_running: self.plan.leave_running };
                match take(self.launcher, self.collectors, &request, self.signals) {
                    Err(e) => return Flow::Stop(Why::Failed(e)),
                    Ok((_, Some(signal))) => {
                        self.conclude(program.conclude.as_deref(), &environment);
                        return Flow::Stop(Why::Interrupted(signal));
                    }
                    Ok((mut sample, None)) => {
                        if let Some(HookError::Failed(error)) = self.conclude(program.conclude.as_deref(), &environment)
                        {
                            sample.outcome = Outcome::HookFailed { error };
                        }
                        sample
                    }
                }
            }
        };
        if let Err(e) = sink(&sample) {
            return Flow::Stop(Why::NotKept(e));
        }
        self.note(progress, &sample);
        watch(Event::Done { sample: &sample });
        Flow::Next
    }

    fn conclude(&self, script: Option<&str>, environment: &[Vec<u8>]) -> Option<HookError> {
        self.hook("conclude", script?, environment).err()
    }

    fn hook(&self, kind: &str, script: &str, environment: &[Vec<u8>]) -> Result<(), HookError> {
        use std::os::unix::ffi::OsStrExt;
        let pair = |k: &[u8], v: &[u8]| [k, b"=", v].concat();
        let set: Vec<&[u8]> = self.plan.env.iter().map(|(k, _)| k.as_bytes()).collect();
        let inherited = std::env::vars_os().filter(|(k, _)| !set.contains(&k.as_bytes()));
        let mut env: Vec<Vec<u8>> = inherited.map(|(k, v)| pair(k.as_bytes(), v.as_bytes())).collect();
        env.extend(self.plan.env.iter().map(|(k, v)| pair(k.as_bytes(), v.as_bytes())));
        env.extend_from_slice(environment);
        let show = self.plan.output == Output::Inherit;
        hooks::run(kind, script, self.plan.cwd.as_bytes(), &env, show, self.signals)
    }

    fn note(&self, progress: &mut [Progress], sample: &Sample) {
        let Some(p) = progress.get_mut(sample.series as usize) else { return };
        p.counted += u32::from(sample.phase == Phase::Counted);
        if !self.plan.ignore_failure.accepts(&sample.outcome) {
            p.failed = true;
        } else if sample.phase == Phase::Counted {
            p.values.push(sample.process_time().unwrap_or_else(|_| sample.elapsed()).as_f64());
        }
    }
}

/// Variables that a program finds in its environment besides the inherited ones.
///
/// The padding is of random length, as the size of the environment shifts the stack, which alone can change a
/// program's time (Mytkowicz et al., ASPLOS 2009); over the samples the effect becomes part of the spread.
fn sample_environment(slot: Slot, padding: u32) -> Vec<Vec<u8>> {
    let iteration = match slot.phase {
        Phase::Warmup => format!("TARE_ITERATION=warmup-{}", slot.index),
        Phase::Counted => format!("TARE_ITERATION={}", slot.index),
    };
    let mut pad = b"TARE_PADDING=".to_vec();
    pad.resize(pad.len() + padding as usize, b'x');
    vec![iteration.into_bytes(), pad]
}

/// The record of a slot whose program was not run, as a hook before it failed.
fn not_measured(slot: Slot, seq: u32, padding: u32, error: String) -> Sample {
    let absent = || Absent::NotAsked("the program was not started".into());
    let now = Execution::nothing();
    Sample {
        series: slot.series,
        seq,
        index: slot.index,
        phase: slot.phase,
        wall_clock: now.wall_clock,
        start: now.start,
        end: now.end,
        outcome: Outcome::HookFailed { error },
        process_times: Reading::Absent(absent()),
        usage: Reading::Absent(absent()),
        peak_memory: Reading::Absent(absent()),
        daemons: Reading::Absent(absent()),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
        steal: Reading::Absent(absent()),
        account: Reading::Absent(absent()),
        estimate: Reading::Absent(absent()),
        counters: Reading::Absent(absent()),
        environment_padding: padding,
    }
}
