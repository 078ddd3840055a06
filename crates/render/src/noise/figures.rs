//! The figures of a measurement, for the page and as SVG.

use crate::noise::said::{divided_by, less, place};
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::attribution::Attribution;
use tarebench_core::noise::cdf::CdfPoint;
use tarebench_core::noise::prediction::Expected;
use tarebench_core::noise::report::{Grain, JobSlowdown, NoiseRow, PhasePlace};
use tarebench_report::number::{chance, exact};
use tarebench_report::text::escape;
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

/// The most CPUs with a curve in one figure.
const CPUS: usize = 7;
/// Share of the longest phases that the distribution does not show at first; the next figure has them.
const TAIL: f64 = 0.001;
const INTERVAL: &str = "95 % interval";

pub(crate) fn figures(g: &Grain) -> Vec<PageFigure> {
    [distribution(g), survival(g), delayed(g), slowdown(g)].into_iter().flatten().collect()
}

/// The survival functions of all grains (figure 5), in per cent of the shortest phase, so that grains compare.
pub fn all_grains(grains: &[Grain]) -> Option<PageFigure> {
    let curve = |(look, g): (usize, &Grain)| {
        let row = g.rows.last()?;
        Some((format!("grain {}", exact(g.grain, true)), look, relative_tail(row)))
    };
    let curves = grains.iter().enumerate().filter_map(curve);
    let note = "Share of phases delayed by at least this much, in per cent of the shortest phase of their grain; with several \
                CPUs, of the node's. The paper's figure ends at 100 %.";
    relative_survivals("survival", "Delays by grain (ICS'05, figure 5)", note, curves)
}

/// Each delay as a multiple of the shortest phase, and the share of phases with at least this delay.
pub(crate) fn relative_tail(row: &NoiseRow) -> Vec<(f64, f64)> {
    if row.min <= 0.0 {
        return Vec::new();
    }
    tail(&row.cdf, row.min).into_iter().map(|(delay, share)| (delay / row.min, share)).collect()
}

/// As [`survivals`], of relative delays.
pub(crate) fn relative_survivals(
    id: &str,
    title: &str,
    note: &str,
    all: impl Iterator<Item = (String, usize, Vec<(f64, f64)>)>,
) -> Option<PageFigure> {
    let mut figure = survivals(id, title, note, all)?;
    figure.x = PageAxis::scaled(
        "Delay in per cent of the shortest phase",
        PageQuantity::Share,
        &[PageScale::Log, PageScale::Linear],
    );
    Some(figure)
}

/// The rows that have a curve: the node's, and those of the CPUs, if many, with the longest means.
fn drawn(rows: &[NoiseRow]) -> Vec<&NoiseRow> {
    let is_node = |r: &&NoiseRow| matches!(r.place, PhasePlace::Node { .. });
    let mut cpus: Vec<&NoiseRow> = rows.iter().filter(|r| !is_node(r)).collect();
    if cpus.len() > CPUS {
        cpus.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        cpus.truncate(CPUS);
    }
    rows.iter().filter(is_node).chain(cpus).collect()
}

fn left_out(rows: &[NoiseRow]) -> String {
    match rows.len().saturating_sub(1) {
        all if all > CPUS => format!(" Of {all} CPUs, the {CPUS} with the longest means."),
        _ => String::new(),
    }
}

pub(crate) fn curve(title: String, look: usize, join: Join, points: impl Iterator<Item = (f64, f64)>) -> PageCurve {
    let (x, y) = points.unzip();
    PageCurve { title, look, thin: false, join, x, y, band: None }
}

/// Figure 3, left: head and body.
fn distribution(g: &Grain) -> Option<PageFigure> {
    let rows = drawn(&g.rows);
    let distribution = |(look, row): (usize, &&NoiseRow)| {
        curve(place(row), look, Join::Before, row.cdf.iter().map(|p| (p.duration, p.at_most)))
    };
    let shortest = rows.iter().map(|r| r.min).fold(f64::INFINITY, f64::min);
    let body = |r: &&NoiseRow| r.cdf.iter().find(|p| p.at_most >= 1.0 - TAIL).map_or(r.max, |p| p.duration);
    let until = rows.iter().map(body).fold(0.0, f64::max);
    let most = rows.iter().map(|r| r.phases).max()?;
    let mut x = PageAxis::scaled("Duration of a phase", PageQuantity::Time, &[PageScale::Linear, PageScale::Log]);
    x.shown = Some((shortest, until)).filter(|(a, b)| a < b);
    let mut y = PageAxis::scaled(
        "Phases that took at most this long",
        PageQuantity::Share,
        &[PageScale::Logit, PageScale::Linear],
    );
    // Half a phase.
    y.floor = Some(0.5 / most as f64);
    let note = "Share of phases that took at most this long. The vertical axis shows odds, which spreads the shortest and the \
                longest phases as on a logarithmic scale. The longest thousandth is in the next figure.";
    Some(PageFigure {
        id: "distribution".to_owned(),
        title: "Distribution of phases (ICS'05, figure 3)".to_owned(),
        note: note.to_owned() + &left_out(&g.rows),
        x,
        y,
        curves: rows.iter().enumerate().map(distribution).collect(),
    })
}

/// Each delay, and the share of phases with at least this delay.
fn tail(cdf: &[CdfPoint], shortest: f64) -> Vec<(f64, f64)> {
    let delays = cdf.iter().map(move |p| (p.duration - shortest, p.at_least));
    delays.filter(|(delay, _)| *delay > 0.0).collect()
}

/// `None` where no phase was delayed.
fn survivals(
    id: &str,
    title: &str,
    note: &str,
    all: impl Iterator<Item = (String, usize, Vec<(f64, f64)>)>,
) -> Option<PageFigure> {
    let curves = all.map(|(title, look, points)| curve(title, look, Join::After, points.into_iter()));
    let curves: Vec<PageCurve> = curves.filter(|c| !c.x.is_empty()).collect();
    (!curves.is_empty()).then(|| PageFigure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: PageAxis::scaled(
            "Delay relative to the shortest phase",
            PageQuantity::Time,
            &[PageScale::Log, PageScale::Linear],
        ),
        y: PageAxis::scaled(
            "Phases delayed by at least this much",
            PageQuantity::Share,
            &[PageScale::Log, PageScale::Linear],
        ),
        curves,
    })
}

/// Figure 3, right, and figure 5.
fn survival(g: &Grain) -> Option<PageFigure> {
    let rows = drawn(&g.rows);
    let curves = rows.iter().enumerate().map(|(look, r)| (place(r), look, tail(&r.cdf, r.min)));
    let note = "Share of phases delayed by at least this much, relative to the shortest phase.".to_owned();
    survivals("survival", "Delays (ICS'05, figures 3 and 5)", &(note + &left_out(&g.rows)), curves)
}

/// Figure 2; `None` where no phase had any of the delays.
fn delayed(g: &Grain) -> Option<PageFigure> {
    let seen = || g.chances.iter().enumerate().filter(|(_, c)| c.count > 0);
    let exactly = seen().map(|(look, c)| {
        let title = format!("at least {}: p = {}", exact(c.delay, true), chance(c.p));
        let mut curve = curve(title, look, Join::Straight, c.curve.iter().map(|p| (p.nodes.get() as f64, p.chance)));
        let bound = |of: fn(&_) -> f64| c.curve.iter().map(|p| Some(of(p))).collect();
        curve.band = Some(Band { title: INTERVAL, low: bound(|p| p.low), high: bound(|p| p.high) });
        curve
    });
    let linear = seen().map(|(look, c)| {
        let title = format!("at least {}: p n", exact(c.delay, true));
        let points = c.curve.iter().filter(|p| p.linear <= 1.0).map(|p| (p.nodes.get() as f64, p.linear));
        PageCurve { thin: true, ..curve(title, look, Join::Straight, points) }
    });
    let curves: Vec<PageCurve> = exactly.chain(linear).collect();
    let never: Vec<String> = g.chances.iter().filter(|c| c.count == 0).map(|c| exact(c.delay, true)).collect();
    let never = match never.as_slice() {
        [] => String::new(),
        some => format!(" No phase was delayed by {}.", some.join(" or ")),
    };
    (!curves.is_empty()).then(|| PageFigure {
        id: "delayed".to_owned(),
        title: "Probability that a phase of a job is delayed (ICS'05, figure 2)".to_owned(),
        note: format!(
            "d_p(n) = 1 - (1 - p)ⁿ for delays that were measured here, with the 95 % interval of p; the thin line is the \
             approximation p n, up to 1.{never}"
        ),
        x: PageAxis::scaled("Nodes of the job", PageQuantity::Count, &[PageScale::Log]),
        y: PageAxis::scaled("Phases of the job that are delayed", PageQuantity::Share, &[PageScale::Linear, PageScale::Log]),
        curves,
    })
}

/// `None` where no slowdown is known.
fn slowdown(g: &Grain) -> Option<PageFigure> {
    let measured = |j: &&JobSlowdown| matches!(j.slowdown, Expected::Measured { .. });
    let beyond = |j: &&JobSlowdown| matches!(j.slowdown, Expected::Extrapolated { .. });
    let first = g.jobs.iter().filter(measured).collect();
    // Starts where the measured curve ends.
    let joint = g.jobs.iter().rfind(measured);
    let second: Vec<&JobSlowdown> = g.jobs.iter().filter(beyond).collect();
    let second = if second.is_empty() { second } else { joint.into_iter().chain(second).collect() };
    let curves: Vec<PageCurve> = [("measured", first), ("extrapolated with a fitted tail", second)]
        .into_iter()
        .enumerate()
        .filter(|(_, (_, jobs))| !jobs.is_empty())
        .map(|(look, (title, jobs))| slowdowns(title, look, &jobs))
        .collect();
    let values = || curves.iter().flat_map(|c| &c.y).copied();
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let scales =
        if most > 4.0 * least { [PageScale::Log, PageScale::Linear] } else { [PageScale::Linear, PageScale::Log] };
    (!curves.is_empty()).then(|| PageFigure {
        id: "slowdown".to_owned(),
        title: "Slowdown of a job".to_owned(),
        note: format!(
            "Mean time of a phase until the slowest node is ready, divided by {}, with its 95 % interval by block bootstrap. \
             These phases support n up to {}.",
            divided_by(g),
            g.supported
        ),
        x: PageAxis::scaled("Nodes of the job", PageQuantity::Count, &[PageScale::Log]),
        y: PageAxis::scaled("Slowdown", PageQuantity::Ratio, &scales),
        curves,
    })
}

fn slowdowns(title: &str, look: usize, jobs: &[&JobSlowdown]) -> PageCurve {
    let points = jobs.iter().filter_map(|j| Some((j.nodes.get() as f64, j.slowdown.value()?)));
    let mut curve = curve(title.to_owned(), look, Join::Straight, points);
    let bounds = || jobs.iter().map(|j| j.slowdown.bounds());
    curve.band = Some(Band {
        title: INTERVAL,
        low: bounds().map(|b| b.map(|b| b.low)).collect(),
        high: bounds().map(|b| b.and_then(|b| b.high)).collect(),
    });
    curve
}

/// Figure 4, right.
pub(crate) fn residual(a: &Attribution, cpu: u32, more: &str) -> Option<PageFigure> {
    let shortest = a.curves.first()?.min;
    let curves = a.curves.iter().enumerate().map(|(look, c)| (less(c.minus).to_owned(), look, tail(&c.cdf, shortest)));
    let flat = a.curves.iter().find(|c| c.max <= shortest);
    let flat = flat.map_or_else(String::new, |c| {
        format!(" No phase of the curve “{}” is longer than the shortest phase.", less(c.minus))
    });
    let note = format!(
        "Phases after subtracting one cause after another, relative to the shortest phase. The last curve shows what is \
         left: it may be indirect cost (caches), clock speed, or what the kernel does not see.{flat}"
    );
    let title = format!("Residual after subtracting (ICS'05, figure 4){more}");
    let mut figure = survivals(&format!("left-cpu{cpu}"), &title, &note, curves)?;
    figure.x.title = "Residual relative to the shortest phase".to_owned();
    figure.y.title = "Phases with at least this residual".to_owned();
    Some(figure)
}

/// The survival functions of all grains (figure 5), as SVG; `None` if there is nothing to draw.
pub fn figure(head: &DocumentHead, grains: &[Grain]) -> Option<String> {
    tarebench_report::svg::figures::figure(
        &all_grains(grains)?,
        &format!("{} of {}", escape(&head.title), escape(&head.machine)),
    )
}
