//! A bulk-synchronous job beside what the noise of its ranks predicts (ICS'05, section 2: a phase ends with the slowest).
//!
//! The prediction is E[max of n] of phases that the same ranks did without barriers; what was measured are phases with a
//! barrier after each. Ranks are predicted as if what delays one were independent of the others. On one node it is not: a
//! tick comes to all CPUs at the same moment, a hypervisor stops the whole machine. So nodes have separate rows, whose
//! prediction starts with the node's maximum, as [`crate::noise::node`] forms it.

use crate::base::units::Nanos;
use crate::noise::bsp::{Bsp, Rank};
use crate::noise::node::{NoNode, node_phases};
use crate::noise::phase::WorkPhase;
use crate::noise::prediction::{Bounds, Expected, predict};
use crate::statistics::series::{Summary, Values, summary};
use serde::Serialize;
use std::num::NonZeroU64;

/// What a job is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobMakeup {
    /// Ranks, taken to be independent.
    Ranks,
    /// Nodes, each with all its ranks.
    Nodes,
}

/// How what was measured stands to what was predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// It is inside the prediction's interval.
    Inside,
    /// It is outside, but the intervals of both have a part in common.
    Overlapping,
    /// It is shorter, beyond both intervals.
    Shorter,
    /// It is longer, beyond both intervals.
    Longer,
}

/// Jobs of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BspJob {
    /// What it is made of.
    pub of: JobMakeup,
    /// So many of them.
    pub n: NonZeroU64,
    /// Disjoint groups of n that there are among all, next to each other; what was measured is their mean.
    pub groups: usize,
    /// Slowdown: what a phase took on average until the slowest had done its work, over the shortest phase; with the
    /// interval of that mean.
    pub measured: Expected,
    /// The same until the barrier was passed; `None` of a part of the ranks, as the barrier was one of all.
    pub whole: Option<f64>,
    /// Slowdown that is predicted.
    pub predicted: Expected,
    /// `None` if either is not known.
    pub agreement: Option<Agreement>,
}

/// What is to be known of one rank; ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankRow {
    pub host: String,
    pub cpu: u32,
    /// Time of an iteration by its own calibration.
    pub per_iteration: f64,
    /// Phases back to back.
    pub alone: Summary,
    /// Phases with barriers, without the wait for others.
    pub work: Summary,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BspComparison {
    /// The shortest phase of all, ns, to which slowdowns refer.
    pub shortest: u64,
    pub nodes: usize,
    pub ranks: Vec<RankRow>,
    /// Ranks first, then nodes if there is one with several ranks; by size.
    pub jobs: Vec<BspJob>,
    /// A barrier without work, of all ranks; ns.
    pub barrier: Summary,
    /// Phases of ranks that have no counterpart in their node's phases, as another of its ranks was late.
    pub skipped: usize,
}

/// Why there is no comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// No phase at all.
    #[error("there are no phases, expected at least one of each rank")]
    Empty,
    /// A phase took no time.
    #[error("the shortest phase took 0 ns, expected more: the grain is too short for the clock")]
    NoTime,
    /// The phases of a node's ranks have no order.
    #[error("the phases of a node's ranks cannot be combined: {0}")]
    Node(#[from] NoNode),
}

/// The job beside its prediction. The same `seed` gives the same intervals.
pub fn compare(bsp: &Bsp, seed: u64) -> Result<BspComparison, NoComparison> {
    let shortest = bsp.ranks.iter().flat_map(|r| r.alone.iter().chain(&r.work)).copied().min();
    let shortest = shortest.ok_or(NoComparison::Empty)?;
    if shortest == 0 {
        return Err(NoComparison::NoTime);
    }
    let each: Vec<&Rank> = bsp.ranks.iter().collect();
    let ranks = each.iter().map(|r| row(r)).collect::<Option<Vec<_>>>().ok_or(NoComparison::Empty)?;
    let alone: Vec<&[u64]> = each.iter().map(|r| r.alone.as_slice()).collect();
    let work: Vec<&[u64]> = each.iter().map(|r| r.work.as_slice()).collect();
    let base = shortest as f64;
    let whole = mean(each.iter().flat_map(|r| &r.whole)).map(|m| m / base);
    let sized = |of, alone: &[&[u64]], work: &[&[u64]], item| Sized { of, base, whole, seed, item }.jobs(alone, work);
    let mut jobs = sized(JobMakeup::Ranks, &alone, &work, 0);
    let nodes = by_node(&each);
    let mut skipped = 0;
    if nodes.len() < each.len() {
        let mut maxima = Vec::new();
        for node in &nodes {
            let phases: Vec<Vec<WorkPhase>> = node.iter().map(|r| timed(r)).collect();
            let together = node_phases(&phases, bsp.grain)?;
            skipped += together.skipped.iter().sum::<usize>();
            maxima.push(together.durations().collect::<Vec<u64>>());
        }
        let slowest = |node: &Vec<&Rank>| slowest(&node.iter().map(|r| r.work.as_slice()).collect::<Vec<_>>());
        let work: Vec<Vec<u64>> = nodes.iter().map(slowest).collect();
        jobs.extend(sized(JobMakeup::Nodes, &slices(&maxima), &slices(&work), 1));
    }
    let empty = Values::from_nanos(each.iter().flat_map(|r| &r.empty).map(|d| nanos(*d)));
    let barrier = summary(&empty).ok_or(NoComparison::Empty)?;
    Ok(BspComparison { shortest, nodes: nodes.len(), ranks, jobs, barrier, skipped })
}

fn slices(all: &[Vec<u64>]) -> Vec<&[u64]> {
    all.iter().map(Vec::as_slice).collect()
}

fn nanos(duration: u64) -> Nanos {
    Nanos(i64::try_from(duration).unwrap_or(i64::MAX))
}

fn row(r: &Rank) -> Option<RankRow> {
    let summarised = |all: &[u64]| summary(&Values::from_nanos(all.iter().map(|d| nanos(*d))));
    Some(RankRow {
        host: r.host.clone(),
        cpu: r.cpu,
        per_iteration: r.per_iteration,
        alone: summarised(&r.alone)?,
        work: summarised(&r.work)?,
    })
}

/// The ranks of each node, in the order of the first of each.
fn by_node<'a>(ranks: &[&'a Rank]) -> Vec<Vec<&'a Rank>> {
    let mut places = std::collections::HashMap::new();
    let mut nodes: Vec<Vec<&Rank>> = Vec::new();
    for r in ranks {
        let place = *places.entry(r.host.as_str()).or_insert(nodes.len());
        match nodes.get_mut(place) {
            Some(node) => node.push(r),
            None => nodes.push(vec![r]),
        }
    }
    nodes
}

fn timed(r: &Rank) -> Vec<WorkPhase> {
    r.start.iter().zip(&r.alone).map(|(s, d)| WorkPhase { start: nanos(*s), duration: nanos(*d) }).collect()
}

fn mean<'a>(all: impl Iterator<Item = &'a u64>) -> Option<f64> {
    let (n, sum) = all.fold((0_u64, 0_u128), |(n, sum), d| (n + 1, sum + u128::from(*d)));
    (n > 0).then(|| sum as f64 / n as f64)
}

/// The longest of all series, phase by phase.
fn slowest(all: &[&[u64]]) -> Vec<u64> {
    let phases = all.iter().map(|s| s.len()).min().unwrap_or(0);
    (0..phases).filter_map(|i| all.iter().filter_map(|s| s.get(i)).copied().max()).collect()
}

/// The phases of all series by their number, those of the same number next to each other: the blocks that the bootstrap
/// draws are then stretches of time, with what the series have in common at that time.
fn interleaved(all: &[&[u64]]) -> Vec<u64> {
    let phases = all.iter().map(|s| s.len()).max().unwrap_or(0);
    (0..phases).flat_map(|i| all.iter().filter_map(move |s| s.get(i).copied())).collect()
}

/// 1, 2, 4, … and all.
fn sizes(all: usize) -> Vec<NonZeroU64> {
    let powers = (0..63).map(|i| 1_u64 << i).take_while(|n| *n < all as u64);
    powers.chain([all as u64]).filter_map(NonZeroU64::new).collect()
}

struct Sized {
    of: JobMakeup,
    base: f64,
    whole: Option<f64>,
    seed: u64,
    item: u64,
}

impl Sized {
    /// Of series of phases without barriers, and of those with barriers: of each rank, or of each node.
    fn jobs(&self, alone: &[&[u64]], work: &[&[u64]]) -> Vec<BspJob> {
        let sizes = sizes(work.len());
        let Some(prediction) = predict(&interleaved(alone), &sizes, self.seed, self.item) else { return Vec::new() };
        let job = |(n, predicted): (&NonZeroU64, &Expected)| {
            let groups: Vec<Vec<u64>> =
                work.chunks_exact(usize::try_from(n.get()).unwrap_or(usize::MAX)).map(slowest).collect();
            // What the job took, phase by phase: the mean of its groups, to a nanosecond.
            let phases = groups.first().map_or(0, Vec::len);
            let series: Vec<u64> = (0..phases)
                .filter_map(|i| Some(mean(groups.iter().filter_map(|g| g.get(i)))?.round() as u64))
                .collect();
            let measured = predict(&series, &[NonZeroU64::MIN], self.seed, self.item)?;
            let measured = measured.points.first()?.expected.slowdown(self.base);
            let predicted = predicted.slowdown(self.base);
            Some(BspJob {
                of: self.of,
                n: *n,
                groups: groups.len(),
                agreement: agreement(&measured, &predicted),
                measured,
                whole: self.whole.filter(|_| n.get() == work.len() as u64),
                predicted,
            })
        };
        let expected = prediction.points.iter().map(|p| &p.expected);
        sizes.iter().zip(expected).filter_map(job).collect()
    }
}

fn agreement(measured: &Expected, predicted: &Expected) -> Option<Agreement> {
    let (value, theirs) = (measured.value()?, predicted.bounds()?);
    if theirs.contains(value) {
        return Some(Agreement::Inside);
    }
    let own = measured.bounds().unwrap_or(Bounds { low: value, high: Some(value) });
    let below = |a: &Bounds, b: &Bounds| a.high.is_some_and(|high| high < b.low);
    Some(if below(&own, &theirs) {
        Agreement::Shorter
    } else if below(&theirs, &own) {
        Agreement::Longer
    } else {
        Agreement::Overlapping
    })
}

/// Ranks that may run on several CPUs: the scheduler may move them, which delays them.
pub fn unbound(bsp: &Bsp) -> usize {
    bsp.ranks.iter().filter(|r| r.allowed > 1).count()
}

/// Ranks that share their CPU with another rank of the same node.
pub fn crowded(bsp: &Bsp) -> usize {
    let mut on = std::collections::HashMap::new();
    bsp.ranks.iter().for_each(|r| *on.entry((r.host.as_str(), r.cpu)).or_insert(0_usize) += 1);
    on.values().filter(|n| **n > 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator, unit};
    use rand_chacha::ChaCha8Rng;

    const GRAIN: u64 = 100_000;

    /// A phase with jitter, often a tick, rarely a daemon.
    fn phase(rng: &mut ChaCha8Rng) -> u64 {
        match below(rng, 1_000) {
            0 => 150_000 + (-30_000.0 * unit(rng).ln()) as u64,
            1..50 => 104_000 + u64::from(below(rng, 3_000)),
            _ => GRAIN + u64::from(below(rng, 300)),
        }
    }

    /// A job whose ranks have these phases without and with barriers; a barrier takes 1 µs.
    fn job(hosts: &[&str], alone: Vec<Vec<u64>>, work: Vec<Vec<u64>>) -> Bsp {
        let longest = slowest(&slices(&work));
        let rank = |((host, alone), work): ((&&str, Vec<u64>), Vec<u64>)| {
            let start = alone
                .iter()
                .scan(0, |end, d| {
                    let start = *end;
                    *end += d;
                    Some(start)
                })
                .collect();
            let whole = longest.iter().map(|l| l + 1_000).collect();
            let empty = vec![900; alone.len()];
            let host = (*host).to_owned();
            Rank { host, cpu: 3, allowed: 1, per_iteration: 0.5, overhead: 20.0, start, alone, work, whole, empty }
        };
        Bsp {
            mpi: "MPI".to_owned(),
            created: "then".to_owned(),
            grain: nanos(GRAIN),
            iterations: 200_000,
            calibrations: 10,
            phases: longest.len() as u64,
            ranks: hosts.iter().zip(alone).zip(work).map(rank).collect(),
        }
    }

    /// Series of independent ranks.
    fn independent(rng: &mut ChaCha8Rng, ranks: usize, phases: usize) -> Vec<Vec<u64>> {
        (0..ranks).map(|_| (0..phases).map(|_| phase(rng)).collect()).collect()
    }

    fn found(c: &BspComparison) -> Vec<(JobMakeup, u64, usize, Option<Agreement>)> {
        c.jobs.iter().map(|j| (j.of, j.n.get(), j.groups, j.agreement)).collect()
    }

    /// Where the model's assumption holds, what it predicts is what a job measures: of 1 to 12 nodes.
    #[test]
    fn independent_ranks_are_as_predicted() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        let hosts: Vec<String> = (0..12).map(|i| format!("n{i}")).collect();
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let (alone, work) = (independent(&mut rng, 12, 5_000), independent(&mut rng, 12, 5_000));
        let c = compare(&job(&hosts, alone, work), 1).unwrap();
        let agree = |a: &Option<Agreement>| matches!(a, Some(Agreement::Inside | Agreement::Overlapping));
        let found = found(&c);
        assert!(found.iter().all(|(of, _, _, a)| *of == JobMakeup::Ranks && agree(a)), "{found:?}");
        let sizes: Vec<(u64, usize)> = found.iter().map(|(_, n, groups, _)| (*n, *groups)).collect();
        assert_eq!(sizes, [(1, 12), (2, 6), (4, 3), (8, 1), (12, 1)]);
        // The jobs differ by more than their intervals are wide: another size's prediction would not do.
        let value = |i: usize| c.jobs[i].measured.value().unwrap();
        assert!(value(0) < 1.01 && value(4) > 1.02, "{} {}", value(0), value(4));
        assert!(!c.jobs[4].predicted.bounds().unwrap().contains(value(2)));
        assert_eq!((c.nodes, c.skipped, c.ranks.len()), (12, 0, 12));
    }

    /// What delays all ranks of a node at once is counted as often as there are ranks by the first prediction, and once by
    /// the node's.
    #[test]
    fn ranks_of_a_node_are_predicted_by_the_nodes_maximum() {
        let mut rng = generator(2, RandomPurpose::Order, 0);
        let mut together = || vec![independent(&mut rng, 1, 20_000).remove(0); 4];
        let c = compare(&job(&["n"; 4], together(), together()), 1).unwrap();
        let jobs = found(&c);
        let sizes: Vec<(JobMakeup, u64, usize)> = jobs.iter().map(|j| (j.0, j.1, j.2)).collect();
        assert_eq!(
            sizes,
            [(JobMakeup::Ranks, 1, 4), (JobMakeup::Ranks, 2, 2), (JobMakeup::Ranks, 4, 1), (JobMakeup::Nodes, 1, 1)]
        );
        assert_eq!(jobs[2].3, Some(Agreement::Shorter));
        assert!(matches!(jobs[3].3, Some(Agreement::Inside | Agreement::Overlapping)), "{jobs:?}");
        assert_eq!(c.nodes, 1);
    }

    #[test]
    fn two_nodes_of_two_ranks() {
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let (alone, work) = (independent(&mut rng, 4, 4_000), independent(&mut rng, 4, 4_000));
        // Ranks of a node need not be neighbours.
        let c = compare(&job(&["a", "b", "a", "b"], alone, work.clone()), 1).unwrap();
        let nodes: Vec<&BspJob> = c.jobs.iter().filter(|j| j.of == JobMakeup::Nodes).collect();
        assert_eq!(nodes.iter().map(|j| (j.n.get(), j.groups)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        let work_of = |a: usize, b: usize| slowest(&[&work[a], &work[b]]).iter().sum::<u64>() as f64 / 4_000.0;
        let one = (work_of(0, 2) + work_of(1, 3)) / 2.0 / c.shortest as f64;
        assert!((nodes[0].measured.value().unwrap() - one).abs() < 1e-5);
        assert_eq!(nodes[0].whole, None);
        // The whole job, with barrier: a microsecond over its slowest.
        let (all, whole) = (nodes[1].measured.value().unwrap(), nodes[1].whole.unwrap());
        assert!((whole - all - 1_000.0 / c.shortest as f64).abs() < 1e-9, "{whole} {all}");
        assert_eq!(c.jobs[2].measured.value(), Some(all));
        assert_eq!((c.barrier.median, c.barrier.n), (900.0, 16_000));
    }

    #[test]
    fn one_rank_is_as_its_own_phases() {
        let c = compare(&job(&["n"], vec![[100, 110].repeat(10)], vec![[120, 100].repeat(10)]), 1).unwrap();
        // Twenty phases have a mean but no interval.
        assert_eq!(found(&c), [(JobMakeup::Ranks, 1, 1, None)]);
        let (measured, predicted) = (c.jobs[0].measured.value().unwrap(), c.jobs[0].predicted.value().unwrap());
        assert!((measured - 1.1).abs() < 1e-12 && (predicted - 1.05).abs() < 1e-12, "{measured} {predicted}");
        assert_eq!(c.shortest, 100);
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let none = job(&["n"], vec![vec![]], vec![vec![]]);
        assert_eq!(compare(&none, 1), Err(NoComparison::Empty));
        assert_eq!(compare(&job(&["n"], vec![vec![5]], vec![vec![0]]), 1), Err(NoComparison::NoTime));
        let mut disorder = job(&["n", "n"], vec![vec![5, 5]; 2], vec![vec![5, 5]; 2]);
        disorder.ranks[1].start[1] = 0;
        assert!(matches!(compare(&disorder, 1), Err(NoComparison::Node(_))));
        assert_eq!((unbound(&disorder), crowded(&disorder)), (0, 2));
        disorder.ranks[0].host = "m".to_owned();
        disorder.ranks[0].allowed = 2;
        assert_eq!((unbound(&disorder), crowded(&disorder)), (1, 0));
    }

    #[test]
    fn agreement_is_by_both_intervals() {
        let of =
            |value: f64, low: f64, high: Option<f64>| Expected::Measured { value, bounds: Ok(Bounds { low, high }) };
        let predicted = of(1.5, 1.4, Some(1.6));
        for (measured, is) in [
            (of(1.6, 1.55, Some(1.7)), Agreement::Inside),
            (of(1.7, 1.6, Some(1.8)), Agreement::Overlapping),
            (of(1.3, 1.2, Some(1.4)), Agreement::Overlapping),
            (of(1.7, 1.61, None), Agreement::Longer),
            (of(1.3, 1.2, Some(1.39)), Agreement::Shorter),
        ] {
            assert_eq!(agreement(&measured, &predicted), Some(is), "{measured:?}");
        }
        assert_eq!(agreement(&of(9.0, 8.0, Some(10.0)), &of(1.5, 1.4, None)), Some(Agreement::Inside));
    }
}
