//! The whole result of a run as one JSON document.

use crate::kit::error::RenderError;
use crate::kit::json::Safe;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Serializer};
use std::io;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::data::Sample;

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
