//! How many executions of each program a block holds: several, where the programs are short.
//!
//! Two executions of a few milliseconds have a ratio that says little: a timer interrupt, a cold cache or a change of the clock speed
//! is a large part of them. Many that follow each other closely, in an order and its reverse, share what drifts, and their mean
//! varies less.

use crate::base::units::Nanos;
use crate::run::plan::{Order, RunPlan};
use crate::sample::data::{Phase, Sample};

/// So long the executions of a block take together at least, unless it would hold more than [`MOST_EXECUTIONS`].
pub const SHORTEST_BLOCK: Nanos = Nanos::from_millis(20);

/// Most executions of each program in a block.
pub const MOST_EXECUTIONS: u32 = 32;

/// What decides, once and for all, how many executions of each program a block holds: the warm-ups before the first counted sample,
/// then that sample, so that a resumed run uses the same number.
#[derive(Clone, Debug)]
pub struct BlockEvidence {
    /// Elapsed time of the shortest warm-up of each program: the first one finds cold caches.
    shortest: Vec<Option<Nanos>>,
    decided: Option<u32>,
}

impl BlockEvidence {
    /// Nothing yet. Only [`Order::Auto`] has several executions in a block: the other orders are what the user asked for.
    pub fn new(plan: &RunPlan) -> BlockEvidence {
        let never = plan.order != Order::Auto || plan.programs.len() < 2;
        BlockEvidence { shortest: vec![None; plan.programs.len()], decided: never.then_some(1) }
    }

    /// Takes the next execution alone, by position in the run.
    pub fn add(&mut self, plan: &RunPlan, sample: &Sample) {
        if self.decided.is_some() {
            return;
        }
        if sample.phase == Phase::Counted {
            // Blocks of earlier versions hold one execution; the samples of such a block say nothing of it.
            let executions = sample.block.map_or(1, |block| block.executions);
            let possible = executions.is_multiple_of(2) && (2..=MOST_EXECUTIONS).contains(&executions);
            self.decided = Some(if possible { executions } else { 1 });
        } else if !plan.ignore_failure.accepts(&sample.outcome) {
            self.decided = Some(1);
        } else if let Some(shortest) = self.shortest.get_mut(sample.series as usize) {
            // A pause of a gate is no execution.
            let took = sample.elapsed() - sample.paused();
            *shortest = Some(shortest.map_or(took, |before| before.min(took)));
        }
    }

    /// The number: 1, or an even one up to [`MOST_EXECUTIONS`]; before the first counted sample, by the warm-ups so far. Without a
    /// warm-up of each program, or if one failed, 1.
    pub fn executions(&self) -> u32 {
        let all = self.shortest.iter().try_fold(0_i64, |sum, time| Some(sum.saturating_add((*time)?.0)));
        self.decided.unwrap_or_else(|| all.map_or(1, |all| fitting(Nanos(all))))
    }
}

/// How many are needed if one execution of each program takes so long together.
fn fitting(round: Nanos) -> u32 {
    let (Ok(round), Ok(block)) = (u64::try_from(round.0), u64::try_from(SHORTEST_BLOCK.0)) else { return 1 };
    if round == 0 || round >= block {
        return 1;
    }
    // Even, so that an order and its reverse are complete.
    let needed = block.div_ceil(round).next_multiple_of(2);
    u32::try_from(needed).map_or(MOST_EXECUTIONS, |n| n.min(MOST_EXECUTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::schedule::tests::plan;
    use crate::sample::data::{Outcome, SampleBlock};
    use crate::sample::test_samples::sample;
    use proptest::prelude::*;

    /// An execution of this program that took so many microseconds.
    fn took(series: u32, phase: Phase, us: i64) -> Sample {
        let mut s = sample(0, 0.0, us * 1_000, us * 1_000);
        (s.series, s.phase) = (series, phase);
        s
    }

    fn after(plan: &RunPlan, samples: &[Sample]) -> u32 {
        let mut evidence = BlockEvidence::new(plan);
        samples.iter().for_each(|s| evidence.add(plan, s));
        evidence.executions()
    }

    fn warmups(us: &[i64]) -> Vec<Sample> {
        (0..).zip(us).map(|(series, us)| took(series, Phase::Warmup, *us)).collect()
    }

    #[test]
    fn a_block_lasts_long_enough() {
        let p = plan(2, 1, 10, Order::Auto, 1);
        for (us, expected) in [([3_000, 4_000], 4), ([1_000, 1_000], 10), ([9_000, 10_999], 2), ([10_000, 10_000], 1)] {
            assert_eq!(after(&p, &warmups(&us)), expected, "{us:?}");
        }
        assert_eq!(after(&p, &warmups(&[100, 200])), MOST_EXECUTIONS);
        assert_eq!(after(&plan(3, 1, 10, Order::Auto, 1), &warmups(&[3_000, 4_000, 100_000])), 1);
        // The first warm-up found cold caches.
        let cold = [warmups(&[50_000, 50_000]), warmups(&[2_000, 3_000])].concat();
        assert_eq!(after(&p, &cold), 4);
    }

    #[test]
    fn without_a_warm_up_of_each_program_it_is_one() {
        let p = plan(2, 1, 10, Order::Auto, 1);
        assert_eq!(after(&p, &[]), 1);
        assert_eq!(after(&p, &warmups(&[1_000])), 1);
        let mut failed = warmups(&[1_000, 1_000]);
        failed[1].outcome = Outcome::Exited { code: 1 };
        assert_eq!(after(&p, &failed), 1);
        for order in [Order::Rounds, Order::Random, Order::Sequential, Order::Duet] {
            assert_eq!(after(&plan(2, 1, 10, order, 1), &warmups(&[1_000, 1_000])), 1, "{order:?}");
        }
        assert_eq!(after(&plan(1, 1, 10, Order::Auto, 1), &warmups(&[1_000])), 1);
    }

    /// Whatever the warm-ups say that a resumed run begins with, and what an earlier version took.
    #[test]
    fn the_first_counted_sample_decides() {
        let p = plan(2, 1, 10, Order::Auto, 1);
        let counted = |executions: Option<u32>| {
            let mut s = took(0, Phase::Counted, 1_000);
            s.block = executions.map(|executions| SampleBlock { number: 0, executions });
            s
        };
        let with = |first: Sample| [warmups(&[1_000, 1_000]), vec![first], warmups(&[100, 100])].concat();
        assert_eq!(after(&p, &with(counted(Some(6)))), 6);
        assert_eq!(after(&p, &with(counted(None))), 1);
        for impossible in [0, 1, 3, MOST_EXECUTIONS + 2, u32::MAX] {
            assert_eq!(after(&p, &with(counted(Some(impossible)))), 1);
        }
    }

    proptest! {
        #[test]
        fn even_long_enough_and_not_longer(round in any::<i64>()) {
            let n = fitting(Nanos(round));
            prop_assert!(n == 1 || (n.is_multiple_of(2) && (2..=MOST_EXECUTIONS).contains(&n)));
            if n > 1 {
                let length = |n: u32| i128::from(round) * i128::from(n);
                prop_assert!(length(n) >= i128::from(SHORTEST_BLOCK.0) || n == MOST_EXECUTIONS);
                prop_assert!(n == 2 || length(n - 2) < i128::from(SHORTEST_BLOCK.0));
            }
        }

        #[test]
        fn of_short_rounds_too(round in 1..25_000_000_i64) {
            let n = i64::from(fitting(Nanos(round)));
            prop_assert!(n * round >= SHORTEST_BLOCK.0 || n == i64::from(MOST_EXECUTIONS));
        }
    }
}
