//! The settings of a measurement, and the measurement itself.

use crate::clear;
use crate::clear::Clear;
use crate::probes::Probes;
use crate::region;
use crate::region::region;
use crate::{KbestError, counter, ticks};
use std::hint::black_box;
use std::path::Path;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clocks::{ClockCounts, ClockKind};
use tarebench_core::kbest::scheme::{KBest, Parameters};
use tarebench_core::kbest::timing::{Cache, Compensation, Timing, Trial};
use tarebench_sys::clock;

/// How often the code is executed in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetitions {
    /// Once, or as often as needed to make a trial a thousand times as long as an empty one.
    Auto,
    /// This number of times, at least 1.
    Fixed(u64),
}

/// How many times as long as an empty trial one must be, where the code may be repeated: 1000, for 0.1%, the default
/// epsilon.
const EMPTY_ONES: u64 = 1000;
/// Empty trials; the fastest counts.
const EMPTY_TRIALS: u32 = 20;
/// Trials up to this duration, in seconds, have an uncounted execution before each, because the readings around the
/// previous trial evict the first-level cache; longer ones only before the first.
const REFRESHED: f64 = 1e-3;
/// Maximum number of repetitions.
const MOST: u64 = 1 << 40;
/// Number of trials for which memory is allocated beforehand.
const ROOM: usize = 4096;

/// How to measure a piece of code. The defaults are those of the book: K = 3, epsilon = 0.1%, at most 30 trials, warm
/// caches, the cycle counter, nothing subtracted.
#[derive(Clone, Debug, PartialEq)]
pub struct Kbest {
    parameters: Parameters,
    clock: Option<ClockKind>,
    cold: Option<u64>,
    compensate: bool,
    less_overhead: bool,
    repetitions: Repetitions,
    apart: Nanos,
}

impl Default for Kbest {
    fn default() -> Kbest {
        Kbest::new()
    }
}

impl Kbest {
    /// The defaults.
    pub fn new() -> Kbest {
        Kbest {
            parameters: Parameters::default(),
            clock: None,
            cold: None,
            compensate: false,
            less_overhead: false,
            repetitions: Repetitions::Auto,
            apart: Nanos::ZERO,
        }
    }

    /// With these K, epsilon, and maximum and minimum numbers of trials.
    #[must_use]
    pub fn parameters(self, parameters: Parameters) -> Kbest {
        Kbest { parameters, ..self }
    }

    /// With this clock: Counter, MonotonicRaw, Monotonic or Gettimeofday for elapsed time, ThreadCpu, ProcessCpu or Times for
    /// CPU time. By default the counter, or CLOCK_MONOTONIC_RAW where the CPU reports that the rate of its counter is
    /// not constant.
    #[must_use]
    pub fn clock(self, clock: ClockKind) -> Kbest {
        Kbest { clock: Some(clock), ..self }
    }

    /// With empty data caches at the beginning of each trial: a buffer somewhat larger than this machine's largest cache is
    /// written and read. The code is executed once in a trial, because it would be warm the second time.
    #[must_use]
    pub fn cold(self) -> Kbest {
        self.cold_by(clear::size(Path::new("/")))
    }

    /// The same with a buffer of this number of bytes.
    #[must_use]
    pub fn cold_by(self, bytes: u64) -> Kbest {
        Kbest { cold: Some(bytes), ..self }
    }

    /// Subtracts the minimum cost of the timer interrupts (CS:APP section 9.4.3). The first use in a program takes half
    /// a second, to measure that cost. No effect with clocks of CPU time.
    #[must_use]
    pub fn compensated(self, compensate: bool) -> Kbest {
        Kbest { compensate, ..self }
    }

    /// Subtracts the time of an empty trial. It is always measured, as [`Timing::overhead`].
    #[must_use]
    pub fn less_overhead(self, less_overhead: bool) -> Kbest {
        Kbest { less_overhead, ..self }
    }

    /// How often the code is executed in a trial.
    #[must_use]
    pub fn repetitions(self, repetitions: Repetitions) -> Kbest {
        Kbest { repetitions, ..self }
    }

    /// Minimum time between the starts of two trials, spent computing. A machine, mostly a virtual one, may be slow for
    /// some milliseconds at a time: then successive short trials are all slow, and agree.
    #[must_use]
    pub fn apart(self, apart: Nanos) -> Kbest {
        Kbest { apart, ..self }
    }

    /// Measures the code. Its result is dropped within the measured time.
    ///
    /// # Errors
    /// [`KbestError`]; what is wrong with the measured time itself is in the [`Timing`].
    pub fn measure<R>(&self, mut code: impl FnMut() -> R) -> Result<Timing, KbestError> {
        self.measure_beside(&mut code, &mut || (), &mut || ())
    }

    /// The same; `between` is executed before each trial, unmeasured. (Code shorter than a millisecond is executed once
    /// more after it.)
    ///
    /// # Errors
    /// As [`Kbest::measure`].
    pub fn measure_between<R>(
        &self,
        mut between: impl FnMut(),
        mut code: impl FnMut() -> R,
    ) -> Result<Timing, KbestError> {
        self.measure_beside(&mut code, &mut || (), &mut between)
    }

    /// The same, with what an empty measurement executes (callers of other languages have an empty function called, too), and what
    /// is executed before each trial.
    ///
    /// # Errors
    /// As [`Kbest::measure`].
    pub fn measure_beside<R, E>(
        &self,
        code: &mut impl FnMut() -> R,
        empty: &mut impl FnMut() -> E,
        between: &mut impl FnMut(),
    ) -> Result<Timing, KbestError> {
        let mut m = Measurement::begin(self)?;
        let clock = m.timing.clock;
        let once = m.empty(empty, 1);
        // Uncounted: brings code and data into the caches.
        black_box(code());
        m.timing.repetitions = match self.repetitions {
            Repetitions::Fixed(0) => return Err(KbestError::Repetitions),
            Repetitions::Fixed(n) => n,
            Repetitions::Auto if self.cold.is_some() => 1,
            Repetitions::Auto => enough(once.max(1).saturating_mul(EMPTY_ONES), |n| region(clock, code, n)),
        };
        let n = m.timing.repetitions;
        m.timing.overhead = m.empty(empty, n);
        let refreshed = (REFRESHED * m.timing.hz) as u64;
        let short = self.cold.is_none() && (0..2).any(|_| region(clock, code, n) < refreshed);
        m.trials(|probes| {
            between();
            let before = probes.before();
            if short {
                black_box(code());
            }
            let cycles = probes.core_cycles();
            let count = region(clock, code, n);
            let cycles = cycles.zip(probes.core_cycles()).map(|(a, b)| b.wrapping_sub(a));
            probes.after(&before, count, cycles)
        });
        Ok(m.timing)
    }

    /// Measures code that needs a new input for each execution, which `setup` makes beforehand and which is dropped
    /// afterwards. It is executed once in a trial.
    ///
    /// # Errors
    /// As [`Kbest::measure`].
    pub fn measure_with<T>(
        &self,
        mut setup: impl FnMut() -> T,
        mut code: impl FnMut(&mut T),
    ) -> Result<Timing, KbestError> {
        let mut m = Measurement::begin(self)?;
        let clock = m.timing.clock;
        m.timing.overhead = m.empty(&mut || (), 1);
        code(&mut setup());
        m.trials(|probes| {
            let mut input = setup();
            let before = probes.before();
            let cycles = probes.core_cycles();
            let count = region(clock, &mut || code(&mut input), 1);
            let cycles = cycles.zip(probes.core_cycles()).map(|(a, b)| b.wrapping_sub(a));
            probes.after(&before, count, cycles)
        });
        Ok(m.timing)
    }
}

/// A measurement in progress.
struct Measurement {
    timing: Timing,
    probes: Probes,
    clear: Option<Clear>,
}

impl Measurement {
    fn begin(settings: &Kbest) -> Result<Measurement, KbestError> {
        let counter_hz = counter::hz()?;
        let steady = tarebench_sys::counter::PRESENT && tarebench_sys::counter::constant() != Some(false);
        let clock = settings.clock.unwrap_or(if steady { ClockKind::Counter } else { ClockKind::MonotonicRaw });
        let hz = region::hz(clock, counter_hz).ok_or(KbestError::Clock(clock))?;
        let elapsed = clock.counts() == ClockCounts::Elapsed;
        let (probes, counted) = Probes::open(settings.compensate && elapsed);
        let compensation = match counted {
            Reading::Value(()) => scaled(ticks::cost(counter_hz), hz / counter_hz),
            Reading::Absent(_) if settings.compensate && !elapsed => {
                let why = "with CPU time, the number of interrupts is unknown";
                Reading::Absent(Absent::NotSupported(why.to_owned()))
            }
            Reading::Absent(why) => Reading::Absent(why),
        };
        let clear = settings.cold.map(Clear::new).transpose()?;
        let timing = Timing {
            clock,
            hz,
            cache: settings.cold.map_or(Cache::Warm, |bytes| Cache::Cold { bytes }),
            repetitions: 1,
            parameters: settings.parameters,
            compensation,
            overhead: 0,
            less_overhead: settings.less_overhead,
            apart: u64::try_from(settings.apart.0).unwrap_or(0),
            trials: Vec::with_capacity(ROOM.min(settings.parameters.most() as usize)),
        };
        Ok(Measurement { timing, probes, clear })
    }

    /// The fastest empty trial.
    fn empty<E>(&self, empty: &mut impl FnMut() -> E, n: u64) -> u64 {
        (0..EMPTY_TRIALS).map(|_| region(self.timing.clock, empty, n)).min().unwrap_or(0)
    }

    /// Trials until K agree, or there are enough.
    fn trials(&mut self, mut one: impl FnMut(&mut Probes) -> Trial) {
        let mut best = KBest::new(self.timing.parameters);
        let apart = Nanos(i64::try_from(self.timing.apart).unwrap_or(i64::MAX));
        let mut next = clock::monotonic();
        while !best.done() {
            while clock::monotonic() < next {
                std::hint::spin_loop();
            }
            next = clock::monotonic() + apart;
            self.clear.iter_mut().for_each(Clear::clear);
            let trial = one(&mut self.probes);
            self.timing.trials.push(trial);
            best.add(self.timing.time(&trial));
        }
    }
}

fn scaled(cost: Reading<Compensation>, by: f64) -> Reading<Compensation> {
    match cost {
        Reading::Value(c) => Reading::Value(Compensation { cost: c.cost * by, period: c.period * by }),
        absent => absent,
    }
}

/// Executions that take `target` units together: grows from one, by the fastest of three tries each.
fn enough(target: u64, mut units: impl FnMut(u64) -> u64) -> u64 {
    let mut n = 1_u64;
    loop {
        // One try is enough to see that it is far longer.
        let first = units(n);
        let fastest =
            if first >= target.saturating_mul(10) { first } else { (0..2).map(|_| units(n)).fold(first, u64::min) };
        if fastest >= target || n >= MOST {
            return n;
        }
        let wanted = n as f64 * target as f64 / fastest.max(1) as f64 * 1.1;
        n = (wanted.ceil() as u64).clamp(n + 1, n.saturating_mul(10)).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::kbest::timing::TimingStanding;

    fn spin(n: u64) -> u64 {
        (0..n).fold(0, |a, b| black_box(a ^ b))
    }

    #[test]
    fn short_code_is_repeated_until_the_clock_does_not_matter() {
        let timing = Kbest::new().measure(|| spin(10)).unwrap();
        assert!(timing.repetitions > 10, "{}", timing.repetitions);
        let fastest = timing.trials.iter().map(|t| t.count).min().unwrap();
        assert!(fastest > timing.overhead * 2, "{fastest}, {}", timing.overhead);
        assert!(timing.value().value().is_some_and(|v| *v > 0.0));
    }

    #[test]
    fn long_code_is_executed_once_a_trial() {
        let mut executed = 0;
        let p = Parameters::new(2, 0.0, 5, 0).unwrap();
        let timing = Kbest::new().parameters(p).measure(|| {
            executed += 1;
            spin(3_000_000)
        });
        let timing = timing.unwrap();
        assert_eq!(timing.repetitions, 1);
        assert!(executed > timing.trials.len());
        assert!(timing.trials.len() <= 5);
    }

    #[test]
    fn repetitions_that_are_enough() {
        // Every execution takes 7 units, reading the clock 28.
        assert!((1..=28_000 / 7 + 500).contains(&enough(28_000, |n| 7 * n + 28)));
        assert_eq!(enough(28_000, |_| 30_000), 1);
        assert_eq!(enough(28_000, |_| 0), MOST);
    }

    #[test]
    fn cold_is_executed_once() {
        let p = Parameters::new(3, 0.01, 5, 0).unwrap();
        let timing = Kbest::new().parameters(p).cold_by(1 << 20).measure(|| spin(10)).unwrap();
        assert_eq!((timing.repetitions, timing.cache), (1, Cache::Cold { bytes: 1 << 20 }));
        assert_eq!(timing.standing(), TimingStanding::TooShort);
    }

    #[test]
    fn each_execution_with_something_new() {
        let mut made = 0;
        let timing = Kbest::new().measure_with(
            || {
                made += 1;
                vec![3_u32, 1, 2]
            },
            |v| {
                assert_eq!(v[0], 3, "not sorted yet");
                v.sort_unstable();
            },
        );
        assert_eq!(timing.unwrap().trials.len() + 1, made);
    }

    #[test]
    fn trials_are_apart() {
        let p = Parameters::new(1, 0.0, 5, 5).unwrap();
        let began = clock::monotonic();
        let timing = Kbest::new().parameters(p).apart(Nanos::from_millis(3)).measure(|| spin(10)).unwrap();
        assert!(clock::monotonic() - began >= Nanos::from_millis(12));
        assert_eq!((timing.trials.len(), timing.apart), (5, 3_000_000));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let fixed = |n| Kbest::new().repetitions(Repetitions::Fixed(n)).measure(|| ());
        assert!(matches!(fixed(0), Err(KbestError::Repetitions)));
        assert_eq!(fixed(7).unwrap().repetitions, 7);
        assert!(matches!(Kbest::new().clock(ClockKind::Stat).measure(|| ()), Err(KbestError::Clock(ClockKind::Stat))));
        assert!(matches!(Kbest::new().cold_by(u64::MAX).measure(|| ()), Err(KbestError::Memory(_))));
    }

    #[test]
    fn cpu_time_is_not_compensated_and_says_why() {
        let timing = Kbest::new().clock(ClockKind::ThreadCpu).compensated(true).measure(|| spin(100_000)).unwrap();
        assert!(timing.compensation.absent().is_some_and(|a| a.to_string().contains("CPU time")));
        assert!(timing.trials.iter().all(|t| t.ticks.is_none() && t.cpu.is_some()));
    }
}
