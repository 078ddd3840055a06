//! A gate as JSON: what was asked for and measured, and the result.

use crate::compare::gate::said::answer;
use serde::Serialize;
use tarebench_core::compare::gate::{Gate, GateReport};
use tarebench_core::documents::head::DocumentHead;
use tarebench_report::error::RenderError;

#[derive(Serialize)]
struct GateJson<'a> {
    format: &'static str,
    version: u32,
    id: String,
    head: &'a DocumentHead,
    answer: String,
    report: &'a GateReport,
    gate: &'a Gate,
}

/// `{"format":"tare-gate","version":1,"id":"g1","head":{…},"answer":"…","report":{…},"gate":{"plan":{…},"measured":[…]}}`.
///
/// Times are in ns; what is no number is `null`.
pub fn json(head: &DocumentHead, gate: &Gate, report: &GateReport) -> Result<String, RenderError> {
    let answer = answer(report).plain();
    let id = head.id().to_string();
    let document = GateJson { format: "tare-gate", version: 1, id, head, answer, report, gate };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use serde_json::Value;
    use tarebench_report::text::hidden;

    fn parsed((gate, report): &(Gate, GateReport)) -> Value {
        let text = json(&fixtures::head(), gate, report).unwrap();
        assert!(text.ends_with("}\n") && !text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn it_holds_the_gate_and_its_report() {
        let (gate, report) = fixtures::every_verdict();
        let d = parsed(&(gate.clone(), report.clone()));
        assert_eq!((&d["format"], &d["version"], &d["id"]), (&"tare-gate".into(), &1.into(), &"g3".into()));
        assert_eq!(d["head"]["machine"], "box");
        assert_eq!(d["answer"], "failed: 1 of 8 benchmarks could not be measured; 1 slower, 4 undecided, 1 faster");
        assert_eq!(
            (&d["report"]["verdict"], &d["report"]["benchmarks"][0]["verdict"]),
            (&"failed".into(), &"regression".into())
        );
        // The last digit of a number may be another one when it is read.
        let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        let read: Gate = serde_json::from_value(d["gate"].clone()).unwrap();
        assert_eq!(read.plan, gate.plan);
        assert!(read.measured.iter().zip(&gate.measured).all(|(a, b)| near(&a.logs, &b.logs)));
        let read: GateReport = serde_json::from_value(d["report"].clone()).unwrap();
        assert_eq!(read.benchmarks.len(), report.benchmarks.len());
    }

    #[test]
    fn hostile_names_and_no_numbers() {
        let d = parsed(&fixtures::hostile());
        let name = d["report"]["benchmarks"][0]["name"].as_str().unwrap();
        assert!(name.starts_with(&format!("0{}", fixtures::HOSTILE)));
        assert_eq!(d["report"]["benchmarks"][0]["ratio"], Value::Null);
        let (gate, report) = fixtures::gate_of(Vec::new(), tarebench_core::compare::gate::GateVerdict::Inconclusive);
        assert_eq!(parsed(&(gate, report))["answer"], "inconclusive: nothing was measured");
    }
}
