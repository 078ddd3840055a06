//! The whole result of a run as one JSON document.

use crate::run::hints::hints_of_run;
use crate::run::{protocol, remarks};
use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
use serde_json::ser::{CompactFormatter, Serializer};
use std::cell::RefCell;
use std::io;
use tarebench_core::quiet::data::{MachineStates, QuietLevels};
use tarebench_core::run::data::Run;
use tarebench_core::run::protocol::{NoCheckOne, ProtocolReport, ProtocolStep};
use tarebench_core::run::report::data::{Comparison, RunReport, SeriesReport};
use tarebench_core::run::report::findings::Remark;
use tarebench_core::run::samples::SampleSource;
use tarebench_core::sample::data::Sample;
use tarebench_report::error::{RenderError, SamplesError};
use tarebench_report::hints::Hints;
use tarebench_report::json::Safe;

/// Name of the format of [`full`].
pub const FORMAT: &str = "tare-report";

/// Version of the format of [`full`].
pub const VERSION: u32 = 2;

#[derive(Serialize)]
struct RunJson<'a, T> {
    format: &'static str,
    version: u32,
    report: ReportJson<'a>,
    samples: T,
    duets: T,
}

/// What is listed of a run.
#[derive(Clone, Copy)]
enum SampleListKind {
    Samples,
    Duets,
}

/// A list of samples, of which one is in memory at a time.
struct SampleList<'a, S: SampleSource + ?Sized> {
    samples: &'a S,
    kind: SampleListKind,
    /// Why they could not be read.
    unread: RefCell<Option<S::Error>>,
}

impl<S: SampleSource + ?Sized> Serialize for SampleList<'_, S> {
    fn serialize<T: serde::Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let read = match self.kind {
            SampleListKind::Samples => self.samples.each(&mut |sample| {
                if written.is_ok() {
                    written = list.serialize_element(sample);
                }
            }),
            SampleListKind::Duets => self.samples.each_duet(&mut |duet| {
                if written.is_ok() {
                    written = list.serialize_element(duet);
                }
            }),
        };
        if let Err(e) = read {
            *self.unread.borrow_mut() = Some(e);
            return Err(T::Error::custom("the samples could not be read"));
        }
        written?;
        list.end()
    }
}

/// [`RunReport`] with its texts.
#[derive(Serialize)]
struct ReportJson<'a> {
    run: &'a Run,
    series: &'a [SeriesReport],
    comparisons: &'a [Comparison],
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<&'a Comparison>,
    protocol: Protocol<'a>,
    profile: Result<&'a str, Worded<'a, NoCheckOne>>,
    remarks: Vec<RemarkText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quiet_levels: Option<&'a QuietLevels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<&'a MachineStates>,
}

#[derive(Serialize)]
struct Protocol<'a> {
    steps: Vec<StepText<'a>>,
    reached: u8,
}

#[derive(Serialize)]
struct StepText<'a> {
    asks: &'static str,
    #[serde(flatten)]
    step: &'a ProtocolStep,
    text: String,
}

#[derive(Serialize)]
struct Worded<'a, T> {
    #[serde(flatten)]
    what: &'a T,
    text: String,
}

#[derive(Serialize)]
struct RemarkText<'a> {
    #[serde(flatten)]
    remark: &'a Remark,
    warning: bool,
    text: String,
}

impl<'a> ReportJson<'a> {
    fn new(report: &'a RunReport, hints: &Hints) -> ReportJson<'a> {
        let hints = &hints_of_run(hints, &report.run.plan);
        // Every field is named, so that a new field of the report cannot be forgotten here.
        let RunReport {
            run,
            series,
            comparisons,
            control,
            protocol: ProtocolReport { steps, reached },
            profile,
            remarks,
            quiet_levels,
            states,
        } = report;
        let step = |step| StepText { asks: protocol::asks(step), step, text: protocol::finding(step, hints) };
        let remark =
            |remark: &'a Remark| RemarkText { remark, warning: remark.warning(), text: remarks::text(remark, hints) };
        ReportJson {
            run,
            series,
            comparisons,
            control: control.as_ref(),
            protocol: Protocol { steps: steps.iter().map(step).collect(), reached: *reached },
            profile: match profile {
                Ok(label) => Ok(label),
                Err(why) => Err(Worded { what: why, text: protocol::no_check_one(why, hints) }),
            },
            remarks: remarks.iter().map(remark).collect(),
            quiet_levels: quiet_levels.as_ref(),
            states: states.as_ref(),
        }
    }
}

/// The report, all samples and all duets: `{"format":"tare-report","version":2,"report":…,"samples":[…],"duets":[…]}`, one line.
/// `duets` is empty for executions alone.
///
/// Remarks, the protocol's steps and the reason why check 1 was not done have their kind and figures, and their `text`.
/// Characters that would act on a terminal are written as JSON escapes, so that the document may be printed.
pub fn full(report: &RunReport, samples: &[Sample], hints: &Hints) -> Result<String, RenderError> {
    let mut out = Vec::new();
    write_full(&mut out, report, samples, hints)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// As [`full`], into a writer, a sample at a time.
///
/// # Errors
/// That of the source; [`RenderError::Json`] if the writer fails or a value cannot be written as JSON.
pub fn write_full<S: SampleSource + ?Sized>(
    mut out: impl io::Write,
    report: &RunReport,
    samples: &S,
    hints: &Hints,
) -> Result<(), SamplesError<S::Error>> {
    let list = |kind| SampleList { samples, kind, unread: RefCell::new(None) };
    let (samples, duets) = (list(SampleListKind::Samples), list(SampleListKind::Duets));
    let report = ReportJson::new(report, hints);
    let document = RunJson { format: FORMAT, version: VERSION, report, samples: &samples, duets: &duets };
    let written = document.serialize(&mut Serializer::with_formatter(&mut out, Safe(CompactFormatter)));
    if let Some(e) = samples.unread.take().or_else(|| duets.unread.take()) {
        return Err(SamplesError::Unread(e));
    }
    written.map_err(RenderError::from)?;
    out.write_all(b"\n").map_err(RenderError::from)?;
    Ok(())
}
