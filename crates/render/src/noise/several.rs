//! Several measurements in one figure: tick rates (ICS'05, figure 4 left), systems (figure 7), platforms (figure 5).

use crate::noise::figures::{curve, relative_survivals, relative_tail};
use crate::noise::platform::{ShownNoise, hz, id, platforms};
use crate::noise::said::{doubts, length, scheduled, undisturbed};
use crate::noise::sheet::{PHASE_COLUMNS, phase_cells};
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::data::PhaseScheduling;
use tarebench_core::noise::report::{Grain, NoiseRow};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number::exact;
use tarebench_report::sheet::{Item, Section, Sheet, SheetRemark};
use tarebench_report::table::{Column, Table};
use tarebench_report::text::escape;
use tarebench_report::web::page::{Join, PageAxis, PageFigure, PageKind, PageQuantity, PageScale};

/// What a measurement's curve is called: number, machine, kernel, HZ, and the scheduler if it is not the default.
pub fn label(shown: &ShownNoise<'_>) -> String {
    let mut parts = vec![format!("{}: {}", id(shown.head), shown.head.machine)];
    let host = shown.head.conditions.as_deref().map(|c| c.host());
    parts.extend(host.map(|h| format!("Linux {}", h.kernel)));
    parts.extend(hz(shown.noise).map(|hz| format!("HZ {hz}")));
    if shown.noise.plan.sched != PhaseScheduling::Other {
        parts.push(scheduled(shown.noise.plan.sched));
    }
    escape(&parts.join(", ")).into_owned()
}

/// All grains that any of them has, ascending.
fn grains_of(all: &[ShownNoise<'_>]) -> Vec<Nanos> {
    let mut lengths: Vec<Nanos> = all.iter().flat_map(|s| s.grains).map(|g| g.grain).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Table 2 of all of them, by grain.
fn durations(all: &[ShownNoise<'_>]) -> Table {
    let over = all.iter().flat_map(|s| s.grains).map(|g| undisturbed(g.over)).next().unwrap_or_default();
    let note = format!("Slowdown: mean divided by {over}.");
    let columns = ["grain", ""].into_iter().chain(PHASE_COLUMNS).map(Column::new);
    let mut table = Table::of("Durations of phases (ICS'05, table 2)", note, columns);
    for grain in grains_of(all) {
        for (shown, row) in all.iter().filter_map(|s| Some((s, s.row(grain)?))) {
            table.row([length(grain), id(shown.head).into()].into_iter().chain(phase_cells(row)), Vec::new());
        }
    }
    table
}

/// p of each delay, a column for each measurement.
fn chances(all: &[ShownNoise<'_>]) -> Table {
    let heads = ["grain", "delay"].map(str::to_owned).into_iter().chain(all.iter().map(|s| id(s.head)));
    let note = "Share of phases delayed by at least this much, relative to the shortest phase.";
    let mut table = Table::of("Probability of a delay, p", note, heads.map(Column::new));
    for grain in grains_of(all) {
        let of_all: Vec<Option<&Grain>> = all.iter().map(|s| s.grain(grain)).collect();
        let mut delays: Vec<Nanos> = of_all.iter().flatten().flat_map(|g| &g.chances).map(|c| c.delay).collect();
        delays.sort_unstable();
        delays.dedup();
        for delay in delays {
            let p = |g: &Option<&Grain>| g.and_then(|g| g.chances.iter().find(|c| c.delay == delay)).map(|c| c.p);
            let shares = of_all.iter().map(|g| Cell::of(Unit::Chance, p(g)));
            table.row([length(grain), length(delay)].into_iter().chain(shares), Vec::new());
        }
    }
    table
}

/// The figures of a grain, a curve for each measurement.
fn section(all: &[ShownNoise<'_>], grain: Nanos) -> Section {
    let id = format!("grain-{}", exact(grain, false).replace(' ', ""));
    let figures = [distribution(all, grain), survival(all, grain), slowdown(all, grain)].into_iter().flatten();
    let named = |figure: PageFigure| Item::Figure(PageFigure { id: format!("{id}-{}", figure.id), ..figure });
    let items = figures.map(named).collect();
    Section { title: Cell::text("Grain ").and(length(grain)), items, id, ..Section::default() }
}

/// Rows of a grain with the look and the name of their curves.
fn rows<'a>(all: &[ShownNoise<'a>], grain: Nanos) -> Vec<(usize, String, &'a NoiseRow)> {
    all.iter().enumerate().filter_map(|(look, s)| Some((look, label(s), s.row(grain)?))).collect()
}

fn distribution(all: &[ShownNoise<'_>], grain: Nanos) -> Option<PageFigure> {
    let rows = rows(all, grain);
    let most = rows.iter().map(|r| r.2.phases).max()?;
    let mut y = PageAxis::scaled(
        "Phases that took at most this long",
        PageQuantity::Share,
        &[PageScale::Logit, PageScale::Linear],
    );
    // Half a phase.
    y.floor = Some(0.5 / most as f64);
    let cdf = |(look, label, row): (usize, String, &NoiseRow)| {
        curve(label, look, Join::Before, row.cdf.iter().map(|p| (p.duration, p.at_most)))
    };
    Some(PageFigure {
        id: "distribution".to_owned(),
        title: "Distribution of phases (ICS'05, figures 4 and 7)".to_owned(),
        note:
            "Share of phases that took at most this long, a curve for each measurement. The vertical axis shows odds."
                .to_owned(),
        x: PageAxis::scaled("Duration of a phase", PageQuantity::Time, &[PageScale::Log, PageScale::Linear]),
        y,
        curves: rows.into_iter().map(cdf).collect(),
    })
}

fn survival(all: &[ShownNoise<'_>], grain: Nanos) -> Option<PageFigure> {
    let curves = rows(all, grain).into_iter().map(|(look, label, row)| (label, look, relative_tail(row)));
    let note = "Share of phases delayed by at least this much, in per cent of the shortest phase of their measurement.";
    relative_survivals("survival", "Delays (ICS'05, figure 5)", note, curves)
}

fn slowdown(all: &[ShownNoise<'_>], grain: Nanos) -> Option<PageFigure> {
    let known = |(look, s): (usize, &ShownNoise<'_>)| {
        let jobs = &s.grain(grain)?.jobs;
        let points: Vec<(f64, f64)> =
            jobs.iter().filter_map(|j| Some((j.nodes.get() as f64, j.slowdown.value()?))).collect();
        (!points.is_empty()).then(|| curve(label(s), look, Join::Straight, points.into_iter()))
    };
    let curves: Vec<_> = all.iter().enumerate().filter_map(known).collect();
    let over = undisturbed(all.iter().find_map(|s| s.grain(grain))?.over);
    (!curves.is_empty()).then(|| PageFigure {
        id: "slowdown".to_owned(),
        title: "Slowdown of a job".to_owned(),
        note: format!(
            "Mean time of a phase until the slowest node is ready, divided by {over} of the measurement. Beyond a tenth of the phases \
             it is extrapolated; the intervals are on the page of each measurement."
        ),
        x: PageAxis::scaled("Nodes of the job", PageQuantity::Count, &[PageScale::Log]),
        y: PageAxis::scaled("Slowdown", PageQuantity::Ratio, &[PageScale::Log, PageScale::Linear]),
        curves,
    })
}

/// Of all measurements: their tables, and a section of figures for each grain.
pub fn sheet(all: &[ShownNoise<'_>], foot: String) -> Sheet {
    let ids: Vec<String> = all.iter().map(|s| id(s.head)).collect();
    let remark = |s: &ShownNoise<'_>| {
        let id = id(s.head);
        let said = doubts(s.noise, s.grains).into_iter();
        said.map(move |text| SheetRemark::warning(Cell::text(format!("{id}: ")).and(text))).collect::<Vec<_>>()
    };
    let tables = [platforms(all), durations(all), chances(all)].map(Item::Table);
    let grains = grains_of(all).into_iter().map(|grain| section(all, grain));
    Sheet {
        subtitle: "What delays a fixed piece of work, by machine, kernel and tick rate".into(),
        remarks: all.iter().flat_map(remark).collect(),
        sections: [Section::result(tables)].into_iter().chain(grains).collect(),
        foot: foot.into(),
        ..Sheet::new(PageKind::Noise, format!("Noise {}", ids.join(", ")))
    }
}
