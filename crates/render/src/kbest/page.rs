//! The page of benchmarks: their times in a table, and a part with the trials of each.

use crate::kbest::bench::{Layout, ShownBench, agreement, cache, clock, facts, remarks, table};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::kbest::bench::BenchResult;
use tarebench_core::kbest::report::BenchRow;
use tarebench_core::kbest::timing::{Timing, TimingStanding};
use tarebench_report::cell::Cell;
use tarebench_report::number;
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::web::page::{
    Join, Page, PageAxis, PageCurve, PageFigure, PageKind, PagePart, PageQuantity, PageRemark, PageScale,
};

/// Wide enough for every column of the table and for any name.
const WIDE: usize = 10_000;

/// The page of benchmarks.
pub fn bench(s: &ShownBench<'_>, zone: &TimeZone, foot: String) -> Page {
    let rows = &s.report.rows;
    let capital = |name: &str| {
        let mut letters = name.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    let facts = facts(s, &date(s.head.created, zone));
    let warned = |r: &BenchRow| !matches!(r.standing, TimingStanding::Converged);
    let remarks = rows.iter().flat_map(|r| {
        let said = remarks(r).into_iter();
        said.map(|text| PageRemark {
            warning: warned(r),
            text: format!("{}: {}", escape(&r.name), escape(&text)).into(),
        })
    });
    let style = Style { width: WIDE, ..Style::default() };
    let mut times = table(rows, &Layout::of(rows, WIDE), WIDE, &style);
    for (row, r) in times.rows.iter_mut().zip(rows) {
        // The columns that are always there; those after them are not numbers.
        let counts = [Some(r.trials as f64), Some(r.repetitions as f64)];
        let values = [None, r.time.value().copied(), r.spread.value().copied(), None].into_iter().chain(counts);
        row.set_values(values);
    }
    let id = if s.head.number == 0 { String::new() } else { format!(" {}", s.head.id()) };
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Bench,
        title: format!("Benchmarks{id}: {}", escape(&s.bench.name)).into(),
        subtitle: "Time of one execution by K-best (CS:APP chapter 9)".to_owned().into(),
        facts: facts.into_iter().map(|(name, text)| (capital(name), Cell::foreign(text))).collect(),
        remarks: remarks.collect(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts: s.bench.rows.iter().zip(rows).enumerate().map(|(i, (row, r))| part(i, row, r)).collect(),
        tables: vec![times],
        foot: foot.into(),
    }
}

fn part(i: usize, row: &BenchResult, r: &BenchRow) -> PagePart {
    let id = format!("benchmark-{}", i + 1);
    let figure = trials(&id, &row.timing);
    let title = escape(&row.name).into_owned();
    PagePart {
        id,
        title: title.into(),
        note: String::new().into(),
        figures: figure.into_iter().collect(),
        tables: vec![measured(r)],
    }
}

/// The trials in their order, and which of them count.
fn trials(id: &str, timing: &Timing) -> Option<PageFigure> {
    let times: Vec<f64> = timing.trials.iter().map(|t| timing.time(t)).collect();
    let best = timing.outcome()?.best;
    let slowest = best.last().copied()?;
    let curve = |look: usize, title: &str, kept: &dyn Fn(f64) -> bool| {
        let points = times.iter().enumerate().filter(|(_, ns)| ns.is_finite() && kept(**ns));
        let (x, y) = points.map(|(i, ns)| ((i + 1) as f64, *ns)).unzip();
        PageCurve { title: title.to_owned(), look, thin: false, join: Join::Straight, x, y, band: None }
    };
    let kept = match best.len() {
        1 => "fastest trial".to_owned(),
        k => format!("{k} fastest trials"),
    };
    let curves = [curve(0, "all trials", &|_| true), curve(1, &kept, &|ns| ns <= slowest)];
    let curves: Vec<PageCurve> = curves.into_iter().filter(|c| !c.x.is_empty()).collect();
    let axis = |title: &str, quantity, scales: &[PageScale]| PageAxis {
        title: title.to_owned(),
        quantity,
        scales: scales.to_vec(),
        floor: None,
        shown: None,
    };
    (!curves.is_empty()).then(|| PageFigure {
        id: format!("{id}-trials"),
        title: "Trials in the order of their execution".to_owned(),
        note: "Time of one execution, minus what is subtracted, by trial.".to_owned(),
        x: axis("Trial", PageQuantity::Count, &[PageScale::Linear]),
        y: axis("Time of one execution", PageQuantity::Time, &[PageScale::Linear, PageScale::Log]),
        curves,
    })
}

/// How a benchmark was measured.
fn measured(r: &BenchRow) -> Table {
    let mut table = Table::new("How it was measured", "", &["what", "value"]);
    let per_execution = |ns: f64| number::time(ns, None, true).unwrap_or_default();
    let overhead = match r.overhead.value() {
        Some(ns) if r.less_overhead => format!("{} of each execution, subtracted", per_execution(*ns)),
        Some(ns) => format!("{} of each execution, not subtracted", per_execution(*ns)),
        None => r.overhead.absent().map(ToString::to_string).unwrap_or_default(),
    };
    let interrupts = match r.interrupts.value() {
        Some(ns) => format!("{} of each execution of the fastest trial, subtracted", per_execution(*ns)),
        None => r.interrupts.absent().map(ToString::to_string).unwrap_or_default(),
    };
    for (name, value) in [
        ("clock", clock(r.clock, r.hz)),
        ("caches", cache(r.cache)),
        ("K-best", agreement(r.k, r.epsilon)),
        ("executions in a trial", r.repetitions.to_string()),
        ("empty trial", overhead),
        ("timer interrupts", interrupts),
    ] {
        table.row(vec![name.to_owned(), escape(&value).into_owned()], Vec::new());
    }
    table
}
