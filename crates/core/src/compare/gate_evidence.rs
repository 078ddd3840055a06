//! What the blocks of a benchmark say at each look of a gate: of their middle, and of their mean.
//!
//! The middle is what the signed rank tests and Hodges and Lehmann estimate ([`crate::statistics::signed_rank`]). It does not move if a
//! change makes a quarter of the executions slower; their mean does ([`crate::statistics::mean`]). Blocks whose neighbours are
//! alike count as fewer ([`crate::statistics::block_dependence`]): for the middle they are moved away from their estimate, which widens the
//! interval and moves every limit nearer in the same proportion; for the mean its standard error grows. In the mean, a block counts for
//! at most [`FURTHEST`] thresholds of difference from the inner ones, so that a single disturbed one does not decide.

use crate::statistics::block_dependence::BlockDependence;
use crate::statistics::intervals::{Interval, NoInterval};
use crate::statistics::mean::MeanEstimate;
use crate::statistics::sequential::{SequentialDesign, adjusted_p};
use crate::statistics::series::Values;
use crate::statistics::signed_rank::{middle, probability_of_at_most};

/// So many thresholds a block counts for at most in the mean beyond the inner ones, that is all but a tenth at either end: there may be
/// two modes far from each other, or a quarter of slow blocks.
const FURTHEST: f64 = 10.0;
const OUTER: usize = 10;

/// p values of a hypothesis about the location of the blocks, adjusted for the looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LocationP {
    pub middle: f64,
    pub mean: f64,
}

impl LocationP {
    /// Of "both are as the hypothesis says": each test has half of the error.
    pub fn any(self) -> f64 {
        (2.0 * self.middle.min(self.mean)).min(1.0)
    }

    /// Of "one of them at least is as the hypothesis says".
    pub fn all(self) -> f64 {
        self.middle.max(self.mean)
    }
}

/// Blocks that a gate looked at again and again while they grew: logarithms, in the order of time.
pub(crate) struct LookedAt<'a> {
    design: &'a SequentialDesign,
    /// The looks so far.
    looks: Vec<GateLook>,
    /// All blocks; those after the last look count for nothing yet.
    have: usize,
}

/// The blocks up to a look.
pub(crate) struct GateLook {
    blocks: u32,
    pub logs: Values,
    /// Hodges and Lehmann's estimate.
    pub middle: f64,
    pub mean: MeanEstimate,
    pub dependence: BlockDependence,
    /// Moved away from the middle for their dependence.
    spread: Values,
}

impl GateLook {
    /// Of blocks with this threshold, a logarithm; `None` of fewer than two.
    fn new(logs: Values, threshold: f64) -> Option<GateLook> {
        let dependence = BlockDependence::of(&logs).cautious();
        let middle = middle(&logs)?;
        let mean = MeanEstimate::new(&within(&logs, threshold), dependence.variance)?;
        let spread = dependence.spread_out(&logs, middle);
        let blocks = u32::try_from(logs.len()).unwrap_or(u32::MAX);
        Some(GateLook { blocks, logs, middle, mean, dependence, spread })
    }

    /// The blocks as few independent ones that are worth as much would spread.
    pub fn spread(&self) -> &Values {
        &self.spread
    }
}

/// The blocks as they count in the mean, with this threshold, a logarithm; without one as they are.
pub(crate) fn within(logs: &Values, threshold: f64) -> Values {
    let sorted = logs.sorted();
    let outer = sorted.len().saturating_sub(1) / OUTER;
    let last = sorted.len().checked_sub(outer + 1);
    let bounds = sorted.get(outer).zip(last.and_then(|last| sorted.get(last)));
    let furthest = FURTHEST * threshold;
    let Some((low, high)) = bounds.map(|(low, high)| (low - furthest, high + furthest)) else { return logs.clone() };
    // Without a threshold they are no numbers.
    if low <= high {
        Values::new(logs.as_slice().iter().map(|x| x.clamp(low, high))).unwrap_or_default()
    } else {
        logs.clone()
    }
}

impl<'a> LookedAt<'a> {
    /// Blocks of a benchmark with this threshold, a logarithm.
    pub fn new(design: &'a SequentialDesign, logs: &Values, threshold: f64) -> LookedAt<'a> {
        let first = |n: u32| Values::new(logs.as_slice().get(..n as usize)?.iter().copied()).ok();
        let looks = design.looks().iter().filter_map(|n| GateLook::new(first(*n)?, threshold)).collect();
        LookedAt { design, looks, have: logs.len() }
    }

    /// How many blocks there are.
    pub fn have(&self) -> usize {
        self.have
    }

    /// The look that the intervals are of; `None` before the first that has one.
    pub fn last(&self) -> Option<&GateLook> {
        let (blocks, _) = self.design.local_level(self.have)?;
        self.looks.iter().find(|look| look.blocks == blocks)
    }

    /// p values of "at most this".
    pub fn at_most(&self, limit: f64) -> LocationP {
        self.p(|look| probability_of_at_most(limit, &look.spread), |mean| mean.probability_of_at_most(limit))
    }

    /// p values of "at least this".
    pub fn at_least(&self, limit: f64) -> LocationP {
        let reversed = |look: &GateLook| Values::new(look.spread.as_slice().iter().map(|x| -x)).unwrap_or_default();
        self.p(|look| probability_of_at_most(-limit, &reversed(look)), |mean| mean.probability_of_at_least(limit))
    }

    fn p(&self, middle: impl Fn(&GateLook) -> f64, mean: impl Fn(&MeanEstimate) -> f64) -> LocationP {
        let cap = self.design.looks().last().copied().unwrap_or(0);
        let look = |n: u32| self.looks.iter().find(|look| look.blocks == n);
        LocationP {
            middle: adjusted_p(cap, self.have, |n| look(n).map(&middle)),
            mean: adjusted_p(cap, self.have, |n| look(n).map(|look| mean(&look.mean))),
        }
    }

    /// Interval of the middle that holds at all looks together.
    ///
    /// # Errors
    /// [`NoInterval::TooFew`] before the first look that has one.
    pub fn middle_interval(&self) -> Result<Interval, NoInterval> {
        let look = self.last().ok_or_else(|| self.too_few())?;
        self.design.interval(&look.spread)
    }

    /// Interval of the mean, likewise.
    ///
    /// # Errors
    /// As of the middle.
    pub fn mean_interval(&self) -> Result<Interval, NoInterval> {
        let (look, level) = self.last().zip(self.design.local_level(self.have)).ok_or_else(|| self.too_few())?;
        let found = look.mean.interval(level.1).ok_or_else(|| self.too_few())?;
        Ok(Interval { level: self.design.level(), ..found })
    }

    fn too_few(&self) -> NoInterval {
        NoInterval::TooFew { have: u32::try_from(self.have).unwrap_or(u32::MAX), need: self.design.need() }
    }
}
