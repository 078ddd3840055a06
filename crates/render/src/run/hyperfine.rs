//! hyperfine's JSON, as its version 1.20 writes it, so that scripts made for it continue to work.

use crate::kit::error::RenderError;
use crate::kit::json;
use serde::Serialize;
use std::collections::BTreeMap;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::data::{Outcome, Phase, Sample};

#[derive(Serialize)]
struct HyperfineJson<'a> {
    results: Vec<HyperfineResult<'a>>,
}

// The order of the fields is that of hyperfine.
#[derive(Serialize)]
struct HyperfineResult<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: &'a BTreeMap<String, String>,
}

/// The run as `hyperfine --export-json` writes it: seconds, elapsed time, every counted execution.
///
/// As hyperfine discards nothing, the figures are of all counted executions; they can differ from those of
/// [`tarebench_core::run::report::data`]. Omitted are executions that never began or that the user interrupted, and programs
/// without any execution. `user` and `system` are `null`, and `memory_usage_byte` is missing, where not all is known.
///
/// # Errors
/// [`RenderError::Json`] if a value cannot be written as JSON.
pub fn json(report: &RunReport, samples: &[Sample]) -> Result<String, RenderError> {
    let entry = |(i, s): (usize, &'_ tarebench_core::run::report::data::SeriesReport)| {
        let mut of: Vec<&Sample> = samples.iter().filter(|x| x.series as usize == i && executed(x)).collect();
        of.sort_by_key(|x| x.index);
        (i, s.program.label.clone(), of)
    };
    let found: Vec<_> = report.series.iter().enumerate().map(entry).collect();
    let results =
        found.iter().filter_map(|(i, label, of)| summary(label, &report.series[*i].program.parameters, of)).collect();
    let mut text = json::pretty(&HyperfineJson { results })?;
    text.push('\n');
    Ok(text)
}

fn executed(s: &Sample) -> bool {
    s.phase == Phase::Counted
        && !matches!(s.outcome, Outcome::NotStarted { .. } | Outcome::HookFailed { .. } | Outcome::Interrupted)
}

fn summary<'a>(
    command: &'a str,
    parameters: &'a BTreeMap<String, String>,
    samples: &[&Sample],
) -> Option<HyperfineResult<'a>> {
    let times: Vec<f64> = samples.iter().map(|s| s.elapsed().secs()).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let mean = mean(&times)?;
    let half = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) };
    let squares: f64 = times.iter().map(|t| (t - mean).powi(2)).sum();
    let stddev = (times.len() > 1).then(|| (squares / (times.len() - 1) as f64).sqrt());
    let split: Option<Vec<(f64, f64)>> = samples
        .iter()
        .map(|s| {
            let cpu = s.process_times.value().and_then(|p| p.split())?;
            Some((cpu.user.secs(), cpu.system.secs()))
        })
        .collect();
    let part =
        |f: fn(&(f64, f64)) -> f64| split.as_ref().and_then(|s| self::mean(&s.iter().map(f).collect::<Vec<_>>()));
    Some(HyperfineResult {
        command,
        mean,
        stddev,
        median,
        user: part(|x| x.0),
        system: part(|x| x.1),
        min,
        max,
        times,
        memory_usage_byte: samples.iter().map(|s| s.peak_memory.value().copied()).collect(),
        exit_codes: samples.iter().map(|s| s.outcome.shell_code()).collect(),
        parameters,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
