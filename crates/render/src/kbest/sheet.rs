//! Benchmarks as a sheet: a row for each, what all have in common above, and the trials of each.

use crate::kbest::bench::ShownBench;
use crate::kbest::clocks;
use crate::kbest::said::{agreement, cache, clock, remark, standing};
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::kbest::report::{BenchReport, BenchRow};
use tarebench_core::kbest::timing::{Cache, Timing, TimingStanding};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::table::{Column, Detail, Table};
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageKind, PageQuantity, PageScale};
use tarebench_report::words::plural;

/// Benchmarks of a stored document.
pub fn bench(s: &ShownBench<'_>, zone: &TimeZone, foot: String) -> Sheet {
    let rows = &s.report.rows;
    let known = s.head.number != 0;
    let id = if known { format!(" {}", s.head.id()) } else { String::new() };
    let converged = rows.iter().filter(|r| r.standing == TimingStanding::Converged).count();
    let in_brackets = if known { format!(" ({})", s.head.id()) } else { String::new() };
    let counted = format!("{in_brackets}: {}, {converged} converged", plural(rows.len() as u64, "benchmark"));
    let remarks = rows.iter().filter_map(|r| {
        let warning = r.standing != TimingStanding::Converged;
        Some(SheetRemark { warning, cell: Cell::foreign(&r.name).and(": ").and(remark(r)?) })
    });
    let mut table = table(s.report);
    for (place, is_common) in
        [(CACHES, common(rows, |r| r.cache).is_some()), (CLOCK, common(rows, |r| (r.clock, r.hz)).is_some())]
    {
        if let Some(column) = table.columns.get_mut(place).filter(|_| is_common) {
            column.detail = Detail::Full;
        }
    }
    let trials = s.bench.rows.iter().enumerate().filter_map(|(i, row)| {
        let id = format!("benchmark-{}", i + 1);
        let figure = Item::Figure(trials(&id, &row.timing)?);
        Some(Section { id, title: Cell::foreign(&row.name), detail: Detail::Full, ..Section::result([figure]) })
    });
    Sheet {
        subtitle: "Time of one execution by K-best (CS:APP chapter 9)".into(),
        answers: vec![Cell::foreign(&s.bench.name).and(counted)],
        facts: facts(s, zone),
        remarks: remarks.collect(),
        sections: [Section::result([Item::Table(table)])].into_iter().chain(trials).collect(),
        foot: foot.into(),
        ..Sheet::new(PageKind::Bench, Cell::text(format!("Benchmarks{id}: ")).and(Cell::foreign(&s.bench.name)))
    }
}

/// What all rows have in common, if they do.
fn common<T: PartialEq>(rows: &[BenchRow], f: impl Fn(&BenchRow) -> T) -> Option<T> {
    let first = f(rows.first()?);
    rows.iter().all(|r| f(r) == first).then_some(first)
}

/// Where, when, and what all benchmarks have in common.
fn facts(s: &ShownBench<'_>, zone: &TimeZone) -> Vec<SheetFact> {
    let (rows, m) = (&s.report.rows, &s.bench.machine);
    let cpu = match &m.cpu {
        Reading::Value(cpu) => Cell::foreign(cpu),
        Reading::Absent(why) => Cell::text(format!("CPU {why}")),
    };
    let began = Cell::date(s.head.created, zone).and(", by version ").and(Cell::foreign(&s.bench.tool));
    let cpus = Cell::text(format!(", {}, ", plural(m.cpus, "CPU")));
    let machine = Cell::foreign(&m.name).and(": ").and(cpu).and(cpus).and(Cell::foreign(&m.architecture));
    let mut facts = vec![
        SheetFact::new("began", began.and(" of the library")),
        SheetFact::new("machine", machine.and(", Linux ").and(Cell::foreign(&m.kernel))),
    ];
    facts.extend(common(rows, |r| (r.clock, r.hz)).map(|(kind, hz)| SheetFact::new("clock", clock(kind, hz))));
    facts.extend(common(rows, |r| r.cache).map(|c| SheetFact::new("caches", cache(c))));
    facts.extend(common(rows, |r| (r.k, r.epsilon)).map(|(k, e)| SheetFact::new("K-best", agreement(k, e))));
    facts
}

const CACHES: usize = 7;
const CLOCK: usize = 8;

/// A row for each benchmark. Times are of one execution.
pub fn table(report: &BenchReport) -> Table {
    let columns = [
        Column::new("benchmark").key("benchmark"),
        Column::new("time").key("time_ns"),
        Column::new("spread").key("spread"),
        Column::new("standing").key("standing"),
        Column::new("slice lacked").key("lacking").priority(3),
        Column::new("trials").key("trials").priority(1),
        Column::new("repetitions").key("repetitions").priority(1),
        Column::new("caches").key("cache").priority(2),
        Column::new("clock").key("clock").priority(2),
        Column::new("clock rate [Hz]").key("clock_hz").full(),
        Column::new("K").key("k").full(),
        Column::new("agree within").key("epsilon").full(),
        Column::new("empty trial").key("overhead_ns").full(),
        Column::new("interrupts").key("interrupts_ns").full(),
        Column::new("cache buffer").key("cache_bytes").full(),
    ];
    let mut table = Table::of("", "Time: of one execution, in the fastest trial.", columns);
    for r in &report.rows {
        let spread = r.spread.value().copied();
        let time = |ns: f64| Figure { digits: spread.map(|s| s * ns), ..Figure::new(Unit::FineTime, ns) };
        let lacking = match r.standing {
            TimingStanding::SliceTooShort { lacking } => Cell::of(Unit::Share, lacking),
            _ => Cell::empty(),
        };
        let buffer = match r.cache {
            Cache::Warm => Cell::empty(),
            Cache::Cold { bytes } => Cell::of(Unit::Bytes, bytes as f64),
        };
        let cells = [
            Cell::foreign(&r.name),
            r.time.value().copied().map(time).into(),
            Cell::of(Unit::Share, spread),
            standing(r.standing).into(),
            lacking,
            Cell::count(r.trials as u32),
            Cell::of(Unit::Count, r.repetitions as f64),
            cache(r.cache),
            clocks::name(r.clock).into(),
            Cell::of(Unit::Plain, r.hz),
            Cell::count(r.k),
            Cell::of(Unit::Limit, r.epsilon),
            Cell::reading(Unit::FineTime, &r.overhead),
            Cell::reading(Unit::FineTime, &r.interrupts),
            buffer,
        ];
        table.row(cells, Vec::new());
    }
    table
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
    (!curves.is_empty()).then(|| PageFigure {
        id: format!("{id}-trials"),
        title: "Trials in the order of their execution".to_owned(),
        note: "Time of one execution, minus what is subtracted, by trial.".to_owned(),
        x: PageAxis::counts("Trial"),
        y: PageAxis::scaled("Time of one execution", PageQuantity::Time, &[PageScale::Linear, PageScale::Log]),
        curves,
    })
}
