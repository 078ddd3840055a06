//! The counts of the kernel and of the PMU over the samples whose elapsed time is retained, and their ratios to the reference.

use crate::base::reading::{Absent, Reading};
use crate::compare::ratio::Ratio;
use crate::run::report::grouping::{FirstFound, place};
use crate::run::report::metrics::{MetricFigures, PlacedValue, figures};
use crate::sample::counters::{Counter, CounterEvent, Counters};
use crate::sample::data::Sample;
use crate::statistics::intervals::{Interval, NoInterval};
use serde::{Deserialize, Serialize};

/// The counters of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountersReport {
    /// All of them, in the order of [`Counter::ALL`].
    pub counters: Vec<CounterSummary>,
    /// Instructions per cycle, user and kernel.
    pub per_cycle: Reading<f64>,
    /// Share of the instructions that ran in the kernel.
    pub kernel_share: Reading<f64>,
    /// Cycles per nanosecond of the task-clock, which counts from exec on as they do; without it, of process time: the effective clock
    /// speed, GHz.
    pub clock_ghz: Reading<f64>,
    /// Mispredicted branches per branch.
    pub branch_miss_rate: Reading<f64>,
    /// Misses of the last-level cache per access of it.
    pub cache_miss_rate: Reading<f64>,
}

impl CountersReport {
    pub fn get(&self, counter: Counter) -> Option<&CounterSummary> {
        self.counters.iter().find(|c| c.counter == counter)
    }
}

/// A counter over the retained samples of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterSummary {
    pub counter: Counter,
    /// Per execution; absent if no retained sample has it.
    pub figures: Reading<MetricFigures>,
    /// Retained samples without it.
    pub missing: u32,
    /// Where it was not counted for the whole time, so that the figures rest on estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<ScaledCounter>,
    /// Without what happened in the kernel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_only: bool,
}

/// How much of a counter is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaledCounter {
    /// Samples that are scaled.
    pub samples: u32,
    /// The least share of the time in which it was counted, of these.
    pub least: f64,
}

/// Ratio of a counter to that of the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterRatio {
    pub counter: Counter,
    /// Median of the ratios of samples of the same round, program / reference.
    pub ratio: f64,
    /// Sign-test interval of that ratio; those of all programs hold together with 95%.
    pub interval: Result<Interval, NoInterval>,
    /// Pairs used: both values are greater than 0.
    pub pairs: u32,
}

/// The values of a counter in a series: block, value.
pub(crate) type CounterValues = (Counter, Vec<(u32, f64)>);

/// The counters of the retained samples of a series, and of those by which programs are compared.
#[derive(Default)]
pub(crate) struct CountersTally {
    samples: u32,
    compared: [Vec<(u32, f64)>; Counter::ALL.len()],
    absent: FirstFound<Absent>,
    all: [CounterTally; Counter::ALL.len()],
    per_cycle: RatioTally,
    kernel_share: RatioTally,
    clock: RatioTally,
    branch_misses: RatioTally,
    cache_misses: RatioTally,
}

#[derive(Default)]
struct CounterTally {
    values: Vec<PlacedValue>,
    missing: u32,
    why: FirstFound<Absent>,
    scaled: Option<ScaledCounter>,
    user_only: bool,
}

/// A ratio of sums over the samples that have both. Whole numbers, so that the order of samples makes no difference.
#[derive(Default)]
struct RatioTally {
    above: i128,
    below: i128,
    why: FirstFound<Absent>,
}

impl RatioTally {
    fn add(&mut self, sample: &Sample, above: Result<f64, Absent>, below: Result<f64, Absent>) {
        match above.and_then(|above| Ok((above, below?))) {
            Ok((above, below)) => {
                self.above = self.above.saturating_add(above.round() as i128);
                self.below = self.below.saturating_add(below.round() as i128);
            }
            Err(why) => self.why.offer(place(sample), || why),
        }
    }

    fn reading(self) -> Reading<f64> {
        let nothing = || Absent::NotSupported("nothing was counted that it is a share of".to_owned());
        match self.why.get() {
            _ if self.below > 0 => Reading::Value(self.above as f64 / self.below as f64),
            Some(why) => Reading::Absent(why.clone()),
            None => Reading::Absent(nothing()),
        }
    }
}

impl CountersTally {
    pub fn add(&mut self, sample: &Sample) {
        let counters = match &sample.counters {
            Reading::Value(counters) => counters,
            Reading::Absent(why) => return self.absent.offer(place(sample), || why.clone()),
        };
        self.samples = self.samples.saturating_add(1);
        for (tally, counter) in self.all.iter_mut().zip(Counter::ALL) {
            tally.add(sample, counter, counters);
        }
        let value_of = |counter: Counter| counter.of(counters).map(|v| v.value);
        let on_cpu = match counters.get(CounterEvent::TaskClock) {
            Ok(clock) => clock.value(),
            Err(_) => sample.process_time().map(|pt| pt.as_f64()),
        };
        self.per_cycle.add(sample, value_of(Counter::Instructions), value_of(Counter::Cycles));
        self.kernel_share.add(sample, value_of(Counter::InstructionsKernel), value_of(Counter::Instructions));
        self.clock.add(sample, value_of(Counter::Cycles), on_cpu);
        self.branch_misses.add(sample, value_of(Counter::BranchMisses), value_of(Counter::Branches));
        self.cache_misses.add(sample, value_of(Counter::CacheMisses), value_of(Counter::CacheReferences));
    }

    /// Takes a sample by which programs are compared.
    pub fn compare(&mut self, sample: &Sample) {
        let Reading::Value(counters) = &sample.counters else { return };
        for (values, counter) in self.compared.iter_mut().zip(Counter::ALL) {
            values.extend(counter.of(counters).ok().map(|found| (sample.block_number(), found.value)));
        }
    }

    /// The statistics, and the values by which programs are compared, by block.
    pub fn report(self) -> (Reading<CountersReport>, Vec<CounterValues>) {
        if self.samples == 0 {
            return (self.absent.absent(), Vec::new());
        }
        let values = Counter::ALL.into_iter().zip(self.compared).collect();
        let report = CountersReport {
            counters: self.all.into_iter().zip(Counter::ALL).map(|(tally, counter)| tally.report(counter)).collect(),
            per_cycle: self.per_cycle.reading(),
            kernel_share: self.kernel_share.reading(),
            clock_ghz: self.clock.reading(),
            branch_miss_rate: self.branch_misses.reading(),
            cache_miss_rate: self.cache_misses.reading(),
        };
        (Reading::Value(report), values)
    }
}

impl CounterTally {
    fn add(&mut self, sample: &Sample, counter: Counter, counters: &Counters) {
        match counter.of(counters) {
            Ok(found) => {
                self.values.push((sample.block_number(), sample.seq, found.value));
                self.user_only |= found.user_only;
                if let Some(share) = found.counted {
                    let so_far = self.scaled.unwrap_or(ScaledCounter { samples: 0, least: share });
                    let samples = so_far.samples.saturating_add(1);
                    self.scaled = Some(ScaledCounter { samples, least: so_far.least.min(share) });
                }
            }
            Err(why) => {
                self.missing = self.missing.saturating_add(1);
                self.why.offer(place(sample), || why);
            }
        }
    }

    fn report(mut self, counter: Counter) -> CounterSummary {
        let figures = match figures(&mut self.values) {
            Some(figures) => Reading::Value(figures),
            None => self.why.absent(),
        };
        let (missing, scaled, user_only) = (self.missing, self.scaled, self.user_only);
        CounterSummary { counter, figures, missing, scaled, user_only }
    }
}

/// The ratios of the counters that both programs have; `compare` gives that of two series of values.
pub(crate) fn counter_ratios(
    program: &[CounterValues],
    reference: &[CounterValues],
    compare: impl Fn(&[(u32, f64)], &[(u32, f64)]) -> Option<Ratio>,
) -> Vec<CounterRatio> {
    let ratio = |(counter, values): &CounterValues| {
        let base = reference.iter().find(|r| r.0 == *counter)?;
        let found = compare(values, &base.1)?;
        Some(CounterRatio { counter: *counter, ratio: found.ratio, interval: found.interval, pairs: found.pairs })
    };
    program.iter().filter_map(ratio).collect()
}
