//! A comparison of stored runs as CSV: one row for each pair and measure. An empty cell is an absent value.

use crate::compare::sentence::short;
use crate::compare::stored::said::stored_verdict;
use tarebench_core::compare::ratio::RatioBasis;
use tarebench_core::compare::stored::{ComparedBy, ComparedRun, StoredComparison, StoredSide};
use tarebench_core::compare::stored_floor::FloorSource;
use tarebench_core::compare::stored_report::{RatioWay, StoredPairReport, StoredRatio, StoredReport};
use tarebench_report::csv::{cell, number, text, write};
use tarebench_report::error::RenderError;

const HEADS: [&str; 18] = [
    "program",
    "run",
    "run_uuid",
    "reference",
    "reference_run",
    "reference_run_uuid",
    "measure",
    "chosen",
    "way",
    "ratio",
    "low",
    "high",
    "low_without_floor",
    "high_without_floor",
    "floor",
    "floor_source",
    "verdict",
    "other_machine",
];

/// All ratios.
///
/// # Errors
/// [`RenderError::Csv`].
pub fn ratios(comparison: &StoredComparison, report: &StoredReport) -> Result<String, RenderError> {
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    for pair in &report.pairs {
        rows.extend(pair.ratios.iter().map(|ratio| row(comparison, pair, ratio)));
    }
    write(rows)
}

fn row(comparison: &StoredComparison, pair: &StoredPairReport, ratio: &StoredRatio) -> Vec<String> {
    let side = |index: u32| -> [String; 3] {
        let side: Option<&StoredSide> = comparison.sides.get(index as usize);
        let run: Option<&ComparedRun> = side.and_then(|s| comparison.runs.get(s.run as usize));
        [cell(side, |s| text(&s.label)), cell(run, |r| r.run.to_string()), cell(run, |r| text(&r.uuid))]
    };
    let (interval, sampling) = (ratio.interval.as_ref().ok(), ratio.sampling.as_ref().ok());
    let mut cells: Vec<String> = side(pair.program).into_iter().chain(side(pair.reference)).collect();
    cells.extend([
        match &ratio.measure {
            ComparedBy::Time(m) => short(*m).to_lowercase(),
            ComparedBy::Printed { metric } => text(&format!("metric:{metric}")),
            ComparedBy::Counter { counter } => counter.name().to_owned(),
        },
        (pair.measure.as_ref() == Some(&ratio.measure)).to_string(),
        way(ratio.way).to_owned(),
        number(ratio.ratio),
        cell(interval, |i| number(i.low)),
        cell(interval, |i| number(i.high)),
        cell(sampling, |i| number(i.low)),
        cell(sampling, |i| number(i.high)),
        cell(ratio.floor, |f| number(f.share)),
        cell(ratio.floor, |f| source(f.source).to_owned()),
        stored_verdict(ratio).to_owned(),
        pair.other_machine.to_string(),
    ]);
    cells
}

fn way(way: RatioWay) -> &'static str {
    match way {
        RatioWay::SameRun { basis: RatioBasis::Duets, .. } => "same run, duets",
        RatioWay::SameRun { basis: RatioBasis::Alone, .. } => "same run, rounds",
        RatioWay::RatioOfRatios { basis: RatioBasis::Duets, .. } => "ratio of ratios, duets",
        RatioWay::RatioOfRatios { basis: RatioBasis::Alone, .. } => "ratio of ratios, rounds",
        RatioWay::RatioOfMedians { .. } => "ratio of medians",
    }
}

fn source(source: FloorSource) -> &'static str {
    match source {
        FloorSource::SameProgram { .. } => "same program",
        FloorSource::OtherPrograms { .. } => "other programs",
        FloorSource::Assumed => "assumed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::fixtures;
    use tarebench_core::compare::stored_report::report;

    #[test]
    fn every_ratio_is_a_row() {
        let comparison = fixtures::slower();
        let text = ratios(&comparison, &report(&comparison)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].split(',').count(), HEADS.len());
        let uuids = [format!("{:032x}", 15), format!("{:032x}", 12)];
        let begins = format!("gzip,15,{},gzip,12,{},cpu,true,ratio of medians,1.", uuids[0], uuids[1]);
        assert!(lines[2].starts_with(&begins) && lines[2].ends_with(",same program,slower,false"), "{}", lines[2]);
        assert!(lines[1].contains(",elapsed,false,") && lines[1].contains(",assumed,"), "{}", lines[1]);
    }

    #[test]
    fn what_programs_print_is_a_row() {
        let comparison = fixtures::printed();
        let text = ratios(&comparison, &report(&comparison)).unwrap();
        let last = text.lines().last().unwrap();
        assert!(last.contains(",metric:rate,true,ratio of medians,") && last.ends_with(",,,higher,false"), "{last}");
    }

    #[test]
    fn any_name_stays_in_its_cell() {
        for comparison in fixtures::all() {
            let text = ratios(&comparison, &report(&comparison)).unwrap();
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            for record in reader.records() {
                let record = record.unwrap();
                assert_eq!(record.len(), HEADS.len());
                assert!(!record.iter().any(|c| c.chars().any(char::is_control)), "{record:?}");
            }
        }
    }
}
