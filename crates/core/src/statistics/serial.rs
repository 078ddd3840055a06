//! Correlation of successive samples, with an interval by Bartlett's formula.
//!
//! The variance of a correlation r between neighbours in a linear process is Σ_j (ρ_{j+1} + ρ_{j-1} - 2 ρ_1 ρ_j)² / n (Bartlett,
//! 1946; Brockwell and Davis, Time Series: Theory and Methods, section 7.2), whatever the distribution of its values, if only their
//! variance is finite. The correlations ρ are the measured ones, up to a distance of √n. r itself is too small by about
//! (1 + 3 ρ) / n, since the mean is that of the same samples (Kendall, 1954); the interval is around the corrected one.

use crate::statistics::correlation::{FEWEST_PAIRS, NoCorrelation, t_quantile};
use crate::statistics::intervals::{Interval, LEVEL};
use serde::{Deserialize, Serialize};

/// Correlation of each value with the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerialCorrelation {
    pub values: u32,
    /// Pairs of a value and its successor.
    pub pairs: u32,
    /// -1 to 1.
    pub r: f64,
    pub interval: Interval,
    /// Correlations of independent values lie within this distance of 0, in 95 of 100 series.
    pub chance: f64,
}

/// Values in the order of time; `follows` says of each whether it is the direct successor of the one before.
struct Sequence {
    /// Deviations from the mean, and the number of the unbroken part.
    parts: Vec<(f64, usize)>,
    variance: f64,
}

impl Sequence {
    fn new(values: &[f64], follows: &[bool]) -> Sequence {
        let n = values.len() as f64;
        // From the first value, so that times of 10^13 ns keep their digits.
        let first = values.first().copied().unwrap_or(0.0);
        let mean = values.iter().map(|v| v - first).sum::<f64>() / n;
        let mut part = 0;
        let deviation = |(v, follows): (&f64, &bool)| {
            part += usize::from(!follows);
            (v - first - mean, part)
        };
        let parts: Vec<(f64, usize)> = values.iter().zip(follows).map(deviation).collect();
        let variance = parts.iter().map(|p| p.0 * p.0).sum::<f64>() / n;
        Sequence { parts, variance }
    }

    /// Correlation of values at this distance within unbroken parts, and their number.
    fn at(&self, distance: usize) -> (f64, usize) {
        let both = self.parts.iter().zip(self.parts.iter().skip(distance)).filter(|(a, b)| a.1 == b.1);
        let (sum, pairs) = both.fold((0.0, 0_usize), |(sum, pairs), (a, b)| (sum + a.0 * b.0, pairs + 1));
        let r = if pairs > 0 { sum / pairs as f64 / self.variance } else { 0.0 };
        (r.clamp(-1.0, 1.0), pairs)
    }

    /// Bartlett's sum for neighbours.
    fn bartlett(&self) -> f64 {
        let most = (self.parts.len() as f64).sqrt() as usize;
        let rho: Vec<f64> = (0..=most + 1).map(|d| if d == 0 { 1.0 } else { self.at(d).0 }).collect();
        let first = rho.get(1).copied().unwrap_or(0.0);
        let term = |w: &[f64]| match w {
            [before, at, after] => (after + before - 2.0 * first * at).powi(2),
            _ => 0.0,
        };
        rho.windows(3).map(term).sum()
    }
}

/// Correlation of each value with its successor; `follows` (as long as `values`) says which values directly follow the one before.
///
/// Coverage of the true correlation in autoregressive series of normal numbers with ρ of 0 to 0.8 and n of 40 to 200: 93 to 95%.
///
/// # Errors
/// [`NoCorrelation`] for fewer than 10 pairs and for values that do not vary.
pub fn serial_correlation(values: &[f64], follows: &[bool]) -> Result<SerialCorrelation, NoCorrelation> {
    let sequence = Sequence::new(values, follows);
    let (r, pairs) = sequence.at(1);
    let have = u32::try_from(pairs).unwrap_or(u32::MAX);
    if have < FEWEST_PAIRS {
        return Err(NoCorrelation::TooFewPairs { have, need: FEWEST_PAIRS });
    }
    if !(sequence.variance > 0.0 && r.is_finite()) {
        return Err(NoCorrelation::NoSpread);
    }
    let n = f64::from(have);
    let quantile = t_quantile(n - 2.0);
    let reach = quantile * (sequence.bartlett() / n).sqrt();
    let middle = r + (1.0 + 3.0 * r) / n;
    let bounds = ((middle - reach).clamp(-1.0, 1.0), (middle + reach).clamp(-1.0, 1.0));
    let interval = Interval { low: bounds.0, high: bounds.1, level: LEVEL }.reaching(r);
    let values = u32::try_from(values.len()).unwrap_or(u32::MAX);
    Ok(SerialCorrelation { values, pairs: have, r, interval, chance: quantile / n.sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::normal;
    use crate::statistics::random::{RandomPurpose, generator};
    use rand_chacha::ChaCha8Rng;

    fn unbroken(n: usize) -> Vec<bool> {
        (0..n).map(|i| i > 0).collect()
    }

    fn autoregressive(rng: &mut ChaCha8Rng, n: usize, phi: f64) -> Vec<f64> {
        let mut x = 0.0;
        let mut next = || {
            x = phi * x + normal(rng);
            x
        };
        (0..n + 30).map(|_| next()).skip(30).collect()
    }

    #[test]
    fn by_hand() {
        // Deviations -1, 1 by turns: every product of neighbours is -1, the variance 1.
        let zigzag: Vec<f64> = (0..12).map(|i| f64::from(i % 2)).collect();
        let s = serial_correlation(&zigzag, &unbroken(12)).unwrap();
        assert_eq!((s.values, s.pairs, s.r), (12, 11, -1.0));
        assert_eq!(serial_correlation(&[5.0; 12], &unbroken(12)), Err(NoCorrelation::NoSpread));
        let few = NoCorrelation::TooFewPairs { have: 9, need: 10 };
        assert_eq!(serial_correlation(&zigzag[..10], &unbroken(10)), Err(few));
    }

    #[test]
    fn no_pair_over_a_break() {
        // Pairs of equal values, each pair by itself: within pairs the correlation is 1, over the breaks it would be -1.
        let values: Vec<f64> = (0..40).map(|i| f64::from(i / 2 % 2)).collect();
        let follows: Vec<bool> = (0..40).map(|i| i % 2 == 1).collect();
        let s = serial_correlation(&values, &follows).unwrap();
        assert_eq!((s.pairs, s.r), (20, 1.0));
        assert!(serial_correlation(&values, &unbroken(40)).unwrap().r < 0.1);
    }

    #[test]
    fn a_known_dependence_is_in_its_interval() {
        let mut rng = generator(31, RandomPurpose::Order, 0);
        for (n, phi) in [(60, 0.0), (150, 0.0), (150, 0.5), (200, 0.8)] {
            let follows = unbroken(n);
            let covers =
                |_| serial_correlation(&autoregressive(&mut rng, n, phi), &follows).unwrap().interval.contains(phi);
            let hits = (0..400).map(covers).filter(|c| *c).count();
            assert!(hits >= 360, "90% at least, 94% usually; n {n}, phi {phi}: {hits} of 400");
        }
    }

    #[test]
    fn independent_samples_are_rarely_called_dependent() {
        let mut rng = generator(32, RandomPurpose::Order, 0);
        let called = |_| {
            let s = serial_correlation(&autoregressive(&mut rng, 100, 0.0), &unbroken(100)).unwrap();
            !s.interval.contains(0.0)
        };
        let calls = (0..400).map(called).filter(|c| *c).count();
        assert!(calls <= 36, "{calls} of 400");
        let s = serial_correlation(&autoregressive(&mut rng, 400, 0.7), &unbroken(400)).unwrap();
        assert!(s.r > 0.5 && s.interval.low > 0.3 && s.chance < 0.11, "{s:?}");
    }
}
