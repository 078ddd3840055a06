//! Resamples of values that depend on their neighbours in time: whole blocks of them are drawn, with replacement.
//!
//! Blocks are circular, so that every value is drawn equally often (Politis and Romano, 1992). Their length follows the strongest
//! correlation between neighbours, as if it were that of an autoregressive process of order one (Carlstein, Annals of Statistics
//! 14, 1986): l = (√6 ρ / (1 - ρ²))^(2/3) n^(1/3).

use crate::statistics::random::below;
use rand_chacha::ChaCha8Rng;

/// Correlations between neighbours beyond this count as this, since blocks would become as long as the series.
const STRONGEST: f64 = 0.95;

/// Length of the blocks for `n` values whose neighbours are correlated by `rho`: from 1 to a fifth of `n`.
pub fn block_length(n: usize, rho: f64) -> usize {
    let rho = rho.abs().min(STRONGEST);
    let length = (6_f64.sqrt() * rho / (1.0 - rho * rho)).powf(2.0 / 3.0) * (n as f64).cbrt();
    // Finite, not negative, and below 100 n^(1/3).
    (length.round() as usize).clamp(1, (n / 5).max(1))
}

/// Draws as many positions as there are values, in blocks of this length, into `positions`.
pub fn draw_blocks(rng: &mut ChaCha8Rng, n: usize, length: usize, positions: &mut Vec<usize>) {
    positions.clear();
    if n == 0 {
        return;
    }
    let all = u32::try_from(n).unwrap_or(u32::MAX);
    while positions.len() < n {
        let start = below(rng, all) as usize;
        let left = (n - positions.len()).min(length.max(1));
        positions.extend((start..start + left).map(|i| i % n));
    }
}

/// How many resamples: `most`, and fewer of long series, so that the work stays bounded.
pub fn resamples(n: usize, most: usize) -> usize {
    (20_000_000 / n.max(1)).clamp(most.min(200), most)
}

/// Correlation between neighbours in a series without gaps; 0 for one without spread.
pub fn lag_one(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let all: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values.iter().zip(values.iter().skip(1)).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if all > 0.0 { (products / all).clamp(-1.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator};

    #[test]
    fn longer_blocks_for_stronger_dependence() {
        assert_eq!(block_length(1000, 0.0), 1);
        // (√6 · 0.5 / 0.75)^(2/3) · 10 = 1.633^(2/3) · 10 = 13.9.
        assert_eq!(block_length(1000, 0.5), 14);
        assert_eq!(block_length(1000, -0.5), 14);
        assert_eq!(block_length(20, 0.99), 4);
        assert_eq!((block_length(0, 0.5), block_length(3, 0.9)), (1, 1));
    }

    #[test]
    fn blocks_are_successive_and_every_position_is_drawn() {
        let mut rng = generator(1, RandomPurpose::Bootstrap, 0);
        let (mut positions, mut seen) = (Vec::new(), vec![0; 10]);
        for _ in 0..400 {
            draw_blocks(&mut rng, 10, 4, &mut positions);
            assert_eq!(positions.len(), 10);
            assert!(positions.chunks(4).all(|b| b.windows(2).all(|w| w[1] == (w[0] + 1) % 10)));
            positions.iter().for_each(|p| seen[*p] += 1);
        }
        assert!(seen.iter().all(|n| (300..500).contains(n)), "{seen:?}");
        draw_blocks(&mut rng, 0, 4, &mut positions);
        assert!(positions.is_empty());
    }

    #[test]
    fn neighbours() {
        assert_eq!(lag_one(&[]), 0.0);
        assert_eq!(lag_one(&[3.0; 5]), 0.0);
        // Deviations -1, 1, -1, 1: products -1 three times, squares 4.
        assert_eq!(lag_one(&[1.0, 3.0, 1.0, 3.0]), -0.75);
        assert_eq!((resamples(100, 1000), resamples(10_000_000, 1000)), (1000, 200));
    }
}
