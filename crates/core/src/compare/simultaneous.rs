//! Verdicts on several programs that hold together.
//!
//! A run that compares ten programs with their reference gives ten verdicts, and each by several measures. If each had an error of
//! 5%, one of ten would be wrong in up to 40% of the runs. So the error is shared out by Holm's method ([`crate::statistics::holm`]),
//! in terms of intervals: all intervals have the level of 1 - error / m for m hypotheses; the k of them that decide something are set
//! aside, and the rest has the level of 1 - error / (m - k), and so on, until none decides anything more. Each keeps the interval
//! that it had when it was set aside, so that intervals and verdicts agree.
//!
//! The verdicts that a run is about (of each program by its duets, or by the time that it is compared by) have 4% together, those by
//! the other times of the programs 1%: all of them 5%, and few programs that run a few times are still told apart. Where all of the
//! first kind are decided, their 4% is passed on to the others (Bretz and others, Statistics in Medicine 28, 2009).

/// Of the verdicts that a run is about, together.
pub const HEADLINE_ERROR: f64 = 0.04;
/// Of all others, together.
pub const OTHER_ERROR: f64 = 0.01;

/// The error of the interval of each of `hypotheses`. `decides` says whether the interval of one (by its place) decides something if it
/// has this error; an interval of a smaller error decides no more.
pub fn errors(hypotheses: usize, error: f64, decides: impl Fn(usize, f64) -> bool) -> Vec<f64> {
    let mut found: Vec<Option<f64>> = vec![None; hypotheses];
    loop {
        let open: Vec<usize> = (0..).zip(&found).filter(|(_, f)| f.is_none()).map(|(i, _)| i).collect();
        let share = error / open.len().max(1) as f64;
        let deciding: Vec<usize> = open.into_iter().filter(|i| decides(*i, share)).collect();
        if deciding.is_empty() {
            return found.into_iter().map(|f| f.unwrap_or(share)).collect();
        }
        for place in deciding {
            if let Some(f) = found.get_mut(place) {
                *f = Some(share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::holm::holm;
    use proptest::prelude::*;

    #[test]
    fn those_that_decide_make_room_for_the_rest() {
        let p = [0.001, 0.02, 0.5];
        // 0.001 at 0.05 / 3, then 0.02 at 0.05 / 2, then 0.5 not even at 0.05.
        assert_eq!(errors(3, 0.05, |i, error| p[i] <= error), [0.05 / 3.0, 0.05 / 2.0, 0.05]);
        assert_eq!(errors(2, 0.05, |_, _| false), [0.025, 0.025]);
        assert_eq!(errors(0, 0.05, |_, _| true), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn it_is_holms_method(p in proptest::collection::vec(0.0..0.1_f64, 0..12)) {
            let errors = errors(p.len(), 0.05, |i, error| p[i] <= error);
            let decided: Vec<bool> = p.iter().zip(&errors).map(|(p, e)| p <= e).collect();
            prop_assert_eq!(decided, holm(&p, 0.05));
        }
    }
}
