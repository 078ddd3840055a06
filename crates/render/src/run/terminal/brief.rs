//! The default output: the programs, the answer, what matters, and where the rest is.

use crate::compare::names::names;
use crate::compare::{answer, design, rows, several};
use crate::run::intervals::what_of_briefly;
use crate::run::terminal::{lines, quiet, warnings};
use crate::run::{account, counters, metrics, quiet as corrected};
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Standing;
use tarebench_core::run::report::data::RunReport;
use tarebench_report::cell::Cell;
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::table::Table;
use tarebench_report::terminal_table;
use tarebench_report::text;

/// With more programs than this, each has a row instead of four lines.
const SECTIONS: usize = 2;

/// Draws the default output.
pub(crate) fn draw(page: &mut ScreenText<'_>, report: &RunReport) {
    let names = names(page, report);
    // The control is the reference once more: it has a line, and no section of its own.
    let count = rows::ranked(report).len();
    if count > SECTIONS {
        several::section(page, report, &names);
        quiet::rows(page, report, &names);
    } else {
        lines::sections(page, report, &names);
        answer::section(page, report, &names);
    }
    design::short_blocks(page, report);
    design::detected(page, report);
    design::control(page, report, &names);
    printed(page, report, &names);
    accounts(page, report, &names);
    // The lines of a program say why it has no sample; a row of the table does not.
    warnings::section(page, report, &names, count <= SECTIONS);
    quiet::hint(page, report);
    status(page, report);
}

/// What the programs printed, as far as the plan asks for it.
fn printed(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let titles: Vec<Cell> = names.iter().map(Cell::foreign).collect();
    let note = metrics::alone(report).map(Cell::text).unwrap_or_default();
    let table = Table { title: Cell::empty(), note, ..metrics::table(report, &titles) };
    if table.rows.is_empty() {
        return;
    }
    terminal_table::draw(page, &table);
    let mark = (Paint::Warn, format!("{} ", page.g.warning));
    for line in metrics::missing(report, &titles) {
        page.hang(std::slice::from_ref(&mark), Paint::Warn, &line.write(&Form::terminal(page.style)));
    }
    page.gap();
}

/// The accounts of all programs, if requested.
fn accounts(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    if !page.style.account {
        return;
    }
    for (s, name) in report.series.iter().zip(names).filter(|(s, _)| s.counted > 0) {
        page.gap();
        if report.series.len() > 1 {
            page.title(name);
        }
        for (label, said) in account::without(s) {
            page.field(label, &said.write(&Form::terminal(page.style)));
        }
        if let Some(why) = s.counters.absent() {
            page.field("counters", &page.style.prose(&why.to_string()));
        }
        for table in account::tables(s).into_iter().chain(counters::table(s)) {
            terminal_table::draw(page, &table);
        }
    }
    page.gap();
}

/// One line: which run, what its intervals are of, which protocol, where the details are.
fn status(page: &mut ScreenText<'_>, report: &RunReport) {
    let run = &report.run;
    let state = match run.status {
        Status::Finished => "",
        Status::Unfinished => ", unfinished",
        Status::Interrupted => ", interrupted",
    };
    let run = if run.id > 0 { format!("run {}{state}", run.id) } else { format!("not stored{state}") };
    let run = corrected::kept_to(report).map_or(run.clone(), |cpus| format!("{run}, {cpus}"));
    let p = &report.protocol;
    let held = p.steps.iter().filter(|s| s.standing == Standing::Held).count();
    let version = if p.reached == 0 { "no EMP version".to_owned() } else { format!("EMPv{}", p.reached) };
    let steps = format!("{version}, {held} of {} steps hold", p.steps.len());
    let sep = page.g.between;
    let more = page.style.more.as_deref().map(|m| page.style.prose(m)).filter(|_| report.run.id > 0);
    let intervals = what_of_briefly(report).map(|said| said.write(&Form::terminal(page.style)));
    let line = |protocol: Option<&str>, before: &str, intervals: Option<&String>| {
        let more = more.as_ref().map(|m| format!("{before}{m}"));
        let parts = [Some(run.clone()), intervals.cloned(), protocol.map(str::to_owned), more];
        parts.into_iter().flatten().collect::<Vec<_>>().join(sep)
    };
    let known = intervals.as_ref();
    let last = line(None, "", None);
    let forms = [
        line(Some(&steps), "details: ", known),
        line(Some(&version), "details: ", known),
        line(Some(&version), "", known),
        line(None, "", known),
    ];
    let fitting = forms.iter().find(|f| text::columns(f) <= page.width()).unwrap_or(&last);
    page.hang(&[], Paint::Dim, fitting);
}
