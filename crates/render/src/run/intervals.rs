//! What the intervals of a run are of.

use tarebench_core::base::reading::Reading;
use tarebench_core::run::between::FEWEST_RUNS;
use tarebench_core::run::notes::BetweenRuns;
use tarebench_core::run::report::data::{MeasureReport, RunReport, SeriesReport};
use tarebench_report::cell::{Cell, Unit};

/// Whether they hold for this run only, or for many runs of the programs; nothing where there is no interval.
pub(crate) fn what_of(report: &RunReport) -> Option<Cell> {
    let with_interval = |s: &&SeriesReport| headline(s).is_some_and(|m| m.mean_interval.is_ok());
    let spreads: Vec<Option<BetweenRuns>> =
        report.series.iter().filter(with_interval).map(|s| headline(s).and_then(|m| m.between_runs)).collect();
    let known: Vec<BetweenRuns> = spreads.iter().flatten().copied().collect();
    let runs = known.iter().map(|b| b.runs).min();
    let share = known.iter().map(|b| b.share).fold(0.0, f64::max);
    Some(match runs {
        _ if spreads.is_empty() => return None,
        None => Cell::text(format!(
            "Intervals are of this run only: other runs may differ by more. Once {FEWEST_RUNS} earlier runs are stored, intervals \
             include that."
        )),
        Some(runs) => {
            let whose = if known.len() == spreads.len() { "" } else { " of programs that were measured before" };
            let said = format!("Intervals{whose} include the spread between runs, from {runs} earlier ones: ± ");
            Cell::text(said).and(Cell::of(Unit::Share, share)).and(".")
        }
    })
}

/// Why an interval is wider than that of independent samples, where the samples show it.
pub(crate) fn resemblance(m: &MeasureReport) -> Option<Cell> {
    let found = m.dependence.filter(|d| d.r > 2.0 / f64::from(m.retained).sqrt())?;
    let times = Cell::of(Unit::Ratio, found.stretch);
    let said =
        Cell::text("successive samples resemble each other (correlation ").and(Cell::of(Unit::Correlation, found.r));
    Some(said.and("), so that intervals are ").and(times).and(" times as wide"))
}

fn headline(s: &SeriesReport) -> Option<&MeasureReport> {
    [&s.pt, &s.et].into_iter().find_map(Reading::value)
}
