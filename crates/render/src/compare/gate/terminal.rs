//! A gate on the terminal: its answer, a table, the intervals as a plot, and what is to be done about what is undecided.

use crate::compare::gate::plot::plot;
use crate::compare::gate::said::{
    MODIFIED, answer, blocks, change, common_measure, control, corrected, mean, measure, no_duets, of_control, order,
    reading, reason, revision, threshold, times, verdict_word,
};
use crate::compare::sentence::short;
use tarebench_core::compare::gate::{BenchmarkReport, Gate, GateReport, GateVerdict, SideTimes};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::number::TimeScale;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::ROWS;
use tarebench_report::text;
use tarebench_report::words::Reasons;

const GAP: usize = 2;
/// Columns of a name: the fewest in the table, the most in the plot, the most in a sentence.
const LEAST: usize = 10;
const BESIDE: usize = 24;
const WITHIN: usize = 40;
/// Widest plot.
const PLOT: usize = 64;
/// Most columns of what a failed program wrote.
const WORDS: usize = 400;

/// A benchmark and its position in the suite.
type GateRow<'a> = (usize, &'a BenchmarkReport);

/// The whole text.
pub fn gate_text(gate: &Gate, report: &GateReport, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let short_name = |name: &str| cut(style, name, WITHIN);
    page.hang(&[], paint(report.verdict), &answer(report, short_name));
    sides(&mut page, gate);
    let places = order(report, if style.full { usize::MAX } else { ROWS });
    let rows = places.iter().filter_map(|place| Some((*place, report.benchmarks.get(*place)?)));
    let rows: Vec<GateRow<'_>> = rows.take(if style.full { usize::MAX } else { ROWS }).collect();
    if !rows.is_empty() {
        let name = table(&mut page, gate, &rows);
        intervals(&mut page, gate, report, &rows, name);
        notes(&mut page, gate, report, &rows);
        reasons(&mut page, gate, report, &rows);
    }
    if style.full {
        figures(&mut page, gate, &rows);
    }
    if rows.len() < report.benchmarks.len() {
        more(&mut page, report.benchmarks.len() - rows.len());
    }
    page.finish()
}

fn cut(style: &Style, name: &str, width: usize) -> String {
    text::cut_middle(&style.show(name), width, style.glyphs().dots).into_owned()
}

fn paint(v: GateVerdict) -> Paint {
    match v {
        GateVerdict::Pass | GateVerdict::Improvement => Paint::Good,
        GateVerdict::Regression | GateVerdict::Failed => Paint::Bad,
        GateVerdict::Inconclusive => Paint::Warn,
    }
}

fn sides(page: &mut ScreenText<'_>, gate: &Gate) {
    let style = page.style;
    if !gate.plan.suite.is_empty() {
        page.field_row("suite", vec![(Paint::Plain, style.show(&gate.plan.suite))]);
    }
    for (name, side) in [("base", &gate.plan.base), ("head", &gate.plan.head)] {
        let said = revision(side);
        let mut row = vec![(Paint::Strong, style.show(&said.id))];
        let mut add = |paint: Paint, text: &str| row.push((paint, format!("  {}", style.show(text))));
        if let Some(name) = said.name {
            add(Paint::Plain, name);
        }
        if said.modified {
            add(Paint::Warn, MODIFIED);
        }
        if let Some(subject) = said.subject {
            add(Paint::Dim, subject);
        }
        page.field_row(name, row);
    }
}

/// Draws the table; returns the width of its names.
fn table(page: &mut ScreenText<'_>, gate: &Gate, rows: &[GateRow<'_>]) -> usize {
    let style = page.style;
    let column = |head: &str, align, cells: Vec<String>| {
        GridColumn::new(head, align, cells.into_iter().map(GridCell::new).collect())
    };
    let limit = |place: usize| gate.plan.benchmarks.get(place).map(|b| threshold(b.threshold));
    let verdict = |(_, b): &GateRow<'_>| GridCell::new(verdict_word(b.verdict)).paint(paint(b.verdict));
    let mut columns = vec![
        column("benchmark", Align::Left, rows.iter().map(|(_, b)| style.show(&b.name)).collect()),
        GridColumn::new("verdict", Align::Left, rows.iter().map(verdict).collect()),
        column("change [95%]", Align::Left, changes(page, rows)),
        column("threshold", Align::Right, rows.iter().map(|(i, _)| limit(*i).unwrap_or_default()).collect()),
        column("blocks", Align::Left, counts(gate, rows)),
    ];
    columns.extend(time_column(page, gate, rows));
    page.gap();
    fit(page, &mut columns);
    grid::draw(page, &columns, 0, GAP);
    columns.first().map_or(0, GridColumn::width)
}

/// The last columns are left out where there is no room; then the intervals.
fn fit(page: &ScreenText<'_>, columns: &mut Vec<GridColumn>) {
    let room = |columns: &[GridColumn]| {
        let others = columns.get(1..).unwrap_or_default();
        page.width().saturating_sub(grid::total(others, GAP) + GAP)
    };
    let least = columns.first().map_or(0, GridColumn::width).min(LEAST);
    for kept in [5, 4, 3] {
        if room(columns.as_slice()) < least {
            columns.truncate(kept);
        }
    }
    if room(columns.as_slice()) < least
        && let Some(change) = columns.get_mut(2)
    {
        "change".clone_into(&mut change.head);
        change.cells.iter_mut().for_each(|c| c.text.truncate(c.text.find(" [").unwrap_or(c.text.len())));
    }
    let width = room(columns.as_slice()).max(4);
    if let Some(names) = columns.first_mut() {
        grid::shrink(names, width, page.g.dots);
    }
}

fn changes(page: &ScreenText<'_>, rows: &[GateRow<'_>]) -> Vec<String> {
    let said = rows.iter().map(|(_, b)| b.ratio.map(|ratio| change(ratio, &b.interval, &page.g)));
    let (changes, intervals): (Vec<_>, Vec<_>) = said.map(Option::unzip).unzip();
    let changes = grid::at_point(&changes, page.g.absent);
    let cell = |(change, interval): (String, Option<Option<String>>)| match interval.flatten() {
        Some(interval) => format!("{change} {interval}"),
        None => change,
    };
    changes.into_iter().zip(intervals).map(cell).collect()
}

/// `24 duets`; with the measure where it is not the same for all.
fn counts(gate: &Gate, rows: &[GateRow<'_>]) -> Vec<String> {
    let mixed = common_measure(gate).is_none();
    let cell = |(place, b): &GateRow<'_>| {
        let count = blocks(b.blocks, gate.measured.get(*place));
        match measure(gate, *place).filter(|_| mixed) {
            Some(measure) => format!("{count}, {}", short(measure)),
            None => count,
        }
    };
    rows.iter().map(cell).collect()
}

/// Times of base and head; `None` if there are none.
fn time_column(page: &ScreenText<'_>, gate: &Gate, rows: &[GateRow<'_>]) -> Option<GridColumn> {
    let style = page.style;
    let found: Vec<Option<&SideTimes>> = rows.iter().map(|(place, _)| times(gate, *place)).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let unit = number::unit(found.iter().flatten().map(|t| t.base), style.unit);
    let arrow = if style.unicode { "→" } else { "->" };
    let cell = |t: &SideTimes| {
        let half = t.base_interval.as_ref().ok().map(Interval::half_width);
        let scale = TimeScale::of(t.base, half, Some(unit));
        let value = |ns: f64| scale.value(ns).unwrap_or_else(|| page.g.absent.to_owned());
        format!("{} {arrow} {}", value(t.base), value(t.head))
    };
    let cells = found.iter().map(|t| GridCell::new(t.map_or_else(|| page.g.absent.to_owned(), cell))).collect();
    Some(GridColumn::new(format!("time [{}]", unit.sign(style.unicode)), Align::Right, cells))
}

fn intervals(page: &mut ScreenText<'_>, gate: &Gate, report: &GateReport, rows: &[GateRow<'_>], name: usize) {
    let (style, g) = (page.style, page.g);
    let name = name.min(BESIDE);
    let places: Vec<usize> = rows.iter().map(|(place, _)| *place).collect();
    let room = page.width().saturating_sub(name + GAP).min(PLOT);
    let Some(drawn) = plot(gate, report, &places, room, style.unicode, &g) else { return };
    page.gap();
    for (line, (_, b)) in drawn.rows.into_iter().zip(rows) {
        let label = cut(style, &b.name, name);
        let pad = " ".repeat((name + GAP).saturating_sub(text::columns(&label)));
        page.line(&[(Paint::Plain, format!("{label}{pad}")), (paint(b.verdict), line)]);
    }
    page.line(&[(Paint::Plain, " ".repeat(name + GAP)), (Paint::Dim, drawn.axis)]);
}

fn notes(page: &mut ScreenText<'_>, gate: &Gate, report: &GateReport, rows: &[GateRow<'_>]) {
    let (style, g) = (page.style, page.g);
    page.gap();
    page.hang(&[], Paint::Dim, &style.prose(&reading(gate)));
    let differs = report.benchmarks.iter().any(|b| b.control.as_ref().is_some_and(|c| c.differs));
    let paint = if differs { Paint::Warn } else { Paint::Dim };
    page.hang(&[(paint, "control: ".to_owned())], paint, &style.prose(&control(gate, report, &g)));
    if let Some(mean) = mean(report, &g) {
        page.hang(
            &[],
            Paint::Dim,
            &style.prose(&format!("mean change: {mean} (geometric, by the benchmarks' weights)")),
        );
    }
    let mut without = Reasons::default();
    for (place, b) in rows {
        if let Some(why) = gate.measured.get(*place).and_then(|m| no_duets(m, style.unicode)) {
            without.add(&cut(style, &b.name, WITHIN), &why);
        }
    }
    for line in without.lines(page) {
        page.hang(&[], Paint::Dim, &format!("no duets of {line}"));
    }
    for (place, b) in rows {
        let Some(text) = corrected(gate, report, *place, &g) else { continue };
        let name = cut(style, &b.name, WITHIN);
        page.hang(&[], Paint::Dim, &format!("{name} on the quiet machine: {text}"));
    }
}

fn reasons(page: &mut ScreenText<'_>, gate: &Gate, report: &GateReport, rows: &[GateRow<'_>]) {
    let (style, g) = (page.style, page.g);
    let room = page.width() / 3;
    for (place, b) in rows {
        let Some(why) = reason(gate, report, *place, &g) else { continue };
        let mut body = style.prose(&why.text);
        if let Some(foreign) = why.foreign {
            body = format!("{body}: {}", text::cut(&style.prose(&foreign), WORDS, g.dots));
        }
        let lead = [
            (Paint::Warn, format!("{} ", g.warning)),
            (Paint::Strong, cut(style, &b.name, room)),
            (Paint::Plain, ": ".to_owned()),
        ];
        page.hang(&lead, Paint::Plain, &body);
    }
}

/// All figures of each benchmark.
fn figures(page: &mut ScreenText<'_>, gate: &Gate, rows: &[GateRow<'_>]) {
    let (style, g) = (page.style, page.g);
    for (place, b) in rows {
        page.gap();
        page.line(&[(Paint::Strong, style.show(&b.name))]);
        if let Some(planned) = gate.plan.benchmarks.get(*place) {
            page.field("command", &style.show(&planned.command));
        }
        let p = [("slower", b.p_slower), ("faster", b.p_faster), ("slower by the threshold", b.p_beyond)];
        let p = p.map(|(what, p)| format!("{what} {}", number::chance(p)));
        page.field("p values", &p.join(g.between));
        if let Some(least) = b.detectable.and_then(number::percent) {
            let count = blocks(b.blocks, gate.measured.get(*place));
            page.field("detectable", &format!("{least}: smallest slowdown that {count} show with 95% power"));
        }
        if let Some(c) = &b.control {
            page.field("control", &of_control(c, &g));
        }
        if let Some(run) = gate.measured.get(*place).and_then(|m| m.run) {
            page.field("run", &run.to_string());
        }
    }
}

fn more(page: &mut ScreenText<'_>, left: usize) {
    let style = page.style;
    page.gap();
    let details = style.more.as_deref().map_or_else(String::new, |more| format!("; details: {more}"));
    page.hang(&[], Paint::Dim, &style.prose(&format!("{left} more benchmarks are not shown{details}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_core::compare::gate::CorrectedRatio;

    fn shown(width: usize, (gate, report): &(Gate, GateReport)) -> String {
        gate_text(gate, report, &Style { width, ..Style::default() })
    }

    /// The line of the table that begins with this name.
    fn row<'a>(text: &'a str, name: &str) -> &'a str {
        text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn the_answer_stands_first_and_the_table_below() {
        let text = shown(100, &fixtures::three());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "regression: 1 of 3 benchmarks is slower; 1 faster");
        assert_eq!(lines[1], "  suite       parsers");
        assert_eq!(lines[2], "  base        1f2e3d4c5b6a  origin/main  Keep the table sorted");
        assert_eq!(lines[3], "  head        9a8b7c6d5e4f  Parse numbers without copying");
        let words = |name: &str| row(&text, name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words("benchmark"), "benchmark verdict change [95%] threshold blocks time [ms]");
        assert_eq!(words("parse"), "parse regression +4.1 % [+3.8, +4.4] 2 % 24 duets 800.0 → 833.8");
        assert_eq!(words("render"), "render pass +0.1 % [−0.3, +0.5] 2 % 24 duets 800.0 → 801.8");
        assert_eq!(words("sort"), "sort improvement −7.0 % [−8.0, −6.0] 2 % 24 duets 800.0 → 745.0");
        // A plot, with its axis.
        assert_eq!(text.matches('●').count(), 3, "{text}");
        assert!(text.contains("+2 %"), "{text}");
        for says in [
            "change: of the head's CPU time relative to the base's; intervals: 95%,",
            "control: the base against itself, −0.1 % [−0.3, +0.1]",
            "mean change: −1.0",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        assert!(!text.contains('!'), "nothing is to be done: {text}");
    }

    #[test]
    fn what_is_undecided_says_why() {
        let text = shown(100, &fixtures::every_verdict());
        assert!(text.starts_with("failed: 1 of 8 benchmarks could not be measured; 1 slower, 4 undecided, 1 faster\n"));
        for says in [
            "! noisy: 24 duets show neither a slowdown above 1 % nor one below 2 %; about ",
            "! few: only 3 rounds, at least 6 are needed",
            "! bistable: the base differs from itself by +3.0 % [+2.8, +3.2]: ",
            "! none: no block was measured",
            "! crash: could not be measured: the head failed with exit code 3: `panicked at src/main.rs:3`",
            "control: in 1 of 2 benchmarks the base differs from itself",
            "no duets of few: the base takes 12.0 ms of CPU time",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        // Measures that differ stand beside the numbers of blocks.
        assert!(row(&text, "few").contains("3 rounds, elapsed") && row(&text, "noisy").contains("24 duets, CPU"));
        assert!(row(&text, "crash").contains("failed") && row(&text, "crash").contains("0 rounds"), "{text}");
    }

    #[test]
    fn the_change_on_the_quiet_machine_stands_beside_the_measured_one() {
        let (gate, mut report) = fixtures::every_verdict();
        let few = report.benchmarks.iter_mut().find(|b| b.name == "few").unwrap();
        let interval = Interval { low: 1.016, high: 1.022, level: 0.95 };
        few.corrected = Some(CorrectedRatio { ratio: 1.019, interval, uncorrected: 1.032 });
        let text = shown(100, &(gate, report));
        assert!(text.contains("few on the quiet machine: +1.9 % [+1.6, +2.2], uncorrected +3.2 %\n"), "{text}");
        assert_eq!(text.matches("quiet machine").count(), 1, "{text}");
        let text = shown(140, &fixtures::corrected());
        let says = "grind on the quiet machine: +2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %\n";
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn it_fits_into_the_terminal() {
        for fixture in [fixtures::three(), fixtures::every_verdict(), fixtures::hostile()] {
            for width in [40, 60, 80, 100, 200] {
                for (unicode, full) in [(true, false), (false, false), (true, true)] {
                    let style = Style { width, unicode, full, ..Style::default() };
                    let text = gate_text(&fixture.0, &fixture.1, &style);
                    let widest = text.lines().map(text::columns).max().unwrap();
                    assert!(widest <= width, "{widest} of {width}: {text}");
                    assert!(unicode || text.is_ascii(), "{text}");
                    assert!(!text.chars().any(|c| c != '\n' && text::hidden(c)), "{text:?}");
                }
            }
        }
        // The verdict and the change are there on the narrowest terminal, the interval from 60 columns on.
        let narrow = shown(40, &fixtures::three());
        assert!(row(&narrow, "parse").contains("regression") && row(&narrow, "parse").contains("+4.1 %"), "{narrow}");
        assert!(row(&shown(60, &fixtures::three()), "parse").contains("[+3.8, +4.4]"));
        assert!(row(&shown(80, &fixtures::three()), "parse").contains("800.0 → 833.8"));
    }

    #[test]
    fn colours_only_where_asked() {
        let (gate, report) = fixtures::three();
        assert!(!shown(80, &(gate.clone(), report.clone())).contains('\u{1b}'));
        let text = gate_text(&gate, &report, &Style { color: true, ..Style::default() });
        assert!(text.starts_with("\u{1b}[31mregression: 1 of 3"), "{text:?}");
    }

    #[test]
    fn a_large_suite_shows_its_worst() {
        let mut all: Vec<_> =
            (0..40).map(|i| fixtures::benchmark(&format!("p{i}"), GateVerdict::Pass, 1.0, 0.004)).collect();
        all.push(fixtures::benchmark("slow", GateVerdict::Regression, 1.1, 0.004));
        let (gate, report) = fixtures::gate_of(all, GateVerdict::Regression);
        let more = Some("tare show g3 --full".to_owned());
        let text = gate_text(&gate, &report, &Style { width: 80, more, ..Style::default() });
        assert!(
            text.contains("\nslow ")
                && text.ends_with("21 more benchmarks are not shown; details: tare show g3 --full\n")
        );
        let text = gate_text(&gate, &report, &Style { full: true, ..Style::default() });
        assert!(text.contains("\np39 ") && !text.contains("not shown"));
        assert!(text.contains("  detectable  0.40 %: smallest slowdown that 24 duets show with 95% power"), "{text}");
    }

    #[test]
    fn without_benchmarks_it_says_so() {
        let text = shown(80, &fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive));
        assert!(text.starts_with("inconclusive: nothing was measured\n"), "{text}");
        assert!(!text.contains("threshold"), "{text}");
    }
}
