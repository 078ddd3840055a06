//! The real run loop, driven by a sampler without programs, privileges or time.

use super::{Ending, RunEvent, RunPart, RunSoFar, Runner, StopReason};
use crate::RunError;
use crate::hooks::HookError;
use crate::sample::not_taken;
use crate::sampler::{DuetRequest, Hook, HookKind, SampleRequest, Sampler};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSide, DuetSlot, DuetWeight, NoDuet};
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::plan::{Command, IgnoreFailure, Order, ProfileChoice, Program, RunCount, RunPlan};
use tarebench_core::run::schedule::{Act, Slot, schedule};
use tarebench_core::sample::data::{Outcome, OwnUse, Phase, Sample, Stamp};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck};

/// What the fake does at a slot, by the slot's name (`A0`, in lower case for warm-ups), and at a hook (`setup a`).
#[derive(Default)]
pub(super) struct Script {
    pub(super) outcomes: BTreeMap<String, Outcome>,
    pub(super) signal_at: Option<String>,
    pub(super) broken_at: Option<String>,
    pub(super) failing_hooks: Vec<String>,
    pub(super) interrupted_hook: Option<String>,
    /// How long a sample takes, by its slot.
    pub(super) elapsed: Option<fn(Slot) -> i64>,
    pub(super) process_time: Option<fn(Slot) -> Nanos>,
    /// Peak memory of both programs.
    pub(super) memory: Option<u64>,
    /// Duets that say nothing, by their name (`b+a0`).
    pub(super) void_at: BTreeMap<String, NoDuet>,
    /// Process times of both programs of a duet; without it those of the executions alone.
    pub(super) together: Option<fn(DuetSlot) -> [Nanos; 2]>,
}

/// Takes no sample: notes what it is asked for, and advances its clock.
struct Fake<'a> {
    script: &'a Script,
    log: Vec<String>,
    now: Nanos,
    caught: Option<i32>,
    iterations: Vec<(String, String)>,
    shares: Vec<[Nanos; 2]>,
}

fn name(slot: Slot) -> String {
    let letter = char::from(b'a' + slot.series as u8);
    let letter = if slot.phase == Phase::Warmup { letter } else { letter.to_ascii_uppercase() };
    format!("{letter}{}", slot.index)
}

fn variable(environment: &[Vec<u8>], key: &str) -> String {
    let find =
        |v: &Vec<u8>| v.strip_prefix(format!("{key}=").as_bytes()).map(|v| String::from_utf8_lossy(v).into_owned());
    environment.iter().find_map(find).unwrap_or_default()
}

impl Sampler for Fake<'_> {
    fn take(&mut self, request: &SampleRequest<'_>) -> Result<(Sample, Option<i32>), RunError> {
        let slot = name(request.slot);
        self.log.push(slot.clone());
        let value_of = |key| variable(request.environment, key);
        self.iterations.push((value_of("TARE_ITERATION"), value_of("HYPERFINE_ITERATION")));
        assert_eq!(value_of("TARE_PADDING").len(), request.padding as usize);
        if self.script.broken_at.as_ref() == Some(&slot) {
            return Err(RunError::Plan("broken".to_owned()));
        }
        let mut sample = not_taken(request, String::new());
        sample.outcome = self.script.outcomes.get(&slot).cloned().unwrap_or(Outcome::Exited { code: 0 });
        sample.start.monotonic = self.now;
        self.now += Nanos(self.script.elapsed.map_or(10, |f| f(request.slot)));
        sample.end.monotonic = self.now;
        if let Some(pt) = self.script.process_time {
            sample.process_times = process_times(pt(request.slot));
        }
        if let Some(memory) = self.script.memory {
            sample.peak_memory = Reading::Value(memory);
        }
        let signal = (self.script.signal_at.as_ref() == Some(&slot)).then_some(2);
        self.caught = self.caught.or(signal);
        Ok((sample, signal))
    }

    fn take_duet(&mut self, request: &DuetRequest<'_>) -> Result<(Duet, Option<i32>), RunError> {
        // Gangs are `b#a0`.
        let name = duet_name(request.slot).replace('+', if request.gang.is_some() { "#" } else { "+" });
        self.log.push(name.clone());
        assert_eq!(request.memory, self.script.memory.map(|m| 2 * m));
        let start = stamp(self.now);
        self.now += Nanos(20);
        let programs = request.environments.map(|e| variable(e, "TARE_PROGRAM"));
        assert_eq!(programs, [request.slot.series, request.slot.reference].map(|s| (s + 1).to_string()));
        self.shares.push(request.alone);
        let times = self.script.together.map_or(request.alone, |f| f(request.slot));
        let side = |series: u32, n: usize| DuetSide {
            series,
            weight: DuetWeight::Nice(0),
            start,
            end: stamp(self.now),
            outcome: self.script.outcomes.get(&format!("{name}/{n}")).cloned().unwrap_or(exits(0)),
            process_times: process_times(times[n]),
            together: Reading::Value(times[n]),
            account: Reading::Absent(Absent::NotAsked(String::new())),
            usage: Reading::Absent(Absent::NotAsked(String::new())),
            survivors: Vec::new(),
        };
        let duet = Duet {
            seq: request.seq,
            index: request.slot.index,
            cpu: 0,
            wall_clock: self.now,
            sides: [side(request.slot.series, 0), side(request.slot.reference, 1)],
            own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
            steal: Reading::Value(Nanos::ZERO),
            cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
            clock_shift: Reading::Absent(Absent::NotAsked(String::new())),
            environment_padding: request.padding,
            slices: None,
            void: self.script.void_at.get(&name).copied(),
        };
        let signal = (self.script.signal_at.as_ref() == Some(&name)).then_some(2);
        self.caught = self.caught.or(signal);
        Ok((duet, signal))
    }

    fn last_words(&mut self) -> Option<String> {
        self.log.last().filter(|slot| self.script.outcomes.contains_key(*slot)).map(|slot| format!("end of {slot}"))
    }

    fn hook(&mut self, hook: &Hook<'_>) -> Result<(), HookError> {
        let text = format!("{} {}", hook.kind.name(), hook.script);
        let iteration = variable(hook.environment, "HYPERFINE_ITERATION");
        assert_eq!(iteration.is_empty(), hook.kind == HookKind::Cleanup, "{text}");
        self.log.push(text.clone());
        if self.script.interrupted_hook.as_ref() == Some(&text) {
            self.caught = Some(15);
            return Err(HookError::Interrupted(15));
        }
        if self.script.failing_hooks.contains(&text) {
            return Err(HookError::Failed(format!("{text} failed")));
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn interrupted(&self) -> Option<i32> {
        self.caught
    }
}

/// `b+a0`.
fn duet_name(slot: DuetSlot) -> String {
    let letter = |series: u32| char::from(b'a' + series as u8);
    format!("{}+{}{}", letter(slot.series), letter(slot.reference), slot.index)
}

fn stamp(monotonic: Nanos) -> Stamp {
    Stamp { monotonic, monotonic_raw: monotonic, cycles: None }
}

fn process_times(pt: Nanos) -> Reading<ProcessTimes> {
    let absent = || Absent::NotAsked("it is a fake".to_owned());
    Reading::Value(ProcessTimes {
        source: PtSource::Wait4,
        cgroup: Reading::Absent(absent()),
        task_clock: Reading::Absent(absent()),
        exit_records: Reading::Absent(absent()),
        wait4: Reading::Value(CpuTime { user: pt, system: Nanos::ZERO, total: pt }),
        check: SourceCheck::default(),
    })
}

/// Programs `a`, `b`, …, without hooks.
pub(crate) fn plan(programs: u8, warmup: u32, runs: u32, order: Order) -> RunPlan {
    let program = |i: u8| Program::new(char::from(b'a' + i).to_string(), Command::Argv(vec![]));
    RunPlan {
        order,
        seed: 42,
        warmup,
        runs: RunCount::Fixed(runs),
        profile: ProfileChoice::No,
        ..RunPlan::of((0..programs).map(program).collect())
    }
}

/// The same, each with all hooks, whose scripts are the program's letter.
pub(super) fn hooked(programs: u8, warmup: u32, runs: u32, order: Order) -> RunPlan {
    let mut plan = plan(programs, warmup, runs, order);
    for p in &mut plan.programs {
        let script = Some(p.label.clone());
        (p.setup, p.prepare, p.conclude, p.cleanup) = (script.clone(), script.clone(), script.clone(), script);
    }
    plan
}

pub(super) struct Ran {
    pub(super) ending: Ending,
    pub(super) log: Vec<String>,
    pub(super) kept: Vec<Sample>,
    pub(super) duets: Vec<Duet>,
    pub(super) iterations: Vec<(String, String)>,
    /// By which the programs of each duet share the CPU.
    pub(super) shares: Vec<[Nanos; 2]>,
    pub(super) warnings: Vec<String>,
}

impl Ran {
    pub(super) fn text(&self) -> String {
        self.log.join(" ")
    }

    fn counted(&self) -> Vec<Slot> {
        self.kept.iter().map(super::slot_of).filter(|s| s.phase == Phase::Counted).collect()
    }
}

/// Runs the rest of a plan; the sink takes `room` samples.
pub(super) fn run_from(plan: &RunPlan, script: &Script, done: &[Sample], room: usize) -> Ran {
    run_after(plan, script, (done, &[]), room)
}

/// The same, after samples and duets.
pub(super) fn run_after(plan: &RunPlan, script: &Script, done: (&[Sample], &[Duet]), room: usize) -> Ran {
    let (iterations, shares) = (Vec::new(), Vec::new());
    let mut fake = Fake { script, log: Vec::new(), now: Nanos(1_000), caught: None, iterations, shares };
    let (mut kept, mut warnings, mut starting) = (Vec::new(), Vec::new(), Vec::new());
    let (mut duets, mut starting_duets) = (Vec::new(), Vec::new());
    let mut sink = |taken: RunPart<'_>| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if kept.len() + duets.len() == room {
            return Err("the disk is full".into());
        }
        match taken {
            RunPart::Sample(sample) => kept.push(sample.clone()),
            RunPart::Duet(duet) => duets.push(duet.clone()),
        }
        Ok(())
    };
    let mut finished = 0;
    let mut watch = |e: RunEvent<'_>| match e {
        RunEvent::Starting { slot } => starting.push(slot),
        RunEvent::Done { sample } => {
            assert_eq!(starting.last(), Some(&super::slot_of(sample)));
            finished += 1;
        }
        RunEvent::StartingDuet { slot } => starting_duets.push(slot),
        RunEvent::DoneDuet { duet } => {
            assert_eq!(starting_duets.last(), Some(&duet.slot()));
            finished += 1;
        }
        RunEvent::Warning(text) => warnings.push(text),
    };
    let mut so_far = RunSoFar::new(plan);
    done.0.iter().for_each(|s| so_far.add(plan, s));
    done.1.iter().for_each(|d| so_far.add_duet(plan, d));
    let ending = Runner { plan, sampler: &mut fake }.run(so_far, &mut sink, &mut watch);
    assert_eq!(finished, kept.len() + duets.len());
    Ran { ending, log: fake.log, kept, duets, iterations: fake.iterations, shares: fake.shares, warnings }
}

pub(super) fn run(plan: &RunPlan, script: &Script) -> Ran {
    run_from(plan, script, &[], usize::MAX)
}

pub(super) fn exits(code: i32) -> Outcome {
    Outcome::Exited { code }
}

#[test]
fn samples_are_taken_in_the_plans_order() {
    let executed = |order| run(&plan(2, 1, 3, order), &Script::default()).text();
    assert_eq!(executed(Order::Rounds), "a0 b0 A0 B0 A1 B1 A2 B2");
    assert_eq!(executed(Order::Sequential), "a0 A0 A1 A2 b0 B0 B1 B2");
    let random = plan(3, 1, 4, Order::Random);
    assert_eq!(run(&random, &Script::default()).text(), "a0 b0 c0 A0 C0 B0 C1 A1 B1 B2 C2 A2 B3 C3 A3");
    let ran = run(&random, &Script::default());
    assert!(ran.kept.iter().enumerate().all(|(i, s)| s.seq as usize == i));
    assert!(matches!(ran.ending.why, StopReason::Finished));
}

#[test]
fn hooks_stand_around_samples_in_rounds() {
    let text = run(&hooked(2, 1, 1, Order::Rounds), &Script::default()).text();
    let expected = "setup a|prepare a|a0|conclude a|setup b|prepare b|b0|conclude b|\
                    prepare a|A0|conclude a|prepare b|B0|conclude b|cleanup a|cleanup b";
    assert_eq!(text, expected.replace('|', " "));
}

/// As hyperfine does: a program is set up after the previous one was measured and cleaned up.
#[test]
fn sequential_programs_are_set_up_and_cleaned_up_one_by_one() {
    let text = run(&hooked(2, 1, 1, Order::Sequential), &Script::default()).text();
    let expected = "setup a|prepare a|a0|conclude a|prepare a|A0|conclude a|cleanup a|\
                    setup b|prepare b|b0|conclude b|prepare b|B0|conclude b|cleanup b";
    assert_eq!(text, expected.replace('|', " "));
}

#[test]
fn programs_see_their_iteration_under_both_names() {
    let ran = run(&plan(1, 2, 2, Order::Rounds), &Script::default());
    let both = |s: &str| (s.to_owned(), s.to_owned());
    assert_eq!(ran.iterations, ["warmup-0", "warmup-1", "0", "1"].map(both));
}

#[test]
fn a_failure_ends_its_programs_series_only() {
    let script = Script { outcomes: [("A1".to_owned(), exits(3))].into(), ..Script::default() };
    let mut p = plan(2, 0, 3, Order::Rounds);
    assert_eq!(run(&p, &script).text(), "A0 B0 A1 B1 B2");
    p.order = Order::Sequential;
    assert_eq!(run(&p, &script).text(), "A0 A1 B0 B1 B2");
    for (accepted, expected) in
        [(IgnoreFailure::All, 6), (IgnoreFailure::Codes(vec![3]), 6), (IgnoreFailure::Codes(vec![4]), 5)]
    {
        p.ignore_failure = accepted;
        assert_eq!(run(&p, &script).log.len(), expected);
    }
    let warmup = Script { outcomes: [("a0".to_owned(), Outcome::Signaled { signal: 9 })].into(), ..Script::default() };
    let ran = run(&plan(2, 2, 1, Order::Rounds), &warmup);
    assert_eq!(ran.text(), "a0 b0 b1 B0");
    assert!(matches!(ran.ending.why, StopReason::Finished));
}

#[test]
fn a_failing_hook_ends_its_programs_series() {
    for (hook, expected) in [
        ("setup a", "setup a|setup b|prepare b|B0|conclude b|cleanup a|cleanup b"),
        ("prepare a", "setup a|prepare a|setup b|prepare b|B0|conclude b|cleanup a|cleanup b"),
        ("conclude a", "setup a|prepare a|A0|conclude a|setup b|prepare b|B0|conclude b|cleanup a|cleanup b"),
    ] {
        let script = Script { failing_hooks: vec![hook.to_owned()], ..Script::default() };
        let mut p = hooked(2, 0, 1, Order::Rounds);
        p.ignore_failure = IgnoreFailure::All;
        let ran = run(&p, &script);
        assert_eq!(ran.text(), expected.replace('|', " "));
        assert_eq!(ran.kept[0].outcome, Outcome::HookFailed { error: format!("{hook} failed") });
        assert!(ran.ending.failed_cleanups.is_empty() && ran.warnings.is_empty());
    }
}

#[test]
fn last_words_are_of_the_first_failure_that_is_not_accepted() {
    let exit = |code| Outcome::Exited { code };
    let outcomes = [("A0", 3), ("A1", 4), ("b0", 4), ("C2", 3)];
    let outcomes = outcomes.into_iter().map(|(slot, code)| (slot.to_owned(), exit(code))).collect();
    let mut p = plan(3, 1, 3, Order::Rounds);
    p.ignore_failure = IgnoreFailure::Codes(vec![3]);
    let ran = run(&p, &Script { outcomes, ..Script::default() });
    let words = |series, warmup, index, text: &str| LastWords { series, warmup, index, text: text.to_owned() };
    assert_eq!(ran.ending.last_words, [words(1, true, 0, "end of b0"), words(0, false, 1, "end of A1")]);
}

#[test]
fn a_failing_cleanup_is_reported_and_stops_nothing() {
    for order in [Order::Rounds, Order::Sequential] {
        let script = Script { failing_hooks: vec!["cleanup a".to_owned()], ..Script::default() };
        let ran = run(&hooked(2, 0, 2, order), &script);
        assert_eq!(ran.counted().len(), 4);
        assert!(matches!(ran.ending.why, StopReason::Finished));
        let failed: Vec<_> = ran.ending.failed_cleanups.iter().map(|f| (f.series, f.message.as_str())).collect();
        assert_eq!(failed, [(0, "cleanup a failed")]);
        assert_eq!(ran.warnings, ["cleanup a failed"]);
    }
}

#[test]
fn an_interruption_keeps_what_is_there_and_cleans_up() {
    let script = Script { signal_at: Some("A1".to_owned()), ..Script::default() };
    let ran = run(&hooked(2, 0, 3, Order::Rounds), &script);
    assert!(matches!(ran.ending.why, StopReason::Interrupted(2)));
    assert_eq!(ran.kept.len(), 2);
    assert!(ran.text().ends_with("prepare a A1 conclude a cleanup a cleanup b"), "{}", ran.text());
    let script = Script { interrupted_hook: Some("setup b".to_owned()), ..Script::default() };
    let ran = run(&hooked(2, 0, 3, Order::Sequential), &script);
    assert!(matches!(ran.ending.why, StopReason::Interrupted(15)));
    assert_eq!(ran.counted().len(), 3);
    assert!(ran.text().ends_with("conclude a cleanup a setup b cleanup b"), "{}", ran.text());
}

#[test]
fn a_sample_that_cannot_be_kept_stops_the_run() {
    let ran = run_from(&hooked(2, 0, 3, Order::Rounds), &Script::default(), &[], 2);
    assert!(matches!(&ran.ending.why, StopReason::NotKept(e) if e.to_string() == "the disk is full"));
    assert!(ran.text().ends_with("prepare a A1 conclude a cleanup a cleanup b"), "{}", ran.text());
    let script = Script { broken_at: Some("B0".to_owned()), ..Script::default() };
    let ran = run(&hooked(2, 0, 3, Order::Rounds), &script);
    assert!(matches!(ran.ending.why, StopReason::Failed(_)));
    assert!(ran.text().ends_with("prepare b B0 cleanup a cleanup b"), "{}", ran.text());
}

#[test]
fn no_round_starts_after_the_time_limit() {
    // A sample takes 10 ns: warm-ups 20, then rounds of 20.
    let mut p = plan(2, 1, 100, Order::Rounds);
    p.max_time = Some(Nanos(60));
    assert_eq!(run(&p, &Script::default()).text(), "a0 b0 A0 B0 A1 B1");
    p.max_time = Some(Nanos(61));
    assert_eq!(run(&p, &Script::default()).text(), "a0 b0 A0 B0 A1 B1 A2 B2");
    // The first round is always made.
    p.max_time = Some(Nanos(1));
    assert_eq!(run(&p, &Script::default()).text(), "a0 b0 A0 B0");
    // In sequential order each program has its share.
    p.order = Order::Sequential;
    p.max_time = Some(Nanos(60));
    assert_eq!(run(&p, &Script::default()).text(), "a0 A0 A1 b0 B0 B1");
}

/// `b` spreads by 20%, then settles; `a` never does.
fn uneven(slot: Slot) -> i64 {
    if slot.series == 1 && slot.index < 9 { 1_000 + 20 * i64::from(slot.index % 9) } else { 1_000 }
}

#[test]
fn precision_stops_all_programs_together() {
    let script = Script { elapsed: Some(uneven), ..Script::default() };
    let mut p = plan(2, 0, 0, Order::Rounds);
    p.runs = RunCount::Adaptive { precision: 0.01, min: 10, max: 300 };
    let counts = |ran: &Ran| [0, 1].map(|s| ran.counted().iter().filter(|x| x.series == s).count());
    let rounds = counts(&run(&p, &script));
    assert!(rounds[0] == rounds[1] && rounds[0] > 10 && rounds[0] < 300, "{rounds:?}");
    p.order = Order::Sequential;
    assert_eq!(counts(&run(&p, &script)), [10, rounds[1]]);
    // A program that always fails does not prolong the run; one whose failures are accepted counts up to the maximum.
    p.order = Order::Rounds;
    let failing = Script { outcomes: [("B0".to_owned(), exits(1))].into(), elapsed: Some(uneven), ..Script::default() };
    assert_eq!(counts(&run(&p, &failing)), [10, 1]);
}

/// Were all values looked at after each round, this would take hours.
#[test]
fn a_long_adaptive_run_takes_time_in_proportion() {
    let script = Script { elapsed: Some(spread), ..Script::default() };
    let mut p = plan(1, 0, 0, Order::Rounds);
    p.runs = RunCount::Adaptive { precision: 1e-9, min: 10, max: 100_000 };
    let mut fake = Fake {
        script: &script,
        log: Vec::new(),
        now: Nanos(1_000),
        caught: None,
        iterations: Vec::new(),
        shares: Vec::new(),
    };
    let mut taken = 0;
    let mut sink = |_: RunPart<'_>| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        taken += 1;
        Ok(())
    };
    let ending = Runner { plan: &p, sampler: &mut fake }.run(RunSoFar::new(&p), &mut sink, &mut |_| {});
    assert!(matches!(ending.why, StopReason::Finished));
    assert_eq!(taken, 100_000);
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Rounds), Just(Order::Random), Just(Order::Sequential)]
}

/// A spread that differs by program and makes precision stop a run at different rounds.
fn spread(slot: Slot) -> i64 {
    1_000 + i64::from(slot.index.wrapping_mul(2_654_435_761).wrapping_add(slot.series * 77) % 60)
}

proptest! {
    /// Whenever a run is stopped, the resumed one takes the counted samples that the whole one would have taken, in its order.
    #[test]
    fn a_resumed_run_completes_the_schedule(
        programs in 1..4_u8, warmup in 0..3_u32, runs in 1..16_u32, order in order(), adaptive: bool,
        failing in proptest::option::of((0..3_u32, 0..16_u32)), cut in 0..200_usize,
    ) {
        let mut p = hooked(programs, warmup, runs, order);
        if adaptive {
            p.runs = RunCount::Adaptive { precision: 0.012, min: 2, max: runs + 20 };
        }
        let failing = failing.map(|(series, index)| (name(Slot { series, phase: Phase::Counted, index }), exits(1)));
        let script = Script { outcomes: failing.into_iter().collect(), elapsed: Some(spread), ..Script::default() };
        let whole = run(&p, &script);
        if !adaptive && script.outcomes.is_empty() {
            let all: Vec<Slot> = schedule(&p, 1).filter_map(Act::alone).filter(|s| s.phase == Phase::Counted).collect();
            prop_assert_eq!(whole.counted(), all);
        }
        let cut = cut % (whole.kept.len() + 1);
        let prefix = &whole.kept[..cut];
        let first = run_from(&p, &script, &[], cut);
        prop_assert_eq!(first.kept.iter().map(super::slot_of).collect::<Vec<_>>(), prefix.iter().map(super::slot_of).collect::<Vec<_>>());
        let resumed = run_from(&p, &script, prefix, usize::MAX);
        let mut both: Vec<Slot> = prefix.iter().map(super::slot_of).filter(|s| s.phase == Phase::Counted).collect();
        both.extend(resumed.counted());
        prop_assert_eq!(both, whole.counted());
        // Positions continue, and no warm-up is repeated under the same number.
        let slots: std::collections::HashSet<Slot> = prefix.iter().chain(&resumed.kept).map(super::slot_of).collect();
        prop_assert_eq!(slots.len(), prefix.len() + resumed.kept.len());
        let ascending = prefix.iter().chain(&resumed.kept).map(|s| s.seq).collect::<Vec<_>>();
        prop_assert!(ascending.windows(2).all(|w| w[0] < w[1]));
        // Setup and cleanup once for each program that has a sample in this session.
        let sampled: std::collections::BTreeSet<u32> = resumed.kept.iter().map(|s| s.series).collect();
        for kind in ["setup ", "cleanup "] {
            prop_assert_eq!(resumed.log.iter().filter(|l| l.starts_with(kind)).count(), sampled.len());
        }
        for kind in ["prepare ", "conclude "] {
            prop_assert_eq!(resumed.log.iter().filter(|l| l.starts_with(kind)).count(), resumed.kept.len());
        }
    }
}
