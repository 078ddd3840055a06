//! How long a program waited for each daemon, by the account of the sample.

use crate::base::units::Nanos;
use crate::sample::daemons::TaskKind;
use crate::sample::data::Sample;
use crate::sample::families::family;
use std::collections::BTreeMap;

/// What all tasks of the program waited for each daemon family, summed over the tasks.
pub type FamilyWaits = BTreeMap<String, Nanos>;

/// What the program waited for each daemon: runnable, while the daemon had its CPU; from before exec to its end. Without the
/// program's own tasks, which wait for each other, and without tare. `None` without an account; if events were lost, as some waits may
/// then be missing; and if a quota held the program up, as daemons that had its CPU meanwhile are innocent.
pub fn family_waits(sample: &Sample) -> Option<FamilyWaits> {
    let account = sample.account.value()?;
    if account.incomplete().is_some() || sample.throttled().time > Nanos::ZERO {
        return None;
    }
    let mut waits = FamilyWaits::new();
    let ledgers = [&account.outside, &account.main, &account.others];
    for preemptor in ledgers.into_iter().flat_map(|l| &l.preemptors) {
        let Some(kind) = preemptor.kind.filter(|k| *k != TaskKind::Tare) else { continue };
        if preemptor.share.time > Nanos::ZERO {
            *waits.entry(family(&preemptor.name, kind)).or_default() += preemptor.share.time;
        }
    }
    Some(waits)
}
