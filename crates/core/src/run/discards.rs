//! Which samples count: the two checks of EMPv5 (EMP section 4.5.1) and SEDONA C-2.
//!
//! Check 1 discards a sample in which some execution of a daemon took longer than that daemon's cutoff. Check 2 discards, of the
//! rest, those outside mean ± s standard deviations (n - 1) of the rest; in one pass, for process and elapsed time separately.
//!
//! Beyond the papers: where the account of a sample tells what the program waited for a daemon, and the profile what the daemon does to
//! process time, check 1 goes by the effect. Waiting is not in process time, so that a daemon that only keeps the program waiting
//! spoils elapsed time alone.

use crate::base::units::Nanos;
use crate::profile::data::{Cutoff, ProcessTimeEffect};
use crate::profile::waits::FamilyWaits;
use crate::sample::daemons::Daemon;
use crate::sample::families::family;
use crate::statistics::limits::Limits;
use crate::statistics::series::{Values, summary};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// s of check 2, strict: the papers' and tare's default.
pub const STRICT: f64 = 2.0;
/// s of check 2, relaxed.
pub const RELAXED: f64 = 5.0;

/// The task time of a program: the median of its counted samples' elapsed times (rounded to the nanosecond), as a program meets
/// a daemon that comes by the clock the more often the longer it takes. The times are without the pauses of a gate
/// ([`crate::sample::data::Sample::paused`]): while it is paused the program meets none. `None` without any.
pub fn task_time(elapsed: &Values) -> Option<Nanos> {
    summary(elapsed).map(|s| Nanos(s.median.round() as i64))
}

/// What check 1 goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscardRule {
    /// The papers: a daemon's CPU time, whatever it did to the sample.
    #[default]
    Papers,
    /// What the daemon did: elapsed time is spoiled by waiting for it, process and net time only by a daemon that lengthens them.
    /// Samples without an account, and cutoffs of which the effect is not known, go by the papers' rule.
    Effect,
}

/// The cutoff of one daemon for one task time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TaskCutoff {
    /// CPU time, ns.
    cpu: f64,
    effect: Option<TaskEffect>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TaskEffect {
    /// Waiting over which elapsed time is spoiled, ns; `None` if it is not known for this task time, so that CPU time decides.
    waiting: Option<f64>,
    process_time: Option<ProcessTimeEffect>,
}

/// Cutoffs that hold for one task time, by daemon family.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cutoffs(HashMap<String, TaskCutoff>);

/// What check 1 says of a sample by its effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectCheck {
    /// Why its elapsed time is discarded.
    pub elapsed: Option<DiscardReason>,
    /// Why its process and net time are.
    pub process_time: Option<DiscardReason>,
}

impl Cutoffs {
    /// Chooses each daemon's cutoff (ns) for this task time. If a daemon is listed twice, its smaller cutoff holds.
    pub fn new(cutoffs: &[Cutoff], task_time: Nanos) -> Cutoffs {
        let mut chosen: HashMap<String, TaskCutoff> = HashMap::with_capacity(cutoffs.len());
        for c in cutoffs {
            let limit = c.waiting_for_task_time(task_time);
            let effect = c.effect.map(|e| TaskEffect {
                waiting: (e.waiting.is_none() || limit.is_finite()).then_some(limit),
                process_time: e.process_time,
            });
            let at = TaskCutoff { cpu: c.for_task_time(task_time), effect };
            match chosen.get_mut(&c.daemon) {
                Some(old) if old.cpu <= at.cpu => {}
                Some(old) => *old = at,
                None => {
                    chosen.insert(c.daemon.clone(), at);
                }
            }
        }
        Cutoffs(chosen)
    }

    /// The cutoff of a family, ns.
    pub fn of(&self, family: &str) -> Option<f64> {
        self.0.get(family).map(|c| c.cpu)
    }

    /// Whether the effect of some daemon is known.
    pub fn know_effects(&self) -> bool {
        self.0.values().any(|c| c.effect.is_some())
    }

    /// Check 1 of one sample by the effect of its daemons: what was waited for each, and the longest execution of each. The reason
    /// is the daemon furthest over its cutoff, in parts of it.
    pub fn by_effect(&self, waits: &FamilyWaits, longest: &HashMap<String, Nanos>) -> EffectCheck {
        let mut found = (0.0, 0.0, EffectCheck::default());
        let mut names: Vec<&String> = self.0.keys().collect();
        names.sort();
        for (name, cutoff) in names.into_iter().filter_map(|n| Some((n, self.0.get(n)?))) {
            let cpu = longest.get(name).copied().unwrap_or_default();
            let waited = waits.get(name).copied().unwrap_or_default();
            let over =
                |value: Nanos, limit: f64| if value.as_f64() > limit { value.as_f64() / limit.max(1.0) } else { 0.0 };
            let by_cpu = over(cpu, cutoff.cpu);
            let (elapsed, process_time, reason) = match cutoff.effect {
                None => (by_cpu, by_cpu, DiscardReason::Cutoff { daemon: name.clone(), cpu, cutoff: cutoff.cpu }),
                Some(effect) => {
                    // What is not known goes by the papers' rule.
                    let lengthens = effect.process_time.is_none_or(|p| p.lengthens);
                    let indirect = if lengthens { by_cpu } else { 0.0 };
                    let reason =
                        DiscardReason::Effect { daemon: name.clone(), waited, cpu, process_time: effect.process_time };
                    let direct = effect.waiting.map_or(by_cpu, |limit| over(waited, limit));
                    (direct.max(indirect), indirect, reason)
                }
            };
            if elapsed > found.0 {
                (found.0, found.2.elapsed) = (elapsed, Some(reason.clone()));
            }
            if process_time > found.1 {
                (found.1, found.2.process_time) = (process_time, Some(reason));
            }
        }
        found.2
    }

    /// Check 1 of one sample: the execution that is furthest *over* (not at) its cutoff, if any is. Each execution is held
    /// against the cutoff by itself: two short runs of `grep` are not one long one (EMP table IX, sample 451).
    pub fn check(&self, daemons: &[Daemon]) -> Option<DiscardReason> {
        if self.0.is_empty() {
            return None;
        }
        self.furthest(daemons.iter().map(|d| (family(&d.name, d.kind), d.cpu)))
    }

    /// As [`Cutoffs::check`], for executions whose family is known already.
    pub fn furthest<F: AsRef<str>>(&self, executions: impl Iterator<Item = (F, Nanos)>) -> Option<DiscardReason> {
        let mut worst: Option<(F, Nanos, f64)> = None;
        for (family, cpu) in executions {
            let Some(cutoff) = self.of(family.as_ref()) else { continue };
            let excess = cpu.as_f64() - cutoff;
            let further = worst.as_ref().is_none_or(|(name, c, k)| {
                excess > c.as_f64() - k || (excess == c.as_f64() - k && family.as_ref() < name.as_ref())
            });
            if excess > 0.0 && further {
                worst = Some((family, cpu, cutoff));
            }
        }
        worst.map(|(f, cpu, cutoff)| DiscardReason::Cutoff { daemon: f.as_ref().to_owned(), cpu, cutoff })
    }
}

/// What became of a sample for one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Retained,
    /// Discarded by check 1.
    Cutoff,
    /// Discarded by check 2, with these limits.
    Sigma(Limits),
}

/// Both checks of a value: whether check 1 discards its sample, and the limits of check 2, of the values that check 1 leaves.
pub fn check(value: f64, spoiled: bool, limits: Option<Limits>) -> Check {
    match limits {
        _ if spoiled => Check::Cutoff,
        Some(l) if !l.holds(value) => Check::Sigma(l),
        _ => Check::Retained,
    }
}

/// Both checks of a series. `spoiled` says, by position, which values check 1 discards (a missing entry: not discarded).
#[cfg(test)]
pub fn checks(values: &Values, spoiled: &[bool], s: f64) -> Vec<Check> {
    let is_spoiled = |i: usize| spoiled.get(i).copied().unwrap_or(false);
    let passed: Vec<bool> = (0..values.len()).map(|i| !is_spoiled(i)).collect();
    let limits = Limits::new(&values.only(&passed), s);
    values.as_slice().iter().enumerate().map(|(i, value)| check(*value, is_spoiled(i), limits)).collect()
}

/// Why a sample does not count for a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DiscardReason {
    /// Check 1: a daemon ran longer than its cutoff.
    Cutoff {
        /// The daemon's family.
        daemon: String,
        /// Its CPU time in the sample.
        cpu: Nanos,
        /// The cutoff, ns.
        cutoff: f64,
    },
    /// Check 1 by the effect: the program waited for a daemon longer than the daemon's cutoff, or a daemon that lengthens process
    /// time ran longer than that.
    Effect {
        /// The daemon's family.
        daemon: String,
        /// What the program waited for it in the sample.
        waited: Nanos,
        /// CPU time of its longest execution there; 0 if none is known.
        cpu: Nanos,
        /// What it does to process time; `None` where that is not known.
        process_time: Option<ProcessTimeEffect>,
    },
    /// Check 2: outside mean ± s standard deviations.
    Sigma {
        /// The sample's value, ns.
        value: f64,
        /// Lower limit, ns.
        low: f64,
        /// Upper limit, ns.
        high: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::data::{GuardedEffect, WaitingCutoff};
    use proptest::prelude::*;

    fn v(numbers: &[f64]) -> Values {
        Values::new(numbers.iter().copied()).unwrap()
    }

    fn retained(c: &[Check]) -> usize {
        c.iter().filter(|c| **c == Check::Retained).count()
    }

    #[test]
    fn by_effect() {
        let effect = |waiting: f64, lengthens: bool| {
            let process_time =
                ProcessTimeEffect { change: 0.01, low: Some(0.005), high: Some(0.02), visits: 12, lengthens };
            let waiting = Some(WaitingCutoff { short: Some(waiting), long: None });
            Some(GuardedEffect { waiting, process_time: Some(process_time) })
        };
        let cutoff = |daemon: &str, effect| Cutoff {
            daemon: daemon.to_owned(),
            short: 1000.0,
            task_time_limit: None,
            long: None,
            effect,
        };
        let all = [cutoff("waits", effect(50.0, false)), cutoff("heats", effect(50.0, true)), cutoff("old", None)];
        let cutoffs = Cutoffs::new(&all, Nanos(1));
        assert!(cutoffs.know_effects());
        let spoiled = |name: &str, waited: i64, cpu: i64| {
            let waits = FamilyWaits::from([(name.to_owned(), Nanos(waited))]);
            let found = cutoffs.by_effect(&waits, &HashMap::from([(name.to_owned(), Nanos(cpu))]));
            (found.elapsed.is_some(), found.process_time.is_some())
        };
        assert_eq!(spoiled("waits", 51, 9000), (true, false), "waiting is not in process time");
        assert_eq!(spoiled("waits", 50, 9000), (false, false), "on another CPU it disturbed nothing");
        assert_eq!(spoiled("heats", 0, 1001), (true, true));
        assert_eq!(spoiled("heats", 51, 1000), (true, false));
        assert_eq!(spoiled("old", 0, 1001), (true, true), "what it does is not known");
        assert_eq!(spoiled("other", 1_000_000, 1_000_000), (false, false));
    }

    #[test]
    fn strict_and_relaxed() {
        let mut times = vec![10.0, 11.0, 9.0, 10.0, 10.0, 11.0, 9.0, 10.0, 10.0, 14.0];
        assert_eq!(retained(&checks(&v(&times), &[], STRICT)), 9);
        assert_eq!(retained(&checks(&v(&times), &[], RELAXED)), 10);
        times.pop();
        assert_eq!(retained(&checks(&v(&times), &[], STRICT)), 9, "one pass, but nothing to discard either");
    }

    #[test]
    fn one_pass_only() {
        // 100 hides 30 from the limits; a second pass would discard 30.
        let mut times: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i % 2)).collect();
        times.extend([30.0, 200.0]);
        let c = checks(&v(&times), &[], STRICT);
        assert_eq!(retained(&c), 21);
        assert!(matches!(c[21], Check::Sigma(_)));
    }

    #[test]
    fn check_two_uses_what_check_one_leaves() {
        let mut times = vec![10.0, 11.0, 9.0, 10.0, 10.0, 11.0, 9.0, 10.0, 10.0, 14.0, 1e6];
        let all = checks(&v(&times), &[], STRICT);
        assert_eq!(all[9], Check::Retained);
        let mut spoiled = vec![false; 11];
        spoiled[10] = true;
        let c = checks(&v(&times), &spoiled, STRICT);
        assert_eq!(c[10], Check::Cutoff);
        assert!(matches!(c[9], Check::Sigma(_)));
        times.clear();
        assert!(checks(&v(&times), &spoiled, STRICT).is_empty());
    }

    #[test]
    fn no_sigma_no_discards() {
        for s in [0.0, -1.0, f64::NAN] {
            assert_eq!(retained(&checks(&v(&[1.0, 2.0, 90.0]), &[], s)), 3);
        }
    }

    proptest! {
        #[test]
        fn constant_series_has_no_discards(c in -1e15..1e15_f64, n in 0..300_usize, s in 1e-6..9.0_f64) {
            prop_assert_eq!(retained(&checks(&v(&vec![c; n]), &[], s)), n);
        }

        #[test]
        fn every_sample_has_one_fate(
            samples in proptest::collection::vec((0.0..1e9_f64, any::<bool>()), 0..60), s in 0.5..6.0_f64
        ) {
            let values = v(&samples.iter().map(|s| s.0).collect::<Vec<_>>());
            let spoiled: Vec<bool> = samples.iter().map(|s| s.1).collect();
            let c = checks(&values, &spoiled, s);
            let by = |f: fn(&Check) -> bool| c.iter().filter(|c| f(c)).count();
            let cutoff = by(|c| *c == Check::Cutoff);
            prop_assert_eq!(cutoff, spoiled.iter().filter(|s| **s).count());
            prop_assert_eq!(retained(&c) + cutoff + by(|c| matches!(c, Check::Sigma(_))), samples.len());
        }

        #[test]
        fn order_does_not_matter(
            (a, b) in proptest::collection::vec((0.0..1e9_f64, any::<bool>()), 0..40)
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            let run = |samples: &[(f64, bool)]| {
                let values = v(&samples.iter().map(|s| s.0).collect::<Vec<_>>());
                let spoiled: Vec<bool> = samples.iter().map(|s| s.1).collect();
                let mut out: Vec<(u64, String)> = checks(&values, &spoiled, STRICT)
                    .iter().zip(values.as_slice()).map(|(c, v)| (v.to_bits(), format!("{c:?}"))).collect();
                out.sort();
                out
            };
            prop_assert_eq!(run(&a), run(&b));
        }
    }
}
