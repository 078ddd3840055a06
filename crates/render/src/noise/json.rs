//! Measurements of noise as JSON.

use crate::noise::platform::ShownNoise;
use crate::noise::several::label;
use serde::Serialize;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::noise::data::{Calibrated, Noise, NoisePlan, Series};
use tarebench_core::noise::report::Grain;
use tarebench_report::error::RenderError;
use tarebench_report::json::compact;

#[derive(Serialize)]
struct NoiseDocument<'a> {
    format: &'static str,
    version: u32,
    head: &'a DocumentHead,
    plan: &'a NoisePlan,
    calibration: Option<&'a Calibrated>,
    series: Vec<CountedSeries<'a>>,
    grains: &'a [Grain],
}

/// A series without its durations.
#[derive(Serialize)]
struct CountedSeries<'a> {
    phases: usize,
    #[serde(flatten)]
    series: &'a Series,
}

/// All but the single durations and events, which are in an export.
pub fn noise(head: &DocumentHead, noise: &Noise, grains: &[Grain]) -> Result<String, RenderError> {
    let document = NoiseDocument {
        format: "tare-noise",
        version: 1,
        head,
        plan: &noise.plan,
        calibration: noise.calibration.as_ref().map(|(c, _)| c),
        series: noise.phases.iter().map(|p| CountedSeries { phases: p.durations.len(), series: &p.series }).collect(),
        grains,
    };
    Ok(compact(&document)? + "\n")
}

#[derive(Serialize)]
struct SeveralNoises<'a> {
    format: &'static str,
    version: u32,
    measurements: Vec<NoiseResults<'a>>,
}

#[derive(Serialize)]
struct NoiseResults<'a> {
    label: String,
    head: &'a DocumentHead,
    plan: &'a NoisePlan,
    grains: &'a [Grain],
}

/// The same of several.
pub fn several(all: &[ShownNoise<'_>]) -> Result<String, RenderError> {
    let measurements =
        all.iter().map(|s| NoiseResults { label: label(s), head: s.head, plan: &s.noise.plan, grains: s.grains });
    let document = SeveralNoises { format: "tare-noises", version: 1, measurements: measurements.collect() };
    Ok(compact(&document)? + "\n")
}
