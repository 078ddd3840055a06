//! Documents as rows, and back.

use crate::claim::Claimant;
use crate::database::{Database, RowInsert, SqlRow, SqlValue, values};
use crate::error::{Fault, Inner, StoreError};
use crate::rows;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Factor;

/// A document with its content.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    pub head: DocumentHead,
    /// The JSON form of its kind's type ([`content`]).
    pub doc: Value,
    /// Its parts, in the order in which they were added; none of a run, whose samples [`crate::Store::each_sample`] reads.
    pub parts: Vec<DocumentPart>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentPart {
    /// The JSON form of its type ([`content`]).
    pub doc: Value,
    /// Binary data; in hex digits in an archive.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex_digits")]
    pub blob: Option<Vec<u8>>,
}

mod hex_digits {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(blob: &Option<Vec<u8>>, s: S) -> Result<S::Ok, S::Error> {
        match blob {
            Some(bytes) => s.serialize_str(&hex::encode(bytes)),
            None => s.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(d)?;
        text.map(|t| hex::decode(t).map_err(|e| D::Error::custom(format!("blob: {e}")))).transpose()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Only those of this kind.
    pub kind: Option<DocumentKind>,
    /// Only those that have all of these tags, with these values.
    pub tags: BTreeMap<String, String>,
    /// At most this number, the newest ones; `None`: all.
    pub limit: Option<u32>,
}

impl DocumentFilter {
    /// All of a kind.
    pub fn of_kind(kind: DocumentKind) -> DocumentFilter {
        DocumentFilter { kind: Some(kind), ..DocumentFilter::default() }
    }
}

/// A document in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentSummary {
    #[serde(flatten)]
    pub head: DocumentHead,
    /// Labels of the programs of a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Number of counted samples of a run, without warm-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Number of its parts.
    pub parts: u64,
    /// When it was imported, since 1970; `None` if it was measured here, or imported by an earlier version.
    #[serde(default)]
    pub imported: Option<Nanos>,
}

/// The content of a document or of a part, to be stored.
///
/// # Errors
/// [`StoreError::Unstorable`] if it could not be read back unchanged, as with figures that are not finite.
pub fn content<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<Value, StoreError> {
    let text = rows::exact("document", value)?;
    serde_json::from_str(&text).map_err(|e| StoreError::Unstorable { what: "document", cause: e.to_string() })
}

/// The uuid of a document that is identified by its content only.
pub(crate) fn content_uuid(text: &str) -> String {
    format!("{:032x}", tarebench_core::base::hash::fnv128(text.as_bytes()))
}

pub(crate) fn no_such(path: &Path, id: Id) -> StoreError {
    StoreError::NoSuch { path: path.to_owned(), what: format!("{} {id}", id.kind.noun()) }
}

/// What a transaction locks that changes a document by what it has read of it.
pub(crate) fn lock_of(id: Id) -> String {
    format!("document {id}")
}

/// Whether there is such a document.
pub(crate) fn exists(db: &dyn Database, id: Id) -> Inner<bool> {
    db.exists("SELECT 1 FROM document WHERE kind = ?1 AND id = ?2", values![id.kind.name(), id.number])
}

/// Inserts a new document, under the next number of its kind.
pub(crate) fn insert(db: &dyn Database, path: &Path, head: &DocumentHead, doc: &Value) -> Inner<Id> {
    // Names all fields, so that a new field cannot be forgotten.
    let DocumentHead { kind, number: _, uuid, title, created, status, tool, machine, conditions, tags } = head;
    if *kind == DocumentKind::Run {
        let cause = "it is a run, which has another format".to_owned();
        return Err(StoreError::Unstorable { what: "document", cause }.into());
    }
    if !rows::is_uuid(uuid) {
        let cause = format!("its uuid is {uuid:?}, expected 32 hex digits in lower case");
        return Err(StoreError::Unstorable { what: "document", cause }.into());
    }
    // Two that store the same document at once must not both find that it is missing.
    db.lock(&format!("uuid {uuid}"))?;
    if let Some(id) = of_uuid(db, uuid)? {
        return Err(StoreError::Duplicate { path: path.to_owned(), uuid: uuid.clone(), id }.into());
    }
    let number: i64 = db.single(
        "INSERT INTO document_number (kind, last) VALUES (?1, 1)
         ON CONFLICT (kind) DO UPDATE SET last = document_number.last + 1 RETURNING last",
        values![kind.name()],
        |r| r.get(0),
    )?;
    let host = conditions.as_ref().map(|c| rows::host_number(db, c.host())).transpose()?;
    let factors = conditions.as_ref().map(|c| rows::document("factors", &c.factors())).transpose()?;
    db.execute(
        "INSERT INTO document (kind, id, uuid, created_ns, status, tool, machine, title, doc, host_id, factors)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        values![
            kind.name(),
            number,
            uuid,
            created.0,
            rows::status_text(*status),
            tool,
            machine,
            title,
            rows::document("document", doc)?,
            host,
            factors,
        ],
    )?;
    const TAGS: RowInsert = RowInsert { table: "document_tag", columns: &["kind", "id", "key", "value"], key: &[] };
    let tag = |(key, value)| [SqlValue::from(kind.name()), number.into(), SqlValue::from(key), SqlValue::from(value)];
    let tags: Vec<SqlValue> = tags.iter().flat_map(tag).collect();
    db.insert(&TAGS, &tags)?;
    Ok(Id { kind: *kind, number })
}

/// The document that has this uuid.
pub(crate) fn of_uuid(db: &dyn Database, uuid: &str) -> Inner<Option<Id>> {
    db.optional("SELECT kind, id FROM document WHERE uuid = ?1", values![uuid], |r| {
        Ok(Id { kind: read_kind(&r.str(0)?)?, number: r.get(1)? })
    })
}

/// Adds a part; returns its position, from 0.
pub(crate) fn insert_part(db: &dyn Database, id: Id, part: &DocumentPart) -> Inner<u64> {
    db.lock(&lock_of(id))?;
    let seq: i64 = db.single(
        "INSERT INTO document_part (kind, id, seq, doc, blob)
         SELECT ?1, ?2, coalesce(max(seq), -1) + 1, ?3, ?4 FROM document_part WHERE kind = ?1 AND id = ?2
         RETURNING seq",
        values![id.kind.name(), id.number, rows::document("document", &part.doc)?, &part.blob],
        |r| r.get(0),
    )?;
    Ok(seq.unsigned_abs())
}

/// Changes a document's status, and its content if one is given; returns the number of changed documents.
pub(crate) fn update(db: &dyn Database, id: Id, status: Status, doc: Option<&Value>) -> Inner<u64> {
    if id.kind == DocumentKind::Profile && status == Status::Finished {
        let cause = "a profile can only be finished by storing its result".to_owned();
        return Err(StoreError::Unstorable { what: "profile", cause }.into());
    }
    let doc = doc.map(|d| rows::document("document", d)).transpose()?;
    db.execute(
        "UPDATE document SET status = ?3, doc = coalesce(?4, doc) WHERE kind = ?1 AND id = ?2",
        values![id.kind.name(), id.number, rows::status_text(status), doc],
    )
}

fn read_kind(name: &str) -> Inner<DocumentKind> {
    let bad = || Fault::Bad { what: "a document's kind".to_owned(), cause: format!("it is {name:?}") };
    DocumentKind::named(name).ok_or_else(bad)
}

/// The columns of a head.
const COLUMNS: &str = "kind, id, uuid, title, created_ns, status, tool, machine,
    (SELECT host.doc FROM host WHERE host.id = host_id), factors";

/// From [`COLUMNS`], which come first; without its tags.
fn head(r: &dyn SqlRow) -> Inner<DocumentHead> {
    let id = Id { kind: read_kind(&r.str(0)?)?, number: r.get(1)? };
    let place = |what: &str| format!("the {what} of {id}");
    let host = r.text(8)?.map(|text| rows::parse(&text, || place("machine"))).transpose()?;
    let factors: Option<Vec<Factor>> = r.text(9)?.map(|text| rows::parse(&text, || place("factors"))).transpose()?;
    Ok(DocumentHead {
        kind: id.kind,
        number: id.number,
        uuid: r.get(2)?,
        title: r.get(3)?,
        created: Nanos(r.get(4)?),
        status: rows::status(&r.str(5)?)?,
        tool: r.get(6)?,
        machine: r.get(7)?,
        conditions: host.map(|host| Box::new(Conditions::new(host, factors.unwrap_or_default()))),
        tags: BTreeMap::new(),
    })
}

/// The head of a document.
pub(crate) fn head_of(db: &dyn Database, id: Id) -> Inner<Option<DocumentHead>> {
    let key = values![id.kind.name(), id.number];
    let sql = format!("SELECT {COLUMNS} FROM document WHERE kind = ?1 AND id = ?2");
    let Some(found) = db.optional(&sql, key, head)? else { return Ok(None) };
    Ok(Some(DocumentHead { tags: tags(db, id)?, ..found }))
}

fn tags(db: &dyn Database, id: Id) -> Inner<BTreeMap<String, String>> {
    let sql = "SELECT key, value FROM document_tag WHERE kind = ?1 AND id = ?2";
    Ok(db.all(sql, values![id.kind.name(), id.number], |r| Ok((r.get(0)?, r.get(1)?)))?.into_iter().collect())
}

/// A document with its parts.
pub(crate) fn select(db: &dyn Database, id: Id) -> Inner<Option<StoredDocument>> {
    let key = values![id.kind.name(), id.number];
    let sql = format!("SELECT {COLUMNS}, doc FROM document WHERE kind = ?1 AND id = ?2");
    let found = db.optional(&sql, key, |r| Ok((head(r)?, rows::parse(&r.str(10)?, || id.to_string())?)))?;
    let Some((head, doc)) = found else { return Ok(None) };
    Ok(Some(StoredDocument { head: DocumentHead { tags: tags(db, id)?, ..head }, doc, parts: parts(db, id)? }))
}

fn parts(db: &dyn Database, id: Id) -> Inner<Vec<DocumentPart>> {
    let sql = "SELECT seq, doc, blob FROM document_part WHERE kind = ?1 AND id = ?2 ORDER BY seq";
    db.all(sql, values![id.kind.name(), id.number], |r| {
        let seq: i64 = r.get(0)?;
        let doc = rows::parse(&r.str(1)?, || format!("part {seq} of {id}"))?;
        Ok(DocumentPart { doc, blob: r.maybe(2)? })
    })
}

/// The documents that fit the filter, the last one started first.
pub(crate) fn summaries(db: &dyn Database, filter: &DocumentFilter) -> Inner<Vec<DocumentSummary>> {
    let kind = filter.kind.map(DocumentKind::name);
    let mut fits = String::from("(?1 IS NULL OR kind = ?1)");
    let mut given = vec![SqlValue::from(kind)];
    for (key, value) in &filter.tags {
        let n = given.len();
        fits.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM document_tag AS t WHERE t.kind = document.kind AND t.id = document.id
                          AND t.key = ?{} AND t.value = ?{})",
            n + 1,
            n + 2
        ));
        given.extend([SqlValue::from(key), SqlValue::from(value)]);
    }
    let mut last = String::from("ORDER BY created_ns DESC, kind, id DESC");
    if let Some(limit) = filter.limit {
        last.push_str(&format!(" LIMIT {limit}"));
    }
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT count(*) FROM document_part AS p WHERE p.kind = document.kind AND p.id = document.id),
                imported_ns
         FROM document WHERE {fits} {last}"
    );
    let mut found = db.all(&sql, &given, |r| {
        let (parts, imported): (i64, Option<i64>) = (r.get(10)?, r.maybe(11)?);
        let (head, parts, imported) = (head(r)?, parts.unsigned_abs(), imported.map(Nanos));
        Ok(DocumentSummary { head, programs: Vec::new(), counted: None, parts, imported })
    })?;
    // Of all of them at once, as each statement may travel over a network.
    let sql = format!(
        "SELECT kind, id, key, value FROM document_tag
         WHERE (kind, id) IN (SELECT kind, id FROM document WHERE {fits} {last})"
    );
    let mut tags: BTreeMap<(String, i64), BTreeMap<String, String>> = BTreeMap::new();
    db.all(&sql, &given, |r| {
        tags.entry((r.get(0)?, r.get(1)?)).or_default().insert(r.get(2)?, r.get(3)?);
        Ok(())
    })?;
    for summary in &mut found {
        let key = (summary.head.kind.name().to_owned(), summary.head.number);
        summary.head.tags = tags.remove(&key).unwrap_or_default();
    }
    Ok(found)
}

/// When a document was imported; the outer `None`: there is no such document.
pub(crate) fn imported(db: &dyn Database, id: Id) -> Inner<Option<Option<Nanos>>> {
    let sql = "SELECT imported_ns FROM document WHERE kind = ?1 AND id = ?2";
    db.optional(sql, values![id.kind.name(), id.number], |r| Ok(r.maybe::<i64>(0)?.map(Nanos)))
}

/// Marks a document as imported.
pub(crate) fn mark_imported(db: &dyn Database, id: Id, at: Nanos) -> Inner<()> {
    let sql = "UPDATE document SET imported_ns = ?3 WHERE kind = ?1 AND id = ?2";
    db.execute(sql, values![id.kind.name(), id.number, at.0])?;
    Ok(())
}

/// Removes a document, its parts and its claim.
pub(crate) fn delete(db: &dyn Database, id: Id) -> Inner<()> {
    db.execute("DELETE FROM document WHERE kind = ?1 AND id = ?2", values![id.kind.name(), id.number])?;
    Ok(())
}

pub(crate) fn select_claimant(db: &dyn Database, id: Id) -> Inner<Option<Claimant>> {
    let sql = "SELECT pid, start_ns, boot, host FROM document_claim WHERE kind = ?1 AND id = ?2";
    db.optional(sql, values![id.kind.name(), id.number], |r| {
        Ok(Claimant { pid: r.get(0)?, start: Nanos(r.get(1)?), boot: r.get(2)?, host: r.get(3)? })
    })
}

pub(crate) fn insert_claim(db: &dyn Database, id: Id, by: &Claimant) -> Inner<()> {
    db.execute(
        "INSERT INTO document_claim (kind, id, pid, start_ns, boot, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (kind, id) DO UPDATE SET pid = excluded.pid, start_ns = excluded.start_ns,
                                              boot = excluded.boot, host = excluded.host",
        values![id.kind.name(), id.number, by.pid, by.start.0, &by.boot, &by.host],
    )?;
    Ok(())
}

pub(crate) fn delete_claim(db: &dyn Database, id: Id, by: &Claimant) -> Inner<()> {
    db.execute(
        "DELETE FROM document_claim
         WHERE kind = ?1 AND id = ?2 AND pid = ?3 AND start_ns = ?4 AND boot = ?5 AND host = ?6",
        values![id.kind.name(), id.number, by.pid, by.start.0, &by.boot, &by.host],
    )?;
    Ok(())
}
