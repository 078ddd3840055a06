//! Programs of stored runs against each other, as they are stored: everything that the comparison needs, without the runs.
//!
//! It is made of runs by [`crate::run::compared`]; what follows from it is in [`crate::compare::stored_report`].

use crate::base::units::Nanos;
use crate::compare::ratio::RatioBasis;
use crate::documents::head::Status;
use crate::machine::conditions::Conditions;
use crate::sample::counters::Counter;
use crate::sample::measure::Measure;
use crate::statistics::intervals::{Interval, NoInterval};
use serde::{Deserialize, Serialize};

/// A comparison as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredComparison {
    pub plan: StoredPlan,
    /// The runs of the sides, each once.
    pub runs: Vec<ComparedRun>,
    /// The programs that are compared.
    pub sides: Vec<StoredSide>,
    /// Which of them with which.
    pub pairs: Vec<StoredPair>,
    /// Programs of the runs that were named as a whole which no other run has.
    pub left_out: Vec<LeftOutProgram>,
    /// What else the store knew of the same and of other programs, from which it follows how far runs of one program differ.
    pub history: Vec<PastRun>,
}

/// What programs are compared by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ComparedBy {
    Time(Measure),
    /// A number that the programs print (`--metric`), by its name.
    Printed {
        metric: String,
    },
    /// An event that the kernel or the PMU counts.
    Counter {
        counter: Counter,
    },
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPlan {
    /// What the verdicts rest on; `None`: process time where both programs have it, else elapsed time.
    pub measure: Option<ComparedBy>,
    /// Give a verdict although the machines differ.
    pub across_machines: bool,
}

/// A run that holds programs that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Number in the store where it was compared.
    pub run: i64,
    pub uuid: String,
    /// When it began, since 1970.
    pub created: Nanos,
    pub status: Status,
    /// Its machine, and the factors that describe a state, not events.
    pub conditions: Conditions,
}

/// A program of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSide {
    /// Index in [`StoredComparison::runs`].
    pub run: u32,
    /// Index of the program in its run.
    pub series: u32,
    pub label: String,
    /// [`crate::run::compared::program_identity`].
    pub program: String,
    pub times: Vec<SeriesTimes>,
    /// What it printed of itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<SideMetric>,
    /// What was counted of it, by [`Counter::name`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<SideMetric>,
    /// The program with which its run compares it by blocks; `None` for that program itself, and in sequential runs.
    pub against: Option<SideReference>,
}

/// What its run says of a program by one measure, in ns over the retained samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesTimes {
    pub measure: Measure,
    pub samples: u32,
    pub median: f64,
    /// 95% interval by order statistics.
    pub interval: Result<Interval, NoInterval>,
}

/// A number that a program printed, in its own unit, over the retained samples that have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideMetric {
    /// As the user called it.
    pub name: String,
    pub samples: u32,
    pub median: f64,
    /// 95% interval by order statistics.
    pub interval: Result<Interval, NoInterval>,
    /// Only if it is greater than 0, ratios are meaningful.
    pub smallest: f64,
}

/// The ratio of what two programs of one run printed, from its rounds: in duets nothing of it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockMetric {
    pub name: String,
    pub ratio: f64,
    pub interval: Result<Interval, NoInterval>,
    pub pairs: u32,
}

/// The reference of a program in its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReference {
    pub label: String,
    /// [`crate::run::compared::program_identity`].
    pub program: String,
    pub times: Vec<SeriesTimes>,
    /// Program / reference.
    pub ratios: Vec<BlockRatio>,
}

/// The ratio of two programs of one run, from its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRatio {
    pub measure: Measure,
    pub basis: RatioBasis,
    pub ratio: f64,
    pub interval: Result<Interval, NoInterval>,
    pub pairs: u32,
}

/// Two sides that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPair {
    /// Index in [`StoredComparison::sides`].
    pub program: u32,
    /// The same of what it is compared with.
    pub reference: u32,
    /// Program / reference, if both are of one run.
    pub blocks: Vec<BlockRatio>,
    /// The same of what both printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<BlockMetric>,
    /// The same of the counters of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<BlockMetric>,
    /// The samples of a block were neighbours in time.
    pub paired_in_time: bool,
}

/// A program that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutProgram {
    /// Index in [`StoredComparison::runs`].
    pub run: u32,
    pub label: String,
}

/// An earlier or later run of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    pub uuid: String,
    /// When it began, since 1970.
    pub created: Nanos,
    /// [`crate::machine::data::Host::machine`].
    pub machine: String,
    /// [`crate::machine::conditions::fingerprint`].
    pub fingerprint: String,
    pub series: Vec<PastSeries>,
}

/// A program of such a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastSeries {
    /// [`crate::run::compared::program_identity`].
    pub program: String,
    pub medians: Vec<PastMedian>,
    pub ratios: Vec<PastRatio>,
}

/// Median of the samples that succeeded, ns; nothing is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastMedian {
    pub measure: Measure,
    pub median: f64,
}

/// The ratio to the reference of the run, from its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastRatio {
    /// [`crate::run::compared::program_identity`] of the reference.
    pub reference: String,
    pub measure: Measure,
    pub basis: RatioBasis,
    /// Median of the logarithms of program / reference.
    pub log: f64,
}
