//! The tables of a comparison of stored runs, for the terminal and the page.

use crate::compare::sentence::spelled;
use crate::compare::stored::said::{StoredWords, cell, marked_verdict};
use crate::printed;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::compare::stored::{ComparedBy, SeriesTimes, SideMetric, StoredSide};
use tarebench_core::compare::stored_report::{StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::number;
use tarebench_report::number::{TimeScale, TimeUnit};
use tarebench_report::table::Table;

/// A row for each pair, by the measure of its verdict.
pub(crate) fn ratios(words: &StoredWords<'_>, report: &StoredReport) -> Table {
    let timed = |pair: &StoredPairReport| matches!(pair.measure, Some(ComparedBy::Time(_)) | None);
    let of = if report.pairs.iter().all(timed) { "time" } else { "value" };
    let mut table = Table::new(
        "Comparison",
        format!("Ratio: {of} of the program divided by that of what it is compared with."),
        &["program", "against", "measure", ">ratio", ">95% interval", "verdict", ">between runs"],
    );
    for pair in &report.pairs {
        if let Some(ratio) = pair.chosen() {
            row(&mut table, words, pair, ratio);
        }
    }
    table
}

/// A row for each measure of a pair.
pub(crate) fn by_measure(words: &StoredWords<'_>, pair: &StoredPairReport) -> Table {
    let mut table = Table::new(
        "Ratios",
        "With the range by which two runs differ although the program does not, and without it.",
        &["measure", ">ratio", ">95% interval", ">without it", "verdict", ">between runs", "by"],
    );
    for ratio in &pair.ratios {
        let (value, interval) = cell(ratio);
        let without = cell(&StoredRatio { interval: ratio.sampling.clone(), ..ratio.clone() }).1;
        let absent = || words.g.absent.to_owned();
        let cells = vec![
            words.what(&ratio.measure),
            value.unwrap_or_else(absent),
            interval.unwrap_or_else(absent),
            without.unwrap_or_else(absent),
            marked_verdict(pair, ratio),
            floor(words, ratio),
            words.basis(pair, ratio),
        ];
        table.row(cells, Vec::new());
        let share = ratio.floor.map(|f| f.share);
        table.values(vec![None, Some(ratio.ratio), low(ratio), None, None, share, None]);
    }
    table
}

fn low(ratio: &StoredRatio) -> Option<f64> {
    ratio.interval.as_ref().ok().map(|i| i.low)
}

fn floor(words: &StoredWords<'_>, ratio: &StoredRatio) -> String {
    let percent = ratio.floor.and_then(|f| number::percent(f.share));
    percent.map_or_else(String::new, |p| format!("{} {p}", words.g.plus_minus))
}

fn row(table: &mut Table, words: &StoredWords<'_>, pair: &StoredPairReport, ratio: &StoredRatio) {
    let (value, interval) = cell(ratio);
    let absent = || words.g.absent.to_owned();
    let cells = vec![
        words.name(pair.program),
        words.name(pair.reference),
        words.what(&ratio.measure),
        value.unwrap_or_else(absent),
        interval.unwrap_or_else(absent),
        marked_verdict(pair, ratio),
        floor(words, ratio),
    ];
    table.row(cells, Vec::new());
    let share = ratio.floor.map(|f| f.share);
    table.values(vec![None, None, None, Some(ratio.ratio), low(ratio), None, share]);
}

/// What both programs of these pairs print; a row for each value that has a ratio.
pub(crate) fn printed(words: &StoredWords<'_>, pairs: &[StoredPairReport]) -> Table {
    let mut table = Table::new(
        "Printed values",
        "Numbers that both programs print: medians of the retained samples. How far they differ from run to run is not known.",
        &["value", "program", ">median", "against", ">median", ">ratio", ">95% interval", "by"],
    );
    for pair in pairs {
        for ratio in &pair.ratios {
            let ComparedBy::Printed { metric } = &ratio.measure else { continue };
            let side = |index: u32| {
                let side = words.comparison.sides.get(index as usize)?;
                side.metrics.iter().find(|m| m.name == *metric)
            };
            let absent = || words.g.absent.to_owned();
            let median = |m: Option<&SideMetric>| m.map_or_else(absent, |m| printed::median(m.median, &m.interval));
            let (program, reference) = (side(pair.program), side(pair.reference));
            let (value, interval) = cell(ratio);
            let cells = vec![
                words.what(&ratio.measure),
                words.name(pair.program),
                median(program),
                words.name(pair.reference),
                median(reference),
                value.unwrap_or_else(absent),
                interval.unwrap_or_else(absent),
                words.basis(pair, ratio),
            ];
            table.row(cells, Vec::new());
            let medians = [program, reference].map(|m| m.map(|m| m.median));
            table.values(vec![None, None, medians[0], None, medians[1], Some(ratio.ratio), low(ratio), None]);
        }
    }
    table
}

/// The times of these sides, a row for each measure; the sides without a time are omitted.
pub(crate) fn times(words: &StoredWords<'_>, sides: &[u32], unit: Option<TimeUnit>) -> Table {
    let mut table = Table::new(
        "Times",
        "Medians of the retained samples.",
        &["program", "measure", ">median", ">95% interval", ">samples"],
    );
    let all = sides.iter().filter_map(|i| Some((*i, words.comparison.sides.get(*i as usize)?)));
    for (index, side) in all {
        for (name, times) in named(words, index, side) {
            let (median, interval) = median(times, unit, words.unicode);
            let cells = vec![name, spelled(times.measure).to_owned(), median, interval, times.samples.to_string()];
            table.row(cells, Vec::new());
            let low = times.interval.as_ref().ok().map(|i| i.low);
            table.values(vec![None, None, Some(times.median), low, Some(f64::from(times.samples))]);
        }
    }
    table
}

/// A side's own times, and those of the reference of its run.
fn named<'a>(words: &StoredWords<'_>, index: u32, side: &'a StoredSide) -> Vec<(String, &'a SeriesTimes)> {
    let own = side.times.iter().map(|t| (words.name(index), t));
    let reference = side.against.iter().flat_map(|r| {
        let name = format!("{}, its reference", (words.show)(&r.label));
        r.times.iter().map(move |t| (name.clone(), t))
    });
    own.chain(reference).collect()
}

fn median(times: &SeriesTimes, unit: Option<TimeUnit>, unicode: bool) -> (String, String) {
    let interval = times.interval.as_ref().ok();
    let scale = TimeScale::of(times.median, interval.map(Interval::half_width), unit);
    let value = |ns: f64| scale.value(ns).unwrap_or_default();
    let median = format!("{} {}", value(times.median), scale.unit.sign(unicode));
    (median, interval.map_or_else(String::new, |i| format!("[{}, {}]", value(i.low), value(i.high))))
}

/// The runs with their machines.
pub(crate) fn runs(words: &StoredWords<'_>, zone: &TimeZone) -> Table {
    let mut table = Table::new("Runs", "", &[">run", "began", "machine", "CPU", "kernel", "fingerprint"]);
    for run in &words.comparison.runs {
        let host = run.conditions.host();
        let cpu = host.cpu.value().map_or_else(String::new, |cpu| (words.show)(cpu));
        let cells = vec![
            run.run.to_string(),
            date(run.created, zone),
            (words.show)(&host.name),
            format!("{} x {cpu}", host.cpus),
            (words.show)(&host.kernel),
            run.conditions.fingerprint().to_owned(),
        ];
        table.row(cells, Vec::new());
    }
    table
}
