//! A history as CSV: one row per build of each benchmark. An empty cell is an absent value.

use tarebench_core::compare::history::{BenchmarkHistory, HistoryPoint, HistoryReport};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::csv::{cell, number, text, write};
use tarebench_report::error::RenderError;

const COLUMNS: [&str; 22] = [
    "suite",
    "benchmark",
    // From 1, in order of time.
    "position",
    "commit",
    "modified",
    "name",
    "folder",
    "subject",
    // Since 1970; of the commit, else of the first measurement.
    "time_s",
    "committed",
    // Relative to the anchor, which has no interval.
    "ratio",
    "ratio_low",
    "ratio_high",
    "level",
    "level_low",
    "level_high",
    // Where the level differs from the one before: by so many times.
    "change",
    "change_low",
    "change_high",
    // Numbers of the gates, with spaces between.
    "gates",
    "other_machine",
    "other_machine_from_here",
];

/// The table.
///
/// # Errors
/// [`RenderError::Csv`] if it cannot be written.
pub fn csv(report: &HistoryReport) -> Result<String, RenderError> {
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    for h in &report.benchmarks {
        rows.extend(h.points.iter().enumerate().map(|(place, point)| row(h, place, point)));
    }
    write(rows)
}

fn row(h: &BenchmarkHistory, place: usize, point: &HistoryPoint) -> Vec<String> {
    let level = h.levels.iter().find(|l| (l.first..=l.last).contains(&place));
    let change = h.changes.iter().find(|c| c.after == place);
    let b = &point.build;
    let foreign = |t: &Option<String>| cell(t.as_deref(), text);
    let gates: Vec<String> = point.gates.iter().map(|g| format!("g{g}")).collect();
    let estimate = |ratio: Option<f64>, interval: Option<&Interval>| {
        [cell(ratio, number), cell(interval, |i| number(i.low)), cell(interval, |i| number(i.high))]
    };
    let mut cells = vec![
        text(&h.suite),
        text(&h.name),
        (place + 1).to_string(),
        foreign(&b.commit),
        b.modified.to_string(),
        foreign(&b.name),
        text(&b.folder),
        foreign(&b.subject),
        number(b.time.secs()),
        b.committed.to_string(),
    ];
    cells.extend(estimate(Some(point.ratio), point.interval.as_ref()));
    cells.extend(estimate(level.map(|l| l.ratio), level.map(|l| &l.interval)));
    cells.extend(estimate(change.map(|c| c.ratio), change.map(|c| &c.interval)));
    cells.push(gates.join(" "));
    cells.push(point.other_machine.to_string());
    cells.push(cell(change, |c| c.machine_changed.to_string()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;

    fn records(report: &HistoryReport) -> Vec<Vec<String>> {
        let table = csv(report).unwrap();
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), COLUMNS.len());
        reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn a_row_is_a_build() {
        let all = records(&fixtures::report());
        assert_eq!(all.len(), 40);
        let first: Vec<&str> = all[0].iter().map(String::as_str).collect();
        assert_eq!(first[..3], ["", "sort", "1"]);
        assert_eq!(first[7..10], ["change 0", "1790812800", "true"]);
        assert_eq!(first[10..17], ["1", "", "", "1", "0.998", "1.002", ""]);
        assert_eq!(first[19..], ["g0", "true", ""]);
        let changed: Vec<&str> = all[8].iter().map(String::as_str).collect();
        assert_eq!((changed[13], changed[16], changed[20], changed[21]), ("1.02", "1.02", "false", "true"));
    }

    #[test]
    fn hostile_names_are_one_cell() {
        let all = records(&fixtures::hostile());
        assert_eq!(all.len(), 40);
        assert!(all.iter().all(|r| r.len() == COLUMNS.len() && !r.iter().any(|c| c.contains(char::is_control))));
        assert_eq!(all[1][10], "");
        let mut formula = fixtures::report();
        formula.benchmarks[0].name = "=1+1".to_owned();
        assert_eq!(records(&formula)[0][1], "'=1+1");
    }
}
