//! Beyond the papers: infrequent daemons on a machine so noisy that their samples do not stand out one by one.
//!
//! Where a hypervisor or neighbours keep samples waiting at random, the central cluster is as wide as a daemon is long, and no arm
//! is seen. But the daemons of every sample are known by name and to the nanosecond. So each daemon's executions are
//! examined separately: where a few are far over what it usually takes, the samples that have them are compared with
//! all others. If they were longer, by about the daemon's CPU time, then the daemon disturbed them, although none of
//! them proves it alone.
//!
//! It is a test of ranks, which no noise misleads by its shape; successive samples count as one visit, since noise lasts.

use crate::base::units::Nanos;
use crate::profile::clusters::{ClusterPlace, Clusters, FALSE_ALARM, FREQUENT_TOGETHER, edge};
use crate::profile::dual::Observation;
use crate::statistics::series::median_of_sorted;
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;
use std::collections::{BTreeMap, BTreeSet};

/// How far the samples' excess and the daemon's CPU time may be apart: each at least this part of the other. A daemon on another
/// CPU lengthens nothing; one that merely runs longer in a sample that is long for another reason explains little of it.
const ALIKE: f64 = 0.25;
/// Disturbed samples are longer by at least this many standard deviations of the cluster: less cannot be detected.
const NOTICED: f64 = 1.0;

/// A daemon whose long executions lengthened their samples, taken together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    pub daemon: String,
    /// Numbers of the samples with its long executions, ascending.
    pub samples: Vec<u32>,
    /// Median CPU time of the long executions, the longest of each visit, ns.
    pub took: f64,
    /// Median excess of their samples over that of all others, ns.
    pub lengthened: f64,
    /// Probability that samples of an idle daemon rank as high; an upper bound.
    pub chance: f64,
}

/// A sample: its number, its excess over the trend, and the daemon's longest execution in it, ns.
#[derive(Clone, Copy)]
struct Visit {
    number: u32,
    excess: f64,
    cpu: f64,
}

/// The daemons that lengthened their samples, by name, as the plots show them together: by elapsed time, where also what they
/// make the program's own CPU do is seen (interrupts, caches), and at equal process times. Of two findings the surer one is kept.
pub fn named(observations: &[Observation], plots: &[&Clusters]) -> Vec<Named> {
    let found: Vec<(Named, usize)> = plots.iter().flat_map(|plot| candidates(observations, plot)).collect();
    let tests = found.iter().map(|(_, tests)| *tests).max().unwrap_or(0) * plots.len();
    let mut surest: BTreeMap<String, Named> = BTreeMap::new();
    for (one, _) in found.into_iter().filter(|(n, _)| n.chance * tests as f64 <= FALSE_ALARM) {
        if surest.get(&one.daemon).is_none_or(|other| one.chance < other.chance) {
            surest.insert(one.daemon.clone(), one);
        }
    }
    surest.into_values().collect()
}

/// Those that one plot supports, each with the number of daemons that were examined. Stretches of drift are omitted.
fn candidates(observations: &[Observation], plot: &Clusters) -> Vec<(Named, usize)> {
    let used: BTreeMap<u32, f64> =
        plot.halves().filter(|h| h.place != ClusterPlace::Stretch).map(|h| (h.number, h.excess)).collect();
    let samples: Vec<(&Observation, f64)> =
        observations.iter().filter_map(|o| Some((o, *used.get(&o.number)?))).collect();
    let names: BTreeSet<&str> = samples.iter().flat_map(|(o, _)| o.each().map(|(name, _)| name)).collect();
    let visits = |daemon: &str| -> Vec<Visit> {
        let longest = |o: &Observation| o.executions.value()?.get(daemon)?.iter().max().copied();
        let visit = |(o, excess): &(&Observation, f64)| Visit {
            number: o.number,
            excess: *excess,
            cpu: longest(o).unwrap_or(Nanos::ZERO).as_f64(),
        };
        let mut all: Vec<Visit> = samples.iter().map(visit).collect();
        all.sort_by_key(|v| v.number);
        all
    };
    let looked_at: Vec<_> = names.into_iter().filter_map(|d| Some((d, split(visits(d))?))).collect();
    let tests = looked_at.len();
    let judged = looked_at.into_iter().filter_map(|(daemon, (long, others))| judge(daemon, &long, &others));
    judged.filter(|n| n.lengthened >= NOTICED * plot.spread).map(|n| (n, tests)).collect()
}

/// Few samples with executions far over what the daemon usually takes, and the others; both by number.
fn split(visits: Vec<Visit>) -> Option<(Vec<Visit>, Vec<Visit>)> {
    let mut times: Vec<f64> = visits.iter().map(|v| v.cpu).collect();
    times.sort_by(f64::total_cmp);
    let limit = edge(&times)?;
    let all = visits.len() as f64;
    let (long, others): (Vec<Visit>, Vec<Visit>) = visits.into_iter().partition(|v| v.cpu > limit);
    let few = long.len() as f64 <= FREQUENT_TOGETHER * all;
    (few && !long.is_empty() && !others.is_empty()).then_some((long, others))
}

fn judge(daemon: &str, long: &[Visit], others: &[Visit]) -> Option<Named> {
    let most = |run: &[Visit]| run.iter().copied().max_by(|a, b| a.cpu.total_cmp(&b.cpu));
    let visits: Vec<Visit> = long.chunk_by(|a, b| a.number + 1 == b.number).filter_map(most).collect();
    let median = |of: &dyn Fn(&Visit) -> f64, among: &[Visit]| {
        let mut values: Vec<f64> = among.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        median_of_sorted(&values)
    };
    let took = median(&|v| v.cpu, &visits)?;
    let lengthened = median(&|v| v.excess, &visits)? - median(&|v| v.excess, others)?;
    let alike = lengthened >= ALIKE * took && took >= ALIKE * lengthened;
    // The share of the others that rank as high or higher is uniform for each visit of an idle daemon, so their sum is at most
    // s with a probability of at most s^n / n! (Irwin and Hall).
    let share = |v: &Visit| {
        let above = others.iter().filter(|o| o.excess >= v.excess).count();
        (above + 1) as f64 / (others.len() + 1) as f64
    };
    let (sum, n) = (visits.iter().map(share).sum::<f64>(), visits.len() as f64);
    let chance = (n * sum.ln() - ln_gamma(n + 1.0)).exp().min(1.0);
    alike.then(|| Named {
        daemon: daemon.to_owned(),
        samples: long.iter().map(|v| v.number).collect(),
        took,
        lengthened,
        chance,
    })
}
