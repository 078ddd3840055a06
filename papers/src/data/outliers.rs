//! Before and after the two checks (EMP figure 16, table XIX; the report's table 6, figures 2 to 11).

use crate::data::cells::StudyPreset;
use crate::data::checked::{CheckedTimes, FirstCheckResult, SampleFate, checked, fates, retained};
use crate::data::histogram::TimeHistogram;
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{condition_labels, elapsed_values, long_enough, process_values};
use serde::Serialize;
use std::num::NonZeroU64;
use tarebench_core::noise::proportion::Proportion;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::{RELAXED, STRICT};
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::series::{Summary, Values, summary};

/// Share of independent normal values that check 2 discards, strict (2 s.d.): 2 Φ(-2), for a long series.
pub const NORMAL_DISCARDED: f64 = 0.0455;
/// Standard deviation of what is left of normal values, as a share of that before: √(1 - 4 φ(2) / (1 - 2 Φ(-2))).
pub const NORMAL_LEFT: f64 = 0.880;

/// Each series before and after the checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutliersReport {
    pub series: Vec<OutlierSeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierSeries {
    pub label: String,
    /// What distinguishes it from other series of the same program; may be empty.
    pub condition: String,
    /// As [`StudySeries::size`].
    pub size: Option<f64>,
    pub first_check: FirstCheckResult,
    pub process: OutlierStages,
    pub elapsed: OutlierStages,
}

/// One measure of a series at each stage; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierStages {
    /// EMPv4: all samples.
    pub before: Summary,
    /// EMPv5, 2 s.d.
    pub strict: CheckedTimes,
    /// EMPv5-relaxed, 5 s.d.
    pub relaxed: CheckedTimes,
    /// Share of the samples that the strict checks discard, with its 95% interval for independent samples.
    pub discarded: Option<Interval>,
    /// Each sample in the order of execution, and what the strict checks make of it.
    pub samples: Vec<(f64, SampleFate)>,
    pub histogram_before: TimeHistogram,
    /// After the strict checks.
    pub histogram_strict: TimeHistogram,
    /// After the relaxed checks.
    pub histogram_relaxed: TimeHistogram,
}

/// The papers' counts: 1,000 samples up to 64 s, 300 up to 4,096 s, 40 beyond.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let lengths = |from: i32, to: i32| (from..=to).map(|power| 2f64.powi(power)).collect::<Vec<_>>();
    match preset {
        StudyPreset::Minutes => vec![inc_run("", &lengths(-4, -1), 200)],
        StudyPreset::Hour => vec![inc_run("", &lengths(0, 3), 200)],
        StudyPreset::Paper => vec![
            inc_run("", &lengths(0, 6), 1000),
            inc_run("", &lengths(7, 12), 300),
            inc_run("", &lengths(13, 14), 40),
        ],
    }
}

/// Without cutoffs, so that check 1 discards nothing.
pub fn report(series: &[StudySeries<'_>]) -> Result<OutliersReport, StudyGap> {
    report_with(series, &[])
}

/// With the cutoffs of a profile of the machine.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<OutliersReport, StudyGap> {
    let used = long_enough(series, 2)?;
    let labels = condition_labels(&used);
    let stages = |values: &Values, first: &FirstCheckResult| stages(values, &first.spoiled).ok_or(StudyGap::NoSamples);
    let outliers = |(s, condition): (&&StudySeries<'_>, String)| {
        let first_check = FirstCheckResult::new(s, cutoffs);
        Ok(OutlierSeries {
            label: s.program.label.clone(),
            condition,
            size: s.size(),
            process: stages(&process_values(s)?, &first_check)?,
            elapsed: stages(&elapsed_values(s), &first_check)?,
            first_check,
        })
    };
    let series = used.iter().zip(labels).map(outliers).collect::<Result<_, StudyGap>>()?;
    Ok(OutliersReport { series })
}

/// `None` without any sample, or if check 1 discards all.
fn stages(values: &Values, spoiled: &[bool]) -> Option<OutlierStages> {
    let (strict, relaxed) = (checked(values, spoiled, STRICT)?, checked(values, spoiled, RELAXED)?);
    let strict_fates = fates(values, spoiled, STRICT);
    let relaxed_fates = fates(values, spoiled, RELAXED);
    let total = u64::try_from(values.len()).ok().and_then(NonZeroU64::new)?;
    let discarded = u64::try_from(strict.discarded()).ok().and_then(|d| Proportion::new(d, total).ok());
    Some(OutlierStages {
        before: summary(values)?,
        discarded: discarded.map(|d| d.interval()),
        histogram_before: TimeHistogram::new(values),
        histogram_strict: TimeHistogram::new(&retained(values, &strict_fates)),
        histogram_relaxed: TimeHistogram::new(&retained(values, &relaxed_fates)),
        samples: values.as_slice().iter().copied().zip(strict_fates).collect(),
        strict,
        relaxed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::checked::tests::{cutoff, with_daemon};
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};

    #[test]
    fn before_strict_and_relaxed() {
        // 100 and 101 alternate, 104 once: beyond 2 s.d., within 5. A daemon's 400 goes by its cutoff.
        let mut samples: Vec<_> = (0..40).map(|i| sample(i, f64::from(i), 300, 100 + i64::from(i % 2))).collect();
        samples.push(sample(40, 40.0, 300, 104));
        samples.push(with_daemon(sample(41, 41.0, 900, 400), "rhn_check", 5_000));
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let found = report_with(&[series("", &p, &h, &samples)], &[cutoff("rhn_check", 1_000.0)]).unwrap();
        let s = &found.series[0];
        assert_eq!((s.label.as_str(), s.size, s.first_check.cutoffs), ("INC8", Some(8.0), 1));
        let pt = &s.process;
        assert_eq!((pt.before.n, pt.before.max), (42, 400.0));
        assert_eq!((pt.strict.by_cutoff, pt.strict.by_deviation, pt.strict.summary.max), (1, 1, 101.0));
        assert_eq!((pt.relaxed.by_cutoff, pt.relaxed.by_deviation, pt.relaxed.summary.max), (1, 0, 104.0));
        assert_eq!(pt.samples[40], (104.0, SampleFate::Deviation));
        assert_eq!(pt.samples[41], (400.0, SampleFate::Cutoff));
        assert!(pt.discarded.as_ref().unwrap().contains(2.0 / 42.0));
        assert_eq!(pt.histogram_before.counts.iter().sum::<u64>(), 42);
        assert_eq!(pt.histogram_strict.counts.iter().sum::<u64>(), 40);
        assert_eq!(pt.histogram_relaxed.counts.iter().sum::<u64>(), 41);
        // Of elapsed time, nothing but the daemon's sample.
        assert_eq!((s.elapsed.strict.by_cutoff, s.elapsed.strict.by_deviation), (1, 0));
    }

    #[test]
    fn no_cutoffs_are_said() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let samples: Vec<_> = (0..10).map(|i| sample(i, 0.0, 20, 10)).collect();
        let found = report(&[series("", &p, &h, &samples)]).unwrap();
        assert_eq!(found.series[0].first_check.cutoffs, 0);
        assert_eq!(report(&[]), Err(StudyGap::NoSamples));
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        assert_eq!(plan(StudyPreset::Paper).iter().map(|r| r.programs.len()).sum::<usize>(), 15);
    }
}
