//! When the program is paused and when it continues: decisions only, without clocks and files.

use tarebench_core::base::units::Nanos;
use tarebench_core::sample::probes::{GateRecord, GateRule};

/// What the gate wants after a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateAction {
    Nothing,
    /// Pause the program, then [`GateMachine::paused`].
    Pause,
    /// Let it start or continue, then [`GateMachine::opened`].
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GatePhase {
    /// The program is not started yet, since then.
    Waiting(Nanos),
    Running,
    Paused(Nanos),
    /// It runs whatever the machine's state.
    Ended,
}

/// Wake-ups in succession, of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Succession {
    busy: u32,
    calm: u32,
}

/// The gate of one execution. A busy CPU pauses the program; it continues when all are calm.
#[derive(Clone, Debug)]
pub(super) struct GateMachine {
    rule: GateRule,
    /// issue / latency on each CPU when nothing else is there.
    quiet: Vec<f64>,
    successions: Vec<Succession>,
    phase: GatePhase,
    waited: Nanos,
    stops: u32,
    paused: Nanos,
    limit_reached: bool,
}

impl GateMachine {
    /// It waits from `now` on for a quiet machine. `quiet` has one ratio for each CPU.
    pub fn new(rule: GateRule, quiet: Vec<f64>, now: Nanos) -> GateMachine {
        GateMachine {
            rule,
            successions: vec![Succession::default(); quiet.len()],
            quiet,
            phase: GatePhase::Waiting(now),
            waited: Nanos::ZERO,
            stops: 0,
            paused: Nanos::ZERO,
            limit_reached: false,
        }
    }

    /// The probes of the `index`th CPU have taken so long.
    pub fn woke(&mut self, index: usize, at: Nanos, latency: u32, issue: u32) -> GateAction {
        let (Some(one), Some(quiet)) = (self.successions.get_mut(index), self.quiet.get(index)) else {
            return GateAction::Nothing;
        };
        let is_busy = f64::from(issue) > self.rule.busy * quiet * f64::from(latency);
        *one = match is_busy {
            true => Succession { busy: one.busy.saturating_add(1), calm: 0 },
            false => Succession { busy: 0, calm: one.calm.saturating_add(1) },
        };
        match self.phase {
            GatePhase::Running if one.busy >= self.rule.stop_after.max(1) => {
                if self.left(at) > Nanos::ZERO {
                    return GateAction::Pause;
                }
                self.limit_reached = true;
                self.phase = GatePhase::Ended;
                GateAction::Nothing
            }
            GatePhase::Waiting(_) | GatePhase::Paused(_) if self.is_calm() => GateAction::Open,
            GatePhase::Waiting(_) | GatePhase::Paused(_) if self.left(at) <= Nanos::ZERO => {
                self.limit_reached = true;
                GateAction::Open
            }
            _ => GateAction::Nothing,
        }
    }

    fn is_calm(&self) -> bool {
        self.successions.iter().all(|s| s.calm >= self.rule.continue_after)
    }

    /// The program has been paused, as was decided at that time.
    pub fn paused(&mut self, at: Nanos) {
        if self.phase == GatePhase::Running {
            self.phase = GatePhase::Paused(at);
            self.stops = self.stops.saturating_add(1);
            self.successions.fill(Succession::default());
        }
    }

    /// The program can run now.
    pub fn opened(&mut self, now: Nanos) {
        self.add_pause(now);
        if self.phase != GatePhase::Ended {
            // With nothing left of the limit there is nothing to decide any more.
            self.phase = if self.limit_reached { GatePhase::Ended } else { GatePhase::Running };
            self.successions.fill(Succession::default());
        }
    }

    /// From now on it runs; nothing is decided any more.
    pub fn end(&mut self, now: Nanos) {
        self.add_pause(now);
        self.phase = GatePhase::Ended;
    }

    fn add_pause(&mut self, now: Nanos) {
        match self.phase {
            GatePhase::Waiting(since) => self.waited += (now - since).max(Nanos::ZERO),
            GatePhase::Paused(since) => self.paused += (now - since).max(Nanos::ZERO),
            GatePhase::Running | GatePhase::Ended => {}
        }
    }

    /// How much longer it may be paused.
    pub fn left(&self, now: Nanos) -> Nanos {
        let present = match self.phase {
            GatePhase::Waiting(since) | GatePhase::Paused(since) => now - since,
            GatePhase::Running | GatePhase::Ended => Nanos::ZERO,
        };
        self.rule.limit - self.waited - self.paused - present
    }

    /// The program runs, and may be paused.
    pub fn is_watching(&self) -> bool {
        self.phase == GatePhase::Running
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, GatePhase::Waiting(_))
    }

    pub fn is_paused(&self) -> bool {
        matches!(self.phase, GatePhase::Paused(_))
    }

    pub fn record(&self) -> GateRecord {
        GateRecord { waited: self.waited, stops: self.stops, paused: self.paused, limit_reached: self.limit_reached }
    }
}

/// Fewest ratios that a level is learned from, and the share of all that must lie within [`MODE_WIDTH`] of each other there: what
/// is seen less often is an outlier.
const FEWEST: usize = 20;
const MODE_SHARE: f64 = 0.1;
const MODE_WIDTH: f64 = 1.03;

/// The lower mode of ratios of which some were measured on a busy machine: the median of the lowest that are many and near to each
/// other. `None` if there are too few.
pub(super) fn lower_mode(mut ratios: Vec<f64>) -> Option<f64> {
    ratios.retain(|r| r.is_finite() && *r > 0.0);
    if ratios.len() < FEWEST {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let needed = ((ratios.len() as f64 * MODE_SHARE).ceil() as usize).max(FEWEST / 2);
    let near = |from: usize| {
        let lowest = ratios.get(from)?;
        let count = ratios.iter().skip(from).take_while(|r| **r <= lowest * MODE_WIDTH).count();
        (count >= needed).then_some((from, count))
    };
    let (from, count) = (0..ratios.len()).find_map(near).unwrap_or((0, ratios.len()));
    ratios.get(from + count / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn rule(stop_after: u32, continue_after: u32, limit: i64) -> GateRule {
        GateRule { busy: 1.12, stop_after, continue_after, limit: Nanos(limit * MS) }
    }

    /// The machine after wake-ups of one CPU, each so long after the last one and busy or not, every decision carried out.
    fn drive(gate: &mut GateMachine, index: usize, at: Nanos, busy: bool) -> GateAction {
        let action = gate.woke(index, at, 1_000, if busy { 600 } else { 505 });
        match action {
            GateAction::Pause => gate.paused(at),
            GateAction::Open => gate.opened(at),
            GateAction::Nothing => {}
        }
        action
    }

    #[test]
    fn it_waits_stops_and_continues() {
        let mut gate = GateMachine::new(rule(2, 3, 100), vec![0.5], Nanos::ZERO);
        let mut now = 0;
        let mut next = |gate: &mut GateMachine, busy| {
            now += MS;
            drive(gate, 0, Nanos(now), busy)
        };
        use GateAction::{Nothing, Open, Pause};
        let before = [true, false, false, true, false, false, false].map(|busy| next(&mut gate, busy));
        assert_eq!(before, [Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Open]);
        assert!(!gate.is_waiting() && !gate.is_paused());
        let runs = [true, false, true, true].map(|busy| next(&mut gate, busy));
        assert_eq!(runs, [Nothing, Nothing, Nothing, Pause]);
        assert!(gate.is_paused());
        let stands = [false, true, false, false, false].map(|busy| next(&mut gate, busy));
        assert_eq!(stands, [Nothing, Nothing, Nothing, Nothing, Open]);
        let record = gate.record();
        let expected = GateRecord { waited: Nanos(7 * MS), stops: 1, paused: Nanos(5 * MS), limit_reached: false };
        assert_eq!(record, expected);
    }

    #[test]
    fn on_a_busy_machine_it_gives_up_at_the_limit() {
        let mut gate = GateMachine::new(rule(1, 2, 10), vec![0.5], Nanos::ZERO);
        for ms in 1..100 {
            drive(&mut gate, 0, Nanos(ms * MS), true);
        }
        let record = gate.record();
        assert_eq!((record.waited, record.stops, record.limit_reached), (Nanos(10 * MS), 0, true));
        assert!(!gate.is_watching(), "nothing is to be decided any more");
    }

    #[test]
    fn without_any_of_the_limit_left_it_watches_no_more() {
        let mut gate = GateMachine::new(rule(1, 1, 10), vec![0.5], Nanos::ZERO);
        assert!(!gate.is_watching());
        drive(&mut gate, 0, Nanos(MS), false);
        assert!(gate.is_watching());
        assert_eq!(drive(&mut gate, 0, Nanos(2 * MS), true), GateAction::Pause);
        assert!(!gate.is_watching());
        // All that is left but 1 ns, and it was calm: it may be paused once more.
        assert_eq!(drive(&mut gate, 0, Nanos(11 * MS - 1), false), GateAction::Open);
        assert!(gate.is_watching());
        assert_eq!(drive(&mut gate, 0, Nanos(12 * MS), true), GateAction::Pause);
        assert_eq!(drive(&mut gate, 0, Nanos(13 * MS), true), GateAction::Open);
        assert!(!gate.is_watching() && gate.record().limit_reached);
        assert_eq!(drive(&mut gate, 0, Nanos(14 * MS), true), GateAction::Nothing);
    }

    #[test]
    fn all_must_be_calm_and_one_is_enough_to_stop() {
        let mut gate = GateMachine::new(rule(1, 1, 100), vec![0.5, 0.5], Nanos::ZERO);
        assert_eq!(drive(&mut gate, 0, Nanos(MS), false), GateAction::Nothing, "the other one has not said anything");
        assert_eq!(drive(&mut gate, 1, Nanos(MS), true), GateAction::Nothing);
        assert_eq!(drive(&mut gate, 1, Nanos(2 * MS), false), GateAction::Open);
        assert_eq!(drive(&mut gate, 1, Nanos(3 * MS), true), GateAction::Pause);
        assert_eq!(drive(&mut gate, 1, Nanos(4 * MS), false), GateAction::Nothing, "what was before does not count");
        assert_eq!(drive(&mut gate, 0, Nanos(4 * MS), false), GateAction::Open);
        // A CPU that it does not know changes nothing.
        assert_eq!(drive(&mut gate, 2, Nanos(5 * MS), true), GateAction::Nothing);
    }

    #[test]
    fn the_end_ends_a_pause() {
        let mut gate = GateMachine::new(rule(1, 1, 100), vec![0.5], Nanos::ZERO);
        drive(&mut gate, 0, Nanos(MS), false);
        drive(&mut gate, 0, Nanos(2 * MS), true);
        assert!(gate.is_paused());
        gate.end(Nanos(5 * MS));
        gate.opened(Nanos(9 * MS));
        assert!(!gate.is_paused());
        assert_eq!(gate.record().paused, Nanos(3 * MS));
        assert_eq!(drive(&mut gate, 0, Nanos(10 * MS), true), GateAction::Nothing);
        gate.paused(Nanos(11 * MS));
        assert!(!gate.is_paused());
    }

    proptest! {
        /// Whatever the wake-ups say: it is paused no longer than the limit and the time of one wake-up, and not when all is over.
        #[test]
        fn pauses_are_bounded(
            wakes in prop::collection::vec((0_usize..3, 1_i64..3, any::<bool>()), 0..400),
            (stop, go, limit) in (0_u32..4, 0_u32..6, 0_i64..200),
        ) {
            let mut gate = GateMachine::new(rule(stop, go, limit), vec![0.5; 3], Nanos::ZERO);
            let (mut now, mut held) = (0, 0);
            for (index, after, busy) in wakes {
                let stood = gate.is_paused() || gate.is_waiting();
                now += after * MS;
                held += if stood { after * MS } else { 0 };
                drive(&mut gate, index, Nanos(now), busy);
                let r = gate.record();
                prop_assert!((r.waited + r.paused).0 <= (limit + 2) * MS, "{:?}", r);
                prop_assert!(held <= (limit + 2) * MS);
            }
            gate.end(Nanos(now));
            let r = gate.record();
            prop_assert_eq!((r.waited + r.paused).0, held, "all of the time that it stood, and no more");
            prop_assert!(!gate.is_paused() && !gate.is_waiting());
            prop_assert!(!r.limit_reached || held >= limit * MS);
        }

        /// A share of quiet wake-ups is found below busy ones, whatever their order.
        #[test]
        fn the_lower_mode_is_the_quiet_one(quiet in 15_usize..100, busy in 0_usize..100, level in 0.1_f64..2.0) {
            let spread = |n: usize| 1.0 + 0.01 * (n % 11) as f64 / 10.0;
            let ratios = (0..quiet).map(|n| level * spread(n)).chain((0..busy).map(|n| level * 1.6 * spread(n)));
            let ratios: Vec<f64> = ratios.collect();
            prop_assume!(ratios.len() >= FEWEST);
            let found = lower_mode(ratios).unwrap();
            prop_assert!((level..=level * 1.01).contains(&found), "{found} {level}");
        }
    }

    #[test]
    fn single_low_values_are_no_level() {
        let mut ratios = vec![0.5; 100];
        ratios.extend([0.1, 0.2, 0.3, f64::NAN, f64::INFINITY, -1.0, 0.0]);
        assert_eq!(lower_mode(ratios), Some(0.5));
        assert_eq!(lower_mode(vec![0.5; FEWEST - 1]), None);
    }
}
