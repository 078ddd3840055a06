//! The whole result as one JSON document.

use crate::RenderError;
use crate::text::hidden;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io;
use tare_core::report::RunReport;
use tare_core::sample::Sample;

/// Name of the format of [`full`].
pub const FORMAT: &str = "tare-report";

/// Version of the format of [`full`].
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    report: &'a RunReport,
    samples: &'a [Sample],
}

/// The report and all samples: `{"format":"tare-report","version":1,"report":…,"samples":[…]}`, one line.
///
/// Characters that would act on a terminal are written as JSON escapes, so that the document may be printed.
///
/// # Errors
/// [`RenderError::Json`] if a value cannot be written as JSON.
pub fn full(report: &RunReport, samples: &[Sample]) -> Result<String, RenderError> {
    let mut out = Vec::new();
    write_full(&mut out, report, samples)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// As [`full`], into a writer.
///
/// # Errors
/// [`RenderError::Json`] if the writer fails or a value cannot be written as JSON.
pub fn write_full(mut out: impl io::Write, report: &RunReport, samples: &[Sample]) -> Result<(), RenderError> {
    let document = Document { format: FORMAT, version: VERSION, report, samples };
    document.serialize(&mut Serializer::with_formatter(&mut out, Safe(CompactFormatter)))?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Any value, indented by two spaces, without a newline at its end; escaped as [`full`] is.
///
/// # Errors
/// [`RenderError::Json`] if it cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> Result<String, RenderError> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Safe(PrettyFormatter::new())))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Escapes what acts on a terminal; serde_json leaves DEL, C1 and bidirectional controls as they are.
struct Safe<F>(F);

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
