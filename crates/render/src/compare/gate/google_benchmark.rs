//! Google Benchmark's JSON, which its `tools/compare.py benchmarks base.json head.json` compares.
//!
//! `compare.py` divides the times of both files. A gate's ratio is more exact than the quotient of two medians, because its
//! blocks compare both builds at the same time. Therefore the time of the head, by the measure that the gate compares, is
//! written as that of the base times the gate's ratio: the tool then prints the gate's change. What was measured of the head
//! alone stands beside it, in `observed_real_time` and `observed_cpu_time`, and `label` says which of the times was computed.
//! The base has the medians of its own executions alone.

use crate::compare::gate::said::{blocks, measure, times, verdict_word};
use crate::compare::sentence::short;
use serde::Serialize;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::compare::gate::{Gate, GateReport, SideTimes};
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::run::report::data::Measure;
use tarebench_report::error::RenderError;

/// Which of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportedBuild {
    Base,
    Head,
}

#[derive(Serialize)]
struct GoogleFile<'a> {
    context: GoogleContext<'a>,
    benchmarks: Vec<GoogleEntry<'a>>,
}

/// In the order of Google Benchmark; what is unknown is missing, as there.
#[derive(Serialize)]
struct GoogleContext<'a> {
    date: String,
    host_name: &'a str,
    executable: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mhz_per_cpu: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_scaling_enabled: Option<bool>,
    /// What tare knows of a machine says nothing of its caches.
    caches: [u32; 0],
    load_avg: Vec<f64>,
    library_build_type: &'static str,
    json_schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
}

#[derive(Serialize)]
struct GoogleEntry<'a> {
    name: &'a str,
    family_index: usize,
    per_family_instance_index: u32,
    run_name: &'a str,
    run_type: &'static str,
    repetitions: u32,
    repetition_index: u32,
    threads: u32,
    iterations: u32,
    real_time: f64,
    cpu_time: f64,
    time_unit: &'static str,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_real_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_cpu_time: Option<f64>,
}

/// The file of one build. `cpu_time` is process time, `real_time` elapsed time. Benchmarks without both, and those without a
/// ratio, are in neither file.
pub fn google_benchmark(
    head: &DocumentHead,
    gate: &Gate,
    report: &GateReport,
    build: ExportedBuild,
    zone: &TimeZone,
) -> Result<String, RenderError> {
    let entries = (0..report.benchmarks.len()).filter_map(|place| entry(gate, report, place, build));
    let file = GoogleFile { context: context(head, gate, build, zone), benchmarks: entries.collect() };
    Ok(tarebench_report::json::pretty(&file)? + "\n")
}

fn context<'a>(head: &'a DocumentHead, gate: &'a Gate, build: ExportedBuild, zone: &TimeZone) -> GoogleContext<'a> {
    let conditions = head.conditions.as_deref();
    let host = conditions.map(Conditions::host);
    let side = match build {
        ExportedBuild::Base => &gate.plan.base,
        ExportedBuild::Head => &gate.plan.head,
    };
    let hz = host.and_then(|h| h.cycle_counter_hz.value()).filter(|hz| (0.0..1e15).contains(*hz));
    GoogleContext {
        // RFC 3339, as there.
        date: date(head.created, zone).replacen(' ', "T", 1).replacen(' ', "", 1),
        host_name: &head.machine,
        executable: &side.folder,
        num_cpus: host.map(|h| h.cpus),
        mhz_per_cpu: hz.map(|hz| (hz / 1e6).round() as u64),
        cpu_scaling_enabled: conditions.and_then(scaling),
        caches: [],
        load_avg: conditions.map(load).unwrap_or_default(),
        library_build_type: "release",
        json_schema_version: 1,
        commit: side.commit.as_deref(),
    }
}

/// As Google Benchmark has it: a governor that is not `performance`.
fn scaling(conditions: &Conditions) -> Option<bool> {
    let governor = conditions.factors().iter().find(|f| f.name == "governor")?;
    governor.value.as_deref().map(|value| value != "performance")
}

/// Of 1, 5 and 15 minutes, from `0.25 over 1 minute, 0.50 over 5, 0.75 over 15`.
fn load(conditions: &Conditions) -> Vec<f64> {
    let found = conditions.factors().iter().find(|f| f.name == "load-average").map_or("", |f| f.finding.as_str());
    let number = |part: &str| part.split_whitespace().next()?.parse().ok();
    let all: Vec<f64> = found.split(", ").map_while(number).filter(|n: &f64| n.is_finite()).collect();
    if all.len() == 3 { all } else { Vec::new() }
}

fn entry<'a>(gate: &Gate, report: &'a GateReport, place: usize, build: ExportedBuild) -> Option<GoogleEntry<'a>> {
    let b = report.benchmarks.get(place)?;
    let measured = gate.measured.get(place)?;
    let compared = measure(gate, place)?;
    // Net time has no place of its own there.
    let by = |wanted: Measure| measured.times.iter().find(|t| t.measure == wanted);
    let (real, cpu) = (by(Measure::Et)?, by(Measure::Pt)?);
    let ratio = b.ratio?;
    let computed = |t: &SideTimes| if t.measure == compared { t.base * ratio } else { t.head };
    let (real_time, cpu_time) = match build {
        ExportedBuild::Base => (real.base, cpu.base),
        ExportedBuild::Head => (computed(real), computed(cpu)),
    };
    let of_head = |time: f64| (build == ExportedBuild::Head).then_some(time);
    let (observed_real_time, observed_cpu_time) = (of_head(real.head), of_head(cpu.head));
    let all = [Some(real_time), Some(cpu_time), observed_real_time, observed_cpu_time];
    all.into_iter().flatten().all(f64::is_finite).then(|| GoogleEntry {
        name: &b.name,
        family_index: place,
        per_family_instance_index: 0,
        run_name: &b.name,
        run_type: "iteration",
        repetitions: 1,
        repetition_index: 0,
        threads: 1,
        iterations: times(gate, place).map_or(cpu.samples, |t| t.samples),
        real_time,
        cpu_time,
        time_unit: "ns",
        label: match (build, compared) {
            (ExportedBuild::Base, _) => "medians of executions alone".to_owned(),
            (ExportedBuild::Head, Measure::Net) => format!("{}; medians of executions alone", verdict_word(b.verdict)),
            (ExportedBuild::Head, Measure::Pt | Measure::Et) => {
                let (word, count) = (verdict_word(b.verdict), blocks(b.blocks, Some(measured)));
                format!("{word}; {} time: that of the base times the ratio of {count}", short(compared))
            }
        },
        observed_real_time,
        observed_cpu_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use serde_json::Value;
    use tarebench_core::compare::gate::GateVerdict;
    use tarebench_report::text::hidden;

    fn parsed((gate, report): &(Gate, GateReport), build: ExportedBuild) -> Value {
        let text = google_benchmark(&fixtures::head(), gate, report, build, &TimeZone::UTC).unwrap();
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_quotient_of_both_files_is_the_ratio() {
        let fixture = fixtures::three();
        let (base, head) = (parsed(&fixture, ExportedBuild::Base), parsed(&fixture, ExportedBuild::Head));
        let (base, head) = (base["benchmarks"].as_array().unwrap(), head["benchmarks"].as_array().unwrap());
        assert_eq!((base.len(), head.len()), (3, 3));
        for ((a, b), report) in base.iter().zip(head).zip(&fixture.1.benchmarks) {
            assert_eq!((&a["name"], &b["name"]), (&report.name.as_str().into(), &report.name.as_str().into()));
            let ratio = b["cpu_time"].as_f64().unwrap() / a["cpu_time"].as_f64().unwrap();
            assert!((ratio - report.ratio.unwrap()).abs() < 1e-12, "{ratio}");
            // By the other clock, what was measured.
            assert_eq!((a["real_time"].as_f64(), b["real_time"].as_f64()), (Some(8.2e8), Some(8.3e8)));
        }
        let parse = &head[0];
        let observed = parse["observed_cpu_time"].as_f64().unwrap();
        assert!((observed - 833.8e6).abs() < 1e-3, "{observed}");
        assert_eq!(parse["label"], "regression; CPU time: that of the base times the ratio of 24 duets");
        assert!(base[0].get("observed_cpu_time").is_none());
        for (key, value) in [("run_type", "iteration"), ("run_name", "parse"), ("time_unit", "ns")] {
            assert_eq!(parse[key], value);
        }
        for (key, value) in
            [("repetitions", 1), ("repetition_index", 0), ("threads", 1), ("iterations", 6), ("family_index", 0)]
        {
            assert_eq!(parse[key], value, "{key}");
        }
    }

    #[test]
    fn the_context_is_that_of_the_machine() {
        let d = parsed(&fixtures::three(), ExportedBuild::Base);
        let context = &d["context"];
        assert_eq!(context["date"], "2023-11-14T22:13:20+00:00");
        assert_eq!((&context["host_name"], &context["num_cpus"]), (&"box".into(), &2.into()));
        assert_eq!((&context["mhz_per_cpu"], &context["cpu_scaling_enabled"]), (&2100.into(), &true.into()));
        assert_eq!(
            (&context["caches"], &context["load_avg"]),
            (&serde_json::json!([]), &serde_json::json!([0.25, 0.5, 0.75]))
        );
        assert_eq!((&context["library_build_type"], &context["json_schema_version"]), (&"release".into(), &1.into()));
        assert!(context["commit"].as_str().unwrap().starts_with("1f2e3d4c5b6a"));
    }

    #[test]
    fn what_has_no_times_is_left_out_of_both() {
        for build in [ExportedBuild::Base, ExportedBuild::Head] {
            let d = parsed(&fixtures::every_verdict(), build);
            let names: Vec<&str> =
                d["benchmarks"].as_array().unwrap().iter().filter_map(|b| b["name"].as_str()).collect();
            assert_eq!(names, ["parse", "render", "sort", "noisy", "few", "bistable"]);
            let empty = fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive);
            assert_eq!(parsed(&empty, build)["benchmarks"], serde_json::json!([]));
            // No entry has a time that is no number, whatever the figures are.
            let hostile = parsed(&fixtures::hostile(), build);
            let all = hostile["benchmarks"].as_array().unwrap();
            assert!(all.iter().all(|b| b["real_time"].is_f64() && b["cpu_time"].is_f64()), "{all:?}");
        }
        let mut head = fixtures::head();
        head.conditions = None;
        let (gate, report) = fixtures::three();
        let text = google_benchmark(&head, &gate, &report, ExportedBuild::Head, &TimeZone::UTC).unwrap();
        let d: Value = serde_json::from_str(&text).unwrap();
        assert!(d["context"].get("mhz_per_cpu").is_none() && d["context"]["load_avg"] == serde_json::json!([]));
    }
}
