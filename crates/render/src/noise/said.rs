//! A measurement of noise in words and tables, for the terminal and the page.

use crate::trace::terminal::reason;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::signal::Signal;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::attribution::Attribution;
use tarebench_core::noise::data::Heuristic;
use tarebench_core::noise::data::{Calibrated, KernelTick, Noise, NoisePlan, PhaseScheduling, PhasesEnd, Series};
use tarebench_core::noise::prediction::{Bounds, Expected};
use tarebench_core::noise::report::{Attributed, Grain, NoiseRow, PhasePlace};
use tarebench_core::noise::subtraction::InterruptionKind;
use tarebench_core::noise::undisturbed::{UndisturbedRule, chosen};
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::trace::explained::ExplainedCause;
use tarebench_report::number;
use tarebench_report::number::{chance, exact, ratio};
use tarebench_report::table::Table;

pub(crate) fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

pub(crate) fn between(i: &Interval) -> String {
    format!("[{}, {}]", chance(i.low), chance(i.high))
}

pub(crate) fn bounds(b: &Bounds) -> String {
    match b.high {
        Some(high) => format!("[{}, {}]", ratio(b.low), ratio(high)),
        None => format!("at least {}", ratio(b.low)),
    }
}

pub(crate) fn place(row: &NoiseRow) -> String {
    match row.place {
        PhasePlace::Cpu { cpu } => format!("CPU {cpu}"),
        PhasePlace::Node { .. } => "node".to_owned(),
    }
}

/// What slowdowns are divided by, in words.
pub(crate) fn undisturbed(rule: UndisturbedRule) -> &'static str {
    match rule {
        UndisturbedRule::Minimum => "the shortest phase",
        UndisturbedRule::Mode => "the most frequent duration",
        UndisturbedRule::Calibration => "the calibrated length",
    }
}

/// The same with its value: `the most frequent duration, 1.02 ms`.
pub(crate) fn divided_by(g: &Grain, u: bool) -> String {
    match g.undisturbed.filter(|_| g.over != UndisturbedRule::Minimum) {
        Some(ns) => format!("{}, {}", undisturbed(g.over), time(ns, u)),
        // Its value is in the table of durations.
        None => undisturbed(g.over).to_owned(),
    }
}

/// How much longer the most frequent phase may be than the shortest one before slowdowns depend on which of them is the grain.
const WANDERS: f64 = 0.05;

/// Where the shortest phase is an exception, slowdowns that are divided by it say more of the clock speed than of noise.
fn overstated(g: &Grain, u: bool) -> Option<String> {
    let by = |rule| chosen(&g.candidates, rule);
    let (shortest, mode) = (by(UndisturbedRule::Minimum)?, by(UndisturbedRule::Mode)?);
    (g.over == UndisturbedRule::Minimum && mode > shortest * (1.0 + WANDERS)).then(|| {
        format!(
            "The most frequent phase of {} took {} more than the shortest one: if the clock speed changed, slowdowns divided by \
             the shortest phase are too high.",
            exact(g.grain, u),
            number::percent(mode / shortest - 1.0).unwrap_or_default()
        )
    })
}

/// Table 2.
pub(crate) fn durations(grains: &[Grain], u: bool) -> Table {
    let over = match grains.first().map_or(UndisturbedRule::default(), |g| g.over) {
        UndisturbedRule::Minimum => "shortest",
        rule => undisturbed(rule),
    };
    let note = format!(
        "Slowdown: mean divided by {over}. Node: of the phases that ran at the same time on all CPUs, the longest."
    );
    let columns: Vec<&str> = std::iter::once(">grain").chain(PHASE_COLUMNS).collect();
    let mut table = Table::new("Durations of phases (ICS'05, table 2)", note, &columns);
    for (grain, row) in grains.iter().flat_map(|g| g.rows.iter().map(move |r| (g.grain, r))) {
        table.row(std::iter::once(exact(grain, u)).chain(phase_cells(row, u)), Vec::new());
        table.values(std::iter::once(Some(grain.as_f64())).chain(phase_values(row)).collect());
    }
    table
}

/// Columns of table 2 from the place on.
pub(crate) const PHASE_COLUMNS: [&str; 8] =
    ["where", ">phases", ">mean", ">median", ">std dev", ">min", ">max", ">slowdown"];

/// The cells below [`PHASE_COLUMNS`].
pub(crate) fn phase_cells(row: &NoiseRow, u: bool) -> [String; 8] {
    [
        place(row),
        row.phases.to_string(),
        time(row.mean, u),
        time(row.median, u),
        row.std_dev.map(|s| time(s, u)).unwrap_or_default(),
        time(row.min, u),
        time(row.max, u),
        row.slowdown.map(ratio).unwrap_or_default(),
    ]
}

/// What these cells show.
pub(crate) fn phase_values(row: &NoiseRow) -> [Option<f64>; 8] {
    let phases = Some(row.phases as f64);
    [None, phases, Some(row.mean), Some(row.median), row.std_dev, Some(row.min), Some(row.max), row.slowdown]
}

/// The grain in a heading, if there are several.
pub(crate) fn of(grain: &Grain, several: bool, u: bool) -> String {
    if several { format!(", grain {}", exact(grain.grain, u)) } else { String::new() }
}

pub(crate) fn chances(g: &Grain, several: bool, u: bool) -> Table {
    let nodes = g.chances.first().map_or(&[][..], |c| c.jobs.as_slice());
    let listed = |n: u64| NODES.contains(&n);
    let heads: Vec<String> =
        nodes.iter().filter(|j| listed(j.nodes.get())).map(|j| format!(">n = {}", short(j.nodes.get()))).collect();
    let mut columns = vec![">delay", ">phases", ">p", "95% interval"];
    columns.extend(heads.iter().map(String::as_str));
    let title = format!("Probability of a delay (figure 2){}", of(g, several, u));
    let note = "Share of phases delayed by at least this much, relative to the shortest phase; then d_p(n), the probability that a phase of \
                a job on n nodes is delayed.";
    let mut table = Table::new(title, note, &columns);
    for c in &g.chances {
        let mut cells = vec![exact(c.delay, u), c.count.to_string(), chance(c.p), between(&c.interval)];
        cells.extend(c.jobs.iter().filter(|j| listed(j.nodes.get())).map(|j| chance(j.chance)));
        table.row(cells, Vec::new());
        let first = [Some(c.delay.as_f64()), Some(c.count as f64), Some(c.p), None];
        let jobs = c.jobs.iter().filter(|j| listed(j.nodes.get())).map(|j| Some(j.chance));
        table.values(first.into_iter().chain(jobs).collect());
    }
    table
}

/// A large round number in short form: `10k`, `1M`.
pub(crate) fn short(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n >= 1_000 && n % 1_000 == 0 => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

pub(crate) fn jobs(g: &Grain, several: bool, u: bool) -> Table {
    let title = format!("Slowdown of a job on n nodes{}", of(g, several, u));
    let note = format!(
        "Mean time of a phase until the slowest node is ready, divided by {}. The measurement supports n up to {}; larger n are \
         extrapolated with a fitted tail.",
        divided_by(g, u),
        g.supported
    );
    let mut table = Table::new(title, note, &[">n", ">slowdown", "95% interval", "source"]);
    for job in &g.jobs {
        let known = match &job.slowdown {
            Expected::Measured { .. } => "measured".to_owned(),
            Expected::Extrapolated { .. } => "extrapolated".to_owned(),
            Expected::Unknown { why } => format!("unknown: {why}"),
        };
        let bounds = job.slowdown.bounds().map(|b| bounds(&b));
        let value = job.slowdown.value().map(ratio).unwrap_or_default();
        table.row(vec![job.nodes.to_string(), value, bounds.unwrap_or_default(), known], Vec::new());
        table.values(vec![Some(job.nodes.get() as f64), job.slowdown.value(), None, None]);
    }
    table
}

pub(crate) fn on(a: &Attributed, several: bool) -> String {
    if several { format!(", CPU {}", a.cpu) } else { String::new() }
}

pub(crate) fn sources(a: &Attribution, tick: Option<&KernelTick>, more: &str, u: bool) -> Table {
    let ticked = ticked(tick, a).map(|t| format!(" {t}")).unwrap_or_default();
    let note = format!("Self time, excluding nested interruptions, as a share of the time of all phases.{ticked}");
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
        table.values(vec![None, Some(s.count as f64), Some(rate), Some(s.time.as_f64()), s.share]);
    }
    table
}

pub(crate) fn minus(kind: Option<InterruptionKind>) -> &'static str {
    match kind {
        None => "nothing",
        Some(InterruptionKind::Tick) => "ticks",
        Some(InterruptionKind::Interrupt) => "and other interrupts",
        Some(InterruptionKind::Preemption) => "and other tasks",
        Some(InterruptionKind::Steal) => "and steal time",
        Some(InterruptionKind::Entry) => "and interrupt entry and exit",
    }
}

pub(crate) fn curves(a: &Attribution, series: Option<&Series>, more: &str, u: bool) -> Table {
    let mut said = vec![
        "The spread of the last line comes from caches, clock speed, or what the kernel cannot see: hypervisor, firmware."
            .to_owned(),
    ];
    if let Some(t) = &a.tick {
        let rest = match t.entry() {
            Nanos::ZERO => "",
            _ => "; the rest is interrupt entry and exit overhead, which the last line subtracts for each interrupt",
        };
        said.push(format!(
            "A tick makes a phase longer than the one before by {} in the median, of which {} are recorded{rest}.",
            time(t.longer, u),
            time(t.recorded, u)
        ));
    }
    said.extend(series.into_iter().flat_map(|s| beside(s, a, u)));
    let note = said.join(" ");
    let title = format!("Residual after subtracting (figure 4){more}");
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
        table.values(vec![None, Some(c.mean), c.std_dev, Some(c.min), Some(c.most), Some(c.max), c.span]);
    }
    table
}

/// What is known besides the events: steal time and cache misses.
pub(crate) fn beside(s: &Series, a: &Attribution, u: bool) -> Vec<String> {
    let seen = a.sources.iter().any(|s| s.reason == ExplainedCause::Stolen);
    let stolen = match &s.stolen {
        _ if seen => format!(
            "The amount of steal time between two ticks or switches is known, but not when it was stolen. It is subtracted \
             from the phases and interrupts that are longest for no other known reason.{}",
            match a.hidden {
                Nanos::ZERO => String::new(),
                hidden => format!(
                    " {} of it is unattributed: other tasks were running, or it came in short pieces.",
                    time(hidden.as_f64(), u)
                ),
            }
        ),
        Reading::Value(t) if *t == Nanos::ZERO => "The hypervisor reports no steal time.".to_owned(),
        Reading::Value(t) => {
            format!("About {} of steal time; not subtracted from any phase.", time(t.as_f64(), u))
        }
        Reading::Absent(why) => format!("Steal time: {why}."),
    };
    let each = |n: u64| {
        let each = n as f64 / a.phases.max(1) as f64;
        format!("{n}, {} per phase", number::fixed(each, number::decimals_for(each, 3)).unwrap_or_default())
    };
    let misses = match (&s.l1_misses, &s.cache_misses) {
        (Reading::Absent(why), Reading::Absent(_)) => format!("Cache misses: {why}."),
        (first, last) => {
            let misses = |r: &Reading<u64>| r.as_result().map_or_else(|why| why.to_string(), |n| each(*n));
            format!("Cache misses (figure 6): first level {}; last level {}.", misses(first), misses(last))
        }
    };
    vec![stolen, misses]
}

/// Table 3 and the residuals of figure 4, for a CPU.
pub(crate) fn interruptions(noise: &Noise, g: &Grain, cpu: u32, by: &Attribution, more: &str, u: bool) -> [Table; 2] {
    let here = |s: &&Series| (s.grain, s.cpu) == (g.grain, cpu);
    let series = noise.phases.iter().map(|p| &p.series).find(here);
    [sources(by, noise.plan.tick.as_ref(), more, u), curves(by, series, more, u)]
}

pub(crate) fn tables(noise: &Noise, grains: &[Grain], u: bool) -> Vec<Table> {
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

pub(crate) fn heuristic(h: Heuristic) -> &'static str {
    match h {
        Heuristic::SecondDecile => "the mean of the second decile",
        Heuristic::Minimum => "the minimum",
        Heuristic::Mean => "the mean",
        Heuristic::Median => "the median",
    }
}

pub(crate) fn calibrated(c: &Calibrated, hz: f64, u: bool) -> String {
    let ns = |units: f64| units * 1e9 / hz;
    format!(
        "{} ns per iteration: {} of {} timings of {} iterations each; reading the counter takes {} more",
        number::fixed(ns(c.calibration.per_iteration), 4).unwrap_or_default(),
        heuristic(c.calibration.heuristic),
        c.calibration.timings,
        c.iterations,
        time(ns(c.overhead), u)
    )
}

/// The tick as the kernel is configured, to compare with the recorded events.
pub(crate) fn configured(tick: &KernelTick) -> String {
    let hz = match &tick.hz {
        Reading::Value(hz) => format!("HZ {hz}"),
        Reading::Absent(why) => format!("HZ {why}"),
    };
    let idle = match &tick.idle {
        Reading::Value(true) => "stopped on idle CPUs".to_owned(),
        Reading::Value(false) => "runs on idle CPUs".to_owned(),
        Reading::Absent(why) => format!("on idle CPUs: {why}"),
    };
    let full = match &tick.full {
        Reading::Value(cpus) if cpus.is_empty() => "runs on all busy CPUs (nohz_full is empty)".to_owned(),
        Reading::Value(cpus) => format!("stopped on CPUs that run a single task (nohz_full): {cpus:?}"),
        Reading::Absent(why) => format!("nohz_full: {why}"),
    };
    format!("{hz}; {idle}, {full}")
}

/// What the recorded events show of the tick on a busy CPU: from 0.9 of HZ on, the tick runs.
pub(crate) fn ticked(tick: Option<&KernelTick>, a: &Attribution) -> Option<String> {
    let (seen, hz) = (a.timer_hz?, *tick?.hz.value()?);
    let state = match seen / hz {
        r if r > 1.1 => "more than the tick: other timers also run",
        r if r >= 0.9 => "the tick runs",
        r if r > 0.1 => "fewer than the tick: it stops at times",
        _ => "tickless",
    };
    Some(format!("{} timer interrupts a second, HZ {hz}: {state}.", number::fixed(seen, 1).unwrap_or_default()))
}

pub(crate) fn scheduled(sched: PhaseScheduling) -> String {
    match sched {
        PhaseScheduling::Other => "default scheduler".to_owned(),
        PhaseScheduling::Fifo { priority } => format!("SCHED_FIFO, priority {priority}"),
    }
}

pub(crate) fn cpus(plan: &NoisePlan) -> String {
    let all: Vec<String> = plan.cpus.iter().map(u32::to_string).collect();
    match all.as_slice() {
        [one] => format!("CPU {one}"),
        _ => format!("CPUs {} at the same time", all.join(", ")),
    }
}

/// Why a series ended early, if it did.
pub(crate) fn ended(s: &Series, u: bool) -> Option<String> {
    let how = match s.ended {
        PhasesEnd::Complete | PhasesEnd::TimeOver => return None,
        PhasesEnd::Interrupted { signal } => format!("were ended early by {}", Signal(signal)),
        PhasesEnd::TookTooLong => "took far longer than expected and were killed".to_owned(),
        PhasesEnd::Died => "were killed by another process or by the kernel's limit of real-time CPU time".to_owned(),
    };
    Some(format!("The phases of {} on CPU {} {how}.", exact(s.grain, u), s.cpu))
}

pub(crate) fn remarks(noise: &Noise, grains: &[Grain], u: bool) -> Vec<String> {
    let mut all: Vec<String> = noise.phases.iter().filter_map(|p| ended(&p.series, u)).collect();
    if noise.phases.iter().any(|p| !p.series.locked) {
        all.push("The memory for durations could not be locked: some phases may include page faults.".to_owned());
    }
    all.extend(grains.iter().filter_map(|g| overstated(g, u)));
    let by = || grains.iter().flat_map(|g| &g.attribution).filter_map(|a| a.by.value());
    let lost: u64 = by().fold(0, |sum, a| sum.saturating_add(a.lost));
    if lost > 0 {
        all.push(format!("{lost} kernel events were lost: their time is missing from the sums."));
    }
    let unreported: u64 = by().filter_map(|a| a.unreported).fold(0, u64::saturating_add);
    if unreported > 0 {
        all.push(format!(
            "{unreported} switches to other tasks are unreported: the kernel counted them but recorded no event."
        ));
    }
    all
}

/// Numbers of nodes for which the table has room.
pub(crate) const NODES: [u64; 4] = [10, 1_000, 100_000, 1_000_000];
