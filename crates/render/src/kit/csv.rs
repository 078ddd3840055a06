//! CSV: cells and files.

use crate::kit::error::RenderError;

pub(crate) fn write(rows: Vec<Vec<String>>) -> Result<String, RenderError> {
    let mut w = ::csv::WriterBuilder::new().from_writer(Vec::new());
    for r in rows {
        w.write_record(r)?;
    }
    let bytes = w.into_inner().map_err(|e| RenderError::Io(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn secs(ns: f64) -> String {
    number(ns / 1e9)
}

pub(crate) fn number(v: f64) -> String {
    if v.is_finite() { v.to_string() } else { String::new() }
}

pub(crate) fn cell<T>(value: Option<T>, f: impl Fn(T) -> String) -> String {
    value.map(f).unwrap_or_default()
}
