//! A comparison of stored runs on the terminal: the answer first, then how far it can be trusted.

use crate::compare::stored::said::{StoredSentence, StoredWords, every_remark, others};
use crate::compare::stored::tables::{printed, ratios, runs, times};
use std::collections::BTreeSet;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::compare::stored::StoredComparison;
use tarebench_core::compare::stored_report::{StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::documents::head::DocumentHead;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::terminal_table::{ROWS, draw};
use tarebench_report::text;

/// Conditions that are listed unless all are requested.
const CONDITIONS: usize = 12;

/// The whole text.
pub fn comparison_text(
    head: &DocumentHead,
    comparison: &StoredComparison,
    report: &StoredReport,
    style: &Style,
) -> String {
    let mut page = ScreenText::new(style);
    let show = |text: &str| style.show(text);
    let words = StoredWords { comparison, show: &show, g: style.glyphs(), unicode: style.unicode };
    let rows = if style.full { usize::MAX } else { ROWS };
    match report.pairs.as_slice() {
        [only] => answer(&mut page, &words, only),
        several => {
            draw(&mut page, &ratios(&words, report));
            page.gap();
            floors(&mut page, &words, several, rows);
        }
    }
    let sides: Vec<u32> = shown_sides(report, rows);
    if style.full || report.pairs.len() == 1 {
        draw(&mut page, &times(&words, &sides, style.unit));
    }
    draw(&mut page, &printed(&words, &report.pairs));
    if style.full {
        draw(&mut page, &runs(&words, &style.zone));
    }
    remarks(&mut page, &words, report);
    status(&mut page, head, style);
    page.finish()
}

/// The sides of the first pairs, each once, the references first.
fn shown_sides(report: &StoredReport, most: usize) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let pairs = || report.pairs.iter().take(most);
    let all = pairs().map(|p| p.reference).chain(pairs().map(|p| p.program));
    all.filter(|side| seen.insert(*side)).collect()
}

fn paint(ratio: &StoredRatio) -> Paint {
    match ratio.verdict {
        Ok(Verdict::Faster | Verdict::Slower) => Paint::Strong,
        _ => Paint::Warn,
    }
}

fn answer(page: &mut ScreenText<'_>, words: &StoredWords<'_>, pair: &StoredPairReport) {
    let Some(chosen) = pair.chosen() else { return };
    let disagreeing = pair.disagreeing();
    say(page, &words.sentence(pair, chosen), paint(chosen));
    let beside = others(pair, chosen).into_iter().filter(|o| disagreeing.is_none_or(|d| d.measure != o.measure));
    let beside: Vec<String> = beside.map(|other| words.beside(chosen, other)).collect();
    let mut notes = words.basis(pair, chosen);
    for other in beside {
        notes.push_str(&format!(";  {other}"));
    }
    indented(page, Paint::Dim, &notes);
    if let Some(floor) = words.floor(pair, chosen) {
        indented(page, Paint::Dim, &floor);
    }
    if let Some(other) = disagreeing {
        say(page, &words.sentence(pair, other), paint(other));
        indented(page, Paint::Dim, &words.basis(pair, other));
    }
}

fn say(page: &mut ScreenText<'_>, sentence: &StoredSentence, paint: Paint) {
    let interval = sentence.interval.as_deref().unwrap_or_default();
    if text::columns(&sentence.text) + 2 + text::columns(interval) <= page.width() {
        page.line(&[(paint, sentence.text.clone()), (Paint::Plain, format!("  {interval}"))]);
        return;
    }
    page.hang(&[], paint, &sentence.text);
    indented(page, Paint::Plain, interval);
}

fn indented(page: &mut ScreenText<'_>, paint: Paint, text: &str) {
    page.hang(&[(Paint::Plain, "  ".to_owned())], paint, text);
}

/// What two runs differ by, each sentence once.
fn floors(page: &mut ScreenText<'_>, words: &StoredWords<'_>, pairs: &[StoredPairReport], most: usize) {
    let mut said = BTreeSet::new();
    for pair in pairs.iter().take(most) {
        let Some(floor) = pair.chosen().and_then(|chosen| words.floor(pair, chosen)) else { continue };
        if said.insert(floor.clone()) {
            page.hang(&[], Paint::Dim, &format!("{}: {floor}", words.name(pair.program)));
        }
    }
}

fn remarks(page: &mut ScreenText<'_>, words: &StoredWords<'_>, report: &StoredReport) {
    let most = if page.style.full { usize::MAX } else { CONDITIONS };
    let mut all = every_remark(words, report);
    // Warnings first, so that they are not among those that are left out.
    all.sort_by_key(|r| !r.warning);
    if !all.is_empty() {
        page.gap();
    }
    for remark in all.iter().take(most) {
        let (mark, paint) = match remark.warning {
            true => (format!("{} ", page.g.warning), Paint::Warn),
            false => ("  ".to_owned(), Paint::Dim),
        };
        page.hang(&[(paint, mark)], paint, &remark.text);
    }
    if all.len() > most {
        page.line(&[(Paint::Dim, format!("  and {} more", all.len() - most))]);
    }
}

fn status(page: &mut ScreenText<'_>, head: &DocumentHead, style: &Style) {
    if head.number == 0 {
        return;
    }
    let more = style.more.as_ref().map_or_else(String::new, |more| format!("{}details: {more}", page.g.between));
    page.gap();
    page.line(&[(Paint::Dim, format!("comparison {}{more}", head.id()))]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::fixtures;
    use tarebench_core::compare::stored_report::report;

    fn shown(comparison: &StoredComparison, style: &Style) -> String {
        comparison_text(&fixtures::head(), comparison, &report(comparison), style)
    }

    fn usual(comparison: &StoredComparison) -> String {
        shown(comparison, &Style::default())
    }

    #[test]
    fn the_answer_stands_first() {
        let text = usual(&fixtures::slower());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "gzip of run 15 is 1.300 times as slow as in run 12  [1.211, 1.395]",
                "  CPU time, medians of 10 samples each; elapsed: 1.29 [1.17, 1.42]",
                "  between runs of this machine, the same program differs by ± 7.2 % (28 pairs of 8 runs)",
            ]
        );
        assert!(text.contains("gzip of run 12") && text.contains("300.0 ms"), "{text}");
        assert!(text.ends_with("\ncomparison c1\n"), "{text}");
        let more = Style { more: Some("tare show c1 --full".to_owned()), ..Style::default() };
        assert!(shown(&fixtures::slower(), &more).ends_with("comparison c1 · details: tare show c1 --full\n"));
        let unkept = DocumentHead { number: 0, ..fixtures::head() };
        let comparison = fixtures::slower();
        assert!(!comparison_text(&unkept, &comparison, &report(&comparison), &more).contains("c1"));
    }

    #[test]
    fn other_machines_are_pointed_out() {
        let refused = usual(&fixtures::other_machine(false));
        let first = refused.lines().next().unwrap_or_default();
        assert!(first.starts_with("no verdict, as the machines differ: gzip of run 15 was "), "{first}");
        assert!(refused.contains("! kernel: 6.1.0 in run 12, 6.2.0 in run 15"), "{refused}");
        assert!(refused.contains("  ntp: on in run 12, off in run 15"), "{refused}");
        let marked = usual(&fixtures::other_machine(true));
        assert!(marked.starts_with("across machines: gzip of run 15 is 1.3"), "{marked}");
        assert!(marked.contains("! across machines: the ratio is that of the machines, too"), "{marked}");
    }

    #[test]
    fn what_a_ratio_rests_on_is_said() {
        let text = usual(&fixtures::with_reference());
        assert!(text.starts_with("gzip of run 15 is 1.100 times as slow as in run 12  ["), "{text}");
        assert!(text.contains("ratios to sleep in both runs, 12 duets each"), "{text}");
        assert!(text.contains("no history: ± 1.0 % between two runs is assumed of such ratios"), "{text}");
        let text = usual(&fixtures::same_run());
        assert!(
            text.starts_with("undecided, too few samples: xz of run 12 was 4.00 times as fast as gzip\n"),
            "{text}"
        );
        assert!(text.contains("ran one after the other") && text.contains("3 pairs"), "{text}");
        assert!(!text.contains("between runs"), "{text}");
    }

    #[test]
    fn what_programs_print_is_compared_if_it_is_asked_for() {
        let text = usual(&fixtures::printed());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "gzip of run 15 has 2.000 times the rate of gzip of run 12  [1.972, 2.028]",
                "  printed value, medians of 10 samples each; elapsed: 1.29 [1.17, 1.42]; CPU: 1.300 [1.211, 1.395]",
            ],
            "{text}"
        );
        assert!(text.contains("! how far rate differs from run to run is not known"), "{text}");
        let not_asked = StoredComparison { plan: Default::default(), ..fixtures::printed() };
        let text = usual(&not_asked);
        assert!(text.starts_with("gzip of run 15 is 1.300 times as slow as in run 12"), "{text}");
        let row = text.lines().find(|l| l.trim_start().starts_with("rate ")).unwrap_or_default();
        assert!(row.contains("100") && row.contains("200") && row.contains("2.000"), "{text}");
        let mut refused = fixtures::printed();
        refused.sides[0].metrics[0].smallest = 0.0;
        let text = usual(&refused);
        let why = "! they cannot be compared by rate: a value that one of them printed is zero or negative, and such\n  values have no meaningful ratio";
        assert!(text.starts_with("gzip of run 15 is 1.300") && text.contains(why), "{text}");
        refused.sides[0].metrics.clear();
        assert!(usual(&refused).contains("by rate: not both print it"));
    }

    #[test]
    fn several_pairs_are_a_table() {
        let text = usual(&fixtures::several());
        for says in [
            "gzip of run 15",
            "xz of run 12",
            "faster",
            "undecided",
            "gzip of run 15: no history: on shared machines, 10 % between runs is common",
            "! they cannot be compared by net time: not both have it",
            "  bzip2 of run 15 is in no other run, and is left out",
            "  run 15 is not finished: its samples so far are compared",
        ] {
            assert!(text.contains(says), "{says:?} in {text}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_name_acts_on_it() {
        for comparison in fixtures::all() {
            for (width, unicode, full) in [(40, true, false), (60, false, true), (100, true, true), (113, false, false)]
            {
                let style = Style { width, unicode, full, ..Style::default() };
                let text = shown(&comparison, &style);
                for line in text.lines() {
                    assert!(text::columns(line) <= width, "{} of {width}: {line:?}", text::columns(line));
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                    assert!(unicode || line.is_ascii(), "{line:?}");
                }
            }
        }
    }
}
