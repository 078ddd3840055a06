//! What the kernel and the PMU counted: instructions, cycles, cache misses, page faults and the like.

use crate::counted::summary;
use crate::printed::cells;
use crate::run::csv_cells;
use crate::run::csv_cells::NamedCell;
use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::counters::{CounterSummary, CountersReport};
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_core::sample::counters::{Counter, CounterEvent, EventCount};
use tarebench_core::sample::data::Sample;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::csv::{cell, number as exact};
use tarebench_report::table::Table;
use tarebench_report::words::plural;

/// `scaled: counted 63 % of the time`, and in how many samples, if not in all of them.
fn marks(c: &CounterSummary) -> Option<Cell> {
    let scaled = c.scaled.map(|scaled| {
        let all = c.figures.value().is_some_and(|f| f.values == scaled.samples);
        let samples = if all { String::new() } else { format!(" in {}", plural(scaled.samples, "sample")) };
        let at_least = if scaled.samples > 1 { "at least " } else { "" };
        let least = Cell::of(Unit::Share, scaled.least);
        Cell::text(format!("scaled: counted {at_least}")).and(least).and(format!(" of the time{samples}"))
    });
    let user = c.user_only.then(|| Cell::text("without the kernel"));
    [scaled, user].into_iter().flatten().reduce(|all, next| all.and(", ").and(next))
}

/// Quotients of counters, as far as they are known.
fn derived(report: &CountersReport) -> Option<Cell> {
    let figure = |unit, r: &Reading<f64>| r.value().map(|v| Cell::of(unit, *v));
    let all = [
        ("instructions per cycle ", figure(Unit::Ratio, &report.per_cycle), ""),
        ("instructions in the kernel ", figure(Unit::Share, &report.kernel_share), ""),
        ("clock ", figure(Unit::Ratio, &report.clock_ghz), " GHz"),
        ("branches missed ", figure(Unit::Share, &report.branch_miss_rate), ""),
        ("cache missed ", figure(Unit::Share, &report.cache_miss_rate), ""),
    ];
    let known = all.into_iter().filter_map(|(what, cell, unit)| Some(Cell::text(what).and(cell?).and(unit)));
    known.reduce(|all, next| all.and(", ").and(next))
}

/// The counters of one program.
pub(crate) fn table(s: &SeriesReport) -> Option<Table> {
    let report = s.counters.value()?;
    let what =
        "Events per execution, from exec on, of the whole process tree, of the samples whose elapsed time is retained.";
    let note = match derived(report) {
        Some(derived) => Cell::text(format!("{what} Of these: ")).and(derived).and("."),
        None => what.into(),
    };
    let heads = ["counter", "mean ± s.d.", "median [95%]", ">min", ">max", ">samples", "note"];
    let mut t = Table::new("Counters", note, &heads);
    for c in &report.counters {
        let name = Cell::text(c.counter.name());
        match &c.figures {
            Reading::Value(f) => {
                let unit = if c.counter == Counter::TaskClock { Unit::Time } else { Unit::Plain };
                let [mean, median, min, max] = cells(unit, f);
                t.row([name, mean, median, min, max, Cell::count(f.values), marks(c).unwrap_or_default()], Vec::new());
            }
            Reading::Absent(why) => {
                let none = std::iter::repeat_n(Cell::absent(), 4);
                let rest = [Cell::count(0), Cell::text(why.to_string())];
                t.row([name].into_iter().chain(none).chain(rest), Vec::new());
            }
        }
    }
    Some(t)
}

/// Whether CSV has the counters.
fn counted(report: &RunReport) -> bool {
    report.series.iter().any(|s| s.counters.value().is_some())
}

/// A name in a heading: `branch_misses`, `cycles_user`.
fn head(counter: Counter) -> String {
    counter.name().replace(":u", "_user").replace(":k", "_kernel").replace('-', "_")
}

/// The figures of a program's counters, empty where absent.
pub(crate) fn series_cells(report: &RunReport, series: usize) -> Vec<NamedCell> {
    if !counted(report) {
        return Vec::new();
    }
    let s = report.series.get(series);
    let compared = report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == series);
    let cells_of = |counter: Counter| {
        let key = format!("counter_{}", head(counter));
        let c = s.and_then(|s| summary(s, counter));
        let f = c.and_then(|c| c.figures.value());
        let mut row = csv_cells::figures(&key, f);
        row.extend([
            (format!("{key}_samples"), cell(f, |f| f.values.to_string())),
            // The least share of the time in which it was counted; empty where it was counted all the time.
            (format!("{key}_scaled_from"), cell(c.and_then(|c| c.scaled), |s| exact(s.least))),
        ]);
        let ratio = compared.and_then(|c| c.counters.iter().find(|r| r.counter == counter));
        row.extend(csv_cells::estimate(&format!("{key}_ratio"), ratio.map(|r| (r.ratio, &r.interval))));
        row
    };
    Counter::ALL.into_iter().flat_map(cells_of).collect()
}

/// The headings of [`sample_cells`]: of each event the count, and the times that say whether it is a part of the truth only.
pub(crate) fn sample_heads(report: &RunReport) -> Vec<String> {
    let of =
        |event: CounterEvent| ["", "_enabled_ns", "_running_ns"].map(|c| format!("counter_{}{c}", event_head(event)));
    if counted(report) { CounterEvent::ALL.into_iter().flat_map(of).collect() } else { Vec::new() }
}

fn event_head(event: CounterEvent) -> String {
    let counter = Counter::ALL.into_iter().find(|c| c.events() == [event]);
    counter.map_or_else(String::new, head)
}

/// What was counted of a sample, as it was read.
pub(crate) fn sample_cells(report: &RunReport, sample: &Sample) -> Vec<String> {
    if !counted(report) {
        return Vec::new();
    }
    let cells_of = |event: CounterEvent| {
        let count: Option<&EventCount> = sample.counters.value().and_then(|c| c.get(event).ok());
        let times = count.and_then(|c| c.times.value());
        [
            cell(count, |c| c.count.to_string()),
            cell(times, |t| t.enabled.0.to_string()),
            cell(times, |t| t.running.0.to_string()),
        ]
    };
    CounterEvent::ALL.into_iter().flat_map(cells_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::terminal::report::run_report;
    use crate::run::{csv, fixtures, markup};
    use tarebench_core::base::reading::Absent;
    use tarebench_core::run::report::counters::{CounterRatio, ScaledCounter};
    use tarebench_core::run::report::data::ComparedNumber;
    use tarebench_core::run::report::metrics::MetricFigures;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_report::markup::Markup;
    use tarebench_report::style::Style;

    fn summary(counter: Counter, mean: f64, scaled: Option<ScaledCounter>) -> CounterSummary {
        let interval = Ok(Interval { low: mean * 0.99, high: mean * 1.01, level: 0.95 });
        let (std_dev, values) = (Some(mean / 100.0), 10);
        let figures =
            MetricFigures { values, mean, std_dev, median: mean, median_interval: interval, min: mean, max: mean };
        CounterSummary { counter, figures: Reading::Value(figures), missing: 0, scaled, user_only: false }
    }

    /// Two programs, of which the second executes twice as many instructions, and one counter that is scaled.
    fn counted() -> RunReport {
        let mut report = fixtures::two();
        for (i, s) in report.series.iter_mut().enumerate() {
            let why = || Absent::NotSupported("the PMU of this CPU does not count it".into());
            let absent = || Reading::Absent(why());
            let none = CounterSummary { figures: Reading::Absent(why()), ..summary(Counter::CacheMisses, 1.0, None) };
            let scaled = ScaledCounter { samples: 4, least: 0.63 };
            s.counters = Reading::Value(CountersReport {
                counters: vec![
                    summary(Counter::Instructions, 1e9 * (i + 1) as f64, None),
                    summary(Counter::InstructionsUser, 9e8, None),
                    summary(Counter::Branches, 1e6, Some(scaled)),
                    none,
                ],
                per_cycle: absent(),
                kernel_share: Reading::Value(0.1),
                clock_ghz: absent(),
                branch_miss_rate: absent(),
                cache_miss_rate: absent(),
            });
        }
        for c in &mut report.comparisons {
            let interval = Ok(Interval { low: 1.99, high: 2.01, level: 0.95 });
            let ratio = |counter| CounterRatio { counter, ratio: 2.0, interval: interval.clone(), pairs: 10 };
            c.counters = vec![ratio(Counter::Instructions), ratio(Counter::Branches)];
        }
        report
    }

    #[test]
    fn counters_are_shown_in_full_only_and_estimates_are_marked() {
        let style = |full| Style { width: 200, full, unicode: true, ..Style::default() };
        let full = run_report(&counted(), &style(true));
        let flat = full.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("instructions 1000000000 ") && flat.contains("instructions in the kernel 10 %"),
            "{full}"
        );
        assert!(flat.contains(" scaled: counted at least 63 % of the time in 4 samples"), "{full}");
        assert!(flat.contains("cache-misses – – – – 0 not available: the PMU of this CPU does not count it"), "{full}");
        let brief = run_report(&counted(), &style(false));
        assert!(!brief.contains("instructions"), "{brief}");
    }

    #[test]
    fn a_comparison_by_a_counter_names_it_and_marks_estimates() {
        let style = Style { width: 200, unicode: true, ..Style::default() };
        let mut report = counted();
        assert_eq!(report.compare_by_number(ComparedNumber::Counter(Counter::Instructions)), Ok(()));
        let said = run_report(&report, &style);
        assert!(said.contains(" times the instructions of ") && said.contains("count, "), "{said}");
        assert!(!said.contains("scaled"), "{said}");
        let table = markup::markup(&report, Markup::Markdown, None, tarebench_report::style::Sort::Auto);
        assert!(table.contains("| Relative (instructions) | instructions |"), "{table}");
        assert_eq!(report.compare_by_number(ComparedNumber::Counter(Counter::Branches)), Ok(()));
        let said = run_report(&report, &style);
        assert!(said.contains(" times the branches of ") && said.contains("count, scaled"), "{said}");
        let table = markup::markup(&report, Markup::Markdown, None, tarebench_report::style::Sort::Auto);
        assert!(table.contains("(scaled)"), "{table}");
    }

    #[test]
    fn csv_has_an_empty_cell_for_what_is_absent() {
        let text = csv::series(&counted()).unwrap();
        let mut rows = ::csv::Reader::from_reader(text.as_bytes());
        let heads = rows.headers().unwrap().clone();
        let row = rows.records().next().unwrap().unwrap();
        let cell = |name: &str| row.get(heads.iter().position(|h| h == name).unwrap()).unwrap();
        assert_eq!(cell("counter_instructions_mean"), "1000000000");
        assert_eq!((cell("counter_branches_scaled_from"), cell("counter_instructions_scaled_from")), ("0.63", ""));
        assert_eq!((cell("counter_cache_misses_mean"), cell("counter_cache_misses_samples")), ("", ""));
        let plain = csv::series(&fixtures::two()).unwrap();
        assert!(!plain.contains("counter_"), "nothing was counted");
    }
}
