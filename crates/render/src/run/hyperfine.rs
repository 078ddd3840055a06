//! hyperfine's JSON, as its version 1.20 writes it, so that scripts made for it continue to work.

use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::samples::SampleSource;
use tarebench_core::sample::data::{Outcome, Phase, Sample};
use tarebench_report::error::{RenderError, SamplesError};
use tarebench_report::json;

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
pub fn json(report: &RunReport, samples: &[Sample]) -> Result<String, RenderError> {
    let mut out = Vec::new();
    write(&mut out, report, samples)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// As [`json()`], into a writer. Some 100 bytes of each sample are in memory.
///
/// # Errors
/// That of the source; [`RenderError::Json`] if the writer fails or a value cannot be written as JSON.
pub fn write<S: SampleSource + ?Sized>(
    mut out: impl io::Write,
    report: &RunReport,
    samples: &S,
) -> Result<(), SamplesError<S::Error>> {
    let mut all: Vec<Vec<HyperfineSample>> = report.series.iter().map(|_| Vec::new()).collect();
    samples
        .each(&mut |s| {
            if let Some(of) = all.get_mut(s.series as usize).filter(|_| executed(s)) {
                of.push(HyperfineSample::new(s));
            }
        })
        .map_err(SamplesError::Unread)?;
    all.iter_mut().for_each(|of| of.sort_by_key(|s| s.index));
    let programs = report.series.iter().map(|s| &s.program).zip(&all);
    let results = programs.filter_map(|(p, of)| summary(&p.label, &p.parameters, of)).collect();
    json::write_pretty(&mut out, &HyperfineJson { results })?;
    out.write_all(b"\n").map_err(RenderError::from)?;
    Ok(())
}

/// What is written of a sample, times in seconds.
struct HyperfineSample {
    index: u32,
    exit_code: Option<i32>,
    elapsed: f64,
    /// User and system time.
    split: Option<(f64, f64)>,
    peak_memory: Option<u64>,
}

impl HyperfineSample {
    fn new(s: &Sample) -> HyperfineSample {
        HyperfineSample {
            index: s.index,
            exit_code: s.outcome.shell_code(),
            elapsed: s.elapsed().secs(),
            split: s.process_times.value().and_then(|p| p.split()).map(|cpu| (cpu.user.secs(), cpu.system.secs())),
            peak_memory: s.peak_memory.value().copied(),
        }
    }
}

fn executed(s: &Sample) -> bool {
    s.phase == Phase::Counted
        && !matches!(s.outcome, Outcome::NotStarted { .. } | Outcome::HookFailed { .. } | Outcome::Interrupted)
}

fn summary<'a>(
    command: &'a str,
    parameters: &'a BTreeMap<String, String>,
    samples: &[HyperfineSample],
) -> Option<HyperfineResult<'a>> {
    let times: Vec<f64> = samples.iter().map(|s| s.elapsed).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let mean = mean(&times)?;
    let half = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) };
    let squares: f64 = times.iter().map(|t| (t - mean).powi(2)).sum();
    let stddev = (times.len() > 1).then(|| (squares / (times.len() - 1) as f64).sqrt());
    let split: Option<Vec<(f64, f64)>> = samples.iter().map(|s| s.split).collect();
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
        memory_usage_byte: samples.iter().map(|s| s.peak_memory).collect(),
        exit_codes: samples.iter().map(|s| s.exit_code).collect(),
        parameters,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
