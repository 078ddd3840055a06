//! The section of one program.

use crate::compare::names::same_words;
use crate::compare::rows::{parameters, reference};
use crate::run::terminal::failed::execution;
use crate::run::terminal::{account, discards, quiet};
use crate::words::{scale, words_of};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::run::report::data::{DaemonSummary, MeasureReport, RunReport, SeriesReport};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::{Reasons, interval, numbers, plural, time, value};

/// Draws one program.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, index: usize) {
    let Some(s) = report.series.get(index) else { return };
    page.gap();
    heading(page, report, s, index);
    if s.counted == 0 {
        page.painted_field("", Paint::Warn, "no samples");
    } else {
        measures(page, s);
        intervals(page, s);
        trust(page, s);
        quiet::field(page, report, s);
    }
    if s.counted > 0 {
        account::field(page, s);
        difference(page, s);
    }
    daemons(page, s);
    resources(page, s);
    discards::field(page, s);
    for (i, l) in failures(page, s).iter().enumerate() {
        page.painted_field(if i == 0 { "failures" } else { "" }, Paint::Bad, l);
    }
    survivors(page, s);
}

fn heading(page: &mut ScreenText<'_>, report: &RunReport, s: &SeriesReport, index: usize) {
    let label = page.style.show(&s.program.label);
    let several = report.series.len() > 1;
    let is_reference = several && reference(report) == Some(index);
    let before = if several { format!("{}  ", index + 1) } else { String::new() };
    let after = if is_reference { "  (reference)" } else { "" };
    let room = page.width() - text::columns(&before) - after.len();
    if text::columns(&label) > room {
        for (i, l) in text::break_anywhere(&label, room).iter().enumerate() {
            let b = if i == 0 { before.clone() } else { " ".repeat(text::columns(&before)) };
            page.title(&format!("{b}{l}"));
        }
    } else {
        let title = format!("{before}{label}");
        page.line(&[(Paint::Title, title), (Paint::Dim, after.to_owned())]);
    }
    let command = words_of(page, s);
    if command != label && !same_words(&command, &s.program.label) {
        page.field("command", &command);
    }
    if !s.program.parameters.is_empty() {
        page.field("parameters", &parameters(page, s));
    }
    if let Some(folder) = &s.program.cwd {
        page.field("folder", &page.style.show_name(folder));
    }
}

/// The figures of one measure as cells, in the order of [`HEADS`] without its first.
fn cells(page: &ScreenText<'_>, m: &MeasureReport) -> [String; 6] {
    let sc = scale(page, m);
    let mean = match m.std_dev {
        Some(sd) => {
            format!("{} {} {}", value(page, sc, m.mean), page.g.plus_minus, value(page, sc, sd))
        }
        None => value(page, sc, m.mean),
    };
    let absent = page.g.absent.to_owned();
    let median = match &m.median_interval {
        Ok(i) => format!("{} {}", value(page, sc, m.median), interval(page, sc, i)),
        Err(_) => value(page, sc, m.median),
    };
    let range = format!("{} {} {}", value(page, sc, m.min), page.g.dots, value(page, sc, m.max));
    [
        mean,
        m.relative_error.and_then(number::percent).unwrap_or(absent),
        median,
        range,
        format!("{} of {}", m.retained, m.samples),
        m.discards(),
    ]
}

fn named(page: &ScreenText<'_>, name: &str, m: &Reading<MeasureReport>) -> String {
    match m.value() {
        Some(m) => format!("{name} [{}]", scale(page, m).unit.sign(page.style.unicode)),
        None => name.to_owned(),
    }
}

/// The measures of a program: net time only where it is known.
fn rows(s: &SeriesReport) -> Vec<(&'static str, &Reading<MeasureReport>)> {
    let mut rows = vec![("PT", &s.pt), ("ET", &s.et)];
    if s.net.value().is_some() {
        rows.push(("net", &s.net));
    }
    rows
}

fn measures(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let rows = rows(s);
    let pm = page.g.plus_minus;
    let dots = page.g.dots;
    let heads = [
        (format!("mean {pm} s.d."), Align::Right),
        ("rel. error".to_owned(), Align::Right),
        ("median [95% interval]".to_owned(), Align::Right),
        (format!("min {dots} max"), Align::Right),
        ("kept".to_owned(), Align::Right),
        ("discarded".to_owned(), Align::Left),
    ];
    let names = rows.iter().map(|(n, m)| GridCell::new(named(page, n, m)).paint(Paint::Strong));
    let mut columns = vec![GridColumn::new("", Align::Left, names.collect())];
    for (i, (head, align)) in heads.iter().enumerate() {
        let cell = |m: &Reading<MeasureReport>| match m.value() {
            Some(m) => {
                let paint = match i {
                    0 => Paint::Strong,
                    4 if !m.trustworthy => Paint::Warn,
                    _ => Paint::Plain,
                };
                GridCell::new(cells(page, m)[i].clone()).paint(paint)
            }
            None => GridCell::new(page.g.absent),
        };
        columns.push(GridColumn::new(head.clone(), *align, rows.iter().map(|r| cell(r.1)).collect()));
    }
    let width = page.width();
    if grid::total(&columns, 3) + 2 <= width {
        grid::draw(page, &columns, 2, 3);
    } else if grid::total(&columns, 2) + 2 <= width {
        grid::draw(page, &columns, 2, 2);
    } else {
        for (name, m) in &rows {
            stacked(page, name, m);
        }
    }
    // Why there is no net time is said where the account would be.
    for (name, m) in rows.iter().filter(|r| r.0 != "net") {
        if let Some(why) = m.absent() {
            let why = page.style.prose(&why.to_string());
            page.painted_field(&format!("no {name}"), Paint::Warn, &why);
        }
    }
}

/// The same figures below each other, for narrow terminals.
fn stacked(page: &mut ScreenText<'_>, name: &str, m: &Reading<MeasureReport>) {
    let Some(m) = m.value() else { return };
    let [mean, error, median, range, kept, discarded] = cells(page, m);
    let unit = scale(page, m).unit.sign(page.style.unicode);
    page.field_row(name, vec![(Paint::Strong, format!("{mean} {unit}"))]);
    if m.relative_error.is_some() {
        page.field("", &format!("relative error {error}"));
    }
    let interval = if m.median_interval.is_ok() { " (95%)" } else { "" };
    page.field("", &format!("median {median}{interval}"));
    page.field("", &format!("range {range}"));
    page.field_items("", &[format!("kept {kept}"), format!("discarded {discarded}")]);
}

fn intervals(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let mut known = Vec::new();
    let mut reasons = Reasons::default();
    for (name, m) in rows(s) {
        let Some(m) = m.value() else { continue };
        let sc = scale(page, m);
        match &m.mean_interval {
            Ok(i) => {
                let unit = sc.unit.sign(page.style.unicode);
                known.push(format!("{name} {} {unit}", interval(page, sc, i)));
            }
            Err(e) => reasons.add(&format!("{name} mean"), e),
        }
        if let Err(e) = &m.median_interval {
            reasons.add(&format!("{name} median"), e);
        }
    }
    if !known.is_empty() {
        known.push("bootstrap with the discards".to_owned());
        page.field_items("95% of mean", &known);
    }
    let lines = reasons.lines(page);
    page.field_lines("no interval", &lines);
}

fn trust(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let rows = rows(s);
    let untrusted = rows.iter().filter(|r| r.1.value().is_some_and(|m| !m.trustworthy));
    let names: Vec<&str> = untrusted.map(|r| r.0).collect();
    if !names.is_empty() {
        let verb = if names.len() > 1 { "are" } else { "is" };
        let text = format!("{} {verb} not trustworthy: fewer than half of the samples are left", names.join(" and "));
        page.painted_field("", Paint::Warn, &text);
    }
}

fn difference(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let d = &s.difference;
    let part = |page: &ScreenText<'_>, name: &str, r: &Reading<f64>| match r {
        Reading::Value(v) => format!("{name} {}", time(page, *v)),
        Reading::Absent(_) => format!("{name} {}", page.g.absent),
    };
    let means = (s.pt.value().map(|m| m.mean), s.et.value().map(|m| m.mean));
    let mut items = Vec::new();
    if let Reading::Value(v) = &d.gross_less_pt {
        let relative = match means {
            (Some(pt), Some(et)) if *v < 0.0 && et > 0.0 => {
                format!(" ({} CPUs busy on average)", number::fixed(pt / et, 1).unwrap_or_default())
            }
            (_, Some(et)) if *v >= 0.0 && et > 0.0 => {
                number::percent(v / et).map_or_else(String::new, |p| format!(" ({p} of ET)"))
            }
            _ => String::new(),
        };
        items.push(format!("{}{relative}", time(page, *v)));
    } else {
        items.push(page.g.absent.to_owned());
    }
    items.push(format!(
        "meanwhile on all CPUs: {}, tare {}, {}",
        part(page, "daemons", &d.daemons),
        time(page, d.tare),
        part(page, "stolen", &d.steal)
    ));
    page.field_items(&format!("ET {} PT", page.g.minus), &items);
    let mut reasons = Reasons::default();
    // That PT or the daemons are absent is said where they belong.
    if let (Some(a), true) = (d.gross_less_pt.absent(), s.pt.value().is_some()) {
        reasons.add("difference", a);
    }
    if let Some(a) = d.steal.absent() {
        reasons.add("stolen", a);
    }
    let lines = reasons.lines(page);
    page.field_lines("", &lines);
}

fn daemon_name(page: &ScreenText<'_>, d: &DaemonSummary) -> String {
    let kind = match d.kind {
        TaskKind::User => "",
        TaskKind::Kernel => " (kernel)",
        TaskKind::Tare => " (tare itself)",
        TaskKind::Partner => " (the other program)",
    };
    let room = if page.narrow() { 17 } else { 25 } - kind.len();
    let name = page.style.show(&d.family);
    format!("{}{kind}", text::cut_middle(&name, room, page.g.dots))
}

fn daemons(page: &mut ScreenText<'_>, s: &SeriesReport) {
    if let Some(why) = s.difference.daemons.absent().filter(|_| s.daemons.is_empty()) {
        let why = page.style.prose(&why.to_string());
        page.painted_field("daemons", Paint::Warn, &why);
        return;
    }
    if s.daemons.is_empty() && s.counted > 0 {
        page.field("daemons", "none ran");
    }
    let rows: Vec<[String; 4]> = s
        .daemons
        .iter()
        .map(|d| {
            let started = if d.born > 0 { format!(", {} started", d.born) } else { String::new() };
            [
                daemon_name(page, d),
                time(page, d.mean),
                time(page, d.max.as_f64()),
                format!("in {} of {}{started}", d.samples, plural(s.counted, "sample")),
            ]
        })
        .collect();
    daemon_rows(page, &rows);
    if let Some((n, why)) = &s.daemons_incomplete {
        let why = page.style.prose(why);
        let text = format!("incomplete in {n} of {}: {why}", plural(s.counted, "sample"));
        page.painted_field(if rows.is_empty() { "daemons" } else { "" }, Paint::Warn, &text);
    }
}

/// Names and means, and as many of the other figures as there is room for.
fn daemon_rows(page: &mut ScreenText<'_>, rows: &[[String; 4]]) {
    let width = |i: usize| rows.iter().map(|r| text::columns(&r[i])).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mean = if page.narrow() { "  " } else { "  mean " };
    let before = ["", mean, "   max ", "   "];
    let mut shown = 4;
    let total = |n: usize| (0..n).map(|i| widths[i] + before[i].len()).sum::<usize>();
    while shown > 2 && total(shown) > page.field_width() {
        shown -= 1;
    }
    for (i, row) in rows.iter().enumerate() {
        let mut spans = Vec::new();
        for (j, text) in row.iter().enumerate().take(shown) {
            let pad = " ".repeat(widths[j] - text::columns(text));
            let head = (Paint::Dim, before[j].to_owned());
            spans.push(head);
            spans.push((
                Paint::Plain,
                if j == 0 {
                    format!("{text}{pad}")
                } else {
                    format!("{}{text}", if j < 3 { pad } else { String::new() })
                },
            ));
        }
        page.field_row(if i == 0 { "daemons" } else { "" }, spans);
    }
}

fn resources(page: &mut ScreenText<'_>, s: &SeriesReport) {
    if s.counted == 0 {
        return;
    }
    let r = &s.resources;
    let mut reasons = Reasons::default();
    let absent = |page: &ScreenText<'_>| page.g.absent.to_owned();
    let mut figure = |name: &str, v: Result<Option<String>, &Absent>| match v {
        Ok(text) => text.unwrap_or_else(|| absent(page)),
        Err(why) => {
            reasons.add(name, why);
            absent(page)
        }
    };
    let user = figure("user", r.user.as_result().map(|v| Some(time(page, *v))));
    let system = figure("system", r.system.as_result().map(|v| Some(time(page, *v))));
    let peak = figure("peak memory", r.max_rss.as_result().map(|v| Some(number::bytes(*v))));
    let mut counted = |name: &str, v: &Reading<f64>| figure(name, v.as_result().map(|v| number::count(*v)));
    let waiting = counted("switches", &r.voluntary_switches);
    let preempted = counted("switches", &r.involuntary_switches);
    let faults = counted("major faults", &r.major_faults);
    let items = vec![
        format!("user {user}"),
        format!("system {system}"),
        format!("peak memory {peak}"),
        format!("switches: {waiting} by waiting, {preempted} by preemption"),
        format!("major faults {faults}"),
    ];
    page.field_items("resources", &items);
    let lines = reasons.lines(page);
    page.field_lines("", &lines);
}

fn survivors(page: &mut ScreenText<'_>, s: &SeriesReport) {
    for (i, v) in s.survivors.iter().enumerate() {
        let ended = v.count.saturating_sub(v.left).saturating_sub(v.not_ended);
        let mut fates = Vec::new();
        if ended > 0 {
            fates.push(format!("{ended} ended by tare"));
        }
        if v.left > 0 {
            fates.push(format!("{} left running", v.left));
        }
        if v.not_ended > 0 {
            fates.push(format!("{} could not be killed", v.not_ended));
        }
        let paint = if v.not_ended > 0 { Paint::Bad } else { Paint::Plain };
        let name = page.style.show(&v.name);
        let room = page.field_width().saturating_sub(30).max(16);
        let name = text::cut_middle(&name, room, page.g.dots);
        let text = format!("{name}, a leftover process {}: {}", times(v.count), fates.join(", "));
        page.painted_field(if i == 0 { "survivors" } else { "" }, paint, &text);
    }
}

fn times(n: u32) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

/// The failures of a series, grouped, one line each.
fn failures(page: &ScreenText<'_>, s: &SeriesReport) -> Vec<String> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for f in &s.failures {
        let what = page.style.prose(&f.outcome.to_string());
        let accepted = match (f.ignored, f.is_counted()) {
            (true, true) => " (accepted: it counts)",
            (true, false) => " (accepted)",
            (false, _) => "",
        };
        let phase = execution(f);
        let key = format!("{phase}\u{0}{what}{accepted}");
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, list)) => list.push(f.index),
            None => groups.push((key, vec![f.index])),
        }
    }
    let line = |(key, list): &(String, Vec<u32>)| {
        let (phase, what) = key.split_once('\u{0}').unwrap_or(("", key));
        let s = if list.len() > 1 { "s" } else { "" };
        format!("{phase}{s} {}: {what}", numbers(list, 8))
    };
    groups.iter().map(line).collect()
}
