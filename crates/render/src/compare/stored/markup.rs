//! A comparison of stored runs as a table for documents: Markdown, AsciiDoc, Org mode.

use crate::compare::sentence::spelled;
use crate::compare::stored::said::{StoredWords, cell, marked_verdict};
use crate::printed::plain;
use tarebench_core::compare::stored::{ComparedBy, StoredComparison};
use tarebench_core::compare::stored_report::{StoredPairReport, StoredReport};
use tarebench_report::markup::{ABSENT, Markup, MarkupTable};
use tarebench_report::number;
use tarebench_report::style::Style;

/// A row for each pair, by the measure of its verdict.
pub fn table(comparison: &StoredComparison, report: &StoredReport, markup: Markup) -> String {
    let words = StoredWords { comparison, show: &str::to_owned, g: Style::default().glyphs(), unicode: true };
    let heads = ["Programs", "Measure", "Ratio", "95% interval", "Between runs", "Verdict"].map(str::to_owned);
    let row = |pair: &StoredPairReport| {
        let chosen = pair.chosen()?;
        let (ratio, interval) = cell(chosen);
        let absent = || ABSENT.to_owned();
        let floor = chosen.floor.and_then(|f| number::percent(f.share)).map(|p| format!("± {p}"));
        let cells = vec![
            match &chosen.measure {
                ComparedBy::Time(m) => spelled(*m).to_owned(),
                // Only the label is written as code: of a name, nothing is markup.
                ComparedBy::Printed { metric } => plain(metric),
                ComparedBy::Counter { counter } => counter.name().to_owned(),
            },
            ratio.unwrap_or_else(absent),
            interval.unwrap_or_else(absent),
            floor.unwrap_or_else(absent),
            marked_verdict(pair, chosen),
        ];
        // The label is the only cell that is written as code, which keeps any text of the user's in its cell.
        Some((format!("{} / {}", words.name(pair.program), words.name(pair.reference)), cells))
    };
    MarkupTable { heads: heads.to_vec(), rows: report.pairs.iter().filter_map(row).collect() }.write(markup)
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
        let expected = "| Programs | Measure | Ratio | 95% interval | Between runs | Verdict |\n\
                        |:---|---:|---:|---:|---:|---:|\n\
                        | `gzip of run 15 / gzip of run 12` | CPU time | 1.300 | [1.211, 1.395] | ± 7.2 % | slower |\n";
        assert_eq!(text, expected);
        let printed = fixtures::printed();
        let text = table(&printed, &report(&printed), Markup::Markdown);
        assert!(text.contains("| rate | 2.000 | [1.972, 2.028] | – | higher |"), "{text}");
    }

    #[test]
    fn any_name_stays_in_its_cell() {
        for comparison in fixtures::all() {
            for markup in [Markup::Markdown, Markup::Asciidoc, Markup::Org] {
                let text = table(&comparison, &report(&comparison), markup);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
                assert!(!text.contains("<script>") || text.contains('`') || markup == Markup::Org, "{text}");
            }
        }
    }
}
