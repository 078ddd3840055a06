//! What a daemon does to process time, in words.

use tarebench_core::profile::data::ProcessTimeEffect;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};

/// The change of process time with its interval: `+0.4 % [−1.6, +2.4]`.
pub(crate) fn change(effect: Option<&ProcessTimeEffect>) -> Cell {
    let Some(effect) = effect else { return Cell::absent() };
    let change = Figure::new(Unit::Change, 1.0 + effect.change);
    match effect.low.zip(effect.high) {
        Some((low, high)) => {
            change.with_interval(&Ok(Interval { low: 1.0 + low, high: 1.0 + high, level: 0.95 })).into()
        }
        None => Cell::figure(change).and(format!(" in {} visits, too few for an interval", effect.visits)),
    }
}

/// The same in a sentence.
pub(crate) fn process_time(effect: Option<&ProcessTimeEffect>) -> Cell {
    match effect {
        Some(_) => Cell::text("PT ").and(change(effect)),
        None => "its effect on PT is not known".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_interval() {
        let effect = |change: f64, half: Option<f64>| ProcessTimeEffect {
            change,
            low: half.map(|h| change - h),
            high: half.map(|h| change + h),
            visits: 4,
            lengthens: false,
        };
        let said = |e: ProcessTimeEffect| process_time(Some(&e)).plain();
        assert_eq!(said(effect(0.004, Some(0.02))), "PT +0.4 % [−1.6, +2.4]");
        assert_eq!(said(effect(-0.031, Some(0.2))), "PT −3.1 % [−23.1, +16.9]");
        assert_eq!(said(effect(0.02, None)), "PT +2.0 % in 4 visits, too few for an interval");
        assert_eq!(process_time(None), "its effect on PT is not known");
    }
}
