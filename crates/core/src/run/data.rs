//! A run: what was asked for, on which machine, in which state.

use crate::base::units::Nanos;
use crate::documents::head::{DocumentHead, DocumentKind, Status};
use crate::machine::conditions::Conditions;
use crate::machine::data::Factor;
use crate::machine::data::Host;
use crate::run::notes;
use crate::run::notes::Note;
use crate::run::plan::RunPlan;
use crate::sample::process_time::PtSource;
use serde::{Deserialize, Serialize};

/// A run, without its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number in its store; 0 if it was not stored.
    pub id: i64,
    /// Identity across stores, 32 hex digits.
    pub uuid: String,
    /// When it began, since 1970.
    pub created: Nanos,
    pub tool: String,
    pub plan: RunPlan,
    pub host: Host,
    /// Where process times come from.
    pub pt_source: PtSource,
    /// Why better sources were not used, best first.
    pub pt_source_notes: Vec<String>,
    /// State of the machine before the first sample.
    pub factors: Vec<Factor>,
    pub status: Status,
    /// What happened to it beside its samples, in its order.
    #[serde(deserialize_with = "notes::read")]
    pub notes: Vec<Note>,
}

impl Run {
    /// The title of a run of programs with these labels, or of a recording, which has none.
    pub fn title<'a>(labels: impl Iterator<Item = &'a str>) -> String {
        let labels: Vec<&str> = labels.collect();
        if labels.is_empty() { "recording of daemons".to_owned() } else { labels.join(" · ") }
    }

    /// The head that every stored result has. Its title names its programs.
    pub fn head(&self) -> DocumentHead {
        DocumentHead {
            kind: DocumentKind::Run,
            number: self.id,
            uuid: self.uuid.clone(),
            title: Run::title(self.plan.programs.iter().map(|p| p.label.as_str())),
            created: self.created,
            status: self.status,
            tool: self.tool.clone(),
            machine: self.host.name.clone(),
            conditions: Some(Box::new(Conditions::new(self.host.clone(), self.factors.clone()))),
            tags: self.plan.tags.clone(),
        }
    }
}
