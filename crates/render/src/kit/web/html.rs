//! The web report: one file that holds its data, its program and its style, and asks nothing of a network.

use crate::kit::error::RenderError;
use crate::kit::web::page::{Measure, Page};

/// Built from `web/` (`npm run build`).
const TEMPLATE: &str = include_str!("../../../assets/report.html");
const DATA: &str = "\"TARE-DATA\"";
const TITLE: &str = "<title>tare</title>";

/// The page as a file.
///
/// # Errors
/// [`RenderError::Json`] if a value cannot be written as JSON.
pub fn html(page: &Page) -> Result<String, RenderError> {
    let data = data(page)?;
    let title = format!("<title>{} - tare</title>", escaped(&page.title));
    let (before, after) = TEMPLATE.split_once(DATA).unwrap_or((TEMPLATE, ""));
    let mut out = String::with_capacity(TEMPLATE.len() + data.len() + title.len());
    out.push_str(&before.replacen(TITLE, &title, 1));
    out.push_str(&data);
    out.push_str(after);
    Ok(out)
}

/// The page's data as JSON that can stand inside a script element: nothing in it can end the element or begin another.
///
/// # Errors
/// [`RenderError::Json`].
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
    crate::kit::text::shown(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Bins of a histogram: Freedman and Diaconis' width, 2 IQR n^(-1/3), within 10 to 200.
pub(crate) fn bins(values: &[Option<i64>]) -> u32 {
    let mut known: Vec<i64> = values.iter().flatten().copied().collect();
    known.sort_unstable();
    let at = |part: usize| known.get(known.len() * part / 4).or(known.last()).copied().unwrap_or(0);
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return 10 };
    let width = 2.0 * (at(3) - at(1)) as f64 / (known.len() as f64).cbrt();
    if width <= 0.0 { 10 } else { (((last - first) as f64 / width).ceil() as u32).clamp(10, 200) }
}

pub(crate) fn measure(id: &'static str, values: Vec<Option<i64>>) -> Measure {
    let title = match id {
        "pt" => "Process time (PT)",
        "net" => "Net time",
        _ => "Elapsed time (ET)",
    };
    Measure { id, title, bins: bins(&values), values, lines: Vec::new() }
}
