//! How long a program waited for each daemon, by the account of the sample.

use crate::base::units::Nanos;
use crate::sample::account::Account;
use crate::sample::daemons::TaskKind;
use crate::sample::families::family;
use std::collections::BTreeMap;

/// What all tasks of the program waited for each daemon family, summed over the tasks.
pub type FamilyWaits = BTreeMap<String, Nanos>;

/// What the program waited for each daemon: runnable, while the daemon had its CPU; from before exec to its end. Without the
/// program's own tasks, which wait for each other, and without tare. `None` if events were lost, as some waits may then be missing.
pub fn family_waits(account: &Account) -> Option<FamilyWaits> {
    if account.incomplete().is_some() {
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
