//! Bencher's metric format (BMF), for `bencher run --adapter json`.

use serde::Serialize;
use std::collections::BTreeMap;
use tarebench_core::compare::gate::{Gate, GateReport, GateVerdict, SideTimes};
use tarebench_core::run::report::data::Measure;
use tarebench_report::error::RenderError;
use tarebench_report::text::cut_middle;

/// Longest name of a benchmark there, in bytes.
const NAME: usize = 1_024;

#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// The head's times, in ns: `{"NAME":{"latency":{"value":…,"lower_value":…,"upper_value":…},"cpu-time":{…}}}`.
///
/// `latency` is elapsed time, Bencher's own measure; `cpu-time` and `net-time` are further ones. Values are medians of executions
/// alone, with their 95% intervals where there are any. Benchmarks that failed or have no times are left out.
pub fn bencher(gate: &Gate, report: &GateReport) -> Result<String, RenderError> {
    let mut all: BTreeMap<String, BTreeMap<&'static str, BencherMetric>> = BTreeMap::new();
    for (b, measured) in report.benchmarks.iter().zip(&gate.measured) {
        let metrics = measured.times.iter().filter_map(|t| Some((slug(t.measure), metric(t)?)));
        let metrics: BTreeMap<&'static str, BencherMetric> = metrics.collect();
        if b.verdict != GateVerdict::Failed && !metrics.is_empty() && !b.name.is_empty() {
            all.insert(name(&b.name), metrics);
        }
    }
    Ok(tarebench_report::json::pretty(&all)? + "\n")
}

/// The name, cut if it is longer than Bencher accepts.
fn name(name: &str) -> String {
    let mut room = NAME;
    let mut cut = name.to_owned();
    // Columns are not bytes.
    while cut.len() > NAME && room > 0 {
        cut = cut_middle(name, room, "..").into_owned();
        room /= 2;
    }
    cut
}

fn slug(measure: Measure) -> &'static str {
    match measure {
        Measure::Et => "latency",
        Measure::Pt => "cpu-time",
        Measure::Net => "net-time",
    }
}

fn metric(t: &SideTimes) -> Option<BencherMetric> {
    let interval = t.head_interval.as_ref().ok().filter(|i| i.low.is_finite() && i.high.is_finite());
    t.head.is_finite().then(|| BencherMetric {
        value: t.head,
        lower_value: interval.map(|i| i.low),
        upper_value: interval.map(|i| i.high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use serde_json::{Value, json};
    use tarebench_core::statistics::intervals::NoInterval;
    use tarebench_report::text::hidden;

    fn parsed((gate, report): &(Gate, GateReport)) -> Value {
        let text = bencher(gate, report).unwrap();
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_measure_for_each_clock() {
        let (mut gate, report) = fixtures::three();
        gate.measured[1].times[0].head_interval = Err(NoInterval::TooFew { have: 3, need: 6 });
        let mut net = gate.measured[1].times[1].clone();
        net.measure = Measure::Net;
        gate.measured[1].times.push(net);
        let d = parsed(&(gate, report));
        assert_eq!(
            d["parse"]["latency"],
            json!({"value": 8.3e8, "lower_value": 8.3e8 * 0.99, "upper_value": 8.3e8 * 1.01})
        );
        assert_eq!(d["render"]["latency"], json!({"value": 8.3e8}));
        let measures: Vec<&String> = d["render"].as_object().unwrap().keys().collect();
        assert_eq!(measures, ["cpu-time", "latency", "net-time"]);
    }

    #[test]
    fn what_failed_is_left_out() {
        let names = |d: &Value| d.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
        assert_eq!(names(&parsed(&fixtures::every_verdict())), ["bistable", "few", "noisy", "parse", "render", "sort"]);
        assert_eq!(parsed(&fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive)), json!({}));
        let hostile = parsed(&fixtures::hostile());
        assert!(names(&hostile).iter().all(|n| n.len() <= NAME), "{hostile}");
        for metrics in hostile.as_object().unwrap().values() {
            assert!(metrics.as_object().unwrap().values().all(|m| m["value"].is_f64()), "{hostile}");
        }
        assert_eq!((name("a").as_str(), name(&"ä".repeat(5_000)).len() <= NAME), ("a", true));
    }
}
