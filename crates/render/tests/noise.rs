//! The figures of a measurement of noise, in SVG and as a page's data.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

use insta::assert_snapshot;
use std::collections::BTreeMap;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Host;
use tarebench_core::noise::data::Heuristic;
use tarebench_core::noise::data::PhaseCalibration;
use tarebench_core::noise::data::{
    Calibrated, Kernel, KernelRecord, KernelTick, Noise, NoisePlan, PhaseScheduling, PhaseSource, Phases, PhasesEnd,
    Series,
};
use tarebench_core::noise::prediction::{Bounds, Expected};
use tarebench_core::noise::report::{DELAYS, Grain, report, report_over};
use tarebench_core::noise::undisturbed::UndisturbedRule;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::trace::timeline::ClockPair;
use tarebench_core::trace::timeline::{CpuEvent, CpuOccupant, Stolen, TraceTask};
use tarebench_render::noise::figures::figure;
use tarebench_render::noise::platform::ShownNoise;
use tarebench_render::noise::{json, several, sheet};
use tarebench_report::style::Style;
use tarebench_report::svg::figures::figures;
use tarebench_report::terminal::sheet_text;
use tarebench_report::web::html as web;
use tarebench_report::web::page::{Page, PageFigure};

const HOSTILE: &str = "<script>alert(1)</script>";

fn head() -> DocumentHead {
    DocumentHead {
        kind: DocumentKind::Noise,
        number: 3,
        uuid: "0".repeat(32),
        title: "10us on CPU 1 & more".to_owned(),
        created: Nanos(0),
        status: Status::Finished,
        tool: "0.1.0".to_owned(),
        machine: "host".to_owned(),
        conditions: None,
        tags: std::collections::BTreeMap::new(),
    }
}

fn series(grain: Nanos, cpu: u32, whole: u64) -> Series {
    let pair = |cycles: f64| ClockPair { cycles, clock: Nanos(cycles as i64), within: Nanos(20) };
    Series {
        grain,
        iterations: 9_800,
        cpu,
        ended: PhasesEnd::Complete,
        pairs: vec![pair(0.0), pair(whole as f64)],
        switches: Some(20),
        faults: Some(0),
        cache_misses: Reading::Absent(Absent::NotSupported("no PMU".to_owned())),
        l1_misses: Reading::Absent(Absent::NotSupported("no PMU".to_owned())),
        stolen: Reading::Value(Nanos(10_000_000)),
        locked: true,
        unexplained: Some(Absent::NoPermission("CAP_BPF".to_owned())),
    }
}

/// Phases of 10 µs and some ns, in each hundredth a tick of 2 µs, in each thousandth a task of 50 µs; and of each thousand
/// the hypervisor takes 30 µs.
fn phases(grain: Nanos, cpu: u32, n: u64) -> Phases {
    let tick = CpuOccupant::Timer;
    let task = CpuOccupant::Task(TraceTask { name: Name::from(HOSTILE), by: TaskKind::User, pid: 9, tid: 9 });
    let (mut durations, mut events, mut stolen, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0_u64);
    for i in 0..n {
        let own = 10_000 + (i * 7919 + u64::from(cpu)) % 41;
        let other = match i {
            i if i % 1_000 == 500 => Some((&task, 50_000)),
            i if i % 100 == 50 => Some((&tick, 2_000)),
            _ => None,
        };
        if let Some((what, length)) = other {
            let start = Nanos((at + 100) as i64);
            let end = Nanos((at + 100 + length) as i64);
            events.push(CpuEvent { what: what.clone(), start, end, own: end - start, complete: true });
        }
        let taken = if i % 1_000 == 720 { 30_000 } else { 0 };
        if taken > 0 {
            let (from, until) = (Nanos(at as i64 - 90_000), Nanos(at as i64 + 300_000));
            stolen.push(Stolen { from, until, time: Nanos(taken as i64) });
        }
        durations.push(own + other.map_or(0, |(_, length)| length) + taken);
        at += durations.last().copied().unwrap_or_default();
    }
    let record = KernelRecord {
        grain,
        cpu,
        own: 7,
        whats: Vec::new(),
        from: Nanos(0),
        until: Nanos(i64::MAX),
        lost: 0,
        late: 0,
        missing: Vec::new(),
    };
    Phases { series: series(grain, cpu, at), durations, kernel: Some(Kernel { record, events, stolen }) }
}

fn noise(cpus: &[u32], grains: &[Nanos]) -> Noise {
    let calibration = PhaseCalibration { heuristic: Heuristic::SecondDecile, timings: 10, per_iteration: 1.0 };
    let plan = NoisePlan {
        source: PhaseSource::Measured,
        tick: None,
        cpus: cpus.to_vec(),
        sched: PhaseScheduling::Other,
        grains: grains.to_vec(),
        phases: 5_000,
        limit: None,
        heuristic: Heuristic::SecondDecile,
        calibrations: 10,
        explain: true,
        hz: 1e9,
    };
    let all = grains.iter().flat_map(|g| cpus.iter().map(|c| phases(*g, *c, 5_000)));
    let calibrated = Calibrated { cpu: 1, iterations: 1_000_000, calibration, overhead: 20.0 };
    Noise { plan, calibration: Some((calibrated, vec![1_000_000; 10])), phases: all.collect() }
}

const GRAIN: Nanos = Nanos(10_000);

fn made(cpus: &[u32], grains: &[Nanos]) -> (Page, Vec<Grain>) {
    let noise = noise(cpus, grains);
    let grains = report(&noise, &DELAYS, 1);
    (page(&noise, &grains), grains)
}

fn page(noise: &Noise, grains: &[Grain]) -> Page {
    sheet::noise(&head(), noise, grains, &TimeZone::UTC, "tare 0.1.0".to_owned()).into_page()
}

fn files(page: &Page) -> BTreeMap<String, String> {
    figures(page).unwrap().into_iter().collect()
}

fn find<'a>(page: &'a Page, id: &str) -> &'a PageFigure {
    page.parts.iter().flat_map(|p| &p.figures).find(|f| f.id == id).unwrap()
}

#[test]
fn every_figure_is_drawn() {
    let (page, _) = made(&[1], &[GRAIN]);
    let all = files(&page);
    assert_snapshot!("names", all.keys().cloned().collect::<Vec<_>>().join("\n"));
    for (name, svg) in &all {
        let document = roxmltree::Document::parse(svg).unwrap();
        let curves = document.descendants().filter(|n| n.attribute("class") == Some("curve"));
        assert!(curves.clone().count() > 0, "{name}");
        assert!(curves.clone().all(|n| n.attribute("d").is_some_and(|d| d.len() > 3)), "{name}: {svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.len() < 200_000, "{name}");
        // No label of an axis overlaps its neighbour.
        let axis = document.descendants().find(|n| n.attribute("class") == Some("x-axis")).unwrap();
        let labels = axis.descendants().filter(|n| n.tag_name().name() == "text").count();
        assert!((2..=14).contains(&labels), "{name}: {labels}");
    }
    for name in ["distribution", "survival", "delayed", "slowdown", "left-cpu1"] {
        assert_snapshot!(name, all[&format!("grain-10us-{name}.svg")]);
    }
    assert_eq!(all, files(&page));
}

#[test]
fn what_is_drawn_is_what_was_measured() {
    let (page, grains) = made(&[1], &[GRAIN]);
    let survival = find(&page, "grain-10us-survival");
    let [curve] = survival.curves.as_slice() else { panic!("{survival:?}") };
    // Of 5,000 phases five were delayed by 50 µs, five by 30, fifty by two.
    let share = |delay: f64| curve.x.iter().zip(&curve.y).find(|(x, _)| **x >= delay).map(|(_, y)| *y);
    assert_eq!((share(1_000.0), share(10_000.0), share(40_000.0)), (Some(0.012), Some(0.002), Some(0.001)));
    let cdf = &find(&page, "grain-10us-distribution").curves[0];
    assert_eq!((cdf.x[0], cdf.y.last()), (10_000.0, Some(&1.0)));
    let delayed = find(&page, "grain-10us-delayed");
    // Delays of 1 and 10 µs occurred, longer ones did not; each exactly, and as p n.
    assert_eq!(delayed.curves.iter().map(|c| c.thin).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!((delayed.curves[0].y[0], delayed.curves[1].y[0]), (0.012, 0.002));
    assert!(delayed.curves[2].y.iter().all(|y| *y <= 1.0) && delayed.note.contains("100 µs or 1 ms or 10 ms"));
    let slowdown = find(&page, "grain-10us-slowdown");
    let told: usize = grains[0].jobs.iter().filter(|j| j.slowdown.value().is_some()).count();
    let drawn: usize = slowdown.curves.iter().map(|c| c.x.len()).sum();
    // The last measured one is drawn twice where an extrapolated one follows.
    assert_eq!(drawn, told + slowdown.curves.len() - 1);
}

#[test]
fn subtraction_makes_the_curve_flat() {
    let (page, _) = made(&[1], &[GRAIN]);
    let left = find(&page, "grain-10us-left-cpu1");
    let longest: Vec<(&str, f64)> = left.curves.iter().map(|c| (c.title.as_str(), *c.x.last().unwrap())).collect();
    let titles = ["nothing subtracted", "minus ticks", "minus ticks and other interrupts"];
    assert_eq!(longest.iter().map(|l| l.0).collect::<Vec<_>>()[..3], titles);
    assert!(longest[0].1 >= 50_000.0 && longest[1].1 >= 50_000.0, "{longest:?}");
    assert!(longest[3].1 >= 29_000.0 && longest[4].1 <= 40.0, "{longest:?}");
    let over = |c: usize| left.curves[c].x.iter().zip(&left.curves[c].y).find(|(x, _)| **x > 1_000.0).map(|(_, y)| *y);
    assert_eq!((over(0), over(1), over(3)), (Some(0.012), Some(0.002), Some(0.001)));
}

#[test]
fn several_cpus_and_grains_have_their_curves() {
    let (page, _) = made(&[0, 1], &[GRAIN, Nanos(20_000)]);
    let ids: Vec<&str> = page.parts.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids, ["all", "grain-10us", "grain-20us"]);
    let titles = |id: &str| find(&page, id).curves.iter().map(|c| c.title.clone()).collect::<Vec<_>>();
    assert_eq!(titles("grain-10us-survival"), ["node", "CPU 0", "CPU 1"]);
    assert_eq!(titles("survival"), ["grain 10 µs", "grain 20 µs"]);
    assert!(page.parts[1].figures.iter().any(|f| f.id == "grain-10us-left-cpu0"));
    let mut all = files(&page).into_keys().collect::<Vec<_>>();
    let n = all.len();
    all.dedup();
    assert_eq!(all.len(), n);
    // Of many CPUs, the slowest.
    let cpus: Vec<u32> = (0..20).collect();
    let (page, _) = made(&cpus, &[GRAIN]);
    let figure = find(&page, "grain-10us-distribution");
    assert_eq!((figure.curves.len(), figure.curves[0].title.as_str()), (8, "node"));
    assert!(figure.note.contains("Of 20 CPUs, the 7"), "{}", figure.note);
}

#[test]
fn a_bound_that_is_not_there_reaches_to_the_top() {
    let noise = noise(&[1], &[GRAIN]);
    let mut grains = report(&noise, &DELAYS, 1);
    let job = grains[0].jobs.last_mut().unwrap();
    job.slowdown = Expected::Extrapolated { value: 9.0, bounds: Bounds { low: 2.0, high: None } };
    let page = page(&noise, &grains);
    let band = find(&page, "grain-10us-slowdown").curves.last().and_then(|c| c.band.clone()).unwrap();
    assert_eq!((band.low.last(), band.high.last()), (Some(&Some(2.0)), Some(&None)));
    let svg = &files(&page)["grain-10us-slowdown.svg"];
    assert!(svg.contains("class=\"band\"") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn names_of_the_machine_are_text() {
    let (page, _) = made(&[1], &[GRAIN]);
    let html = web::html(&page).unwrap();
    assert!(!html.contains(HOSTILE) && html.contains("\\u003cscript\\u003ealert(1)"));
    let sources = &page.parts[0].tables[2];
    assert!(sources.rows.iter().any(|r| r.cells[0].plain().contains(HOSTILE)), "{sources:?}");
}

#[test]
fn no_phase_is_no_figure() {
    let mut noise = noise(&[1], &[GRAIN]);
    noise.phases.clear();
    let none = page(&noise, &report(&noise, &DELAYS, 1));
    assert!(none.parts.is_empty() && figures(&none).unwrap().is_empty());
    // One phase, and phases of equal length, have no delay.
    for n in [1, 2] {
        let mut one = phases(GRAIN, 1, n);
        one.durations.fill(10_000);
        noise.phases = vec![one];
        let grains = report(&noise, &DELAYS, 1);
        let page = page(&noise, &grains);
        assert!(page.parts[0].figures.iter().all(|f| !f.id.ends_with("survival")));
        assert!(files(&page).values().all(|svg| !svg.contains("NaN")));
        assert_eq!(figure(&head(), &grains), None);
    }
}

/// A machine with this kernel.
fn host(kernel: &str) -> Host {
    let known = |t: &str| Reading::Value(t.to_owned());
    Host {
        name: "box".to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: kernel.to_owned(),
        kernel_version: "#1".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: known("0x1"),
        cpus: 2,
        memory: Reading::Value(1 << 30),
        hypervisor: known("none"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(1e9),
    }
}

/// Two kernels with two tick rates: figures 4 and 7 of the paper.
#[test]
fn several_measurements_have_a_curve_each() {
    let with = |number: i64, kernel: &str, hz: f64, grains: &[Nanos]| {
        let conditions = Some(Box::new(Conditions::new(host(kernel), Vec::new())));
        let head = DocumentHead { number, conditions, title: format!("{hz} Hz"), ..head() };
        let mut noise = noise(&[1], grains);
        let tick = KernelTick { hz: Reading::Value(hz), idle: Reading::Value(true), full: Reading::Value(Vec::new()) };
        noise.plan.tick = Some(tick);
        let grains = report(&noise, &DELAYS, 1);
        (head, noise, grains)
    };
    let all = [with(1, "6.1.0", 250.0, &[GRAIN]), with(2, "6.12.0", 1_000.0, &[GRAIN, Nanos(20_000)])];
    let shown: Vec<ShownNoise<'_>> =
        all.iter().map(|(head, noise, grains)| ShownNoise { head, noise, grains }).collect();
    let page = several::sheet(&shown, String::new()).into_page();
    let ids: Vec<&str> = page.parts.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids, ["grain-10us", "grain-20us"]);
    let distribution = find(&page, "grain-10us-distribution");
    let titles: Vec<&str> = distribution.curves.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["n1: host, Linux 6.1.0, HZ 250", "n2: host, Linux 6.12.0, HZ 1000"]);
    // Only the second has the second grain; a measurement has the same look in each figure.
    let second = find(&page, "grain-20us-survival");
    assert_eq!(second.curves.iter().map(|c| c.look).collect::<Vec<_>>(), [1]);
    for svg in figures(&page).unwrap() {
        roxmltree::Document::parse(&svg.1).unwrap();
    }
    let text = sheet_text(&several::sheet(&shown, String::new()), &Style { full: true, ..Style::default() });
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    assert_snapshot!("several", text);
    let d: serde_json::Value = serde_json::from_str(&json::several(&shown).unwrap()).unwrap();
    assert_eq!(d["measurements"][1]["head"]["number"], 2);
}

/// Figure 5: 50 µs on a grain of 10 µs are 500 %, on one of 20 µs 250 % were it as long; grains are on one scale.
#[test]
fn delays_of_grains_are_in_per_cent_of_the_shortest_phase() {
    let (page, grains) = made(&[1], &[GRAIN, Nanos(20_000)]);
    let figure = find(&page, "survival");
    let longest = |i: usize| figure.curves[i].x.last().copied().unwrap();
    let row = &grains[0].rows[0];
    assert!((longest(0) - (row.max - row.min) / row.min).abs() < 1e-12 && longest(0) > 4.9);
    assert!(figure.x.title.contains("per cent"), "{}", figure.x.title);
}

/// Whatever shows a slowdown says what it is divided by.
#[test]
fn slowdowns_say_their_grain() {
    let noise = noise(&[1], &[GRAIN]);
    for (rule, says) in [
        (UndisturbedRule::Minimum, "divided by the shortest phase"),
        (UndisturbedRule::Mode, "divided by the most frequent duration, 10.0 µs"),
        (UndisturbedRule::Calibration, "divided by the calibrated length, 9.82 µs"),
    ] {
        let grains = report_over(&noise, &DELAYS, rule, 1);
        let page = page(&noise, &grains);
        assert!(find(&page, "grain-10us-slowdown").note.contains(says), "{says}");
        assert!(page.parts[0].tables[1].note.plain().contains(says), "{}", page.parts[0].tables[1].note);
        let first = says.split(',').next().unwrap().replace("the shortest phase", "shortest");
        assert!(page.tables[0].note.plain().contains(&first), "{}", page.tables[0].note);
    }
}
