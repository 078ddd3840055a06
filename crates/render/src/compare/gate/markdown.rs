//! A gate in Markdown, for the summary of a job and for comments on a merge request.
//!
//! All text that is not tare's own (names of benchmarks and branches, subjects of commits, what a program wrote) stands in code,
//! where it is neither markup nor a mention of somebody.

use crate::compare::gate::plot::plot;
use crate::compare::gate::said::{
    MODIFIED, answer, blocks, change, control, corrected, mean, order, reading, reason, revision, threshold, times,
    verdict_word,
};
use tarebench_core::compare::gate::{BenchmarkReport, Gate, GateReport, GateSide};
use tarebench_report::markup::{ABSENT, Markup, MarkupTable, code_span};
use tarebench_report::number;
use tarebench_report::style::{Glyphs, Style};
use tarebench_report::text::{columns, cut_middle, escape};

/// Benchmarks that are listed; GitHub refuses summaries of more than 1 MiB.
const MOST: usize = 200;
/// Most columns of a name in a table, of a name beside the plot, and of other text.
const NAME: usize = 120;
const BESIDE: usize = 24;
const TEXT: usize = 400;
/// Columns of the plot.
const PLOT: usize = 60;

/// The summary of a gate.
pub fn markdown(gate: &Gate, report: &GateReport) -> String {
    let g = Style::default().glyphs();
    let mut out = String::from("### tare gate");
    if !gate.plan.suite.is_empty() {
        out.push_str(&format!(" {}", span(&gate.plan.suite, NAME)));
    }
    out.push_str(&format!("\n\n**{}**\n\n", answer(report, |name| span(name, NAME))));
    let mut places = order(report, MOST);
    places.truncate(MOST);
    if !places.is_empty() {
        out.push_str(&table(gate, report, &places, &g));
        let left = report.benchmarks.len().saturating_sub(places.len());
        if left > 0 {
            out.push_str(&format!("\n{left} more benchmarks are not listed here.\n"));
        }
        out.push_str(&drawn(gate, report, &places, &g));
        out.push_str(&format!("\n{}\n", sentences(gate, report, &g)));
        out.push_str(&corrections(gate, report, &places, &g));
        out.push_str(&reasons(gate, report, &places, &g));
    }
    out.push_str(&format!("\n- base: {}\n- head: {}\n", side(&gate.plan.base), side(&gate.plan.head)));
    out
}

/// Foreign text as code.
fn span(foreign: &str, most: usize) -> String {
    code_span(&cut_middle(&escape(foreign), most, "…"))
}

fn table(gate: &Gate, report: &GateReport, places: &[usize], g: &Glyphs) -> String {
    let heads = ["benchmark", "verdict", "change", "95% interval", "threshold", "blocks", "base", "head"];
    let row = |place: &usize| {
        let b = report.benchmarks.get(*place)?;
        Some((cut_middle(&escape(&b.name), NAME, "…").into_owned(), cells(gate, b, *place, g)))
    };
    let rows = places.iter().filter_map(row).collect();
    MarkupTable { heads: heads.map(str::to_owned).to_vec(), rows }.write(Markup::Markdown)
}

fn cells(gate: &Gate, b: &BenchmarkReport, place: usize, g: &Glyphs) -> Vec<String> {
    let absent = || ABSENT.to_owned();
    let (change, interval) = b.ratio.map(|ratio| change(ratio, &b.interval, g)).unzip();
    let limit = gate.plan.benchmarks.get(place).map(|b| threshold(b.threshold));
    let time = |ns: f64| number::time(ns, None, true).unwrap_or_else(absent);
    let times = times(gate, place);
    vec![
        verdict_word(b.verdict).to_owned(),
        change.unwrap_or_else(absent),
        interval.flatten().unwrap_or_else(absent),
        limit.unwrap_or_else(absent),
        blocks(b.blocks, gate.measured.get(place)),
        times.map_or_else(absent, |t| time(t.base)),
        times.map_or_else(absent, |t| time(t.head)),
    ]
}

/// The intervals as text, within a fence that no name can close.
fn drawn(gate: &Gate, report: &GateReport, places: &[usize], g: &Glyphs) -> String {
    let Some(plot) = plot(gate, report, places, PLOT, true, g) else { return String::new() };
    let name = |place: &usize| {
        let name = report.benchmarks.get(*place).map_or("", |b| b.name.as_str());
        cut_middle(&escape(name), BESIDE, "…").into_owned()
    };
    let names: Vec<String> = places.iter().map(name).collect();
    let wide = names.iter().map(|n| columns(n)).max().unwrap_or(0);
    let pad = |n: &str| " ".repeat((wide + 2).saturating_sub(columns(n)));
    let rows = names.iter().zip(&plot.rows).map(|(n, row)| format!("{n}{}{row}\n", pad(n)));
    let rows: String = rows.chain([format!("{}{}\n", pad(""), plot.axis)]).collect();
    let fence = "`".repeat(longest_run(&rows).max(2) + 1);
    format!("\n{fence}text\n{rows}{fence}\n")
}

/// Backticks in a row, at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// What the verdicts mean and the figures are.
fn sentences(gate: &Gate, report: &GateReport, g: &Glyphs) -> String {
    let error = number::percent(gate.plan.family_error).unwrap_or_else(|| ABSENT.to_owned());
    let mean = mean(report, g).map_or_else(String::new, |mean| format!(" Mean change: {mean}."));
    format!(
        "A regression is slower by more than half of its threshold, an improvement faster by as much, each with an error of {error} \
         for the whole suite; what passes is slower by less than its threshold, with 95% confidence; what is inconclusive is \
         neither. {}.{mean} Control: {}.",
        reading(gate).replacen("change", "Change", 1),
        control(gate, report, g)
    )
}

/// What is known of the benchmarks without duets that ran beside probes.
fn corrections(gate: &Gate, report: &GateReport, places: &[usize], g: &Glyphs) -> String {
    let line = |place: &usize| {
        let name = span(&report.benchmarks.get(*place)?.name, NAME);
        Some(format!("- {name}: {}\n", corrected(gate, report, *place, g)?))
    };
    let lines: String = places.iter().filter_map(line).collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "\nChange of CPU times on the quiet machine, without what probes say that the machine added (verdicts rest on the measured \
         times):\n\n{lines}"
    )
}

fn reasons(gate: &Gate, report: &GateReport, places: &[usize], g: &Glyphs) -> String {
    let mut out = String::new();
    for place in places {
        let Some((why, b)) = reason(gate, report, *place, g).zip(report.benchmarks.get(*place)) else { continue };
        let foreign = why.foreign.map_or_else(String::new, |text| format!(": {}", span(&text, TEXT)));
        out.push_str(&format!("- {}: {}{foreign}\n", span(&b.name, NAME), why.text));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

fn side(side: &GateSide) -> String {
    let said = revision(side);
    let foreign = [said.name, said.subject].into_iter().flatten().map(|text| span(text, TEXT));
    let all: Vec<String> = [span(&said.id, TEXT)].into_iter().chain(foreign).collect();
    let modified = if said.modified { format!(" {MODIFIED}") } else { String::new() };
    format!("{}{modified}", all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_core::compare::gate::GateVerdict;
    use tarebench_report::text::hidden;

    #[test]
    fn the_table_and_what_it_means() {
        let (gate, report) = fixtures::three();
        let text = markdown(&gate, &report);
        let beginning = "### tare gate `parsers`\n\n**regression: 1 of 3 benchmarks is slower; 1 faster**\n\n\
                         | benchmark | verdict | change | 95% interval | threshold | blocks | base | head |\n\
                         |:---|---:|---:|---:|---:|---:|---:|---:|\n\
                         | `parse` | regression | +4.1 % | [+3.8, +4.4] | 2 % | 24 duets | 800 ms | 834 ms |\n\
                         | `render` | pass | +0.1 % | [−0.3, +0.5] | 2 % | 24 duets | 800 ms | 802 ms |\n\
                         | `sort` | improvement | −7.0 % | [−8.0, −6.0] | 2 % | 24 duets | 800 ms | 745 ms |\n\
                         \n```text\nparse   ";
        assert!(text.starts_with(beginning), "{text}");
        let end = "\n- base: `1f2e3d4c5b6a` `origin/main` `Keep the table sorted`\n\
                   - head: `9a8b7c6d5e4f` `Parse numbers without copying`\n";
        assert!(text.ends_with(end), "{text}");
        for says in
            ["with an error of 1.0 % for the whole suite", "Mean change: −1.0", "Control: the base against itself"]
        {
            assert!(text.contains(says), "{says}: {text}");
        }
    }

    #[test]
    fn what_was_corrected_is_listed_with_its_correction() {
        let (gate, report) = fixtures::corrected();
        let text = markdown(&gate, &report);
        let from = text.find("Change of CPU times on").unwrap_or_else(|| panic!("{text}"));
        let (section, _) = text[from..].split_once("\n\n- base: ").unwrap_or_else(|| panic!("{text}"));
        insta::assert_snapshot!(section, @r"
        Change of CPU times on the quiet machine, without what probes say that the machine added (verdicts rest on the measured times):

        - `grind`: +2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %
        ");
        let (gate, report) = fixtures::three();
        assert!(!markdown(&gate, &report).contains("quiet machine"));
    }

    #[test]
    fn what_is_undecided_is_listed_with_its_reason() {
        let (gate, report) = fixtures::every_verdict();
        let text = markdown(&gate, &report);
        let reason = "`` the head failed with exit code 3: `panicked at src/main.rs:3` ``";
        assert!(text.contains(&format!("\n- `crash`: could not be measured: {reason}\n")), "{text}");
        assert!(text.contains("\n- `few`: only 3 rounds, at least 6 are needed\n"), "{text}");
        assert!(text.contains("| `none` | inconclusive | – | – | 2 % | 0 rounds | – | – |\n"), "{text}");
    }

    /// What is outside of code, with the delimiters of the code left out.
    fn outside_code(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('`') {
            out.push_str(&rest[..at]);
            let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            let body = &rest[at + run..];
            // The next run of the same length closes it.
            let closes = |from: &usize| {
                let begins = *from == 0 || !body[..*from].ends_with('`');
                let length = body[*from..].len() - body[*from..].trim_start_matches('`').len();
                begins && length == run
            };
            let end =
                body.match_indices('`').map(|(i, _)| i).find(closes).unwrap_or_else(|| panic!("not closed: {text}"));
            rest = &body[end + run..];
        }
        out + rest
    }

    #[test]
    fn foreign_text_stays_in_code() {
        let (gate, report) = fixtures::hostile();
        let text = markdown(&gate, &report);
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        let outside = outside_code(&text);
        for sign in ["<", "@", "http", "script", "\\u"] {
            assert!(!outside.contains(sign), "{sign}: {outside}");
        }
        // Each row has its eight cells.
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).collect();
        assert_eq!(rows.len(), 1 + report.benchmarks.len());
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 9, "{row}");
        }
    }

    #[test]
    fn a_large_suite_is_cut_and_an_empty_one_short() {
        let all = (0..900).map(|i| fixtures::benchmark(&format!("b{i}"), GateVerdict::Pass, 1.0, 0.004));
        let (gate, report) = fixtures::gate_of(all.collect(), GateVerdict::Pass);
        let text = markdown(&gate, &report);
        assert!(
            text.contains("\n700 more benchmarks are not listed here.\n") && text.len() < 100_000,
            "{}",
            text.len()
        );
        let (gate, report) = fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive);
        let text = markdown(&gate, &report);
        assert!(
            text.starts_with("### tare gate `parsers`\n\n**inconclusive: nothing was measured**\n\n\n- base: "),
            "{text}"
        );
    }
}
