//! The one run loop (EMP figure 5): every slot of the schedule, hooks around it, each sample stored before the next.

use crate::RunError;
use crate::duet::not_taken as not_taken_together;
use crate::hooks::HookError;
use crate::sample::not_taken;
use crate::sampler::{DuetRequest, Hook, HookKind, SampleRequest, Sampler};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{AloneEvidence, AloneTimes, Duet, DuetForm, DuetSide, DuetSlot, TogetherEvidence};
use tarebench_core::run::block_size::BlockEvidence;
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::plan::{ALONE_BLOCKS, Order, RunCount, RunPlan};
use tarebench_core::run::schedule::{Act, Acts, Slot, after_warmups, environment_padding, first_warmups};
use tarebench_core::run::stopping::{Decision, DetectRule, PrecisionRule, decide, in_samples, next_decision};
use tarebench_core::sample::data::{Outcome, Phase, Sample, SampleBlock};

/// What is reported to the caller during a run; never inside a sample.
pub enum RunEvent<'a> {
    /// A sample is about to start.
    Starting { slot: Slot },
    /// A sample is complete and stored.
    Done { sample: &'a Sample },
    /// Two programs are about to run together.
    StartingDuet { slot: DuetSlot },
    /// A duet is complete and stored.
    DoneDuet { duet: &'a Duet },
    /// Something that the user should know, e.g. a cleanup command that failed.
    Warning(String),
}

/// Why a run ended.
#[derive(Debug)]
pub enum StopReason {
    /// All samples were taken.
    Finished,
    Interrupted(i32),
    /// A sample could not be stored.
    NotKept(Box<dyn std::error::Error + Send + Sync>),
    /// The machine cannot measure any more.
    Failed(RunError),
}

/// A cleanup command that failed. The samples before it count; what it should have removed may still exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCleanup {
    /// Index of its program in the plan.
    pub series: u32,
    /// The command, how it failed, and the end of its output.
    pub message: String,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ending {
    pub why: StopReason,
    /// The cleanup commands that failed.
    pub failed_cleanups: Vec<FailedCleanup>,
    /// What programs wrote before they failed, as far as it is known: of the first failure of each that is not accepted.
    pub last_words: Vec<LastWords>,
}

/// What is to be stored.
#[derive(Clone, Copy, Debug)]
pub enum RunPart<'a> {
    Sample(&'a Sample),
    Duet(&'a Duet),
}

/// Stores a sample or duet durably.
pub type SampleSink<'a> = dyn FnMut(RunPart<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

pub struct Runner<'a> {
    pub plan: &'a RunPlan,
    /// Takes the samples and runs the hooks.
    pub sampler: &'a mut dyn Sampler,
}

/// What a run has so far: of its samples only what decides what comes next.
#[derive(Clone, Debug)]
pub struct RunSoFar {
    acts: Acts,
    /// What the last counted sample or duet was part of.
    last_round: Option<Round>,
    next_seq: u32,
    block_size: BlockEvidence,
    progress: Vec<SeriesProgress>,
    detect: Option<DetectRule>,
}

impl RunSoFar {
    pub fn new(plan: &RunPlan) -> RunSoFar {
        let progress = vec![SeriesProgress::default(); plan.programs.len()];
        let detect = DetectRule::new(plan);
        let block_size = BlockEvidence::new(plan);
        RunSoFar { acts: Acts::default(), last_round: None, next_seq: 0, block_size, progress, detect }
    }

    /// Adds the next sample, by position in the run.
    pub fn add(&mut self, plan: &RunPlan, sample: &Sample) {
        let slot = slot_of(sample);
        self.acts.alone.push(slot);
        if slot.phase == Phase::Counted {
            self.last_round = Some(Round::of(plan, slot.series, sample.block_number()));
        }
        self.next_seq = self.next_seq.max(sample.seq.saturating_add(1));
        self.block_size.add(plan, sample);
        if let Some(p) = self.progress.get_mut(sample.series as usize) {
            p.note(plan, sample);
        }
        self.detect.iter_mut().for_each(|rule| rule.add(plan, sample));
    }

    pub fn add_duet(&mut self, plan: &RunPlan, duet: &Duet) {
        let DuetSlot { series, index, .. } = duet.slot();
        self.acts.duets.push(duet.slot());
        // A block of duets is a round, too, which is completed before anything is decided by it.
        if self.last_round.is_none_or(|last| last.block < index) {
            self.last_round = Some(Round::of(plan, series, index));
        }
        self.next_seq = self.next_seq.max(duet.seq.saturating_add(1));
        note_duet(&mut self.progress, plan, duet);
        self.detect.iter_mut().for_each(|rule| rule.add_duet(plan, duet));
    }
}

/// What is completed before it is decided whether to go on: a block; in sequential order, one of this series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    series: Option<u32>,
    block: u32,
}

impl Round {
    fn of(plan: &RunPlan, series: u32, block: u32) -> Round {
        Round { series: Some(series).filter(|_| plan.order == Order::Sequential), block }
    }
}

/// The series of a program ends when it fails in a duet, as when it fails alone; not that of its partner. Where nobody asked for
/// duets, only those of this pair end: alone, both may work (a file or port that they would share).
fn note_duet(progress: &mut [SeriesProgress], plan: &RunPlan, duet: &Duet) {
    let failed = |s: &&DuetSide| s.outcome != Outcome::Interrupted && !plan.ignore_failure.accepts(&s.outcome);
    let unasked = plan.order == Order::Auto;
    if let Some(p) = progress.get_mut(duet.slot().series as usize).filter(|_| duet.void.is_some()) {
        p.void = true;
    }
    if let Some(p) = progress.get_mut(duet.slot().series as usize)
        && duet.void.is_none()
        && duet.sides.iter().all(|side| plan.ignore_failure.accepts(&side.outcome))
    {
        p.together.add(duet);
    }
    for side in duet.sides.iter().filter(failed) {
        let series = if unasked { duet.slot().series } else { side.series };
        match progress.get_mut(series as usize) {
            Some(p) if unasked => p.fails_together = true,
            Some(p) => p.failed = true,
            None => {}
        }
    }
}

/// State of a series while it is measured.
#[derive(Clone, Debug, Default)]
struct SeriesProgress {
    set_up: bool,
    cleaned_up: bool,
    failed: bool,
    /// It or the reference failed when they ran together, so that they have no more duets.
    fails_together: bool,
    /// A duet of it has shown that duets of the two say nothing ([`Duet::void`]).
    void: bool,
    /// Its time is over, or it is precise; the others continue.
    enough: bool,
    counted: u32,
    /// What decides whether it suits duets.
    alone: AloneEvidence,
    /// By which it and the reference share the CPU.
    together: TogetherEvidence,
    /// The times of the counted successes.
    times: PrecisionRule,
    /// The last decision, and with how many values the next one is due.
    decided: (Option<Decision>, usize),
}

impl SeriesProgress {
    fn note(&mut self, plan: &RunPlan, sample: &Sample) {
        self.counted = self.counted.saturating_add(u32::from(sample.phase == Phase::Counted));
        self.alone.add(sample, plan.ignore_failure.accepts(&sample.outcome));
        if !plan.ignore_failure.accepts(&sample.outcome) {
            self.failed = true;
        } else if sample.phase == Phase::Counted {
            self.times.add(sample.block_number(), sample.elapsed(), sample.process_time().ok());
        }
    }

    fn is_precise(&mut self, plan: &RunPlan, runs: RunCount, series: u32, most: u32) -> bool {
        let (decision, due) = self.decided;
        if let Some(decision) = decision
            && self.times.len() < due
            && self.counted < most
        {
            return decision != Decision::Continue;
        }
        let decision = decide(plan, runs, series, &self.times, self.counted);
        self.decided = (Some(decision), next_decision(self.times.len()));
        decision != Decision::Continue
    }
}

enum Flow {
    Next,
    Stop(StopReason),
}

impl Runner<'_> {
    /// Runs the rest of the plan, given what there is already.
    pub fn run(&mut self, so_far: RunSoFar, sink: &mut SampleSink<'_>, watch: &mut dyn FnMut(RunEvent<'_>)) -> Ending {
        let RunSoFar { acts, last_round, next_seq, block_size, progress, detect } = so_far;
        let pads = self.sampler.has_room_for_padding();
        if !pads {
            let text = "the environment is not padded, as the arguments nearly fill what the system allows: the place of the stack \
                        is the same in all samples";
            watch(RunEvent::Warning(text.to_owned()));
        }
        let mut session = Session {
            plan: self.plan,
            sampler: self.sampler,
            pads,
            block_size,
            executions: 1,
            progress,
            detect,
            failed_cleanups: Vec::new(),
            last_words: Vec::new(),
            sink,
            watch,
        };
        let why = session.all_acts(acts, last_round, next_seq);
        for series in 0..self.plan.programs.len() as u32 {
            session.clean_up(series);
        }
        Ending { why, failed_cleanups: session.failed_cleanups, last_words: session.last_words }
    }
}

/// One session of a run: from its start or a resumption to its end.
struct Session<'r, 'k> {
    plan: &'r RunPlan,
    sampler: &'r mut dyn Sampler,
    /// Whether the environment is padded, in all samples or in none.
    pads: bool,
    /// Decides how many executions of each program a block holds.
    block_size: BlockEvidence,
    /// That number; 1 until the first warm-ups are done.
    executions: u32,
    progress: Vec<SeriesProgress>,
    /// Decides about all programs together, if differences are to be detected.
    detect: Option<DetectRule>,
    failed_cleanups: Vec<FailedCleanup>,
    last_words: Vec<LastWords>,
    sink: &'r mut SampleSink<'k>,
    watch: &'r mut dyn FnMut(RunEvent<'_>),
}

/// Where a session is.
struct SessionPlace {
    /// Position in the run of what comes next.
    seq: u32,
    began: Nanos,
    /// The program of the last execution alone, and when the first of its executions in a row began.
    series_began: (Option<u32>, Nanos),
    round: Option<Round>,
}

impl Session<'_, '_> {
    fn all_acts(&mut self, done: Acts, last: Option<Round>, seq: u32) -> StopReason {
        let began = self.sampler.now();
        // A round that an earlier session started is completed, so that every program has as many samples.
        let mut place = SessionPlace { seq, began, series_began: (None, began), round: last };
        if let Some(why) = self.acts(first_warmups(self.plan, &done), &mut place) {
            return why;
        }
        self.executions = self.block_size.executions();
        let left = after_warmups(self.plan, &done, self.executions);
        drop(done);
        self.acts(left, &mut place).unwrap_or(StopReason::Finished)
    }

    /// Makes them one after the other; the result is why there is nothing more to be done.
    fn acts(&mut self, acts: impl Iterator<Item = Act>, place: &mut SessionPlace) -> Option<StopReason> {
        for act in acts {
            if let Some(signal) = self.sampler.interrupted() {
                return Some(StopReason::Interrupted(signal));
            }
            let slot = match act {
                Act::Alone(slot) => slot,
                Act::Duet(slot) => match self.duet(slot, place) {
                    None => continue,
                    Some(Flow::Next) => {
                        place.seq = place.seq.saturating_add(1);
                        continue;
                    }
                    Some(Flow::Stop(why)) => return Some(why),
                },
            };
            // Before the round is checked: remaining slots of a failed program belong to earlier rounds.
            if self.progress.get(slot.series as usize).is_none_or(|p| p.failed) {
                continue;
            }
            if place.series_began.0 != Some(slot.series) {
                // In sequential order a program is cleaned up before the next one is set up.
                if let (Order::Sequential, Some(before)) = (self.plan.order, place.series_began.0) {
                    self.clean_up(before);
                }
                place.series_began = (Some(slot.series), self.sampler.now());
            }
            let block = self.block(slot).map_or(slot.index, |b| b.number);
            let this_round = (slot.phase == Phase::Counted).then(|| Round::of(self.plan, slot.series, block));
            if this_round.is_some() && this_round != place.round {
                place.round = this_round;
                let since = if self.plan.order == Order::Sequential { place.series_began.1 } else { place.began };
                if self.enough(slot.series, block, self.sampler.now() - since) {
                    if self.plan.order != Order::Sequential {
                        return Some(StopReason::Finished);
                    }
                    // The rest of this series is skipped; the next one has its own measure.
                    if let Some(p) = self.progress.get_mut(slot.series as usize) {
                        p.enough = true;
                    }
                }
            }
            if self.progress.get(slot.series as usize).is_none_or(|p| p.enough) {
                continue;
            }
            (self.watch)(RunEvent::Starting { slot });
            match self.one(slot, place.seq) {
                Flow::Next => place.seq = place.seq.saturating_add(1),
                Flow::Stop(why) => return Some(why),
            }
        }
        None
    }

    /// A duet, if it makes sense; a block that consists of duets only begins with its first one.
    fn duet(&mut self, slot: DuetSlot, place: &mut SessionPlace) -> Option<Flow> {
        let sides = [slot.series, slot.reference];
        if self.progress.get(slot.series as usize).is_some_and(|p| p.fails_together || p.void) {
            return None;
        }
        let alone = sides.map(|i| self.progress.get(i as usize).filter(|p| !p.failed).and_then(|p| p.alone.times()));
        let form = self.plan.duets([(slot.series, alone[0]), (slot.reference, alone[1])]).ok()?;
        let [Some(program), Some(reference)] = alone else { return None };
        let this = Some(Round::of(self.plan, slot.series, slot.index));
        if place.round != this {
            place.round = this;
            if self.enough(slot.series, slot.index, self.sampler.now() - place.began) {
                return Some(Flow::Stop(StopReason::Finished));
            }
        }
        (self.watch)(RunEvent::StartingDuet { slot });
        // Whether duets suit them is decided once; the shares follow what is seen.
        let together = self.progress.get(slot.series as usize).map(|p| p.together.corrected([program, reference]));
        Some(self.one_duet(slot, place.seq, together.unwrap_or([program, reference]), form))
    }

    /// One duet: the hooks before of both programs, both together, the hooks after, store.
    fn one_duet(&mut self, slot: DuetSlot, seq: u32, alone: [AloneTimes; 2], form: DuetForm) -> Flow {
        let padding = self.padding(seq);
        let slots =
            [slot.series, slot.reference].map(|series| Slot { series, phase: Phase::Counted, index: slot.index });
        let environments = slots.map(|s| sample_environment(s, padding));
        let [program, reference] = &environments;
        let [a, b] = alone.map(|t| t.memory);
        let request = DuetRequest {
            slot,
            seq,
            environments: [program, reference],
            padding,
            alone: alone.map(|t| t.pt),
            gang: (form == DuetForm::Gangs).then(|| alone.map(|t| t.elapsed)),
            memory: a.zip(b).map(|(a, b)| a.saturating_add(b)),
        };
        for (i, (slot, environment)) in slots.into_iter().zip(&environments).enumerate() {
            match self.before(slot, environment) {
                Ok(()) => {}
                Err(HookError::Interrupted(signal)) => return Flow::Stop(StopReason::Interrupted(signal)),
                Err(HookError::Failed(error)) => return self.keep_duet(&not_taken_together(&request, i, &error)),
            }
        }
        let (mut duet, signal) = match self.sampler.take_duet(&request) {
            Ok(taken) => taken,
            Err(e) => return Flow::Stop(StopReason::Failed(e)),
        };
        for (i, (slot, environment)) in slots.into_iter().zip(&environments).enumerate() {
            if let (Err(HookError::Failed(error)), Some(side)) =
                (self.conclude(slot, environment), duet.sides.get_mut(i))
            {
                side.outcome = Outcome::HookFailed { error };
            }
        }
        if let Some(signal) = signal {
            return Flow::Stop(StopReason::Interrupted(signal));
        }
        self.keep_duet(&duet)
    }

    fn keep_duet(&mut self, duet: &Duet) -> Flow {
        if let Err(e) = (self.sink)(RunPart::Duet(duet)) {
            return Flow::Stop(StopReason::NotKept(e));
        }
        note_duet(&mut self.progress, self.plan, duet);
        self.detect.iter_mut().for_each(|rule| rule.add_duet(self.plan, duet));
        (self.watch)(RunEvent::DoneDuet { duet });
        Flow::Next
    }

    /// The block of a counted execution, where a block holds several of each program.
    fn block(&self, slot: Slot) -> Option<SampleBlock> {
        let executions = self.executions;
        let several = slot.phase == Phase::Counted && executions > 1;
        slot.index.checked_div(executions).filter(|_| several).map(|number| SampleBlock { number, executions })
    }

    /// Whether the round of this block, in sequential order of this series, is not to be started.
    fn enough(&mut self, series: u32, block: u32, elapsed: Nanos) -> bool {
        let sequential = self.plan.order == Order::Sequential;
        let budget = self
            .plan
            .max_time
            .map(|t| if sequential { Nanos(t.0 / self.plan.programs.len().max(1) as i64) } else { t });
        if block > 0 && budget.is_some_and(|b| elapsed >= b) {
            return true;
        }
        match self.plan.runs {
            RunCount::Fixed(_) => return false,
            RunCount::Detect { .. } => return !sequential && block >= ALONE_BLOCKS && self.shows_enough(),
            RunCount::Adaptive { .. } => {}
        }
        // All continue until all are precise: programs are compared by the same number of rounds.
        let runs = in_samples(self.plan.runs, self.executions);
        let most = self.plan.max_runs().saturating_mul(self.executions);
        let concerned = |i: usize, p: &SeriesProgress| !p.failed && (!sequential || i == series as usize);
        let all = self.progress.iter_mut().enumerate();
        let mut concerned = all.filter(|(i, p)| concerned(*i, p)).peekable();
        concerned.peek().is_some() && concerned.all(|(i, p)| p.is_precise(self.plan, runs, i as u32, most))
    }

    /// Whether the difference that is to be detected would be seen of every program that can still be compared.
    fn shows_enough(&mut self) -> bool {
        let works = |series: u32| self.progress.get(series as usize).is_some_and(|p| !p.failed);
        let all = 0..u32::try_from(self.progress.len()).unwrap_or(u32::MAX);
        let programs: Vec<u32> =
            if works(self.plan.reference()) { all.filter(|s| works(*s)).collect() } else { Vec::new() };
        self.detect.as_mut().is_some_and(|rule| rule.is_enough(&programs))
    }

    fn padding(&self, seq: u32) -> u32 {
        if self.pads { environment_padding(self.plan.seed, seq) } else { 0 }
    }

    /// One slot: setup if it is the first of its program, prepare, sample, conclude, store.
    fn one(&mut self, slot: Slot, seq: u32) -> Flow {
        let padding = self.padding(seq);
        let environment = sample_environment(slot, padding);
        let request = SampleRequest { slot, seq, environment: &environment, padding };
        let mut sample = match self.before(slot, &environment) {
            Err(HookError::Interrupted(signal)) => return Flow::Stop(StopReason::Interrupted(signal)),
            Err(HookError::Failed(error)) => not_taken(&request, error),
            Ok(()) => match self.sampler.take(&request) {
                Err(e) => return Flow::Stop(StopReason::Failed(e)),
                Ok((_, Some(signal))) => {
                    let _ = self.conclude(slot, &environment);
                    return Flow::Stop(StopReason::Interrupted(signal));
                }
                Ok((mut sample, None)) => {
                    self.keep_last_words(&sample);
                    if let Err(HookError::Failed(error)) = self.conclude(slot, &environment) {
                        sample.outcome = Outcome::HookFailed { error };
                    }
                    sample
                }
            },
        };
        sample.block = self.block(slot);
        if let Err(e) = (self.sink)(RunPart::Sample(&sample)) {
            return Flow::Stop(StopReason::NotKept(e));
        }
        self.note(&sample);
        (self.watch)(RunEvent::Done { sample: &sample });
        Flow::Next
    }

    fn keep_last_words(&mut self, sample: &Sample) {
        let Some(text) = self.sampler.last_words() else { return };
        let accepted = self.plan.ignore_failure.accepts(&sample.outcome);
        if !accepted && self.last_words.iter().all(|w| w.series != sample.series) {
            let warmup = sample.phase == Phase::Warmup;
            self.last_words.push(LastWords { series: sample.series, warmup, index: sample.index, text });
        }
    }

    /// The hooks before a sample, up to the first that fails.
    fn before(&mut self, slot: Slot, environment: &[Vec<u8>]) -> Result<(), HookError> {
        let Some(program) = self.plan.programs.get(slot.series as usize) else { return Ok(()) };
        if let Some(p) = self.progress.get_mut(slot.series as usize)
            && !std::mem::replace(&mut p.set_up, true)
        {
            self.hook(HookKind::Setup, slot.series, program.setup.as_deref(), environment)?;
        }
        self.hook(HookKind::Prepare, slot.series, program.prepare.as_deref(), environment)
    }

    fn conclude(&mut self, slot: Slot, environment: &[Vec<u8>]) -> Result<(), HookError> {
        let script = self.plan.programs.get(slot.series as usize).and_then(|p| p.conclude.as_deref());
        self.hook(HookKind::Conclude, slot.series, script, environment)
    }

    fn hook(
        &mut self,
        kind: HookKind,
        series: u32,
        script: Option<&str>,
        environment: &[Vec<u8>],
    ) -> Result<(), HookError> {
        let Some(script) = script else { return Ok(()) };
        self.sampler.hook(&Hook { kind, series, script, environment })
    }

    /// Cleans up after a program that was set up, once.
    fn clean_up(&mut self, series: u32) {
        let Some(p) = self.progress.get_mut(series as usize).filter(|p| p.set_up && !p.cleaned_up) else { return };
        p.cleaned_up = true;
        let script = self.plan.programs.get(series as usize).and_then(|p| p.cleanup.as_deref());
        if let Err(HookError::Failed(message)) = self.hook(HookKind::Cleanup, series, script, &[]) {
            (self.watch)(RunEvent::Warning(message.clone()));
            self.failed_cleanups.push(FailedCleanup { series, message });
        }
    }

    fn note(&mut self, sample: &Sample) {
        self.block_size.add(self.plan, sample);
        if let Some(p) = self.progress.get_mut(sample.series as usize) {
            p.note(self.plan, sample);
        }
        self.detect.iter_mut().for_each(|rule| rule.add(self.plan, sample));
    }
}

fn slot_of(sample: &Sample) -> Slot {
    Slot { series: sample.series, phase: sample.phase, index: sample.index }
}

/// Variables that a program finds in its environment besides the inherited ones. `HYPERFINE_ITERATION` has the values that
/// hyperfine gives it, so that scripts made for hyperfine work.
///
/// The padding is of random length, as the size of the environment shifts the stack, which alone can change a
/// program's time (Mytkowicz et al., ASPLOS 2009); over the samples the effect becomes part of the spread.
fn sample_environment(slot: Slot, padding: u32) -> Vec<Vec<u8>> {
    let iteration = match slot.phase {
        Phase::Warmup => format!("warmup-{}", slot.index),
        Phase::Counted => slot.index.to_string(),
    };
    let mut pad = b"TARE_PADDING=".to_vec();
    pad.resize(pad.len() + padding as usize, b'x');
    let named = |name: &str| format!("{name}={iteration}").into_bytes();
    let program = format!("TARE_PROGRAM={}", u64::from(slot.series) + 1).into_bytes();
    vec![named("TARE_ITERATION"), named("HYPERFINE_ITERATION"), program, pad]
}

#[cfg(test)]
mod detect_tests;
#[cfg(test)]
mod duet_tests;
#[cfg(test)]
mod short_tests;
#[cfg(test)]
pub(crate) mod tests;
