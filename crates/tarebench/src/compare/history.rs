//! The gates of a store, as the history of benchmarks needs them.

use crate::documents::{DocumentError, whole};
use tarebench_core::compare::gate::Gate;
use tarebench_core::compare::history::HistoryGate;
use tarebench_core::documents::head::DocumentKind;
use tarebench_store::{DocumentFilter, Store, StoreError};

/// All gates, finished or not.
///
/// # Errors
/// Those of the store; if the content of a gate is damaged.
pub fn gates(store: &dyn Store) -> Result<Vec<HistoryGate>, DocumentError> {
    let mut gates = Vec::new();
    for summary in store.list(&DocumentFilter::of_kind(DocumentKind::Gate))? {
        let (head, gate) = match whole(store, summary.head.id(), DocumentKind::Gate, Gate::check) {
            // Removed by another process meanwhile.
            Err(DocumentError::Store(StoreError::NoSuch { .. })) => continue,
            other => other?,
        };
        gates.push(HistoryGate {
            number: head.number,
            created: head.created,
            machine: head.identity().unwrap_or(&head.machine).to_owned(),
            fingerprint: head.fingerprint().map(str::to_owned),
            gate,
        });
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{MeasureOptions, begin, end, here};
    use serde_json::json;
    use tarebench_core::documents::head::{Id, Status};
    use tarebench_store::SqliteStore;

    fn gate(head: &str) -> serde_json::Value {
        let side = |commit: &str| {
            json!({
                "folder": "/src", "commit": commit, "name": null, "committed": 1, "subject": "a change", "modified": false,
            })
        };
        let benchmark = json!({
            "name": "sort", "command": "./sort", "threshold": 0.02, "weight": 1.0, "measure": null, "budget": null,
        });
        let measured = json!({"run": null, "run_uuid": null, "basis": "duets", "measure": "pt", "no_duets": null,
            "logs": [0.01, 0.02, 0.03, 0.01, 0.02, 0.03], "control_logs": [], "times": [], "failed": null, "took": 5});
        json!({
            "plan": {"suite": "", "base": side(&"a".repeat(40)), "head": side(&head.repeat(40)),
                     "benchmarks": [benchmark],
                     "budget": null, "max_blocks": 54, "control": false, "family_error": 0.01},
            "measured": [measured],
        })
    }

    #[test]
    fn gates_come_with_their_machine() {
        let mut store = SqliteStore::in_memory().unwrap();
        let options = MeasureOptions::default();
        for head in ["b", "c"] {
            let (id, claim) = begin(&mut store, DocumentKind::Gate, "sort", &gate(head), &options).unwrap();
            end(&mut store, id, Status::Finished, &claim).unwrap();
        }
        begin(&mut store, DocumentKind::Study, "", &1, &options).unwrap();
        let found = gates(&store).unwrap();
        assert_eq!(found.iter().map(|g| g.number).collect::<Vec<_>>(), [2, 1]);
        let conditions = here();
        assert_eq!(found[0].machine, conditions.host().machine);
        assert_eq!(found[0].fingerprint.as_deref(), Some(conditions.fingerprint()));
        assert_eq!(found[0].gate.plan.head.commit, Some("c".repeat(40)));
        let (id, _) = begin(&mut store, DocumentKind::Gate, "", &json!({"plan": 1}), &options).unwrap();
        assert!(matches!(gates(&store), Err(DocumentError::Content { id: Id { number: 3, .. }, .. })), "{id}");
    }
}
