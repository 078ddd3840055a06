//! What makes a series of times other than repetitions of one measurement: drift, a step, warm-up, modes, correlation of
//! neighbours, a coarse clock.
//!
//! A line and a step are fitted to the values, which are first limited to four robust standard deviations around their median, so
//! that single disturbances do not make either. Their t values are reduced by what the correlation of the residuals does to the
//! error of a mean, (1 + ρ) / (1 - ρ) (Bartlett, 1946), with ρ corrected for the fit (Kendall, 1954). The limits of the t values
//! are from simulations of 20,000 series for each length from 10 to 200: independent normal, lognormal, exponential values, normal
//! ones with spikes of 10 standard deviations in 5%, two modes, and first-order autoregression with ρ of 0.3 to 0.7.

use crate::statistics::correlation::ranks;
use crate::statistics::mixture::{FEWEST_FOR_MODES, MixtureFit, mixture, resolution};
use crate::statistics::series::median_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Fewest values that are looked at.
pub const FEWEST_FOR_STEADINESS: usize = 10;
/// A change of times by a smaller share, and a coarser clock, matter to nobody.
const LEAST_SHARE: f64 = 0.01;
/// Fewest values on each side of a step.
const SHORTEST: usize = 3;
/// A step down within this share of the series is its warm-up.
const WARM_UP: f64 = 1.0 / 3.0;
/// Values are limited to so many robust standard deviations.
const REACH: f64 = 4.0;
/// Residuals count in their correlation up to so many.
const NEAR: f64 = 2.0;
/// Highest correlation of residuals that is allowed for.
const MOST_CORRELATED: f64 = 0.9;
/// Smallest correlation of neighbours that is pointed out: with it, 100 values say as much as 54.
const LEAST_CORRELATION: f64 = 0.3;
/// Standard errors above 0, of ranks of independent values: exceeded in about 1 of 700 series.
const CORRELATION_ERRORS: f64 = 3.0;
/// Smallest share of a mode: spikes in 5% of the values are none.
const LEAST_MODE: f64 = 0.12;
/// Modes are looked for in so many values at most, evenly spaced.
const MOST_FOR_MODES: usize = 2_000;
/// A clock is coarse if its tick is longer than this share of the standard deviation.
const COARSE: f64 = 0.5;

/// What is not steady in a series. Times are in the unit of the values; `at` and `samples` count its values, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Unsteadiness {
    /// The first values are longer than the later ones.
    WarmUp {
        /// How many.
        samples: u32,
        /// Their median.
        first: f64,
        /// That of the others.
        later: f64,
    },
    /// The level changed once.
    Step {
        /// The first value of the new level.
        at: u32,
        /// Median before it.
        before: f64,
        /// Median from there on.
        after: f64,
    },
    /// The times rose or fell all along.
    Drift {
        /// Of the fitted line, at the first value.
        from: f64,
        /// At the last one.
        to: f64,
    },
    /// Two modes.
    Modes {
        /// Median of the faster one.
        fast: f64,
        slow: f64,
        /// Share of the values that are of the slower one.
        slow_share: f64,
    },
    /// Neighbours are alike.
    SerialCorrelation {
        /// Of the ranks of neighbours, corrected for the length of the series.
        r: f64,
        values: u32,
        /// So many independent values would have as exact a mean.
        independent: f64,
    },
    /// All times differ by multiples of a long tick.
    Ticks {
        tick: f64,
        /// Different times.
        distinct: u32,
        values: u32,
    },
}

impl Unsteadiness {
    /// The smaller, the more it changes what the figures mean.
    pub fn rank(&self) -> u8 {
        match self {
            Unsteadiness::Drift { .. } => 0,
            Unsteadiness::Step { .. } => 1,
            Unsteadiness::WarmUp { .. } => 2,
            Unsteadiness::Modes { .. } => 3,
            Unsteadiness::SerialCorrelation { .. } => 4,
            Unsteadiness::Ticks { .. } => 5,
        }
    }

    /// Whether times changed by enough for anybody.
    fn matters(&self) -> bool {
        let (a, b) = match self {
            Unsteadiness::WarmUp { first, later, .. } => (*first, *later),
            Unsteadiness::Step { before, after, .. } => (*before, *after),
            Unsteadiness::Drift { from, to } => (*from, *to),
            Unsteadiness::Modes { fast, slow, .. } => (*fast, *slow),
            Unsteadiness::SerialCorrelation { .. } | Unsteadiness::Ticks { .. } => return true,
        };
        let least = a.min(b);
        least > 0.0 && (a - b).abs() >= LEAST_SHARE * least
    }

    /// The same, with places in a series of which the values are blocks: `first` is the number of a value's first sample.
    pub fn in_samples(self, first: impl Fn(u32) -> u32) -> Unsteadiness {
        match self {
            Unsteadiness::WarmUp { samples, first: slow, later } => {
                Unsteadiness::WarmUp { samples: first(samples), first: slow, later }
            }
            Unsteadiness::Step { at, before, after } => Unsteadiness::Step { at: first(at), before, after },
            other => other,
        }
    }
}

/// Looks at a series in the order of time, of finite times. The most consequential comes first, and what one explains is not
/// repeated: a change of the level makes modes and correlation, too. A series of independent values has one in less than 2% of cases.
///
/// `tick` is that of the clock in the unit of the values ([`coarse_clock`]), or 0.
pub fn unsteadiness(values: &[f64], tick: f64, seed: u64, item: u64) -> Vec<Unsteadiness> {
    if values.len() < FEWEST_FOR_STEADINESS {
        return Vec::new();
    }
    let Some(limited) = LimitedSeries::new(values, tick) else { return Vec::new() };
    let change = limited.level_change(values);
    // A change too small to matter explains correlation all the same, but not modes further apart.
    let correlation = if change.is_none() && limited.varies() { serial(values) } else { None };
    if let Some(change) = change.filter(Unsteadiness::matters) {
        return vec![change];
    }
    // A coarse clock has a mode at each of its ticks.
    let modes = if tick > 0.0 { None } else { modes(values, seed, item) };
    modes.into_iter().chain(correlation).collect()
}

/// Whether all times are multiples of a tick that is long beside their spread, and how many there are. Equal times are no sign
/// of it.
pub fn coarse_clock(times: &[i64]) -> Option<Unsteadiness> {
    if times.len() < FEWEST_FOR_STEADINESS {
        return None;
    }
    let tick = resolution(times) as f64;
    let values: Vec<f64> = times.iter().map(|t| *t as f64).collect();
    let median = median_of(values.clone())?;
    let deviation = (squares(&values, mean(&values)) / (values.len() - 1) as f64).sqrt();
    let coarse = tick > 0.0 && tick >= LEAST_SHARE * median.abs() && tick > COARSE * deviation;
    let distinct = || times.iter().collect::<BTreeSet<&i64>>();
    coarse.then(|| Unsteadiness::Ticks { tick, distinct: count(distinct().len()), values: count(times.len()) })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn squares(values: &[f64], around: f64) -> f64 {
    values.iter().map(|v| (v - around).powi(2)).sum()
}

/// Deviations from the median as shares of it, limited.
struct LimitedSeries {
    shares: Vec<f64>,
    median: f64,
    /// Smallest variance of residuals: what a value loses to the tick.
    rounding: f64,
}

/// A line or a step, and how far it stands out.
struct LevelFit {
    /// By value.
    at: Vec<f64>,
    residual: f64,
    /// t value, reduced by the correlation of the residuals.
    t: f64,
}

impl LimitedSeries {
    /// `None` for values that do not differ.
    fn new(values: &[f64], tick: f64) -> Option<LimitedSeries> {
        let median = median_of(values.to_vec()).filter(|m| *m > 0.0)?;
        let shares: Vec<f64> = values.iter().map(|v| (v - median) / median).collect();
        let deviation = typical(&shares);
        if deviation.is_nan() || deviation <= 0.0 {
            return None;
        }
        let reach = REACH * deviation.max(tick / median);
        let shares = shares.into_iter().map(|s| s.clamp(-reach, reach)).collect();
        Some(LimitedSeries { shares, median, rounding: (tick / median).powi(2) / 12.0 })
    }

    /// Whether two standard deviations matter.
    fn varies(&self) -> bool {
        let variance = squares(&self.shares, mean(&self.shares)) / self.shares.len() as f64;
        2.0 * variance.sqrt() >= LEAST_SHARE
    }

    /// A fit whose explained sum of squares is `explained`; `parameters` are what it was fitted by, the place of a step included.
    fn fit(&self, at: Vec<f64>, explained: f64, parameters: f64) -> LevelFit {
        let n = self.shares.len() as f64;
        let residuals: Vec<f64> = self.shares.iter().zip(&at).map(|(s, a)| s - a).collect();
        let residual = residuals.iter().map(|r| r * r).sum::<f64>();
        let variance = residual / (n - parameters);
        // Fits take a part of the correlation away: so much, by simulation. What is left within a tick has none.
        let r = correlation(&residuals);
        let rho = (r + (parameters + (parameters + 2.0) * r) / n).clamp(0.0, MOST_CORRELATED);
        let (variance, rho) = if variance > self.rounding { (variance, rho) } else { (self.rounding, 0.0) };
        let t = (explained / variance * (1.0 - rho) / (1.0 + rho)).sqrt();
        LevelFit { at, residual, t }
    }

    fn line(&self) -> LevelFit {
        let (n, mean) = (self.shares.len() as f64, mean(&self.shares));
        let from_middle = |i: usize| i as f64 - (n - 1.0) / 2.0;
        let all = || self.shares.iter().enumerate();
        let squares: f64 = all().map(|(i, _)| from_middle(i).powi(2)).sum();
        let slope = all().map(|(i, s)| from_middle(i) * s).sum::<f64>() / squares;
        let at = all().map(|(i, _)| mean + slope * from_middle(i)).collect();
        self.fit(at, slope * slope * squares, 2.0)
    }

    /// The step that leaves the smallest residuals, and its place.
    fn step(&self) -> (usize, LevelFit) {
        let (n, mean) = (self.shares.len(), mean(&self.shares));
        let mut sum = 0.0;
        let mut best = (SHORTEST, 0.0, 0.0);
        for (i, share) in self.shares.iter().enumerate() {
            sum += share - mean;
            let before = i + 1;
            let explained = sum * sum * n as f64 / (before * n.saturating_sub(before).max(1)) as f64;
            if (SHORTEST..=n - SHORTEST).contains(&before) && explained > best.1 {
                best = (before, explained, sum);
            }
        }
        let (place, explained, sum) = best;
        let (before, after) = (mean + sum / place as f64, mean - sum / (n - place) as f64);
        let at = (0..n).map(|i| if i < place { before } else { after }).collect();
        (place, self.fit(at, explained, 3.0))
    }

    /// The line or the step, whichever explains more, if it cannot be chance.
    fn level_change(&self, values: &[f64]) -> Option<Unsteadiness> {
        let n = values.len() as f64;
        let line = self.line();
        let (place, step) = self.step();
        let line = Some(line).filter(|l| l.t > 3.2 + 36.0 / n);
        let step = Some(step).filter(|s| s.t > 4.5 + 45.0 / n);
        match (line, step) {
            (Some(line), Some(step)) if line.residual <= step.residual => self.drift(&line),
            (_, Some(_)) => change_at(values, place),
            (Some(line), None) => self.drift(&line),
            (None, None) => None,
        }
    }

    fn drift(&self, line: &LevelFit) -> Option<Unsteadiness> {
        let time = |share: &f64| self.median * (1.0 + share);
        Some(Unsteadiness::Drift { from: time(line.at.first()?), to: time(line.at.last()?) })
    }
}

/// Medians are of the values as they are, not as they were limited.
fn change_at(values: &[f64], place: usize) -> Option<Unsteadiness> {
    let (before, after) = values.split_at_checked(place)?;
    let (a, b) = (median_of(before.to_vec())?, median_of(after.to_vec())?);
    let at = count(place);
    Some(if a > b && place as f64 <= WARM_UP * values.len() as f64 {
        Unsteadiness::WarmUp { samples: at, first: a, later: b }
    } else {
        Unsteadiness::Step { at, before: a, after: b }
    })
}

/// Correlation of deviations with the next ones, as if their mean was 0.
fn neighbours(deviations: &[f64]) -> f64 {
    let n = deviations.len() as f64;
    let products: f64 = deviations.iter().zip(deviations.iter().skip(1)).map(|(a, b)| a * b).sum();
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    if squares > 0.0 { products / squares * n / (n - 1.0) } else { 0.0 }
}

/// As a standard deviation: that of a normal distribution with such deviations from its middle, half of which are smaller than the
/// median of their amounts. If most are 0, by their mean.
fn typical(deviations: &[f64]) -> f64 {
    let off: Vec<f64> = deviations.iter().map(|d| d.abs()).collect();
    let mean = mean(&off);
    match median_of(off) {
        Some(middle) if middle > 0.0 => middle / 0.6745,
        _ => mean / 0.7979,
    }
}

/// Two disturbed values beside each other make no correlation of their own.
fn correlation(residuals: &[f64]) -> f64 {
    let reach = NEAR * typical(residuals);
    let limited: Vec<f64> = residuals.iter().map(|r| r.clamp(-reach, reach)).collect();
    neighbours(&limited)
}

/// By ranks, of which the chance is the same for all distributions.
fn serial(values: &[f64]) -> Option<Unsteadiness> {
    let n = values.len() as f64;
    let from_middle: Vec<f64> = ranks(values).iter().map(|rank| rank - (n + 1.0) / 2.0).collect();
    let raw = neighbours(&from_middle);
    let r = (raw + (1.0 + 3.0 * raw) / n).min(MOST_CORRELATED);
    let found = raw > CORRELATION_ERRORS / n.sqrt() - 1.0 / n && r >= LEAST_CORRELATION;
    let independent = (n * (1.0 - r) / (1.0 + r)).max(1.0);
    found.then(|| Unsteadiness::SerialCorrelation { r, values: count(values.len()), independent })
}

fn modes(values: &[f64], seed: u64, item: u64) -> Option<Unsteadiness> {
    if values.len() < FEWEST_FOR_MODES {
        return None;
    }
    let some: Vec<f64> = values.iter().copied().step_by(values.len().div_ceil(MOST_FOR_MODES)).collect();
    let fit = mixture(&some, 0.0, seed, item).ok().filter(MixtureFit::two_modes)?;
    let [fast, slow] = fit.components;
    let shared = fast.weight.min(slow.weight) >= LEAST_MODE;
    let found = Unsteadiness::Modes { fast: fast.median, slow: slow.median, slow_share: slow.weight };
    Some(found).filter(|f| shared && f.matters())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, normal, unit};
    use rand_chacha::ChaCha8Rng;

    const LENGTHS: [usize; 6] = [10, 15, 20, 40, 100, 200];

    #[derive(Clone, Copy, Debug)]
    enum Noise {
        Normal,
        Lognormal,
        Exponential,
        /// One value of 20 is 10 standard deviations longer.
        Spikes,
        /// Multiples of 10 ms.
        Ticks,
        Autoregressive(f64),
    }

    const INDEPENDENT: [Noise; 4] = [Noise::Normal, Noise::Lognormal, Noise::Exponential, Noise::Spikes];

    /// Times around 100 ms, in ns; `deviation` is that of the normal ones, as a share.
    fn stationary(rng: &mut ChaCha8Rng, noise: Noise, n: usize, deviation: f64) -> Vec<f64> {
        let mut before = 0.0;
        let mut draw = || {
            let z = normal(rng);
            1e8 * match noise {
                Noise::Normal => 1.0 + deviation * z,
                Noise::Lognormal => (10.0 * deviation * z).exp(),
                Noise::Exponential => 1.0 - 5.0 * deviation * unit(rng).ln(),
                Noise::Spikes => 1.0 + deviation * (z + if unit(rng) < 0.05 { 10.0 } else { 0.0 }),
                Noise::Ticks => 1.0 + 0.1 * (deviation * 10.0 * z).round(),
                Noise::Autoregressive(rho) => {
                    before = rho * before + z * (1.0 - rho * rho).sqrt();
                    1.0 + deviation * before
                }
            }
        };
        let start = 60;
        (0..n + start).map(|_| draw()).skip(start).collect()
    }

    fn look(values: &[f64]) -> Vec<Unsteadiness> {
        let times: Vec<i64> = values.iter().map(|v| v.round() as i64).collect();
        let clock = coarse_clock(&times);
        let tick = if let Some(Unsteadiness::Ticks { tick, .. }) = &clock { *tick } else { 0.0 };
        unsteadiness(values, tick, 1, 0).into_iter().chain(clock).collect()
    }

    /// How many of `series` have something that `counts`.
    fn with(
        noise: Noise,
        n: usize,
        series: usize,
        change: impl Fn(usize, f64) -> f64,
        counts: impl Fn(&[Unsteadiness]) -> bool,
    ) -> usize {
        let mut rng = generator(41, RandomPurpose::Noise, n as u64);
        let mut drawn = || {
            let values = stationary(&mut rng, noise, n, DEVIATION);
            values.iter().enumerate().map(|(i, v)| change(i, *v)).collect::<Vec<f64>>()
        };
        (0..series).filter(|_| counts(&look(&drawn()))).count()
    }

    const DEVIATION: f64 = 0.02;

    fn level(found: &[Unsteadiness]) -> bool {
        use Unsteadiness as U;
        found.iter().any(|f| !matches!(f, U::SerialCorrelation { .. }))
    }

    /// At most 2% of stationary series have any; of autoregressive ones more than correlation.
    fn stationary_series_have_none(series: usize) {
        for noise in INDEPENDENT {
            for n in LENGTHS {
                let any = with(noise, n, series, |_, v| v, |found| !found.is_empty());
                println!("{noise:?}, {n} values: {any} of {series}");
                assert!(any * 50 <= series.max(100), "{noise:?}, {n} values: {any} of {series}");
            }
        }
        for rho in [0.3, 0.5] {
            for n in LENGTHS {
                let any = with(Noise::Autoregressive(rho), n, series, |_, v| v, level);
                println!("correlation of {rho}, {n} values: {any} of {series}");
                assert!(any * 50 <= series.max(100), "correlation of {rho}, {n} values: {any} of {series}");
            }
        }
    }

    /// At least 95% of disturbed series have what disturbs them.
    fn disturbed_series_have_theirs(series: usize) {
        use Unsteadiness as U;
        let found = |name: &str, noise, n: usize, change: &dyn Fn(usize, f64) -> f64, is: &dyn Fn(&U) -> bool| {
            let hits = with(noise, n, series, change, |found| found.first().is_some_and(is));
            println!("{name}, {n} values: {hits} of {series}");
            assert!(hits * 20 >= series * 19, "{name}, {n} values: {hits} of {series}");
        };
        for n in LENGTHS {
            let drift = |i: usize, v: f64| v + 0.3e8 * i as f64 / (n - 1) as f64;
            found(
                "drift of 30%",
                Noise::Normal,
                n,
                &drift,
                &|f| matches!(f, U::Drift { from, to } if (from / 1e8 - 1.0).abs() < 0.06 && (to / 1.3e8 - 1.0).abs() < 0.06),
            );
            let step = |i: usize, v: f64| if i < n / 2 { v } else { v + 0.2e8 };
            let is_step = |f: &U| {
                matches!(f, U::Step { at, before, after } if at.abs_diff(n as u32 / 2) <= 1
                    && (before / 1e8 - 1.0).abs() < 0.04 && (after / 1.2e8 - 1.0).abs() < 0.04)
            };
            // Of 10 values, a step of 10 standard deviations is found in a part of the series only.
            if n >= 15 {
                found("step of 20%", Noise::Normal, n, &step, &is_step);
            }
            if n >= 40 {
                found("step of 20% among spikes", Noise::Spikes, n, &step, &|f| matches!(f, U::Step { .. }));
            }
        }
        let cold = |i: usize, v: f64| if i < 10 { 1.2 * v } else { v };
        let is_warm_up = |f: &U| matches!(f, U::WarmUp { samples: 9..=11, .. });
        found("10 warm-ups", Noise::Normal, 40, &cold, &is_warm_up);
        found("10 warm-ups among spikes", Noise::Spikes, 40, &cold, &|f| matches!(f, U::WarmUp { .. }));
        let decay = |i: usize, v: f64| v * (1.0 + 0.5 * (-(i as f64) / 4.0).exp());
        found("warm-up that decays", Noise::Normal, 40, &decay, &|f| matches!(f, U::WarmUp { samples: 4..=13, .. }));
        let correlated = |f: &U| matches!(f, U::SerialCorrelation { r, .. } if *r > 0.35);
        found("correlation of 0.7", Noise::Autoregressive(0.7), 100, &|_, v| v, &correlated);
    }

    fn two_modes(series: usize) {
        let mut rng = generator(42, RandomPurpose::Noise, 0);
        let mut finds_them = |_| {
            let times = (0..100).map(|_| {
                let slow = unit(&mut rng) < 0.2;
                1e8 * (1.0 + 0.005 * normal(&mut rng)) * if slow { 1.05 } else { 1.0 }
            });
            let found = look(&times.collect::<Vec<f64>>());
            matches!(found.first(), Some(Unsteadiness::Modes { fast, slow, slow_share })
                if (slow / fast - 1.05).abs() < 0.01 && (0.1..0.32).contains(slow_share))
        };
        let hits = (0..series).map(&mut finds_them).filter(|found| *found).count();
        println!("two modes: {hits} of {series}");
        assert!(hits * 20 >= series * 19, "{hits} of {series}");
    }

    #[test]
    fn few_stationary_series_have_a_remark() {
        stationary_series_have_none(60);
    }

    #[test]
    fn disturbances_are_found() {
        disturbed_series_have_theirs(40);
        two_modes(20);
    }

    #[test]
    #[ignore = "slow: 1,000 series of each kind and length (make slow)"]
    fn few_stationary_series_have_a_remark_in_full() {
        stationary_series_have_none(1_000);
    }

    #[test]
    #[ignore = "slow: 1,000 series of each kind and length (make slow)"]
    fn disturbances_are_found_in_full() {
        disturbed_series_have_theirs(1_000);
        two_modes(1_000);
    }

    /// Of a shell script, in ms; two disturbed samples beside each other.
    #[test]
    fn a_measured_warm_up_is_found() {
        let times = "39.4 39.6 39.3 39.3 39.2 38.7 38.8 38.9 23.9 24.3 24.5 24.6 23.8 24.3 24.3 23.7 24.4 24.3 24.1 27.1 38.6 24.1 \
                     24.4 24.6 25.0 24.5 24.9 24.4 24.8 24.5 24.8 23.9 23.9 24.0 23.7 24.4 24.2 23.8 24.2 24.5";
        let times: Vec<f64> = times.split_whitespace().map(|t| t.parse::<f64>().unwrap() * 1e6).collect();
        let found = look(&times);
        assert!(matches!(found[..], [Unsteadiness::WarmUp { samples: 8, .. }]), "{found:?}");
    }

    #[test]
    fn equal_times_are_no_sign_of_anything() {
        assert_eq!(look(&[1e7; 40]), []);
        assert_eq!(look(&[0.0; 40]), []);
        assert_eq!(look(&[]), []);
    }

    #[test]
    fn a_clock_of_10_ms_is_coarse_beside_a_small_spread_only() {
        let mut rng = generator(43, RandomPurpose::Noise, 0);
        let found = look(&stationary(&mut rng, Noise::Ticks, 40, 0.05));
        let [Unsteadiness::Ticks { tick, distinct, values: 40 }] = found[..] else { panic!("{found:?}") };
        assert_eq!((tick, (2..=5).contains(&distinct)), (1e7, true));
        assert_eq!(look(&stationary(&mut rng, Noise::Ticks, 40, 0.3)), []);
        // A level of its own is no chance, even of few distinct times.
        let step: Vec<f64> = (0..40).map(|i| if i < 20 { 1e8 } else { 1.1e8 }).collect();
        assert!(matches!(look(&step)[..], [Unsteadiness::Step { at: 20, .. }, Unsteadiness::Ticks { .. }]));
        let few = look(&step[17..27]);
        assert!(matches!(few[..], [Unsteadiness::Ticks { distinct: 2, .. }]), "{few:?}");
    }

    #[test]
    fn changes_below_one_per_cent_do_not_matter() {
        let times = |size: f64| -> Vec<f64> {
            let time = |i: usize| 1e8 + if i < 20 { 0.0 } else { size * 1e8 } + ((i * 25) % 41) as f64 * 1e3;
            (0..40).map(time).collect()
        };
        assert_eq!(look(&times(0.009)), []);
        assert!(matches!(look(&times(0.011))[..], [Unsteadiness::Step { at: 20, .. }]));
    }

    #[test]
    fn places_of_blocks_are_those_of_their_first_samples() {
        let step = Unsteadiness::Step { at: 3, before: 1.0, after: 2.0 };
        assert_eq!(step.in_samples(|at| 4 * at), Unsteadiness::Step { at: 12, before: 1.0, after: 2.0 });
    }
}
