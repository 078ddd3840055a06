//! Everything that is known of one program: facts, and tables of its figures.

use crate::compare::names::{command, folder, is_named};
use crate::compare::rows::mean;
use crate::profile::effect::process_time;
use crate::run::intervals::resemblance;
use crate::run::{account, counters};
use std::collections::BTreeMap;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::data::{Discard, FailedSample, Measure, MeasureReport, SeriesReport};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::Sample;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::table::Table;
use tarebench_report::words::{numbers, plural};

/// The most rows of the table of discards.
const MOST_DISCARDS: usize = 1_000;
/// Ranges of numbers of failed samples.
const RANGES: usize = 8;

/// The tables of a program. `all` are its samples, as far as they are shown.
pub(crate) fn tables(s: &SeriesReport, about: Vec<(&'static str, Cell)>, all: &[&Sample]) -> Vec<Table> {
    let mut tables = vec![facts(s, about), figures(s)];
    tables.extend(account::tables(s));
    tables.extend(counters::table(s));
    tables.extend([daemons(s), discards(s, all), failures(s), survivors(s)]);
    tables.retain(|t| !t.rows.is_empty());
    tables
}

/// What it was that failed.
pub(crate) fn execution(f: &FailedSample) -> &'static str {
    match f {
        FailedSample { duet: true, .. } => "duet",
        FailedSample { warmup: true, .. } => "warm-up",
        _ => "sample",
    }
}

fn median(m: &MeasureReport) -> Figure {
    Figure { digits: m.std_dev, ..Figure::new(Unit::Time, m.median).with_interval(&m.median_interval) }
}

fn why(why: &Absent) -> Cell {
    Cell::text(why.to_string())
}

/// What it is, what it used, and what ran meanwhile; `more` stands between.
fn facts(s: &SeriesReport, more: Vec<(&'static str, Cell)>) -> Table {
    let mut t = Table::new("", "", &["about", "what"]);
    let mut all: Vec<(&str, Cell)> = Vec::new();
    all.extend(is_named(s).then(|| ("command", command(s))));
    let parameters = s.program.parameters.iter().map(|(k, v)| Cell::foreign(format!("{k}={v}")));
    all.extend(parameters.reduce(|all, next| all.and(" ").and(next)).map(|all| ("parameters", all)));
    all.extend(folder(s).map(|folder| ("folder", folder)));
    if s.counted == 0 {
        all.push(("samples", "none".into()));
    } else {
        all.extend(more);
        all.extend(account::without(s));
        all.extend(s.counters.absent().map(|absent| ("counters", why(absent))));
        all.extend(used(s));
    }
    // In words, a column of texts and figures is aligned to the left.
    all.into_iter().for_each(|(label, cell)| t.row([label.into(), Cell::words([cell])], Vec::new()));
    t
}

fn used(s: &SeriesReport) -> Vec<(&'static str, Cell)> {
    let figure = |unit, r: &Reading<f64>| match r {
        Reading::Value(v) => Cell::of(unit, *v),
        Reading::Absent(absent) => why(absent),
    };
    let (r, d) = (&s.resources, &s.difference);
    let peak = match &r.max_rss {
        Reading::Value(bytes) => Cell::of(Unit::Bytes, *bytes as f64),
        Reading::Absent(absent) => why(absent),
    };
    vec![
        ("user", figure(Unit::Time, &r.user)),
        ("system", figure(Unit::Time, &r.system)),
        ("peak memory", peak),
        ("switches by waiting", figure(Unit::Count, &r.voluntary_switches)),
        ("switches by preemption", figure(Unit::Count, &r.involuntary_switches)),
        ("major faults", figure(Unit::Count, &r.major_faults)),
        ("elapsed less CPU time", difference(s)),
        ("daemons, on all CPUs", figure(Unit::Time, &d.daemons)),
        ("tare, on all CPUs", Cell::time(d.tare)),
        ("stolen, on all CPUs", figure(Unit::Time, &d.steal)),
    ]
}

fn difference(s: &SeriesReport) -> Cell {
    let less = match &s.difference.gross_less_pt {
        Reading::Value(less) => *less,
        Reading::Absent(absent) => return why(absent),
    };
    let said = Cell::time(less);
    match (s.pt.value().map(|m| m.mean), s.et.value().map(|m| m.mean)) {
        (Some(pt), Some(et)) if less < 0.0 && et > 0.0 => {
            said.and(" (").and(Cell::of(Unit::Count, pt / et)).and(" CPUs busy on average)")
        }
        (_, Some(et)) if less >= 0.0 && et > 0.0 => said.and(" (").and(Cell::of(Unit::Share, less / et)).and(" of it)"),
        _ => said,
    }
}

fn figures(s: &SeriesReport) -> Table {
    let columns = [
        "measure",
        "mean ± s.d. [95%]",
        ">relative error",
        "median [95%]",
        ">min",
        ">max",
        ">retained",
        "discarded",
        "note",
    ];
    let note = "Of the retained samples; discarded by daemons (check 1) and by standard deviations (check 2). The mean CPU time is EMP's \
                execution time (step 4); intervals of means are by bootstrap with the discards, intervals of medians by order statistics, \
                both wider where successive samples resemble each other and where earlier runs differ.";
    let mut t = Table::new("Figures", note, &columns);
    let rows = [("CPU time (PT)", &s.pt), ("elapsed time (ET)", &s.et), ("net time", &s.net)];
    for (name, reading) in rows.into_iter().filter(|_| s.counted > 0) {
        match reading {
            Reading::Value(m) => {
                let end = |ns: f64| Cell::figure(Figure { digits: m.std_dev, ..Figure::new(Unit::Time, ns) });
                let cells = [
                    name.into(),
                    Cell::figure(mean(m)),
                    Cell::of(Unit::Share, m.relative_error),
                    median(m).into(),
                    end(m.min),
                    end(m.max),
                    Cell::count(m.retained).and(format!(" of {}", m.samples)),
                    Cell::text(m.discards()),
                    doubts(m),
                ];
                t.row(cells, Vec::new());
            }
            // Why there is no net time is said where the account would be.
            Reading::Absent(_) if name == "net time" => {}
            Reading::Absent(absent) => {
                let none = (0..7).map(|_| Cell::absent());
                t.row([Cell::text(name)].into_iter().chain(none).chain([why(absent)]), Vec::new());
            }
        }
    }
    t
}

/// Why a measure has no intervals, and that it is not trustworthy.
fn doubts(m: &MeasureReport) -> Cell {
    let untrusted = (!m.trustworthy).then(|| "not trustworthy: fewer than half of the samples are left".to_owned());
    let reasons = [m.mean_interval.as_ref().err(), m.median_interval.as_ref().err()];
    let without = reasons.into_iter().flatten().next().map(ToString::to_string);
    let all = untrusted.into_iter().chain(without).map(Cell::text).chain(resemblance(m));
    all.reduce(|all, next| all.and("; ").and(next)).unwrap_or_default()
}

fn daemons(s: &SeriesReport) -> Table {
    let mut note = Cell::text("Other processes that ran during the samples, by family.");
    if let Some((n, why)) = &s.daemons_incomplete {
        note = note.and(format!(" Incomplete in {n} of {}: {why}.", plural(s.counted, "sample")));
    }
    let mut t = Table::new("Daemons", note, &["daemon", ">mean a sample", ">largest", ">in samples", ">started"]);
    for d in &s.daemons {
        let name = Cell::foreign(&d.family).and(match d.kind {
            TaskKind::User => "",
            TaskKind::Kernel => " (kernel)",
            TaskKind::Tare => " (tare itself)",
            TaskKind::Partner => " (the other program)",
        });
        let (mean, most) = (Cell::time(d.mean), Cell::time(d.max.as_f64()));
        t.row([name, mean, most, Cell::count(d.samples), Cell::count(d.born)], Vec::new());
    }
    t
}

pub(crate) fn time_of(measure: Measure) -> &'static str {
    match measure {
        Measure::Pt => "CPU time",
        Measure::Et => "elapsed time",
        Measure::Net => "net time",
    }
}

/// Why a sample does not count for a measure.
pub(crate) fn reason(d: &Discard) -> Cell {
    match &d.reason {
        DiscardReason::Cutoff { daemon, cpu, cutoff } => Cell::foreign(daemon)
            .and(" used ")
            .and(Cell::time(cpu.as_f64()))
            .and(" of CPU time, more than its cutoff of ")
            .and(Cell::time(*cutoff)),
        DiscardReason::Effect { daemon, waited, cpu, process_time: effect } => {
            let did = match waited.0 > 0 {
                true => Cell::text("waited ").and(Cell::time(waited.as_f64())).and(" for ").and(Cell::foreign(daemon)),
                false => Cell::foreign(daemon).and(" used ").and(Cell::time(cpu.as_f64())).and(" of CPU time"),
            };
            did.and("; ").and(process_time(effect.as_ref()))
        }
        DiscardReason::Sigma { value, low, high } => {
            let half = Some((high - low) / 2.0);
            let time = |ns: f64| Cell::figure(Figure { digits: half, ..Figure::new(Unit::Time, ns) });
            let said = Cell::text(format!("{} ", time_of(d.measure))).and(time(*value));
            said.and(" is outside ").and(time(*low)).and(" to ").and(time(*high))
        }
    }
}

fn discards(s: &SeriesReport, all: &[&Sample]) -> Table {
    let checks = "Check 1: a daemon used more CPU time than its cutoff. Check 2: more than the given number of standard deviations \
                  from the mean.";
    let note = match s.discards.len() {
        n if n > MOST_DISCARDS => format!("{checks} These are the first {MOST_DISCARDS} of {n}; exports have all."),
        _ => checks.to_owned(),
    };
    let mut t = Table::new("Discarded samples", note, &[">sample", "measure", "check", "reason"]);
    // The first one of a number: an archive may hold several.
    let positions: BTreeMap<u32, usize> = all.iter().enumerate().rev().map(|(i, s)| (s.index, i)).collect();
    let at = |index: u32| positions.get(&index).copied().into_iter().collect::<Vec<_>>();
    for d in s.discards.iter().take(MOST_DISCARDS) {
        let check = if matches!(d.reason, DiscardReason::Sigma { .. }) { "check 2" } else { "check 1" };
        let number = Cell::count(f64::from(d.index) + 1.0);
        t.row([number, time_of(d.measure).into(), check.into(), reason(d)], at(d.index));
    }
    t
}

/// The failures of a series, grouped.
fn failures(s: &SeriesReport) -> Table {
    let mut groups: Vec<((&str, String), Vec<u32>)> = Vec::new();
    for f in &s.failures {
        let accepted = match (f.ignored, f.is_counted()) {
            (true, true) => " (accepted: it counts)",
            (true, false) => " (accepted)",
            (false, _) => "",
        };
        let key = (execution(f), format!("{}{accepted}", f.outcome));
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, list)) => list.push(f.index),
            None => groups.push((key, vec![f.index])),
        }
    }
    let mut t = Table::new("Failures", "", &["execution", "number", "end"]);
    for ((phase, end), list) in groups {
        t.row([Cell::text(phase), numbers(&list, RANGES).into(), end.into()], Vec::new());
    }
    t
}

/// Processes that outlived the program.
fn survivors(s: &SeriesReport) -> Table {
    let heads = ["process", ">how many", ">ended by tare", ">left running", ">could not be killed"];
    let mut t = Table::new("Leftover processes", "", &heads);
    for v in &s.survivors {
        let ended = v.count.saturating_sub(v.left).saturating_sub(v.not_ended);
        let counts = [v.count, ended, v.left, v.not_ended].map(Cell::count);
        t.row([Cell::foreign(&v.name)].into_iter().chain(counts), Vec::new());
    }
    t
}
