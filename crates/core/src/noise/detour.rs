//! The forms in which other tools give noise: detours (netgauge's selfish, read by LogGOPSim), work done in fixed time (FTQ),
//! and time of fixed work (FWQ). Data only; files of them are made elsewhere.

use crate::base::units::Nanos;
use crate::noise::phase::{BadOrder, WorkPhase, in_order};
use serde::{Deserialize, Serialize};

/// An interruption, seen from inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detour {
    /// The earliest time at which it can have started: the start of the phase that took longer. It started up to one
    /// undisturbed phase later.
    pub start: Nanos,
    /// By how much that phase was longer than an undisturbed one.
    pub duration: Nanos,
}

/// The detours of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detours {
    /// In the order of time.
    pub detours: Vec<Detour>,
    /// When the first phase began; equal to the end without phases.
    pub start: Nanos,
    /// When the last phase ended.
    pub end: Nanos,
    /// What an undisturbed phase takes.
    pub undisturbed: Nanos,
    /// Phases that were longer by less do not count as detours.
    pub threshold: Nanos,
    /// Time in phases that were too long, but by less than the threshold: noise that is in no detour.
    pub below_threshold: Nanos,
}

/// Lengths that give no detours, or no quanta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDetours {
    /// Phases in no order.
    #[error(transparent)]
    Order(#[from] BadOrder),
    /// A length that must be over 0.
    #[error("{what} is {} ns, expected more than 0", length.0)]
    NoLength { what: &'static str, length: Nanos },
    /// More quanta than can be held in memory.
    #[error("{quanta} quanta, expected at most {MOST_QUANTA}: a longer quantum gives fewer")]
    TooManyQuanta {
        /// How many there would be.
        quanta: i64,
    },
}

/// Most quanta of fixed time.
const MOST_QUANTA: i64 = 50_000_000;

fn over_zero(what: &'static str, length: Nanos) -> Result<(), BadDetours> {
    if length > Nanos::ZERO { Ok(()) } else { Err(BadDetours::NoLength { what, length }) }
}

/// Phases that are longer than the calibrated `undisturbed` one by at least `threshold`. A phase that is shorter than
/// calibrated is no detour of a negative length, nor of a huge one.
///
/// # Errors
/// [`BadDetours`]; the threshold must be over 0, or every phase would be one.
pub fn detours(
    phases: impl Iterator<Item = WorkPhase> + Clone,
    undisturbed: Nanos,
    threshold: Nanos,
) -> Result<Detours, BadDetours> {
    in_order(phases.clone())?;
    over_zero("the threshold", threshold)?;
    let start = phases.clone().next().map_or(Nanos::ZERO, |p| p.start);
    let mut found =
        Detours { detours: Vec::new(), start, end: start, undisturbed, threshold, below_threshold: Nanos::ZERO };
    for phase in phases {
        found.end = phase.end();
        let excess = phase.duration - undisturbed;
        if excess >= threshold {
            found.detours.push(Detour { start: phase.start, duration: excess });
        } else if excess > Nanos::ZERO {
            found.below_threshold += excess;
        }
    }
    Ok(found)
}

impl Detours {
    pub fn total(&self) -> Nanos {
        self.detours.iter().map(|d| d.duration).sum()
    }

    /// Its share of the whole time; `None` if there was none.
    pub fn share(&self) -> Option<f64> {
        let all = self.end - self.start;
        (all > Nanos::ZERO).then(|| self.total().as_f64() / all.as_f64())
    }

    /// Detours a second; `None` if there was no time.
    pub fn rate(&self) -> Option<f64> {
        let all = self.end - self.start;
        (all > Nanos::ZERO).then(|| self.detours.len() as f64 / all.secs())
    }
}

/// Phases of `grain` that a CPU with these detours does back to back from 0 until `end`: what each takes is the grain and the
/// detours that begin while it runs. Where detours overlap, time counts once. Phases that would end later are omitted.
///
/// # Errors
/// [`BadDetours`]: detours in the order of their begins, none of a negative length, and a grain over 0.
pub fn replayed(detours: &[Detour], end: Nanos, grain: Nanos) -> Result<Vec<Nanos>, BadDetours> {
    over_zero("the grain", grain)?;
    let mut last = Nanos(i64::MIN);
    for (index, d) in detours.iter().enumerate() {
        if d.duration < Nanos::ZERO {
            return Err(BadOrder::Negative { what: "detour", index, duration: d.duration }.into());
        }
        if d.start < last {
            return Err(BadOrder::TooEarly { what: "detour", index }.into());
        }
        last = d.start;
    }
    let (mut phases, mut rest) = (Vec::new(), detours.iter().peekable());
    let (mut at, mut busy) = (Nanos::ZERO, Nanos::ZERO);
    while end - at >= grain {
        let mut until = at + grain;
        while let Some(d) = rest.next_if(|d| d.start < until) {
            let back = d.start + d.duration;
            until += (back - d.start.max(at).max(busy)).max(Nanos::ZERO);
            busy = busy.max(back);
        }
        if until > end {
            break;
        }
        phases.push(until - at);
        at = until;
    }
    Ok(phases)
}

/// Fixed time quanta: how much was done in each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ftq {
    /// When the first began.
    pub start: Nanos,
    pub quantum: Nanos,
    /// Work done in each, in phases.
    pub work: Vec<f64>,
}

/// How many phases were done in each full quantum, from the first phase on. What the work of a phase that lies in two quanta
/// is in each, is by its time in them, so that a quantum should be many phases long. Gaps between phases are no work. Quanta
/// are cut by the clock, so that they don't become longer where the work at their end was disturbed, as they do in a loop
/// that looks at the clock after it.
pub fn fixed_time(phases: impl Iterator<Item = WorkPhase> + Clone, quantum: Nanos) -> Result<Ftq, BadDetours> {
    in_order(phases.clone())?;
    over_zero("the quantum", quantum)?;
    let start = phases.clone().next().map_or(Nanos::ZERO, |p| p.start);
    let end = phases.clone().last().map_or(start, |p| p.end());
    let quanta = (end - start).0 / quantum.0;
    if quanta > MOST_QUANTA {
        return Err(BadDetours::TooManyQuanta { quanta });
    }
    let mut ftq = Ftq { start, quantum, work: Vec::new() };
    let (mut until, mut done) = (start + quantum, 0.0);
    for phase in phases {
        // A phase that took no time is done where it is.
        let all = phase.duration.as_f64();
        let mut at = phase.start;
        while until <= end && phase.end() > until {
            if until > at {
                done += (until - at).as_f64() / all;
                at = until;
            }
            ftq.work.push(std::mem::take(&mut done));
            until += quantum;
        }
        done += if all > 0.0 { (phase.end() - at).as_f64() / all } else { 1.0 };
    }
    if until <= end && until > start {
        ftq.work.push(done);
    }
    Ok(ftq)
}

/// Fixed work quanta: what each took, and the usual figures of the excess.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fwq {
    pub durations: Vec<Nanos>,
    pub min: Nanos,
    /// Mean of what they took over the shortest, as a share of it; `None` if that is 0.
    pub mean_excess: Option<f64>,
    /// Largest of the same.
    pub max_excess: Option<f64>,
}

/// The phases as quanta of fixed work; `None` if there are none.
pub fn fixed_work(phases: &[WorkPhase]) -> Option<Fwq> {
    let durations: Vec<Nanos> = phases.iter().map(|p| p.duration).collect();
    let (min, max) = (*durations.iter().min()?, *durations.iter().max()?);
    let relative = |over: f64| (min > Nanos::ZERO).then(|| over / min.as_f64());
    let mean = durations.iter().map(|d| (*d - min).as_f64()).sum::<f64>() / durations.len() as f64;
    Some(Fwq { min, mean_excess: relative(mean), max_excess: relative((max - min).as_f64()), durations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phases(start: i64, durations: &[i64]) -> Vec<WorkPhase> {
        WorkPhase::back_to_back(Nanos(start), durations.iter().map(|d| Nanos(*d)))
    }

    #[test]
    fn longer_by_the_threshold() {
        let p = phases(1000, &[100, 99, 104, 105, 350, 100]);
        let d = detours(p.iter().copied(), Nanos(100), Nanos(5)).unwrap();
        let list: Vec<(i64, i64)> = d.detours.iter().map(|d| (d.start.0, d.duration.0)).collect();
        assert_eq!(list, [(1303, 5), (1408, 250)]);
        assert_eq!((d.start, d.end, d.below_threshold, d.total()), (Nanos(1000), Nanos(1858), Nanos(4), Nanos(255)));
        assert!((d.share().unwrap() - 255.0 / 858.0).abs() < 1e-12);
        assert!((d.rate().unwrap() - 2.0 / 858e-9).abs() < 1.0);
        let none = detours(std::iter::empty(), Nanos(100), Nanos(5)).unwrap();
        assert_eq!((none.detours.len(), none.share(), none.rate()), (0, None, None));
        assert!(detours(p.iter().copied(), Nanos(100), Nanos(0)).is_err());
    }

    #[test]
    fn a_cpu_with_detours_does_its_phases_later() {
        let detour = |start, duration| Detour { start: Nanos(start), duration: Nanos(duration) };
        let phases = |all: &[Detour], end: i64| {
            let all = replayed(all, Nanos(end), Nanos(100)).unwrap();
            all.iter().map(|d| d.0).collect::<Vec<i64>>()
        };
        assert_eq!(phases(&[], 350), [100, 100, 100]);
        // Two in the first, the second of which comes only as the first makes it longer; then a long one, and two that overlap it.
        let all = [detour(50, 30), detour(120, 10), detour(300, 500), detour(400, 100), detour(750, 100)];
        assert_eq!(phases(&all, 989), [140, 100, 650]);
        assert_eq!(phases(&all, 1_090), [140, 100, 650, 100, 100]);
        // Times at the end of what there is come to an end, too.
        let last = [detour(i64::MAX - 5, i64::MAX)];
        assert_eq!(replayed(&last, Nanos(i64::MAX), Nanos(i64::MAX / 2)).unwrap().len(), 2);
        assert!(replayed(&[detour(5, 1), detour(4, 1)], Nanos(9), Nanos(1)).is_err());
        assert!(replayed(&[detour(5, -1)], Nanos(9), Nanos(1)).is_err());
        assert!(replayed(&[], Nanos(9), Nanos(0)).is_err());
    }

    /// What phases show as detours gives the same phases again.
    #[test]
    fn detours_of_phases_give_the_phases_back() {
        let p = phases(0, &[100, 100, 350, 100, 120, 100]);
        let found = detours(p.iter().copied(), Nanos(100), Nanos(5)).unwrap();
        let again = replayed(&found.detours, found.end, Nanos(100)).unwrap();
        assert_eq!(again, p.iter().map(|p| p.duration).collect::<Vec<_>>());
    }

    #[test]
    fn work_in_fixed_time() {
        // Undisturbed, 10 phases a quantum; then one takes 50 longer.
        let mut durations = vec![10; 40];
        durations[15] = 60;
        let f = fixed_time(phases(7, &durations).into_iter(), Nanos(100)).unwrap();
        assert_eq!((f.start, f.work.len()), (Nanos(7), 4));
        let expected = [10.0, 5.0 + 5.0 / 6.0, 9.0 + 1.0 / 6.0, 10.0];
        let cut: Vec<f64> = fixed_time(phases(7, &durations).into_iter(), Nanos(100)).unwrap().work;
        assert!((cut[0] - expected[0]).abs() < 1e-9 && (cut[3] - 10.0).abs() < 1e-9, "{cut:?}");
        // The phase is from 150 to 210: 50 of its 60 ns are in the second quantum.
        assert!((cut[1] - expected[1]).abs() < 1e-9, "{cut:?}");
        assert!((cut[2] - expected[2]).abs() < 1e-9, "{cut:?}");
        // A quantum without an end of a phase, one in a gap, and one that isn't full.
        let long = fixed_time(phases(0, &[1000, 50]).into_iter(), Nanos(400)).unwrap();
        assert!(long.work.iter().zip([0.4, 0.4]).all(|(a, b)| (a - b).abs() < 1e-12) && long.work.len() == 2);
        let gap = [phases(0, &[10])[0], phases(90, &[10])[0]];
        assert_eq!(fixed_time(gap.into_iter(), Nanos(20)).unwrap().work, [1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(fixed_time(gap.into_iter(), Nanos(0)).is_err());
        assert!(fixed_time(std::iter::empty(), Nanos(5)).unwrap().work.is_empty());
    }

    /// A stored measurement may have phases of any length: its quanta need not fit in memory.
    #[test]
    fn quanta_are_limited() {
        let cut = |length: i64| fixed_time(phases(0, &[length]).into_iter(), Nanos(1_000));
        assert_eq!(cut(1_000_000).unwrap().work.len(), 1_000);
        let most = MOST_QUANTA * 1_000;
        assert_eq!(cut(most + 1_000).unwrap_err(), BadDetours::TooManyQuanta { quanta: MOST_QUANTA + 1 });
        assert!(cut(i64::MAX).is_err());
    }

    #[test]
    fn time_of_fixed_work() {
        let f = fixed_work(&phases(0, &[100, 110, 150, 100])).unwrap();
        assert_eq!((f.min, f.mean_excess, f.max_excess), (Nanos(100), Some(0.15), Some(0.5)));
        assert_eq!(f.durations.len(), 4);
        assert_eq!(fixed_work(&[]), None);
        assert_eq!(fixed_work(&phases(0, &[0, 5])).unwrap().mean_excess, None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            spans in proptest::collection::vec((0..300_i64, 0..40_i64), 0..60),
            quantum in 1..500_i64, undisturbed in 0..200_i64, threshold in 1..100_i64,
        ) {
            let mut at = 5;
            let p: Vec<WorkPhase> = spans.iter().map(|(d, gap)| {
                let phase = WorkPhase { start: Nanos(at), duration: Nanos(*d) };
                at += d + gap;
                phase
            }).collect();
            let d = detours(p.iter().copied(), Nanos(undisturbed), Nanos(threshold)).unwrap();
            let over: i64 = spans.iter().map(|(d, _)| (d - undisturbed).max(0)).sum();
            prop_assert_eq!((d.total() + d.below_threshold).0, over);
            let f = fixed_time(p.iter().copied(), Nanos(quantum)).unwrap();
            let all = (d.end - d.start).0;
            prop_assert_eq!(f.work.len() as i64, all / quantum);
            let done: f64 = f.work.iter().sum();
            prop_assert!(done <= p.len() as f64 + 1e-9);
            // What is missing is the last quantum's, which isn't full.
            let last = f.start.0 + quantum * f.work.len() as i64;
            // A phase without a length at its very beginning is in it, too.
            let in_last = |p: &&WorkPhase| p.end().0 > last || (p.end().0 == last && p.duration == Nanos::ZERO);
            let missing = p.iter().filter(in_last).count();
            prop_assert!(done >= p.len() as f64 - missing as f64 - 1e-9, "{} {} {}", done, p.len(), missing);
        }

        #[test]
        fn any_phases(list in proptest::collection::vec((any::<i64>(), any::<i64>()), 0..10)) {
            let p: Vec<WorkPhase> = list.iter().map(|(s, d)| WorkPhase { start: Nanos(*s), duration: Nanos(*d) }).collect();
            let _ = detours(p.iter().copied(), Nanos(i64::MIN), Nanos(1));
            let _ = fixed_work(&p);
        }
    }
}
