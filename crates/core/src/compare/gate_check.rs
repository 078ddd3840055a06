//! Whether a gate that was read from a file can be what a gate stores.

use crate::base::units::Nanos;
use crate::compare::gate::{CorrectedSide, Gate, GateBenchmark, GatePlan, GateSide, MeasuredBenchmark, SideTimes};
use crate::statistics::intervals::{Interval, NoInterval};
use crate::statistics::sequential::MOST_BLOCKS;
use std::collections::BTreeSet;

/// Most benchmarks of a suite, and most ratios of a benchmark, that are accepted.
const MOST_BENCHMARKS: usize = 10_000;
const MOST_LOGS: usize = 100_000;
/// Longest text in bytes: no command line is longer on Linux.
const LONGEST_TEXT: usize = 4 << 20;
/// Largest logarithm of a ratio: a nanosecond against 292 years has 44.
const MOST_LOG: f64 = 50.0;
/// So much of a name stands in the error.
const SHOWN: usize = 60;

/// Why a gate cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGate {
    #[error("its plan has {0}")]
    Plan(&'static str),
    #[error("it has results of {measured} benchmarks, expected {planned} as in its plan")]
    Length { measured: usize, planned: usize },
    #[error("benchmark {row} ({name:?}) has {what}")]
    Benchmark {
        /// From 1.
        row: usize,
        name: String,
        what: &'static str,
    },
}

impl Gate {
    /// Whether it can be: finite figures, as many results as benchmarks, lengths within bounds; names may be any text.
    ///
    /// # Errors
    /// [`BadGate`], the first that is bad.
    pub fn check(&self) -> Result<(), BadGate> {
        let planned = &self.plan.benchmarks;
        check_plan(&self.plan).map_err(BadGate::Plan)?;
        if self.measured.len() != planned.len() {
            return Err(BadGate::Length { measured: self.measured.len(), planned: planned.len() });
        }
        let mut names = BTreeSet::new();
        for (i, (benchmark, measured)) in planned.iter().zip(&self.measured).enumerate() {
            let unique = if names.insert(&benchmark.name) { Ok(()) } else { Err("the name of another one") };
            let checked = unique.and_then(|()| check_benchmark(benchmark)).and_then(|()| check_measured(measured));
            checked.map_err(|what| BadGate::Benchmark {
                row: i + 1,
                name: benchmark.name.chars().take(SHOWN).collect(),
                what,
            })?;
        }
        Ok(())
    }
}

fn check_plan(plan: &GatePlan) -> Result<(), &'static str> {
    if plan.benchmarks.is_empty() {
        return Err("no benchmark, expected at least one");
    }
    if plan.benchmarks.len() > MOST_BENCHMARKS {
        return Err("more than 10000 benchmarks");
    }
    if plan.max_blocks == 0 || plan.max_blocks > MOST_BLOCKS {
        return Err("a cap of blocks that is not from 1 to 1000");
    }
    if !(plan.family_error > 0.0 && plan.family_error < 1.0) {
        return Err("an error of the family that is not between 0 and 1");
    }
    if plan.budget.is_some_and(|b| b < Nanos::ZERO) {
        return Err("a time budget below 0");
    }
    let texts = [&plan.base, &plan.head].into_iter().flat_map(side_texts);
    check_texts(texts.chain([plan.suite.as_str()]))
}

fn side_texts(side: &GateSide) -> impl Iterator<Item = &str> {
    let GateSide { folder, commit, name, committed: _, subject, modified: _ } = side;
    [commit, name, subject].into_iter().flatten().map(String::as_str).chain([folder.as_str()])
}

fn check_texts<'a>(mut texts: impl Iterator<Item = &'a str>) -> Result<(), &'static str> {
    if texts.any(|text| text.len() > LONGEST_TEXT) { Err("a text of more than 4 MiB") } else { Ok(()) }
}

fn check_benchmark(benchmark: &GateBenchmark) -> Result<(), &'static str> {
    let GateBenchmark { name, command, threshold, weight, measure: _, budget } = benchmark;
    if !(*threshold > 0.0 && *threshold <= 1e6) {
        return Err("a threshold that is not a number greater than 0");
    }
    if !(*weight >= 0.0 && *weight <= 1e12) {
        return Err("a weight that is not a number of at least 0");
    }
    if budget.is_some_and(|b| b < Nanos::ZERO) {
        return Err("a time budget below 0");
    }
    check_texts([name.as_str(), command.as_str()].into_iter())
}

fn check_measured(measured: &MeasuredBenchmark) -> Result<(), &'static str> {
    for logs in [&measured.logs, &measured.process_logs, &measured.control_logs] {
        if logs.len() > MOST_LOGS {
            return Err("more than 100000 blocks");
        }
        if !logs.iter().all(|log| log.is_finite() && log.abs() <= MOST_LOG) {
            return Err("a ratio of which the logarithm is not between -50 and 50");
        }
    }
    // Three measures, with room for later ones.
    if measured.times.len() > 16 {
        return Err("more than 16 measures");
    }
    if !measured.times.iter().all(are_times) {
        return Err("a time or an interval of it that cannot be");
    }
    if !measured.corrected.iter().flat_map(|c| [&c.base, &c.head]).all(is_corrected) {
        return Err("a corrected time or an interval of it that cannot be");
    }
    if measured.took < Nanos::ZERO {
        return Err("a duration below 0");
    }
    check_texts([&measured.run_uuid, &measured.failed].into_iter().flatten().map(String::as_str))
}

fn are_times(times: &SideTimes) -> bool {
    let SideTimes { measure: _, base, base_interval, head, head_interval, samples: _ } = times;
    is_estimate(*base, base_interval) && is_estimate(*head, head_interval)
}

fn is_corrected(side: &CorrectedSide) -> bool {
    let CorrectedSide { value, interval, uncorrected } = side;
    let ordered = interval.low <= *value && *value <= interval.high && (0.0..=1.0).contains(&interval.level);
    ordered && [*value, interval.low, interval.high, *uncorrected].iter().all(|v| *v > 0.0 && *v < 1e20)
}

/// A time in ns with its interval.
fn is_estimate(value: f64, interval: &Result<Interval, NoInterval>) -> bool {
    let possible = |v: f64| v.is_finite() && v.abs() < 1e20;
    let bounds = interval
        .as_ref()
        .ok()
        .is_none_or(|i| possible(i.low) && possible(i.high) && i.low <= i.high && (0.0..=1.0).contains(&i.level));
    possible(value) && bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::CorrectedSides;
    use crate::run::report::data::{Measure, RatioBasis};

    fn corrected() -> CorrectedSide {
        let interval = Interval { low: 0.9e8, high: 1.1e8, level: 0.95 };
        CorrectedSide { value: 1e8, interval, uncorrected: 1.2e8 }
    }

    fn gate() -> Gate {
        let benchmark = |name: &str| GateBenchmark {
            name: name.to_owned(),
            command: "./prog\u{1b} <script>".to_owned(),
            threshold: 0.02,
            weight: 1.0,
            measure: None,
            budget: None,
        };
        let times = SideTimes {
            measure: Measure::Pt,
            base: 1e8,
            base_interval: Ok(Interval { low: 0.9e8, high: 1.1e8, level: 0.97 }),
            head: 1e8,
            head_interval: Err(NoInterval::TooFew { have: 3, need: 6 }),
            samples: 3,
        };
        let measured = MeasuredBenchmark {
            basis: RatioBasis::Duets,
            measure: Some(Measure::Pt),
            logs: vec![0.01, -0.01],
            control_logs: vec![0.0],
            times: vec![times],
            corrected: Some(CorrectedSides { base: corrected(), head: corrected() }),
            took: Nanos(5),
            ..MeasuredBenchmark::default()
        };
        let plan = GatePlan {
            suite: String::new(),
            base: GateSide::default(),
            head: GateSide::default(),
            benchmarks: vec![benchmark("a"), benchmark("b\n")],
            budget: None,
            max_blocks: 54,
            control: true,
            family_error: 0.01,
        };
        Gate { plan, measured: vec![measured, MeasuredBenchmark::default()] }
    }

    #[test]
    fn what_cannot_be_is_named() {
        assert_eq!(gate().check(), Ok(()));
        let refused = |change: &dyn Fn(&mut Gate)| {
            let mut g = gate();
            change(&mut g);
            g.check().unwrap_err().to_string()
        };
        assert!(refused(&|g| g.plan.benchmarks.clear()).contains("no benchmark"));
        assert!(refused(&|g| g.plan.max_blocks = 0).contains("cap of blocks"));
        assert!(refused(&|g| g.plan.max_blocks = u32::MAX).contains("cap of blocks"));
        for error in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(refused(&|g| g.plan.family_error = error).contains("error of the family"), "{error}");
        }
        let lost = refused(&|g| drop(g.measured.pop()));
        assert_eq!(lost, "it has results of 1 benchmarks, expected 2 as in its plan");
        let same = refused(&|g| g.plan.benchmarks[1].name = "a".to_owned());
        assert_eq!(same, r#"benchmark 2 ("a") has the name of another one"#);
        for threshold in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(refused(&|g| g.plan.benchmarks[1].threshold = threshold).starts_with(r#"benchmark 2 ("b\n") has"#));
        }
        assert!(refused(&|g| g.plan.benchmarks[0].weight = f64::NAN).contains("a weight"));
        for log in [f64::NAN, f64::INFINITY, 51.0] {
            assert!(refused(&|g| g.measured[0].logs.push(log)).contains("a ratio"), "{log}");
            assert!(refused(&|g| g.measured[0].control_logs.push(log)).contains("a ratio"), "{log}");
            assert!(refused(&|g| g.measured[0].process_logs.push(log)).contains("a ratio"), "{log}");
        }
        assert!(refused(&|g| g.measured[0].logs = vec![0.0; 100_001]).contains("more than 100000 blocks"));
        assert!(refused(&|g| g.measured[0].times[0].head = f64::INFINITY).contains("a time"));
        let crossed = Ok(Interval { low: 2.0, high: 1.0, level: 0.95 });
        assert!(refused(&|g| g.measured[0].times[0].head_interval = crossed.clone()).contains("a time"));
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.2e8] {
            let head = CorrectedSide { value, ..corrected() };
            let sides = CorrectedSides { base: corrected(), head };
            assert!(
                refused(&|g| g.measured[0].corrected = Some(sides.clone())).contains("a corrected time"),
                "{value}"
            );
        }
        assert!(refused(&|g| g.measured[1].took = Nanos(-1)).contains("a duration"));
        assert!(refused(&|g| g.plan.suite = "x".repeat((4 << 20) + 1)).contains("4 MiB"));
        let long = refused(&|g| {
            g.plan.benchmarks[0].name = "n".repeat(5 << 20);
        });
        assert!(long.len() < 200 && long.contains("4 MiB"), "{long:.200}");
    }
}
