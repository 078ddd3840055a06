//! Where a thread writes what its probes measured: room for so many wake-ups, made before the sample; when it is full, every second
//! one makes room.

use tarebench_core::base::units::Nanos;
use tarebench_core::sample::probes::{GateWake, PROBE_KINDS, ProbeWake};

/// Wake-ups that are kept of each kind.
const MOST: usize = 512;

/// Values that are thinned out evenly: the first is kept, and every so many after it.
pub(super) struct ThinnedRecords<T> {
    kept: Vec<T>,
    every: u32,
    seen: u64,
}

impl<T: Copy> ThinnedRecords<T> {
    fn new(empty: T) -> ThinnedRecords<T> {
        let mut records = ThinnedRecords { kept: vec![empty; MOST], every: 1, seen: 0 };
        records.clear(empty);
        records
    }

    /// Forgets all; writes to all of the memory, so that it is this process's own.
    fn clear(&mut self, empty: T) {
        self.kept.clear();
        self.kept.resize(MOST, empty);
        std::hint::black_box(self.kept.as_mut_ptr());
        self.kept.clear();
        (self.every, self.seen) = (1, 0);
    }

    pub fn add(&mut self, value: T) {
        let is_due = self.seen.is_multiple_of(u64::from(self.every));
        self.seen = self.seen.saturating_add(1);
        if !is_due {
            return;
        }
        if self.kept.len() >= MOST {
            let mut number = 0_usize;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        // The first that no longer fits is of an even number, as MOST is: it is kept.
        self.kept.push(value);
    }

    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    pub fn every(&self) -> u32 {
        self.every
    }

    /// Those that were not kept included.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

/// What one thread has measured since it was armed. Times are on CLOCK_MONOTONIC.
pub(super) struct WakeRecords {
    pub running: ThinnedRecords<ProbeWake>,
    /// Between these, of what the gate goes by.
    pub watched: ThinnedRecords<GateWake>,
    pub paused: ThinnedRecords<GateWake>,
    /// Wake-ups while the program ran that came later than half of the time between two.
    pub late: u64,
    /// CPU time of the thread since the program was to be started.
    pub cpu: Nanos,
}

const NO_WAKE: ProbeWake = ProbeWake { at: Nanos::ZERO, ticks: [0; PROBE_KINDS] };
const NO_LOOK: GateWake = GateWake { at: Nanos::ZERO, latency: 0, issue: 0 };

impl WakeRecords {
    pub fn new() -> WakeRecords {
        WakeRecords {
            running: ThinnedRecords::new(NO_WAKE),
            watched: ThinnedRecords::new(NO_LOOK),
            paused: ThinnedRecords::new(NO_LOOK),
            late: 0,
            cpu: Nanos::ZERO,
        }
    }

    pub fn clear(&mut self) {
        self.running.clear(NO_WAKE);
        self.watched.clear(NO_LOOK);
        self.paused.clear(NO_LOOK);
        (self.late, self.cpu) = (0, Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thinning_is_even_and_never_allocates(count in 0_u64..5_000) {
            let mut r = ThinnedRecords::new(0_u64);
            let (room, at) = (r.kept.capacity(), r.kept.as_ptr());
            (0..count).for_each(|n| r.add(n));
            prop_assert_eq!((r.kept.capacity(), r.kept.as_ptr()), (room, at));
            prop_assert_eq!(r.seen(), count);
            prop_assert!(r.kept().len() <= MOST);
            prop_assert!(r.every().is_power_of_two());
            let expected: Vec<u64> = (0..count).step_by(r.every() as usize).collect();
            prop_assert_eq!(r.kept(), &expected[..]);
            // No more are left out than there is need to.
            prop_assert!(r.every() == 1 || r.kept().len() >= MOST / 2);
            r.clear(0);
            prop_assert_eq!((r.kept().len(), r.every(), r.seen()), (0, 1, 0));
        }
    }
}
