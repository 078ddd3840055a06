//! What tracing costs, as a table.

use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};

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
    /// Each kernel program.
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

/// The self-check's table.
pub fn table(rows: &[SelfCheckRow], style: &Style) -> String {
    let mut page = ScreenText::new(style);
    page.title("Cost of tracing");
    for r in rows {
        page.gap();
        page.title(&format!(
            "{} (tare {}, {} executions)",
            style.show(&r.workload),
            style.show(&r.command),
            r.executions
        ));
        let ratio = match r.ratio {
            Some((ratio, Some((low, high)))) => {
                format!("{} [{}, {}] (median, 95% sign-test interval)", fixed(ratio, 4), fixed(low, 4), fixed(high, 4))
            }
            Some((ratio, None)) => format!("{} (median)", fixed(ratio, 4)),
            None => page.g.absent.to_owned(),
        };
        page.field("PT with/out", &ratio);
        let share = number::percent(r.share).unwrap_or_default();
        page.field(
            "by kernel",
            &format!(
                "{share} of PT at most, {} ns per event, {} events a second, by the \
             kernel's own run-time statistics, which cost some time themselves",
                fixed(r.per_event, 0),
                fixed(r.rate, 0)
            ),
        );
        let col = |head: &str, align, cells: Vec<String>| {
            GridColumn::new(head, align, cells.into_iter().map(|c| GridCell::new(c).paint(Paint::Plain)).collect())
        };
        let cells = |f: &dyn Fn(&ProgramCost) -> String| r.programs.iter().map(f).collect::<Vec<_>>();
        let columns = [
            col("kernel program", Align::Left, cells(&|p| style.show(&p.name))),
            col("runs", Align::Right, cells(&|p| p.runs.to_string())),
            col("ns each", Align::Right, cells(&|p| fixed(p.each, 0))),
            col("missed", Align::Right, cells(&|p| p.missed.to_string())),
        ];
        grid::draw(&mut page, &columns, 2, 2);
    }
    page.finish()
}

fn fixed(value: f64, decimals: usize) -> String {
    number::fixed(value, decimals).unwrap_or_default()
}
