//! The dual-execution scatter plots of a run's series (EMP section 4.5.1).

use crate::profile::clusters::{Clusters, TooFew, clusters};
use crate::profile::dual::Observation;
use crate::run::data::Run;
use crate::run::report::grouping::place;
use crate::sample::data::{Phase, Sample};

/// The clusters of each series, from its counted samples that did not fail or whose failure is accepted. `samples` may be in
/// any order.
pub fn duals(run: &Run, samples: &[Sample]) -> Vec<Result<Clusters, TooFew>> {
    let series_clusters = |series: usize| {
        let accepted = |s: &&Sample| s.phase == Phase::Counted && run.plan.ignore_failure.accepts(&s.outcome);
        let of_series = samples.iter().filter(|s| s.series as usize == series);
        let mut good: Vec<&Sample> = of_series.filter(accepted).collect();
        good.sort_unstable_by_key(|s| place(s));
        let observations: Vec<Observation> = good.into_iter().map(Observation::of).collect();
        clusters(&observations)
    };
    (0..run.plan.programs.len()).map(series_clusters).collect()
}
