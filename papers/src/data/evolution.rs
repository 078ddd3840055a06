//! What each version of the protocol reports of the same samples: standard deviation and relative error of ET and PT by task
//! length (EMP sections 4.1 to 4.7, figure 17).
//!
//! EMPv1 to EMPv4 differ by the state of the machine, so samples can only be of several of them if that was varied; EMPv5 and
//! EMPv6 are computed from the samples of each state.

use crate::data::cells::StudyPreset;
use crate::data::checked::{CheckedTimes, FirstCheckResult, checked};
use crate::data::condition_tables::{ConditionComparison, compare_conditions};
use crate::data::inc::{inc_run, table_lengths, with_setting};
use crate::data::scaling;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, condition_labels, elapsed_values, long_enough, process_values};
use serde::Serialize;
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::{RELAXED, STRICT};
use tarebench_core::run::protocol::{CheckOne, Evidence, NoCheckOne, assess};
use tarebench_core::statistics::series::{Values, median};
use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadPair, SpreadRatio, spread_ratio};

/// Samples of EMPv6.
const TEN: usize = 10;
/// Steps of the protocol that the machine's state decides: EMPv1 to EMPv4.
const STATE_STEPS: usize = 4;

/// What is done with the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionRule {
    /// All count: EMPv1 to EMPv4, whichever the state of the machine is.
    All,
    /// EMPv5-relaxed: outside 5 standard deviations is discarded, after check 1.
    Relaxed,
    /// EMPv5: outside 2 standard deviations.
    Strict,
    /// EMPv6: EMPv5 of the first ten samples.
    Ten,
}

impl VersionRule {
    /// All of them, in the order of the versions.
    pub const ALL: [VersionRule; 4] = [VersionRule::All, VersionRule::Relaxed, VersionRule::Strict, VersionRule::Ten];
}

/// Figure 17.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvolutionReport {
    /// States of the machine, in the order in which they were measured.
    pub states: Vec<MachineState>,
    /// Whether the samples tell EMPv1, v2, v3 and v4 from what is before each, in this order.
    pub steps: Vec<StepVariation>,
    /// Daemons with a cutoff for check 1, of the series with the most; without any, EMPv5 and EMPv6 are check 2 alone.
    pub cutoffs: usize,
    pub rows: Vec<EvolutionRow>,
    /// Robust spread of PT divided by that of ET, all samples: geometric mean over the series.
    pub process_against_elapsed: Result<SpreadRatio, NoSpreadRatio>,
    /// Process time under the states, all samples.
    pub comparison: ConditionComparison,
}

/// A state of the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineState {
    /// Empty if there is only one, without a name.
    pub label: String,
    /// How the steps of EMPv1 to EMPv4 stand.
    pub standing: Vec<Standing>,
    /// The highest version whose step and all before it held; 0 if not even the first.
    pub reached: u8,
}

/// Whether a step of the protocol was varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVariation {
    /// It held under some states and did not under others.
    Varied,
    AlwaysHeld,
    NeverHeld,
    /// Not known, of some state at least.
    Unknown,
}

/// One series by one version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvolutionRow {
    /// Position in [`EvolutionReport::states`].
    pub state: usize,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    pub rule: VersionRule,
    /// Absent where nothing was retained, and for [`VersionRule::Ten`] of fewer than ten samples.
    pub elapsed: Option<VersionValue>,
    pub process: Option<VersionValue>,
}

/// What a version reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionValue {
    /// The samples that the version looks at, and what the checks leave of them.
    pub checked: CheckedTimes,
    /// Of EMPv6: smallest, median and largest standard deviation over all groups of ten samples in a row, ns. `None` without two
    /// groups.
    pub groups: Option<[f64; 3]>,
}

/// NTP off, the machine as it is, and turbo off, each at INC1 to INC8; and as it is, the lengths of EMP table VI.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let (lengths, samples) = table_lengths(preset, 30, 50);
    let run = |condition: &str| inc_run(condition, &lengths, samples);
    let as_it_is = "as it is";
    let mut runs = vec![with_setting(run("NTP off"), "ntp", "off"), run(as_it_is)];
    match preset {
        StudyPreset::Minutes => runs.push(inc_run(as_it_is, &[2.0], 20)),
        StudyPreset::Hour => runs.push(inc_run(as_it_is, &[16.0, 32.0], 20)),
        StudyPreset::Paper => runs.extend(scaling::plan(preset).into_iter().filter_map(|mut longer| {
            longer.programs.retain(|p| !lengths.iter().any(|l| p.size == Some(*l)));
            longer.condition = as_it_is.to_owned();
            (!longer.programs.is_empty()).then_some(longer)
        })),
    }
    runs.push(with_setting(run("turbo off"), "turbo", "off"));
    runs
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report(series: &[StudySeries<'_>]) -> Result<EvolutionReport, StudyGap> {
    report_with(series, &[])
}

/// As [`report`], with the cutoffs of a profile for check 1 of EMPv5.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<EvolutionReport, StudyGap> {
    let usable = long_enough(series, 2)?;
    let mut states: Vec<MachineState> = Vec::new();
    let mut rows = Vec::new();
    let mut times = Vec::new();
    let mut finite = 0;
    for (label, series) in condition_labels(&usable).into_iter().zip(usable) {
        let state = states.iter().position(|s| s.label == label).unwrap_or_else(|| {
            states.push(machine_state(label, series));
            states.len() - 1
        });
        let measures = (elapsed_values(series), process_values(series)?);
        let first = FirstCheckResult::new(series, cutoffs);
        finite = finite.max(first.cutoffs);
        rows.extend(VersionRule::ALL.map(|rule| row(series, state, rule, &measures, &first.spoiled)));
        times.push(measures);
    }
    let pairs: Vec<SpreadPair<'_>> = times
        .iter()
        .map(|(elapsed, process)| SpreadPair { compared: process, reference: elapsed, paired: true })
        .collect();
    Ok(EvolutionReport {
        steps: (0..STATE_STEPS).map(|step| variation(&states, step)).collect(),
        states,
        cutoffs: finite,
        rows,
        process_against_elapsed: spread_ratio(&pairs, SEED, 0),
        comparison: compare_conditions(series, &[])?,
    })
}

/// From the factors that were read before the samples.
fn machine_state(label: String, series: &StudySeries<'_>) -> MachineState {
    let factors = series.head.conditions.as_deref().map(Conditions::factors).unwrap_or_default();
    let evidence = Evidence {
        factors,
        process_time: Ok(()),
        check_one: CheckOne::NotDone(NoCheckOne::NotAsked),
        sigma: 0.0,
        sizes: &[],
    };
    let protocol = assess(&evidence);
    let standing = protocol.steps.iter().take(STATE_STEPS).map(|s| s.standing).collect();
    MachineState { label, standing, reached: protocol.reached }
}

fn variation(states: &[MachineState], step: usize) -> StepVariation {
    let standings = || states.iter().filter_map(|s| s.standing.get(step));
    let any = |standing: Standing| standings().any(|s| *s == standing);
    match (any(Standing::Held), any(Standing::NotHeld), any(Standing::Unknown)) {
        (true, true, _) => StepVariation::Varied,
        (true, false, false) => StepVariation::AlwaysHeld,
        (false, true, false) => StepVariation::NeverHeld,
        _ => StepVariation::Unknown,
    }
}

fn row(
    series: &StudySeries<'_>,
    state: usize,
    rule: VersionRule,
    (elapsed, process): &(Values, Values),
    spoiled: &[bool],
) -> EvolutionRow {
    EvolutionRow {
        state,
        label: series.program.label.clone(),
        size: series.size(),
        rule,
        elapsed: by_rule(elapsed, spoiled, rule),
        process: by_rule(process, spoiled, rule),
    }
}

fn by_rule(times: &Values, spoiled: &[bool], rule: VersionRule) -> Option<VersionValue> {
    let (checked, groups) = match rule {
        // Without either check.
        VersionRule::All => (checked(times, &[], 0.0)?, None),
        VersionRule::Relaxed => (checked(times, spoiled, RELAXED)?, None),
        VersionRule::Strict => (checked(times, spoiled, STRICT)?, None),
        VersionRule::Ten => (ten(times.as_slice().get(..TEN)?, spoiled.get(..TEN)?)?, groups(times, spoiled)),
    };
    Some(VersionValue { checked, groups })
}

/// EMPv6 of ten samples.
fn ten(times: &[f64], spoiled: &[bool]) -> Option<CheckedTimes> {
    checked(&Values::new(times.iter().copied()).ok()?, spoiled, STRICT)
}

/// Smallest, median and largest standard deviation of EMPv6 over groups of ten samples in a row.
fn groups(times: &Values, spoiled: &[bool]) -> Option<[f64; 3]> {
    let tens = times.as_slice().chunks_exact(TEN).zip(spoiled.chunks_exact(TEN));
    let deviations = tens.filter_map(|(times, spoiled)| ten(times, spoiled)?.summary.std_dev);
    let deviations = Values::new(deviations).ok().filter(|d| d.len() > 1)?;
    let sorted = deviations.sorted();
    Some([*sorted.first()?, median(&deviations)?, *sorted.last()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::checked::tests::{cutoff, with_daemon};
    use crate::data::condition_tables::tests::{head_with, noisy};
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};

    fn value(report: &EvolutionReport, rule: VersionRule) -> CheckedTimes {
        report.rows.iter().find(|r| r.rule == rule).unwrap().process.clone().unwrap().checked
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        let as_it_is: Vec<&str> = paper
            .iter()
            .filter(|r| r.condition == "as it is")
            .flat_map(|r| r.programs.iter().map(|p| p.label.as_str()))
            .collect();
        assert_eq!((as_it_is.len(), as_it_is[3], as_it_is[4], as_it_is[14]), (15, "INC8", "INC16", "INC16384"));
    }

    #[test]
    fn each_version_discards_its_own() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        // 30 times 1000 and 1002 us in turn: a deviation of about 1 us; one at 1004 us, one at 1100 us.
        let mut us: Vec<i64> = (0..30).map(|i| 1000 + 2 * (i % 2)).collect();
        us.extend([1004, 1100]);
        let samples: Vec<_> = (0..).zip(&us).map(|(i, t)| sample(i, f64::from(i), t * 1000, t * 1000)).collect();
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let n = |rule| (value(&r, rule).samples, value(&r, rule).by_deviation);
        assert_eq!((n(VersionRule::All), n(VersionRule::Relaxed)), ((32, 0), (32, 1)));
        assert_eq!((n(VersionRule::Strict), n(VersionRule::Ten)), ((32, 1), (10, 0)));
        let ten = value(&r, VersionRule::Ten);
        assert_eq!((ten.summary.mean, ten.summary.max), (1_001_000.0, 1_002_000.0));
        let [least, median, most] = r.rows[3].process.clone().unwrap().groups.unwrap();
        assert!(least == median && median == most, "three groups, all the same");
        assert!(value(&r, VersionRule::All).summary.std_dev > value(&r, VersionRule::Strict).summary.std_dev);
        assert_eq!((r.steps.clone(), r.cutoffs), (vec![StepVariation::Unknown; 4], 0));
        assert_eq!(r.rows.len(), 4);
    }

    #[test]
    fn check_one_needs_cutoffs() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let mut samples = noisy(1, 20, 8e9, 1e6, 0);
        samples[4] = with_daemon(samples[4].clone(), "rhn_check", 562_000_000);
        let all = [series("", &p, &h, &samples)];
        // EMP table XVI.
        let r = report_with(&all, &[cutoff("rhn_check", 281e6)]).unwrap();
        assert_eq!(
            (r.cutoffs, value(&r, VersionRule::Strict).by_cutoff, value(&r, VersionRule::All).by_cutoff),
            (1, 1, 0)
        );
        assert_eq!(value(&report(&all).unwrap(), VersionRule::Strict).by_cutoff, 0);
    }

    #[test]
    fn versions_that_were_not_varied() {
        let p = program("INC8", Some(8.0));
        let (on, off) = (head_with("turbo", "on", Standing::NotHeld, 3), head_with("turbo", "off", Standing::Held, 3));
        let samples = [noisy(1, 12, 8e9, 1e6, 0), noisy(2, 9, 8e9, 1e6, 0)];
        let all = [series("as it is", &p, &on, &samples[0]), series("turbo off", &p, &off, &samples[1])];
        let r = report(&all).unwrap();
        use StepVariation::{Unknown, Varied};
        assert_eq!(r.steps, [Unknown, Unknown, Varied, Unknown]);
        assert_eq!(report(&all[..1]).unwrap().steps[2], StepVariation::NeverHeld);
        assert_eq!((r.states.len(), r.states[1].reached, r.states[1].standing[2]), (2, 0, Standing::Held));
        let ten: Vec<bool> =
            r.rows.iter().filter(|r| r.rule == VersionRule::Ten).map(|r| r.process.is_some()).collect();
        assert_eq!(ten, [true, false], "nine samples are not ten");
        assert!(matches!(r.process_against_elapsed, Err(NoSpreadRatio::TooFewValues { have: 9, .. })));
    }
}
