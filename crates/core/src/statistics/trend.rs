//! The slow drift of a machine's speed, apart from what single samples add to it.
//!
//! Clock speed, temperature and neighbours move the times of many successive samples together, daemons those of single ones. The
//! trend at a sample is a line through its neighbours, without the sample itself, weighted by nearness (tricube) and by how well
//! they fit (bisquare), so that disturbed neighbours do not count (Cleveland, JASA 1979). How many neighbours are taken is
//! decided by the data: the window that predicts the omitted samples best, by median absolute error, the widest among
//! equals.
//! On a steady machine that is one line through all samples, which adds a negligible error.

use crate::statistics::series::median_of;

/// Half widths tried, in samples, beside the line through all.
const HALF_WIDTHS: [usize; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Half width of the running median from which the fits start; a disturbance of up to this many samples does not move it.
const START: usize = 8;
/// Rounds of weighting by fit; more change nothing that matters.
const ROUNDS: usize = 3;
/// By how much a narrower window must predict better than a wider one, so that it is not chosen by chance.
const BETTER: f64 = 0.97;

/// The trend of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The trend at each value, in the values' unit.
    pub at: Vec<f64>,
    /// Values on each side that the trend at one was taken from; `None`: all.
    pub half_width: Option<usize>,
}

/// The trend of values in the order of time; all must be finite.
pub fn trend(values: &[f64]) -> Trend {
    let start = running_median(values);
    let mut best = Trend { at: global(values, &start), half_width: None };
    let mut error = spread(values, &best.at);
    for half_width in HALF_WIDTHS.into_iter().rev().filter(|w| w * 3 < values.len()) {
        let at = local(values, &start, half_width);
        let e = spread(values, &at);
        if e < BETTER * error {
            (best, error) = (Trend { at, half_width: Some(half_width) }, e);
        }
    }
    best
}

/// Median absolute error of a trend.
fn spread(values: &[f64], at: &[f64]) -> f64 {
    median_of(values.iter().zip(at).map(|(v, t)| (v - t).abs()).collect()).unwrap_or(0.0)
}

fn running_median(values: &[f64]) -> Vec<f64> {
    let around = |i: usize| {
        let end = (i + START + 1).min(values.len());
        median_of(values.get(i.saturating_sub(START)..end).unwrap_or_default().to_vec()).unwrap_or(0.0)
    };
    (0..values.len()).map(around).collect()
}

/// Bisquare weights: none for a value further than about 4.7 standard deviations from the trend.
fn weights(values: &[f64], at: &[f64]) -> Vec<f64> {
    let reach = 6.9 * spread(values, at);
    let weight = |(v, t): (&f64, &f64)| {
        let off = (v - t).abs();
        if off == 0.0 {
            return 1.0;
        }
        if off < reach { (1.0 - (off / reach).powi(2)).powi(2) } else { 0.0 }
    };
    values.iter().zip(at).map(weight).collect()
}

/// Sums of a weighted line fit, with x counted from the point at which the line is wanted.
#[derive(Clone, Copy, Default)]
struct Sums {
    w: f64,
    x: f64,
    xx: f64,
    y: f64,
    xy: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, x: f64, y: f64) {
        self.w += weight;
        self.x += weight * x;
        self.xx += weight * x * x;
        self.y += weight * y;
        self.xy += weight * x * y;
    }

    /// The line at `x`; the mean where the points do not make a line, `None` without any.
    fn line(&self, x: f64) -> Option<f64> {
        if self.w <= 0.0 {
            return None;
        }
        let (mx, my) = (self.x / self.w, self.y / self.w);
        let var = self.xx / self.w - mx * mx;
        let slope = if var > 1e-9 { (self.xy / self.w - mx * my) / var } else { 0.0 };
        Some(my + slope * (x - mx)).filter(|v| v.is_finite())
    }
}

fn global(values: &[f64], start: &[f64]) -> Vec<f64> {
    let middle = median_of(values.to_vec()).unwrap_or(0.0);
    let n = values.len() as f64;
    let mut at = start.to_vec();
    for _ in 0..=ROUNDS {
        let mut sums = Sums::default();
        let fit = weights(values, &at);
        for (i, (v, w)) in values.iter().zip(&fit).enumerate() {
            // Around the middle of both axes, so that no digits are lost; x from -1/2 to 1/2.
            sums.add(*w, i as f64 / n - 0.5, v - middle);
        }
        at = (0..values.len()).map(|i| middle + sums.line(i as f64 / n - 0.5).unwrap_or(0.0)).collect();
    }
    at
}

fn local(values: &[f64], start: &[f64], half_width: usize) -> Vec<f64> {
    let near = |d: usize| (1.0 - (d as f64 / (half_width + 1) as f64).powi(3)).powi(3);
    let tricube: Vec<f64> = (0..=half_width).map(near).collect();
    let mut at = start.to_vec();
    for _ in 0..ROUNDS {
        let fit = weights(values, &at);
        let local_fit = |(i, middle): (usize, &f64)| {
            let mut sums = Sums::default();
            let (from, to) = (i.saturating_sub(half_width), (i + half_width + 1).min(values.len()));
            for j in (from..to).filter(|j| *j != i) {
                let (v, w) = (values.get(j).copied().unwrap_or(0.0), fit.get(j).copied().unwrap_or(0.0));
                let t = tricube.get(i.abs_diff(j)).copied().unwrap_or(0.0);
                sums.add(w * t, (j as f64 - i as f64) / half_width as f64, v - middle);
            }
            middle + sums.line(0.0).unwrap_or(0.0)
        };
        at = start.iter().enumerate().map(local_fit).collect();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    /// -0.5 to 0.5, the same for the same place.
    fn noise(i: usize) -> f64 {
        f64::from(below(&mut generator(1, RandomPurpose::Order, i as u64), 1 << 20)) / f64::from(1 << 20) - 0.5
    }

    #[test]
    fn a_steady_machine_gets_one_line() {
        let t = trend(&(0..400).map(|i| 1e11 + 1e3 * noise(i)).collect::<Vec<_>>());
        assert_eq!(t.half_width, None);
        assert!(t.at.iter().all(|v| (v - 1e11).abs() < 100.0));
    }

    #[test]
    fn follows_a_ramp_and_a_wave_past_disturbances() {
        let drift = |i: usize| 1e9 + 50.0 * i as f64 + 4e3 * (i as f64 / 60.0).sin();
        let disturbed = |i: usize| if i % 45 == 7 { 1e6 } else { 0.0 };
        let t = trend(&(0..600).map(|i| drift(i) + 100.0 * noise(i) + disturbed(i)).collect::<Vec<_>>());
        assert!(t.half_width.is_some());
        assert!(t.at.iter().enumerate().all(|(i, v)| (v - drift(i)).abs() < 100.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn always_finite_and_exact_for_constants(
            values in proptest::collection::vec(-1e18..1e18_f64, 0..60), c in -1e15..1e15_f64, n in 0..60_usize
        ) {
            let t = trend(&values);
            prop_assert_eq!(t.at.len(), values.len());
            prop_assert!(t.at.iter().all(|v| v.is_finite()));
            prop_assert_eq!(trend(&vec![c; n]).at, vec![c; n]);
        }
    }
}
