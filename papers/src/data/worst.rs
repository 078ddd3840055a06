//! The daemons of the worst samples (the report on program execution time, tables 5 and 9 to 12): what ran in the sample with the
//! longest process time, beside what is usual.
//!
//! The report's tables name the daemons of one sample, and leave open whether they ran in others as well. Here each family has
//! the other samples beside it. If the worst sample were a sample like any other, the chance that a given family used more in it
//! than in each of n others would be 1 / (n + 1); as there are several families, Holm's method decides which are said to be unusual.

use crate::data::cells::StudyPreset;
use crate::data::daemons::others;
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::successive::alone;
use crate::data::timing_row::{condition_labels, long_enough};
use serde::Serialize;
use std::collections::BTreeMap;
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::daemons::{Daemon, TaskKind};
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::families::family;
use tarebench_core::statistics::holm::holm;
use tarebench_core::statistics::series::median_of;

/// So many of the worst samples of each program are shown.
pub const WORST: usize = 3;
/// Probability of calling any family unusual where none is.
pub const ERROR: f64 = 0.05;

/// The worst samples of all programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstReport {
    /// By task length, and from the worst on.
    pub samples: Vec<WorstSample>,
    /// Programs without process time or snapshots of all processes.
    pub without: Vec<String>,
}

/// A sample with one of the longest process times of its program; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstSample {
    pub condition: String,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    /// Its number, from 1.
    pub number: u32,
    /// 1 for the worst.
    pub rank: u32,
    pub process_time: f64,
    /// Median process time of the program.
    pub usual_process_time: f64,
    /// Each process with CPU time in it, the longest first.
    pub processes: Vec<WorstProcess>,
    /// The same by family, the longest first.
    pub families: Vec<WorstFamily>,
    /// CPU time of all of them.
    pub total: f64,
    /// The median of that in the other samples.
    pub usual_total: f64,
    /// Other samples that these are compared with.
    pub others: u32,
    /// Its list of daemons may lack some.
    pub incomplete: bool,
}

/// A process beside the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstProcess {
    /// In the escaped form of [`tarebench_core::base::name::Name`].
    pub name: String,
    pub kind: TaskKind,
    pub time: f64,
}

/// A family of daemons in a worst sample, and in the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstFamily {
    pub name: String,
    /// Processes of it in the sample.
    pub processes: u32,
    pub time: f64,
    /// Median over the other samples; it is 0 where it did not run.
    pub usual: f64,
    /// Most in any other sample.
    pub most: f64,
    /// Other samples in which it ran.
    pub ran_in: u32,
    /// Other samples in which it used as much or more.
    pub as_long_in: u32,
    /// By Holm's method over the families of the sample, with an error of 5%.
    pub unusual: bool,
}

/// Three minutes; an hour; the lengths of the report's tables, PUT2 with as many samples as its table 5 is of.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => vec![inc_run("", &[0.125, 0.25], 480)],
        StudyPreset::Hour => vec![inc_run("", &[1.0, 2.0, 4.0], 450)],
        StudyPreset::Paper => [alone(&[2.0], 20_000), alone(&[256.0, 512.0, 4096.0, 8192.0], 300)].concat(),
    }
}

/// A sample of which process time and daemons are known.
struct KnownSample<'a> {
    sample: &'a Sample,
    process_time: f64,
    daemons: Vec<&'a Daemon>,
    /// CPU time by family, and processes.
    families: BTreeMap<String, (f64, u32)>,
    total: f64,
}

impl<'a> KnownSample<'a> {
    fn new(sample: &'a Sample) -> Option<KnownSample<'a>> {
        let daemons = others(sample)?;
        let mut families: BTreeMap<String, (f64, u32)> = BTreeMap::new();
        for d in &daemons {
            let entry = families.entry(family(&d.name, d.kind)).or_default();
            entry.0 += d.cpu.as_f64();
            entry.1 += 1;
        }
        let total = daemons.iter().map(|d| d.cpu).sum::<Nanos>().as_f64();
        Some(KnownSample { sample, process_time: sample.process_time().ok()?.as_f64(), daemons, families, total })
    }

    fn time_of(&self, family: &str) -> f64 {
        self.families.get(family).map_or(0.0, |f| f.0)
    }

    /// Why its list of daemons may lack some.
    fn incomplete(&self) -> Option<&'a Absent> {
        self.sample.daemons.value().and_then(|d| d.incomplete.as_ref())
    }
}

/// The worst samples of all series.
///
/// # Errors
/// [`StudyGap`] without a series of two samples with process time and snapshots.
pub fn report(series: &[StudySeries<'_>]) -> Result<WorstReport, StudyGap> {
    let usable = long_enough(series, 2)?;
    let (mut samples, mut without) = (Vec::new(), Vec::new());
    for (s, condition) in usable.iter().zip(condition_labels(&usable)) {
        let found = worst_of(s, &condition);
        if found.is_empty() {
            without.push(s.program.label.clone());
        }
        samples.extend(found);
    }
    if samples.is_empty() {
        let label = without.into_iter().next().unwrap_or_default();
        return Err(StudyGap::Lacking { label, what: "process time and snapshots of all processes".to_owned() });
    }
    // Stable: the worst samples of a program stay together.
    samples.sort_by(|a: &WorstSample, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)));
    Ok(WorstReport { samples, without })
}

fn worst_of(series: &StudySeries<'_>, condition: &str) -> Vec<WorstSample> {
    let mut known: Vec<KnownSample<'_>> = series.samples.iter().filter_map(|s| KnownSample::new(s)).collect();
    if known.len() < 2 {
        return Vec::new();
    }
    known.sort_by(|a, b| b.process_time.total_cmp(&a.process_time));
    let usual = median_of(known.iter().map(|k| k.process_time).collect()).unwrap_or_default();
    let worst = known.iter().zip(1_u32..).take(WORST.min(known.len() / 2));
    let build = |(worst, rank): (&KnownSample<'_>, u32)| {
        let other = |k: &&KnownSample<'_>| k.sample.index != worst.sample.index;
        // Lists that lack some for the same reason can be compared with each other: without root, all of them do.
        let alike =
            |k: &&KnownSample<'_>| other(k) && (k.incomplete().is_none() || k.incomplete() == worst.incomplete());
        let mut rest: Vec<&KnownSample<'_>> = known.iter().filter(alike).collect();
        if rest.is_empty() {
            rest = known.iter().filter(other).collect();
        }
        let mut processes: Vec<WorstProcess> = worst.daemons.iter().map(|d| process(d)).collect();
        processes.sort_by(|a, b| b.time.total_cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
        WorstSample {
            condition: condition.to_owned(),
            label: series.program.label.clone(),
            size: series.size(),
            number: worst.sample.index.saturating_add(1),
            rank,
            process_time: worst.process_time,
            usual_process_time: usual,
            processes,
            families: families(worst, &rest),
            total: worst.total,
            usual_total: median_of(rest.iter().map(|k| k.total).collect()).unwrap_or_default(),
            others: u32::try_from(rest.len()).unwrap_or(u32::MAX),
            incomplete: worst.incomplete().is_some() || rest.iter().any(|k| k.incomplete().is_some()),
        }
    };
    worst.map(build).collect()
}

fn process(daemon: &Daemon) -> WorstProcess {
    WorstProcess { name: daemon.name.to_string(), kind: daemon.kind, time: daemon.cpu.as_f64() }
}

fn families(worst: &KnownSample<'_>, rest: &[&KnownSample<'_>]) -> Vec<WorstFamily> {
    let count = |test: &dyn Fn(f64) -> bool, name: &str| {
        u32::try_from(rest.iter().filter(|k| test(k.time_of(name))).count()).unwrap_or(u32::MAX)
    };
    let compared = |(name, (time, processes)): (&String, &(f64, u32))| WorstFamily {
        name: name.clone(),
        processes: *processes,
        time: *time,
        usual: median_of(rest.iter().map(|k| k.time_of(name)).collect()).unwrap_or_default(),
        most: rest.iter().map(|k| k.time_of(name)).fold(0.0, f64::max),
        ran_in: count(&|t| t > 0.0, name),
        as_long_in: count(&|t| t >= *time, name),
        unusual: false,
    };
    let mut found: Vec<WorstFamily> = worst.families.iter().map(compared).collect();
    let n = rest.len() as f64;
    let p_values: Vec<f64> = found.iter().map(|f| (f64::from(f.as_long_in) + 1.0) / (n + 1.0)).collect();
    for (f, unusual) in found.iter_mut().zip(holm(&p_values, ERROR)) {
        f.unusual = unusual;
    }
    found.sort_by(|a, b| b.time.total_cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::daemons::tests::{beside, daemon};
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, series};

    const MS: i64 = 1_000_000;

    /// The report's table 12, with what its other samples might have been.
    fn put8192() -> Vec<Sample> {
        use TaskKind::{Kernel, User};
        let usual = |i: u32| {
            let list = vec![
                daemon(1, "kblockd/0", Kernel, 3 * MS),
                daemon(2, "proc_monitor", User, (200 + i64::from(i % 7)) * MS),
                daemon(3, "java", User, MS),
            ];
            beside(i, (8_207_000 + i64::from(i)) * MS, list)
        };
        let mut samples: Vec<Sample> = (0..300).map(usual).collect();
        let worst = vec![
            daemon(1, "kblockd/0", Kernel, 3 * MS),
            daemon(4, "kslowd000", Kernel, 31_710 * MS),
            daemon(5, "kslowd001", Kernel, 31_782 * MS),
            daemon(6, "md0_raid1", Kernel, 12 * MS),
            daemon(7, "jbd2/md0-8", Kernel, 2 * MS),
            daemon(2, "proc_monitor", User, 204 * MS),
            daemon(8, "rhnsd", User, 6 * MS),
            daemon(3, "java", User, MS),
            daemon(9, "rhsmcertd-worke", User, 114 * MS),
            daemon(10, "rhsmcertd-worke", User, 114 * MS),
            daemon(11, "rhn_check", User, 708 * MS),
            daemon(12, "tare", TaskKind::Tare, 99 * MS),
        ];
        samples[243] = beside(243, 8_207_884 * MS, worst);
        samples
    }

    #[test]
    fn the_reports_table_12() {
        let (p, h) = (program("INC8192", Some(8192.0)), head("a"));
        let samples = put8192();
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        assert_eq!(r.samples.iter().map(|s| (s.rank, s.number)).collect::<Vec<_>>(), [(1, 244), (2, 300), (3, 299)]);
        let w = &r.samples[0];
        // The printed total.
        assert_eq!((w.total, w.processes.len(), w.others), (64_656e6, 11, 299));
        assert_eq!(w.processes[0].name, "kslowd001");
        let slow = w.families.iter().filter(|f| f.name.starts_with("kslowd"));
        assert_eq!(slow.map(|f| f.time).sum::<f64>(), 63_492e6);
        assert!(w.families[0].name.starts_with("kslowd") && w.families[0].unusual);
        let find = |name: &str| w.families.iter().find(|f| f.name == name).unwrap();
        assert_eq!((find("kblockd").as_long_in, find("kblockd").ran_in, find("kblockd").unusual), (299, 299, false));
        assert_eq!((find("rhsmcertd-worke").time, find("rhsmcertd-worke").ran_in), (228e6, 0));
        assert!(find("rhn_check").unusual && !find("proc_monitor").unusual);
        assert_eq!((find("proc_monitor").usual, find("proc_monitor").most), (203e6, 206e6));
        assert_eq!(w.usual_total, 207e6);
        assert!(w.process_time - w.usual_process_time > 700e6);
    }

    #[test]
    fn nothing_is_unusual_among_few_samples() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let mut samples: Vec<Sample> = (0..8).map(|i| beside(i, 1000 + i64::from(i), Vec::new())).collect();
        samples[3] = beside(3, 5000, vec![daemon(1, "cron", TaskKind::User, MS)]);
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let cron = &r.samples[0].families[0];
        // It ran in no other sample, but one in 8 is no rarity.
        assert_eq!((cron.ran_in, cron.unusual), (0, false));
        assert_eq!(r.samples.len(), 3);
        assert!(matches!(report(&[series("", &p, &h, &samples[..1])]), Err(StudyGap::TooFewSamples { .. })));
    }

    #[test]
    fn presets() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        assert_eq!((paper.len(), paper[0].samples, paper[4].samples), (5, 20_000, 300));
    }
}
