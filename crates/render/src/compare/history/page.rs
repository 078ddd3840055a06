//! A history as a self-contained page: its answers, then a figure and a table for each benchmark. It needs no script.

use crate::compare::history::figure::figure;
use crate::compare::history::said::{answers, build_name, counted, day, newest, remarks, title, with_interval};
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::history::{BenchmarkHistory, HistoryReport};
use tarebench_report::style::{Glyphs, Style};
use tarebench_report::svg::drawing::escaped;
use tarebench_report::words::plural;

const STYLE: &str = "\
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; color: #1d1f21; background: #fdfcf9; \
font: 14px/1.45 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.5rem }
ul.answers { padding-left: 1.2rem } ul.answers b { font-weight: 600 }
.slower { color: #a83200 } .faster { color: #00674b }
.remark { color: #8a4b00; background: #fff4e0; padding: .4rem .7rem }
svg { max-width: 100%; height: auto; border: 1px solid #ebe9e2 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #ebe9e2; vertical-align: top }
footer { margin-top: 3rem; color: #5b6066 }
@media print { details > * { display: block } }
";

/// The page; `foot` is its last line.
pub fn page(report: &HistoryReport, style: &Style, foot: &str) -> String {
    let g = Style::default().glyphs();
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"tare\">\n<title>History of benchmarks - tare</title>\n<style>",
    );
    out += STYLE;
    out += "</style>\n</head>\n<body>\n<h1>History of benchmarks</h1>\n<ul class=\"answers\">\n";
    for (i, h) in report.benchmarks.iter().enumerate() {
        answered(&mut out, i, h, &style.zone, &g);
    }
    out += "</ul>\n";
    for (i, h) in report.benchmarks.iter().enumerate() {
        section(&mut out, i, h, style, &g);
    }
    let gates = plural(report.gates as u64, "gate");
    out += &format!("<footer>{gates}. {}</footer>\n</body>\n</html>\n", escaped(foot));
    out
}

/// What is shown is escaped as a whole.
fn plain(text: &str) -> String {
    text.to_owned()
}

fn answered(out: &mut String, place: usize, h: &BenchmarkHistory, zone: &TimeZone, g: &Glyphs) {
    for answer in answers(h, zone, g, &plain) {
        let class = match answer.ratio {
            Some(ratio) if ratio > 1.0 => " class=\"slower\"",
            Some(_) => " class=\"faster\"",
            None => "",
        };
        let (name, text) = (escaped(&title(h)), escaped(&answer.text));
        *out += &format!("<li{class}><a href=\"#b{place}\"><b>{name}</b></a>: {text}</li>\n");
    }
}

fn section(out: &mut String, place: usize, h: &BenchmarkHistory, style: &Style, g: &Glyphs) {
    let zone = &style.zone;
    *out += &format!("<section id=\"b{place}\">\n<h2>{}</h2>\n", escaped(&title(h)));
    if let Some(svg) = figure(h, zone) {
        // In a page, the drawing is an element, without a declaration of its own.
        let from = svg.find("<svg").unwrap_or(0);
        *out += svg.get(from..).unwrap_or_default();
    }
    if let Some(now) = newest(h, zone, g, &plain) {
        *out += &format!("<p>Newest: {}.</p>\n", escaped(&now));
    }
    for remark in remarks(h, zone, &style.hints, &plain) {
        *out += &format!("<p class=\"remark\">{}</p>\n", escaped(&remark));
    }
    if !h.points.is_empty() {
        builds(out, h, zone, g);
    }
    *out += "</section>\n";
}

/// All builds, the newest first.
fn builds(out: &mut String, h: &BenchmarkHistory, zone: &TimeZone, g: &Glyphs) {
    *out += &format!("<details><summary>{}</summary>\n<table>\n<tr>", counted(h));
    for head in ["build", "date", "relative to the anchor", "change", "measured by", "subject"] {
        *out += &format!("<th>{head}</th>");
    }
    *out += "</tr>\n";
    for (place, point) in h.points.iter().enumerate().rev() {
        let b = &point.build;
        let change = h.changes.iter().find(|c| c.after == place);
        let name = match (&b.commit, &b.name) {
            (Some(_), Some(name)) => format!("{} ({name})", build_name(b)),
            _ => build_name(b),
        };
        let gates: Vec<String> = point.gates.iter().take(5).map(|n| format!("g{n}")).collect();
        let more = point.gates.len() - gates.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let elsewhere = if point.other_machine { ", another machine" } else { "" };
        let cells = [
            name,
            day(b.time, zone),
            with_interval(point.ratio, point.interval.as_ref(), g),
            change.map(|c| with_interval(c.ratio, Some(&c.interval), g)).unwrap_or_default(),
            format!("{}{more}{elsewhere}", gates.join(" ")),
            b.subject.clone().unwrap_or_default(),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        *out += &format!("<tr>{}</tr>\n", cells.concat());
    }
    *out += "</table>\n</details>\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;

    #[test]
    fn the_page_has_answers_figures_and_tables() {
        let text = page(&fixtures::report(), &Style::default(), "tare 0.1.0 & more");
        assert!(text.starts_with("<!doctype html>") && text.trim_end().ends_with("</html>"));
        let first = text.find("<li class=\"faster\"><a href=\"#b0\"><b>sort</b></a>: −1.0 %").unwrap();
        let second = text.find("<li class=\"slower\"><a href=\"#b0\"><b>sort</b></a>: +2.0 %").unwrap();
        assert!(first < second && second < text.find("<svg").unwrap());
        assert_eq!((text.matches("<svg").count(), text.matches("<tr>").count()), (2, 42));
        assert!(!text.contains("<?xml") && text.contains("22 gates. tare 0.1.0 &amp; more"));
        assert!(text.contains("<td>0000080</td><td>2026-10-09</td>") && text.contains("<td>change 8</td>"));
        // No address but those that name the language of the drawings.
        assert!(text.contains("default-src 'none'") && text.matches("http://").count() == 2);
    }

    #[test]
    fn hostile_names_are_text() {
        let text = page(&fixtures::hostile(), &Style::default(), fixtures::HOSTILE);
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;"));
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        let nothing = page(&HistoryReport { gates: 0, benchmarks: Vec::new() }, &Style::default(), "");
        assert!(nothing.contains("0 gates"));
    }
}
