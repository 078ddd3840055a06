//! Process time with turbo mode and frequency scaling on and off (EMP section 4.3, figure 11, tables IV and V).

use crate::data::cells::StudyPreset;
use crate::data::condition_tables::{ConditionComparison, compare_conditions};
use crate::data::inc::{inc_run, table_lengths, with_setting};
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use serde::Serialize;

/// The factors of the clock speed.
const FACTORS: [&str; 3] = ["turbo", "governor", "frequency"];

/// Turbo mode and frequency scaling as they are, and switched off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockSpeedReport {
    pub comparison: ConditionComparison,
}

/// The machine as it is, then without turbo mode, then without frequency scaling. The paper switched both off at once, in the
/// firmware; a run sets one factor, so the two are shown one by one.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let (lengths, samples) = table_lengths(preset, 35, 70);
    let run = |condition: &str| inc_run(condition, &lengths, samples);
    vec![
        run("clock speed as it is"),
        with_setting(run("turbo off"), "turbo", "off"),
        with_setting(run("governor performance"), "governor", "performance"),
    ]
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time. Of one condition alone there are
/// tables, but no comparison.
pub fn report(series: &[StudySeries<'_>]) -> Result<ClockSpeedReport, StudyGap> {
    Ok(ClockSpeedReport { comparison: compare_conditions(series, &FACTORS)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::{head_with, noisy};
    use crate::data::inc::computing;
    use crate::data::test_samples::{program, series};
    use tarebench_core::machine::data::Standing;
    use tarebench_core::statistics::spread::SpreadVerdict;

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((100.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        assert_eq!((paper.len(), paper[0].setting.clone(), paper[2].samples), (3, None, 1000));
    }

    #[test]
    fn slower_and_steadier_without_turbo() {
        let p = program("INC8", Some(8.0));
        let on = head_with("turbo", "on", Standing::NotHeld, 3);
        let off = head_with("turbo", "off", Standing::Held, 3);
        // EMP tables IV and V: 8,309 ms with 10.7 ms; 9,063 ms with 8.7 ms. Here, with half of the spread.
        let (a, b) = (noisy(1, 200, 8.309e9, 10.7e6, 0), noisy(2, 200, 9.063e9, 5.35e6, 0));
        let r = report(&[series("clock speed as it is", &p, &on, &a), series("turbo off", &p, &off, &b)]).unwrap();
        let contrast = &r.comparison.contrasts[0];
        assert!((contrast.programs[0].mean_ratio - 9.063 / 8.309).abs() < 1e-3);
        assert_eq!(contrast.pooled.as_ref().map(|r| r.verdict()), Ok(SpreadVerdict::Less));
        assert_eq!(r.comparison.conditions[1].state[0].value, "off");
        assert!(!r.comparison.same_state());
    }
}
