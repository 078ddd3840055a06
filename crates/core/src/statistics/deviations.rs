//! Intervals of standard deviations, and of the ratio of two of them.
//!
//! The textbook interval, by chi-squared, holds for normal values only, and times are not normal. Both of these are on the
//! logarithmic scale, where a deviation is distributed more evenly.

use crate::statistics::intervals::{FEWEST, Interval, LEVEL};
use crate::statistics::limits::Limits;
use crate::statistics::random::{RandomPurpose, below, generator};
use crate::statistics::series::{Values, moments};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Resamples of the bootstrap; a standard error needs fewer than a percentile does.
const RESAMPLES: usize = 200;
/// Items of these intervals' random numbers, apart from those of the intervals of means, which share the purpose.
const ITEMS: u64 = 1 << 40;

/// Interval of the standard deviation of what check 2 retains, by bootstrap of the whole procedure.
///
/// `passed` are the values that check 1 left. Each resample goes through check 2 with the same `s` (0: without it). The standard
/// error of the logarithm is taken from the resamples, and the interval is Student's quantile times that around the logarithm of
/// the deviation. What it encloses is what the procedure gives on average for as many values. Coverage measured for normal values:
/// 95% without check 2 and 97 to 100% with s = 2, for 10 and 20 values.
///
/// `None` if check 2 retains fewer than 6 values, or these do not differ.
pub fn deviation_interval(passed: &Values, s: f64, seed: u64, item: u64) -> Option<Interval> {
    let sorted = passed.sorted();
    let n = sorted.len();
    let pivot = *sorted.get(n / 2)?;
    let limits = Limits::of_sorted(&sorted, s);
    let kept = sorted.iter().filter(|v| limits.is_none_or(|l| l.holds(**v))).count();
    if kept < FEWEST as usize {
        return None;
    }
    let shifted: Vec<f64> = sorted.iter().map(|v| v - pivot).collect();
    let found = retained_deviation(&shifted, s)?;
    let mut rng = generator(seed, RandomPurpose::Bootstrap, ITEMS + item);
    let most = u32::try_from(n).ok()?;
    let mut resample = shifted.clone();
    let mut logarithms = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for place in &mut resample {
            *place = shifted.get(below(&mut rng, most) as usize).copied().unwrap_or(0.0);
        }
        logarithms.extend(retained_deviation(&resample, s).map(f64::ln));
    }
    // Where many resamples hold a single value again and again, the values are too coarse for an interval.
    if logarithms.len() < RESAMPLES / 2 {
        return None;
    }
    logarithms.sort_by(f64::total_cmp);
    let error = moments(&logarithms)?.1? * (n as f64 / (n as f64 - 1.0)).sqrt();
    let reach = quantile(n)? * error;
    Some(Interval { low: found * (-reach).exp(), high: found * reach.exp(), level: LEVEL })
}

/// The standard deviation of those values that check 2 retains; `None` if they do not differ.
fn retained_deviation(values: &[f64], s: f64) -> Option<f64> {
    let (mean, deviation) = plain(values, |_| true)?;
    let reach = if s > 0.0 { s * deviation } else { f64::INFINITY };
    plain(values, |v| (v - mean).abs() <= reach).map(|found| found.1)
}

/// Mean and standard deviation (n - 1) of the values that are kept, around 0; `None` if these do not differ.
fn plain(values: &[f64], keep: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    let kept = || values.iter().copied().filter(|v| keep(*v));
    let n = kept().count() as f64;
    let mean = kept().sum::<f64>() / n;
    let squares: f64 = kept().map(|v| (v - mean).powi(2)).sum();
    (squares > 0.0 && n > 1.0).then(|| (mean, (squares / (n - 1.0)).sqrt()))
}

/// 97.5% quantile of Student's distribution for a mean of `n`.
fn quantile(n: usize) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, n as f64 - 1.0).ok()?.inverse_cdf(1.0 - (1.0 - LEVEL) / 2.0))
}

/// How the spreads of two measures of the same samples compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviationRatio {
    /// Spread of the first divided by that of the second.
    pub ratio: f64,
    /// 95% interval of it; `None` if there are too few samples, or one sample alone makes a spread.
    pub interval: Option<Interval>,
    /// Probability of a difference like this or larger if the spreads were equal.
    pub p: Option<f64>,
}

/// Which spread is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationKind {
    Deviation,
    /// Standard deviation over the mean, the papers' relative error.
    RelativeError,
}

/// The spread of the first measure over that of the second, of the same samples in the same order; `None` stands for a sample that
/// was discarded for this measure. Interval and p by the jackknife of the ratio's logarithm (Miller, Jackknifing variances,
/// Annals of Mathematical Statistics 39, 1968), which assumes independent samples and no distribution.
///
/// `None` if one of them has fewer than 2 values, or no spread, or a mean that is not positive.
pub fn deviation_ratio(first: &[Option<f64>], second: &[Option<f64>], kind: DeviationKind) -> Option<DeviationRatio> {
    let (a, b) = (log_spread(first, kind)?, log_spread(second, kind)?);
    let found = DeviationRatio { ratio: (a.all - b.all).exp(), interval: None, p: None };
    let n = a.without.len().min(b.without.len());
    let Some(differences) =
        a.without.iter().zip(&b.without).map(|(a, b)| Some((*a)? - (*b)?)).collect::<Option<Vec<_>>>()
    else {
        return Some(found);
    };
    let mut pseudo: Vec<f64> = differences.iter().map(|d| n as f64 * (a.all - b.all) - (n as f64 - 1.0) * d).collect();
    pseudo.sort_by(f64::total_cmp);
    let Some((center, Some(deviation))) = moments(&pseudo) else { return Some(found) };
    let error = deviation / (n as f64).sqrt();
    let student = StudentsT::new(0.0, 1.0, n as f64 - 1.0).ok();
    let (Some(student), Some(quantile), true) = (student, quantile(n), n >= FEWEST as usize && error > 0.0) else {
        return Some(found);
    };
    let bound = |side: f64| (center + side * quantile * error).exp();
    let interval = Interval { low: bound(-1.0), high: bound(1.0), level: LEVEL };
    let p = (2.0 * student.sf((center / error).abs())).min(1.0);
    Some(DeviationRatio { interval: Some(interval), p: Some(p), ..found })
}

/// The logarithm of a spread.
struct LogDeviation {
    all: f64,
    /// Of all but each; that of all for a sample without a value; `None` where the others do not differ.
    without: Vec<Option<f64>>,
}

fn log_spread(values: &[Option<f64>], kind: DeviationKind) -> Option<LogDeviation> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let n = known.len() as f64;
    let pivot = *known.first()?;
    let shift = known.iter().map(|v| v - pivot).sum::<f64>() / n;
    let squares: f64 = known.iter().map(|v| (v - pivot - shift).powi(2)).sum();
    let logarithm = |squares: f64, n: f64, mean: f64| {
        let spread = squares / (n - 1.0);
        let over = if kind == DeviationKind::RelativeError { mean } else { 1.0 };
        (spread > 0.0 && over > 0.0 && n > 1.0).then(|| 0.5 * spread.ln() - over.ln())
    };
    let all = logarithm(squares, n, pivot + shift)?;
    let without = |value: &Option<f64>| {
        let Some(v) = value else { return Some(all) };
        let off = v - pivot - shift;
        let rest = squares - n / (n - 1.0) * off * off;
        // What is left of the squares is rounding error if this value alone differed.
        let rest = if rest > squares * 1e-12 { rest } else { 0.0 };
        logarithm(rest, n - 1.0, pivot + shift - off / (n - 1.0))
    };
    Some(LogDeviation { all, without: values.iter().map(without).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::normal;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn covers_the_deviation_of_normal_values() {
        let mut rng = generator(3, RandomPurpose::Noise, 900);
        let series = 150;
        let hits = (0..series).filter(|i| {
            let values = Values::new((0..20).map(|_| 100.0 + 3.0 * normal(&mut rng))).unwrap();
            deviation_interval(&values, 0.0, 1, *i).unwrap().contains(3.0)
        });
        let hits = hits.count();
        assert!(hits >= 132, "88% at least, 95% usually: {hits} of {series}");
    }

    #[test]
    fn no_interval_without_spread_or_with_too_few() {
        let of_values = |v: &[f64]| deviation_interval(&Values::new(v.iter().copied()).unwrap(), 2.0, 1, 1);
        assert_eq!(of_values(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(of_values(&[7.0; 30]), None);
        assert_eq!(of_values(&[]), None);
        let i = of_values(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert!(i.low < 2.16 && i.high > 2.16, "{i:?}");
    }

    #[test]
    fn the_ratio_of_two_deviations() {
        let first = some(&[10.0, 14.0, 12.0, 16.0, 8.0, 12.0, 11.0, 13.0]);
        let half = first.iter().map(|v| v.map(|v| v / 2.0)).collect::<Vec<_>>();
        let found = deviation_ratio(&first, &half, DeviationKind::Deviation).unwrap();
        assert!((found.ratio - 2.0).abs() < 1e-12, "{found:?}");
        // The same values twice: nothing varies, so that there is no interval, or one without width.
        assert!(found.interval.is_none_or(|i| (i.high - i.low).abs() < 1e-6));
        let same = deviation_ratio(&first, &half, DeviationKind::RelativeError).unwrap();
        assert!((same.ratio - 1.0).abs() < 1e-12, "{same:?}");
        assert_eq!(deviation_ratio(&first, &some(&[1.0; 8]), DeviationKind::Deviation), None);
        assert_eq!(deviation_ratio(&[], &[], DeviationKind::Deviation), None);
        let alone = some(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]);
        assert_eq!(deviation_ratio(&alone, &first, DeviationKind::Deviation).unwrap().interval, None);
    }

    #[test]
    fn equal_spreads_are_told_apart_in_five_per_cent() {
        let mut rng = generator(4, RandomPurpose::Noise, 901);
        let (mut wrong, mut found) = (0, 0);
        for _ in 0..400 {
            let mut draw = |s: f64| (0..30).map(|_| Some(50.0 + s * normal(&mut rng))).collect::<Vec<_>>();
            let (a, b, wide) = (draw(1.0), draw(1.0), draw(4.0));
            let p = |a: &[Option<f64>], b: &[Option<f64>]| {
                deviation_ratio(a, b, DeviationKind::Deviation).unwrap().p.unwrap()
            };
            wrong += usize::from(p(&a, &b) < 0.05);
            found += usize::from(p(&wide, &b) < 0.05);
        }
        // 20 of 400 are expected; 40 is more than four of their standard deviations (4.4) above.
        assert!(wrong <= 40 && found >= 395, "{wrong}, {found}");
    }
}
