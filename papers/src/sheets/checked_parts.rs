//! What the studies of the two checks share: cells, histograms, and what is said where check 1 could not be done.

use crate::data::checked::{CheckedTimes, FirstCheckResult};
use crate::data::histogram::TimeHistogram;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity};

/// `20 (=15+5)` as in EMP table XVIII; `5` where check 1 was not done.
pub(crate) fn discards(times: &CheckedTimes, first: &FirstCheckResult) -> Cell {
    match first.cutoffs {
        0 => Cell::count(times.by_deviation as f64),
        _ => by_check(times.by_cutoff, times.by_deviation),
    }
}

/// The sum, and by which check.
pub(crate) fn by_check(first: usize, second: usize) -> Cell {
    match first + second {
        0 => Cell::count(0),
        all => Cell::count(all as f64).and(format!(" (={first}+{second})")),
    }
}

/// A share with its interval of 95 %.
pub(crate) fn share(share: f64, interval: &Interval) -> Cell {
    Cell::figure(Figure::new(Unit::Share, share).with_interval(&Ok(interval.clone())))
}

/// What the reader has to know of check 1.
pub(crate) fn first_check_remarks<'a>(checks: impl Iterator<Item = &'a FirstCheckResult> + Clone) -> Vec<String> {
    let mut remarks = Vec::new();
    let without = checks.clone().filter(|c| c.cutoffs == 0).count();
    let all = checks.clone().count();
    if without > 0 {
        let whose = if without == all { "any program".to_owned() } else { format!("{without} of {all} programs") };
        remarks.push(format!(
            "Check 1 was not done for {whose}: no daemon has a cutoff at its task time. Executions that a daemon disturbed are left \
             to check 2. Cutoffs come from a profile of this machine (tare profile)."
        ));
    }
    let unchecked: usize = checks.map(|c| c.unchecked).sum();
    if unchecked > 0 {
        remarks
            .push(format!("Of {unchecked} samples no daemons were recorded, so that check 1 could not discard them."));
    }
    remarks
}

/// A histogram as steps; `None` without any time.
pub(crate) fn histogram_curve(title: &str, look: usize, histogram: &TimeHistogram) -> Option<PageCurve> {
    let edge = |i: usize| histogram.low + histogram.width * i as f64;
    let x: Vec<f64> = (0..=histogram.counts.len()).map(edge).collect();
    let y: Vec<f64> = histogram.counts.iter().map(|c| *c as f64).chain([0.0]).collect();
    let title = title.to_owned();
    (!histogram.counts.is_empty()).then_some(PageCurve {
        title,
        look,
        thin: false,
        join: Join::Before,
        x,
        y,
        band: None,
    })
}

/// A figure of one histogram.
pub(crate) fn histogram_figure(id: String, title: String, histogram: &TimeHistogram) -> Option<PageFigure> {
    let curve = histogram_curve("Samples", 0, histogram)?;
    Some(PageFigure {
        id,
        title,
        note: format!("Bins of {}.", Cell::time(histogram.width)),
        x: PageAxis::linear("Process time", PageQuantity::Time),
        y: PageAxis::counts("Samples in a bin"),
        curves: vec![curve],
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sheets::timing_parts::statistics;
    use tarebench_core::statistics::series::Summary;

    /// 800 samples of INC128 (EMP table XVIII, PT).
    pub(crate) fn inc128(by_cutoff: usize, by_deviation: usize) -> CheckedTimes {
        let summary = Summary {
            n: 800 - by_cutoff - by_deviation,
            mean: 128_250e6,
            median: 128_250e6,
            std_dev: Some(2.6e6),
            relative_error: Some(2.6 / 128_250.0),
            min: 128_245e6,
            max: 128_255e6,
        };
        CheckedTimes { samples: 800, by_cutoff, by_deviation, summary }
    }

    pub(crate) fn checked_with(cutoffs: usize) -> FirstCheckResult {
        FirstCheckResult { cutoffs, ..FirstCheckResult::default() }
    }

    /// EMP table XVIII: 20 (=15+5), 128,245, 128,255, 128,250, 2.6, 2.0 × 10⁻⁵.
    #[test]
    fn cells_of_the_papers_row() {
        let times = inc128(15, 5);
        assert_eq!(discards(&times, &checked_with(10)), "20 (=15+5)");
        assert_eq!(discards(&times, &checked_with(0)), "5");
        assert_eq!(statistics(&times.summary), ["128.2450 s", "128.2550 s", "128.2500 s ± 0.0026"]);
    }

    #[test]
    fn a_missing_check_is_said() {
        let (with, without) = (checked_with(3), checked_with(0));
        assert!(first_check_remarks([&with].into_iter()).is_empty());
        let said = first_check_remarks([&with, &without].into_iter());
        assert!(said.len() == 1 && said[0].contains("1 of 2 programs"), "{said:?}");
        assert!(first_check_remarks([&without].into_iter())[0].contains("any program"));
    }

    #[test]
    fn steps_end_at_zero() {
        let histogram = TimeHistogram { low: 10.0, width: 5.0, counts: vec![2, 1] };
        let curve = histogram_curve("a", 0, &histogram).unwrap();
        assert_eq!((curve.x, curve.y), (vec![10.0, 15.0, 20.0], vec![2.0, 1.0, 0.0]));
        assert_eq!(histogram_curve("a", 0, &TimeHistogram::default()), None);
    }
}
