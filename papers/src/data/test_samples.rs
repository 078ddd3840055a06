//! Series for the tests of the studies, built in code.

use crate::data::series::{StudyProgram, StudySeries, StudyWork};
use std::collections::BTreeMap;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Host;
use tarebench_core::sample::data::Sample;

/// Frequency of the cycle counter of [`sample`] and of the machine of [`head`], Hz.
pub(crate) const COUNTER_HZ: f64 = 3e9;

#[path = "../../../crates/core/src/machine/test_host.rs"]
mod test_host;
#[path = "../../../crates/core/src/sample/test_samples.rs"]
mod test_sample;

pub(crate) use test_sample::sample;

/// INC of this many seconds; without a size, a program of a stored run.
pub(crate) fn program(label: &str, size: Option<f64>) -> StudyProgram {
    let work = size.map_or(StudyWork::Stored, |seconds| StudyWork::Inc { seconds });
    StudyProgram { label: label.to_owned(), work, size }
}

/// A finished run on the machine of this name, whose conditions are known and which has no factors.
pub(crate) fn head(name: &str) -> DocumentHead {
    let host = Host { name: name.to_owned(), cycle_counter_hz: Reading::Value(COUNTER_HZ), ..test_host::host() };
    DocumentHead {
        kind: DocumentKind::Run,
        number: 1,
        uuid: "0".repeat(32),
        title: name.to_owned(),
        created: Nanos(1_763_689_000_000_000_000),
        status: Status::Finished,
        tool: "tare 0.0.0".to_owned(),
        machine: name.to_owned(),
        conditions: Some(Box::new(Conditions::new(host, Vec::new()))),
        tags: BTreeMap::new(),
    }
}

/// All these samples, as those of one program under one condition.
pub(crate) fn series<'a>(
    condition: &'a str,
    program: &'a StudyProgram,
    head: &'a DocumentHead,
    samples: &'a [Sample],
) -> StudySeries<'a> {
    StudySeries { condition, program, head, samples: samples.iter().collect() }
}
