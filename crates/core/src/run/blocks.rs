//! What a run says of two programs, block by block: what a measurement that may stop early decides by.
//!
//! A block holds an execution of each program, of short programs several ([`crate::run::block_size`]), of which the mean of the
//! logarithms counts. Every execution that succeeded counts here, or that the plan accepts.
//! What the checks of the report discard (daemons above their cutoffs, standard deviations) is not left out: that
//! depends on all samples of a run, so that a decision made on the way could not be repeated afterwards.

use crate::base::reading::Absent;
use crate::base::units::Nanos;
use crate::compare::duet::{Duet, DuetSide};
use crate::compare::ratio::RatioBasis;
use crate::compare::start_order::OrderFree;
use crate::run::data::Run;
use crate::run::plan::{Order, RunPlan};
use crate::run::samples::SampleSource;
use crate::sample::data::{Outcome, Phase, Sample};
use crate::sample::measure::Measure;
use crate::statistics::series::Values;
use std::collections::BTreeMap;

/// Logarithms of program / reference, one for each block.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    pub basis: RatioBasis,
    pub measure: Measure,
    /// In the order of the blocks.
    pub logs: Vec<f64>,
    /// The same by process time, if `measure` is net time; else empty.
    pub process_logs: Vec<f64>,
}

impl Blocks {
    /// The logarithms, to compute with.
    pub fn values(&self) -> Values {
        // Those of positive times are finite.
        Values::new(self.logs.iter().copied()).unwrap_or_default()
    }
}

/// Of one program of a run with its reference: by duets where it has any, else by executions alone of the same round
/// with this measure. `None` without blocks.
pub fn blocks<S: SampleSource + ?Sized>(
    run: &Run,
    samples: &S,
    series: u32,
    measure: Measure,
) -> Result<Option<Blocks>, S::Error> {
    let mut all = RunBlocks::new(&run.plan);
    samples.each(&mut |sample| all.add(&run.plan, sample))?;
    samples.each_duet(&mut |duet| all.add_duet(&run.plan, duet))?;
    Ok(all.blocks(series, measure))
}

/// The blocks of a run, which may still grow.
#[derive(Clone, Debug)]
pub struct RunBlocks {
    reference: u32,
    programs: Vec<ProgramBlocks>,
}

/// Those of a program, by number.
#[derive(Clone, Debug, Default)]
struct ProgramBlocks {
    /// Times of the executions alone, ns: elapsed, process, net; by block and number.
    alone: BTreeMap<(u32, u32), [Option<f64>; 3]>,
    /// Times of the duets with the reference, by block and position in the run.
    duets: BTreeMap<(u32, u32), DuetTimes>,
    ended: bool,
}

impl ProgramBlocks {
    /// Means of the logarithms of a block's times alone, by block, over the executions whose time is known.
    fn mean_logs(&self, measure: Measure) -> BTreeMap<u32, f64> {
        let place = match measure {
            Measure::Et => 0,
            Measure::Pt => 1,
            Measure::Net => 2,
        };
        let mut sums: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for ((block, _), times) in &self.alone {
            if let Some(time) = times.get(place).copied().flatten() {
                let (sum, n) = sums.entry(*block).or_default();
                (*sum, *n) = (*sum + time.ln(), *n + 1);
            }
        }
        sums.into_iter().map(|(block, (sum, n))| (block, sum / f64::from(n))).collect()
    }
}

impl RunBlocks {
    pub fn new(plan: &RunPlan) -> RunBlocks {
        RunBlocks { reference: plan.reference(), programs: vec![ProgramBlocks::default(); plan.programs.len()] }
    }

    /// Adds an execution alone.
    pub fn add(&mut self, plan: &RunPlan, sample: &Sample) {
        let Some(program) = self.programs.get_mut(sample.series as usize) else { return };
        if sample.phase == Phase::Counted && plan.ignore_failure.accepts(&sample.outcome) {
            let times = [Ok(sample.elapsed()), sample.process_time(), sample.net_time()];
            let times = times.map(|t| t.ok().map(|t| t.as_f64()));
            program.alone.entry((sample.block_number(), sample.index)).or_insert(times);
        }
    }

    pub fn add_duet(&mut self, plan: &RunPlan, duet: &Duet) {
        let slot = duet.slot();
        let Some(program) = self.programs.get_mut(slot.series as usize) else { return };
        if slot.reference != self.reference {
            return;
        }
        if let Some(times) = duet_times(plan, duet) {
            program.duets.insert((slot.index, duet.seq), times);
        }
        program.ended |= duet.void.is_some() || duets_end(plan, duet).is_some();
    }

    /// As [`blocks`].
    pub fn blocks(&self, series: u32, measure: Measure) -> Option<Blocks> {
        let duets = &self.programs.get(series as usize)?.duets;
        if duets.is_empty() {
            return self.rounds(series, measure);
        }
        self.duets(series, duet_measure(duets.values()))
    }

    /// By the duets, with this measure: process time, or net time if that is known in all of them. `None` without.
    pub fn duets(&self, series: u32, measure: Measure) -> Option<Blocks> {
        let duets = &self.programs.get(series as usize)?.duets;
        let logs = |by: Measure| duet_logs(duets.values(), by).map(|free| free.logs);
        let process_logs = if measure == Measure::Net { logs(Measure::Pt)? } else { Vec::new() };
        let blocks = Blocks { basis: RatioBasis::Duets, measure, logs: logs(measure)?, process_logs };
        Some(blocks).filter(|b| !b.logs.is_empty())
    }

    /// By the executions alone, also where there are duets.
    pub fn rounds(&self, series: u32, measure: Measure) -> Option<Blocks> {
        let all = |series: u32| self.programs.get(series as usize).map(|p| p.mean_logs(measure));
        let (program, reference) = (all(series)?, all(self.reference)?);
        let log = |(block, log): (&u32, &f64)| Some(log - reference.get(block)?);
        // Times that are not greater than 0 have no ratio.
        let logs: Vec<f64> = program.iter().filter_map(log).filter(|log| log.is_finite()).collect();
        // An execution alone that has a net time has a process time.
        let process_logs = match measure {
            Measure::Net => self.rounds(series, Measure::Pt).map(|b| b.logs).unwrap_or_default(),
            Measure::Pt | Measure::Et => Vec::new(),
        };
        Some(Blocks { basis: RatioBasis::Alone, measure, logs, process_logs }).filter(|b| !b.logs.is_empty())
    }

    /// Whether the duets of a program have ended (a failure, or [`Duet::void`]) while its executions alone go on.
    pub fn duets_ended(&self, series: u32) -> bool {
        self.programs.get(series as usize).is_some_and(|p| p.ended)
    }
}

/// Of times by block the geometric mean of each block, in the order of the blocks: several executions of a program in a block are one
/// value of it. That of a single time is the time itself.
pub(crate) fn block_means(times: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut sorted = times.to_vec();
    // By time, too: the sum does not depend on the order in which they come.
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mean = |of_block: &[(u32, f64)]| match of_block {
        [] => None,
        [one] => Some(*one),
        [(block, _), ..] => {
            let logs: f64 = of_block.iter().map(|(_, time)| time.ln()).sum();
            Some((*block, (logs / of_block.len() as f64).exp()))
        }
    };
    sorted.chunk_by(|a, b| a.0 == b.0).filter_map(mean).collect()
}

/// Times of the program and of the reference in a duet, ns, greater than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuetTimes {
    pub pt: [f64; 2],
    /// Net time, where that of both is known.
    pub net: Option<[f64; 2]>,
    /// The program was started before the reference; `None` where both were at the same time.
    pub program_first: Option<bool>,
}

impl DuetTimes {
    /// Those of a measure; a duet has no elapsed time of one program.
    pub fn by(&self, measure: Measure) -> Option<[f64; 2]> {
        match measure {
            Measure::Pt => Some(self.pt),
            Measure::Net => self.net,
            Measure::Et => None,
        }
    }

    /// Logarithm of program / reference.
    pub(crate) fn log(&self, measure: Measure) -> Option<f64> {
        self.by(measure).map(|[program, reference]| program.ln() - reference.ln())
    }
}

/// Logarithms of program / reference of duets in the order of time, without what the start order adds; `None` where the measure is not
/// known in all.
pub(crate) fn duet_logs<'a>(times: impl Iterator<Item = &'a DuetTimes>, measure: Measure) -> Option<OrderFree> {
    let all: Option<Vec<(f64, Option<bool>)>> =
        times.map(|times| Some((times.log(measure)?, times.program_first))).collect();
    Some(OrderFree::new(&all?))
}

/// What the ratio of duets is of: net time if that is known in all of them, else process time in all, as one estimate must not
/// mix them. In a duet the interrupts of both programs come to the same CPUs and are charged to whichever runs: net time is free of that.
pub(crate) fn duet_measure<'a>(mut duets: impl Iterator<Item = &'a DuetTimes>) -> Measure {
    if duets.all(|times| times.net.is_some()) { Measure::Net } else { Measure::Pt }
}

/// Times of the programs in a duet; `None` where one of them failed or its process time is not known, or where it says nothing of
/// them.
pub fn duet_times(plan: &RunPlan, duet: &Duet) -> Option<DuetTimes> {
    if duet.void.is_some() || duet.sides.iter().any(|side| !plan.ignore_failure.accepts(&side.outcome)) {
        return None;
    }
    let both = |time: fn(&DuetSide) -> Result<Nanos, Absent>| {
        let known = |side: &DuetSide| time(side).ok().filter(|t| t.0 > 0).map(Nanos::as_f64);
        let [program, reference] = &duet.sides;
        Some([known(program)?, known(reference)?])
    };
    let [program, reference] = duet.sides.each_ref().map(|side| side.start.monotonic);
    Some(DuetTimes {
        pt: both(DuetSide::process_time)?,
        net: both(DuetSide::net_time),
        program_first: (program != reference).then_some(program < reference),
    })
}

/// The program that failed in a duet that nobody asked for, which ends those of both programs.
pub(crate) fn duets_end(plan: &RunPlan, duet: &Duet) -> Option<u32> {
    let failed = |s: &&DuetSide| s.outcome != Outcome::Interrupted && !plan.ignore_failure.accepts(&s.outcome);
    let found = duet.sides.iter().find(failed).filter(|_| plan.order == Order::Auto);
    found.map(|side| side.series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ratio::compare;
    use crate::run::block_size::BlockEvidence;
    use crate::run::schedule::tests::plan;
    use crate::run::schedule::{Act, Slot, schedule};
    use crate::sample::data::SampleBlock;
    use crate::sample::test_samples::sample;
    use crate::statistics::intervals::{Interval, NoInterval};
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use crate::statistics::signed_rank::location;
    use proptest::prelude::*;

    /// The samples of two programs in blocks of so many executions; `ns` gives the time of a program at a position in the run.
    fn samples(plan: &RunPlan, executions: u32, mut ns: impl FnMut(u32, u32) -> f64) -> Vec<Sample> {
        let slots = schedule(plan, executions).filter_map(Act::alone);
        let sample = |(seq, slot): (u32, Slot)| {
            let time = ns(slot.series, seq).round() as i64;
            let mut s = sample(slot.index, 0.0, time, time);
            (s.series, s.seq) = (slot.series, seq);
            s.block = (executions > 1).then_some(SampleBlock { number: slot.index / executions, executions });
            s
        };
        (0..).zip(slots).map(sample).collect()
    }

    fn logs(plan: &RunPlan, samples: &[Sample], measure: Measure) -> Vec<f64> {
        let mut all = RunBlocks::new(plan);
        samples.iter().for_each(|s| all.add(plan, s));
        all.rounds(1, measure).map(|b| b.logs).unwrap_or_default()
    }

    #[test]
    fn a_block_has_one_value() {
        let p = plan(2, 0, 3, Order::Auto, 5);
        // 1, 2, 4, … times as long: the mean of the logarithms is that of the geometric mean.
        let all = samples(&p, 4, |series, seq| 1e6 * f64::from(1 << (seq % 4)) * if series == 1 { 3.0 } else { 1.0 });
        let found = logs(&p, &all, Measure::Pt);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|log| (log.exp() - 3.0).abs() < 1e-9), "{found:?}");
        assert_eq!(found.len(), logs(&p, &all, Measure::Et).len());
        // In any order, to the last bit.
        let reversed: Vec<Sample> = all.iter().rev().cloned().collect();
        assert_eq!(logs(&p, &reversed, Measure::Pt), found);
        // An execution that failed is missing in its block; without one of each program there is none.
        let mut failed = all.clone();
        failed[0].outcome = Outcome::Exited { code: 1 };
        assert_eq!(logs(&p, &failed, Measure::Pt).len(), 3);
        failed
            .iter_mut()
            .filter(|s| s.series == 0 && s.index < 4)
            .for_each(|s| s.outcome = Outcome::Exited { code: 1 });
        assert_eq!(logs(&p, &failed, Measure::Pt).len(), 2);
        // A time of 0 has no logarithm.
        let mut zero = all;
        zero[0].end = zero[0].start;
        assert_eq!(logs(&p, &zero, Measure::Et).len(), 2);
    }

    #[test]
    fn means_of_blocks() {
        assert_eq!(block_means(&[(7, 3.0), (2, 8.0), (2, 2.0), (7, 3.0), (9, 0.1)]).len(), 3);
        let means = block_means(&[(2, 8.0), (9, 0.1), (2, 2.0)]);
        assert!((means[0].1 - 4.0).abs() < 1e-12);
        assert_eq!((means[0].0, means[1]), (2, (9, 0.1)));
        assert!(block_means(&[]).is_empty());
        // What has no ratio gives its block none.
        assert_eq!(compare(&block_means(&[(0, 0.0), (0, 5.0)]), &[(0, 1.0)]), None);
    }

    /// The evidence that the runner decides by sees the blocks of its own samples.
    #[test]
    fn a_run_that_is_resumed_has_blocks_of_the_same_size() {
        let p = plan(2, 0, 3, Order::Auto, 5);
        let mut evidence = BlockEvidence::new(&p);
        samples(&p, 6, |_, _| 1e6).iter().for_each(|s| evidence.add(&p, s));
        assert_eq!(evidence.executions(), 6);
    }

    proptest! {
        /// A machine that slows down evenly, by up to a tenth over the run, changes no ratio.
        #[test]
        fn a_drift_within_a_block_cancels(seed: u64, pairs in 1..=16_u32, drift in -0.1..0.1_f64, ratio in 0.5..2.0_f64) {
            let p = plan(2, 0, 10, Order::Auto, seed);
            let last = f64::from(2 * 2 * pairs * 10);
            let all = samples(&p, 2 * pairs, |series, seq| {
                let slower = (drift * f64::from(seq) / last).exp();
                1e9 * slower * if series == 1 { ratio } else { 1.0 }
            });
            // Times are whole nanoseconds.
            prop_assert!(logs(&p, &all, Measure::Pt).iter().all(|log| (log - ratio.ln()).abs() < 1e-7));
            // With one execution each, the drift between the two is in the ratio of every block.
            let slower = |series: u32, seq: u32| 1e9 * (drift * f64::from(seq) / 20.0).exp() * if series == 1 { ratio } else { 1.0 };
            let single = logs(&p, &samples(&p, 1, slower), Measure::Pt);
            let expected = (drift / 20.0).abs();
            prop_assert!(single.iter().all(|log| ((log - ratio.ln()).abs() - expected).abs() < 1e-7));
        }
    }

    /// Ten blocks of 8 executions on a machine that drifts, wanders between blocks, and is interrupted now and then.
    #[test]
    fn the_interval_over_blocks_covers() {
        const RUNS: u32 = 600;
        let mut rng = generator(11, RandomPurpose::Noise, 0);
        let mut normal = move || (0..12).map(|_| unit(&mut rng)).sum::<f64>() - 6.0;
        let (mut sign, mut rank) = (0, 0);
        let truth = 1.03_f64;
        for run in 0..RUNS {
            let p = plan(2, 0, 10, Order::Auto, u64::from(run));
            let mut wander = 0.0;
            let all = samples(&p, 8, |series, seq| {
                if seq.is_multiple_of(16) {
                    wander += 0.05 * normal();
                }
                let interrupted = if normal() > 1.8 { 0.1 * normal().abs() } else { 0.0 };
                let state = wander + 0.02 * f64::from(seq % 16) / 16.0 + 0.02 * normal() + interrupted;
                2e6 * state.exp() * if series == 1 { truth } else { 1.0 }
            });
            let logs = Values::new(logs(&p, &all, Measure::Pt)).unwrap();
            let holds = |i: Result<Interval, NoInterval>| u32::from(i.is_ok_and(|i| i.contains(truth.ln())));
            sign += holds(crate::statistics::intervals::median_interval(&logs));
            rank += holds(location(&logs, 0.95).unwrap().interval);
        }
        // 94%, less two standard errors of so many runs.
        let least = 0.94 * f64::from(RUNS) - 2.0 * (0.94 * 0.06 * f64::from(RUNS)).sqrt();
        assert!(f64::from(sign) >= least && f64::from(rank) >= least, "{sign} {rank} of {RUNS}");
    }
}
