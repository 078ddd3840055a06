//! Positions of builds: logarithms of their times relative to one of them, the anchor, from ratios of pairs of builds.
//!
//! Each gate measured one pair, with an error. The positions are those that fit all pairs best (weighted least
//! squares), so that several measurements of one build combine, and a build that was never measured against the anchor
//! has a position by way of others. The normal equations are those of a network of resistors (conductance: 1 /
//! variance). They are solved by eliminating one build after another, the one with the fewest neighbours first: a
//! history is mostly a star or a chain, where no elimination makes new neighbours and the time is in proportion to the
//! builds. All terms are positive, so that no digits are lost.

use crate::compare::change_points::{SeriesPoint, kept};
use crate::statistics::series::median_of;
use std::collections::{BTreeMap, BTreeSet};

/// The measured ratio of a pair of builds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildPair {
    /// Number of a build, from 0.
    pub base: usize,
    pub head: usize,
    /// Logarithm of head / base.
    pub log: f64,
    /// Standard error of the logarithm by the blocks of its gate, above 0.
    pub error: f64,
}

/// Where builds are, relative to the anchor.
#[derive(Clone, Debug)]
pub struct BuildPositions {
    /// By build; 0 for the anchor and for builds without a connection to it.
    pub logs: Vec<f64>,
    /// Standard deviation between gates, beyond the errors that their own blocks show.
    pub between: f64,
    /// It is that of these builds; else the assumed one, as there are too few of them.
    pub between_measured: bool,
    network: PairNetwork,
}

impl BuildPositions {
    /// Covariances of a build's position with those of all builds.
    pub fn covariances(&self, build: usize) -> Vec<f64> {
        let mut unit = vec![0.0; self.logs.len()];
        if let Some(place) = unit.get_mut(build) {
            *place = 1.0;
        }
        self.network.potentials(unit)
    }

    /// Variance of a build's position if those of all others were known: without the errors that it shares with others.
    pub fn own_variance(&self, build: usize) -> f64 {
        1.0 / at(&self.network.conductances, build)
    }

    /// The positions of some connected builds as points, in this order. The anchor's position has no error by
    /// definition; as a point it counts as one that was measured as the others were.
    pub fn points(&self, anchor: usize, order: &[usize]) -> Vec<SeriesPoint> {
        let typical = self.typical(anchor, order);
        let point = |build: &usize| SeriesPoint {
            value: at(&self.logs, *build),
            // A base of many heads is known by all of them together, which says nothing of the time when it was
            // measured.
            error: match *build == anchor {
                true => typical,
                false => self.own_variance(*build).sqrt().max(typical / 2.0),
            },
        };
        order.iter().map(point).collect()
    }

    /// The middle one of the builds' own errors.
    fn typical(&self, anchor: usize, order: &[usize]) -> f64 {
        let measured = order.iter().filter(|build| **build != anchor);
        median_of(measured.map(|build| self.own_variance(*build).sqrt()).collect()).unwrap_or(1.0)
    }

    /// The points with their variances and covariances.
    pub fn series(&self, anchor: usize, order: &[usize]) -> PositionSeries {
        let row = |build: &usize| {
            let all = self.covariances(*build);
            order.iter().map(|other| at(&all, *other)).collect::<Vec<f64>>()
        };
        let mut covariances: Vec<Vec<f64>> = order.iter().map(row).collect();
        let variances: Vec<f64> = covariances.iter().enumerate().map(|(i, row)| at(row, i)).collect();
        let is_more = |(build, variance): (&usize, &f64)| *variance > 1.000_001 * self.own_variance(*build);
        let shares = order.iter().zip(&variances).any(|place| *place.0 != anchor && is_more(place));
        if let Some(i) = order.iter().position(|build| *build == anchor)
            && let Some(variance) = covariances.get_mut(i).and_then(|row| row.get_mut(i))
        {
            *variance = self.typical(anchor, order).powi(2);
        }
        PositionSeries { points: self.points(anchor, order), variances, shared: shares.then_some(covariances) }
    }

    /// Differences of the positions of builds that follow each other in this order.
    fn differences(&self, pairs: &[BuildPair], order: &[usize]) -> Vec<NeighbourDifference> {
        let difference = |(from, to): (&usize, &usize)| {
            let mut currents = vec![0.0; self.logs.len()];
            for (build, current) in [(to, 1.0), (from, -1.0)] {
                if let Some(place) = currents.get_mut(*build) {
                    *place = current;
                }
            }
            let potentials = self.network.potentials(currents);
            let value = at(&self.logs, *to) - at(&self.logs, *from);
            let mut found = NeighbourDifference { value, known: 0.0, gates: 0.0 };
            for pair in pairs {
                // By how much the pair's logarithm counts in the difference.
                let variance = pair.error.powi(2) + self.between.powi(2);
                let share = ((at(&potentials, pair.head) - at(&potentials, pair.base)) / variance).powi(2);
                found.known += share * pair.error.powi(2);
                found.gates += share;
            }
            found
        };
        order.iter().zip(order.iter().skip(1)).map(difference).collect()
    }
}

/// Positions as a series in time.
#[derive(Clone, Debug)]
pub struct PositionSeries {
    pub points: Vec<SeriesPoint>,
    /// Of each position relative to the anchor; 0 for the anchor.
    pub variances: Vec<f64>,
    /// Covariances of all points, if any position has an error that others have, too.
    pub shared: Option<Vec<Vec<f64>>>,
}

/// The group of connected builds that each build belongs to.
pub fn connected(builds: usize, pairs: &[BuildPair]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..builds).collect();
    for pair in pairs {
        let (a, b) = (root(&mut parents, pair.base), root(&mut parents, pair.head));
        // The smaller number is kept, so that groups do not depend on the order of the pairs.
        if let Some(parent) = parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
    (0..builds).map(|b| root(&mut parents, b)).collect()
}

fn root(parents: &mut [usize], build: usize) -> usize {
    let up = |parents: &[usize], b: usize| parents.get(b).copied().unwrap_or(b);
    let mut b = build;
    while up(parents, b) != b {
        let higher = up(parents, up(parents, b));
        if let Some(parent) = parents.get_mut(b) {
            *parent = higher;
        }
        b = higher;
    }
    b
}

/// Positions of `builds` builds relative to `anchor`. `order` has those that are connected to it, in their order of
/// time: differences of neighbours show how much gates differ beyond their own errors; of fewer than five differences,
/// `assumed` is taken for that.
pub fn positions(builds: usize, anchor: usize, pairs: &[BuildPair], order: &[usize], assumed: f64) -> BuildPositions {
    if order.len() <= FEWEST_DIFFERENCES {
        return BuildPositions { between_measured: false, ..fitted(builds, anchor, pairs, assumed) };
    }
    // What is between gates is not known yet: no pair may outweigh all others because its own error is small.
    let typical = median_of(pairs.iter().map(|p| p.error).collect()).unwrap_or(0.0);
    let first = fitted(builds, anchor, pairs, typical);
    let first = fitted(builds, anchor, pairs, between(&first.differences(pairs, order)));
    // Again without what now is an outlier: where many are, their differences raise the first estimate.
    let near = kept(&first.points(anchor, order), OUTLIER);
    let near: Vec<usize> = order.iter().zip(near).filter(|(_, near)| *near).map(|(build, _)| *build).collect();
    let used = if near.len() > FEWEST_DIFFERENCES { &near } else { order };
    fitted(builds, anchor, pairs, between(&first.differences(pairs, used)))
}

/// An outlier is so many errors from the median of its neighbours; of normal values, one in 16,000 is.
const OUTLIER: f64 = 4.0;

/// Positions with this deviation between gates.
fn fitted(builds: usize, anchor: usize, pairs: &[BuildPair], between: f64) -> BuildPositions {
    let conductance = |p: &BuildPair| 1.0 / (p.error.powi(2) + between.powi(2));
    let network = PairNetwork::new(builds, anchor, pairs, conductance);
    let mut currents = vec![0.0; builds];
    for pair in pairs {
        let current = pair.log * conductance(pair);
        for (build, current) in [(pair.head, current), (pair.base, -current)] {
            if let Some(place) = currents.get_mut(build) {
                *place += current;
            }
        }
    }
    let logs = network.potentials(currents);
    BuildPositions { logs, between, between_measured: true, network }
}

fn at(values: &[f64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(0.0)
}

/// The difference of the positions of two builds that follow each other; its variance is `known + gates · between²`.
struct NeighbourDifference {
    value: f64,
    known: f64,
    gates: f64,
}

/// Fewest differences from which a deviation between gates is estimated: of fewer, one change of the program would be
/// half.
const FEWEST_DIFFERENCES: usize = 5;
/// No standardised difference counts for more than this. The scale is 0.73 times as efficient as the standard deviation
/// for normal values, and finite unless a third of the differences are out of scale (Huber's proposal 2 with a bounded
/// square).
const MOST_DIFFERENCE: f64 = 1.5;
/// Mean of min(z², 1.5²) for a standard normal z.
const EXPECTED_SQUARE: f64 = 0.778_47;

/// The standard deviation between gates for which the standardised differences are as large as those of normal values;
/// 0 if they are no larger without it. Steps and outliers raise it little, as each is only one or two of the
/// differences.
fn between(differences: &[NeighbourDifference]) -> f64 {
    let mean = |between: f64| {
        let square = |d: &NeighbourDifference| {
            let variance = d.known + d.gates * between.powi(2);
            (d.value.powi(2) / variance).min(MOST_DIFFERENCE.powi(2))
        };
        differences.iter().map(square).sum::<f64>() / differences.len() as f64
    };
    if mean(0.0) <= EXPECTED_SQUARE {
        return 0.0;
    }
    let widest = |d: &NeighbourDifference| if d.gates > 0.0 { d.value.abs() / d.gates.sqrt() } else { 0.0 };
    let (mut low, mut high) = (0.0, 4.0 * differences.iter().map(widest).fold(0.0, f64::max));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if mean(middle) > EXPECTED_SQUARE {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The network of pairs, after elimination.
#[derive(Clone, Debug)]
struct PairNetwork {
    /// In the order of elimination; all builds but the anchor.
    steps: Vec<EliminatedBuild>,
    /// Sum of the conductances at each build.
    conductances: Vec<f64>,
}

#[derive(Clone, Debug)]
struct EliminatedBuild {
    build: usize,
    /// Those that were left, with the conductance to each.
    neighbours: Vec<(usize, f64)>,
    /// The sum of these conductances.
    sum: f64,
}

type BuildLinks = BTreeMap<usize, f64>;

fn link(links: &mut [BuildLinks], a: usize, b: usize, conductance: f64) {
    if a == b {
        return;
    }
    for (from, to) in [(a, b), (b, a)] {
        if let Some(own) = links.get_mut(from) {
            *own.entry(to).or_default() += conductance;
        }
    }
}

fn degree(links: &[BuildLinks], build: usize) -> usize {
    links.get(build).map_or(0, BuildLinks::len)
}

impl PairNetwork {
    fn new(builds: usize, anchor: usize, pairs: &[BuildPair], conductance: impl Fn(&BuildPair) -> f64) -> PairNetwork {
        let mut links = vec![BuildLinks::new(); builds];
        for pair in pairs {
            link(&mut links, pair.base, pair.head, conductance(pair));
        }
        let conductances: Vec<f64> = links.iter().map(|own| own.values().sum::<f64>()).collect();
        let mut queue: BTreeSet<(usize, usize)> =
            (0..builds).filter(|b| *b != anchor).map(|b| (degree(&links, b), b)).collect();
        let mut steps = Vec::with_capacity(builds);
        while let Some((_, build)) = queue.pop_first() {
            let own = links.get_mut(build).map(std::mem::take).unwrap_or_default();
            let neighbours: Vec<(usize, f64)> = own.into_iter().collect();
            let sum: f64 = neighbours.iter().map(|(_, c)| c).sum();
            for (a, _) in &neighbours {
                queue.remove(&(degree(&links, *a), *a));
                if let Some(others) = links.get_mut(*a) {
                    others.remove(&build);
                }
            }
            for (i, (a, to_a)) in neighbours.iter().enumerate() {
                for (b, to_b) in neighbours.iter().skip(i + 1) {
                    link(&mut links, *a, *b, to_a * to_b / sum);
                }
            }
            queue.extend(neighbours.iter().filter(|(a, _)| *a != anchor).map(|(a, _)| (degree(&links, *a), *a)));
            // A build without neighbours has no position; nothing flows there.
            steps.push(EliminatedBuild { build, neighbours, sum: if sum > 0.0 { sum } else { 1.0 } });
        }
        PairNetwork { steps, conductances }
    }

    /// Potentials of all builds with these currents into them; 0 at the anchor.
    fn potentials(&self, mut currents: Vec<f64>) -> Vec<f64> {
        for step in &self.steps {
            let share = at(&currents, step.build) / step.sum;
            // A single current, as most are, passes few builds.
            if share == 0.0 {
                continue;
            }
            for (to, conductance) in &step.neighbours {
                if let Some(current) = currents.get_mut(*to) {
                    *current += share * conductance;
                }
            }
        }
        let mut potentials = vec![0.0; currents.len()];
        for step in self.steps.iter().rev() {
            let flows: f64 = step.neighbours.iter().map(|(to, c)| c * at(&potentials, *to)).sum();
            if let Some(place) = potentials.get_mut(step.build) {
                *place = (at(&currents, step.build) + flows) / step.sum;
            }
        }
        potentials
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    fn pair(base: usize, head: usize, log: f64, error: f64) -> BuildPair {
        BuildPair { base, head, log, error }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    #[test]
    fn a_star_has_the_measured_ratios() {
        let pairs = [pair(0, 1, 0.01, 0.002), pair(0, 2, -0.02, 0.003), pair(0, 3, 0.5, 0.001)];
        let found = positions(4, 0, &pairs, &[0, 1, 2, 3], 0.0);
        assert!([0.0, 0.01, -0.02, 0.5].iter().zip(&found.logs).all(|(a, b)| close(*a, *b)), "{:?}", found.logs);
        assert_eq!((found.between, found.between_measured), (0.0, false));
        assert!(found.covariances(1).iter().zip([0.0, 4e-6, 0.0, 0.0]).all(|(a, b)| close(*a, b)));
        assert!(close(found.own_variance(2), 9e-6));
        // Three differences do not show what is between gates: it is what is assumed.
        let assumed = positions(4, 0, &pairs, &[0, 1, 2, 3], 0.004);
        assert!(close(assumed.own_variance(2), 9e-6 + 16e-6) && assumed.logs[3] == found.logs[3], "{assumed:?}");
    }

    /// Two ways from the anchor to build 2, of 0.10 ± 0.02 and 0.13 ± 0.01: the mean by weights 1 and 4.
    #[test]
    fn measurements_combine() {
        let direct = [pair(0, 2, 0.10, 0.02), pair(0, 2, 0.13, 0.01)];
        assert!(close(positions(3, 0, &direct, &[0, 2], 0.0).logs[2], 0.124));
        let error = 0.01 / 2.0_f64.sqrt();
        let around = [pair(0, 2, 0.10, 0.02), pair(0, 1, 0.03, error), pair(1, 2, 0.10, error)];
        let found = positions(3, 0, &around, &[0, 1, 2], 0.0);
        assert!(close(found.logs[2], 0.124), "{:?}", found.logs);
        // Two resistances in parallel: 1 / (1/4e-4 + 1/1e-4).
        assert!(close(found.covariances(2)[2], 8e-5));
        // The way around is 0.006 too long; its two parts are equally exact.
        assert!(close(found.logs[1], 0.03 - 0.006 / 2.0), "{:?}", found.logs);
    }

    /// A new base that was measured against the old one: positions by way of it, and its error in all of them.
    #[test]
    fn an_overlap_connects_two_bases() {
        let pairs =
            [pair(0, 1, 0.02, 0.001), pair(0, 2, 0.10, 0.002), pair(2, 3, 0.01, 0.001), pair(2, 4, -0.10, 0.001)];
        let found = positions(5, 0, &pairs, &[0, 1, 2, 3, 4], 0.0);
        assert!(close(found.logs[3], 0.11) && close(found.logs[4], 0.0), "{:?}", found.logs);
        let shared = found.covariances(3);
        assert!(close(shared[3], 5e-6) && close(shared[4], 4e-6) && close(shared[1], 0.0), "{shared:?}");
        assert!(close(found.own_variance(3), 1e-6));
        // The anchor is a choice: differences stay as they are.
        let other = positions(5, 4, &pairs, &[0, 1, 2, 3, 4], 0.0);
        assert!((0..5).all(|b| close(other.logs[b] - other.logs[0], found.logs[b])), "{:?}", other.logs);
    }

    #[test]
    fn groups_are_what_is_connected() {
        let pairs = [pair(5, 1, 0.0, 1.0), pair(2, 3, 0.0, 1.0), pair(1, 0, 0.0, 1.0)];
        assert_eq!(connected(6, &pairs), [0, 0, 2, 2, 4, 0]);
        assert_eq!(connected(0, &[]), [0_usize; 0]);
        // What is not connected has no position, and harms nothing.
        let found = positions(6, 0, &pairs, &[0, 1, 5], 0.0);
        assert!(found.logs.iter().all(|p| *p == 0.0));
    }

    #[test]
    fn the_constant_is_the_expectation() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        let n = 200_000;
        let square = |i: u32| normal.inverse_cdf((f64::from(i) + 0.5) / f64::from(n)).powi(2).min(2.25);
        let mean = (0..n).map(square).sum::<f64>() / f64::from(n);
        assert!((mean - EXPECTED_SQUARE).abs() < 1e-4, "{mean}");
    }

    /// Gates differ by 0.4%, of which their own blocks show 0.3%: 0.265% are between them; in a star as well as in a
    /// chain, where each build is measured against the one before it.
    #[test]
    fn the_deviation_between_gates_is_found() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        for (chain, item) in [(false, 0), (true, 1)] {
            let mut rng = generator(21, RandomPurpose::Noise, item);
            let base = |head: usize| if chain { head - 1 } else { 0 };
            let pairs: Vec<BuildPair> =
                (1..400).map(|h| pair(base(h), h, 0.004 * normal.inverse_cdf(unit(&mut rng)), 0.003)).collect();
            let order: Vec<usize> = (0..400).collect();
            let found = positions(400, 0, &pairs, &order, 0.0).between;
            // The whole deviation of 0.4% has an error of 1 / √400 = 5%: 0.34 to 0.46% at three times that.
            assert!((0.0016..0.0035).contains(&found), "chain {chain}: {found}");
            // Steps and outliers do not raise it much.
            let spoiled: Vec<BuildPair> = pairs
                .iter()
                .map(|p| BuildPair { log: p.log + if p.head % 25 == 0 { 0.5 } else { 0.0 }, ..*p })
                .collect();
            let spoiled = positions(400, 0, &spoiled, &order, 0.0).between;
            assert!(spoiled < 0.006, "chain {chain}: {spoiled}");
            let exact: Vec<BuildPair> = pairs.iter().map(|p| BuildPair { error: 0.006, ..*p }).collect();
            assert_eq!(positions(400, 0, &exact, &order, 0.0).between, 0.0);
        }
    }

    proptest! {
        /// Whatever is connected: without errors in the pairs, positions are exact.
        #[test]
        fn consistent_pairs_are_met(
            truth in proptest::collection::vec(-1.0..1.0_f64, 2..30),
            ends in proptest::collection::vec((0..1000_usize, 0..1000_usize, 0.001..0.1_f64), 1..60),
            anchor in 0..1000_usize,
        ) {
            let n = truth.len();
            let pairs: Vec<BuildPair> = ends
                .iter()
                .map(|(a, b, error)| pair(a % n, b % n, truth[b % n] - truth[a % n], *error))
                .filter(|p| p.base != p.head)
                .collect();
            let groups = connected(n, &pairs);
            let anchor = anchor % n;
            let order: Vec<usize> = (0..n).filter(|b| groups[*b] == groups[anchor]).collect();
            let found = positions(n, anchor, &pairs, &order, 0.0);
            for b in order {
                prop_assert!((found.logs[b] - (truth[b] - truth[anchor])).abs() < 1e-9, "{b}: {:?}", found.logs);
                let own = found.covariances(b);
                prop_assert!(own.iter().all(|v| v.is_finite()) && own[anchor] == 0.0);
                prop_assert!(b == anchor || own[b] >= found.own_variance(b) * (1.0 - 1e-9));
            }
        }

        #[test]
        fn covariances_are_symmetric(
            ends in proptest::collection::vec((0..8_usize, 0..8_usize, 0.01..1.0_f64), 1..20),
        ) {
            let pairs: Vec<BuildPair> = ends.iter().map(|(a, b, e)| pair(*a, *b, 0.1, *e)).collect();
            let found = positions(8, 0, &pairs, &[], 0.0);
            let all: Vec<Vec<f64>> = (0..8).map(|b| found.covariances(b)).collect();
            let groups = connected(8, &pairs);
            for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
                if groups[a] == groups[0] && groups[b] == groups[0] {
                    prop_assert!(close(all[a][b], all[b][a]), "{a} {b}");
                }
            }
        }
    }
}
