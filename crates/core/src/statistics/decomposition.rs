//! What the variance of a sum is made of, and what of it other quantities explain.
//!
//! Two methods. Of parts that add up to the total, each has the share cov(part, total) / var(total); these shares add up to
//! one, and one is negative where the part is larger when the total is smaller. Of quantities that the total only depends on,
//! each has the mean, over all orders in which they can enter a regression, of what it adds to the explained share (Lindeman,
//! Merenda and Gold, 1980, known as LMG; the Shapley value of R²; Grömping, Journal of Statistical Software 17, 2006). What is
//! added is counted in adjusted R² (Ezekiel, 1930), which is 0 on average for a quantity that has nothing to do with the
//! total, so that such a share may be a little below 0, too.

use serde::{Deserialize, Serialize};

/// A column counts as a combination of those before it if no more than this part of its variance is left.
const COLLINEAR: f64 = 1e-9;

/// Shares of the variance of the sum of these parts, each a column of equal length, in their order; `None` if the sum does not vary.
pub fn covariance_shares(parts: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = parts.first()?.len();
    let centred: Vec<Vec<f64>> = parts.iter().map(|p| deviations(p)).collect();
    let total: Vec<f64> = (0..n).map(|i| centred.iter().filter_map(|p| p.get(i)).sum()).collect();
    let variance = product(&total, &total);
    (variance > 0.0).then(|| centred.iter().map(|p| product(p, &total) / variance).collect())
}

/// Deviations from the mean.
pub fn deviations(column: &[f64]) -> Vec<f64> {
    // From the first value, so that a constant column has none.
    let first = column.first().copied().unwrap_or(0.0);
    let mean = column.iter().map(|v| v - first).sum::<f64>() / column.len() as f64;
    column.iter().map(|v| v - first - mean).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What quantities explain of a total's variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegressionShares {
    /// By quantity, in their order; they add up to `explained`.
    pub shares: Vec<f64>,
    /// Adjusted R² of all together.
    pub explained: f64,
    /// R² of all together, which chance makes larger than 0.
    pub r_squared: f64,
}

/// Shares of the variance of `y` that quantities explain. A quantity is one or more columns, each as long as `y`, which enter
/// together. `None` if `y` does not vary, has fewer values than ten and twice the columns, or for more than ten quantities.
pub fn regression_shares(y: &[f64], quantities: &[Vec<Vec<f64>>]) -> Option<RegressionShares> {
    let columns = quantities.iter().map(Vec::len).sum::<usize>();
    if y.len() < 10 + 2 * columns || quantities.len() > 10 {
        return None;
    }
    let matrix = Correlations::new(y, quantities)?;
    let subsets = 1_usize << quantities.len();
    let explained: Vec<(f64, f64)> = (0..subsets).map(|subset| matrix.explained(subset)).collect();
    let value = |subset: usize| explained.get(subset).map_or(0.0, |e| e.1);
    let count = quantities.len();
    let share = |quantity: usize| {
        let without = (0..subsets).filter(|s| s & (1 << quantity) == 0);
        without.map(|s| weight(s.count_ones(), count) * (value(s | (1 << quantity)) - value(s))).sum::<f64>()
    };
    let all = explained.last().copied().unwrap_or_default();
    Some(RegressionShares { shares: (0..count).map(share).collect(), explained: all.1, r_squared: all.0 })
}

/// The part of all orders of `count` quantities in which a given one comes right after `before` given ones.
fn weight(before: u32, count: usize) -> f64 {
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    let before = before as usize;
    factorial(before) * factorial(count.saturating_sub(before + 1)) / factorial(count)
}

/// Correlations of all columns, and of the total, which is the last one.
struct Correlations {
    rows: Vec<Vec<f64>>,
    /// By column, the quantity that it belongs to; not for the total.
    owner: Vec<usize>,
    n: f64,
}

impl Correlations {
    fn new(y: &[f64], quantities: &[Vec<Vec<f64>>]) -> Option<Correlations> {
        let scaled = |column: &[f64]| {
            let d = deviations(column);
            let length = product(&d, &d).sqrt();
            (length > 0.0 && length.is_finite()).then(|| d.iter().map(|v| v / length).collect::<Vec<f64>>())
        };
        // A column that does not vary explains nothing.
        let each = quantities.iter().enumerate().flat_map(|(i, q)| q.iter().map(move |c| (i, c)));
        let (owner, mut columns): (Vec<usize>, Vec<Vec<f64>>) = each.filter_map(|(i, c)| Some((i, scaled(c)?))).unzip();
        columns.push(scaled(y)?);
        let rows = columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect();
        Some(Correlations { rows, owner, n: y.len() as f64 })
    }

    /// R² and adjusted R² of the quantities whose bits are set, by elimination: what is left of the total's variance when those
    /// columns are taken out of it.
    fn explained(&self, subset: usize) -> (f64, f64) {
        let last = self.owner.len();
        let chosen = self.owner.iter().enumerate().filter(|(_, q)| subset & (1 << **q) != 0).map(|(column, _)| column);
        let places: Vec<usize> = chosen.chain([last]).collect();
        let cell = |row: usize, column: usize| self.rows.get(row).and_then(|r| r.get(column)).copied().unwrap_or(0.0);
        let mut rows: Vec<Vec<f64>> =
            places.iter().map(|row| places.iter().map(|column| cell(*row, *column)).collect()).collect();
        let mut used = 0.0;
        for pivot in 0..places.len() - 1 {
            let (above, below) = rows.split_at_mut(pivot + 1);
            let Some(row) = above.last() else { continue };
            let Some(at) = row.get(pivot).copied().filter(|a| *a > COLLINEAR) else { continue };
            used += 1.0;
            for other in below {
                let factor = other.get(pivot).copied().unwrap_or(0.0) / at;
                other.iter_mut().zip(row).for_each(|(o, r)| *o -= factor * r);
            }
        }
        if used == 0.0 {
            return (0.0, 0.0);
        }
        let left = rows.last().and_then(|r| r.last()).copied().unwrap_or(1.0).clamp(0.0, 1.0);
        (1.0 - left, 1.0 - left * (self.n - 1.0) / (self.n - 1.0 - used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::normal;
    use crate::statistics::random::{RandomPurpose, generator};
    use proptest::prelude::*;

    fn normals(seed: u64, n: usize, sd: f64) -> Vec<f64> {
        let mut rng = generator(seed, RandomPurpose::Order, 0);
        (0..n).map(|_| sd * normal(&mut rng)).collect()
    }

    fn sum(columns: &[&[f64]]) -> Vec<f64> {
        (0..columns[0].len()).map(|i| columns.iter().map(|c| c[i]).sum()).collect()
    }

    #[test]
    fn covariance_by_hand() {
        // Deviations: a -1, 0, 1; b 2, -4, 2. Uncorrelated, squares 2 and 24.
        let shares = covariance_shares(&[vec![4.0, 5.0, 6.0], vec![7.0, 1.0, 7.0]]).unwrap();
        assert!((shares[0] - 2.0 / 26.0).abs() < 1e-12 && (shares[1] - 24.0 / 26.0).abs() < 1e-12, "{shares:?}");
        // The second part takes back half of the first: shares 2 and -1.
        let shares = covariance_shares(&[vec![0.0, 2.0, 4.0], vec![0.0, -1.0, -2.0]]).unwrap();
        assert_eq!(shares, [2.0, -1.0]);
        assert_eq!(covariance_shares(&[vec![1.0, 2.0], vec![2.0, 1.0]]), None);
        assert_eq!(covariance_shares(&[]), None);
    }

    #[test]
    fn one_quantity_explains_its_squared_correlation() {
        // r = 7 / √(10 · 6.8), and the same values three times over.
        let x: Vec<f64> = (0..15).map(|i| f64::from(i % 5)).collect();
        let y: Vec<f64> = (0..15).map(|i| [1.0, 3.0, 2.0, 4.0, 4.0][i % 5]).collect();
        let s = regression_shares(&y, &[vec![x]]).unwrap();
        let r_squared = 49.0 / 68.0;
        assert!((s.r_squared - r_squared).abs() < 1e-12, "{s:?}");
        assert!((s.explained - (1.0 - (1.0 - r_squared) * 14.0 / 13.0)).abs() < 1e-12);
        assert!((s.shares[0] - s.explained).abs() < 1e-12);
    }

    #[test]
    fn injected_sources_are_recovered() {
        let n = 3000;
        let (a, b, noise) = (normals(1, n, 3.0), normals(2, n, 1.0), normals(3, n, 2.0));
        let unrelated = normals(4, n, 5.0);
        // Variances 9, 1 and 4 of 14.
        let y = sum(&[&a, &b, &noise]);
        let s = regression_shares(&y, &[vec![a], vec![b], vec![unrelated]]).unwrap();
        for (share, truth) in s.shares.iter().zip([9.0 / 14.0, 1.0 / 14.0, 0.0]) {
            assert!((share - truth).abs() < 0.05, "{s:?}");
        }
        assert!((s.explained - 10.0 / 14.0).abs() < 0.05);
    }

    #[test]
    fn what_two_share_is_divided_and_copies_count_once() {
        let n = 2000;
        let (a, noise) = (normals(5, n, 1.0), normals(6, n, 1.0));
        let y = sum(&[&a, &noise]);
        let s = regression_shares(&y, &[vec![a.clone()], vec![a.clone()]]).unwrap();
        assert!((s.shares[0] - s.shares[1]).abs() < 1e-9 && (s.explained - 0.5).abs() < 0.05, "{s:?}");
        let once = regression_shares(&y, &[vec![a.clone(), a]]).unwrap();
        assert!((once.explained - s.explained).abs() < 1e-9);
    }

    #[test]
    fn chance_explains_nothing_on_average() {
        let mean = (0..200).map(|i| {
            let quantities: Vec<Vec<Vec<f64>>> = (1..5).map(|k| vec![normals(100 * i + k, 40, 1.0)]).collect();
            regression_shares(&normals(100 * i, 40, 1.0), &quantities).unwrap().explained
        });
        let mean = mean.sum::<f64>() / 200.0;
        assert!(mean.abs() < 0.03, "{mean}");
    }

    #[test]
    fn nothing_to_explain() {
        assert_eq!(regression_shares(&[3.0; 30], &[vec![normals(1, 30, 1.0)]]), None);
        assert_eq!(regression_shares(&normals(1, 11, 1.0), &[vec![normals(2, 11, 1.0)]]), None);
        let constant = regression_shares(&normals(1, 30, 1.0), &[vec![vec![4.0; 30]]]).unwrap();
        assert_eq!((constant.shares, constant.explained), (vec![0.0], 0.0));
        assert_eq!(regression_shares(&normals(1, 30, 1.0), &[]).unwrap().explained, 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn shares_add_up(
            rows in proptest::collection::vec((-1e6..1e6_f64, -1e3..1e3_f64, 0.0..1e6_f64), 20..60)
        ) {
            let column = |pick: fn(&(f64, f64, f64)) -> f64| rows.iter().map(pick).collect::<Vec<f64>>();
            let parts = [column(|r| r.0), column(|r| r.1), column(|r| r.2)];
            if let Some(shares) = covariance_shares(&parts) {
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
            let [y, a, b] = parts;
            if let Some(s) = regression_shares(&y, &[vec![a], vec![b]]) {
                prop_assert!((s.shares.iter().sum::<f64>() - s.explained).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&s.r_squared) && s.explained <= s.r_squared + 1e-12);
            }
        }
    }
}
