//! A history in words and figures that all its forms share.

use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::base::hint::Hint;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::change_points::SHORTEST;
use tarebench_core::compare::history::{
    BenchmarkHistory, BetweenSource, HistoryBuild, HistoryChange, MOST_POINTS, NotUsed,
};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::style::Paint;
use tarebench_report::words::plural;

/// Digits of a commit's id that are shown.
const COMMIT: usize = 7;
/// Most columns of another name.
const NAME: usize = 24;
/// Correlation of neighbouring builds from which it is pointed out: a change must then be twice as large to be found.
const RESEMBLING: f64 = 0.5;

/// What a build is called, in few columns; foreign text.
pub(crate) fn build_name(b: &HistoryBuild) -> String {
    let changed = if b.modified { "+changes" } else { "" };
    match (&b.commit, &b.name, b.gate) {
        (Some(commit), _, _) => commit.chars().take(COMMIT).collect::<String>() + changed,
        (None, Some(name), _) => name.chars().take(NAME).collect(),
        (None, None, Some(gate)) => format!("head of g{gate}"),
        (None, None, None) => b.folder.clone(),
    }
}

/// Suite and name; foreign text.
pub(crate) fn title(h: &BenchmarkHistory) -> String {
    if h.suite.is_empty() { h.name.clone() } else { format!("{}/{}", h.suite, h.name) }
}

/// `2026-10-01`.
pub(crate) fn day(at: Nanos, zone: &TimeZone) -> String {
    date(at, zone).chars().take(10).collect()
}

/// A build with its date.
pub(crate) fn dated(b: &HistoryBuild, zone: &TimeZone) -> Cell {
    Cell::foreign(build_name(b)).and(format!(" ({})", day(b.time, zone)))
}

/// A ratio as a change with its interval: `+2.1 % [+1.9, +2.3]`.
pub(crate) fn change(ratio: f64, interval: Option<&Interval>) -> Cell {
    let interval = interval.map(|i| Ok(i.clone()));
    Cell::figure(Figure { interval, ..Figure::new(Unit::Change, ratio) })
}

/// `42 commits`; `42 builds` if some of them are none.
pub(crate) fn counted(h: &BenchmarkHistory) -> String {
    let commits = h.points.iter().all(|p| p.build.commit.is_some() && !p.build.modified);
    plural(h.points.len() as u64, if commits { "commit" } else { "build" })
}

/// The changes, the newest first; else that there is none, or why nothing can be said. Without periods.
pub(crate) fn answers(h: &BenchmarkHistory, zone: &TimeZone) -> Vec<Cell> {
    let n = counted(h);
    let said = match (h.anchor.is_some(), h.points.len()) {
        (false, _) => "no gate has a result of it that can be used".to_owned(),
        (true, 0) => "no build in this time".to_owned(),
        (true, few) if few < 2 * SHORTEST => {
            format!("{n}; a change is looked for from {} builds on", 2 * SHORTEST)
        }
        _ if h.changes.is_empty() => {
            let step = h.detectable.filter(|d| *d < 1e3).and_then(number::percent);
            let step = step.map(|p| format!("; the smallest step that would show is about {p}")).unwrap_or_default();
            format!("no change in {n}{step}")
        }
        _ => return h.changes.iter().rev().map(|c| changed(h, c, zone)).collect(),
    };
    vec![said.into()]
}

/// `+2.1 % [+1.9, +2.3] between 1a2b3c4 and 5d6e7f8 (2026-10-01)`.
fn changed(h: &BenchmarkHistory, c: &HistoryChange, zone: &TimeZone) -> Cell {
    let build = |place: usize| h.points.get(place).map(|p| &p.build);
    let before = build(c.before).map(|b| Cell::foreign(build_name(b))).unwrap_or_default();
    let after = build(c.after).map(|b| dated(b, zone)).unwrap_or_default();
    let machine = if c.machine_changed { "; the machine is another one from there on, too" } else { "" };
    let said = change(c.ratio, Some(&c.interval)).and(" between ").and(before).and(" and ").and(after).and(machine);
    said.paint(if c.ratio > 1.0 { Paint::Bad } else { Paint::Good })
}

/// The newest level relative to the anchor, without a period.
pub(crate) fn newest(h: &BenchmarkHistory, zone: &TimeZone) -> Option<Cell> {
    let (level, anchor) = h.levels.last().zip(h.anchor.as_ref())?;
    let now = change(level.ratio, Some(&level.interval));
    let now = match h.points.get(level.first).filter(|_| level.first > 0) {
        Some(since) => now.and(" since ").and(dated(&since.build, zone)),
        None => now,
    };
    Some(now.and(", relative to ").and(dated(anchor, zone)))
}

/// What limits the history, in sentences.
pub(crate) fn remarks(h: &BenchmarkHistory, zone: &TimeZone, hints: &Hints) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::new();
    if let Some(anchor) = h.anchor.as_ref().filter(|_| h.anchor_replaced) {
        let said = Cell::text("No gate of it measured the asked anchor: relative to ").and(dated(anchor, zone));
        all.push(said.and(" instead."));
    }
    let apart: usize = h.apart.iter().map(|a| a.builds).sum();
    if let Some(first) = h.apart.first() {
        let groups = plural(h.apart.len() as u64, "group");
        let said = Cell::text(format!(
            "{} in {groups} cannot be compared with these, as no gate measured one against the other; the newest is ",
            plural(apart as u64, "more build")
        ));
        all.push(said.and(dated(&first.newest, zone)).and(format!(".{}", hints.sentence(&Hint::ConnectBuilds))));
    }
    let elsewhere = h.points.iter().filter(|p| p.other_machine).count();
    if elsewhere > 0 {
        let are = if elsewhere == 1 { "was" } else { "were" };
        all.push(format!(
            "{} of {} {are} measured on machines that differ from the newest gate's; they are marked. A ratio of two \
             builds may differ by machine.",
            elsewhere,
            h.points.len()
        ).into());
    }
    if h.commands > 1 {
        all.push(format!("{} different commands have this name.", h.commands).into());
    }
    if h.corrected > 0 {
        let rest = if h.corrected == 1 { "rests" } else { "rest" };
        all.push(
            format!(
                "{} without duets {rest} on process times that are corrected for the state of the machine.",
                plural(h.corrected as u64, "gate")
            )
            .into(),
        );
    }
    if h.only_net > 0 {
        all.push(
            format!(
                "Only net time is known of {} of an earlier version of tare; the other ratios are of process time.",
                plural(h.only_net as u64, "gate")
            )
            .into(),
        );
    }
    all.extend(between_builds(h));
    if h.correlation >= RESEMBLING {
        let said = "Neighbouring builds resemble each other, as where the layout of a program's memory lasts for several \
                    builds: only changes that are clearly larger than that are reported.";
        all.push(said.into());
    }
    all.extend(not_used(&h.not_used).map(Cell::from));
    if h.points.len() >= MOST_POINTS {
        all.push(format!("Only the newest {MOST_POINTS} builds are shown.").into());
    }
    all
}

/// What the bars allow for where the benchmark's own builds are too few to show how far builds differ.
fn between_builds(h: &BenchmarkHistory) -> Option<Cell> {
    let from = match h.between_source {
        BetweenSource::OtherBenchmarks { benchmarks } => {
            format!(", that of {} with more builds.", plural(benchmarks as u64, "benchmark"))
        }
        BetweenSource::Assumed => ", which is common.".to_owned(),
        BetweenSource::Builds => return None,
    };
    let said = format!("Between builds: not known from {}; the bars allow for a standard deviation of ", counted(h));
    let shown = h.points.len() > 1;
    shown.then(|| Cell::text(said).and(Cell::of(Unit::Share, h.between_gates)).and(from))
}

fn not_used(n: &NotUsed) -> Option<String> {
    let reasons = [
        (n.failed, "could not be measured"),
        (n.few_blocks, "with too few blocks"),
        (n.same_build, "of one build against itself"),
        (n.other_measure, "by another clock (CPU or elapsed time)"),
    ];
    let counted = reasons.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| format!("Gates whose result was not used: {}.", counted.join(", ")))
}

/// What a figure shows, as shares above or below the anchor: all levels, of many points the middle four fifths, and
/// room for their intervals. A single point far away would hide all others.
pub(crate) fn shown_range(h: &BenchmarkHistory) -> Option<(f64, f64)> {
    let finite = |ratio: f64| Some(ratio - 1.0).filter(|share| share.abs() < 1e12);
    let mut points: Vec<f64> = h.points.iter().filter_map(|p| finite(p.ratio)).collect();
    points.sort_by(f64::total_cmp);
    let mut halves: Vec<f64> = h.points.iter().filter_map(|p| p.interval.as_ref()).map(Interval::half_width).collect();
    halves.retain(|half| half.is_finite());
    halves.sort_by(f64::total_cmp);
    let cut = points.len() / 10;
    let most = points.get(cut).copied().zip(points.get(points.len().checked_sub(cut + 1)?).copied())?;
    let levels = h.levels.iter().filter_map(|l| finite(l.ratio));
    let (low, high) = levels.fold(most, |(low, high), v| (low.min(v), high.max(v)));
    let half = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
    // An interval and a half of one beyond it, and no less than can be told apart.
    let margin = (1.5 * half).max(0.08 * (high - low)).max(0.0005);
    Some((low - margin, high + margin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;

    fn said(h: &BenchmarkHistory) -> Vec<String> {
        answers(h, &TimeZone::UTC).iter().map(Cell::plain).collect()
    }

    #[test]
    fn the_answer_is_a_sentence_for_each_change() {
        let all = fixtures::report().benchmarks;
        assert_eq!(
            said(&all[0]),
            [
                "−1.0 % [−1.3, −0.7] between 00000f0 and 0000100 (2026-10-17)",
                "+2.0 % [+1.8, +2.2] between 0000070 and 0000080 (2026-10-09); \
                 the machine is another one from there on, too",
            ]
        );
        assert_eq!(said(&all[1]), ["no change in 20 commits; the smallest step that would show is about 0.61 %"]);
        let mut few = all[1].clone();
        few.points.truncate(5);
        few.points[4].build.modified = true;
        assert_eq!(said(&few), ["5 builds; a change is looked for from 20 builds on"]);
        few.points.clear();
        assert_eq!(said(&few), ["no build in this time"]);
        few.anchor = None;
        assert_eq!(said(&few), ["no gate has a result of it that can be used"]);
    }

    #[test]
    fn builds_have_names() {
        let none = HistoryBuild {
            commit: None,
            modified: true,
            name: None,
            folder: "/kept".to_owned(),
            subject: None,
            gate: None,
            time: Nanos(0),
            committed: false,
        };
        let with = |commit: Option<&str>, name: Option<&str>, gate| HistoryBuild {
            commit: commit.map(str::to_owned),
            name: name.map(str::to_owned),
            gate,
            ..none.clone()
        };
        assert_eq!(build_name(&none), "/kept");
        assert_eq!(build_name(&with(None, None, Some(3))), "head of g3");
        assert_eq!(build_name(&with(None, Some("v1"), Some(3))), "v1");
        assert_eq!(build_name(&with(Some("0123456789"), Some("v1"), None)), "0123456+changes");
        assert_eq!(build_name(&with(Some("é数\u{1b}"), None, None)), "é数\u{1b}+changes");
    }

    #[test]
    fn limits_are_named_with_what_to_do() {
        let hints = Hints::new(|hint| match hint {
            Hint::ConnectBuilds => "do it".to_owned(),
            _ => String::new(),
        });
        let h = &fixtures::report().benchmarks[0];
        let found = remarks(h, &TimeZone::UTC, &hints);
        assert_eq!(
            found,
            [
                "3 more builds in 1 group cannot be compared with these, as no gate measured one against the other; the \
                 newest is 0000990 (2026-09-30). Do it.",
                "8 of 20 were measured on machines that differ from the newest gate's; they are marked. A ratio of two \
                 builds may differ by machine.",
                "Gates whose result was not used: 1 could not be measured, 2 with too few blocks.",
            ]
        );
        let corrected = BenchmarkHistory { corrected: 2, ..h.clone() };
        let found = remarks(&corrected, &TimeZone::UTC, &hints);
        let says = "2 gates without duets rest on process times that are corrected for the state of the machine.";
        assert_eq!((found.len(), found[2].plain().as_str()), (4, says));
        let found = remarks(&BenchmarkHistory { only_net: 1, ..h.clone() }, &TimeZone::UTC, &hints);
        let says =
            "Only net time is known of 1 gate of an earlier version of tare; the other ratios are of process time.";
        assert_eq!((found.len(), found[2].plain().as_str()), (4, says));
        assert_eq!(
            newest(h, &TimeZone::UTC).unwrap(),
            "+1.0 % [+0.8, +1.2] since 0000100 (2026-10-17), relative to 0000000 (2026-10-01)"
        );
    }

    #[test]
    fn what_bars_allow_for_is_said() {
        let h = BenchmarkHistory {
            apart: Vec::new(),
            not_used: NotUsed::default(),
            points: fixtures::report().benchmarks[1].points[..4].to_vec(),
            between_gates: 0.0051,
            ..fixtures::report().benchmarks.remove(1)
        };
        let said = |h: &BenchmarkHistory| {
            let all = remarks(h, &TimeZone::UTC, &Hints::default());
            all.iter().map(Cell::plain).collect::<Vec<String>>().join("\n")
        };
        assert_eq!(said(&h), "");
        let assumed = BenchmarkHistory { between_source: BetweenSource::Assumed, ..h.clone() };
        let says = "Between builds: not known from 4 commits; the bars allow for a standard deviation of 0.51 %, which is \
                    common.";
        assert_eq!(said(&assumed), says);
        let others = BetweenSource::OtherBenchmarks { benchmarks: 3 };
        let found = said(&BenchmarkHistory { between_source: others, ..h.clone() });
        assert!(found.ends_with("a standard deviation of 0.51 %, that of 3 benchmarks with more builds."), "{found}");
        let found = said(&BenchmarkHistory { correlation: 0.7, ..h });
        assert!(found.starts_with("Neighbouring builds resemble each other"), "{found}");
    }

    #[test]
    fn far_points_do_not_hide_the_others() {
        let mut h = fixtures::report().benchmarks.remove(0);
        let before = shown_range(&h).unwrap();
        assert!(before.0 < -0.002 && before.1 > 0.022 && before.1 < 0.03, "{before:?}");
        h.points[5].ratio = 50.0;
        h.points[9].ratio = f64::INFINITY;
        let after = shown_range(&h).unwrap();
        assert!((after.1 - before.1).abs() < 0.005, "{before:?} {after:?}");
        h.points.clear();
        assert_eq!(shown_range(&h), None);
    }
}
