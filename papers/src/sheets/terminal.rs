//! The studies of CS:APP chapter 9 as tables and figures.

use crate::data::cells::{StudyPart, StudyPlan};
use crate::data::report::{
    CpuTimeCounting, EqualCalls, Errors, IntervalResult, KbestResults, LoadedExecutions, Results, StudyReport,
};
use crate::sheets::interval_figure::figure_9_8;
use crate::sheets::published_curves::{add_curves, published_curves};
use serde::Serialize;
use tarebench_core::documents::head::DocumentHead;
use tarebench_render::documents::machine::described;
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Style;
use tarebench_report::svg::curves;
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;
use tarebench_report::web::page;
use tarebench_report::web::page::{Join, PageCurve, PageQuantity, PageScale};

/// The error that the book's figures do not go below.
pub(crate) const FLOOR: f64 = 0.001;

pub(crate) fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

fn signed(error: f64) -> String {
    let text = number::percent(error).unwrap_or_default();
    if error > 0.0 { format!("+{text}") } else { text }
}

/// A table of lengths by loads.
fn by_load(title: &str, note: &str, errors: &[Errors], unicode: bool) -> Table {
    let loads = loads_of(errors);
    let heads: Vec<String> = loads.iter().map(|l| format!(">load {l}")).collect();
    let mut columns = vec![">length"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(title, note, &columns);
    for length in lengths(errors) {
        let cell = |load: &u32| {
            let found = errors.iter().find(|e| e.load == *load && e.length == length);
            found.map_or(String::new(), median_error)
        };
        let cells = std::iter::once(time(length, unicode)).chain(loads.iter().map(cell));
        table.row(cells, Vec::new());
    }
    table
}

pub(crate) fn loads_of(errors: &[Errors]) -> Vec<u32> {
    let mut all: Vec<u32> = errors.iter().map(|e| e.load).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The median error, and how many measurements were refused.
fn median_error(e: &Errors) -> String {
    match (e.median, e.refused) {
        (None, 0) => String::new(),
        (None, _) => "slice too short".to_owned(),
        (Some(m), 0) => signed(m),
        (Some(m), refused) => format!("{} ({refused} of {} refused)", signed(m), refused + e.measured),
    }
}

fn lengths(errors: &[Errors]) -> Vec<f64> {
    let mut all: Vec<f64> = errors.iter().map(|e| e.length).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

pub(crate) fn kbest_tables(found: &KbestResults, u: bool) -> Vec<Table> {
    let mut all = vec![
        by_load(
            "Error of K-best by the book's library (figure 9.14)",
            "Median of (measured - T(r)) / T(r); K = 3, M = 30, not compensated, nothing refused.",
            &found.book,
            u,
        ),
        by_load(
            "With compensation for timer interrupts (figure 9.16)",
            "The same trials, minus the minimum cost of the interrupts that they certainly contain.",
            &found.compensated,
            u,
        ),
        by_load(
            "By tare's library",
            "The same; if another process had the CPU in every trial, that is reported instead of a value.",
            &found.checked,
            u,
        ),
        by_load(
            "With more trials: M = 200",
            "The same, with up to 200 trials until three agree: for machines that are slow for milliseconds at a time.",
            &found.patient,
            u,
        ),
        by_load(
            "With the thread's CPU time",
            "K = 3. The kernel accounts CPU time to the nanosecond, at any load.",
            &found.thread_cpu,
            u,
        ),
        by_load("With gettimeofday (figure 9.22)", "K = 3, compensated.", &found.gettimeofday, u),
    ];
    all.push(by_k(&found.by_k, u));
    let claimed = &found.book;
    let mut table = Table::new(
        "Agreement of the K fastest trials",
        "Converged measurements, median of (vK - v1) / v1, median trials; the same as in the first table.",
        &[">length", ">load", ">converged", ">(vK - v1) / v1", ">error", ">trials"],
    );
    let (least, most) = (loads_of(claimed).first().copied(), loads_of(claimed).last().copied());
    for e in claimed.iter().filter(|e| [least, most].contains(&Some(e.load))) {
        let percent = |v: Option<f64>| v.and_then(number::percent).unwrap_or_default();
        table.row(
            vec![
                time(e.length, u),
                e.load.to_string(),
                format!("{} of {}", e.converged, e.measured + e.refused),
                percent(e.claimed),
                e.median.map(signed).unwrap_or_default(),
                e.trials.map(|t| format!("{t}")).unwrap_or_default(),
            ],
            Vec::new(),
        );
    }
    all.push(table);
    all
}

fn by_k(errors: &[(u32, Vec<Errors>)], u: bool) -> Table {
    let heads: Vec<String> = errors.iter().map(|(k, _)| format!(">K = {k}")).collect();
    let mut columns = vec![">length", ">load"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new("By K (figure 9.15)", "Like the first table, from the same trials.", &columns);
    for (i, first) in errors.first().into_iter().flat_map(|(_, first)| first).enumerate() {
        let cells = errors.iter().map(|(_, of_k)| of_k.get(i).map_or(String::new(), median_error));
        table.row([time(first.length, u), first.load.to_string()].into_iter().chain(cells), Vec::new());
    }
    table
}

pub(crate) fn counted(c: CpuTimeCounting) -> &'static str {
    match c {
        CpuTimeCounting::Ticks => "interval counting (/proc/stat)",
        CpuTimeCounting::Times => "times(2)",
        CpuTimeCounting::Rusage => "getrusage(2)",
        CpuTimeCounting::Cpu => "CLOCK_PROCESS_CPUTIME_ID",
    }
}

pub(crate) fn interval_tables(found: &[IntervalResult], u: bool) -> Vec<Table> {
    let table_of = |result: &IntervalResult| {
        let c = result.counted;
        let note = match c {
            CpuTimeCounting::Cpu => "(Counted - T(r)) / T(r), median and range.",
            _ => {
                "(Counted - T(r)) / T(r), and the error of counting alone, compared with CLOCK_PROCESS_CPUTIME_ID. Median and range."
            }
        };
        let columns = [">length", ">load", ">against T(r)", ">from", ">to", ">against exact", ">from", ">to"];
        let mut table = Table::new(counted(c), note, &columns);
        for e in &result.expected {
            let three = |e: &Errors| {
                let range = |pick: fn((f64, f64)) -> f64| e.range.map(|r| signed(pick(r))).unwrap_or_default();
                [e.median.map(signed).unwrap_or_default(), range(|r| r.0), range(|r| r.1)]
            };
            let mut cells = vec![time(e.length, u), e.load.to_string()];
            cells.extend(three(e));
            if c != CpuTimeCounting::Cpu {
                let same = result.exact.iter().find(|x| x.load == e.load && x.length == e.length);
                cells.extend(same.into_iter().flat_map(three));
            }
            table.row(cells, Vec::new());
        }
        table
    };
    found.iter().map(table_of).collect()
}

const CALLS: [(&str, &str); 6] = [
    ("procA(b1)", "code, data and measuring code not cached"),
    ("procA(b2)", "data not cached"),
    ("procA(b3)", "data not cached"),
    ("procA(b1)", "all cached"),
    ("procB(b1)", "code not cached"),
    ("procB(b2)", "all cached"),
];

pub(crate) fn caching_tables(executions: &[LoadedExecutions], equal: Option<&EqualCalls>, u: bool) -> Vec<Table> {
    let mut t = Table::new(
        "Executions of a procedure (figures 9.11, 9.12)",
        "The sum of an array, repeatedly. Near: at most a tenth above the shortest of any load.",
        &[">length", ">load", ">executions", ">shortest", ">longest", ">longest / shortest of all", ">near"],
    );
    for e in executions {
        t.row(
            vec![
                time(e.length, u),
                e.load.to_string(),
                e.elapsed.len().to_string(),
                time(e.shortest, u),
                time(e.longest, u),
                number::fixed(e.worst, 2).unwrap_or_default(),
                e.near.to_string(),
            ],
            Vec::new(),
        );
    }
    let mut all = vec![t];
    if let Some(e) = equal {
        let mut calls = Table::new(
            "Two equal procedures (figure 9.13)",
            format!(
                "Each adds 1 to eight doubles; {} sequences; none of it is cached before each sequence.",
                e.sequences
            ),
            &["call", "what is missing", ">median", ">smallest", ">largest"],
        );
        for ((call, what), (median, low, high)) in CALLS.iter().zip(e.calls) {
            let cells = vec![(*call).to_owned(), (*what).to_owned(), time(median, u), time(low, u), time(high, u)];
            calls.row(cells, Vec::new());
        }
        all.push(calls);
        all.push(misses(e, u));
    }
    all
}

fn misses(e: &EqualCalls, u: bool) -> Table {
    let m = &e.misses;
    let note = match [m.data, m.procedure, m.measuring].iter().any(|ns| *ns < 0.0) {
        true => {
            "From the medians, as if the costs of misses added up. Below zero: misses overlap, or the CPU fetched ahead."
        }
        false => "From the medians.",
    };
    let mut t = Table::new("Cost of the cache misses (practice problem 9.6)", note, &["part", "", ">time"]);
    for (name, what, ns) in [
        ("c", "a call without a miss", m.none),
        ("d", "data", m.data),
        ("p", "the procedure's code", m.procedure),
        ("m", "the measuring code", m.measuring),
    ] {
        t.row(vec![name.to_owned(), what.to_owned(), time(ns, u)], Vec::new());
    }
    t
}

/// Every table of a study, in its order.
pub fn tables(report: &StudyReport, unicode: bool) -> Vec<Table> {
    match &report.results {
        Results::Kbest(found) => kbest_tables(found, unicode),
        Results::IntervalCounting(found) => interval_tables(found, unicode),
        Results::Caching { executions, equal_calls } => caching_tables(executions, equal_calls.as_ref(), unicode),
    }
}

/// What the expected times are; `None` if the study has none.
pub(crate) fn expected(report: &StudyReport, unicode: bool) -> Option<String> {
    let error = report.line_error?;
    Some(format!(
        "T(r) = m r + b through 1 to 10 repetitions of some 10 {}s, 100 measurements each and more, \
         which take turns with what is compared with it; off by {} in the median, {} at most",
        if unicode { "µ" } else { "u" },
        number::percent(error.median).unwrap_or_default(),
        number::percent(error.most).unwrap_or_default()
    ))
}

/// A study's head and its tables.
pub fn terminal(head: &DocumentHead, plan: &StudyPlan, report: &StudyReport, style: &Style) -> String {
    let full = Style { full: true, ..style.clone() };
    let mut page = ScreenText::new(&full);
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    page.title(&format!("Study{id}: {}", style.show(&head.title)));
    let done =
        format!("{} of {} cells, CPU {} of {}", report.measured, plan.parts(), plan.cpu, style.show(&head.machine));
    page.field("measured", &done);
    if let Some(machine) = described(head) {
        page.field("machine", &style.show(&machine));
    }
    if let Some(text) = expected(report, style.unicode) {
        page.field("expected", &text);
    }
    for table in tables(report, style.unicode) {
        draw(&mut page, &table);
    }
    page.finish()
}

#[derive(Serialize)]
struct StudyJson<'a> {
    format: &'static str,
    version: u32,
    head: &'a DocumentHead,
    plan: &'a StudyPlan,
    tables: Vec<Table>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<Table>,
    parts: &'a [StudyPart],
}

/// The observations, and the tables as on the terminal; `published` are the book's values, if they are asked for.
pub fn json(
    head: &DocumentHead,
    plan: &StudyPlan,
    report: &StudyReport,
    parts: &[StudyPart],
    published: Vec<Table>,
) -> Result<String, RenderError> {
    let tables = tables(report, true);
    let document = StudyJson { format: "tare-study", version: 1, head, plan, tables, published, parts };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}

/// Name and points of a curve.
type FigureSeries = (String, Vec<(f64, f64)>);

/// Shares over a quantity; those below `floor` are drawn there.
fn shares(
    heading: &str,
    below: &str,
    x: (&str, PageQuantity),
    y: &str,
    floor: Option<f64>,
    all: Vec<FigureSeries>,
) -> Option<String> {
    let spread = |log| vec![if log { PageScale::Log } else { PageScale::Linear }];
    let highest = all.iter().flat_map(|s| &s.1).map(|p| p.1).filter(|y| y.is_finite()).fold(0.0, f64::max);
    let axis = |title: &str, quantity, log, floor, shown| page::PageAxis {
        title: title.to_owned(),
        quantity,
        scales: spread(log),
        floor,
        shown,
    };
    let curve = |(look, (title, points)): (usize, FigureSeries)| {
        let (x, y) = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).unzip();
        PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: None }
    };
    let figure = page::PageFigure {
        id: String::new(),
        title: heading.to_owned(),
        note: String::new(),
        x: axis(x.0, x.1, x.1 == PageQuantity::Time, None, None),
        y: axis(y, PageQuantity::Share, floor.is_some(), floor, floor.map(|f| (f, highest.max(10.0 * f)))),
        curves: all.into_iter().enumerate().map(curve).collect(),
    };
    curves::figure(&figure, below, 0)
}

fn drawn(heading: &str, below: &str, floor: Option<f64>, series: Vec<FigureSeries>) -> Option<String> {
    shares(heading, below, ("Expected CPU time T(r)", PageQuantity::Time), "Error", floor, series)
}

/// The series of a figure of K-best, and the book's values beside them.
fn beside_the_book(name: &str, mut series: Vec<FigureSeries>) -> Vec<FigureSeries> {
    if !series.is_empty() {
        series.extend(published_curves("study kbest", name));
    }
    series
}

/// Medians by length, a series for each load.
fn loads(errors: &[Errors]) -> Vec<FigureSeries> {
    let medians = |load: u32| {
        let points = errors.iter().filter(|e| e.load == load).filter_map(|e| Some((e.length, e.median?)));
        (format!("load {load}"), points.collect::<Vec<_>>())
    };
    loads_of(errors).into_iter().map(medians).filter(|s| !s.1.is_empty()).collect()
}

/// File name and SVG of each figure that is not empty.
pub fn figures(report: &StudyReport) -> Vec<(String, String)> {
    let all = match &report.results {
        Results::Kbest(found) => kbest_figures(found),
        Results::IntervalCounting(found) => interval_figures(found),
        Results::Caching { executions, .. } => sequences(executions),
    };
    all.into_iter().filter_map(|(name, svg)| Some((name.to_owned(), svg?))).collect()
}

type StudyFigure = (&'static str, Option<String>);

fn kbest_figures(found: &KbestResults) -> Vec<StudyFigure> {
    let plot = |name: &'static str, heading: &str, errors: &[Errors]| {
        let below = "Median error by load; K = 3. Errors below 0.1% are shown as 0.1%, as in the book.";
        let series = beside_the_book(name.trim_end_matches(".svg"), loads(errors));
        (name, drawn(heading, below, Some(FLOOR), series))
    };
    let by_k = found.by_k.iter().map(|(k, errors)| {
        let most = loads_of(errors).last().copied();
        let points = errors.iter().filter(|e| Some(e.load) == most).filter_map(|e| Some((e.length, e.median?)));
        (format!("K = {k}"), points.collect())
    });
    let by_k = by_k.filter(|(_, points): &FigureSeries| !points.is_empty()).collect();
    let under_load = "Median error under the highest load.";
    vec![
        plot("kbest-loads.svg", "K-best by load (CS:APP figure 9.14)", &found.book),
        plot(
            "kbest-compensated.svg",
            "K-best, compensated for timer interrupts (CS:APP figure 9.16)",
            &found.compensated,
        ),
        plot("kbest-gettimeofday.svg", "K-best with gettimeofday (CS:APP figure 9.22)", &found.gettimeofday),
        plot("kbest-thread-cpu.svg", "K-best with the thread's CPU time", &found.thread_cpu),
        (
            "kbest-by-k.svg",
            drawn("K-best by K (CS:APP figure 9.15)", under_load, Some(FLOOR), beside_the_book("kbest-by-k", by_k)),
        ),
    ]
}

fn interval_figures(found: &[IntervalResult]) -> Vec<StudyFigure> {
    let result = |counted| found.iter().find(|r| r.counted == counted);
    let exact = |counted| result(counted).map_or(&[][..], |r| &r.exact);
    let expected = result(CpuTimeCounting::Cpu).map_or(&[][..], |r| &r.expected);
    let plot = |heading: &str, below: &str, errors| drawn(heading, below, None, loads(errors));
    vec![
        (
            "interval-counting.svg",
            plot(
                "Interval counting (CS:APP figure 9.8)",
                "Median error of user time counted at timer interrupts, compared with exact CPU time.",
                exact(CpuTimeCounting::Ticks),
            ),
        ),
        (
            "interval-counting-book.svg",
            result(CpuTimeCounting::Ticks)
                .and_then(|r| figure_9_8("interval-counting-book", counted(r.counted), &r.points))
                .and_then(|mut figure| {
                    add_curves("study interval-counting", &mut figure);
                    curves::figure(&figure, "Each measurement, with the book's axes.", 0)
                }),
        ),
        (
            "interval-times.svg",
            plot("CPU time by times(2)", "Median error compared with exact CPU time.", exact(CpuTimeCounting::Times)),
        ),
        (
            "interval-exact.svg",
            plot(
                "CPU time by CLOCK_PROCESS_CPUTIME_ID",
                "Median error compared with T(r): what slowed the computation down.",
                expected,
            ),
        ),
    ]
}

/// Executions in their order, relative to the shortest.
fn sequences(all: &[LoadedExecutions]) -> Vec<StudyFigure> {
    let long = all.iter().map(|e| e.length).fold(0.0, f64::max);
    let executions = |is_long: bool| {
        let mine = all.iter().filter(|e| (e.length == long) == is_long);
        let series = mine.map(|e| {
            // Eighteen, as in the book.
            let points = e.elapsed.iter().take(18).enumerate();
            (format!("load {}", e.load), points.map(|(i, ns)| ((i + 1) as f64, ns / e.base - 1.0)).collect())
        });
        series.collect::<Vec<_>>()
    };
    let plot = |heading: &str, series| {
        let below = "Each execution's time above the shortest of all.";
        shares(heading, below, ("Execution", PageQuantity::Count), "Above the shortest", None, series)
    };
    vec![
        ("caching-long.svg", plot("A long procedure (CS:APP figure 9.11)", executions(true))),
        ("caching-short.svg", plot("A short procedure (CS:APP figure 9.12)", executions(false))),
    ]
}

#[cfg(test)]
mod tests {
    use super::{figures, json, terminal};
    use crate::data::cells::{CellData, Study, StudyCell, StudyPart, StudyPlan, StudyPreset};
    use crate::data::report::build;
    use crate::sheets::published::published_tables;
    use tarebench_core::base::reading::Reading;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::DocumentHead;
    use tarebench_core::documents::head::DocumentKind;
    use tarebench_core::documents::head::Status;
    use tarebench_core::kbest::clocks::ClockKind as Clock;
    use tarebench_core::kbest::scheme::Parameters;
    use tarebench_core::kbest::timing::{Cache, Compensation, Timing, Trial};
    use tarebench_core::statistics::fit::LineFit;
    use tarebench_report::style::Style;

    fn head(title: &str) -> DocumentHead {
        DocumentHead {
            kind: DocumentKind::Study,
            number: 3,
            uuid: "0".repeat(32),
            title: title.to_owned(),
            created: Nanos(0),
            status: Status::Finished,
            tool: "0.1.0".to_owned(),
            machine: "here".to_owned(),
            conditions: None,
            tags: std::collections::BTreeMap::new(),
        }
    }

    fn style() -> Style {
        Style::default()
    }

    fn plan(study: Study) -> StudyPlan {
        StudyPlan::new(study, StudyPreset::Minutes, 1)
    }

    fn kbest(load: u32, ms: f64, counts: &[f64]) -> StudyPart {
        let timing = |clock, hz: f64| Timing {
            clock,
            hz,
            cache: Cache::Warm,
            repetitions: 1,
            parameters: Parameters::new(5, 0.001, 30, 0).unwrap(),
            compensation: Reading::Value(Compensation { cost: 2e4, period: 4e6 }),
            overhead: 28,
            less_overhead: false,
            apart: 0,
            trials: counts
                .iter()
                .map(|c| Trial {
                    count: (c * hz / 1e3) as u64,
                    cpu: Some((ms * 1e6) as u64),
                    ticks: Some(3),
                    preemptions: Some(0),
                    waits: Some(0),
                    core_cycles: None,
                })
                .collect(),
        };
        let line = LineFit { slope: 1e4, intercept: 0.0, max_error: 0.003 };
        let timings =
            vec![timing(Clock::Counter, 1e9), timing(Clock::Gettimeofday, 1e6), timing(Clock::ThreadCpu, 1e9)];
        let seen = CellData::Kbest { line, repetitions: (ms * 100.0) as u64, timings };
        StudyPart { cell: StudyCell::Kbest { load, length: ms * 1e6 }, round: 0, seen }
    }

    #[test]
    fn every_table_of_the_kbest_study() {
        let parts = [
            kbest(1, 0.1, &[0.1, 0.1001, 0.10005, 0.102]),
            kbest(11, 0.1, &[0.3, 0.1002, 0.10021, 0.10022]),
            kbest(1, 10.0, &[10.08, 10.081, 10.082, 10.5]),
            kbest(11, 10.0, &[110.0, 111.0, 110.05]),
        ];
        let head = head("kbest (minutes)");
        let report = build(&plan(Study::Kbest), &parts);
        insta::assert_snapshot!(terminal(&head, &plan(Study::Kbest), &report, &style()));
        let figures = figures(&report);
        assert_eq!(figures.len(), 5);
        for (name, svg) in figures {
            assert!(roxmltree::Document::parse(&svg).is_ok(), "{name}");
            let beside = ["kbest-loads.svg", "kbest-compensated.svg", "kbest-by-k.svg"].contains(&name.as_str());
            assert_eq!(svg.contains("published: "), beside, "{name}");
        }
    }

    #[test]
    fn every_table_of_the_others() {
        let line = LineFit { slope: 1e4, intercept: 0.0, max_error: 0.003 };
        let interval = |load, ticks| StudyPart {
            cell: StudyCell::Interval { load, length: 2e7 },
            round: 0,
            seen: CellData::Interval {
                line,
                repetitions: 2000,
                ticks,
                times: 20_000_000,
                rusage: 20_100_000,
                cpu: 20_101_234,
            },
        };
        let head = head("interval-counting (minutes)");
        let parts = [interval(1, Some(10_000_000)), interval(11, Some(30_000_000)), interval(11, None)];
        let report = build(&plan(Study::IntervalCounting), &parts);
        let first = terminal(&head, &plan(Study::IntervalCounting), &report, &style());
        assert_eq!(figures(&report).len(), 4);
        let procedure = |load, elapsed: &[f64]| StudyPart {
            cell: StudyCell::Procedure { load, length: 36e6 },
            round: 0,
            seen: CellData::Procedure { elapsed: elapsed.to_vec() },
        };
        let calls = vec![[173.0, 57.0, 58.0, 43.0, 138.0, 43.0]; 3];
        let equal = StudyPart { cell: StudyCell::Equal, round: 0, seen: CellData::Equal { calls } };
        let parts = [procedure(1, &[36e6, 37e6]), procedure(4, &[36.2e6, 126e6]), equal];
        let report = build(&plan(Study::Caching), &parts);
        let second = terminal(&head, &plan(Study::Caching), &report, &style());
        insta::assert_snapshot!(format!("{first}\n{second}"));
        let found = figures(&report);
        assert_eq!(found.len(), 1);
        let svg = roxmltree::Document::parse(&found[0].1).unwrap();
        let said: Vec<&str> = svg.descendants().filter_map(|n| n.text()).map(str::trim).collect();
        for expected in ["load 1", "load 4", "Execution", "Above the shortest", "1", "2"] {
            assert!(said.contains(&expected), "{expected} of {said:?}");
        }
        let read = |published| -> serde_json::Value {
            serde_json::from_str(&json(&head, &plan(Study::Caching), &report, &parts, published).unwrap()).unwrap()
        };
        assert!(read(Vec::new())["published"].is_null());
        let document = read(published_tables("study caching"));
        let titles: Vec<&str> =
            document["published"].as_array().unwrap().iter().map(|t| t["title"].as_str().unwrap()).collect();
        assert!(titles.len() == 3 && titles[2].starts_with("CS:APP figure 9.13"), "{titles:?}");
        assert_eq!((document["format"].as_str(), document["parts"].as_array().unwrap().len()), (Some("tare-study"), 3));
    }

    #[test]
    fn nothing_measured_is_no_table() {
        let head = head("kbest (paper)");
        for study in [Study::Kbest, Study::IntervalCounting, Study::Caching] {
            let report = build(&plan(study), &[]);
            assert!(terminal(&head, &plan(study), &report, &style()).contains("0 of"));
            assert!(figures(&report).is_empty());
        }
    }
}
