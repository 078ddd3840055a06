//! The studies of samples by name: what each measures, how long that takes, and what it comes to.

use crate::data::about::StudyAbout;
use crate::data::cells::StudyPreset;
use crate::data::clocks::ClocksStudyReport;
use crate::data::condition_study::{CLOCK_SPEED, ConditionReport, NTP};
use crate::data::daemons::DaemonsReport;
use crate::data::dual::DualReport;
use crate::data::et_pt::EtPtReport;
use crate::data::evolution::EvolutionReport;
use crate::data::histogram::HistogramReport;
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
    clocks, daemons, dual, et_pt, evolution, histogram, outliers, programs, sample_size, scaling, successive, suite,
    variance, worst,
};
use serde::Serialize;
use std::fmt;
use tarebench_core::profile::data::Cutoff;

/// What a study of samples comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "study", content = "found", rename_all = "kebab-case")]
pub enum SampleStudyReport {
    EtPt(EtPtReport),
    Ntp(ConditionReport),
    ClockSpeed(ConditionReport),
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

/// A study of samples: its words, what it measures, and what samples come to.
pub struct StudyEntry {
    pub study: SampleStudy,
    pub name: &'static str,
    pub about: StudyAbout,
    /// Runs; `suite` is the list of programs of [`SampleStudy::Suite`].
    plan: fn(StudyPreset, &[StudyProgram]) -> Vec<StudyRunPlan>,
    report: fn(&[StudySeries<'_>], &[Cutoff]) -> Result<SampleStudyReport, StudyGap>,
}

/// All studies of samples, in the order of the papers, which is that of [`SampleStudy`].
pub static STUDIES: [StudyEntry; 16] = [
    StudyEntry {
        study: SampleStudy::EtPt,
        name: "et-pt",
        about: StudyAbout {
            paper: "EMP",
            shows: "figures 2 and 9, tables II and III",
            question: "How much do elapsed and process time of the same work vary, and how does that grow with its length?",
        },
        plan: |preset, _| et_pt::plan(preset),
        report: |series, _| et_pt::report(series).map(SampleStudyReport::EtPt),
    },
    StudyEntry {
        study: SampleStudy::Ntp,
        name: "ntp",
        about: StudyAbout {
            paper: "EMP",
            shows: "figure 10, table IV",
            question: "Does the NTP daemon make process times steadier?",
        },
        plan: |preset, _| NTP.plan(preset),
        report: |series, _| NTP.report(series).map(SampleStudyReport::Ntp),
    },
    StudyEntry {
        study: SampleStudy::ClockSpeed,
        name: "clock-speed",
        about: StudyAbout {
            paper: "EMP",
            shows: "figure 11, table V",
            question: "How much of the spread do turbo mode and frequency scaling cause?",
        },
        plan: |preset, _| CLOCK_SPEED.plan(preset),
        report: |series, _| CLOCK_SPEED.report(series).map(SampleStudyReport::ClockSpeed),
    },
    StudyEntry {
        study: SampleStudy::Scaling,
        name: "scaling",
        about: StudyAbout {
            paper: "EMP, Report",
            shows: "EMP figure 12, table VI; Report table 3, figure 1",
            question: "How do mean and standard deviation of process time grow with the length of the task?",
        },
        plan: |preset, _| scaling::plan(preset),
        report: |series, _| scaling::report(series).map(SampleStudyReport::Scaling),
    },
    StudyEntry {
        study: SampleStudy::Outliers,
        name: "outliers",
        about: StudyAbout {
            paper: "EMP, Report",
            shows: "EMP figure 16, table XIX; Report figures 2 to 11",
            question: "What do the two checks for outliers remove?",
        },
        plan: |preset, _| outliers::plan(preset),
        report: |series, cutoffs| outliers::report_with(series, cutoffs).map(SampleStudyReport::Outliers),
    },
    StudyEntry {
        study: SampleStudy::SampleSize,
        name: "sample-size",
        about: StudyAbout {
            paper: "EMP, Report",
            shows: "EMP tables XX to XXIV; Report tables 4 and 6, figures 12, 13, 16",
            question: "How many samples are enough?",
        },
        plan: |preset, _| sample_size::plan(preset),
        report: |series, cutoffs| sample_size::report_with(series, cutoffs).map(SampleStudyReport::SampleSize),
    },
    StudyEntry {
        study: SampleStudy::Evolution,
        name: "evolution",
        about: StudyAbout {
            paper: "EMP",
            shows: "figure 17",
            question: "By how much does each step of the protocol reduce standard deviation and relative error?",
        },
        plan: |preset, _| evolution::plan(preset),
        report: |series, cutoffs| evolution::report_with(series, cutoffs).map(SampleStudyReport::Evolution),
    },
    StudyEntry {
        study: SampleStudy::Clocks,
        name: "clocks",
        about: StudyAbout {
            paper: "EMP",
            shows: "figure 18, table XXV",
            question: "Do different clocks measure the same times?",
        },
        plan: |preset, _| clocks::plan(preset),
        report: |series, _| clocks::report(series).map(SampleStudyReport::Clocks),
    },
    StudyEntry {
        study: SampleStudy::Programs,
        name: "programs",
        about: StudyAbout {
            paper: "EMP, SEDONA",
            shows: "EMP figure 19; SEDONA figure 1",
            question: "Does the protocol hold for programs that use memory: SORT, MATC, MATR?",
        },
        plan: |preset, _| programs::plan(preset),
        report: |series, cutoffs| programs::report_with(series, cutoffs).map(SampleStudyReport::Programs),
    },
    StudyEntry {
        study: SampleStudy::Suite,
        name: "suite",
        about: StudyAbout {
            paper: "EMP, SEDONA",
            shows: "EMP table XXVI; SEDONA table 3",
            question: "Does the protocol hold for real programs?",
        },
        plan: |preset, suite| suite::plan(preset, suite),
        report: |series, cutoffs| suite::report_with(series, cutoffs).map(SampleStudyReport::Suite),
    },
    StudyEntry {
        study: SampleStudy::Histogram,
        name: "histogram",
        about: StudyAbout {
            paper: "Report",
            shows: "figures 14, 15, 17 to 20",
            question: "Do process times have one mode or two, and are they normal?",
        },
        plan: |preset, _| histogram::plan(preset),
        report: |series, cutoffs| histogram::report_with(series, cutoffs).map(SampleStudyReport::Histogram),
    },
    StudyEntry {
        study: SampleStudy::Dual,
        name: "dual",
        about: StudyAbout {
            paper: "Report",
            shows: "section 6, table 7, figures 21 to 28",
            question: "Do both halves of an execution vary together?",
        },
        plan: |preset, _| dual::plan(preset),
        report: |series, _| dual::report(series).map(SampleStudyReport::Dual),
    },
    StudyEntry {
        study: SampleStudy::Successive,
        name: "successive",
        about: StudyAbout {
            paper: "Report",
            shows: "section 7, figures 29 to 32",
            question: "Does a sample depend on the one before it?",
        },
        plan: |preset, _| successive::plan(preset),
        report: |series, _| successive::report(series).map(SampleStudyReport::Successive),
    },
    StudyEntry {
        study: SampleStudy::Daemons,
        name: "daemons",
        about: StudyAbout {
            paper: "Report",
            shows: "section 8, table 8, figures 33 to 39",
            question: "Does process time vary with the process time of the daemons?",
        },
        plan: |preset, _| daemons::plan(preset),
        report: |series, _| daemons::report(series).map(SampleStudyReport::Daemons),
    },
    StudyEntry {
        study: SampleStudy::Worst,
        name: "worst",
        about: StudyAbout {
            paper: "Report",
            shows: "tables 5, 9 to 12",
            question: "Which daemons ran during the slowest sample?",
        },
        plan: |preset, _| worst::plan(preset),
        report: |series, _| worst::report(series).map(SampleStudyReport::Worst),
    },
    StudyEntry {
        study: SampleStudy::Variance,
        name: "variance",
        about: StudyAbout {
            paper: "EMP",
            shows: "section 8",
            question: "What is the variance of process time made of?",
        },
        plan: |preset, _| variance::plan(preset),
        report: |series, _| variance::report(series).map(SampleStudyReport::Variance),
    },
];

impl SampleStudy {
    pub fn all() -> impl Iterator<Item = SampleStudy> {
        STUDIES.iter().map(|entry| entry.study)
    }

    pub fn entry(self) -> &'static StudyEntry {
        &STUDIES[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<SampleStudy> {
        SampleStudy::all().find(|study| study.name() == name)
    }
}

impl fmt::Display for SampleStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a study measures, run by run. `suite` is the list of programs of [`SampleStudy::Suite`]; the others have their own.
pub fn plan(study: SampleStudy, preset: StudyPreset, suite: &[StudyProgram]) -> Vec<StudyRunPlan> {
    (study.entry().plan)(preset, suite)
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
    // All of one machine have the same, or were copied before it had a profile. Those of another machine do not apply.
    let same = |pair: &[StudyRunPart]| matches!(pair, [a, b] if a.head.machine == b.head.machine && a.head.identity() == b.head.identity());
    let known = parts.iter().rev().map(|p| p.cutoffs.as_slice()).find(|c| !c.is_empty());
    let cutoffs = known.filter(|_| parts.windows(2).all(same)).unwrap_or_default();
    (study.entry().report)(&all, cutoffs)
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
        for study in SampleStudy::all() {
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
        for study in SampleStudy::all() {
            assert_eq!(report(study, &[]), Err(StudyGap::NoSamples));
        }
    }
}
