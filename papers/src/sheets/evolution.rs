//! The study of the protocol's versions as tables and figures.

use crate::data::evolution::{EvolutionReport, EvolutionRow, MachineState, StepVariation, VersionRule, VersionValue};
use crate::sheets::conditions::{condition_name, contrasts};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{by_length, length_figure, ms, spread_sentence};
use tarebench_core::machine::data::Standing;
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::{PageCurve, PageFigure, PageQuantity};

/// What each of EMPv1 to EMPv4 asks of the machine.
const STEPS: [&str; 4] =
    ["few daemons", "a running NTP daemon", "turbo mode and frequency scaling off", "an up-to-date kernel"];

/// EMP figure 17.
pub fn sheet(report: &EvolutionReport) -> StudySheet {
    let compared = "Process time (PT), all samples";
    let mut answers =
        vec![spread_sentence(compared, "elapsed time (ET) of the same executions", &report.process_against_elapsed)];
    answers.extend(report.comparison.contrasts.iter().map(|c| {
        let compared = format!("Process time, {}", condition_name(&c.compared));
        spread_sentence(&compared, condition_name(&c.reference), &c.pooled)
    }));
    answers.extend(first_and_last(report));
    let mut sections = vec![figures(report), versions(report), states(report)];
    sections.extend(contrasts(&report.comparison.contrasts));
    StudySheet { answers, remarks: remarks(report), sections }
}

/// What the first and the last version report of the longest program that has both.
fn first_and_last(report: &EvolutionReport) -> Option<String> {
    let longest = report.rows.iter().filter(|r| r.rule == VersionRule::Ten && r.process.is_some());
    let last = longest.max_by(|a, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)))?;
    let same = |r: &&EvolutionRow| r.rule == VersionRule::All && r.state == last.state && r.label == last.label;
    let first = report.rows.iter().find(same)?;
    let all = first.elapsed.as_ref()?.checked.summary.std_dev?;
    let ten = last.process.as_ref()?.checked.summary.std_dev?;
    let state = report.states.get(last.state).map_or("", |s| condition_name(&s.label));
    Some(format!(
        "{} ({state}): the standard deviation is {} ms for ET of all samples, {} ms for PT of ten by EMPv6.",
        last.label,
        ms(all),
        ms(ten)
    ))
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

fn figures(report: &EvolutionReport) -> SheetSection {
    let deviation = |v: &VersionValue| v.checked.summary.std_dev;
    let relative = |v: &VersionValue| v.checked.summary.relative_error;
    let (time, share) = (("Standard deviation", PageQuantity::Time), ("Relative error", PageQuantity::Share));
    let all = [
        figure(report, 'a', "Standard deviation of ET", time, |r| r.elapsed.as_ref().and_then(deviation)),
        figure(report, 'b', "Standard deviation of PT", time, |r| r.process.as_ref().and_then(deviation)),
        figure(report, 'c', "Relative error of ET", share, |r| r.elapsed.as_ref().and_then(relative)),
        figure(report, 'd', "Relative error of PT", share, |r| r.process.as_ref().and_then(relative)),
    ];
    SheetSection {
        id: "evolution".to_owned(),
        title: "Measurement quality by protocol version and task length (EMP figure 17)".to_owned(),
        note: "Both axes are logarithmic; a spread of 0 is not drawn.".to_owned(),
        tables: Vec::new(),
        figures: all.into_iter().flatten().collect(),
    }
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

fn versions(report: &EvolutionReport) -> SheetSection {
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
        "PT, groups of ten",
    ];
    let note = "Standard deviations in ms. Discarded: by check 1 + by check 2. Groups of ten: smallest, median and largest standard \
                deviation that EMPv6 would have reported from other ten samples in a row.";
    let mut table = Table::new("Versions", note, &columns);
    let count = |v: &Option<VersionValue>| v.as_ref().map(|v| v.checked.discarded() as f64);
    let discarded = |v: &Option<VersionValue>| match v {
        Some(v) => format!("{} + {}", v.checked.by_cutoff, v.checked.by_deviation),
        None => String::new(),
    };
    let deviation = |v: &Option<VersionValue>| v.as_ref().and_then(|v| v.checked.summary.std_dev);
    let relative = |v: &Option<VersionValue>| v.as_ref().and_then(|v| v.checked.summary.relative_error);
    let percent = |v: Option<f64>| v.and_then(number::percent).unwrap_or_default();
    for r in &report.rows {
        let state = report.states.get(r.state);
        let samples = r.process.as_ref().or(r.elapsed.as_ref()).map(|v| v.checked.samples);
        let groups = r.process.as_ref().and_then(|v| v.groups).map(|g| g.map(ms).join(", "));
        let [et, pt] = [&r.elapsed, &r.process];
        table.row(
            vec![
                r.label.clone(),
                state.map_or("", |s| condition_name(&s.label)).to_owned(),
                version_name(r.rule, state),
                samples.map_or_else(|| "fewer than 10".to_owned(), |n| n.to_string()),
                discarded(et),
                deviation(et).map(ms).unwrap_or_default(),
                percent(relative(et)),
                discarded(pt),
                deviation(pt).map(ms).unwrap_or_default(),
                percent(relative(pt)),
                groups.unwrap_or_default(),
            ],
            Vec::new(),
        );
        let texts = [None, None, None, samples.map(|n| n as f64)];
        let measures = [et, pt].map(|v| [count(v), deviation(v), relative(v)]);
        table.values(texts.into_iter().chain(measures.into_iter().flatten()).chain([None]).collect());
    }
    SheetSection {
        id: "versions".to_owned(),
        title: "What each version reports".to_owned(),
        note: String::new(),
        tables: vec![table],
        figures: Vec::new(),
    }
}

fn states(report: &EvolutionReport) -> SheetSection {
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
        let mut cells = vec![condition_name(&s.label).to_owned()];
        cells.extend((0..STEPS.len()).map(|i| stands(s.standing.get(i)).to_owned()));
        cells.push(if s.reached == 0 { "none".to_owned() } else { format!("EMPv{}", s.reached) });
        table.row(cells, Vec::new());
    }
    SheetSection {
        id: "states".to_owned(),
        title: "States of the machine (EMP table I)".to_owned(),
        note: "EMPv1 to EMPv4 differ by the machine's state alone: samples are of the version whose steps held."
            .to_owned(),
        tables: vec![table],
        figures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::checked::CheckedTimes;
    use crate::data::condition_tables::ConditionComparison;
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
            sheet.remarks[0],
            "These samples cannot tell EMPv1 (few daemons) from no protocol: it held throughout."
        );
        assert!(
            sheet.remarks[1].starts_with("These samples cannot tell EMPv2 (a running NTP daemon) from EMPv1: it never")
        );
        assert!(sheet.remarks[2].starts_with("These samples cannot tell EMPv4"), "{:?}", sheet.remarks);
        assert!(sheet.remarks.iter().any(|r| r.starts_with("No cutoffs of daemons")));
        let last = sheet.answers.last().unwrap();
        assert_eq!(
            last,
            "INC8 (the machine as it is): the standard deviation is 20.0 ms for ET of all samples, 2.00 ms for PT of ten by EMPv6."
        );
    }

    #[test]
    fn four_figures_and_rows_in_the_columns() {
        let sheet = sheet(&report());
        let figures = &sheet.sections[0].figures;
        assert_eq!(figures.len(), 4);
        let titles: Vec<&str> = figures[1].curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["all samples (EMPv1)", "EMPv6 (ten samples)"]);
        assert_eq!((figures[1].curves[0].x.clone(), figures[1].curves[0].y.clone()), (vec![8e9], vec![10e6]));
        for table in sheet.sections.iter().flat_map(|s| &s.tables) {
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.columns.len(), "{}", table.title);
                assert!(row.numbers().is_empty() || row.numbers().len() == table.columns.len(), "{}", table.title);
            }
        }
        assert_eq!(sheet.sections[1].tables[0].rows[1].cells[10], "1.00, 2.00, 3.00");
    }
}
