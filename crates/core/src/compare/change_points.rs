//! Where a series changes its level: penalised least squares with a bounded loss, by dynamic programming.
//!
//! The series is cut into pieces of constant level, of [`SHORTEST`] points at least, so that the sum over all points of
//! min(((value − level) / error)², K²), and of a penalty for each change, is smallest (Fearnhead and Rigaill,
//! *Changepoint detection in the presence of outliers*, JASA 2019). With K² = 0.4 penalties, five points that stand out
//! make no piece of [`SHORTEST`], however far out they are: the layout of a program's memory may stay the same for some
//! builds and then change, which is no change of the program. The optimum is that over levels a sixteenth of the
//! middle error apart, which adds at most a thousandth of its weight to a point.
//!
//! The penalty is the square of a t value that, at any of the places of the series, a series without changes exceeds
//! with a probability of 0.3% in all (Bonferroni): errors are estimated from as many differences as there are points,
//! of which neighbours are correlated.
//!
//! Points may also resemble their neighbours: what does not change with the program may last for several builds. The
//! variance of a level is then larger than that of independent points. By how much is estimated from what is left of the
//! points about their levels ([`SerialSpread`]): a change that does not pass the limit with this variance is left out, the
//! weakest first, and the estimate is made again.
//!
//! Points may share errors, as builds do that were measured against one base: then each change must also pass the same
//! limit by generalised least squares with the covariances of its neighbourhood. An error that all points after a
//! change share cannot pass for a change of the program.

use crate::statistics::series::median_of;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::{BTreeSet, VecDeque};
use std::ops::{Range, RangeInclusive};

/// Fewest points of a level.
pub const SHORTEST: usize = 10;
/// What a change must pass allows for a correlation that is larger than the measured one by so many standard errors.
const MARGIN: f64 = 1.0;
/// Square of a residual, in units of its point's error, that is not told from none.
const EXACT: f64 = 1e-12;
/// Largest correlation of neighbours that is allowed for.
const MOST_CORRELATION: f64 = 0.9;
/// Probability that a series without changes has one, if its correlation is that which is allowed for; with less, it is far smaller.
const FALSE_ALARM: f64 = 0.003;
/// K² in penalties.
const BOUND: f64 = 0.4;
/// Most points to one side of a place of which the covariances are used, which bounds the work.
const MOST_AROUND: usize = 250;
/// Levels within the middle error.
const FINENESS: f64 = 16.0;
/// Most levels to one side of a point.
const MOST_LEVELS: f64 = 1_024.0;
/// Power of [`FoundLevels::detectable`], 95%, as a quantile of the normal distribution.
const POWER: f64 = 1.645;

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    pub value: f64,
    /// Standard deviation, without errors that it shares with other points; above 0.
    pub error: f64,
}

/// Points of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLevel {
    pub points: Range<usize>,
    /// Weighted mean, without outliers.
    pub value: f64,
    pub variance: f64,
}

/// A change from one level to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelStep {
    /// The first point of the new level.
    pub at: usize,
    pub difference: f64,
    pub variance: f64,
}

/// The levels of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundLevels {
    /// At least one, unless the series is empty.
    pub levels: Vec<SeriesLevel>,
    pub changes: Vec<LevelStep>,
    /// Correlation of successive points about their levels, and how far they spread.
    pub serial: SerialSpread,
    /// The smallest change in the middle of such a series that is found in 95 of 100 cases; `None` below twice
    /// [`SHORTEST`] points.
    pub detectable: Option<f64>,
}

/// What a change costs in a series of so many points, in squared standard errors.
pub fn penalty(points: usize) -> f64 {
    let n = points.max(2 * SHORTEST) as f64;
    let normal = Normal::new(0.0, 1.0).map_or(0.0, |normal| normal.inverse_cdf(FALSE_ALARM / (2.0 * n)));
    // Degrees of freedom of a scale from n - 1 correlated differences.
    let freedom = (n - 1.0) / 2.0;
    // Wallace's normal approximation of t (1959), solved for t².
    let z = normal * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    freedom * (z * z / freedom).exp_m1()
}

/// Finds the levels. `shared` are the covariances of all points, if they share errors.
pub fn levels(points: &[SeriesPoint], shared: Option<&[Vec<f64>]>) -> FoundLevels {
    let penalty = penalty(points.len());
    let series = LevelSeries { points, shared, kept: kept(points, (BOUND * penalty).sqrt()), penalty };
    let begins = if points.len() < 2 * SHORTEST { Vec::new() } else { partition(points, penalty) };
    let (changes, serial) = match shared {
        None => series.independent(begins),
        Some(covariances) => series.confirmed(covariances, &begins),
    };
    let ends = changes.iter().map(|c| c.at).chain([points.len()]);
    let mut from = 0;
    let levels = ends.filter_map(|until| {
        let found = series.level(from..until);
        from = until;
        found.map(|l| SeriesLevel { variance: l.variance * serial.expected, ..l })
    });
    let levels = levels.collect();
    let step = |c: &LevelStep| LevelStep { variance: c.variance * serial.expected, ..*c };
    let changes = changes.iter().map(step).collect();
    FoundLevels { levels, changes, serial, detectable: series.detectable(&serial) }
}

/// What successive points have in common beyond their levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialSpread {
    /// Correlation of neighbours, corrected for the levels that were taken off; 0 to 0.9.
    pub correlation: f64,
    /// Variance of a point about its level, in units of its own variance; at least 1.
    pub points: f64,
    /// Variance of a level in units of that of independent points; at least 1.
    pub expected: f64,
    /// The same for a correlation that is larger by one standard error: what a change must pass.
    pub paid: f64,
}

impl SerialSpread {
    /// Of the residuals of successive points about so many levels, each in units of its own error.
    ///
    /// As for an autoregressive series, a mean's variance is (1 + ρ) / (1 − ρ) times that of independent points. The correlation is
    /// measured too small by about (1 + 2 ρ) / n for each level, since the levels are those of the same points (Kendall, 1954).
    fn new(residuals: &[f64], levels: usize) -> SerialSpread {
        let (n, levels) = (residuals.len() as f64, levels as f64);
        let squares = dot(residuals, residuals);
        // What is left of equal values by rounding says nothing.
        if n <= levels + 1.0 || squares <= n * EXACT {
            return SerialSpread { correlation: 0.0, points: 1.0, expected: 1.0, paid: 1.0 };
        }
        let points = squares / (n - levels);
        let next: Vec<f64> = residuals.iter().skip(1).copied().collect();
        let measured = dot(residuals, &next) / squares * n / (n - levels);
        let corrected = measured + levels * (1.0 + 2.0 * measured) / n;
        let widened = |correlation: f64| {
            let rho = correlation.clamp(0.0, MOST_CORRELATION);
            points * (1.0 + rho) / (1.0 - rho)
        };
        SerialSpread {
            correlation: corrected.clamp(0.0, MOST_CORRELATION),
            points: points.max(1.0),
            expected: widened(corrected).max(1.0),
            paid: points.max(1.0) / points * widened(corrected + MARGIN / n.sqrt()),
        }
    }
}

/// Which points are within so many errors of the median of five neighbours. Of three in a row that differ from the
/// others, none is far from it.
pub(crate) fn kept(points: &[SeriesPoint], reach: f64) -> Vec<bool> {
    const WINDOW: usize = 5;
    let typical = median_of(points.iter().map(|p| p.error).collect()).unwrap_or(0.0);
    let last = points.len().saturating_sub(WINDOW);
    let near = |(i, point): (usize, &SeriesPoint)| {
        let from = i.saturating_sub(WINDOW / 2).min(last);
        let middle = median_of(points.iter().skip(from).take(WINDOW).map(|p| p.value).collect());
        middle.is_none_or(|m| (point.value - m).abs() <= reach * point.error.max(typical))
    };
    points.iter().enumerate().map(near).collect()
}

/// The levels that a point can be near to, as multiples of the distance of two.
fn lattice(points: &[SeriesPoint], spacing: f64, reach: f64) -> Vec<f64> {
    let mut all = BTreeSet::new();
    for point in points {
        let wide = (reach * point.error / spacing).ceil().min(MOST_LEVELS) as i64;
        let middle = (point.value / spacing).round() as i64;
        all.extend(middle.saturating_sub(wide)..=middle.saturating_add(wide));
    }
    all.into_iter().map(|level| level as f64 * spacing).collect()
}

/// The first points of all pieces but the first. For each level, the cost of the best way to cut the points so far of
/// which the last piece has this level is kept, with the beginning of that piece.
fn partition(points: &[SeriesPoint], penalty: f64) -> Vec<usize> {
    let reach = (BOUND * penalty).sqrt();
    let spacing = median_of(points.iter().map(|p| p.error).collect()).unwrap_or(1.0) / FINENESS;
    let levels = lattice(points, spacing, reach);
    let mut costs = vec![(f64::INFINITY, 0_usize); levels.len()];
    // Of the last points, as many as the shortest piece has.
    let mut recent: VecDeque<Vec<f64>> = VecDeque::from(vec![vec![0.0; levels.len()]; SHORTEST]);
    // By number of points: the least cost, and where the last piece begins.
    let mut best = vec![(0.0, 0)];
    for (at, point) in points.iter().enumerate() {
        let loss = |level: &f64| ((level - point.value) / point.error).powi(2).min(BOUND * penalty);
        recent.pop_front();
        recent.push_back(levels.iter().map(loss).collect());
        let mut piece = vec![0.0; levels.len()];
        for losses in &recent {
            piece.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss);
        }
        // The piece that begins here is long enough now.
        let begin = (at + 1).saturating_sub(SHORTEST);
        let before = best.get(begin).map_or(f64::INFINITY, |b: &(f64, usize)| b.0);
        let before = match begin {
            0 if at + 1 < SHORTEST => f64::INFINITY,
            0 => before,
            _ => before + penalty,
        };
        let mut least = (f64::INFINITY, 0);
        for ((cost, now), piece) in costs.iter_mut().zip(recent.back().into_iter().flatten()).zip(&piece) {
            cost.0 += now;
            let new = before + piece;
            // Of equal ways, the one with fewer pieces.
            if new < cost.0 {
                *cost = (new, begin);
            }
            if cost.0 < least.0 {
                least = *cost;
            }
        }
        best.push(least);
    }
    let mut begins = Vec::new();
    let mut until = points.len();
    while let Some((_, begin)) = best.get(until).filter(|(_, begin)| *begin > 0) {
        begins.push(*begin);
        until = *begin;
    }
    begins.reverse();
    begins
}

/// A series with what its levels are estimated from.
struct LevelSeries<'a> {
    points: &'a [SeriesPoint],
    shared: Option<&'a [Vec<f64>]>,
    /// By point: not an outlier.
    kept: Vec<bool>,
    penalty: f64,
}

impl LevelStep {
    /// Its square in squared standard errors.
    fn gain(&self) -> f64 {
        self.difference.powi(2) / self.variance
    }
}

/// A change that was found without regard to shared errors.
struct ChangeCandidate {
    at: usize,
    /// By generalised least squares; `None` where it cannot be computed.
    step: Option<LevelStep>,
    /// Its neighbours have changed since.
    stale: bool,
}

impl ChangeCandidate {
    fn gain(&self) -> f64 {
        self.step.map_or(0.0, |s| s.gain())
    }
}

impl LevelSeries<'_> {
    /// Points of a range that are no outliers; all, if all are.
    fn used(&self, range: Range<usize>) -> Vec<usize> {
        let kept = |i: &usize| self.kept.get(*i).copied().unwrap_or(false);
        let used: Vec<usize> = range.clone().filter(kept).collect();
        if used.is_empty() { range.collect() } else { used }
    }

    /// The weighted mean of a range; `None` of no points.
    fn level(&self, range: Range<usize>) -> Option<SeriesLevel> {
        let used = self.used(range.clone());
        let points: Vec<(usize, &SeriesPoint)> = used.iter().filter_map(|i| Some((*i, self.points.get(*i)?))).collect();
        let weights: f64 = points.iter().map(|(_, p)| p.error.powi(-2)).sum();
        if points.is_empty() {
            return None;
        }
        let share = |p: &SeriesPoint| p.error.powi(-2) / weights;
        let value = points.iter().map(|(_, p)| share(p) * p.value).sum();
        let variance = match self.shared {
            None => 1.0 / weights,
            Some(covariances) => {
                let row = |(i, p): &(usize, &SeriesPoint)| {
                    let own = covariances.get(*i);
                    let with =
                        |(j, q): &(usize, &SeriesPoint)| share(q) * own.and_then(|o| o.get(*j)).copied().unwrap_or(0.0);
                    share(p) * points.iter().map(with).sum::<f64>()
                };
                points.iter().map(row).sum()
            }
        };
        Some(SeriesLevel { points: range, value, variance })
    }

    /// The change between two ranges of points with independent errors.
    fn between(&self, before: Range<usize>, after: Range<usize>) -> Option<LevelStep> {
        let at = after.start;
        let (before, after) = (self.level(before)?, self.level(after)?);
        Some(LevelStep { at, difference: after.value - before.value, variance: before.variance + after.variance })
    }

    /// The changes of points with independent errors that pass the limit; the weakest is left out until all pass.
    fn independent(&self, mut begins: Vec<usize>) -> (Vec<LevelStep>, SerialSpread) {
        loop {
            let ranges = self.ranges(&begins);
            let around = ranges.iter().zip(ranges.iter().skip(1));
            let changes: Vec<LevelStep> = around.filter_map(|(a, b)| self.between(a.clone(), b.clone())).collect();
            let serial = self.serial(&ranges);
            let weakest = changes.iter().enumerate().min_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain()));
            match weakest {
                Some((i, c)) if c.gain() < self.penalty * serial.paid => begins.remove(i),
                _ => return (changes, serial),
            };
        }
    }

    /// The pieces that begin at the first point and at these.
    fn ranges(&self, begins: &[usize]) -> Vec<Range<usize>> {
        let from = [0].into_iter().chain(begins.iter().copied());
        let until = begins.iter().copied().chain([self.points.len()]);
        from.zip(until).map(|(from, until)| from..until).collect()
    }

    /// Of what is left of the points about the levels of these pieces, in units of their errors, as far as they are no outliers.
    fn serial(&self, pieces: &[Range<usize>]) -> SerialSpread {
        let left: Vec<f64> = pieces.iter().flat_map(|piece| self.residuals(piece)).collect();
        SerialSpread::new(&left, pieces.len())
    }

    fn residuals(&self, piece: &Range<usize>) -> Vec<f64> {
        let value = |i: &usize| self.points.get(*i).map_or(0.0, |p| p.value);
        match self.shared {
            None => {
                let level = self.level(piece.clone()).map_or(0.0, |l| l.value);
                let residual = |i: &usize| (value(i) - level) / self.points.get(*i).map_or(1.0, |p| p.error);
                self.used(piece.clone()).iter().map(residual).collect()
            }
            // Bounds the work, as below.
            Some(covariances) => piece
                .clone()
                .step_by(MOST_AROUND)
                .flat_map(|from| {
                    let used = self.used(from..piece.end.min(from + MOST_AROUND));
                    let Some(factor) = cholesky(covariances, &used) else { return Vec::new() };
                    let ones = whitened(&factor, used.iter().map(|_| 1.0));
                    let values = whitened(&factor, used.iter().map(value));
                    let level = dot(&ones, &values) / dot(&ones, &ones);
                    values.iter().zip(&ones).map(|(value, one)| value - level * one).collect()
                })
                .collect(),
        }
    }

    /// The changes that pass the limit in spite of shared errors; the weakest is left out until all pass.
    fn confirmed(&self, covariances: &[Vec<f64>], begins: &[usize]) -> (Vec<LevelStep>, SerialSpread) {
        // Bounds the work: so many points to each side.
        let side = (2_000 / begins.len().max(1)).clamp(30, MOST_AROUND);
        let mut all: Vec<ChangeCandidate> =
            begins.iter().map(|at| ChangeCandidate { at: *at, step: None, stale: true }).collect();
        loop {
            for i in 0..all.len() {
                let from = i.checked_sub(1).and_then(|before| all.get(before)).map_or(0, |c| c.at);
                let until = all.get(i + 1).map_or(self.points.len(), |c| c.at);
                let Some(candidate) = all.get_mut(i).filter(|c| c.stale) else { continue };
                let at = candidate.at;
                let around = from.max(at.saturating_sub(side))..until.min(at + side);
                // The place was found with other weights.
                let first = at.saturating_sub(SHORTEST).max(around.start + SHORTEST);
                let last = (at + SHORTEST).min(around.end.saturating_sub(SHORTEST));
                let step = self.strongest(covariances, around, first..=last);
                *candidate = ChangeCandidate { at: step.map_or(at, |s| s.at), step, stale: false };
            }
            let serial = self.serial(&self.ranges(&all.iter().map(|c| c.at).collect::<Vec<usize>>()));
            let weakest = all.iter().enumerate().min_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain()));
            let Some((i, _)) = weakest.filter(|(_, c)| c.gain() < self.penalty * serial.paid) else {
                return (all.into_iter().filter_map(|c| c.step).collect(), serial);
            };
            all.remove(i);
            for candidate in all.iter_mut().skip(i.saturating_sub(1)).take(if i == 0 { 1 } else { 2 }) {
                candidate.stale = true;
            }
        }
    }

    /// The strongest of the possible changes in a range, by generalised least squares: level before, and difference
    /// after it.
    fn strongest(
        &self,
        covariances: &[Vec<f64>],
        range: Range<usize>,
        places: RangeInclusive<usize>,
    ) -> Option<LevelStep> {
        let used = self.used(range);
        let factor = cholesky(covariances, &used)?;
        let ones = whitened(&factor, used.iter().map(|_| 1.0));
        let value = |i: &usize| self.points.get(*i).map_or(0.0, |p| p.value);
        let values = whitened(&factor, used.iter().map(value));
        let step = |at: usize| {
            let after = whitened(&factor, used.iter().map(|i| f64::from(u8::from(*i >= at))));
            let (level, both, change) = (dot(&ones, &ones), dot(&ones, &after), dot(&after, &after));
            let determinant = level * change - both * both;
            let difference = (level * dot(&after, &values) - both * dot(&ones, &values)) / determinant;
            // Else all points are on one side.
            let both_sides = determinant > 1e-12 * level * change;
            both_sides.then_some(LevelStep { at, difference, variance: level / determinant })
        };
        places.filter_map(step).max_by(|a, b| a.gain().total_cmp(&b.gain()))
    }

    fn detectable(&self, serial: &SerialSpread) -> Option<f64> {
        let n = self.points.len();
        if n < 2 * SHORTEST {
            return None;
        }
        let middle = n / 2;
        let step = match self.shared {
            None => self.between(0..middle, middle..n),
            Some(covariances) => {
                let around = middle.saturating_sub(MOST_AROUND)..n.min(middle + MOST_AROUND);
                self.strongest(covariances, around, middle..=middle)
            }
        };
        step.map(|s| s.variance.sqrt() * ((self.penalty * serial.paid).sqrt() + POWER * serial.expected.sqrt()))
    }
}

/// The rows of the lower triangle whose product with its transpose is the covariance of the used points; `None` if
/// there is none.
fn cholesky(covariances: &[Vec<f64>], used: &[usize]) -> Option<Vec<Vec<f64>>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(used.len());
    for i in used {
        let own = covariances.get(*i)?;
        let mut row: Vec<f64> = Vec::with_capacity(rows.len() + 1);
        for (other, j) in rows.iter().zip(used) {
            let rest = own.get(*j)? - dot(&row, other);
            row.push(rest / other.last()?);
        }
        let variance = own.get(*i)?;
        let rest = variance - dot(&row, &row);
        if rest.is_nan() || rest <= variance * 1e-12 {
            return None;
        }
        row.push(rest.sqrt());
        rows.push(row);
    }
    Some(rows)
}

/// Values of the used points, turned into ones with independent errors of 1.
fn whitened(factor: &[Vec<f64>], values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::with_capacity(factor.len());
    for (row, value) in factor.iter().zip(values) {
        let diagonal = row.last().copied().unwrap_or(1.0);
        let rest = value - dot(&out, row);
        out.push(rest / diagonal);
    }
    out
}

/// As far as the shorter one goes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::positions::{BuildPair, BuildPositions, positions};
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use statrs::distribution::StudentsT;

    fn points(values: impl IntoIterator<Item = f64>, error: f64) -> Vec<SeriesPoint> {
        values.into_iter().map(|value| SeriesPoint { value, error }).collect()
    }

    fn places(points: &[SeriesPoint]) -> Vec<usize> {
        levels(points, None).changes.iter().map(|c| c.at).collect()
    }

    /// `n` values of 0 and `m` of `height`.
    fn step(n: usize, m: usize, height: f64) -> Vec<SeriesPoint> {
        points((0..n + m).map(|i| if i < n { 0.0 } else { height }), 0.004)
    }

    #[test]
    fn a_step_by_hand() {
        let found = levels(&step(10, 20, 0.05), None);
        let [change] = found.changes[..] else { panic!("{found:?}") };
        assert_eq!(change.at, 10);
        assert!((change.difference - 0.05).abs() < 1e-12);
        assert!((change.variance - 1.6e-5 * (0.1 + 0.05)).abs() < 1e-12);
        let [before, after] = &found.levels[..] else { panic!("{found:?}") };
        assert_eq!((before.points.clone(), after.points.clone()), (0..10, 10..30));
        assert!((after.value - 0.05).abs() < 1e-12 && (after.variance - 8e-7).abs() < 1e-12);
        // σ √(1/15 + 1/15) (√penalty + 1.645)
        let expected = 0.004 * (2.0_f64 / 15.0).sqrt() * (penalty(30).sqrt() + 1.645);
        assert!((found.detectable.unwrap() - expected).abs() < 1e-12);
    }

    /// Quantiles of Student's t with 14.5, 49.5 and 149.5 degrees of freedom (scipy).
    #[test]
    fn penalties_are_squares_of_t_values() {
        for (n, t) in [(30, 5.299_f64), (100, 4.596), (300, 4.573)] {
            assert!((penalty(n).sqrt() - t).abs() < 0.06, "{n}: {}", penalty(n).sqrt());
        }
        assert!((6..2_000).all(|n| penalty(n) >= penalty(n + 1) * 0.999 || n > 100));
        assert!(penalty(2_000) < 30.0 && penalty(0).is_finite());
    }

    #[test]
    fn five_points_are_no_level() {
        for height in [0.02, 0.05, 1.0, -40.0] {
            for spike in 1..=5 {
                for at in [0, 1, 14, 30 - spike - 1, 30 - spike] {
                    let mut all = step(30, 0, 0.0);
                    all.iter_mut().skip(at).take(spike).for_each(|p| p.value = height);
                    let found = levels(&all, None);
                    assert!(found.changes.is_empty(), "{spike} of {height} at {at}: {found:?}");
                }
            }
        }
        // Ten are, at an end and inside.
        assert_eq!(places(&step(30, 10, 0.05)), [30]);
        assert_eq!(places(&step(10, 30, 0.05)), [10]);
        let mut all = step(60, 0, 0.0);
        all.iter_mut().skip(25).take(10).for_each(|p| p.value = 0.05);
        assert_eq!(places(&all), [25, 35]);
    }

    #[test]
    fn short_series_show_large_changes_only() {
        assert_eq!(places(&step(10, 10, 0.05)), [10]);
        assert_eq!(places(&step(10, 10, 0.005)), [0_usize; 0]);
        assert_eq!(places(&step(10, 9, 10.0)), [0_usize; 0]);
        let none = levels(&[], None);
        assert_eq!((none.levels, none.changes, none.detectable), (Vec::new(), Vec::new(), None));
        let two = levels(&points([0.0, 1.0], 0.5), None);
        assert_eq!((two.levels.len(), two.levels[0].value, two.detectable), (1, 0.5, None));
    }

    /// Deviations 1 and -1 by pairs, so that of neighbours half are alike: r is 0 but for the mean that was taken off. By eights, of
    /// eight neighbours seven are alike: r = (7 - 1) / 8, nearly.
    #[test]
    fn points_that_resemble_their_neighbours_count_for_less() {
        let by = |run: usize| (0..64).map(|i| if (i / run) & 1 == 0 { 1.0 } else { -1.0 }).collect::<Vec<f64>>();
        let pairs = SerialSpread::new(&by(2), 1);
        assert!(pairs.correlation < 0.05 && (pairs.points - 64.0 / 63.0).abs() < 1e-12, "{pairs:?}");
        let eights = SerialSpread::new(&by(8), 1);
        let expected = (63.0 - 14.0) / 64.0 * 64.0 / 63.0;
        assert!((eights.correlation - expected - (1.0 + 2.0 * expected) / 64.0).abs() < 1e-12, "{eights:?}");
        assert!(eights.expected > 8.0 && eights.paid > eights.expected, "{eights:?}");
        let none = SerialSpread { correlation: 0.0, points: 1.0, expected: 1.0, paid: 1.0 };
        assert_eq!(SerialSpread::new(&[0.0; 30], 1), none);
        assert_eq!(SerialSpread::new(&[3.0, 4.0], 1), none);
    }

    /// A level counts by the errors of its points.
    #[test]
    fn exact_points_count_for_more() {
        let mut all = points([0.0; 12], 0.004);
        all.extend(
            (0..12)
                .map(|i| if i % 2 == 0 { (0.10, 0.002) } else { (0.106, 0.02) })
                .map(|(value, error)| SeriesPoint { value, error }),
        );
        let found = levels(&all, None);
        assert_eq!(found.changes.len(), 1);
        // Weights of 100 and 1.
        assert!((found.changes[0].difference - (10.0 + 0.106) / 101.0).abs() < 1e-9, "{found:?}");
    }

    #[derive(Clone, Copy, Debug)]
    enum Noise {
        Normal,
        /// Student's t with 3 degrees of freedom, its middle half as wide as that of the normal one.
        Heavy,
        /// One point of 20 is off by 20 standard deviations.
        Outliers,
    }

    fn draw(rng: &mut ChaCha8Rng, noise: Noise) -> f64 {
        let normal = Normal::new(0.0, 1.0).unwrap().inverse_cdf(unit(rng));
        match noise {
            Noise::Normal => normal,
            Noise::Heavy => StudentsT::new(0.0, 1.0, 3.0).unwrap().inverse_cdf(unit(rng)) / 1.134,
            Noise::Outliers => match unit(rng) {
                u if u < 0.025 => normal - 20.0,
                u if u < 0.05 => normal + 20.0,
                _ => normal,
            },
        }
    }

    /// Gates of `n` heads against one base, with a noise of 0.4% of which their own blocks show a half.
    fn star(rng: &mut ChaCha8Rng, n: usize, noise: Noise, truth: impl Fn(usize) -> f64) -> BuildPositions {
        let head =
            |i: usize| BuildPair { base: 0, head: i + 1, log: truth(i) + 0.004 * draw(rng, noise), error: 0.002 };
        let pairs: Vec<BuildPair> = (0..n).map(head).collect();
        positions(n + 1, 0, &pairs, &(1..=n).collect::<Vec<usize>>(), 0.0)
    }

    fn found(placed: &BuildPositions, n: usize) -> Vec<usize> {
        let series = placed.series(0, &(1..=n).collect::<Vec<usize>>());
        assert!(series.shared.is_none());
        places(&series.points)
    }

    /// A series of independent points without changes has one with a probability of at most 0.3%: two or more of 100 have one with 4%.
    #[test]
    fn stationary_series_have_no_changes() {
        for (kind, noise) in [Noise::Normal, Noise::Heavy, Noise::Outliers].into_iter().enumerate() {
            for n in [30, 100, 300] {
                let mut rng = generator(31, RandomPurpose::Noise, (kind * 1_000 + n) as u64);
                let with = (0..100).filter(|_| !found(&star(&mut rng, n, noise, |_| 0.0), n).is_empty()).count();
                assert!(with <= 1, "{noise:?}, {n} points: {with} of 100");
            }
        }
    }

    /// Steps of five standard deviations, up and down, anywhere in the middle third. Their squared standard errors are
    /// 160 and more for 30 points. What they must pass is the penalty of 25 times up to 3, as 30 points do not show well that they don't
    /// resemble their neighbours.
    #[test]
    fn steps_of_two_per_cent_are_found() {
        for (kind, noise) in [Noise::Normal, Noise::Heavy, Noise::Outliers].into_iter().enumerate() {
            for n in [30, 100, 300] {
                let mut rng = generator(32, RandomPurpose::Noise, (kind * 1_000 + n) as u64);
                let (mut hits, mut more) = (0, 0);
                for round in 0..100 {
                    let at = n / 3 + round * 7919 % (n / 3);
                    let height = if round % 2 == 0 { 0.02 } else { -0.02 };
                    let places = found(&star(&mut rng, n, noise, |i| if i < at { 0.0 } else { height }), n);
                    hits += usize::from(places.iter().any(|p| p.abs_diff(at) <= 3));
                    more += usize::from(places.len() > 1);
                }
                let least = if n == 30 { 90 } else { 95 };
                assert!(hits >= least && more <= 3, "{noise:?}, {n} points: {hits} of 100 found, {more} with others");
            }
        }
    }

    /// Builds measured against the one before: the errors of all pairs add up, and positions wander by 2% in 100 builds
    /// without any change.
    #[test]
    fn what_adds_up_along_a_chain_is_no_change() {
        let order: Vec<usize> = (0..=100).collect();
        let mut rng = generator(33, RandomPurpose::Noise, 0);
        let (mut invented, mut without_covariances, mut hits) = (0, 0, 0);
        for round in 0..100 {
            let height = if round < 50 { 0.0 } else { 0.02 };
            let at = 20 + round;
            let jump = |head: usize| if round >= 50 && head == at { height } else { 0.0 };
            let pairs: Vec<BuildPair> = (1..=100)
                .map(|h| BuildPair {
                    base: h - 1,
                    head: h,
                    log: jump(h) + 0.002 * draw(&mut rng, Noise::Normal),
                    error: 0.002,
                })
                .collect();
            let series = positions(101, 0, &pairs, &order, 0.0).series(0, &order);
            let found = levels(&series.points, series.shared.as_deref());
            without_covariances += usize::from(partition(&series.points, penalty(101)).len() > 1);
            // As many builds as a level needs are behind it.
            let expected = round >= 50 && at <= 101 - SHORTEST;
            hits += usize::from(expected && found.changes.iter().any(|c| c.at.abs_diff(at) <= 3));
            invented += usize::from(found.changes.iter().any(|c| round < 50 || c.at.abs_diff(at) > 3));
        }
        assert!(without_covariances > 90, "{without_covariances}: the test is too easy");
        // Ten standard errors of one pair, its square four times the penalty. All evidence is that pair, so some are taken for an outlier.
        assert!(invented <= 1 && hits >= 20, "{invented} invented, {hits} of 22 found");
    }

    /// All builds after a change of the base share the error of the base's own measurement, here three standard errors.
    #[test]
    fn the_error_of_a_new_base_is_no_change() {
        let n = 60;
        let mut rng = generator(34, RandomPurpose::Noise, 0);
        let mut gate = |base: usize, head: usize| {
            let log = 0.002 * draw(&mut rng, Noise::Normal);
            BuildPair { base, head, log, error: 0.002 }
        };
        // Build 0 is the first base, build n + 1 the second one; the others follow each other in time.
        let (second, order) = (n + 1, (0..=2 * n + 1).collect::<Vec<usize>>());
        let mut pairs: Vec<BuildPair> = (1..=n).map(|h| gate(0, h)).collect();
        pairs.extend((second + 1..=2 * n + 1).map(|h| gate(second, h)));
        let with_link = |height: f64| {
            let mut all = pairs.clone();
            all.push(BuildPair { base: 0, head: second, log: height, error: 0.004 });
            positions(2 * n + 2, 0, &all, &order, 0.0).series(0, &order)
        };
        let series = with_link(0.012);
        assert!(!levels(&series.points, None).changes.is_empty(), "the test is too easy");
        let found = levels(&series.points, series.shared.as_deref());
        assert!(found.changes.is_empty(), "{:?}", found.changes);
        // What the overlap does show is found.
        let series = with_link(0.06);
        let found = levels(&series.points, series.shared.as_deref());
        let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
        assert_eq!(change.at, second);
        let error = change.variance.sqrt();
        assert!((change.difference - 0.06).abs() < 0.004 && (0.0035..0.005).contains(&error), "{change:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_series_is_cut_into_levels(
            all in proptest::collection::vec((-1e3..1e3_f64, 1e-4..1.0_f64), 0..60),
        ) {
            let all: Vec<SeriesPoint> = all.into_iter().map(|(value, error)| SeriesPoint { value, error }).collect();
            let found = levels(&all, None);
            prop_assert_eq!(found.levels.len(), if all.is_empty() { 0 } else { found.changes.len() + 1 });
            let mut from = 0;
            for level in &found.levels {
                prop_assert_eq!(level.points.start, from);
                prop_assert!(level.points.len() >= SHORTEST || found.levels.len() == 1);
                prop_assert!(level.value.is_finite() && level.variance > 0.0);
                from = level.points.end;
            }
            prop_assert_eq!(from, all.len());
        }

        /// Neither the unit of the values nor the direction of time makes a difference. Levels are on a lattice, so
        /// that places may differ by rounding: the number of changes of clear steps is compared.
        #[test]
        fn units_and_directions_do_not_matter(
            n in SHORTEST..24_usize, m in SHORTEST..24_usize, height in 0.2..2.0_f64, unit in 0.01..100.0_f64
        ) {
            let all = step(n, m, height);
            let scaled: Vec<SeriesPoint> =
                all.iter().map(|p| SeriesPoint { value: p.value * unit + 3.0 * unit, error: p.error * unit }).collect();
            let reversed: Vec<SeriesPoint> = all.iter().rev().copied().collect();
            prop_assert_eq!(places(&all), vec![n]);
            prop_assert_eq!(places(&scaled), vec![n]);
            prop_assert_eq!(places(&reversed), vec![m]);
        }
    }
}
