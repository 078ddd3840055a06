//! The samples of a program as a page draws them.

use crate::compare::overview::plot_id;
use crate::profile::plots::{PageNames, dual};
use crate::run::program::reason;
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::clusters::{Clusters, TooFew};
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::data::{Discard, Measure, MeasureReport, RunReport, SeriesReport};
use tarebench_core::run::report::findings::RemarkKind;
use tarebench_core::sample::account::Ledger;
use tarebench_core::sample::cgroup_limits::Waits;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::families::family;
use tarebench_core::statistics::steadiness::Unsteadiness;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::web::html::measure;
use tarebench_report::web::page::{
    Class, DualOrWhy, PageAccount, PageDual, PageEntry, PageLine, PageMeasure, PagePlace, PageRole, Plot, Samples,
    Symbol,
};

/// Class and reason of a counted sample.
fn fate(s: &Sample, report: &RunReport, discards: &BTreeMap<u32, Vec<&Discard>>) -> (usize, Option<String>) {
    if !report.run.plan.ignore_failure.accepts(&s.outcome) {
        return (4, Some(s.outcome.to_string()));
    }
    let none = Vec::new();
    let reasons = discards.get(&s.index).unwrap_or(&none);
    let Some(first) = reasons.first() else { return (0, None) };
    let class = |d: &Discard| match (&d.reason, d.measure) {
        (DiscardReason::Cutoff { .. } | DiscardReason::Effect { .. }, _) => 1,
        (DiscardReason::Sigma { .. }, Measure::Pt) => 2,
        (DiscardReason::Sigma { .. }, _) => 3,
    };
    let worst = reasons.iter().map(|d| class(d)).min().unwrap_or_else(|| class(first));
    let mut texts: Vec<String> = Vec::new();
    for text in reasons.iter().map(|d| reason(d).plain()) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (worst, Some(texts.join("; ")))
}

fn samples_of(all: &[&Sample], s: &SeriesReport, report: &RunReport) -> Samples {
    let class = |title: &str, role, symbol| Class { title: title.to_owned(), role, symbol };
    let mut out = Samples {
        classes: vec![
            class("retained", PageRole::Good, Symbol::Circle),
            class("discarded: daemon over its cutoff", PageRole::Spoiled, Symbol::Triangle),
            class("discarded: standard deviations of CPU time", PageRole::Drift, Symbol::Diamond),
            class("discarded for elapsed or net time only", PageRole::Other, Symbol::Square),
            class("failed", PageRole::Failed, Symbol::Cross),
        ],
        ..Samples::default()
    };
    let mut discards: BTreeMap<u32, Vec<&Discard>> = BTreeMap::new();
    for d in &s.discards {
        discards.entry(d.index).or_default().push(d);
    }
    let mut names = PageNames::default();
    for sample in all {
        let (class, reason) = fate(sample, report, &discards);
        out.number.push(sample.index.saturating_add(1));
        out.start.push(sample.wall_clock.millis());
        out.class.push(class);
        out.reason.push(reason.map_or(-1, |text| i64::try_from(reason_at(&mut out.reasons, text)).unwrap_or(-1)));
        let daemons = sample.daemons.value();
        out.executions.push(daemons.map(|d| {
            let ran = d.list.iter().filter(|d| d.cpu != Nanos::ZERO);
            names.flat(ran.map(|d| (family(&d.name, d.kind), d.cpu.0)))
        }));
    }
    out.daemons = names.all;
    let dropped: BTreeSet<u32> =
        s.discards.iter().filter(|d| d.measure == Measure::Et).map(|d| d.index.saturating_add(1)).collect();
    let counts =
        |i: &usize| out.class.get(*i) != Some(&4) && !out.number.get(*i).is_some_and(|number| dropped.contains(number));
    let retained = (0..all.len()).filter(counts).collect();
    out.account = account(all, retained);
    out
}

fn reason_at(reasons: &mut Vec<String>, text: String) -> usize {
    // A reason names its figures, so hardly any two are the same; those of one failure are.
    match reasons.last() {
        Some(last) if *last == text => {}
        _ => reasons.push(text),
    }
    reasons.len() - 1
}

/// Where the main thread's elapsed time went in each sample; the entries add up to it.
fn account(all: &[&Sample], retained: Vec<usize>) -> Option<PageAccount> {
    if !all.iter().any(|s| s.account.value().is_some()) {
        return None;
    }
    let main = |f: fn(&Ledger) -> Nanos| move |s: &Sample| Some(f(&s.account.value()?.main));
    let waited = |f: fn(&Waits) -> Nanos| move |s: &Sample| s.waits().map(|[main, _]| f(&main));
    type TimeOf<'a> = Box<dyn Fn(&Sample) -> Option<Nanos> + 'a>;
    let entries: Vec<(&'static str, TimeOf<'_>)> = vec![
        ("net", Box::new(main(Ledger::net))),
        ("interrupts and softirqs", Box::new(main(Ledger::interrupted))),
        ("stolen by the hypervisor", Box::new(main(Ledger::stolen))),
        ("throttled by a quota", Box::new(waited(|w| w.throttled.time))),
        ("waited for other tasks", Box::new(waited(|w| w.preempted(false)))),
        ("waited for its own tasks", Box::new(waited(|w| w.preempted(true)))),
        ("waited for a CPU", Box::new(waited(|w| w.unnamed))),
        ("asleep", Box::new(main(Ledger::asleep))),
        ("launch, until exec", Box::new(Sample::launch)),
        ("reaping", Box::new(Sample::reap)),
        ("unattributed", Box::new(Sample::unattributed)),
    ];
    let role = |title: &'static str| PageEntry { title, role: if title == "net" { "net" } else { "tare" } };
    Some(PageAccount {
        retained,
        entries: entries.iter().map(|(title, _)| role(title)).collect(),
        values: entries.iter().map(|(_, time_of)| all.iter().map(|s| time_of(s).map(|t| t.0)).collect()).collect(),
    })
}

/// The samples of a program as they are drawn.
pub(crate) fn plot(
    i: usize,
    s: &SeriesReport,
    all: &[&Sample],
    report: &RunReport,
    found: Option<&Result<Clusters, TooFew>>,
) -> Plot {
    let et = measure("et", all.iter().map(|s| Some(s.elapsed().0)).collect());
    let pt = measure("pt", all.iter().map(|s| s.process_time().ok().map(|t| t.0)).collect());
    let net = measure("net", all.iter().map(|s| s.net_time().ok().map(|t| t.0)).collect());
    let reports = [(pt, s.pt.value()), (et, s.et.value()), (net, s.net.value())];
    let with_lines = reports.into_iter().filter(|(m, _)| m.values.iter().any(Option::is_some)).map(|(mut m, r)| {
        if let Some(r) = r {
            m.lines.push(PageLine { title: "mean of the retained samples".to_owned(), value: r.mean, end: None });
        }
        steadiness(&mut m, i, report);
        m
    });
    let measures: Vec<_> = with_lines.collect();
    let measures = if measures.is_empty() { vec![measure("et", vec![None; all.len()])] } else { measures };
    Plot {
        id: plot_id(i),
        title: s.program.label.clone(),
        note: note(s).plain(),
        measures,
        samples: samples_of(all, s, report),
        dual: duals(all, report, found),
        tables: Vec::new(),
        quiet: None,
    }
}

/// Where the times of a program are not steady.
fn steadiness(plotted: &mut PageMeasure, series: usize, report: &RunReport) {
    for remark in report.remarks.iter().filter(|r| r.series.is_some_and(|i| i as usize == series)) {
        let RemarkKind::Unsteady { measure, found, .. } = &remark.kind else { continue };
        let id = match measure {
            Measure::Et => "et",
            Measure::Pt => "pt",
            Measure::Net => "net",
        };
        if plotted.id != id {
            continue;
        }
        let place = |at: &u32, title: &str| PagePlace { title: title.to_owned(), number: at.saturating_add(1) };
        match found {
            Unsteadiness::Step { at, .. } => plotted.places.push(place(at, "step")),
            Unsteadiness::WarmUp { samples, .. } => {
                plotted.places.push(place(samples, "end of the slow first samples"))
            }
            Unsteadiness::Drift { from, to } => {
                plotted.lines.push(PageLine { title: "drift".to_owned(), value: *from, end: Some(*to) });
            }
            Unsteadiness::Modes { .. } | Unsteadiness::SerialCorrelation { .. } | Unsteadiness::Ticks { .. } => {}
        }
    }
}

fn note(s: &SeriesReport) -> Cell {
    let said = |name: &str, m: &MeasureReport| {
        let mean = Figure::new(Unit::Time, m.mean).with_spread(m.std_dev);
        let discarded = m.samples - m.retained.min(m.samples);
        Cell::text(format!("{name} ")).and(mean).and(format!(" (n = {}, {discarded} discarded)", m.retained))
    };
    let all = [("PT", &s.pt), ("ET", &s.et), ("net", &s.net)];
    let all = all.iter().filter_map(|(name, m)| Some(said(name, m.value()?)));
    all.reduce(|all, next| all.and(" · ").and(next)).unwrap_or_default()
}

fn duals(all: &[&Sample], report: &RunReport, found: Option<&Result<Clusters, TooFew>>) -> DualOrWhy {
    let clusters = match found {
        None => return DualOrWhy::Why("No dual-execution scatter plot: no samples.".to_owned()),
        Some(Err(few)) => return DualOrWhy::Why(format!("No dual-execution scatter plot: {few}.")),
        Some(Ok(clusters)) => clusters,
    };
    // Numbers of observations start at 1.
    let good = all.iter().enumerate().filter(|(_, s)| report.run.plan.ignore_failure.accepts(&s.outcome));
    let at: BTreeMap<u32, usize> = good.map(|(i, s)| (s.index.saturating_add(1), i)).collect();
    let position = |number: u32| at.get(&number).copied().unwrap_or(0);
    DualOrWhy::Dual(PageDual {
        odd: clusters.points.iter().map(|p| position(p.odd.number)).collect(),
        even: clusters.points.iter().map(|p| position(p.even.number)).collect(),
        ..dual(clusters)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use tarebench_core::run::report::findings::Remark;

    #[test]
    fn what_is_not_steady_is_marked_in_its_measure() {
        let mut report = fixtures::two();
        let mut add = |series, found| {
            let kind = RemarkKind::Unsteady { measure: Measure::Pt, blocks: false, found };
            report.remarks.push(Remark { series: Some(series), kind });
        };
        add(0, Unsteadiness::Step { at: 20, before: 1e8, after: 1.2e8 });
        add(0, Unsteadiness::SerialCorrelation { r: 0.5, values: 40, independent: 13.0 });
        add(1, Unsteadiness::Drift { from: 1e8, to: 1.3e8 });
        let marked = |id, series| {
            let mut plotted = measure(id, vec![Some(1)]);
            steadiness(&mut plotted, series, &report);
            (plotted.lines, plotted.places)
        };
        assert_eq!(marked("pt", 0), (vec![], vec![PagePlace { title: "step".to_owned(), number: 21 }]));
        let drift = PageLine { title: "drift".to_owned(), value: 1e8, end: Some(1.3e8) };
        assert_eq!(marked("pt", 1), (vec![drift], vec![]));
        assert_eq!(marked("et", 0), (vec![], vec![]));
    }
}
