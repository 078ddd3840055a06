//! What a user reads of benchmarks: computed once from the raw trials, shown the same everywhere.

use crate::base::reading::{Absent, Reading};
use crate::kbest::bench::{Bench, BenchResult};
use crate::kbest::clocks::ClockKind;
use crate::kbest::timing::{Cache, Timing, TimingStanding, Trial};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// In the order of their execution.
    pub rows: Vec<BenchRow>,
}

/// One benchmark. Times are ns for one execution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRow {
    /// Its name; any text.
    pub name: String,
    /// Its time: that of the fastest trial, minus what is subtracted.
    pub time: Reading<f64>,
    /// How far the K fastest trials are apart, as a share of the fastest.
    pub spread: Reading<f64>,
    /// How reliable the time is.
    pub standing: TimingStanding,
    pub trials: usize,
    /// Trials that must agree.
    pub k: u32,
    /// Share by which they may differ.
    pub epsilon: f64,
    /// Executions in a trial.
    pub repetitions: u64,
    /// State of the caches.
    pub cache: Cache,
    pub clock: ClockKind,
    /// Its units in a second.
    pub hz: f64,
    /// What an empty trial takes.
    pub overhead: Reading<f64>,
    /// Whether that is subtracted.
    pub less_overhead: bool,
    /// What timer interrupts took of the fastest trial, which is subtracted.
    pub interrupts: Reading<f64>,
}

/// Computes all that is shown of benchmarks ([`Bench::check`] has found them well).
pub fn build(bench: &Bench) -> BenchReport {
    BenchReport { rows: bench.rows.iter().map(row).collect() }
}

fn row(row: &BenchResult) -> BenchRow {
    let t = &row.timing;
    let fastest = t.trials.iter().min_by(|a, b| t.time(a).total_cmp(&t.time(b)));
    let each = |units: f64| finite(units / t.hz * 1e9 / t.repetitions.max(1) as f64);
    BenchRow {
        name: row.name.clone(),
        time: match t.value() {
            Reading::Value(ns) => finite(ns),
            absent => absent,
        },
        spread: spread(t),
        standing: t.standing(),
        trials: t.trials.len(),
        k: t.parameters.k(),
        epsilon: t.parameters.epsilon(),
        repetitions: t.repetitions,
        cache: t.cache,
        clock: t.clock,
        hz: t.hz,
        overhead: each(t.overhead as f64),
        less_overhead: t.less_overhead,
        interrupts: match fastest {
            Some(trial) => interrupts(t, trial, each),
            None => Reading::Absent(Absent::NotAsked("no trial was made".to_owned())),
        },
    }
}

/// JSON has no infinities; figures beyond all reason may come from anywhere.
fn finite(ns: f64) -> Reading<f64> {
    match ns.is_finite() {
        true => Reading::Value(ns),
        false => Reading::Absent(Absent::Failed("the clock's figures give no finite time".to_owned())),
    }
}

fn spread(t: &Timing) -> Reading<f64> {
    let not = |why: String| Reading::Absent(Absent::NotAsked(why));
    let k = t.parameters.k();
    match t.outcome() {
        None => not("no trial was made".to_owned()),
        Some(_) if k == 1 => not("only one trial is compared (K = 1)".to_owned()),
        Some(o) if o.best.len() < k as usize => {
            not(format!("{} made, but {k} are to be compared", trials(o.best.len())))
        }
        Some(o) if o.value > 0.0 && o.spread.is_finite() => Reading::Value(o.spread),
        Some(_) => Reading::Absent(Absent::Failed("the fastest trial took no time by its clock".to_owned())),
    }
}

fn trials(n: usize) -> String {
    if n == 1 { "1 trial was".to_owned() } else { format!("{n} trials were") }
}

fn interrupts(t: &Timing, fastest: &Trial, each: impl Fn(f64) -> Reading<f64>) -> Reading<f64> {
    match (&t.compensation, fastest.ticks) {
        (Reading::Absent(why), _) => Reading::Absent(why.clone()),
        (Reading::Value(_), None) => {
            Reading::Absent(Absent::Lost("timer interrupts of the fastest trial were not counted".to_owned()))
        }
        (Reading::Value(_), Some(_)) => each(t.interrupts(fastest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kbest::scheme::Parameters;
    use crate::kbest::timing::Compensation;

    fn timing(counts: &[u64]) -> Timing {
        let trial = |count| Trial { count, cpu: None, ticks: None, preemptions: None, waits: None, core_cycles: None };
        Timing {
            clock: ClockKind::Counter,
            hz: 2e9,
            cache: Cache::Warm,
            repetitions: 10,
            parameters: Parameters::default(),
            compensation: Reading::Absent(Absent::NotAsked("none".to_owned())),
            overhead: 40,
            less_overhead: false,
            apart: 0,
            trials: counts.iter().map(|c| trial(*c)).collect(),
        }
    }

    fn of(timing: Timing) -> BenchRow {
        row(&BenchResult { name: "x".to_owned(), timing })
    }

    #[test]
    fn figures_are_of_one_execution() {
        let r = of(timing(&[2_000_100, 2_000_000, 2_000_200]));
        assert_eq!((r.time, r.overhead), (Reading::Value(100_000.0), Reading::Value(2.0)));
        assert!(r.spread.value().is_some_and(|s| (s - 0.0001).abs() < 1e-12));
        assert_eq!(r.standing, TimingStanding::Converged);
        assert!(r.interrupts.absent().is_some());
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        assert!(
            of(timing(&[5, 5])).spread.absent().is_some_and(|a| a.to_string().contains("2 trials were made, but 3"))
        );
        assert!(of(timing(&[0, 0, 0])).spread.absent().is_some_and(|a| a.to_string().contains("no time")));
        let mut t = timing(&[5; 3]);
        t.parameters = Parameters::new(1, 0.1, 9, 0).unwrap();
        assert!(of(t.clone()).spread.absent().is_some());
        t.compensation = Reading::Value(Compensation { cost: 10.0, period: 2.0 });
        assert!(matches!(of(t.clone()).interrupts, Reading::Absent(Absent::Lost(_))));
        t.trials.iter_mut().for_each(|t| t.ticks = Some(1));
        assert_eq!(of(t.clone()).interrupts, Reading::Value(0.5));
        t.hz = 1e-300;
        assert!(of(t).time.absent().is_some());
    }
}
