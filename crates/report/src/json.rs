//! JSON whose text may be printed on a terminal.

use crate::error::RenderError;
use crate::text::hidden;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io;

/// Any value, indented by two spaces, without a final newline; characters that would act on a terminal are escaped.
pub fn pretty(value: &impl Serialize) -> Result<String, RenderError> {
    written(value, PrettyFormatter::new())
}

/// The same on one line.
pub fn compact(value: &impl Serialize) -> Result<String, RenderError> {
    written(value, CompactFormatter)
}

/// As [`pretty`], into a writer.
///
/// # Errors
/// [`RenderError::Json`] if the writer fails or it cannot be written as JSON.
pub fn write_pretty(out: impl io::Write, value: &impl Serialize) -> Result<(), RenderError> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, Safe(PrettyFormatter::new())))?)
}

fn written(value: &impl Serialize, form: impl Formatter) -> Result<String, RenderError> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Safe(form)))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Escapes what acts on a terminal; serde_json leaves DEL, C1 and bidirectional controls as they are.
pub struct Safe<F>(pub F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut begin = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| hidden(*c)) {
            out.write_all(&fragment.as_bytes()[begin..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            begin = at + c.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[begin..])
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn text_does_not_act_on_a_terminal() {
        let text = "a\u{9b}31m\u{7f}\u{1b}\u{202e}\u{e0001} größe";
        let value = serde_json::json!({ text: [text, 1] });
        for json in [pretty(&value).unwrap(), compact(&value).unwrap()] {
            assert!(!json.chars().any(|c| c != '\n' && hidden(c)), "{json:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
        }
        assert_eq!(compact(&["\u{9b}", "ö"]).unwrap(), r#"["\u009b","ö"]"#);
    }

    /// What serde_json writes by itself is for files and pages, not for standard output.
    #[test]
    fn what_is_printed_is_written_here() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut left = vec![crates.join("report/src"), crates.join("render/src"), crates.join("cli/src")];
        let mut found = Vec::new();
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("serde_json::to_")) {
                found.push(path.strip_prefix(crates).unwrap().display().to_string());
            }
        }
        found.sort();
        // This test, the data of a page, and a test.
        let allowed = ["render/src/run/tests.rs", "report/src/json.rs", "report/src/web/html.rs"];
        assert_eq!(found, allowed, "use report::json for what may be printed");
    }
}
