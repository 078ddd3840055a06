//! Tables for documents: Markdown, AsciiDoc, Org mode.

use crate::bench;
use crate::clocks;
use crate::number::{self, Scale, Unit};
use crate::style::Sort;
use crate::terminal;
use crate::text::shown;
use tare_core::report::bench::{BenchReport, BenchRow};
use tare_core::report::{Measure, MeasureReport, RunReport, SeriesReport};

/// A GitHub-flavoured Markdown table with hyperfine's columns, PT and net time: elapsed time, process time, net time, ratio.
///
/// All times in `unit`, or in the one that fits best. Absent values are `–`.
pub fn markdown(report: &RunReport, unit: Option<Unit>, sort: Sort) -> String {
    Table::of(report, unit, sort).write(Markup::Markdown)
}

/// An AsciiDoc table of the same content as [`markdown`].
pub fn asciidoc(report: &RunReport, unit: Option<Unit>, sort: Sort) -> String {
    Table::of(report, unit, sort).write(Markup::Asciidoc)
}

/// An Org mode table of the same content as [`markdown`].
pub fn orgmode(report: &RunReport, unit: Option<Unit>, sort: Sort) -> String {
    Table::of(report, unit, sort).write(Markup::Org)
}

/// A table of benchmarks: time of one execution, spread, trials, repetitions, clock, standing. All times in `unit`, or in the
/// one that fits best. Absent values are `–`.
pub fn benchmarks(report: &BenchReport, unit: Option<Unit>, markup: Markup) -> String {
    Table::of_benchmarks(report, unit).write(markup)
}

/// A language of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// GitHub's Markdown.
    Markdown,
    /// AsciiDoc.
    Asciidoc,
    /// Org mode.
    Org,
}

const ABSENT: &str = "–";

struct Table {
    heads: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    fn of(report: &RunReport, unit: Option<Unit>, sort: Sort) -> Table {
        let sort = if sort == Sort::Auto { Sort::Command } else { sort };
        let means = report.series.iter().filter_map(|s| s.et.value()).map(|m| m.mean);
        let unit = terminal::middle_unit(means, unit);
        let by = match report.comparisons.first().map(|c| c.measure) {
            Some(m) if report.comparisons.iter().all(|c| c.measure == m) => match m {
                Measure::Pt => " (PT)",
                Measure::Et => " (ET)",
                Measure::Net => " (net)",
            },
            _ => "",
        };
        let heads = vec![
            "Command".to_owned(),
            format!("Mean [{unit}]"),
            format!("Min [{unit}]"),
            format!("Max [{unit}]"),
            format!("PT [{unit}]"),
            format!("Net [{unit}]"),
            format!("Relative{by}"),
        ];
        let row = |i: usize| {
            let s = &report.series[i];
            (s.program.label.clone(), cells(report, s, i, unit))
        };
        Table { heads, rows: terminal::row_order(report, sort).into_iter().map(row).collect() }
    }

    fn of_benchmarks(report: &BenchReport, unit: Option<Unit>) -> Table {
        let unit = terminal::middle_unit(report.rows.iter().filter_map(|r| r.time.value().copied()), unit);
        let time = format!("Time [{unit}]");
        let heads = ["Benchmark", &time, "Spread", "Trials", "Repetitions", "Clock", "Standing"];
        let row = |r: &BenchRow| {
            let absent = || ABSENT.to_owned();
            let spread = r.spread.value().copied();
            let time = r.time.value().and_then(|ns| bench::time(*ns, spread, Some(unit)));
            let cells = vec![
                time.map_or_else(absent, |(value, _)| value),
                spread.and_then(number::percent).unwrap_or_else(absent),
                r.trials.to_string(),
                r.repetitions.to_string(),
                clocks::name(r.clock).to_owned(),
                bench::standing(r.standing),
            ];
            (r.name.clone(), cells)
        };
        Table { heads: heads.map(str::to_owned).to_vec(), rows: report.rows.iter().map(row).collect() }
    }

    fn write(&self, markup: Markup) -> String {
        match markup {
            Markup::Markdown => self.markdown(),
            Markup::Asciidoc => self.asciidoc(),
            Markup::Org => self.org(),
        }
    }

    fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|:---|{}\n", self.heads.join(" | "), "---:|".repeat(self.heads.len() - 1));
        for (label, cells) in &self.rows {
            out.push_str(&format!("| {} | {} |\n", markdown_code(label), cells.join(" | ")));
        }
        out
    }

    fn asciidoc(&self) -> String {
        let aligned = vec![">"; self.heads.len() - 1].join(",");
        let mut out = format!("[cols=\"<,{aligned}\"]\n|===");
        out.push_str(&format!("\n| {} \n", self.heads.join(" \n| ")));
        for (label, cells) in &self.rows {
            out.push_str(&format!("\n| {} \n| {} \n", asciidoc_code(label), cells.join(" \n| ")));
        }
        out.push_str("|===\n");
        out
    }

    fn org(&self) -> String {
        let row = |first: &str, rest: &[String]| format!("| {first}  |  {} |\n", rest.join(" |  "));
        let mut out = row(&self.heads[0], &self.heads[1..]);
        out.push_str(&format!("|{}--|\n", "--+".repeat(self.heads.len() - 1)));
        for (label, cells) in &self.rows {
            out.push_str(&row(&org_code(label), cells));
        }
        out
    }
}

fn cells(report: &RunReport, s: &SeriesReport, index: usize, unit: Unit) -> Vec<String> {
    let absent = || ABSENT.to_owned();
    let scale = |m: &MeasureReport| Scale::of(m.mean, m.std_dev, Some(unit));
    let one = |m: &MeasureReport, v: f64| scale(m).value(v).unwrap_or_else(absent);
    let mean = |m: &MeasureReport| match m.std_dev {
        Some(d) => format!("{} ± {}", one(m, m.mean), one(m, d)),
        None => one(m, m.mean),
    };
    let (et, pt) = (s.et.value(), s.pt.value());
    vec![
        et.map_or_else(absent, mean),
        et.map_or_else(absent, |m| one(m, m.min)),
        et.map_or_else(absent, |m| one(m, m.max)),
        pt.map_or_else(absent, mean),
        s.net.value().map_or_else(absent, mean),
        relative(report, index).unwrap_or_else(absent),
    ]
}

fn relative(report: &RunReport, index: usize) -> Option<String> {
    let Some(c) = report.comparisons.iter().find(|c| c.series as usize == index) else {
        let reference = report.comparisons.first().map(|c| c.reference as usize);
        let itself = reference == Some(index) || report.series.len() == 1;
        return itself.then(|| "1.00".to_owned());
    };
    let half = c.interval.as_ref().ok().map(|i| (i.high - i.low) / 2.0);
    let decimals = number::ratio_decimals(c.ratio, half);
    let ratio = number::fixed(c.ratio, decimals)?;
    Some(match &c.interval {
        Ok(i) => match (number::fixed(i.low, decimals), number::fixed(i.high, decimals)) {
            (Some(low), Some(high)) => format!("{ratio} ({low} … {high})"),
            _ => ratio,
        },
        Err(_) => ratio,
    })
}

/// A code span whose fence is longer than any run of backticks in it.
fn markdown_code(label: &str) -> String {
    if label.contains("\\|") {
        // A backslash before a bar cannot be told from the bar's own in a table.
        return format!("<code>{}</code>", references(&shown(label)));
    }
    let text = shown(label).replace('|', "\\|");
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let edge = text.is_empty() || text.starts_with('`') || text.ends_with('`');
    let pad = if edge { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Literal monospace; character references where the literal form could end early.
fn asciidoc_code(label: &str) -> String {
    let text = shown(label);
    if !text.contains(['+', '`']) && !text.is_empty() {
        return format!("`+{}+`", text.replace('|', "\\|"));
    }
    format!("`{}`", references(&text))
}

/// Character references for all that could be markup.
fn references(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == ' ' {
            out.push(c);
        } else {
            out.push_str(&format!("&#{};", u32::from(c)));
        }
    }
    out
}

/// Verbatim text; a bar would end the cell even there, so that it is an entity between two verbatim texts.
fn org_code(label: &str) -> String {
    let text = shown(label);
    let verbatim = |part: &str| {
        let part = part.trim();
        let sign = if part.contains('=') && !part.contains('~') { '~' } else { '=' };
        if part.is_empty() { String::new() } else { format!("{sign}{part}{sign}") }
    };
    let parts: Vec<String> = text.split('|').map(verbatim).collect();
    parts.join(" \\vert{} ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_in_their_cell() {
        assert_eq!(markdown_code("a | b"), "`a \\| b`");
        assert_eq!(markdown_code("echo `x`"), "`` echo `x` ``");
        assert_eq!(markdown_code("a\nb"), "`a\\nb`");
        assert_eq!(markdown_code(""), "`  `");
        assert_eq!(markdown_code("sed a\\|b"), "<code>sed a&#92;&#124;b</code>");
        assert_eq!(asciidoc_code("a | b"), "`+a \\| b+`");
        assert_eq!(asciidoc_code("g++"), "`g&#43;&#43;`");
        assert_eq!(org_code("a | b"), "=a= \\vert{} =b=");
        assert_eq!(org_code("A=1 b"), "~A=1 b~");
    }
}
