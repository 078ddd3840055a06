//! Measurements of noise as tables, as JSON, as figures, and as files for simulators.

use crate::documents::machine::described;
use crate::noise::platform::{ShownNoise, platforms};
use crate::noise::tables::calibrated;
use crate::noise::tables::configured;
use crate::noise::tables::cpus;
use crate::noise::tables::scheduled;
use crate::noise::tables::{remarks, tables};
use serde::Serialize;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::data::{Calibrated, Noise, NoisePlan, PhaseSource, Series};
use tarebench_core::noise::report::Grain;
use tarebench_report::error::RenderError;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::terminal_table::draw;

/// Head, tables and remarks.
pub fn terminal(head: &DocumentHead, noise: &Noise, grains: &[Grain], style: &Style) -> String {
    let (u, plan) = (style.unicode, &noise.plan);
    let mut page = ScreenText::new(style);
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    page.title(&format!("Noise{id}: {}", style.show(&head.title)));
    match &plan.source {
        PhaseSource::Measured => {
            let measured = format!("{} of {}, {}", cpus(plan), style.show(&head.machine), scheduled(plan.sched));
            page.field("measured", &measured);
            if let Some(machine) = described(head) {
                page.field("machine", &style.show(&machine));
            }
            match &noise.calibration {
                Some((c, _)) => page.field("calibrated", &style.prose(&calibrated(c, plan.hz, u))),
                None => page.painted_field("calibrated", Paint::Dim, "not yet"),
            }
        }
        PhaseSource::Imported { form, file } => {
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
    // What the lines above do not say of it is known only of conditions that were recorded.
    if style.full && head.conditions.is_some() {
        draw(&mut page, &platforms(&[ShownNoise { head, noise, grains }]));
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

#[derive(Serialize)]
struct NoiseDocument<'a> {
    format: &'static str,
    version: u32,
    head: &'a DocumentHead,
    plan: &'a NoisePlan,
    calibration: Option<&'a Calibrated>,
    series: Vec<CountedSeries<'a>>,
    grains: &'a [Grain],
}

/// A series without its durations.
#[derive(Serialize)]
struct CountedSeries<'a> {
    phases: usize,
    #[serde(flatten)]
    series: &'a Series,
}

/// All but the single durations and events, which are in an export.
pub fn json(head: &DocumentHead, noise: &Noise, grains: &[Grain]) -> Result<String, RenderError> {
    let document = NoiseDocument {
        format: "tare-noise",
        version: 1,
        head,
        plan: &noise.plan,
        calibration: noise.calibration.as_ref().map(|(c, _)| c),
        series: noise.phases.iter().map(|p| CountedSeries { phases: p.durations.len(), series: &p.series }).collect(),
        grains,
    };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::figures::figure;
    use crate::noise::tables::short;
    use tarebench_core::base::reading::Absent;
    use tarebench_core::base::reading::Reading;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head as document;
    use tarebench_core::documents::head::Status;
    use tarebench_core::noise::data::PhaseCalibration;
    use tarebench_core::noise::data::Phases;
    use tarebench_core::noise::data::{Heuristic, PhaseScheduling, PhaseSource, PhasesEnd};
    use tarebench_core::noise::report::report;
    use tarebench_report::number::{chance, exact};

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

    #[test]
    fn tables_say_what_was_measured() {
        let noise = noise();
        let grains = report(&noise, &[Nanos(1_500)], 1);
        let text = terminal(&head(), &noise, &grains, &Style::default());
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
