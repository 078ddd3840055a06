//! How the time of a program, or its number of instructions, grows with a parameter, from a run of it with several values of that
//! parameter.

use crate::base::reading::{Absent, Reading};
use crate::run::report::data::{MeasureReport, RunReport, SeriesReport};
use crate::sample::counters::Counter;
use crate::statistics::complexity::{Complexity, NoComplexity, SizePoint, analyse};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrowthMeasure {
    /// Process time, ns.
    Pt,
    /// Elapsed time, ns.
    Et,
    /// Net time, ns.
    Net,
    /// Instructions in user mode and in the kernel, as the PMU counts them.
    Instructions,
}

/// A size without a value, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingSize {
    pub size: f64,
    pub why: Absent,
}

/// Growth of a program's time with its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeFit {
    /// Number of the run, 0 if it is not stored.
    pub run: i64,
    /// The program with the largest size, as tables name it.
    pub program: String,
    /// The parameter that is the size.
    pub parameter: String,
    /// What grows; in `complexity`, of instructions every time is their number.
    pub measure: GrowthMeasure,
    /// Sizes of which no execution has a value.
    pub missing: Vec<MissingSize>,
    pub complexity: Complexity,
}

/// Why a run says nothing of growth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoSizeFit {
    #[error("its programs have no parameter with several values")]
    NoParameter,
    #[error("several parameters have several values: {}", .0.join(", "))]
    SeveralParameters(Vec<String>),
    #[error("`{value}`, a value of the parameter {parameter}, is not a number")]
    NotANumber { parameter: String, value: String },
    #[error("it has several programs with the value {0} of the parameter")]
    SeveralPrograms(String),
    /// Other sizes have no value.
    #[error("{have} sizes have a value; at least {need} are needed")]
    Missing { parameter: String, have: usize, need: usize, missing: Vec<MissingSize> },
    #[error(transparent)]
    TooLittle(#[from] NoComplexity),
}

/// The growth of what is measured in a run of one program with several sizes; the control and a reference without the parameter are not
/// looked at.
pub fn size_fit(report: &RunReport, measure: GrowthMeasure) -> Result<SizeFit, NoSizeFit> {
    let parameter = parameter(report)?;
    let mut points = Vec::new();
    let mut missing = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut largest: Option<(f64, &SeriesReport)> = None;
    for series in report.series.iter().filter(|s| !s.program.control) {
        let Some(value) = series.program.parameters.get(&parameter) else { continue };
        let wrong = || NoSizeFit::NotANumber { parameter: parameter.clone(), value: value.clone() };
        let size: f64 = value.trim().parse().map_err(|_| wrong())?;
        if !size.is_finite() {
            return Err(wrong());
        }
        if !seen.insert(value) {
            return Err(NoSizeFit::SeveralPrograms(value.clone()));
        }
        if largest.is_none_or(|(most, _)| size > most) {
            largest = Some((size, series));
        }
        match measured(series, measure) {
            Ok(point) => points.push(SizePoint { size, ..point }),
            Err(why) => missing.push(MissingSize { size, why }),
        }
    }
    missing.sort_by(|a, b| a.size.total_cmp(&b.size));
    let program = largest.map_or_else(String::new, |(_, s)| s.program.label.clone());
    match analyse(&points) {
        Ok(complexity) => Ok(SizeFit { run: report.run.id, program, parameter, measure, missing, complexity }),
        Err(NoComplexity::TooFew { have, need }) if !missing.is_empty() => {
            Err(NoSizeFit::Missing { parameter, have, need, missing })
        }
        Err(e) => Err(e.into()),
    }
}

/// The value of a series; its size is not set.
fn measured(series: &SeriesReport, measure: GrowthMeasure) -> Result<SizePoint, Absent> {
    let point = |runs, mean, std_dev| SizePoint { size: 0.0, runs, mean, std_dev };
    let time = |found: &Reading<MeasureReport>| -> Result<SizePoint, Absent> {
        let m = found.as_result().map_err(Clone::clone)?;
        Ok(point(m.retained, m.mean, m.std_dev))
    };
    match measure {
        GrowthMeasure::Pt => time(&series.pt),
        GrowthMeasure::Et => time(&series.et),
        GrowthMeasure::Net => time(&series.net),
        GrowthMeasure::Instructions => {
            let all = series.counters.as_result().map_err(Clone::clone)?;
            let none = || Absent::NotAsked("instructions were not counted".to_owned());
            let found = all.get(Counter::Instructions).ok_or_else(none)?;
            let m = found.figures.as_result().map_err(Clone::clone)?;
            Ok(point(m.values, m.mean, m.std_dev))
        }
    }
}

/// The one parameter that has several values.
fn parameter(report: &RunReport) -> Result<String, NoSizeFit> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in report.series.iter().flat_map(|s| &s.program.parameters) {
        values.entry(name).or_default().insert(value);
    }
    let mut several = values.iter().filter(|(_, v)| v.len() > 1).map(|(name, _)| (*name).to_owned());
    match (several.next(), several.next()) {
        (None, _) => Err(NoSizeFit::NoParameter),
        (Some(only), None) => Ok(only),
        (Some(first), Some(second)) => {
            Err(NoSizeFit::SeveralParameters([first, second].into_iter().chain(several).collect()))
        }
    }
}

/// Geometric sizes from `low` to `high`, whole numbers, each once, both ends among them; `None` unless 1 ≤ low < high < 2^53 and
/// `count` is at least 2.
pub fn geometric_sizes(low: u64, high: u64, count: u32) -> Option<Vec<u64>> {
    if low < 1 || high <= low || high >= 1 << 53 || count < 2 {
        return None;
    }
    let (a, b) = ((low as f64).ln(), (high as f64).ln());
    let size = |i: u32| (a + (b - a) * f64::from(i) / f64::from(count - 1)).exp().round() as u64;
    let mut sizes: Vec<u64> = (0..count).map(size).map(|n| n.clamp(low, high)).collect();
    sizes.extend([low, high]);
    sizes.sort_unstable();
    sizes.dedup();
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_geometric_and_whole() {
        assert_eq!(geometric_sizes(1, 1000, 4), Some(vec![1, 10, 100, 1000]));
        assert_eq!(geometric_sizes(1, 4, 10), Some(vec![1, 2, 3, 4]));
        assert_eq!(geometric_sizes(1000, 1_000_000, 7).map(|s| (s.len(), s[3])), Some((7, 31_623)));
        for (low, high, count) in [(0, 10, 5), (5, 5, 5), (9, 3, 5), (1, 10, 1), (1, 1 << 53, 5)] {
            assert_eq!(geometric_sizes(low, high, count), None);
        }
    }
}
