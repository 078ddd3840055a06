//! Process time and the time of the daemons (section 8 of the report on program execution time, table 8, figures 33 to 39): whether
//! a program's process time is longer where daemons run.

use crate::data::cells::StudyPreset;
use crate::data::correlation_rows::{growth_by, rows_by_size};
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::successive::regular_experiment;
use crate::data::timing_row::SEED;
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::discards::RELAXED;
use tarebench_core::sample::daemons::{Daemon, TaskKind};
use tarebench_core::sample::data::Sample;
use tarebench_core::statistics::correlation::{CorrelationGrowth, RawAndTrimmed};
use tarebench_core::statistics::series::{Summary, Values, summary};

/// Correlations of process time with the daemons' time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DaemonsReport {
    /// Standard deviations beyond which a sample is an outlier.
    pub s: f64,
    pub rows: Vec<DaemonsRow>,
    /// How the raw correlation changes with the task length.
    pub growth: Option<CorrelationGrowth>,
    /// The same without outliers.
    pub trimmed_growth: Option<CorrelationGrowth>,
    /// Programs without a snapshot of all processes.
    pub without: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DaemonsRow {
    pub condition: String,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    /// The program's process time (x) and the CPU time of all daemons together (y) in each sample, ns.
    pub times: RawAndTrimmed,
    /// Of the daemons' time in a sample, ns.
    pub daemons: Summary,
    /// Samples without process time or without a snapshot of all processes.
    pub missing: u32,
    /// Samples whose list of daemons may lack some.
    pub incomplete: u32,
}

/// Three minutes; an hour; the report's regular experiment.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => vec![inc_run("", &[0.125, 0.25, 0.5, 1.0], 100)],
        StudyPreset::Hour => vec![inc_run("", &[0.5, 1.0, 2.0, 4.0], 400)],
        StudyPreset::Paper => regular_experiment(),
    }
}

/// The daemons of a sample that had CPU time, without tare; `None` if they are not known.
pub(crate) fn others(sample: &Sample) -> Option<Vec<&Daemon>> {
    let daemons = sample.daemons.value()?;
    Some(daemons.list.iter().filter(|d| d.kind != TaskKind::Tare && d.cpu > Nanos::ZERO).collect())
}

/// CPU time of all daemons in a sample, without tare.
pub(crate) fn daemon_time(sample: &Sample) -> Option<Nanos> {
    Some(others(sample)?.iter().map(|d| d.cpu).sum())
}

/// The correlations of all series with snapshots.
///
/// # Errors
/// [`StudyGap`] if none has, or if there are too few samples.
pub fn report(series: &[StudySeries<'_>]) -> Result<DaemonsReport, StudyGap> {
    let what = "process time and snapshots of all processes";
    let (rows, without) = rows_by_size(series, what, row, |r: &DaemonsRow| r.size)?;
    let raw = |r: &DaemonsRow| Some((r.size?, r.times.raw.as_ref().ok()?.clone()));
    let trimmed = |r: &DaemonsRow| Some((r.size?, r.times.trimmed.as_ref().ok()?.clone()));
    let (growth, trimmed_growth) = (growth_by(&rows, raw), growth_by(&rows, trimmed));
    Ok(DaemonsReport { s: RELAXED, rows, growth, trimmed_growth, without })
}

/// `None` unless two samples have both times.
fn row(series: &StudySeries<'_>, condition: String, item: u64) -> Option<DaemonsRow> {
    let both = |s: &&Sample| Some((s.process_time().ok()?.as_f64(), daemon_time(s)?.as_f64()));
    let pairs: Vec<(f64, f64)> = series.samples.iter().filter_map(both).collect();
    if pairs.len() < 2 {
        return None;
    }
    let lacks = |s: &&&Sample| s.daemons.value().is_some_and(|d| d.incomplete.is_some());
    let incomplete = series.samples.iter().filter(lacks).count();
    Some(DaemonsRow {
        condition,
        label: series.program.label.clone(),
        size: series.size(),
        daemons: summary(&Values::new(pairs.iter().map(|p| p.1)).ok()?)?,
        missing: u32::try_from(series.samples.len() - pairs.len()).unwrap_or(u32::MAX),
        incomplete: u32::try_from(incomplete).unwrap_or(u32::MAX),
        times: RawAndTrimmed::new(&pairs, RELAXED, SEED, item),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::base::name::Name;
    use tarebench_core::base::reading::{Absent, Reading};
    use tarebench_core::statistics::correlation::CorrelationEstimate;
    use tarebench_core::statistics::random::normal;
    use tarebench_core::statistics::random::{RandomPurpose, generator};

    pub(crate) fn daemon(pid: i32, name: &str, kind: TaskKind, cpu: i64) -> Daemon {
        Daemon {
            pid,
            start: Nanos(1),
            name: Name::from(name),
            kind,
            cpu: Nanos(cpu),
            tick_bound: false,
            interval_counted: None,
            born: false,
            died: false,
        }
    }

    /// A sample of this process time, with these daemons.
    pub(crate) fn beside(index: u32, pt: i64, list: Vec<Daemon>) -> Sample {
        let mut s = sample(index, f64::from(index) * 2.0, pt + 1000, pt);
        if let Reading::Value(d) = &mut s.daemons {
            d.list = list;
        }
        s
    }

    #[test]
    fn daemons_that_cost_process_time() {
        let mut rng = generator(51, RandomPurpose::Order, 0);
        let (p, q, h) = (program("INC1", Some(1.0)), program("INC2", Some(2.0)), head("a"));
        let mut taken = |costs: f64| -> Vec<Sample> {
            let mut one_sample = |i: u32| {
                let time = 20e6 + 1e6 * normal(&mut rng);
                let pt = 1e9 + costs * time + 1e6 * normal(&mut rng);
                // Tare's own time has nothing to do with it.
                let tare = daemon(7, "tare", TaskKind::Tare, (5e8 * (1.0 + normal(&mut rng).abs())) as i64);
                let first = daemon(8, "cron", TaskKind::User, time as i64 / 2);
                let second = daemon(9, "kworker/0:1", TaskKind::Kernel, time as i64 / 2);
                beside(i, pt as i64, vec![tare, first, second])
            };
            (0..300).map(&mut one_sample).collect()
        };
        // Daemon and program of equal spread: correlation 1/√2 where a daemon's time costs as much, 0 where it costs none.
        let (some, none) = (taken(1.0), taken(0.0));
        let r = report(&[series("", &p, &h, &none), series("", &q, &h, &some)]).unwrap();
        let found: Vec<&CorrelationEstimate> = r.rows.iter().map(|r| r.times.raw.as_ref().unwrap()).collect();
        assert!(found[0].r.abs() < 0.15 && found[0].interval.low < 0.05, "{:?}", found[0]);
        assert!((found[1].r - 0.5_f64.sqrt()).abs() < 0.1 && found[1].interval.low > 0.5, "{:?}", found[1]);
        assert!((r.rows[0].daemons.mean - 20e6).abs() < 1e6);
        assert_eq!((r.rows[0].missing, r.growth), (0, None));
    }

    #[test]
    fn one_hour_of_a_daemon_is_an_outlier() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let mut rng = generator(52, RandomPurpose::Order, 0);
        let mut quiet = |i: u32| {
            let cpu = (1e6 + 1e5 * normal(&mut rng)) as i64;
            beside(i, (1e9 + 1e6 * normal(&mut rng)) as i64, vec![daemon(1, "rhn_check", TaskKind::User, cpu)])
        };
        let mut samples: Vec<Sample> = (0..200).map(&mut quiet).collect();
        samples[60] = beside(60, 1_200_000_000, vec![daemon(1, "rhn_check", TaskKind::User, 3_600_000_000_000)]);
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let times = &r.rows[0].times;
        assert!(times.raw.as_ref().unwrap().r > 0.9 && times.removed == 1);
        assert!(times.trimmed.as_ref().unwrap().r.abs() < 0.25);
        // One sample decides it, so that the interval is wide.
        assert!(times.raw.as_ref().unwrap().interval.low < 0.5);
    }

    #[test]
    fn without_snapshots() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let mut samples: Vec<Sample> = (0..12).map(|i| beside(i, 1000 + i64::from(i), Vec::new())).collect();
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        assert!(r.rows[0].times.raw.is_err(), "no daemon ever ran");
        for s in &mut samples {
            s.daemons = Reading::Absent(Absent::NotAsked("a test".to_owned()));
        }
        assert!(matches!(report(&[series("", &p, &h, &samples)]), Err(StudyGap::Lacking { .. })));
    }

    #[test]
    fn presets() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        assert_eq!(plan(StudyPreset::Paper).len(), 15);
    }
}
