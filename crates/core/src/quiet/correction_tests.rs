use crate::base::units::Nanos;
use crate::quiet::correction::{MOST_SAMPLES, QuietSample, QuietSeries, fit_coefficients, quiet_time};
use crate::quiet::data::{
    FEATURES, KnownLevel, NoQuietTime, PriorSource, QuietCoefficients, QuietDoubt, QuietLevels, QuietTime,
    SlowdownCause,
};
use crate::quiet::features::features;
use crate::quiet::prior::KnownCoefficients;
use crate::quiet::simulation::{
    Disturbance, SimulatedMachine, SimulatedProgram, SimulatedSample, levels, random, series,
};
use crate::sample::probes::{PROBE_KINDS, PROBE_REVISION, ProbeKind, SampleProbes};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

const ALL: [Disturbance; 3] = [Disturbance::Sibling, Disturbance::Clock, Disturbance::Both];

fn taken(d: Disturbance, p: &SimulatedProgram, n: usize, gate: bool, rng: &mut ChaCha8Rng) -> Vec<SimulatedSample> {
    let mut machine = SimulatedMachine::new(d, rng);
    series(&mut machine, p, n, gate, rng)
}

/// As the correction takes them.
pub(crate) fn quiet_samples(samples: &[SimulatedSample]) -> Vec<QuietSample<'_>> {
    let waited = Nanos::ZERO;
    let numbered = (0..).zip(samples);
    let sample =
        numbered.map(|(index, (probes, pt))| QuietSample { index, pt: *pt, elapsed: *pt, waited, steal: None, probes });
    sample.collect()
}

/// What an earlier run of the program, or of four others, tells.
fn known(source: PriorSource, d: Disturbance, p: &SimulatedProgram, rng: &mut ChaCha8Rng) -> KnownCoefficients {
    let levels = levels(rng);
    let mut fitted = |p: &SimulatedProgram, name: &str| {
        let samples = taken(d, p, 15, false, rng);
        fit_coefficients(&quiet_samples(&samples), &levels, &KnownCoefficients::default(), name, Nanos(1))
    };
    match source {
        PriorSource::Physical => KnownCoefficients::default(),
        PriorSource::SameProgram => KnownCoefficients { same: fitted(p, "p"), others: Vec::new() },
        PriorSource::OtherPrograms => {
            let others = (0..4).filter_map(|kind| fitted(&SimulatedProgram::new(kind + 1, 0.01), "o")).collect();
            KnownCoefficients { same: None, others }
        }
    }
}

struct Coverage {
    given: u32,
    inside: u32,
    /// Squared errors, corrected and not, of the series that are given.
    errors: [f64; 2],
}

fn coverage(repeats: usize, sizes: &[usize], sources: &[PriorSource], gate: bool) -> Coverage {
    let mut found = Coverage { given: 0, inside: 0, errors: [0.0; 2] };
    let mut item = 0;
    for d in ALL {
        for (n, source) in sizes.iter().flat_map(|n| sources.iter().map(move |s| (*n, *s))) {
            for (repeat, layout) in (0..repeats).flat_map(|r| [0.0, 0.01, 0.05].map(|l| (r, l))) {
                item += 1;
                let mut rng = random(item);
                let program = SimulatedProgram::new(repeat, layout);
                let known = known(source, d, &program, &mut rng);
                let levels = levels(&mut rng);
                let samples = taken(d, &program, n, gate, &mut rng);
                let Ok(q) = quiet_time(&quiet_samples(&samples), Some(&levels), &known) else { continue };
                found.given += 1;
                found.inside += u32::from(q.interval.contains(program.work * 1e9));
                let error = |value: f64| (value / (program.work * 1e9)).ln().powi(2);
                found.errors[0] += error(q.value);
                found.errors[1] += error(q.uncorrected);
            }
        }
    }
    found
}

impl Coverage {
    fn check(&self, label: &str, least: u32) {
        let share = f64::from(self.inside) / f64::from(self.given);
        let gain = (self.errors[1] / self.errors[0]).sqrt();
        println!("{label}: {share:.3} of {}, {gain:.1} times better", self.given);
        assert!(self.given >= least && share >= 0.94 && gain > 2.0, "{label}: {share} of {}, {gain}", self.given);
    }
}

#[test]
fn intervals_hold_the_quiet_time() {
    let sources = [PriorSource::Physical, PriorSource::SameProgram];
    coverage(5, &[10], &sources, false).check("ungated", 50);
}

#[test]
#[ignore = "slow: eight thousand simulated series (make slow)"]
fn intervals_hold_the_quiet_time_whatever_is_known() {
    for source in [PriorSource::Physical, PriorSource::OtherPrograms, PriorSource::SameProgram] {
        for n in [6, 10, 30] {
            coverage(60, &[n], &[source], false).check(&format!("{source:?} {n}"), 120);
        }
        coverage(60, &[10, 30], &[source], true).check(&format!("{source:?} gated"), 120);
    }
}

/// Two versions in turn on the same machine, of which one does exactly 4% more.
#[test]
fn four_per_cent_more_work_are_seen() {
    let (mut given, mut inside) = (0, 0);
    for item in 0..60 {
        let mut rng = random(5_000 + item);
        let levels = levels(&mut rng);
        let a = SimulatedProgram::new(item as usize, 0.003);
        let b = SimulatedProgram { work: 1.04 * a.work, ..a.clone() };
        let mut machine = SimulatedMachine::new(ALL[item as usize % 2], &mut rng);
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        for _ in 0..15 {
            first.extend(series(&mut machine, &a, 1, false, &mut rng));
            second.extend(series(&mut machine, &b, 1, false, &mut rng));
        }
        let time = |s: &[SimulatedSample]| quiet_time(&quiet_samples(s), Some(&levels), &KnownCoefficients::default());
        let (Ok(a), Ok(b)) = (time(&first), time(&second)) else { continue };
        given += 1;
        let half = |q: &QuietTime| (q.interval.high / q.interval.low).ln() / 2.0;
        inside += u32::from(((b.value / a.value).ln() - 1.04_f64.ln()).abs() <= half(&a).hypot(half(&b)));
    }
    assert!(given >= 30 && f64::from(inside) >= 0.94 * f64::from(given), "{inside} of {given}");
}

#[test]
fn a_quiet_machine_changes_nothing() {
    for item in 0..40 {
        let mut rng = random(6_000 + item);
        let levels = levels(&mut rng);
        let program = SimulatedProgram::new(item as usize, 0.005);
        let samples = taken(Disturbance::Nothing, &program, 10, item % 2 == 0, &mut rng);
        match quiet_time(&quiet_samples(&samples), Some(&levels), &KnownCoefficients::default()) {
            Ok(q) => {
                assert!(q.interval.contains(q.uncorrected), "{q:?}");
                assert!(q.held_out.corrected < q.held_out.plain, "{q:?}");
            }
            Err(why) => assert!(matches!(why, NoQuietTime::NoBetter { .. }), "{why:?}"),
        }
    }
}

/// Multiplications under a wandering clock: what is corrected is the clock.
fn clocked(n: usize) -> (Vec<SimulatedSample>, crate::quiet::data::QuietLevels) {
    let mut rng = random(7);
    let levels = levels(&mut rng);
    let mut machine = SimulatedMachine::varying(Disturbance::Clock, &mut rng);
    let program = SimulatedProgram::new(0, 0.0);
    (series(&mut machine, &program, n, false, &mut rng), levels)
}

#[test]
fn says_what_it_corrected() {
    let (samples, levels) = clocked(20);
    let q = quiet_time(&quiet_samples(&samples), Some(&levels), &KnownCoefficients::default()).unwrap();
    let part = |cause| q.parts.iter().find(|p| p.0 == cause).unwrap().1;
    let sum: f64 = q.parts.iter().map(|p| p.1).sum();
    assert!((sum - (q.uncorrected / q.value).ln()).abs() < 0.005, "{q:?}");
    assert!((part(SlowdownCause::Clock) - sum).abs() < 0.01, "{q:?}");
    assert_eq!((q.samples, q.left_out, q.prior), (20, 0, PriorSource::Physical));
    assert!((q.coefficients[0] - 1.0).abs() < 0.1, "{q:?}");
}

#[test]
fn refuses_with_the_reason() {
    let (samples, levels) = clocked(8);
    let all = quiet_samples(&samples);
    let none = KnownCoefficients::default();
    assert_eq!(quiet_time(&all, None, &none), Err(NoQuietTime::NeverQuiet));
    assert_eq!(quiet_time(&all[..5], Some(&levels), &none), Err(NoQuietTime::TooFew { samples: 5 }));
    assert_eq!(quiet_time(&[], Some(&levels), &none), Err(NoQuietTime::TooFew { samples: 0 }));
    let with = |f: fn(&mut QuietSample<'_>)| {
        let mut changed = all.clone();
        changed.iter_mut().for_each(f);
        quiet_time(&changed, Some(&levels), &none)
    };
    let sleeps = with(|s| s.elapsed = Nanos(2 * s.pt.0));
    assert!(matches!(sleeps, Err(NoQuietTime::Sleeps { share }) if (share - 0.5).abs() < 1e-9), "{sleeps:?}");
    // Another process had its CPU for half of the time: that is no sleep.
    let competitor = with(|s| (s.elapsed, s.waited) = (Nanos(2 * s.pt.0), s.pt));
    assert!(!matches!(competitor, Err(NoQuietTime::Sleeps { .. })), "{competitor:?}");
    let parallel = with(|s| s.elapsed = Nanos(s.pt.0 / 2));
    assert!(matches!(parallel, Err(NoQuietTime::MoreCpus { probed: 1, .. })), "{parallel:?}");
    let unknown = with(|s| s.pt = Nanos(0));
    assert_eq!(unknown, Err(NoQuietTime::TooFew { samples: 0 }));
    let mut rng = random(8);
    let storm = taken(Disturbance::Storm, &SimulatedProgram::new(1, 0.0), 10, false, &mut rng);
    let found = quiet_time(&quiet_samples(&storm), Some(&levels), &none);
    assert_eq!(found, Err(NoQuietTime::Unseen { samples: 10 }));
}

#[test]
fn three_samples_are_enough_for_a_known_program() {
    let (samples, levels) = clocked(20);
    let all = quiet_samples(&samples);
    let none = KnownCoefficients::default();
    let same = fit_coefficients(&all, &levels, &none, "p", Nanos(5)).unwrap();
    assert_eq!((same.samples, same.fitted, same.program.as_str()), (20, Nanos(5), "p"));
    assert!(same.seen.iter().all(|s| s.0 <= s.1));
    let known = KnownCoefficients::of_program(std::slice::from_ref(&same), "p");
    let q = quiet_time(&all[..3], Some(&levels), &known).unwrap();
    assert_eq!(q.prior, PriorSource::SameProgram);
    assert!(q.interval.contains(0.08e9), "{q:?}");
    // The next fit starts from it.
    assert_eq!(fit_coefficients(&all, &levels, &known, "p", Nanos(6)).unwrap().samples, 40);
    assert!(fit_coefficients(&all[..5], &levels, &known, "p", Nanos(6)).is_none());
    // Others are another source; of another revision, none.
    let others = KnownCoefficients::of_program(std::slice::from_ref(&same), "q");
    assert_eq!(quiet_time(&all, Some(&levels), &others).unwrap().prior, PriorSource::OtherPrograms);
    let old = QuietCoefficients { revision: PROBE_REVISION + 1, ..same };
    let old = KnownCoefficients { same: Some(old), others: Vec::new() };
    assert_eq!(quiet_time(&all, Some(&levels), &old).unwrap().prior, PriorSource::Physical);
}

#[test]
fn a_known_program_in_a_state_that_was_never_seen() {
    let mut rng = random(9);
    let levels = levels(&mut rng);
    let program = SimulatedProgram::new(1, 0.0);
    let quiet = taken(Disturbance::Clock, &program, 20, false, &mut rng);
    let none = KnownCoefficients::default();
    let same = fit_coefficients(&quiet_samples(&quiet), &levels, &none, "p", Nanos(5));
    let storm = taken(Disturbance::Storm, &program, 4, false, &mut rng);
    let known = KnownCoefficients { same, others: Vec::new() };
    let found = quiet_time(&quiet_samples(&storm), Some(&levels), &known);
    assert_eq!(found, Err(NoQuietTime::Unseen { samples: 4 }));
}

#[test]
fn doubts_and_disturbed_samples() {
    let (mut samples, levels) = clocked(20);
    samples[3].1 = Nanos(samples[3].1.0 * 3 / 2);
    let gate = crate::sample::probes::GateRecord { waited: Nanos(0), stops: 0, paused: Nanos(1), limit_reached: true };
    samples[5].0.gate = Some(gate);
    let mut all = quiet_samples(&samples);
    all[3].elapsed = all[3].pt;
    all[7].steal = Some(Nanos(all[7].elapsed.0 / 5));
    let q = quiet_time(&all, Some(&levels), &KnownCoefficients::default()).unwrap();
    assert!(q.disturbed.contains(&3) && q.disturbed.contains(&7) && q.disturbed.len() < 5, "{q:?}");
    assert!(q.doubts.contains(&QuietDoubt::LimitReached { samples: 1 }), "{q:?}");
    assert!(q.doubts.contains(&QuietDoubt::Steal { samples: 1 }), "{q:?}");
    // One sample that took half as long again moves it by less than its interval.
    assert!(q.interval.contains(0.08e9), "{q:?}");
}

#[test]
fn memory_and_scatter_are_doubted() {
    let mut rng = random(10);
    let levels = levels(&mut rng);
    let mut machine = SimulatedMachine::varying(Disturbance::Clock, &mut rng);
    let streaming = series(&mut machine, &SimulatedProgram::new(4, 0.0), 30, false, &mut rng);
    let mut same =
        fit_coefficients(&quiet_samples(&streaming), &levels, &KnownCoefficients::default(), "p", Nanos(1)).unwrap();
    // As a machine with busy neighbours would have told.
    same.coefficients = [0.0; FEATURES];
    same.coefficients[..PROBE_KINDS].copy_from_slice(&SimulatedProgram::new(4, 0.0).follows);
    same.covariance = Some(Box::new([[0.0; FEATURES]; FEATURES]));
    let known = KnownCoefficients { same: Some(same), others: Vec::new() };
    let q = quiet_time(&quiet_samples(&streaming), Some(&levels), &known).unwrap();
    assert!(q.doubts.iter().any(|d| matches!(d, QuietDoubt::Memory { coefficients } if *coefficients > 0.8)), "{q:?}");
    let mut machine = SimulatedMachine::varying(Disturbance::Sibling, &mut rng);
    let scattered = series(&mut machine, &SimulatedProgram::new(3, 0.05), 30, false, &mut rng);
    let q = quiet_time(&quiet_samples(&scattered), Some(&levels), &KnownCoefficients::default()).unwrap();
    assert!(q.doubts.iter().any(|d| matches!(d, QuietDoubt::Residual { .. })), "{q:?}");
}

/// The same samples, in which a probe took so many times as long.
fn slower(samples: &[SimulatedSample], kind: ProbeKind, times: f64) -> Vec<SimulatedSample> {
    let mut samples = samples.to_vec();
    for wake in samples.iter_mut().flat_map(|(probes, _)| &mut probes.cpus).flat_map(|cpu| &mut cpu.wakes) {
        let ticks = &mut wake.ticks[kind as usize];
        *ticks = (f64::from(*ticks) * times).round() as u32;
    }
    samples
}

/// What is known of a program after these samples, with this coefficient of a probe, as if for certain.
fn certain(samples: &[SimulatedSample], levels: &QuietLevels, kind: ProbeKind, coefficient: f64) -> KnownCoefficients {
    let fitted = fit_coefficients(&quiet_samples(samples), levels, &KnownCoefficients::default(), "p", Nanos(1));
    let mut same = fitted.unwrap();
    same.coefficients[kind as usize] = coefficient;
    same.covariance = Some(Box::new([[0.0; FEATURES]; FEATURES]));
    KnownCoefficients { same: Some(same), others: Vec::new() }
}

/// Probes that see evictions say nothing of a program that does not mind them.
#[test]
fn evictions_are_doubted_by_what_they_added() {
    let (samples, levels) = clocked(20);
    let evicted = slower(&samples, ProbeKind::Evicted, 1.5);
    let doubt = |coefficient: f64| {
        let known = certain(&samples, &levels, ProbeKind::Evicted, coefficient);
        let q = quiet_time(&quiet_samples(&evicted), Some(&levels), &known).unwrap();
        q.doubts.iter().find_map(|d| if let QuietDoubt::Eviction { part } = d { Some(*part) } else { None })
    };
    assert_eq!(doubt(0.01), None);
    let part = doubt(0.2).expect("a doubt");
    assert!((part - 0.2 * 1.5_f64.ln()).abs() < 0.03, "{part}");
}

/// What a program does to the caches itself is its own: quiet is what its first run saw, or of evictions the least that any saw. Later
/// runs are corrected by how much they differ from that.
#[test]
fn a_programs_own_evictions_are_not_corrected() {
    let (samples, levels) = clocked(20);
    for kind in [ProbeKind::MemoryLatency, ProbeKind::MemoryThroughput, ProbeKind::Evicted, ProbeKind::Code] {
        let time = |samples: &[SimulatedSample], known: &KnownCoefficients| {
            quiet_time(&quiet_samples(samples), Some(&levels), known).unwrap()
        };
        let own = slower(&samples, kind, 4.0);
        let others =
            KnownCoefficients { same: None, others: vec![certain(&samples, &levels, kind, 0.5).same.unwrap()] };
        let (plain, first) = (time(&samples, &others), time(&own, &others));
        assert!((first.value / plain.value - 1.0).abs() < 1e-3, "{kind:?}: {first:?} {plain:?}");
        assert!(
            (first.reference[kind as usize] - plain.reference[kind as usize] - 4.0_f64.ln()).abs() < 1e-2,
            "{first:?}"
        );
        // Each sample's own time is that of the value.
        let corrected = own.iter().map(|(probes, pt)| first.corrected(*pt, &features(probes, &levels).unwrap()));
        let mean = corrected.sum::<f64>() / own.len() as f64;
        assert!((mean / first.value - 1.0).abs() < 0.01, "{kind:?}: {mean} {first:?}");
        let known = certain(&own, &levels, kind, 0.5);
        let (same, later) = (time(&own, &known), time(&slower(&own, kind, 1.2), &known));
        let change = (same.value / later.value).ln();
        assert!((change - 0.5 * 1.2_f64.ln()).abs() < 1e-2, "{kind:?}: {change}");
        // Fewer evictions than in any run before are what is quiet from now on; a memory that is faster counts like one that is slower.
        let faster = time(&slower(&own, kind, 1.0 / 1.2), &known);
        let change = (same.value / faster.value).ln();
        let is_eviction = matches!(kind, ProbeKind::Evicted | ProbeKind::Code);
        let expected = if is_eviction { 0.0 } else { -0.5 * 1.2_f64.ln() };
        assert!((change - expected).abs() < 1e-2, "{kind:?}: {change}");
        // Without a level of the machine nothing is known of it.
        let mut without = levels.clone();
        without.levels[kind as usize] = 0.0;
        let q = quiet_time(&quiet_samples(&own), Some(&without), &known).unwrap();
        assert!(q.value.is_finite() && q.reference[kind as usize] == 0.0, "{q:?}");
    }
}

/// Whatever chance said in earlier runs.
#[test]
fn a_slower_probe_makes_no_program_faster() {
    let (samples, levels) = clocked(20);
    let kind = ProbeKind::MemoryThroughput;
    let known = certain(&samples, &levels, kind, -0.5);
    let time = |samples: &[SimulatedSample]| quiet_time(&quiet_samples(samples), Some(&levels), &known).unwrap();
    let (same, slow) = (time(&samples), time(&slower(&samples, kind, 1.2)));
    assert!((slow.value / same.value - 1.0).abs() < 1e-3, "{slow:?} {same:?}");
    assert!(slow.coefficients.iter().all(|b| *b >= 0.0), "{slow:?}");
}

#[test]
fn many_samples_are_thinned_whatever_their_order() {
    let (samples, levels) = clocked(10);
    let observed = quiet_samples(&samples);
    let many: Vec<QuietSample<'_>> =
        (0..25_000_u32).map(|index| QuietSample { index, ..observed[index as usize % 10] }).collect();
    let time = |order: &mut dyn Iterator<Item = &QuietSample<'_>>| {
        let mut series = QuietSeries::new(levels.clone());
        order.for_each(|s| series.add(s));
        series.time(&KnownCoefficients::default())
    };
    let q = time(&mut many.iter()).unwrap();
    assert!(q.samples as usize <= MOST_SAMPLES && q.samples + q.left_out == 25_000, "{q:?}");
    assert_eq!(time(&mut many.iter().rev()).unwrap(), q);
}

fn probes(ticks: Vec<[u32; PROBE_KINDS]>) -> SampleProbes {
    let (mut samples, _) = clocked(1);
    let mut probes = samples.remove(0).0;
    let cpu = &mut probes.cpus[0];
    cpu.wakes = ticks.into_iter().map(|ticks| crate::sample::probes::ProbeWake { at: Nanos(0), ticks }).collect();
    probes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// All process times multiplied: so are value, interval and uncorrected value.
    #[test]
    fn scales_with_the_process_time(factor in 2_i64..50) {
        let (samples, levels) = clocked(12);
        let all = quiet_samples(&samples);
        let longer: Vec<_> = all.iter().map(|s| {
            let times = |t: Nanos| Nanos(t.0 * factor);
            QuietSample { pt: times(s.pt), elapsed: times(s.elapsed), ..*s }
        }).collect();
        let none = KnownCoefficients::default();
        let once = quiet_time(&all, Some(&levels), &none).unwrap();
        let more = quiet_time(&longer, Some(&levels), &none).unwrap();
        let factor = factor as f64;
        for (a, b) in [(once.value, more.value), (once.interval.low, more.interval.low), (once.uncorrected, more.uncorrected)] {
            prop_assert!((b / a / factor - 1.0).abs() < 1e-6, "{a} {b}");
        }
    }

    /// Whatever probes, levels, times and stored coefficients are: no panic, and finite figures.
    #[test]
    fn any_input_gives_a_finite_time_or_a_reason(
        rows in proptest::collection::vec(
            (proptest::collection::vec(proptest::array::uniform11(any::<u32>()), 0..8), any::<i64>(), any::<i64>()), 0..12),
        level in proptest::array::uniform11(any::<f64>()),
        latency in any::<f64>(),
        coefficients in proptest::array::uniform12(any::<f64>()),
        residual in any::<f64>(),
        known_level in proptest::option::of((any::<f64>(), any::<f64>(), proptest::array::uniform12(any::<f64>()))),
    ) {
        let (_, mut levels) = clocked(1);
        let known_level = known_level.map(|(log_time, variance, covariance)| {
            Box::new(KnownLevel { log_time, variance, covariance, levels: levels.clone() })
        });
        levels.levels = level;
        levels.latency = latency;
        let taken: Vec<_> = rows.into_iter().map(|(ticks, pt, elapsed)| (probes(ticks), pt, elapsed)).collect();
        let all: Vec<_> = (0..).zip(&taken).map(|(index, (probes, pt, elapsed))| QuietSample {
            index, pt: Nanos(*pt), elapsed: Nanos(*elapsed), waited: Nanos(*elapsed), steal: Some(Nanos(*pt)), probes,
        }).collect();
        let stored = QuietCoefficients {
            revision: PROBE_REVISION, program: "p".into(), samples: 3, fitted: Nanos(0), coefficients, residual,
            seen: [(0.0, 0.0); FEATURES], covariance: None, level: known_level,
        };
        for known in [
            KnownCoefficients::default(),
            KnownCoefficients { same: Some(stored.clone()), others: Vec::new() },
            KnownCoefficients { same: None, others: vec![stored] },
        ] {
            if let Ok(q) = quiet_time(&all, Some(&levels), &known) {
                let figures = [q.value, q.interval.low, q.interval.high, q.uncorrected, q.residual, q.held_out.corrected];
                prop_assert!(figures.iter().all(|f| f.is_finite()), "{q:?}");
            }
            let fitted = fit_coefficients(&all, &levels, &known, "p", Nanos(0));
            prop_assert!(fitted.is_none_or(|f| f.coefficients.iter().all(|b| b.is_finite())));
        }
    }
}
