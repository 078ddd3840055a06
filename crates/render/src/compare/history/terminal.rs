//! A history on the terminal: its answers, then plots of what changed.

use crate::compare::history::plot::{HistoryCanvas, plot};
use crate::compare::history::said::{HistoryAnswer, answers, newest, remarks, title};
use tarebench_core::compare::history::{BenchmarkHistory, HistoryReport};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::text::cut_middle;
use tarebench_report::words::plural;

/// Plots of several benchmarks, unless all are asked for.
const PLOTS: usize = 3;
/// Most columns of a benchmark's name in a sentence.
const NAME: usize = 40;
/// Most changes of a benchmark, unless all are asked for.
const CHANGES: usize = 5;
/// Most benchmarks that are named beside a remark.
const NAMED: usize = 3;

/// The whole text.
pub fn history_text(report: &HistoryReport, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    for h in &report.benchmarks {
        answered(&mut page, h);
    }
    let plotted = plotted(report, style.full);
    for h in &plotted {
        drawn(&mut page, h);
    }
    limits(&mut page, report);
    page.gap();
    let left = report.benchmarks.len() - plotted.len();
    let mut last = plural(report.gates as u64, "gate");
    if left > 0 {
        last += &format!("{}{} not drawn", page.g.between, plural(left as u64, "benchmark"));
        last += &style.more.as_ref().map(|more| format!(": {more}")).unwrap_or_default();
    }
    page.hang(&[], Paint::Dim, &style.prose(&last));
    page.finish()
}

fn name(h: &BenchmarkHistory, style: &Style) -> String {
    cut_middle(&style.show(&title(h)), NAME.min(style.columns() / 2), style.glyphs().dots).into_owned()
}

fn paint(answer: &HistoryAnswer) -> Paint {
    match answer.ratio {
        Some(ratio) if ratio > 1.0 => Paint::Bad,
        Some(_) => Paint::Good,
        None => Paint::Plain,
    }
}

/// The answer comes first: each change is a line.
fn answered(page: &mut ScreenText<'_>, h: &BenchmarkHistory) {
    let style = page.style;
    let show = |text: &str| style.show(text);
    let all = answers(h, &style.zone, &page.g, &show);
    let most = if style.full { usize::MAX } else { CHANGES };
    let first = vec![(Paint::Strong, format!("{}: ", name(h, style)))];
    for answer in all.iter().take(most) {
        page.hang(&first, paint(answer), &answer.text);
    }
    if all.len() > most {
        let more = format!("and {} before", plural((all.len() - most) as u64, "change"));
        page.hang(&first, Paint::Dim, &more);
    }
}

/// Those that are drawn: the ones that changed before the others, which are only drawn where there is room.
fn plotted(report: &HistoryReport, full: bool) -> Vec<&BenchmarkHistory> {
    let mut all: Vec<&BenchmarkHistory> = report.benchmarks.iter().collect();
    if !full && all.len() > 1 {
        let changed = all.iter().filter(|h| !h.changes.is_empty()).count();
        all.sort_by_key(|h| h.changes.is_empty());
        all.truncate(changed.min(PLOTS));
    }
    all
}

fn drawn(page: &mut ScreenText<'_>, h: &BenchmarkHistory) {
    let style = page.style;
    let show = |text: &str| style.show(text);
    let canvas =
        HistoryCanvas { width: page.width(), unicode: style.unicode, glyphs: page.g, zone: &style.zone, show: &show };
    let Some(lines) = plot(h, &canvas) else { return };
    page.gap();
    page.title(&name(h, style));
    for line in lines {
        page.line(&line);
    }
    if let Some(now) = newest(h, &style.zone, &page.g, &show) {
        page.hang(&[(Paint::Plain, "newest: ".to_owned())], Paint::Plain, &now);
    }
}

/// Each remark once, with the benchmarks that it is about unless it is about all.
fn limits(page: &mut ScreenText<'_>, report: &HistoryReport) {
    let style = page.style;
    let show = |text: &str| style.show(text);
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for h in &report.benchmarks {
        for remark in remarks(h, &style.zone, &style.hints, &show) {
            match found.iter_mut().find(|(text, _)| *text == remark) {
                Some((_, names)) => names.push(name(h, style)),
                None => found.push((remark, vec![name(h, style)])),
            }
        }
    }
    if !found.is_empty() {
        page.gap();
    }
    for (remark, names) in found {
        let about = match names.len() {
            n if n == report.benchmarks.len() => String::new(),
            n if n > NAMED => format!("{} and {} more: ", names[..NAMED].join(", "), n - NAMED),
            _ => format!("{}: ", names.join(", ")),
        };
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &format!("{about}{remark}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;
    use tarebench_report::text::{columns, hidden};

    #[test]
    fn the_answer_is_first() {
        let text = history_text(&fixtures::report(), &Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "sort: −1.0 % [−1.3, −0.7] between 00000f0 and 0000100 (2026-10-17)");
        assert!(lines[1].starts_with("sort: +2.0 % [+1.8, +2.2] between 0000070 and 0000080 (2026-10-09)"), "{text}");
        assert!(
            text.contains("parse: no change in 20 commits; the smallest step that would show is about 0.61 %"),
            "{text}"
        );
        // Only the one that changed is drawn.
        assert_eq!((text.matches('▲').count(), text.matches("newest: ").count()), (2, 1), "{text}");
        assert!(text.contains("newest: +1.0 % [+0.8, +1.2] since 0000100 (2026-10-17), relative to 0000000"), "{text}");
        assert!(text.contains("! sort: 3 more builds in 1 group cannot be compared"), "{text}");
        assert!(!text.contains("! parse"), "{text}");
        assert!(text.trim_end().ends_with("22 gates · 1 benchmark not drawn"), "{text}");
        let full = Style { full: true, more: Some("again".to_owned()), ..Style::default() };
        let text = history_text(&fixtures::report(), &full);
        assert_eq!(text.matches("newest: ").count(), 2, "{text}");
        assert!(text.trim_end().ends_with("22 gates"), "{text}");
    }

    #[test]
    fn one_benchmark_is_always_drawn() {
        let mut report = fixtures::report();
        report.benchmarks.remove(0);
        let text = history_text(&report, &Style::default());
        assert!(text.contains('●') && !text.contains("not drawn"), "{text}");
        let coloured = history_text(&fixtures::report(), &Style { color: true, ..Style::default() });
        assert!(coloured.contains("\x1b[31m+2.0 %") && coloured.contains("\x1b[32m−1.0 %"), "{coloured}");
        let nothing = HistoryReport { gates: 3, benchmarks: Vec::new() };
        assert_eq!(history_text(&nothing, &Style::default()), "3 gates\n");
    }

    #[test]
    fn hostile_names_and_narrow_terminals() {
        for report in [fixtures::report(), fixtures::hostile()] {
            for (width, unicode) in [(40, true), (40, false), (72, true), (140, false)] {
                for full in [false, true] {
                    let style = Style { width, unicode, full, ..Style::default() };
                    let text = history_text(&report, &style);
                    assert!(text.lines().all(|l| columns(l) <= width), "{width}: {text}");
                    assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{}", text.escape_debug());
                    assert!(unicode || text.is_ascii(), "{text}");
                }
            }
        }
    }
}
