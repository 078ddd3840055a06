//! The tables of a comparison of stored runs.

use crate::compare::sentence::{short, spelled};
use crate::compare::stored::said::{StoredWords, marked_verdict, measured, ratio_figure, stored_verdict};
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::ratio::RatioBasis;
use tarebench_core::compare::stored::{ComparedBy, SeriesTimes, StoredComparison, StoredSide};
use tarebench_core::compare::stored_floor::FloorSource;
use tarebench_core::compare::stored_report::{RatioWay, StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::table::{Column, Detail, Table};

/// A row for each pair, by the measure of its verdict.
pub fn ratios(comparison: &StoredComparison, report: &StoredReport) -> Table {
    let words = StoredWords { comparison };
    let columns = [Column::new("program"), Column::new("against")].into_iter().chain(ratio_columns());
    let mut table = Table::of("Comparison", "", columns);
    for pair in &report.pairs {
        if let Some(ratio) = pair.chosen() {
            let names = [words.name(pair.program), words.name(pair.reference)];
            table.row(names.into_iter().chain(ratio_cells(&words, pair, ratio)), Vec::new());
        }
    }
    table
}

/// A row for each measure of a pair.
pub(crate) fn by_measure(words: &StoredWords<'_>, pair: &StoredPairReport) -> Table {
    let mut table = Table::of("Ratios", "", ratio_columns());
    for ratio in &pair.ratios {
        table.row(ratio_cells(words, pair, ratio), Vec::new());
    }
    table
}

fn ratio_columns() -> [Column; 6] {
    [
        Column::new("measure"),
        Column::new("ratio [95%]"),
        Column::new("by the samples alone").full(),
        Column::new("between runs, ±").priority(1),
        Column::new("verdict"),
        Column::new("rests on").full(),
    ]
}

fn ratio_cells(words: &StoredWords<'_>, pair: &StoredPairReport, ratio: &StoredRatio) -> [Cell; 6] {
    [
        measured(&ratio.measure),
        ratio_figure(ratio).into(),
        by_samples(ratio),
        Cell::of(Unit::Share, ratio.floor.map(|f| f.share)),
        marked_verdict(pair, ratio).into(),
        words.basis(pair, ratio),
    ]
}

/// Without what two runs differ by.
fn by_samples(ratio: &StoredRatio) -> Cell {
    Cell::figure(Figure::new(Unit::Ratio, ratio.ratio).with_interval(&ratio.sampling))
}

/// A row for each pair and measure, for CSV.
pub fn exported(comparison: &StoredComparison, report: &StoredReport) -> Table {
    let columns = [
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
        "without_floor",
        "floor",
        "floor_source",
        "verdict",
        "other_machine",
    ];
    let mut table = Table::new("", "", &columns);
    let side = |index: u32| {
        let side = comparison.sides.get(index as usize);
        let run = side.and_then(|s| comparison.runs.get(s.run as usize));
        let number: Cell = run.map(|r| r.run.to_string()).into();
        [Cell::foreign(side.map_or("", |s| &s.label)), number, Cell::foreign(run.map_or("", |r| &r.uuid))]
    };
    for pair in &report.pairs {
        for ratio in &pair.ratios {
            let of_ratio = [
                match &ratio.measure {
                    ComparedBy::Time(m) => short(*m).to_lowercase().into(),
                    ComparedBy::Printed { metric } => Cell::foreign(format!("metric:{metric}")),
                    ComparedBy::Counter { counter } => counter.name().into(),
                },
                (pair.measure.as_ref() == Some(&ratio.measure)).to_string().into(),
                way(ratio.way).into(),
                ratio_figure(ratio).into(),
                by_samples(ratio),
                Cell::of(Unit::Share, ratio.floor.map(|f| f.share)),
                ratio.floor.map(|f| source(f.source)).into(),
                stored_verdict(ratio).into(),
                pair.other_machine.to_string().into(),
            ];
            table.row(side(pair.program).into_iter().chain(side(pair.reference)).chain(of_ratio), Vec::new());
        }
    }
    table
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

/// What both programs of these pairs print; a row for each value that has a ratio.
pub(crate) fn printed(words: &StoredWords<'_>, pairs: &[StoredPairReport]) -> Table {
    let mut table = Table::new(
        "Printed values",
        "Numbers that both programs print: medians of the retained samples. How far they differ from run to run is not known.",
        &["value", "program", "median", "against", "median", "ratio [95%]", "rests on"],
    );
    table.columns.iter_mut().skip(6).for_each(|column| column.detail = Detail::Full);
    for pair in pairs {
        for ratio in &pair.ratios {
            let ComparedBy::Printed { metric } = &ratio.measure else { continue };
            let median = |index: u32| {
                let metric = words.side(index)?.metrics.iter().find(|m| m.name == *metric)?;
                let digits = metric.interval.as_ref().ok().map(Interval::half_width);
                Some(Figure { digits, ..Figure::new(Unit::Plain, metric.median) })
            };
            let cells = [
                measured(&ratio.measure),
                words.name(pair.program),
                median(pair.program).into(),
                words.name(pair.reference),
                median(pair.reference).into(),
                ratio_figure(ratio).into(),
                words.basis(pair, ratio),
            ];
            table.row(cells, Vec::new());
        }
    }
    table
}

/// The times of these sides, a row for each measure; the sides without a time are omitted.
pub(crate) fn times(words: &StoredWords<'_>, sides: &[u32]) -> Table {
    let columns = ["program", "measure", "median [95%]", "samples"];
    let mut table = Table::new("Times", "Medians of the retained samples.", &columns);
    for (index, side) in sides.iter().filter_map(|index| Some((*index, words.side(*index)?))) {
        for (name, times) in named(words, index, side) {
            let cells = [name, spelled(times.measure).into(), median(times).into(), Cell::count(times.samples)];
            table.row(cells, Vec::new());
        }
    }
    table
}

pub(crate) fn median(times: &SeriesTimes) -> Figure {
    Figure::new(Unit::Time, times.median).with_interval(&times.interval)
}

/// A side's own times, and those of the reference of its run.
fn named<'a>(words: &StoredWords<'_>, index: u32, side: &'a StoredSide) -> Vec<(Cell, &'a SeriesTimes)> {
    let own = side.times.iter().map(|t| (words.name(index), t));
    let reference = side.against.iter().flat_map(|r| {
        let name = Cell::foreign(&r.label).and(", its reference");
        r.times.iter().map(move |t| (name.clone(), t))
    });
    own.chain(reference).collect()
}

/// The runs with their machines.
pub(crate) fn runs(words: &StoredWords<'_>, zone: &TimeZone) -> Table {
    let mut table = Table::new("Runs", "", &[">run", "began", "machine", "CPU", "kernel", "fingerprint"]);
    for run in &words.comparison.runs {
        let host = run.conditions.host();
        let cpu = host.cpu.value().map_or("", |cpu| cpu.as_str());
        let cells = [
            run.run.to_string().into(),
            Cell::date(run.created, zone),
            Cell::foreign(&host.name),
            Cell::text(format!("{} x ", host.cpus)).and(Cell::foreign(cpu)),
            Cell::foreign(&host.kernel),
            run.conditions.fingerprint().into(),
        ];
        table.row(cells, Vec::new());
    }
    table
}
