//! SORT, MATC and MATR by size: the spread of elapsed time, of EMP's process time and of SEDONA's result (EMP figure 19; SEDONA
//! figure 1).

use crate::data::cells::StudyPreset;
use crate::data::checked::{CheckedTimes, FirstCheckResult, SampleFate, checked, fates};
use crate::data::series::{StudyGap, StudyProgram, StudyRunPlan, StudySeries, StudyWork};
use crate::data::timing_row::{condition_labels, elapsed_values, long_enough, process_values};
use serde::Serialize;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::STRICT;
use tarebench_core::statistics::deviations::{DeviationKind, DeviationRatio, deviation_ratio};
use tarebench_core::statistics::holm::holm;
use tarebench_core::statistics::intervals::{Interval, LEVEL};
use tarebench_core::statistics::series::{Summary, Values, summary};
use tarebench_core::statistics::signed_rank::location;

/// Error of the statement that a spread is smaller, over all programs of a report together.
const FAMILY_ERROR: f64 = 0.05;

/// The programs by size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramsReport {
    pub programs: Vec<ProgramQuality>,
    /// How many programs' spread is shown to be smaller.
    pub verdict: QualityVerdict,
}

/// How well a program is timed in each way; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramQuality {
    pub label: String,
    /// What distinguishes it from other series of the same program; may be empty.
    pub condition: String,
    /// Elements, or rows of the matrices; of other programs as [`StudySeries::size`].
    pub size: Option<f64>,
    pub first_check: FirstCheckResult,
    /// ORG: elapsed time of all samples.
    pub plain: Summary,
    /// EMP: elapsed time after both checks, 2 s.d.
    pub elapsed: CheckedTimes,
    /// EMP: process time after both checks, 2 s.d.
    pub process: CheckedTimes,
    /// SEDONA: process time after check 1.
    pub sedona: CheckedTimes,
    /// Standard deviation of SEDONA over that of ORG; `None` if one of them has no spread.
    pub deviation: Option<DeviationRatio>,
    /// The same of the relative errors.
    pub relative_error: Option<DeviationRatio>,
}

impl ProgramQuality {
    /// What the program is called without its size: `SORT` of `SORT 20000`.
    pub fn family(&self) -> &str {
        self.label.split_whitespace().next().unwrap_or_default()
    }
}

/// In how many programs the spread by SEDONA is smaller or larger than that of plain elapsed time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityVerdict {
    /// Programs whose standard deviations could be compared.
    pub compared: usize,
    /// Holm's method over all of them, at 5% for the family: shown to be smaller.
    pub smaller: usize,
    /// Shown to be larger.
    pub larger: usize,
    /// Location of the ratios of the standard deviations over the programs, by signed ranks; `None` for too few programs.
    pub ratio: Option<Interval>,
    /// The estimate in it.
    pub estimate: Option<f64>,
}

impl QualityVerdict {
    pub(crate) fn new(programs: &[ProgramQuality]) -> QualityVerdict {
        let known: Vec<&DeviationRatio> = programs.iter().filter_map(|p| p.deviation.as_ref()).collect();
        let tested: Vec<(f64, f64)> = known.iter().filter_map(|r| Some((r.ratio, r.p?))).collect();
        let rejected = holm(&tested.iter().map(|t| t.1).collect::<Vec<_>>(), FAMILY_ERROR);
        let count =
            |below: bool| tested.iter().zip(&rejected).filter(|((ratio, _), r)| **r && (*ratio < 1.0) == below).count();
        let logarithms = Values::new(known.iter().map(|r| r.ratio.ln())).ok();
        let middle = logarithms.and_then(|l| location(&l, LEVEL));
        let ratio = middle.as_ref().and_then(|m| m.interval.as_ref().ok());
        QualityVerdict {
            compared: tested.len(),
            smaller: count(true),
            larger: count(false),
            ratio: ratio.map(|i| Interval { low: i.low.exp(), high: i.high.exp(), level: i.level }),
            estimate: middle.as_ref().map(|m| m.estimate.exp()),
        }
    }
}

/// EMP's sizes are 100,000 to 3,200,000 elements and matrices of 1,000 to 8,000 rows, ten samples each (EMPv6).
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let (sorted, matrices, samples): (&[u32], &[u32], u32) = match preset {
        StudyPreset::Minutes => (&[15_000, 30_000, 60_000], &[128, 256, 512], 80),
        StudyPreset::Hour => (&[50_000, 100_000, 200_000], &[512, 768, 1_024], 150),
        StudyPreset::Paper => {
            (&[100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000], &[1_000, 2_000, 4_000, 8_000], 10)
        }
    };
    let programs = [("sort", sorted), ("matc", matrices), ("matr", matrices)]
        .into_iter()
        .flat_map(|(name, sizes)| sizes.iter().map(move |size| work(name, *size)));
    vec![StudyRunPlan { condition: String::new(), setting: None, programs: programs.collect(), samples, warmup: 1 }]
}

fn work(name: &str, size: u32) -> StudyProgram {
    StudyProgram {
        label: format!("{} {size}", name.to_uppercase()),
        work: StudyWork::Work { name: name.to_owned(), size: u64::from(size) },
        size: Some(f64::from(size)),
    }
}

/// Without cutoffs, so that SEDONA's result is the mean process time of all samples.
pub fn report(series: &[StudySeries<'_>]) -> Result<ProgramsReport, StudyGap> {
    report_with(series, &[])
}

/// With the cutoffs of a profile of the machine.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<ProgramsReport, StudyGap> {
    let programs = qualities(series, cutoffs)?;
    Ok(ProgramsReport { verdict: QualityVerdict::new(&programs), programs })
}

/// The quality of each series that has at least two samples.
pub(crate) fn qualities(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<Vec<ProgramQuality>, StudyGap> {
    let used = long_enough(series, 2)?;
    let labels = condition_labels(&used);
    used.iter().zip(labels).map(|(s, condition)| quality(s, condition, cutoffs)).collect()
}

fn quality(s: &StudySeries<'_>, condition: String, cutoffs: &[Cutoff]) -> Result<ProgramQuality, StudyGap> {
    let first_check = FirstCheckResult::new(s, cutoffs);
    let (elapsed, process) = (elapsed_values(s), process_values(s)?);
    let plain: Vec<Option<f64>> = elapsed.as_slice().iter().copied().map(Some).collect();
    let kept = fates(&process, &first_check.spoiled, 0.0);
    let left = |(v, fate): (&f64, SampleFate)| (fate == SampleFate::Retained).then_some(*v);
    let sedona: Vec<Option<f64>> = process.as_slice().iter().zip(kept).map(left).collect();
    let check = |values: &Values, s: f64| checked(values, &first_check.spoiled, s).ok_or(StudyGap::NoSamples);
    Ok(ProgramQuality {
        label: s.program.label.clone(),
        condition,
        size: s.size(),
        plain: summary(&elapsed).ok_or(StudyGap::NoSamples)?,
        elapsed: check(&elapsed, STRICT)?,
        process: check(&process, STRICT)?,
        sedona: check(&process, 0.0)?,
        deviation: deviation_ratio(&sedona, &plain, DeviationKind::Deviation),
        relative_error: deviation_ratio(&sedona, &plain, DeviationKind::RelativeError),
        first_check,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::checked::tests::{cutoff, with_daemon};
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::sample::data::Sample;
    use tarebench_core::statistics::random::{RandomPurpose, generator, unit};

    /// Process times of 1 s ± 1 ms; elapsed times longer by an exponential wait.
    pub(crate) fn waiting(item: u64, n: u32, wait: f64) -> Vec<Sample> {
        let mut rng = generator(12, RandomPurpose::Noise, 970 + item);
        let mut times = || {
            let z = (-2.0 * unit(&mut rng).ln()).sqrt() * (2.0 * std::f64::consts::PI * unit(&mut rng)).cos();
            let process = 1e9 + 1e6 * z;
            (process as i64, (process - wait * unit(&mut rng).ln()) as i64)
        };
        (0..n).map(|i| (i, times())).map(|(i, (pt, et))| sample(i, f64::from(i) * 2.0, et, pt)).collect()
    }

    #[test]
    fn waiting_spreads_elapsed_time_only() {
        let programs = [program("SORT 100", Some(100.0)), program("SORT 200", Some(200.0))];
        let h = head("a");
        let (noisy, quiet) = (waiting(0, 60, 1e7), waiting(1, 60, 0.0));
        let all = [series("", &programs[0], &h, &noisy), series("", &programs[1], &h, &quiet)];
        let found = report(&all).unwrap();
        let [a, b] = found.programs.as_slice() else { panic!("{found:?}") };
        assert_eq!((a.family(), a.size, a.plain.n, a.sedona.samples), ("SORT", Some(100.0), 60, 60));
        let ratio = a.deviation.clone().unwrap();
        assert!(ratio.ratio < 0.25 && ratio.interval.unwrap().high < 1.0 && ratio.p.unwrap() < 0.01);
        assert!((b.deviation.as_ref().unwrap().ratio - 1.0).abs() < 0.01, "{b:?}");
        assert_eq!((found.verdict.smaller, found.verdict.larger), (1, 0));
        // Two programs are too few for a location.
        assert_eq!(found.verdict.ratio, None);
    }

    #[test]
    fn sedona_leaves_out_what_a_daemon_spoiled_and_no_more() {
        let mut samples: Vec<Sample> = (0..20).map(|i| sample(i, 0.0, 300, 100 + i64::from(i % 2))).collect();
        samples.push(sample(20, 0.0, 300, 160));
        samples.push(with_daemon(sample(21, 0.0, 900, 400), "rhn_check", 5_000));
        let (p, h) = (program("gcc", None), head("a"));
        let found = qualities(&[series("", &p, &h, &samples)], &[cutoff("rhn_check", 1_000.0)]).unwrap();
        let [q] = found.as_slice() else { panic!("{found:?}") };
        // 160 is beyond 2 s.d., which EMP discards and SEDONA does not.
        assert_eq!((q.sedona.by_cutoff, q.sedona.by_deviation, q.sedona.summary.max), (1, 0, 160.0));
        assert_eq!((q.process.by_cutoff, q.process.by_deviation, q.process.summary.max), (1, 1, 101.0));
        assert_eq!((q.plain.n, q.plain.max), (22, 900.0));
    }

    #[test]
    fn sizes_and_names_that_tare_work_knows() {
        for preset in [StudyPreset::Minutes, StudyPreset::Hour, StudyPreset::Paper] {
            let run = plan(preset).remove(0);
            for p in &run.programs {
                let StudyWork::Work { name, size } = &p.work else { panic!("{p:?}") };
                assert!(["sort", "matc", "matr"].contains(&name.as_str()));
                // Matrices of more than 30,000 rows are refused.
                assert!(*size <= if name == "sort" { 100_000_000 } else { 30_000 });
                assert_eq!(p.size, Some(*size as f64));
            }
        }
        let labels: Vec<String> = plan(StudyPreset::Paper).remove(0).programs.into_iter().map(|p| p.label).collect();
        assert_eq!((labels.len(), labels[5].as_str(), labels[6].as_str()), (14, "SORT 3200000", "MATC 1000"));
    }
}
