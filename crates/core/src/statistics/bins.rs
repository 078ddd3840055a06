//! Bins of a histogram.

const LEAST: u32 = 10;
const MOST: u32 = 200;

/// How many bins show these values well: Freedman and Diaconis' width, 2 IQR n^(-1/3), within 10 to 200.
pub fn bins(values: &[i64]) -> u32 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    // As floating point, since the difference of two values may be beyond i64.
    let at = |part: usize| sorted.get(sorted.len() * part / 4).or(sorted.last()).map_or(0.0, |v| *v as f64);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return LEAST };
    let width = 2.0 * (at(3) - at(1)) / (sorted.len() as f64).cbrt();
    if width <= 0.0 { LEAST } else { (((*last as f64 - *first as f64) / width).ceil() as u32).clamp(LEAST, MOST) }
}

#[cfg(test)]
mod tests {
    use super::bins;

    #[test]
    fn width_follows_the_quartiles() {
        // IQR 500 of 1000 values: width 100, range 999.
        assert_eq!(bins(&(0..1000).collect::<Vec<_>>()), 10);
        // The same with an outlier of 5050: 50.5 widths.
        let mut far: Vec<i64> = (0..999).collect();
        far.push(5050);
        assert_eq!(bins(&far), 51);
        far.push(10_000_000);
        assert_eq!(bins(&far), 200);
    }

    #[test]
    fn any_values_have_bins() {
        assert_eq!((bins(&[]), bins(&[7]), bins(&[7; 50])), (10, 10, 10));
        assert_eq!(bins(&[i64::MIN, i64::MIN, i64::MAX, i64::MAX]), 10);
    }
}
