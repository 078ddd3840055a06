//! Lists of stored documents for other programs.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_store::DocumentSummary;

/// A stored document in a list, as JSON.
#[derive(Serialize)]
pub struct ListEntry<'a> {
    /// A number for a run, a text with the kind's letter for others.
    id: Value,
    kind: DocumentKind,
    uuid: &'a str,
    created: Nanos,
    status: Status,
    title: &'a str,
    tool: &'a str,
    parts: u64,
    /// Labels; empty for all kinds but runs.
    programs: &'a [String],
    /// Samples without warm-ups, of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<u64>,
    /// Name of the machine.
    host: &'a str,
    /// Identity of the machine, where it is known.
    machine: Option<&'a str>,
    fingerprint: Option<&'a str>,
    tags: &'a BTreeMap<String, String>,
    imported: Option<Nanos>,
}

impl ListEntry<'_> {
    /// Of what a store lists.
    pub fn new(summary: &DocumentSummary) -> ListEntry<'_> {
        let DocumentSummary { head, programs, counted, parts, imported } = summary;
        // Names all fields, so that a new field cannot be forgotten.
        let DocumentHead { kind, number: _, uuid, title, created, status, tool, machine, conditions: _, tags } = head;
        ListEntry {
            id: json_id(head.id()),
            kind: *kind,
            uuid,
            created: *created,
            status: *status,
            title,
            tool,
            parts: *parts,
            programs,
            counted: *counted,
            host: machine,
            machine: head.identity(),
            fingerprint: head.fingerprint(),
            tags,
            imported: *imported,
        }
    }
}

/// As it is written: digits alone are a number.
fn json_id(id: Id) -> Value {
    let text = id.to_string();
    text.parse::<i64>().map_or(Value::String(text), Value::from)
}
