//! The web report: a self-contained HTML page with its data, its program and its style.

use crate::error::RenderError;
use crate::form::Form;
use crate::web::page::{Page, PageMeasure};
use tarebench_core::statistics::bins::bins;

/// Built from `web/` (`npm run build`).
const TEMPLATE: &str = include_str!("../../assets/report.html");
const DATA: &str = "\"TARE-DATA\"";
const TITLE: &str = "<title>tare</title>";

/// The page as a file.
pub fn html(page: &Page) -> Result<String, RenderError> {
    let data = data(page)?;
    let title = format!("<title>{} - tare</title>", escaped(&page.title.write(&Form::page())));
    let (before, after) = TEMPLATE.split_once(DATA).unwrap_or((TEMPLATE, ""));
    let mut out = String::with_capacity(TEMPLATE.len() + data.len() + title.len());
    out.push_str(&before.replacen(TITLE, &title, 1));
    out.push_str(&data);
    out.push_str(after);
    Ok(out)
}

/// The page's data as JSON that can stand inside a script element: nothing in it can end the element or begin another.
pub fn data(page: &Page) -> Result<String, RenderError> {
    let text = serde_json::to_string(page)?;
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            // In JSON these stand in strings only.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Ok(out)
}

fn escaped(text: &str) -> String {
    crate::text::escape(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub fn measure(id: &'static str, values: Vec<Option<i64>>) -> PageMeasure {
    let title = match id {
        "pt" => "CPU time (PT)",
        "net" => "Net time",
        _ => "Elapsed time (ET)",
    };
    let known: Vec<i64> = values.iter().flatten().copied().collect();
    PageMeasure { id, title, bins: bins(&known), values, lines: Vec::new(), places: Vec::new() }
}
