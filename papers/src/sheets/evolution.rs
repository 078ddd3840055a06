//! The study of the protocol's versions as tables and figures.

use crate::data::evolution::{EvolutionReport, EvolutionRow, MachineState, StepVariation, VersionRule, VersionValue};
use crate::sheets::checked_parts::by_check;
use crate::sheets::conditions;
use crate::sheets::conditions::{condition_name, contrasts};
use crate::sheets::sheet::{ranged, study_sheet};
use crate::sheets::timing_parts::{by_length, length_figure, spread_sentence};
use tarebench_core::machine::data::Standing;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::{PageCurve, PageFigure, PageQuantity};

/// What each of EMPv1 to EMPv4 asks of the machine.
const STEPS: [&str; 4] =
    ["few daemons", "a running NTP daemon", "turbo mode and frequency scaling off", "an up-to-date kernel"];

/// EMP figure 17.
pub fn sheet(report: &EvolutionReport) -> Sheet {
    let compared = "Process time (PT), all samples";
    let mut answers =
        vec![spread_sentence(compared, "elapsed time (ET) of the same executions", &report.process_against_elapsed)];
    answers.extend(conditions::answers(&report.comparison.contrasts));
    answers.extend(first_and_last(report));
    let mut sections = vec![figures(report), versions(report), states(report)];
    sections.extend(contrasts(&report.comparison.contrasts));
    study_sheet(answers, remarks(report), sections)
}

/// What the first and the last version report of the longest program that has both.
fn first_and_last(report: &EvolutionReport) -> Option<Cell> {
    let longest = report.rows.iter().filter(|r| r.rule == VersionRule::Ten && r.process.is_some());
    let last = longest.max_by(|a, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)))?;
    let same = |r: &&EvolutionRow| r.rule == VersionRule::All && r.state == last.state && r.label == last.label;
    let first = report.rows.iter().find(same)?;
    let all = first.elapsed.as_ref()?.checked.summary.std_dev?;
    let ten = last.process.as_ref()?.checked.summary.std_dev?;
    let state = report.states.get(last.state).map_or("", |s| condition_name(&s.label));
    Some(
        Cell::text(format!("{} ({state}): the standard deviation is ", last.label))
            .and(Cell::time(all))
            .and(" for ET of all samples, ")
            .and(Cell::time(ten))
            .and(" for PT of ten by EMPv6."),
    )
}

fn remarks(report: &EvolutionReport) -> Vec<String> {
    let mut remarks = Vec::new();
    for (i, (step, variation)) in STEPS.iter().zip(&report.steps).enumerate() {
        let why = match variation {
            StepVariation::Varied => continue,
            StepVariation::AlwaysHeld => "it held throughout",
            StepVariation::NeverHeld => "it never held",
            StepVariation::Unknown => "how it stood is not known for all samples",
        };
        let before = if i == 0 { "no protocol".to_owned() } else { format!("EMPv{i}") };
        let version = i + 1;
        remarks.push(format!("These samples cannot tell EMPv{version} ({step}) from {before}: {why}."));
    }
    remarks.push(
        "Discarding samples lowers the standard deviation by itself: that it is lower by EMPv5 than of all samples says nothing of \
         the machine."
            .to_owned(),
    );
    if report.cutoffs == 0 {
        remarks.push(
            "No cutoffs of daemons were used: EMPv5 and EMPv6 are check 2 here, without check 1, and differ only by outliers of PT \
             or ET themselves."
                .to_owned(),
        );
    }
    remarks
}

/// A version in the state of the machine.
fn version_name(rule: VersionRule, state: Option<&MachineState>) -> String {
    match (rule, state.map_or(0, |s| s.reached)) {
        (VersionRule::All, 0) => "all samples".to_owned(),
        (VersionRule::All, reached) => format!("all samples (EMPv{reached})"),
        (VersionRule::Relaxed, _) => "checks of EMPv5-relaxed".to_owned(),
        (VersionRule::Strict, _) => "checks of EMPv5".to_owned(),
        (VersionRule::Ten, _) => "EMPv6 (ten samples)".to_owned(),
    }
}

fn figures(report: &EvolutionReport) -> Section {
    let deviation = |v: &VersionValue| v.checked.summary.std_dev;
    let relative = |v: &VersionValue| v.checked.summary.relative_error;
    let (time, share) = (("Standard deviation", PageQuantity::Time), ("Relative error", PageQuantity::Share));
    let all = [
        figure(report, 'a', "Standard deviation of ET", time, |r| r.elapsed.as_ref().and_then(deviation)),
        figure(report, 'b', "Standard deviation of PT", time, |r| r.process.as_ref().and_then(deviation)),
        figure(report, 'c', "Relative error of ET", share, |r| r.elapsed.as_ref().and_then(relative)),
        figure(report, 'd', "Relative error of PT", share, |r| r.process.as_ref().and_then(relative)),
    ];
    Section::new(
        "evolution",
        "Measurement quality by protocol version and task length (EMP figure 17)",
        "Both axes are logarithmic; a spread of 0 is not drawn.",
        all.into_iter().flatten(),
    )
}

fn figure(
    report: &EvolutionReport,
    letter: char,
    what: &str,
    y: (&str, PageQuantity),
    value: impl Fn(&EvolutionRow) -> Option<f64>,
) -> Option<PageFigure> {
    let mut curves: Vec<PageCurve> = Vec::new();
    for (i, state) in report.states.iter().enumerate() {
        for rule in VersionRule::ALL {
            let rows = report.rows.iter().filter(|r| r.state == i && r.rule == rule);
            let points: Vec<(f64, f64)> = rows.filter_map(|r| r.size.zip(value(r))).collect();
            let version = version_name(rule, Some(state));
            let name = match report.states.len() {
                1 => version,
                _ => format!("{version}, {}", condition_name(&state.label)),
            };
            curves.extend(by_length(name, curves.len(), points));
        }
    }
    length_figure(&format!("evolution-{letter}"), &format!("{what} (EMP figure 17{letter})"), "", y, curves)
}

fn versions(report: &EvolutionReport) -> Section {
    let columns = [
        "program",
        "state",
        "version",
        ">samples",
        ">ET discarded",
        ">ET std. dev.",
        ">ET relative error",
        ">PT discarded",
        ">PT std. dev.",
        ">PT relative error",
        "PT, groups of ten [range]",
    ];
    let note = "Discarded: by either check (= by check 1 + by check 2). Groups of ten: median and range of the standard \
                deviation that EMPv6 would have reported from other ten samples in a row.";
    let mut table = Table::new("Versions", note, &columns);
    let measures = |v: &Option<VersionValue>| {
        let checked = v.as_ref().map(|v| &v.checked);
        [
            checked.map(|c| by_check(c.by_cutoff, c.by_deviation)).unwrap_or_default(),
            Cell::time(checked.and_then(|c| c.summary.std_dev)),
            Cell::of(Unit::Share, checked.and_then(|c| c.summary.relative_error)),
        ]
    };
    for r in &report.rows {
        let state = report.states.get(r.state);
        let samples = r.process.as_ref().or(r.elapsed.as_ref()).map(|v| v.checked.samples);
        let groups = r.process.as_ref().and_then(|v| v.groups);
        let groups = groups.map(|[low, median, high]| ranged(Unit::Time, median, Some((low, high))));
        let head = [
            Cell::foreign(&r.label),
            Cell::foreign(state.map_or("", |s| condition_name(&s.label))),
            version_name(r.rule, state).into(),
            samples.map_or_else(|| "fewer than 10".into(), |n| Cell::count(n as f64)),
        ];
        let measured = [&r.elapsed, &r.process].into_iter().flat_map(measures);
        table.row(head.into_iter().chain(measured).chain([groups.unwrap_or_default()]), Vec::new());
    }
    Section::new("versions", "What each version reports", "", [table])
}

fn states(report: &EvolutionReport) -> Section {
    let heads: Vec<String> = (1..).zip(STEPS).map(|(version, step)| format!("EMPv{version}: {step}")).collect();
    let mut columns = vec!["state"];
    columns.extend(heads.iter().map(String::as_str));
    columns.push(">reached");
    let mut table = Table::new("Steps of the protocol", "", &columns);
    let stands = |standing: Option<&Standing>| match standing {
        Some(Standing::Held) => "held",
        Some(Standing::NotHeld) => "not held",
        Some(Standing::Unknown) | None => "not known",
    };
    for s in &report.states {
        let steps = (0..STEPS.len()).map(|i| Cell::text(stands(s.standing.get(i))));
        let reached = if s.reached == 0 { "none".to_owned() } else { format!("EMPv{}", s.reached) };
        table.row(
            [Cell::foreign(condition_name(&s.label))].into_iter().chain(steps).chain([reached.into()]),
            Vec::new(),
        );
    }
    Section::new(
        "states",
        "States of the machine (EMP table I)",
        "EMPv1 to EMPv4 differ by the machine's state alone: samples are of the version whose steps held.",
        [table],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::checked::CheckedTimes;
    use crate::data::condition_tables::ConditionComparison;
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use tarebench_core::statistics::series::Summary;
    use tarebench_core::statistics::spread::NoSpreadRatio;

    fn value(std_dev: f64) -> VersionValue {
        let summary = Summary {
            n: 10,
            mean: 8e9,
            median: 8e9,
            std_dev: Some(std_dev),
            relative_error: Some(std_dev / 8e9),
            min: 7.9e9,
            max: 8.1e9,
        };
        let checked = CheckedTimes { samples: 12, by_cutoff: 0, by_deviation: 2, summary };
        VersionValue { checked, groups: Some([1e6, 2e6, 3e6]) }
    }

    fn report() -> EvolutionReport {
        let row = |rule, std_dev| EvolutionRow {
            state: 0,
            label: "INC8".to_owned(),
            size: Some(8.0),
            rule,
            elapsed: Some(value(2.0 * std_dev)),
            process: Some(value(std_dev)),
        };
        let standing = vec![Standing::Held, Standing::NotHeld, Standing::Held, Standing::Unknown];
        use StepVariation::{AlwaysHeld, NeverHeld, Unknown, Varied};
        EvolutionReport {
            states: vec![MachineState { label: String::new(), standing, reached: 1 }],
            steps: vec![AlwaysHeld, NeverHeld, Varied, Unknown],
            cutoffs: 0,
            rows: vec![row(VersionRule::All, 10e6), row(VersionRule::Ten, 2e6)],
            process_against_elapsed: Err(NoSpreadRatio::NoPair),
            comparison: ConditionComparison { conditions: Vec::new(), contrasts: Vec::new() },
        }
    }

    #[test]
    fn versions_that_cannot_be_told_apart_are_named() {
        let sheet = sheet(&report());
        assert_eq!(
            remarks(&sheet)[0],
            "These samples cannot tell EMPv1 (few daemons) from no protocol: it held throughout."
        );
        assert!(
            remarks(&sheet)[1]
                .starts_with("These samples cannot tell EMPv2 (a running NTP daemon) from EMPv1: it never")
        );
        assert!(remarks(&sheet)[2].starts_with("These samples cannot tell EMPv4"), "{:?}", sheet.remarks);
        assert!(remarks(&sheet).iter().any(|r| r.starts_with("No cutoffs of daemons")));
        let last = sheet.answers.last().unwrap().plain();
        assert_eq!(
            last,
            "INC8 (the machine as it is): the standard deviation is 20.0 ms for ET of all samples, 2.00 ms for PT of ten by EMPv6."
        );
    }

    #[test]
    fn four_figures_and_rows_in_the_columns() {
        let sheet = sheet(&report());
        let figures: Vec<&PageFigure> = sheet.sections[0].figures().collect();
        assert_eq!(figures.len(), 4);
        let titles: Vec<&str> = figures[1].curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["all samples (EMPv1)", "EMPv6 (ten samples)"]);
        assert_eq!((figures[1].curves[0].x.clone(), figures[1].curves[0].y.clone()), (vec![8e9], vec![10e6]));
        rows_fit(&sheet);
        assert_eq!(sheet.sections[1].tables().next().unwrap().rows[1].cells[10], "2.00 ms [1.00, 3.00]");
    }
}
