//! What the studies of EMP, SEDONA and the report on program execution time are computed from: series of samples under stated
//! conditions, measured for the study or taken from stored runs.

use crate::data::cells::StudyPreset;
use serde::{Deserialize, Serialize};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::plan::IgnoreFailure;
use tarebench_core::sample::data::{Phase, Sample};

/// The studies that are computed from samples of whole programs: [`STUDIES`](crate::data::samples::STUDIES) says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleStudy {
    EtPt,
    Ntp,
    ClockSpeed,
    Scaling,
    Outliers,
    SampleSize,
    Evolution,
    Clocks,
    Programs,
    Suite,
    Histogram,
    Dual,
    Successive,
    Daemons,
    Worst,
    Variance,
}

/// What a study measures: runs, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleStudyPlan {
    pub sample_study: SampleStudy,
    pub preset: StudyPreset,
    /// CPUs that the programs may use; empty: all.
    pub cpus: Vec<u32>,
    /// Seed of all that is random.
    pub seed: u64,
    /// What to measure; empty for a study of stored runs.
    pub runs: Vec<StudyRunPlan>,
}

/// One run of a study: its programs in random rounds, under one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyRunPlan {
    /// What its samples have in common and those of other runs don't: `turbo off`. Empty if there is only one condition.
    pub condition: String,
    /// Setting of a factor for this run, `(factor, value)` as in `tare tune`; `None`: the machine as it is.
    pub setting: Option<(String, String)>,
    pub programs: Vec<StudyProgram>,
    /// Counted samples of each program.
    pub samples: u32,
    /// Executions of each program before counting begins.
    pub warmup: u32,
}

/// A program of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyProgram {
    /// What tables call it: `INC8`, `SORT 20000`, `gzip`.
    pub label: String,
    pub work: StudyWork,
    /// The independent variable of the study, if there is one: the wanted task length in seconds, or the size.
    pub size: Option<f64>,
}

/// What a program of a study does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum StudyWork {
    /// `tare inc SECONDS`.
    Inc { seconds: f64 },
    /// `tare inc --split SECONDS`: two equal halves, whose times it prints.
    Halves { seconds: f64 },
    /// `tare work NAME SIZE`: `sort`, `matc`, `matr`.
    Work { name: String, size: u64 },
    /// A command for `/bin/sh -c`, with commands before its first and after its last execution, in this folder.
    Shell { command: String, setup: Option<String>, cleanup: Option<String> },
    /// A program of a stored run, which is not measured again.
    Stored,
}

/// Part of a stored study: the samples of one run, copied, so that the study is whole without the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyRunPart {
    /// As [`StudyRunPlan::condition`].
    pub condition: String,
    /// Its programs, by index of [`Sample::series`].
    pub programs: Vec<StudyProgram>,
    /// Head of the run, with its conditions.
    pub head: DocumentHead,
    /// All samples of the run, in the order of execution, warm-ups and failures included.
    pub samples: Vec<Sample>,
    /// Of the profile of its machine when it was copied; empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cutoffs: Vec<Cutoff>,
    /// Failing exit statuses that the run accepted.
    #[serde(default)]
    pub ignore_failure: IgnoreFailure,
}

/// A run of a study that was not measured, stored in the place of its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyLeftOut {
    /// As [`StudyRunPlan::condition`].
    pub condition: String,
    pub left_out: String,
}

/// The samples of one program under one condition that an analysis uses: counted and successful, in the order of execution.
#[derive(Clone, Debug)]
pub struct StudySeries<'a> {
    pub condition: &'a str,
    pub program: &'a StudyProgram,
    /// Head of the run that they are of.
    pub head: &'a DocumentHead,
    pub samples: Vec<&'a Sample>,
}

impl StudyRunPart {
    /// Its series, in the order of the programs; one without any usable sample has none.
    pub fn series(&self) -> Vec<StudySeries<'_>> {
        let usable = |s: &&Sample| s.phase == Phase::Counted && self.ignore_failure.accepts(&s.outcome);
        let empty =
            |program| StudySeries { condition: &self.condition, program, head: &self.head, samples: Vec::new() };
        let mut all: Vec<StudySeries<'_>> = self.programs.iter().map(empty).collect();
        for sample in self.samples.iter().filter(usable) {
            if let Some(series) = all.get_mut(sample.series as usize) {
                series.samples.push(sample);
            }
        }
        all
    }
}

impl StudySeries<'_> {
    pub fn elapsed(&self) -> Vec<Nanos> {
        self.samples.iter().map(|s| s.elapsed()).collect()
    }

    /// Process times; `None` if one of the samples has none, since a subset would be another series.
    pub fn process_times(&self) -> Option<Vec<Nanos>> {
        self.samples.iter().map(|s| s.process_time().ok()).collect()
    }

    /// Seconds or size by which the study orders its programs: the stated one, else the median process time, s.
    pub fn size(&self) -> Option<f64> {
        if self.program.size.is_some() {
            return self.program.size;
        }
        let mut times: Vec<Nanos> = self.process_times()?;
        times.sort_unstable();
        times.get(times.len() / 2).map(|t| t.as_f64() / 1e9)
    }
}

/// Why a study has no result from these series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "gap", rename_all = "snake_case")]
pub enum StudyGap {
    /// Nothing was measured yet.
    #[error("there are no samples")]
    NoSamples,
    /// A series is too short.
    #[error("`{label}` has {found} samples, expected at least {needed}")]
    TooFewSamples { label: String, found: usize, needed: usize },
    /// It compares conditions, of which there is only one.
    #[error("all samples are of one condition ({only}); expected at least two ({wanted})")]
    OneCondition { only: String, wanted: String },
    /// Samples have no process time.
    #[error("`{label}` has samples without a process time")]
    NoProcessTime { label: String },
    /// Samples lack what the study needs, in words: `snapshots of all processes`.
    #[error("`{label}` has samples without {what}")]
    Lacking { label: String, what: String },
}
