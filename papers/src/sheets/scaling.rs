//! The study of scaling as tables and figures.

use crate::data::scaling::ScalingReport;
use crate::sheets::conditions::{ConditionPlaces, comparison_sheet, condition_name};
use crate::sheets::timing_parts::{SLOPES, by_length, growth_sentence, length_figure};
use tarebench_report::cell::Cell;
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::web::page::PageQuantity;

/// EMP figure 12, table VI; table 3 and figure 1 of the report on program execution time.
pub fn sheet(report: &ScalingReport) -> Sheet {
    let places = ConditionPlaces {
        tables: "EMP table VI; the report's table 3",
        figure: "EMP figure 12",
        wanted: "runs of several kernels or machines",
        remark: "",
    };
    let mut sheet = comparison_sheet(&report.comparison, &places);
    let mut answers: Vec<Cell> = Vec::new();
    for (condition, growth) in report.comparison.conditions.iter().zip(&report.growth) {
        let name = match report.comparison.conditions.len() {
            1 => String::new(),
            _ => format!(", {},", condition_name(&condition.label)),
        };
        let std_dev = format!("The standard deviation of process time{name}");
        let robust = format!("The robust spread of process time{name}");
        answers.extend(growth_sentence(&std_dev, growth.std_dev.as_ref()));
        answers.extend(growth_sentence(&robust, growth.robust.as_ref()));
    }
    answers.append(&mut sheet.answers);
    // One machine with one kernel is what the study measures: that there is no comparison needs no remark.
    if report.comparison.conditions.len() == 1 {
        sheet.remarks.clear();
    }
    let sections = std::iter::once(growth_section(report)).chain(sheet.sections);
    Sheet { answers, sections: sections.collect(), ..sheet }
}

fn growth_section(report: &ScalingReport) -> Section {
    let mut curves = Vec::new();
    for (i, c) in report.comparison.conditions.iter().enumerate() {
        let name = condition_name(&c.label);
        let deviations = c.rows.iter().filter_map(|r| r.deviation_by_size());
        curves.extend(by_length(format!("standard deviation, {name}"), 2 * i, deviations));
        let robust = c.rows.iter().filter_map(|r| r.size.zip(r.robust_spread));
        curves.extend(by_length(format!("robust spread, {name}"), 2 * i + 1, robust));
    }
    let note = format!(
        "Where the two curves part, single executions far from the others make the standard deviation. {SLOPES}"
    );
    let y = ("Spread of process time", PageQuantity::Time);
    let title = "Spread of process time over increasing task length";
    Section::new(
        "growth",
        format!("{title} (the report's figure 1)"),
        "",
        length_figure("growth", title, &note, y, curves),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::scaling::SpreadGrowth;
    use crate::sheets::conditions::tests::comparison;
    use crate::sheets::sheet::tests::rows_fit;
    use tarebench_core::statistics::log_growth::LogGrowth;

    #[test]
    fn growth_comes_first() {
        let growth = LogGrowth { slope: 0.39, interval: None, at_one: 1e6, points: 2 };
        let mut report = ScalingReport {
            comparison: comparison(),
            growth: vec![SpreadGrowth { std_dev: Some(growth.clone()), robust: None }; 2],
        };
        let both = sheet(&report);
        rows_fit(&both);
        assert_eq!(
            both.answers[0],
            "The standard deviation of process time, NTP off, grows as the task length to the power of 0.390; two programs give no \
             interval."
        );
        assert_eq!((both.answers.len(), both.sections[0].id.as_str()), (3, "growth"));
        assert_eq!(both.sections[0].figures().next().unwrap().curves.len(), 4);
        report.comparison.conditions.truncate(1);
        report.comparison.contrasts.clear();
        let one = sheet(&report);
        assert!(
            one.remarks.is_empty()
                && one.answers[0].plain().starts_with("The standard deviation of process time grows as")
        );
    }
}
