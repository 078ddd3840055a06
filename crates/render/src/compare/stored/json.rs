//! A comparison of stored runs as JSON: what was compared, and the result.

use crate::compare::stored::said::{StoredWords, every_remark};
use serde::Serialize;
use tarebench_core::compare::stored::StoredComparison;
use tarebench_core::compare::stored_report::StoredReport;
use tarebench_core::documents::head::DocumentHead;
use tarebench_report::error::RenderError;

#[derive(Serialize)]
struct ComparisonJson<'a> {
    format: &'static str,
    version: u32,
    id: String,
    head: &'a DocumentHead,
    /// A sentence for each pair.
    answers: Vec<String>,
    remarks: Vec<StoredRemarkJson>,
    report: &'a StoredReport,
    comparison: &'a StoredComparison,
}

#[derive(Serialize)]
struct StoredRemarkJson {
    warning: bool,
    text: String,
}

/// `{"format":"tare-comparison","version":1,"id":"c1","head":{…},"answers":[…],"remarks":[…],"report":{"pairs":[…]},"comparison":{…}}`.
///
/// Times are in ns; what is no number is `null`.
pub fn json(head: &DocumentHead, comparison: &StoredComparison, report: &StoredReport) -> Result<String, RenderError> {
    let words = StoredWords { comparison };
    let remarks = every_remark(&words, report).into_iter();
    let document = ComparisonJson {
        format: "tare-comparison",
        version: 1,
        id: head.id().to_string(),
        head,
        answers: report.pairs.iter().filter_map(|pair| Some(words.answer(pair)?.plain())).collect(),
        remarks: remarks.map(|r| StoredRemarkJson { warning: r.warning, text: r.cell.plain() }).collect(),
        report,
        comparison,
    };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::fixtures;
    use serde_json::Value;
    use tarebench_core::compare::stored_report::report;
    use tarebench_report::text::hidden;

    #[test]
    fn it_holds_the_comparison_and_its_report() {
        for comparison in fixtures::all() {
            let found = report(&comparison);
            let text = json(&fixtures::head(), &comparison, &found).unwrap();
            assert!(text.ends_with("}\n") && !text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
            let d: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&d["format"], &d["version"], &d["id"]), (&"tare-comparison".into(), &1.into(), &"c1".into()));
            assert_eq!(d["report"]["pairs"].as_array().unwrap().len(), comparison.pairs.len());
            assert_eq!(d["comparison"]["sides"].as_array().unwrap().len(), comparison.sides.len());
        }
        let comparison = fixtures::slower();
        let d: Value =
            serde_json::from_str(&json(&fixtures::head(), &comparison, &report(&comparison)).unwrap()).unwrap();
        let ratio = &d["report"]["pairs"][0]["ratios"][1];
        assert_eq!((&ratio["measure"], &ratio["way"]["kind"]), (&"pt".into(), &"ratio_of_medians".into()));
        assert_eq!(
            (&ratio["verdict"]["Ok"], &ratio["floor"]["source"]["kind"]),
            (&"slower".into(), &"same_program".into())
        );
        assert!(
            d["answers"][0]
                .as_str()
                .unwrap()
                .starts_with("gzip of run 15 is 1.300 [1.215, 1.391] times as slow as in run 12: CPU")
        );
    }
}
