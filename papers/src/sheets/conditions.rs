//! Process times under several conditions: what the studies of NTP, the clock speed and scaling show.

use crate::data::condition_tables::{ConditionComparison, ConditionTable, SpreadContrast};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::{ROBUST, execution_figure, spread_cell, spread_sentence, timing_table};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// Where the paper has the counterparts.
pub(crate) struct ConditionPlaces {
    /// Of the statistics: `EMP tables III and IV`.
    pub tables: &'static str,
    /// Of the executions one by one.
    pub figure: &'static str,
    /// What would have to differ for a comparison: `the NTP daemon off and on`.
    pub wanted: &'static str,
    /// What else a reader has to know; may be empty.
    pub remark: &'static str,
}

pub(crate) const NTP: ConditionPlaces = ConditionPlaces {
    tables: "EMP tables III and IV",
    figure: "EMP figure 10",
    wanted: "the NTP daemon off, and on",
    remark: "A kernel counts as synchronised for hours after the daemon has stopped, and goes on with its last correction of the \
             clock's rate.",
};

/// Turbo mode and frequency scaling.
pub(crate) const CLOCK_SPEED: ConditionPlaces = ConditionPlaces {
    tables: "EMP tables IV and V",
    figure: "EMP figure 11",
    wanted: "turbo mode and frequency scaling on, and off",
    remark: "The paper switched both features off at once, in the firmware; here they are set one by one. For both at once, tune the \
             machine, measure a run, and make the study of stored runs.",
};

/// The condition in a sentence or heading.
pub(crate) fn condition_name(label: &str) -> &str {
    if label.is_empty() { "the machine as it is" } else { label }
}

/// The sheet of a comparison: answers from the contrasts, statistics, executions, contrasts, states.
pub(crate) fn comparison_sheet(comparison: &ConditionComparison, places: &ConditionPlaces) -> Sheet {
    let mut sections = vec![statistics(comparison, places), executions(comparison, places)];
    sections.extend(contrasts(&comparison.contrasts));
    sections.extend(states(comparison));
    let further = (!places.remark.is_empty()).then(|| places.remark.to_owned());
    study_sheet(answers(&comparison.contrasts), remarks(comparison, places).into_iter().chain(further), sections)
}

pub(crate) fn answers(contrasts: &[SpreadContrast]) -> Vec<Cell> {
    let answer = |c: &SpreadContrast| {
        let compared = format!("Process time, {}", condition_name(&c.compared));
        spread_sentence(&compared, condition_name(&c.reference), &c.pooled)
    };
    contrasts.iter().map(answer).collect()
}

fn remarks(comparison: &ConditionComparison, places: &ConditionPlaces) -> Vec<String> {
    if let [only] = comparison.conditions.as_slice() {
        return vec![format!(
            "All samples are of one condition ({}), so nothing is compared; expected: {}.",
            condition_name(&only.label),
            places.wanted
        )];
    }
    let mut remarks = vec![
        "The conditions were measured one after the other: a machine that changed meanwhile looks like an effect of the \
         condition. Measure again in the opposite order before relying on a small difference."
            .to_owned(),
    ];
    if comparison.same_state() {
        remarks.push(
            "The factors read the same under the first condition and another one (see the last table), so a difference \
             between these may have another cause."
                .to_owned(),
        );
    }
    remarks
}

fn statistics(comparison: &ConditionComparison, places: &ConditionPlaces) -> Section {
    let table = |c: &ConditionTable| {
        let rows: Vec<_> = c.rows.iter().map(|r| (r.label.clone(), r)).collect();
        timing_table(&format!("Process time, {}", condition_name(&c.label)), "", &rows)
    };
    Section::new(
        "statistics",
        format!("Process time by task length ({})", places.tables),
        format!("All counted samples; none is discarded. {ROBUST}"),
        comparison.conditions.iter().map(table),
    )
}

fn executions(comparison: &ConditionComparison, places: &ConditionPlaces) -> Section {
    let figure = |(i, c): (usize, &ConditionTable)| {
        let longest = c.longest.as_ref()?;
        let title = format!("{}, {}", longest.label, condition_name(&c.label));
        let note = "A point for each execution, in their order.";
        Some(execution_figure(&format!("executions-{i}"), &title, note, "Process time", &longest.times))
    };
    Section::new(
        "executions",
        format!("Process time of the longest program, execution by execution ({})", places.figure),
        "The vertical axes differ: look at the width of the bands, not at their height in the figure.",
        comparison.conditions.iter().enumerate().filter_map(figure),
    )
}

/// The contrasts as one section; none without any.
pub(crate) fn contrasts(contrasts: &[SpreadContrast]) -> Option<Section> {
    let note = "Each is a value under the compared condition divided by that under the reference. The ratio of standard deviations \
                has no interval: single outliers decide it.";
    (!contrasts.is_empty()).then(|| {
        Section::new(
            "contrasts",
            "Conditions against the first",
            format!("{note} {ROBUST}"),
            contrasts.iter().map(contrast_table),
        )
    })
}

fn contrast_table(contrast: &SpreadContrast) -> Table {
    let title = format!("{} against {}", condition_name(&contrast.compared), condition_name(&contrast.reference));
    let columns = ["program", ">mean", ">std. dev.", "robust spread [95%]"];
    let mut table = Table::new(title, "", &columns);
    for p in &contrast.programs {
        // Means differ by little.
        let mean = Cell::figure(Figure { digits: Some(1e-3), ..Figure::new(Unit::Ratio, p.mean_ratio) });
        let cells = [Cell::foreign(&p.label), mean, Cell::of(Unit::Ratio, p.deviation_ratio), spread_cell(&p.spread)];
        table.row(cells, Vec::new());
    }
    let all = [Cell::text("all, geometric mean"), Cell::empty(), Cell::empty(), spread_cell(&contrast.pooled)];
    table.row(all, Vec::new());
    table
}

/// The factors that the study is about, by condition; none if nothing is known of them.
fn states(comparison: &ConditionComparison) -> Option<Section> {
    let mut table = Table::new("Factors", "As they were read before the samples.", &["condition", "factor", "value"]);
    for c in &comparison.conditions {
        for f in &c.state {
            table.row([condition_name(&c.label), &f.name, &f.value].map(Cell::foreign), Vec::new());
        }
    }
    (!table.rows.is_empty()).then(|| Section::new("factors", "State of the machine under each condition", "", [table]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::condition_tables::{FactorState, ProgramContrast, TimeSequence};
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use crate::sheets::timing_parts::tests::inc8;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadRatio};

    fn table(label: &str, value: &str) -> ConditionTable {
        ConditionTable {
            label: label.to_owned(),
            state: vec![FactorState { name: "ntp".to_owned(), value: value.to_owned() }],
            rows: vec![inc8()],
            longest: Some(TimeSequence { label: "INC8".to_owned(), times: vec![8.3e9, 8.4e9] }),
        }
    }

    /// INC8 with two thirds of the spread under the second condition.
    pub(crate) fn comparison() -> ConditionComparison {
        let interval = Interval { low: 0.6, high: 0.8, level: 0.95 };
        let pooled = Ok(SpreadRatio { ratio: 0.7, interval });
        let program = ProgramContrast {
            label: "INC8".to_owned(),
            mean_ratio: 0.993,
            deviation_ratio: Some(0.695),
            spread: Err(NoSpreadRatio::TooFewValues { have: 4, need: 10 }),
        };
        let contrast = SpreadContrast {
            reference: "NTP off".to_owned(),
            compared: "NTP on".to_owned(),
            programs: vec![program],
            pooled,
        };
        ConditionComparison {
            conditions: vec![table("NTP off", "not synchronised"), table("NTP on", "synchronised by chronyd")],
            contrasts: vec![contrast],
        }
    }

    #[test]
    fn two_conditions() {
        let sheet = comparison_sheet(&comparison(), &NTP);
        rows_fit(&sheet);
        assert_eq!(
            sheet.answers,
            [
                "Process time, NTP on: less spread than NTP off; the ratio of their robust spreads is 0.700 [0.600, 0.800]."
            ]
        );
        assert_eq!(sheet.remarks.len(), 2);
        let ids: Vec<&str> = sheet.sections.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["statistics", "executions", "contrasts", "factors"]);
        let rows = &sheet.sections[2].tables().next().unwrap().rows;
        assert_eq!(rows[0].cells[3], "none: 4 samples, 10 needed");
        assert_eq!((rows[1].cells[3].plain().as_str(), rows[1].numbers()[3]), ("0.700 [0.600, 0.800]", Some(0.7)));
        assert_eq!(sheet.sections[1].figures().count(), 2);
    }

    #[test]
    fn one_condition_is_not_compared() {
        let mut one = comparison();
        one.conditions.truncate(1);
        one.contrasts.clear();
        let sheet = comparison_sheet(&one, &NTP);
        assert!(sheet.answers.is_empty());
        assert_eq!(
            remarks(&sheet)[..1],
            [
                "All samples are of one condition (NTP off), so nothing is compared; expected: the NTP daemon off, and on."
            ]
        );
    }

    #[test]
    fn equal_states_are_pointed_out() {
        let mut same = comparison();
        same.conditions[1].state = same.conditions[0].state.clone();
        let sheet = comparison_sheet(&same, &NTP);
        assert!(
            remarks(&sheet)[1].starts_with("The factors read the same under the first condition"),
            "{:?}",
            sheet.remarks
        );
    }
}
