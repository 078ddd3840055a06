//! What a user reads of a run: computed once, shown the same everywhere.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::compare::duet::{DuetAccount, NoDuet};
use crate::compare::gang::GangSummary;
pub use crate::compare::ratio::RatioBasis;
use crate::compare::ratio::{Verdict, verdict_within};
use crate::quiet::data::{MachineStates, NoQuietTime, ProbesSummary, QuietLevels, QuietTime};
use crate::run::data::Run;
use crate::run::discards::DiscardReason;
use crate::run::notes::BetweenRuns;
use crate::run::plan::Program;
use crate::run::protocol::{NoCheckOne, ProtocolReport};
use crate::run::report::account::AccountReport;
use crate::run::report::account::EstimateReport;
use crate::run::report::counters::{CounterRatio, CountersReport};
use crate::run::report::findings::Remark;
use crate::run::report::metrics::{MetricFigures, MetricRatio, MetricSummary, NoMetricRatio};
use crate::sample::cgroup_limits::OutOfMemory;
use crate::sample::counters::Counter;
use crate::sample::daemons::TaskKind;
use crate::sample::data::Outcome;
pub use crate::sample::measure::Measure;
use crate::statistics::dependence::Dependence;
use crate::statistics::intervals::{Interval, NoInterval};
use serde::{Deserialize, Serialize};

/// A sample that was discarded, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Discard {
    /// Number of the sample in its series, from 0.
    pub index: u32,
    pub measure: Measure,
    pub reason: DiscardReason,
}

/// Statistics of one measure of one series, in nanoseconds, over the retained samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureReport {
    /// Counted samples that have a value, discarded ones included.
    pub samples: u32,
    /// Discarded by the daemons' cutoffs (check 1).
    pub discarded_by_cutoff: u32,
    /// Discarded by standard deviations (check 2).
    pub discarded_by_sigma: u32,
    pub retained: u32,
    /// Mean; PT's is *the* execution time (EMP step 4).
    pub mean: f64,
    pub median: f64,
    /// Standard deviation (n - 1); `None` for a single sample.
    pub std_dev: Option<f64>,
    /// Standard deviation divided by mean.
    pub relative_error: Option<f64>,
    pub min: f64,
    pub max: f64,
    /// 95% interval of the mean that such runs have: [`IndependentIntervals::mean`], stretched for what successive samples have in
    /// common ([`Self::dependence`]), and wide enough for the spread between runs, where that is known ([`Self::between_runs`]).
    pub mean_interval: Result<Interval, NoInterval>,
    /// 95% interval of the median, likewise.
    pub median_interval: Result<Interval, NoInterval>,
    /// How far successive samples resemble each other, and by how much that widens the intervals; `None` below 6 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependence: Option<Dependence>,
    /// The spread between runs; `None` where too few runs of the program on this machine are stored: then the intervals are of this
    /// run only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<BetweenRuns>,
    /// What textbooks give; `None` in documents of earlier versions, whose intervals these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub independent: Option<IndependentIntervals>,
    /// At least half of the samples were retained.
    pub trustworthy: bool,
}

/// Intervals as if the samples were independent of each other, and runs of the program did not differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndependentIntervals {
    /// 95%, of the mean: bootstrap of the whole procedure, discards repeated.
    pub mean: Result<Interval, NoInterval>,
    /// 95%, of the median: order statistics.
    pub median: Result<Interval, NoInterval>,
}

impl MeasureReport {
    /// Discards as the papers print them: `16 (=15+1)`.
    pub fn discards(&self) -> String {
        let (a, b) = (self.discarded_by_cutoff, self.discarded_by_sigma);
        if a + b == 0 { "0".to_owned() } else { format!("{} (={a}+{b})", a + b) }
    }
}

/// A daemon family over all counted samples of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DaemonSummary {
    /// Family name (escaped text).
    pub family: String,
    pub kind: TaskKind,
    /// Samples in which it had CPU time.
    pub samples: u32,
    /// CPU time over all samples.
    pub total: Nanos,
    /// CPU time per counted sample, mean over all of them, ns.
    pub mean: f64,
    /// Largest CPU time in one sample.
    pub max: Nanos,
    /// Births seen inside samples.
    pub born: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedSample {
    /// Number of the sample in its phase.
    pub index: u32,
    /// It was a warm-up.
    pub warmup: bool,
    /// It failed while it ran together with another program; the number is that of the block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duet: bool,
    pub outcome: Outcome,
    /// The user asked for it to be accepted, so that it counts.
    pub ignored: bool,
    /// Processes were killed for lack of memory meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_memory: Option<OutOfMemory>,
}

impl FailedSample {
    /// Whether it is one of the counted samples.
    pub fn is_counted(&self) -> bool {
        !self.warmup && !self.duet
    }
}

/// A family of leftover processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurvivorSummary {
    /// Command name (escaped text).
    pub name: String,
    /// How often, over all samples.
    pub count: u32,
    /// Number of these that were left running, because the plan says so.
    pub left: u32,
    /// Number of these that could not be killed.
    pub not_ended: u32,
}

/// Where gross and PT differ, as far as it is known without tracing; means over the samples retained for ET, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrossDifference {
    /// ET less PT; negative for parallel programs.
    pub gross_less_pt: Reading<f64>,
    /// CPU time of all daemons (without tare).
    pub daemons: Reading<f64>,
    /// CPU time of tare itself, between the stamps.
    pub tare: f64,
    /// Steal time of all CPUs.
    pub steal: Reading<f64>,
}

/// Means over counted, successful samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// User time, ns.
    pub user: Reading<f64>,
    /// System time, ns.
    pub system: Reading<f64>,
    /// Largest peak resident memory of a single process, bytes.
    pub max_rss: Reading<u64>,
    /// Context switches by waiting.
    pub voluntary_switches: Reading<f64>,
    /// Context switches by preemption.
    pub involuntary_switches: Reading<f64>,
    /// Page faults with I/O.
    pub major_faults: Reading<f64>,
}

/// The result of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesReport {
    pub program: Program,
    /// Counted samples, whatever their outcome.
    pub counted: u32,
    pub warmups: u32,
    /// Process time; absent if no sample has one.
    pub pt: Reading<MeasureReport>,
    /// Elapsed time; it contains the pauses of a gate, of which a remark says how long they lasted.
    pub et: Reading<MeasureReport>,
    /// Net time: PT minus interrupt, softirq and steal time charged to the program.
    pub net: Reading<MeasureReport>,
    /// What was discarded and why.
    pub discards: Vec<Discard>,
    pub failures: Vec<FailedSample>,
    pub daemons: Vec<DaemonSummary>,
    /// Samples whose daemon list is incomplete, and the first reason.
    pub daemons_incomplete: Option<(u32, String)>,
    /// What outlived the program.
    pub survivors: Vec<SurvivorSummary>,
    /// Where the difference lies.
    pub difference: GrossDifference,
    /// Gross = net + tare, by tracing.
    pub account: Reading<AccountReport>,
    /// What can be said of it without.
    pub estimate: Reading<EstimateReport>,
    /// Counts of the kernel and of the PMU.
    pub counters: Reading<CountersReport>,
    pub resources: Resources,
    /// What the program printed of itself, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSummary>,
    /// Its time on the quiet machine, or why that is not known; absent in a run without probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Result<QuietTime, NoQuietTime>>,
    /// What the probes and the gate did; absent without probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbesSummary>,
}

/// A program against the reference: ratio of times, program / reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Index of the program.
    pub series: u32,
    /// Index of the reference.
    pub reference: u32,
    /// The measure of the verdict: PT where both have it, else ET, unless another was chosen. By duets PT means CPU time of either
    /// kind: [`DuetRatio::measure`] says which.
    pub measure: Measure,
    /// What both print (`--metric`) that ratio, interval, pairs and verdict are of, if that was chosen: `faster` then means that the
    /// program prints less. `measure` is that of the times beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_metric: Option<String>,
    /// The counter that they are of, if one was chosen; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_counter: Option<Counter>,
    /// What ratio, interval and verdict rest on.
    #[serde(default)]
    pub basis: RatioBasis,
    /// That of the basis: see [`MeasureRatio`] and [`DuetRatio`].
    pub ratio: f64,
    /// Interval of that ratio. The intervals of all programs that a run compares hold together with 95%, so that each may have a higher level
    /// ([`crate::compare::simultaneous`]).
    pub interval: Result<Interval, NoInterval>,
    pub pairs: u32,
    /// The pairs were neighbours in time (rounds); otherwise the ratio is exposed to drift.
    pub paired_in_time: bool,
    pub verdict: Verdict,
    /// The ratios by every measure that both programs have, when each ran alone: elapsed time, process time, net time.
    pub ratios: Vec<MeasureRatio>,
    /// The ratio by duets, or why there are none; absent in an order without duets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duets: Option<Result<DuetRatio, NoDuet>>,
    /// The ratios of what both programs printed of themselves, when each ran alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRatio>,
    /// The ratios of the counters that both programs have, when each ran alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterRatio>,
}

/// A number of the programs that is no time, and that they are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedNumber<'a> {
    /// What they print under this name.
    Printed(&'a str),
    Counter(Counter),
}

impl SeriesReport {
    /// The figures of such a number.
    pub fn figures(&self, number: ComparedNumber<'_>) -> Option<&MetricFigures> {
        match number {
            ComparedNumber::Printed(name) => self.metrics.iter().find(|m| m.name == name)?.figures.value(),
            ComparedNumber::Counter(counter) => self.counters.value()?.get(counter)?.figures.value(),
        }
    }
}

/// Ratio of two programs' CPU times when they run together ([`crate::compare::duet`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetRatio {
    /// What it is the ratio of: net time if that is known of both programs in all duets used, else process time.
    #[serde(default = "process_time")]
    pub measure: Measure,
    /// Hodges and Lehmann's estimate, of the logarithms of each duet's ratio; program / reference.
    pub ratio: f64,
    /// Signed-rank interval, of a level as in [`Comparison::interval`]; with [`crate::run::plan::RunCount::Detect`] the one that holds at all
    /// looks together.
    pub interval: Result<Interval, NoInterval>,
    /// Sign-test interval of the median with that level, which assumes no symmetry.
    pub sign_interval: Result<Interval, NoInterval>,
    pub used: u32,
    /// Duets in which a program failed or its time is unknown.
    pub left_out: u32,
    /// By which share a program takes longer that is started first; the ratio is free of it. `None` without duets of both orders, and in
    /// documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_longer: Option<f64>,
    /// 95% interval of that; `None` for fewer than six neighbours of opposite order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_interval: Option<Interval>,
    /// The smallest difference from 1 that so many duets show with 95% power; `None` where there is no interval.
    pub detectable: Option<f64>,
    /// Median share of the process time in which both ran, 0 to 1; `None` if it is not known of any duet.
    pub overlap: Option<f64>,
    /// By which share the process time is longer in duets than alone, medians, of the program and of the reference; `None`
    /// without executions alone.
    pub inflation: [Option<f64>; 2],
    /// 95% intervals of these shares (rank sums, of logarithms): what excludes 0 is no chance. `None` with too few executions.
    #[serde(default, skip_serializing_if = "no_intervals")]
    pub inflation_intervals: [Option<Interval>; 2],
    /// How gangs took turns; absent where the scheduler alternated the programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gangs: Option<GangSummary>,
    pub verdict: Verdict,
    /// The same duets by process time, where `measure` is net time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<MeasureRatio>,
    /// Where the time of the program and of the reference went, medians over the duets that have an account.
    #[serde(default, skip_serializing_if = "no_accounts")]
    pub accounts: [Option<DuetAccount>; 2],
}

/// What duets of earlier versions were compared by.
fn process_time() -> Measure {
    Measure::Pt
}

fn no_intervals(intervals: &[Option<Interval>; 2]) -> bool {
    intervals.iter().all(Option::is_none)
}

fn no_accounts(accounts: &[Option<DuetAccount>; 2]) -> bool {
    accounts.iter().all(Option::is_none)
}

/// Ratio of the times of one measure, as in [`Comparison`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureRatio {
    pub measure: Measure,
    /// Median of the ratios of samples of the same round (of a block of several executions, of their geometric means) that check 1 leaves.
    /// With [`crate::run::plan::RunCount::Detect`] Hodges and Lehmann's estimate, over all that count.
    pub ratio: f64,
    /// Sign-test interval of that ratio, of a level as in [`Comparison::interval`]; with [`crate::run::plan::RunCount::Detect`] the
    /// signed-rank one that holds at all looks together.
    pub interval: Result<Interval, NoInterval>,
    pub pairs: u32,
    pub verdict: Verdict,
}

impl Comparison {
    /// The ratio by a measure, if both programs have it.
    pub fn by(&self, measure: Measure) -> Option<&MeasureRatio> {
        self.ratios.iter().find(|r| r.measure == measure)
    }

    /// Makes a measure the one of the verdict; without its ratio nothing changes, and the result is false.
    pub fn choose(&mut self, measure: Measure) -> bool {
        let by_duets = measure == Measure::Pt || measure == Measure::Net && self.net_duets();
        if by_duets && self.choose_duets() {
            self.measure = measure;
            return true;
        }
        let Some(chosen) = self.by(measure).cloned() else { return false };
        (self.by_metric, self.by_counter) = (None, None);
        self.basis = RatioBasis::Alone;
        self.measure = measure;
        self.ratio = chosen.ratio;
        self.interval = chosen.interval;
        self.pairs = chosen.pairs;
        self.verdict = chosen.verdict;
        true
    }

    /// Makes a number of both the quantity of the verdict, from executions alone; without its ratio nothing changes, and the result is
    /// false. The margin is that of [`verdict_within`].
    pub fn choose_number(&mut self, number: ComparedNumber<'_>, margin: Option<f64>) -> bool {
        let Some((ratio, interval, pairs)) = self.number_ratio(number) else { return false };
        (self.by_metric, self.by_counter) = match number {
            ComparedNumber::Printed(name) => (Some(name.to_owned()), None),
            ComparedNumber::Counter(counter) => (None, Some(counter)),
        };
        self.basis = RatioBasis::Alone;
        self.ratio = ratio;
        self.verdict = verdict_within(&interval, margin);
        self.interval = interval;
        self.pairs = pairs;
        true
    }

    /// By what both print under this name: see [`Self::choose_number`].
    pub fn choose_metric(&mut self, name: &str, margin: Option<f64>) -> bool {
        self.choose_number(ComparedNumber::Printed(name), margin)
    }

    fn number_ratio(&self, number: ComparedNumber<'_>) -> Option<(f64, Result<Interval, NoInterval>, u32)> {
        match number {
            ComparedNumber::Printed(name) => {
                self.metrics.iter().find(|m| m.name == name).map(|m| (m.ratio, m.interval.clone(), m.pairs))
            }
            ComparedNumber::Counter(counter) => {
                self.counters.iter().find(|c| c.counter == counter).map(|c| (c.ratio, c.interval.clone(), c.pairs))
            }
        }
    }

    /// The number that the programs are compared by, if it is no time.
    pub fn number(&self) -> Option<ComparedNumber<'_>> {
        let counter = self.by_counter.map(ComparedNumber::Counter);
        self.by_metric.as_deref().map(ComparedNumber::Printed).or(counter)
    }

    /// Makes duets the basis of the verdict, if there are any.
    pub fn choose_duets(&mut self) -> bool {
        let Some(Ok(duets)) = &self.duets else { return false };
        (self.by_metric, self.by_counter) = (None, None);
        self.basis = RatioBasis::Duets;
        self.measure = Measure::Pt;
        self.ratio = duets.ratio;
        self.interval = duets.interval.clone();
        self.pairs = duets.used;
        self.verdict = duets.verdict;
        true
    }

    /// What the ratio is of: by duets their own measure, else that of the verdict.
    pub fn ratio_measure(&self) -> Measure {
        match &self.duets {
            Some(Ok(duets)) if self.basis == RatioBasis::Duets => duets.measure,
            _ => self.measure,
        }
    }

    /// Whether there are duets, and their ratio is of net time.
    pub fn net_duets(&self) -> bool {
        matches!(&self.duets, Some(Ok(duets)) if duets.measure == Measure::Net)
    }

    /// The ratio by elapsed or process time that has another verdict than the chosen measure. It answers another question:
    /// programs that wait or run in parallel differ in one of the two only, or in opposite directions. That duets decide what
    /// executions alone leave open is no disagreement.
    pub fn disagreeing(&self) -> Option<&MeasureRatio> {
        // What programs print or count is another quantity, and disagrees with no time.
        if self.number().is_some() {
            return None;
        }
        let others = self.ratios.iter().filter(|r| r.measure != self.measure && r.measure != Measure::Net);
        let open = |r: &&MeasureRatio| self.basis == RatioBasis::Duets && r.verdict == Verdict::Undecided;
        others.into_iter().filter(|r| !open(r)).find(|r| r.verdict != self.verdict)
    }
}

/// All that is said of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub run: Run,
    /// One for each program.
    pub series: Vec<SeriesReport>,
    /// Against the reference, if there are several programs.
    pub comparisons: Vec<Comparison>,
    /// The reference against itself, if the plan has a control; its ratio is 1 in truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Comparison>,
    pub protocol: ProtocolReport,
    /// Name of the profile whose cutoffs were used, or why check 1 was not done.
    pub profile: Result<String, NoCheckOne>,
    /// What must be pointed out.
    pub remarks: Vec<Remark>,
    /// The machine's quiet levels that the samples were corrected by; absent in a run without probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_levels: Option<QuietLevels>,
    /// The machine's states, of all that is known of it; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<MachineStates>,
}

impl RunReport {
    /// Compares the programs by this measure: verdicts, order and tables follow it.
    ///
    /// # Errors
    /// The first program that cannot be compared by it; nothing is changed then.
    pub fn compare_by(&mut self, measure: Measure) -> Result<(), u32> {
        if let Some(c) = self.comparisons.iter().find(|c| c.by(measure).is_none()) {
            return Err(c.series);
        }
        for c in self.comparisons.iter_mut().chain(&mut self.control) {
            c.choose(measure);
        }
        Ok(())
    }

    /// Compares the programs by what they print under a name or by a counter, from executions alone.
    ///
    /// # Errors
    /// The first reason why two programs cannot be compared by it; nothing is changed then.
    pub fn compare_by_number(&mut self, number: ComparedNumber<'_>) -> Result<(), NoMetricRatio> {
        if let Some(why) = self.comparisons.iter().find_map(|c| self.no_number_ratio(c, number)) {
            return Err(why);
        }
        let margin = self.run.plan.margin;
        for c in self.comparisons.iter_mut().chain(&mut self.control) {
            c.choose_number(number, margin);
        }
        Ok(())
    }

    /// By what they print under this name: see [`Self::compare_by_number`].
    pub fn compare_by_metric(&mut self, name: &str) -> Result<(), NoMetricRatio> {
        self.compare_by_number(ComparedNumber::Printed(name))
    }

    fn no_number_ratio(&self, c: &Comparison, number: ComparedNumber<'_>) -> Option<NoMetricRatio> {
        for series in [c.reference, c.series] {
            match self.series.get(series as usize).and_then(|s| s.figures(number)) {
                None => return Some(NoMetricRatio::Absent { series }),
                Some(figures) if figures.min <= 0.0 => return Some(NoMetricRatio::NotPositive { series }),
                Some(_) => {}
            }
        }
        c.number_ratio(number).is_none().then_some(NoMetricRatio::NoPairs { series: c.series })
    }
}
