//! The dual-execution scatter plots of a run's series (EMP section 4.5.1).

use crate::profile::clusters::{Clusters, TooFew, clusters};
use crate::profile::dual::Observation;
use crate::run::data::Run;
use crate::run::report::grouping::Grouped;
use crate::sample::data::Sample;

/// The clusters of each series, from its counted samples that did not fail or whose failure is accepted. `samples` may be in
/// any order.
pub fn duals(run: &Run, samples: &[Sample]) -> Vec<Result<Clusters, TooFew>> {
    let of_group = |good: &[&Sample]| {
        let observations: Vec<Observation> = good.iter().map(|s| Observation::of(s)).collect();
        clusters(&observations)
    };
    Grouped::new(run, samples).series.iter().map(|group| of_group(&group.good)).collect()
}
