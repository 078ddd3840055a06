//! The studies of samples by name: what each measures, how long that takes, and what it comes to.

use crate::data::cells::StudyPreset;
use crate::data::clock_speed::ClockSpeedReport;
use crate::data::clocks::ClocksStudyReport;
use crate::data::daemons::DaemonsReport;
use crate::data::dual::DualReport;
use crate::data::et_pt::EtPtReport;
use crate::data::evolution::EvolutionReport;
use crate::data::histogram::HistogramReport;
use crate::data::ntp::NtpReport;
use crate::data::outliers::OutliersReport;
use crate::data::programs::ProgramsReport;
use crate::data::sample_size::SampleSizeReport;
use crate::data::scaling::ScalingReport;
use crate::data::series::{SampleStudy, StudyGap, StudyProgram, StudyRunPart, StudyRunPlan, StudySeries, StudyWork};
use crate::data::successive::SuccessiveReport;
use crate::data::suite::SuiteReport;
use crate::data::variance::VarianceReport;
use crate::data::worst::WorstReport;
use crate::data::{
    clock_speed, clocks, daemons, dual, et_pt, evolution, histogram, ntp, outliers, programs, sample_size, scaling,
    successive, suite, variance, worst,
};
use serde::Serialize;

/// What a study of samples comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "study", content = "found", rename_all = "kebab-case")]
pub enum SampleStudyReport {
    EtPt(EtPtReport),
    Ntp(NtpReport),
    ClockSpeed(ClockSpeedReport),
    Scaling(ScalingReport),
    Outliers(OutliersReport),
    SampleSize(SampleSizeReport),
    Evolution(EvolutionReport),
    Clocks(ClocksStudyReport),
    Programs(ProgramsReport),
    Suite(SuiteReport),
    Histogram(HistogramReport),
    Dual(DualReport),
    Successive(SuccessiveReport),
    Daemons(DaemonsReport),
    Worst(WorstReport),
    Variance(VarianceReport),
}

/// What a study measures, run by run. `suite` is the list of programs of [`SampleStudy::Suite`]; the others have their own.
pub fn plan(study: SampleStudy, preset: StudyPreset, suite: &[StudyProgram]) -> Vec<StudyRunPlan> {
    match study {
        SampleStudy::EtPt => et_pt::plan(preset),
        SampleStudy::Ntp => ntp::plan(preset),
        SampleStudy::ClockSpeed => clock_speed::plan(preset),
        SampleStudy::Scaling => scaling::plan(preset),
        SampleStudy::Outliers => outliers::plan(preset),
        SampleStudy::SampleSize => sample_size::plan(preset),
        SampleStudy::Evolution => evolution::plan(preset),
        SampleStudy::Clocks => clocks::plan(preset),
        SampleStudy::Programs => programs::plan(preset),
        SampleStudy::Suite => suite::plan(preset, suite),
        SampleStudy::Histogram => histogram::plan(preset),
        SampleStudy::Dual => dual::plan(preset),
        SampleStudy::Successive => successive::plan(preset),
        SampleStudy::Daemons => daemons::plan(preset),
        SampleStudy::Worst => worst::plan(preset),
        SampleStudy::Variance => variance::plan(preset),
    }
}

/// What the samples come to.
///
/// # Errors
/// [`StudyGap`] if they do not answer the study's question.
pub fn report(study: SampleStudy, parts: &[StudyRunPart]) -> Result<SampleStudyReport, StudyGap> {
    let all: Vec<StudySeries<'_>> =
        parts.iter().flat_map(StudyRunPart::series).filter(|s| !s.samples.is_empty()).collect();
    if all.is_empty() {
        return Err(StudyGap::NoSamples);
    }
    let series = all.as_slice();
    // All of one machine have the same, or were copied before it had a profile. Those of another machine do not apply.
    let same = |pair: &[StudyRunPart]| matches!(pair, [a, b] if a.head.machine == b.head.machine && a.head.identity() == b.head.identity());
    let known = parts.iter().rev().map(|p| p.cutoffs.as_slice()).find(|c| !c.is_empty());
    let cutoffs = known.filter(|_| parts.windows(2).all(same)).unwrap_or_default();
    Ok(match study {
        SampleStudy::EtPt => SampleStudyReport::EtPt(et_pt::report(series)?),
        SampleStudy::Ntp => SampleStudyReport::Ntp(ntp::report(series)?),
        SampleStudy::ClockSpeed => SampleStudyReport::ClockSpeed(clock_speed::report(series)?),
        SampleStudy::Scaling => SampleStudyReport::Scaling(scaling::report(series)?),
        SampleStudy::Outliers => SampleStudyReport::Outliers(outliers::report_with(series, cutoffs)?),
        SampleStudy::SampleSize => SampleStudyReport::SampleSize(sample_size::report_with(series, cutoffs)?),
        SampleStudy::Evolution => SampleStudyReport::Evolution(evolution::report_with(series, cutoffs)?),
        SampleStudy::Clocks => SampleStudyReport::Clocks(clocks::report(series)?),
        SampleStudy::Programs => SampleStudyReport::Programs(programs::report_with(series, cutoffs)?),
        SampleStudy::Suite => SampleStudyReport::Suite(suite::report_with(series, cutoffs)?),
        SampleStudy::Histogram => SampleStudyReport::Histogram(histogram::report_with(series, cutoffs)?),
        SampleStudy::Dual => SampleStudyReport::Dual(dual::report(series)?),
        SampleStudy::Successive => SampleStudyReport::Successive(successive::report(series)?),
        SampleStudy::Daemons => SampleStudyReport::Daemons(daemons::report(series)?),
        SampleStudy::Worst => SampleStudyReport::Worst(worst::report(series)?),
        SampleStudy::Variance => SampleStudyReport::Variance(variance::report(series)?),
    })
}

/// How long a plan should take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PlannedTime {
    /// Of the programs whose length is known, s: samples and warm-ups times their lengths.
    pub seconds: f64,
    /// Executions of all programs.
    pub executions: u64,
    /// Executions of programs whose length is not known.
    pub unknown: u64,
}

/// Time of all runs of a plan; a sum over its programs.
pub fn planned_time(runs: &[StudyRunPlan]) -> PlannedTime {
    let mut total = PlannedTime::default();
    for run in runs {
        let each = u64::from(run.samples) + u64::from(run.warmup);
        for program in &run.programs {
            total.executions = total.executions.saturating_add(each);
            match program.work.expected_seconds() {
                Some(seconds) => total.seconds += seconds * each as f64,
                None => total.unknown = total.unknown.saturating_add(each),
            }
        }
    }
    total
}

impl StudyWork {
    /// How long one execution takes, s, if it is known before it was measured. Those of SORT, MATC and MATR are rough, for a CPU of
    /// some GHz: a quarter of n² moves of an insertion sort, n³ multiplications, which miss the cache by columns.
    pub fn expected_seconds(&self) -> Option<f64> {
        match self {
            StudyWork::Inc { seconds } | StudyWork::Halves { seconds } => Some(*seconds),
            StudyWork::Work { name, size } => {
                let n = *size as f64;
                match name.as_str() {
                    "sort" => Some(n * n * 1.5e-10),
                    "matc" => Some(n * n * n * 2e-9),
                    "matr" => Some(n * n * n * 5e-10),
                    "inc" => Some(n * 1e-3),
                    _ => None,
                }
            }
            StudyWork::Shell { .. } | StudyWork::Stored => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(study: SampleStudy, preset: StudyPreset) -> Vec<StudyRunPlan> {
        let program = StudyProgram {
            label: "true".to_owned(),
            work: StudyWork::Shell { command: "true".to_owned(), setup: None, cleanup: None },
            size: None,
        };
        plan(study, preset, &[program])
    }

    #[test]
    fn every_study_plans_something_at_every_preset() {
        for study in SampleStudy::ALL {
            for preset in StudyPreset::ALL {
                let runs = planned(study, preset);
                let time = planned_time(&runs);
                assert!(time.executions > 0, "{study} at {}", preset.name());
                assert!(runs.iter().all(|r| !r.programs.is_empty() && r.samples > 0), "{study}");
                let wanted = match preset {
                    StudyPreset::Minutes => 400.0,
                    StudyPreset::Hour => 5000.0,
                    StudyPreset::Paper => f64::INFINITY,
                };
                assert!(time.seconds <= wanted, "{study} at {}: {} s", preset.name(), time.seconds);
            }
        }
    }

    #[test]
    fn time_is_of_samples_and_warmups() {
        let program = |work| StudyProgram { label: "p".to_owned(), work, size: None };
        let run = StudyRunPlan {
            condition: String::new(),
            setting: None,
            programs: vec![
                program(StudyWork::Inc { seconds: 2.0 }),
                program(StudyWork::Shell { command: "true".to_owned(), setup: None, cleanup: None }),
            ],
            samples: 9,
            warmup: 1,
        };
        let time = planned_time(&[run.clone(), run]);
        assert_eq!(time, PlannedTime { seconds: 40.0, executions: 40, unknown: 20 });
    }

    #[test]
    fn no_samples_have_no_report() {
        for study in SampleStudy::ALL {
            assert_eq!(report(study, &[]), Err(StudyGap::NoSamples));
        }
    }
}
