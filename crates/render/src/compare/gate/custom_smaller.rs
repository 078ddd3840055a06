//! The JSON of github-action-benchmark's tool `customSmallerIsBetter`.

use crate::compare::gate::said::{blocks, change, measure, revision, verdict_word};
use crate::compare::sentence::spelled;
use serde::Serialize;
use tarebench_core::compare::gate::{Gate, GateReport, GateVerdict, SideTimes};
use tarebench_report::error::RenderError;
use tarebench_report::text::escape;

#[derive(Serialize)]
struct SmallerEntry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// The head's times, an entry for each benchmark and clock:
/// `[{"name":"parse (CPU time)","unit":"ns","value":…,"range":"[…, …]","extra":"…"}]`.
///
/// Values are medians of executions alone with their 95% intervals. The unit is always ns, since that tool compares the values of
/// different commits as they are. What the gate found stands in `extra`, which the tool shows beside a value. Benchmarks that
/// failed or have no times are left out; the tool refuses a file without any entry.
pub fn custom_smaller(gate: &Gate, report: &GateReport) -> Result<String, RenderError> {
    let mut all = Vec::new();
    for (place, (b, measured)) in report.benchmarks.iter().zip(&gate.measured).enumerate() {
        let times = measured.times.iter().filter(|t| t.head.is_finite() && b.verdict != GateVerdict::Failed);
        all.extend(times.map(|t| SmallerEntry {
            name: format!("{} ({})", b.name, spelled(t.measure)),
            unit: "ns",
            value: t.head,
            range: range(t),
            extra: extra(gate, report, place),
        }));
    }
    Ok(tarebench_report::json::pretty(&all)? + "\n")
}

fn range(t: &SideTimes) -> Option<String> {
    let interval = t.head_interval.as_ref().ok()?;
    Some(format!("[{:.0}, {:.0}]", interval.low, interval.high))
}

/// `regression: +4.1 % [+3.8, +4.4] of CPU time, 24 duets, against 1f2e3d4c5b6a`.
fn extra(gate: &Gate, report: &GateReport, place: usize) -> String {
    let Some(b) = report.benchmarks.get(place) else { return String::new() };
    let mut parts = vec![verdict_word(b.verdict).to_owned()];
    if let Some(change) = b.ratio.map(|ratio| change(ratio, &b.interval).plain()) {
        let by = measure(gate, place).map_or_else(String::new, |m| format!(" of {}", spelled(m)));
        let count = blocks(b.blocks, gate.measured.get(place));
        let base = revision(&gate.plan.base).id;
        parts.push(format!("{change}{by}, {count}, against {}", escape(&base)));
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use serde_json::{Value, json};
    use tarebench_report::text::hidden;

    fn parsed((gate, report): &(Gate, GateReport)) -> Value {
        let text = custom_smaller(gate, report).unwrap();
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_entry_for_each_benchmark_and_clock() {
        let d = parsed(&fixtures::three());
        assert_eq!(d.as_array().unwrap().len(), 6);
        let extra = "regression: +4.1 % [+3.8, +4.4] of CPU time, 24 duets, against 1f2e3d4c5b6a";
        let expected = json!({
            "name": "parse (elapsed time)", "unit": "ns", "value": 8.3e8, "range": "[821700000, 838300000]", "extra": extra,
        });
        assert_eq!(d[0], expected);
        assert_eq!(d[1]["name"], "parse (CPU time)");
    }

    #[test]
    fn names_are_as_they_are_and_values_numbers() {
        let d = parsed(&fixtures::hostile());
        for entry in d.as_array().unwrap() {
            assert!(entry["value"].is_f64() && entry["unit"] == "ns", "{entry}");
            assert!(entry["name"].as_str().unwrap().contains(fixtures::HOSTILE));
        }
        let d = parsed(&fixtures::every_verdict());
        assert_eq!(d.as_array().unwrap().len(), 12, "two have no times");
        assert_eq!(parsed(&fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive)), json!([]));
    }
}
