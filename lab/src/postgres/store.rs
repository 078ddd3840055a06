//! The store in a database of a PostgreSQL server.

use crate::postgres::call::ServerCall;
use crate::postgres::error::fault;
use crate::postgres::place::PostgresPlace;
use crate::postgres::schema;
use crate::postgres::schema::ServerSchema;
use crate::postgres::session::{ServerSession, ServerTransaction};
use postgres::{Client, IsolationLevel, Transaction};
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_store::backend::StoreBackend;
use tarebench_store::database::Database;
use tarebench_store::error::{ErrorContext, Fault, Inner, ServerFault, StoreError};
use tarebench_store::{Environment, Result, ServerName, Store};

/// How often a transaction is tried while others change the same.
const ATTEMPTS: u32 = 10;

/// A store in a database of a PostgreSQL server.
///
/// Its connection lasts as long as this value, or until it breaks: then the operation fails, and the next one connects again.
pub struct PostgresStore {
    place: PostgresPlace,
    path: PathBuf,
    writable: bool,
    session: RefCell<Option<ServerSession>>,
}

/// Reads the name of a server.
pub(crate) fn name(text: &str, environment: Environment<'_>) -> Result<ServerName> {
    let place = PostgresPlace::parse(text, environment)?;
    Ok(ServerName { shown: place.to_string(), warning: place.warning().map(str::to_owned) })
}

/// Opens the store of this name, for writing or for reading only.
pub(crate) fn open(text: &str, environment: Environment<'_>, write: bool) -> Result<Box<dyn Store>> {
    let place = PostgresPlace::parse(text, environment)?;
    Ok(match write {
        true => Box::new(PostgresStore::open(&place)?),
        false => Box::new(PostgresStore::open_read_only(&place)?),
    })
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.place).field("writable", &self.writable).finish()
    }
}

impl PostgresStore {
    /// Opens a database for reading and writing; creates the tables in the first schema of the search path if they are missing,
    /// and upgrades those of an earlier version. It may not be called within an asynchronous runtime.
    ///
    /// # Errors
    /// Those of [`PostgresPlace::connect`]; [`StoreError::NotADatabase`], [`StoreError::Newer`], [`StoreError::NotPermitted`],
    /// [`StoreError::ReadOnly`] for a standby, [`StoreError::Disconnected`], [`StoreError::Server`].
    pub fn open(place: &PostgresPlace) -> Result<PostgresStore> {
        Self::connected(place, true)
    }

    /// Opens a database for reading only: in transactions that cannot write. Everything that would change it is refused with
    /// [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// Those of [`PostgresPlace::connect`]; [`StoreError::Missing`], [`StoreError::Newer`], [`StoreError::Older`],
    /// [`StoreError::NotPermitted`], [`StoreError::Disconnected`], [`StoreError::Server`].
    pub fn open_read_only(place: &PostgresPlace) -> Result<PostgresStore> {
        Self::connected(place, false)
    }

    fn connected(place: &PostgresPlace, writable: bool) -> Result<PostgresStore> {
        let store = PostgresStore { place: place.clone(), path: place.path(), writable, session: RefCell::new(None) };
        let session = store.connect()?;
        store.session.replace(Some(session));
        Ok(store)
    }

    fn at(&self, doing: &'static str) -> ErrorContext<'_> {
        ErrorContext { path: &self.path, doing, writable: false }
    }

    /// A new connection to a database whose schema is up to date.
    fn connect(&self) -> Result<ServerSession> {
        let at = self.at("open");
        let mut client = self.place.connect()?;
        self.set_up(&mut client).map_err(|fault| at.complete(fault))?;
        Ok(ServerSession::new(client))
    }

    fn set_up(&self, client: &mut Client) -> Inner<()> {
        let at = self.at("open");
        let settings = "SELECT set_config('lock_timeout', $1, false), set_config('tare.machine', $2, false),
                               set_config('default_transaction_read_only', $3, false)";
        let timeout = format!("{}s", tarebench_store::error::BUSY_TIMEOUT.as_secs());
        client
            .query_one(settings, &[&timeout, &machine(), &if self.writable { "off" } else { "on" }])
            .map_err(fault)?;
        if self.writable {
            return schema::bring_up_to_date(client, at);
        }
        let mut transaction = client.build_transaction().read_only(true).start().map_err(fault)?;
        match schema::found(&mut transaction)? {
            ServerSchema::Missing => Err(StoreError::Missing { path: self.path.clone() }.into()),
            ServerSchema::Version(version) => schema::accept(version, at),
        }
    }

    /// One transaction, on a connection that is made anew if it has broken since its last use.
    fn transact<T>(&self, write: bool, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Inner<T> {
        let _call = ServerCall::begin();
        let Ok(mut slot) = self.session.try_borrow_mut() else {
            return Err(Fault::Server(ServerFault::Other, "another operation of this process is using it".to_owned()));
        };
        let mut f = Some(f);
        loop {
            let (mut session, used_before) = match slot.take() {
                Some(session) => (session, true),
                None => (self.connect()?, false),
            };
            let done = self.transact_on(&mut session, write, &mut f);
            match &done {
                // It broke while it was idle, and nothing has been done yet.
                Err(Fault::Server(ServerFault::Disconnected, _)) if used_before && f.is_some() => continue,
                Err(Fault::Server(ServerFault::Disconnected, _)) => {}
                _ => *slot = Some(session),
            }
            return done;
        }
    }

    /// Takes `f` when the transaction has begun.
    fn transact_on<T>(
        &self,
        session: &mut ServerSession,
        write: bool,
        f: &mut Option<impl FnOnce(&dyn Database) -> Inner<T>>,
    ) -> Inner<T> {
        let ServerSession { client, statements } = session;
        let db = ServerTransaction::new(begin(client, write)?, statements);
        let Some(f) = f.take() else {
            return Err(Fault::Server(ServerFault::Other, "the transaction was tried twice".to_owned()));
        };
        if write {
            // A later tare may have upgraded it since this one connected.
            let sql = "SELECT version FROM tare_schema_version";
            schema::accept((&db as &dyn Database).single(sql, &[], |r| r.get(0))?, self.at("open"))?;
        }
        let out = f(&db)?;
        db.commit().map_err(|e| match fault(e) {
            Fault::Server(ServerFault::Disconnected, cause) if write => {
                let cause = format!("{cause}; whether the change was made is not known");
                Fault::Server(ServerFault::Disconnected, cause)
            }
            fault => fault,
        })?;
        Ok(out)
    }

    fn refuse_unless_writable(&self, doing: &'static str) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        let cause = "it was opened for reading only".to_owned();
        Err(StoreError::ReadOnly { path: self.path.clone(), doing, cause })
    }
}

/// Begins a transaction: one that reads sees a single state of the database.
fn begin(client: &mut Client, write: bool) -> Inner<Transaction<'_>> {
    let builder = client.build_transaction();
    let builder = match write {
        // What it has to see unchanged until its end, it locks. That it may write is not said, because a standby would refuse that here.
        true => builder.isolation_level(IsolationLevel::ReadCommitted),
        false => builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true),
    };
    builder.start().map_err(fault)
}

impl StoreBackend for PostgresStore {
    fn place(&self) -> &Path {
        &self.path
    }

    /// Who pushed a run is stored with it; the rights of the roles decide who may change it.
    fn is_own(&self) -> bool {
        false
    }

    fn read<T>(&self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T> {
        self.transact(false, f).map_err(|fault| self.at(doing).complete(fault))
    }

    fn write<T>(&mut self, doing: &'static str, mut f: impl FnMut(&dyn Database) -> Inner<T>) -> Result<T> {
        self.refuse_unless_writable(doing)?;
        let mut attempt = 1;
        loop {
            match self.transact(true, |db| f(db)) {
                Err(Fault::Server(ServerFault::Conflict, _)) if attempt < ATTEMPTS => {
                    std::thread::sleep(pause(attempt));
                    attempt += 1;
                }
                done => return done.map_err(|fault| self.at(doing).complete(fault)),
            }
        }
    }

    fn write_once<T>(&mut self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T> {
        self.refuse_unless_writable(doing)?;
        self.transact(true, f).map_err(|fault| self.at(doing).complete(fault))
    }
}

/// Before the next attempt: longer each time, and not the same in all processes.
fn pause(attempt: u32) -> Duration {
    let longest = 4_u64 << attempt.min(7);
    Duration::from_millis(longest / 2 + RandomState::new().hash_one(attempt) % (longest / 2))
}

/// The name of this machine, which the database notes beside what is stored.
fn machine() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}
