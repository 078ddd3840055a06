//! Studies that measure INC under one condition after the other: a plan and the factors that it is about.

use crate::data::cells::StudyPreset;
use crate::data::condition_tables::{ConditionComparison, compare_conditions};
use crate::data::inc::{inc_run, table_lengths, with_setting};
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use serde::Serialize;

/// Process times of INC of the lengths of EMP tables II to V under several conditions.
pub struct ConditionStudy {
    /// The machine's factors that it is about.
    factors: &'static [&'static str],
    /// Samples of each length, at the presets `minutes` and `hour`.
    samples: (u32, u32),
    /// Names of the conditions in their order, and the factor that each sets; the first is the reference.
    conditions: &'static [(&'static str, Option<(&'static str, &'static str)>)],
}

/// EMP section 4.2, figure 10, tables III and IV: the NTP daemon off, then on, as the paper.
pub const NTP: ConditionStudy = ConditionStudy {
    factors: &["ntp"],
    samples: (50, 100),
    conditions: &[("NTP off", Some(("ntp", "off"))), ("NTP on", Some(("ntp", "on")))],
};

/// EMP section 4.3, figure 11, tables IV and V: the machine as it is, then without turbo mode, then without frequency scaling. The paper
/// switched both off at once, in the firmware; a run sets one factor, so the two are shown one by one.
pub const CLOCK_SPEED: ConditionStudy = ConditionStudy {
    factors: &["turbo", "governor", "frequency"],
    samples: (35, 70),
    conditions: &[
        ("clock speed as it is", None),
        ("turbo off", Some(("turbo", "off"))),
        ("governor performance", Some(("governor", "performance"))),
    ],
};

/// What the samples of such a study come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionReport {
    pub comparison: ConditionComparison,
}

impl ConditionStudy {
    /// A run for each condition.
    pub fn plan(&self, preset: StudyPreset) -> Vec<StudyRunPlan> {
        let (lengths, samples) = table_lengths(preset, self.samples.0, self.samples.1);
        let run = |(name, setting): &(&str, Option<(&str, &str)>)| {
            let run = inc_run(name, &lengths, samples);
            match setting {
                Some((factor, value)) => with_setting(run, factor, value),
                None => run,
            }
        };
        self.conditions.iter().map(run).collect()
    }

    /// # Errors
    /// [`StudyGap`] without a series of at least two samples, or if samples have no process time. Of one condition alone there are
    /// tables, but no comparison.
    pub fn report(&self, series: &[StudySeries<'_>]) -> Result<ConditionReport, StudyGap> {
        Ok(ConditionReport { comparison: compare_conditions(series, self.factors)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::{head_with, noisy};
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, series};
    use tarebench_core::machine::data::Standing;
    use tarebench_core::statistics::spread::SpreadVerdict;

    #[test]
    fn the_plans_of_ntp_take_as_long_as_they_say() {
        assert!((100.0..300.0).contains(&computing(&NTP.plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&NTP.plan(StudyPreset::Hour))));
        let paper = NTP.plan(StudyPreset::Paper);
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
            let r = NTP.report(&[series("NTP off", &p, &h, &off), series("NTP on", &p, &h, &on)]).unwrap();
            let pooled = r.comparison.contrasts[0].pooled.clone().unwrap();
            held += u32::from(pooled.interval.contains(10.7 / 15.4));
            less += u32::from(pooled.verdict() == SpreadVerdict::Less);
            let mean = r.comparison.contrasts[0].programs[0].mean_ratio;
            assert!((mean - 8.309 / 8.367).abs() < 1e-3);
        }
        // Of 100 such pairs of series, 91 and 96.
        assert!(held >= 16 && less >= 17, "{held}, {less}");
    }

    #[test]
    fn the_plans_of_the_clock_speed_take_as_long_as_they_say() {
        assert!((100.0..300.0).contains(&computing(&CLOCK_SPEED.plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&CLOCK_SPEED.plan(StudyPreset::Hour))));
        let paper = CLOCK_SPEED.plan(StudyPreset::Paper);
        assert_eq!((paper.len(), paper[0].setting.clone(), paper[2].samples), (3, None, 1000));
    }

    #[test]
    fn slower_and_steadier_without_turbo() {
        let p = program("INC8", Some(8.0));
        let on = head_with("turbo", "on", Standing::NotHeld, 3);
        let off = head_with("turbo", "off", Standing::Held, 3);
        // EMP tables IV and V: 8,309 ms with 10.7 ms; 9,063 ms with 8.7 ms. Here, with half of the spread.
        let (a, b) = (noisy(1, 200, 8.309e9, 10.7e6, 0), noisy(2, 200, 9.063e9, 5.35e6, 0));
        let r = CLOCK_SPEED
            .report(&[series("clock speed as it is", &p, &on, &a), series("turbo off", &p, &off, &b)])
            .unwrap();
        let contrast = &r.comparison.contrasts[0];
        assert!((contrast.programs[0].mean_ratio - 9.063 / 8.309).abs() < 1e-3);
        assert_eq!(contrast.pooled.as_ref().map(|r| r.verdict()), Ok(SpreadVerdict::Less));
        assert_eq!(r.comparison.conditions[1].state[0].value, "off");
        assert!(!r.comparison.same_state());
    }
}
