//! What lies beyond the slowest measured phases: a generalised Pareto distribution of what is over a high threshold (peaks over
//! threshold; Pickands, 1975, gives the reason why it has this form).
//!
//! The estimator is that of Zhang and Stephens (2009): a likelihood averaged over a grid of parameters. Probability-weighted
//! moments, the other that needs no search, presume a shape below 1/2 for their own variance and can come to a distribution
//! that ends below measured values; maximum likelihood need not have a maximum at all, and for tails with an end often has
//! none. This one always exists, allows every measured value, and is as efficient as likelihood.
//!
//! It knows only what happened while it was measured: a delay that comes more rarely than that, a daemon once a day, is in no
//! extrapolation.

use crate::noise::empirical::Distribution;
use crate::noise::model::any_of;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Fewest phases over the threshold. Of 50, an exponential tail's shape has a standard error of 0.14.
const FEWEST: u64 = 50;
/// Fewest different durations among them: a few that repeat are no continuous tail.
const DIFFERENT: usize = 20;

/// A fit is good if its distance times √phases is below. Where the form is right, it is 0.58 to 0.63 in the mean (simulated).
const GOOD: f64 = 1.0;

/// A generalised Pareto tail, fitted to the phases over a threshold. Times in the unit of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Longer phases belong to it.
    pub threshold: u64,
    /// How many are longer.
    pub phases: u64,
    /// Their share of all.
    pub share: f64,
    /// The shape ξ: below 0 the tail has an end, 0 is exponential, from 1 on it has no mean.
    pub shape: f64,
    pub scale: f64,
    /// Largest distance between the fitted distribution function and the measured one (Kolmogorov's), 0 to 1. For a
    /// true fit it is about 0.6/√phases in the mean; much more than 1/√phases means that the tail has another form.
    pub distance: f64,
}

/// Why there is no tail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoTail {
    #[error("{have} phases over a threshold, {need} needed")]
    TooFew { have: u64, need: u64 },
    /// The slowest phases take few different times.
    #[error("the slowest phases have {have} different durations, {need} needed")]
    Alike { have: usize, need: usize },
    /// The mean of the largest does not exist.
    #[error("the tail is too heavy for a mean: shape {shape:.2}, expected below 1")]
    NoMean { shape: f64 },
}

/// Fits the tail of a distribution.
///
/// The threshold is first such that about 3√m of m phases are over it, but no more than a fifth (the habit of Pareto-smoothed
/// importance sampling; Vehtari et al., 2024): more of them as m grows, but from ever further out. If the distribution there
/// has another form, as where ticks end and rarer daemons begin, it is raised until half as many are over it, and again,
/// until the fit is good; if it never is, the best one is taken, and its distance shows it.
///
/// # Errors
/// [`NoTail`], if the phases over it are too few or too much alike.
pub fn tail(distribution: &Distribution) -> Result<Tail, NoTail> {
    let total = distribution.total().get() as f64;
    let mut aim = (3.0 * total.sqrt()).min(total / 5.0);
    let mut best = over(distribution, aim)?;
    while best.misfit() > GOOD && aim / 2.0 >= FEWEST as f64 {
        aim /= 2.0;
        best = over(distribution, aim).ok().filter(|t| t.misfit() < best.misfit()).unwrap_or(best);
    }
    Ok(best)
}

/// The tail of about `phases` phases.
fn over(distribution: &Distribution, phases: f64) -> Result<Tail, NoTail> {
    let steps = distribution.steps();
    let total = distribution.total().get() as f64;
    let at = steps.partition_point(|s| s.above as f64 > phases);
    // A duration that many phases share may leave too few over it, and the one before it, not too many.
    let enough = |i: usize| steps.get(i).is_some_and(|s| s.above >= FEWEST && s.above as f64 <= total / 5.0);
    let at = if at > 0 && !enough(at) && enough(at - 1) { at - 1 } else { at };
    let too_few = NoTail::TooFew { have: steps.get(at).map_or(0, |s| s.above), need: FEWEST };
    let (Some(step), true) = (steps.get(at), enough(at)) else { return Err(too_few) };
    let threshold = step.duration;
    let different = steps.len() - at - 1;
    if different < DIFFERENT {
        return Err(NoTail::Alike { have: different, need: DIFFERENT });
    }
    let over = distribution.counts().skip(at + 1);
    let excesses: Vec<Weighted> = over.map(|(d, c)| ((d - threshold) as f64, c as f64)).collect();
    let (shape, scale) = fit(&excesses).ok_or(too_few)?;
    let tail = Tail { threshold, phases: step.above, share: step.above as f64 / total, shape, scale, distance: 0.0 };
    let mut below = 0.0;
    let distance = excesses.iter().map(|(excess, count)| {
        below += count;
        (1.0 - tail.survival(*excess) - below / step.above as f64).abs()
    });
    Ok(Tail { distance: distance.fold(0.0, f64::max), ..tail })
}

impl Tail {
    /// Distance in units of the usual random one.
    fn misfit(&self) -> f64 {
        self.distance * (self.phases as f64).sqrt()
    }

    /// The share of the phases over the threshold that are over it by more than `excess`.
    pub fn survival(&self, excess: f64) -> f64 {
        if self.shape.abs() < 1e-9 {
            return (-excess / self.scale).exp();
        }
        let base = self.shape * excess / self.scale;
        if base <= -1.0 { 0.0 } else { (-base.ln_1p() / self.shape).exp() }
    }

    /// E[max of n], where the phases up to the threshold are as measured and the others as fitted.
    ///
    /// # Errors
    /// [`NoTail::NoMean`] from shape 1 on.
    pub fn expected_max(&self, measured: &Distribution, n: NonZeroU64) -> Result<f64, NoTail> {
        let over = expected_excess(self.shape, self.scale, self.share, n);
        let over = over.ok_or(NoTail::NoMean { shape: self.shape })?;
        Ok(measured.expected_max_up_to(n, self.threshold) + over)
    }
}

/// A value over the threshold, and how many there are.
pub(crate) type Weighted = (f64, f64);

/// Shape and scale by Zhang and Stephens (2009) for ascending positive excesses. (Their k is -shape.) `None` without any.
pub(crate) fn fit(excesses: &[Weighted]) -> Option<(f64, f64)> {
    let n: f64 = excesses.iter().map(|e| e.1).sum();
    let largest = excesses.last().map(|e| e.0).filter(|l| *l > 0.0)?;
    let mut before = 0.0;
    let quartile = excesses.iter().find(|e| {
        before += e.1;
        before >= (n / 4.0 + 0.5).floor().max(1.0)
    });
    let quartile = quartile.map(|e| e.0).filter(|q| *q > 0.0)?;
    let mean = excesses.iter().map(|e| e.0 * e.1).sum::<f64>() / n;
    let k = |theta: f64| -excesses.iter().map(|e| e.1 * (-theta * e.0).ln_1p()).sum::<f64>() / n;
    // The scale is k/θ, which tends to the mean as both vanish.
    let scale = |theta: f64, k: f64| if (theta * largest).abs() < 1e-12 { mean } else { k / theta };
    let points = 20.0 + n.sqrt().floor();
    let grid = (1..=(points as u32)).map(|j| {
        let theta = 1.0 / largest + (1.0 - (points / (f64::from(j) - 0.5)).sqrt()) / (3.0 * quartile);
        let k = k(theta);
        (theta, n * (k - 1.0 - scale(theta, k).ln()))
    });
    let grid: Vec<(f64, f64)> = grid.filter(|g| g.1.is_finite()).collect();
    let best = grid.iter().map(|g| g.1).fold(f64::NEG_INFINITY, f64::max);
    let weight: f64 = grid.iter().map(|g| (g.1 - best).exp()).sum();
    let theta = grid.iter().map(|g| g.0 * (g.1 - best).exp()).sum::<f64>() / weight;
    let k = k(theta);
    let (shape, scale) = (-k, scale(theta, k));
    (shape.is_finite() && scale.is_finite() && scale > 0.0).then_some((shape, scale))
}

/// By how much the largest of n is over the threshold on average, where a phase is over it with probability `share`;
/// `None` from shape 1 on.
///
/// It is σ ∫ (1 - (1 - share·s)^n) s^(-ξ-1) ds from 0 to 1, s being the tail's survival function. With s = e^-t the integrand
/// is smooth: Simpson's rule in steps of 1/16, until n·share·s is 2e-9 and the rest is known.
pub(crate) fn expected_excess(shape: f64, scale: f64, share: f64, n: NonZeroU64) -> Option<f64> {
    let n = n.get() as f64;
    if shape >= 1.0 {
        return None;
    }
    let end = (n * share).ln().max(0.0) + 20.0;
    let halves = (end * 8.0).ceil() as u32;
    let h = end / f64::from(2 * halves);
    let f = |i: u32| {
        let t = h * f64::from(i);
        any_of((-share * (-t).exp()).ln_1p(), n) * (shape * t).exp()
    };
    let inner: f64 = (1..2 * halves).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    let rest = n * share * ((shape - 1.0) * end).exp() / (1.0 - shape);
    Some(scale * ((f(0) + inner + f(2 * halves)) * h / 3.0 + rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use statrs::function::beta::ln_beta;

    fn n(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    fn pareto(rng: &mut ChaCha8Rng, shape: f64, scale: f64) -> f64 {
        let u = unit(rng);
        if shape == 0.0 { -scale * u.ln() } else { scale * (u.powf(-shape) - 1.0) / shape }
    }

    /// 2,000 excesses give the shape to about ±0.025(1 + ξ)² and the scale to 4% (standard errors of an efficient estimator are
    /// (1 + ξ)/√n and σ √(2(1 + ξ)/n)); four of those are allowed.
    #[test]
    fn finds_simulated_tails() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        for shape in [-0.4, -0.2, 0.0, 0.2, 0.5, 0.8] {
            let mut excesses: Vec<Weighted> = (0..2000).map(|_| (pareto(&mut rng, shape, 3000.0), 1.0)).collect();
            excesses.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (found, scale) = fit(&excesses).unwrap();
            assert!((found - shape).abs() < 4.0 * (1.0 + shape) / 2000_f64.sqrt(), "{shape}: {found}");
            assert!((scale / 3000.0 - 1.0).abs() < 4.0 * (2.0 * (1.0 + shape) / 2000.0).sqrt(), "{shape}: {scale}");
        }
    }

    /// For a tail that is the whole distribution, E[max of n] is σ/ξ (n B(n, 1 - ξ) - 1).
    #[test]
    fn known_expectations() {
        for shape in [-0.5, -0.1, 0.1, 0.4, 0.9] {
            for nodes in [1_u64, 2, 10, 1000, 1_000_000] {
                let exact = ((nodes as f64).ln() + ln_beta(nodes as f64, 1.0 - shape)).exp();
                let exact = 7.0 / shape * (exact - 1.0);
                let got = expected_excess(shape, 7.0, 1.0, n(nodes)).unwrap();
                assert!((got / exact - 1.0).abs() < 1e-6, "{shape} {nodes}: {got} {exact}");
            }
        }
        // Exponential: the harmonic numbers.
        let harmonic: f64 = (1..=1000).map(|i| 1.0 / f64::from(i)).sum();
        assert!((expected_excess(0.0, 1.0, 1.0, n(1000)).unwrap() / harmonic - 1.0).abs() < 1e-6);
        assert_eq!(expected_excess(1.0, 1.0, 0.1, n(10)), None);
    }

    /// A hundredth of the phases are delayed by a Pareto time; for ten times as many nodes as phases were measured, a third
    /// off at most.
    #[test]
    fn extrapolates() {
        let mut rng = generator(2, RandomPurpose::Order, 0);
        let phases: Vec<u64> = (0..100_000)
            .map(|i| 1_000_000 + if i % 100 == 0 { pareto(&mut rng, 0.1, 20_000.0) as u64 } else { i % 7 })
            .collect();
        let d = Distribution::new(phases.into_iter()).unwrap();
        let t = tail(&d).unwrap();
        assert!(t.phases > 900 && t.phases <= 1000 && t.distance < 0.05, "{t:?}");
        assert!((t.shape - 0.1).abs() < 0.15 && (t.scale / 20_000.0 - 1.0).abs() < 0.2, "{t:?}");
        for nodes in [10_000_u64, 1_000_000] {
            let truth = expected_excess(0.1, 20_000.0, 0.01, n(nodes)).unwrap();
            let got = t.expected_max(&d, n(nodes)).unwrap() - 1e6;
            assert!((got / truth - 1.0).abs() < 0.35, "{nodes}: {got} {truth}");
        }
        // Within what was measured, it agrees with the exact one.
        let (fitted, exact) = (t.expected_max(&d, n(1000)).unwrap(), d.expected_max(n(1000)));
        assert!(((fitted - 1e6) / (exact - 1e6) - 1.0).abs() < 0.05, "{fitted} {exact}");
    }

    /// Jitter, ticks for one phase in 4,000, a daemon for one in 20,000: three times 3√m phases reach down to the jitter; the
    /// tail is that of the daemon alone.
    #[test]
    fn the_rarest_cause_is_the_tail() {
        let mut rng = generator(4, RandomPurpose::Order, 0);
        let phases: Vec<u64> = (0..2_000_000)
            .map(|i| {
                1_000_000
                    + (30.0 * unit(&mut rng)) as u64
                    + match i % 20_000 {
                        7 => 300_000 + pareto(&mut rng, 0.0, 300_000.0) as u64,
                        i if i % 4_000 == 0 => 4_000 + (500.0 * unit(&mut rng)) as u64,
                        _ => 0,
                    }
            })
            .collect();
        let t = tail(&Distribution::new(phases.into_iter()).unwrap()).unwrap();
        assert!(t.phases <= 100 && t.shape.abs() < 0.3 && t.distance < 0.1, "{t:?}");
        assert!((t.scale / 3e5 - 1.0).abs() < 0.4, "{t:?}");
    }

    #[test]
    fn no_tail() {
        let tail_of = |phases: &mut dyn Iterator<Item = u64>| {
            let phases: Vec<u64> = phases.collect();
            tail(&Distribution::new(phases.into_iter()).unwrap())
        };
        assert_eq!(tail_of(&mut std::iter::repeat_n(5, 10_000)), Err(NoTail::TooFew { have: 0, need: 50 }));
        assert_eq!(tail_of(&mut (0..100)), Err(NoTail::TooFew { have: 20, need: 50 }));
        let two = tail_of(&mut (0..10_000).map(|i| 1000 + u64::from(i % 100 == 0)));
        assert_eq!(two, Err(NoTail::Alike { have: 1, need: 20 }));
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let heavy =
            Distribution::new((0..20_000).map(|_| pareto(&mut rng, 2.0, 1e6) as u64).collect::<Vec<_>>().into_iter());
        let heavy = heavy.unwrap();
        assert!(matches!(tail(&heavy).unwrap().expected_max(&heavy, n(10_000)), Err(NoTail::NoMean { .. })));
        assert_eq!(fit(&[]), None);
    }

    proptest! {
        #[test]
        fn any_excesses(mut excesses in proptest::collection::vec((1.0..1e15_f64, 1.0..1e6_f64), 0..60)) {
            excesses.sort_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((shape, scale)) = fit(&excesses) {
                prop_assert!(shape.is_finite() && scale > 0.0);
                // No measured value is beyond the end of the tail.
                let t = Tail { threshold: 0, phases: 0, share: 1.0, shape, scale, distance: 0.0 };
                let last = excesses.last().unwrap().0;
                prop_assert!(shape >= 0.0 || -scale / shape >= last * (1.0 - 1e-9));
                prop_assert!((0.0..=1.0).contains(&t.survival(last)));
            }
        }

        #[test]
        fn more_nodes_more_delay(shape in -1.0..0.95_f64, share in 1e-6..1.0_f64, nodes in 1..1_000_000_000_u64) {
            let a = expected_excess(shape, 1.0, share, n(nodes)).unwrap();
            let b = expected_excess(shape, 1.0, share, n(nodes * 2)).unwrap();
            prop_assert!(a > 0.0 && b > a * (1.0 - 1e-9));
        }
    }
}
