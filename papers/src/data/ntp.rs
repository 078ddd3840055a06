//! Process time with the NTP daemon off and on (EMP section 4.2, figure 10, tables III and IV).

use crate::data::cells::StudyPreset;
use crate::data::condition_tables::{ConditionComparison, compare_conditions};
use crate::data::inc::{inc_run, table_lengths, with_setting};
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use serde::Serialize;

/// The factor that is switched.
const FACTOR: &str = "ntp";

/// NTP off and on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NtpReport {
    pub comparison: ConditionComparison,
}

/// The daemon off, then on, as the paper.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let (lengths, samples) = table_lengths(preset, 50, 100);
    let run = |value: &str| with_setting(inc_run(&format!("NTP {value}"), &lengths, samples), FACTOR, value);
    vec![run("off"), run("on")]
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time. Of one condition alone there are
/// tables, but no comparison.
pub fn report(series: &[StudySeries<'_>]) -> Result<NtpReport, StudyGap> {
    Ok(NtpReport { comparison: compare_conditions(series, &[FACTOR])? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::noisy;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, series};
    use tarebench_core::statistics::spread::SpreadVerdict;

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((100.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        let settings: Vec<_> = paper.iter().filter_map(|r| r.setting.as_ref().map(|s| s.1.as_str())).collect();
        assert_eq!(
            (settings, paper[0].samples, paper[1].programs[3].label.as_str()),
            (vec!["off", "on"], 1000, "INC8")
        );
    }

    /// EMP tables III and IV: of INC8 15.4 ms without the daemon, 10.7 ms with it.
    #[test]
    fn the_papers_finding_in_simulated_samples() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let (mut held, mut less) = (0, 0);
        for seed in 0..20 {
            let (off, on) = (noisy(2 * seed, 300, 8.367e9, 15.4e6, 0), noisy(2 * seed + 1, 300, 8.309e9, 10.7e6, 0));
            let r = report(&[series("NTP off", &p, &h, &off), series("NTP on", &p, &h, &on)]).unwrap();
            let pooled = r.comparison.contrasts[0].pooled.clone().unwrap();
            held += u32::from(pooled.interval.contains(10.7 / 15.4));
            less += u32::from(pooled.verdict() == SpreadVerdict::Less);
            let mean = r.comparison.contrasts[0].programs[0].mean_ratio;
            assert!((mean - 8.309 / 8.367).abs() < 1e-3);
        }
        // Of 100 such pairs of series, 91 and 96.
        assert!(held >= 16 && less >= 17, "{held}, {less}");
    }
}
