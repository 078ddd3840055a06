//! The schema on a server and its versions. A version that was released is never changed; a later one is added after it.

use crate::postgres::error::fault;
use postgres::{Client, Transaction};
use tarebench_store::error::{ErrorContext, Fault, Inner, StoreError};

/// The latest version: the number of migrations.
pub(crate) const KNOWN: i64 = 1;

/// The statements that lead from each version to the next.
const MIGRATIONS: [&str; KNOWN as usize] = [V1];

/// Locked while a schema is created or brought up to date: "tare" in ASCII.
const LOCK: i64 = 0x7461_7265;

/// What the database has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ServerSchema {
    /// Nothing of tare's.
    Missing,
    Version(i64),
}

/// The version of the schema in the search path.
pub(crate) fn found(transaction: &mut Transaction<'_>) -> Inner<ServerSchema> {
    // Not `to_regclass`, which may answer from what this connection has read before.
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
                              WHERE relname = 'tare_schema_version' AND pg_catalog.pg_table_is_visible(oid))";
    let row = transaction.query_one(sql, &[]).map_err(fault)?;
    if !row.try_get::<_, bool>(0).map_err(fault)? {
        return Ok(ServerSchema::Missing);
    }
    let row = transaction.query_opt("SELECT version FROM tare_schema_version", &[]).map_err(fault)?;
    let version = row.map(|row| row.try_get(0)).transpose().map_err(fault)?;
    version.map(ServerSchema::Version).ok_or_else(|| Fault::Row("tare_schema_version is empty".to_owned()))
}

/// Refuses a schema that this tare does not know.
pub(crate) fn accept(version: i64, at: ErrorContext<'_>) -> Inner<()> {
    let path = at.path.to_owned();
    match version {
        _ if version > KNOWN => Err(StoreError::Newer { path, found: version, known: KNOWN }.into()),
        _ if version < KNOWN => {
            let cause = "it was opened for reading only".to_owned();
            Err(StoreError::Older { path, found: version, known: KNOWN, cause }.into())
        }
        _ => Ok(()),
    }
}

/// Creates the schema, or brings it up to date.
pub(crate) fn bring_up_to_date(client: &mut Client, at: ErrorContext<'_>) -> Inner<()> {
    if found(&mut client.transaction().map_err(fault)?)? == ServerSchema::Version(KNOWN) {
        return Ok(());
    }
    // Only one process at a time; what another one has done meanwhile is looked at after that, in a transaction that begins with it.
    let mut transaction = client.transaction().map_err(fault)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).map_err(fault)?;
    let version = match found(&mut transaction)? {
        ServerSchema::Missing => {
            check_empty(&mut transaction, at)?;
            0
        }
        ServerSchema::Version(version) => version,
    };
    if version > KNOWN {
        return accept(version, at);
    }
    for (number, statements) in (1_i64..).zip(MIGRATIONS) {
        if number > version {
            transaction.batch_execute(statements).map_err(fault)?;
        }
    }
    transaction.execute("UPDATE tare_schema_version SET version = $1", &[&KNOWN]).map_err(fault)?;
    transaction.commit().map_err(fault)
}

/// Refuses a database that has tables of another program under the same names, or that cannot hold all texts.
fn check_empty(transaction: &mut Transaction<'_>, at: ErrorContext<'_>) -> Inner<()> {
    let no = |cause: String| Err(StoreError::NotADatabase { path: at.path.to_owned(), cause }.into());
    let row = transaction
        .query_one(
            "SELECT current_schema()::text, current_setting('server_encoding'),
                (SELECT min(name) FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL)",
            &[&TABLES.as_slice()],
        )
        .map_err(fault)?;
    let read = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    let (schema, encoding, table): (Option<String>, String, Option<String>) = read().map_err(fault)?;
    match (schema, encoding.as_str(), table) {
        (None, ..) => no("its search_path names no schema that exists".to_owned()),
        (_, "UTF8", None) => Ok(()),
        (_, "UTF8", Some(table)) => {
            no(format!("it has a table {table} of another program; create an own database for tare"))
        }
        _ => no(format!("its encoding is {encoding}, expected UTF8")),
    }
}

/// All tables and views.
const TABLES: [&str; 19] = [
    "claim",
    "daemon",
    "document",
    "document_claim",
    "document_number",
    "document_part",
    "document_tag",
    "duet",
    "host",
    "level_history",
    "profile",
    "profile_version",
    "quiet_coefficients",
    "recording",
    "run",
    "run_counted",
    "run_note",
    "sample",
    "tag",
];

/// The tables of SQLite's version 8, where they and their columns are described. Texts are compared by their bytes, as there
/// (`COLLATE "C"`), and kept as they are: JSON, too, as JSONB would change numbers. `owner` and `owner_machine` say who stored
/// something, from which machine; the second is what the client says (`tare.machine`). A description of a machine may be longer than
/// an index entry, so that it is unique by an exclusion of equal ones with a hash index, which compares the texts themselves. `run_counted`
/// has the number of counted samples, because counting ten million rows for a list would take seconds; a trigger keeps it, with the
/// rights of its owner, so that those who insert samples need none on it.
const V1: &str = r#"
CREATE TABLE tare_schema_version (version BIGINT NOT NULL);
CREATE UNIQUE INDEX tare_schema_version_single ON tare_schema_version ((true));
INSERT INTO tare_schema_version (version) VALUES (1);

CREATE TABLE host (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    CONSTRAINT host_doc EXCLUDE USING hash (doc WITH =)
);
CREATE INDEX host_machine ON host (machine);

CREATE TABLE run (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    uuid TEXT COLLATE "C" NOT NULL UNIQUE,
    created_ns BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('unfinished', 'interrupted', 'finished')),
    tool TEXT COLLATE "C" NOT NULL,
    host_id BIGINT NOT NULL REFERENCES host (id),
    plan TEXT COLLATE "C" NOT NULL,
    rest TEXT COLLATE "C" NOT NULL,
    imported_ns BIGINT,
    owner TEXT COLLATE "C" NOT NULL DEFAULT session_user,
    owner_machine TEXT COLLATE "C" DEFAULT nullif(current_setting('tare.machine', true), '')
);
CREATE INDEX run_host ON run (host_id);

CREATE TABLE run_note (
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE tag (
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX tag_value ON tag USING hash (value);

CREATE TABLE claim (
    run_id BIGINT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    pid BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    boot TEXT COLLATE "C" NOT NULL,
    host TEXT COLLATE "C" NOT NULL
);

CREATE TABLE sample (
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    series BIGINT NOT NULL,
    phase TEXT COLLATE "C" NOT NULL CHECK (phase IN ('warmup', 'counted')),
    idx BIGINT NOT NULL,
    elapsed_ns BIGINT NOT NULL,
    pt_ns BIGINT,
    outcome TEXT COLLATE "C" NOT NULL,
    daemons BIGINT,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE run_counted (
    run_id BIGINT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    counted BIGINT NOT NULL
);

CREATE TABLE daemon (
    run_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    pid BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('user', 'kernel', 'tare', 'partner')),
    cpu_ns BIGINT NOT NULL,
    tick_bound BOOLEAN NOT NULL,
    interval_counted_ns BIGINT,
    born BOOLEAN NOT NULL,
    died BOOLEAN NOT NULL,
    PRIMARY KEY (run_id, seq, ordinal),
    FOREIGN KEY (run_id, seq) REFERENCES sample (run_id, seq) ON DELETE CASCADE
);

CREATE TABLE duet (
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    series BIGINT NOT NULL,
    reference BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    pt_ns BIGINT,
    reference_pt_ns BIGINT,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE recording (
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE document_number (
    kind TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE document (
    kind TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL CHECK (id > 0),
    uuid TEXT COLLATE "C" NOT NULL UNIQUE,
    created_ns BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('unfinished', 'interrupted', 'finished')),
    tool TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    host_id BIGINT REFERENCES host (id),
    factors TEXT COLLATE "C",
    imported_ns BIGINT,
    owner TEXT COLLATE "C" NOT NULL DEFAULT session_user,
    owner_machine TEXT COLLATE "C" DEFAULT nullif(current_setting('tare.machine', true), ''),
    PRIMARY KEY (kind, id)
);
CREATE INDEX document_host ON document (host_id);
CREATE INDEX document_created ON document (created_ns);

CREATE TABLE document_part (
    kind TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    blob BYTEA,
    PRIMARY KEY (kind, id, seq),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
);

CREATE TABLE document_claim (
    kind TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    pid BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    boot TEXT COLLATE "C" NOT NULL,
    host TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, id),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
);

CREATE TABLE document_tag (
    kind TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, id, key),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
);
CREATE INDEX document_tag_value ON document_tag USING hash (value);

CREATE TABLE profile_version (
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    created_ns BIGINT NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind = 'profile'),
    id BIGINT NOT NULL,
    PRIMARY KEY (name, version),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
);
CREATE INDEX profile_version_machine ON profile_version (machine, created_ns);
CREATE INDEX profile_version_document ON profile_version (kind, id);

CREATE VIEW profile AS
    SELECT v.name, v.version, v.created_ns, v.machine, d.doc, v.id
    FROM profile_version AS v JOIN document AS d ON d.kind = v.kind AND d.id = v.id;

CREATE TABLE level_history (
    machine TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    added BIGINT NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, fingerprint, revision)
);

CREATE TABLE quiet_coefficients (
    machine TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    program TEXT COLLATE "C" NOT NULL,
    run_uuid TEXT COLLATE "C" NOT NULL,
    added BIGINT NOT NULL,
    doc TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, fingerprint, revision, program, run_uuid)
);

CREATE FUNCTION tare_count_samples() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO run_counted AS c (run_id, counted)
        SELECT run_id, count(*) FROM added WHERE phase = 'counted' GROUP BY run_id ORDER BY run_id
        ON CONFLICT (run_id) DO UPDATE SET counted = c.counted + excluded.counted;
    RETURN NULL;
END
$$;
DO $$
BEGIN
    -- What it names must be found in this schema, whatever the search path of a caller is.
    EXECUTE format('ALTER FUNCTION tare_count_samples() SET search_path = %I, pg_temp', current_schema());
END
$$;
CREATE TRIGGER tare_count_samples AFTER INSERT ON sample REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION tare_count_samples();
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_known_by_name() {
        let made: Vec<&str> = V1
            .lines()
            .filter_map(|line| line.strip_prefix("CREATE TABLE ").or_else(|| line.strip_prefix("CREATE VIEW ")))
            .filter_map(|rest| rest.split_whitespace().next())
            .filter(|name| *name != "tare_schema_version")
            .collect();
        let mut sorted = made.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, TABLES);
    }
}
