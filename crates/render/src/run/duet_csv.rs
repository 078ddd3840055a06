//! CSV tables of comparisons: what the table of programs has of them, and one row per duet. An empty cell is an absent value.

use crate::compare::sentence::verdict_word;
use crate::run::csv_cells::{NamedCell, estimate, named};
use std::collections::BTreeSet;
use std::io;
use tarebench_core::compare::duet::{Duet, DuetSide, DuetWeight};
use tarebench_core::run::blocks::duet_times;
use tarebench_core::run::plan::RunPlan;
use tarebench_core::run::report::data::{ComparedNumber, Comparison, DuetRatio, Measure, RatioBasis, RunReport};
use tarebench_core::run::samples::SampleSource;
use tarebench_report::csv::{cell, number, text};
use tarebench_report::error::{RenderError, SamplesError};
use tarebench_report::text::escape;

/// What the program of this position is compared with, and how; empty cells if it is compared with nothing.
pub(crate) fn compared(report: &RunReport, series: usize) -> Vec<NamedCell> {
    let c = report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == series);
    let reference = c.and_then(|c| report.series.get(c.reference as usize));
    let basis = |c: &Comparison| match c.basis {
        RatioBasis::Alone => "alone".to_owned(),
        RatioBasis::Duets => "duets".to_owned(),
    };
    let chosen = |c: &Comparison| match c.number() {
        None => measure(c.ratio_measure()).to_owned(),
        Some(ComparedNumber::Printed(name)) => text(&format!("metric:{name}")),
        Some(ComparedNumber::Counter(counter)) => counter.name().to_owned(),
    };
    let mut row = named([
        ("reference", cell(reference, |s| text(&s.program.label))),
        // That of the answer: `et`, `pt`, `net`, `metric:NAME`; by `duets` or executions `alone`; program / reference.
        ("ratio_measure", cell(c, chosen)),
        ("ratio_basis", cell(c, basis)),
    ]);
    row.extend(estimate("ratio", c.map(|c| (c.ratio, &c.interval))));
    row.extend(named([
        ("ratio_blocks", cell(c, |c| c.pairs.to_string())),
        ("verdict", cell(c, |c| verdict_word(c).to_owned())),
    ]));
    // Of executions alone.
    for m in [Measure::Et, Measure::Pt, Measure::Net] {
        let found = c.and_then(|c| c.by(m)).map(|r| (r.ratio, &r.interval));
        row.extend(estimate(&format!("{}_ratio", measure(m)), found));
    }
    let d = c.and_then(|c| c.duets.as_ref()?.as_ref().ok());
    row.extend(estimate("duet_ratio", d.map(|d| (d.ratio, &d.interval))));
    let share = |f: fn(&DuetRatio) -> Option<f64>| cell(d.and_then(f), number);
    row.extend(named([
        ("duets", cell(d, |d| d.used.to_string())),
        ("duets_left_out", cell(d, |d| d.left_out.to_string())),
        ("duet_overlap", share(|d| d.overlap)),
        ("duet_inflation", share(|d| d.inflation[0])),
        ("duet_reference_inflation", share(|d| d.inflation[1])),
        ("duet_detectable", share(|d| d.detectable)),
        // `pt` or `net`.
        ("duet_measure", cell(d, |d| measure(d.measure).to_owned())),
    ]));
    row
}

fn measure(m: Measure) -> &'static str {
    match m {
        Measure::Et => "et",
        Measure::Pt => "pt",
        Measure::Net => "net",
    }
}

const DUETS: [&str; 20] = [
    "series",
    "command",
    "reference",
    "reference_command",
    "index",
    "seq",
    "wall_clock_ns",
    // Program / reference; only where it counts.
    "ratio",
    // What it is of, as in the estimate of the run: `pt` or `net`.
    "ratio_measure",
    "left_out",
    "overlap",
    "cpu",
    "gang_cpus",
    "gang_switches",
    "gang_late",
    "tare_ns",
    "steal_ns",
    // 0 where the readings cannot tell it from none.
    "suspended_ns",
    "clock_set_ns",
    "environment_padding",
];

/// Of each of its programs; those of the reference begin with `reference_`.
const SIDE: [&str; 20] = [
    "outcome",
    "exit_code",
    "start_monotonic_ns",
    "end_monotonic_ns",
    // With the time in which the partner held it up.
    "elapsed_ns",
    "pt_ns",
    "user_ns",
    "system_ns",
    // Without interrupt, softirq and steal time charged to it.
    "net_ns",
    // Of `pt_ns`, what was used before the partner had ended.
    "together_ns",
    // Summed over its tasks: ready to run while the partner had its CPU, or stopped for the partner's turn.
    "waited_for_partner_ns",
    // While it was on a CPU.
    "interrupts_ns",
    "stolen_ns",
    "gang_ran_ns",
    "weight_kind",
    "weight",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
];

/// One row per duet, whatever its outcome, into a writer: raw readings in nanoseconds, `index` (the block), `series` and `reference`
/// (the programs) from 0. After the figures of the duet stand those of the program, then those of the reference, then the program's
/// parameters.
///
/// `ratio` is empty in a duet that does not count, and `left_out` says why: `failed`, `no_time` (a process time is not known), `void`
/// (the programs did not alternate).
///
/// # Errors
/// That of the source; [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn write_duets<S: SampleSource + ?Sized>(
    out: impl io::Write,
    report: &RunReport,
    samples: &S,
) -> Result<(), SamplesError<S::Error>> {
    let parameters: BTreeSet<&str> =
        report.series.iter().flat_map(|s| s.program.parameters.keys().map(String::as_str)).collect();
    let heads = DUETS.iter().chain(&SIDE).map(|name| (*name).to_owned());
    let heads = heads.chain(SIDE.iter().map(|name| format!("reference_{name}")));
    let heads = heads.chain(parameters.iter().map(|p| format!("parameter_{}", escape(p))));
    let mut w = ::csv::WriterBuilder::new().from_writer(out);
    let mut written = w.write_record(heads.collect::<Vec<_>>());
    let read = samples.each_duet(&mut |duet| {
        let [program, reference] = &duet.sides;
        let mut row = about(report, duet);
        row.extend(side(program, duet, 0));
        row.extend(side(reference, duet, 1));
        let values = report.series.get(program.series as usize).map(|s| &s.program.parameters);
        row.extend(parameters.iter().map(|p| cell(values.and_then(|v| v.get(*p)), |v| text(v))));
        if written.is_ok() {
            written = w.write_record(row);
        }
    });
    read.map_err(SamplesError::Unread)?;
    written.map_err(RenderError::from)?;
    w.flush().map_err(RenderError::from)?;
    Ok(())
}

/// Why a duet does not count, if so.
fn left_out(plan: &RunPlan, duet: &Duet) -> &'static str {
    if duet.void.is_some() {
        return "void";
    }
    let failed = duet.sides.iter().any(|side| !plan.ignore_failure.accepts(&side.outcome));
    match duet_times(plan, duet) {
        Some(_) => "",
        None if failed => "failed",
        None => "no_time",
    }
}

/// What the ratio of a program's duets is of.
fn estimated_by(report: &RunReport, series: u32) -> Measure {
    let mut all = report.comparisons.iter().chain(&report.control);
    let duets = all.find(|c| c.series == series).and_then(|c| c.duets.as_ref());
    duets.and_then(|d| d.as_ref().ok()).map_or(Measure::Pt, |d| d.measure)
}

fn about(report: &RunReport, duet: &Duet) -> Vec<String> {
    let plan = &report.run.plan;
    let label = |series: u32| report.series.get(series as usize).map_or("", |s| &s.program.label);
    let slot = duet.slot();
    let slices = duet.slices.as_ref();
    let shift = duet.clock_shift.value();
    let measure = estimated_by(report, slot.series);
    let ratio =
        duet_times(plan, duet).and_then(|times| times.by(measure)).map(|[program, reference]| program / reference);
    vec![
        slot.series.to_string(),
        text(label(slot.series)),
        slot.reference.to_string(),
        text(label(slot.reference)),
        duet.index.to_string(),
        duet.seq.to_string(),
        duet.wall_clock.0.to_string(),
        cell(ratio, number),
        cell(ratio, |_| self::measure(measure).to_owned()),
        left_out(plan, duet).to_owned(),
        cell(duet.overlap(), number),
        duet.cpu.to_string(),
        cell(slices, |s| s.cpus.len().to_string()),
        cell(slices, |s| s.switches.to_string()),
        cell(slices, |s| s.late.to_string()),
        duet.own.cpu.0.to_string(),
        cell(duet.steal.value(), |t| t.0.to_string()),
        cell(shift, |c| c.suspend().unwrap_or_default().0.to_string()),
        cell(shift, |c| c.step().unwrap_or_default().0.to_string()),
        duet.environment_padding.to_string(),
    ]
}

fn side(side: &DuetSide, duet: &Duet, place: usize) -> Vec<String> {
    let split = side.process_times.value().and_then(|p| p.split());
    let usage = side.usage.value();
    let account = side.short_account(duet.slices.is_some());
    let whole = |ns: f64| format!("{ns:.0}");
    let ran = duet.slices.as_ref().and_then(|s| s.ran.get(place));
    let (kind, weight) = match side.weight {
        DuetWeight::Nice(level) => ("nice", level.to_string()),
        DuetWeight::Cgroup(weight) => ("cgroup", weight.to_string()),
    };
    vec![
        text(&side.outcome.to_string()),
        cell(side.outcome.shell_code(), |c| c.to_string()),
        side.start.monotonic.0.to_string(),
        side.end.monotonic.0.to_string(),
        (side.end.monotonic - side.start.monotonic).0.to_string(),
        cell(side.process_time().ok(), |t| t.0.to_string()),
        cell(split, |c| c.user.0.to_string()),
        cell(split, |c| c.system.0.to_string()),
        cell(account, |a| whole(a.net)),
        cell(side.together.value(), |t| t.0.to_string()),
        cell(account, |a| whole(a.partner)),
        cell(account, |a| whole(a.interrupts)),
        cell(account.and_then(|a| a.stolen), whole),
        cell(ran, |t| t.0.to_string()),
        kind.to_owned(),
        weight,
        cell(usage, |u| u.minor_faults.to_string()),
        cell(usage, |u| u.major_faults.to_string()),
        cell(usage, |u| u.voluntary_switches.to_string()),
        cell(usage, |u| u.involuntary_switches.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use tarebench_core::run::samples::Kept;

    fn rows(report: &RunReport, duets: &[Duet]) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        write_duets(&mut out, report, &Kept { samples: &[], duets }).map_err(RenderError::from).unwrap();
        let mut read = ::csv::ReaderBuilder::new().has_headers(false).from_reader(out.as_slice());
        read.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    fn column(rows: &[Vec<String>], name: &str) -> Vec<String> {
        let at = rows[0].iter().position(|n| n == name).unwrap_or_else(|| panic!("no column {name}"));
        rows[1..].iter().map(|r| r[at].clone()).collect()
    }

    #[test]
    fn each_duet_is_a_row_with_both_programs() {
        let rows = rows(&fixtures::duets(), &fixtures::raw_duets());
        assert_eq!((rows.len(), rows[0].len()), (14, DUETS.len() + 2 * SIDE.len()));
        assert_eq!(column(&rows, "command")[0], "./inc 60600");
        assert_eq!(column(&rows, "reference_command")[0], "./inc 60000");
        let numbers = |name: &str| -> Vec<f64> { column(&rows, name).iter().filter_map(|t| t.parse().ok()).collect() };
        assert_eq!(numbers("index"), (0..13).map(f64::from).collect::<Vec<_>>());
        let (pt, reference, ratio) = (numbers("pt_ns"), numbers("reference_pt_ns"), numbers("ratio"));
        assert_eq!((pt.len(), reference.len(), ratio.len()), (13, 13, 12));
        assert!(pt.iter().zip(&reference).zip(&ratio).all(|((a, b), r)| a / b == *r));
        let why = column(&rows, "left_out");
        assert!(why[..12].iter().all(String::is_empty) && why[12] == "failed", "{why:?}");
        assert_eq!(
            (column(&rows, "exit_code")[12].as_str(), column(&rows, "reference_exit_code")[12].as_str()),
            ("3", "0")
        );
        assert_eq!((column(&rows, "weight_kind")[0].as_str(), column(&rows, "weight")[0].as_str()), ("cgroup", "100"));
        assert_eq!(column(&rows, "gang_ran_ns")[0], "");
        assert_eq!(
            (column(&rows, "ratio_measure")[0].as_str(), column(&rows, "ratio_measure")[12].as_str()),
            ("pt", "")
        );
        assert!(["net_ns", "reference_waited_for_partner_ns"].iter().all(|n| column(&rows, n)[0].is_empty()));
    }

    #[test]
    fn hostile_names_stay_in_their_cell() {
        let mut report = fixtures::duets();
        report.series[1].program.label = "=1\n\"a,b\u{1b}".to_owned();
        report.series[1].program.parameters.insert("p\u{1b}".to_owned(), "@x,\n".to_owned());
        let rows = rows(&report, &fixtures::raw_duets());
        assert!(rows.iter().all(|r| r.len() == rows[0].len()));
        assert!(rows.iter().flatten().all(|cell| !cell.chars().any(tarebench_report::text::hidden)));
        assert!(column(&rows, "command")[0].starts_with("'=1"));
        assert!(rows[0].last().is_some_and(|n| n.starts_with("parameter_p")));
        assert!(rows[1].last().is_some_and(|v| v.starts_with("'@x")), "{:?}", rows[1].last());
    }

    #[test]
    fn a_program_has_its_ratios_and_the_reference_none() {
        let report = fixtures::duets();
        let row = compared(&report, 1);
        let found = |name: &str| row.iter().find(|(n, _)| n == name).unwrap().1.as_str();
        assert_eq!(["reference", "ratio_basis", "verdict"].map(found), ["./inc 60000", "duets", "slower"]);
        assert_eq!(
            ["ratio", "ratio_low", "ratio_high", "ratio_blocks"].map(found),
            ["1.0083", "1.0063", "1.0111", "12"]
        );
        assert_eq!(["et_ratio", "pt_ratio", "net_ratio"].map(found), ["1.02", "1.01", ""]);
        assert_eq!(["duet_ratio", "duets_left_out", "duet_overlap"].map(found), ["1.0083", "0", "0.97"]);
        assert_eq!((found("duet_detectable"), found("duet_measure")), ("0.0038", "pt"));
        let none = compared(&report, 0);
        assert!(none.len() == 27 && none.iter().all(|(_, cell)| cell.is_empty()));
        let alone = compared(&fixtures::three(), 1);
        assert_eq!((alone.len(), alone[2].1.as_str(), alone[17].1.as_str()), (27, "alone", ""));
    }
}
