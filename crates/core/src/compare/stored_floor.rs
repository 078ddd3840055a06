//! How far runs of one program differ on a machine, from the other runs of the store: the floor of every comparison of two runs.
//!
//! The state of a machine is not the same at two times (memory layout, neighbours, clock speed), so that the medians of two runs of one
//! program differ by more than their samples tell. By how much, only other runs can show: of every two that hold the same program, the
//! logarithm of the ratio of its medians is a difference where there is none. Those pairs count that are at least half as far apart in
//! time as the two runs that are compared, as runs of one minute have more in common than runs of two months.
//!
//! The spread of a difference is estimated from the median of the pairs' absolute differences (Bickel and Lehmann, Descriptive
//! statistics for nonparametric models IV, 1979: an efficiency of 0.86 for normal values), which a few pairs with a real difference,
//! such as after a rebuild, move little: up to 29% of the runs may be such. The floor is the half width that a further difference stays
//! within in 95 of 100 cases, if run medians are normal on the logarithmic scale: the spread multiplied by Student's quantile, as the
//! spread is an estimate from few runs, and by what simulations show the median to need beside it (`calibration`). It holds the sampling
//! error of those runs, too, and so is rather too wide than too narrow.
//!
//! Three runs of a program hardly show how far it differs, and their quantile is more than twice that of many. Programs of one machine
//! differ to similar degrees: where at least four others are known, their mean variance counts as one degree of freedom beside the
//! program's own (Smyth, Linear models and empirical Bayes methods, 2004), if the floor is then smaller.

use crate::base::units::Nanos;
use crate::compare::ratio::RatioBasis;
use crate::compare::stored::{PastRun, PastSeries};
use crate::sample::measure::Measure;
use crate::statistics::intervals::LEVEL;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::{BTreeMap, BTreeSet};

/// How far two runs differ although the program does not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFloor {
    /// Half width of the 95% range, as a share: 0.06 for ratios from 1 / 1.06 to 1.06.
    pub share: f64,
    pub source: FloorSource,
}

/// Where a floor is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FloorSource {
    /// Other runs of the same program, or of both; with so many other programs beside it, if these made it sharper.
    SameProgram {
        pairs: u32,
        runs: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<u32>,
    },
    /// Runs of other programs of the same machine.
    OtherPrograms { pairs: u32, programs: u32 },
    /// No such runs: what is common.
    Assumed,
}

/// Fewest pairs of runs that say something.
pub const FEWEST_PAIRS: usize = 3;
/// From so many runs of a program, or so many pairs of other programs, more of them make the floor little smaller: Student's quantile is
/// at most 1.21 times that of many.
pub const ENOUGH_RUNS: u32 = 8;
/// Fewest other programs whose mean variance counts beside a program's own.
const FEWEST_OTHERS: usize = 4;

impl RunFloor {
    /// It would be clearly smaller if more runs were known.
    pub fn of_few(&self) -> bool {
        match self.source {
            FloorSource::SameProgram { runs, .. } => runs < ENOUGH_RUNS,
            FloorSource::OtherPrograms { pairs, .. } => pairs < ENOUGH_RUNS,
            FloorSource::Assumed => false,
        }
    }
}

/// Assumed of two runs on one machine: on shared machines, the same work takes 5 to 30% longer or shorter from one time to the next
/// (`docs/compare.md`), and 10% between two runs are common.
pub const ASSUMED_TIMES: f64 = 0.10;
/// Assumed of two machines with the same description: hosted runners for continuous integration were seen to differ by 26%
/// (fast_mail_parser#128).
pub const ASSUMED_MACHINES: f64 = 0.30;
/// Assumed of a ratio by rounds in two runs: the error of such ratios was 1.6 to 3.5% (`docs/compare.md`).
pub const ASSUMED_ROUNDS: f64 = 0.03;
/// Assumed of a ratio by duets in two runs: the error of such ratios was 0.03 to 1.2% (`docs/compare.md`).
pub const ASSUMED_DUETS: f64 = 0.01;

/// No machine repeats a time more exactly than this.
const LEAST: f64 = 0.001;
/// Logarithm beyond which a floor says nothing more.
const MOST_LOG: f64 = 3.0;
/// Median of the absolute value of a standard normal variable.
const MEDIAN_OF_NORMAL: f64 = 0.674_489_750_196_082;

/// What differs between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloorOf {
    /// The median time of a program.
    Times,
    /// Its ratio to the reference of the run.
    Ratios(RatioBasis),
}

/// Of which difference a floor is asked for.
pub(crate) struct FloorQuestion<'a> {
    pub what: FloorOf,
    pub measure: Measure,
    /// The programs, each with its reference if ratios are compared, else with an empty text.
    pub own: Vec<(&'a str, &'a str)>,
    /// Of the two runs.
    pub fingerprints: [&'a str; 2],
    /// Pairs of runs on one machine count; otherwise those on two machines.
    pub same_machine: bool,
    /// Time between the two runs.
    pub apart: Nanos,
    pub assumed: f64,
}

/// What a run of the store says of the difference.
struct PastValue<'a> {
    run: &'a PastRun,
    log: f64,
}

/// The floor, from the other runs of the store.
pub(crate) fn floor(history: &[PastRun], question: &FloorQuestion<'_>) -> RunFloor {
    let (own, others): (Vec<_>, Vec<_>) =
        groups(history, question).into_iter().partition(|(program, _)| question.own.contains(program));
    if let Some(s) = spread(&own, question) {
        let beside = others.iter().filter_map(|other| spread([other], question)).map(|s| s.deviation.powi(2));
        let beside: Vec<f64> = beside.collect();
        let sharpened = s.sharpened(&beside);
        let (share, others) = sharpened.map_or((s.share(), None), |(share, others)| (share, Some(others)));
        return RunFloor { share, source: FloorSource::SameProgram { pairs: s.pairs, runs: s.runs, others } };
    }
    let other_programs = spread(&others, question).map(|s| RunFloor {
        share: s.share(),
        source: FloorSource::OtherPrograms { pairs: s.pairs, programs: s.programs },
    });
    let assumed = || RunFloor { share: question.assumed, source: FloorSource::Assumed };
    other_programs.unwrap_or_else(assumed)
}

/// Programs of the history with what their runs say; by program and reference.
type PastGroups<'a> = BTreeMap<(&'a str, &'a str), Vec<PastValue<'a>>>;

fn groups<'a>(history: &'a [PastRun], question: &FloorQuestion<'_>) -> PastGroups<'a> {
    let mut groups = PastGroups::new();
    for run in history.iter().filter(|r| question.fingerprints.contains(&r.fingerprint.as_str())) {
        // A program that a run holds twice counts once.
        let mut seen = BTreeSet::new();
        for series in &run.series {
            for (program, log) in values(series, question) {
                if log.is_finite() && seen.insert(program) {
                    groups.entry(program).or_default().push(PastValue { run, log });
                }
            }
        }
    }
    groups
}

fn values<'a>(series: &'a PastSeries, question: &FloorQuestion<'_>) -> Vec<((&'a str, &'a str), f64)> {
    let program = series.program.as_str();
    match question.what {
        FloorOf::Times => {
            let found = series.medians.iter().filter(|m| m.measure == question.measure);
            found.map(|m| ((program, ""), m.median.ln())).collect()
        }
        FloorOf::Ratios(basis) => {
            let found = series.ratios.iter().filter(|r| r.measure == question.measure && r.basis == basis);
            found.map(|r| ((program, r.reference.as_str()), r.log)).collect()
        }
    }
}

impl FloorQuestion<'_> {
    /// Whether two runs are like those that are compared.
    fn counts(&self, a: &PastRun, b: &PastRun) -> bool {
        let apart = (a.created - b.created).0.unsigned_abs();
        let machine = (a.machine == b.machine) == self.same_machine;
        machine && a.fingerprint == b.fingerprint && apart >= self.apart.0.unsigned_abs() / 2
    }
}

struct RunSpread {
    /// Of a difference, so that Student's quantile times it is the floor.
    deviation: f64,
    freedom: usize,
    pairs: u32,
    runs: u32,
    programs: u32,
}

impl RunSpread {
    fn share(&self) -> f64 {
        half_width(self.deviation, self.freedom)
    }

    /// The floor with the variances of other programs beside its own, and their number; `None` if they are few or make it no smaller.
    fn sharpened(&self, others: &[f64]) -> Option<(f64, u32)> {
        if others.len() < FEWEST_OTHERS {
            return None;
        }
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        let own = self.freedom as f64;
        let deviation = ((own * self.deviation.powi(2) + mean) / (own + 1.0)).sqrt();
        let share = half_width(deviation, self.freedom + 1);
        (share < self.share()).then(|| (share, u32::try_from(others.len()).unwrap_or(u32::MAX)))
    }
}

/// Within which a further difference stays in 95 of 100 cases, as a share.
fn half_width(deviation: f64, freedom: usize) -> f64 {
    let student =
        StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf((1.0 + LEVEL) / 2.0));
    (deviation * student).min(MOST_LOG).exp_m1().max(LEAST)
}

/// By what the median's spread is multiplied, so that Student's quantile of so many degrees of freedom times it holds 95 of 100 further
/// differences of normal values: of pairs of one program, which have runs in common, and of several. From 400,000 simulated series each;
/// 2% of the quotient of the true quantile and this are left.
fn calibration(freedom: usize, programs: u32) -> f64 {
    match (programs, freedom) {
        (0 | 1, ..=2) => 0.71,
        (0 | 1, 3) => 0.81,
        (0 | 1, 4..=7) => 0.95,
        (0 | 1, 8..=14) => 0.96,
        (0 | 1, _) => 0.98,
        (_, ..=5) => 1.18,
        (_, _) => 1.07,
    }
}

fn spread<'h: 'g, 'g>(
    groups: impl IntoIterator<Item = &'g ((&'h str, &'h str), Vec<PastValue<'h>>)>,
    question: &FloorQuestion<'_>,
) -> Option<RunSpread> {
    // Absolute differences with their weights: a program of n runs counts as n - 1 differences, however many pairs these make.
    let mut differences: Vec<(f64, f64)> = Vec::new();
    let (mut freedom, mut runs, mut programs) = (0, 0, 0);
    for (_, values) in groups {
        let mut used = BTreeSet::new();
        let mut found = Vec::new();
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate().skip(i + 1) {
                if question.counts(a.run, b.run) {
                    found.push((a.log - b.log).abs());
                    used.extend([i, j]);
                }
            }
        }
        if found.is_empty() {
            continue;
        }
        let own = found.len().min(used.len() - 1);
        let weight = own as f64 / found.len() as f64;
        differences.extend(found.into_iter().map(|d| (d, weight)));
        freedom += own;
        runs += used.len();
        programs += 1;
    }
    if differences.len() < FEWEST_PAIRS {
        return None;
    }
    let pairs = differences.len();
    let deviation = calibration(freedom, programs) * weighted_median(differences)? / MEDIAN_OF_NORMAL;
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(RunSpread { deviation, freedom, pairs: small(pairs), runs: small(runs), programs })
}

/// The value below which half of the weight lies; between two values, if it is half at the lower one.
fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|v| v.1).sum::<f64>() / 2.0;
    // Sums of equal weights are exact enough for this.
    let first_beyond = |share: f64| {
        let mut below = 0.0;
        let found = values.iter().find(|(_, weight)| {
            below += weight;
            below > half * share
        });
        found.or(values.last()).map(|v| v.0)
    };
    Some(f64::midpoint(first_beyond(1.0 - 1e-12)?, first_beyond(1.0 + 1e-12)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::{PastMedian, PastRatio};
    use crate::statistics::random::{RandomPurpose, generator, normal};
    use proptest::prelude::*;

    const DAY: i64 = 86_400_000_000_000;

    fn past(day: i64, machine: &str, medians: &[(&str, f64)]) -> PastRun {
        let series = |(program, median): &(&str, f64)| PastSeries {
            program: (*program).to_owned(),
            medians: vec![PastMedian { measure: Measure::Pt, median: *median }],
            ratios: Vec::new(),
        };
        PastRun {
            uuid: String::new(),
            created: Nanos(day * DAY),
            machine: machine.to_owned(),
            fingerprint: "f".to_owned(),
            series: medians.iter().map(series).collect(),
        }
    }

    fn question(apart: i64) -> FloorQuestion<'static> {
        FloorQuestion {
            what: FloorOf::Times,
            measure: Measure::Pt,
            own: vec![("a", "")],
            fingerprints: ["f", "f"],
            same_machine: true,
            apart: Nanos(apart * DAY),
            assumed: ASSUMED_TIMES,
        }
    }

    #[test]
    fn by_hand() {
        // Logarithms 0, 0.01, 0.03: differences 0.01, 0.02, 0.03, of which 0.02 is the median. Student's quantile for two degrees of
        // freedom is 4.302653 in every table.
        let history: Vec<PastRun> = [0.0_f64, 0.01, 0.03]
            .into_iter()
            .enumerate()
            .map(|(i, x)| past(i as i64, "m", &[("a", x.exp())]))
            .collect();
        let found = floor(&history, &question(0));
        assert_eq!(found.source, FloorSource::SameProgram { pairs: 3, runs: 3, others: None });
        let expected: f64 = 0.71 * 4.302_653 * 0.02 / 0.674_489_75;
        assert!((found.share.ln_1p() - expected).abs() < 1e-6, "{}", found.share.ln_1p());
    }

    #[test]
    fn without_runs_of_the_program_others_count_and_then_what_is_common() {
        assert_eq!(floor(&[], &question(0)), RunFloor { share: 0.10, source: FloorSource::Assumed });
        let two: Vec<PastRun> = (0..2).map(|i| past(i, "m", &[("a", 1.0 + i as f64)])).collect();
        assert_eq!(floor(&two, &question(0)).source, FloorSource::Assumed, "one pair says nothing");
        let with_others: Vec<PastRun> =
            (0..2).map(|i| past(i, "m", &[("a", 1.0), ("b", 1.0), ("c", 2.0), ("d", 3.0 + i as f64)])).collect();
        let found = floor(&with_others, &question(0));
        assert_eq!(found.source, FloorSource::OtherPrograms { pairs: 3, programs: 3 });
        // Two of the three did not differ at all.
        assert_eq!(found.share, LEAST);
        let another = |change: fn(&mut FloorQuestion<'static>)| {
            let mut q = question(0);
            change(&mut q);
            floor(&with_others, &q).source
        };
        assert_eq!(another(|q| q.fingerprints = ["g", "h"]), FloorSource::Assumed);
        assert_eq!(another(|q| q.same_machine = false), FloorSource::Assumed);
        assert_eq!(another(|q| q.measure = Measure::Et), FloorSource::Assumed);
        assert_eq!(another(|q| q.what = FloorOf::Ratios(RatioBasis::Alone)), FloorSource::Assumed);
    }

    #[test]
    fn runs_that_are_closer_in_time_do_not_count() {
        // Three runs of one day agree, a fourth one ten days later does not.
        let history: Vec<PastRun> =
            [(0, 1.0), (0, 1.001), (0, 1.0), (10, 1.2)].map(|(day, t)| past(day, "m", &[("a", t)])).into();
        let near = floor(&history, &question(0));
        let far = floor(&history, &question(12));
        assert_eq!(near.source, FloorSource::SameProgram { pairs: 6, runs: 4, others: None });
        assert_eq!(far.source, FloorSource::SameProgram { pairs: 3, runs: 4, others: None });
        assert!(far.share > 0.2, "{}", far.share);
        assert_eq!(floor(&history, &question(30)).source, FloorSource::Assumed);
    }

    #[test]
    fn pairs_of_two_machines_are_for_two_machines() {
        let history: Vec<PastRun> = [("m", 1.0), ("n", 1.3), ("o", 0.9)].map(|(m, t)| past(0, m, &[("a", t)])).into();
        assert_eq!(floor(&history, &question(0)).source, FloorSource::Assumed);
        let found = floor(&history, &FloorQuestion { same_machine: false, ..question(0) });
        assert_eq!(found.source, FloorSource::SameProgram { pairs: 3, runs: 3, others: None });
    }

    #[test]
    fn ratios_have_a_history_of_their_own() {
        let ratio = |log| PastRatio { reference: "r".to_owned(), measure: Measure::Pt, basis: RatioBasis::Duets, log };
        // Times that double from run to run, ratios that hardly change.
        let history: Vec<PastRun> = (0..4)
            .map(|i| {
                let mut run = past(i, "m", &[("a", 2.0_f64.powi(i as i32))]);
                run.series[0].ratios = vec![ratio(0.001 * (i % 2) as f64)];
                run
            })
            .collect();
        let asked = FloorQuestion { what: FloorOf::Ratios(RatioBasis::Duets), own: vec![("a", "r")], ..question(0) };
        let found = floor(&history, &asked);
        assert_eq!(found.source, FloorSource::SameProgram { pairs: 6, runs: 4, others: None });
        assert!(found.share < 0.01, "{}", found.share);
        assert!(floor(&history, &question(0)).share > 1.0);
        let rounds = FloorQuestion { what: FloorOf::Ratios(RatioBasis::Alone), ..asked };
        assert_eq!(floor(&history, &rounds).source, FloorSource::Assumed);
    }

    #[test]
    fn a_rebuild_in_the_history_does_not_hide_everything() {
        // Nine runs within 1%, one of a build that takes twice as long.
        let times = [1.0, 1.01, 1.005, 1.0, 1.01, 1.002, 1.007, 1.0, 1.003, 2.0];
        let history: Vec<PastRun> = times.iter().map(|t| past(0, "m", &[("a", *t)])).collect();
        assert!(floor(&history, &question(0)).share < 0.04);
    }

    /// What a floor held, and its middle width in deviations of a run.
    struct FloorCoverage {
        held: f64,
        width: f64,
    }

    /// Of so many runs of a program, beside so many other programs of four runs. Programs differ in their spread, whose logarithm has a
    /// deviation of 0.5 around that of 2%: one has three times the spread of another.
    fn coverage(runs: usize, others: usize, series: usize) -> FloorCoverage {
        let mut rng = generator(51, RandomPurpose::Noise, (100 * runs + others) as u64);
        let names: Vec<String> = (0..others).map(|i| format!("other {i}")).collect();
        let (mut held, mut widths) = (0, Vec::new());
        for _ in 0..series {
            let spreads: Vec<f64> = (0..=others).map(|_| 0.02 * (0.5 * normal(&mut rng)).exp()).collect();
            let history: Vec<PastRun> = (0..runs.max(4))
                .map(|run| {
                    let own = (run < runs).then_some(("a", spreads[0]));
                    let beside = names.iter().map(String::as_str).zip(spreads[1..].iter().copied()).filter(|_| run < 4);
                    let medians: Vec<(&str, f64)> =
                        own.into_iter().chain(beside).map(|(name, s)| (name, (s * normal(&mut rng)).exp())).collect();
                    past(run as i64, "m", &medians)
                })
                .collect();
            let found = floor(&history, &question(0)).share.ln_1p();
            let difference = spreads[0] * (normal(&mut rng) - normal(&mut rng));
            held += usize::from(difference.abs() <= found);
            widths.push(found / spreads[0]);
        }
        let width = crate::statistics::series::median_of(widths).unwrap();
        FloorCoverage { held: held as f64 / series as f64, width }
    }

    /// Of 1,000, the share that holds has a standard deviation of 0.7 points.
    #[test]
    fn floors_of_few_runs_hold_and_are_no_wider_than_they_must_be() {
        for (runs, others, widest) in [(3, 0, 5.5), (3, 5, 4.5), (4, 0, 4.5), (4, 5, 4.1), (8, 0, 3.5), (8, 5, 3.5)] {
            let found = coverage(runs, others, 1_000);
            assert!(found.held >= 0.93, "{runs} runs, {others} others: {}", found.held);
            assert!(found.width <= widest, "{runs} runs, {others} others: {}", found.width);
        }
    }

    #[test]
    #[ignore = "slow: 10,000 floors of each of 12 kinds (make slow)"]
    fn floors_hold() {
        for (runs, others) in [3, 4, 5, 6, 8, 12].into_iter().flat_map(|runs| [(runs, 0), (runs, 5)]) {
            let found = coverage(runs, others, 10_000);
            println!(
                "{runs} runs, {others} others: {:.1}% hold, {:.2} deviations wide",
                100.0 * found.held,
                found.width
            );
            assert!(found.held >= 0.935, "{runs} runs, {others} others: {}", found.held);
        }
    }

    #[test]
    fn other_programs_sharpen_the_floor_of_few_runs() {
        let times = |a: f64, others: [f64; 4]| {
            [("a", a), ("b", others[0]), ("c", others[1]), ("d", others[2]), ("e", others[3])]
        };
        let history: Vec<PastRun> = [(1.0, [1.0; 4]), (1.02, [1.01; 4]), (1.05, [1.0, 1.0, 1.02, 1.02])]
            .into_iter()
            .enumerate()
            .map(|(day, (a, others))| past(day as i64, "m", &times(a, others)))
            .collect();
        let found = floor(&history, &question(0));
        assert_eq!(found.source, FloorSource::SameProgram { pairs: 3, runs: 3, others: Some(4) });
        let alone: Vec<PastRun> =
            history.iter().map(|r| PastRun { series: r.series[..1].to_vec(), ..r.clone() }).collect();
        let alone = floor(&alone, &question(0));
        assert!(found.share < alone.share && found.of_few() && alone.of_few(), "{found:?} {alone:?}");
        // Others that differ far more widen nothing.
        let wide: Vec<PastRun> = [(1.0, [1.0; 4]), (1.02, [3.0; 4]), (1.05, [1.0; 4])]
            .into_iter()
            .enumerate()
            .map(|(day, (a, others))| past(day as i64, "m", &times(a, others)))
            .collect();
        assert_eq!(floor(&wide, &question(0)), alone);
    }

    proptest! {
        #[test]
        fn whatever_the_history_there_is_a_floor(
            runs in proptest::collection::vec((any::<i64>(), 0..3_usize, any::<f64>(), 0..3_usize), 0..30),
            apart in any::<i64>(),
        ) {
            let names = ["a", "b", "c"];
            let history: Vec<PastRun> = runs
                .into_iter()
                .map(|(created, machine, median, program)| PastRun {
                    created: Nanos(created),
                    ..past(0, names[machine], &[(names[program], median)])
                })
                .collect();
            let found = floor(&history, &FloorQuestion { apart: Nanos(apart), ..question(0) });
            prop_assert!(found.share >= LEAST && found.share.is_finite());
        }
    }
}
