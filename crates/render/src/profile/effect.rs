//! What a daemon does to process time, in words.

use tarebench_core::profile::data::ProcessTimeEffect;
use tarebench_report::number;

/// `PT +0.4 ± 2%`: the estimate and half of its 95% interval.
pub(crate) fn process_time(effect: Option<&ProcessTimeEffect>, unicode: bool) -> String {
    let Some(effect) = effect else { return "its effect on PT is not known".to_owned() };
    let per_cent = |share: f64, digits| number::fixed(100.0 * share, digits).unwrap_or_default();
    let half = effect.low.zip(effect.high).map(|(low, high)| (high - low) / 2.0);
    // As many digits as the interval has a meaning for.
    let digits = if half.is_some_and(|h| h >= 0.1) { 0 } else { 1 };
    let sign = if effect.change >= 0.0 { "+" } else { "" };
    let change = per_cent(effect.change, digits);
    match half {
        Some(half) => format!("PT {sign}{change} {} {}%", if unicode { "±" } else { "+-" }, per_cent(half, digits)),
        None => format!("PT {sign}{change}% in {} visits, too few for an interval", effect.visits),
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
        let said = |e: ProcessTimeEffect| process_time(Some(&e), true);
        assert_eq!(said(effect(0.004, Some(0.02))), "PT +0.4 ± 2.0%");
        assert_eq!(said(effect(-0.031, Some(0.2))), "PT -3 ± 20%");
        assert_eq!(said(effect(0.02, None)), "PT +2.0% in 4 visits, too few for an interval");
        assert_eq!(process_time(None, true), "its effect on PT is not known");
    }
}
