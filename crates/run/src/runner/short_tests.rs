//! Short programs: blocks of several executions of each.

use super::tests::*;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::run::block_size::SHORTEST_BLOCK;

/// A B B A of such programs lasts 16 ms, which is less than a block must; twice of that is enough.
const TIME: Nanos = Nanos::from_millis(4);
const EXECUTIONS: u32 = 4;

/// The warm-ups of a resumed session find the machine busy.
fn short() -> Script {
    let elapsed: fn(Slot) -> i64 = |s| if s.phase == Phase::Warmup && s.index > 0 { SHORTEST_BLOCK.0 } else { TIME.0 };
    Script { elapsed: Some(elapsed), process_time: Some(|_| TIME), ..Script::default() }
}

fn counted(samples: &[Sample]) -> Vec<(Slot, Option<SampleBlock>)> {
    samples.iter().map(|s| (slot_of(s), s.block)).filter(|s| s.0.phase == Phase::Counted).collect()
}

/// Counted samples of each of two programs.
fn counts(ran: &Ran) -> [usize; 2] {
    [0, 1].map(|series| counted(&ran.kept).iter().filter(|(slot, _)| slot.series == series).count())
}

#[test]
fn a_block_holds_several_executions_of_each_program() {
    let ran = run(&plan(2, 1, 6, Order::Auto), &short());
    assert!(matches!(ran.ending.why, StopReason::Finished) && ran.duets.is_empty());
    assert!(ran.kept.iter().take(2).all(|s| s.phase == Phase::Warmup && s.block.is_none()));
    let all = counted(&ran.kept);
    assert_eq!(all.len(), 2 * 6 * EXECUTIONS as usize);
    let mut firsts = [0, 0];
    for (number, block) in (0..).zip(all.chunks(2 * EXECUTIONS as usize)) {
        assert!(block.iter().all(|(_, b)| *b == Some(SampleBlock { number, executions: EXECUTIONS })));
        let series: Vec<u32> = block.iter().map(|(slot, _)| slot.series).collect();
        firsts[series[0] as usize] += 1;
        let (a, b) = (series[0], 1 - series[0]);
        assert_eq!(series, [a, b, b, a, b, a, a, b]);
        for program in [a, b] {
            let numbers = block.iter().filter(|(slot, _)| slot.series == program).map(|(slot, _)| slot.index);
            assert!(numbers.eq(number * EXECUTIONS..(number + 1) * EXECUTIONS));
        }
    }
    assert!(firsts.iter().all(|n| *n > 0), "by the seed, either program begins: {firsts:?}");
    assert!(ran.kept.iter().enumerate().all(|(i, s)| s.seq as usize == i));
}

#[test]
fn elsewhere_a_block_holds_one_execution_of_each() {
    for order in [Order::Rounds, Order::Random, Order::Sequential] {
        let ran = run(&plan(2, 1, 6, order), &short());
        assert_eq!(counts(&ran), [6, 6], "{order:?}");
        assert!(ran.kept.iter().all(|s| s.block.is_none()));
    }
    assert_eq!(counts(&run(&plan(2, 0, 6, Order::Auto), &short())), [6, 6], "without warm-ups");
    assert_eq!(counts(&run(&plan(1, 1, 6, Order::Auto), &short())), [6, 0], "a single program");
    let long = Script { elapsed: Some(|_| SHORTEST_BLOCK.0 / 2), ..short() };
    assert_eq!(counts(&run(&plan(2, 1, 6, Order::Auto), &long)), [6, 6]);
    let outcomes = BTreeMap::from([("b0".to_owned(), exits(1))]);
    assert_eq!(counts(&run(&plan(2, 1, 6, Order::Auto), &Script { outcomes, ..short() })), [6, 0]);
}

#[test]
fn a_program_that_fails_in_a_block_ends_its_series_only() {
    let outcomes = BTreeMap::from([("B5".to_owned(), exits(1))]);
    let ran = run(&plan(2, 1, 3, Order::Auto), &Script { outcomes, ..short() });
    assert_eq!(counts(&ran), [3 * EXECUTIONS as usize, 6]);
}

#[test]
fn limits_and_rules_count_blocks() {
    let per_program = |blocks: u32| [(blocks * EXECUTIONS) as usize; 2];
    // A block takes 32 ms, the warm-ups 8.
    let mut p = plan(2, 1, 100, Order::Auto);
    p.max_time = Some(Nanos::from_millis(8 + 32 + 1));
    assert_eq!(counts(&run(&p, &short())), per_program(2));
    // The first is always made, to its end.
    p.max_time = Some(Nanos(1));
    assert_eq!(counts(&run(&p, &short())), per_program(1));
    let with = |runs| run(&RunPlan { runs, ..plan(2, 1, 0, Order::Auto) }, &short());
    assert_eq!(counts(&with(RunCount::Adaptive { precision: 0.01, min: 1, max: 60 })), per_program(10));
    assert_eq!(counts(&with(RunCount::Adaptive { precision: 0.01, min: 12, max: 60 })), per_program(12));
    assert_eq!(counts(&with(RunCount::Adaptive { precision: 0.01, min: 1, max: 3 })), per_program(3));
    // The first look that has an interval.
    let detect = |order| RunPlan { runs: RunCount::Detect { difference: 0.01, max: 60 }, ..plan(2, 1, 0, order) };
    let rounds = counts(&run(&detect(Order::Rounds), &short()))[0];
    assert!(rounds < 60);
    assert_eq!(counts(&run(&detect(Order::Auto), &short())), per_program(rounds as u32));
}

/// Its blocks hold one execution of each program.
#[test]
fn a_run_of_an_earlier_version_goes_on_as_it_began() {
    let p = plan(2, 1, 6, Order::Auto);
    let mut old: Vec<Sample> = run(&RunPlan { order: Order::Random, ..p.clone() }, &short()).kept;
    old.truncate(2 + 5);
    let rest = run_from(&p, &short(), &old, usize::MAX);
    let all = [counted(&old), counted(&rest.kept)].concat();
    assert!(all.iter().all(|(_, block)| block.is_none()));
    let whole = run(&RunPlan { order: Order::Random, ..p }, &short());
    assert_eq!(all, counted(&whole.kept));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Wherever it is cut, whatever the warm-ups of the second session say.
    #[test]
    fn a_resumed_run_completes_its_blocks(programs in 2..4_u8, warmup in 1..3_u32, runs in 1..6_u32, cut in 0..200_usize) {
        let p = plan(programs, warmup, runs, Order::Auto);
        let whole = run(&p, &short());
        let cut = cut % (whole.kept.len() + 1);
        let first = run_from(&p, &short(), &[], cut);
        let rest = run_from(&p, &short(), &first.kept, usize::MAX);
        prop_assert_eq!([counted(&first.kept), counted(&rest.kept)].concat(), counted(&whole.kept));
        prop_assert!(matches!(rest.ending.why, StopReason::Finished));
    }
}
