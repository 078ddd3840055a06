//! The page of a run: a plot for each program.

use crate::compare::duet_page::duets;
use crate::compare::overview::{overview, plot_id};
use crate::compare::page::comparison;
use crate::profile::effect::process_time;
use crate::profile::page::{PageNames, dual};
use crate::run::counters;
use crate::run::hints::hints_of_run;
use crate::run::protocol::{asks, finding, no_check_one};
use crate::run::quiet_page::quiet;
use crate::run::terminal::account::label;
use crate::run::{metrics, remarks};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::clusters::{Clusters, TooFew};
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::data::{Discard, Measure, MeasureReport, RunReport, SeriesReport};
use tarebench_core::run::shown::{ShownRun, ShownSeries};
use tarebench_core::sample::account::Ledger;
use tarebench_core::sample::cgroup_limits::Waits;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::families::family;
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::web::html::measure;
use tarebench_report::web::page::{
    Class, DualOrWhy, Page, PageAccount, PageDual, PageEntry, PageKind, PageLine, PageRemark, PageRole, Plot, Samples,
    Symbol,
};

/// The most rows of the table of discards.
const MOST_DISCARDS: usize = 1_000;

fn time(ns: f64) -> String {
    number::time(ns, None, true).unwrap_or_default()
}

/// The page of a run. `shown` is what its figures show; `found` are the clusters of each series
/// ([`tarebench_core::run::report::duals`]).
pub fn run(
    report: &RunReport,
    shown: &ShownRun,
    found: &[Result<Clusters, TooFew>],
    hints: &Hints,
    zone: &TimeZone,
    foot: String,
) -> Page {
    let run = &report.run;
    let hints = &hints_of_run(hints, &run.plan);
    let plots = report.series.iter().enumerate().map(|(i, s)| {
        let all: Vec<&Sample> = shown.series(i).map_or(&[][..], ShownSeries::samples).iter().collect();
        let quiet = quiet(i, s, &all, report, hints);
        Plot { quiet, ..plot(i, s, &all, report, found.get(i)) }
    });
    let titles: Vec<&str> = report.series.iter().map(|s| s.program.label.as_str()).collect();
    let whose = |series: Option<u32>| match series.and_then(|i| titles.get(i as usize)) {
        Some(title) if titles.len() > 1 => format!("{title}: "),
        _ => String::new(),
    };
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Run,
        title: if run.id > 0 { format!("Run {}", run.id).into() } else { "Run".to_owned().into() },
        subtitle: titles.join(" · ").into(),
        facts: facts(report, hints, zone).into_iter().map(|(label, text)| (label, text.into())).collect(),
        remarks: report
            .remarks
            .iter()
            .map(|r| PageRemark {
                warning: r.warning(),
                text: format!("{}{}", whose(r.series), remarks::text(r, hints)).into(),
            })
            .chain((0..report.series.len()).filter_map(|i| {
                let text = thinned(shown.series(i)?)?;
                Some(PageRemark { warning: false, text: format!("{}{text}", whose(u32::try_from(i).ok())).into() })
            }))
            .collect(),
        overview: overview(report, duets(report, &shown.blocks, hints)),
        plots: plots.collect(),
        timeline: None,
        parts: Vec::new(),
        tables: [comparison(report), metrics::ratios(report), Some(protocol(report, hints))]
            .into_iter()
            .flatten()
            .collect(),
        foot: foot.into(),
    }
}

/// That the figures do not show every sample; `None` if they do.
fn thinned(series: &ShownSeries) -> Option<String> {
    let shown = series.samples().len();
    let text = || {
        format!(
            "The plots show {shown} of {} samples: pairs of consecutive ones, evenly spaced. The tables are computed from all \
             samples.",
            series.counted()
        )
    };
    series.is_part().then(text)
}

fn facts(report: &RunReport, hints: &Hints, zone: &TimeZone) -> Vec<(String, String)> {
    let run = &report.run;
    let h = &run.host;
    let cpu = h.cpu.value().map_or(String::new(), |c| format!(" × {c}"));
    let virt = h.hypervisor.value().filter(|v| *v != "none").map_or(String::new(), |v| format!(", virtual ({v})"));
    let deviations = match run.plan.sigma {
        s if s > 0.0 => format!("{s} standard deviations"),
        _ => "check 2 not done".to_owned(),
    };
    let checks = match &report.profile {
        Ok(name) => format!("cutoffs of profile {name}; {deviations}"),
        Err(why) => {
            let why = no_check_one(why, hints);
            format!("daemons: not done, {why}; {deviations}")
        }
    };
    let fact = |name: &str, text: String| (name.to_owned(), text);
    vec![
        fact("Began", date(run.created, zone)),
        fact("Machine", format!("{}, {}{cpu}{virt}", h.name, h.cpus)),
        fact("Kernel", format!("Linux {} {}", h.kernel, h.architecture)),
        fact("CPU time", format!("from {}", run.pt_source.name())),
        fact("Checks", checks),
        fact(
            "Protocol",
            format!("EMPv{} reached", report.protocol.reached).replace("EMPv0 reached", "EMPv1 is not reached"),
        ),
    ]
}

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
    for d in reasons {
        let text = match &d.reason {
            DiscardReason::Cutoff { daemon, cpu, cutoff } => {
                format!("{daemon} used {} of CPU time, more than its cutoff of {}", time(cpu.as_f64()), time(*cutoff))
            }
            DiscardReason::Effect { daemon, waited, cpu, process_time: effect } => {
                let did = match waited.0 > 0 {
                    true => format!("waited {} for {daemon}", time(waited.as_f64())),
                    false => format!("{daemon} used {} of CPU time", time(cpu.as_f64())),
                };
                format!("{did}; {}", process_time(effect.as_ref(), true))
            }
            DiscardReason::Sigma { value, low, high } => {
                let which = match d.measure {
                    Measure::Pt => "CPU time",
                    Measure::Et => "elapsed time",
                    Measure::Net => "net time",
                };
                format!("{which} {} is outside {} to {}", time(*value), time(*low), time(*high))
            }
        };
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

fn plot(
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
            m.lines.push(PageLine { title: "mean of the retained samples".to_owned(), value: r.mean });
        }
        m
    });
    let measures: Vec<_> = with_lines.collect();
    let measures = if measures.is_empty() { vec![measure("et", vec![None; all.len()])] } else { measures };
    Plot {
        id: plot_id(i),
        title: s.program.label.clone(),
        note: note(s),
        measures,
        samples: samples_of(all, s, report),
        dual: duals(all, report, found),
        tables: [
            figures(s),
            metrics::table(s),
            discards(s, all),
            Some(daemons(s)),
            account_table(s),
            counters::table(s),
        ]
        .into_iter()
        .flatten()
        .collect(),
        quiet: None,
    }
}

fn note(s: &SeriesReport) -> String {
    let mean = |name: &str, m: &MeasureReport| {
        let sd = m.std_dev.map_or(String::new(), |sd| format!(" ± {}", time(sd)));
        format!("{name} {}{sd} (n = {}, {} discarded)", time(m.mean), m.retained, m.samples - m.retained.min(m.samples))
    };
    let all = [("PT", &s.pt), ("ET", &s.et), ("net", &s.net)];
    all.iter().filter_map(|(name, m)| Some(mean(name, m.value()?))).collect::<Vec<_>>().join(" · ")
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

fn figures(s: &SeriesReport) -> Option<Table> {
    let columns = [
        "measure",
        ">mean",
        ">s.d.",
        ">relative error",
        ">median",
        ">95% of the mean",
        ">min",
        ">max",
        ">retained",
        ">discarded",
    ];
    let mut t =
        Table::new("Figures", "Of the retained samples. The mean CPU time is EMP's execution time (step 4).", &columns);
    for (name, m) in [("CPU time (PT)", &s.pt), ("elapsed time (ET)", &s.et), ("net time", &s.net)] {
        let Some(m) = m.value() else { continue };
        let interval = match &m.mean_interval {
            Ok(i) => format!("{} to {}", time(i.low), time(i.high)),
            Err(why) => why.to_string(),
        };
        let cells = vec![
            name.to_owned(),
            time(m.mean),
            m.std_dev.map_or("–".to_owned(), time),
            m.relative_error.and_then(number::percent).unwrap_or("–".to_owned()),
            time(m.median),
            interval,
            time(m.min),
            time(m.max),
            m.retained.to_string(),
            m.discards(),
        ];
        t.row(cells, Vec::new());
        let low = m.mean_interval.as_ref().ok().map(|i| i.low);
        let counts = [f64::from(m.retained), f64::from(m.discarded_by_cutoff + m.discarded_by_sigma)].map(Some);
        let times = [None, Some(m.mean), m.std_dev, m.relative_error, Some(m.median), low, Some(m.min), Some(m.max)];
        t.values(times.into_iter().chain(counts).collect());
    }
    Some(t).filter(|t| !t.rows.is_empty())
}

fn discards(s: &SeriesReport, all: &[&Sample]) -> Option<Table> {
    let checks = "Check 1: a daemon used more CPU time than its cutoff. Check 2: more than the given number of standard deviations \
                  from the mean.";
    let note = match s.discards.len() {
        n if n > MOST_DISCARDS => {
            format!("{checks} These are the first {MOST_DISCARDS} of {n}; `tare export` has all.")
        }
        _ => checks.to_owned(),
    };
    let mut t = Table::new("Discarded samples", note, &[">sample", "measure", "reason", ">value", "limit"]);
    // The first one of a number: an archive may hold several.
    let positions: BTreeMap<u32, usize> = all.iter().enumerate().rev().map(|(i, s)| (s.index, i)).collect();
    let at = |index: u32| positions.get(&index).copied().into_iter().collect::<Vec<_>>();
    for d in s.discards.iter().take(MOST_DISCARDS) {
        let (reason, value, limit, number) = match &d.reason {
            DiscardReason::Cutoff { daemon, cpu, cutoff } => {
                (daemon.clone(), time(cpu.as_f64()), time(*cutoff), cpu.as_f64())
            }
            DiscardReason::Effect { daemon, waited, cpu, process_time: effect } => {
                let did = process_time(effect.as_ref(), true);
                let (what, took) = match waited.0 > 0 {
                    true => (format!("waited for {daemon}"), *waited),
                    false => (format!("CPU time of {daemon}"), *cpu),
                };
                (what, time(took.as_f64()), did, took.as_f64())
            }
            DiscardReason::Sigma { value, low, high } => {
                let limits = format!("{} to {}", time(*low), time(*high));
                ("standard deviations".to_owned(), time(*value), limits, *value)
            }
        };
        let measure = match d.measure {
            Measure::Pt => "CPU time",
            Measure::Et => "elapsed time",
            Measure::Net => "net time",
        };
        t.row(vec![(u64::from(d.index) + 1).to_string(), measure.to_owned(), reason, value, limit], at(d.index));
        t.values(vec![Some(f64::from(d.index) + 1.0), None, None, Some(number), None]);
    }
    Some(t).filter(|t| !t.rows.is_empty())
}

fn daemons(s: &SeriesReport) -> Table {
    let mut t = Table::new(
        "Daemons",
        "Other processes that ran during the samples, by family.",
        &["daemon", ">in samples", ">mean a sample", ">largest", ">born"],
    );
    for d in &s.daemons {
        let cells =
            vec![d.family.clone(), d.samples.to_string(), time(d.mean), time(d.max.as_f64()), d.born.to_string()];
        t.row(cells, Vec::new());
        let counts = (Some(f64::from(d.samples)), Some(f64::from(d.born)));
        t.values(vec![None, counts.0, Some(d.mean), Some(d.max.as_f64()), counts.1]);
    }
    t
}

fn account_table(s: &SeriesReport) -> Option<Table> {
    let a = s.account.value()?;
    let mut t = Table::new(
        "Account",
        format!("Gross = net + tare: where the elapsed time of a sample went, mean of {}.", a.samples),
        &["entry", ">time", ">share", ">times"],
    );
    let style = Style::default();
    let page = tarebench_report::screen::ScreenText::new(&style);
    for e in &a.elapsed {
        let share = if a.gross > 0.0 { number::percent(e.time / a.gross).unwrap_or_default() } else { String::new() };
        t.row(
            vec![label(&page, e), time(e.time), share, e.count.and_then(number::count).unwrap_or_default()],
            Vec::new(),
        );
        t.values(vec![None, Some(e.time), (a.gross > 0.0).then_some(e.time / a.gross), e.count]);
    }
    Some(t)
}

fn protocol(report: &RunReport, hints: &Hints) -> Table {
    let mut t =
        Table::new("Protocol", "The steps of EMP, and whether each holds.", &["step", "requires", "state", "finding"]);
    for s in &report.protocol.steps {
        let standing = match s.standing {
            Standing::Held => "held",
            Standing::NotHeld => "not held",
            Standing::Unknown => "unknown",
        };
        let cells = [format!("v{}", s.version), asks(s).to_owned(), standing.to_owned(), finding(s, hints)];
        t.row(cells.to_vec(), Vec::new());
    }
    t
}
