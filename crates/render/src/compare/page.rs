//! The page's table of comparisons.

use crate::compare::sentence::{chosen, verdict_word};
use crate::counted;
use crate::words::measure;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::{Comparison, MeasureRatio, RatioBasis, RunReport};
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::words::plural;

/// The ratios by every measure, with what each rests on; that of the answer first.
pub(crate) fn comparison(report: &RunReport) -> Option<Table> {
    let mut t = Table::new(
        "Comparison",
        "Ratios of times with their 95% intervals, by duets and by executions alone of the same round (medians of the pairs). The \
         first one of each program is that of the answer.",
        &["program", "against", "measure", ">ratio", ">interval", "verdict", "rests on"],
    );
    for c in report.comparisons.iter().chain(&report.control) {
        let by_duets = c.basis == RatioBasis::Duets;
        let first = chosen(c);
        let basis = if by_duets { plural(c.pairs, "duet") } else { plural(c.pairs, "pair") };
        let by = c.number().map_or(measure(c.ratio_measure()).into(), |n| counted::name_of(n, escape));
        row(&mut t, report, c, &first, [&by, verdict_word(c), &basis]);
        let all = by_duets || c.number().is_some();
        for other in c.ratios.iter().filter(|r| all || r.measure != c.measure) {
            row(&mut t, report, c, other, [measure(other.measure), word(other.verdict), &plural(other.pairs, "pair")]);
        }
    }
    Some(t).filter(|t| !t.rows.is_empty())
}

/// With what it is by, its verdict, and what it rests on.
fn row(t: &mut Table, report: &RunReport, c: &Comparison, r: &MeasureRatio, [by, verdict, basis]: [&str; 3]) {
    let name = |i: u32| report.series.get(i as usize).map_or("", |s| s.program.label.as_str());
    let places = number::ratio_decimals(r.ratio, r.interval.as_ref().ok().map(|i| i.half_width()));
    let ratio = |r: f64| number::fixed(r, places).unwrap_or_default();
    let interval = match &r.interval {
        Ok(i) => format!("{} to {}", ratio(i.low), ratio(i.high)),
        Err(why) => why.to_string(),
    };
    let cells = [name(c.series), name(c.reference), by, &ratio(r.ratio), &interval, verdict, basis];
    t.row(cells, Vec::new());
    let low = r.interval.as_ref().ok().map(|i| i.low);
    t.values(vec![None, None, None, Some(r.ratio), low, None, Some(f64::from(r.pairs))]);
}

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    #[test]
    fn every_ratio_says_what_it_rests_on() {
        let t = comparison(&fixtures::duets()).unwrap();
        let rows: Vec<String> = t.rows.iter().map(|r| r.plain()[2..].join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "PT | 1.0083 | 1.0063 to 1.0111 | slower | 12 duets",
                "ET | 1.020 | 0.990 to 1.050 | undecided | 10 pairs",
                "PT | 1.010 | 0.980 to 1.040 | undecided | 10 pairs",
            ]
        );
        let t = comparison(&fixtures::three()).unwrap();
        let rows: Vec<String> = t.rows.iter().map(|r| r.cells[6].plain()).collect();
        assert_eq!(rows, ["10 pairs", "10 pairs"]);
        assert_eq!(comparison(&fixtures::one()), None);
        let mut printed = fixtures::two();
        printed.comparisons[0].metrics = vec![fixtures::metric_ratio("rate \u{1b}", 2.0, 1.9, 2.1)];
        assert!(printed.comparisons[0].choose_metric("rate \u{1b}", None));
        let t = comparison(&printed).unwrap();
        let rows: Vec<String> = t.rows.iter().map(|r| r.plain()[2..].join(" | ")).collect();
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(
            rows[0].starts_with("rate ") && rows[0].ends_with("| 2.00 | 1.90 to 2.10 | higher | 10 pairs"),
            "{rows:?}"
        );
        assert!(!rows[0].contains('\u{1b}') && rows[1].starts_with("ET") && rows[2].starts_with("PT"), "{rows:?}");
    }
}
