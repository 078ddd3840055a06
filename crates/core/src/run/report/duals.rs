//! The dual-execution scatter plots of a run's series (EMP section 4.5.1).

use crate::profile::clusters::{Clusters, TooFew, clusters};
use crate::profile::dual::Observation;
use crate::run::data::Run;
use crate::run::shown::{ShownRun, ShownSeries};
use crate::sample::data::Sample;

/// The clusters of each series, from its shown samples that did not fail or whose failure is accepted.
pub fn duals(run: &Run, shown: &ShownRun) -> Vec<Result<Clusters, TooFew>> {
    let series_clusters = |series: usize| {
        let samples = shown.series(series).map_or(&[][..], ShownSeries::samples);
        let accepted = |s: &&Sample| run.plan.ignore_failure.accepts(&s.outcome);
        let observations: Vec<Observation> = samples.iter().filter(accepted).map(Observation::of).collect();
        clusters(&observations)
    };
    (0..run.plan.programs.len()).map(series_clusters).collect()
}
