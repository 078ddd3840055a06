//! The platform of measurements (ICS'05, table 1), from the heads of their documents.

use crate::noise::tables::{configured, scheduled};
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::machine::data::Host;
use tarebench_core::noise::data::{Noise, PhaseSource};
use tarebench_core::noise::report::{Grain, NoiseRow};
use tarebench_report::number;
use tarebench_report::number::bytes;
use tarebench_report::table::Table;
use tarebench_report::text::escape;

/// A measurement with its results.
#[derive(Clone, Copy)]
pub struct ShownNoise<'a> {
    pub head: &'a DocumentHead,
    pub noise: &'a Noise,
    pub grains: &'a [Grain],
}

impl<'a> ShownNoise<'a> {
    pub(crate) fn grain(&self, grain: Nanos) -> Option<&'a Grain> {
        self.grains.iter().find(|g| g.grain == grain)
    }

    /// Of a grain, the row that stands for the measurement: the node's, or that of the only CPU.
    pub(crate) fn row(&self, grain: Nanos) -> Option<&'a NoiseRow> {
        self.grain(grain)?.rows.last()
    }
}

/// How a measurement is called in tables: its number, or what it is if it is not stored.
pub(crate) fn id(head: &DocumentHead) -> String {
    if head.number == 0 { "this".to_owned() } else { head.id().to_string() }
}

fn host(head: &DocumentHead) -> Option<&Host> {
    head.conditions.as_deref().map(|c| c.host())
}

/// A reading of the machine, or why there is none, which says so itself: `not known: …`.
fn read(reading: &Reading<String>) -> String {
    match reading {
        Reading::Value(text) => escape(text).into_owned(),
        Reading::Absent(why) => escape(&why.to_string()).into_owned(),
    }
}

fn megahertz(hz: f64) -> String {
    format!("{} MHz", number::fixed(hz / 1e6, 1).unwrap_or_default())
}

/// HZ of the kernel, where it is known.
pub(crate) fn hz(noise: &Noise) -> Option<f64> {
    noise.plan.tick.as_ref()?.hz.value().copied()
}

/// Timer interrupts a second that were recorded, the most of any grain and CPU.
fn timers(shown: &ShownNoise<'_>) -> Option<f64> {
    let recorded = shown.grains.iter().flat_map(|g| &g.attribution).filter_map(|a| a.by.value()?.timer_hz);
    recorded.max_by(f64::total_cmp)
}

/// A fact of the platform; `None` where it is not recorded.
type Fact = fn(&ShownNoise<'_>) -> Option<String>;

const FACTS: [(&str, Fact); 13] = [
    ("machine", |s| Some(escape(&s.head.machine).into_owned())),
    ("CPU", |s| Some(read(&host(s.head)?.cpu))),
    ("CPUs online", |s| Some(host(s.head)?.cpus.to_string())),
    ("cycle counter", |s| (s.noise.plan.source == PhaseSource::Measured).then(|| megahertz(s.noise.plan.hz))),
    ("memory", |s| host(s.head)?.memory.value().map(|b| bytes(*b))),
    ("hypervisor", |s| Some(read(&host(s.head)?.hypervisor))),
    ("distribution", |s| Some(read(&host(s.head)?.distribution))),
    ("kernel", |s| {
        let host = host(s.head)?;
        Some(escape(&format!("Linux {} {}", host.kernel, host.architecture)).into_owned())
    }),
    ("clock source", |s| Some(read(&host(s.head)?.clock_source))),
    ("tick", |s| s.noise.plan.tick.as_ref().map(configured)),
    ("timer interrupts a second", |s| timers(s).and_then(|r| number::fixed(r, number::decimals_for(r, 3)))),
    ("scheduler", |s| (s.noise.plan.source == PhaseSource::Measured).then(|| scheduled(s.noise.plan.sched))),
    ("imported from", |s| match &s.noise.plan.source {
        PhaseSource::Imported { form, file } => Some(format!("{form} in {}", escape(file))),
        PhaseSource::Measured => None,
    }),
];

/// Table 1: a column for each measurement; facts that none has are omitted.
pub(crate) fn platforms(all: &[ShownNoise<'_>]) -> Table {
    let ids: Vec<String> = all.iter().map(|s| id(s.head)).collect();
    let mut columns = vec!["platform"];
    columns.extend(ids.iter().map(String::as_str));
    let mut table = Table::new("Platform (ICS'05, table 1)", "", &columns);
    for (name, fact) in FACTS {
        let cells: Vec<Option<String>> = all.iter().map(fact).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(Option::unwrap_or_default);
            table.row(std::iter::once(name.to_owned()).chain(cells), Vec::new());
        }
    }
    table
}
