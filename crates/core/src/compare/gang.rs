//! Gangs: programs that use several CPUs, whose whole trees are stopped and continued alternately, so that each has all CPUs while
//! it runs.
//!
//! Left to the scheduler, two such programs do not alternate: the load balancer puts the tasks of one on some CPUs and those of the
//! other on the others. (Ousterhout, Scheduling techniques for concurrent systems, ICDCS 1982, calls it coscheduling.)

use crate::base::units::Nanos;
use crate::statistics::random::{RandomPurpose, below, generator};
use crate::statistics::series::median_of;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Length of the shortest and of the longest slice: long beside the time that stopping and continuing take, short beside the time in
/// which the machine changes.
pub const SLICES: [Nanos; 2] = [Nanos::from_millis(5), Nanos::from_millis(10)];

/// By what the trees are stopped and continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GangMeans {
    /// The freezer of each program's cgroup (`cgroup.freeze`), which stops a tree whatever it does with signals and groups.
    Freezer,
    /// SIGSTOP and SIGCONT to each program's process group, without the right to cgroups.
    Signals,
}

/// How two gangs took turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangSlices {
    pub by: GangMeans,
    /// The CPUs that both might use.
    pub cpus: Vec<u32>,
    /// How long each had the CPUs while it took turns with the other, elapsed time. The other one waited for its partner as long.
    pub ran: [Nanos; 2],
    /// How often one was stopped and the other continued.
    pub switches: u32,
    /// From the request until the whole tree stood still; by signals: until its main process did.
    pub stopping: Option<SwitchTimes>,
    /// The call that continues a tree.
    pub continuing: Option<SwitchTimes>,
    /// Times that a tree did not stand still soon enough (tasks that wait for a disk): the other was continued beside it.
    pub late: u32,
}

/// How long something took that was done many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchTimes {
    pub median: Nanos,
    pub largest: Nanos,
}

impl SwitchTimes {
    /// Of these; `None` of none.
    pub fn new(mut times: Vec<Nanos>) -> Option<SwitchTimes> {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied()?;
        let largest = times.last().copied()?;
        Some(SwitchTimes { median, largest })
    }
}

/// How two gangs took turns in all their duets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GangSummary {
    /// Signals, if any of the duets was made by them.
    pub by: GangMeans,
    /// How many CPUs both might use.
    pub cpus: u32,
    pub duets: u32,
    /// Switches from one to the other of a duet, median.
    pub switches: u32,
    /// The median of the duets' medians, and the largest time of all.
    pub stopping: Option<SwitchTimes>,
    pub continuing: Option<SwitchTimes>,
    /// Times that a tree did not stand still soon enough, in all.
    pub late: u32,
    /// CPU time of tare during a duet as a share of the time for which both took turns, median.
    pub own: Option<f64>,
}

impl GangSummary {
    /// Of duets with the CPU time of tare in each; `None` of none.
    pub fn new(duets: &[(GangSlices, Nanos)]) -> Option<GangSummary> {
        let all = || duets.iter().map(|(slices, _)| slices);
        let signals = all().any(|s| s.by == GangMeans::Signals);
        let middle = |mut numbers: Vec<u32>| {
            numbers.sort_unstable();
            numbers.get(numbers.len() / 2).copied()
        };
        let summed = |times: &dyn Fn(&GangSlices) -> Option<SwitchTimes>| {
            let found: Vec<SwitchTimes> = all().filter_map(times).collect();
            let median = SwitchTimes::new(found.iter().map(|t| t.median).collect())?.median;
            Some(SwitchTimes { median, largest: found.iter().map(|t| t.largest).max()? })
        };
        let share = |(slices, own): &(GangSlices, Nanos)| {
            let [a, b] = slices.ran;
            Some(own.as_f64() / (a + b).as_f64()).filter(|share| share.is_finite())
        };
        Some(GangSummary {
            by: if signals { GangMeans::Signals } else { GangMeans::Freezer },
            cpus: u32::try_from(all().map(|s| s.cpus.len()).max()?).unwrap_or(u32::MAX),
            duets: u32::try_from(duets.len()).unwrap_or(u32::MAX),
            switches: middle(all().map(|s| s.switches).collect())?,
            stopping: summed(&|s| s.stopping),
            continuing: summed(&|s| s.continuing),
            late: all().map(|s| s.late).fold(0, u32::saturating_add),
            own: median_of(duets.iter().filter_map(share).collect()),
        })
    }
}

/// Lengths of slices, random by the seed, so that they keep step with nothing on the machine.
pub struct SliceLengths(ChaCha8Rng);

impl SliceLengths {
    /// Of the duet at this position in the run.
    pub fn new(seed: u64, seq: u32) -> SliceLengths {
        SliceLengths(generator(seed, RandomPurpose::Slices, u64::from(seq)))
    }

    pub fn draw(&mut self) -> Nanos {
        let [shortest, longest] = SLICES;
        let span = u32::try_from((longest - shortest).0).unwrap_or(0);
        shortest + Nanos(i64::from(below(&mut self.0, span.saturating_add(1))))
    }
}

/// Which of the two runs next, 0 or 1: the one that has had less of what it takes alone, so that both end together; of two alike,
/// the one that did not run before.
pub fn next_in_turn(ran: [Nanos; 2], alone: [Nanos; 2], before: usize) -> usize {
    let [first, second] = ran.map(|t| i128::from(t.0.max(0)));
    let [alone_first, alone_second] = alone.map(|t| i128::from(t.0.max(1)));
    // As fractions: first / alone_first and second / alone_second.
    match (first * alone_second).cmp(&(second * alone_first)) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Greater => 1,
        std::cmp::Ordering::Equal => usize::from(before == 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slices_are_within_their_bounds_and_repeat_with_the_seed() {
        let draw = |seed, seq| {
            let mut lengths = SliceLengths::new(seed, seq);
            (0..1_000).map(|_| lengths.draw()).collect::<Vec<_>>()
        };
        let slices = draw(42, 3);
        assert!(slices.iter().all(|s| (SLICES[0]..=SLICES[1]).contains(s)));
        assert_eq!(slices, draw(42, 3));
        assert_ne!(slices, draw(42, 4));
        assert_ne!(slices, draw(43, 3));
        // The mean of 1,000 uniform draws over 5 ms has a standard error of 46 µs.
        let mean = slices.iter().map(|s| s.0).sum::<i64>() / 1_000;
        assert!((mean - 7_500_000).abs() < 250_000, "{mean}");
    }

    #[test]
    fn two_alike_take_turns() {
        let ms = Nanos::from_millis;
        assert_eq!(next_in_turn([ms(0), ms(0)], [ms(80), ms(80)], 0), 1);
        assert_eq!(next_in_turn([ms(0), ms(0)], [ms(80), ms(80)], 1), 0);
        assert_eq!(next_in_turn([ms(7), ms(0)], [ms(80), ms(80)], 0), 1);
        assert_eq!(next_in_turn([ms(7), ms(9)], [ms(80), ms(80)], 1), 0);
        // Three times as long: 30 of 240 is as much as 10 of 80.
        assert_eq!(next_in_turn([ms(30), ms(10)], [ms(240), ms(80)], 1), 0);
        assert_eq!(next_in_turn([ms(31), ms(10)], [ms(240), ms(80)], 0), 1);
        assert_eq!(next_in_turn([ms(29), ms(10)], [ms(240), ms(80)], 1), 0);
        // What cannot be is no trap.
        assert_eq!(next_in_turn([Nanos(i64::MAX), Nanos(0)], [Nanos(0), Nanos(i64::MAX)], 0), 1);
    }

    #[test]
    fn times_of_switches() {
        assert_eq!(SwitchTimes::new(Vec::new()), None);
        let times = [5, 1, 9].map(Nanos).to_vec();
        assert_eq!(SwitchTimes::new(times), Some(SwitchTimes { median: Nanos(5), largest: Nanos(9) }));
    }

    #[test]
    fn duets_of_gangs_are_summed_up() {
        assert_eq!(GangSummary::new(&[]), None);
        let slices = |switches: u32, median: i64, largest: i64| GangSlices {
            by: GangMeans::Freezer,
            cpus: vec![2, 3],
            ran: [Nanos::from_millis(60), Nanos::from_millis(40)],
            switches,
            stopping: Some(SwitchTimes { median: Nanos(median), largest: Nanos(largest) }),
            continuing: None,
            late: 1,
        };
        let own = Nanos::from_millis(2);
        let duets = [(slices(10, 50, 900), own), (slices(14, 70, 80), own), (slices(12, 60, 90), own)];
        let found = GangSummary::new(&duets).unwrap();
        assert_eq!((found.by, found.cpus, found.duets, found.switches), (GangMeans::Freezer, 2, 3, 12));
        assert_eq!(found.stopping, Some(SwitchTimes { median: Nanos(60), largest: Nanos(900) }));
        assert_eq!((found.continuing, found.late), (None, 3));
        assert!((found.own.unwrap() - 0.02).abs() < 1e-12);
        let mixed = [duets[0].clone(), (GangSlices { by: GangMeans::Signals, ..slices(1, 1, 1) }, own)];
        assert_eq!(GangSummary::new(&mixed).unwrap().by, GangMeans::Signals);
        // What an imported document may hold.
        let nothing = GangSlices { ran: [Nanos::ZERO; 2], ..slices(0, 0, 0) };
        assert_eq!(GangSummary::new(&[(nothing, own)]).unwrap().own, None);
    }

    proptest! {
        /// However long both take: when one is through, the other has no more left than the longest slice, in its own measure and
        /// in that of the other.
        #[test]
        fn both_end_together(a in 40i64..5_000, b in 40i64..5_000, seed in any::<u64>()) {
            let alone = [Nanos::from_millis(a), Nanos::from_millis(b)];
            let (mut ran, mut at, mut lengths) = ([Nanos::ZERO; 2], 0, SliceLengths::new(seed, 0));
            while ran[0] < alone[0] && ran[1] < alone[1] {
                at = next_in_turn(ran, alone, at);
                ran[at] += lengths.draw();
            }
            let share = |i: usize| ran[i].as_f64() / alone[i].as_f64();
            let step = |i: usize| SLICES[1].as_f64() / alone[i].as_f64();
            prop_assert!((share(0) - share(1)).abs() <= step(0).max(step(1)) + 1e-9);
        }
    }
}
