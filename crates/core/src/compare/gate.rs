//! A gate: whether a change makes programs slower, decided for continuous integration.
//!
//! Each benchmark is one program in two builds, the base and the head. Its blocks give logarithms of the ratio head / base, and those
//! decide ([`crate::compare::gate_rule`]).

use crate::base::units::Nanos;
use crate::compare::duet::NoDuet;
use crate::quiet::data::QuietTime;
use crate::run::report::data::{Measure, RatioBasis};
use crate::statistics::intervals::{Interval, NoInterval};
use serde::{Deserialize, Serialize};

/// A gate as it is stored: what was asked for, and what was measured so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub plan: GatePlan,
    /// One for each benchmark of the plan, in its order.
    pub measured: Vec<MeasuredBenchmark>,
}

/// What a gate was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatePlan {
    /// Name of the suite; empty for a single command.
    pub suite: String,
    pub base: GateSide,
    pub head: GateSide,
    pub benchmarks: Vec<GateBenchmark>,
    /// Time for measuring the whole suite; `None`: until every benchmark is decided or has [`GatePlan::max_blocks`].
    pub budget: Option<Nanos>,
    /// Most blocks of a benchmark; part of the sequential design.
    pub max_blocks: u32,
    /// Each block holds a second comparison, of the base with itself.
    pub control: bool,
    /// Probability of calling any benchmark of the suite a regression if none is, e.g. 0.01; the same for improvements.
    pub family_error: f64,
}

/// One of the two builds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSide {
    /// The folder in which its programs are started.
    pub folder: String,
    /// Full commit id, if the folder is a git work tree.
    pub commit: Option<String>,
    /// What the user called it (`origin/main`), or the branch or tag of the commit.
    pub name: Option<String>,
    /// When it was committed, since 1970.
    pub committed: Option<Nanos>,
    /// First line of the commit's message.
    pub subject: Option<String>,
    /// The work tree had uncommitted changes.
    pub modified: bool,
}

/// A benchmark of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateBenchmark {
    /// Unique in its suite.
    pub name: String,
    /// The command as written.
    pub command: String,
    /// Largest slowdown that passes, e.g. 0.02.
    pub threshold: f64,
    /// Weight in the suite's mean, 1 unless the suite says otherwise.
    pub weight: f64,
    /// The measure that was asked for; `None`: by what suits the program.
    pub measure: Option<Measure>,
    /// Most time for this benchmark.
    pub budget: Option<Nanos>,
}

/// What was measured of a benchmark; everything that its verdict needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredBenchmark {
    /// Number of its run in the store where it was measured; `None` before that, and where nothing is stored.
    pub run: Option<i64>,
    /// Identity of that run across stores.
    pub run_uuid: Option<String>,
    /// What the ratios rest on.
    pub basis: RatioBasis,
    pub measure: Option<Measure>,
    /// Why there were no duets.
    pub no_duets: Option<NoDuet>,
    /// Logarithms of head / base, one for each block, in the order of the blocks.
    pub logs: Vec<f64>,
    /// The same of process times, where `logs` are of net times: a history joins gates of machines that know no net time. Empty
    /// otherwise, and of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process_logs: Vec<f64>,
    /// Logarithms of base / base, likewise; empty without a control.
    pub control_logs: Vec<f64>,
    /// Times of the executions alone.
    pub times: Vec<SideTimes>,
    /// Process times on the quiet machine; `None` where one of the two could not be corrected, and where there are duets, whose two
    /// programs met the same state of the machine anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<CorrectedSides>,
    /// Why it could not be measured, as a sentence without its final stop; `None` if it could.
    pub failed: Option<String>,
    /// Time that measuring it took.
    pub took: Nanos,
}

/// Median time of both builds by one measure, from executions alone, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideTimes {
    pub measure: Measure,
    pub base: f64,
    pub base_interval: Result<Interval, NoInterval>,
    pub head: f64,
    pub head_interval: Result<Interval, NoInterval>,
    pub samples: u32,
}

impl MeasuredBenchmark {
    /// The ratio of the corrected times, if process times were compared alone.
    pub fn corrected_ratio(&self) -> Option<CorrectedRatio> {
        let fits = self.basis == RatioBasis::Alone && self.measure == Some(Measure::Pt);
        self.corrected.as_ref().filter(|_| fits)?.ratio()
    }
}

/// Process times of both builds on the quiet machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrectedSides {
    pub base: CorrectedSide,
    pub head: CorrectedSide,
}

/// Process time of a build on the quiet machine ([`QuietTime`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrectedSide {
    /// ns.
    pub value: f64,
    /// 95% interval, ns.
    pub interval: Interval,
    /// The same estimate without correction, ns.
    pub uncorrected: f64,
}

impl From<&QuietTime> for CorrectedSide {
    fn from(time: &QuietTime) -> CorrectedSide {
        CorrectedSide { value: time.value, interval: time.interval.clone(), uncorrected: time.uncorrected }
    }
}

impl CorrectedSides {
    /// `None` if a time is not above 0.
    pub fn ratio(&self) -> Option<CorrectedRatio> {
        let CorrectedSides { base, head } = self;
        let half = |side: &CorrectedSide| (side.interval.high / side.interval.low).ln() / 2.0;
        // The errors of the two are taken for independent, though both were corrected for the same machine: rather too wide.
        let half = half(base).hypot(half(head));
        let (ratio, uncorrected) = (head.value / base.value, head.uncorrected / base.uncorrected);
        let interval = Interval { low: ratio * (-half).exp(), high: ratio * half.exp(), level: base.interval.level };
        let possible = |v: f64| v.is_finite() && v > 0.0;
        let figures = [ratio, uncorrected, interval.low, interval.high];
        figures.into_iter().all(possible).then_some(CorrectedRatio { ratio, interval, uncorrected })
    }
}

/// Head / base on the quiet machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrectedRatio {
    pub ratio: f64,
    /// 95% interval.
    pub interval: Interval,
    /// By the same samples without correction.
    pub uncorrected: f64,
}

/// What a gate says of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// The slowdown is smaller than the threshold, of the middle of its blocks and of their mean, with 95% confidence.
    Pass,
    /// The middle or the mean is slower by more than half of the threshold, with the suite's error.
    Regression,
    /// One of them is faster by more than half of the threshold, likewise, and none slower than the threshold.
    Improvement,
    /// None of these could be shown.
    Inconclusive,
    /// It could not be measured.
    Failed,
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateReport {
    /// The worst of its benchmarks: failed, regression, inconclusive, else pass.
    pub verdict: GateVerdict,
    pub benchmarks: Vec<BenchmarkReport>,
    /// Geometric mean of the ratios head / base by the benchmarks' weights; `None` without any.
    pub mean_ratio: Option<f64>,
}

/// The result of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkReport {
    pub name: String,
    pub verdict: GateVerdict,
    /// The middle of the blocks: Hodges and Lehmann's estimate of head / base; `None` without blocks.
    pub ratio: Option<f64>,
    /// 95% interval of the ratio that holds at all looks together.
    pub interval: Result<Interval, NoInterval>,
    /// Their mean, which a change moves that makes only a share of the executions slower; `None` without blocks, and in documents of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanRatio>,
    pub blocks: u32,
    /// The smallest slowdown that so many blocks show with 95% power, e.g. 0.004; `None` where there is no interval.
    pub detectable: Option<f64>,
    /// That neighbouring blocks are alike; `None` where no correlation is beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<AlikeBlocks>,
    /// p value of "middle and mean are at most 1 + threshold / 2", adjusted for the looks.
    pub p_slower: f64,
    /// p value of "both are at least 1 / (1 + threshold / 2)", likewise.
    pub p_faster: f64,
    /// p value of "one of them is at least 1 + threshold", likewise.
    pub p_beyond: f64,
    pub control: Option<ControlReport>,
    /// The ratio on the quiet machine, where there were no duets. The verdict rests on the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<CorrectedRatio>,
}

/// The mean of the blocks' logarithms, as a ratio. A block counts for at most ten thresholds beyond the
/// inner ones, that is all but a tenth at either end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanRatio {
    pub ratio: f64,
    /// 95% interval that holds at all looks together.
    pub interval: Result<Interval, NoInterval>,
    /// Blocks that are slower by more than the threshold.
    pub slow_blocks: u32,
    /// Blocks that are faster by more than the threshold.
    pub fast_blocks: u32,
    /// Blocks that were looked at.
    pub of_blocks: u32,
}

/// Blocks whose neighbours are alike say less than as many independent ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlikeBlocks {
    /// Correlation of neighbours, 0 to 1.
    pub correlation: f64,
    /// Independent blocks that would be worth as much.
    pub worth: f64,
}

/// The base against itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlReport {
    pub ratio: f64,
    pub interval: Result<Interval, NoInterval>,
    /// Two-sided p value of "no difference", adjusted for the looks.
    pub p: f64,
    /// The base differs from itself by this: the benchmark's own verdict is inconclusive.
    pub differs: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(value: f64, half: f64) -> CorrectedSide {
        let interval = Interval { low: value * (1.0 - half), high: value * (1.0 + half), level: 0.95 };
        CorrectedSide { value, interval, uncorrected: value * 1.1 }
    }

    #[test]
    fn corrected_times_of_both_give_a_ratio_with_both_errors() {
        let sides = CorrectedSides { base: side(1e8, 0.003), head: side(1.02e8, 0.004) };
        let found = sides.ratio().unwrap();
        assert!((found.ratio - 1.02).abs() < 1e-12 && (found.uncorrected - 1.02).abs() < 1e-12);
        let (low, high) = ((found.interval.low / 1.02).ln(), (found.interval.high / 1.02).ln());
        assert!((low + 0.005).abs() < 1e-6 && (high - 0.005).abs() < 1e-6, "{low} {high}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(CorrectedSides { base: side(bad, 0.003), head: side(1e8, 0.003) }.ratio(), None, "{bad}");
        }
    }

    /// Duets are not corrected, and neither elapsed nor net time is.
    #[test]
    fn they_count_where_process_times_were_compared_alone() {
        let corrected = Some(CorrectedSides { base: side(1e8, 0.003), head: side(1e8, 0.003) });
        let measured = |basis, measure| MeasuredBenchmark {
            basis,
            measure: Some(measure),
            corrected: corrected.clone(),
            ..MeasuredBenchmark::default()
        };
        assert!(measured(RatioBasis::Alone, Measure::Pt).corrected_ratio().is_some());
        assert_eq!(measured(RatioBasis::Duets, Measure::Pt).corrected_ratio(), None);
        assert_eq!(measured(RatioBasis::Alone, Measure::Et).corrected_ratio(), None);
        assert_eq!(MeasuredBenchmark::default().corrected_ratio(), None);
    }
}
