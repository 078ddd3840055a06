//! The page of a study: a part for each way to measure, with its figure and its table.

use crate::data::cells::StudyPlan;
use crate::data::report::{
    CpuTimeCounting, Errors, IntervalResult, KbestResults, LoadedExecutions, Results, StudyReport,
};
use crate::sheets::interval_figure::figure_9_8;
use crate::sheets::published_curves::add_published;
use crate::sheets::terminal::{
    FLOOR, caching_tables, counted, expected, interval_tables, kbest_tables, loads_of, time,
};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::documents::head::{DocumentHead, Status};
use tarebench_render::documents::machine::described;
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::web::page::{
    Band, Join, Page, PageAxis, PageCurve, PageFigure, PageKind, PagePart, PageQuantity, PageRemark, PageScale,
};

/// Length of a computation, as axes name it.
const LENGTH: &str = "Expected CPU time T(r)";

/// The page of a study, finished or not.
pub fn study(head: &DocumentHead, plan: &StudyPlan, report: &StudyReport, zone: &TimeZone, foot: String) -> Page {
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let done = format!("{} of {} cells, CPU {} of {}", report.measured, plan.parts(), plan.cpu, escape(&head.machine));
    let mut facts = vec![fact("Measured", done), fact("Started", date(head.created, zone))];
    facts.extend(described(head).iter().map(|m| fact("Machine", escape(m).into_owned())));
    let missing = plan.parts().saturating_sub(report.measured);
    let remarks = (head.status != Status::Finished).then(|| PageRemark {
        warning: true,
        text: format!("The study is not finished: {missing} of {} cells are missing.", plan.parts()).into(),
    });
    // Too long for a fact.
    let expected = expected(report, true)
        .map(|text| PageRemark { warning: false, text: format!("Expected CPU time: {text}.").into() });
    let (parts, tables) = match &report.results {
        Results::Kbest(found) => kbest(found),
        Results::IntervalCounting(found) => (intervals(found), Vec::new()),
        Results::Caching { executions, equal_calls } => {
            (caching(executions), caching_tables(executions, equal_calls.as_ref(), true))
        }
    };
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let mut page = Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Study,
        title: format!("Study{id}: {}", escape(&head.title)).into(),
        subtitle: "An experiment of CS:APP chapter 9 on this machine".to_owned().into(),
        facts: facts.into_iter().map(|(label, text)| (label, text.into())).collect(),
        remarks: remarks.into_iter().chain(expected).collect(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts,
        tables: tables.into_iter().filter(|t| !t.rows.is_empty()).collect(),
        foot: foot.into(),
    };
    add_published(&format!("study {}", plan.study.name()), &mut page);
    page
}

fn axis(title: &str, quantity: PageQuantity, scales: &[PageScale]) -> PageAxis {
    PageAxis { title: title.to_owned(), quantity, scales: scales.to_vec(), floor: None, shown: None }
}

/// A part with its figure; `None` if nothing was measured of it.
fn part(id: &str, title: &str, figure: Option<PageFigure>, table: Option<Table>) -> Option<PagePart> {
    let table = table.filter(|t| !t.rows.is_empty());
    (figure.is_some() || table.is_some()).then(|| PagePart {
        id: id.to_owned(),
        title: title.to_owned().into(),
        note: String::new().into(),
        figures: figure.into_iter().collect(),
        tables: table.into_iter().collect(),
    })
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

fn by_load(errors: &[Errors], ranges: bool) -> Vec<PageCurve> {
    let curve = |(look, load): (usize, u32)| {
        let found = errors.iter().filter(|e| e.load == load).collect();
        curve(format!("load {load}"), look, found, ranges)
    };
    loads_of(errors).into_iter().enumerate().filter_map(curve).collect()
}

fn figure(id: &str, title: &str, note: &str, y: PageAxis, curves: Vec<PageCurve>) -> Option<PageFigure> {
    let x = axis(LENGTH, PageQuantity::Time, &[PageScale::Log, PageScale::Linear]);
    let (id, title, note) = (id.to_owned(), title.to_owned(), note.to_owned());
    (!curves.is_empty()).then_some(PageFigure { id, title, note, x, y, curves })
}

/// The parts, and the tables of the whole.
fn kbest(found: &KbestResults) -> (Vec<PagePart>, Vec<Table>) {
    let below = "Median of (measured - T(r)) / T(r) by load; K = 3. Less than 0.1 % is drawn as 0.1 %, as in the book.";
    let y = || PageAxis {
        floor: Some(FLOOR),
        ..axis("Error as a multiple of T(r)", PageQuantity::Ratio, &[PageScale::Log, PageScale::Linear])
    };
    let most = found.by_k.iter().flat_map(|(_, errors)| loads_of(errors)).max();
    let by_k = found.by_k.iter().enumerate().filter_map(|(look, (k, errors))| {
        curve(format!("K = {k}"), look, errors.iter().filter(|e| Some(e.load) == most).collect(), false)
    });
    let by_k = figure(
        "kbest-by-k",
        "K-best by K (CS:APP figure 9.15)",
        "Median error under the highest load. Less than 0.1 % is drawn as 0.1 %.",
        y(),
        by_k.collect(),
    );
    let loads = |id: &str, title: &str, errors: &[Errors]| figure(id, title, below, y(), by_load(errors, false));
    let figures = [
        ("By load", loads("kbest-loads", "K-best by load (CS:APP figure 9.14)", &found.book)),
        (
            "Compensated",
            loads(
                "kbest-compensated",
                "K-best, compensated for timer interrupts (CS:APP figure 9.16)",
                &found.compensated,
            ),
        ),
        ("tare's library", loads("kbest-checked", "K-best as tare's library has it", &found.checked)),
        ("M = 200", loads("kbest-patient", "K-best with more trials", &found.patient)),
        ("Thread CPU time", loads("kbest-thread-cpu", "K-best with the thread's CPU time", &found.thread_cpu)),
        (
            "gettimeofday",
            loads("kbest-gettimeofday", "K-best with gettimeofday (CS:APP figure 9.22)", &found.gettimeofday),
        ),
        ("By K", by_k),
    ];
    // In the order of the figures; what K-best says of itself comes after them.
    let mut tables = kbest_tables(found, true).into_iter();
    let parts = figures.into_iter().zip(tables.by_ref()).filter_map(|((title, figure), table)| {
        let id = figure.as_ref().map_or_else(|| title.to_lowercase(), |f| f.id.clone());
        part(&id, title, figure, Some(table))
    });
    (parts.collect(), tables.collect())
}

fn intervals(found: &[IntervalResult]) -> Vec<PagePart> {
    let tables = interval_tables(found, true);
    let parts = found.iter().zip(tables).filter_map(|(result, table)| {
        let (id, note, errors) = match result.counted {
            CpuTimeCounting::Ticks => ("interval-counting", "Median error against exact CPU time.", &result.exact),
            CpuTimeCounting::Times => ("interval-times", "Median error against exact CPU time.", &result.exact),
            CpuTimeCounting::Rusage => ("interval-rusage", "Median error against exact CPU time.", &result.exact),
            CpuTimeCounting::Cpu => (
                "interval-exact",
                "Median error against T(r): what made the computation slower than its fastest.",
                &result.expected,
            ),
        };
        let title = match result.counted {
            CpuTimeCounting::Ticks => "Interval counting (CS:APP figure 9.8)".to_owned(),
            other => format!("CPU time by {}", counted(other)),
        };
        let y = axis("Error as a multiple of the CPU time", PageQuantity::Ratio, &[PageScale::Linear]);
        let figure = figure(id, &title, &format!("{note} With the range of all rounds."), y, by_load(errors, true));
        let mut part = part(id, counted(result.counted), figure, Some(table))?;
        part.figures.extend(figure_9_8(&format!("{id}-book"), counted(result.counted), &result.points));
        Some(part)
    });
    parts.collect()
}

/// Executions in their order, over the shortest.
fn caching(all: &[LoadedExecutions]) -> Vec<PagePart> {
    let mut lengths: Vec<f64> = all.iter().map(|e| e.length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    lengths.dedup();
    let parts = lengths.iter().enumerate().filter_map(|(i, length)| {
        let same = all.iter().filter(|e| e.length == *length).enumerate();
        let curves = same.map(|(look, e)| {
            let (x, y) = e.elapsed.iter().enumerate().map(|(n, ns)| ((n + 1) as f64, ns / e.base)).unzip();
            PageCurve { title: format!("load {}", e.load), look, thin: false, join: Join::Straight, x, y, band: None }
        });
        let of = if i == 0 { " (CS:APP figure 9.11)" } else { " (CS:APP figure 9.12)" };
        let length = time(*length, true);
        let figure = PageFigure {
            id: format!("caching-{}", i + 1),
            title: format!("A procedure of {length}{of}"),
            note: "Time of each execution, in order, as a multiple of the shortest one of any load.".to_owned(),
            x: axis("Execution", PageQuantity::Count, &[PageScale::Linear]),
            y: axis("Time over the shortest", PageQuantity::Ratio, &[PageScale::Linear, PageScale::Log]),
            curves: curves.collect(),
        };
        part(&figure.id.clone(), &format!("Procedure of {length}"), Some(figure), None)
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::{CellData, Study, StudyCell, StudyPart, StudyPreset};
    use crate::data::report::build;
    use std::collections::BTreeMap;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head;
    use tarebench_core::statistics::fit::LineFit;

    fn page(study: Study, parts: &[StudyPart], status: Status) -> Page {
        let head = DocumentHead {
            kind: head::DocumentKind::Study,
            number: 3,
            uuid: "0".repeat(32),
            title: "a\u{1b}study".to_owned(),
            created: Nanos(0),
            status,
            tool: "0.1.0".to_owned(),
            machine: "box".to_owned(),
            conditions: None,
            tags: BTreeMap::new(),
        };
        let plan = StudyPlan::new(study, StudyPreset::Minutes, 1);
        super::study(&head, &plan, &build(&plan, parts), &TimeZone::UTC, "foot".to_owned())
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
        assert_eq!(ids, ["interval-counting", "interval-times", "interval-rusage", "interval-exact"]);
        let curve = &page.parts[0].figures[0].curves[0];
        assert_eq!((curve.title.as_str(), curve.x.as_slice()), ("load 1", &[2e7, 4e7][..]));
        assert!((curve.y[0] + 0.5).abs() < 1e-9 && (curve.y[1] + 0.1).abs() < 1e-9, "{:?}", curve.y);
        assert!(page.parts.iter().all(|p| p.tables.len() == 1 && p.tables[0].rows.len() == 2));
        let published =
            |p: &PagePart| p.figures.iter().flat_map(|f| &f.curves).any(|c| c.title.starts_with("published"));
        assert_eq!(page.parts.iter().map(published).collect::<Vec<_>>(), [true, false, false, false]);
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
        let long = &page.parts[0].figures[0];
        assert_eq!((long.curves[0].x.as_slice(), long.curves[0].y.as_slice()), (&[1.0, 2.0][..], &[2.0, 1.0][..]));
        assert!(long.title.ends_with("figure 9.11)") && page.parts[1].figures[0].title.ends_with("figure 9.12)"));
        assert_eq!((page.parts.len(), page.tables.len()), (2, 3));
        assert!(page.remarks[0].text.plain().contains("not finished: 7 of 10 cells"), "{:?}", page.remarks);
    }

    #[test]
    fn nothing_measured_is_no_part() {
        for study in [Study::Kbest, Study::IntervalCounting, Study::Caching] {
            let page = page(study, &[], Status::Interrupted);
            assert!(page.parts.is_empty() && page.tables.is_empty(), "{page:?}");
        }
    }
}
