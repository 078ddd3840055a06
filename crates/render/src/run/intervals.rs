//! What the intervals of a run are of.

use tarebench_core::base::reading::Reading;
use tarebench_core::run::between::FEWEST_RUNS;
use tarebench_core::run::notes::BetweenRuns;
use tarebench_core::run::report::data::{MeasureReport, RunReport, SeriesReport};
use tarebench_report::cell::{Cell, Unit};

/// Earlier runs that the intervals rest on, too.
struct KnownSpread {
    runs: u32,
    share: f64,
    /// Of all programs of the run that have an interval.
    of_all: bool,
}

/// What is known of the spread between runs; `None` where there is no interval.
fn spread(report: &RunReport) -> Option<Option<KnownSpread>> {
    let with_interval = |s: &&SeriesReport| headline(s).is_some_and(|m| m.mean_interval.is_ok());
    let spreads: Vec<Option<BetweenRuns>> =
        report.series.iter().filter(with_interval).map(|s| headline(s).and_then(|m| m.between_runs)).collect();
    let known: Vec<BetweenRuns> = spreads.iter().flatten().copied().collect();
    let share = known.iter().map(|b| b.share).fold(0.0, f64::max);
    let found = known.iter().map(|b| b.runs).min();
    let found = found.map(|runs| KnownSpread { runs, share, of_all: known.len() == spreads.len() });
    (!spreads.is_empty()).then_some(found)
}

/// In a few words, for a line.
pub(crate) fn what_of_briefly(report: &RunReport) -> Option<Cell> {
    Some(match spread(report)? {
        Some(KnownSpread { runs, share, of_all: true }) => {
            let said =
                Cell::text(format!("intervals include {runs} earlier runs (± ")).and(Cell::of(Unit::Share, share));
            said.and(")")
        }
        _ => "intervals of this run only".into(),
    })
}

/// Whether they hold for this run only, or for many runs of the programs.
pub(crate) fn what_of(report: &RunReport) -> Option<Cell> {
    Some(match spread(report)? {
        None => Cell::text(format!(
            "of this run only; once {FEWEST_RUNS} earlier runs are stored, they include how far runs differ"
        )),
        Some(KnownSpread { runs, share, of_all }) => {
            let whose = if of_all { "" } else { " (of programs that were measured before)" };
            Cell::text(format!("include how far {runs} earlier runs differ{whose}: ± "))
                .and(Cell::of(Unit::Share, share))
        }
    })
}

/// Why an interval is wider than that of independent samples, where the samples show it.
pub(crate) fn resemblance(m: &MeasureReport) -> Option<Cell> {
    let found = m.dependence.filter(|d| d.r > 2.0 / f64::from(m.retained).sqrt())?;
    let times = Cell::of(Unit::Ratio, found.stretch);
    let said =
        Cell::text("successive samples resemble each other (correlation ").and(Cell::of(Unit::Correlation, found.r));
    Some(said.and("), so that the median's interval is ").and(times).and(" times as wide"))
}

fn headline(s: &SeriesReport) -> Option<&MeasureReport> {
    [&s.pt, &s.et].into_iter().find_map(Reading::value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use tarebench_core::statistics::dependence::Dependence;
    use tarebench_report::form::Form;
    use tarebench_report::style::Style;

    fn text(cell: Option<Cell>) -> String {
        cell.map_or_else(String::new, |c| c.write(&Form::terminal(&Style::default())))
    }

    #[test]
    fn what_they_are_of() {
        let mut report = fixtures::two();
        assert_eq!(text(what_of_briefly(&report)), "intervals of this run only");
        let Reading::Value(first) = &mut report.series[0].pt else { panic!() };
        first.between_runs = Some(BetweenRuns { runs: 7, share: 0.026 });
        assert_eq!(text(what_of_briefly(&report)), "intervals of this run only", "of the other program");
        assert!(
            text(what_of(&report)).contains("7 earlier runs differ (of programs that were measured before): ± 2.6 %")
        );
        let Reading::Value(second) = &mut report.series[1].pt else { panic!() };
        second.between_runs = Some(BetweenRuns { runs: 9, share: 0.01 });
        assert_eq!(text(what_of_briefly(&report)), "intervals include 7 earlier runs (± 2.6 %)");
        report.series.clear();
        assert_eq!(text(what_of_briefly(&report)), "");
    }

    #[test]
    fn resemblance_is_said_where_the_samples_show_it() {
        let mut m = fixtures::measure(1e9, 1e7, 40, 0, 0);
        m.dependence = Some(Dependence { r: 0.2, stretch: 1.4 });
        assert!(resemblance(&m).is_none());
        m.dependence = Some(Dependence { r: 0.5, stretch: 1.9 });
        assert!(text(resemblance(&m)).contains("correlation 0.5"));
    }
}
