//! Results of benchmarks as JSON, and their trials as CSV.

use serde::Serialize;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::kbest::bench::Bench;
use tarebench_core::kbest::report::BenchReport;
use tarebench_report::csv;
use tarebench_report::error::RenderError;

/// What is shown: the stored document, the measurement and its results.
#[derive(Clone, Copy, Debug)]
pub struct ShownBench<'a> {
    pub head: &'a DocumentHead,
    pub bench: &'a Bench,
    pub report: &'a BenchReport,
}
#[derive(Serialize)]
struct BenchJson<'a> {
    format: &'static str,
    version: u32,
    id: String,
    head: &'a DocumentHead,
    report: &'a BenchReport,
    bench: &'a Bench,
}

/// Figures and raw trials: `{"format":"tare-bench-report","version":1,"id":"b1","head":{…},"report":{"rows":[…]},"bench":{…}}`.
pub fn json(s: &ShownBench<'_>) -> Result<String, RenderError> {
    let id = s.head.id().to_string();
    let ShownBench { head, bench, report } = *s;
    Ok(tarebench_report::json::pretty(&BenchJson { format: "tare-bench-report", version: 1, id, head, report, bench })?
        + "\n")
}

/// One row per trial, in their order: raw readings, `trial` from 0, and the time of one execution in nanoseconds.
///
/// # Errors
/// [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn trials(bench: &Bench) -> Result<String, RenderError> {
    let head = ["benchmark", "trial", "count", "time_ns", "cpu_ns", "ticks", "preemptions", "waits"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for r in &bench.rows {
        let count = |n: Option<u64>| csv::cell(n, |n| n.to_string());
        for (i, t) in r.timing.trials.iter().enumerate() {
            rows.push(vec![
                csv::text(&r.name),
                i.to_string(),
                t.count.to_string(),
                csv::number(r.timing.time(t)),
                count(t.cpu),
                count(t.ticks),
                count(t.preemptions),
                count(t.waits),
            ]);
        }
    }
    csv::write(rows)
}
