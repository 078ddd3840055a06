//! What was learned of machines by probes, as rows: it belongs to no run, and stays when runs are removed.

use crate::database::{Database, values};
use crate::error::{Fault, Inner, StoreError};
use crate::rows;
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::quiet::data::QuietCoefficients;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::run::data::Run;

/// Most histories of levels, of all machines and conditions together: those learned last. Each takes a few KB.
const MOST_HISTORIES: u32 = 64;

/// Most fits of one program, so that what was known before one of the last runs can still be said.
const FITS_OF_A_PROGRAM: u32 = 4;

/// Most fits of all programs, the newest ones. Each takes about 4 KB.
const MOST_FITS: u32 = 1_000;

/// For which machine, in which conditions, something was learned.
///
/// The whole fingerprint, though a machine of the same identity is the same one: levels are times of fixed work, and those depend on
/// all that makes other times incomparable. A new kernel changes what a system call takes, microcode and SMT change the core,
/// governor and turbo the clock, and a virtual machine keeps its identity when its host becomes another one. After such a
/// change levels are learned again within a few runs; levels of two states mixed would be wrong for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineKey {
    /// [`tarebench_core::machine::data::Host::machine`].
    pub machine: String,
    /// [`tarebench_core::machine::conditions::fingerprint`].
    pub fingerprint: String,
}

impl MachineKey {
    /// Where a run was measured.
    pub fn of(run: &Run) -> MachineKey {
        MachineKey { machine: run.host.machine.clone(), fingerprint: fingerprint(&run.host, &run.factors) }
    }
}

fn described(key: &MachineKey) -> String {
    format!("the levels of machine {}", key.machine)
}

/// The history of levels of a machine.
pub(crate) fn level_history(db: &dyn Database, key: &MachineKey, revision: u32) -> Inner<Option<LevelHistory>> {
    let sql = "SELECT doc FROM level_history WHERE machine = ?1 AND fingerprint = ?2 AND revision = ?3";
    db.optional(sql, values![&key.machine, &key.fingerprint, revision], |r| rows::parse(&r.str(0)?, || described(key)))
}

/// Adds to the history of levels of a machine.
pub(crate) fn merge_level_history(db: &dyn Database, key: &MachineKey, new: &LevelHistory) -> Inner<()> {
    db.lock("levels")?;
    let revision = new.revision();
    let mut merged = level_history(db, key, revision)?.unwrap_or_else(|| LevelHistory::new(revision));
    // The key has the revision: a document of another one is damaged.
    merged.merge(new).map_err(|e| Fault::Bad { what: described(key), cause: e.to_string() })?;
    // Without `WHERE true`, SQLite would take ON for that of a join.
    db.execute(
        "INSERT INTO level_history (machine, fingerprint, revision, added, doc)
         SELECT ?1, ?2, ?3, coalesce(max(added), 0) + 1, ?4 FROM level_history WHERE true
         ON CONFLICT (machine, fingerprint, revision) DO UPDATE SET added = excluded.added, doc = excluded.doc",
        values![&key.machine, &key.fingerprint, revision, rows::exact("history of levels", &merged)?],
    )?;
    db.execute(
        "DELETE FROM level_history
         WHERE added <= (SELECT added FROM level_history ORDER BY added DESC LIMIT 1 OFFSET ?1)",
        values![MOST_HISTORIES],
    )?;
    Ok(())
}

/// The newest fit of each program, of those before the first one to the samples of the run `before`.
pub(crate) fn coefficients(
    db: &dyn Database,
    key: &MachineKey,
    revision: u32,
    before: Option<&str>,
) -> Inner<Vec<QuietCoefficients>> {
    db.all(
        "WITH here AS (SELECT * FROM quiet_coefficients WHERE machine = ?1 AND fingerprint = ?2 AND revision = ?3)
         SELECT doc FROM
             (SELECT doc, program, row_number() OVER (PARTITION BY program ORDER BY added DESC) AS place FROM here
              WHERE added < coalesce((SELECT min(added) FROM here WHERE run_uuid = ?4), 9223372036854775807)) AS placed
         WHERE place = 1 ORDER BY program",
        values![&key.machine, &key.fingerprint, revision, before],
        |r| rows::parse(&r.str(0)?, || format!("a program's coefficients on machine {}", key.machine)),
    )
}

/// Keeps what was fitted to the samples of a run, in place of an earlier fit to the same run's.
pub(crate) fn save_coefficients(db: &dyn Database, key: &MachineKey, run: &str, fit: &QuietCoefficients) -> Inner<()> {
    if !rows::is_uuid(run) {
        let cause = format!("the uuid of their run is {run:?}, expected 32 hex digits in lower case");
        return Err(StoreError::Unstorable { what: "coefficients", cause }.into());
    }
    db.lock("coefficients")?;
    db.execute(
        "INSERT INTO quiet_coefficients (machine, fingerprint, revision, program, run_uuid, added, doc)
         SELECT ?1, ?2, ?3, ?4, ?5, coalesce(max(added), 0) + 1, ?6 FROM quiet_coefficients WHERE true
         ON CONFLICT (machine, fingerprint, revision, program, run_uuid)
         DO UPDATE SET added = excluded.added, doc = excluded.doc",
        values![&key.machine, &key.fingerprint, fit.revision, &fit.program, run, rows::exact("coefficients", fit)?],
    )?;
    db.execute(
        "DELETE FROM quiet_coefficients
         WHERE machine = ?1 AND fingerprint = ?2 AND revision = ?3 AND program = ?4 AND added <=
             (SELECT added FROM quiet_coefficients
              WHERE machine = ?1 AND fingerprint = ?2 AND revision = ?3 AND program = ?4
              ORDER BY added DESC LIMIT 1 OFFSET ?5)",
        values![&key.machine, &key.fingerprint, fit.revision, &fit.program, FITS_OF_A_PROGRAM],
    )?;
    db.execute(
        "DELETE FROM quiet_coefficients
         WHERE added <= (SELECT added FROM quiet_coefficients ORDER BY added DESC LIMIT 1 OFFSET ?1)",
        values![MOST_FITS],
    )?;
    Ok(())
}

/// Removes all that was learned of a machine, in whatever conditions; how many histories and fits there were.
pub(crate) fn forget(db: &dyn Database, machine: &str) -> Inner<u64> {
    let histories = db.execute("DELETE FROM level_history WHERE machine = ?1", values![machine])?;
    let fits = db.execute("DELETE FROM quiet_coefficients WHERE machine = ?1", values![machine])?;
    Ok(histories + fits)
}
