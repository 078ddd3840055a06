//! Process time by task length under several conditions, and how the spreads compare: what EMP tables III to VI and figures 10
//! to 12 show.

use crate::data::series::{StudyGap, StudySeries};
use crate::data::timing_row::{SEED, TimingRow, condition_labels, long_enough, process_values};
use serde::Serialize;
use std::collections::BTreeMap;
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::statistics::series::{Values, summary};
use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadPair, SpreadRatio, spread_ratio};

/// Conditions side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionComparison {
    /// In the order in which they were measured; the first is the reference.
    pub conditions: Vec<ConditionTable>,
    /// Each of the others against the first.
    pub contrasts: Vec<SpreadContrast>,
}

/// Process times under one condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionTable {
    /// Empty if nothing distinguishes it and the study gave it no name.
    pub label: String,
    /// The factors that the study is about, as they were read before its samples; those of them that are known.
    pub state: Vec<FactorState>,
    pub rows: Vec<TimingRow>,
    /// The program with the longest tasks, for a figure by execution.
    pub longest: Option<TimeSequence>,
}

/// A factor as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactorState {
    pub name: String,
    pub value: String,
}

/// Times of one program in the order of execution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSequence {
    pub label: String,
    /// ns.
    pub times: Vec<f64>,
}

/// Spread of process time under one condition against that under another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpreadContrast {
    pub reference: String,
    pub compared: String,
    /// Programs that were measured under both.
    pub programs: Vec<ProgramContrast>,
    /// Geometric mean of the programs' ratios.
    pub pooled: Result<SpreadRatio, NoSpreadRatio>,
}

/// One program under two conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramContrast {
    pub label: String,
    /// Mean process time under the compared condition, divided by that under the reference.
    pub mean_ratio: f64,
    /// Standard deviation likewise; `None` if one of them is 0. It has no interval: single outliers decide it.
    pub deviation_ratio: Option<f64>,
    pub spread: Result<SpreadRatio, NoSpreadRatio>,
}

impl ConditionComparison {
    /// Whether factors are known and read the same under the first condition and another one: then what differs is not what the
    /// study is about.
    pub fn same_state(&self) -> bool {
        let Some((reference, others)) = self.conditions.split_first() else { return false };
        !reference.state.is_empty() && others.iter().any(|c| c.state == reference.state)
    }
}

/// Series of one condition, with their process times.
struct ConditionGroup<'b, 'a> {
    label: String,
    members: Vec<(&'b StudySeries<'a>, Values)>,
}

/// Compares the process times under all conditions. `factors` are the machine's factors that the study is about.
///
/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub(crate) fn compare_conditions(
    series: &[StudySeries<'_>],
    factors: &[&str],
) -> Result<ConditionComparison, StudyGap> {
    let series = long_enough(series, 2)?;
    let mut groups: Vec<ConditionGroup<'_, '_>> = Vec::new();
    for (label, one_series) in labels(&series, factors).into_iter().zip(&series) {
        let member = (*one_series, process_values(one_series)?);
        match groups.iter_mut().find(|g| g.label == label) {
            Some(group) => group.members.push(member),
            None => groups.push(ConditionGroup { label, members: vec![member] }),
        }
    }
    let mut items = 0..;
    let conditions = groups.iter().map(|g| table(g, factors, &mut items)).collect();
    let contrasts = match groups.split_first() {
        Some((reference, others)) => others.iter().map(|g| contrast(reference, g, &mut items)).collect(),
        None => Vec::new(),
    };
    Ok(ConditionComparison { conditions, contrasts })
}

fn state(series: &StudySeries<'_>, factors: &[&str]) -> Vec<FactorState> {
    let read = series.head.conditions.as_deref().map(Conditions::factors).unwrap_or_default();
    let known = factors.iter().filter_map(|name| read.iter().find(|f| f.name == *name));
    known
        .map(|f| FactorState { name: f.name.clone(), value: f.value.clone().unwrap_or_else(|| f.finding.clone()) })
        .collect()
}

/// Labels of the series; those of stored runs, which have no condition, say how the factors were, where these differ.
fn labels(series: &[&StudySeries<'_>], factors: &[&str]) -> Vec<String> {
    let states: Vec<Vec<FactorState>> = series.iter().map(|s| state(s, factors)).collect();
    let differ = states.windows(2).any(|pair| matches!(pair, [a, b] if a != b));
    let label = |((mut label, state), s): ((String, &Vec<FactorState>), &&StudySeries<'_>)| {
        if differ && s.condition.is_empty() {
            for factor in state {
                let gap = if label.is_empty() { "" } else { ", " };
                label.push_str(&format!("{gap}{}: {}", factor.name, factor.value));
            }
        }
        label
    };
    condition_labels(series).into_iter().zip(&states).zip(series).map(label).collect()
}

fn table(group: &ConditionGroup<'_, '_>, factors: &[&str], items: &mut impl Iterator<Item = u64>) -> ConditionTable {
    let mut rows: Vec<TimingRow> = Vec::new();
    for ((series, times), item) in group.members.iter().zip(items) {
        rows.extend(TimingRow::new(series, times, item));
    }
    rows.sort_by(|a, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)));
    let size = |member: &&(&StudySeries<'_>, Values)| member.0.size().unwrap_or(0.0);
    let longest = group.members.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    ConditionTable {
        label: group.label.clone(),
        state: group.members.first().map(|(s, _)| state(s, factors)).unwrap_or_default(),
        rows,
        longest: longest.map(|(series, times)| TimeSequence {
            label: series.program.label.clone(),
            times: times.as_slice().to_vec(),
        }),
    }
}

fn contrast(
    reference: &ConditionGroup<'_, '_>,
    compared: &ConditionGroup<'_, '_>,
    items: &mut impl Iterator<Item = u64>,
) -> SpreadContrast {
    let pairs = pairs(reference, compared);
    let mut spread = |pairs: &[SpreadPair<'_>]| spread_ratio(pairs, SEED, items.next().unwrap_or_default());
    let programs = pairs.iter().filter_map(|(label, pair)| {
        let (a, b) = (moments(pair.compared)?, moments(pair.reference)?);
        Some(ProgramContrast {
            label: (*label).to_owned(),
            mean_ratio: a.0 / b.0,
            deviation_ratio: Some(a.1 / b.1).filter(|r| r.is_finite() && *r > 0.0),
            spread: spread(std::slice::from_ref(pair)),
        })
    });
    let programs = programs.collect();
    let all: Vec<SpreadPair<'_>> = pairs.iter().map(|(_, pair)| *pair).collect();
    SpreadContrast {
        reference: reference.label.clone(),
        compared: compared.label.clone(),
        programs,
        pooled: spread(&all),
    }
}

/// The programs of both conditions. Where several have the same label, the first is compared with the first, and so on; one more than
/// the other condition has is not compared.
fn pairs<'g>(
    reference: &'g ConditionGroup<'_, '_>,
    compared: &'g ConditionGroup<'_, '_>,
) -> Vec<(&'g str, SpreadPair<'g>)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for (series, times) in &reference.members {
        let label = series.program.label.as_str();
        let position = seen.entry(label).or_default();
        let partner = compared.members.iter().filter(|(s, _)| s.program.label == label).nth(*position);
        *position += 1;
        all.extend(
            partner.map(|(_, others)| (label, SpreadPair { compared: others, reference: times, paired: false })),
        );
    }
    all
}

/// Mean, which is not 0, and standard deviation.
fn moments(times: &Values) -> Option<(f64, f64)> {
    let summary = summary(times)?;
    Some((summary.mean, summary.std_dev?)).filter(|(mean, _)| *mean > 0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::documents::head::DocumentHead;
    use tarebench_core::machine::data::{Factor, Standing};
    use tarebench_core::sample::data::Sample;
    use tarebench_core::statistics::random::{RandomPurpose, generator, unit};
    use tarebench_core::statistics::spread::SpreadVerdict;

    /// Executions whose process time is about `mean` ns with this standard deviation, and whose elapsed time is `gap` more.
    pub(crate) fn noisy(seed: u64, n: u32, mean: f64, sd: f64, gap: i64) -> Vec<Sample> {
        let mut rng = generator(seed, RandomPurpose::Order, 0);
        let mut draw = || (-2.0 * unit(&mut rng).ln()).sqrt() * (std::f64::consts::TAU * unit(&mut rng)).cos();
        (0..n)
            .map(|i| {
                let pt = (mean + sd * draw()).round() as i64;
                sample(i, f64::from(i) * (mean / 1e9 + 0.1), pt + gap, pt)
            })
            .collect()
    }

    /// [`head`] with one factor.
    pub(crate) fn head_with(name: &str, value: &str, standing: Standing, step: u8) -> DocumentHead {
        let plain = head("a");
        let factor = Factor { value: Some(value.to_owned()), ..Factor::new(step, name, standing, "as read") };
        let host = plain.conditions.as_deref().unwrap().host().clone();
        DocumentHead { conditions: Some(Box::new(Conditions::new(host, vec![factor]))), ..plain }
    }

    #[test]
    fn a_third_of_the_spread() {
        let (one, two, h) = (program("INC1", Some(1.0)), program("INC2", Some(2.0)), head("a"));
        let wide = [noisy(1, 60, 1e9, 3e6, 0), noisy(2, 60, 2e9, 6e6, 0)];
        let narrow = [noisy(3, 60, 1e9, 1e6, 0), noisy(4, 60, 2e9, 2e6, 0)];
        let all = [
            series("off", &two, &h, &wide[1]),
            series("off", &one, &h, &wide[0]),
            series("on", &one, &h, &narrow[0]),
            series("on", &two, &h, &narrow[1]),
        ];
        let c = compare_conditions(&all, &["ntp"]).unwrap();
        let labels: Vec<&str> = c.conditions.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["off", "on"]);
        let rows: Vec<&str> = c.conditions[0].rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(rows, ["INC1", "INC2"]);
        assert_eq!(c.conditions[0].longest.as_ref().unwrap().label, "INC2");
        let contrast = &c.contrasts[0];
        assert_eq!((contrast.reference.as_str(), contrast.compared.as_str()), ("off", "on"));
        let pooled = contrast.pooled.clone().unwrap();
        assert!(pooled.interval.contains(1.0 / 3.0) && pooled.verdict() == SpreadVerdict::Less, "{pooled:?}");
        for p in &contrast.programs {
            assert!((p.mean_ratio - 1.0).abs() < 0.01 && (p.deviation_ratio.unwrap() * 3.0 - 1.0).abs() < 0.5, "{p:?}");
        }
        assert!(!c.same_state(), "nothing is known of the factor");
    }

    #[test]
    fn one_condition_has_no_contrast() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let samples = noisy(1, 20, 1e9, 1e6, 0);
        let c = compare_conditions(&[series("", &p, &h, &samples)], &["ntp"]).unwrap();
        assert_eq!((c.conditions.len(), c.contrasts.len(), c.same_state()), (1, 0, false));
        assert_eq!(compare_conditions(&[], &["ntp"]), Err(StudyGap::NoSamples));
    }

    #[test]
    fn stored_runs_are_told_apart_by_their_factors() {
        let p = program("INC1", Some(1.0));
        let on = head_with("ntp", "synchronised by chronyd", Standing::Held, 2);
        let off = head_with("ntp", "not synchronised", Standing::NotHeld, 2);
        let samples = noisy(1, 20, 1e9, 1e6, 0);
        let c = compare_conditions(&[series("", &p, &off, &samples), series("", &p, &on, &samples)], &["ntp"]).unwrap();
        let labels: Vec<&str> = c.conditions.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["ntp: not synchronised", "ntp: synchronised by chronyd"]);
        assert_eq!(c.contrasts[0].pooled.as_ref().map(SpreadRatio::verdict), Ok(SpreadVerdict::Open));
        let c =
            compare_conditions(&[series("x", &p, &on, &samples), series("y", &p, &on, &samples)], &["ntp"]).unwrap();
        assert!(c.same_state());
    }

    /// The first of two programs of one name is compared with the first, the second with the second.
    #[test]
    fn programs_of_one_name_are_paired_by_their_position() {
        let (one, two, h) = (program("sort", Some(1.0)), program("sort", Some(2.0)), head("a"));
        let (short, long) = (noisy(1, 20, 1e9, 1e6, 0), noisy(2, 20, 2e9, 2e6, 0));
        let (fast, slow) = (noisy(3, 20, 1.1e9, 1e6, 0), noisy(4, 20, 2.4e9, 2e6, 0));
        let all = [
            series("x", &one, &h, &short),
            series("x", &two, &h, &long),
            series("x", &two, &h, &long),
            series("y", &one, &h, &fast),
            series("y", &two, &h, &slow),
        ];
        let c = compare_conditions(&all, &[]).unwrap();
        let found: Vec<(&str, f64)> =
            c.contrasts[0].programs.iter().map(|p| (p.label.as_str(), (p.mean_ratio * 100.0).round())).collect();
        assert_eq!(found, [("sort", 110.0), ("sort", 120.0)]);
    }

    #[test]
    fn other_programs_are_not_compared() {
        let (one, two, h) = (program("INC1", Some(1.0)), program("INC2", Some(2.0)), head("a"));
        let samples = noisy(1, 20, 1e9, 1e6, 0);
        let c = compare_conditions(&[series("x", &one, &h, &samples), series("y", &two, &h, &samples)], &[]).unwrap();
        assert_eq!((c.contrasts[0].programs.len(), c.contrasts[0].pooled.clone()), (0, Err(NoSpreadRatio::NoPair)));
    }
}
