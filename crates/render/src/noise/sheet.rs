//! A measurement of noise as a sheet: table 2, and a section for each grain.

use crate::documents::machine::described;
use crate::noise::figures::{all_grains, figures, residual};
use crate::noise::platform::{ShownNoise, megahertz, platforms};
use crate::noise::said::{
    beside, calibrated, configured, cpus, divided_by, doubts, expected, length, less, place, scheduled, short,
    slowdown, tick_cost, ticked, undisturbed,
};
use crate::trace::said::reason;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::attribution::Attribution;
use tarebench_core::noise::data::{KernelTick, Noise, PhaseSource, Series};
use tarebench_core::noise::prediction::Expected;
use tarebench_core::noise::report::{Grain, NoiseRow};
use tarebench_core::noise::undisturbed::UndisturbedRule;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number::exact;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::table::{Column, Detail, Table};
use tarebench_report::web::page::PageKind;

/// Numbers of nodes for which the table of delays has room.
const NODES: [u64; 4] = [10, 1_000, 100_000, 1_000_000];

/// Of a measurement, finished or not.
pub fn noise(head: &DocumentHead, noise: &Noise, grains: &[Grain], zone: &TimeZone, foot: String) -> Sheet {
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let platform = Section {
        detail: Detail::Full,
        ..Section::result([Item::Table(platforms(&[ShownNoise { head, noise, grains }]))])
    };
    // With one grain, its own figure is the same.
    let all = (grains.len() > 1).then(|| all_grains(grains)).flatten().map(|figure| Section {
        id: "all".to_owned(),
        title: "All grains".into(),
        items: vec![Item::Figure(figure)],
        ..Section::default()
    });
    let results = [Section::result([Item::Table(durations(grains))]), platform];
    Sheet {
        subtitle: "What delays a fixed piece of work, and what that costs jobs on many nodes".into(),
        facts: facts(head, noise, grains, zone),
        remarks: doubts(noise, grains).into_iter().map(SheetRemark::warning).collect(),
        sections: results.into_iter().chain(all).chain(grains.iter().map(|g| section(noise, g))).collect(),
        foot: foot.into(),
        ..Sheet::new(PageKind::Noise, Cell::text(format!("Noise{id}: ")).and(Cell::foreign(&head.title)))
    }
}

fn facts(head: &DocumentHead, noise: &Noise, grains: &[Grain], zone: &TimeZone) -> Vec<SheetFact> {
    let plan = &noise.plan;
    let mut all = match &plan.source {
        PhaseSource::Measured => vec![
            SheetFact::new("measured", Cell::text(format!("{} of ", cpus(plan))).and(Cell::foreign(&head.machine))),
            SheetFact::new("scheduler", scheduled(plan.sched)),
            SheetFact::new(
                "calibrated",
                match &noise.calibration {
                    Some((c, _)) => calibrated(c, plan.hz),
                    None => Cell::text("not yet").paint(Paint::Dim),
                },
            ),
            SheetFact::full("counter", megahertz(plan.hz)),
            SheetFact::full("started", Cell::date(head.created, zone)),
        ],
        PhaseSource::Imported { form, file } => {
            let from = Cell::text(format!("{form} in ")).and(Cell::foreign(file)).and(", of ");
            vec![
                SheetFact::new("imported", from.and(Cell::foreign(&head.machine))),
                SheetFact::full("when", Cell::date(head.created, zone)),
            ]
        }
    };
    all.extend(described(head).map(|m| SheetFact::new("machine", Cell::foreign(m))));
    all.extend(plan.tick.iter().map(|tick| SheetFact::new("tick", configured(tick))));
    let why = grains.iter().flat_map(|g| &g.attribution).find_map(|a| a.by.absent());
    all.extend(why.map(|why| SheetFact::new("interrupts", Cell::text(why.to_string()).paint(Paint::Dim))));
    all
}

/// Table 2.
fn durations(grains: &[Grain]) -> Table {
    let over = match grains.first().map_or(UndisturbedRule::default(), |g| g.over) {
        UndisturbedRule::Minimum => "shortest",
        rule => undisturbed(rule),
    };
    let note = format!(
        "Slowdown: mean divided by {over}. Node: of the phases that ran at the same time on all CPUs, the longest."
    );
    let columns = [Column::new("grain")].into_iter().chain(PHASE_COLUMNS.map(Column::new));
    let mut table = Table::of("Durations of phases (ICS'05, table 2)", note, columns);
    for (grain, row) in grains.iter().flat_map(|g| g.rows.iter().map(move |r| (g.grain, r))) {
        table.row([length(grain)].into_iter().chain(phase_cells(row)), Vec::new());
    }
    table
}

/// Columns of table 2 from the place on.
pub(crate) const PHASE_COLUMNS: [&str; 7] = ["where", "phases", "mean", "median", "min", "max", "slowdown"];

/// The cells below [`PHASE_COLUMNS`].
pub(crate) fn phase_cells(row: &NoiseRow) -> [Cell; 7] {
    [
        place(row).into(),
        Cell::of(Unit::Count, row.phases as f64),
        Figure::new(Unit::Time, row.mean).with_spread(row.std_dev).into(),
        Cell::time(row.median),
        Cell::time(row.min),
        Cell::time(row.max),
        slowdown(row.slowdown),
    ]
}

/// A grain: its figures, chances, slowdowns, and what interrupted it on each CPU.
fn section(noise: &Noise, g: &Grain) -> Section {
    let id = format!("grain-{}", exact(g.grain, false).replace(' ', ""));
    let mut drawn = figures(g);
    let mut tables = vec![chances(g), jobs(g)];
    for a in &g.attribution {
        let Reading::Value(by) = &a.by else { continue };
        let more = if g.attribution.len() > 1 { format!(", CPU {}", a.cpu) } else { String::new() };
        let series = noise.phases.iter().map(|p| &p.series).find(|s| (s.grain, s.cpu) == (g.grain, a.cpu));
        drawn.extend(residual(by, a.cpu, &more));
        tables.extend([sources(by, noise.plan.tick.as_ref(), &more), curves(by, series, &more)]);
    }
    drawn.iter_mut().for_each(|figure| figure.id = format!("{id}-{}", figure.id));
    let note = Cell::text(format!("{} iterations of the loop in each phase", g.iterations));
    let calibrated = g.calibrated.map(|ns| Cell::text(", calibrated to ").and(Cell::time(ns)));
    Section {
        id,
        title: Cell::text("Grain ").and(length(g.grain)),
        note: calibrated.into_iter().fold(note, Cell::and),
        items: drawn.into_iter().map(Item::Figure).chain(tables.into_iter().map(Item::Table)).collect(),
        ..Section::default()
    }
}

fn chances(g: &Grain) -> Table {
    let nodes = g.chances.first().map_or(&[][..], |c| c.jobs.as_slice());
    let is_listed = |n: u64| NODES.contains(&n);
    let heads = nodes.iter().map(|j| j.nodes.get()).filter(|n| is_listed(*n)).map(|n| format!("n = {}", short(n)));
    let columns = ["delay", "phases", "p [95%]"].map(Column::new).into_iter().chain(heads.map(Column::new));
    let note = "Share of phases delayed by at least this much, relative to the shortest phase; then d_p(n), the probability that a phase of \
                a job on n nodes is delayed.";
    let mut table = Table::of("Probability of a delay (figure 2)", note, columns);
    for c in &g.chances {
        let p = Figure::new(Unit::Chance, c.p).with_interval(&Ok(c.interval.clone()));
        let jobs = c.jobs.iter().filter(|j| is_listed(j.nodes.get())).map(|j| Cell::of(Unit::Chance, j.chance));
        let first = [length(c.delay), Cell::of(Unit::Count, c.count as f64), p.into()];
        table.row(first.into_iter().chain(jobs), Vec::new());
    }
    table
}

fn jobs(g: &Grain) -> Table {
    let note = Cell::text("Mean time of a phase until the slowest node is ready, divided by ").and(divided_by(g)).and(
        format!(". The measurement supports n up to {}; larger n are extrapolated with a fitted tail.", g.supported),
    );
    let columns = ["n", "slowdown [95%]", "source"].map(Column::new);
    let mut table = Table::of("Slowdown of a job on n nodes", note, columns);
    for job in &g.jobs {
        let known = match &job.slowdown {
            Expected::Measured { .. } => "measured".to_owned(),
            Expected::Extrapolated { .. } => "extrapolated".to_owned(),
            Expected::Unknown { why } => format!("unknown: {why}"),
        };
        let nodes = Cell::of(Unit::Count, job.nodes.get() as f64);
        table.row([nodes, expected(&job.slowdown), known.into()], Vec::new());
    }
    table
}

/// Table 3, of a CPU.
fn sources(a: &Attribution, tick: Option<&KernelTick>, more: &str) -> Table {
    let ticked = ticked(tick, a).map(|t| format!(" {t}")).unwrap_or_default();
    let note = format!("Self time, excluding nested interruptions, as a share of the time of all phases.{ticked}");
    let columns = ["source", "count", "a second", "time", "share"].map(Column::new);
    let mut table = Table::of(format!("What interrupted the phases (table 3){more}"), note, columns);
    for s in &a.sources {
        let cells = [
            reason(&s.reason),
            Cell::of(Unit::Count, s.count as f64),
            Cell::of(Unit::Plain, s.count as f64 / a.time.secs()),
            Cell::time(s.time.as_f64()),
            Cell::of(Unit::Chance, s.share),
        ];
        table.row(cells, Vec::new());
    }
    table
}

/// The residuals of figure 4, of a CPU.
fn curves(a: &Attribution, series: Option<&Series>, more: &str) -> Table {
    let spread = "The spread of the last line may come from caches, clock speed, or what the kernel cannot see (hypervisor, firmware).";
    let beside = series.into_iter().flat_map(|s| beside(s, a));
    let note = tick_cost(a).into_iter().chain(beside).fold(Cell::from(spread), Cell::and_sentence);
    let columns = ["phases", "mean", "min", "99.9 %", "max", "99.9 % over min"].map(Column::new);
    let mut table = Table::of(format!("Residual after subtracting (figure 4){more}"), note, columns);
    for c in &a.curves {
        let cells = [
            less(c.minus).into(),
            Figure::new(Unit::Time, c.mean).with_spread(c.std_dev).into(),
            Cell::time(c.min),
            Cell::time(c.most),
            Cell::time(c.max),
            Cell::of(Unit::Share, c.span),
        ];
        table.row(cells, Vec::new());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::figures::figure;
    use crate::noise::json;
    use tarebench_core::base::reading::Absent;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head as document;
    use tarebench_core::documents::head::Status;
    use tarebench_core::noise::data::PhaseCalibration;
    use tarebench_core::noise::data::Phases;
    use tarebench_core::noise::data::{Calibrated, NoisePlan, PhaseScheduling};
    use tarebench_core::noise::data::{Heuristic, PhasesEnd};
    use tarebench_core::noise::report::report;
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;

    fn noise() -> Noise {
        let plan = NoisePlan {
            source: PhaseSource::Measured,
            tick: None,
            cpus: vec![1],
            sched: PhaseScheduling::Fifo { priority: 10 },
            grains: vec![Nanos(1_000)],
            phases: 1_000,
            limit: None,
            heuristic: Heuristic::SecondDecile,
            calibrations: 10,
            explain: true,
            hz: 1e9,
        };
        let calibration = PhaseCalibration { heuristic: Heuristic::SecondDecile, timings: 10, per_iteration: 1.0 };
        let calibrated = Calibrated { cpu: 1, iterations: 1_000_000, calibration, overhead: 20.0 };
        let series = Series {
            grain: Nanos(1_000),
            iterations: 980,
            cpu: 1,
            ended: PhasesEnd::Died,
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

    fn head() -> DocumentHead {
        DocumentHead {
            kind: document::DocumentKind::Noise,
            number: 3,
            uuid: "0".repeat(32),
            title: "1us on CPU 1".to_owned(),
            created: Nanos(0),
            status: Status::Finished,
            tool: "0.1.0".to_owned(),
            machine: "host\u{1b}".to_owned(),
            conditions: None,
            tags: std::collections::BTreeMap::new(),
        }
    }

    fn terminal(noise: &Noise, grains: &[Grain], style: &Style) -> String {
        sheet_text(&super::noise(&head(), noise, grains, &TimeZone::UTC, String::new()), style)
    }

    #[test]
    fn tables_say_what_was_measured() {
        let noise = noise();
        let grains = report(&noise, &[Nanos(1_500)], 1);
        let text = terminal(&noise, &grains, &Style::default());
        for says in [
            "Noise n3",
            "SCHED_FIFO, priority 10",
            "1.0000 ns per iteration",
            "table 2",
            "1.02 µs",
            "1.5 µs",
            "1.0 %",
            "1.0200",
            "measured",
            "unknown: ",
            "CAP_BPF",
            "could not be locked",
            "killed by another process",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        assert!(!text.contains('\u{1b}') && text.lines().all(|l| l.chars().count() <= 100), "{text}");
        let ascii = terminal(&noise, &grains, &Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii(), "{ascii}");
    }

    #[test]
    fn json_has_the_figures() {
        let noise = noise();
        let text = json::noise(&head(), &noise, &report(&noise, &[Nanos(1_500)], 1)).unwrap();
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
}
