//! One mode or two: histograms of process time at rising numbers of samples (the report's figures 14, 15, 17 to 20, and its first
//! conclusion, that process times are a mixture of two models).

use crate::data::cells::StudyPreset;
use crate::data::checked::{FirstCheckResult, fates, retained};
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, condition_labels, long_enough, process_values};
use serde::Serialize;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::STRICT;
use tarebench_core::statistics::bins::bins;
use tarebench_core::statistics::mixture::{MixtureFit, NoMixture, RunsTest, mixture, resolution, runs_test};
use tarebench_core::statistics::normality::{Normality, normality};
use tarebench_core::statistics::series::{Values, summary};

/// Fewest samples of the first histogram.
const FIRST: usize = 125;
/// Below this probability, the order of the modes is not random.
const NOT_RANDOM: f64 = 0.01;

/// Counts of times in bins of equal width.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeHistogram {
    /// Lower end of the first bin, ns.
    pub low: f64,
    /// Of a bin, ns; 0 without any time.
    pub width: f64,
    pub counts: Vec<u64>,
}

impl TimeHistogram {
    /// Bins by Freedman and Diaconis' rule. If the times have a tick, each bin holds the same number of ticks, so that it is
    /// not higher than its neighbour only for holding one more.
    pub(crate) fn new(values: &Values) -> TimeHistogram {
        let times: Vec<i64> = values.as_slice().iter().map(|v| v.round() as i64).collect();
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { return Default::default() };
        let tick = (resolution(&times) as f64).max(1.0);
        let range = *last as f64 - *first as f64;
        let width = (range / f64::from(bins(&times)) / tick).ceil().max(1.0) * tick;
        let low = *first as f64 - tick / 2.0;
        let mut counts = vec![0; ((range + tick) / width).ceil().max(1.0) as usize];
        for t in times {
            if let Some(count) = counts.get_mut(((t as f64 - low) / width) as usize) {
                *count += 1;
            }
        }
        TimeHistogram { low, width, counts }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistogramReport {
    pub series: Vec<HistogramSeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistogramSeries {
    pub label: String,
    /// What distinguishes it from other series of the same program; may be empty.
    pub condition: String,
    /// As [`StudySeries::size`].
    pub size: Option<f64>,
    pub first_check: FirstCheckResult,
    /// Of the first so many samples, in ascending order; the last one is of all.
    pub prefixes: Vec<HistogramPrefix>,
}

/// The first samples of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistogramPrefix {
    pub samples: usize,
    /// EMPv4: all of them.
    pub raw: TimeShape,
    /// EMPv5-strict: what the two checks leave; `None` if they leave nothing.
    pub strict: Option<TimeShape>,
}

/// How process times are distributed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeShape {
    pub samples: usize,
    /// ns; `None` for a single one.
    pub std_dev: Option<f64>,
    pub histogram: TimeHistogram,
    /// `None` for too few samples, or equal ones.
    pub normality: Option<Normality>,
    pub modes: Result<MixtureFit, NoMixture>,
    /// In which order the modes came, if there are two.
    pub order: Option<ModeOrder>,
}

impl TimeShape {
    /// Two modes; `None` if that cannot be said.
    pub fn two_modes(&self) -> Option<bool> {
        self.modes.as_ref().ok().map(MixtureFit::two_modes)
    }
}

/// What the mode of an execution goes by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "goes_by", rename_all = "snake_case")]
pub enum ModeOrder {
    /// Executions near in time share a mode: what makes it lasts longer than an execution (clock speed, neighbours).
    Time { test: RunsTest },
    /// The modes alternate more often than by chance: a mode follows from the execution before.
    Alternating { test: RunsTest },
    /// As at random: each execution has its own (placement in memory, the CPU that it is put on, which samples do not record).
    Execution { test: RunsTest },
}

impl ModeOrder {
    fn new(kinds: &[bool]) -> Option<ModeOrder> {
        let test = runs_test(kinds)?;
        Some(match test.p < NOT_RANDOM {
            true if (test.runs as f64) < test.expected => ModeOrder::Time { test },
            true => ModeOrder::Alternating { test },
            false => ModeOrder::Execution { test },
        })
    }

    pub fn test(&self) -> &RunsTest {
        match self {
            ModeOrder::Time { test } | ModeOrder::Alternating { test } | ModeOrder::Execution { test } => test,
        }
    }
}

/// The report's counts: 20,000 samples of 1 to 8 s, 32,000 of 16 s, each program by itself, so that its samples follow each other.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => vec![inc_run("", &[0.0625], 2_000), inc_run("", &[0.25], 250)],
        StudyPreset::Hour => vec![inc_run("", &[0.25], 4_000), inc_run("", &[1.0], 2_000)],
        StudyPreset::Paper => {
            let short = [1.0, 2.0, 4.0, 8.0].map(|length| inc_run("", &[length], 20_000));
            short.into_iter().chain([inc_run("", &[16.0], 32_000)]).collect()
        }
    }
}

/// Without cutoffs, so that check 1 discards nothing.
pub fn report(series: &[StudySeries<'_>]) -> Result<HistogramReport, StudyGap> {
    report_with(series, &[])
}

/// With the cutoffs of a profile of the machine.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<HistogramReport, StudyGap> {
    let used = long_enough(series, 2)?;
    let labels = condition_labels(&used);
    let histogram = |(item, (s, condition)): (u64, (&&StudySeries<'_>, String))| {
        let first_check = FirstCheckResult::new(s, cutoffs);
        let times = process_values(s)?;
        Ok(HistogramSeries {
            label: s.program.label.clone(),
            condition,
            size: s.size(),
            prefixes: prefixes(times.len()).into_iter().map(|n| prefix(&times, n, &first_check, item)).collect(),
            first_check,
        })
    };
    let series = (0..).zip(used.iter().zip(labels)).map(histogram).collect::<Result<_, StudyGap>>()?;
    Ok(HistogramReport { series })
}

/// Halves of the whole, down to the first one; the whole last.
fn prefixes(whole: usize) -> Vec<usize> {
    let halves = std::iter::successors(Some(whole), |n| Some(n / 2));
    let mut sizes: Vec<usize> = halves.take_while(|n| *n >= FIRST || *n == whole).take(9).collect();
    sizes.dedup();
    sizes.reverse();
    sizes
}

fn prefix(times: &Values, samples: usize, first: &FirstCheckResult, item: u64) -> HistogramPrefix {
    let keep: Vec<bool> = (0..times.len()).map(|i| i < samples).collect();
    let some = times.only(&keep);
    let left = retained(&some, &fates(&some, first.first(samples), STRICT));
    // The whole series has the tick; a prefix of few samples may seem to have a coarser one.
    let tick = resolution(&times.as_slice().iter().map(|v| v.round() as i64).collect::<Vec<_>>());
    HistogramPrefix {
        samples,
        raw: shape(&some, tick, 2 * item),
        strict: (!left.is_empty()).then(|| shape(&left, tick, 2 * item + 1)),
    }
}

fn shape(times: &Values, tick: u64, item: u64) -> TimeShape {
    let modes = mixture(times.as_slice(), tick as f64, SEED, item);
    let fit = modes.as_ref().ok().filter(|m| m.two_modes());
    let order =
        fit.and_then(|fit| ModeOrder::new(&times.as_slice().iter().map(|t| fit.is_slow(*t)).collect::<Vec<_>>()));
    TimeShape {
        samples: times.len(),
        std_dev: summary(times).and_then(|s| s.std_dev),
        histogram: TimeHistogram::new(times),
        normality: normality(times),
        modes,
        order,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::sample::data::Sample;
    use tarebench_core::statistics::random::{RandomPurpose, generator, unit};

    /// Times of 1 s ± 1 ms, and 50 ms more where `slow` says so.
    fn noisy(n: u32, slow: fn(u32, f64) -> bool) -> Vec<Sample> {
        let mut rng = generator(6, RandomPurpose::Noise, 950);
        let mut time = |i: u32| {
            let chance = unit(&mut rng);
            let z = (-2.0 * unit(&mut rng).ln()).sqrt() * (2.0 * std::f64::consts::PI * unit(&mut rng)).cos();
            (1e9 + 1e6 * z) as i64 + if slow(i, chance) { 50_000_000 } else { 0 }
        };
        (0..n).map(|i| (i, time(i))).map(|(i, t)| sample(i, f64::from(i) * 2.0, t + 1_000, t)).collect()
    }

    fn shape_of(samples: &[Sample]) -> TimeShape {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let found = report(&[series("", &p, &h, samples)]).unwrap();
        found.series[0].prefixes.last().unwrap().raw.clone()
    }

    #[test]
    fn one_mode_of_a_steady_machine() {
        let found = shape_of(&noisy(400, |_, _| false));
        assert_eq!((found.two_modes(), found.order), (Some(false), None));
        assert!(found.normality.unwrap().p > 0.001);
    }

    #[test]
    fn two_modes_by_time_by_execution_and_by_turns() {
        let by_time = shape_of(&noisy(400, |i, _| i / 100 % 2 == 1));
        assert_eq!(by_time.two_modes(), Some(true));
        assert!(matches!(by_time.order, Some(ModeOrder::Time { .. })), "{:?}", by_time.order);
        assert!(by_time.normality.unwrap().p < 1e-6);
        let slow = &by_time.modes.as_ref().unwrap().components[1];
        assert!((slow.median / 1.05e9 - 1.0).abs() < 0.001 && (slow.weight - 0.5).abs() < 0.02, "{slow:?}");
        let by_execution = shape_of(&noisy(400, |_, chance| chance < 0.3));
        let order = by_execution.order.unwrap();
        assert!(matches!(order, ModeOrder::Execution { .. }), "{order:?}");
        let by_turns = shape_of(&noisy(400, |i, _| i % 2 == 0));
        assert!(matches!(by_turns.order, Some(ModeOrder::Alternating { .. })), "{:?}", by_turns.order);
    }

    #[test]
    fn few_samples_are_refused_and_prefixes_double() {
        let found = shape_of(&noisy(60, |_, _| false));
        assert_eq!(found.modes, Err(NoMixture::TooFew { have: 60, need: 100 }));
        assert_eq!(prefixes(32_000), [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
        assert_eq!((prefixes(60), prefixes(1_000).len()), (vec![60], 4));
    }

    #[test]
    fn bins_hold_whole_ticks() {
        let values = Values::new((0..400).map(|i| 4e6 * f64::from(100 + i % 37))).unwrap();
        let h = TimeHistogram::new(&values);
        assert_eq!((h.width % 4e6, h.low), (0.0, 398e6));
        assert_eq!(h.counts.iter().sum::<u64>(), 400);
        let same = TimeHistogram::new(&Values::new([5.0; 9]).unwrap());
        assert_eq!((same.counts, same.width), (vec![9], 1.0));
        assert_eq!(TimeHistogram::new(&Values::default()), TimeHistogram::default());
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        assert_eq!(plan(StudyPreset::Paper).last().map(|r| r.samples), Some(32_000));
    }
}
