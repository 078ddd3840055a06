//! The comparison of machines in sentences that all its forms share.

use crate::data::nodes::{FleetGroups, FleetSpread, NodeFleet, NodeRow, NodesReport, OddAnswer};
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Figure, Unit};
use tarebench_report::form::Form;
use tarebench_report::number;
use tarebench_report::style::{Glyphs, Style};
use tarebench_report::words::plural;

/// Most machines that get a sentence of their own.
const SENTENCES: usize = 5;
/// Most machines that are listed in a sentence.
const LISTED: usize = 8;

/// Makes text that tare did not write ready to be shown.
pub(crate) type ShowName<'a> = &'a dyn Fn(&str) -> String;

/// A sentence of the answer, without its period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesSentence {
    pub text: String,
    /// It names a machine or a group that differs.
    pub bad: bool,
}

fn good(text: String) -> NodesSentence {
    NodesSentence { text, bad: false }
}

fn bad(text: String) -> NodesSentence {
    NodesSentence { text, bad: true }
}

/// Which time was compared.
pub(crate) fn compared_time(measure: Measure) -> &'static str {
    match measure {
        Measure::Pt => "CPU time",
        Measure::Et => "elapsed time",
        Measure::Net => "net time",
    }
}

/// A share in per cent, or the sign for absent.
pub(crate) fn share(fraction: Option<f64>, g: &Glyphs) -> String {
    fraction.and_then(number::percent).unwrap_or_else(|| g.absent.to_owned())
}

/// A few names, and how many more there are.
fn names(all: &[String], show: ShowName<'_>) -> String {
    let first: Vec<String> = all.iter().take(LISTED).map(|n| show(n)).collect();
    let more = all.len().saturating_sub(LISTED);
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
}

/// A ratio of times as a change, with its interval.
pub(crate) fn change(ratio: f64, interval: Option<&Interval>) -> Figure {
    Figure { interval: interval.cloned().map(Ok), ..Figure::new(Unit::Change, ratio) }
}

/// `3.1 % slower`, of a ratio of times.
fn slower(ratio: f64, g: &Glyphs) -> String {
    let size = number::percent_of_change(1.0 + (ratio - 1.0).abs(), 1);
    let size = size.map_or_else(|| g.absent.to_owned(), |size| format!("{size} %"));
    format!("{size} {}", if ratio < 1.0 { "faster" } else { "slower" })
}

/// `[+2.6, +3.5]` after a space, of a ratio.
fn within(ratio: f64, interval: Option<&Interval>, g: &Glyphs) -> String {
    let form = Form::terminal(&Style { unicode: g.is_unicode(), ..Style::default() });
    let (_, interval) = change(ratio, interval).texts(&form);
    if interval.is_empty() { interval } else { format!(" {interval}") }
}

/// Is there an odd machine? The answer for one fleet, then machines that drift.
pub(crate) fn answers(fleet: &NodeFleet, g: &Glyphs, show: ShowName<'_>) -> Vec<NodesSentence> {
    let n = fleet.machines.len();
    let mut all = match &fleet.answer {
        OddAnswer::Alone => {
            let name = fleet.machines.first().map(|m| show(&m.machine)).unwrap_or_default();
            vec![good(format!("{name} is the only machine of its kind: there is none to compare it with"))]
        }
        OddAnswer::TooFew => {
            let runs = fleet.machines.iter().map(|m| m.runs).max().unwrap_or(0);
            let text = format!(
                "Too few runs to tell a slow machine from a slow run: {}, at most {} on each",
                plural(n as u64, "machine"),
                plural(runs as u64, "run")
            );
            vec![good(text)]
        }
        OddAnswer::No => vec![good(none_odd(fleet, n, g))],
        OddAnswer::Yes(odd) => odd_ones(fleet, odd, g, show),
        OddAnswer::TwoGroups { odd } => {
            let mut all: Vec<NodesSentence> = fleet.groups.iter().map(|found| two_groups(found, n, show)).collect();
            all.extend(odd_ones(fleet, odd, g, show));
            all
        }
        OddAnswer::TwoDiffer => two_differ(&fleet.machines, g, show),
        OddAnswer::Spread { differing } => {
            let spread = share(fleet.spread.machines, g);
            let text = format!(
                "{differing} of {n} machines differ from the typical one, but none stands out: the machines have a \
                 standard deviation of {spread}"
            );
            vec![bad(text)]
        }
    };
    all.extend(drifts(fleet, g, show));
    all
}

fn none_odd(fleet: &NodeFleet, n: usize, g: &Glyphs) -> String {
    let relevant = share(Some(fleet.relevant), g);
    let said = if n == 2 {
        format!("The two machines do not differ by more than {relevant}")
    } else {
        format!("No machine is odd: none of {n} differs from the typical one by more than {relevant}")
    };
    match fleet.detectable.filter(|d| *d < 10.0).and_then(number::percent) {
        Some(least) => format!("{said}; a difference of {least} would have been found in 9 of 10 cases"),
        None => said,
    }
}

fn odd_ones(fleet: &NodeFleet, odd: &[String], g: &Glyphs, show: ShowName<'_>) -> Vec<NodesSentence> {
    let rows = odd.iter().filter_map(|name| fleet.machines.iter().find(|m| m.machine == *name));
    let mut all: Vec<NodesSentence> = rows.take(SENTENCES).map(|row| bad(odd_one(row, g, show))).collect();
    if let Some(rest) = odd.get(SENTENCES..).filter(|rest| !rest.is_empty()) {
        all.push(bad(format!("Also odd: {}", names(rest, show))));
    }
    all
}

/// One odd machine: by all programs together, or by the one that differs most.
fn odd_one(row: &NodeRow, g: &Glyphs, show: ShowName<'_>) -> String {
    let off = |ratio: f64| ratio.ln().abs();
    let most = row.programs.iter().filter(|p| p.differs).max_by(|a, b| off(a.ratio).total_cmp(&off(b.ratio)));
    let excludes = row.interval.as_ref().is_some_and(|i| !i.contains(1.0));
    match most {
        // All programs together say less than one of them.
        Some(p) if !excludes || off(p.ratio) > 2.0 * off(row.ratio) => {
            let (by, interval) = (slower(p.ratio, g), within(p.ratio, p.interval.as_ref(), g));
            let (name, program) = (show(&row.machine), show(&p.program));
            format!("{name} is odd in {program}: {by} than the typical machine{interval}")
        }
        _ => {
            let (by, interval) = (slower(row.ratio, g), within(row.ratio, row.interval.as_ref(), g));
            format!("{} is odd: {by} than the typical machine{interval}", show(&row.machine))
        }
    }
}

fn two_groups(found: &FleetGroups, n: usize, show: ShowName<'_>) -> NodesSentence {
    let by = number::percent(found.ratio - 1.0).unwrap_or_default();
    // The smaller group is easier to look at.
    let (few, word, by) = if found.slow.len() <= found.fast.len() {
        (&found.slow, "slower", by)
    } else {
        (&found.fast, "faster", number::percent(1.0 - 1.0 / found.ratio).unwrap_or_default())
    };
    let verb = if few.len() == 1 { "is" } else { "are" };
    bad(format!(
        "The machines are two groups: {} of {n} {verb} {by} {word} than the others: {}",
        few.len(),
        names(few, show)
    ))
}

fn two_differ(machines: &[NodeRow], g: &Glyphs, show: ShowName<'_>) -> Vec<NodesSentence> {
    let [slow, fast] = machines else { return Vec::new() };
    // Each is half of the difference away from the middle.
    let whole = |i: &Interval| Interval { low: i.low * i.low, high: i.high * i.high, level: i.level };
    let (ratio, interval) = (slow.ratio / fast.ratio, slow.interval.as_ref().map(whole));
    let (by, interval) = (slower(ratio, g), within(ratio, interval.as_ref(), g));
    let (slow, fast) = (show(&slow.machine), show(&fast.machine));
    let said = format!("{slow} is {by} than {fast}{interval}; of two machines, either may be the odd one");
    vec![bad(said)]
}

fn drifts(fleet: &NodeFleet, g: &Glyphs, show: ShowName<'_>) -> Vec<NodesSentence> {
    let drifting = fleet.drifting.iter().filter_map(|name| fleet.machines.iter().find(|m| m.machine == *name));
    let sentence = |row: &NodeRow| {
        let d = row.drift.as_ref()?;
        let (by, interval) = (slower(d.ratio, g), within(d.ratio, Some(&d.interval), g));
        let after = number::long_time(d.span, true);
        let apart = if fleet.machines.len() > 2 { ", apart from the other machines" } else { "" };
        Some(bad(format!("{} drifts: {by} after {after}{interval}{apart}", show(&row.machine))))
    };
    let mut all: Vec<NodesSentence> = drifting.take(SENTENCES).filter_map(sentence).collect();
    if let Some(rest) = fleet.drifting.get(SENTENCES..).filter(|rest| !rest.is_empty()) {
        all.push(bad(format!("Also drifting: {}", names(rest, show))));
    }
    if let Some(common) = fleet.common_drift.filter(|c| (c - 1.0).abs() >= fleet.relevant) {
        let after = number::long_time(fleet.last - fleet.first, true);
        all.push(good(format!("The typical machine became {} in {after}", slower(common, g))));
    }
    all
}

/// What a fleet is, where there are several.
pub(crate) fn fleet_title(fleet: &NodeFleet, g: &Glyphs, show: ShowName<'_>) -> String {
    let machines = plural(fleet.machines.len() as u64, "machine");
    let ratio = fleet.ratio_to_first.map(|r| format!(", {} than the first fingerprint", slower(r, g)));
    format!("fingerprint {}: {machines}{}", show(&fleet.fingerprint), ratio.unwrap_or_default())
}

/// `spread (standard deviation): 1.0 % between executions, 0.3 % between runs, 0.1 % between machines`.
pub(crate) fn spread(spread: &FleetSpread, g: &Glyphs) -> String {
    let FleetSpread { executions, runs, machines } = spread;
    format!(
        "standard deviation: {} between executions, {} between runs, {} between machines",
        share(*executions, g),
        share(*runs, g),
        share(*machines, g)
    )
}

/// What limits a fleet's comparison.
pub(crate) fn fleet_remarks(fleet: &NodeFleet, show: ShowName<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if fleet.single_runs {
        all.push(
            "each machine has one run or few: the spread of runs is taken from that between the machines".to_owned(),
        );
    }
    let missing: Vec<&NodeRow> = fleet.machines.iter().filter(|m| !m.missing.is_empty()).collect();
    if let Some(first) = missing.first() {
        let programs = names(&first.missing, show);
        let more = match missing.len() {
            1 => String::new(),
            n => format!("; {} more have not run all programs", n - 1),
        };
        all.push(format!("{} has not run {programs}{more}", show(&first.machine)));
    }
    all
}

/// What limits the whole comparison.
pub(crate) fn remarks(report: &NodesReport, show: ShowName<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if report.fleets.len() > 1 {
        let n = report.fleets.len();
        all.push(format!(
            "the machines have {n} fingerprints (CPU, kernel, settings); each is compared within its own"
        ));
    }
    if !report.changed.is_empty() {
        let changed = names(&report.changed, show);
        all.push(format!("changed fingerprint between runs: {changed}; their runs are compared in each"));
    }
    if report.left_out > 0 {
        all.push(format!("{} left out: not above 0", plural(report.left_out as u64, "time")));
    }
    all
}
