//! Comparisons of machines that were made before: one reads all samples of a campaign.

use crate::data::nodes::NodesReport;
use crate::data::state::LabTask;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// While a campaign proceeds, its machines are compared again at most as often.
const AGAIN: Duration = Duration::from_secs(30);
/// Campaigns that are remembered.
const KEPT: usize = 16;

struct KeptReport {
    made: Instant,
    runs: u64,
    report: Arc<NodesReport>,
}

/// By campaign.
#[derive(Default)]
pub struct NodesCache(Mutex<BTreeMap<i64, KeptReport>>);

impl NodesCache {
    /// What was found of these tasks, if there are no further runs since, or it is recent.
    pub fn get(&self, campaign: i64, tasks: &[LabTask]) -> Option<Arc<NodesReport>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(&campaign)?;
        (kept.runs == runs(tasks) || kept.made.elapsed() < AGAIN).then(|| Arc::clone(&kept.report))
    }

    pub fn keep(&self, campaign: i64, tasks: &[LabTask], report: &Arc<NodesReport>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = all.iter().min_by_key(|(_, kept)| kept.made).map(|(id, _)| *id);
        if all.len() >= KEPT
            && !all.contains_key(&campaign)
            && let Some(oldest) = oldest
        {
            all.remove(&oldest);
        }
        all.insert(campaign, KeptReport { made: Instant::now(), runs: runs(tasks), report: Arc::clone(report) });
    }
}

/// Of the runs of all tasks and their machines.
fn runs(tasks: &[LabTask]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for task in tasks.iter().filter(|t| !t.runs.is_empty()) {
        (task.id, &task.agent, &task.runs).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::nodes::nodes;
    use tarebench::core::sample::measure::Measure;

    #[test]
    fn campaigns_that_were_asked_for_last_are_kept() {
        let (cache, report) = (NodesCache::default(), Arc::new(nodes(&[], Measure::Net)));
        for campaign in 0..20 {
            assert!(cache.get(campaign, &[]).is_none());
            cache.keep(campaign, &[], &report);
            assert!(cache.get(campaign, &[]).is_some());
        }
        assert!(cache.get(0, &[]).is_none() && cache.get(19, &[]).is_some());
    }
}
