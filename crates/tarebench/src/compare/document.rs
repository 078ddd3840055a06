//! A gate as it is stored: beside its results, how its benchmarks are run, so that it can be resumed.

use crate::compare::error::GateError;
use crate::documents::DocumentError;
use serde::{Deserialize, Serialize};
use tarebench_core::compare::gate::{Gate, GatePlan, MeasuredBenchmark};
use tarebench_core::documents::head::Id;
use tarebench_core::run::plan::RunPlan;

/// Indices of a run's programs.
pub(crate) const BASE: u32 = 0;
pub(crate) const HEAD: u32 = 1;
pub(crate) const CONTROL: u32 = 2;

/// The content of the document. Readers of results see a [`Gate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GateDocument {
    #[serde(flatten)]
    pub gate: Gate,
    /// One for each benchmark.
    pub run_plans: Vec<RunPlan>,
}

impl GateDocument {
    /// Nothing is measured yet.
    pub fn new(plan: GatePlan, run_plans: Vec<RunPlan>) -> Result<GateDocument, GateError> {
        let measured = vec![MeasuredBenchmark::default(); plan.benchmarks.len()];
        let document = GateDocument { gate: Gate { plan, measured }, run_plans };
        document.check_runs()?;
        Ok(document)
    }

    /// From the store.
    pub fn read(id: Id, doc: serde_json::Value) -> Result<GateDocument, GateError> {
        let bad = |cause: String| DocumentError::Content { id, cause };
        let document: GateDocument = serde_json::from_value(doc).map_err(|e| bad(e.to_string()))?;
        document.gate.check().map_err(|e| bad(e.to_string()))?;
        document.check_runs()?;
        Ok(document)
    }

    /// Each benchmark has its base and head, and its control if there is one.
    fn check_runs(&self) -> Result<(), GateError> {
        let programs = if self.gate.plan.control { 3 } else { 2 };
        let fit = |plan: &&RunPlan| plan.programs.len() == programs && plan.reference() == BASE;
        let (benchmarks, runs) = (self.gate.plan.benchmarks.len(), self.run_plans.iter().filter(fit).count());
        if benchmarks == runs && runs == self.run_plans.len() {
            return Ok(());
        }
        Err(GateError::Runs { benchmarks, runs })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;
    use tarebench_core::compare::gate::{GateBenchmark, GateSide};
    use tarebench_core::documents::head::DocumentKind;
    use tarebench_store::content;

    /// How one script is run in these folders, the base first.
    pub(crate) fn run_plan(script: &str, folders: [&str; 2], control: bool) -> RunPlan {
        let program = |(side, folder): (&str, &str)| {
            json!({
                "label": side,
                "command": { "argv": ["sh", "-c", script] },
                "parameters": {},
                "prepare": null,
                "conclude": null,
                "setup": null,
                "cleanup": null,
                "cwd": folder,
                "reference": side == "base",
            })
        };
        let [base, head] = folders;
        let mut programs: Vec<_> = [("base", base), ("head", head)].map(program).into();
        programs.extend(control.then(|| program(("control", base))));
        let plan = json!({
            "programs": programs,
            "order": "random",
            "seed": 1,
            "warmup": 1,
            "runs": { "fixed": 1 },
            "max_time": null,
            "timeout": null,
            "ignore_failure": "no",
            "sigma": 2.0,
            "profile": "no",
            "output": "null",
            "input": "null",
            "cpus": [],
            "sched": null,
            "cwd": "/",
            "env": [],
            "user": null,
            "leave_running": false,
            "images": false,
            "account": false,
            "tags": {},
            "require": [],
        });
        serde_json::from_value(plan).unwrap()
    }

    /// Benchmarks of these names, without a budget.
    pub(crate) fn gate_plan(names: &[&str], control: bool) -> GatePlan {
        let benchmark = |name: &&str| GateBenchmark {
            name: (*name).to_owned(),
            command: "./prog".to_owned(),
            threshold: 0.02,
            weight: 1.0,
            measure: None,
            budget: None,
        };
        GatePlan {
            suite: String::new(),
            base: GateSide::default(),
            head: GateSide::default(),
            benchmarks: names.iter().map(benchmark).collect(),
            budget: None,
            max_blocks: 16,
            control,
            family_error: 0.01,
        }
    }

    #[test]
    fn readers_of_results_see_the_gate() {
        let run = run_plan("true", ["/tmp", "/"], true);
        let document = GateDocument::new(gate_plan(&["a"], true), vec![run.clone()]).unwrap();
        let doc = content(&document).unwrap();
        assert_eq!(serde_json::from_value::<Gate>(doc.clone()).unwrap(), document.gate);
        let id = Id { kind: DocumentKind::Gate, number: 1 };
        assert_eq!(GateDocument::read(id, doc.clone()).unwrap(), document);
        let mut without = doc;
        without["run_plans"] = json!([]);
        assert!(matches!(GateDocument::read(id, without), Err(GateError::Runs { benchmarks: 1, runs: 0 })));
        assert!(matches!(GateDocument::read(id, json!({})), Err(GateError::Document(_))));
        // A control that was not asked for, or that is missing.
        assert!(GateDocument::new(gate_plan(&["a"], false), vec![run]).is_err());
        let pair = run_plan("true", ["/", "/"], false);
        assert!(GateDocument::new(gate_plan(&["a"], true), vec![pair]).is_err());
    }
}
