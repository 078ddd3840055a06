//! A history as JSON.

use crate::compare::history::said::{answers, title};
use serde::Serialize;
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::history::HistoryReport;
use tarebench_report::cell::Cell;
use tarebench_report::error::RenderError;

#[derive(Serialize)]
struct HistoryJson<'a> {
    format: &'static str,
    version: u32,
    answers: Vec<String>,
    report: &'a HistoryReport,
}

/// `{"format":"tare-history","version":1,"answers":["sort: +2.1 % …"],"report":{"gates":42,"benchmarks":[…]}}`.
///
/// Ratios are relative to the anchor, those of changes to the builds before them; times are in ns since 1970; what is
/// no number is `null`.
pub fn json(report: &HistoryReport, zone: &TimeZone) -> Result<String, RenderError> {
    let sentences = report.benchmarks.iter().flat_map(|h| {
        let all = answers(h, zone).into_iter();
        all.map(|answer| Cell::foreign(title(h)).and(": ").and(answer).plain())
    });
    let document = HistoryJson { format: "tare-history", version: 1, answers: sentences.collect(), report };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;
    use serde_json::Value;
    use tarebench_report::text::hidden;

    #[test]
    fn it_holds_all_of_the_report() {
        let text = json(&fixtures::report(), &TimeZone::UTC).unwrap();
        let d: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&d["format"], &d["version"], &d["report"]["gates"]),
            (&"tare-history".into(), &1.into(), &22.into())
        );
        assert_eq!(d["answers"].as_array().unwrap().len(), 3);
        let sort = &d["report"]["benchmarks"][0];
        assert_eq!((&sort["name"], &sort["changes"][0]["after"]), (&"sort".into(), &8.into()));
        assert_eq!((&sort["changes"][0]["ratio"], &sort["levels"][2]["last"]), (&1.02.into(), &19.into()));
        assert_eq!(sort["points"].as_array().unwrap().len(), 20);
        assert_eq!(
            (&sort["points"][0]["interval"], &sort["points"][8]["build"]["subject"]),
            (&Value::Null, &"change 8".into())
        );
    }

    #[test]
    fn hostile_names_and_no_numbers() {
        let text = json(&fixtures::hostile(), &TimeZone::UTC).unwrap();
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text}");
        let d: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(d["report"]["benchmarks"][1]["name"], format!("1{}", fixtures::HOSTILE));
        assert_eq!(d["report"]["benchmarks"][0]["points"][1]["ratio"], Value::Null);
    }
}
