//! One program in four lines: what it is, elapsed time, CPU time, net time; with probes, a fifth: the time on the quiet machine.

use crate::compare::names::{command, is_named};
use crate::compare::rows::{main, ranked};
use crate::run::program::execution;
use crate::run::terminal::added;
use crate::run::terminal::quiet;
use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::data::{MeasureReport, RunReport, SeriesReport};
use tarebench_core::sample::data::Outcome;
use tarebench_core::statistics::intervals::NoInterval;
use tarebench_report::form::Form;
use tarebench_report::number::TimeScale;
use tarebench_report::screen::{ScreenText, StyledSpan};
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::{interval, plural, value};

/// Columns of the measures' names, indent included.
const GUTTER: usize = 11;
const GAP: usize = 3;

/// How much of a line there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Wide,
    Narrow,
    WithoutRange,
    WithoutInterval,
}

const ROOMS: [Room; 4] = [Room::Wide, Room::Narrow, Room::WithoutRange, Room::WithoutInterval];

/// The cells of a measured line: mean, interval, and what follows.
struct MeasuredLine {
    name: &'static str,
    mean: String,
    interval: String,
    rest: String,
}

/// The scale of a row.
fn scale(page: &ScreenText<'_>, m: &MeasureReport) -> TimeScale {
    TimeScale::of(m.mean, m.std_dev, page.style.unit)
}

/// Draws the programs, columns aligned over all of them.
pub(crate) fn sections(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let room = fitting(page, report);
    let gap = if page.width() < 80 { 2 } else { GAP };
    let all: Vec<(usize, &SeriesReport)> = shown(report);
    let series: Vec<&SeriesReport> = all.iter().map(|(_, s)| *s).collect();
    let whole = digits(page, &series);
    let lines: Vec<Vec<MeasuredLine>> = series.iter().map(|s| measured(page, s, room, whole)).collect();
    let width =
        |cell: fn(&MeasuredLine) -> &String| lines.iter().flatten().map(|l| text::columns(cell(l))).max().unwrap_or(0);
    let widths = (width(|l| &l.mean), width(|l| &l.interval));
    for ((i, s), lines) in all.into_iter().zip(&lines) {
        header(page, report, i, names);
        if s.counted == 0 {
            let why = failed(page, s).unwrap_or_else(|| "no samples".to_owned());
            page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Warn, &why);
            continue;
        }
        if let Some(why) = s.et.absent() {
            let why = page.style.prose(&why.to_string());
            page.line(&[gutter("time"), (Paint::Warn, why)]);
            continue;
        }
        let mut lines = lines.iter().peekable();
        for (name, reading) in [("elapsed", &s.et), ("CPU", &s.pt), ("net", &s.net)] {
            match (reading, lines.next_if(|l| l.name == name)) {
                (Reading::Value(_), Some(line)) => draw(page, s, line, widths, gap),
                (Reading::Absent(why), _) => {
                    let why = page.style.prose(&why.to_string());
                    page.line(&[gutter(name), (Paint::Dim, why)]);
                }
                (Reading::Value(_), None) => {}
            }
        }
        if let Some(line) = lines.next() {
            draw(page, s, line, widths, gap);
        } else if let Some(why) = quiet::instead(page, report, s, page.width() - GUTTER) {
            page.hang(&[gutter("quiet")], Paint::Dim, &why);
        }
    }
}

/// How the first failure of a program ended: `failed in warm-up 1: exit status 2`.
fn failed(page: &ScreenText<'_>, s: &SeriesReport) -> Option<String> {
    let first = s.failures.iter().find(|f| !f.ignored && f.outcome != Outcome::Interrupted)?;
    let execution = execution(first);
    let outcome = page.style.prose(&first.outcome.to_string());
    Some(format!("failed in {execution} {}: {outcome}", u64::from(first.index) + 1))
}

fn gutter(name: &str) -> StyledSpan {
    (Paint::Dim, format!("  {name:<w$}", w = GUTTER - 2))
}

fn draw(page: &mut ScreenText<'_>, s: &SeriesReport, line: &MeasuredLine, widths: (usize, usize), gap: usize) {
    let pad = |cell: &str, width: usize| " ".repeat(width - text::columns(cell) + gap);
    let mut spans = vec![gutter(line.name), (Paint::Strong, line.mean.clone())];
    spans.push((Paint::Plain, pad(&line.mean, widths.0)));
    let mut used = GUTTER + widths.0 + gap;
    // The net line has no interval: what the machine added stands there.
    if line.name != "net" && widths.1 > 0 {
        spans.push((Paint::Plain, format!("{}{}", line.interval, pad(&line.interval, widths.1))));
        used += widths.1 + gap;
    }
    let room = page.width().saturating_sub(used);
    let rest = match line.name {
        "net" => added::text(page, s, room),
        "CPU" => [format!("{}   process time of the whole tree", line.rest), line.rest.clone()]
            .into_iter()
            .find(|t| !line.rest.is_empty() && text::columns(t) <= room),
        "quiet" => s.quiet.as_ref().and_then(|q| Some(quiet::rest(page, q.as_ref().ok()?, room))),
        _ => Some(line.rest.clone()),
    };
    spans.extend(rest.map(|rest| (Paint::Dim, rest)));
    page.line(&spans);
}

/// The programs but the control, with their indices.
fn shown(report: &RunReport) -> Vec<(usize, &SeriesReport)> {
    ranked(report).into_iter().filter_map(|i| Some((i, report.series.get(i)?))).collect()
}

/// The most that fits for every program.
fn fitting(page: &ScreenText<'_>, report: &RunReport) -> Room {
    let all: Vec<&SeriesReport> = shown(report).into_iter().map(|(_, s)| s).collect();
    let whole = digits(page, &all);
    let gap = if page.width() < 80 { 2 } else { GAP };
    let fits = |room: &Room| {
        let lines: Vec<MeasuredLine> = all.iter().flat_map(|s| measured(page, s, *room, whole)).collect();
        let width = |cell: fn(&MeasuredLine) -> &String, of: &str| {
            lines.iter().filter(|l| of.is_empty() || l.name == of).map(|l| text::columns(cell(l))).max().unwrap_or(0)
        };
        let cells = [width(|l| &l.mean, ""), width(|l| &l.interval, ""), width(|l| &l.rest, "elapsed")];
        let used: usize = cells.iter().filter(|w| **w > 0).map(|w| w + gap).sum();
        GUTTER + used <= page.width() + gap
    };
    ROOMS.into_iter().find(fits).unwrap_or(Room::WithoutInterval)
}

/// The largest number of digits before the point of any mean.
fn digits(page: &ScreenText<'_>, all: &[&SeriesReport]) -> usize {
    let means = all.iter().flat_map(|s| [&s.et, &s.pt, &s.net]).filter_map(Reading::value);
    let measured = means.map(|m| before_point(&value(page, scale(page, m), m.mean)));
    let times = all.iter().filter_map(|s| s.quiet.as_ref()?.as_ref().ok());
    let corrected = times.map(|q| before_point(&value(page, quiet::scale(page, q), q.value)));
    measured.chain(corrected).max().unwrap_or(0)
}

fn before_point(number: &str) -> usize {
    text::columns(number.split('.').next().unwrap_or_default())
}

fn measured(page: &ScreenText<'_>, s: &SeriesReport, room: Room, whole: usize) -> Vec<MeasuredLine> {
    let line = |name, m: &MeasureReport| {
        let scale = scale(page, m);
        let mean = value(page, scale, m.mean);
        let pad = " ".repeat(whole.saturating_sub(before_point(&mean)));
        let mut cell = format!("{pad}{mean} {}", scale.unit.sign(page.style.unicode));
        if let Some(sd) = m.std_dev {
            cell.push_str(&format!(" {} {}", page.g.plus_minus, value(page, scale, sd)));
        }
        let before = if room == Room::Wide { "95% " } else { "" };
        let interval = match &m.mean_interval {
            _ if room == Room::WithoutInterval || name == "net" => String::new(),
            Ok(i) => format!("{before}{}", interval(page, scale, i)),
            Err(NoInterval::TooFew { need, .. }) if room == Room::Wide => format!("(interval from {need} samples)"),
            Err(_) => String::new(),
        };
        let range = || format!("{} {} {}", value(page, scale, m.min), page.g.dots, value(page, scale, m.max));
        let rest = match (name, room) {
            ("elapsed", Room::Wide) if m.retained > 1 => format!("range {}", range()),
            ("elapsed", Room::Narrow) if m.retained > 1 => range(),
            ("CPU", _) => match (s.resources.user.value(), s.resources.system.value()) {
                (Some(u), Some(k)) => format!("user {}, system {}", value(page, scale, *u), value(page, scale, *k)),
                _ => String::new(),
            },
            _ => String::new(),
        };
        MeasuredLine { name, mean: cell, interval, rest }
    };
    let readings = [("elapsed", &s.et), ("CPU", &s.pt), ("net", &s.net)];
    let measured = readings.into_iter().filter_map(|(name, r)| Some(line(name, r.value()?)));
    measured.chain(corrected(page, s, room, whole)).collect()
}

/// The time on the quiet machine; its own figures follow it, as [`quiet::rest`] has them.
fn corrected(page: &ScreenText<'_>, s: &SeriesReport, room: Room, whole: usize) -> Option<MeasuredLine> {
    let q = s.quiet.as_ref()?.as_ref().ok()?;
    let scale = quiet::scale(page, q);
    let mean = value(page, scale, q.value);
    let pad = " ".repeat(whole.saturating_sub(before_point(&mean)));
    let unit = scale.unit.sign(page.style.unicode);
    let spread = value(page, scale, quiet::spread(q));
    let interval = match room {
        Room::WithoutInterval => String::new(),
        Room::Wide => format!("95% {}", interval(page, scale, &q.interval)),
        Room::Narrow | Room::WithoutRange => interval(page, scale, &q.interval),
    };
    let mean = format!("{pad}{mean} {unit} {} {spread}", page.g.plus_minus);
    Some(MeasuredLine { name: "quiet", mean, interval, rest: String::new() })
}

fn header(page: &mut ScreenText<'_>, report: &RunReport, index: usize, names: &[String]) {
    let Some(s) = report.series.get(index) else { return };
    let command = shown_command(page, s);
    let named = ranked(report).len() > 1 || is_named(s);
    let name = names.get(index).filter(|n| named && !text_is_same(n, &command));
    let shown = shown(report);
    let wide = shown.iter().filter_map(|(i, _)| names.get(*i)).map(|n| text::columns(n)).max();
    let wide = wide.unwrap_or(0).max(GUTTER - 2);
    let wide = wide.min(page.width() / 3);
    let lead = name.map_or_else(String::new, |n| {
        let n = text::cut_middle(n, wide, page.g.dots);
        format!("{n}{}  ", " ".repeat(wide - text::columns(&n)))
    });
    let notes = samples(page, s, report.run.plan.sigma);
    let left = |note: &String| page.width().saturating_sub(text::columns(&lead) + text::columns(note) + 2);
    let enough = text::columns(&command).min(24);
    let note = notes.iter().find(|n| left(n) >= enough).or(notes.last()).cloned().unwrap_or_default();
    let command = text::cut_middle(&command, left(&note).max(6), page.g.dots).into_owned();
    // The notes of several programs stand below each other where there is room.
    let longest = shown.iter().map(|(_, s)| text::columns(&shown_command(page, s))).max().unwrap_or(0);
    let column = longest.min(left(&note)).max(text::columns(&command));
    let pad = " ".repeat(column - text::columns(&command) + 2);
    let paint = match main(s) {
        Some(m) if m.trustworthy && m.retained == s.counted => Paint::Dim,
        _ => Paint::Warn,
    };
    let command_paint = if lead.is_empty() { Paint::Title } else { Paint::Plain };
    page.line(&[(Paint::Title, lead), (command_paint, command), (Paint::Plain, pad), (paint, note)]);
}

fn shown_command(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    command(s).write(&Form::terminal(page.style))
}

fn text_is_same(a: &str, b: &str) -> bool {
    a.trim() == b.trim()
}

/// How many samples count and why others don't, the longest wording first.
pub(crate) fn samples(page: &ScreenText<'_>, s: &SeriesReport, sigma_limit: f64) -> Vec<String> {
    let of = s.counted;
    let counted = || s.failures.iter().filter(|f| f.is_counted());
    let interrupted = counted().filter(|f| f.outcome == Outcome::Interrupted).count();
    let failed = counted().filter(|f| !f.ignored).count() - interrupted;
    let accepted = counted().filter(|f| f.ignored).count();
    let mut parts = Vec::new();
    if interrupted > 0 {
        parts.push(format!("{interrupted} interrupted"));
    }
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    if accepted > 0 {
        parts.push(format!("{accepted} failed but accepted"));
    }
    let Some(m) = main(s) else {
        let all = if of == 0 { "no samples".to_owned() } else { plural(of, "sample") };
        return vec![if parts.is_empty() { all.clone() } else { format!("{all} ({})", parts.join(", ")) }, all];
    };
    let (cutoff, sigma) = (m.discarded_by_cutoff, m.discarded_by_sigma);
    let mut short = parts.clone();
    if cutoff + sigma > 0 {
        short.push(format!("{} discarded", cutoff + sigma));
    }
    let outside = format!("outside {sigma_limit} s.d.");
    match (cutoff, sigma) {
        (0, 0) => {}
        (0, n) => parts.push(format!("{n} discarded: {outside}")),
        (n, 0) => parts.push(format!("{n} discarded: by daemons")),
        (a, b) => parts.push(format!("{} discarded: {a} by daemons, {b} {outside}", a + b)),
    }
    let count =
        if m.retained == of { plural(of, "sample") } else { format!("{} of {}", m.retained, plural(of, "sample")) };
    if parts.is_empty() {
        return vec![count, format!("{}{of}", page.g.times)];
    }
    vec![format!("{count} ({})", parts.join(", ")), format!("{count} ({})", short.join(", ")), count]
}
