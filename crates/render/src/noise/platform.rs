//! The platform of measurements (ICS'05, table 1), from the heads of their documents.

use crate::noise::said::{configured, scheduled};
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::machine::data::Host;
use tarebench_core::noise::data::{Noise, PhaseSource};
use tarebench_core::noise::report::{Grain, NoiseRow};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::table::{Column, Table};

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
fn read(reading: &Reading<String>) -> Cell {
    match reading {
        Reading::Value(text) => Cell::foreign(text),
        Reading::Absent(why) => Cell::text(why.to_string()),
    }
}

pub(crate) fn megahertz(hz: f64) -> String {
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

/// A figure below texts: as words it does not align their column to the right.
fn left(figure: Cell) -> Cell {
    Cell::words([figure])
}

/// A fact of the platform; `None` where it is not recorded.
type Fact = fn(&ShownNoise<'_>) -> Option<Cell>;

const FACTS: [(&str, Fact); 14] = [
    ("measurement", |s| Some(Cell::foreign(&s.head.title))),
    ("machine", |s| Some(Cell::foreign(&s.head.machine))),
    ("CPU", |s| Some(read(&host(s.head)?.cpu))),
    ("CPUs online", |s| Some(left(Cell::count(host(s.head)?.cpus)))),
    ("cycle counter", |s| (s.noise.plan.source == PhaseSource::Measured).then(|| megahertz(s.noise.plan.hz).into())),
    ("memory", |s| host(s.head)?.memory.value().map(|b| left(Cell::of(Unit::Bytes, *b as f64)))),
    ("hypervisor", |s| Some(read(&host(s.head)?.hypervisor))),
    ("distribution", |s| Some(read(&host(s.head)?.distribution))),
    ("kernel", |s| {
        let host = host(s.head)?;
        Some(Cell::foreign(format!("Linux {} {}", host.kernel, host.architecture)))
    }),
    ("clock source", |s| Some(read(&host(s.head)?.clock_source))),
    ("tick", |s| s.noise.plan.tick.as_ref().map(|tick| configured(tick).into())),
    ("timer interrupts a second", |s| timers(s).map(|rate| left(Cell::of(Unit::Plain, rate)))),
    ("scheduler", |s| (s.noise.plan.source == PhaseSource::Measured).then(|| scheduled(s.noise.plan.sched).into())),
    ("imported from", |s| match &s.noise.plan.source {
        PhaseSource::Imported { form, file } => Some(Cell::text(format!("{form} in ")).and(Cell::foreign(file))),
        PhaseSource::Measured => None,
    }),
];

/// Table 1: a column for each measurement; facts that none has are omitted.
pub(crate) fn platforms(all: &[ShownNoise<'_>]) -> Table {
    let columns = ["platform".to_owned()].into_iter().chain(all.iter().map(|s| id(s.head))).map(Column::new);
    let mut table = Table::of("Platform (ICS'05, table 1)", "", columns);
    for (name, fact) in FACTS {
        let cells: Vec<Option<Cell>> = all.iter().map(fact).collect();
        if cells.iter().any(Option::is_some) {
            table.row([name.into()].into_iter().chain(cells.into_iter().map(Option::unwrap_or_default)), Vec::new());
        }
    }
    table
}
