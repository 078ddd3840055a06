//! The order of execution: fixed by the plan alone, so that a run can be resumed and repeated.

use crate::compare::duet::{AloneTimes, DuetSlot};
use crate::run::plan::{ALONE_BLOCKS, Order, RunPlan};
use crate::sample::data::Phase;
use crate::statistics::random::{RandomPurpose, below, generator, shuffle};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::rc::Rc;

/// One execution to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Index of the program in the plan.
    pub series: u32,
    pub phase: Phase,
    /// Number within the series and phase, from 0: the round, unless the order is sequential or a block holds several executions.
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
/// followed by a duet of every program with the reference, in random order; of short programs such a round holds several
/// `executions` of each ([`crate::run::block_size`]). Sequential: all of the first program, warm-ups first, then the next. With
/// [`crate::run::plan::RunCount::Adaptive`] it goes up to the maximum; the runner leaves out series that are precise enough, and
/// duets that make no sense.
pub fn schedule(plan: &RunPlan, executions: u32) -> impl Iterator<Item = Act> + use<> {
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let (order, seed, warmup, reference) = (plan.order, plan.seed, plan.warmup, plan.reference());
    // Each execution has a number.
    let runs = plan.max_runs().min(u32::MAX / executions.max(1));
    // Sequential is the same nest with the loops exchanged: an outer step for each program.
    let blocks = if order == Order::Sequential { programs } else { 1 };
    (0..blocks).flat_map(move |block| {
        let one_round = move |phase: Phase, index: u32| -> Vec<Act> {
            let mut round: Vec<u32> = if order == Order::Sequential { vec![block] } else { (0..programs).collect() };
            let mut rng = generator(seed, RandomPurpose::Order, u64::from(index));
            if matches!(order, Order::Random | Order::Auto | Order::Duet) && phase == Phase::Counted {
                shuffle(&mut round, &mut rng);
            }
            let alone = order != Order::Duet || phase == Phase::Warmup || index < ALONE_BLOCKS;
            let slots: Vec<Slot> = match phase {
                _ if !alone => Vec::new(),
                Phase::Counted if executions > 1 => mirrored(round.clone(), index, executions, &mut rng),
                _ => round.iter().map(|series| Slot { series: *series, phase, index }).collect(),
            };
            let mut acts: Vec<Act> = slots.into_iter().map(Act::Alone).collect();
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

/// A block of several executions of each program, an even number: an order of the programs and its reverse, again and again, so that
/// a drift at constant speed meets all programs alike. Of two programs A B B A and B A A B alternate, so that one whose speed changes
/// evenly does, too, where there are both; of more, each order is a random one.
fn mirrored(mut order: Vec<u32>, block: u32, executions: u32, rng: &mut ChaCha8Rng) -> Vec<Slot> {
    let first = block.saturating_mul(executions);
    let slot = |series: &u32, n: u32| Slot { series: *series, phase: Phase::Counted, index: first.saturating_add(n) };
    let mut slots = Vec::new();
    for n in (0..executions).step_by(2) {
        slots.extend(order.iter().map(|series| slot(series, n)));
        slots.extend(order.iter().rev().map(|series| slot(series, n + 1)));
        if order.len() == 2 {
            order.reverse();
        } else {
            shuffle(&mut order, rng);
        }
    }
    slots
}

/// The warm-ups with which a run goes on, given what there is of it: all of a new run; of others fresh ones of the programs that are
/// not complete, since the caches are cold again. None in sequential order, where each program's warm-ups stand right before its
/// own samples ([`after_warmups`]).
pub fn first_warmups(plan: &RunPlan, done: &Acts) -> Box<dyn Iterator<Item = Act>> {
    if plan.order == Order::Sequential {
        return Box::new(std::iter::empty());
    }
    if is_new(done) {
        return Box::new(schedule(plan, 1).take_while(|act| !is_counted(act)));
    }
    let concerned = next_warmups(plan, done);
    let round = move |n: u32| concerned.iter().map(|next| warmup(n, *next)).collect::<Vec<Act>>();
    Box::new((0..plan.warmup).flat_map(round))
}

/// What is left of a run after these warm-ups, one execution after the other, if a block holds so many executions of each program:
/// counted ones without a sample, in the schedule's order.
///
/// In sequential order a program that a later one followed is complete, also if its precision or a time limit ended it early.
/// A plan may have billions of executions: only those that are there are held in memory.
pub fn after_warmups(plan: &RunPlan, done: &Acts, executions: u32) -> Box<dyn Iterator<Item = Act>> {
    let sequential = plan.order == Order::Sequential;
    if is_new(done) {
        return Box::new(schedule(plan, executions).skip_while(move |act| !sequential && !is_counted(act)));
    }
    let there: HashSet<Slot> = done.alone.iter().copied().collect();
    if !sequential {
        let duets: HashSet<DuetSlot> = done.duets.iter().copied().collect();
        let is_left = move |act: &Act| match act {
            Act::Alone(slot) => slot.phase == Phase::Counted && !there.contains(slot),
            Act::Duet(slot) => !duets.contains(slot),
        };
        return Box::new(schedule(plan, executions).filter(is_left));
    }
    // Each program's warm-ups stand right before its own samples.
    let there = Rc::new(there);
    let (count, max) = (plan.warmup, plan.max_runs());
    Box::new(next_warmups(plan, done).into_iter().flat_map(move |next| {
        let there = Rc::clone(&there);
        let counted = (0..max).map(move |index| Slot { series: next.series, phase: Phase::Counted, index });
        let counted = counted.filter(move |s| !there.contains(s)).map(Act::Alone);
        (0..count).map(move |n| warmup(n, next)).chain(counted)
    }))
}

fn is_new(done: &Acts) -> bool {
    done.alone.is_empty() && done.duets.is_empty()
}

fn is_counted(act: &Act) -> bool {
    act.alone().is_none_or(|slot| slot.phase == Phase::Counted)
}

/// The warm-up that comes so many after this one.
fn warmup(n: u32, next: Slot) -> Act {
    Act::Alone(Slot { index: next.index.saturating_add(n), ..next })
}

/// The next warm-up of each program that is not complete.
fn next_warmups(plan: &RunPlan, done: &Acts) -> Vec<Slot> {
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let sequential = plan.order == Order::Sequential;
    let first = if sequential { done.alone.iter().map(|s| s.series).max().unwrap_or(0) } else { 0 };
    let there: HashSet<Slot> = done.alone.iter().copied().collect();
    let max = plan.max_runs();
    let of_series = |series: u32, phase: Phase| there.iter().filter(move |s| s.series == series && s.phase == phase);
    let is_incomplete = |series: &u32| {
        // Of duets, too, some may be left.
        plan.order.has_duets() || of_series(*series, Phase::Counted).filter(|s| s.index < max).count() < max as usize
    };
    let next_warmup = |series: u32| {
        let next = of_series(series, Phase::Warmup).map(|s| s.index.saturating_add(1)).max().unwrap_or(0);
        Slot { series, phase: Phase::Warmup, index: next }
    };
    (first..programs).filter(is_incomplete).map(next_warmup).collect()
}

/// How many executions a run has at most, a duet being one, given what is known of each program alone, and how many executions of
/// each a block holds: where nobody asked for duets, only programs that suit them have any.
pub fn executions(plan: &RunPlan, alone: &[Option<AloneTimes>], in_block: u32) -> u64 {
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
    (u64::from(plan.warmup) + rounds * u64::from(in_block)) * programs.len() as u64 + blocks * pairs
}

/// Length in bytes, 0 to 4095, of the environment variable that shifts the stack of the execution at position `seq`, so that
/// its layout differs at random between samples (Mytkowicz et al., ASPLOS'09).
pub fn environment_padding(seed: u64, seq: u32) -> u32 {
    below(&mut generator(seed, RandomPurpose::Padding, u64::from(seq)), 4096)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::units::Nanos;
    use crate::run::plan::{Command, ProfileChoice, Program, RunCount};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    pub(crate) fn plan(programs: usize, warmup: u32, runs: u32, order: Order, seed: u64) -> RunPlan {
        let program = |i| Program::new(format!("p{i}"), Command::Argv(vec![]));
        RunPlan {
            order,
            seed,
            warmup,
            runs: RunCount::Fixed(runs),
            profile: ProfileChoice::No,
            ..RunPlan::of((0..programs).map(program).collect())
        }
    }

    /// All that a run with these executions is to do next.
    fn remaining(plan: &RunPlan, done: &Acts, executions: u32) -> impl Iterator<Item = Act> + use<> {
        first_warmups(plan, done).chain(after_warmups(plan, done, executions))
    }

    fn acts_of(done: &[Act]) -> Acts {
        Acts {
            alone: done.iter().filter_map(|a| a.alone()).collect(),
            duets: done.iter().filter_map(|a| if let Act::Duet(d) = a { Some(*d) } else { None }).collect(),
        }
    }

    fn text(plan: &RunPlan) -> String {
        text_of(plan, 1)
    }

    fn text_of(plan: &RunPlan, executions: u32) -> String {
        let letter = |series: u32| char::from(b'a' + series as u8);
        let act_text = |act: Act| match act {
            Act::Alone(s) if s.phase == Phase::Warmup => format!("{}{}", letter(s.series), s.index),
            Act::Alone(s) => format!("{}{}", letter(s.series).to_ascii_uppercase(), s.index),
            Act::Duet(d) => format!("{}+{}{}", letter(d.series), letter(d.reference), d.index),
        };
        schedule(plan, executions).map(act_text).collect::<Vec<_>>().join(" ")
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
        let all = |p: &RunPlan| schedule(p, 1).count() as u64;
        for order in [Order::Rounds, Order::Random, Order::Sequential, Order::Duet, Order::Auto] {
            let p = plan(3, 2, 7, order, 1);
            assert_eq!(executions(&p, &[times(100); 3], 1), all(&p), "{order:?}");
        }
        let auto = plan(3, 2, 7, Order::Auto, 1);
        assert_eq!(executions(&auto, &[times(100), times(3), times(100)], 1), all(&auto) - 7);
        // A reference that is too short has no duets; of programs of which nothing is known yet none are expected.
        assert_eq!(executions(&auto, &[times(3), times(100), times(100)], 1), 27);
        assert_eq!(executions(&auto, &[], 1), 27);
        assert_eq!(executions(&plan(0, 1, 1, Order::Auto, 1), &[], 1), 0);
        // Several executions of each program in a block.
        let alone = schedule(&auto, 8).filter(|act| act.alone().is_some()).count();
        assert_eq!((executions(&auto, &[times(3); 3], 8), alone), (3 * (2 + 7 * 8), 3 * (2 + 7 * 8)));
    }

    /// Fixed for ever: a stored run is resumed by its seed, by a later version too.
    #[test]
    fn random_order_and_padding_never_change() {
        assert_eq!(text(&plan(3, 1, 4, Order::Random, 42)), "a0 b0 c0 A0 C0 B0 C1 A1 B1 B2 C2 A2 B3 C3 A3");
        assert_eq!((0..4).map(|i| environment_padding(42, i)).collect::<Vec<_>>(), [61, 2721, 1514, 2418]);
    }

    #[test]
    fn several_executions_of_each_program_in_a_block() {
        let two = plan(2, 1, 3, Order::Auto, 3);
        assert_eq!(
            text_of(&two, 4),
            "a0 b0 A0 B0 B1 A1 B2 A2 A3 B3 b+a0 B4 A4 A5 B5 A6 B6 B7 A7 b+a1 B8 A8 A9 B9 A10 B10 B11 A11 b+a2"
        );
        // The first order of each block is the one that it has with one execution of each program.
        let firsts = |executions: u32| -> Vec<[u32; 3]> {
            let slots: Vec<u32> = schedule(&plan(3, 0, 20, Order::Auto, 7), executions)
                .filter_map(|act| act.alone().map(|slot| slot.series))
                .collect();
            slots.chunks(3 * executions as usize).map(|block| [block[0], block[1], block[2]]).collect()
        };
        assert_eq!(firsts(6), firsts(1));
        // Both orders begin about as many blocks, by the seed.
        let slots: Vec<Slot> = schedule(&plan(2, 0, 2_000, Order::Auto, 9), 2).filter_map(Act::alone).collect();
        let first = slots.chunks(4).filter(|block| block[0].series == 0).count();
        assert!((900..1_100).contains(&first), "{first}");
        // Numbers do not run out.
        let most = plan(2, 0, u32::MAX, Order::Auto, 1);
        assert_eq!(schedule(&most, 32).take(64).filter_map(Act::alone).map(|s| s.index).max(), Some(31));
    }

    #[test]
    fn as_many_warm_ups_as_asked_take_no_memory() {
        for order in [Order::Rounds, Order::Random, Order::Sequential] {
            let p = plan(2, u32::MAX, u32::MAX, order, 1);
            let done = Acts { alone: vec![Slot { series: 0, phase: Phase::Warmup, index: 0 }], duets: vec![] };
            let first: Vec<u32> = remaining(&p, &done, 1).take(3).map(|a| a.alone().unwrap().index).collect();
            assert_eq!(first, if order == Order::Sequential { [1, 2, 3] } else { [1, 0, 2] });
        }
    }

    #[test]
    fn every_order_of_a_round_is_as_frequent() {
        let p = plan(3, 0, 6000, Order::Random, 9);
        let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let slots: Vec<u32> = schedule(&p, 1).map(|a| a.alone().unwrap().series).collect();
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
            let acts: Vec<Act> = schedule(&p, 1).collect();
            prop_assert_eq!(&acts, &schedule(&p, 1).collect::<Vec<_>>());
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
            programs in 1..5_usize, runs in 0..8_u32, seed: u64, there in 0..200_usize, duets: bool, pairs in 0..5_u32,
        ) {
            let p = plan(programs, 1, runs, if duets { Order::Duet } else { Order::Auto }, seed);
            let executions = if duets { 1 } else { (2 * pairs).max(1) };
            let all: Vec<Act> = schedule(&p, executions).collect();
            prop_assert_eq!(all.iter().filter(|a| a.alone().is_none()).count(), (programs - 1) * runs as usize);
            let done: Vec<Act> = all.iter().copied().take(there.max(1)).collect();
            let rest: Vec<Act> = remaining(&p, &acts_of(&done), executions).filter(is_counted).collect();
            let expected: Vec<Act> = all.into_iter().filter(|a| is_counted(a) && !done.contains(a)).collect();
            prop_assert_eq!(rest, expected);
        }

        /// A new run is its warm-ups and what comes after them.
        #[test]
        fn a_new_run_is_the_whole_schedule(
            programs in 0..4_usize, warmup in 0..3_u32, runs in 0..4_u32, order in 0..5_u8, seed: u64, pairs in 0..3_u32,
        ) {
            let orders = [Order::Rounds, Order::Random, Order::Sequential, Order::Auto, Order::Duet];
            let p = plan(programs, warmup, runs, orders[usize::from(order)], seed);
            let executions = if p.order == Order::Auto { (2 * pairs).max(1) } else { 1 };
            let whole: Vec<Act> = schedule(&p, executions).collect();
            prop_assert_eq!(remaining(&p, &Acts::default(), executions).collect::<Vec<Act>>(), whole);
        }

        /// Each program as often, at the same mean position, so that what grows evenly cancels; of two programs, what grows with the
        /// square of the time, too, in each eight of them.
        #[test]
        fn a_drift_meets_all_programs_of_a_block_alike(
            programs in 2..6_usize, runs in 1..6_u32, seed: u64, pairs in 1..=16_u32,
        ) {
            let (p, executions) = (plan(programs, 0, runs, Order::Auto, seed), 2 * pairs);
            let slots: Vec<Slot> = schedule(&p, executions).filter_map(Act::alone).collect();
            prop_assert_eq!(slots.iter().collect::<HashSet<_>>().len(), slots.len());
            prop_assert_eq!(slots.len(), programs * (runs * executions) as usize);
            for (block, of_block) in (0..).zip(slots.chunks(programs * executions as usize)) {
                prop_assert!(of_block.iter().all(|s| s.index / executions == block));
                let places = |series: u32| {
                    of_block.iter().enumerate().filter(move |(_, s)| s.series == series).map(|(place, _)| place as u64)
                };
                let sums: HashSet<u64> = (0..programs as u32).map(|s| places(s).sum()).collect();
                prop_assert_eq!(sums.len(), 1);
                // In the order of execution each program's numbers ascend.
                let numbers = |series| of_block.iter().filter(move |s| s.series == series).map(|s| s.index);
                prop_assert!((0..programs as u32).all(|s| numbers(s).eq(block * executions..(block + 1) * executions)));
                if programs == 2 && executions.is_multiple_of(4) {
                    prop_assert_eq!(places(0).map(|p| p * p).sum::<u64>(), places(1).map(|p| p * p).sum::<u64>());
                }
            }
        }
    }
}
