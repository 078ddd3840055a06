//! What the noise model answers without a measurement, as a table and as JSON.

use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::model::MostNodes;
use tarebench_core::noise::question::{ModelAnswer, ModelRow, NoiseQuestion};
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::number::{chance, exact, ratio};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;

fn most_nodes(most: MostNodes) -> String {
    match most {
        MostNodes::None => "none: a single node is delayed more often".to_owned(),
        MostNodes::Nodes(n) if n.get() == 1 => "1 node".to_owned(),
        MostNodes::Nodes(n) => format!("{n} nodes"),
        MostNodes::Any => "any number of nodes".to_owned(),
    }
}

/// Table of the numbers of nodes.
fn rows(answer: &ModelAnswer, u: bool) -> Table {
    let q = &answer.question;
    let alpha = chance(q.alpha.get());
    let mut note = format!(
        "d_p(n) = 1 - (1 - p)^n, the probability that a phase of a job on n nodes is delayed if each node is with probability p; p n \
         is its approximation. Largest p: what keeps d_p(n) at {alpha}."
    );
    if !answer.limits.is_empty() {
        note += " Slowdown: (G (1 - d) + G' d) / G of phases that take G or, delayed, G' (equation 5), with the stated G; a lower \
                 bound if delayed phases take G' or longer.";
    }
    let equations = if answer.limits.is_empty() { "equations 1 and 2" } else { "equations 1, 2 and 5" };
    let heads: Vec<String> = slowdown_grains(answer).map(|g| format!(">slowdown, G = {}", exact(g, u))).collect();
    let mut columns = vec![">n", ">d_p(n)", ">p n", ">p n over d", ">largest p"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(format!("Jobs on n nodes (ICS'05, {equations})"), note, &columns);
    for row in &answer.rows {
        table.row(cells(row), Vec::new());
        let first = [row.nodes.get() as f64, row.delayed, row.linear].map(Some);
        let rest = [row.linear_error, Some(row.largest_p)];
        table.values(first.into_iter().chain(rest).chain(row.slowdowns.iter().copied().map(Some)).collect());
    }
    table
}

fn cells(row: &ModelRow) -> Vec<String> {
    let linear = if row.linear > 1.0 { "over 1".to_owned() } else { chance(row.linear) };
    let mut cells = vec![
        row.nodes.to_string(),
        chance(row.delayed),
        linear,
        row.linear_error.map(|e| format!("+{}", chance(e))).unwrap_or_default(),
        chance(row.largest_p),
    ];
    cells.extend(row.slowdowns.iter().copied().map(ratio));
    cells
}

/// The grains that have a slowdown.
fn slowdown_grains(answer: &ModelAnswer) -> impl Iterator<Item = Nanos> + '_ {
    answer.question.grains.iter().copied().zip(&answer.limits).map(|(g, _)| g)
}

/// Question and answer.
pub fn terminal(answer: &ModelAnswer, style: &Style) -> String {
    let (u, q) = (style.unicode, &answer.question);
    let mut page = ScreenText::new(style);
    page.title("Noise by the model, without a measurement");
    page.field("p", &format!("{} for a phase of one node", chance(q.p.get())));
    for (grain, limit) in slowdown_grains(answer).zip(&answer.limits) {
        let delay = q.delay.map(|d| exact(d, u)).unwrap_or_default();
        let at_most = number::percent(limit - 1.0).unwrap_or_default();
        let text = format!("{delay} in a phase of G = {}: a job is slowed down by {at_most} at most", exact(grain, u));
        page.field("delay", &style.prose(&text));
    }
    let within =
        format!("{}, for delays in at most {} of the phases", most_nodes(answer.largest_n), chance(q.alpha.get()));
    page.field("largest n", &within);
    draw(&mut page, &rows(answer, u));
    page.finish()
}

#[derive(Serialize)]
struct ModelDocument<'a> {
    format: &'static str,
    version: u32,
    question: &'a NoiseQuestion,
    largest_n: MostNodes,
    /// G'/G by grain.
    limits: &'a [f64],
    rows: &'a [ModelRow],
}

/// Question and answer.
pub fn json(answer: &ModelAnswer) -> Result<String, RenderError> {
    let document = ModelDocument {
        format: "tare-noise-model",
        version: 1,
        question: &answer.question,
        largest_n: answer.largest_n,
        limits: &answer.limits,
        rows: &answer.rows,
    };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;
    use tarebench_core::noise::model::Probability;
    use tarebench_core::noise::question::answer;

    fn paper(delay: Option<Nanos>) -> ModelAnswer {
        let question = NoiseQuestion {
            p: Probability::new(0.01).unwrap(),
            delay,
            grains: vec![Nanos::from_millis(1), Nanos::from_millis(10)],
            nodes: [1, 10, 100, 1_000].map(|n| NonZeroU64::new(n).unwrap()).to_vec(),
            alpha: Probability::new(0.1).unwrap(),
        };
        answer(&question).unwrap()
    }

    /// Section 2.4 of the paper.
    #[test]
    fn the_papers_example() {
        let text = terminal(&paper(Some(Nanos::from_micros(500))), &Style::default());
        for says in ["G = 1 ms", "10 nodes, for delays in at most 10 %", "63 %", "1.3170", "over 1", "by 50 % at most"]
        {
            assert!(text.contains(says), "{says}: {text}");
        }
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
        let ascii = terminal(&paper(None), &Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii() && !ascii.contains("slowdown") && !ascii.contains("and 5"), "{ascii}");
    }

    #[test]
    fn json_has_the_numbers() {
        let text = json(&paper(Some(Nanos::from_micros(500)))).unwrap();
        let d: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&d["format"], &d["rows"][2]["nodes"]), (&"tare-noise-model".into(), &100.into()));
        assert!((d["rows"][2]["slowdowns"][0].as_f64().unwrap() - 1.317).abs() < 1e-3, "{text}");
        assert_eq!(d["largest_n"]["nodes"], 10);
    }
}
