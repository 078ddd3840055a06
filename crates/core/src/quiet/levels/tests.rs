use super::*;
use crate::quiet::simulation::random;
use crate::sample::probes::{GateWake, PROBE_REVISION, ProbeCost, ProbeWake};
use crate::statistics::random::normal;
use proptest::prelude::*;

fn probes(cpu: CpuProbes) -> SampleProbes {
    let cost = ProbeCost { cpu: Nanos(0), wakes: 0, late: 0 };
    SampleProbes { revision: PROBE_REVISION, cpus: vec![cpu], gate: None, cost }
}

fn wakes(ticks: impl IntoIterator<Item = [u32; PROBE_KINDS]>) -> CpuProbes {
    let wake = |(i, ticks): (i64, _)| ProbeWake { at: Nanos::from_millis(2 * i), ticks };
    let wakes = (0..).zip(ticks).map(wake).collect();
    CpuProbes { cpu: 1, wakes, kept_every: 1, watched: Vec::new(), paused: Vec::new() }
}

fn history(samples: &[SampleProbes]) -> LevelHistory {
    let mut found = LevelHistory::new(PROBE_REVISION);
    (0..).zip(samples).for_each(|(i, p)| found.add(p, Nanos(1_000 * i)).unwrap());
    found
}

/// 30,000 wake-ups, of which the sibling is busy in seven of ten, and one in a hundred is too fast by half.
#[test]
fn the_level_is_the_lower_mode() {
    let mut rng = random(1);
    let row = |i: u32| {
        let busy = if i % 10 < 7 { 1.8 } else { 1.0 };
        let wrong = if i.is_multiple_of(100) { 0.5 } else { 1.0 };
        std::array::from_fn(|k| {
            let level = [
                24_000.0,
                10_000.0 * busy,
                5_000.0,
                5_000.0,
                5_000.0,
                5_000.0,
                5_000.0,
                9_000.0,
                9_000.0,
                5_000.0,
                0.0,
            ][k];
            let scatter = if k == 7 { 0.2 } else { 0.01 };
            (wrong * level * (scatter * normal(&mut rng)).exp()) as u32
        })
    };
    let found = history(&[probes(wakes((0..30_000).map(row)))]);
    let levels = found.levels().unwrap();
    let near = |a: f64, b: f64, by: f64| assert!((a / b - 1.0).abs() < by, "{a} {b}");
    near(levels.latency, 24_000.0, 0.003);
    near(levels.levels[ProbeKind::Issue as usize], 10.0 / 24.0, 0.003);
    near(levels.levels[ProbeKind::MemoryThroughput as usize], 9_000.0, 0.01);
    // Its mode is broad.
    near(levels.levels[ProbeKind::MemoryLatency as usize], 9_000.0, 0.15);
    assert_eq!(levels.levels[ProbeKind::Latency as usize], 1.0);
    assert_eq!(levels.levels[ProbeKind::Code as usize], 0.0, "a probe that was never run");
    assert_eq!((levels.wakes, levels.revision), (30_000, PROBE_REVISION));
    let size = serde_json::to_string(&found).unwrap().len();
    assert!(size < 12_000, "{size} bytes");
}

/// A clock that wanders has no mode that stays: times of one day would be in relation to another clock than those of the next.
#[test]
fn the_reference_clock_is_that_of_the_first_sample() {
    let at = |latency: u32, n: usize| {
        let mut ticks = [1_000; PROBE_KINDS];
        ticks[ProbeKind::Latency as usize] = latency;
        probes(wakes(vec![ticks; n]))
    };
    let latency = |samples: &[SampleProbes]| history(samples).levels().unwrap().latency;
    assert_eq!(latency(&[at(24_000, 20), at(24_500, 1_000), at(23_500, 3_000)]), 24_000.0);
    // Too few wake-ups; and another clock altogether.
    assert_eq!(latency(&[at(24_000, 4), at(24_500, 60), at(23_500, 3_000)]), 24_500.0);
    let slow = latency(&[at(30_000, 20), at(24_000, 1_000)]);
    assert!((slow / 24_000.0 - 1.0).abs() < 0.003, "{slow}");
    // What was written before there was one.
    let mut text = serde_json::to_value(history(&[at(24_000, 20), at(24_500, 1_000)])).unwrap();
    text.as_object_mut().unwrap().remove("first").unwrap();
    let mode = serde_json::from_value::<LevelHistory>(text).unwrap().levels().unwrap().latency;
    assert!((mode / 24_500.0 - 1.0).abs() < 0.003, "{mode}");
}

#[test]
fn nothing_is_said_of_few_wake_ups() {
    let few = history(&[probes(wakes([[1_000; PROBE_KINDS]; 49]))]);
    assert_eq!((few.levels(), few.states()), (None, None));
    let empty = LevelHistory::new(PROBE_REVISION);
    assert!(empty.is_empty() && empty.levels().is_none() && empty.states().is_none());
}

/// Quiet for 60 ms, then busy for 40 ms, again and again; samples of 1 s.
#[test]
fn states_by_share_and_length() {
    let row = |i: u32| {
        let busy = i % 50 >= 30;
        let mut ticks = [1_000; PROBE_KINDS];
        ticks[0] = if i.is_multiple_of(10) { 1_100 } else { 1_000 };
        ticks[1] = ticks[0] * if busy { 9 } else { 5 } / 10;
        ticks
    };
    let samples: Vec<SampleProbes> = (0..20).map(|_| probes(wakes((0..500).map(row)))).collect();
    let states = history(&samples).states().unwrap();
    assert!((states.quiet - 0.6).abs() < 0.005, "{states:?}");
    let near = |found: Option<f64>, ms: f64| {
        let median = std::f64::consts::LN_2 * ms * 1e6;
        assert!((found.unwrap() / median - 1.0).abs() < 0.15, "{states:?}");
    };
    near(states.quiet_period, 60.0);
    near(states.busy_period, 40.0);
    assert!((states.clock[0] - 1.0).abs() < 0.01 && (states.clock[2] - 1.1).abs() < 0.01, "{states:?}");
    assert_eq!(states.span, (Nanos(0), Nanos(19_000 + 998_000_000)));
    assert_eq!((states.wakes, states.stolen), (10_000, None));
    let calm = history(&[probes(wakes([[1_000; PROBE_KINDS]; 100]))]).states().unwrap();
    assert_eq!((calm.quiet, calm.quiet_period, calm.busy_period), (1.0, None, None));
}

#[test]
fn wake_ups_of_pauses_count_for_the_states() {
    let mut cpu = wakes([[1_000; PROBE_KINDS]; 60]);
    cpu.paused = (0..60).map(|i| GateWake { at: Nanos::from_millis(120 + i), latency: 1_000, issue: 1_800 }).collect();
    let states = history(&[probes(cpu)]).states().unwrap();
    // 120 ms of 179: those of the pause are 1 ms apart.
    assert!((states.quiet - 120.0 / 179.0).abs() < 1e-9 && states.wakes == 120, "{states:?}");
    assert!(states.quiet_period.is_some() && states.busy_period.is_none(), "{states:?}");
}

/// With a gate, all probes run at every second wake-up only: the state is known from all of them, the levels of the other probes from
/// half as many.
#[test]
fn wake_ups_between_those_of_all_probes_count_for_the_states() {
    let mut cpu = wakes([[1_000; PROBE_KINDS]; 60]);
    cpu.wakes.iter_mut().for_each(|w| w.at = Nanos(2 * w.at.0));
    let busy = |i: i64| if (10..40).contains(&i) { 1_800 } else { 1_000 };
    cpu.watched =
        (0..60).map(|i| GateWake { at: Nanos::from_millis(4 * i + 2), latency: 1_000, issue: busy(i) }).collect();
    let found = history(&[probes(cpu.clone())]);
    assert_eq!(found.wakes(), 120);
    let (levels, states) = (found.levels().unwrap(), found.states().unwrap());
    assert!((levels.levels[ProbeKind::Loads as usize] - 1.0).abs() < 0.01, "{levels:?}");
    // 2 ms after each of the 30 busy ones; the last wake-up has no time after it.
    assert!((states.quiet - (1.0 - 60.0 / 238.0)).abs() < 1e-9, "{states:?}");
    // As it was written before there were any, and as it is.
    let mut text = serde_json::to_value(&cpu).unwrap();
    assert_eq!(serde_json::from_value::<CpuProbes>(text.clone()).unwrap(), cpu);
    text.as_object_mut().unwrap().remove("watched");
    assert_eq!(serde_json::from_value::<CpuProbes>(text).unwrap(), CpuProbes { watched: Vec::new(), ..cpu });
}

#[test]
fn other_revisions_are_refused() {
    let mut found = LevelHistory::new(PROBE_REVISION + 1);
    let other = OtherRevision { expected: PROBE_REVISION + 1, found: PROBE_REVISION };
    assert_eq!(found.add(&probes(wakes([[1; PROBE_KINDS]; 3])), Nanos(0)), Err(other));
    assert_eq!(found.merge(&LevelHistory::new(PROBE_REVISION)), Err(other));
    assert!(found.is_empty());
}

#[test]
fn a_wrong_document_is_refused() {
    let read = |text: &str| serde_json::from_str::<LogBins>(text);
    assert!(read(r#"{"first":5000,"counts":[1],"above":0}"#).is_ok());
    for wrong in [r#"{"first":5000,"counts":[1,1],"above":0}"#, r#"{"first":-2147483648,"counts":[1],"above":0}"#] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    assert!(read(r#"{"first":0,"counts":[-9223372036854775808,-9223372036854775808,1],"above":0}"#).is_err());
}

fn sample() -> impl Strategy<Value = SampleProbes> {
    let ticks = proptest::array::uniform11(prop_oneof![any::<u32>(), 0_u32..4, 900_u32..2_000]);
    proptest::collection::vec(ticks, 0..40).prop_map(|rows| probes(wakes(rows)))
}

proptest! {
    #[test]
    fn the_order_makes_no_difference(samples in proptest::collection::vec(sample(), 0..6), cut in 0_usize..6) {
        let all = history(&samples);
        let cut = cut.min(samples.len());
        let mut reverse = LevelHistory::new(PROBE_REVISION);
        for (i, p) in (0..).zip(&samples).collect::<Vec<_>>().into_iter().rev() {
            reverse.add(p, Nanos(1_000 * i)).unwrap();
        }
        prop_assert_eq!(&reverse, &all);
        let part = |range: std::ops::Range<usize>| {
            let mut found = LevelHistory::new(PROBE_REVISION);
            range.for_each(|i| found.add(&samples[i], Nanos(1_000 * i as i64)).unwrap());
            found
        };
        let (first, second) = (part(0..cut), part(cut..samples.len()));
        let (mut forward, mut backward) = (first.clone(), second.clone());
        forward.merge(&second).unwrap();
        backward.merge(&first).unwrap();
        prop_assert_eq!(&forward, &all);
        prop_assert_eq!(&backward, &all);
        let text = serde_json::to_string(&all).unwrap();
        prop_assert_eq!(serde_json::from_str::<LevelHistory>(&text).unwrap(), all.clone());
        prop_assert!(text.len() < 25_000, "{} bytes", text.len());
        let _ = (all.levels(), all.states());
    }
}
