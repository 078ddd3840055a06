//! What each daemon did in the samples of a run: only the samples in which it did anything. A table of all daemons by all samples is
//! not kept, because an imported document may name other daemons in each of its samples.

use crate::profile::effects::RobustSpread;
use std::collections::BTreeMap;

/// What was waited for a daemon, or executed by it, in each sample, ns; 0 in the samples without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DaemonValues {
    samples: usize,
    /// Position of a sample, and the value there, over 0; by position.
    there: Vec<(usize, f64)>,
}

/// The values of each daemon, by name.
pub(crate) type ValuesByDaemon<'a> = BTreeMap<&'a str, DaemonValues>;

/// Keeps the larger of the values of a daemon in a sample. Samples are added in their order.
pub(crate) fn add<'a>(table: &mut ValuesByDaemon<'a>, samples: usize, daemon: &'a str, at: usize, value: f64) {
    let values = table.entry(daemon).or_insert_with(|| DaemonValues { samples, there: Vec::new() });
    match values.there.last_mut() {
        Some((last, largest)) if *last == at => *largest = largest.max(value),
        _ if value > 0.0 => values.there.push((at, value)),
        _ => {}
    }
}

impl DaemonValues {
    /// Where it did anything, and how long.
    pub(crate) fn there(&self) -> &[(usize, f64)] {
        &self.there
    }

    /// The values over 0.
    pub(crate) fn positive(&self) -> Vec<f64> {
        self.there.iter().map(|(_, value)| *value).collect()
    }

    /// Samples over a limit that is not below 0.
    pub(crate) fn over(&self, limit: f64) -> impl Iterator<Item = (usize, f64)> {
        self.there.iter().copied().filter(move |(_, value)| *value > limit)
    }

    /// Median and spread over all samples: 0 if it did nothing in most of them.
    pub(crate) fn spread(&self) -> RobustSpread {
        if 2 * self.there.len() < self.samples {
            return RobustSpread::default();
        }
        let zeros = self.samples.saturating_sub(self.there.len());
        let values: Vec<f64> = self.positive().into_iter().chain(std::iter::repeat_n(0.0, zeros)).collect();
        RobustSpread::new(&values)
    }

    /// Whether more than half of the samples over the limit are in stretches: so many and more in a row that are over half of it.
    pub(crate) fn mostly_stretches(&self, limit: f64, stretch: usize) -> bool {
        let near: Vec<(usize, f64)> = self.over(limit / 2.0).collect();
        let (mut all, mut stretched) = (0, 0);
        for run in near.chunk_by(|a, b| a.0 + 1 == b.0) {
            let over = run.iter().filter(|(_, value)| *value > limit).count();
            all += over;
            stretched += if run.len() >= stretch { over } else { 0 };
        }
        2 * stretched > all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(all: &[f64]) -> DaemonValues {
        let mut table = ValuesByDaemon::new();
        for (at, value) in all.iter().enumerate() {
            add(&mut table, all.len(), "cron", at, *value);
        }
        table.remove("cron").unwrap_or_default()
    }

    /// With all samples, as a table of daemons by samples has them.
    fn mostly_stretches(values: &[f64], limit: f64, stretch: usize) -> bool {
        let near = |v: &f64| *v > limit / 2.0;
        let (mut all, mut stretched) = (0, 0);
        for run in values.chunk_by(|a, b| near(a) == near(b)) {
            let over = run.iter().filter(|v| **v > limit).count();
            all += over;
            stretched += if run.len() >= stretch { over } else { 0 };
        }
        2 * stretched > all
    }

    #[test]
    fn the_larger_value_of_a_sample_is_kept() {
        let mut table = ValuesByDaemon::new();
        for (at, value) in [(0, 3.0), (0, 5.0), (2, 0.0), (3, 4.0), (3, 1.0)] {
            add(&mut table, 4, "cron", at, value);
        }
        let values = &table["cron"];
        assert_eq!(values.there(), [(0, 5.0), (3, 4.0)]);
        assert_eq!((values.positive(), values.over(4.0).collect::<Vec<_>>()), (vec![5.0, 4.0], vec![(0, 5.0)]));
    }

    proptest! {
        /// The same as with all samples in a table.
        #[test]
        fn nothing_is_lost(
            values in proptest::collection::vec(prop_oneof![3 => Just(0.0), 2 => (0_u32..9).prop_map(f64::from)], 1..60),
            limit in 0.0..8.0_f64,
            stretch in 1_usize..5,
        ) {
            let sparse = kept(&values);
            prop_assert_eq!(sparse.spread(), RobustSpread::new(&values));
            prop_assert_eq!(sparse.over(limit).count(), values.iter().filter(|v| **v > limit).count());
            prop_assert_eq!(sparse.mostly_stretches(limit, stretch), mostly_stretches(&values, limit, stretch));
        }
    }
}
