//! The report on a terminal: each program, how they compare, under which conditions, and what must be said.

use crate::kit::screen::Page;
use crate::kit::style::{Paint, Style};
use crate::run::remarks;
use crate::run::terminal::{compare, conditions, program};
use tarebench_core::run::report::data::RunReport;

/// With more programs than this, only the comparing table is shown, unless all is asked for.
const SECTIONS: usize = 3;

/// Draws a run for a terminal. Ends with a newline; no line is wider than `style.width` (at least 40).
pub fn run_report(report: &RunReport, style: &Style) -> String {
    let mut page = Page::new(style);
    let count = report.series.len();
    let sections = style.full || count <= SECTIONS;
    let mut complete = true;
    if sections {
        for i in 0..count {
            complete &= program::section(&mut page, report, i);
        }
    }
    if count > 1 {
        compare::section(&mut page, report, sections);
    }
    conditions::section(&mut page, report);
    remarks(&mut page, report);
    if let Some(more) = style.more.as_deref().filter(|_| !sections || !complete) {
        page.gap();
        let more = page.style.prose(more);
        let text = if sections { "All of it:" } else { "Each program's details:" };
        page.hang(&[], Paint::Dim, &format!("{text} {more}"));
    }
    page.finish()
}

fn remarks(page: &mut Page<'_>, report: &RunReport) {
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
