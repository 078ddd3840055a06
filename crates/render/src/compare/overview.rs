//! The first view of a run's page: who is faster, by how much, and where the time went.

use crate::compare::duets::reason;
use crate::compare::rows::{by_measure, by_number, mean, ordering_mean, ranked};
use crate::compare::sentence::{Answer, BesideMeasure, Sentence, answer, spelled, verdict_word};
use crate::compare::table::label;
use crate::counted;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::plan::RunCount;
use tarebench_core::run::report::account::{AccountReport, EntryKind};
use tarebench_core::run::report::data::{
    ComparedNumber, Comparison, Measure, MeasureReport, RatioBasis, RunReport, SeriesReport,
};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::style::Paint;
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::{AccountBar, AccountPart, Overview, OverviewRow, OverviewVerdict, PageDuets};
use tarebench_report::words::plural;

/// Id of a program's plot.
pub(crate) fn plot_id(series: usize) -> String {
    format!("program-{}", series + 1)
}

/// The result of a run, with what its duets say; `None` if it has no program.
pub(crate) fn overview(report: &RunReport, duets: Option<PageDuets>) -> Option<Overview> {
    let first = report.series.first()?;
    let measure = measure(report);
    let order = order(report, measure);
    let compared = report.series.len() > 1;
    let rows = if compared {
        order.iter().filter_map(|&i| Some(program(report, i, report.series.get(i)?, measure))).collect()
    } else {
        measures(first)
    };
    let accounts = order.iter().filter_map(|&i| {
        let s = report.series.get(i)?;
        Some(account(s, plot_id(i), s.account.value()?))
    });
    Some(Overview {
        answers: answers(report, &order, measure),
        note: note(report, measure),
        what: if compared { "program" } else { "measure" },
        measure: if compared { name(measure) } else { "time" },
        compared,
        rows,
        accounts: accounts.collect(),
        duets,
    })
}

/// The measure of the comparison; without one, process time if all programs have it.
fn measure(report: &RunReport) -> Measure {
    let without = report.series.iter().any(|s| s.pt.value().is_none());
    match report.comparisons.first() {
        Some(c) if !without || c.measure != Measure::Pt => c.measure,
        _ if without => Measure::Et,
        _ => Measure::Pt,
    }
}

fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Pt => "CPU time (PT)",
        Measure::Et => "elapsed time (ET)",
        Measure::Net => "net time",
    }
}

/// Programs by their means; those of a scan in the order of its parameters; the control at the end.
fn order(report: &RunReport, measure: Measure) -> Vec<usize> {
    let mut order = ranked(report);
    let controls: Vec<usize> = (0..report.series.len()).filter(|i| !order.contains(i)).collect();
    if report.series.iter().all(|s| s.program.parameters.is_empty()) {
        let mean = |i: &usize| ordering(report, *i, measure).unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    }
    order.extend(controls);
    order
}

/// What orders the programs.
fn ordering(report: &RunReport, series: usize, measure: Measure) -> Option<f64> {
    report.series.get(series).and_then(|s| ordering_mean(report, s, measure))
}

fn ratio(value: f64, interval: &Result<Interval, NoInterval>) -> Figure {
    Figure::new(Unit::Ratio, value).with_interval(interval)
}

fn samples(m: &MeasureReport) -> String {
    match m.discarded_by_cutoff + m.discarded_by_sigma {
        0 => format!("{} samples", m.samples),
        gone => format!("{} of {} samples, {gone} discarded", m.retained, m.samples),
    }
}

fn program(report: &RunReport, i: usize, s: &SeriesReport, measure: Measure) -> OverviewRow {
    let all = || report.comparisons.iter().chain(&report.control);
    let compared = all().find(|c| c.series as usize == i);
    let reference = all().any(|c| c.reference as usize == i);
    let verdict = match compared {
        _ if s.program.control => Some(OverviewVerdict::Control),
        Some(c) => verdict(c),
        None => reference.then_some(OverviewVerdict::Reference),
    };
    let m = by_measure(s, measure).value();
    let shown = compared.filter(|c| c.measure == measure);
    let alone = shown.filter(|c| c.basis == RatioBasis::Duets).and_then(|c| c.by(c.measure));
    OverviewRow {
        title: Cell::foreign(&s.program.label),
        plot: plot_id(i),
        mean: m.map(mean),
        ratio: shown.map(|c| ratio(c.ratio, &c.interval)),
        alone: alone.map(|a| ratio(a.ratio, &a.interval)),
        basis: shown.map_or_else(String::new, basis).into(),
        limit: None,
        verdict,
        samples: m.map_or_else(|| missing(s), samples).into(),
    }
}

/// `None` where what the program prints or counts is lower or higher, which is neither faster nor slower: its basis says so.
fn verdict(c: &Comparison) -> Option<OverviewVerdict> {
    match c.verdict {
        Verdict::Faster | Verdict::Slower if c.number().is_some() => None,
        Verdict::Faster => Some(OverviewVerdict::Faster),
        Verdict::Slower => Some(OverviewVerdict::Slower),
        Verdict::Same => Some(OverviewVerdict::Same),
        Verdict::Undecided => Some(OverviewVerdict::Undecided),
    }
}

/// `12 duets`, `10 pairs`; `higher, 10 pairs` of what programs print.
fn basis(c: &Comparison) -> String {
    let pairs = plural(c.pairs, if c.basis == RatioBasis::Duets { "duet" } else { "pair" });
    match verdict(c) {
        None => format!("{}, {pairs}", verdict_word(c)),
        Some(_) => pairs,
    }
}

fn missing(s: &SeriesReport) -> String {
    if s.counted == 0 { "no samples".to_owned() } else { "no successful sample".to_owned() }
}

/// The measures of a single program.
fn measures(s: &SeriesReport) -> Vec<OverviewRow> {
    let all = [Measure::Et, Measure::Pt, Measure::Net].into_iter().filter_map(|measure| {
        let m = by_measure(s, measure).value()?;
        Some(OverviewRow {
            title: name(measure).to_owned().into(),
            plot: plot_id(0),
            mean: Some(mean(m)),
            ratio: None,
            alone: None,
            basis: String::new().into(),
            limit: None,
            verdict: None,
            samples: samples(m).into(),
        })
    });
    all.collect()
}

fn answers(report: &RunReport, order: &[usize], measure: Measure) -> Vec<Cell> {
    let Some(&first) = order.first() else { return Vec::new() };
    match ranked(report).as_slice() {
        [only] => report.series.get(*only).map(alone).into_iter().collect(),
        [_, _] => report.comparisons.iter().flat_map(|c| against(report, c)).collect(),
        _ => several(report, first, measure),
    }
}

fn alone(s: &SeriesReport) -> Cell {
    let name = Cell::foreign(&s.program.label);
    let shown = |m: &MeasureReport| Cell::figure(Figure::new(Unit::Time, m.mean).with_spread(m.std_dev));
    match (s.et.value(), s.pt.value()) {
        (None, None) => name.and(format!(": {}.", missing(s))),
        (Some(et), None) => name.and(" takes ").and(shown(et)).and(" (elapsed time)."),
        (None, Some(pt)) => name.and(" takes ").and(shown(pt)).and(" of CPU time."),
        (Some(et), Some(pt)) => {
            name.and(" takes ").and(shown(et)).and(", of which ").and(shown(pt)).and(" are CPU time.")
        }
    }
}

/// The sentences of a comparison.
fn against(report: &RunReport, c: &Comparison) -> Vec<Cell> {
    let names: Vec<Cell> = report.series.iter().map(|s| Cell::foreign(&s.program.label)).collect();
    match answer(report, c, &names) {
        Answer::Agreed(s, beside) => {
            let said = s.whole().and(format!(": {}, {}", s.by, s.pairs));
            let other = |said: Cell, b: BesideMeasure| said.and(format!("; {}: ", spelled(b.measure))).and(b.ratio);
            vec![beside.into_iter().fold(said, other).and(".")]
        }
        Answer::Disagreed(sentences) => {
            let said =
                |s: &Sentence| Cell::text(format!("By {}: ", s.by)).and(s.whole()).and(format!(", {}.", s.pairs));
            sentences.iter().map(said).collect()
        }
    }
}

fn several(report: &RunReport, first: usize, measure: Measure) -> Vec<Cell> {
    let mean = |i: &usize| ordering(report, *i, measure);
    let fastest = ranked(report)
        .into_iter()
        .filter(|i| mean(i).is_some())
        .min_by(|a, b| mean(a).unwrap_or(f64::INFINITY).total_cmp(&mean(b).unwrap_or(f64::INFINITY)));
    let named = |i: usize| report.series.get(i).map(|s| Cell::foreign(&s.program.label)).unwrap_or_default();
    let Some(fastest) = fastest else { return vec![named(first).and(": no successful sample.")] };
    let what = by_number(report).map_or_else(|| name(measure).into(), counted::name_of);
    let least = named(fastest).and(" has the lowest mean ").and(what).and(".");
    let compared = report.comparisons.iter().find(|c| c.series as usize == fastest);
    std::iter::once(least).chain(compared.and_then(|c| against(report, c).into_iter().next())).collect()
}

fn note(report: &RunReport, measure: Measure) -> Cell {
    let means = "Means ± standard deviation of the retained samples, with the 95% interval of the mean.";
    let Some(c) = report.comparisons.first().or(report.control.as_ref()) else { return means.into() };
    let reference = label(report, c.reference);
    let lead = Cell::text(format!("{means} Ratio: "));
    if let Some(number) = by_number(report) {
        let whose = match number {
            ComparedNumber::Printed(_) => ", which the program prints, divided by that of ",
            ComparedNumber::Counter(_) => ", counted by the kernel or the PMU, divided by that of ",
        };
        let how = ", the median of the pairs of executions alone with its 95% interval.";
        return lead.and(counted::name_of(number)).and(whose).and(reference).and(how);
    }
    let of = if c.ratio_measure() == Measure::Net { Measure::Net } else { measure };
    let what = lead.and(format!("{} divided by that of ", name(of))).and(reference);
    let all = || report.comparisons.iter().chain(&report.control);
    let by_duets = all().filter(|c| c.basis == RatioBasis::Duets).count();
    let duets = "Hodges and Lehmann's estimate over the duets with its 95% signed-rank interval";
    if by_duets > 0 && by_duets == all().count() {
        return what.and(format!(", {duets}; paler, that of executions alone, the median of their pairs."));
    }
    let pairs = if report.comparisons.iter().all(|c| c.paired_in_time) {
        "samples of the same round"
    } else {
        "samples that were not taken next to each other, so that a drift of the machine looks like a difference"
    };
    let duets = if by_duets > 0 { format!("; by duets, {duets}") } else { String::new() };
    // One that was looked at while it grew has the same estimate and the interval for all looks.
    let repeated = matches!(report.run.plan.runs, RunCount::Detect { .. });
    let how = if repeated { "Hodges and Lehmann's estimate over" } else { "the median of" };
    what.and(format!(", {how} the pairs with its 95% interval; pairs are {pairs}{duets}."))
}

/// The rows as a table.
pub(crate) fn table(overview: &Overview) -> Table {
    let columns = [
        Column::new(overview.what),
        Column::new(format!("mean ± s.d. [95%]: {}", overview.measure)),
        Column::new("ratio [95%]"),
        Column::new("verdict"),
        Column::new("ratio alone"),
        Column::new("rests on"),
        Column::new("samples"),
    ];
    let mut t = Table::of("", "", columns);
    for row in &overview.rows {
        let optional = |figure: &Option<Figure>| figure.clone().map(Cell::figure).unwrap_or_default();
        let verdict = row.verdict.map(verdict_cell).unwrap_or_default();
        let mean = Cell::from(row.mean.clone());
        let cells = [row.title.clone(), mean, optional(&row.ratio), verdict, optional(&row.alone), row.basis.clone()];
        t.row(cells.into_iter().chain([row.samples.clone()]), Vec::new());
    }
    t
}

fn verdict_cell(verdict: OverviewVerdict) -> Cell {
    let (word, paint) = match verdict {
        OverviewVerdict::Faster => ("faster", Paint::Good),
        OverviewVerdict::Slower => ("slower", Paint::Bad),
        OverviewVerdict::Same => ("same", Paint::Plain),
        OverviewVerdict::Undecided => ("undecided", Paint::Warn),
        OverviewVerdict::Reference => ("reference", Paint::Dim),
        OverviewVerdict::Control => ("control", Paint::Dim),
        // Of gates, which have tables of their own.
        _ => ("", Paint::Plain),
    };
    Cell::text(word).paint(paint)
}

/// So many reasons why there are no duets are given.
const REASONS: usize = 3;

/// Why there are no duets, where they would have been made.
pub(crate) fn without_duets(report: &RunReport) -> Option<String> {
    let names: Vec<String> = report.series.iter().map(|s| s.program.label.clone()).collect();
    let missing = report.comparisons.iter().filter_map(|c| c.duets.as_ref()?.as_ref().err());
    let mut reasons: Vec<String> = Vec::new();
    for why in missing.map(|why| reason(why, &names, true)) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let rest = reasons.len().saturating_sub(REASONS);
    reasons.truncate(REASONS);
    let more = if rest > 0 { format!("; and {}", plural(rest as u64, "other reason")) } else { String::new() };
    (!reasons.is_empty()).then(|| format!("no duets: {}{more}", reasons.join("; ")))
}

/// Kinds of entries that are one part of a bar, with the name of its look.
const PARTS: [(&str, &str, &[EntryKind]); 9] = [
    ("net", "net", &[EntryKind::Net]),
    ("interrupts", "interrupts and softirqs", &[EntryKind::Interrupt, EntryKind::Softirq]),
    ("stolen", "stolen by the hypervisor", &[EntryKind::Stolen]),
    ("throttled", "throttled by a quota", &[EntryKind::Throttled]),
    ("preempted", "waited for other tasks", &[EntryKind::Preempted]),
    ("waiting", "waited for a CPU or its own tasks", &[EntryKind::Waiting, EntryKind::Own]),
    ("asleep", "asleep", &[EntryKind::Blocked]),
    ("launch", "launch and reaping", &[EntryKind::Launch, EntryKind::Reap]),
    ("unattributed", "unattributed", &[EntryKind::Unattributed]),
];

fn account(s: &SeriesReport, plot: String, a: &AccountReport) -> AccountBar {
    let time = |ns: f64| Cell::time(ns).plain();
    let share =
        |ns: f64| if a.gross > 0.0 { Cell::text(", ").and(Cell::of(Unit::Share, ns / a.gross)) } else { Cell::empty() };
    let parts = PARTS.iter().map(|(kind, title, kinds)| {
        let time_of: f64 = a.elapsed.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.time).sum();
        AccountPart { kind, title, time: time_of, text: Cell::time(time_of).and(share(time_of)).plain() }
    });
    let parts: Vec<AccountPart> = parts.collect();
    let net: f64 = parts.iter().filter(|p| p.kind == "net").map(|p| p.time).sum();
    AccountBar {
        title: s.program.label.clone(),
        plot,
        gross: a.gross,
        text: format!("{} = {} + {}", time(a.gross), time(net), time(a.gross - net)),
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    #[test]
    fn the_fastest_program_stands_first_with_its_ratio() {
        let report = fixtures::three();
        let o = overview(&report, None).unwrap();
        assert!(o.compared);
        let means: Vec<f64> = o.rows.iter().filter_map(|r| r.mean.as_ref()).map(|m| m.value).collect();
        assert_eq!(means.len(), 3);
        assert!(means.is_sorted(), "{means:?}");
        let reference = report.comparisons[0].reference as usize;
        let row = o.rows.iter().find(|r| r.plot == plot_id(reference)).unwrap();
        assert_eq!((row.verdict, row.ratio.as_ref()), (Some(OverviewVerdict::Reference), None));
        for c in &report.comparisons {
            let row = o.rows.iter().find(|r| r.plot == plot_id(c.series as usize)).unwrap();
            assert_eq!(row.ratio.as_ref().map(|r| r.value), Some(c.ratio));
            assert_eq!(
                row.ratio.as_ref().and_then(|r| r.bounds()).map(|i| i.low),
                c.interval.as_ref().ok().map(|i| i.low)
            );
        }
    }

    #[test]
    fn the_page_says_what_the_terminal_says() {
        let said = |r: &RunReport| overview(r, None).unwrap().answers;
        let expected = "xz -0 -k -c numbers.txt is 2.58 [2.50, 2.70] times as fast as gzip -6 -k -c numbers.txt: CPU time, \
                        10 pairs; elapsed time: 2.44 [2.20, 2.60].";
        assert_eq!(said(&fixtures::two()), [expected]);
        let expected = [
            "By CPU time: sleep 0.05 is 48.7 [46.2, 50.1] times as fast as factor 1234567, 10 pairs.",
            "By elapsed time: factor 1234567 is 1.675 [1.656, 1.698] times as fast as sleep 0.05, 10 pairs.",
        ];
        assert_eq!(said(&fixtures::waits()), expected);
    }

    #[test]
    fn a_single_program_has_a_row_for_each_measure() {
        let report = fixtures::one();
        let o = overview(&report, None).unwrap();
        assert!(!o.compared);
        assert_eq!(o.rows[0].title, "elapsed time (ET)");
        assert!(o.rows.iter().all(|r| r.ratio.is_none() && r.verdict.is_none()));
        assert_eq!(o.answers.len(), 1);
    }

    #[test]
    fn the_parts_of_an_account_add_up_to_the_elapsed_time() {
        let report = fixtures::one();
        let o = overview(&report, None).unwrap();
        let bar = o.accounts.first().unwrap();
        let account = report.series[0].account.value().unwrap();
        let listed: f64 = account.elapsed.iter().map(|e| e.time).sum();
        let drawn: f64 = bar.parts.iter().map(|p| p.time).sum();
        assert!((drawn - listed).abs() < 1e-6 * listed, "{drawn} of {listed}");
        let kinds: Vec<&str> = bar.parts.iter().map(|p| p.kind).collect();
        assert_eq!(kinds.first(), Some(&"net"));
    }

    #[test]
    fn a_scan_stays_in_the_order_of_its_parameters() {
        let report = fixtures::scan();
        let o = overview(&report, None).unwrap();
        let plots: Vec<String> = o.rows.iter().map(|r| r.plot.clone()).collect();
        let expected: Vec<String> = (0..report.series.len()).map(plot_id).collect();
        assert_eq!(plots, expected);
    }

    #[test]
    fn whatever_is_absent_the_sentences_are_whole() {
        for report in [fixtures::absent(), fixtures::troubled(), fixtures::hostile()] {
            let o = overview(&report, None).unwrap();
            for text in o.answers.iter().map(Cell::plain) {
                assert!(text.ends_with('.') && !text.contains("NaN") && !text.contains('\n'), "{text}");
            }
        }
    }

    #[test]
    fn the_ratio_is_that_of_the_duets_with_that_of_executions_alone_beside() {
        let report = fixtures::duets();
        let o = overview(&report, None).unwrap();
        let row = o.rows.iter().find(|r| r.plot == plot_id(1)).unwrap();
        assert_eq!((row.basis.plain(), row.verdict), ("12 duets".to_owned(), Some(OverviewVerdict::Slower)));
        let texts = |e: &Option<Figure>| Cell::from(e.clone()).plain();
        assert_eq!(texts(&row.ratio), "1.0083 [1.0063, 1.0111]");
        assert_eq!(texts(&row.alone), "1.010 [0.980, 1.040]");
        assert_eq!(
            o.answers,
            [
                "./inc 60000 is 1.0083 [1.0063, 1.0111] times as fast as ./inc 60600: CPU time, 12 duets; elapsed time: 1.020 \
              [0.990, 1.050]."
            ]
        );
        assert!(o.note.plain().contains("signed-rank") && !o.note.plain().contains("No duets"), "{}", o.note);
        let reference = o.rows.iter().find(|r| r.plot == plot_id(0)).unwrap();
        assert_eq!((reference.basis.plain(), &reference.alone), (String::new(), &None));
        // By elapsed time there is nothing but executions alone.
        let mut by_elapsed = report;
        by_elapsed.compare_by(Measure::Et).unwrap();
        let o = overview(&by_elapsed, None).unwrap();
        let row = o.rows.iter().find(|r| r.plot == plot_id(1)).unwrap();
        assert_eq!((row.basis.plain(), &row.alone), ("10 pairs".to_owned(), &None));
    }

    #[test]
    fn by_what_programs_print_the_ratio_is_that_of_it() {
        const NAME: &str = "rate \u{1b}[31m";
        let mut report = fixtures::duets();
        report.comparisons[0].metrics = vec![fixtures::metric_ratio(NAME, 2.0, 1.9, 2.1)];
        assert!(report.comparisons[0].choose_metric(NAME, None));
        let o = overview(&report, None).unwrap();
        let row = o.rows.iter().find(|r| r.plot == plot_id(1)).unwrap();
        assert_eq!((row.basis.plain(), row.verdict, &row.alone), ("higher, 10 pairs".to_owned(), None, &None));
        assert_eq!(Cell::from(row.ratio.clone()), "2.00 [1.90, 2.10]");
        let said = o.answers.iter().map(Cell::plain).collect::<String>();
        assert!(said.starts_with("./inc 60600 has 2.00 [1.90, 2.10] times the rate "), "{said}");
        assert!(said.contains(": printed value, executions alone, 10 pairs; elapsed time: 1.020"), "{said}");
        assert!(
            o.note.plain().contains("which the program prints") && !(said + &o.note.plain()).contains('\u{1b}'),
            "{}",
            o.note
        );
    }

    #[test]
    fn why_there_are_no_duets_is_said_once() {
        let report = fixtures::ten_with_duets();
        assert_eq!(
            without_duets(&report).unwrap(),
            "no duets: lz4 -k -c numbers.txt takes 12.0 ms of CPU time, and a duet needs 40 ms"
        );
        assert_eq!(without_duets(&fixtures::two()), None);
        let mut all = report.clone();
        for c in &mut all.comparisons {
            let pt = tarebench_core::base::units::Nanos::from_millis(i64::from(c.series));
            c.duets = Some(Err(tarebench_core::compare::duet::NoDuet::TooShort { series: c.series, pt }));
        }
        let note = without_duets(&all).unwrap();
        assert!(note.ends_with("; and 6 other reasons"), "{note}");
    }

    #[test]
    fn the_control_is_the_last_row_and_no_answer() {
        let mut report = fixtures::two();
        let mut again = report.series[0].clone();
        (again.program.control, again.program.reference) = (true, false);
        report.series.push(again);
        report.control = Some(fixtures::comparison(2, 1.0003, 0.998, 1.002, Verdict::Undecided));
        let o = overview(&report, None).unwrap();
        assert_eq!(o.answers, overview(&fixtures::two(), None).unwrap().answers);
        let last = o.rows.last().unwrap();
        assert_eq!((last.verdict, last.basis.plain()), (Some(OverviewVerdict::Control), "10 pairs".to_owned()));
        assert!(last.ratio.is_some());
    }
}
