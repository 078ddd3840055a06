//! The queue's tables and functions, the roles, and their versions.

use crate::postgres::place::PostgresPlace;
use crate::postgres::schema::{self as store_schema, ServerSchema};
use crate::server::error::LabError;
use crate::server::raised::lab_error;
use postgres::Transaction;
use std::path::Path;
use tarebench_store::error::{ErrorContext, Fault, StoreError};

/// The latest version of the queue: the number of migrations.
pub(crate) const KNOWN: i64 = 1;

/// The statements that lead from each version to the next.
const MIGRATIONS: [&str; KNOWN as usize] = [include_str!("tables.sql")];

/// Replaced each time; `@schema` stands for the name of the schema.
const FUNCTIONS: &str = include_str!("functions.sql");
const RIGHTS: &str = include_str!("rights.sql");

/// The roles of a lab: who reads, who adds and takes tasks, who manages. They belong to the server, for all its databases.
pub const ROLES: [&str; 3] = ["tare_reader", "tare_agent", "tare_admin"];

/// Locked while a queue is created or changed: "lab" in ASCII.
const LOCK: i64 = 0x006c_6162;

/// How often it is tried while another process creates the same.
const ATTEMPTS: u32 = 5;

/// What was done to one part of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabInitStep {
    Created,
    /// It had this earlier version.
    Migrated {
        from: i64,
    },
    /// It was there; rights were given again.
    Current,
}

/// What [`crate::server::Lab::init`] has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabInit {
    /// Name of the database's schema that holds it, as SQL writes it.
    pub schema: String,
    /// The tables of the store.
    pub store: LabInitStep,
    /// The tables of the queue.
    pub queue: LabInitStep,
    /// Roles that were created; the others of [`ROLES`] were there.
    pub roles: Vec<&'static str>,
}

/// Creates a lab, or brings it up to date.
pub(crate) fn initialize(place: &PostgresPlace) -> Result<LabInit, LabError> {
    let (mut attempts, mut store) = (1, None);
    loop {
        match attempt(place, &mut store) {
            // Roles are shared by the databases of a server.
            Err(LabError::Store(StoreError::Conflict { .. })) if attempts < ATTEMPTS => attempts += 1,
            done => return done,
        }
    }
}

/// `store` is what was done to the store by the first attempt.
fn attempt(place: &PostgresPlace, store: &mut Option<LabInitStep>) -> Result<LabInit, LabError> {
    let path = std::path::PathBuf::from(place.to_string());
    let at = ErrorContext { path: &path, doing: "create the lab", writable: false };
    let fault = |fault: Fault| LabError::Store(at.complete(fault));
    let failed = |e: postgres::Error| lab_error(&path, at.doing, "", e);
    let mut client = place.connect()?;
    client.batch_execute("SET lock_timeout = '30s'").map_err(failed)?;
    let mut tx = client.transaction().map_err(failed)?;
    let found = match store_schema::found(&mut tx).map_err(fault)? {
        ServerSchema::Missing => LabInitStep::Created,
        ServerSchema::Version(store_schema::KNOWN) => LabInitStep::Current,
        ServerSchema::Version(from) => LabInitStep::Migrated { from },
    };
    drop(tx);
    let store = *store.get_or_insert(found);
    store_schema::bring_up_to_date(&mut client, at).map_err(fault)?;
    let mut tx = client.transaction().map_err(failed)?;
    let (schema, queue) = create_queue(&mut tx, &path, at.doing)?;
    let roles = create_roles(&mut tx).map_err(failed)?;
    for sql in [FUNCTIONS, RIGHTS] {
        tx.batch_execute(&sql.replace("@schema", &schema)).map_err(failed)?;
    }
    tx.execute("UPDATE lab_state SET version = $1::bigint", &[&KNOWN]).map_err(failed)?;
    tx.commit().map_err(failed)?;
    Ok(LabInit { schema, store, queue, roles })
}

/// The schema of the store, into which the queue's tables are put.
fn create_queue(tx: &mut Transaction<'_>, path: &Path, doing: &'static str) -> Result<(String, LabInitStep), LabError> {
    let failed = |e: postgres::Error| lab_error(path, doing, "", e);
    let number =
        |tx: &mut Transaction<'_>, sql: &str| -> Result<i64, postgres::Error> { tx.query_one(sql, &[])?.try_get(0) };
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).map_err(failed)?;
    let schema: String = tx
        .query_one(
            "SELECT quote_ident(n.nspname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE c.oid = to_regclass('tare_schema_version')",
            &[],
        )
        .and_then(|row| row.try_get(0))
        .map_err(failed)?;
    tx.execute("SELECT set_config('search_path', $1, true)", &[&format!("{schema}, pg_temp")]).map_err(failed)?;
    let found = match number(tx, "SELECT (to_regclass('lab_state') IS NOT NULL)::integer::bigint").map_err(failed)? {
        0 => 0,
        _ => number(tx, "SELECT version::bigint FROM lab_state").map_err(failed)?,
    };
    if found > KNOWN {
        return Err(LabError::Version { path: path.to_owned(), found, known: KNOWN });
    }
    for (version, sql) in (1_i64..).zip(MIGRATIONS) {
        if version > found {
            tx.batch_execute(sql).map_err(failed)?;
        }
    }
    let step = match found {
        0 => LabInitStep::Created,
        KNOWN => LabInitStep::Current,
        from => LabInitStep::Migrated { from },
    };
    Ok((schema, step))
}

/// The roles that were created.
fn create_roles(tx: &mut Transaction<'_>) -> Result<Vec<&'static str>, postgres::Error> {
    let mut created = Vec::new();
    for role in ROLES {
        if tx.query_opt("SELECT 1 FROM pg_roles WHERE rolname = $1", &[&role])?.is_none() {
            tx.batch_execute(&format!("CREATE ROLE {role} NOLOGIN"))?;
            created.push(role);
        }
    }
    Ok(created)
}
