//! The K-best scheme (CS:APP section 9.4.3): everything that a machine adds to a time makes it longer, so the fastest of several
//! trials is nearest to the time of the code itself, and K of them that agree show that it did not occur by chance.
//!
//! It is a floor, not an average: it has no confidence interval. And agreement proves less than it seems: on a machine
//! with two speeds, three trials in a row are of the slower one with a probability of 34% if that has 70% of the time.
//! [`Parameters::least`] is the remedy: with at least 11 trials the probability is 2%.

use serde::{Deserialize, Serialize};

/// When the trials may end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Parameters {
    k: u32,
    epsilon: f64,
    most: u32,
    least: u32,
}

/// [`Parameters`] as a document has them.
#[derive(Deserialize)]
struct Unchecked {
    k: u32,
    epsilon: f64,
    most: u32,
    least: u32,
}

impl TryFrom<Unchecked> for Parameters {
    type Error = BadParameters;

    fn try_from(u: Unchecked) -> Result<Parameters, BadParameters> {
        Parameters::new(u.k, u.epsilon, u.most, u.least)
    }
}

/// Parameters that make no sense.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadParameters {
    /// No trial would be kept.
    #[error("K is 0, expected at least 1")]
    K,
    #[error("epsilon is {0}, expected a finite number of at least 0: the share by which the K fastest may differ")]
    Epsilon(f64),
    /// It could never converge, or never end.
    #[error("at most {most} trials, expected at least {need}: no fewer than K and than the minimum number of trials")]
    Most {
        /// The limit that was asked for.
        most: u32,
        /// The larger of K and the fewest trials.
        need: u32,
    },
}

impl Default for Parameters {
    /// The book's: K = 3, epsilon = 0.1%, M = 30, and no fewest trials.
    fn default() -> Parameters {
        Parameters { k: 3, epsilon: 0.001, most: 30, least: 0 }
    }
}

impl Parameters {
    /// `k` trials must agree within `epsilon` (a share); no more than `most` are made, and no fewer than `least`.
    ///
    /// # Errors
    /// [`BadParameters`], the first that is bad.
    pub fn new(k: u32, epsilon: f64, most: u32, least: u32) -> Result<Parameters, BadParameters> {
        if k == 0 {
            return Err(BadParameters::K);
        }
        if !(epsilon.is_finite() && epsilon >= 0.0) {
            return Err(BadParameters::Epsilon(epsilon));
        }
        let need = k.max(least);
        if most < need {
            return Err(BadParameters::Most { most, need });
        }
        Ok(Parameters { k, epsilon, most, least })
    }

    /// Trials that must agree.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Share by which they may differ.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Trials after which it gives up (the book's M).
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Trials that are made in any case.
    pub fn least(&self) -> u32 {
        self.least
    }
}

/// Room for at most this many of the K fastest is allocated at once: a document may give any K and have few trials.
const ROOM: u32 = 1 << 16;

/// The K fastest trials so far. Adding one allocates nothing, up to a K of 65536.
#[derive(Clone, Debug)]
pub struct KBest {
    parameters: Parameters,
    /// Ascending, at most K.
    best: Vec<f64>,
    trials: u32,
}

impl KBest {
    /// Before the first trial.
    pub fn new(parameters: Parameters) -> KBest {
        // K is the caller's; beyond the number of trials nothing is ever kept.
        let room = parameters.k.min(parameters.most).min(ROOM) as usize;
        KBest { parameters, best: Vec::with_capacity(room), trials: 0 }
    }

    /// Takes one trial's time, in any unit.
    pub fn add(&mut self, time: f64) {
        self.trials = self.trials.saturating_add(1);
        let at = self.best.partition_point(|b| b.total_cmp(&time).is_le());
        if self.best.len() == self.parameters.k as usize {
            if at == self.best.len() {
                return;
            }
            self.best.pop();
        }
        self.best.insert(at, time);
    }

    /// Whether the K fastest agree: (1 + epsilon) v1 >= vK.
    pub fn converged(&self) -> bool {
        let (Some(first), Some(last)) = (self.best.first(), self.best.last()) else { return false };
        self.best.len() == self.parameters.k as usize && (1.0 + self.parameters.epsilon) * first >= *last
    }

    /// Whether no more trials are needed, or allowed.
    pub fn done(&self) -> bool {
        let enough = self.trials >= self.parameters.least && self.converged();
        enough || self.trials >= self.parameters.most
    }

    /// What is known; `None` before the first trial.
    pub fn outcome(&self) -> Option<SchemeOutcome> {
        let (first, last) = (*self.best.first()?, *self.best.last()?);
        let spread = if first > 0.0 { (last - first) / first } else { 0.0 };
        Some(SchemeOutcome {
            value: first,
            best: self.best.clone(),
            spread,
            trials: self.trials,
            converged: self.converged(),
        })
    }
}

/// What the trials came to, in their unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeOutcome {
    pub value: f64,
    /// The K fastest, ascending; fewer if fewer were made.
    pub best: Vec<f64>,
    /// How far they are apart, (vK - v1) / v1: no bound on the error, which the book found to be ten times the value while this
    /// was below 0.001. 0 where the fastest is 0.
    pub spread: f64,
    pub trials: u32,
    /// Whether the K fastest agree.
    pub converged: bool,
}

/// The scheme applied to existing times: the trials that it would have made, in their order.
pub fn kbest(times: impl IntoIterator<Item = f64>, parameters: Parameters) -> Option<SchemeOutcome> {
    let mut k = KBest::new(parameters);
    for time in times {
        k.add(time);
        if k.done() {
            break;
        }
    }
    k.outcome()
}

/// Probability that a trial of length `time` is not interrupted, if the scheduler runs it for `slice` at a time and it
/// starts anywhere in a slice (CS:APP practice problem 9.7): 1 - time / slice, and 0 from the slice on.
pub fn chance_undisturbed(time: f64, slice: f64) -> f64 {
    (1.0 - time / slice).clamp(0.0, 1.0)
}

/// Trials that are needed on average for `k` undisturbed ones (practice problem 9.7); infinite if there can be none.
pub fn expected_trials(k: u32, time: f64, slice: f64) -> f64 {
    f64::from(k) / chance_undisturbed(time, slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    fn book(k: u32) -> Parameters {
        Parameters::new(k, 0.01, 30, 0).unwrap()
    }

    #[test]
    fn stops_at_the_third_that_agrees() {
        let o = kbest([125.0, 40.0, 36.3, 155.0, 36.0, 36.1, 1.0], book(3)).unwrap();
        assert_eq!((o.value, o.trials, o.converged), (36.0, 6, true));
        assert_eq!(o.best, [36.0, 36.1, 36.3]);
        assert!((o.spread - 0.3 / 36.0).abs() < 1e-12);
    }

    #[test]
    fn one_needs_no_other() {
        let o = kbest([125.0, 40.0], book(1)).unwrap();
        assert_eq!((o.value, o.trials, o.converged, o.spread), (125.0, 1, true, 0.0));
    }

    #[test]
    fn gives_up_and_says_so() {
        let o = kbest((1..).map(f64::from), Parameters::new(3, 0.1, 8, 0).unwrap()).unwrap();
        assert_eq!((o.value, o.trials, o.converged), (1.0, 8, false));
        assert_eq!(kbest([], book(3)), None);
        // Fewer trials than K agree with nothing.
        assert!(!kbest([5.0, 5.0], book(3)).unwrap().converged);
    }

    #[test]
    fn makes_the_fewest() {
        let p = Parameters::new(3, 0.01, 30, 11).unwrap();
        assert_eq!(kbest([5.0; 20], p).unwrap().trials, 11);
    }

    #[test]
    fn bad_parameters_are_named() {
        assert_eq!(Parameters::new(0, 0.1, 1, 0), Err(BadParameters::K));
        assert!(matches!(Parameters::new(1, f64::NAN, 1, 0), Err(BadParameters::Epsilon(_))));
        assert!(matches!(Parameters::new(1, -0.1, 1, 0), Err(BadParameters::Epsilon(_))));
        assert_eq!(Parameters::new(3, 0.1, 2, 0), Err(BadParameters::Most { most: 2, need: 3 }));
        assert_eq!(Parameters::new(3, 0.1, 5, 11), Err(BadParameters::Most { most: 5, need: 11 }));
        let d = Parameters::default();
        assert_eq!(Parameters::new(d.k(), d.epsilon(), d.most(), d.least()), Ok(d));
    }

    #[test]
    fn any_k_costs_no_memory() {
        let mut k = KBest::new(Parameters::new(u32::MAX, 0.1, u32::MAX, 0).unwrap());
        assert!(k.best.capacity() <= ROOM as usize);
        k.add(1.0);
        assert_eq!(k.outcome().map(|o| (o.value, o.converged)), Some((1.0, false)));
    }

    /// CS:APP practice problem 9.7.
    #[test]
    fn a_scheduler_with_slices_of_50_ms() {
        assert_eq!([20.0, 40.0].map(|t| expected_trials(3, t, 50.0).round()), [5.0, 15.0]);
        assert_eq!([0.0, 25.0, 50.0, 60.0].map(|t| chance_undisturbed(t, 50.0)), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(expected_trials(3, 60.0, 50.0), f64::INFINITY);
    }

    /// A fast mode with 30% of the trials and a slow one, 10% apart: how often the slow one is taken.
    #[test]
    fn a_slow_mode_is_taken_for_the_truth() {
        let locked = |least: u32| {
            let p = Parameters::new(3, 0.01, 20, least).unwrap();
            let mut rng = generator(1, RandomPurpose::Order, u64::from(least));
            let slow = (0..4000).filter(|_| {
                let times = std::iter::repeat_with(|| if below(&mut rng, 10) < 3 { 1.0 } else { 1.1 });
                kbest(times.take(20), p).unwrap().value > 1.05
            });
            slow.count() as f64 / 4000.0
        };
        let (book, eleven) = (locked(0), locked(11));
        assert!((book - 0.343).abs() < 0.03, "{book}");
        assert!((eleven - 0.7_f64.powi(11)).abs() < 0.01, "{eleven}");
    }

    proptest! {
        #[test]
        fn the_k_fastest_of_all_that_were_used(times in proptest::collection::vec(0.0..1e9_f64, 1..60), k in 1..6_u32) {
            let o = kbest(times.iter().copied(), Parameters::new(k, 0.001, 30, 0).unwrap()).unwrap();
            let mut used = times[..o.trials as usize].to_vec();
            used.sort_by(f64::total_cmp);
            used.truncate(k as usize);
            prop_assert_eq!(&o.best, &used);
            prop_assert_eq!(o.value, used[0]);
            prop_assert!(o.converged || o.trials as usize == times.len().min(30));
        }

        #[test]
        fn any_bits_do_no_harm(times in proptest::collection::vec(any::<f64>(), 0..40)) {
            let _ = kbest(times, Parameters::default());
        }
    }
}
