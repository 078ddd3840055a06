//! The answer on the terminal: which of two programs is faster, and by how much.

use crate::compare::duets;
use crate::compare::sentence::{Answer, BesideMeasure, Sentence, answer, short};
use tarebench_core::run::report::data::RunReport;
use tarebench_report::cell::Cell;
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;

/// Draws the answer for a run of two programs.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let Some(c) = report.comparisons.first() else { return };
    match answer(report, c, &names.iter().map(Cell::foreign).collect::<Vec<_>>()) {
        Answer::Disagreed(sentences) => disagreement(page, &sentences),
        Answer::Agreed(sentence, beside) => agreement(page, &sentence, &beside),
    }
    duets::brief(page, report, names);
}

/// Sentence, interval and notes in one line if they fit; else the notes below, if need be the shorter ones.
fn draw(page: &mut ScreenText<'_>, lead: &str, sentence: &Sentence, notes: [String; 2]) {
    let form = Form::terminal(page.style);
    let [said, interval] = [
        sentence.brief().write(&form),
        sentence.ratio.bounds().map_or_else(String::new, |_| sentence.ratio.texts(&form).1),
    ];
    let [notes, short] = notes.map(|notes| format!("   {notes}"));
    let columns = |all: [&str; 3]| all.iter().map(|t| text::columns(t)).sum::<usize>();
    let gap = if interval.is_empty() { "" } else { "  " };
    if columns([lead, &said, gap]) + columns([&interval, &notes, ""]) <= page.width() {
        let spans = [(Paint::Plain, lead), (Paint::Strong, &said), (Paint::Plain, gap), (Paint::Plain, &interval)];
        let spans = spans.into_iter().map(|(paint, text)| (paint, text.to_owned()));
        page.line(&spans.chain([(Paint::Dim, notes)]).collect::<Vec<_>>());
        return;
    }
    page.hang(&[(Paint::Plain, lead.to_owned())], Paint::Strong, &said);
    let indent = " ".repeat(text::columns(lead).max(2));
    let rest = [notes, short].map(|notes| format!("{interval}{notes}").trim().to_owned());
    let fitting = rest.iter().find(|rest| columns([rest, &indent, ""]) <= page.width()).unwrap_or(&rest[1]);
    page.hang(&[(Paint::Plain, indent)], Paint::Dim, fitting);
}

fn agreement(page: &mut ScreenText<'_>, sentence: &Sentence, beside: &[BesideMeasure]) {
    let form = Form::terminal(page.style);
    let other = |b: &BesideMeasure| format!(";  {}: {}", short(b.measure), Cell::from(b.ratio.clone()).write(&form));
    let others: String = beside.iter().map(other).collect();
    // The number of pairs is dispensable where there is an interval.
    let long = format!("{}, {}{others}", sentence.by, sentence.pairs);
    let brief = if sentence.ratio.bounds().is_some() { format!("{}{others}", sentence.by) } else { long.clone() };
    draw(page, "", sentence, [long, brief]);
}

/// What each measure says.
fn disagreement(page: &mut ScreenText<'_>, sentences: &[Sentence]) {
    let lead = |s: &Sentence| format!("by {}:", s.by);
    let wide = sentences.iter().map(|s| lead(s).len()).max().unwrap_or(0);
    for s in sentences {
        let lead = if page.narrow() { format!("{} ", lead(s)) } else { format!("{:<wide$} ", lead(s)) };
        draw(page, &lead, s, [s.pairs.clone(), s.pairs.clone()]);
    }
}
