//! What tracing costs, as tables.

use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::terminal_table;

/// A workload's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfCheckRow {
    /// What it stands for.
    pub workload: String,
    /// The command, without its first word.
    pub command: String,
    /// Executions of each kind.
    pub executions: u32,
    /// PT with tracing divided by PT without, and its 95% interval.
    pub ratio: Option<(f64, Option<(f64, f64)>)>,
    /// Time in the kernel programs divided by PT.
    pub share: f64,
    /// Time per event, ns.
    pub per_event: f64,
    /// Events a second.
    pub rate: f64,
    pub programs: Vec<ProgramCost>,
}

/// What a kernel program cost.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramCost {
    pub name: String,
    /// How often it ran.
    pub runs: u64,
    /// ns for each run.
    pub each: f64,
    /// How often the kernel skipped it.
    pub missed: u64,
}

/// The self-check's tables.
pub fn table(rows: &[SelfCheckRow], style: &Style) -> String {
    let mut page = ScreenText::new(style);
    page.title("Cost of tracing");
    for r in rows {
        let mut title = Cell::foreign(&r.workload).and(" (tare ").and(Cell::foreign(&r.command));
        title = title.and(format!(", {} executions)", r.executions));
        terminal_table::draw(&mut page, &costs(r, title));
        terminal_table::draw(&mut page, &programs(r));
    }
    page.finish()
}

fn costs(r: &SelfCheckRow, title: Cell) -> Table {
    let note = "PT with tracing divided by PT without: median, 95% sign-test interval. By kernel: share of PT at most, by the kernel's own \
                run-time statistics, which cost some time themselves.";
    let columns = ["PT with/out [95%]", ">by kernel", ">ns per event", ">events a second"];
    let mut t = Table::new(title, note, &columns);
    let ratio = r.ratio.map(|(ratio, bounds)| {
        let interval = bounds.map(|(low, high)| Ok(Interval { low, high, level: 0.95 }));
        Figure { interval, ..Figure::new(Unit::Ratio, ratio) }
    });
    let whole = |n: f64| Cell::of(Unit::Count, n.round());
    let rest = [Cell::of(Unit::Share, r.share), whole(r.per_event), whole(r.rate)];
    t.row([Cell::from(ratio)].into_iter().chain(rest), Vec::new());
    t
}

fn programs(r: &SelfCheckRow) -> Table {
    let mut t = Table::new("", "", &["kernel program", ">runs", ">ns each", ">missed"]);
    for p in &r.programs {
        let counts = [Cell::count(p.runs as f64), Cell::of(Unit::Count, p.each.round()), Cell::count(p.missed as f64)];
        t.row([Cell::foreign(&p.name)].into_iter().chain(counts), Vec::new());
    }
    t
}
