//! Results of benchmarks: the table on a terminal, JSON, CSV.

use crate::kbest::clocks;
use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::kbest::bench::Bench;
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::report::{BenchReport, BenchRow};
use tarebench_core::kbest::timing::{Cache, TimingStanding};
use tarebench_report::csv;
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::number::TimeUnit;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;
use tarebench_report::text;

/// What is shown: the stored document, the measurement and its results.
#[derive(Clone, Copy, Debug)]
pub struct ShownBench<'a> {
    pub head: &'a DocumentHead,
    /// What was measured.
    pub bench: &'a Bench,
    /// The results.
    pub report: &'a BenchReport,
}

/// A time for one execution, with the digits that its spread (a share of it) justifies, at most five; with `unit`, in that.
/// Unlike other times it may have decimals of a nanosecond: it is a mean over the repetitions of a trial.
pub(crate) fn time(ns: f64, spread: Option<f64>, unit: Option<TimeUnit>) -> Option<(String, TimeUnit)> {
    let unit = unit.unwrap_or_else(|| TimeUnit::of(ns));
    let value = ns / unit.nanos();
    let decimals = number::decimals(value, spread.map(|s| s * value));
    let most = number::decimals_for(value, 5).min(unit.finest() + 3);
    Some((number::fixed(value, decimals.min(most))?, unit))
}

/// How reliable a time is; for a slice that is too short, with the share of the fastest trial that it lacked.
pub fn standing(s: TimingStanding) -> String {
    match s {
        TimingStanding::Converged => "converged".to_owned(),
        TimingStanding::NotConverged => "not converged".to_owned(),
        TimingStanding::SliceTooShort { lacking } => match number::percent(lacking) {
            Some(share) => format!("slice too short, {share}"),
            None => "slice too short".to_owned(),
        },
        TimingStanding::TooShort => "too short for the clock".to_owned(),
    }
}

fn standing_name(s: TimingStanding) -> &'static str {
    match s {
        TimingStanding::Converged => "converged",
        TimingStanding::NotConverged => "not_converged",
        TimingStanding::SliceTooShort { .. } => "slice_too_short",
        TimingStanding::TooShort => "too_short",
    }
}

pub(crate) fn cache(c: Cache) -> String {
    match c {
        Cache::Warm => "warm".to_owned(),
        Cache::Cold { bytes } => format!("cold, {}", number::bytes(bytes)),
    }
}

/// What all rows have in common, if they do.
fn common<T: PartialEq>(rows: &[BenchRow], f: impl Fn(&BenchRow) -> T) -> Option<T> {
    let first = f(rows.first()?);
    rows.iter().all(|r| f(r) == first).then_some(first)
}

pub(crate) fn clock(kind: ClockKind, hz: f64) -> String {
    match number::fixed(hz / 1e9, 3) {
        Some(ghz)
            if matches!(
                kind,
                ClockKind::Counter | ClockKind::CounterUnfenced | ClockKind::CounterAfter | ClockKind::Rdpmc
            ) =>
        {
            format!("{}, {ghz} GHz", clocks::name(kind))
        }
        _ => clocks::name(kind).to_owned(),
    }
}

/// A clock's name in a column.
fn short_name(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Counter => "counter",
        ClockKind::MonotonicRaw => "raw clock",
        ClockKind::ThreadCpu => "thread CPU",
        ClockKind::ProcessCpu => "process CPU",
        other => clocks::name(other),
    }
}

/// Which columns there are: what all benchmarks have in common is said once above the table, what has no room below it.
pub(crate) struct Layout {
    counts: bool,
    caches: bool,
    clocks: bool,
    /// Caches and clocks that are in neither place.
    caches_below: bool,
    clocks_below: bool,
}

/// The table has trials and repetitions from `COUNTS` columns on, caches and clocks from `WIDE` columns on.
const COUNTS: usize = 84;
const WIDE: usize = 113;

impl Layout {
    pub(crate) fn of(rows: &[BenchRow], width: usize) -> Layout {
        let wide = width >= WIDE;
        let caches = common(rows, |r| r.cache).is_none();
        let clocks = common(rows, |r| (r.clock, r.hz)).is_none();
        Layout {
            counts: width >= COUNTS,
            caches: wide && caches,
            clocks: wide && clocks,
            caches_below: !wide && caches,
            clocks_below: !wide && clocks,
        }
    }

    fn columns(&self) -> Vec<&'static str> {
        let mut columns = vec!["benchmark", ">time", ">spread", "standing"];
        columns.extend(self.counts.then_some([">trials", ">repetitions"]).into_iter().flatten());
        columns.extend(self.caches.then_some("caches"));
        columns.extend(self.clocks.then_some("clock"));
        columns
    }

    /// Without the name.
    fn cells(&self, r: &BenchRow, style: &Style) -> Vec<String> {
        let absent = || style.glyphs().absent.to_owned();
        let spread = r.spread.value().copied();
        let value = r.time.value().and_then(|ns| time(*ns, spread, style.unit));
        let mut cells = vec![
            value.map_or_else(absent, |(value, unit)| format!("{value} {}", unit.sign(style.unicode))),
            spread.and_then(number::percent).unwrap_or_else(absent),
            standing(r.standing),
        ];
        cells.extend(self.counts.then(|| [r.trials.to_string(), r.repetitions.to_string()]).into_iter().flatten());
        cells.extend(self.caches.then(|| cache(r.cache)));
        cells.extend(self.clocks.then(|| short_name(r.clock).to_owned()));
        cells
    }

    /// What of the row is not in the table, as a sentence.
    fn below(&self, r: &BenchRow) -> Option<String> {
        let mut said = Vec::new();
        if !self.counts {
            let times =
                if r.repetitions == 1 { "one execution".to_owned() } else { format!("{} executions", r.repetitions) };
            said.push(format!("{} of {times}", count(r.trials)));
        }
        said.extend(self.caches_below.then(|| format!("caches {}", cache(r.cache))));
        said.extend(self.clocks_below.then(|| clocks::name(r.clock).to_owned()));
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Smallest width of a name.
const NAME: usize = 12;

/// The rows, their names cut before anything else is.
pub(crate) fn table(rows: &[BenchRow], layout: &Layout, width: usize, style: &Style) -> Table {
    let mut table = Table::new("Benchmarks", "Time: of one execution, in the fastest trial.", &layout.columns());
    let cells: Vec<Vec<String>> = rows.iter().map(|r| layout.cells(r, style)).collect();
    let widths = table.columns.iter().skip(1).enumerate().map(|(i, column)| {
        let widest = cells.iter().filter_map(|c| c.get(i)).map(|c| text::columns(c)).max().unwrap_or(0);
        2 + widest.max(text::columns(&column.title.plain()))
    });
    let room = width.saturating_sub(2 + widths.sum::<usize>()).max(NAME);
    for (r, mut cells) in rows.iter().zip(cells) {
        cells.insert(0, text::cut_middle(&style.show(&r.name), room, style.glyphs().dots).into_owned());
        table.row(cells, Vec::new());
    }
    table
}

/// Label and text of what all benchmarks have in common; the machine's own texts are not escaped.
pub(crate) fn facts(s: &ShownBench<'_>, created: &str) -> Vec<(&'static str, String)> {
    let (rows, m) = (&s.report.rows, &s.bench.machine);
    let cpu = match &m.cpu {
        Reading::Value(cpu) => cpu.clone(),
        Reading::Absent(why) => format!("CPU {why}"),
    };
    let cpus = if m.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", m.cpus) };
    let mut facts = vec![
        ("began", format!("{created}, by version {} of the library", s.bench.tool)),
        ("machine", format!("{}: {cpu}, {cpus}, {}, Linux {}", m.name, m.architecture, m.kernel)),
    ];
    facts.extend(common(rows, |r| (r.clock, r.hz)).map(|(kind, hz)| ("clock", clock(kind, hz))));
    facts.extend(common(rows, |r| r.cache).map(|c| ("caches", cache(c))));
    facts.extend(common(rows, |r| (r.k, r.epsilon)).map(|(k, epsilon)| ("K-best", agreement(k, epsilon))));
    facts
}

fn heading(page: &mut ScreenText<'_>, s: &ShownBench<'_>, created: &str) {
    let style = page.style;
    page.title(&format!("{}  {}", s.head.id(), style.show(&s.bench.name)));
    for (name, text) in facts(s, created) {
        page.field(name, &style.prose(&text));
    }
}

/// The table, and below it the remarks on single benchmarks.
pub fn terminal(s: &ShownBench<'_>, created: &str, style: &Style) -> String {
    let rows = &s.report.rows;
    let mut page = ScreenText::new(style);
    heading(&mut page, s, created);
    let layout = Layout::of(rows, page.width());
    let table = table(rows, &layout, page.width(), style);
    let whole = draw(&mut page, &table);
    let shown = if whole { rows.len() } else { tarebench_report::terminal_table::ROWS };
    notes(&mut page, rows.get(..shown).unwrap_or(rows), &layout);
    if let Some(more) = style.more.as_deref().filter(|_| !whole) {
        page.gap();
        page.hang(&[], Paint::Dim, &style.prose(&format!("Details: {more}")));
    }
    page.finish()
}

pub(crate) fn agreement(k: u32, epsilon: f64) -> String {
    let within = number::percent(epsilon).unwrap_or_default();
    if k == 1 { "the fastest trial".to_owned() } else { format!("until the {k} fastest trials agree within {within}") }
}

fn count(trials: usize) -> String {
    if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") }
}

fn notes(page: &mut ScreenText<'_>, rows: &[BenchRow], layout: &Layout) {
    let style = page.style;
    let said = |r: &BenchRow| layout.below(r).into_iter().chain(remarks(r)).collect::<Vec<_>>();
    let all: Vec<(String, String)> =
        rows.iter().flat_map(|r| said(r).into_iter().map(|said| (style.show(&r.name), said))).collect();
    if all.is_empty() {
        return;
    }
    page.gap();
    page.title("Notes");
    // A name may have any length; the note must stay readable.
    let room = page.width() / 3;
    for (name, said) in all {
        let name = text::cut_middle(&name, room, page.g.dots).into_owned();
        page.hang(
            &[(Paint::Plain, "  ".to_owned()), (Paint::Strong, name), (Paint::Plain, ": ".to_owned())],
            Paint::Plain,
            &style.prose(&said),
        );
    }
}

/// The remarks on one benchmark, in sentences.
pub fn remarks(r: &BenchRow) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(why) = r.time.absent() {
        said.push(format!("no time: {why}"));
    }
    if let Some(why) = r.spread.absent() {
        said.push(format!("no spread: {why}"));
    }
    match r.standing {
        TimingStanding::NotConverged if r.spread.value().is_some() => said.push(format!(
            "after {} {} do not agree within {}: the time is an estimate",
            count(r.trials),
            if r.k == 1 { "the fastest".to_owned() } else { format!("the {} fastest", r.k) },
            number::percent(r.epsilon).unwrap_or_default(),
        )),
        TimingStanding::TooShort => said.push(
            "the fastest trial is less than a hundred times as long as an empty one: repeat the code within a trial"
                .to_owned(),
        ),
        _ => {}
    }
    let amount = |ns: f64| time(ns, None, None).map(|(value, unit)| format!("{value} {unit}"));
    if let Some(taken) = r.interrupts.value().filter(|ns| **ns != 0.0).and_then(|ns| amount(*ns)) {
        said.push(format!("minus {taken} of timer interrupts"));
    }
    if r.less_overhead {
        said.push(match r.overhead.value().and_then(|ns| amount(*ns)) {
            Some(empty) => format!("minus {empty}, the time of an empty trial"),
            None => "minus the time of an empty trial".to_owned(),
        });
    }
    said
}

#[derive(Serialize)]
struct BenchJson<'a> {
    format: &'static str,
    version: u32,
    id: String,
    head: &'a DocumentHead,
    report: &'a BenchReport,
    bench: &'a Bench,
}

/// Figures and raw trials: `{"format":"tare-bench-report","version":1,"id":"b1","head":{…},"report":{"rows":[…]},"bench":{…}}`.
pub fn json(s: &ShownBench<'_>) -> Result<String, RenderError> {
    let id = s.head.id().to_string();
    let ShownBench { head, bench, report } = *s;
    Ok(tarebench_report::json::pretty(&BenchJson { format: "tare-bench-report", version: 1, id, head, report, bench })?
        + "\n")
}

const ROWS: [&str; 15] = [
    "benchmark",
    "time",
    "spread",
    "standing",
    "lacking",
    "trials",
    "repetitions",
    "k",
    "epsilon",
    "cache",
    "cache_bytes",
    "clock",
    "clock_hz",
    "overhead",
    "interrupts",
];

/// One row per benchmark; times in seconds for one execution, an empty cell is an absent value.
///
/// # Errors
/// [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn csv(report: &BenchReport) -> Result<String, RenderError> {
    let reading = |r: &Reading<f64>| csv::cell(r.value(), |ns| csv::secs(*ns));
    let mut rows = vec![ROWS.map(str::to_owned).to_vec()];
    for r in &report.rows {
        let lacking = match r.standing {
            TimingStanding::SliceTooShort { lacking } => csv::number(lacking),
            _ => String::new(),
        };
        let (cache, bytes) = match r.cache {
            Cache::Warm => ("warm", String::new()),
            Cache::Cold { bytes } => ("cold", bytes.to_string()),
        };
        rows.push(vec![
            csv::text(&r.name),
            reading(&r.time),
            csv::cell(r.spread.value(), |s| csv::number(*s)),
            standing_name(r.standing).to_owned(),
            lacking,
            r.trials.to_string(),
            r.repetitions.to_string(),
            r.k.to_string(),
            csv::number(r.epsilon),
            cache.to_owned(),
            bytes,
            clocks::name(r.clock).to_owned(),
            csv::number(r.hz),
            reading(&r.overhead),
            reading(&r.interrupts),
        ]);
    }
    csv::write(rows)
}

/// One row per trial, in their order: raw readings, `trial` from 0, and the time of one execution in nanoseconds.
///
/// # Errors
/// [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn trials(bench: &Bench) -> Result<String, RenderError> {
    let head = ["benchmark", "trial", "count", "time_ns", "cpu_ns", "ticks", "preemptions", "waits"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for r in &bench.rows {
        let count = |n: Option<u64>| csv::cell(n, |n| n.to_string());
        for (i, t) in r.timing.trials.iter().enumerate() {
            rows.push(vec![
                csv::text(&r.name),
                i.to_string(),
                t.count.to_string(),
                csv::number(r.timing.time(t)),
                count(t.cpu),
                count(t.ticks),
                count(t.preemptions),
                count(t.waits),
            ]);
        }
    }
    csv::write(rows)
}
