//! Elapsed and process time of INC by task length (EMP figures 2 and 9, tables II and III, section 4.1).

use crate::data::cells::StudyPreset;
use crate::data::inc::{inc_run, table_lengths};
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, TimingRow, condition_labels, elapsed_values, long_enough, process_values};
use serde::Serialize;
use tarebench_core::statistics::bands::{ValueBands, value_bands};
use tarebench_core::statistics::log_growth::{LogGrowth, log_growth};
use tarebench_core::statistics::series::Values;
use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadPair, SpreadRatio, spread_ratio};

/// ET and PT of the same executions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EtPtReport {
    pub programs: Vec<EtPtProgram>,
    /// Robust spread of PT divided by that of ET: geometric mean over the programs.
    pub pooled: Result<SpreadRatio, NoSpreadRatio>,
    /// Of the standard deviation of ET with task length.
    pub elapsed_growth: Option<LogGrowth>,
    /// Of that of PT.
    pub process_growth: Option<LogGrowth>,
    /// The executions of the program with the longest tasks.
    pub longest: EtPtExecutions,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EtPtProgram {
    /// What distinguishes it from others of the same name; mostly empty.
    pub condition: String,
    /// Row of EMP table II.
    pub elapsed: TimingRow,
    /// Row of EMP table III.
    pub process: TimingRow,
    /// Mean ET minus mean PT, ns: starting, waiting for a CPU, being waited for.
    pub excess: f64,
    /// Robust spread of PT divided by that of ET, of the same executions.
    pub spread: Result<SpreadRatio, NoSpreadRatio>,
    /// `None` where at least half of the times are equal.
    pub elapsed_bands: Option<ValueBands>,
    pub process_bands: Option<ValueBands>,
}

/// Times in the order of execution, ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EtPtExecutions {
    pub label: String,
    pub elapsed: Vec<f64>,
    pub process: Vec<f64>,
}

/// INC of 1, 2, 4 and 8 s; shorter ones where there are only minutes.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let (lengths, samples) = table_lengths(preset, 100, 200);
    vec![inc_run("", &lengths, samples)]
}

/// Times of one series.
struct BothTimes<'b, 'a> {
    series: &'b StudySeries<'a>,
    elapsed: Values,
    process: Values,
}

impl BothTimes<'_, '_> {
    /// The same executions, so that what lengthens both is in both.
    fn pair(&self) -> SpreadPair<'_> {
        SpreadPair { compared: &self.process, reference: &self.elapsed, paired: true }
    }
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report(series: &[StudySeries<'_>]) -> Result<EtPtReport, StudyGap> {
    let usable = long_enough(series, 2)?;
    let labels = condition_labels(&usable);
    let mut all: Vec<(String, BothTimes<'_, '_>)> = Vec::new();
    for (label, series) in labels.into_iter().zip(usable) {
        let (elapsed, process) = (elapsed_values(series), process_values(series)?);
        all.push((label, BothTimes { series, elapsed, process }));
    }
    let size = |t: &BothTimes<'_, '_>| t.series.size().unwrap_or(0.0);
    all.sort_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)));
    let longest = all.last().map(|(_, t)| EtPtExecutions {
        label: t.series.program.label.clone(),
        elapsed: t.elapsed.as_slice().to_vec(),
        process: t.process.as_slice().to_vec(),
    });
    let longest = longest.ok_or(StudyGap::NoSamples)?;
    let pairs: Vec<SpreadPair<'_>> = all.iter().map(|(_, t)| t.pair()).collect();
    let pooled = spread_ratio(&pairs, SEED, 0);
    let programs: Vec<EtPtProgram> = (1..).zip(&all).filter_map(|(i, (label, t))| program(i, label, t)).collect();
    let growth = |row: fn(&EtPtProgram) -> &TimingRow| {
        let points: Vec<(f64, f64)> = programs.iter().filter_map(|p| row(p).deviation_by_size()).collect();
        log_growth(&points)
    };
    Ok(EtPtReport {
        pooled,
        elapsed_growth: growth(|p| &p.elapsed),
        process_growth: growth(|p| &p.process),
        longest,
        programs,
    })
}

/// `number` distinguishes the intervals of the programs.
fn program(number: u64, condition: &str, times: &BothTimes<'_, '_>) -> Option<EtPtProgram> {
    let elapsed = TimingRow::new(times.series, &times.elapsed, 3 * number)?;
    let process = TimingRow::new(times.series, &times.process, 3 * number + 1)?;
    Some(EtPtProgram {
        condition: condition.to_owned(),
        excess: elapsed.summary.mean - process.summary.mean,
        spread: spread_ratio(&[times.pair()], SEED, 3 * number + 2),
        elapsed_bands: value_bands(&times.elapsed),
        process_bands: value_bands(&times.process),
        elapsed,
        process,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::noisy;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::sample::data::Sample;
    use tarebench_core::statistics::spread::SpreadVerdict;

    /// PT about `s` seconds with a standard deviation of 2√s ms; ET about 100 ms more, which differs by 10√s ms, and in every
    /// fifth execution another 900 ms more.
    fn executions(seed: u64, n: u32, s: f64) -> Vec<Sample> {
        let pts = noisy(seed, n, s * 1e9, 2e6 * s.sqrt(), 0);
        let waits = noisy(seed + 100, n, 100e6, 10e6 * s.sqrt(), 0);
        let both = pts.iter().zip(&waits).enumerate();
        both.map(|(i, (pt, wait))| {
            let i = i as u32;
            let more = if i.is_multiple_of(5) { 900_000_000 } else { 0 };
            let pt = pt.elapsed().0;
            sample(i, f64::from(i) * (s + 1.0), pt + wait.elapsed().0 + more, pt)
        })
        .collect()
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        let labels: Vec<&str> = paper[0].programs.iter().map(|p| p.label.as_str()).collect();
        assert_eq!((labels, paper[0].samples), (vec!["INC1", "INC2", "INC4", "INC8"], 1000));
    }

    #[test]
    fn process_time_is_steadier_and_has_one_band() {
        let h = head("a");
        let programs = [1.0, 2.0, 4.0, 8.0].map(|s| program(&format!("INC{s}"), Some(s)));
        let samples: Vec<Vec<Sample>> = (0..).zip([1.0, 2.0, 4.0, 8.0]).map(|(i, s)| executions(i, 200, s)).collect();
        let all: Vec<_> = programs.iter().zip(&samples).map(|(p, s)| series("", p, &h, s)).collect();
        let r = report(&all).unwrap();
        assert_eq!(r.longest.label, "INC8");
        let pooled = r.pooled.unwrap();
        assert_eq!(pooled.verdict(), SpreadVerdict::Less, "{pooled:?}");
        let eight = &r.programs[3];
        assert!((eight.excess - (100e6 + 180e6)).abs() < 20e6, "{}", eight.excess);
        assert_eq!(eight.elapsed_bands.as_ref().unwrap().bands.len(), 2);
        assert_eq!(eight.elapsed_bands.as_ref().unwrap().main().unwrap().values, 160);
        assert_eq!(eight.process_bands.as_ref().unwrap().bands.len(), 1);
        let error = eight.process.summary.relative_error.unwrap();
        assert!((error / (2e6 * 8f64.sqrt() / 8e9) - 1.0).abs() < 0.15, "{error}");
        assert!((r.process_growth.unwrap().slope - 0.5).abs() < 0.15);
        assert!(r.elapsed_growth.unwrap().slope < 0.3, "the 900 ms are the same for all");
    }

    #[test]
    fn what_cannot_be_reported() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        assert_eq!(report(&[series("", &p, &h, &[])]), Err(StudyGap::NoSamples));
        let mut samples = noisy(1, 12, 1e9, 1e6, 5);
        let absent = tarebench_core::base::reading::Absent::NotAsked("a test".to_owned());
        samples[3].process_times = tarebench_core::base::reading::Reading::Absent(absent);
        let gap = StudyGap::NoProcessTime { label: "INC1".to_owned() };
        assert_eq!(report(&[series("", &p, &h, &samples)]), Err(gap));
        samples[3].process_times = samples[0].process_times.clone();
        let nine = report(&[series("", &p, &h, &samples[..9])]).unwrap();
        assert_eq!(nine.pooled, Err(NoSpreadRatio::TooFewValues { have: 9, need: 10 }));
    }
}
