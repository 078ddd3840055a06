//! What a report points out beside the figures, typed and with its figures; the sentences are made where it is shown.

use crate::base::reading::{Absent, Reading};
use crate::compare::ratio::{RatioBasis, Verdict};
use crate::documents::head::Status;
use crate::profile::data::Doubt;
use crate::run::notes::{FactorChange, ShellStart};
use crate::sample::cgroup_limits::OutOfMemory;
use crate::sample::data::Outcome;
use crate::sample::measure::Measure;
use crate::sample::process_time::{PtSource, Shortfall};
use crate::statistics::intervals::{Interval, NoInterval};
use crate::statistics::steadiness::Unsteadiness;
use serde::{Deserialize, Serialize};

/// A remark on the run or on one of its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// Which series; `None` for the whole run.
    pub series: Option<u32>,
    /// What it is about, with its figures.
    #[serde(flatten)]
    pub kind: RemarkKind,
}

/// A command name and how many processes of it there were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameCount {
    /// Command name (escaped text).
    pub name: String,
    pub count: u32,
}

/// The kinds of remarks. Counts are of samples, times in ns, shares fractions of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RemarkKind {
    /// Samples of programs that the plan does not have were ignored.
    Strays { samples: u64 },
    /// The run has not all its samples.
    Incomplete {
        status: Status,
        /// The run's number; 0 if it is not stored.
        run: i64,
        /// Counted samples that there are.
        counted: u64,
    },
    /// The source of process time misses something.
    Source {
        source: PtSource,
        /// Why better sources were not used.
        notes: Vec<String>,
    },
    /// The machine was tuned for this run.
    Tuned { what: String },
    /// The machine changed during the measurement.
    Changed { changes: Vec<FactorChange> },
    /// The profile of check 1 may not fit.
    Profile {
        /// Its name and version.
        profile: String,
        doubt: Doubt,
    },
    /// Programs that are compared ran one after the other.
    Sequential,
    /// They did, each after its setup command, because one setup may undo that of another.
    SequentialForSetups,
    /// A shell starts in each sample, as part of its time.
    Shell {
        /// Which, and how long their starts take.
        starts: Vec<ShellStart>,
        /// The same as earlier versions kept it, in words.
        words: Vec<String>,
    },
    /// The programs are short, so that each block holds several executions of each, an order of the programs and its reverse.
    ShortBlocks {
        /// Of each program, in a complete block.
        executions: u32,
        /// How many programs a block is of.
        programs: u32,
    },
    /// No round has a retained sample of both programs.
    NotComparable,
    /// Elapsed time gives another verdict than process time.
    ByElapsed {
        /// Index of the reference.
        reference: u32,
        /// Ratio of elapsed times.
        ratio: f64,
        interval: Result<Interval, NoInterval>,
        elapsed: Verdict,
        process: Verdict,
    },
    /// The series has no counted sample.
    NoSamples,
    Failures {
        failed: u64,
        /// Of these: count, as the user accepts them.
        accepted: u64,
        /// Number of counted samples.
        of: u64,
        /// What happened in the first.
        first: Outcome,
    },
    /// Successful samples have no process time.
    NoProcessTime {
        missing: u64,
        of: u64,
        /// Why, of the first.
        why: Absent,
    },
    /// The run's source saw less of the program than wait4, which stands in for it.
    Replaced { samples: u32, of: u32, first: Shortfall },
    /// The main process ended in another cgroup than the one that it was started in.
    LeftCgroup {
        samples: u32,
        of: u32,
        /// Which cgroup, in the first.
        to: String,
    },
    /// A quota of CPU time of the program's cgroup held it up.
    Throttled {
        samples: u32,
        of: u32,
        /// For how long on each CPU, at most, summed over these samples.
        time: f64,
        /// The cgroup, of the first.
        cgroup: String,
    },
    /// Processes were killed for lack of memory, and the program went on.
    OutOfMemory { samples: u32, of: u32, first: OutOfMemory },
    /// Fewer than half of the samples are retained.
    NotTrustworthy { measure: Measure, retained: u32, of: u32 },
    /// A time has no value in any sample that counts.
    NoTime { measure: Measure, why: Absent },
    /// Too few retained samples for intervals.
    NoIntervals {
        measures: Vec<Measure>,
        /// Retained, the fewest of these.
        retained: u32,
        needed: u32,
    },
    /// The times are not those of one steady measurement.
    Unsteady {
        measure: Measure,
        /// Its values are means of blocks, as the programs are short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        blocks: bool,
        /// Times in ns; places are numbers of samples of the series, from 0.
        found: Unsteadiness,
    },
    /// The number of samples was to be chosen by precision.
    Precision {
        samples: u64,
        /// Half width of the intervals of mean and median that was asked for, as a share of these.
        asked: f64,
        /// What it is of.
        #[serde(default = "process_time")]
        measure: Measure,
        /// The one that was reached, if there is an interval.
        reached: Option<f64>,
    },
    /// The number of blocks was to be chosen by the difference that they would show.
    Detect {
        /// The difference, e.g. 0.01.
        asked: f64,
        /// Half width of the widest interval of a log-ratio, which holds at all looks together; `None` if one has none.
        reached: Option<f64>,
        /// What the ratios rest on: duets, unless rounds decide about a program.
        basis: RatioBasis,
        /// Blocks taken, of the program with the fewest.
        blocks: u32,
        most: u32,
        /// How often the results were looked at so far.
        looks: u32,
    },
    /// The control differs from the reference, which is the same program.
    ControlDiffers {
        /// Index of the reference.
        reference: u32,
        /// Control / reference.
        ratio: f64,
        /// Its interval, which does not hold 1.
        interval: Interval,
    },
    /// Lists of daemons may lack some.
    DaemonsIncomplete {
        samples: u32,
        of: u64,
        /// Why, of the first.
        why: String,
    },
    /// Leftover processes could not be killed.
    NotEnded { names: Vec<NameCount> },
    /// Leftover processes were killed.
    Ended { names: Vec<NameCount> },
    /// Leftover processes were left running, because the plan says so.
    LeftRunning { names: Vec<NameCount> },
    /// Accounts are not complete; such samples have no net time.
    AccountIncomplete {
        samples: u32,
        of: u32,
        /// Why, of the first.
        why: String,
    },
    /// Elapsed time that the account could not attribute.
    Unattributed {
        time: f64,
        /// Of the elapsed time.
        share: Option<f64>,
    },
    /// Elapsed time is far above process time.
    Waiting {
        /// Elapsed time divided by process time.
        ratio: f64,
        /// The account says what it was spent on.
        accounted: bool,
        /// CPU time of daemons, mean of a sample.
        daemons: Reading<f64>,
        /// Steal time, mean of a sample.
        steal: Reading<f64>,
    },
    /// The hypervisor took much of the CPUs' time.
    Steal {
        /// How much, from all CPUs, during all samples.
        time: f64,
        /// Of all CPUs' time during the samples.
        share: f64,
    },
    /// The pauses of the gate used up what is allowed, and the program then ran on a busy machine.
    GateLimit {
        /// Numbers of the samples in the series, from 0; counted ones.
        samples: Vec<u32>,
        of: u32,
    },
    /// The gate paused the program while the machine was busy; elapsed time contains that, process time and net time do not.
    Paused {
        samples: u32,
        of: u32,
        /// How long, over all of them.
        time: f64,
    },
    /// The machine was suspended during samples, which counts in no time of theirs.
    Suspended {
        /// Their numbers in the series, from 0; counted ones.
        samples: Vec<u32>,
        /// How long, over all of them.
        time: f64,
    },
    /// The clock was set during samples: their dates are off, their times are not.
    ClockSet {
        /// Their numbers in the series, from 0; counted ones.
        samples: Vec<u32>,
        /// By how much, forward; the step that is furthest from 0.
        step: f64,
    },
}

/// What precisions of earlier versions were of.
fn process_time() -> Measure {
    Measure::Pt
}

impl Remark {
    /// Whether it is a warning, which limits how reliable the figures are, or information.
    pub fn warning(&self) -> bool {
        use RemarkKind as K;
        match &self.kind {
            K::Source { .. }
            | K::Tuned { .. }
            | K::Shell { .. }
            | K::ByElapsed { .. }
            | K::ShortBlocks { .. }
            | K::NoIntervals { .. }
            | K::DaemonsIncomplete { .. }
            | K::Ended { .. }
            | K::LeftRunning { .. }
            | K::Paused { .. }
            | K::Waiting { .. } => false,
            K::Failures { failed, accepted, .. } => accepted < failed,
            K::Precision { asked, reached, .. } | K::Detect { asked, reached, .. } => {
                reached.is_none_or(|r| r >= *asked)
            }
            K::Strays { .. }
            | K::Incomplete { .. }
            | K::Changed { .. }
            | K::Profile { .. }
            | K::Sequential
            | K::SequentialForSetups
            | K::NotComparable
            | K::ControlDiffers { .. }
            | K::NoSamples
            | K::NoProcessTime { .. }
            | K::Replaced { .. }
            | K::LeftCgroup { .. }
            | K::Throttled { .. }
            | K::OutOfMemory { .. }
            | K::NotTrustworthy { .. }
            | K::NoTime { .. }
            | K::Unsteady { .. }
            | K::NotEnded { .. }
            | K::AccountIncomplete { .. }
            | K::Unattributed { .. }
            | K::Steal { .. }
            | K::GateLimit { .. }
            | K::Suspended { .. }
            | K::ClockSet { .. } => true,
        }
    }
}
