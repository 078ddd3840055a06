//! What follows from programs of stored runs: the ratio of their times, with an interval, and a verdict.
//!
//! | programs | ratio | interval |
//! | --- | --- | --- |
//! | of one run | that of its blocks | that of its blocks |
//! | of two runs that hold the same reference | ratio of the two ratios to the reference, each by blocks | of both ratios, and the floor of such ratios |
//! | of two other runs | ratio of the medians | of both medians, and the floor of run medians |
//!
//! The parts of an interval are independent and combined on the logarithmic scale by square and add: the distance from the estimate to
//! the lower bound is the root of the summed squares of the parts' own distances, likewise to the upper bound (Newcombe, Interval
//! estimation for the difference between independent proportions, 1998; Zou and Donner, Construction of confidence limits about effect
//! measures, 2008, show that it has the asked level for any two parameters whose own intervals have it). It needs nothing but the
//! estimates and their intervals, which here hold for every distribution: order statistics for medians, the sign and the signed-rank
//! test for ratios. A two-sample rank interval (Hodges and Lehmann's shift) would need both series to have the same spread and
//! shape, which times of two days have not.
//!
//! The floor ([`crate::compare::stored_floor`]) is what two runs of one program differ by: without it, an interval of many samples
//! would be narrow around the wrong value.
//!
//! What programs print of themselves (`--metric`) is compared in the same ways, by rounds or by medians, but for the floor: how far
//! it differs from run to run is not known.

use crate::compare::ratio::{RatioBasis, Verdict, verdict};
use crate::compare::stored::{
    BlockMetric, BlockRatio, ComparedBy, ComparedRun, SeriesTimes, SideMetric, SideReference, StoredComparison,
    StoredPair, StoredSide,
};
use crate::compare::stored_floor::{
    ASSUMED_DUETS, ASSUMED_MACHINES, ASSUMED_ROUNDS, ASSUMED_TIMES, FloorOf, FloorQuestion, RunFloor, floor,
};
use crate::machine::differences::{ConditionDifference, differences};
use crate::sample::counters::Counter;
use crate::sample::measure::Measure;
use crate::statistics::intervals::{Interval, LEVEL, NoInterval};
use serde::{Deserialize, Serialize};

/// The result of a comparison of stored runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredReport {
    /// One for each pair of the comparison, in its order.
    pub pairs: Vec<StoredPairReport>,
}

/// The result of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPairReport {
    /// Index of the program in [`StoredComparison::sides`].
    pub program: u32,
    /// The same of what it is compared with.
    pub reference: u32,
    /// What the verdict rests on; `None` if they have nothing in common.
    pub measure: Option<ComparedBy>,
    /// By elapsed time, process time, net time, and by what both print, as far as both have them.
    pub ratios: Vec<StoredRatio>,
    /// What both print that has no ratio, as a value of it is zero or negative.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_positive: Vec<String>,
    /// What differs between their machines and the states of these; of the reference first.
    pub differences: Vec<ConditionDifference>,
    /// The machines' fingerprints differ: the ratio is that of the machines, too.
    pub other_machine: bool,
}

/// The ratio program / reference by one measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRatio {
    pub measure: ComparedBy,
    pub way: RatioWay,
    pub ratio: f64,
    /// 95% interval of the ratio, for two runs with the floor.
    pub interval: Result<Interval, NoInterval>,
    /// The same without the floor: what the samples alone would give.
    pub sampling: Result<Interval, NoInterval>,
    /// How far two runs differ although the program does not; `None` for programs of one run, and of what programs print.
    pub floor: Option<RunFloor>,
    pub verdict: Result<Verdict, NoVerdict>,
}

/// How a ratio was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RatioWay {
    /// From the blocks of the run that holds both.
    SameRun { basis: RatioBasis, pairs: u32 },
    /// From the ratios of both to the same reference.
    RatioOfRatios { basis: RatioBasis, pairs: [u32; 2] },
    /// From the medians of both.
    RatioOfMedians { samples: [u32; 2] },
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// The machines' fingerprints differ, and no verdict across machines was asked for.
    OtherMachine,
}

impl StoredPairReport {
    /// The ratio by this time.
    pub fn by(&self, measure: Measure) -> Option<&StoredRatio> {
        self.ratios.iter().find(|r| r.measure == ComparedBy::Time(measure))
    }

    /// The ratio of the verdict.
    pub fn chosen(&self) -> Option<&StoredRatio> {
        let by = self.measure.as_ref()?;
        self.ratios.iter().find(|r| r.measure == *by)
    }

    /// The ratio by elapsed or process time that has another verdict than the chosen one: programs that wait or run in parallel differ
    /// in one of the two only, or in opposite directions. What programs print is another quantity, and disagrees with no time.
    pub fn disagreeing(&self) -> Option<&StoredRatio> {
        let chosen = self.chosen()?;
        let ComparedBy::Time(by) = chosen.measure else { return None };
        let others = [Measure::Et, Measure::Pt].into_iter().filter(|m| *m != by);
        others.filter_map(|m| self.by(m)).find(|r| r.verdict != chosen.verdict)
    }
}

/// Everything that a comparison says.
pub fn report(comparison: &StoredComparison) -> StoredReport {
    StoredReport { pairs: comparison.pairs.iter().filter_map(|pair| pair_report(comparison, pair)).collect() }
}

/// A program with its run.
#[derive(Clone, Copy)]
struct WholeSide<'a> {
    run: &'a ComparedRun,
    side: &'a StoredSide,
}

impl<'a> WholeSide<'a> {
    fn find(comparison: &'a StoredComparison, index: u32) -> Option<WholeSide<'a>> {
        let side = comparison.sides.get(index as usize)?;
        Some(WholeSide { run: comparison.runs.get(side.run as usize)?, side })
    }

    fn fingerprint(&self) -> &'a str {
        self.run.conditions.fingerprint()
    }

    fn machine(&self) -> &'a str {
        &self.run.conditions.host().machine
    }

    fn times(&self, measure: Measure) -> Option<&'a SeriesTimes> {
        self.side.times.iter().find(|t| t.measure == measure)
    }
}

fn pair_report(comparison: &StoredComparison, pair: &StoredPair) -> Option<StoredPairReport> {
    let (program, reference) =
        (WholeSide::find(comparison, pair.program)?, WholeSide::find(comparison, pair.reference)?);
    let other_machine = program.fingerprint() != reference.fingerprint();
    let same_run = program.side.run == reference.side.run;
    let judged = |mut ratio: StoredRatio| {
        if other_machine && !comparison.plan.across_machines {
            ratio.verdict = Err(NoVerdict::OtherMachine);
        }
        ratio
    };
    let by = |measure| match same_run {
        true => same_run_ratio(pair, measure),
        false => Apart { comparison, program, reference }.ratio(measure),
    };
    let (positive, not_positive): (Vec<_>, Vec<_>) =
        of_both(&program.side.metrics, &reference.side.metrics).partition(|both| both.iter().all(|m| m.smallest > 0.0));
    let by_name = |both: [&SideMetric; 2]| {
        let [SideMetric { name, .. }, _] = both;
        let within = pair.metrics.iter().find(|m| same_run && m.name == *name);
        number_ratio(ComparedBy::Printed { metric: name.clone() }, within, both)
    };
    let printed = positive.into_iter().filter_map(by_name);
    let by_counter = |both: [&SideMetric; 2]| {
        let counter = Counter::named(&both[0].name).filter(|_| both.iter().all(|m| m.smallest > 0.0))?;
        let within = pair.counters.iter().find(|m| same_run && m.name == counter.name());
        number_ratio(ComparedBy::Counter { counter }, within, both)
    };
    // These are many: only the one that was asked for.
    let asked = |r: &StoredRatio| comparison.plan.measure.as_ref() == Some(&r.measure);
    let counted = of_both(&program.side.counters, &reference.side.counters).filter_map(by_counter).filter(asked);
    let times = [Measure::Et, Measure::Pt, Measure::Net].into_iter().filter_map(by);
    let ratios: Vec<StoredRatio> = times.chain(printed).chain(counted).map(judged).collect();
    let has = |measure: &ComparedBy| ratios.iter().any(|r| r.measure == *measure);
    let automatic = [Measure::Pt, Measure::Et, Measure::Net].map(ComparedBy::Time);
    Some(StoredPairReport {
        program: pair.program,
        reference: pair.reference,
        measure: comparison.plan.measure.iter().cloned().chain(automatic).find(has),
        differences: differences(&reference.run.conditions, &program.run.conditions),
        other_machine,
        ratios,
        not_positive: not_positive.into_iter().map(|[m, _]| m.name.clone()).collect(),
    })
}

/// What both have under the same name: of the program first, in its order.
fn of_both<'a>(program: &'a [SideMetric], reference: &'a [SideMetric]) -> impl Iterator<Item = [&'a SideMetric; 2]> {
    program.iter().filter_map(|p| Some([p, reference.iter().find(|r| r.name == p.name)?]))
}

/// By the rounds of the run that holds both, else by medians; without a floor.
fn number_ratio(
    measure: ComparedBy,
    within: Option<&BlockMetric>,
    [program, reference]: [&SideMetric; 2],
) -> Option<StoredRatio> {
    if let Some(found) = within {
        return Some(StoredRatio {
            measure,
            way: RatioWay::SameRun { basis: RatioBasis::Alone, pairs: found.pairs },
            ratio: found.ratio,
            verdict: Ok(verdict(&found.interval)),
            interval: found.interval.clone(),
            sampling: found.interval.clone(),
            floor: None,
        });
    }
    let part = |m: &SideMetric| LogEstimate::new(m.median, &m.interval);
    let way = RatioWay::RatioOfMedians { samples: [program.samples, reference.samples] };
    let found = quotient(measure, way, &[part(program)?, part(reference)?], None);
    // Printed numbers may be so far apart that their ratio is no number.
    let possible = |v: f64| v.is_finite() && v > 0.0;
    let bounded =
        |i: &Result<Interval, NoInterval>| i.as_ref().ok().is_none_or(|i| possible(i.low) && possible(i.high));
    Some(found).filter(|r| possible(r.ratio) && bounded(&r.interval) && bounded(&r.sampling))
}

fn same_run_ratio(pair: &StoredPair, measure: Measure) -> Option<StoredRatio> {
    let found =
        [RatioBasis::Duets, RatioBasis::Alone].into_iter().find_map(|basis| block(&pair.blocks, measure, basis))?;
    Some(StoredRatio {
        measure: ComparedBy::Time(measure),
        way: RatioWay::SameRun { basis: found.basis, pairs: found.pairs },
        ratio: found.ratio,
        verdict: Ok(verdict(&found.interval)),
        interval: found.interval.clone(),
        sampling: found.interval.clone(),
        floor: None,
    })
}

fn block(ratios: &[BlockRatio], measure: Measure, basis: RatioBasis) -> Option<&BlockRatio> {
    ratios.iter().find(|r| r.measure == measure && r.basis == basis)
}

/// Programs of two runs.
struct Apart<'a> {
    comparison: &'a StoredComparison,
    program: WholeSide<'a>,
    reference: WholeSide<'a>,
}

impl<'a> Apart<'a> {
    /// By ratios to the same reference if they have an interval, else by medians, which need fewer samples than the ratios blocks.
    fn ratio(&self, measure: Measure) -> Option<StoredRatio> {
        let of_ratios = [RatioBasis::Duets, RatioBasis::Alone].into_iter().find_map(|b| self.of_ratios(measure, b));
        match of_ratios {
            Some(found) if found.interval.is_ok() => Some(found),
            found => self.of_medians(measure).or(found),
        }
    }

    /// The references of both in their runs, if they are the same program.
    fn references(&self) -> Option<[&'a SideReference; 2]> {
        let (a, b) = (self.program.side.against.as_ref()?, self.reference.side.against.as_ref()?);
        (a.program == b.program).then_some([a, b])
    }

    fn of_ratios(&self, measure: Measure, basis: RatioBasis) -> Option<StoredRatio> {
        let [a, b] = self.references()?;
        let (p, r) = (block(&a.ratios, measure, basis)?, block(&b.ratios, measure, basis)?);
        let parts = [LogEstimate::new(p.ratio, &p.interval)?, LogEstimate::new(r.ratio, &r.interval)?];
        let own = vec![
            (self.program.side.program.as_str(), a.program.as_str()),
            (self.reference.side.program.as_str(), b.program.as_str()),
        ];
        let assumed = if basis == RatioBasis::Duets { ASSUMED_DUETS } else { ASSUMED_ROUNDS };
        let floor = self.floor(FloorOf::Ratios(basis), measure, own, assumed);
        let way = RatioWay::RatioOfRatios { basis, pairs: [p.pairs, r.pairs] };
        Some(quotient(ComparedBy::Time(measure), way, &parts, Some(floor)))
    }

    fn of_medians(&self, measure: Measure) -> Option<StoredRatio> {
        let (p, r) = (self.program.times(measure)?, self.reference.times(measure)?);
        let parts = [LogEstimate::new(p.median, &p.interval)?, LogEstimate::new(r.median, &r.interval)?];
        let own = vec![(self.program.side.program.as_str(), ""), (self.reference.side.program.as_str(), "")];
        let equal = self.program.fingerprint() == self.reference.fingerprint();
        let assumed = if equal && !self.same_machine() { ASSUMED_MACHINES } else { ASSUMED_TIMES };
        let floor = self.floor(FloorOf::Times, measure, own, assumed);
        let way = RatioWay::RatioOfMedians { samples: [p.samples, r.samples] };
        Some(quotient(ComparedBy::Time(measure), way, &parts, Some(floor)))
    }

    fn same_machine(&self) -> bool {
        self.program.machine() == self.reference.machine()
    }

    fn floor(&self, what: FloorOf, measure: Measure, own: Vec<(&'a str, &'a str)>, assumed: f64) -> RunFloor {
        let fingerprints = [self.program.fingerprint(), self.reference.fingerprint()];
        let [a, b] = fingerprints;
        let question = FloorQuestion {
            what,
            measure,
            own,
            fingerprints,
            // Of two machines that differ, the difference is what is asked for: how far runs of each differ is the floor.
            same_machine: a != b || self.same_machine(),
            apart: self.program.run.created - self.reference.run.created,
            assumed,
        };
        floor(&self.comparison.history, &question)
    }
}

/// The logarithm of an estimate, and how far its bounds are from it, below and above.
struct LogEstimate {
    log: f64,
    widths: Result<[f64; 2], NoInterval>,
}

impl LogEstimate {
    /// `None` for what has no finite logarithm.
    fn new(value: f64, interval: &Result<Interval, NoInterval>) -> Option<LogEstimate> {
        let log = value.ln();
        let widths = interval.clone().map(|i| [log - i.low.ln(), i.high.ln() - log]);
        let finite = widths.as_ref().ok().is_none_or(|w| w.iter().all(|width| width.is_finite()));
        (log.is_finite() && finite).then(|| LogEstimate { log, widths: widths.map(|w| w.map(|width| width.max(0.0))) })
    }
}

fn quotient(
    measure: ComparedBy,
    way: RatioWay,
    [program, reference]: &[LogEstimate; 2],
    floor: Option<RunFloor>,
) -> StoredRatio {
    let log = program.log - reference.log;
    let bounds = |floor: f64| {
        let ([below, above], [reference_below, reference_above]) = match (&program.widths, &reference.widths) {
            (Ok(p), Ok(r)) => (*p, *r),
            (Err(a), Err(b)) => return Err(fewer(a, b)),
            (Err(why), Ok(_)) | (Ok(_), Err(why)) => return Err(why.clone()),
        };
        let root = |a: f64, b: f64| (a * a + b * b + floor * floor).sqrt();
        let (low, high) = (log - root(below, reference_above), log + root(above, reference_below));
        Ok(Interval { low: low.exp(), high: high.exp(), level: LEVEL })
    };
    let interval = bounds(floor.map_or(0.0, |f| f.share.ln_1p()));
    StoredRatio {
        measure,
        way,
        ratio: log.exp(),
        verdict: Ok(verdict(&interval)),
        interval,
        sampling: bounds(0.0),
        floor,
    }
}

/// The reason of the one that has fewer samples.
fn fewer(a: &NoInterval, b: &NoInterval) -> NoInterval {
    let (NoInterval::TooFew { have: of_a, .. }, NoInterval::TooFew { have: of_b, .. }) = (a, b);
    if of_b < of_a { b.clone() } else { a.clone() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::reading::Reading;
    use crate::base::units::Nanos;
    use crate::compare::stored::{BlockMetric, PastMedian, PastRun, PastSeries, StoredPlan};
    use crate::compare::stored_floor::FloorSource;
    use crate::documents::head::Status;
    use crate::machine::conditions::Conditions;
    use crate::machine::data::Host;
    use crate::statistics::intervals::median_interval;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use crate::statistics::series::{Values, median};
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;

    const HOUR: i64 = 3_600_000_000_000;

    fn conditions(machine: &str, kernel: &str) -> Conditions {
        let known = |t: &str| Reading::Value(t.to_owned());
        let host = Host {
            name: "box".to_owned(),
            machine: machine.to_owned(),
            boot: known("b"),
            kernel: kernel.to_owned(),
            kernel_version: "#1".to_owned(),
            architecture: "x86_64".to_owned(),
            distribution: known("Debian"),
            cpu: known("a CPU"),
            microcode: known("0x1"),
            cpus: 2,
            memory: Reading::Value(4 << 30),
            hypervisor: known("none"),
            clock_source: known("tsc"),
            cycle_counter_hz: Reading::Value(2.1e9),
        };
        Conditions::new(host, Vec::new())
    }

    pub(crate) fn compared_run(number: i64, machine: &str, kernel: &str) -> ComparedRun {
        ComparedRun {
            run: number,
            uuid: format!("{number:032x}"),
            created: Nanos(number * HOUR),
            status: Status::Finished,
            conditions: conditions(machine, kernel),
        }
    }

    fn estimate(low: f64, high: f64) -> Result<Interval, NoInterval> {
        Ok(Interval { low, high, level: 0.95 })
    }

    fn side(run: u32, median: f64, interval: Result<Interval, NoInterval>) -> StoredSide {
        StoredSide {
            run,
            series: 0,
            label: "gzip".to_owned(),
            program: "p".to_owned(),
            times: vec![SeriesTimes { measure: Measure::Pt, samples: 10, median, interval }],
            metrics: Vec::new(),
            counters: Vec::new(),
            against: None,
        }
    }

    /// The first side is the reference.
    fn comparison(sides: [StoredSide; 2]) -> StoredComparison {
        StoredComparison {
            plan: StoredPlan::default(),
            runs: vec![compared_run(1, "m", "6.1"), compared_run(2, "m", "6.1")],
            sides: sides.into(),
            pairs: vec![StoredPair {
                program: 1,
                reference: 0,
                blocks: Vec::new(),
                metrics: Vec::new(),
                counters: Vec::new(),
                paired_in_time: false,
            }],
            left_out: Vec::new(),
            history: Vec::new(),
        }
    }

    fn by_hand() -> StoredComparison {
        comparison([side(0, 100.0, estimate(95.0, 105.0)), side(1, 120.0, estimate(110.0, 130.0))])
    }

    fn only(comparison: &StoredComparison) -> (StoredPairReport, StoredRatio) {
        let pair = report(comparison).pairs.remove(0);
        let chosen = pair.chosen().unwrap().clone();
        (pair, chosen)
    }

    fn assert_interval(found: &Result<Interval, NoInterval>, low: f64, high: f64) {
        let i = found.as_ref().unwrap();
        assert!((i.low - low).abs() < 5e-5 && (i.high - high).abs() < 5e-5, "{i:?}, expected {low} {high}");
    }

    #[test]
    fn medians_are_compared_with_the_floor() {
        let (pair, found) = only(&by_hand());
        assert_eq!(pair.measure, Some(ComparedBy::Time(Measure::Pt)));
        assert_eq!(found.way, RatioWay::RatioOfMedians { samples: [10, 10] });
        assert!((found.ratio - 1.2).abs() < 1e-12);
        assert_eq!(found.floor, Some(RunFloor { share: 0.10, source: FloorSource::Assumed }));
        // Below: ln(120/110) = 0.08701, ln(105/100) = 0.04879, ln 1.1 = 0.09531; the root of the squares is 0.13797.
        // Above: ln(130/120) = 0.08004, ln(100/95) = 0.05129; 0.13462.
        assert_interval(&found.interval, 1.04536, 1.37292);
        assert_interval(&found.sampling, 1.08607, 1.31972);
        assert_eq!(found.verdict, Ok(Verdict::Slower));
        assert_eq!(pair.differences, []);
        // A difference that the samples would call certain, and that runs show without any.
        let (_, small) =
            only(&comparison([side(0, 100.0, estimate(99.9, 100.1)), side(1, 105.0, estimate(104.9, 105.1))]));
        assert_eq!((small.verdict, verdict(&small.sampling)), (Ok(Verdict::Undecided), Verdict::Slower));
    }

    #[test]
    fn without_an_interval_nothing_is_claimed() {
        let few = |have| Err(NoInterval::TooFew { have, need: 6 });
        let (_, found) = only(&comparison([side(0, 100.0, few(3)), side(1, 500.0, few(2))]));
        assert_eq!((found.interval.clone(), found.verdict), (few(2), Ok(Verdict::Undecided)));
        assert!((found.ratio - 5.0).abs() < 1e-12);
        // Times of 0 have no ratio.
        let none = comparison([side(0, 0.0, estimate(0.0, 0.0)), side(1, 5.0, estimate(4.0, 6.0))]);
        let none = report(&none).pairs.remove(0);
        assert_eq!((none.measure, none.ratios), (None, Vec::new()));
    }

    #[test]
    fn other_machines_get_no_verdict_unless_it_is_asked_for() {
        let mut c = by_hand();
        c.runs[1] = compared_run(2, "n", "6.2");
        let (pair, found) = only(&c);
        assert!(pair.other_machine);
        assert_eq!(found.verdict, Err(NoVerdict::OtherMachine));
        assert_eq!(pair.differences.len(), 2, "{:?}", pair.differences);
        c.plan.across_machines = true;
        let (pair, found) = only(&c);
        assert_eq!((pair.other_machine, found.verdict), (true, Ok(Verdict::Slower)));
        // Two machines with the same description are comparable, and differ by more than one machine does.
        c.runs[1] = compared_run(2, "n", "6.1");
        let (pair, found) = only(&c);
        assert!(!pair.other_machine);
        assert_eq!((found.floor.map(|f| f.share), found.verdict), (Some(0.30), Ok(Verdict::Undecided)));
    }

    fn against(ratio: f64, program: &str) -> SideReference {
        let interval = estimate(ratio / 1.01, ratio * 1.01);
        SideReference {
            label: "reference".to_owned(),
            program: program.to_owned(),
            times: Vec::new(),
            ratios: vec![
                BlockRatio {
                    measure: Measure::Pt,
                    basis: RatioBasis::Alone,
                    ratio,
                    interval: interval.clone(),
                    pairs: 10,
                },
                BlockRatio { measure: Measure::Pt, basis: RatioBasis::Duets, ratio, interval, pairs: 12 },
            ],
        }
    }

    #[test]
    fn with_the_same_reference_the_ratios_are_compared() {
        let mut c = by_hand();
        c.sides[0].against = Some(against(2.0, "r"));
        c.sides[1].against = Some(against(2.1, "r"));
        let (_, found) = only(&c);
        assert_eq!(found.way, RatioWay::RatioOfRatios { basis: RatioBasis::Duets, pairs: [12, 12] });
        assert!((found.ratio - 1.05).abs() < 1e-12);
        // The root of 0.00995² + 0.00995² + 0.00995²: two intervals of 1% and a floor of 1% is 0.017234.
        assert_interval(&found.interval, 1.03206, 1.06825);
        assert_eq!(found.verdict, Ok(Verdict::Slower));
        // Duets of one run are not compared with rounds of another one.
        c.sides[1].against.as_mut().unwrap().ratios.pop();
        let (_, found) = only(&c);
        assert_eq!(found.way, RatioWay::RatioOfRatios { basis: RatioBasis::Alone, pairs: [10, 10] });
        assert_eq!(found.floor.map(|f| f.share), Some(0.03));
        c.sides[1].against = Some(against(2.1, "another"));
        assert!(matches!(only(&c).1.way, RatioWay::RatioOfMedians { .. }));
        // Too few blocks for an interval, but enough samples.
        let mut short = against(2.1, "r");
        short.ratios.iter_mut().for_each(|r| r.interval = Err(NoInterval::TooFew { have: 5, need: 6 }));
        c.sides[1].against = Some(short);
        assert!(matches!(only(&c).1.way, RatioWay::RatioOfMedians { .. }));
    }

    #[test]
    fn programs_of_one_run_are_compared_by_its_blocks() {
        let mut c = by_hand();
        c.runs.pop();
        c.sides[1].run = 0;
        c.pairs[0].blocks = against(1.05, "").ratios;
        let (_, found) = only(&c);
        assert_eq!(found.way, RatioWay::SameRun { basis: RatioBasis::Duets, pairs: 12 });
        assert_eq!((found.ratio, found.floor), (1.05, None));
        assert_eq!(found.interval, estimate(1.05 / 1.01, 1.05 * 1.01));
        assert_eq!(found.verdict, Ok(Verdict::Slower));
    }

    #[test]
    fn the_measure_that_was_asked_for_decides() {
        let mut c = by_hand();
        for (side, elapsed) in c.sides.iter_mut().zip([200.0, 100.0]) {
            let interval = estimate(elapsed * 0.99, elapsed * 1.01);
            side.times.push(SeriesTimes { measure: Measure::Et, samples: 10, median: elapsed, interval });
        }
        let (pair, found) = only(&c);
        assert_eq!((found.measure, found.verdict), (time(Measure::Pt), Ok(Verdict::Slower)));
        let other = pair.disagreeing().map(|r| (r.measure.clone(), r.verdict));
        assert_eq!(other, Some((time(Measure::Et), Ok(Verdict::Faster))));
        c.plan.measure = Some(time(Measure::Et));
        assert_eq!(only(&c).1.measure, time(Measure::Et));
        c.plan.measure = Some(time(Measure::Net));
        assert_eq!(only(&c).1.measure, time(Measure::Pt), "not known of both");
    }

    fn time(measure: Measure) -> ComparedBy {
        ComparedBy::Time(measure)
    }

    fn rate() -> ComparedBy {
        ComparedBy::Printed { metric: "rate".to_owned() }
    }

    fn printed(median: f64, smallest: f64) -> SideMetric {
        let interval = estimate(median / 1.05, median * 1.05);
        SideMetric { name: "rate".to_owned(), samples: 10, median, interval, smallest }
    }

    #[test]
    fn what_both_print_is_compared_without_a_floor() {
        let mut c = by_hand();
        c.sides[0].metrics = vec![printed(100.0, 90.0)];
        let (pair, found) = only(&c);
        assert_eq!((found.measure, pair.ratios.len()), (time(Measure::Pt), 1), "only one side prints it");
        c.sides[1].metrics = vec![SideMetric { name: "other".to_owned(), ..printed(1.0, 1.0) }, printed(200.0, 180.0)];
        let (pair, found) = only(&c);
        assert_eq!((found.measure, pair.ratios.len()), (time(Measure::Pt), 2), "nobody asked for it");
        c.plan.measure = Some(rate());
        let (pair, found) = only(&c);
        assert_eq!((found.measure.clone(), found.floor), (rate(), None));
        assert_eq!(found.way, RatioWay::RatioOfMedians { samples: [10, 10] });
        assert!((found.ratio - 2.0).abs() < 1e-12);
        // ln 1.05 = 0.04879, times the root of 2: 0.06900.
        assert_interval(&found.interval, 1.86665, 2.14288);
        assert_eq!((found.interval.clone(), found.verdict), (found.sampling.clone(), Ok(Verdict::Slower)));
        assert_eq!(pair.disagreeing(), None);
        // Of one run, its rounds are compared.
        c.sides[1].run = 0;
        let interval = estimate(1.9, 2.2);
        c.pairs[0].metrics = vec![BlockMetric { name: "rate".to_owned(), ratio: 2.1, interval, pairs: 9 }];
        let (_, found) = only(&c);
        assert_eq!(found.way, RatioWay::SameRun { basis: RatioBasis::Alone, pairs: 9 });
        assert_eq!((found.ratio, found.interval), (2.1, estimate(1.9, 2.2)));
    }

    #[test]
    fn a_value_of_zero_or_below_has_no_ratio() {
        for smallest in [0.0, -3.0] {
            let mut c = by_hand();
            c.plan.measure = Some(rate());
            c.sides[0].metrics = vec![printed(100.0, 90.0)];
            c.sides[1].metrics = vec![printed(200.0, smallest)];
            let (pair, found) = only(&c);
            assert_eq!((found.measure, pair.not_positive), (time(Measure::Pt), vec!["rate".to_owned()]));
        }
    }

    #[test]
    fn what_is_compared_by_is_stored_as_a_word_or_a_name() {
        let json = |by: &ComparedBy| serde_json::to_string(by).unwrap();
        assert_eq!(
            (json(&time(Measure::Net)), json(&rate())),
            (r#""net""#.to_owned(), r#"{"metric":"rate"}"#.to_owned())
        );
        for by in [time(Measure::Et), rate()] {
            assert_eq!(serde_json::from_str::<ComparedBy>(&json(&by)).unwrap(), by);
        }
    }

    /// About normal, standard deviation 1.
    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| unit(rng)).sum::<f64>() - 6.0
    }

    /// Ten samples of a program in one state of the machine: 1% of noise, and now and then a disturbance.
    fn run_times(rng: &mut ChaCha8Rng, spread: f64) -> Values {
        let state = spread * normal(rng);
        let times = (0..10).map(|_| {
            let disturbed = if unit(rng) < 0.1 { -0.1 * unit(rng).ln() } else { 0.0 };
            1e8 * (state + 0.01 * normal(rng) + disturbed).exp()
        });
        Values::new(times).unwrap()
    }

    /// Two runs of one program, and eight earlier ones.
    fn simulated(rng: &mut ChaCha8Rng, spread: f64) -> StoredComparison {
        let measured = |run, times: &Values| side(run, median(times).unwrap(), median_interval(times));
        let (a, b) = (run_times(rng, spread), run_times(rng, spread));
        let mut c = comparison([measured(0, &a), measured(1, &b)]);
        let fingerprint = conditions("m", "6.1").fingerprint().to_owned();
        let past = |i: i64| PastRun {
            uuid: String::new(),
            created: Nanos(-i * HOUR),
            machine: "m".to_owned(),
            fingerprint: fingerprint.clone(),
            series: vec![PastSeries {
                program: "p".to_owned(),
                medians: vec![PastMedian { measure: Measure::Pt, median: median(&run_times(rng, spread)).unwrap() }],
                ratios: Vec::new(),
            }],
        };
        c.history = (0..8).map(past).collect();
        c
    }

    /// Share of simulated comparisons of a program with itself whose interval holds 1: with the floor, and without it.
    fn coverage(seed: u64, spread: f64) -> (f64, f64) {
        let mut rng = generator(seed, RandomPurpose::Order, 0);
        let (mut held, mut without) = (0, 0);
        for _ in 0..1000 {
            let (_, found) = only(&simulated(&mut rng, spread));
            assert!(matches!(
                found.floor.unwrap().source,
                FloorSource::SameProgram { pairs: 28, runs: 8, others: None }
            ));
            held += u32::from(found.interval.unwrap().contains(1.0));
            without += u32::from(found.sampling.unwrap().contains(1.0));
        }
        (f64::from(held) / 1000.0, f64::from(without) / 1000.0)
    }

    /// Of 1000 comparisons, the share that hold has a standard deviation of 0.7 points around 95%. With a spread of 5% between runs
    /// the floor decides almost alone; with none the samples count twice, and more hold.
    #[test]
    fn a_program_does_not_differ_from_itself() {
        let (held, without) = coverage(1, 0.05);
        assert!(held >= 0.92, "{held}");
        assert!(without < 0.6, "without the floor, {without} held: the simulation has no difference between runs");
        let (held, _) = coverage(2, 0.0);
        assert!(held >= 0.94, "{held}");
    }

    /// And one that takes 50% longer on a machine that varies by 5% is found: 0.41 on the logarithmic scale, where the half width is
    /// about 0.18 and its standard deviation 0.05, that of the ratio 0.07: more than two of them are between.
    #[test]
    fn a_large_difference_is_found() {
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let slower = (0..200).filter(|_| {
            let mut c = simulated(&mut rng, 0.05);
            let times = &mut c.sides[1].times[0];
            times.median *= 1.5;
            times.interval = times.interval.clone().map(|i| Interval { low: i.low * 1.5, high: i.high * 1.5, ..i });
            only(&c).1.verdict == Ok(Verdict::Slower)
        });
        assert!(slower.count() >= 170);
    }

    proptest! {
        #[test]
        fn the_reverse_is_the_reciprocal(
            a in (1.0..1e12_f64, 1.0..3.0_f64, 1.0..3.0_f64),
            b in (1.0..1e12_f64, 1.0..3.0_f64, 1.0..3.0_f64),
            with_reference in any::<bool>(),
        ) {
            let measured = |run, (median, below, above): (f64, f64, f64)| {
                let mut side = side(run, median, estimate(median / below, median * above));
                side.against = with_reference.then(|| against(below, "r"));
                side
            };
            let (_, forth) = only(&comparison([measured(0, a), measured(1, b)]));
            let (_, back) = only(&comparison([measured(0, b), measured(1, a)]));
            prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
            let (x, y) = (forth.interval.unwrap(), back.interval.unwrap());
            prop_assert!((x.low * y.high - 1.0).abs() < 1e-9 && (x.high * y.low - 1.0).abs() < 1e-9);
            prop_assert!(x.contains(forth.ratio) && x.low < forth.sampling.unwrap().low);
        }
    }
}
