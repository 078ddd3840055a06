//! What the kernel and the PMU counted: instructions, cycles, cache misses, page faults and the like.

use crate::counted::summary;
use crate::printed::MetricScale;
use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::counters::{CounterSummary, CountersReport};
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_core::sample::counters::{Counter, CounterEvent, EventCount};
use tarebench_core::sample::data::Sample;
use tarebench_report::csv::{cell, number as exact};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::table::Table;
use tarebench_report::words::{Reasons, plural};

/// `scaled: counted 63 % of the time`, and in how many samples, if not in all of them.
fn marks(c: &CounterSummary) -> Option<String> {
    let mut marks = Vec::new();
    if let Some(scaled) = c.scaled {
        let least = number::percent(scaled.least).unwrap_or_default();
        let all = c.figures.value().is_some_and(|f| f.values == scaled.samples);
        let samples = if all { String::new() } else { format!(" in {}", plural(scaled.samples, "sample")) };
        let at_least = if scaled.samples > 1 { "at least " } else { "" };
        marks.push(format!("scaled: counted {at_least}{least} of the time{samples}"));
    }
    if c.user_only {
        marks.push("without the kernel".to_owned());
    }
    (!marks.is_empty()).then(|| marks.join(", "))
}

fn whole(value: f64) -> String {
    number::count(if value >= 1e3 { value.round() } else { value }).unwrap_or_default()
}

/// Draws the counters of a program, and why others are absent.
pub(crate) fn section(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let report = match &s.counters {
        Reading::Value(report) => report,
        Reading::Absent(why) => {
            let why = page.style.prose(&why.to_string());
            return page.painted_field("counters", Paint::Dim, &why);
        }
    };
    let mut reasons = Reasons::default();
    let mut items = Vec::new();
    for c in &report.counters {
        // Their sums stand for the parts.
        let part = |sum: Counter| report.get(sum).is_some_and(|c| c.figures.value().is_some());
        let is_part = match c.counter {
            Counter::InstructionsUser | Counter::InstructionsKernel => part(Counter::Instructions),
            Counter::CyclesUser | Counter::CyclesKernel => part(Counter::Cycles),
            _ => false,
        };
        match &c.figures {
            Reading::Value(_) if is_part => {}
            Reading::Value(f) => {
                let value = if c.counter == Counter::TaskClock {
                    format!("{} ms", number::fixed(f.mean / 1e6, 3).unwrap_or_default())
                } else {
                    whole(f.mean)
                };
                let marks = marks(c).map_or_else(String::new, |m| format!(" ({m})"));
                items.push(format!("{} {value}{marks}", c.counter.name()));
            }
            Reading::Absent(why) => reasons.add(c.counter.name(), why),
        }
    }
    items.extend(derived(report));
    page.field_items("counters", &items);
    let lines = reasons.lines(page);
    page.field_lines("", &lines);
}

/// Quotients of counters, as far as they are known.
fn derived(report: &CountersReport) -> Vec<String> {
    let share = |what: &str, r: &Reading<f64>| Some(format!("{what} {}", number::percent(*r.value()?)?));
    let plain = |what: &str, r: &Reading<f64>, decimals, unit: &str| {
        Some(format!("{what} {}{unit}", number::fixed(*r.value()?, decimals)?))
    };
    let all = [
        plain("instructions per cycle", &report.per_cycle, 2, ""),
        share("instructions in the kernel", &report.kernel_share),
        plain("clock", &report.clock_ghz, 3, " GHz"),
        share("branches missed", &report.branch_miss_rate),
        share("cache missed", &report.cache_miss_rate),
    ];
    all.into_iter().flatten().collect()
}

/// The counters of one program, for the page.
pub(crate) fn table(s: &SeriesReport) -> Option<Table> {
    let report = s.counters.value()?;
    let heads = ["counter", ">mean", ">s.d.", ">median", ">95% of the median", ">min", ">max", ">samples", "note"];
    let derived = derived(report);
    let derived = if derived.is_empty() { String::new() } else { format!(" Of these: {}.", derived.join(", ")) };
    let note = format!(
        "Events per execution, from exec on, of the whole process tree, of the samples whose elapsed time is retained; task-clock in \
         ns.{derived}"
    );
    let mut t = Table::new("Counters", note, &heads);
    for c in &report.counters {
        let name = c.counter.name().to_owned();
        let f = match &c.figures {
            Reading::Value(f) => f,
            Reading::Absent(why) => {
                let dashes = std::iter::repeat_n("–".to_owned(), 6);
                t.row(std::iter::once(name).chain(dashes).chain(["0".to_owned(), why.to_string()]), Vec::new());
                t.values(vec![None; heads.len()]);
                continue;
            }
        };
        let scale = MetricScale::of(f);
        let interval = match &f.median_interval {
            Ok(i) => format!("{} to {}", scale.value(i.low), scale.value(i.high)),
            Err(why) => why.to_string(),
        };
        let cells = vec![
            name,
            scale.value(f.mean),
            f.std_dev.map_or("–".to_owned(), |sd| scale.value(sd)),
            scale.value(f.median),
            interval,
            scale.value(f.min),
            scale.value(f.max),
            f.values.to_string(),
            marks(c).unwrap_or_default(),
        ];
        t.row(cells, Vec::new());
        let low = f.median_interval.as_ref().ok().map(|i| i.low);
        let numbers = [None, Some(f.mean), f.std_dev, Some(f.median), low, Some(f.min), Some(f.max)];
        t.values(numbers.into_iter().chain([Some(f64::from(f.values)), None]).collect());
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

/// What CSV has of each counter of a program, after `counter_NAME_`.
const COLUMNS: [&str; 10] = [
    "mean",
    "stddev",
    "median",
    "median_low",
    "median_high",
    "samples",
    // The least share of the time in which it was counted; empty where it was counted all the time.
    "scaled_from",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// The headings of [`series_cells`].
pub(crate) fn series_heads(report: &RunReport) -> Vec<String> {
    let heads_of = |counter: Counter| COLUMNS.map(|c| format!("counter_{}_{c}", head(counter)));
    if counted(report) { Counter::ALL.into_iter().flat_map(heads_of).collect() } else { Vec::new() }
}

/// The figures of a program's counters, empty where absent.
pub(crate) fn series_cells(report: &RunReport, series: usize) -> Vec<String> {
    if !counted(report) {
        return Vec::new();
    }
    let s = report.series.get(series);
    let compared = report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == series);
    let cells_of = |counter: Counter| {
        let c = s.and_then(|s| summary(s, counter));
        let f = c.and_then(|c| c.figures.value());
        let r = compared.and_then(|c| c.counters.iter().find(|r| r.counter == counter));
        let median = f.and_then(|f| f.median_interval.as_ref().ok());
        let ratio = r.and_then(|r| r.interval.as_ref().ok());
        [
            cell(f, |f| exact(f.mean)),
            cell(f.and_then(|f| f.std_dev), exact),
            cell(f, |f| exact(f.median)),
            cell(median, |i| exact(i.low)),
            cell(median, |i| exact(i.high)),
            cell(f, |f| f.values.to_string()),
            cell(c.and_then(|c| c.scaled), |s| exact(s.least)),
            cell(r, |r| exact(r.ratio)),
            cell(ratio, |i| exact(i.low)),
            cell(ratio, |i| exact(i.high)),
        ]
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
        assert!(
            full.contains("instructions 1000000000 ") && full.contains("instructions in the kernel 10 %"),
            "{full}"
        );
        assert!(full.contains("branches 1000000 (scaled: counted at least 63 % of the time in 4 samples)"), "{full}");
        assert!(full.contains("cache-misses: not available: the PMU of this CPU does not count it"), "{full}");
        assert!(!full.contains("instructions:u"), "a part of a sum that is known: {full}");
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
