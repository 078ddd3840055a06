//! Measurements of noise as tables, as JSON, as figures, and as files for simulators.

mod figures;

pub(crate) use figures::{all_grains, parts};

use crate::RenderError;
use crate::number;
use crate::page::Page;
use crate::style::{Paint, Style};
use crate::svg;
use crate::table::{Table, draw};
use crate::text::shown;
use crate::trace::reason;
use serde::Serialize;
use tare_core::analysis::explained::Reason;
use tare_core::analysis::intervals::Interval;
use tare_core::analysis::noise::calibration::Heuristic;
use tare_core::analysis::noise::prediction::{Bounds, Expected};
use tare_core::analysis::noise::report::{Attributed, Attribution, Grain, Place, Row};
use tare_core::analysis::noise::subtraction::Kind;
use tare_core::document::Head;
use tare_core::noise::{Calibrated, Ended, Noise, Plan, Sched, Series, Source, Tick};
use tare_core::reading::Reading;
use tare_core::units::Nanos;

pub(crate) fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

/// A length that was asked for: in its unit, with no digit more than it has.
pub(crate) fn exact(ns: Nanos, unicode: bool) -> String {
    let unit = number::Unit::of(ns.as_f64());
    format!("{} {}", ns.as_f64() / unit.nanos(), unit.sign(unicode))
}

/// A probability: in per cent, or as a power of ten if it is small.
fn chance(p: f64) -> String {
    match p {
        0.0 => "0".to_owned(),
        p if p < 1e-4 => format!("{p:.1e}"),
        p => number::percent(p).unwrap_or_default(),
    }
}

fn between(i: &Interval) -> String {
    format!("[{}, {}]", chance(i.low), chance(i.high))
}

pub(crate) fn ratio(value: f64) -> String {
    number::fixed(value, number::decimals_for(value, 5)).unwrap_or_default()
}

pub(crate) fn bounds(b: &Bounds) -> String {
    match b.high {
        Some(high) => format!("[{}, {}]", ratio(b.low), ratio(high)),
        None => format!("{} and more", ratio(b.low)),
    }
}

fn place(row: &Row) -> String {
    match row.place {
        Place::Cpu { cpu } => format!("CPU {cpu}"),
        Place::Node { .. } => "node".to_owned(),
    }
}

/// Table 2.
pub(crate) fn durations(grains: &[Grain], u: bool) -> Table {
    let note = "Slowdown: mean over shortest. Node: of the CPUs' phases at the same time, the longest.";
    let columns = [">grain", "where", ">phases", ">mean", ">median", ">std dev", ">min", ">max", ">slowdown"];
    let mut table = Table::new("Durations of phases (ICS'05, table 2)", note, &columns);
    for (grain, row) in grains.iter().flat_map(|g| g.rows.iter().map(move |r| (g.grain, r))) {
        let cells = vec![
            exact(grain, u),
            place(row),
            row.phases.to_string(),
            time(row.mean, u),
            time(row.median, u),
            row.std_dev.map(|s| time(s, u)).unwrap_or_default(),
            time(row.min, u),
            time(row.max, u),
            row.slowdown.map(ratio).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

/// Heading of what is said of a grain, where there are several.
fn of(grain: &Grain, several: bool, u: bool) -> String {
    if several { format!(", grain {}", exact(grain.grain, u)) } else { String::new() }
}

/// Numbers of nodes for which the table has room.
const NODES: [u64; 4] = [10, 1_000, 100_000, 1_000_000];

fn chances(g: &Grain, several: bool, u: bool) -> Table {
    let nodes = g.chances.first().map_or(&[][..], |c| c.jobs.as_slice());
    let listed = |n: u64| NODES.contains(&n);
    let heads: Vec<String> =
        nodes.iter().filter(|j| listed(j.nodes.get())).map(|j| format!(">n = {}", short(j.nodes.get()))).collect();
    let mut columns = vec![">delay", ">phases", ">p", "95% interval"];
    columns.extend(heads.iter().map(String::as_str));
    let title = format!("Chance of a delay (figure 2){}", of(g, several, u));
    let note = "Delayed by so much and more, relative to the shortest phase; then d_p(n), the chance that a phase of a job \
                on n nodes is.";
    let mut table = Table::new(title, note, &columns);
    for c in &g.chances {
        let mut cells = vec![exact(c.delay, u), c.count.to_string(), chance(c.p), between(&c.interval)];
        cells.extend(c.jobs.iter().filter(|j| listed(j.nodes.get())).map(|j| chance(j.chance)));
        table.row(cells, Vec::new());
    }
    table
}

/// A power of ten in few signs.
fn short(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n >= 1_000 && n % 1_000 == 0 => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

fn jobs(g: &Grain, several: bool, u: bool) -> Table {
    let title = format!("Slowdown of a job on n nodes{}", of(g, several, u));
    let note = format!(
        "What a phase takes on average, until the slowest node is ready, over the shortest phase. These phases support n up to {}; \
         beyond, a fitted tail goes on.",
        g.supported
    );
    let mut table = Table::new(title, note, &[">n", ">slowdown", "95% interval", "how it is known"]);
    for job in &g.jobs {
        let known = match &job.slowdown {
            Expected::Measured { .. } => "measured".to_owned(),
            Expected::Extrapolated { .. } => "extrapolated".to_owned(),
            Expected::Unknown { why } => format!("not known: {why}"),
        };
        let bounds = job.slowdown.bounds().map(|b| bounds(&b));
        let value = job.slowdown.value().map(ratio).unwrap_or_default();
        table.row(vec![job.nodes.to_string(), value, bounds.unwrap_or_default(), known], Vec::new());
    }
    table
}

fn on(a: &Attributed, several: bool) -> String {
    if several { format!(", CPU {}", a.cpu) } else { String::new() }
}

fn sources(a: &Attribution, tick: Option<&Tick>, more: &str, u: bool) -> Table {
    let ticked = ticked(tick, a).map(|t| format!(" {t}")).unwrap_or_default();
    let note = format!("Its own time, without what came over it, of all phases' time.{ticked}");
    let title = format!("What interrupted the phases (table 3){more}");
    let mut table = Table::new(title, note, &["source", ">count", ">a second", ">time", ">share"]);
    for s in &a.sources {
        let rate = s.count as f64 / a.time.secs();
        let cells = vec![
            reason(&s.reason),
            s.count.to_string(),
            number::fixed(rate, number::decimals_for(rate, 3)).unwrap_or_default(),
            time(s.time.as_f64(), u),
            s.share.map(chance).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn minus(kind: Option<Kind>) -> &'static str {
    match kind {
        None => "nothing",
        Some(Kind::Tick) => "ticks",
        Some(Kind::Interrupt) => "and other interrupts",
        Some(Kind::Preemption) => "and other tasks",
        Some(Kind::Steal) => "and steal",
        Some(Kind::Entry) => "and ways in and out",
    }
}

fn curves(a: &Attribution, series: Option<&Series>, more: &str, u: bool) -> Table {
    let mut said = vec![
        "Where the last line still spreads, it is by caches, clock speed and what the kernel does not see: hypervisor, firmware."
            .to_owned(),
    ];
    if let Some(t) = &a.tick {
        let rest = match t.entry() {
            Nanos::ZERO => "",
            _ => "; the rest is the way in and out, which the last line subtracts for each interrupt",
        };
        said.push(format!(
            "A tick makes a phase longer than the one before by {} in the median, of which {} are in the record{rest}.",
            time(t.longer, u),
            time(t.recorded, u)
        ));
    }
    said.extend(series.into_iter().flat_map(|s| beside(s, a, u)));
    let note = said.join(" ");
    let title = format!("What is left when it is subtracted (figure 4){more}");
    let columns = ["subtracted", ">mean", ">std dev", ">min", ">99.9 %", ">max", ">99.9 % over min"];
    let mut table = Table::new(title, note, &columns);
    for c in &a.curves {
        let cells = vec![
            minus(c.minus).to_owned(),
            time(c.mean, u),
            c.std_dev.map(|s| time(s, u)).unwrap_or_default(),
            time(c.min, u),
            time(c.most, u),
            time(c.max, u),
            c.span.and_then(number::percent).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

/// What is known of it beside the events.
fn beside(s: &Series, a: &Attribution, u: bool) -> Vec<String> {
    let seen = a.sources.iter().any(|s| s.reason == Reason::Stolen);
    let stolen = match &s.stolen {
        _ if seen => format!(
            "The hypervisor tells how much it took between two ticks or switches, not when; it is subtracted of those phases and \
             interrupts that are longest for no other reason.{}",
            match a.hidden {
                Nanos::ZERO => String::new(),
                hidden => format!(
                    " For {} there are none: they came over other tasks, or in short pieces.",
                    time(hidden.as_f64(), u)
                ),
            }
        ),
        Reading::Value(t) if *t == Nanos::ZERO => "Hypervisor: took nothing that the kernel knows of.".to_owned(),
        Reading::Value(t) => format!("Hypervisor: took about {}, subtracted of no phase.", time(t.as_f64(), u)),
        Reading::Absent(why) => format!("Hypervisor's time: {why}."),
    };
    let each = |n: u64| {
        let each = n as f64 / a.phases.max(1) as f64;
        format!("{n}, {} a phase", number::fixed(each, number::decimals_for(each, 3)).unwrap_or_default())
    };
    let misses = match (&s.l1_misses, &s.cache_misses) {
        (Reading::Absent(why), Reading::Absent(_)) => format!("Cache misses: {why}."),
        (first, last) => {
            let told = |r: &Reading<u64>| r.as_result().map_or_else(|why| why.to_string(), |n| each(*n));
            format!("Cache misses (figure 6): of the first level {}; of the last {}.", told(first), told(last))
        }
    };
    vec![stolen, misses]
}

/// Table 3 and what is left, of a CPU.
fn interruptions(noise: &Noise, g: &Grain, cpu: u32, by: &Attribution, more: &str, u: bool) -> [Table; 2] {
    let here = |s: &&Series| (s.grain, s.cpu) == (g.grain, cpu);
    let series = noise.phases.iter().map(|p| &p.series).find(here);
    [sources(by, noise.plan.tick.as_ref(), more, u), curves(by, series, more, u)]
}

fn tables(noise: &Noise, grains: &[Grain], u: bool) -> Vec<Table> {
    let mut all = vec![durations(grains, u)];
    let several = grains.len() > 1;
    for g in grains {
        all.push(chances(g, several, u));
        all.push(jobs(g, several, u));
        for a in &g.attribution {
            if let Reading::Value(by) = &a.by {
                let more = of(g, several, u) + &on(a, g.attribution.len() > 1);
                all.extend(interruptions(noise, g, a.cpu, by, &more, u));
            }
        }
    }
    all
}

fn heuristic(h: Heuristic) -> &'static str {
    match h {
        Heuristic::SecondDecile => "the mean of the second decile",
        Heuristic::Minimum => "the shortest",
        Heuristic::Mean => "the mean",
        Heuristic::Median => "the median",
    }
}

pub(crate) fn calibrated(c: &Calibrated, hz: f64, u: bool) -> String {
    let ns = |units: f64| units * 1e9 / hz;
    format!(
        "{:.4} ns an iteration: {} of {} timings of {} iterations; reading the counter takes {} more",
        ns(c.calibration.per_iteration),
        heuristic(c.calibration.heuristic),
        c.calibration.timings,
        c.iterations,
        time(ns(c.overhead), u)
    )
}

/// The tick as the kernel has it, to compare with what the record shows.
pub(crate) fn configured(tick: &Tick) -> String {
    let hz = match &tick.hz {
        Reading::Value(hz) => format!("HZ {hz}"),
        Reading::Absent(why) => format!("HZ {why}"),
    };
    let idle = match &tick.idle {
        Reading::Value(true) => "idle CPUs are without it".to_owned(),
        Reading::Value(false) => "idle CPUs have it".to_owned(),
        Reading::Absent(why) => format!("whether idle CPUs have it is {why}"),
    };
    let full = match &tick.full {
        Reading::Value(cpus) if cpus.is_empty() => "no busy CPU is (nohz_full)".to_owned(),
        Reading::Value(cpus) => format!("with a single task these are, too (nohz_full): {cpus:?}"),
        Reading::Absent(why) => format!("nohz_full {why}"),
    };
    format!("{hz}; {idle}, {full}")
}

/// What the record says of the tick on a CPU that was busy: 0.9 of HZ and more is a tick that runs.
fn ticked(tick: Option<&Tick>, a: &Attribution) -> Option<String> {
    let (seen, hz) = (a.timer_hz?, *tick?.hz.value()?);
    let state = match seen / hz {
        r if r > 1.1 => "more than the tick: other timers, too",
        r if r >= 0.9 => "the tick runs",
        r if r > 0.1 => "the tick stops at times",
        _ => "tickless",
    };
    Some(format!("{} timer interrupts a second, HZ {hz}: {state}.", number::fixed(seen, 1).unwrap_or_default()))
}

pub(crate) fn scheduled(sched: Sched) -> String {
    match sched {
        Sched::Other => "default scheduler".to_owned(),
        Sched::Fifo { priority } => format!("SCHED_FIFO, priority {priority}"),
    }
}

pub(crate) fn cpus(plan: &Plan) -> String {
    let all: Vec<String> = plan.cpus.iter().map(u32::to_string).collect();
    match all.as_slice() {
        [one] => format!("CPU {one}"),
        _ => format!("CPUs {} at once", all.join(", ")),
    }
}

/// What to know of a series beside its figures.
fn ended(s: &Series, u: bool) -> Option<String> {
    let how = match s.ended {
        Ended::Complete | Ended::TimeOver => return None,
        Ended::Interrupted { signal } => format!("were ended early by signal {signal}"),
        Ended::TookTooLong => "took far longer than they should, and were ended".to_owned(),
        Ended::Died => "were ended early by somebody else, or by the kernel's limit of real-time CPU time".to_owned(),
    };
    Some(format!("The phases of {} on CPU {} {how}.", exact(s.grain, u), s.cpu))
}

pub(crate) fn remarks(noise: &Noise, grains: &[Grain], u: bool) -> Vec<String> {
    let mut all: Vec<String> = noise.phases.iter().filter_map(|p| ended(&p.series, u)).collect();
    if noise.phases.iter().any(|p| !p.series.locked) {
        all.push("The memory for durations could not be locked; paging may be in them.".to_owned());
    }
    let by = || grains.iter().flat_map(|g| &g.attribution).filter_map(|a| a.by.value());
    let lost: u64 = by().map(|a| a.lost).sum();
    if lost > 0 {
        all.push(format!("{lost} of the kernel's records were lost; interruptions are missing in the sums."));
    }
    let untold: u64 = by().filter_map(|a| a.untold).sum();
    if untold > 0 {
        all.push(format!("The kernel counted {untold} more switches to other tasks than it told of."));
    }
    all
}

/// Head, tables and remarks.
pub fn terminal(head: &Head, noise: &Noise, grains: &[Grain], style: &Style) -> String {
    let (u, plan) = (style.unicode, &noise.plan);
    let mut page = Page::new(style);
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    page.title(&format!("Noise{id}: {}", style.show(&head.title)));
    match &plan.source {
        Source::Measured => {
            let measured = format!("{} of {}, {}", cpus(plan), style.show(&head.machine), scheduled(plan.sched));
            page.field("measured", &measured);
            match &noise.calibration {
                Some((c, _)) => page.field("calibrated", &style.prose(&calibrated(c, plan.hz, u))),
                None => page.painted_field("calibrated", Paint::Dim, "not yet"),
            }
        }
        Source::Imported { form, file } => {
            let from = format!("{form} in {}, of {}", style.show(file), style.show(&head.machine));
            page.field("imported", &from);
        }
    }
    if let Some(tick) = &plan.tick {
        page.field("tick", &style.prose(&configured(tick)));
    }
    if let Some(why) = grains.iter().flat_map(|g| &g.attribution).find_map(|a| a.by.absent()) {
        page.painted_field("interrupts", Paint::Dim, &style.prose(&why.to_string()));
    }
    for table in tables(noise, grains, u) {
        draw(&mut page, &table);
    }
    let remarks = remarks(noise, grains, u);
    if !remarks.is_empty() {
        page.gap();
    }
    for remark in remarks {
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &style.prose(&remark));
    }
    page.finish()
}

/// The survival functions of all grains (figure 5), as SVG; `None` if there is nothing to draw.
pub fn figure(head: &Head, grains: &[Grain]) -> Option<String> {
    svg::figure(&all_grains(grains)?, &format!("{} of {}", shown(&head.title), shown(&head.machine)))
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    head: &'a Head,
    plan: &'a Plan,
    calibration: Option<&'a Calibrated>,
    series: Vec<Counted<'a>>,
    grains: &'a [Grain],
}

/// A series without its durations.
#[derive(Serialize)]
struct Counted<'a> {
    phases: usize,
    #[serde(flatten)]
    series: &'a Series,
}

/// All but the single durations and events, which an export has.
///
/// # Errors
/// [`RenderError`].
pub fn json(head: &Head, noise: &Noise, grains: &[Grain]) -> Result<String, RenderError> {
    let document = Document {
        format: "tare-noise",
        version: 1,
        head,
        plan: &noise.plan,
        calibration: noise.calibration.as_ref().map(|(c, _)| c),
        series: noise.phases.iter().map(|p| Counted { phases: p.durations.len(), series: &p.series }).collect(),
        grains,
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_core::analysis::noise::calibration::Calibration;
    use tare_core::analysis::noise::report::report;
    use tare_core::document;
    use tare_core::noise::Phases;
    use tare_core::reading::Absent;
    use tare_core::run::Status;

    fn noise() -> Noise {
        let plan = Plan {
            source: Source::Measured,
            tick: None,
            cpus: vec![1],
            sched: Sched::Fifo { priority: 10 },
            grains: vec![Nanos(1_000)],
            phases: 1_000,
            limit: None,
            heuristic: Heuristic::SecondDecile,
            calibrations: 10,
            explain: true,
            hz: 1e9,
        };
        let calibration = Calibration { heuristic: Heuristic::SecondDecile, timings: 10, per_iteration: 1.0 };
        let calibrated = Calibrated { cpu: 1, iterations: 1_000_000, calibration, overhead: 20.0 };
        let series = Series {
            grain: Nanos(1_000),
            iterations: 980,
            cpu: 1,
            ended: Ended::Died,
            pairs: Vec::new(),
            switches: Some(0),
            faults: Some(0),
            cache_misses: Reading::Value(0),
            l1_misses: Reading::Value(0),
            stolen: Reading::Value(Nanos::ZERO),
            locked: false,
            unexplained: Some(Absent::NoPermission("CAP_BPF".to_owned())),
        };
        let durations = (0..1_000).map(|i| if i % 100 == 50 { 3_000 } else { 1_000 }).collect();
        Noise {
            plan,
            calibration: Some((calibrated, vec![1_000_000; 10])),
            phases: vec![Phases { series, durations, kernel: None }],
        }
    }

    fn head() -> Head {
        Head {
            kind: document::Kind::Noise,
            number: 3,
            uuid: "0".repeat(32),
            title: "1us on CPU 1".to_owned(),
            created: Nanos(0),
            status: Status::Finished,
            tool: "0.1.0".to_owned(),
            machine: "host\u{1b}".to_owned(),
        }
    }

    #[test]
    fn tables_say_what_was_measured() {
        let noise = noise();
        let grains = report(&noise, &[Nanos(1_500)], 1);
        let text = terminal(&head(), &noise, &grains, &Style::default());
        for says in [
            "Noise n3",
            "SCHED_FIFO, priority 10",
            "1.0000 ns an iteration",
            "table 2",
            "1.02 µs",
            "1.5 µs",
            "1.0 %",
            "1.0200",
            "measured",
            "not known: ",
            "CAP_BPF",
            "could not be locked",
            "ended early by somebody else",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        assert!(!text.contains('\u{1b}') && text.lines().all(|l| l.chars().count() <= 100), "{text}");
        let ascii = terminal(&head(), &noise, &grains, &Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii(), "{ascii}");
    }

    #[test]
    fn json_has_the_figures() {
        let noise = noise();
        let text = json(&head(), &noise, &report(&noise, &[Nanos(1_500)], 1)).unwrap();
        let d: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&d["format"], &d["series"][0]["phases"]), (&"tare-noise".into(), &1_000.into()));
        assert_eq!(d["grains"][0]["rows"][0]["mean"], 1_020.0);
        assert_eq!(d["grains"][0]["chances"][0]["count"], 10);
    }

    #[test]
    fn the_figure_is_xml() {
        let noise = noise();
        let svg = figure(&head(), &report(&noise, &[], 1)).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(document.descendants().any(|n| n.text() == Some("grain 1 µs")), "{svg}");
        assert_eq!(figure(&head(), &[]), None);
    }

    #[test]
    fn chances_are_legible() {
        let all: Vec<String> = [0.0, 3.2e-7, 0.012, 1.0].into_iter().map(chance).collect();
        assert_eq!(all, ["0", "3.2e-7", "1.2 %", "100 %"]);
        assert_eq!((exact(Nanos(1_500), true), exact(Nanos(1_000_000_000), false)), ("1.5 µs".into(), "1 s".into()));
        assert_eq!((short(10), short(10_000), short(1_000_000)), ("10".into(), "10k".into(), "1M".into()));
    }
}
