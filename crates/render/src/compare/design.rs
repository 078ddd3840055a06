//! What is said of the design of a comparison: its blocks of several executions, when it stopped, and what its control shows.

use crate::compare::sentence::{chosen, oriented};
use tarebench_core::run::report::data::{ComparedNumber, Comparison, Measure, RatioBasis, RunReport};
use tarebench_core::run::report::findings::RemarkKind;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::words::plural;

/// Draws why a measurement stopped that was to detect a difference. That it did not reach it is a warning.
pub(crate) fn detected(page: &mut ScreenText<'_>, report: &RunReport) {
    for remark in report.remarks.iter().filter(|r| !r.warning()) {
        if let RemarkKind::Detect { asked, basis, blocks, looks, .. } = &remark.kind {
            let what = if *basis == RatioBasis::Duets { "duet" } else { "round" };
            let interval = if report.comparisons.len() > 1 { "intervals allow" } else { "interval allows" };
            let text = format!(
                "stopped after {}, when a difference of {} would be seen; the {interval} for {} at the results",
                plural(*blocks, what),
                Cell::of(Unit::Share, *asked),
                plural(*looks, "look")
            );
            page.hang(&[], Paint::Dim, &text);
        }
    }
}

/// Draws how short programs were executed.
pub(crate) fn short_blocks(page: &mut ScreenText<'_>, report: &RunReport) {
    for remark in &report.remarks {
        if let RemarkKind::ShortBlocks { executions, programs } = &remark.kind {
            page.hang(&[], Paint::Dim, &blocks(*executions, *programs));
        }
    }
}

/// `blocks of 8 executions each, A B B A and B A A B alternately`.
pub(crate) fn blocks(executions: u32, programs: u32) -> String {
    let order = match (programs, executions) {
        (2, 2) => "A B B A or B A A B at random",
        (2, _) => "A B B A and B A A B alternately",
        _ => "in random orders, each followed by its reverse",
    };
    format!("blocks of {} each, {order}", plural(executions, "execution"))
}

pub(crate) fn control(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let Some(c) = &report.control else { return };
    let text = sentence(c, &names.iter().map(Cell::foreign).collect::<Vec<_>>()).write(&Form::terminal(page.style));
    page.hang(&[], Paint::Dim, &text);
}

/// `control: gzip against itself: 1.0003 [0.9981, 1.0024], so differences below 0.24 % may be the machine's`.
pub(crate) fn sentence(c: &Comparison, names: &[Cell]) -> Cell {
    let name = names.get(c.reference as usize).cloned().unwrap_or_default();
    let meaning = match &c.interval {
        Ok(i) if i.contains(1.0) => {
            format!(", so differences below {} may be the machine's", Cell::of(Unit::Share, furthest(i)))
        }
        Ok(_) => ", though it should be 1".to_owned(),
        Err(NoInterval::TooFew { need, .. }) => {
            let kind = if c.basis == RatioBasis::Duets { "duet" } else { "pair" };
            format!(", by {} of {need} needed", plural(c.pairs, kind))
        }
    };
    let by = match (c.number(), c.measure) {
        (Some(ComparedNumber::Counter(_)), _) => " by its count",
        (Some(ComparedNumber::Printed(_)), _) => " by what it prints",
        (None, Measure::Et) => " by elapsed time",
        (None, Measure::Pt | Measure::Net) => "",
    };
    let ratio = oriented(&chosen(c), true);
    Cell::text("control: ").and(name).and(format!(" against itself{by}: ")).and(ratio).and(meaning)
}

/// The larger distance from 1 of both bounds.
fn furthest(interval: &Interval) -> f64 {
    (1.0 - interval.low).max(interval.high - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use crate::run::terminal::report::run_report;
    use tarebench_core::compare::ratio::Verdict;
    use tarebench_core::run::report::findings::Remark;
    use tarebench_report::markup::Markup;
    use tarebench_report::style::Style;

    fn names() -> Vec<Cell> {
        ["gzip", "xz", "gzip (control)"].map(Cell::foreign).to_vec()
    }

    /// Two programs and the reference once more.
    fn controlled(low: f64, high: f64) -> RunReport {
        let mut r = fixtures::two();
        let mut again = r.series[0].clone();
        again.program.label.push_str(" (control)");
        (again.program.control, again.program.reference) = (true, false);
        r.series.push(again);
        r.control = Some(fixtures::comparison(2, 1.0003, low, high, Verdict::Undecided));
        r
    }

    fn said(r: &RunReport, full: bool) -> String {
        run_report(r, &Style { width: 140, full, ..Style::default() })
    }

    #[test]
    fn the_control_is_one_line() {
        let text = |c: &Comparison| sentence(c, &names()).plain();
        let c = fixtures::comparison(2, 1.0003, 0.9981, 1.0024, Verdict::Undecided);
        assert_eq!(
            text(&c),
            "control: gzip against itself: 1.0003 [0.9981, 1.0024], so differences below 0.24 % may be the machine's"
        );
        let c = fixtures::comparison(2, 1.01, 1.004, 1.016, Verdict::Slower);
        assert_eq!(text(&c), "control: gzip against itself: 1.0100 [1.0040, 1.0160], though it should be 1");
        let mut c = fixtures::comparison(2, 1.01, 1.0, 1.0, Verdict::Undecided);
        (c.interval, c.pairs) = (Err(NoInterval::TooFew { have: 3, need: 6 }), 3);
        assert!(text(&c).ends_with(", by 3 pairs of 6 needed"), "{}", text(&c));
    }

    #[test]
    fn the_control_is_no_program_among_the_others() {
        let r = controlled(0.9981, 1.0024);
        let (with, without) = (said(&r, false), said(&fixtures::two(), false));
        let others: Vec<&str> = with.lines().filter(|l| !l.starts_with("control:")).collect();
        assert_eq!(others, without.lines().collect::<Vec<_>>());
        assert_eq!(with.lines().filter(|l| l.starts_with("control:")).count(), 1);
        // In a table it is the last row, though the reference, which takes as long, is slower than the other program.
        let table = crate::run::markup::markup(&r, Markup::Markdown, None, tarebench_report::style::Sort::MeanTime);
        let rows: Vec<&str> = table.trim_end().lines().collect();
        assert!(rows.last().is_some_and(|row| row.contains("(control)")), "{table}");
        assert!(rows[rows.len() - 2].contains("gzip"), "{table}");
        // Its own figures are in the full output.
        let full = said(&r, true);
        assert!(full.contains("(control)") && full.contains("control: "), "{full}");
    }

    #[test]
    fn a_control_alone_needs_no_other_program() {
        let mut r = controlled(0.9981, 1.0024);
        r.series.remove(1);
        r.comparisons.clear();
        let c = r.control.as_mut().unwrap();
        c.series = 1;
        for full in [false, true] {
            let text = said(&r, full);
            assert!(text.contains("control: ") && !text.contains("undecided"), "{text}");
        }
    }

    #[test]
    fn that_the_control_differs_is_a_warning() {
        let mut r = controlled(1.004, 1.016);
        let interval = r.control.as_ref().unwrap().interval.clone().unwrap();
        let kind = RemarkKind::ControlDiffers { reference: 0, ratio: 1.01, interval };
        r.remarks.push(Remark { series: None, kind });
        let text = said(&r, false);
        assert!(text.contains("! ") && text.contains("The control differs from program 1"), "{text}");
    }

    #[test]
    fn how_short_programs_were_executed_is_one_line() {
        let with = |executions, programs, full| {
            let mut r = fixtures::two();
            r.remarks.push(Remark { series: None, kind: RemarkKind::ShortBlocks { executions, programs } });
            said(&r, full)
        };
        let has = |text: &str, line: &str| text.lines().any(|l| l == line);
        for (executions, programs, line) in [
            (8, 2, "blocks of 8 executions each, A B B A and B A A B alternately"),
            (2, 2, "blocks of 2 executions each, A B B A or B A A B at random"),
            (4, 3, "blocks of 4 executions each, in random orders, each followed by its reverse"),
        ] {
            let text = with(executions, programs, false);
            assert!(has(&text, line), "{text}");
        }
        let full = with(8, 2, true);
        assert!(
            full.contains("they ran in blocks of 8 executions each") && !full.contains("! The programs are short"),
            "{full}"
        );
        assert!(full.contains("10 blocks after 1 warm-up"), "{full}");
        assert!(!said(&fixtures::two(), false).contains("blocks of"));
    }

    #[test]
    fn why_it_stopped_is_said_once() {
        let detect = |reached| RemarkKind::Detect {
            asked: 0.01,
            reached,
            basis: RatioBasis::Duets,
            blocks: 36,
            most: 200,
            looks: 5,
        };
        let with = |reached, full| {
            let mut r = fixtures::two();
            r.remarks.push(Remark { series: None, kind: detect(reached) });
            said(&r, full)
        };
        let line = "stopped after 36 duets, when a difference of 1.0 % would be seen; the interval allows for 5 looks at the \
                    results";
        assert!(with(Some(0.0093), false).lines().any(|l| l == line), "{}", with(Some(0.0093), false));
        assert!(!with(Some(0.0093), true).contains("stopped after"));
        assert!(with(Some(0.0093), true).contains("within ± 0.93 %"));
        for missed in [Some(0.014), None] {
            let text = with(missed, false);
            assert!(text.contains("! A difference of 1.0 % may not be seen") && !text.contains("stopped"), "{text}");
        }
    }
}
