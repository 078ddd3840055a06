//! A list of real programs: how well elapsed time, EMP's process time and SEDONA's result time them (EMP table XXVI; SEDONA
//! table 3).

use crate::data::cells::StudyPreset;
use crate::data::programs::{ProgramQuality, QualityVerdict, qualities};
use crate::data::series::{StudyGap, StudyProgram, StudyRunPlan, StudySeries, StudyWork};
use serde::Serialize;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::statistics::series::Summary;

/// The programs of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteReport {
    pub programs: Vec<ProgramQuality>,
    pub averages: SuiteAverages,
    /// How many programs' spread is shown to be smaller.
    pub verdict: QualityVerdict,
}

/// The last row of SEDONA's table 3: arithmetic means over the programs, which the longest ones dominate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SuiteAverages {
    /// ORG: elapsed time of all samples.
    pub plain: AverageSpread,
    /// EMP: elapsed time after both checks.
    pub elapsed: AverageSpread,
    /// EMP: process time after both checks.
    pub process: AverageSpread,
    /// SEDONA: process time after check 1.
    pub sedona: AverageSpread,
}

/// `None` if a program has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AverageSpread {
    /// ns.
    pub std_dev: Option<f64>,
    pub relative_error: Option<f64>,
}

impl AverageSpread {
    fn new<'a>(summaries: impl Iterator<Item = &'a Summary> + Clone) -> AverageSpread {
        AverageSpread {
            std_dev: mean(summaries.clone().map(|s| s.std_dev)),
            relative_error: mean(summaries.map(|s| s.relative_error)),
        }
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all = values.collect::<Option<Vec<f64>>>().filter(|all| !all.is_empty())?;
    Some(all.iter().sum::<f64>() / all.len() as f64)
}

/// These programs, ten times each as in the papers; 30 times in the hour, where the interval of a standard deviation is narrower.
/// Their commands find the amount of work in the variable TARE_SIZE: 1, 4 or 20.
pub fn plan(preset: StudyPreset, programs: &[StudyProgram]) -> Vec<StudyRunPlan> {
    let (samples, size) = match preset {
        StudyPreset::Minutes => (10, 1),
        StudyPreset::Hour => (30, 4),
        StudyPreset::Paper => (10, 20),
    };
    if programs.is_empty() {
        return Vec::new();
    }
    let programs = programs.iter().map(|p| sized(p, size)).collect();
    vec![StudyRunPlan { condition: String::new(), setting: None, programs, samples, warmup: 1 }]
}

/// The program with TARE_SIZE set in its commands.
fn sized(program: &StudyProgram, size: u32) -> StudyProgram {
    let mut program = program.clone();
    if let StudyWork::Shell { command, setup, cleanup } = &mut program.work {
        for script in [Some(command), setup.as_mut(), cleanup.as_mut()].into_iter().flatten() {
            script.insert_str(0, &format!("export TARE_SIZE={size}\n"));
        }
    }
    program
}

/// Without cutoffs, so that SEDONA's result is the mean process time of all samples.
pub fn report(series: &[StudySeries<'_>]) -> Result<SuiteReport, StudyGap> {
    report_with(series, &[])
}

/// With the cutoffs of a profile of the machine.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<SuiteReport, StudyGap> {
    let programs = qualities(series, cutoffs)?;
    let averages = SuiteAverages {
        plain: AverageSpread::new(programs.iter().map(|p| &p.plain)),
        elapsed: AverageSpread::new(programs.iter().map(|p| &p.elapsed.summary)),
        process: AverageSpread::new(programs.iter().map(|p| &p.process.summary)),
        sedona: AverageSpread::new(programs.iter().map(|p| &p.sedona.summary)),
    };
    Ok(SuiteReport { verdict: QualityVerdict::new(&programs), averages, programs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::programs::tests::waiting;
    use crate::data::test_samples::{head, program, sample, series};

    #[test]
    fn averages_over_programs() {
        let h = head("a");
        let programs = [program("perl", None), program("gcc", None)];
        // Elapsed times of ± 10 and ± 30 around 1000: deviations of 10·√(6/5) and 30·√(6/5) of six samples.
        let times = |off: i64| {
            (0..6).map(move |i| sample(i, 0.0, if i % 2 == 0 { 1000 + off } else { 1000 - off }, 900 + i64::from(i)))
        };
        let (a, b): (Vec<_>, Vec<_>) = (times(10).collect(), times(30).collect());
        let found = report(&[series("", &programs[0], &h, &a), series("", &programs[1], &h, &b)]).unwrap();
        let factor = 1.2_f64.sqrt();
        assert!((found.averages.plain.std_dev.unwrap() - 20.0 * factor).abs() < 1e-9);
        assert!((found.averages.plain.relative_error.unwrap() - 0.02 * factor).abs() < 1e-12);
        let sedona = found.programs[0].sedona.summary.std_dev.unwrap();
        assert!((found.averages.sedona.std_dev.unwrap() - sedona).abs() < 1e-9);
        assert_eq!(found.verdict.compared, 2);
    }

    #[test]
    fn a_verdict_over_many_programs() {
        let h = head("a");
        let programs: Vec<_> = (0..8).map(|i| program(&format!("p{i}"), None)).collect();
        let samples: Vec<_> = (0..8).map(|i| waiting(20 + i, 40, 1e7)).collect();
        let all: Vec<_> = programs.iter().zip(&samples).map(|(p, s)| series("", p, &h, s)).collect();
        let verdict = report(&all).unwrap().verdict;
        assert_eq!((verdict.compared, verdict.smaller, verdict.larger), (8, 8, 0));
        assert!(verdict.ratio.is_some_and(|i| i.high < 0.3), "{:?}", verdict.estimate);
    }

    #[test]
    fn no_programs_no_runs() {
        assert!(plan(StudyPreset::Paper, &[]).is_empty());
        let runs = plan(StudyPreset::Hour, &[program("gcc", None)]);
        assert_eq!((runs.len(), runs[0].samples, runs[0].programs.len()), (1, 30, 1));
        let work = StudyWork::Shell { command: "gzip a".to_owned(), setup: Some("make a".to_owned()), cleanup: None };
        let gzip = StudyProgram { label: "gzip".to_owned(), work, size: None };
        let StudyWork::Shell { command, setup, cleanup } = sized(&gzip, 20).work else { panic!("{gzip:?}") };
        assert_eq!(command, "export TARE_SIZE=20\ngzip a");
        assert_eq!((setup.as_deref(), cleanup), (Some("export TARE_SIZE=20\nmake a"), None));
        assert_eq!(report(&[]), Err(StudyGap::NoSamples));
    }
}
