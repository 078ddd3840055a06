//! Errors of the server, by what they mean for a queue.

use crate::postgres::error::fault;
use crate::server::error::LabError;
use std::path::Path;
use tarebench_store::error::ErrorContext;

/// The error of a statement. The queue's functions raise errors with SQLSTATEs of their own, and what else belongs to them as their
/// detail; `subject` is what the statement was about.
pub(crate) fn lab_error(path: &Path, doing: &'static str, subject: &str, e: postgres::Error) -> LabError {
    let (place, named) = (path.to_owned(), subject.to_owned());
    let (code, detail, message) = match e.as_db_error() {
        Some(db) => (db.code().code(), db.detail().unwrap_or_default().to_owned(), db.message().to_owned()),
        None => Default::default(),
    };
    match code {
        "TL001" => LabError::NoSuchTask { path: place, task: named },
        "TL002" => LabError::NoSuchMachine { path: place, machine: named },
        "TL003" => LabError::NotYours { machine: named, owner: detail },
        "TL004" => LabError::Replaced { machine: named },
        "TL005" => LabError::RunsMissing { task: 0, runs: detail.split_whitespace().map(str::to_owned).collect() },
        "TL006" => LabError::TaskElsewhere { campaign: named },
        "TL007" => LabError::NoSuchCampaign { path: place, campaign: named },
        "TL008" => LabError::OpenSchema { path: place, schema: detail },
        // No such table, schema or function.
        "42P01" | "3F000" | "42883" => LabError::NotALab { path: place, cause: message },
        _ => LabError::Store(ErrorContext { path, doing, writable: true }.complete(fault(e))),
    }
}
