//! The last reading of a run's samples: means over those that are retained.

use crate::base::reading::Absent;
use crate::run::report::account::{AccountTally, EstimateTally};
use crate::run::report::counters::CountersTally;
use crate::run::report::data::GrossDifference;
use crate::run::report::grouping::{FamilyNames, Mean, place, read};
use crate::run::report::metrics::MetricsTally;
use crate::sample::daemons::TaskKind;
use crate::sample::data::{Phase, Sample};

/// The retained samples of a series, summed.
pub(crate) struct RetainedSeries {
    /// Positions in the run of the samples that are retained, ascending.
    positions: Vec<u32>,
    /// The same of those by which programs are compared ([`crate::run::report::grouping::KeptSamples`]).
    compared: Vec<u32>,
    difference: DifferenceTally,
    pub account: AccountTally,
    pub estimate: EstimateTally,
    pub counters: CountersTally,
    pub metrics: MetricsTally,
}

impl RetainedSeries {
    pub fn new(mut positions: Vec<u32>, mut compared: Vec<u32>) -> RetainedSeries {
        positions.sort_unstable();
        compared.sort_unstable();
        RetainedSeries {
            positions,
            compared,
            difference: DifferenceTally::default(),
            account: AccountTally::default(),
            estimate: EstimateTally::default(),
            counters: CountersTally::default(),
            metrics: MetricsTally::default(),
        }
    }

    pub fn add(&mut self, sample: &Sample, names: &mut FamilyNames) {
        if sample.phase != Phase::Counted {
            return;
        }
        if self.compared.binary_search(&sample.seq).is_ok() {
            self.counters.compare(sample);
            self.metrics.compare(sample);
        }
        if self.positions.binary_search(&sample.seq).is_ok() {
            self.difference.add(sample);
            self.account.add(sample, names);
            self.estimate.add(sample);
            self.counters.add(sample);
            self.metrics.add(sample);
        }
    }

    pub fn difference(&mut self) -> GrossDifference {
        std::mem::take(&mut self.difference).report()
    }
}

/// Where gross and PT differ, as far as it is known without tracing.
#[derive(Default)]
struct DifferenceTally {
    gross_less_pt: Mean,
    daemons: Mean,
    tare: Mean,
    steal: Mean,
}

impl DifferenceTally {
    fn add(&mut self, sample: &Sample) {
        let at = place(sample);
        self.gross_less_pt.add_time(at, sample.process_time().map(|pt| sample.elapsed() - pt));
        self.daemons.add(at, of_others(sample));
        self.tare.add_time(at, Ok(sample.own.cpu));
        self.steal.add_time(at, read(&sample.steal).copied());
    }

    fn report(self) -> GrossDifference {
        GrossDifference {
            gross_less_pt: self.gross_less_pt.reading(),
            daemons: self.daemons.reading(),
            tare: self.tare.reading().value().copied().unwrap_or(0.0),
            steal: self.steal.reading(),
        }
    }
}

/// CPU time of all daemons but tare.
fn of_others(sample: &Sample) -> Result<i128, Absent> {
    let list = &read(&sample.daemons)?.list;
    Ok(list.iter().filter(|d| d.kind != TaskKind::Tare).map(|d| i128::from(d.cpu.0)).sum())
}
