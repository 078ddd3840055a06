//! The report on a terminal: each program, how they compare, under which conditions, and what must be said.

use crate::compare::rows::ranked;
use crate::compare::{design, table};
use crate::run::hints::hints_of_run;
use crate::run::terminal::{brief, conditions, program};
use crate::run::{metrics, remarks};
use tarebench_core::run::report::data::RunReport;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};

/// Draws a run for a terminal. Ends with a newline; no line is wider than `style.width` (at least 40).
pub fn run_report(report: &RunReport, style: &Style) -> String {
    let style = &Style { hints: hints_of_run(&style.hints, &report.run.plan), ..style.clone() };
    let mut page = ScreenText::new(style);
    if style.full {
        full(&mut page, report);
    } else {
        brief::draw(&mut page, report);
    }
    page.finish()
}

/// Everything: each program, how they compare, the conditions, what must be said.
fn full(page: &mut ScreenText<'_>, report: &RunReport) {
    let count = report.series.len();
    for i in 0..count {
        program::section(page, report, i);
    }
    if ranked(report).len() > 1 {
        table::section(page, report);
    }
    let names: Vec<String> = report.series.iter().map(|s| page.style.show(&s.program.label)).collect();
    design::control(page, report, &names);
    metrics::section(page, report, &names);
    conditions::section(page, report);
    remarks(page, report);
}

fn remarks(page: &mut ScreenText<'_>, report: &RunReport) {
    if report.remarks.is_empty() {
        return;
    }
    page.gap();
    let (warnings, others): (Vec<_>, Vec<_>) = report.remarks.iter().partition(|r| r.warning());
    for r in warnings.into_iter().chain(others) {
        let whose = match r.series {
            Some(i) if report.series.len() > 1 => format!("program {}: ", u64::from(i) + 1),
            _ => String::new(),
        };
        let text = format!("{whose}{}", page.style.prose(&remarks::text(r, &page.style.hints)));
        let (mark, paint) = if r.warning() {
            ((Paint::Warn, format!("{} ", page.g.warning)), Paint::Warn)
        } else {
            ((Paint::Dim, format!("{} ", page.g.dot)), Paint::Plain)
        };
        page.hang(&[mark], paint, &text);
    }
}
