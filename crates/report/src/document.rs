//! Sheets and tables as documents: Markdown, AsciiDoc, Org mode, LaTeX.

use crate::form::Form;
use crate::interval_plot;
use crate::markup::Markup;
use crate::number::TimeUnit;
use crate::sheet::{Sheet, noted};
use crate::table::{Detail, Table, TableRow};

/// Rows that are listed; GitHub refuses summaries of more than 1 MiB.
const MOST: usize = 200;
/// Most columns of a name, and of other foreign text.
const NAME: usize = 120;
const LONG: usize = 400;
/// Columns of a plot.
const PLOT: usize = 84;

/// The rows of a table in a document, without its title and the columns that stand where everything is asked for; all times in `unit`,
/// or in the one that fits best.
pub fn table(table: &Table, markup: Markup, unit: Option<TimeUnit>) -> String {
    written(table, markup, &Form::markup(markup).in_unit(unit))
}

fn written(table: &Table, markup: Markup, form: &Form) -> String {
    let form = form.in_table();
    let is_shown = |place: &usize| {
        let detail = table.columns.get(*place).map(|c| c.detail);
        detail == Some(Detail::Always) && (*place == 0 || table.column(*place).any(|cell| !cell.is_empty()))
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    let heads: Vec<String> = places.iter().map(|place| table.heading(*place, &form)).collect();
    let row = |row: &TableRow| -> Vec<String> {
        let cell = |place: &usize| row.cells.get(*place).map(|c| c.write_in(&form, table.unit(*place, &form)));
        places.iter().map(|place| cell(place).unwrap_or_default()).collect()
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
    match markup {
        Markup::Markdown => markdown(&heads, &rows),
        Markup::Asciidoc => asciidoc(&heads, &rows),
        Markup::Org => org(&heads, &rows),
        Markup::Latex => latex_table(&heads, &rows),
    }
}

fn markdown(heads: &[String], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|:---|{}\n", heads.join(" | "), "---:|".repeat(heads.len().saturating_sub(1)));
    rows.iter().for_each(|cells| out.push_str(&format!("| {} |\n", cells.join(" | "))));
    out
}

fn asciidoc(heads: &[String], rows: &[Vec<String>]) -> String {
    let aligned = vec![">"; heads.len().saturating_sub(1)].join(",");
    let mut out = format!("[cols=\"<,{aligned}\"]\n|===\n| {} \n", heads.join(" \n| "));
    rows.iter().for_each(|cells| out.push_str(&format!("\n| {} \n", cells.join(" \n| "))));
    out + "|===\n"
}

fn org(heads: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String]| match cells {
        [first, rest @ ..] => format!("| {first}  |  {} |\n", rest.join(" |  ")),
        [] => String::new(),
    };
    let line = format!("|{}--|\n", "--+".repeat(heads.len().saturating_sub(1)));
    let rows: String = rows.iter().map(|cells| row(cells)).collect();
    format!("{}{line}{rows}", row(heads))
}

fn latex_table(heads: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("{} \\\\\n", cells.join(" & "));
    let aligned = "r".repeat(heads.len().saturating_sub(1));
    let rows: String = rows.iter().map(|cells| line(cells)).collect();
    format!("\\begin{{tabular}}{{l{aligned}}}\n\\hline\n{}\\hline\n{rows}\\hline\n\\end{{tabular}}\n", line(heads))
}

/// A sheet as a document in Markdown, for the summary of a job and for comments on a merge request.
///
/// All text that is not tare's own (names, subjects of commits, what a program wrote) stands in code, where it is neither markup nor a
/// mention of somebody.
pub fn document(sheet: &Sheet) -> String {
    let form = Form::markup(Markup::Markdown).cut_to(NAME);
    let mut out = format!("### {}\n", sheet.title.write(&form));
    for answer in &sheet.answers {
        out.push_str(&format!("\n**{}**\n", answer.write(&form)));
    }
    for section in sheet.sections.iter().filter(|s| s.detail == Detail::Always) {
        if !section.title.is_empty() {
            out.push_str(&format!("\n#### {}\n", section.title.write(&form)));
        }
        for table in section.tables() {
            out.push_str(&format!("\n{}", listed(table)));
        }
        if let Some(plot) = section.overview().and_then(|o| interval_plot::drawn(o, MOST, PLOT, &Form::page())) {
            let fence = "`".repeat(longest_run(&plot).max(2) + 1);
            out.push_str(&format!("\n{fence}text\n{plot}{fence}\n"));
        }
    }
    let notes: Vec<String> = sheet.notes.iter().map(|note| noted(note.clone()).write(&form)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("\n{}\n", notes.join(" ")));
    }
    let long = form.cut_to(LONG);
    list(&mut out, sheet.remarks.iter().map(|remark| remark.cell.write(&long)));
    let facts = sheet.facts.iter().filter(|fact| fact.detail == Detail::Always);
    list(&mut out, facts.map(|fact| format!("{}: {}", fact.label, fact.cell.write(&long))));
    out
}

fn list(out: &mut String, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("- {line}\n")).collect();
    if !lines.is_empty() {
        out.push_str(&format!("\n{lines}"));
    }
}

/// A table of at most [`MOST`] rows.
fn listed(whole: &Table) -> String {
    let left = whole.rows.len().saturating_sub(MOST);
    let shown = Table { rows: whole.rows.iter().take(MOST).cloned().collect(), ..whole.clone() };
    let more = if left > 0 { format!("\n{left} more rows are not listed here.\n") } else { String::new() };
    written(&shown, Markup::Markdown, &Form::markup(Markup::Markdown).cut_to(NAME)) + &more
}

/// Backticks in a row, at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
