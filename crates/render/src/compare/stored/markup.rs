//! A comparison of stored runs as a table for documents: Markdown, AsciiDoc, Org mode.

use crate::compare::stored::said::{StoredWords, marked_verdict, ratio};
use tarebench_core::compare::stored::StoredComparison;
use tarebench_core::compare::stored_report::StoredReport;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::document;
use tarebench_report::markup::Markup;
use tarebench_report::style::Style;
use tarebench_report::table::Table;

/// A row for each pair, by the measure of its verdict.
pub fn table(comparison: &StoredComparison, report: &StoredReport, markup: Markup) -> String {
    let words = StoredWords { comparison, show: &str::to_owned, g: Style::default().glyphs(), unicode: true };
    let mut table = Table::new("", "", &["Programs", "Measure", "Ratio", "Between runs", "Verdict"]);
    for pair in &report.pairs {
        let Some(chosen) = pair.chosen() else { continue };
        let floor = chosen.floor.map(|f| Cell::text("± ").and(Cell::of(Unit::Share, f.share)));
        let cells = [
            Cell::foreign(format!("{} / {}", words.name(pair.program), words.name(pair.reference))),
            words.measured(&chosen.measure),
            ratio(chosen),
            floor.into(),
            marked_verdict(pair, chosen).into(),
        ];
        table.row(cells, Vec::new());
    }
    document::table(&table, markup, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::fixtures;
    use tarebench_core::compare::stored_report::report;

    #[test]
    fn a_table_has_a_row_for_each_pair() {
        let comparison = fixtures::slower();
        let text = table(&comparison, &report(&comparison), Markup::Markdown);
        let expected = "| Programs | Measure | Ratio | Between runs | Verdict |\n\
                        |:---|---:|---:|---:|---:|\n\
                        | `gzip of run 15 / gzip of run 12` | CPU time | 1.300 [1.211, 1.395] | ± 7.2 % | slower |\n";
        assert_eq!(text, expected);
        let printed = fixtures::printed();
        let text = table(&printed, &report(&printed), Markup::Markdown);
        assert!(text.contains("| `rate` | 2.000 [1.972, 2.028] | – | higher |"), "{text}");
    }

    #[test]
    fn any_name_stays_in_its_cell() {
        for comparison in fixtures::all() {
            for markup in [Markup::Markdown, Markup::Asciidoc, Markup::Org, Markup::Latex] {
                let text = table(&comparison, &report(&comparison), markup);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
                assert!(
                    !text.contains("<script>") || text.contains('`') || matches!(markup, Markup::Org | Markup::Latex),
                    "{text}"
                );
            }
        }
    }
}
