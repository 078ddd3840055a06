//! A history on the terminal: its answers, then plots of what changed.

use crate::compare::history::plot::{HistoryCanvas, plot};
use crate::compare::history::said::newest;
use crate::compare::history::sheet::{history, name};
use tarebench_core::compare::history::{BenchmarkHistory, HistoryReport};
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::terminal::sheet_text;
use tarebench_report::words::plural;

/// Plots of several benchmarks, unless all are asked for.
const PLOTS: usize = 3;
/// Most columns of a benchmark's name above its plot.
const NAME: usize = 40;

pub fn history_text(report: &HistoryReport, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let plotted = plotted(report, style.full);
    for h in &plotted {
        drawn(&mut page, h);
    }
    let left = report.benchmarks.len() - plotted.len();
    if left > 0 {
        let more = style.more.as_ref().map(|more| format!(": {more}")).unwrap_or_default();
        page.gap();
        page.hang(&[], Paint::Dim, &style.prose(&format!("{} not drawn{more}", plural(left as u64, "benchmark"))));
    }
    let sheet = history(report, &style.zone, &style.hints, String::new());
    let text = sheet_text(&sheet, &Style { more: None, ..style.clone() });
    let plots = page.finish();
    if plots.is_empty() { text } else { format!("{text}\n{plots}") }
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
    let form = Form::terminal(style);
    let Some(lines) = plot(h, &HistoryCanvas { width: page.width(), form, zone: &style.zone }) else { return };
    page.gap();
    page.title(&name(h).write(&form.cut_to(NAME)));
    for line in lines {
        page.line(&line);
    }
    // With everything, it stands above the builds.
    if let Some(now) = newest(h, &style.zone).filter(|_| !style.full) {
        page.hang(&[(Paint::Plain, "newest: ".to_owned())], Paint::Plain, &now.write(&form));
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
        assert!(text.contains("  measured by 22 gates\n") && text.ends_with("\n1 benchmark not drawn\n"), "{text}");
        let full = Style { full: true, more: Some("again".to_owned()), ..Style::default() };
        let text = history_text(&fixtures::report(), &full);
        assert_eq!((text.matches("Newest: ").count(), text.matches("newest: ").count()), (2, 0), "{text}");
        // Both are drawn, and have a table of their builds.
        assert_eq!(
            (text.matches("0000000 2026-10-01").count(), text.matches("20 commits\n").count()),
            (2, 2),
            "{text}"
        );
        assert!(!text.contains("not drawn"), "{text}");
    }

    #[test]
    fn one_benchmark_is_always_drawn() {
        let mut report = fixtures::report();
        report.benchmarks.remove(0);
        let text = history_text(&report, &Style::default());
        assert!(text.contains('●') && !text.contains("not drawn"), "{text}");
        let coloured = history_text(&fixtures::report(), &Style { color: true, ..Style::default() });
        assert!(coloured.contains("\x1b[31msort: +2.0 %") && coloured.contains("\x1b[32msort: −1.0 %"), "{coloured}");
        let nothing = HistoryReport { gates: 3, benchmarks: Vec::new() };
        assert_eq!(history_text(&nothing, &Style::default()), "History of benchmarks\n  measured by 3 gates\n");
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
