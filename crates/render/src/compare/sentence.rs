//! The comparison of two programs in words, for the terminal and the page.

use crate::kit::number;
use crate::kit::words::plural;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::{Comparison, Measure, MeasureRatio, RatioBasis};
use tarebench_core::statistics::intervals::NoInterval;

/// `elapsed time`, `CPU time`, `net time`.
pub(crate) fn spelled(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed time",
        Measure::Pt => "CPU time",
        Measure::Net => "net time",
    }
}

/// `elapsed`, `CPU`, `net`.
pub(crate) fn short(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed",
        Measure::Pt => "CPU",
        Measure::Net => "net",
    }
}

/// What one measure says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub measure: Measure,
    /// `xz is 2.58 times as fast as gzip`, without a period.
    pub text: String,
    /// `[2.50, 2.70]`.
    pub interval: Option<String>,
    /// `10 pairs`, `3 pairs of 6 needed`.
    pub pairs: String,
}

/// The figures of a measure that agrees with the first, in the direction of its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BesideMeasure {
    pub measure: Measure,
    pub ratio: String,
    pub interval: Option<String>,
}

/// The answer to which of two programs is faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The measures have the same verdict.
    Agreed(Sentence, Vec<BesideMeasure>),
    /// Elapsed and CPU time differ in their verdict; the larger difference first.
    Disagreed([Sentence; 2]),
}

/// The answer, with the programs' names in the order of the report; `absent` stands for what is no number.
pub(crate) fn answer(c: &Comparison, names: &[String], absent: &str) -> Answer {
    let chosen = chosen(c);
    if let Some(other) = c.disagreeing() {
        let size = |r: &MeasureRatio| r.ratio.ln().abs();
        let order = if size(other) > size(&chosen) { [other, &chosen] } else { [&chosen, other] };
        return Answer::Disagreed(order.map(|r| sentence(c, r, names, absent)));
    }
    let beside = [Measure::Et, Measure::Pt].into_iter().filter(|m| *m != chosen.measure).filter_map(|m| c.by(m));
    let beside = beside.map(|r| {
        let (ratio, interval) = figures(r, chosen.ratio > 1.0, absent);
        BesideMeasure { measure: r.measure, ratio, interval }
    });
    Answer::Agreed(sentence(c, &chosen, names, absent), beside.collect())
}

/// The ratio by the measure of the verdict.
fn chosen(c: &Comparison) -> MeasureRatio {
    MeasureRatio {
        measure: c.measure,
        ratio: c.ratio,
        interval: c.interval.clone(),
        pairs: c.pairs,
        verdict: c.verdict,
    }
}

/// Ratio and interval; of the reference's speed to the program's if `reference_first`, else the reverse. Decimals are those
/// that the width of the interval justifies: a ratio such as 51.3 or 1.003 keeps what distinguishes it from 1.
fn figures(r: &MeasureRatio, reference_first: bool, absent: &str) -> (String, Option<String>) {
    let interval = r.interval.as_ref().ok();
    let (ratio, interval) = if reference_first {
        (r.ratio, interval.map(|i| (i.low, i.high)))
    } else {
        (1.0 / r.ratio, interval.map(|i| (1.0 / i.high, 1.0 / i.low)))
    };
    let decimals = number::ratio_decimals(ratio, interval.map(|(low, high)| (high - low) / 2.0)).min(4);
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_else(|| absent.to_owned());
    (show(ratio), interval.map(|(low, high)| format!("[{}, {}]", show(low), show(high))))
}

/// The faster program stands first, so that the ratio is at least 1.
fn sentence(c: &Comparison, r: &MeasureRatio, names: &[String], absent: &str) -> Sentence {
    let name = |i: u32| names.get(i as usize).map_or("", String::as_str);
    let reference_first = r.ratio > 1.0;
    let (fast, slow) = match reference_first {
        true => (name(c.reference), name(c.series)),
        false => (name(c.series), name(c.reference)),
    };
    let (ratio, interval) = figures(r, reference_first, absent);
    let kind = match c.basis {
        RatioBasis::Duets if r.measure == c.measure => "duet",
        _ => "pair",
    };
    let text = match (&r.interval, r.verdict) {
        (Err(NoInterval::TooFew { .. }), _) => {
            format!("undecided, too few {kind}s: {fast} was {ratio} times as fast as {slow}")
        }
        (Ok(_), Verdict::Undecided) => format!("undecided: {fast} was {ratio} times as fast as {slow}"),
        (Ok(_), _) => format!("{fast} is {ratio} times as fast as {slow}"),
    };
    let pairs = match &r.interval {
        Err(NoInterval::TooFew { need, .. }) => format!("{} of {need} needed", plural(r.pairs, kind)),
        Ok(_) => plural(r.pairs, kind),
    };
    Sentence { measure: r.measure, text, interval, pairs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    fn names() -> Vec<String> {
        vec!["gzip".to_owned(), "xz".to_owned()]
    }

    #[test]
    fn the_faster_program_stands_first() {
        let agreed = |ratio, low, high, verdict| {
            let c = fixtures::comparison(1, ratio, low, high, verdict);
            match answer(&c, &names(), "–") {
                Answer::Agreed(s, beside) => (s, beside),
                Answer::Disagreed(s) => panic!("{s:?}"),
            }
        };
        let (s, beside) = agreed(0.3876, 0.37, 0.40, Verdict::Faster);
        assert_eq!(s.text, "xz is 2.58 times as fast as gzip");
        assert_eq!((s.interval.as_deref(), s.pairs.as_str()), (Some("[2.50, 2.70]"), "10 pairs"));
        assert_eq!(beside, []);
        let (s, _) = agreed(2.0, 1.9, 2.1, Verdict::Slower);
        assert_eq!(s.text, "gzip is 2.00 times as fast as xz");
        let (s, _) = agreed(1.01, 0.98, 1.04, Verdict::Undecided);
        assert_eq!(s.text, "undecided: gzip was 1.010 times as fast as xz");
        assert_eq!(s.interval.as_deref(), Some("[0.980, 1.040]"));
    }

    #[test]
    fn without_an_interval_nothing_is_claimed() {
        let mut c = fixtures::comparison(1, 0.5, 0.4, 0.6, Verdict::Undecided);
        c.interval = Err(NoInterval::TooFew { have: 3, need: 6 });
        c.pairs = 3;
        let Answer::Agreed(s, _) = answer(&c, &names(), "–") else { panic!("no disagreement") };
        assert_eq!(s.text, "undecided, too few pairs: xz was 2.00 times as fast as gzip");
        assert_eq!((s.interval, s.pairs.as_str()), (None, "3 pairs of 6 needed"));
    }

    #[test]
    fn a_measure_that_agrees_stands_beside() {
        let c = &fixtures::two().comparisons[0];
        let Answer::Agreed(s, beside) = answer(c, &names(), "–") else { panic!("no disagreement") };
        assert_eq!(s.measure, Measure::Pt);
        let elapsed =
            BesideMeasure { measure: Measure::Et, ratio: "2.44".to_owned(), interval: Some("[2.20, 2.60]".to_owned()) };
        assert_eq!(beside, [elapsed]);
    }
}
