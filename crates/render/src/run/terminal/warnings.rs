//! The warnings of the default output: one line each kind, with the programs that it is about.

use crate::compare::rows::reference;
use crate::run::remarks;
use std::collections::BTreeSet;
use tarebench_core::run::notes::FactorChange;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::report::findings::{NameCount, Remark, RemarkKind as Kind};
use tarebench_core::statistics::steadiness::Unsteadiness;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::number::{TimeScale, TimeUnit};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::plural;

const MOST: usize = 4;
/// So many kinds of what is not steady in a series are shown: the first ones explain the most.
const MOST_UNSTEADY: usize = 2;

/// A warning of one or several programs.
#[derive(Debug, PartialEq, Eq)]
struct Warning {
    /// What it says; without a period, if programs follow.
    text: String,
    /// The programs, each with its figure if it has one; empty if it is about the run, or there is but one program.
    programs: Vec<String>,
}

/// Draws the warnings. `said`: the lines above say why a program has no sample.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, names: &[String], said: bool) {
    let found = warnings(page, report, names, said);
    let mark = format!("{} ", page.g.warning);
    let room = page.width() - text::columns(&mark);
    for w in found.iter().take(MOST) {
        for (i, line) in lines(w, room).into_iter().enumerate() {
            let before = if i == 0 { (Paint::Warn, mark.clone()) } else { (Paint::Plain, " ".repeat(mark.len())) };
            page.line(&[before, (Paint::Warn, line)]);
        }
    }
    if let Some(rest) = found.len().checked_sub(MOST).filter(|n| *n > 0) {
        let text = format!("{} and {}", page.g.dots, plural(rest as u64, "more warning"));
        page.hang(&[(Paint::Warn, mark)], Paint::Warn, &text);
    }
}

fn warnings(page: &ScreenText<'_>, report: &RunReport, names: &[String], said: bool) -> Vec<Warning> {
    let several = report.series.len() > 1;
    let stolen_by_program = report.remarks.iter().any(|r| matches!(r.kind, Kind::Steal { .. }));
    // Without a choice of the user's it is the first program.
    let base = reference(report).unwrap_or(0);
    let missing = names.get(base).filter(|_| report.series.get(base).is_some_and(|s| s.et.value().is_none()));
    let unsteady: BTreeSet<u8> = report.remarks.iter().filter_map(unsteadiness).collect();
    let least = unsteady.iter().take(MOST_UNSTEADY).next_back();
    let shown = |r: &&Remark| unsteadiness(r).is_none_or(|rank| least.is_some_and(|least| rank <= *least));
    let mut found: Vec<Warning> = Vec::new();
    for remark in report.remarks.iter().filter(|r| r.warning()).filter(shown) {
        if said && remark.kind == Kind::NoSamples {
            continue;
        }
        if let (Kind::NotComparable, Some(reference)) = (&remark.kind, missing) {
            let text = format!("Nothing to compare with: the reference {reference} has no sample that counts.");
            if found.iter().all(|w| w.text != text) {
                found.push(Warning { text, programs: Vec::new() });
            }
            continue;
        }
        if let Kind::Changed { changes } = &remark.kind {
            let texts = changed(changes, stolen_by_program).into_iter().map(|t| page.style.prose(&t));
            found.extend(texts.map(|text| Warning { text, programs: Vec::new() }));
            continue;
        }
        let name = remark.series.and_then(|i| names.get(i as usize)).filter(|_| several);
        let (text, figure) = match (name, shared(&remark.kind)) {
            (Some(_), Some(shared)) => shared,
            _ => (alone(page, remark), String::new()),
        };
        let text = page.style.prose(&text);
        let program = name.map(|n| format!("{n} {}", page.style.prose(&figure)).trim_end().to_owned());
        match found.iter_mut().find(|w| w.text == text) {
            Some(w) => w.programs.extend(program.filter(|p| !w.programs.contains(p))),
            None => found.push(Warning { text, programs: program.into_iter().collect() }),
        }
    }
    found
}

fn unsteadiness(remark: &Remark) -> Option<u8> {
    if let Kind::Unsteady { found, .. } = &remark.kind { Some(found.rank()) } else { None }
}

/// Name of the factor that counts stolen time, in ms.
const STEAL: &str = "steal";

/// What changed on the machine. Stolen time has its own line, and none where that of each program is known.
fn changed(changes: &[FactorChange], stolen_by_program: bool) -> Vec<String> {
    let (stolen, others): (Vec<_>, Vec<_>) = changes.iter().partition(|c| c.factor == STEAL && c.count.is_some());
    let mut texts = Vec::new();
    if !stolen.is_empty() && !stolen_by_program {
        let sum: i64 = stolen.iter().filter_map(|c| c.count).fold(0, i64::saturating_add);
        texts.push(format!("{sum} ms of CPU time were stolen by the hypervisor."));
    }
    if !others.is_empty() {
        texts.push(format!("The machine changed during the measurement: {}.", remarks::changes(others)));
    }
    texts
}

/// What a remark says, by its first sentence: the full output has what to do about it. What is not steady is said with it, since
/// no figure above shows it.
fn alone(page: &ScreenText<'_>, remark: &Remark) -> String {
    if let Kind::Steal { time, share } = remark.kind {
        return format!(
            "{} of CPU time ({}) were stolen by the hypervisor.",
            stolen(time),
            Cell::of(Unit::Share, share)
        );
    }
    let text = remarks::text(remark, &page.style.hints);
    if unsteadiness(remark).is_some() {
        return text;
    }
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let mut sentences = ends.filter(|at| text[at + 2..].chars().next().is_some_and(char::is_uppercase));
    sentences.next().map_or(text.as_str(), |at| &text[..=at]).to_owned()
}

/// The part of a remark that all programs share, and the figures of the one; `None` if its sentence has no such parts.
fn shared(kind: &Kind) -> Option<(String, String)> {
    let counted = |n: u64, all: u64| format!("{n} of {all}");
    let names = |names: &[NameCount]| {
        let all: Vec<String> = names.iter().map(|n| format!("{} {}×", n.name, n.count)).collect();
        format!("({})", all.join(", "))
    };
    let (text, figures) = match kind {
        Kind::Steal { time, .. } => ("CPU time was stolen by the hypervisor", stolen(*time)),
        Kind::NoSamples => ("No counted sample", String::new()),
        Kind::NotComparable => ("Not comparable, as no round has a retained sample of both programs", String::new()),
        Kind::Failures { failed, accepted, of: all, first } => {
            let failed = failed.saturating_sub(*accepted);
            ("Samples failed and do not count", format!("{} ({first})", counted(failed, *all)))
        }
        Kind::NoProcessTime { missing, of: all, .. } => ("Samples without CPU time", counted(*missing, *all)),
        Kind::Replaced { first, .. } => (
            "CPU time is from wait4, because the run's source did not count all of it",
            format!(
                "({} counted {} of {})",
                first.source.name(),
                Cell::time(first.counted.as_f64()),
                Cell::time(first.seen.as_f64())
            ),
        ),
        Kind::LeftCgroup { to, .. } => ("The program moved to another cgroup", format!("({to})")),
        Kind::NotTrustworthy { retained, of: all, .. } => {
            ("Not trustworthy, as too few samples are retained", counted(u64::from(*retained), u64::from(*all)))
        }
        Kind::Precision { reached, .. } => {
            ("Precision not reached", reached.map_or_else(String::new, |r| format!("± {}", Cell::of(Unit::Share, r))))
        }
        Kind::Unsteady { found, .. } => unsteady(found),
        Kind::NotEnded { names: left } => ("Leftover processes could not be killed", names(left)),
        Kind::AccountIncomplete { samples, of: all, .. } => (
            "Samples without net time, as their account is not complete",
            counted(u64::from(*samples), u64::from(*all)),
        ),
        Kind::Unattributed { time, .. } => ("Unattributed elapsed time", Cell::time(*time).plain()),
        Kind::GateLimit { samples, of: all } => (
            "Samples whose pauses reached their limit, so that they ran on a busy machine",
            counted(samples.len() as u64, u64::from(*all)),
        ),
        Kind::Suspended { time, .. } => ("The machine was suspended during samples", Cell::time(*time).plain()),
        Kind::ClockSet { step, .. } => ("The machine's clock was set during samples", remarks::set_by(*step)),
        _ => return None,
    };
    Some((text.to_owned(), figures))
}

/// What the programs share whose times are not steady, and the figure of one.
fn unsteady(found: &Unsteadiness) -> (&'static str, String) {
    use Unsteadiness as U;
    let change = |from: f64, to: f64| Cell::of(Unit::Change, to / from).plain();
    match found {
        U::Drift { from, to } => {
            ("Times drifted during the run, and a mean depends on how long it was measured", change(*from, *to))
        }
        U::Step { at, before, after } => (
            "Times changed to another level during the run, and a mean is of both",
            format!("{} at sample {}", change(*before, *after), at.saturating_add(1)),
        ),
        U::WarmUp { samples, first, later } => (
            "The first samples took longer, and a mean contains them",
            format!("{} in {samples}", change(*later, *first)),
        ),
        U::Modes { fast, slow, .. } => ("Times have two modes, and a mean lies between them", change(*fast, *slow)),
        U::SerialCorrelation { values, independent, .. } => (
            "Successive samples are alike, and count for fewer independent ones",
            format!("{} of {values}", independent.round()),
        ),
        U::Ticks { tick, .. } => {
            ("Times differ by multiples of a step, and smaller differences do not show", Cell::time(*tick).plain())
        }
    }
}

/// Stolen time is counted in ticks of 10 ms at best.
fn stolen(ns: f64) -> String {
    let unit = TimeUnit::of(ns);
    let scale = TimeScale { unit, decimals: number::decimals_for(ns / unit.nanos(), 2).min(unit.finest()) };
    scale.value(ns).map_or_else(|| "an unknown time".to_owned(), |t| format!("{t} {}", unit.sign(true)))
}

/// The lines of a warning, with as many of its programs as two lines have room for, but one at least. A program and its figure
/// stay together.
fn lines(w: &Warning, room: usize) -> Vec<String> {
    let (first, others) = (1, w.programs.len());
    let all = (first..=others).rev().map(|shown| pieces(w, shown));
    let mut fitting = all.map(|pieces| wrapped(&pieces, room)).filter(|lines| lines.len() <= 2);
    fitting.next().unwrap_or_else(|| wrapped(&pieces(w, first), room))
}

/// What stays on one line each: words, and programs with their figures.
fn pieces(w: &Warning, shown: usize) -> Vec<String> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if w.programs.is_empty() {
        return words(&w.text);
    }
    let hidden = w.programs.len().saturating_sub(shown);
    // A sentence that has its own period stands after the programs.
    let sentence = w.text.ends_with('.');
    let end = if sentence { ":" } else { "." };
    let mut programs: Vec<String> = w.programs.iter().take(shown).cloned().collect();
    let last = programs.len().saturating_sub(1);
    for (i, program) in programs.iter_mut().enumerate() {
        match i == last {
            true if hidden == 0 => program.push_str(end),
            true => {}
            false => program.push(','),
        }
    }
    if hidden > 0 {
        programs.push(format!("and {}{end}", plural(hidden as u64, "other")));
    }
    if sentence { [programs, words(&w.text)].concat() } else { [words(&format!("{}:", w.text)), programs].concat() }
}

fn wrapped(pieces: &[String], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if text::columns(line) + 1 + text::columns(piece) <= room => {
                line.push(' ');
                line.push_str(piece);
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use tarebench_core::base::reading::{Absent, Reading};
    use tarebench_core::run::report::data::Measure;
    use tarebench_report::style::Style;

    fn said(programs: &[&str], remarks: &[(Option<u32>, Kind)], width: usize) -> Vec<String> {
        let m = || fixtures::measure(1e6, 1e4, 10, 0, 0);
        let mut r = fixtures::report(programs.iter().map(|p| fixtures::series(p, m(), m())).collect());
        r.remarks = remarks.iter().map(|(series, kind)| Remark { series: *series, kind: kind.clone() }).collect();
        let style = Style { width, ..Style::default() };
        let mut page = ScreenText::new(&style);
        let names: Vec<String> = programs.iter().map(|p| (*p).to_owned()).collect();
        section(&mut page, &r, &names, false);
        page.finish().lines().map(str::to_owned).collect()
    }

    fn steal(ms: f64) -> Kind {
        Kind::Steal { time: ms * 1e6, share: 0.02 }
    }

    fn host(whats: &[&str]) -> (Option<u32>, Kind) {
        (None, Kind::Changed { changes: whats.iter().map(|what| fixtures::change(what)).collect() })
    }

    #[test]
    fn a_suspend_and_a_set_clock_are_warnings() {
        let suspended = |time| Kind::Suspended { samples: vec![1, 2], time };
        assert_eq!(
            said(&["gzip"], &[(Some(0), suspended(61e9))], 100),
            ["! The machine was suspended for 61.0 s during samples 2, 3."]
        );
        let set = Kind::ClockSet { samples: vec![0], step: 2e9 };
        assert_eq!(
            said(&["gzip", "xz"], &[(Some(0), suspended(61e9)), (Some(1), suspended(5e9)), (Some(1), set)], 100),
            [
                "! The machine was suspended during samples: gzip 61.0 s, xz 5.00 s.",
                "! The machine's clock was set during samples: xz forward by 2.00 s."
            ]
        );
    }

    #[test]
    fn of_what_is_not_steady_two_kinds_are_shown() {
        use Unsteadiness as U;
        let unsteady = |series, found| (Some(series), Kind::Unsteady { measure: Measure::Pt, blocks: false, found });
        let correlation = |series| unsteady(series, U::SerialCorrelation { r: 0.65, values: 100, independent: 21.2 });
        let modes = || unsteady(0, U::Modes { fast: 100e6, slow: 105e6, slow_share: 0.2 });
        let ticks = || unsteady(0, U::Ticks { tick: 1e7, distinct: 3, values: 100 });
        assert_eq!(
            said(&["gzip"], &[ticks(), correlation(0), modes()], 120),
            [
                "! Successive samples are alike (correlation 0.65): 100 samples say as much about the mean as 21 independent ones.",
                "! CPU time has two modes: 100 ms in 80 % of the samples, 105 ms in the others. The mean lies between them, where few",
                "  samples are.",
            ]
        );
        let step = unsteady(0, U::Step { at: 20, before: 100e6, after: 120e6 });
        let drift = |series| unsteady(series, U::Drift { from: 100e6, to: 130e6 });
        assert_eq!(
            said(&["gzip", "xz", "zstd"], &[step, correlation(0), drift(1), drift(2)], 120),
            [
                "! Times changed to another level during the run, and a mean is of both: gzip +20.0 % at sample 21.",
                "! Times drifted during the run, and a mean depends on how long it was measured: xz +30.0 %, zstd +30.0 %.",
            ]
        );
    }

    #[test]
    fn stolen_time_is_one_line() {
        let run = "steal: 30 ms of CPU time were stolen by the host";
        let two = [host(&[run]), (Some(0), steal(30.0)), (Some(1), steal(12.0))];
        assert_eq!(
            said(&["gzip", "xz"], &two, 100),
            ["! CPU time was stolen by the hypervisor: gzip 30 ms, xz 12 ms."]
        );
        assert_eq!(said(&["gzip", "xz"], &two[..1], 100), ["! 30 ms of CPU time were stolen by the hypervisor."]);
        let alone = [host(&[run]), (Some(0), steal(30.0))];
        assert_eq!(said(&["gzip"], &alone, 100), ["! 30 ms of CPU time (2.0 %) were stolen by the hypervisor."]);
        let twice = [run, "governor: now powersave", run];
        assert_eq!(
            said(&["gzip", "xz"], &[host(&twice)], 100),
            [
                "! 60 ms of CPU time were stolen by the hypervisor.",
                "! The machine changed during the measurement: governor: now powersave."
            ]
        );
    }

    #[test]
    fn a_reference_without_samples_is_said_once() {
        let m = || fixtures::measure(1e6, 1e4, 10, 0, 0);
        let mut r = fixtures::report(["a", "b", "c"].iter().map(|p| fixtures::series(p, m(), m())).collect());
        r.series[0].et = Reading::Absent(Absent::Failed("x".to_owned()));
        r.remarks = vec![
            Remark { series: Some(1), kind: Kind::NotComparable },
            Remark { series: Some(2), kind: Kind::NotComparable },
            Remark { series: Some(0), kind: Kind::NoSamples },
        ];
        let style = Style { width: 100, ..Style::default() };
        let mut page = ScreenText::new(&style);
        section(&mut page, &r, &["a".to_owned(), "b".to_owned(), "c".to_owned()], false);
        let expected =
            "! Nothing to compare with: the reference a has no sample that counts.\n! No counted sample: a.\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn many_programs_take_two_lines_at_most() {
        let programs: Vec<String> = (0..30).map(|i| format!("program-{i}")).collect();
        let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
        let all: Vec<_> = (0..30).map(|i| (Some(i), steal(12.0))).collect();
        for width in [60, 80, 100, 140] {
            let lines = said(&programs, &all, width);
            assert!(lines.len() <= 2, "{width}: {lines:#?}");
            assert!(lines.iter().all(|l| !l.trim_start().starts_with("ms")), "{lines:#?}");
            assert!(lines[0].starts_with("! CPU time was stolen by the hypervisor: program-0 12 ms,"), "{lines:?}");
            let count = lines.join(" ").matches("program-").count();
            assert!(lines.join(" ").ends_with(&format!("and {} others.", 30 - count)), "{lines:?}");
        }
    }

    #[test]
    fn remarks_of_a_kind_are_one_line() {
        let failures = |failed| Kind::Failures {
            failed,
            accepted: 0,
            of: 10,
            first: tarebench_core::sample::data::Outcome::Exited { code: 3 },
        };
        let all =
            [(Some(0), failures(2)), (Some(1), failures(5)), (Some(1), Kind::NoSamples), (Some(0), Kind::NoSamples)];
        assert_eq!(
            said(&["a", "b", "c"], &all, 140),
            [
                "! Samples failed and do not count: a 2 of 10 (exit status 3), b 5 of 10 (exit status 3).",
                "! No counted sample: b, a."
            ]
        );
    }
}
