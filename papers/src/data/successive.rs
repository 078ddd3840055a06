//! A sample against the next one (section 7 of the report on program execution time, figures 29 to 32): whether samples depend on
//! each other.
//!
//! The report draws odd samples against the even ones that follow them. These pairs are here, too, with their correlation; a
//! sample's correlation with its successor uses every sample twice and is known better. Two samples are successive only if
//! nothing was executed between them and the run did not pause: a failed or discarded sample, another program, a resumption and
//! a reboot each end the sequence.

use crate::data::cells::StudyPreset;
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, condition_labels, long_enough, process_values};
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::discards::RELAXED;
use tarebench_core::sample::data::Sample;
use tarebench_core::statistics::correlation::{NoCorrelation, RawAndTrimmed, can_discard, within};
use tarebench_core::statistics::serial::{SerialCorrelation, serial_correlation};

/// A gap between two samples is a pause if it is longer than this many times the usual gap and a second.
const LONG: f64 = 10.0;

/// Dependence of successive samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuccessiveReport {
    /// Standard deviations beyond which a sample is an outlier.
    pub s: f64,
    pub rows: Vec<SuccessiveRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuccessiveRow {
    pub condition: String,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    pub samples: u32,
    pub breaks: SuccessionBreaks,
    /// Correlation of a sample's process time with that of the next one.
    pub raw: Result<SerialCorrelation, NoCorrelation>,
    /// The same without outliers; their neighbours are not successive.
    pub trimmed: Result<SerialCorrelation, NoCorrelation>,
    pub removed: u32,
    /// Whether there are enough samples for the rule to remove any.
    pub can_remove: bool,
    /// Process times of odd samples (x) and of the even ones that follow (y), ns.
    pub odd_even: RawAndTrimmed,
}

/// Why samples do not follow the ones before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SuccessionBreaks {
    /// Something else was executed in between, or a sample that failed.
    pub other_executions: u32,
    /// The run paused, or was resumed.
    pub pauses: u32,
    /// The machine was restarted.
    pub restarts: u32,
}

/// Each length in a run of its own, so that its samples follow each other.
pub(crate) fn alone(lengths: &[f64], samples: u32) -> Vec<StudyRunPlan> {
    lengths.iter().map(|l| inc_run("", &[*l], samples)).collect()
}

/// The report's lengths and numbers of samples (its table 1).
pub(crate) fn regular_experiment() -> Vec<StudyRunPlan> {
    let lengths: Vec<f64> = (0..=14).map(|i| 2_f64.powi(i)).collect();
    let (short, long): (Vec<f64>, Vec<f64>) = lengths.into_iter().partition(|l| *l <= 64.0);
    [alone(&short, 1000), alone(&long, 300)].concat()
}

/// Three minutes; an hour; the report's regular experiment.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => alone(&[0.0625, 0.125, 0.25, 0.5], 150),
        StudyPreset::Hour => alone(&[0.25, 0.5, 1.0, 2.0], 800),
        StudyPreset::Paper => regular_experiment(),
    }
}

/// The dependence in all series.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, and if samples have no process time.
pub fn report(series: &[StudySeries<'_>]) -> Result<SuccessiveReport, StudyGap> {
    let usable = long_enough(series, 2)?;
    let labels = condition_labels(&usable);
    let mut rows = Vec::new();
    for ((s, condition), item) in usable.iter().zip(labels).zip(0_u64..) {
        rows.push(row(s, condition, item * 2)?);
    }
    rows.sort_by(|a, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)));
    Ok(SuccessiveReport { s: RELAXED, rows })
}

fn row(series: &StudySeries<'_>, condition: String, item: u64) -> Result<SuccessiveRow, StudyGap> {
    let times = process_values(series)?;
    let times = times.as_slice();
    let (follows, breaks) = succession(&series.samples);
    let keep = within(times, RELAXED);
    let (kept, kept_follows) = without_outliers(times, &follows, &keep);
    let pairs: Vec<(f64, f64)> = times
        .windows(2)
        .zip(follows.iter().skip(1))
        .zip(&series.samples)
        // The numbers of samples are from 1, indices from 0.
        .filter(|((_, follows), odd)| **follows && odd.index % 2 == 0)
        .filter_map(|((times, _), _)| Some((*times.first()?, *times.last()?)))
        .collect();
    Ok(SuccessiveRow {
        condition,
        label: series.program.label.clone(),
        size: series.size(),
        samples: u32::try_from(times.len()).unwrap_or(u32::MAX),
        breaks,
        raw: serial_correlation(times, &follows),
        trimmed: serial_correlation(&kept, &kept_follows),
        removed: u32::try_from(times.len() - kept.len()).unwrap_or(u32::MAX),
        can_remove: can_discard(times.len(), RELAXED),
        odd_even: RawAndTrimmed::new(&pairs, RELAXED, SEED, item),
    })
}

/// The values that are kept, and which of them directly follow the one before.
fn without_outliers(times: &[f64], follows: &[bool], keep: &[bool]) -> (Vec<f64>, Vec<bool>) {
    let mut before_kept = false;
    let (mut values, mut successors) = (Vec::new(), Vec::new());
    for ((time, follows), keep) in times.iter().zip(follows).zip(keep) {
        if *keep {
            values.push(*time);
            successors.push(*follows && before_kept);
        }
        before_kept = *keep;
    }
    (values, successors)
}

/// Of each sample, whether it directly follows the one before; and why not.
pub(crate) fn succession(samples: &[&Sample]) -> (Vec<bool>, SuccessionBreaks) {
    let usual = usual_gap(samples);
    let longest = usual.as_f64() * LONG + 1e9;
    let mut breaks = SuccessionBreaks::default();
    let mut before: Option<&Sample> = None;
    let mut follows = Vec::with_capacity(samples.len());
    for sample in samples {
        let successor = before.is_some_and(|b| {
            let gap = sample.start.monotonic - b.end.monotonic;
            // CLOCK_MONOTONIC begins anew with the machine; after a long uptime only the other clock shows it.
            let by_date = sample.wall_clock - b.wall_clock - b.elapsed();
            let broken = if b.seq.checked_add(1) != Some(sample.seq) {
                Some(&mut breaks.other_executions)
            } else if gap < Nanos::ZERO {
                Some(&mut breaks.restarts)
            } else if gap.as_f64() > longest || by_date.as_f64() > longest {
                Some(&mut breaks.pauses)
            } else {
                None
            };
            match broken {
                Some(count) => {
                    *count += 1;
                    false
                }
                None => true,
            }
        });
        follows.push(successor);
        before = Some(*sample);
    }
    (follows, breaks)
}

/// The median gap between samples of which one is executed right after the other.
fn usual_gap(samples: &[&Sample]) -> Nanos {
    let both = samples.iter().zip(samples.iter().skip(1)).filter(|(a, b)| a.seq.checked_add(1) == Some(b.seq));
    let mut gaps: Vec<Nanos> =
        both.map(|(a, b)| b.start.monotonic - a.end.monotonic).filter(|g| *g >= Nanos::ZERO).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(Nanos::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::statistics::random::normal;
    use tarebench_core::statistics::random::{RandomPurpose, generator};

    /// Samples of about a second, each with `phi` of the deviation of the one before.
    fn dependent(seed: u64, n: u32, phi: f64) -> Vec<Sample> {
        let mut rng = generator(seed, RandomPurpose::Order, 0);
        let mut deviation = 0.0;
        let mut next = |i: u32| {
            deviation = phi * deviation + 1e6 * normal(&mut rng);
            let pt = 1_000_000_000 + deviation as i64;
            sample(i, f64::from(i) * 1.2, pt + 1000, pt)
        };
        (0..n).map(&mut next).collect()
    }

    #[test]
    fn dependence_is_found_and_independence_too() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let (some, none) = (dependent(1, 300, 0.6), dependent(2, 300, 0.0));
        let r = report(&[series("a", &p, &h, &some), series("b", &p, &h, &none)]).unwrap();
        let found: Vec<&SerialCorrelation> = r.rows.iter().map(|r| r.raw.as_ref().unwrap()).collect();
        assert!((found[0].r - 0.6).abs() < 0.15 && found[0].interval.low > 0.3, "{:?}", found[0]);
        assert!(found[1].r.abs() < 0.15 && found[1].interval.low < 0.05, "{:?}", found[1]);
        assert_eq!((r.rows[0].odd_even.pairs.len(), r.rows[0].samples, found[0].pairs), (150, 300, 299));
        assert!((r.rows[0].odd_even.raw.as_ref().unwrap().r - 0.6).abs() < 0.2);
        assert_eq!(r.rows[0].breaks, SuccessionBreaks::default());
    }

    #[test]
    fn an_outlier_is_in_no_pair() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let mut samples = dependent(3, 300, 0.5);
        let clean = report(&[series("", &p, &h, &samples)]).unwrap();
        let at = samples[100].start;
        samples[100] = Sample { start: at, ..sample(100, at.monotonic.secs(), 1_150_000_000, 1_140_000_000) };
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let row = &r.rows[0];
        assert_eq!(row.removed, 1);
        assert!(row.raw.as_ref().unwrap().r < 0.1);
        let (trimmed, before) = (row.trimmed.as_ref().unwrap(), clean.rows[0].raw.as_ref().unwrap());
        assert_eq!((trimmed.values, trimmed.pairs), (299, 297));
        assert!((trimmed.r - before.r).abs() < 0.05, "{trimmed:?} {before:?}");
    }

    #[test]
    fn breaks() {
        let mut samples: Vec<Sample> = (0..8).map(|i| sample(i, f64::from(i) * 1.2, 1_000_000_000, 900)).collect();
        // Another program was executed before the third one.
        samples.iter_mut().skip(2).for_each(|s| s.seq += 1);
        // The run was resumed after two minutes before the fifth, by both clocks.
        for s in samples.iter_mut().skip(4) {
            s.start.monotonic += Nanos::from_millis(120_000);
            s.end.monotonic += Nanos::from_millis(120_000);
            s.wall_clock += Nanos::from_millis(120_000);
        }
        // The machine was restarted before the seventh.
        for s in samples.iter_mut().skip(6) {
            s.start.monotonic = s.start.monotonic - Nanos::from_millis(100_000);
            s.end.monotonic = s.end.monotonic - Nanos::from_millis(100_000);
            s.wall_clock += Nanos::from_millis(500_000);
        }
        let (follows, breaks) = succession(&samples.iter().collect::<Vec<_>>());
        assert_eq!(follows, [false, true, false, true, false, true, false, true]);
        assert_eq!(breaks, SuccessionBreaks { other_executions: 1, pauses: 1, restarts: 1 });
        // A restart after which the machine ran for longer than before shows by the date.
        let mut samples: Vec<Sample> = (0..3).map(|i| sample(i, f64::from(i) * 1.2, 1_000_000_000, 900)).collect();
        samples[2].wall_clock += Nanos::from_millis(600_000);
        assert_eq!(succession(&samples.iter().collect::<Vec<_>>()).0, [false, true, false]);
    }

    #[test]
    fn presets() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        assert!(paper.iter().all(|r| r.programs.len() == 1));
        assert_eq!((paper.len(), paper[0].samples, paper[14].samples), (15, 1000, 300));
        assert_eq!(paper[14].programs[0].label, "INC16384");
    }
}
