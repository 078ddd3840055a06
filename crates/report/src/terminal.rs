//! A sheet on the terminal: the answers first.

use crate::cell::Cell;
use crate::curve_plot;
use crate::form::Form;
use crate::interval_plot;
use crate::screen::ScreenText;
use crate::sheet::{Item, Section, Sheet};
use crate::style::{Paint, Style};
use crate::table::Detail;
use crate::terminal_table;

/// Before tables and plots.
const INDENT: &str = "  ";
/// Most columns of a name in a sentence, and of other foreign text.
const NAME: usize = 60;
const LONG: usize = 400;

pub fn sheet_text(sheet: &Sheet, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let form = Form::terminal(style).cut_to((!style.full).then_some(NAME));
    let long = form.cut_to((!style.full).then_some(LONG));
    let is_shown = |detail: Detail| style.full || detail == Detail::Always;
    if sheet.answers.is_empty() && !sheet.title.is_empty() {
        page.hang(&[], Paint::Title, &sheet.title.write(&form));
    }
    for answer in &sheet.answers {
        page.hang(&[], answer.paint, &answer.write(&form));
    }
    let mut before = "";
    for fact in sheet.facts.iter().filter(|fact| is_shown(fact.detail)) {
        let label = if fact.label == before { "" } else { fact.label };
        page.painted_field(label, fact.cell.paint, &fact.cell.write(&long));
        before = fact.label;
    }
    let shown: Vec<&Section> = sheet.sections.iter().filter(|s| is_shown(s.detail)).collect();
    let (results, others): (Vec<&Section>, Vec<&Section>) = shown.into_iter().partition(|s| s.title.is_empty());
    let mut whole = results.iter().map(|s| section(&mut page, s)).fold(true, |all, this| all & this);
    let notes = || sheet.notes.iter().filter(|note| is_shown(note.detail));
    if notes().next().is_some() || !sheet.remarks.is_empty() {
        page.gap();
    }
    for note in notes() {
        let label = if note.label.is_empty() { String::new() } else { format!("{}: ", note.label) };
        let paint = if note.cell.paint == Paint::Plain { Paint::Dim } else { note.cell.paint };
        page.hang(&[(paint, label)], paint, &note.cell.write(&form));
    }
    let most = if style.full { usize::MAX } else { terminal_table::ROWS };
    for remark in sheet.remarks.iter().take(most) {
        let mark = if remark.warning { vec![(Paint::Warn, format!("{} ", page.g.warning))] } else { Vec::new() };
        page.hang(&mark, Paint::Plain, &remark.cell.write(&long));
    }
    if sheet.remarks.len() > most {
        page.line(&[(Paint::Dim, format!("  and {} more", sheet.remarks.len() - most))]);
        whole = false;
    }
    whole &= others.iter().map(|s| section(&mut page, s)).fold(true, |all, this| all & this);
    if let Some(more) = style.more.as_deref().filter(|_| !whole) {
        page.gap();
        page.hang(&[], Paint::Dim, &format!("Not everything is shown. Details: {}", style.prose(more)));
    }
    page.finish()
}

/// Returns whether all of it was shown.
fn section(page: &mut ScreenText<'_>, section: &Section) -> bool {
    let form = Form::terminal(page.style);
    let tables: Vec<_> = section.tables().collect();
    // A table that is its whole section, or begins it without a title, has the section's title.
    let leads = match tables.as_slice() {
        [table] => table.title.is_empty() || table.title == section.title,
        [first, ..] => first.title.is_empty() && section.note.is_empty(),
        [] => false,
    };
    let mut whole = true;
    // A note on curves says nothing without them.
    let of_curves = section.items.iter().any(|item| matches!(item, Item::Figure(_)));
    let has_text = !tables.is_empty() || section.overview().is_some() || (!section.note.is_empty() && !of_curves);
    if !leads && !section.title.is_empty() && has_text {
        page.gap();
        titled(page, &section.title, &section.note, &form);
    }
    for (i, table) in tables.into_iter().enumerate() {
        if i == 0 && leads && !section.title.is_empty() {
            let note = if table.note.is_empty() { section.note.clone() } else { table.note.clone() };
            let titled = crate::table::Table { title: section.title.clone(), note, ..table.clone() };
            whole &= terminal_table::draw(page, &titled);
        } else {
            whole &= terminal_table::draw(page, table);
        }
    }
    if let Some(overview) = section.overview() {
        intervals(page, overview, &form);
    }
    // Other figures are the page's.
    for item in section.items.iter().filter(|_| section.title.is_empty()) {
        if let Item::Figure(figure) = item {
            page.gap();
            for line in curve_plot::lines(figure, page.width(), &form) {
                page.line(&[(Paint::Plain, line)]);
            }
        }
    }
    whole
}

fn titled(page: &mut ScreenText<'_>, title: &Cell, note: &Cell, form: &Form) {
    page.hang(&[], Paint::Title, &title.write(form));
    if !note.is_empty() {
        page.hang(&[(Paint::Plain, INDENT.to_owned())], Paint::Dim, &note.write(form));
    }
}

fn intervals(page: &mut ScreenText<'_>, overview: &crate::web::page::Overview, form: &Form) {
    let shown = if page.style.full { overview.rows.len() } else { terminal_table::ROWS };
    let Some(plot) = interval_plot::plot(overview, shown, page.width() - INDENT.len(), form) else { return };
    page.gap();
    for ((label, line), row) in plot.labels.into_iter().zip(plot.rows).zip(&overview.rows) {
        page.line(&[(Paint::Plain, format!("{INDENT}{label}")), (row.title.paint, line)]);
    }
    page.line(&[(Paint::Dim, format!("{INDENT}{}", plot.axis))]);
}
