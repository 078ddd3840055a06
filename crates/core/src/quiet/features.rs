//! How much slower than on the quiet machine the probes of a sample were.

use crate::quiet::data::{FEATURES, Features, QuietLevels};
use crate::quiet::levels::follows_clock;
use crate::quiet::regression::middle;
use crate::sample::probes::{PROBE_KINDS, ProbeKind, ProbeWake, SampleProbes};

/// Fewest wake-ups of a sample.
pub const FEWEST_WAKES: usize = 5;
/// Share of the slowest wake-ups that is left out: an interrupt in a probe of microseconds says nothing of the program.
const WORST: f64 = 0.02;
/// No ratio of two numbers of 32 bits is further from 1, as a logarithm.
const FURTHEST: f64 = 25.0;
/// Standard deviation of a normal distribution / median of the distances from its mean.
const NORMAL_MEDIAN: f64 = 1.4826;
const STOPS: f64 = 100.0;

/// The features of a sample over the wake-ups of all probes on all its CPUs; `None` for probes of another revision than that of the
/// levels, or if there are fewer than five. Those between them, of what the gate goes by, are not in them: the clock and the sibling
/// would be known for other moments than the rest.
///
/// Of each probe the mean speed is taken, without the slowest 2%: work = speed · time, so what a program takes follows the mean
/// of the speeds, not of the times.
pub fn features(probes: &SampleProbes, levels: &QuietLevels) -> Option<Features> {
    if probes.revision != levels.revision {
        return None;
    }
    let wakes = || probes.cpus.iter().flat_map(|cpu| &cpu.wakes);
    let mut found = [0.0; FEATURES];
    let mut speeds = Vec::new();
    for ((feature, kind), level) in found.iter_mut().zip(ProbeKind::ALL).zip(levels.levels) {
        speeds.clear();
        speeds.extend(
            wakes().filter_map(|wake| speed(wake, kind, if level > 0.0 { level } else { return None }, levels)),
        );
        match slowdown(&mut speeds) {
            Some(slowdown) => *feature = slowdown,
            None if kind == ProbeKind::Latency => return None,
            // Without a level or enough of its wake-ups nothing is known of a slowdown by it.
            None => {}
        }
    }
    if let (Some(gate), Some(last)) = (&probes.gate, found.get_mut(PROBE_KINDS)) {
        *last = f64::from(gate.stops) / STOPS;
    }
    Some(Features(found))
}

/// The variance that a sample's `Branches` has by chance: about half of branches that cannot be predicted are predicted wrongly, but
/// how many in each wake-up is random. By the differences of successive wake-ups, so that what lasts longer is not in it; 0 for fewer
/// than five.
pub(crate) fn chance_of_branches(probes: &SampleProbes) -> f64 {
    let times = |wake: &ProbeWake| {
        let [branches, latency] = [ProbeKind::Branches, ProbeKind::Latency].map(|k| f64::from(wake.ticks[k as usize]));
        Some((branches / latency).ln()).filter(|time| time.is_finite())
    };
    let mut differences = Vec::new();
    let mut count = 0;
    for cpu in &probes.cpus {
        let times: Vec<f64> = cpu.wakes.iter().filter_map(times).collect();
        count += times.len();
        differences.extend(times.windows(2).filter_map(|pair| Some((pair.last()? - pair.first()?).abs())));
    }
    if count < FEWEST_WAKES {
        return 0.0;
    }
    let deviation = NORMAL_MEDIAN * middle(&mut differences).unwrap_or(0.0) / std::f64::consts::SQRT_2;
    deviation.powi(2) / count as f64
}

/// Whether a program that runs beside a probe changes its time by what it does to the caches itself.
pub(crate) fn depends_on_program(kind: ProbeKind) -> bool {
    use ProbeKind as K;
    matches!(kind, K::MemoryLatency | K::MemoryThroughput | K::Evicted | K::Code)
}

/// Of a probe in a wake-up, 1 on the quiet machine; `None` for a probe of 0 ticks, which was not run.
fn speed(wake: &ProbeWake, kind: ProbeKind, level: f64, levels: &QuietLevels) -> Option<f64> {
    let ticks = f64::from(wake.ticks[kind as usize]);
    let latency = f64::from(wake.ticks[ProbeKind::Latency as usize]);
    let quiet = match kind {
        ProbeKind::Latency => levels.latency,
        _ if follows_clock(kind) => level * latency,
        _ => level,
    };
    let speed = quiet / ticks;
    (speed.is_finite() && speed > 0.0).then_some(speed)
}

/// The logarithm; `None` for fewer than five.
fn slowdown(speeds: &mut [f64]) -> Option<f64> {
    if speeds.len() < FEWEST_WAKES {
        return None;
    }
    speeds.sort_unstable_by(f64::total_cmp);
    let worst = (WORST * speeds.len() as f64).round() as usize;
    let kept = speeds.get(worst..)?;
    let mean = kept.iter().map(|s| s / kept.len() as f64).sum::<f64>();
    Some(-mean.ln().clamp(-FURTHEST, FURTHEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Nanos;
    use crate::sample::probes::{CpuProbes, GateRecord, PROBE_REVISION, ProbeCost};
    use proptest::prelude::*;

    fn levels() -> QuietLevels {
        let mut levels = [0.5; PROBE_KINDS];
        levels[ProbeKind::Latency as usize] = 1.0;
        levels[ProbeKind::MemoryLatency as usize] = 3_000.0;
        levels[ProbeKind::MemoryThroughput as usize] = 8_000.0;
        QuietLevels { revision: PROBE_REVISION, learned: Nanos(0), wakes: 100, latency: 20_000.0, levels }
    }

    const QUIET: [u32; PROBE_KINDS] =
        [20_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 3_000, 8_000, 10_000, 10_000];

    fn probes(cpus: &[&[[u32; PROBE_KINDS]]]) -> SampleProbes {
        let cpu = |(cpu, rows): (u32, &&[[u32; PROBE_KINDS]])| CpuProbes {
            cpu,
            wakes: rows.iter().map(|ticks| ProbeWake { at: Nanos(0), ticks: *ticks }).collect(),
            kept_every: 1,
            watched: Vec::new(),
            paused: Vec::new(),
        };
        let cost = ProbeCost { cpu: Nanos(0), wakes: 0, late: 0 };
        SampleProbes { revision: PROBE_REVISION, cpus: (0..).zip(cpus).map(cpu).collect(), gate: None, cost }
    }

    fn changed(change: impl Fn(ProbeKind) -> f64) -> [u32; PROBE_KINDS] {
        std::array::from_fn(|k| (f64::from(QUIET[k]) * change(ProbeKind::ALL[k])).round() as u32)
    }

    fn near(found: &Features, place: usize, value: f64) {
        assert!((found.0[place] - value).abs() < 1e-3, "{place}: {found:?}, expected {value}");
    }

    #[test]
    fn quiet_is_zero_and_a_slow_clock_is_the_latency_alone() {
        let found = features(&probes(&[&[QUIET; 20]]), &levels()).unwrap();
        (0..FEATURES).for_each(|place| near(&found, place, 0.0));
        let slow = changed(|kind| if follows_clock(kind) || kind == ProbeKind::Latency { 1.1 } else { 1.0 });
        let found = features(&probes(&[&[slow; 20]]), &levels()).unwrap();
        near(&found, 0, 1.1_f64.ln());
        (1..FEATURES).for_each(|place| near(&found, place, 0.0));
        let memory = changed(|kind| if kind == ProbeKind::MemoryThroughput { 2.0 } else { 1.0 });
        let found = features(&probes(&[&[memory; 20]]), &levels()).unwrap();
        near(&found, ProbeKind::MemoryThroughput as usize, 2.0_f64.ln());
        near(&found, ProbeKind::Issue as usize, 0.0);
    }

    #[test]
    fn the_mean_speed_counts_over_all_cpus() {
        let half = changed(|kind| if kind == ProbeKind::Issue { 2.0 } else { 1.0 });
        // Half of the time at half of the speed: 3/4 of the work.
        let found = features(&probes(&[&[QUIET; 20], &[half; 20]]), &levels()).unwrap();
        let slowest = (0.02_f64 * 40.0).round();
        let speed = (20.0 + (20.0 - slowest) / 2.0) / (40.0 - slowest);
        near(&found, ProbeKind::Issue as usize, -speed.ln());
        let one_slow = [vec![QUIET; 49], vec![changed(|_| 50.0)]].concat();
        near(&features(&probes(&[&one_slow]), &levels()).unwrap(), 0, 0.0);
    }

    #[test]
    fn stops_and_what_is_not_known() {
        let mut gated = probes(&[&[QUIET; 5]]);
        gated.gate = Some(GateRecord { waited: Nanos(0), stops: 7, paused: Nanos(1), limit_reached: false });
        near(&features(&gated, &levels()).unwrap(), PROBE_KINDS, 0.07);
        assert_eq!(features(&probes(&[&[QUIET; 4]]), &levels()), None);
        assert_eq!(features(&probes(&[]), &levels()), None);
        let other = QuietLevels { revision: PROBE_REVISION + 1, ..levels() };
        assert_eq!(features(&probes(&[&[QUIET; 20]]), &other), None);
        let mut unknown = levels();
        unknown.levels[ProbeKind::Issue as usize] = 0.0;
        let slow = changed(|kind| if kind == ProbeKind::Issue { 2.0 } else { 1.0 });
        near(&features(&probes(&[&[slow; 20]]), &unknown).unwrap(), ProbeKind::Issue as usize, 0.0);
    }

    #[test]
    fn chance_is_what_differs_from_one_wake_up_to_the_next() {
        let by = |logarithms: &[f64]| {
            let row = |by: &f64| changed(|kind| if kind == ProbeKind::Branches { by.exp() } else { 1.0 });
            chance_of_branches(&probes(&[&logarithms.iter().map(row).collect::<Vec<_>>()]))
        };
        // Each differs by 0.1 from the next: a deviation of 1.4826 · 0.1 / √2 in a wake-up, of 20 times less variance in their mean.
        let chance: Vec<f64> = (0..20).map(|i| 0.1 * f64::from(i % 2)).collect();
        assert!((by(&chance) / ((1.4826_f64 * 0.1).powi(2) / 2.0 / 20.0) - 1.0).abs() < 0.01, "{}", by(&chance));
        // A state that lasts is no chance, nor is an interrupt in one of them.
        let mut lasting: Vec<f64> = (0..20).map(|i| 0.1 * f64::from(i / 10)).collect();
        lasting[5] = 2.0;
        assert_eq!(by(&lasting), 0.0);
        assert_eq!(by(&chance[..4]), 0.0);
    }

    proptest! {
        #[test]
        fn finite_whatever_the_ticks(
            rows in proptest::collection::vec(
                proptest::array::uniform11(prop_oneof![any::<u32>(), Just(0), Just(1), Just(u32::MAX)]), 0..30),
            latency in prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(f64::MAX)],
            level in prop_oneof![any::<f64>(), Just(f64::INFINITY), Just(f64::MIN_POSITIVE)],
        ) {
            let mut levels = levels();
            if let Some(found) = features(&probes(&[&rows]), &levels) {
                prop_assert!(found.0.iter().all(|x| x.is_finite() && x.abs() <= FURTHEST), "{found:?}");
            }
            levels.latency = latency;
            levels.levels[1] = level;
            if let Some(found) = features(&probes(&[&rows]), &levels) {
                prop_assert!(found.0.iter().all(|x| x.is_finite()), "{found:?}");
            }
        }
    }
}
