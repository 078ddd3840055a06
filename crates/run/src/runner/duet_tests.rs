//! Duets in the run loop.

use super::tests::*;
use super::*;
use std::collections::BTreeMap;
use tarebench_core::compare::duet::NoDuet;

/// Programs that take so long that duets of them make sense.
fn long() -> Script {
    Script { elapsed: Some(|_| 100_000_000), process_time: Some(|_| Nanos::from_millis(99)), ..Script::default() }
}

#[test]
fn each_block_ends_with_duets() {
    let ran = run(&plan(2, 1, 2, Order::Auto), &long());
    assert_eq!(ran.text(), "a0 b0 A0 B0 b+a0 A1 B1 b+a1");
    let seqs: Vec<u32> = ran.kept.iter().map(|s| s.seq).chain(ran.duets.iter().map(|d| d.seq)).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 5, 6, 4, 7]);
    assert!(matches!(ran.ending.why, StopReason::Finished));
    let only = run(&plan(2, 1, 5, Order::Duet), &long());
    assert_eq!(only.text(), "a0 b0 A0 B0 b+a0 A1 B1 b+a1 B2 A2 b+a2 b+a3 b+a4");
}

/// What it is decided by is the last warm-up, so that a resumed run decides alike.
#[test]
fn short_programs_have_no_duets_unasked() {
    let short = Script { process_time: Some(|_| Nanos::from_millis(5)), ..long() };
    assert_eq!(run(&plan(2, 1, 2, Order::Auto), &short).text(), "a0 b0 A0 B0 A1 B1");
    assert_eq!(run(&plan(2, 1, 2, Order::Duet), &short).text(), "a0 b0 A0 B0 b+a0 A1 B1 b+a1");
    let by_warmup: fn(Slot) -> Nanos = |s| Nanos::from_millis(if s.phase == Phase::Warmup { 99 } else { 5 });
    let script = Script { process_time: Some(by_warmup), ..long() };
    assert_eq!(run(&plan(2, 1, 1, Order::Auto), &script).text(), "a0 b0 A0 B0 b+a0");
    assert_eq!(run(&plan(2, 0, 1, Order::Auto), &script).text(), "A0 B0");
    // Without any process time nothing is known.
    assert_eq!(run(&plan(2, 1, 1, Order::Duet), &Script::default()).text(), "a0 b0 A0 B0");
}

#[test]
fn a_program_that_fails_together_ends_its_series() {
    let outcomes = BTreeMap::from([("b+a0/0".to_owned(), exits(1))]);
    let ran = run(&plan(3, 1, 2, Order::Duet), &Script { outcomes, ..long() });
    let after: Vec<&str> = ran.log.iter().map(String::as_str).skip_while(|l| *l != "b+a0").skip(1).collect();
    assert!(!after.iter().any(|l| l.contains(['b', 'B'])), "{}", ran.text());
    assert!(after.contains(&"c+a1"), "{}", ran.text());
    // Without the reference there is nothing to compare with.
    let outcomes = BTreeMap::from([("b+a0/1".to_owned(), exits(1))]);
    let ran = run(&plan(2, 1, 3, Order::Duet), &Script { outcomes, ..long() });
    assert_eq!(ran.text(), "a0 b0 A0 B0 b+a0 B1 B2");
}

/// Alone both work: they may need the same port.
#[test]
fn a_failure_in_duets_that_nobody_asked_for_ends_the_duets_only() {
    for side in 0..2 {
        let outcomes = BTreeMap::from([(format!("b+a0/{side}"), exits(1))]);
        let ran = run(&plan(2, 1, 3, Order::Auto), &Script { outcomes, ..long() });
        assert_eq!(ran.text(), "a0 b0 A0 B0 b+a0 A1 B1 B2 A2");
        assert!(matches!(ran.ending.why, StopReason::Finished));
        // Also when it is resumed.
        let rest = run_after(&plan(2, 1, 3, Order::Auto), &long(), (&ran.kept[..4], &ran.duets), usize::MAX);
        assert_eq!(rest.text(), "a1 b1 A1 B1 B2 A2");
    }
    // Other pairs continue.
    let outcomes = BTreeMap::from([("b+a0/1".to_owned(), exits(1))]);
    let ran = run(&plan(3, 1, 2, Order::Auto), &Script { outcomes, ..long() });
    let has = |what: &str| ran.log.iter().any(|l| l == what);
    assert!(has("c+a1") && has("B1") && has("A1") && !has("b+a1"), "{}", ran.text());
}

/// On several CPUs they take turns as gangs; where there is one CPU only, nothing uses several.
#[test]
fn programs_that_use_several_cpus_are_gangs() {
    let parallel: fn(Slot) -> Nanos = |s| Nanos::from_millis(if s.series == 1 { 199 } else { 99 });
    let script = || Script { process_time: Some(parallel), ..long() };
    assert_eq!(run(&plan(2, 1, 1, Order::Auto), &script()).text(), "a0 b0 A0 B0 b#a0");
    let three = run(&plan(3, 1, 1, Order::Duet), &script());
    assert!(three.log.iter().any(|l| l == "b#a0") && three.log.iter().any(|l| l == "c+a0"), "{}", three.text());
    let one_cpu = RunPlan { cpus: vec![3], ..plan(2, 1, 1, Order::Auto) };
    assert_eq!(run(&one_cpu, &script()).text(), "a0 b0 A0 B0 b+a0");
    // Their slices are longer than the scheduler's.
    let short = || Script { elapsed: Some(|_| 60_000_000), ..script() };
    assert_eq!(run(&plan(2, 1, 1, Order::Auto), &short()).text(), "a0 b0 A0 B0");
    assert_eq!(run(&plan(2, 1, 1, Order::Duet), &short()).text(), "a0 b0 A0 B0 b#a0");
}

/// The machine may find that duets of a pair say nothing: then there are no more of that pair, and all else goes on.
#[test]
fn a_duet_that_says_nothing_is_the_last_of_its_pair() {
    let void_at = BTreeMap::from([("b+a0".to_owned(), NoDuet::Memory { needed: 8, available: 4 })]);
    let script = Script { memory: Some(4), void_at, ..long() };
    for order in [Order::Auto, Order::Duet] {
        let ran = run(&plan(3, 1, 3, order), &script);
        let count = |what: &str| ran.log.iter().filter(|l| l.starts_with(what)).count();
        assert_eq!((count("b+a"), count("c+a"), count("A"), count("B")), (1, 3, 3, 3), "{}", ran.text());
        assert!(matches!(ran.ending.why, StopReason::Finished));
        // Also when it is resumed.
        let (first, rest) = ran.duets.split_at(2);
        assert!(first.iter().any(|d| d.void.is_some()) && !rest.is_empty());
        let again = run_after(&plan(3, 1, 3, order), &script, (&ran.kept, first), usize::MAX);
        assert!(again.log.iter().all(|l| !l.starts_with("b+a")), "{}", again.text());
        assert_eq!(again.duets.len(), rest.len());
    }
}

#[test]
fn hooks_stand_around_both_programs() {
    let ran = run(&hooked(2, 0, 1, Order::Duet), &long());
    let duet: Vec<&str> = ran.log.iter().map(String::as_str).skip_while(|l| *l != "conclude b").skip(1).collect();
    let expected = ["prepare b", "prepare a", "b+a0", "conclude b", "conclude a", "cleanup a", "cleanup b"];
    assert_eq!(duet, expected);
}

#[test]
fn a_hook_that_fails_before_a_duet_is_kept_as_its_outcome() {
    let mut p = hooked(2, 0, 3, Order::Duet);
    p.programs[0].prepare = None;
    let script = Script { failing_hooks: vec!["conclude b".to_owned()], ..long() };
    let ran = run(&p, &script);
    assert!(ran.duets.is_empty(), "it fails alone: {}", ran.text());
    let p = plan(2, 1, 3, Order::Auto);
    let mut with = p.clone();
    with.programs[1].prepare = Some("b".to_owned());
    let first = run(&p, &long());
    let (samples, duets) = (&first.kept[..4], &first.duets[..0]);
    let failing = Script { failing_hooks: vec!["prepare b".to_owned()], ..long() };
    // All of block 0 but its duet is there.
    let warm = RunPlan { warmup: 0, ..with };
    let ran = run_after(&warm, &failing, (samples, duets), usize::MAX);
    let outcomes: Vec<bool> =
        ran.duets[0].sides.iter().map(|s| matches!(s.outcome, Outcome::HookFailed { .. })).collect();
    assert_eq!(outcomes, [true, false]);
    // The rounds go on, where it fails alone, too.
    assert_eq!(ran.text(), "prepare b A1 prepare b A2");
}

#[test]
fn a_signal_in_a_duet_ends_the_run_and_keeps_what_there_was() {
    let script = Script { signal_at: Some("b+a1".to_owned()), ..long() };
    let ran = run(&plan(2, 1, 3, Order::Auto), &script);
    assert!(matches!(ran.ending.why, StopReason::Interrupted(2)));
    assert_eq!((ran.kept.len(), ran.duets.len()), (6, 1));
    let rest = run_after(&plan(2, 1, 3, Order::Auto), &long(), (&ran.kept, &ran.duets), usize::MAX);
    assert_eq!(rest.text(), "a1 b1 b+a1 B2 A2 b+a2");
    assert!(rest.duets.iter().chain(&ran.duets).map(|d| d.seq).collect::<std::collections::HashSet<_>>().len() == 3);
}

#[test]
fn a_duet_that_cannot_be_stored_ends_the_run() {
    let ran = run_from(&plan(2, 1, 3, Order::Auto), &long(), &[], 4);
    assert!(matches!(ran.ending.why, StopReason::NotKept(_)));
    assert_eq!(ran.text(), "a0 b0 A0 B0 b+a0");
}

/// The shares of the CPU follow the duets, as the warm-ups may have met another machine: b seems to be 1.6 times as long as a there.
#[test]
fn shares_are_by_the_duets_so_far() {
    let uneven: fn(Slot) -> Nanos = |s| Nanos::from_millis(if s.series == 1 { 160 } else { 100 });
    let together: fn(DuetSlot) -> [Nanos; 2] =
        |s| [Nanos::from_millis(if s.index == 1 { 900 } else { 66 }), Nanos::from_millis(66)];
    let script = Script { process_time: Some(uneven), together: Some(together), ..long() };
    let ran = run(&plan(2, 1, 5, Order::Duet), &script);
    let ratios: Vec<f64> = ran.shares.iter().map(|[a, b]| a.as_f64() / b.as_f64()).collect();
    // One that was disturbed counts by half after one other, and then no more.
    let expected = [1.6, 1.0, (900.0_f64 / 66.0).sqrt(), 1.0, 1.0];
    assert!(ratios.len() == 5 && ratios.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{ratios:?}");
    // A resumed run goes on by them.
    let rest = run_after(&plan(2, 1, 5, Order::Duet), &script, (&ran.kept, &ran.duets[..4]), usize::MAX);
    let ratios: Vec<f64> = rest.shares.iter().map(|[a, b]| a.as_f64() / b.as_f64()).collect();
    assert!(matches!(ratios.as_slice(), [one] if (one - 1.0).abs() < 1e-6), "{ratios:?}");
}
