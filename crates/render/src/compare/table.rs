//! The table of comparisons: every ratio, and what it rests on.

use crate::compare::sentence::{chosen, pairs, verdict_word, word};
use crate::counted;
use tarebench_core::run::report::data::{Measure, MeasureRatio, RatioBasis, RunReport};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::table::Table;

/// `PT`, `ET` or `net`.
pub(crate) fn measure(m: Measure) -> &'static str {
    match m {
        Measure::Pt => "PT",
        Measure::Et => "ET",
        Measure::Net => "net",
    }
}

/// A program by its label.
pub(crate) fn label(report: &RunReport, series: u32) -> Cell {
    report.series.get(series as usize).map_or_else(Cell::empty, |s| Cell::foreign(&s.program.label))
}

/// The ratios by every measure, with what each rests on; that of the answer first.
pub(crate) fn comparison(report: &RunReport) -> Table {
    let mut t = Table::new(
        "Comparison",
        "Ratios of times with their 95% intervals, by duets and by executions alone of the same round (medians of the pairs). The \
         first one of each program is that of the answer.",
        &["program", "against", "measure", "ratio [95%]", "verdict", ">rests on"],
    );
    for c in report.comparisons.iter().chain(&report.control) {
        let mut row = |by: Cell, r: &MeasureRatio, verdict: &str, kind: &str| {
            let ratio = Figure::new(Unit::Ratio, r.ratio).with_interval(&r.interval);
            let who = [label(report, c.series), label(report, c.reference)];
            t.row(who.into_iter().chain([by, ratio.into(), verdict.into(), pairs(r, kind).into()]), Vec::new());
        };
        let by_duets = c.basis == RatioBasis::Duets;
        let by = c.number().map_or_else(|| measure(c.ratio_measure()).into(), counted::name_of);
        let is_control = report.series.get(c.series as usize).is_some_and(|s| s.program.control);
        let verdict = |word| if is_control { "control" } else { word };
        row(by, &chosen(c), verdict(verdict_word(c)), if by_duets { "duet" } else { "pair" });
        let all = by_duets || c.number().is_some();
        for other in c.ratios.iter().filter(|r: &&MeasureRatio| all || r.measure != c.measure) {
            row(measure(other.measure).into(), other, verdict(word(other.verdict)), "pair");
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    #[test]
    fn every_ratio_says_what_it_rests_on() {
        let t = comparison(&fixtures::duets());
        let rows: Vec<String> = t.rows.iter().map(|r| r.plain()[2..].join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "PT | 1.0083 [1.0063, 1.0111] | slower | 12 duets",
                "ET | 1.020 [0.990, 1.050] | undecided | 10 pairs",
                "PT | 1.010 [0.980, 1.040] | undecided | 10 pairs",
            ]
        );
        let t = comparison(&fixtures::three());
        let rows: Vec<String> = t.rows.iter().map(|r| r.cells[5].plain()).collect();
        assert_eq!(rows, ["10 pairs", "10 pairs"]);
        assert!(comparison(&fixtures::one()).rows.is_empty());
        let mut printed = fixtures::two();
        printed.comparisons[0].metrics = vec![fixtures::metric_ratio("rate \u{1b}", 2.0, 1.9, 2.1)];
        assert!(printed.comparisons[0].choose_metric("rate \u{1b}", None));
        let t = comparison(&printed);
        let rows: Vec<String> = t.rows.iter().map(|r| r.plain()[2..].join(" | ")).collect();
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(
            rows[0].starts_with("rate ") && rows[0].ends_with("| 2.00 [1.90, 2.10] | higher | 10 pairs"),
            "{rows:?}"
        );
        assert!(!rows[0].contains('\u{1b}') && rows[1].starts_with("ET") && rows[2].starts_with("PT"), "{rows:?}");
    }
}
