//! The answer on the terminal: which of two programs is faster, and by how much.

use crate::compare::duets;
use crate::compare::sentence::{Answer, BesideMeasure, Sentence, answer, by_number, short};
use crate::counted::{basis, name_of};
use tarebench_core::run::report::data::RunReport;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;

/// Draws the answer for a run of two programs.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let Some(c) = report.comparisons.first() else { return };
    let margin = report.run.plan.margin;
    let found = match c.number() {
        Some(number) => {
            let name = name_of(number, |n| page.style.show(n).into());
            by_number(c, margin, names, &name, basis(report, c, number), page.g.absent)
        }
        None => answer(c, margin, names, page.g.absent),
    };
    match found {
        Answer::Disagreed(sentences) => disagreement(page, &sentences),
        Answer::Agreed(sentence, beside) => agreement(page, &sentence, &beside),
    }
    duets::brief(page, report, names);
}

/// Sentence, interval and notes in one line if they fit; else the notes below, if need be without what is dispensable.
fn draw(page: &mut ScreenText<'_>, lead: &str, sentence: &Sentence, notes: &str, dispensable: &str) {
    let interval = sentence.interval.as_deref().map_or_else(String::new, |i| format!("  {i}"));
    let whole =
        text::columns(lead) + text::columns(&sentence.text) + text::columns(&interval) + 3 + text::columns(notes);
    let head = (Paint::Plain, lead.to_owned());
    if whole <= page.width() {
        let notes = (Paint::Dim, format!("   {notes}"));
        page.line(&[head, (Paint::Strong, sentence.text.clone()), (Paint::Plain, interval), notes]);
        return;
    }
    page.hang(&[head], Paint::Strong, &sentence.text);
    let indent = (Paint::Plain, " ".repeat(text::columns(lead).max(2)));
    let rest = format!("{}   {notes}", interval.trim());
    let short = rest.replace(dispensable, "");
    let fits = text::columns(rest.trim()) + text::columns(&indent.1) <= page.width();
    page.hang(&[indent], Paint::Dim, if fits { rest.trim() } else { short.trim() });
}

fn agreement(page: &mut ScreenText<'_>, sentence: &Sentence, beside: &[BesideMeasure]) {
    let mut notes = format!("{}, {}", sentence.by, sentence.pairs);
    for other in beside {
        let interval = other.interval.as_ref().map_or_else(String::new, |i| format!(" {i}"));
        notes.push_str(&format!(";  {}: {}{interval}", short(other.measure), other.ratio));
    }
    let dispensable = sentence.interval.as_ref().map_or_else(String::new, |_| format!(", {}", sentence.pairs));
    draw(page, "", sentence, &notes, &dispensable);
}

/// What each measure says.
fn disagreement(page: &mut ScreenText<'_>, sentences: &[Sentence]) {
    let lead = |s: &Sentence| format!("by {}:", s.by);
    let wide = sentences.iter().map(|s| lead(s).len()).max().unwrap_or(0);
    for s in sentences {
        let lead = format!("{:<wide$} ", lead(s));
        let lead = if page.narrow() { format!("{} ", lead.trim_end()) } else { lead };
        draw(page, &lead, s, &s.pairs, "");
    }
}
