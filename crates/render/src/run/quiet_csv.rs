//! The columns of probes in CSV tables; runs without probes have none. An empty cell is an absent value.

use crate::run::csv_cells::{NamedCell, named};
use crate::run::quiet;
use tarebench_core::quiet::data::QuietTime;
use tarebench_core::quiet::features::features;
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::probes::{GateRecord, ProbeKind};
use tarebench_report::csv::{cell, number, secs, text};

/// Of a sample. `quiet_ns` is its CPU time without what the probes say that the machine added.
const SAMPLES: [&str; 8] = [
    "paused_ns",
    "pauses",
    "waited_ns",
    "pause_limit_reached",
    "probes_ns",
    "probe_wakes",
    "probe_wakes_late",
    "quiet_ns",
];

fn has_probes(report: &RunReport) -> bool {
    report.run.plan.probes.is_some()
}

/// Of a program: times in seconds, errors as shares.
pub(crate) fn series_cells(report: &RunReport, s: Option<&SeriesReport>) -> Vec<NamedCell> {
    if !has_probes(report) {
        return Vec::new();
    }
    let quiet = s.and_then(|s| s.quiet.as_ref());
    let found = quiet.and_then(|q| q.as_ref().ok());
    let why = quiet.and_then(|q| q.as_ref().err()).and_then(quiet::refusal);
    let time = |f: fn(&QuietTime) -> f64| cell(found, |q| secs(f(q)));
    let share = |f: fn(&QuietTime) -> f64| cell(found, |q| number(f(q)));
    named([
        ("quiet", time(|q| q.value)),
        ("quiet_low", time(|q| q.interval.low)),
        ("quiet_high", time(|q| q.interval.high)),
        ("quiet_uncorrected", time(|q| q.uncorrected)),
        ("quiet_residual", share(|q| q.residual)),
        ("quiet_held_out", share(|q| q.held_out.corrected)),
        // Why there is none.
        ("quiet_refused", cell(why, |why| text(&why))),
    ])
}

/// The features are logarithms: how much slower the probe was than on the quiet machine.
pub(crate) fn sample_heads(report: &RunReport) -> Vec<String> {
    if !has_probes(report) {
        return Vec::new();
    }
    let features = ProbeKind::ALL.iter().map(|kind| format!("slower_{}", quiet::probe(*kind)));
    SAMPLES.iter().map(|s| (*s).to_owned()).chain(features).collect()
}

pub(crate) fn sample_cells(report: &RunReport, s: &Sample) -> Vec<String> {
    if !has_probes(report) {
        return Vec::new();
    }
    let probes = s.probes.value();
    let gate = probes.and_then(|p| p.gate.as_ref());
    let of_gate = |f: fn(&GateRecord) -> String| cell(gate, f);
    let found = probes.zip(report.quiet_levels.as_ref()).and_then(|(p, levels)| features(p, levels));
    let series = report.series.get(s.series as usize).and_then(|s| s.quiet.as_ref()?.as_ref().ok());
    let corrected = series.zip(found.as_ref()).and_then(|(q, x)| Some(q.corrected(s.process_time().ok()?, x)));
    let mut cells = vec![
        of_gate(|g| g.paused.0.to_string()),
        of_gate(|g| g.stops.to_string()),
        of_gate(|g| g.waited.0.to_string()),
        of_gate(|g| g.limit_reached.to_string()),
        cell(probes, |p| p.cost.cpu.0.to_string()),
        cell(probes, |p| p.cost.wakes.to_string()),
        cell(probes, |p| p.cost.late.to_string()),
        cell(corrected.filter(|ns| ns.is_finite()), |ns| format!("{ns:.0}")),
    ];
    let values = found.map(|x| x.0);
    cells.extend((0..ProbeKind::ALL.len()).map(|i| cell(values.and_then(|v| v.get(i).copied()), number)));
    cells
}

#[cfg(test)]
mod tests {
    use crate::run::{csv, fixtures, quiet_fixtures};

    fn columns(text: &str, from: &str) -> Vec<Vec<String>> {
        let mut reader = ::csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let at = reader.headers().unwrap().iter().position(|h| h == from).unwrap();
        reader.records().map(|r| r.unwrap().iter().skip(at).map(str::to_owned).collect()).collect()
    }

    #[test]
    fn a_programs_row_has_the_corrected_time_or_why_not() {
        let rows = columns(&csv::series(&quiet_fixtures::two()).unwrap(), "quiet");
        assert_eq!(rows[0], ["0.2864", "0.2859", "0.2869", "0.2941", "0.0014", "0.0016", ""]);
        assert_eq!(rows[1][..6], [const { String::new() }; 6]);
        assert_eq!(rows[1][6], "not corrected: it used 1.9 CPUs, and probes ran on 1");
    }

    #[test]
    fn a_samples_row_has_what_the_probes_saw() {
        let text = csv::samples(&quiet_fixtures::one(), &quiet_fixtures::samples()).unwrap();
        let rows = columns(&text, "paused_ns");
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1][..7], ["40000000", "2", "3000000", "false", "1900000", "101", "1"].map(str::to_owned));
        let corrected: f64 = rows[1][7].parse().unwrap();
        assert!(corrected > 0.0 && corrected < 800_000_123.0, "{corrected}");
        let latency: f64 = rows[1][8].parse().unwrap();
        assert!(latency > 0.05 && latency < 0.2, "{latency}");
        assert!(rows[3].iter().all(String::is_empty), "no probes ran beside the last: {:?}", rows[3]);
        assert_eq!(rows[1].len(), 8 + 11);
    }

    #[test]
    fn runs_without_probes_have_no_such_columns() {
        let text = csv::samples(&fixtures::one(), &fixtures::samples()).unwrap();
        assert!(!text.contains("paused") && !csv::series(&fixtures::one()).unwrap().contains("quiet"));
    }
}
