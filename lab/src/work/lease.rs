//! Keeping a lease while a task is measured: heartbeats between samples, never during one.

use crate::server::LeaseAnswer;
use std::cell::Cell;
use tarebench_core::base::units::Nanos;

/// Whether a measurement goes on after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabGo {
    /// The next sample may be taken.
    Continue,
    /// No further sample is taken.
    Stop,
}

/// Why no further sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStop {
    /// The task was cancelled.
    Cancelled,
    /// Another machine may have the task.
    Lost,
    /// The task takes longer than its time limit, in ns.
    TimeLimit(Nanos),
}

/// Asks the server for a longer lease of this length; `None` if the server cannot be reached.
pub type Beat<'a> = &'a mut dyn FnMut(Nanos) -> Option<LeaseAnswer>;

/// When the next heartbeat is due, and how long a lease it asks for.
pub struct LeaseClock<'a> {
    now: &'a dyn Fn() -> Nanos,
    lease: Nanos,
    due: Nanos,
    /// End of the last sample, and the longest sample so far.
    last: Nanos,
    longest: Nanos,
    /// The time limit, and when it is over.
    limit: Option<(Nanos, Nanos)>,
    stop: Cell<Option<LeaseStop>>,
}

impl<'a> LeaseClock<'a> {
    /// Of a lease that was just given; `now` is a clock that does not jump.
    pub fn new(lease: Nanos, limit: Option<Nanos>, now: &'a dyn Fn() -> Nanos) -> LeaseClock<'a> {
        let began = now();
        let limit = limit.map(|limit| (limit, began + limit));
        LeaseClock {
            now,
            lease,
            due: began + quarter(lease),
            last: began,
            longest: Nanos::ZERO,
            limit,
            stop: Cell::new(None),
        }
    }

    /// Why no further sample is taken, if so.
    pub fn stopped(&self) -> Option<LeaseStop> {
        self.stop.get()
    }

    /// The lease that the next heartbeat asks for: three samples as long as the longest one fit into it, as there is
    /// none during a sample.
    fn wanted(&self) -> Nanos {
        self.lease.max(Nanos(self.longest.0.saturating_mul(3)))
    }

    /// To be called after each sample.
    pub fn between(&mut self, beat: Beat<'_>) -> LabGo {
        let now = (self.now)();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
        if self.stop.get().is_none() {
            if let Some((limit, over)) = self.limit
                && now >= over
            {
                self.stop.set(Some(LeaseStop::TimeLimit(limit)));
            } else if now >= self.due {
                self.beat(beat);
            }
        }
        if self.stop.get().is_some() { LabGo::Stop } else { LabGo::Continue }
    }

    /// Asks for a longer lease now. A server that cannot be reached is asked again as late as the next heartbeat
    /// would be due: the measurement goes on, and its result is kept whatever becomes of the lease.
    pub fn beat(&mut self, beat: Beat<'_>) {
        let wanted = self.wanted();
        match beat(wanted) {
            Some(LeaseAnswer::CancelWanted) => self.stop.set(Some(LeaseStop::Cancelled)),
            Some(LeaseAnswer::Lost) => self.stop.set(Some(LeaseStop::Lost)),
            Some(LeaseAnswer::Held) | None => {}
        }
        // What the exchange took is part of no sample.
        self.last = (self.now)();
        self.due = self.last + quarter(wanted);
    }
}

fn quarter(lease: Nanos) -> Nanos {
    Nanos(lease.0 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Makes samples of these lengths, in seconds; returns after which of them there was a heartbeat, and for how
    /// long a lease.
    fn beats(lease: i64, samples: &[i64]) -> Vec<(usize, i64)> {
        let time = Cell::new(Nanos::ZERO);
        let now = || time.get();
        let mut clock = LeaseClock::new(Nanos(lease * SECOND), None, &now);
        let mut found = Vec::new();
        for (i, length) in samples.iter().enumerate() {
            time.set(time.get() + Nanos(length * SECOND));
            let go = clock.between(&mut |lease| {
                found.push((i, lease.0 / SECOND));
                // The exchange itself takes a while.
                time.set(time.get() + Nanos(SECOND / 2));
                Some(LeaseAnswer::Held)
            });
            assert_eq!(go, LabGo::Continue);
        }
        found
    }

    #[test]
    fn there_is_a_heartbeat_every_quarter_of_the_lease() {
        assert_eq!(beats(40, &[4; 9]), [(2, 40), (5, 40), (8, 40)]);
        assert_eq!(beats(40, &[1; 5]), []);
    }

    #[test]
    fn long_samples_get_a_longer_lease() {
        assert_eq!(beats(40, &[60, 60, 60]), [(0, 180), (1, 180), (2, 180)]);
    }

    #[test]
    fn a_lease_ends_by_what_the_server_says_or_by_the_limit() {
        let time = Cell::new(Nanos::ZERO);
        let now = || time.get();
        for (answer, expected) in [
            (Some(LeaseAnswer::CancelWanted), Some(LeaseStop::Cancelled)),
            (Some(LeaseAnswer::Lost), Some(LeaseStop::Lost)),
            (None, None),
        ] {
            let mut clock = LeaseClock::new(Nanos(4), None, &now);
            time.set(time.get() + Nanos(10));
            let go = clock.between(&mut |_| answer);
            assert_eq!((clock.stopped(), go == LabGo::Stop), (expected, expected.is_some()));
        }
        time.set(Nanos::ZERO);
        let mut clock = LeaseClock::new(Nanos(1_000), Some(Nanos(20)), &now);
        let mut after = |t: i64| {
            time.set(Nanos(t));
            clock.between(&mut |_| unreachable!("no heartbeat is due"))
        };
        assert_eq!(
            [after(10), after(19), after(20), after(21)],
            [LabGo::Continue, LabGo::Continue, LabGo::Stop, LabGo::Stop]
        );
        assert_eq!(clock.stopped(), Some(LeaseStop::TimeLimit(Nanos(20))));
    }

    #[test]
    fn an_unreachable_server_is_not_asked_after_every_sample() {
        let time = Cell::new(Nanos::ZERO);
        let now = || time.get();
        let mut clock = LeaseClock::new(Nanos(40), None, &now);
        let mut asked = 0;
        for _ in 0..20 {
            time.set(time.get() + Nanos(2));
            clock.between(&mut |_| {
                asked += 1;
                None
            });
        }
        assert_eq!(asked, 4);
    }
}
