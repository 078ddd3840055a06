//! The page of a measurement of noise: a part for each grain.

use crate::documents::machine::described;
use crate::noise::figures::{all_grains, parts};
use crate::noise::platform::{ShownNoise, platforms};
use crate::noise::tables::{calibrated, configured, cpus, durations, remarks, scheduled};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::data::{Noise, PhaseSource};
use tarebench_core::noise::report::Grain;
use tarebench_report::number;
use tarebench_report::text::escape;
use tarebench_report::web::page::{Page, PageKind, PagePart, PageRemark};

/// The page of a measurement: its facts, its remarks, a part for each grain, table 2.
pub fn noise(head: &DocumentHead, noise: &Noise, grains: &[Grain], zone: &TimeZone, foot: String) -> Page {
    let plan = &noise.plan;
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let mut facts = match &plan.source {
        PhaseSource::Measured => vec![
            fact("Measured", format!("{} of {}", cpus(plan), escape(&head.machine))),
            fact("Scheduler", scheduled(plan.sched)),
            fact("Started", date(head.created, zone)),
            fact("Counter", format!("{} MHz", number::fixed(plan.hz / 1e6, 1).unwrap_or_default())),
        ],
        PhaseSource::Imported { form, file } => {
            let from = format!("{form} in {}, of {}", escape(file), escape(&head.machine));
            vec![fact("Imported", from), fact("When", date(head.created, zone))]
        }
    };
    facts.extend(described(head).iter().map(|m| fact("Machine", escape(m).into_owned())));
    facts.extend(noise.calibration.iter().map(|(c, _)| fact("Calibrated", calibrated(c, plan.hz, true))));
    facts.extend(plan.tick.iter().map(|t| fact("Tick", configured(t))));
    let why = grains.iter().flat_map(|g| &g.attribution).find_map(|a| a.by.absent());
    let why = why.map(|w| PageRemark { warning: false, text: format!("Kernel events: {w}.").into() });
    let remarks = remarks(noise, grains, true).into_iter().map(|text| PageRemark { warning: true, text: text.into() });
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    // With one grain, its own figure is the same.
    let whole = (grains.len() > 1).then(|| all_grains(grains)).flatten();
    let mut parts = parts(noise, grains);
    if let Some(figure) = whole {
        let (id, title) = ("all".to_owned(), "All grains".to_owned());
        parts.insert(
            0,
            PagePart { id, title: title.into(), note: String::new().into(), figures: vec![figure], tables: Vec::new() },
        );
    }
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Noise,
        title: format!("Noise{id}: {}", escape(&head.title)).into(),
        subtitle: "What delays a fixed piece of work, and what that costs jobs on many nodes".to_owned().into(),
        facts: facts.into_iter().map(|(label, text)| (label, text.into())).collect(),
        remarks: remarks.chain(why).collect(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts,
        tables: vec![durations(grains, true), platforms(&[ShownNoise { head, noise, grains }])],
        foot: foot.into(),
    }
}
