//! The results of measured phases: table 2, the probabilities of delays, figure 2 and the slowdown of jobs on this
//! machine (ICS'05, section 2); what interrupted them is in [`attribution`](crate::noise::attribution).

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::noise::attribution::{Attribution, attribute};
use crate::noise::cdf;
use crate::noise::cdf::CdfPoint;
use crate::noise::data::{Noise, Phases};
use crate::noise::empirical::{Distribution, node_counts};
use crate::noise::model::{Probability, delayed, linear};
use crate::noise::node::node_phases;
use crate::noise::phase::WorkPhase;
use crate::noise::prediction::{Expected, PredictionPoint, predict};
use crate::noise::tail::{NoTail, Tail};
use crate::noise::undisturbed::{UndisturbedGrain, UndisturbedRule, chosen, undisturbed};
use crate::statistics::intervals::Interval;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::num::NonZeroU64;

pub const DELAYS: [Nanos; 5] = [Nanos(1_000), Nanos(10_000), Nanos(100_000), Nanos(1_000_000), Nanos(10_000_000)];
/// Most nodes of a job.
const MOST_NODES: NonZeroU64 = NonZeroU64::MIN.saturating_add(999_999);
/// Of the curve of d_p(n).
const CURVE_A_DECADE: NonZeroU64 = NonZeroU64::MIN.saturating_add(7);
/// Of the survival function.
const STEPS_A_DECADE: f64 = 8.0;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PhasePlace {
    Cpu {
        cpu: u32,
    },
    /// On all CPUs at once: the slowest of each phase.
    Node {
        /// Phases of CPUs that had no counterpart, as another CPU was late.
        skipped: usize,
    },
}

/// A row of table 2; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseRow {
    pub place: PhasePlace,
    pub phases: u64,
    pub mean: f64,
    pub median: f64,
    /// Standard deviation; `None` of one phase.
    pub std_dev: Option<f64>,
    pub min: f64,
    pub max: f64,
    /// Mean over the undisturbed phase by [`Grain::over`]; `None` if there is none.
    pub slowdown: Option<f64>,
    /// Their distribution with head and tail (figure 3), in a few hundred points at most.
    pub cdf: Vec<CdfPoint>,
}

/// A point of the survival function (figures 3 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survival {
    /// Delay relative to the shortest phase, ns.
    pub delay: f64,
    /// Share of the phases that were delayed by at least so much.
    pub share: f64,
}

/// The probability of a delay, relative to the shortest phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chance {
    /// Delayed by at least so much.
    pub delay: Nanos,
    pub count: u64,
    pub p: f64,
    /// 95% interval of the probability (Clopper and Pearson).
    pub interval: Interval,
    /// d_p(n): for each number of nodes the probability that a phase of the job is delayed, with its interval.
    pub jobs: Vec<JobDelay>,
    /// The curve of figure 2, from one node to a million.
    pub curve: Vec<ChancePoint>,
}

/// A point of d_p(n), and what stands in for it where it is small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChancePoint {
    /// n.
    pub nodes: NonZeroU64,
    /// d_p(n) = 1 - (1 - p)^n.
    pub chance: f64,
    /// By the lower bound of p.
    pub low: f64,
    /// By the upper bound of p.
    pub high: f64,
    /// p n, the linear approximation; above 1 it is no probability.
    pub linear: f64,
}

/// d_p(n).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobDelay {
    /// n.
    pub nodes: NonZeroU64,
    pub chance: f64,
    /// From the interval of p.
    pub interval: Interval,
}

/// A job's slowdown: what a phase takes on average, over the undisturbed phase, E(Y)/G (section 2.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSlowdown {
    pub nodes: NonZeroU64,
    pub slowdown: Expected,
}

/// What interrupted the phases of a CPU, or why that is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attributed {
    pub cpu: u32,
    pub by: Reading<Attribution>,
}

/// Everything of one grain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grain {
    /// Wanted length of a phase.
    pub grain: Nanos,
    /// Iterations of the loop in each.
    pub iterations: u64,
    /// What that should take by the calibration, ns.
    pub calibrated: Option<f64>,
    /// A row for each CPU, and if there are several one for all of them.
    pub rows: Vec<NoiseRow>,
    /// The survival function of the CPU's phases, or of the node's, at delays in equal steps on a log scale.
    pub survival: Vec<Survival>,
    /// The probabilities of delays, of the same.
    pub chances: Vec<Chance>,
    /// Largest number of nodes that the phases support; for more it is extrapolated.
    pub supported: u64,
    /// The tail that serves for it, in units of `unit` ns.
    pub tail: Result<Tail, NoTail>,
    /// Unit of the tail's threshold and scale, ns.
    pub unit: f64,
    /// What slowdowns are divided by, G.
    pub over: UndisturbedRule,
    /// The same of the CPU's phases, or of the node's, ns; `None` if there is none of this kind.
    pub undisturbed: Option<f64>,
    /// All that could be G.
    pub candidates: Vec<UndisturbedGrain>,
    /// Jobs on 1 to a million nodes; none without G.
    pub jobs: Vec<JobSlowdown>,
    pub attribution: Vec<Attributed>,
}

/// The results of a measurement, grain by grain; grains without a phase are omitted. The same `seed` gives the same
/// intervals.
pub fn report(noise: &Noise, delays: &[Nanos], seed: u64) -> Vec<Grain> {
    report_over(noise, delays, UndisturbedRule::default(), seed)
}

/// As [`report`], with slowdowns relative to this G instead of the shortest phase. Delays are relative to the shortest phase in any
/// case.
pub fn report_over(noise: &Noise, delays: &[Nanos], over: UndisturbedRule, seed: u64) -> Vec<Grain> {
    let grain_report = |grain: &Nanos| {
        let all = noise.phases.iter().filter(|p| p.series.grain == *grain && !p.durations.is_empty());
        results(noise, *grain, &all.collect::<Vec<_>>(), delays, (over, seed))
    };
    // A grain is reported once, however often an imported plan names it.
    let mut seen = HashSet::new();
    noise.plan.grains.iter().filter(|g| seen.insert(**g)).filter_map(grain_report).collect()
}

fn results(
    noise: &Noise,
    grain: Nanos,
    all: &[&Phases],
    delays: &[Nanos],
    (over, seed): (UndisturbedRule, u64),
) -> Option<Grain> {
    let (hz, first) = (noise.plan.hz, all.first()?);
    let unit = 1e9 / hz;
    let calibrated = noise.calibration.as_ref().map(|(c, _)| c.time(first.series.iterations) * 1e9 / hz);
    let row = |place, distribution: &Distribution, unit| row(place, distribution, unit, (over, calibrated));
    let cpu_row = |p: &&Phases| {
        let distribution = Distribution::new(p.durations.iter().copied())?;
        Some(row(PhasePlace::Cpu { cpu: p.series.cpu }, &distribution, unit))
    };
    let mut rows: Vec<NoiseRow> = all.iter().filter_map(cpu_row).collect();
    let node = (all.len() > 1).then(|| node(all, grain, hz)).flatten();
    let (durations, unit) = node.as_ref().map_or((first.durations.as_slice(), unit), |n| (n.0.as_slice(), 1.0));
    let nodes = node_counts(MOST_NODES, NonZeroU64::MIN);
    let prediction = predict(durations, &nodes, seed, 0)?;
    let distribution = &prediction.distribution;
    if let Some((_, skipped)) = node {
        rows.push(row(PhasePlace::Node { skipped }, distribution, unit));
    }
    let candidates = undisturbed(distribution, unit, calibrated);
    let base = chosen(&candidates, over);
    let slowdown =
        |p: &PredictionPoint| Some(JobSlowdown { nodes: p.nodes, slowdown: p.expected.slowdown(base? / unit) });
    let jobs = prediction.points.iter().filter_map(slowdown).collect();
    let attribution = all.iter().map(|p| Attributed { cpu: p.series.cpu, by: attribute(p, hz) });
    Some(Grain {
        grain,
        iterations: first.series.iterations,
        calibrated,
        survival: survival(distribution, unit),
        chances: delays.iter().map(|d| chance(distribution, *d, unit, &nodes)).collect(),
        supported: prediction.supported,
        tail: prediction.tail,
        unit,
        over,
        undisturbed: base,
        candidates,
        jobs,
        attribution: attribution.collect(),
        rows,
    })
}

/// What the phases of all CPUs together took, ns, and how many of theirs are in none.
fn node(all: &[&Phases], grain: Nanos, hz: f64) -> Option<(Vec<u64>, usize)> {
    let timed: Vec<Vec<WorkPhase>> = all.iter().map(|p| p.timed(hz).collect()).collect();
    let node = node_phases(&timed, grain).ok().filter(|n| !n.phases.is_empty())?;
    Some((node.durations().collect(), node.skipped.iter().sum()))
}

fn row(
    place: PhasePlace,
    distribution: &Distribution,
    unit: f64,
    (over, calibrated): (UndisturbedRule, Option<f64>),
) -> NoiseRow {
    let s = distribution.summary();
    let base = chosen(&undisturbed(distribution, unit, calibrated), over);
    NoiseRow {
        place,
        phases: distribution.total().get(),
        mean: s.mean * unit,
        median: s.median * unit,
        std_dev: s.std_dev.map(|d| d * unit),
        min: s.min * unit,
        max: s.max * unit,
        slowdown: base.map(|base| s.mean * unit / base),
        cdf: cdf::points(distribution, unit),
    }
}

/// From 10 ns to the longest delay.
fn survival(distribution: &Distribution, unit: f64) -> Vec<Survival> {
    let longest = (distribution.max() - distribution.min()) as f64 * unit;
    let delays = (0..).map(|i| 10_f64.powf(1.0 + f64::from(i) / STEPS_A_DECADE)).take_while(|d| *d < longest);
    let point = |delay: f64| {
        let share = distribution.delayed_by((delay / unit).round() as u64).share().get();
        Survival { delay, share }
    };
    delays.chain([longest]).filter(|d| *d > 0.0).map(point).collect()
}

fn chance(distribution: &Distribution, delay: Nanos, unit: f64, nodes: &[NonZeroU64]) -> Chance {
    let seen = distribution.delayed_by((delay.as_f64() / unit).ceil() as u64);
    let job = |n: &NonZeroU64| {
        let (chance, interval) = seen.job(*n);
        JobDelay { nodes: *n, chance: chance.get(), interval }
    };
    let (p, interval) = (seen.share().get(), seen.interval());
    let at = |n: NonZeroU64| {
        let d = |p: f64| delayed(Probability::clamped(p), n).get();
        let linear = linear(Probability::clamped(p), n);
        ChancePoint { nodes: n, chance: d(p), low: d(interval.low), high: d(interval.high), linear }
    };
    let curve = node_counts(MOST_NODES, CURVE_A_DECADE).into_iter().map(at).collect();
    Chance { delay, count: seen.count(), p, interval, jobs: nodes.iter().map(job).collect(), curve }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::attribution::tests::phases;
    use crate::noise::data::{Heuristic, NoisePlan, PhaseScheduling, PhaseSource};

    const HZ: f64 = 2e9;

    fn plan(cpus: &[u32]) -> NoisePlan {
        NoisePlan {
            source: PhaseSource::Measured,
            tick: None,
            cpus: cpus.to_vec(),
            sched: PhaseScheduling::Other,
            grains: vec![Nanos(1_000), Nanos(5_000)],
            phases: 10_000,
            limit: None,
            heuristic: Heuristic::SecondDecile,
            calibrations: 10,
            explain: true,
            hz: HZ,
        }
    }

    #[test]
    fn table_2_and_the_chances() {
        // Ten of a thousand phases are longer by 500 ns.
        let longer: Vec<(usize, u64)> = (0..10).map(|i| (i * 100, 1_000)).collect();
        let noise = Noise { plan: plan(&[0]), calibration: None, phases: vec![phases(0, 1_000, &longer)] };
        let all = report(&noise, &[Nanos(500), Nanos(501)], 1);
        let [g] = all.as_slice() else { panic!("{}", all.len()) };
        let [row] = g.rows.as_slice() else { panic!() };
        assert_eq!((row.phases, row.min, row.max, row.median), (1_000, 1_000.0, 1_500.0, 1_000.0));
        assert!((row.mean - 1_005.0).abs() < 1e-9 && (row.slowdown.unwrap() - 1.005).abs() < 1e-12);
        assert_eq!((g.chances[0].count, g.chances[0].p, g.chances[1].count), (10, 0.01, 0));
        let last = g.survival.last().unwrap();
        assert_eq!((last.delay, last.share, g.survival[0].share), (500.0, 0.01, 0.01));
        assert!(g.survival.is_sorted_by_key(|s| s.delay.to_bits()));
        let d = &g.chances[0].jobs[2];
        assert_eq!(d.nodes.get(), 100);
        assert!((d.chance - (1.0 - 0.99_f64.powi(100))).abs() < 1e-12);
        assert!(d.interval.low < d.chance && d.chance < d.interval.high);
        let curve = &g.chances[0].curve;
        assert_eq!((curve[0].nodes.get(), curve[0].chance, curve[0].linear), (1, 0.01, 0.01));
        let at = curve.iter().find(|p| p.nodes.get() == 100).unwrap();
        assert_eq!((at.chance, at.low, at.high, at.linear), (d.chance, d.interval.low, d.interval.high, 1.0));
        assert_eq!(curve.last().map(|p| p.nodes.get()), Some(1_000_000));
        let cdf: Vec<_> = row.cdf.iter().map(|p| (p.duration, p.at_most, p.at_least)).collect();
        assert_eq!(cdf, [(1_000.0, 0.99, 1.0), (1_500.0, 1.0, 0.01)]);
        // The slowdown of a hundred nodes: 1.5 in the phases that are delayed.
        assert_eq!((g.supported, g.jobs.len()), (100, 7));
        let Expected::Measured { value, .. } = g.jobs[2].slowdown else { panic!("{:?}", g.jobs[2]) };
        assert!((value - (1.0 + 0.5 * d.chance)).abs() < 1e-9, "{value}");
        // Only two durations: nothing to extrapolate.
        assert!(matches!(g.jobs[6].slowdown, Expected::Unknown { .. }));
        assert!(matches!(&g.attribution[0].by, Reading::Absent(_)));
    }

    /// By another G, only slowdowns change.
    #[test]
    fn slowdowns_are_over_the_grain_that_is_asked_for() {
        // A tenth of the phases ran at a higher speed.
        let faster: Vec<(usize, u64)> = (0..100).map(|i| (i * 10, 1_000)).collect();
        let mut phases = phases(0, 1_000, &faster);
        phases.durations.iter_mut().for_each(|d| *d = 5_000 - *d);
        let noise = Noise { plan: plan(&[0]), calibration: None, phases: vec![phases] };
        let by = |rule| report_over(&noise, &[Nanos(500)], rule, 1).remove(0);
        let (minimum, mode) = (by(UndisturbedRule::Minimum), by(UndisturbedRule::Mode));
        assert_eq!((minimum.undisturbed, mode.undisturbed), (Some(1_000.0), Some(1_500.0)));
        assert!((minimum.rows[0].slowdown.unwrap() - 1.45).abs() < 1e-9);
        assert!((mode.rows[0].slowdown.unwrap() - 1_450.0 / 1_500.0).abs() < 1e-9);
        let first = |g: &Grain| g.jobs[0].slowdown.value().unwrap();
        assert!((first(&minimum) - 1.45).abs() < 1e-9 && (first(&mode) - 1_450.0 / 1_500.0).abs() < 1e-9);
        assert_eq!((&minimum.chances, &minimum.survival), (&mode.chances, &mode.survival));
        assert_eq!(report(&noise, &[Nanos(500)], 1), [minimum]);
        // Nothing was calibrated.
        let none = by(UndisturbedRule::Calibration);
        assert_eq!((none.undisturbed, none.rows[0].slowdown, none.jobs.len()), (None, None, 0));
    }

    #[test]
    fn the_slowest_cpu_is_the_nodes() {
        let noise = Noise {
            plan: plan(&[0, 1]),
            calibration: None,
            phases: vec![phases(0, 100, &[(3, 400)]), phases(1, 100, &[(50, 200)])],
        };
        let all = report(&noise, &DELAYS, 1);
        let rows = &all[0].rows;
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[2].place, rows[2].phases), (PhasePlace::Node { skipped: 0 }, 100));
        assert_eq!((rows[2].min, rows[2].max), (1_000.0, 1_200.0));
        assert!(rows[2].mean > rows[0].mean && rows[2].mean > rows[1].mean);
    }
}
