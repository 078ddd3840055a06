//! The order of execution: fixed by the plan alone, so that a run can be resumed and repeated.

use crate::run::plan::{Order, RunPlan};
use crate::sample::data::Phase;
use crate::statistics::random::{RandomPurpose, below, generator, shuffle};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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

/// Every execution of a run, in order; position in it is [`crate::sample::data::Sample::seq`].
///
/// Rounds and random: the warm-ups of all programs, interleaved, then the counted rounds, each of which holds every
/// program once; a random round's order depends only on the seed and its number. Sequential: all of the first program,
/// warm-ups first, then the next. With [`crate::run::plan::RunCount::Adaptive`] it goes up to the maximum; the runner
/// leaves out series that are precise enough.
pub fn schedule(plan: &RunPlan) -> impl Iterator<Item = Slot> + use<> {
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let (order, seed, warmup, runs) = (plan.order, plan.seed, plan.warmup, plan.max_runs());
    // Sequential is the same nest with the loops exchanged: an outer step for each program.
    let blocks = if order == Order::Sequential { programs } else { 1 };
    (0..blocks).flat_map(move |block| {
        let one_round = move |phase: Phase, index: u32| -> Vec<Slot> {
            let mut round: Vec<u32> = if order == Order::Sequential { vec![block] } else { (0..programs).collect() };
            if order == Order::Random && phase == Phase::Counted {
                shuffle(&mut round, &mut generator(seed, RandomPurpose::Order, u64::from(index)));
            }
            round.into_iter().map(|series| Slot { series, phase, index }).collect()
        };
        let warmups = (0..warmup).flat_map(move |i| one_round(Phase::Warmup, i));
        warmups.chain((0..runs).flat_map(move |i| one_round(Phase::Counted, i)))
    })
}

/// The executions that are left of a run, given those that are there: counted ones without a sample, in the schedule's order,
/// after fresh warm-ups of their programs, since the caches are cold again.
///
/// In sequential order a program that a later one followed is complete, also if its precision or a time limit ended it early.
pub fn remaining(plan: &RunPlan, done: &[Slot]) -> Vec<Slot> {
    if done.is_empty() {
        return schedule(plan).collect();
    }
    let sequential = plan.order == Order::Sequential;
    let there: HashSet<&Slot> = done.iter().collect();
    let first = if sequential { done.iter().map(|s| s.series).max().unwrap_or(0) } else { 0 };
    let is_left = |s: &Slot| s.phase == Phase::Counted && s.series >= first && !there.contains(s);
    let counted: Vec<Slot> = schedule(plan).filter(is_left).collect();
    let concerned: HashSet<u32> = counted.iter().map(|s| s.series).collect();
    let mut warmups = Vec::new();
    for n in 0..plan.warmup {
        for series in (0..plan.programs.len() as u32).filter(|s| concerned.contains(s)) {
            let earlier = done.iter().filter(|s| s.series == series && s.phase == Phase::Warmup);
            let next = earlier.map(|s| s.index.saturating_add(1)).max().unwrap_or(0);
            warmups.push(Slot { series, phase: Phase::Warmup, index: next.saturating_add(n) });
        }
    }
    if !sequential {
        warmups.extend(counted);
        return warmups;
    }
    // Each program's warm-ups stand right before its own samples.
    let of_series = |series: u32| warmups.iter().chain(&counted).filter(move |s| s.series == series).copied();
    (first..plan.programs.len() as u32).flat_map(of_series).collect()
}

/// Length in bytes, 0 to 4095, of the environment variable that shifts the stack of the execution at position `seq`, so that
/// its layout differs at random between samples (Mytkowicz et al., ASPLOS'09).
pub fn environment_padding(seed: u64, seq: u32) -> u32 {
    below(&mut generator(seed, RandomPurpose::Padding, u64::from(seq)), 4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::name::Name;
    use crate::run::plan::{Command, IgnoreFailure, Input, Output, ProfileChoice, Program, RunCount};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    fn plan(programs: usize, warmup: u32, runs: u32, order: Order, seed: u64) -> RunPlan {
        let program = |i| Program {
            label: format!("p{i}"),
            command: Command::Argv(vec![]),
            parameters: BTreeMap::new(),
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
            output: None,
            reference: false,
        };
        RunPlan {
            programs: (0..programs).map(program).collect(),
            order,
            seed,
            warmup,
            runs: RunCount::Fixed(runs),
            max_time: None,
            timeout: None,
            ignore_failure: IgnoreFailure::No,
            sigma: 2.0,
            profile: ProfileChoice::No,
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
        }
    }

    fn text(plan: &RunPlan) -> String {
        let slot_text = |s: Slot| {
            let letter = char::from(b'a' + s.series as u8);
            let c = if s.phase == Phase::Warmup { letter } else { letter.to_ascii_uppercase() };
            format!("{c}{}", s.index)
        };
        schedule(plan).map(slot_text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orders() {
        assert_eq!(text(&plan(3, 1, 2, Order::Rounds, 1)), "a0 b0 c0 A0 B0 C0 A1 B1 C1");
        assert_eq!(text(&plan(2, 2, 2, Order::Sequential, 1)), "a0 a1 A0 A1 b0 b1 B0 B1");
        assert_eq!(text(&plan(0, 2, 2, Order::Random, 1)), "");
        assert_eq!(text(&plan(1, 0, 0, Order::Rounds, 1)), "");
        let mut p = plan(1, 0, 0, Order::Rounds, 1);
        p.runs = RunCount::Adaptive { precision: 0.1, min: 1, max: 3 };
        assert_eq!(text(&p), "A0 A1 A2");
    }

    /// Fixed for ever: a stored run is resumed by its seed, by a later version too.
    #[test]
    fn random_order_and_padding_never_change() {
        assert_eq!(text(&plan(3, 1, 4, Order::Random, 42)), "a0 b0 c0 A0 C0 B0 C1 A1 B1 B2 C2 A2 B3 C3 A3");
        assert_eq!((0..4).map(|i| environment_padding(42, i)).collect::<Vec<_>>(), [61, 2721, 1514, 2418]);
    }

    #[test]
    fn every_order_of_a_round_is_as_frequent() {
        let p = plan(3, 0, 6000, Order::Random, 9);
        let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let slots: Vec<u32> = schedule(&p).map(|s| s.series).collect();
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
            let slots: Vec<Slot> = schedule(&p).collect();
            prop_assert_eq!(&slots, &schedule(&p).collect::<Vec<_>>());
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
    }
}
