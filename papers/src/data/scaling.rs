//! Process time by task length, up to hours, and by kernel or machine (EMP section 4.4, figure 12, table VI; the report's
//! table 3 and figure 1).

use crate::data::cells::StudyPreset;
use crate::data::condition_tables::{ConditionComparison, compare_conditions};
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use serde::Serialize;
use tarebench_core::statistics::log_growth::{LogGrowth, log_growth};

/// Process time by task length; a condition for each kernel and machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalingReport {
    pub comparison: ConditionComparison,
    /// For each condition, in their order.
    pub growth: Vec<SpreadGrowth>,
}

/// How spread grows with task length; `None` for fewer than two lengths with a spread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpreadGrowth {
    /// Of the standard deviation, the papers' measure.
    pub std_dev: Option<LogGrowth>,
    /// Of the robust spread.
    pub robust: Option<LogGrowth>,
}

/// The paper's lengths double from 1 s to 16,384 s: 1,000 samples of each up to 64 s, 300 up to 4,096 s, then 40.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let lengths = |from: i32, to: i32| (from..=to).map(|power| 2f64.powi(power)).collect::<Vec<_>>();
    let run = |from, to, samples| inc_run("", &lengths(from, to), samples);
    match preset {
        StudyPreset::Minutes => vec![run(-4, 0, 60), run(1, 2, 20)],
        StudyPreset::Hour => vec![run(0, 4, 40), run(5, 6, 20)],
        StudyPreset::Paper => vec![run(0, 6, 1000), run(7, 12, 300), run(13, 14, 40)],
    }
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report(series: &[StudySeries<'_>]) -> Result<ScalingReport, StudyGap> {
    let comparison = compare_conditions(series, &[])?;
    let growth = comparison.conditions.iter().map(|c| {
        let deviations: Vec<(f64, f64)> = c.rows.iter().filter_map(|r| r.deviation_by_size()).collect();
        let robust: Vec<(f64, f64)> = c.rows.iter().filter_map(|r| r.size.zip(r.robust_spread)).collect();
        SpreadGrowth { std_dev: log_growth(&deviations), robust: log_growth(&robust) }
    });
    let growth = growth.collect();
    Ok(ScalingReport { comparison, growth })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::noisy;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, series};

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        let labels: Vec<String> = paper.iter().flat_map(|r| &r.programs).map(|p| p.label.clone()).collect();
        assert_eq!((labels.len(), labels[0].as_str(), labels[14].as_str()), (15, "INC1", "INC16384"));
        assert_eq!(paper.iter().map(|r| r.samples).collect::<Vec<_>>(), [1000, 300, 40]);
    }

    #[test]
    fn spread_that_doubles_with_four_times_the_length() {
        let h = head("a");
        let programs: Vec<_> = [1.0, 4.0, 16.0, 64.0].map(|s| program(&format!("INC{s}"), Some(s))).to_vec();
        let samples: Vec<_> =
            (0..).zip([1.0, 4.0, 16.0, 64.0_f64]).map(|(i, s)| noisy(i, 400, s * 1e9, 1e6 * s.sqrt(), 0)).collect();
        let all: Vec<_> = programs.iter().zip(&samples).map(|(p, s)| series("", p, &h, s)).collect();
        let r = report(&all).unwrap();
        let growth = r.growth[0].std_dev.clone().unwrap();
        assert!((growth.slope - 0.5).abs() < 0.05 && growth.points == 4, "{growth:?}");
        assert!((r.growth[0].robust.as_ref().unwrap().slope - 0.5).abs() < 0.1);
        assert_eq!(r.comparison.conditions[0].rows.len(), 4);
    }

    #[test]
    fn machines_are_told_apart() {
        let (p, a, b) = (program("INC8", Some(8.0)), head("a"), head("b"));
        let (wide, narrow) = (noisy(1, 50, 8e9, 9e6, 0), noisy(2, 50, 8e9, 1.8e6, 0));
        let r = report(&[series("", &p, &a, &wide), series("", &p, &b, &narrow)]).unwrap();
        let labels: Vec<&str> = r.comparison.conditions.iter().map(|c| c.label.as_str()).collect();
        assert_eq!((labels, r.growth[0].std_dev.clone()), (vec!["a", "b"], None));
        assert!(r.comparison.contrasts[0].pooled.as_ref().is_ok_and(|s| s.interval.contains(0.2)));
    }
}
