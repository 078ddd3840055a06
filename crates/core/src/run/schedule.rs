//! The order of execution: fixed by the plan alone, so that a run can be resumed and repeated.

use crate::compare::duet::{AloneTimes, DuetSlot};
use crate::run::plan::{ALONE_BLOCKS, Order, RunPlan};
use crate::sample::data::Phase;
use crate::statistics::random::{RandomPurpose, below, generator, shuffle};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::rc::Rc;

/// One execution to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Index of the program in the plan.
    pub series: u32,
    /// Warm-up or counted.
    pub phase: Phase,
    /// Number within the series and phase, from 0; the round, unless the order is sequential.
    pub index: u32,
}

/// What comes next in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// A program runs alone.
    Alone(Slot),
    /// Two programs run together.
    Duet(DuetSlot),
}

impl Act {
    /// The slot of a program that runs alone.
    pub fn alone(self) -> Option<Slot> {
        match self {
            Act::Alone(slot) => Some(slot),
            Act::Duet(_) => None,
        }
    }
}

/// What there is of a run.
#[derive(Clone, Debug, Default)]
pub struct Acts {
    /// Executions alone, warm-ups included.
    pub alone: Vec<Slot>,
    pub duets: Vec<DuetSlot>,
}

/// Every execution of a run, in order; position in it is [`crate::sample::data::Sample::seq`].
///
/// Rounds and random: the warm-ups of all programs, interleaved, then the counted rounds, each of which holds every
/// program once; a random round's order depends only on the seed and its number. Auto and duet: random rounds, each
/// followed by a duet of every program with the reference, in random order. Sequential: all of the first program,
/// warm-ups first, then the next. With [`crate::run::plan::RunCount::Adaptive`] it goes up to the maximum; the runner
/// leaves out series that are precise enough, and duets that make no sense.
pub fn schedule(plan: &RunPlan) -> impl Iterator<Item = Act> + use<> {
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let (order, seed, warmup, runs, reference) =
        (plan.order, plan.seed, plan.warmup, plan.max_runs(), plan.reference());
    // Sequential is the same nest with the loops exchanged: an outer step for each program.
    let blocks = if order == Order::Sequential { programs } else { 1 };
    (0..blocks).flat_map(move |block| {
        let one_round = move |phase: Phase, index: u32| -> Vec<Act> {
            let mut round: Vec<u32> = if order == Order::Sequential { vec![block] } else { (0..programs).collect() };
            if matches!(order, Order::Random | Order::Auto | Order::Duet) && phase == Phase::Counted {
                shuffle(&mut round, &mut generator(seed, RandomPurpose::Order, u64::from(index)));
            }
            let alone = order != Order::Duet || phase == Phase::Warmup || index < ALONE_BLOCKS;
            let slots = round.iter().filter(|_| alone).map(|series| Act::Alone(Slot { series: *series, phase, index }));
            let mut acts: Vec<Act> = slots.collect();
            if order.has_duets() && phase == Phase::Counted {
                round.retain(|series| *series != reference);
                shuffle(&mut round, &mut generator(seed, RandomPurpose::Duets, u64::from(index)));
                acts.extend(round.into_iter().map(|series| Act::Duet(DuetSlot { series, reference, index })));
            }
            acts
        };
        let warmups = (0..warmup).flat_map(move |i| one_round(Phase::Warmup, i));
        warmups.chain((0..runs).flat_map(move |i| one_round(Phase::Counted, i)))
    })
}

/// The executions that are left of a run, given those that are there, one after the other: counted ones without a sample, in
/// the schedule's order, after fresh warm-ups of their programs, since the caches are cold again.
///
/// In sequential order a program that a later one followed is complete, also if its precision or a time limit ended it early.
/// A plan may have billions of executions: only those that are there are held in memory.
pub fn remaining(plan: &RunPlan, done: &Acts) -> Box<dyn Iterator<Item = Act>> {
    if done.alone.is_empty() && done.duets.is_empty() {
        return Box::new(schedule(plan));
    }
    let sequential = plan.order == Order::Sequential;
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let first = if sequential { done.alone.iter().map(|s| s.series).max().unwrap_or(0) } else { 0 };
    let there: HashSet<Slot> = done.alone.iter().copied().collect();
    let duets: HashSet<DuetSlot> = done.duets.iter().copied().collect();
    let (count, max) = (plan.warmup, plan.max_runs());
    let of_series = |series: u32, phase: Phase| there.iter().filter(move |s| s.series == series && s.phase == phase);
    let is_incomplete = |series: &u32| {
        // Of duets, too, some may be left.
        plan.order.has_duets() || of_series(*series, Phase::Counted).filter(|s| s.index < max).count() < max as usize
    };
    let next_warmup = |series: u32| {
        let next = of_series(series, Phase::Warmup).map(|s| s.index.saturating_add(1)).max().unwrap_or(0);
        Slot { series, phase: Phase::Warmup, index: next }
    };
    let concerned: Vec<Slot> = (first..programs).filter(is_incomplete).map(next_warmup).collect();
    let warmup = move |n: u32, next: Slot| Act::Alone(Slot { index: next.index.saturating_add(n), ..next });
    if !sequential {
        let round = move |n: u32| concerned.iter().map(|next| warmup(n, *next)).collect::<Vec<Act>>();
        let is_left = move |act: &Act| match act {
            Act::Alone(slot) => slot.phase == Phase::Counted && !there.contains(slot),
            Act::Duet(slot) => !duets.contains(slot),
        };
        return Box::new((0..count).flat_map(round).chain(schedule(plan).filter(is_left)));
    }
    // Each program's warm-ups stand right before its own samples.
    let there = Rc::new(there);
    Box::new(concerned.into_iter().flat_map(move |next| {
        let there = Rc::clone(&there);
        let counted = (0..max).map(move |index| Slot { series: next.series, phase: Phase::Counted, index });
        let counted = counted.filter(move |s| !there.contains(s)).map(Act::Alone);
        (0..count).map(move |n| warmup(n, next)).chain(counted)
    }))
}

/// How many executions a run has at most, a duet being one, given what is known of each program alone: where nobody asked for duets,
/// only programs that suit them have any.
pub fn executions(plan: &RunPlan, alone: &[Option<AloneTimes>]) -> u64 {
    let (programs, blocks) = (0..u32::try_from(plan.programs.len()).unwrap_or(u32::MAX), u64::from(plan.max_runs()));
    let rounds = if plan.order == Order::Duet { blocks.min(u64::from(ALONE_BLOCKS)) } else { blocks };
    let reference = plan.reference();
    let times = |series: u32| (series, alone.get(series as usize).copied().flatten());
    let together = |series: &u32| match plan.order {
        _ if *series == reference => false,
        Order::Duet => true,
        Order::Auto => plan.duets([times(*series), times(reference)]).is_ok(),
        Order::Rounds | Order::Random | Order::Sequential => false,
    };
    let pairs = programs.clone().filter(together).count() as u64;
    (u64::from(plan.warmup) + rounds) * programs.len() as u64 + blocks * pairs
}

/// Length in bytes, 0 to 4095, of the environment variable that shifts the stack of the execution at position `seq`, so that
/// its layout differs at random between samples (Mytkowicz et al., ASPLOS'09).
pub fn environment_padding(seed: u64, seq: u32) -> u32 {
    below(&mut generator(seed, RandomPurpose::Padding, u64::from(seq)), 4096)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::name::Name;
    use crate::base::units::Nanos;
    use crate::run::plan::{Command, IgnoreFailure, Input, Output, ProfileChoice, Program, RunCount};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    pub(crate) fn plan(programs: usize, warmup: u32, runs: u32, order: Order, seed: u64) -> RunPlan {
        let program = |i| Program {
            label: format!("p{i}"),
            command: Command::Argv(vec![]),
            parameters: BTreeMap::new(),
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
            output: None,
            cwd: None,
            reference: false,
            control: false,
        };
        RunPlan {
            programs: (0..programs).map(program).collect(),
            order,
            seed,
            warmup,
            runs: RunCount::Fixed(runs),
            margin: None,
            max_time: None,
            timeout: None,
            ignore_failure: IgnoreFailure::No,
            sigma: 2.0,
            profile: ProfileChoice::No,
            discard: None,
            output: Output::Null,
            input: Input::Null,
            cpus: vec![],
            sched: None,
            cwd: Name::from("/"),
            env: vec![],
            user: None,
            leave_running: false,
            images: true,
            account: true,
            tags: BTreeMap::new(),
            require: vec![],
            hook_shell: vec![],
            independent_setups: false,
            purpose: None,
            metrics: Vec::new(),
        }
    }

    fn text(plan: &RunPlan) -> String {
        let letter = |series: u32| char::from(b'a' + series as u8);
        let act_text = |act: Act| match act {
            Act::Alone(s) if s.phase == Phase::Warmup => format!("{}{}", letter(s.series), s.index),
            Act::Alone(s) => format!("{}{}", letter(s.series).to_ascii_uppercase(), s.index),
            Act::Duet(d) => format!("{}+{}{}", letter(d.series), letter(d.reference), d.index),
        };
        schedule(plan).map(act_text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orders() {
        assert_eq!(text(&plan(3, 1, 2, Order::Rounds, 1)), "a0 b0 c0 A0 B0 C0 A1 B1 C1");
        assert_eq!(text(&plan(2, 2, 2, Order::Sequential, 1)), "a0 a1 A0 A1 b0 b1 B0 B1");
        assert_eq!(text(&plan(0, 2, 2, Order::Random, 1)), "");
        assert_eq!(text(&plan(1, 0, 0, Order::Rounds, 1)), "");
        assert_eq!(text(&plan(2, 1, 2, Order::Auto, 3)), "a0 b0 A0 B0 b+a0 B1 A1 b+a1");
        assert_eq!(text(&plan(2, 0, 4, Order::Duet, 3)), "A0 B0 b+a0 B1 A1 b+a1 B2 A2 b+a2 b+a3");
        let mut p = plan(1, 0, 0, Order::Rounds, 1);
        p.runs = RunCount::Adaptive { precision: 0.1, min: 1, max: 3 };
        assert_eq!(text(&p), "A0 A1 A2");
    }

    /// As many as the schedule has, but for duets that are not made.
    #[test]
    fn executions_are_those_of_the_schedule() {
        let ms = Nanos::from_millis;
        let times = |pt| Some(AloneTimes { pt: ms(pt), elapsed: ms(pt + 1), asleep: Some(0.0), memory: None });
        let all = |p: &RunPlan| schedule(p).count() as u64;
        for order in [Order::Rounds, Order::Random, Order::Sequential, Order::Duet, Order::Auto] {
            let p = plan(3, 2, 7, order, 1);
            assert_eq!(executions(&p, &[times(100); 3]), all(&p), "{order:?}");
        }
        let auto = plan(3, 2, 7, Order::Auto, 1);
        assert_eq!(executions(&auto, &[times(100), times(3), times(100)]), all(&auto) - 7);
        // A reference that is too short has no duets; of programs of which nothing is known yet none are expected.
        assert_eq!(executions(&auto, &[times(3), times(100), times(100)]), 27);
        assert_eq!(executions(&auto, &[]), 27);
        assert_eq!(executions(&plan(0, 1, 1, Order::Auto, 1), &[]), 0);
    }

    /// Fixed for ever: a stored run is resumed by its seed, by a later version too.
    #[test]
    fn random_order_and_padding_never_change() {
        assert_eq!(text(&plan(3, 1, 4, Order::Random, 42)), "a0 b0 c0 A0 C0 B0 C1 A1 B1 B2 C2 A2 B3 C3 A3");
        assert_eq!((0..4).map(|i| environment_padding(42, i)).collect::<Vec<_>>(), [61, 2721, 1514, 2418]);
    }

    #[test]
    fn as_many_warm_ups_as_asked_take_no_memory() {
        for order in [Order::Rounds, Order::Random, Order::Sequential] {
            let p = plan(2, u32::MAX, u32::MAX, order, 1);
            let done = Acts { alone: vec![Slot { series: 0, phase: Phase::Warmup, index: 0 }], duets: vec![] };
            let first: Vec<u32> = remaining(&p, &done).take(3).map(|a| a.alone().unwrap().index).collect();
            assert_eq!(first, if order == Order::Sequential { [1, 2, 3] } else { [1, 0, 2] });
        }
    }

    #[test]
    fn every_order_of_a_round_is_as_frequent() {
        let p = plan(3, 0, 6000, Order::Random, 9);
        let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let slots: Vec<u32> = schedule(&p).map(|a| a.alone().unwrap().series).collect();
        for round in slots.chunks(3) {
            *counts.entry(round.to_vec()).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
    }

    #[test]
    fn paddings_spread() {
        let all: Vec<u32> = (0..4000).map(|i| environment_padding(1, i)).collect();
        let mean = f64::from(all.iter().sum::<u32>()) / 4000.0;
        assert!((mean - 2047.5).abs() < 100.0 && all.iter().all(|p| *p < 4096));
    }

    proptest! {
        #[test]
        fn each_execution_once_and_rounds_contiguous(
            programs in 0..6_usize, warmup in 0..4_u32, runs in 0..20_u32, order in 0..3_u8, seed: u64
        ) {
            let order = [Order::Rounds, Order::Random, Order::Sequential][usize::from(order)];
            let p = plan(programs, warmup, runs, order, seed);
            let acts: Vec<Act> = schedule(&p).collect();
            prop_assert_eq!(&acts, &schedule(&p).collect::<Vec<_>>());
            let slots: Vec<Slot> = acts.into_iter().filter_map(Act::alone).collect();
            prop_assert_eq!(slots.len(), programs * (warmup + runs) as usize);
            prop_assert_eq!(slots.iter().collect::<HashSet<_>>().len(), slots.len());
            let bound = |s: &Slot| if s.phase == Phase::Warmup { warmup } else { runs };
            let inside = slots.iter().all(|s| (s.series as usize) < programs && s.index < bound(s));
            prop_assert!(inside);
            if order != Order::Sequential && programs > 0 {
                for round in slots.chunks(programs) {
                    prop_assert!(round.iter().all(|s| (s.phase, s.index) == (round[0].phase, round[0].index)));
                }
            }
        }

        #[test]
        fn a_run_that_is_resumed_has_each_execution_once(
            programs in 1..5_usize, runs in 0..8_u32, seed: u64, there in 0..60_usize, duets: bool,
        ) {
            let p = plan(programs, 1, runs, if duets { Order::Duet } else { Order::Auto }, seed);
            let all: Vec<Act> = schedule(&p).collect();
            prop_assert_eq!(all.iter().filter(|a| a.alone().is_none()).count(), (programs - 1) * runs as usize);
            let done: Vec<Act> = all.iter().copied().take(there.max(1)).collect();
            let acts = Acts {
                alone: done.iter().filter_map(|a| a.alone()).collect(),
                duets: done.iter().filter_map(|a| if let Act::Duet(d) = a { Some(*d) } else { None }).collect(),
            };
            let is_counted = |a: &Act| a.alone().is_none_or(|s| s.phase == Phase::Counted);
            let rest: Vec<Act> = remaining(&p, &acts).filter(is_counted).collect();
            let expected: Vec<Act> = all.into_iter().filter(|a| is_counted(a) && !done.contains(a)).collect();
            prop_assert_eq!(rest, expected);
        }
    }
}
