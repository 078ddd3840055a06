//! JSON whose text may be printed on a terminal.

use crate::kit::error::RenderError;
use crate::kit::text::hidden;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// Any value, indented by two spaces, without a final newline; characters that would act on a terminal are escaped.
///
/// # Errors
/// [`RenderError::Json`] if it cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> Result<String, RenderError> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Safe(PrettyFormatter::new())))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Escapes what acts on a terminal; serde_json leaves DEL, C1 and bidirectional controls as they are.
pub(crate) struct Safe<F>(pub(crate) F);

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
