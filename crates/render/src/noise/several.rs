//! Several measurements in one figure: tick rates (ICS'05, figure 4 left), systems (figure 7), platforms (figure 5).

use crate::noise::figures::{curve, relative_survivals, relative_tail};
use crate::noise::platform::{ShownNoise, hz, id, platforms};
use crate::noise::tables::{PHASE_COLUMNS, phase_cells, phase_values, remarks, scheduled, undisturbed};
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::data::{NoisePlan, PhaseScheduling};
use tarebench_core::noise::report::{Grain, NoiseRow};
use tarebench_report::cell::Cell;
use tarebench_report::error::RenderError;
use tarebench_report::number::{chance, exact};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;
use tarebench_report::text::escape;
use tarebench_report::web::page::{
    Join, Page, PageAxis, PageFigure, PageKind, PagePart, PageQuantity, PageRemark, PageScale,
};

/// What a measurement's curve is called: number, machine, kernel, HZ, and the scheduler if it is not the default.
pub fn label(shown: &ShownNoise<'_>) -> String {
    let mut parts = vec![format!("{}: {}", id(shown.head), escape(&shown.head.machine))];
    let host = shown.head.conditions.as_deref().map(|c| c.host());
    parts.extend(host.map(|h| escape(&format!("Linux {}", h.kernel)).into_owned()));
    parts.extend(hz(shown.noise).map(|hz| format!("HZ {hz}")));
    if shown.noise.plan.sched != PhaseScheduling::Other {
        parts.push(scheduled(shown.noise.plan.sched));
    }
    parts.join(", ")
}

/// All grains that any of them has, ascending.
fn grains_of(all: &[ShownNoise<'_>]) -> Vec<Nanos> {
    let mut lengths: Vec<Nanos> = all.iter().flat_map(|s| s.grains).map(|g| g.grain).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Table 2 of all of them, by grain.
fn durations(all: &[ShownNoise<'_>], u: bool) -> Table {
    let over = all.iter().flat_map(|s| s.grains).map(|g| undisturbed(g.over)).next().unwrap_or_default();
    let note = format!("Slowdown: mean divided by {over}.");
    let columns: Vec<&str> = [">grain", ""].into_iter().chain(PHASE_COLUMNS).collect();
    let mut table = Table::new("Durations of phases (ICS'05, table 2)", note, &columns);
    for grain in grains_of(all) {
        for (shown, row) in all.iter().filter_map(|s| Some((s, s.row(grain)?))) {
            let first = [exact(grain, u), id(shown.head)];
            table.row(first.into_iter().chain(phase_cells(row, u)), Vec::new());
            table.values([Some(grain.as_f64()), None].into_iter().chain(phase_values(row)).collect());
        }
    }
    table
}

/// p of each delay, a column for each measurement.
fn chances(all: &[ShownNoise<'_>], u: bool) -> Table {
    let ids: Vec<String> = all.iter().map(|s| format!(">{}", id(s.head))).collect();
    let mut columns = vec![">grain", ">delay"];
    columns.extend(ids.iter().map(String::as_str));
    let note = "Share of phases delayed by at least this much, relative to the shortest phase.";
    let mut table = Table::new("Probability of a delay, p", note, &columns);
    for grain in grains_of(all) {
        let of_all: Vec<Option<&Grain>> = all.iter().map(|s| s.grain(grain)).collect();
        let mut delays: Vec<Nanos> = of_all.iter().flatten().flat_map(|g| &g.chances).map(|c| c.delay).collect();
        delays.sort_unstable();
        delays.dedup();
        for delay in delays {
            let p = |g: &Option<&Grain>| g.and_then(|g| g.chances.iter().find(|c| c.delay == delay)).map(|c| c.p);
            let shares: Vec<Option<f64>> = of_all.iter().map(p).collect();
            let cells = shares.iter().map(|p| p.map(chance).unwrap_or_default());
            table.row([exact(grain, u), exact(delay, u)].into_iter().chain(cells), Vec::new());
            let first = [Some(grain.as_f64()), Some(delay.as_f64())];
            table.values(first.into_iter().chain(shares.iter().copied()).collect());
        }
    }
    table
}

/// The figures of a grain, a curve for each measurement.
fn part(all: &[ShownNoise<'_>], grain: Nanos) -> PagePart {
    let name = format!("grain-{}", exact(grain, false).replace(' ', ""));
    let mut figures: Vec<PageFigure> =
        [distribution(all, grain), survival(all, grain), slowdown(all, grain)].into_iter().flatten().collect();
    for figure in &mut figures {
        figure.id = format!("{name}-{}", figure.id);
    }
    PagePart {
        title: format!("Grain {}", exact(grain, true)).into(),
        id: name,
        note: String::new().into(),
        figures,
        tables: Vec::new(),
    }
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

fn names(all: &[ShownNoise<'_>]) -> String {
    let ids: Vec<String> = all.iter().map(|s| id(s.head)).collect();
    format!("Noise {}", ids.join(", "))
}

/// Tables of all measurements.
pub fn terminal(all: &[ShownNoise<'_>], style: &Style) -> String {
    let u = style.unicode;
    let mut page = ScreenText::new(style);
    page.title(&names(all));
    for shown in all {
        page.field(&id(shown.head), &style.show(&shown.head.title));
    }
    for table in [platforms(all), durations(all, u), chances(all, u)] {
        draw(&mut page, &table);
    }
    page.finish()
}

/// The page of all measurements: a part for each grain.
pub fn page(all: &[ShownNoise<'_>], foot: String) -> Page {
    let remark = |s: &ShownNoise<'_>| {
        let id = id(s.head);
        let said = remarks(s.noise, s.grains, true).into_iter();
        said.map(move |text| PageRemark { warning: true, text: format!("{id}: {text}").into() }).collect::<Vec<_>>()
    };
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Noise,
        title: names(all).into(),
        subtitle: "What delays a fixed piece of work, by machine, kernel and tick rate".to_owned().into(),
        facts: all.iter().map(|s| (id(s.head), Cell::foreign(&s.head.title))).collect(),
        remarks: all.iter().flat_map(remark).collect(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts: grains_of(all).into_iter().map(|g| part(all, g)).collect(),
        tables: vec![platforms(all), durations(all, true), chances(all, true)],
        foot: foot.into(),
    }
}

#[derive(Serialize)]
struct SeveralNoises<'a> {
    format: &'static str,
    version: u32,
    measurements: Vec<NoiseResults<'a>>,
}

#[derive(Serialize)]
struct NoiseResults<'a> {
    label: String,
    head: &'a DocumentHead,
    plan: &'a NoisePlan,
    grains: &'a [Grain],
}

/// All but the single durations and events.
pub fn json(all: &[ShownNoise<'_>]) -> Result<String, RenderError> {
    let measurements =
        all.iter().map(|s| NoiseResults { label: label(s), head: s.head, plan: &s.noise.plan, grains: s.grains });
    let document = SeveralNoises { format: "tare-noises", version: 1, measurements: measurements.collect() };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}
