//! The schema and its migrations. A migration that was released is never changed; a later one is added after it.

use crate::error::Fault;
use crate::rows;
use crate::sqlite_database::SqliteDatabase;
use rusqlite::Transaction;
use rusqlite_migration::{HookError, HookResult, M, Migrations};

/// Marks a SQLite file as tare's (`PRAGMA application_id`): "tare" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x7461_7265;

/// The latest schema version: the number of migrations.
pub(crate) const KNOWN: i64 = 8;

pub(crate) fn migrations() -> Migrations<'static> {
    let typed = |tx: &Transaction| -> HookResult {
        rows::convert_notes(&SqliteDatabase(tx)).map_err(|fault| match fault {
            Fault::Sql(e) => HookError::RusqliteError(e),
            Fault::Bad { what, cause } => HookError::Hook(format!("{what}: {cause}")),
            Fault::Row(cause) | Fault::Server(_, cause) => HookError::Hook(cause),
            Fault::Store(e) => HookError::Hook(e.to_string()),
        })?;
        Ok(tx.execute_batch("DROP TABLE note")?)
    };
    let v4 = M::up_with_hook(V4, typed);
    Migrations::new(vec![M::up(V1), M::up(V2), M::up(V3), v4, M::up(V5), M::up(V6), M::up(V7), M::up(V8)])
}

/// Times are nanoseconds. A `doc` is the JSON form of the type that it is named after in tarebench-core; columns beside it
/// repeat values for queries; if they differ from `doc`, `doc` is right. Daemons are the exception: their
/// list is in `daemon` only, and `sample.daemons` is its length, NULL where the reading is absent.
/// Names are in their escaped text form.
const V1: &str = r#"
PRAGMA application_id = 0x74617265;

CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    machine TEXT NOT NULL,
    doc TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    created_ns INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('unfinished', 'interrupted', 'finished')),
    tool TEXT NOT NULL,
    host_id INTEGER NOT NULL REFERENCES host (id),
    plan TEXT NOT NULL,
    rest TEXT NOT NULL
) STRICT;
CREATE INDEX run_host ON run (host_id);

CREATE TABLE note (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_value ON tag (key, value);

CREATE TABLE claim (
    run_id INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    pid INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    boot TEXT NOT NULL,
    host TEXT NOT NULL
) STRICT;

CREATE TABLE sample (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    series INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('warmup', 'counted')),
    idx INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    pt_ns INTEGER,
    outcome TEXT NOT NULL,
    daemons INTEGER,
    doc TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
CREATE INDEX sample_phase ON sample (run_id, phase);

CREATE TABLE daemon (
    run_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'kernel', 'tare')),
    cpu_ns INTEGER NOT NULL,
    tick_bound INTEGER NOT NULL,
    interval_counted_ns INTEGER,
    born INTEGER NOT NULL,
    died INTEGER NOT NULL,
    PRIMARY KEY (run_id, seq, ordinal),
    FOREIGN KEY (run_id, seq) REFERENCES sample (run_id, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE profile (
    name TEXT PRIMARY KEY,
    created_ns INTEGER NOT NULL,
    machine TEXT NOT NULL,
    doc TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX profile_machine ON profile (machine, created_ns);
"#;

/// Profiles got versions and samples; no released command wrote V1's profiles, so none are migrated.
const V2: &str = r#"
DROP TABLE profile;
CREATE TABLE profile (
    name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    created_ns INTEGER NOT NULL,
    machine TEXT NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;
CREATE INDEX profile_machine ON profile (machine, created_ns);

CREATE TABLE recording (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
"#;

/// Documents ([`tarebench_core::documents::head`]), numbered within their kind; `document_number` has the last number that was given,
/// so that none is given twice. A part's `blob` is its binary data, or NULL. The kind is not checked here, because a
/// check could not be changed later; a new kind still needs a new schema version.
const V3: &str = r#"
CREATE TABLE document_number (
    kind TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE document (
    kind TEXT NOT NULL,
    id INTEGER NOT NULL CHECK (id > 0),
    uuid TEXT NOT NULL UNIQUE,
    created_ns INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('unfinished', 'interrupted', 'finished')),
    tool TEXT NOT NULL,
    machine TEXT NOT NULL,
    title TEXT NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

CREATE TABLE document_part (
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    doc TEXT NOT NULL,
    blob BLOB,
    PRIMARY KEY (kind, id, seq),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE document_claim (
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    boot TEXT NOT NULL,
    host TEXT NOT NULL,
    PRIMARY KEY (kind, id),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
"#;

/// Documents have the machine's description, its factors and tags, as runs have, and profiles are documents: `profile_version`
/// numbers them within their names, and the view `profile` has the columns that the table had. A profile that was there gets the
/// conditions of the first run that it rests on, if that is still stored. Notes of runs are typed ([`tarebench_core::run::notes`])
/// and in their order; what the table `note` has is converted after this.
const V4: &str = r#"
ALTER TABLE document ADD COLUMN host_id INTEGER REFERENCES host (id);
ALTER TABLE document ADD COLUMN factors TEXT;
CREATE INDEX document_host ON document (host_id);

CREATE TABLE run_note (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE document_tag (
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, id, key),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX document_tag_value ON document_tag (key, value);

CREATE TABLE profile_version (
    name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    created_ns INTEGER NOT NULL,
    machine TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'profile'),
    id INTEGER NOT NULL,
    PRIMARY KEY (name, version),
    FOREIGN KEY (kind, id) REFERENCES document (kind, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX profile_version_machine ON profile_version (machine, created_ns);
CREATE INDEX profile_version_document ON profile_version (kind, id);

CREATE TEMP TABLE numbered AS
    SELECT *, row_number() OVER (ORDER BY created_ns, name, version) AS id,
           CASE WHEN json_valid(doc) THEN doc ELSE '{}' END AS readable
    FROM profile;
INSERT INTO document (kind, id, uuid, created_ns, status, tool, machine, title, doc)
    SELECT 'profile', id, lower(hex(randomblob(16))), created_ns, 'finished', coalesce(readable ->> '$.tool', ''),
           coalesce(readable ->> '$.host', ''), name || '@' || version, doc
    FROM numbered;
UPDATE document SET (host_id, factors) = (
        SELECT run.host_id, run.rest -> '$.factors' FROM numbered JOIN run ON run.uuid = readable ->> '$.short.runs[0]'
        WHERE numbered.id = document.id AND json_valid(run.rest))
    WHERE kind = 'profile';
INSERT INTO profile_version (name, version, created_ns, machine, kind, id)
    SELECT name, version, created_ns, machine, 'profile', id FROM numbered;
INSERT INTO document_number (kind, last) SELECT 'profile', count(*) FROM numbered;
DROP TABLE numbered;
DROP TABLE profile;
CREATE VIEW profile AS
    SELECT v.name, v.version, v.created_ns, v.machine, d.doc, v.id
    FROM profile_version AS v JOIN document AS d ON d.kind = v.kind AND d.id = v.id;
"#;

/// When a run or document was imported; NULL for what was measured here, and for what an earlier version imported.
const V5: &str = "
ALTER TABLE run ADD COLUMN imported_ns INTEGER;
ALTER TABLE document ADD COLUMN imported_ns INTEGER;
";

/// Executions of two programs together; `seq` is counted together with that of samples. Process times are NULL where they are
/// absent.
const V6: &str = "
CREATE TABLE duet (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    series INTEGER NOT NULL,
    reference INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    pt_ns INTEGER,
    reference_pt_ns INTEGER,
    doc TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
";

/// Comparisons and gates may be stored, which an earlier tare could not list, and duets that say nothing
/// ([`tarebench_core::compare::duet::Duet::void`]), which it would take for results; no table changes.
const V7: &str = "";

/// What was learned of machines by probes: not of one run, so that it stays when runs are removed. `fingerprint` is that of the
/// conditions ([`tarebench_core::machine::conditions::fingerprint`]); `run_uuid` is that of the run whose samples were fitted,
/// whether it is stored or not. `added` orders the rows of a table by when they were last written: a count, as clocks are set.
const V8: &str = "
CREATE TABLE level_history (
    machine TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    revision INTEGER NOT NULL,
    added INTEGER NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (machine, fingerprint, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE quiet_coefficients (
    machine TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    revision INTEGER NOT NULL,
    program TEXT NOT NULL,
    run_uuid TEXT NOT NULL,
    added INTEGER NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (machine, fingerprint, revision, program, run_uuid)
) STRICT, WITHOUT ROWID;
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_valid() {
        migrations().validate().unwrap();
        assert!(V1.contains(&format!("{APPLICATION_ID:#x}")));
    }

    /// From each released version, with its content.
    #[test]
    fn earlier_stores_keep_what_they_hold() {
        for from in [1, 2] {
            let mut conn = rusqlite::Connection::open_in_memory().unwrap();
            migrations().to_version(&mut conn, from).unwrap();
            conn.execute_batch(
                "INSERT INTO host VALUES (1, 'box', 'm', '{}');
                 INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest)
                 VALUES ('u', 1, 'finished', '0.1.0', 1, '{}', '{}');
                 INSERT INTO sample VALUES (1, 0, 0, 'counted', 0, 5, NULL, '{}', NULL, '{}')",
            )
            .unwrap();
            let tables = |conn: &rusqlite::Connection| -> i64 {
                let sql = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'document%' AND type = 'table'";
                conn.query_row(sql, [], |r| r.get(0)).unwrap()
            };
            assert_eq!(tables(&conn), 0);
            migrations().to_latest(&mut conn).unwrap();
            assert_eq!(tables(&conn), 5);
            let version: i64 = conn.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
            assert_eq!(version, KNOWN);
            let samples: i64 = conn.query_row("SELECT count(*) FROM run, sample", [], |r| r.get(0)).unwrap();
            assert_eq!(samples, 1);
        }
    }

    /// A duet of an earlier version is one that the scheduler alternated, and a result.
    #[test]
    fn duets_of_version_6_are_kept() {
        let mut conn = rusqlite::Connection::open_in_memory().unwrap();
        migrations().to_version(&mut conn, 6).unwrap();
        let stamp = r#"{"monotonic":1,"monotonic_raw":1,"cycles":null}"#;
        let absent = r#"{"absent":{"reason":"not_asked","detail":""}}"#;
        let side = |series: u32| {
            format!(
                r#"{{"series":{series},"weight":{{"kind":"nice","value":0}},"start":{stamp},"end":{stamp},
                    "outcome":{{"kind":"exited","code":0}},"process_times":{absent},"together":{absent},"usage":{absent},
                    "survivors":[]}}"#
            )
        };
        let own = r#"{"cpu":0,"voluntary_switches":0,"involuntary_switches":0}"#;
        let doc = format!(
            r#"{{"seq":3,"index":0,"cpu":1,"wall_clock":7,"sides":[{},{}],"own":{own},"steal":{absent},
                "clock_shift":{absent},"environment_padding":9}}"#,
            side(1),
            side(0)
        );
        conn.execute_batch(
            "INSERT INTO host VALUES (1, 'box', 'm', '{}');
             INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest)
             VALUES ('u', 1, 'finished', '0.1.0', 1, '{}', '{}');",
        )
        .unwrap();
        conn.execute("INSERT INTO duet VALUES (1, 3, 1, 0, 0, NULL, NULL, ?1)", [&doc]).unwrap();
        migrations().to_latest(&mut conn).unwrap();
        let mut found = Vec::new();
        let read = crate::samples::each_duet(&SqliteDatabase(&conn), 1, &mut |duet| {
            found.push((duet.seq, duet.slices, duet.void));
            std::ops::ControlFlow::Continue(())
        });
        assert!(read.is_ok());
        assert_eq!(found, [(3, None, None)]);
    }

    /// Nothing is known of machines then, and what is there stays.
    #[test]
    fn a_store_of_version_7_gets_the_tables_of_what_is_learned() {
        let mut conn = rusqlite::Connection::open_in_memory().unwrap();
        migrations().to_version(&mut conn, 7).unwrap();
        conn.execute_batch(
            "INSERT INTO host VALUES (1, 'box', 'm', '{}');
             INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest)
             VALUES ('u', 1, 'finished', '0.1.0', 1, '{}', '{}')",
        )
        .unwrap();
        migrations().to_latest(&mut conn).unwrap();
        let count = |sql: &str| conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM run"), 1);
        assert_eq!(count("SELECT (SELECT count(*) FROM level_history) + (SELECT count(*) FROM quiet_coefficients)"), 0);
    }

    #[test]
    fn what_version_4_holds_is_not_marked_as_imported() {
        let mut conn = rusqlite::Connection::open_in_memory().unwrap();
        migrations().to_version(&mut conn, 4).unwrap();
        conn.execute_batch(
            "INSERT INTO host VALUES (1, 'box', 'm', '{}');
             INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest)
             VALUES ('u', 1, 'finished', '0.1.0', 1, '{}', '{}');
             INSERT INTO document (kind, id, uuid, created_ns, status, tool, machine, title, doc)
             VALUES ('bench', 1, 'v', 1, 'finished', '0.1.0', 'box', 't', '{}')",
        )
        .unwrap();
        migrations().to_latest(&mut conn).unwrap();
        let sql = "SELECT count(*) FROM run, document WHERE run.imported_ns IS NULL AND document.imported_ns IS NULL";
        assert_eq!(conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap(), 1);
    }
}
