//! CSV: cells and files.

use crate::error::RenderError;
use crate::text::escape;

pub fn write(rows: Vec<Vec<String>>) -> Result<String, RenderError> {
    let mut w = ::csv::WriterBuilder::new().from_writer(Vec::new());
    for r in rows {
        w.write_record(r)?;
    }
    let bytes = w.into_inner().map_err(|e| RenderError::Io(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text that tare did not write, e.g. a program's name, without hidden characters. Spreadsheets run a cell that begins with one of
/// these characters as a formula; after an apostrophe it is a text
/// (<https://owasp.org/www-community/attacks/CSV_Injection>). A number is none.
pub fn text(content: &str) -> String {
    let shown = escape(content);
    let formula = shown.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match formula && !content.parse().is_ok_and(f64::is_finite) {
        true => format!("'{shown}"),
        false => shown.into_owned(),
    }
}

pub fn secs(ns: f64) -> String {
    number(ns / 1e9)
}

pub fn number(v: f64) -> String {
    if v.is_finite() { v.to_string() } else { String::new() }
}

pub fn cell<T>(value: Option<T>, f: impl Fn(T) -> String) -> String {
    value.map(f).unwrap_or_default()
}
