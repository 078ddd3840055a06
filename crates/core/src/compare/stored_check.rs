//! Whether a comparison that was read from a file can be one that was stored.

use crate::compare::stored::{
    BlockMetric, BlockRatio, ComparedRun, PastRun, PastSeries, SeriesTimes, SideMetric, SideReference,
    StoredComparison, StoredPair, StoredSide,
};
use crate::statistics::intervals::{Interval, NoInterval};

/// Most pairs of a comparison, and most sides.
pub const MOST_PAIRS: usize = 256;
/// Most other runs that are looked at, and most programs of one of them.
pub const MOST_PAST_RUNS: usize = 200;
const MOST_PAST_PROGRAMS: usize = 32;
/// Measures of a program, each by two kinds of blocks; with room for later ones.
const MOST_MEASURES: usize = 16;
/// Numbers that a program prints which are compared.
pub const MOST_PRINTED: usize = 256;
/// Factors of a machine, of which there are some sixty.
const MOST_FACTORS: usize = 1_000;
/// Programs of all runs that were named as a whole.
const MOST_LEFT_OUT: usize = 10_000;
/// Longest text in bytes: no command line is longer on Linux.
const LONGEST_TEXT: usize = 4 << 20;
/// Times in ns and ratios are below this, and their inverses: 292 years are 1e19 ns.
const LARGEST: f64 = 1e20;
/// Logarithms of ratios are below this.
const MOST_LOG: f64 = 50.0;

/// Why a comparison cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadComparison {
    #[error("it has {0}")]
    Whole(&'static str),
    #[error("{list} {row} has {what}")]
    Row {
        list: &'static str,
        /// From 1.
        row: usize,
        what: &'static str,
    },
}

impl StoredComparison {
    /// Whether it can be: finite figures, lengths within bounds, indices of what is there; names may be any text.
    ///
    /// # Errors
    /// [`BadComparison`], the first that is bad.
    pub fn check(&self) -> Result<(), BadComparison> {
        self.check_lengths().map_err(BadComparison::Whole)?;
        let runs = self.runs.len();
        each("run", &self.runs, check_run)?;
        each("program", &self.sides, |side| check_side(side, runs))?;
        each("pair", &self.pairs, |pair| check_pair(pair, &self.sides))?;
        each("left-out program", &self.left_out, |left| {
            check_index(left.run, runs)?;
            check_texts([left.label.as_str()])
        })?;
        each("run of the history", &self.history, check_past)
    }

    fn check_lengths(&self) -> Result<(), &'static str> {
        if self.pairs.is_empty() {
            return Err("no pair of programs, expected at least one");
        }
        if self.pairs.len() > MOST_PAIRS || self.sides.len() > 2 * MOST_PAIRS || self.runs.len() > 2 * MOST_PAIRS {
            return Err("more than 256 pairs of programs, or more programs than these have");
        }
        if self.history.len() > MOST_PAST_RUNS {
            return Err("a history of more than 200 runs");
        }
        if self.left_out.len() > MOST_LEFT_OUT { Err("more than 10000 programs that are left out") } else { Ok(()) }
    }
}

fn each<T>(list: &'static str, all: &[T], check: impl Fn(&T) -> Result<(), &'static str>) -> Result<(), BadComparison> {
    let bad = |(i, item): (usize, &T)| check(item).err().map(|what| BadComparison::Row { list, row: i + 1, what });
    all.iter().enumerate().find_map(bad).map_or(Ok(()), Err)
}

fn check_index(index: u32, length: usize) -> Result<(), &'static str> {
    if (index as usize) < length { Ok(()) } else { Err("an index of something that is not there") }
}

fn check_texts<const N: usize>(texts: [&str; N]) -> Result<(), &'static str> {
    if texts.iter().any(|text| text.len() > LONGEST_TEXT) { Err("a text of more than 4 MiB") } else { Ok(()) }
}

fn check_run(run: &ComparedRun) -> Result<(), &'static str> {
    if run.conditions.factors().len() > MOST_FACTORS {
        return Err("more than 1000 factors");
    }
    check_texts([run.uuid.as_str(), run.conditions.host().name.as_str()])
}

fn check_side(side: &StoredSide, runs: usize) -> Result<(), &'static str> {
    let StoredSide { run, series: _, label, program, times, metrics, counters, against } = side;
    check_index(*run, runs)?;
    check_texts([label.as_str(), program.as_str()])?;
    check_times(times)?;
    check_printed(metrics)?;
    check_printed(counters)?;
    against.as_ref().map_or(Ok(()), check_reference)
}

fn check_reference(reference: &SideReference) -> Result<(), &'static str> {
    let SideReference { label, program, times, ratios } = reference;
    check_texts([label.as_str(), program.as_str()])?;
    check_times(times)?;
    check_ratios(ratios)
}

fn check_pair(pair: &StoredPair, sides: &[StoredSide]) -> Result<(), &'static str> {
    let StoredPair { program, reference, blocks, metrics, counters, paired_in_time: _ } = pair;
    check_index(*program, sides.len())?;
    check_index(*reference, sides.len())?;
    if program == reference {
        return Err("the same program twice");
    }
    check_ratios(blocks)?;
    check_printed_ratios(metrics)?;
    check_printed_ratios(counters)
}

fn check_printed(metrics: &[SideMetric]) -> Result<(), &'static str> {
    if metrics.len() > MOST_PRINTED {
        return Err("more than 256 printed values");
    }
    metrics.iter().try_for_each(|m| check_texts([m.name.as_str()]))?;
    let good = |m: &SideMetric| {
        m.median.is_finite() && m.smallest.is_finite() && is_interval(&m.interval, |bound| bound.is_finite())
    };
    if metrics.iter().all(good) { Ok(()) } else { Err("a printed value or an interval of it that cannot be") }
}

fn check_printed_ratios(ratios: &[BlockMetric]) -> Result<(), &'static str> {
    if ratios.len() > MOST_PRINTED {
        return Err("more than 256 printed values");
    }
    ratios.iter().try_for_each(|r| check_texts([r.name.as_str()]))?;
    let positive = |v: f64| v > 0.0 && v.is_finite();
    let good = ratios.iter().all(|r| positive(r.ratio) && is_interval(&r.interval, positive));
    if good { Ok(()) } else { Err("a ratio of printed values or an interval of it that cannot be") }
}

fn check_times(times: &[SeriesTimes]) -> Result<(), &'static str> {
    if times.len() > MOST_MEASURES {
        return Err("more than 16 measures");
    }
    let time = |v: f64| v == 0.0 || is_positive(v);
    let good = times.iter().all(|t| time(t.median) && is_interval(&t.interval, time));
    if good { Ok(()) } else { Err("a time or an interval of it that cannot be") }
}

fn check_ratios(ratios: &[BlockRatio]) -> Result<(), &'static str> {
    if ratios.len() > MOST_MEASURES {
        return Err("more than 16 ratios");
    }
    let good = ratios.iter().all(|r| is_positive(r.ratio) && is_interval(&r.interval, is_positive));
    if good { Ok(()) } else { Err("a ratio or an interval of it that cannot be") }
}

fn is_positive(value: f64) -> bool {
    value > 1.0 / LARGEST && value < LARGEST
}

fn is_interval(interval: &Result<Interval, NoInterval>, is_bound: impl Fn(f64) -> bool) -> bool {
    let holds = |i: &Interval| is_bound(i.low) && is_bound(i.high) && i.low <= i.high && (0.0..=1.0).contains(&i.level);
    interval.as_ref().ok().is_none_or(holds)
}

fn check_past(run: &PastRun) -> Result<(), &'static str> {
    let PastRun { uuid, created: _, machine, fingerprint, series } = run;
    check_texts([uuid.as_str(), machine.as_str(), fingerprint.as_str()])?;
    if series.len() > MOST_PAST_PROGRAMS {
        return Err("more than 32 programs");
    }
    series.iter().try_for_each(check_past_series)
}

fn check_past_series(series: &PastSeries) -> Result<(), &'static str> {
    let PastSeries { program, medians, ratios } = series;
    check_texts([program.as_str()])?;
    ratios.iter().try_for_each(|r| check_texts([r.reference.as_str()]))?;
    if medians.len() > MOST_MEASURES || ratios.len() > MOST_MEASURES {
        return Err("more than 16 measures");
    }
    let good = medians.iter().all(|m| is_positive(m.median)) && ratios.iter().all(|r| r.log.abs() < MOST_LOG);
    if good { Ok(()) } else { Err("a time or a ratio that cannot be") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Nanos;
    use crate::compare::ratio::RatioBasis;
    use crate::compare::stored::{LeftOutProgram, PastMedian, PastRatio, StoredPlan};
    use crate::sample::measure::Measure;

    fn comparison() -> StoredComparison {
        let interval = Ok(Interval { low: 0.9, high: 1.1, level: 0.95 });
        let ratio = BlockRatio { measure: Measure::Pt, basis: RatioBasis::Duets, ratio: 1.0, interval, pairs: 10 };
        let times = SeriesTimes {
            measure: Measure::Pt,
            samples: 3,
            median: 0.0,
            interval: Err(NoInterval::TooFew { have: 3, need: 6 }),
        };
        let against = SideReference {
            label: "\u{1b}".to_owned(),
            program: "r".to_owned(),
            times: vec![times.clone()],
            ratios: vec![ratio.clone()],
        };
        let side = StoredSide {
            run: 0,
            series: 0,
            label: "<script>".to_owned(),
            program: "p".to_owned(),
            times: vec![times],
            metrics: vec![SideMetric {
                name: "\u{1b}".to_owned(),
                samples: 3,
                median: -2.5e40,
                interval: Ok(Interval { low: -3e40, high: 0.0, level: 0.95 }),
                smallest: -3e40,
            }],
            counters: Vec::new(),
            against: Some(against),
        };
        let past = PastSeries {
            program: "p".to_owned(),
            medians: vec![PastMedian { measure: Measure::Pt, median: 5.0 }],
            ratios: vec![PastRatio {
                reference: "r".to_owned(),
                measure: Measure::Pt,
                basis: RatioBasis::Alone,
                log: -0.1,
            }],
        };
        StoredComparison {
            plan: StoredPlan::default(),
            runs: vec![crate::compare::stored_report::tests::compared_run(1, "m", "6.1")],
            sides: vec![side.clone(), side],
            pairs: vec![StoredPair {
                program: 0,
                reference: 1,
                blocks: vec![ratio],
                metrics: vec![BlockMetric {
                    name: "\u{1b}".to_owned(),
                    ratio: 1e30,
                    interval: Err(NoInterval::TooFew { have: 3, need: 6 }),
                    pairs: 3,
                }],
                counters: Vec::new(),
                paired_in_time: true,
            }],
            left_out: vec![LeftOutProgram { run: 0, label: String::new() }],
            history: vec![PastRun {
                uuid: String::new(),
                created: Nanos(i64::MIN),
                machine: "m".to_owned(),
                fingerprint: "f".to_owned(),
                series: vec![past],
            }],
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        assert_eq!(comparison().check(), Ok(()));
        let refused = |change: &dyn Fn(&mut StoredComparison)| {
            let mut c = comparison();
            change(&mut c);
            c.check().unwrap_err().to_string()
        };
        assert_eq!(refused(&|c| c.pairs.clear()), "it has no pair of programs, expected at least one");
        let many = refused(&|c| c.pairs = vec![c.pairs[0].clone(); 257]);
        assert!(many.contains("more than 256 pairs"), "{many}");
        assert!(refused(&|c| c.history = vec![c.history[0].clone(); 201]).contains("more than 200 runs"));
        assert_eq!(refused(&|c| c.sides[1].run = 1), "program 2 has an index of something that is not there");
        assert_eq!(refused(&|c| c.pairs[0].program = 2), "pair 1 has an index of something that is not there");
        assert_eq!(refused(&|c| c.pairs[0].program = 1), "pair 1 has the same program twice");
        assert!(refused(&|c| c.left_out[0].run = 9).starts_with("left-out program 1 has"));
        for bad in [f64::NAN, f64::INFINITY, -1.0, 1e300, 1e-300] {
            assert!(refused(&|c| c.sides[0].times[0].median = bad).starts_with("program 1 has a time"), "{bad}");
            assert!(refused(&|c| c.pairs[0].blocks[0].ratio = bad).starts_with("pair 1 has a ratio"), "{bad}");
            let past = refused(&|c| c.history[0].series[0].medians[0].median = bad);
            assert_eq!(past, "run of the history 1 has a time or a ratio that cannot be");
        }
        for bad in [f64::NAN, 51.0, f64::NEG_INFINITY] {
            assert!(refused(&|c| c.history[0].series[0].ratios[0].log = bad).contains("a ratio"), "{bad}");
        }
        for (low, high, level) in [(2.0, 1.0, 0.95), (0.0, 1.0, 0.95), (1.0, f64::INFINITY, 0.95), (1.0, 2.0, f64::NAN)]
        {
            let interval = Ok(Interval { low, high, level });
            assert!(refused(&|c| c.pairs[0].blocks[0].interval = interval.clone()).starts_with("pair 1 has a ratio"));
        }
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(refused(&|c| c.sides[1].metrics[0].median = bad).starts_with("program 2 has a printed value"));
            assert!(refused(&|c| c.sides[1].metrics[0].smallest = bad).starts_with("program 2 has a printed value"));
        }
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert!(refused(&|c| c.pairs[0].metrics[0].ratio = bad).starts_with("pair 1 has a ratio of printed"));
        }
        let interval = Ok(Interval { low: 2.0, high: 1.0, level: 0.95 });
        assert!(refused(&|c| c.sides[0].metrics[0].interval = interval.clone()).contains("a printed value"));
        let many = refused(&|c| c.sides[0].metrics = vec![c.sides[0].metrics[0].clone(); MOST_PRINTED + 1]);
        assert_eq!(many, "program 1 has more than 256 printed values");
        let long = refused(&|c| c.sides[0].label = "x".repeat((4 << 20) + 1));
        assert_eq!(long, "program 1 has a text of more than 4 MiB");
    }
}
