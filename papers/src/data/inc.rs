//! Runs of INC for the plans of studies.

use crate::data::cells::StudyPreset;
use crate::data::series::{StudyProgram, StudyRunPlan, StudyWork};

/// INC of 1, 2, 4 and 8 seconds, of EMP tables II to V.
const TABLE_LENGTHS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The same, of which a hundred executions each take three minutes.
const SHORT_LENGTHS: [f64; 4] = [0.125, 0.25, 0.5, 1.0];
/// Samples of each length of EMP tables II to V.
const TABLE_SAMPLES: u32 = 1000;

/// Task lengths and samples of EMP tables II to V; at the shorter presets as many samples as these say.
pub(crate) fn table_lengths(preset: StudyPreset, minutes: u32, hour: u32) -> ([f64; 4], u32) {
    match preset {
        StudyPreset::Minutes => (SHORT_LENGTHS, minutes),
        StudyPreset::Hour => (TABLE_LENGTHS, hour),
        StudyPreset::Paper => (TABLE_LENGTHS, TABLE_SAMPLES),
    }
}

/// INC of this task length; `INC8` takes 8 s.
pub(crate) fn inc(seconds: f64) -> StudyProgram {
    StudyProgram { label: format!("INC{seconds}"), work: StudyWork::Inc { seconds }, size: Some(seconds) }
}

/// A run of INC of these task lengths, on the machine as it is.
pub(crate) fn inc_run(condition: &str, lengths: &[f64], samples: u32) -> StudyRunPlan {
    StudyRunPlan {
        condition: condition.to_owned(),
        setting: None,
        programs: lengths.iter().copied().map(inc).collect(),
        samples,
        // EMP section 4: the first measurement is discarded.
        warmup: 1,
    }
}

/// The same run with a factor set.
pub(crate) fn with_setting(run: StudyRunPlan, factor: &str, value: &str) -> StudyRunPlan {
    StudyRunPlan { setting: Some((factor.to_owned(), value.to_owned())), ..run }
}

/// Seconds that the programs of a plan compute, warm-ups included.
#[cfg(test)]
pub(crate) fn computing(runs: &[StudyRunPlan]) -> f64 {
    let of_run =
        |r: &StudyRunPlan| f64::from(r.samples + r.warmup) * r.programs.iter().filter_map(|p| p.size).sum::<f64>();
    runs.iter().map(of_run).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_by_their_task_length() {
        assert_eq!([0.125, 8.0, 16384.0].map(|s| inc(s).label), ["INC0.125", "INC8", "INC16384"]);
        let run = with_setting(inc_run("off", &[1.0, 2.0], 9), "ntp", "off");
        assert_eq!((run.setting.as_ref().map(|s| s.1.as_str()), run.programs.len(), run.warmup), (Some("off"), 2, 1));
        assert_eq!(computing(&[run]), 30.0);
    }
}
