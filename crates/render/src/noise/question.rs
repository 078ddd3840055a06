//! What the noise model answers without a measurement, as a sheet and as JSON.

use crate::noise::said::{length, slowdown};
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::model::MostNodes;
use tarebench_core::noise::question::{ModelAnswer, ModelRow, NoiseQuestion};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact};
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::PageKind;

fn most_nodes(most: MostNodes) -> String {
    match most {
        MostNodes::None => "none: a single node is delayed more often".to_owned(),
        MostNodes::Nodes(n) if n.get() == 1 => "1 node".to_owned(),
        MostNodes::Nodes(n) => format!("{n} nodes"),
        MostNodes::Any => "any number of nodes".to_owned(),
    }
}

/// Table of the numbers of nodes.
fn rows(answer: &ModelAnswer) -> Table {
    let mut note = Cell::text(
        "d_p(n) = 1 - (1 - p)^n, the probability that a phase of a job on n nodes is delayed if each node is with probability p; p n \
         is its approximation. Largest p: what keeps d_p(n) at ",
    )
    .and(Cell::of(Unit::Chance, answer.question.alpha.get()))
    .and(".");
    if !answer.limits.is_empty() {
        note = note.and(
            " Slowdown: (G (1 - d) + G' d) / G of phases that take G or, delayed, G' (equation 5), with the stated G; a lower \
             bound if delayed phases take G' or longer.",
        );
    }
    let equations = if answer.limits.is_empty() { "equations 1 and 2" } else { "equations 1, 2 and 5" };
    let heads = slowdown_grains(answer).map(|g| Column::new(Cell::text("slowdown, G = ").and(length(g))));
    let columns = ["n", "d_p(n)", ">p n", "p n over d by", "largest p"].map(Column::from).into_iter().chain(heads);
    let mut table = Table::of(format!("Jobs on n nodes (ICS'05, {equations})"), note, columns);
    for row in &answer.rows {
        let chance = |p| Cell::of(Unit::Chance, p);
        let cells = [
            Cell::of(Unit::Count, row.nodes.get() as f64),
            chance(row.delayed),
            if row.linear > 1.0 { "over 1".into() } else { chance(row.linear) },
            Cell::of(Unit::Chance, row.linear_error),
            chance(row.largest_p),
        ];
        table.row(cells.into_iter().chain(row.slowdowns.iter().copied().map(slowdown)), Vec::new());
    }
    table
}

/// The grains that have a slowdown.
fn slowdown_grains(answer: &ModelAnswer) -> impl Iterator<Item = Nanos> + '_ {
    answer.question.grains.iter().copied().zip(&answer.limits).map(|(g, _)| g)
}

pub fn sheet(answer: &ModelAnswer) -> Sheet {
    let q = &answer.question;
    let chance = |p: f64| Cell::of(Unit::Chance, p);
    let delay = |(grain, limit): (Nanos, &f64)| {
        let delay = q.delay.map(length).unwrap_or_default().and(" in a phase of G = ").and(length(grain));
        let at_most = Cell::of(Unit::Share, limit - 1.0);
        SheetFact::new("delay", delay.and(": a job is slowed down by ").and(at_most).and(" at most"))
    };
    let within = Cell::text(format!("{}, for delays in at most ", most_nodes(answer.largest_n)));
    let within = within.and(chance(q.alpha.get())).and(" of the phases");
    let p = SheetFact::new("p", chance(q.p.get()).and(" for a phase of one node"));
    let delays = slowdown_grains(answer).zip(&answer.limits).map(delay);
    Sheet {
        facts: [p].into_iter().chain(delays).chain([SheetFact::new("largest n", within)]).collect(),
        sections: vec![Section::result([Item::Table(rows(answer))])],
        ..Sheet::new(PageKind::Noise, "Noise by the model, without a measurement")
    }
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
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;

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
        let text = sheet_text(&sheet(&paper(Some(Nanos::from_micros(500)))), &Style::default());
        for says in ["G = 1 ms", "10 nodes, for delays in at most 10 %", "63 %", "1.3170", "over 1", "by 50 % at most"]
        {
            assert!(text.contains(says), "{says}: {text}");
        }
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
        let ascii = sheet_text(&sheet(&paper(None)), &Style { unicode: false, ..Style::default() });
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
