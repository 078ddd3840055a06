//! The studies of CS:APP chapter 9 as sheets.

use crate::data::cells::{StudyPart, StudyPlan};
use crate::data::report::{
    CpuTimeCounting, EqualCalls, Errors, IntervalResult, KbestResults, LoadedExecutions, Results, StudyReport,
};
use crate::sheets::interval_figure::figure_9_8;
use crate::sheets::sheet::{figures_and_tables, ranged, study_title};
use serde::Serialize;
use tarebench_core::base::date::TimeZone;
use tarebench_core::documents::head::{DocumentHead, Status};
use tarebench_render::documents::machine::described;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::sheet::{Section, Sheet, SheetFact, SheetNote, SheetRemark};
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageKind, PageQuantity, PageScale};

/// The error that the book's figures do not go below.
pub(crate) const FLOOR: f64 = 0.001;
/// Length of a computation, as axes name it.
const LENGTH: &str = "Expected CPU time T(r)";
/// Below a figure of errors of K-best.
const DRAWN: &str = "Less than 0.1 % is drawn as 0.1 %, as in the book.";

/// The sheet of a study, finished or not.
pub fn cells_sheet(
    head: &DocumentHead,
    plan: &StudyPlan,
    report: &StudyReport,
    zone: &TimeZone,
    foot: impl Into<Cell>,
) -> Sheet {
    let measured = format!("{} of {} cells, CPU {} of ", report.measured, plan.parts(), plan.cpu);
    let mut facts = vec![
        SheetFact::new("question", plan.study.about().question),
        SheetFact::new("measured", Cell::text(measured).and(Cell::foreign(&head.machine))),
        SheetFact::new("started", Cell::date(head.created, zone)),
    ];
    facts.extend(described(head).map(|machine| SheetFact::new("machine", Cell::foreign(machine))));
    let missing = plan.parts().saturating_sub(report.measured);
    let unfinished = format!("The study is not finished: {missing} of {} cells are missing.", plan.parts());
    let unfinished = (head.status != Status::Finished).then(|| SheetRemark::warning(unfinished));
    Sheet {
        subtitle: "An experiment of CS:APP chapter 9 on this machine".into(),
        facts,
        notes: expected(report).map(|said| SheetNote::new("expected CPU time", said)).into_iter().collect(),
        remarks: unfinished.into_iter().collect(),
        sections: match &report.results {
            Results::Kbest(found) => kbest(found),
            Results::IntervalCounting(found) => found.iter().map(counting).collect(),
            Results::Caching { executions, equal_calls } => caching(executions, equal_calls.as_ref()),
        },
        foot: foot.into(),
        ..Sheet::new(PageKind::Study, study_title(head))
    }
}

/// What the expected times are; `None` if the study has none.
fn expected(report: &StudyReport) -> Option<Cell> {
    let error = report.line_error?;
    let fitted = "T(r) = m r + b through 1 to 10 repetitions of some 10 µs, 100 measurements each and more, which take turns with \
                  what is compared with it; off by ";
    let [median, most] = [error.median, error.most].map(|error| Cell::of(Unit::Share, error));
    Some(Cell::text(fitted).and(median).and(" in the median, ").and(most).and(" at most"))
}

/// What the loads are, ascending.
pub(crate) fn loads_of(errors: &[Errors]) -> Vec<u32> {
    let mut all: Vec<u32> = errors.iter().map(|e| e.load).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn lengths(errors: &[Errors]) -> Vec<f64> {
    let mut all: Vec<f64> = errors.iter().map(|e| e.length).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// A section of a single table, whose title and note are the section's.
fn section(id: &str, title: &str, note: &str, figures: impl IntoIterator<Item = PageFigure>, table: Table) -> Section {
    Section::new(id, title, note, figures_and_tables(figures, [table]))
}

fn table(columns: impl IntoIterator<Item: Into<Column>>) -> Table {
    Table::of("", "", columns.into_iter().map(Into::into))
}

fn right(title: String) -> Column {
    Column { right: true, ..Column::new(title) }
}

/// The median error, and how many measurements were refused.
fn median_error(e: &Errors) -> Cell {
    match (e.median, e.refused) {
        (None, 0) => Cell::empty(),
        (None, _) => "slice too short".into(),
        (Some(m), 0) => Cell::of(Unit::Share, m),
        (Some(m), refused) => Cell::of(Unit::Share, m).and(format!(" ({refused} of {} refused)", refused + e.measured)),
    }
}

/// Median errors of lengths by loads.
fn by_load(errors: &[Errors]) -> Table {
    let loads = loads_of(errors);
    let mut table = table([">length".into()].into_iter().chain(loads.iter().map(|load| right(format!("load {load}")))));
    for length in lengths(errors) {
        let found = |load: &u32| errors.iter().find(|e| e.load == *load && e.length == length);
        let cells = loads.iter().map(|load| found(load).map(median_error).unwrap_or_default());
        table.row([Cell::time(length)].into_iter().chain(cells), Vec::new());
    }
    table
}

/// Points by length, in ascending order.
fn curve(title: String, look: usize, mut found: Vec<&Errors>, ranges: bool) -> Option<PageCurve> {
    found.sort_by(|a, b| a.length.total_cmp(&b.length));
    found.retain(|e| e.median.is_some());
    let bound = |pick: fn((f64, f64)) -> f64| found.iter().map(|e| e.range.map(pick)).collect();
    let band = ranges.then(|| Band { title: "smallest to largest", low: bound(|r| r.0), high: bound(|r| r.1) });
    let (x, y): (Vec<f64>, Vec<f64>) = found.iter().filter_map(|e| Some((e.length, e.median?))).unzip();
    (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band })
}

/// A curve for each load.
fn load_curves(errors: &[Errors], ranges: bool) -> Vec<PageCurve> {
    let curve = |(look, load): (usize, u32)| {
        let found = errors.iter().filter(|e| e.load == load).collect();
        curve(format!("load {load}"), look, found, ranges)
    };
    loads_of(errors).into_iter().enumerate().filter_map(curve).collect()
}

fn figure(id: &str, title: &str, note: &str, y: PageAxis, curves: Vec<PageCurve>) -> PageFigure {
    let x = PageAxis::scaled(LENGTH, PageQuantity::Time, &[PageScale::Log, PageScale::Linear]);
    PageFigure { id: id.to_owned(), title: title.to_owned(), note: note.to_owned(), x, y, curves }
}

/// Of K-best, as a multiple of the length.
fn error_axis() -> PageAxis {
    let axis =
        PageAxis::scaled("Error as a multiple of T(r)", PageQuantity::Ratio, &[PageScale::Log, PageScale::Linear]);
    PageAxis { floor: Some(FLOOR), ..axis }
}

fn kbest(found: &KbestResults) -> Vec<Section> {
    let loads = |(id, title, note, drawn, errors): (&str, &str, &str, &str, &[Errors])| {
        let below = format!("Median of (measured - T(r)) / T(r) by load; K = 3. {DRAWN}");
        section(id, title, note, [figure(id, drawn, &below, error_axis(), load_curves(errors, false))], by_load(errors))
    };
    let by_load = [
        (
            "kbest-loads",
            "Error of K-best by the book's library (figure 9.14)",
            "Median of (measured - T(r)) / T(r); K = 3, M = 30, not compensated, nothing refused.",
            "K-best by load (CS:APP figure 9.14)",
            found.book.as_slice(),
        ),
        (
            "kbest-compensated",
            "With compensation for timer interrupts (figure 9.16)",
            "The same trials, minus the minimum cost of the interrupts that they certainly contain.",
            "K-best, compensated for timer interrupts (CS:APP figure 9.16)",
            &found.compensated,
        ),
        (
            "kbest-checked",
            "By tare's library",
            "The same; if another process had the CPU in every trial, that is reported instead of a value.",
            "K-best as tare's library has it",
            &found.checked,
        ),
        (
            "kbest-patient",
            "With more trials: M = 200",
            "The same, with up to 200 trials until three agree: for machines that are slow for milliseconds at a time.",
            "K-best with more trials",
            &found.patient,
        ),
        (
            "kbest-thread-cpu",
            "With the thread's CPU time",
            "K = 3. The kernel accounts CPU time to the nanosecond, at any load.",
            "K-best with the thread's CPU time",
            &found.thread_cpu,
        ),
        (
            "kbest-gettimeofday",
            "With gettimeofday (figure 9.22)",
            "K = 3, compensated.",
            "K-best with gettimeofday (CS:APP figure 9.22)",
            &found.gettimeofday,
        ),
    ];
    by_load.into_iter().map(loads).chain([by_k(&found.by_k), agreement(&found.book)]).collect()
}

fn by_k(errors: &[(u32, Vec<Errors>)]) -> Section {
    let columns = errors.iter().map(|(k, _)| right(format!("K = {k}")));
    let mut table = table([">length".into(), ">load".into()].into_iter().chain(columns));
    for (i, first) in errors.first().into_iter().flat_map(|(_, first)| first).enumerate() {
        let cells = errors.iter().map(|(_, of_k)| of_k.get(i).map(median_error).unwrap_or_default());
        table.row([Cell::time(first.length), Cell::count(first.load)].into_iter().chain(cells), Vec::new());
    }
    let most = errors.iter().flat_map(|(_, errors)| loads_of(errors)).max();
    let curves = errors.iter().enumerate().filter_map(|(look, (k, errors))| {
        curve(format!("K = {k}"), look, errors.iter().filter(|e| Some(e.load) == most).collect(), false)
    });
    let below = format!("Median error under the highest load. {DRAWN}");
    let figure = figure("kbest-by-k", "K-best by K (CS:APP figure 9.15)", &below, error_axis(), curves.collect());
    section("kbest-by-k", "By K (figure 9.15)", "Like the first table, from the same trials.", [figure], table)
}

/// What K-best says of itself.
fn agreement(errors: &[Errors]) -> Section {
    let mut table = table([">length", ">load", ">converged", ">(vK - v1) / v1", ">error", ">trials"]);
    let loads = loads_of(errors);
    for e in errors.iter().filter(|e| [loads.first(), loads.last()].contains(&Some(&e.load))) {
        let cells = [
            Cell::time(e.length),
            Cell::count(e.load),
            Cell::count(e.converged).and(format!(" of {}", e.measured + e.refused)),
            Cell::of(Unit::Share, e.claimed),
            Cell::of(Unit::Share, e.median),
            Cell::of(Unit::Count, e.trials),
        ];
        table.row(cells, Vec::new());
    }
    let note = "Converged measurements, median of (vK - v1) / v1, median trials; the same as in the first table.";
    section("kbest-agreement", "Agreement of the K fastest trials", note, [], table)
}

pub(crate) fn counted(c: CpuTimeCounting) -> &'static str {
    match c {
        CpuTimeCounting::Ticks => "interval counting (/proc/stat)",
        CpuTimeCounting::Times => "times(2)",
        CpuTimeCounting::Rusage => "getrusage(2)",
        CpuTimeCounting::Cpu => "CLOCK_PROCESS_CPUTIME_ID",
    }
}

fn counting(result: &IntervalResult) -> Section {
    let what = counted(result.counted);
    let (id, drawn, errors) = match result.counted {
        CpuTimeCounting::Ticks => ("interval-counting", "Interval counting (CS:APP figure 9.8)", &result.exact),
        CpuTimeCounting::Times => ("interval-times", "CPU time by times(2)", &result.exact),
        CpuTimeCounting::Rusage => ("interval-rusage", "CPU time by getrusage(2)", &result.exact),
        CpuTimeCounting::Cpu => ("interval-exact", "CPU time by CLOCK_PROCESS_CPUTIME_ID", &result.expected),
    };
    let is_exact = result.counted == CpuTimeCounting::Cpu;
    let (note, below) = match is_exact {
        true => (
            "(Counted - T(r)) / T(r), median and range.",
            "Median error against T(r): what made the computation slower than its fastest. With the range of all rounds.",
        ),
        false => (
            "(Counted - T(r)) / T(r), and the error of counting alone, compared with CLOCK_PROCESS_CPUTIME_ID. Median and range.",
            "Median error against exact CPU time. With the range of all rounds.",
        ),
    };
    let mut table = table([">length", ">load", "against T(r) [range]", "against exact [range]"]);
    for e in &result.expected {
        let exact = result.exact.iter().find(|x| !is_exact && x.load == e.load && x.length == e.length);
        let error = |e: &Errors| ranged(Unit::Share, e.median, e.range);
        let cells = [Cell::time(e.length), Cell::count(e.load), error(e), exact.map(error).unwrap_or_default()];
        table.row(cells, Vec::new());
    }
    let y = PageAxis::linear("Error as a multiple of the CPU time", PageQuantity::Ratio);
    let by_load = figure(id, drawn, below, y, load_curves(errors, true));
    let each = figure_9_8(&format!("{id}-book"), what, &result.points);
    section(id, what, note, [by_load].into_iter().chain(each), table)
}

const CALLS: [(&str, &str); 6] = [
    ("procA(b1)", "code, data and measuring code not cached"),
    ("procA(b2)", "data not cached"),
    ("procA(b3)", "data not cached"),
    ("procA(b1)", "all cached"),
    ("procB(b1)", "code not cached"),
    ("procB(b2)", "all cached"),
];

fn caching(all: &[LoadedExecutions], equal: Option<&EqualCalls>) -> Vec<Section> {
    let mut table =
        table([">length", ">load", ">executions", ">shortest", ">longest", ">longest / shortest of all", ">near"]);
    for e in all {
        let cells = [
            Cell::time(e.length),
            Cell::count(e.load),
            Cell::count(e.elapsed.len() as f64),
            Cell::time(e.shortest),
            Cell::time(e.longest),
            Cell::of(Unit::Ratio, e.worst),
            Cell::count(e.near as f64),
        ];
        table.row(cells, Vec::new());
    }
    let executions = section(
        "caching",
        "Executions of a procedure (figures 9.11, 9.12)",
        "The sum of an array, repeatedly. Near: at most a tenth above the shortest of any load.",
        sequences(all),
        table,
    );
    [executions].into_iter().chain(equal.into_iter().flat_map(|e| [calls(e), misses(e)])).collect()
}

/// Executions in their order, over the shortest, a figure for each length.
fn sequences(all: &[LoadedExecutions]) -> Vec<PageFigure> {
    let mut lengths: Vec<f64> = all.iter().map(|e| e.length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    lengths.dedup();
    let figure = |(i, length): (usize, &f64)| {
        let same = all.iter().filter(|e| e.length == *length).enumerate();
        let curves = same.map(|(look, e)| {
            let (x, y) = e.elapsed.iter().enumerate().map(|(n, ns)| ((n + 1) as f64, ns / e.base)).unzip();
            PageCurve { title: format!("load {}", e.load), look, thin: false, join: Join::Straight, x, y, band: None }
        });
        let (id, place) = if i == 0 { ("caching-long", "9.11") } else { ("caching-short", "9.12") };
        PageFigure {
            id: id.to_owned(),
            title: format!("A procedure of {} (CS:APP figure {place})", Cell::time(*length)),
            note: "Time of each execution, in order, as a multiple of the shortest one of any load.".to_owned(),
            x: PageAxis::counts("Execution"),
            y: PageAxis::scaled("Time over the shortest", PageQuantity::Ratio, &[PageScale::Linear, PageScale::Log]),
            curves: curves.collect(),
        }
    };
    lengths.iter().enumerate().map(figure).collect()
}

fn calls(e: &EqualCalls) -> Section {
    let mut table = table(["call", "what is missing", "median [range]"]);
    for ((call, what), (median, low, high)) in CALLS.iter().zip(e.calls) {
        table.row([Cell::text(*call), Cell::text(*what), ranged(Unit::Time, median, Some((low, high)))], Vec::new());
    }
    let note =
        format!("Each adds 1 to eight doubles; {} sequences; none of it is cached before each sequence.", e.sequences);
    section("caching-equal", "Two equal procedures (figure 9.13)", &note, [], table)
}

fn misses(e: &EqualCalls) -> Section {
    let m = &e.misses;
    let note = match [m.data, m.procedure, m.measuring].iter().any(|ns| *ns < 0.0) {
        true => {
            "From the medians, as if the costs of misses added up. Below zero: misses overlap, or the CPU fetched ahead."
        }
        false => "From the medians.",
    };
    let mut table = table(["part", "", ">time"]);
    for (name, what, ns) in [
        ("c", "a call without a miss", m.none),
        ("d", "data", m.data),
        ("p", "the procedure's code", m.procedure),
        ("m", "the measuring code", m.measuring),
    ] {
        table.row([Cell::text(name), Cell::text(what), Cell::time(ns)], Vec::new());
    }
    section("caching-misses", "Cost of the cache misses (practice problem 9.6)", note, [], table)
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
pub fn cells_json(
    head: &DocumentHead,
    plan: &StudyPlan,
    report: &StudyReport,
    parts: &[StudyPart],
    published: Vec<Table>,
) -> Result<String, RenderError> {
    let sheet = cells_sheet(head, plan, report, &TimeZone::UTC, "");
    let titled = |s: &Section| -> Vec<Table> {
        s.tables().map(|t| Table { title: s.title.clone(), note: s.note.clone(), ..t.clone() }).collect()
    };
    let tables = sheet.sections.iter().flat_map(titled).collect();
    let document = StudyJson { format: "tare-study", version: 1, head, plan, tables, published, parts };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::{CellData, Study, StudyCell, StudyPart, StudyPlan, StudyPreset};
    use crate::data::report::build;
    use crate::sheets::outputs::{study_page, study_text};
    use crate::sheets::published::published_tables;
    use tarebench_core::base::reading::Reading;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::DocumentKind;
    use tarebench_core::kbest::clocks::ClockKind as Clock;
    use tarebench_core::kbest::scheme::Parameters;
    use tarebench_core::kbest::timing::{Cache, Compensation, Timing, Trial};
    use tarebench_core::statistics::fit::LineFit;
    use tarebench_report::style::Style;
    use tarebench_report::svg::figures::figures;
    use tarebench_report::web::page::{Page, PagePart};

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

    fn shown(study: Study, parts: &[StudyPart]) -> (String, Page) {
        let plan = plan(study);
        let sheet = cells_sheet(&head(study.name()), &plan, &build(&plan, parts), &TimeZone::UTC, "foot");
        let text = study_text(&sheet, &Style::default());
        (text, study_page(sheet, &format!("study {}", study.name())))
    }

    fn files(page: &Page) -> Vec<(String, String)> {
        figures(page).unwrap()
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
        let (text, page) = shown(Study::Kbest, &parts);
        insta::assert_snapshot!(text);
        let figures = files(&page);
        assert_eq!(figures.len(), 7);
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
        let parts = [interval(1, Some(10_000_000)), interval(11, Some(30_000_000)), interval(11, None)];
        let (first, page) = shown(Study::IntervalCounting, &parts);
        assert_eq!(files(&page).len(), 8);
        let procedure = |load, elapsed: &[f64]| StudyPart {
            cell: StudyCell::Procedure { load, length: 36e6 },
            round: 0,
            seen: CellData::Procedure { elapsed: elapsed.to_vec() },
        };
        let calls = vec![[173.0, 57.0, 58.0, 43.0, 138.0, 43.0]; 3];
        let equal = StudyPart { cell: StudyCell::Equal, round: 0, seen: CellData::Equal { calls } };
        let parts = [procedure(1, &[36e6, 37e6]), procedure(4, &[36.2e6, 126e6]), equal];
        let (second, page) = shown(Study::Caching, &parts);
        insta::assert_snapshot!(format!("{first}\n{second}"));
        let found = files(&page);
        let names: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(names, ["caching-long.svg", "caching-long-log.svg"]);
        let svg = roxmltree::Document::parse(&found[0].1).unwrap();
        let said: Vec<&str> = svg.descendants().filter_map(|n| n.text()).map(str::trim).collect();
        for expected in ["load 1", "load 4", "Execution", "Time over the shortest", "1", "2"] {
            assert!(said.contains(&expected), "{expected} of {said:?}");
        }
        let read = |published| -> serde_json::Value {
            let (head, plan) = (head("caching"), plan(Study::Caching));
            let report = build(&plan, &parts);
            serde_json::from_str(&cells_json(&head, &plan, &report, &parts, published).unwrap()).unwrap()
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
        for study in [Study::Kbest, Study::IntervalCounting, Study::Caching] {
            let (text, page) = shown(study, &[]);
            assert!(text.contains("0 of"), "{text}");
            assert!(files(&page).is_empty());
        }
    }

    fn page(study: Study, parts: &[StudyPart], status: Status) -> Page {
        let plan = plan(study);
        let head = DocumentHead { status, ..head("a\u{1b}study") };
        let sheet = cells_sheet(&head, &plan, &build(&plan, parts), &TimeZone::UTC, "foot");
        study_page(sheet, &format!("study {}", study.name()))
    }

    #[test]
    fn what_was_counted_has_a_figure_and_a_table_each() {
        let interval = |load, length, cpu, ticks| StudyPart {
            cell: StudyCell::Interval { load, length },
            round: 0,
            seen: CellData::Interval {
                line: LineFit { slope: 1e4, intercept: 0.0, max_error: 0.003 },
                repetitions: (length / 1e4) as u64,
                ticks: Some(ticks),
                times: cpu,
                rusage: cpu,
                cpu,
            },
        };
        let parts = [interval(1, 4e7, 40_000_000, 36_000_000), interval(1, 2e7, 20_000_000, 10_000_000)];
        let page = page(Study::IntervalCounting, &parts, Status::Finished);
        let ids: Vec<&str> = page.parts.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids, ["interval-counting", "interval-times", "interval-rusage", "interval-exact", "published"]);
        let own = &page.parts[..4];
        let curve = &page.parts[0].figures[0].curves[0];
        assert_eq!((curve.title.as_str(), curve.x.as_slice()), ("load 1", &[2e7, 4e7][..]));
        assert!((curve.y[0] + 0.5).abs() < 1e-9 && (curve.y[1] + 0.1).abs() < 1e-9, "{:?}", curve.y);
        assert!(own.iter().all(|p| p.tables.len() == 1 && p.tables[0].rows.len() == 2));
        let published =
            |p: &PagePart| p.figures.iter().flat_map(|f| &f.curves).any(|c| c.title.starts_with("published"));
        assert_eq!(own.iter().map(published).collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!((page.title.plain().as_str(), page.remarks.len()), (r"Study s3: a\x1bstudy", 1));
        assert!(
            !page.remarks[0].warning && page.remarks[0].text.plain().contains("T(r) = m r + b"),
            "{:?}",
            page.remarks
        );
    }

    #[test]
    fn executions_are_in_their_order_and_the_rest_stands_below() {
        let procedure = |length: f64, elapsed: &[f64]| StudyPart {
            cell: StudyCell::Procedure { load: 1, length },
            round: 0,
            seen: CellData::Procedure { elapsed: elapsed.to_vec() },
        };
        let calls = vec![[173.0, 57.0, 58.0, 43.0, 138.0, 43.0]; 3];
        let equal = StudyPart { cell: StudyCell::Equal, round: 0, seen: CellData::Equal { calls } };
        let parts = [procedure(36e6, &[72e6, 36e6]), procedure(8e6, &[8e6, 8e6]), equal];
        let page = page(Study::Caching, &parts, Status::Interrupted);
        let [long, short] = page.parts[0].figures.as_slice() else { panic!("{page:?}") };
        assert_eq!((long.curves[0].x.as_slice(), long.curves[0].y.as_slice()), (&[1.0, 2.0][..], &[2.0, 1.0][..]));
        assert!(long.title.ends_with("figure 9.11)") && short.title.ends_with("figure 9.12)"));
        let ids: Vec<&str> = page.parts.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids, ["caching", "caching-equal", "caching-misses", "published"]);
        assert!(page.remarks[0].text.plain().contains("not finished: 7 of 10 cells"), "{:?}", page.remarks);
    }

    #[test]
    fn nothing_measured_is_no_part() {
        for study in [Study::Kbest, Study::IntervalCounting, Study::Caching] {
            let page = page(study, &[], Status::Interrupted);
            assert!(page.parts.iter().all(|p| p.id == "published") && page.tables.is_empty(), "{page:?}");
        }
    }
}
