//! The connection to a lab.

use crate::postgres::call::ServerCall;
use crate::postgres::place::PostgresPlace;
use crate::server::error::LabError;
use crate::server::raised::lab_error;
use crate::server::schema::{KNOWN, LabInit, initialize};
use postgres::types::{FromSql, ToSql};
use postgres::{Client, Row};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use tarebench_core::base::units::Nanos;
use tarebench_store::error::StoreError;

/// The queue of a lab, over one connection. An error leaves it usable, but for those of the connection
/// ([`LabError::is_passing`]): connect again then. No operation holds a lock longer than it runs.
pub struct Lab {
    client: Client,
    path: PathBuf,
    instance: String,
}

/// What is asked of the server in one statement.
pub(crate) struct Question<'a> {
    /// What is tried, as a verb and its object.
    pub doing: &'static str,
    pub sql: &'a str,
    pub values: &'a [&'a (dyn ToSql + Sync)],
    /// What it is about, for errors that the queue's functions raise.
    pub subject: &'a str,
}

impl Lab {
    /// Connects to a lab. The process is one agent under whatever name it announces itself, over all its connections.
    ///
    /// # Errors
    /// [`LabError::NotALab`], [`LabError::Version`], [`LabError::Store`].
    pub fn connect(place: &PostgresPlace) -> Result<Lab, LabError> {
        let mut lab = Lab { client: place.connect()?, path: place.to_string().into(), instance: instance().to_owned() };
        // Only the lab's schema is searched: nobody can put other objects into the place of those that are meant. A lock is waited for
        // no longer than a store waits.
        let set_up = "SELECT set_config('search_path', quote_ident(n.nspname) || ', pg_temp', false),
                             set_config('lock_timeout', '30s', false)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('lab_state')";
        let found = lab.ask(&Question { doing: "open the lab", sql: set_up, values: &[], subject: "" })?;
        if found.is_empty() {
            return Err(LabError::NotALab { path: lab.path, cause: "it has no queue".to_owned() });
        }
        let sql = "SELECT version::bigint FROM lab_state";
        let found: i64 = lab.ask_single(&Question { doing: "open the lab", sql, values: &[], subject: "" })?;
        if found != KNOWN {
            return Err(LabError::Version { path: lab.path, found, known: KNOWN });
        }
        Ok(lab)
    }

    /// Makes a database a lab: the tables of the store and of the queue, the roles `tare_reader`, `tare_agent` and `tare_admin`
    /// without login, and their rights, in one transaction. What is there stays; an earlier version is brought up to date.
    ///
    /// # Errors
    /// [`LabError::Version`] if a later tare has written it; [`LabError::Store`], as where the user may not create roles or schemas.
    pub fn init(place: &PostgresPlace) -> Result<LabInit, LabError> {
        initialize(place)
    }

    /// Makes this connection one of another process, as if that had connected. Whoever keeps this text over a restart of its agent
    /// goes on as the same agent.
    pub fn set_instance(&mut self, instance: &str) {
        instance.clone_into(&mut self.instance);
    }

    pub(crate) fn instance(&self) -> String {
        self.instance.clone()
    }

    /// Where it is: its URL without its password. For messages.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The server's clock, since 1970: all times of the queue are its times.
    pub fn now(&mut self) -> Result<Nanos, LabError> {
        let question = Question { doing: "read the server's clock", sql: "SELECT lab_now()", values: &[], subject: "" };
        Ok(Nanos(self.ask_single(&question)?))
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// All rows of an answer.
    pub(crate) fn ask(&mut self, question: &Question) -> Result<Vec<Row>, LabError> {
        let _call = ServerCall::begin();
        let answer = self.client.query(question.sql, question.values);
        answer.map_err(|e| lab_error(&self.path, question.doing, question.subject, e))
    }

    /// The only value of an answer.
    pub(crate) fn ask_single<T: for<'r> FromSql<'r>>(&mut self, question: &Question) -> Result<T, LabError> {
        let rows = self.ask(question)?;
        let row = rows.first().ok_or_else(|| self.unreadable(question.doing, "the server's answer", "it is empty"))?;
        self.column(question.doing, row, 0)
    }

    /// A column of a row, from 0.
    pub(crate) fn column<T: for<'r> FromSql<'r>>(
        &self,
        doing: &'static str,
        row: &Row,
        column: usize,
    ) -> Result<T, LabError> {
        row.try_get(column).map_err(|e| self.unreadable(doing, "the server's answer", e))
    }

    /// A number that is never negative.
    pub(crate) fn count(&self, doing: &'static str, row: &Row, column: usize) -> Result<u64, LabError> {
        Ok(self.column::<i64>(doing, row, column)?.max(0).unsigned_abs())
    }

    /// What the server says cannot be read.
    pub(crate) fn unreadable(&self, doing: &str, what: &str, cause: impl ToString) -> LabError {
        let what = format!("{what} (to {doing})");
        LabError::Store(StoreError::Corrupt { path: self.path.clone(), what, cause: cause.to_string() })
    }
}

/// A name of this process that no other has, whatever its machine. It need not be secret.
fn instance() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        use std::hash::{BuildHasher, RandomState};
        // Keys from the system's random numbers.
        (0..2).fold(format!("{}-", std::process::id()), |mut name, n| {
            let _ = write!(name, "{:016x}", RandomState::new().hash_one(n));
            name
        })
    })
}
