//! What is known of a machine's quiet state and of programs' sensitivity to it, and the corrected time.

use crate::base::units::Nanos;
use crate::sample::probes::{GateRule, PROBE_KINDS, ProbeKind, SampleProbes};
use crate::statistics::intervals::Interval;
use serde::{Deserialize, Serialize};

/// What a run does with probes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// Time between two wake-ups of all probes. With a gate, those that it goes by run once more in between.
    pub period: Nanos,
    /// Pauses the program while the machine is busy; `None`: the program is only observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRule>,
    /// The result is corrected, if that can be done.
    pub correct: bool,
}

/// Time between two wake-ups of all probes, unless the user chooses another one. The prototype that the specification's table is of
/// woke every 2 ms; without every second of its wake-ups the corrections were the same, at half the cost.
pub const PROBE_PERIOD: Nanos = Nanos(4_000_000);

/// Longest pause in all of one execution, unless the user chooses another one: the prototype's for programs of 80 to 250 ms.
pub const QUIET_LIMIT: Nanos = Nanos(1_500_000_000);

impl GateRule {
    /// The rule of the prototype, of which figures are known: a wake-up is busy above 1.12 times the quiet ratio; the program is
    /// paused after two of them, and continues after three calm ones.
    pub fn standard(limit: Nanos) -> GateRule {
        GateRule { busy: 1.12, stop_after: 2, continue_after: 3, limit }
    }
}

/// The ticks of each probe on a machine that does nothing else: the lower mode of all that was ever seen there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuietLevels {
    /// [`crate::sample::probes::PROBE_REVISION`] of the probes.
    pub revision: u32,
    /// When the newest of the wake-ups was that they were learned from, since 1970.
    pub learned: Nanos,
    /// Wake-ups that they were learned from.
    pub wakes: u64,
    /// Ticks of [`crate::sample::probes::ProbeKind::Latency`] at the reference clock: that of the first sample ever seen on the machine;
    /// the quiet mode if that is further away than 10%.
    pub latency: f64,
    /// Quiet mode of each probe's ticks divided by those of `Latency` in the same wake-up; of the memory probes
    /// (`MemoryLatency`, `MemoryThroughput`), which the core's clock does not set, of the ticks themselves; of `Evicted` and
    /// `Code`, which depend on the programs, the lower quartile. In the order of [`crate::sample::probes::ProbeKind::ALL`]; the
    /// place of `Latency` holds 1, that of a probe that was not seen often enough 0: it has no feature then.
    pub levels: [f64; PROBE_KINDS],
}

/// Number of features of a sample: one for each probe, and the stops.
pub const FEATURES: usize = PROBE_KINDS + 1;

/// How much slower each probe was during a sample than on the quiet machine, as natural logarithms; the last is the number of stops
/// of the gate / 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features(pub [f64; FEATURES]);

/// How a program's process time follows the features: by which share of each logarithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuietCoefficients {
    /// [`crate::sample::probes::PROBE_REVISION`] of the probes.
    pub revision: u32,
    /// Equal for executions of the same program ([`crate::run::compared::program_identity`]).
    pub program: String,
    /// Samples that they were fitted to.
    pub samples: u32,
    /// When, since 1970.
    pub fitted: Nanos,
    pub coefficients: [f64; FEATURES],
    /// Robust standard deviation of what was left, as a share of the process time.
    pub residual: f64,
    /// The range of each feature in the samples of the fit.
    pub seen: [(f64, f64); FEATURES],
    /// Covariance of the coefficients: probes resemble each other, so that the sum of some may be known where each is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covariance: Option<Box<[[f64; FEATURES]; FEATURES]>>,
    /// What the runs so far took on the quiet machine, by which they are compared with later ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Box<KnownLevel>>,
}

/// The time of a program on the quiet machine by all its runs so far, and how it depends on the coefficients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownLevel {
    /// Logarithm of the process time in ns, and its variance.
    pub log_time: f64,
    pub variance: f64,
    /// Its covariance with each coefficient.
    pub covariance: [f64; FEATURES],
    pub levels: QuietLevels,
}

/// What a part of a correction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowdownCause {
    /// The core's clock: `Latency`.
    Clock,
    /// The sibling hyper-thread: `Issue`, `Loads`, `Stores`, `Branches`, `FirstLevel`.
    Sibling,
    /// The kernel's paths: `SystemCalls`.
    Kernel,
    /// Shared caches and memory: `MemoryLatency`, `MemoryThroughput`.
    Memory,
    /// What was evicted: `Evicted`, `Code`.
    Eviction,
    /// Refilling the caches after the gate's stops.
    Stops,
}

/// Where the coefficients came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorSource {
    /// Earlier runs of the same program on this machine.
    SameProgram,
    /// The median of other programs on this machine.
    OtherPrograms,
    /// Nothing was known: physical ones (only the clock counts).
    Physical,
}

/// Relative error of a prediction of each sample by the others, as a robust standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    pub plain: f64,
    pub corrected: f64,
}

/// The time of a program on the quiet machine, by its samples' process time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuietTime {
    /// ns.
    pub value: f64,
    /// 95% interval, ns.
    pub interval: Interval,
    /// The same estimate without correction, ns.
    pub uncorrected: f64,
    pub samples: u32,
    /// Samples not used: probes woke up too seldom in them, or there were more than are looked at.
    #[serde(default)]
    pub left_out: u32,
    /// By which share each cause lengthened the process time, mean over the samples, as natural logarithms. Their sum is the
    /// correction.
    pub parts: Vec<(SlowdownCause, f64)>,
    /// Robust standard deviation of what the correction leaves, as a share.
    pub residual: f64,
    pub held_out: HeldOut,
    pub prior: PriorSource,
    /// What the samples were corrected with: by which share of each feature the process time follows it.
    pub coefficients: [f64; FEATURES],
    /// The features from which these count. 0 is the quiet machine; of the probes whose time depends on the program (`MemoryLatency`,
    /// `MemoryThroughput`) it is what the program's first run saw, of `Evicted` and `Code` the least that any of its runs saw.
    #[serde(default = "no_features")]
    pub reference: [f64; FEATURES],
    /// What of `Branches` counts.
    #[serde(default)]
    pub branches: Shrinkage,
    /// What makes the value doubtful though it is given.
    pub doubts: Vec<QuietDoubt>,
    /// Numbers in the series of samples in which probes or steal time lie outside what the others saw, or that the fit does not
    /// explain: the neighbour is a daemon, too. They hardly count in the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<u32>,
}

fn no_features() -> [f64; FEATURES] {
    [0.0; FEATURES]
}

/// A feature that differs between samples also by chance counts as its mean over the samples, and by a share of its distance from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shrinkage {
    pub mean: f64,
    /// From 0 (all of how the samples differ may be chance) to 1 (none).
    pub share: f64,
}

impl Default for Shrinkage {
    /// What leaves a feature as it is.
    fn default() -> Shrinkage {
        Shrinkage { mean: 0.0, share: 1.0 }
    }
}

impl Shrinkage {
    pub fn of(self, feature: f64) -> f64 {
        self.mean + self.share * (feature - self.mean)
    }
}

impl QuietTime {
    /// The process time of one sample (ns) without what its features say that the machine added.
    pub fn corrected(&self, pt: Nanos, features: &Features) -> f64 {
        let mut counted = features.0;
        counted.iter_mut().zip(&self.reference).for_each(|(x, reference)| *x -= reference);
        let branches = &mut counted[ProbeKind::Branches as usize];
        *branches = self.branches.of(*branches);
        let slowdown: f64 = self.coefficients.iter().zip(&counted).map(|(b, x)| b * x).sum();
        pt.as_f64() * (-slowdown).exp()
    }
}

/// What the probes and the gate did in the counted samples of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbesSummary {
    /// Samples that have probes.
    pub samples: u32,
    /// Those of them that the gate watched.
    pub gated: u32,
    pub stops: u64,
    /// How long they lasted in all.
    pub paused: Nanos,
    /// How long the starts waited for a quiet machine, in all.
    pub waited: Nanos,
    /// Samples in which the pauses used up what was allowed.
    pub limit_reached: u32,
    /// CPU time of the probes in all.
    pub cpu: Nanos,
    /// Wake-ups in all, and those that came later than half a period.
    pub wakes: u64,
    pub late: u64,
}

impl ProbesSummary {
    /// Adds a sample's probes. What is too large for a sum, as in an imported document it may be, leaves it at its limit.
    pub fn add(&mut self, probes: &SampleProbes) {
        self.samples = self.samples.saturating_add(1);
        self.cpu += probes.cost.cpu;
        self.wakes = self.wakes.saturating_add(probes.cost.wakes);
        self.late = self.late.saturating_add(probes.cost.late);
        let Some(gate) = &probes.gate else { return };
        self.gated = self.gated.saturating_add(1);
        self.stops = self.stops.saturating_add(u64::from(gate.stops));
        self.paused += gate.paused;
        self.waited += gate.waited;
        self.limit_reached = self.limit_reached.saturating_add(u32::from(gate.limit_reached));
    }
}

/// What makes a corrected time doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuietDoubt {
    /// What is left is above 2.5%: executions differ by what no probe sees (memory layout); more executions help.
    Residual { residual: f64 },
    /// Its time depends on memory that others use, too: the coefficients of the memory probes are above 0.3 in sum.
    Memory { coefficients: f64 },
    /// Pausing it changes its time: the coefficient of the stops is above 0.3.
    Stops { coefficient: f64 },
    /// By the correction, evicted caches made it slower by more than 3%: natural logarithm. What the probes lose of a cache and what
    /// the program loses of it are two things.
    Eviction { part: f64 },
    /// The correction is above 15%.
    Large { correction: f64 },
    /// In so many samples the gate's limit was reached.
    LimitReached { samples: u32 },
    /// In so many samples the hypervisor stole time.
    Steal { samples: u32 },
}

/// Why a time is not corrected; the uncorrected figures stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoQuietTime {
    /// The run had no probes, or the user wanted no correction.
    NotAsked,
    /// The probes could not run; why.
    NoProbes { why: String },
    /// Fewer than six samples with probes, and nothing known of the program or of others; with such knowledge, fewer than three.
    TooFew { samples: u32 },
    /// The program uses less than 90% of a CPU's time: probes see the CPU, not what it waits for.
    Sleeps { share: f64 },
    /// It uses more CPUs than were probed.
    MoreCpus { used: f64, probed: u32 },
    /// No quiet level of this machine is known yet, and none was seen during the run.
    NeverQuiet,
    /// Samples ran in states that the coefficients were not fitted to.
    Unseen { samples: u32 },
    /// The corrected values predict each other no better than the uncorrected ones.
    NoBetter { held_out: HeldOut },
}

/// What was seen of a machine by all probes so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineStates {
    /// Share of the watched time in which the machine was quiet, 0 to 1.
    pub quiet: f64,
    /// Median length of a quiet and of a busy period, ns; `None` if none has ended yet. Samples are shorter than many periods, so
    /// it is ln 2 · time in the state / number of its ends, the estimate for exponential lengths of which not all ends are seen.
    pub quiet_period: Option<f64>,
    pub busy_period: Option<f64>,
    /// 5%, 50% and 95% quantiles of latency / its quiet level: how far the clock wanders.
    pub clock: [f64; 3],
    pub wakes: u64,
    /// From the first to the last, since 1970.
    pub span: (Nanos, Nanos),
    /// Share of the samples' elapsed time that the hypervisor took; `None` if it is not known of any.
    pub stolen: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::probes::{GateRecord, ProbeCost};

    #[test]
    fn a_sample_is_corrected_by_its_own_features() {
        let mut coefficients = [0.0; FEATURES];
        (coefficients[0], coefficients[1], coefficients[4], coefficients[10]) = (1.0, 0.5, 2.0, 0.25);
        let mut quiet = QuietTime {
            value: 100.0,
            interval: Interval { low: 99.0, high: 101.0, level: 0.95 },
            uncorrected: 110.0,
            samples: 10,
            parts: Vec::new(),
            residual: 0.01,
            held_out: HeldOut { plain: 0.1, corrected: 0.01 },
            prior: PriorSource::Physical,
            coefficients,
            reference: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0],
            branches: Shrinkage { mean: 0.5, share: 0.0 },
            doubts: Vec::new(),
            left_out: 0,
            disturbed: Vec::new(),
        };
        let mut features = Features(quiet.reference);
        // Twice 0.5 by its branches, whatever this sample saw of them.
        assert!((quiet.corrected(Nanos(1_000), &features) - 1_000.0 / std::f64::consts::E).abs() < 1e-9);
        quiet.branches = Shrinkage { mean: 0.5, share: 1.0 };
        assert!((quiet.corrected(Nanos(1_000), &features) - 1_000.0).abs() < 1e-9);
        (features.0[0], features.0[1], features.0[2]) = (1.25_f64.ln(), 4.0_f64.ln(), 3.0);
        // 1.25 times slower by the clock, twice by the sibling; the third does not matter.
        assert!((quiet.corrected(Nanos(1_000), &features) - 400.0).abs() < 1e-9);
    }

    #[test]
    fn summaries_add_up_and_saturate() {
        let probes = |gate: Option<GateRecord>, cpu: Nanos| SampleProbes {
            revision: 1,
            cpus: Vec::new(),
            gate,
            cost: ProbeCost { cpu, wakes: 100, late: 2 },
        };
        let gate = GateRecord { waited: Nanos(5), stops: 3, paused: Nanos(70), limit_reached: true };
        let mut summary = ProbesSummary::default();
        summary.add(&probes(Some(gate), Nanos(11)));
        summary.add(&probes(None, Nanos(12)));
        let expected = ProbesSummary {
            samples: 2,
            gated: 1,
            stops: 3,
            paused: Nanos(70),
            waited: Nanos(5),
            limit_reached: 1,
            cpu: Nanos(23),
            wakes: 200,
            late: 4,
        };
        assert_eq!(summary, expected);
        summary.add(&probes(None, Nanos(i64::MAX)));
        assert_eq!(summary.cpu, Nanos(i64::MAX));
    }
}
