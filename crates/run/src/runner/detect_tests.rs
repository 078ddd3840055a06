//! Runs that go on until a difference would be seen.

use super::tests::*;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::statistics::sequential::SequentialDesign;

const CAP: u32 = 60;

fn detect(programs: u8, order: Order, difference: f64) -> RunPlan {
    let mut plan = plan(programs, 1, 0, order);
    plan.runs = RunCount::Detect { difference, max: CAP };
    plan
}

/// 99 ms, and up to 6% more or less, by the block and the program: 21 times, each as often, in an order of the
/// program's own.
fn noisy(series: u32, index: u32) -> Nanos {
    let step = [8, 10, 11][series as usize % 3];
    Nanos(99_000_000 + 600_000 * (i64::from((index * step + series * 5) % 21) - 10))
}

/// Programs that suit duets, whose times differ from block to block.
fn long() -> Script {
    Script {
        elapsed: Some(|_| 100_000_000),
        process_time: Some(|slot| noisy(slot.series, slot.index)),
        together: Some(|slot| [noisy(slot.series, slot.index), Nanos::from_millis(99)]),
        ..Script::default()
    }
}

fn is_look(blocks: usize) -> bool {
    SequentialDesign::new(CAP, 0.95).looks().iter().any(|n| *n as usize == blocks)
}

fn slots(ran: &Ran) -> Vec<Slot> {
    ran.kept.iter().map(slot_of).filter(|s| s.phase == Phase::Counted).collect()
}

#[test]
fn duets_go_on_until_a_look_shows_enough() {
    // Always the same ratio: the first look that has an interval.
    let same = Script { together: None, process_time: Some(|_| Nanos::from_millis(99)), ..long() };
    let ran = run(&detect(2, Order::Duet, 0.01), &same);
    assert_eq!((ran.duets.len(), slots(&ran).len()), (10, 2 * 3));
    assert!(matches!(ran.ending.why, StopReason::Finished));
    let blocks = |difference| run(&detect(2, Order::Duet, difference), &long()).duets.len();
    let (coarse, fine) = (blocks(0.045), blocks(0.02));
    assert!(is_look(coarse) && is_look(fine) && coarse < fine && fine < CAP as usize, "{coarse} {fine}");
    assert_eq!(blocks(1e-6), CAP as usize, "never, but for the maximum");
}

#[test]
fn rounds_decide_where_there_are_no_duets() {
    let rounds = |order, script: &Script| {
        let ran = run(&detect(2, order, 0.03), script);
        let count = |series| slots(&ran).iter().filter(|s| s.series == series).count();
        assert_eq!(count(0), count(1));
        (count(0), ran.duets.len())
    };
    let (taken, duets) = rounds(Order::Rounds, &long());
    assert!(is_look(taken) && taken < CAP as usize && duets == 0, "{taken}");
    assert_eq!(rounds(Order::Random, &long()), (taken, 0));
    // Too short for duets.
    let short = Script { process_time: Some(|s| Nanos(noisy(s.series, s.index).0 / 50)), ..long() };
    assert_eq!(rounds(Order::Auto, &short), (taken, 0));
    // With duets in every block these decide.
    let (blocks, duets) = rounds(Order::Auto, &long());
    assert!(blocks == duets && is_look(duets), "{blocks} {duets}");
    // Without process times, elapsed times.
    let elapsed: fn(Slot) -> i64 = |s| noisy(s.series, s.index).0;
    assert_eq!(rounds(Order::Rounds, &Script { elapsed: Some(elapsed), ..Script::default() }), (taken, 0));
}

#[test]
fn a_program_that_fails_does_not_prolong_the_run() {
    let fails = |name: &str| Script { outcomes: BTreeMap::from([(name.to_owned(), exits(1))]), ..long() };
    let of_both = run(&detect(2, Order::Duet, 0.02), &long()).duets.len();
    let count = |ran: &Ran, series: u32| ran.duets.iter().filter(|d| d.slot().series == series).count();
    // Program c fails in its fifth duet: b decides alone from then on.
    let ran = run(&detect(3, Order::Duet, 0.02), &fails("c+a4/0"));
    assert_eq!((count(&ran, 1), count(&ran, 2)), (of_both, 5));
    // Without the reference there is nothing to compare with.
    let ran = run(&detect(3, Order::Rounds, 0.02), &fails("A5"));
    assert_eq!(slots(&ran).iter().filter(|s| s.series == 1).count(), 6);
    assert!(matches!(ran.ending.why, StopReason::Finished));
    // The programs' own figures are still made.
    let ran = run(&detect(3, Order::Rounds, 0.02), &fails("a0"));
    assert_eq!(slots(&ran).iter().filter(|s| s.series == 1).count(), 3);
}

#[test]
fn in_sequential_order_nothing_is_decided() {
    let ran = run(&detect(2, Order::Sequential, 0.9), &long());
    assert_eq!(slots(&ran).len(), 2 * CAP as usize);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Wherever a run is cut, the resumed one takes what the whole one would have taken, and no more.
    #[test]
    fn a_resumed_run_stops_at_the_same_block(
        programs in 2..4_u8, order in prop_oneof![Just(Order::Duet), Just(Order::Auto), Just(Order::Rounds)],
        difference in 0.015..0.06_f64, cut in 0..400_usize,
    ) {
        let p = detect(programs, order, difference);
        let whole = run(&p, &long());
        let cut = cut % (whole.kept.len() + whole.duets.len() + 1);
        let first = run_after(&p, &long(), (&[], &[]), cut);
        let rest = run_after(&p, &long(), (&first.kept, &first.duets), usize::MAX);
        let duets = |ran: &Ran| ran.duets.iter().map(Duet::slot).collect::<Vec<DuetSlot>>();
        prop_assert_eq!([slots(&first), slots(&rest)].concat(), slots(&whole));
        prop_assert_eq!([duets(&first), duets(&rest)].concat(), duets(&whole));
        prop_assert!(matches!(rest.ending.why, StopReason::Finished));
    }
}
