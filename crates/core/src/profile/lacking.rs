//! Whether a profile still fits its machine: daemons of later runs that are not in it.

use crate::base::units::Nanos;
use crate::profile::data::Profile;
use crate::sample::daemons::TaskKind;
use crate::sample::data::{Phase, Sample};
use crate::sample::families::family;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Share of a sample's elapsed time from which a daemon that the profile lacks matters.
pub const MATTERS: f64 = 0.001;

/// A daemon that ran in samples, and in none of the profile's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lacking {
    pub daemon: String,
    /// Samples that it ran in.
    pub samples: u32,
    pub max: Nanos,
    /// Largest share of a sample's elapsed time that an execution of it took.
    pub share: f64,
}

impl Lacking {
    /// Whether it disturbed a sample noticeably.
    pub fn matters(&self) -> bool {
        self.share >= MATTERS
    }
}

/// Daemons in the counted samples that no sample of the profile has; the largest share first. Tare itself does not
/// count.
pub fn lacking<'a>(profile: &Profile, samples: impl IntoIterator<Item = &'a Sample>) -> Vec<Lacking> {
    let parts = [Some(&profile.short), profile.long.as_ref()];
    let observations = parts.into_iter().flatten().flat_map(|p| &p.observations);
    let known: BTreeSet<&str> = observations.flat_map(|o| o.each().map(|(name, _)| name)).collect();
    let mut found: BTreeMap<String, Lacking> = BTreeMap::new();
    for sample in samples.into_iter().filter(|s| s.phase == Phase::Counted) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let ran = sample.daemons.value().into_iter().flat_map(|d| &d.list);
        for d in ran.filter(|d| d.cpu > Nanos::ZERO && d.kind != TaskKind::Tare) {
            let daemon = family(&d.name, d.kind);
            if known.contains(daemon.as_str()) {
                continue;
            }
            let share = d.cpu.as_f64() / sample.elapsed().as_f64().max(1.0);
            let new = Lacking { daemon: daemon.clone(), samples: 0, max: Nanos::ZERO, share: 0.0 };
            let entry = found.entry(daemon.clone()).or_insert(new);
            entry.samples += u32::from(seen.insert(daemon));
            entry.max = entry.max.max(d.cpu);
            entry.share = entry.share.max(share);
        }
    }
    let mut all: Vec<Lacking> = found.into_values().collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.daemon.cmp(&b.daemon)));
    all
}
