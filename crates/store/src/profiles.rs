//! Profiles: documents that also have a name and a version.

use crate::database::{Database, SqlValue, values};
use crate::documents;
use crate::error::{Inner, StoreError};
use crate::rows;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::profile::data::Profile;

/// Where a profile was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Number of the document.
    pub id: Id,
    /// Version within the name.
    pub version: u32,
}

/// The profiles that a query finds; its columns are name and content.
pub(crate) fn select(db: &dyn Database, sql: &str, values: &[SqlValue<'_>]) -> Inner<Vec<Profile>> {
    db.all(sql, values, |r| {
        let name: String = r.get(0)?;
        rows::parse(&r.str(1)?, || format!("the profile {name:?}"))
    })
}

/// The document of `NAME@VERSION`, or of the latest version of `NAME`.
pub(crate) fn number(db: &dyn Database, label: &str) -> Inner<Option<Id>> {
    let (name, version) = Profile::parse_label(label);
    let sql = "SELECT id FROM profile_version WHERE name = ?1 AND (?2 IS NULL OR version = ?2)
               ORDER BY version DESC LIMIT 1";
    let found = db.optional(sql, values![name, version], |r| r.get(0))?;
    Ok(found.map(|number| Id { kind: DocumentKind::Profile, number }))
}

/// The documents of all versions of a name, the earliest first.
pub(crate) fn versions(db: &dyn Database, name: &str) -> Inner<Vec<Id>> {
    let sql = "SELECT id FROM profile_version WHERE name = ?1 ORDER BY version";
    db.all(sql, values![name], |r| Ok(Id { kind: DocumentKind::Profile, number: r.get(0)? }))
}

/// Stores a profile, under the next version of its name if it has none: in the document that was started for it, or in
/// a new one.
pub(crate) fn save(
    db: &dyn Database,
    path: &Path,
    profile: &Profile,
    begun: Option<Id>,
    conditions: Option<&Conditions>,
) -> Inner<Saved> {
    let next = "SELECT coalesce(max(version), 0) + 1 FROM profile_version WHERE name = ?1";
    let version: u32 = match profile.version {
        0 => {
            db.lock(&format!("profile {}", profile.name))?;
            db.single(next, values![&profile.name], |r| r.get(0))?
        }
        given => given,
    };
    let profile = Profile { version, ..profile.clone() };
    let text = rows::exact("profile", &profile)?;
    let id = match begun {
        Some(id) => {
            if !documents::exists(db, id)? {
                return Err(documents::no_such(path, id).into());
            }
            let sql = "UPDATE document SET status = 'finished', title = ?3, doc = ?4 WHERE kind = ?1 AND id = ?2";
            db.execute(sql, values![id.kind.name(), id.number, profile.label(), &text])?;
            insert_version(db, path, id, &profile)?;
            id
        }
        None => {
            let head = head(&profile, &text, conditions);
            insert(db, path, &head, &rows::parse(&text, || profile.label())?)?
        }
    };
    Ok(Saved { id, version })
}

/// Inserts a new document; one of a profile that is finished gets its name, which must be free.
pub(crate) fn insert(db: &dyn Database, path: &Path, head: &DocumentHead, doc: &Value) -> Inner<Id> {
    if head.kind != DocumentKind::Profile || head.status != Status::Finished {
        return documents::insert(db, path, head, doc);
    }
    let bad = |e: serde_json::Error| StoreError::Unstorable { what: "profile", cause: e.to_string() };
    let profile = Profile::deserialize(doc).map_err(bad)?;
    let sql = "SELECT 1 FROM profile_version WHERE name = ?1 AND version = ?2";
    if db.exists(sql, values![&profile.name, profile.version])? {
        return Err(StoreError::DuplicateProfile { path: path.to_owned(), name: profile.label() }.into());
    }
    let id = documents::insert(db, path, head, doc)?;
    insert_version(db, path, id, &profile)?;
    Ok(id)
}

/// A profile is identified by its content only.
fn head(profile: &Profile, text: &str, conditions: Option<&Conditions>) -> DocumentHead {
    DocumentHead {
        kind: DocumentKind::Profile,
        number: 0,
        uuid: documents::content_uuid(text),
        title: profile.label(),
        created: profile.created,
        status: Status::Finished,
        tool: profile.tool.clone(),
        machine: profile.host.clone(),
        conditions: conditions.cloned().map(Box::new),
        tags: BTreeMap::new(),
    }
}

/// Names the profile of a document.
pub(crate) fn insert_version(db: &dyn Database, path: &Path, id: Id, profile: &Profile) -> Inner<()> {
    let inserted = db.execute(
        "INSERT INTO profile_version (name, version, created_ns, machine, kind, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (name, version) DO NOTHING",
        values![&profile.name, profile.version, profile.created.0, &profile.machine, id.kind.name(), id.number],
    )?;
    match inserted {
        0 => Err(StoreError::DuplicateProfile { path: path.to_owned(), name: profile.label() }.into()),
        _ => Ok(()),
    }
}
