//! A connection to a server, and its transactions as a [`Database`].

use crate::postgres::error::fault;
use postgres::types::{ToSql, Type};
use postgres::{Client, Row, Statement, Transaction};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use tarebench_core::base::hash::fnv128;
use tarebench_store::database::{Database, RowInsert, RowVisitor, SqlRow, SqlValue};
use tarebench_store::error::{Fault, Inner};

/// Rows of a result that are read at once, in bytes: 1 MiB.
const PIECE_BYTES: usize = 1 << 20;

/// Rows that are read at once before it is known how long they are.
const FIRST_ROWS: i32 = 4;

/// Most rows that are read at once, or inserted by one statement.
const MOST_ROWS: usize = 4096;

/// A connection with the statements that the server has prepared for it.
pub(crate) struct ServerSession {
    pub client: Client,
    pub statements: HashMap<String, Statement>,
}

impl ServerSession {
    pub(crate) fn new(client: Client) -> ServerSession {
        ServerSession { client, statements: HashMap::new() }
    }
}

/// A transaction of a connection.
pub(crate) struct ServerTransaction<'a> {
    transaction: RefCell<Transaction<'a>>,
    statements: RefCell<&'a mut HashMap<String, Statement>>,
}

type StatementValues<'a> = Vec<Box<dyn ToSql + Sync + 'a>>;

impl<'a> ServerTransaction<'a> {
    pub(crate) fn new(
        transaction: Transaction<'a>,
        statements: &'a mut HashMap<String, Statement>,
    ) -> ServerTransaction<'a> {
        ServerTransaction { transaction: RefCell::new(transaction), statements: RefCell::new(statements) }
    }

    pub(crate) fn commit(self) -> Result<(), postgres::Error> {
        self.transaction.into_inner().commit()
    }

    fn prepared(&self, sql: &str, types: &[Type]) -> Inner<Statement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.borrow_mut().prepare_typed(&sql.replace('?', "$"), types).map_err(fault)?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn borrowed<'p>(parameters: &'p StatementValues<'_>) -> Vec<&'p (dyn ToSql + Sync)> {
    parameters.iter().map(|p| &**p as &(dyn ToSql + Sync)).collect()
}

/// Text as the server can store it: a NUL, which it refuses, becomes U+001A and `0`, and U+001A becomes U+001A and `1`. JSON, which
/// escapes both, is never changed by this.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b == 0 || b == 0x1a) {
        text.replace('\u{1a}', "\u{1a}1").replace('\0', "\u{1a}0").into()
    } else {
        text.into()
    }
}

/// The reverse of [`storable`].
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1a}') {
        text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}").into()
    } else {
        text.into()
    }
}

fn type_of(value: &SqlValue<'_>) -> Type {
    match value {
        SqlValue::Int(_) => Type::INT8,
        SqlValue::Bool(_) => Type::BOOL,
        SqlValue::Text(_) => Type::TEXT,
        SqlValue::Blob(_) => Type::BYTEA,
    }
}

fn parameters<'v>(values: &'v [SqlValue<'_>]) -> (Vec<Type>, StatementValues<'v>) {
    let types = values.iter().map(type_of).collect();
    let boxed = values.iter().map(|value| -> Box<dyn ToSql + Sync + 'v> {
        match value {
            SqlValue::Int(value) => Box::new(*value),
            SqlValue::Bool(value) => Box::new(*value),
            SqlValue::Text(text) => Box::new(text.as_deref().map(storable)),
            SqlValue::Blob(bytes) => Box::new(bytes.as_deref()),
        }
    });
    (types, boxed.collect())
}

struct ServerRow<'a>(&'a Row);

impl ServerRow<'_> {
    fn type_of(&self, column: usize) -> Inner<&Type> {
        let found = self.0.columns().get(column);
        found.map(|c| c.type_()).ok_or_else(|| Fault::Row(format!("it has no column {column}")))
    }
}

impl SqlRow for ServerRow<'_> {
    fn int(&self, column: usize) -> Inner<Option<i64>> {
        let of = self.type_of(column)?;
        Ok(if *of == Type::INT4 {
            self.0.try_get::<_, Option<i32>>(column).map_err(fault)?.map(i64::from)
        } else {
            self.0.try_get(column).map_err(fault)?
        })
    }

    fn bool(&self, column: usize) -> Inner<Option<bool>> {
        self.0.try_get(column).map_err(fault)
    }

    fn text(&self, column: usize) -> Inner<Option<Cow<'_, str>>> {
        Ok(self.0.try_get::<_, Option<&str>>(column).map_err(fault)?.map(stored))
    }

    fn blob(&self, column: usize) -> Inner<Option<&[u8]>> {
        self.0.try_get(column).map_err(fault)
    }
}

fn visit_all(rows: &[Row], visit: RowVisitor<'_>) -> Inner<ControlFlow<()>> {
    for row in rows {
        if visit(&ServerRow(row))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// How many rows to read next, after rows of this length.
fn next_rows(before: i32, rows: &[Row]) -> i32 {
    let bytes: usize = rows.iter().map(Row::raw_size_bytes).sum();
    let fitting = rows.len() * PIECE_BYTES / bytes.max(1);
    // Later rows may be longer.
    let more = usize::try_from(before).unwrap_or(1).saturating_mul(8);
    i32::try_from(fitting.min(more).clamp(1, MOST_ROWS)).unwrap_or(FIRST_ROWS)
}

impl Database for ServerTransaction<'_> {
    fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Inner<u64> {
        let (types, given) = parameters(values);
        let statement = self.prepared(sql, &types)?;
        self.transaction.borrow_mut().execute(&statement, &borrowed(&given)).map_err(fault)
    }

    fn each_row(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()> {
        let (types, given) = parameters(values);
        let statement = self.prepared(sql, &types)?;
        let portal = self.transaction.borrow_mut().bind(&statement, &borrowed(&given)).map_err(fault)?;
        let mut wanted = FIRST_ROWS;
        loop {
            // The transaction is free for other statements while the rows are visited.
            let rows = self.transaction.borrow_mut().query_portal(&portal, wanted).map_err(fault)?;
            let last = rows.len() < usize::try_from(wanted).unwrap_or(0);
            if visit_all(&rows, visit)?.is_break() || last {
                return Ok(());
            }
            wanted = next_rows(wanted, &rows);
        }
    }

    fn few_rows(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()> {
        let (types, given) = parameters(values);
        let statement = self.prepared(sql, &types)?;
        let rows = self.transaction.borrow_mut().query(&statement, &borrowed(&given)).map_err(fault)?;
        visit_all(&rows, visit).map(|_| ())
    }

    fn insert(&self, into: &RowInsert, values: &[SqlValue<'_>]) -> Inner<Option<i64>> {
        let columns = into.columns.len();
        for rows in values.chunks(columns * MOST_ROWS) {
            if let Some(key) = self.insert_rows(into, rows)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn lock(&self, name: &str) -> Inner<()> {
        // Two names of the same hash wait for each other in vain, but do no harm.
        let key = fnv128(name.as_bytes()) as u64;
        self.few_rows("SELECT pg_advisory_xact_lock(?1)", &[SqlValue::Int(Some(key.cast_signed()))], &mut |_| {
            Ok(ControlFlow::Continue(()))
        })
    }

    fn page(&self) -> usize {
        64
    }

    fn counted(&self) -> &'static str {
        "coalesce((SELECT run_counted.counted FROM run_counted WHERE run_counted.run_id = run.id), 0)"
    }
}

impl ServerTransaction<'_> {
    /// Inserts rows by one statement whose parameters are the columns: it is the same for any number of rows.
    fn insert_rows(&self, into: &RowInsert, values: &[SqlValue<'_>]) -> Inner<Option<i64>> {
        let columns = into.columns.len();
        let (mut types, mut given, mut marks): (Vec<Type>, StatementValues, Vec<String>) = Default::default();
        for (column, first) in values.iter().take(columns).enumerate() {
            let all = values.iter().skip(column).step_by(columns);
            let (array, name, list): (Type, &str, Box<dyn ToSql + Sync>) = match first {
                SqlValue::Int(_) => (Type::INT8_ARRAY, "bigint[]", Box::new(ints(all))),
                SqlValue::Bool(_) => (Type::BOOL_ARRAY, "boolean[]", Box::new(bools(all))),
                SqlValue::Text(_) => (Type::TEXT_ARRAY, "text[]", Box::new(texts(all))),
                SqlValue::Blob(_) => (Type::BYTEA_ARRAY, "bytea[]", Box::new(blobs(all))),
            };
            types.push(array);
            given.push(list);
            marks.push(format!("?{}::{name}", column + 1));
        }
        let Some(key) = into.key.last() else {
            let sql = insertion(into, &marks);
            let statement = self.prepared(&sql, &types)?;
            self.transaction.borrow_mut().execute(&statement, &borrowed(&given)).map_err(fault)?;
            return Ok(None);
        };
        let sql =
            format!("{} ON CONFLICT ({}) DO NOTHING RETURNING {key}", insertion(into, &marks), into.key.join(", "));
        let statement = self.prepared(&sql, &types)?;
        let rows = self.transaction.borrow_mut().query(&statement, &borrowed(&given)).map_err(fault)?;
        if rows.len() * columns == values.len() {
            return Ok(None);
        }
        let mut inserted = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>().map_err(fault)?;
        let place = into.key_column().unwrap_or(0);
        let keys = ints(values.iter().skip(place).step_by(columns)).into_iter().flatten();
        for key in keys {
            match inserted.iter().position(|there| *there == key) {
                Some(at) => _ = inserted.swap_remove(at),
                None => return Ok(Some(key)),
            }
        }
        Ok(None)
    }
}

fn insertion(into: &RowInsert, marks: &[String]) -> String {
    let RowInsert { table, columns, .. } = into;
    format!("INSERT INTO {table} ({}) SELECT * FROM unnest({})", columns.join(", "), marks.join(", "))
}

fn ints<'v>(values: impl Iterator<Item = &'v SqlValue<'v>>) -> Vec<Option<i64>> {
    values.map(|value| if let SqlValue::Int(value) = value { *value } else { None }).collect()
}

fn bools<'v>(values: impl Iterator<Item = &'v SqlValue<'v>>) -> Vec<Option<bool>> {
    values.map(|value| if let SqlValue::Bool(value) = value { Some(*value) } else { None }).collect()
}

fn texts<'v>(values: impl Iterator<Item = &'v SqlValue<'v>>) -> Vec<Option<Cow<'v, str>>> {
    let text =
        |value: &'v SqlValue<'v>| if let SqlValue::Text(text) = value { text.as_deref().map(storable) } else { None };
    values.map(text).collect()
}

fn blobs<'v>(values: impl Iterator<Item = &'v SqlValue<'v>>) -> Vec<Option<&'v [u8]>> {
    values.map(|value| if let SqlValue::Blob(bytes) = value { bytes.as_deref() } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_stored_without_nul_and_comes_back() {
        for text in ["", "a", "\0", "\u{1a}", "\u{1a}0", "\u{1a}1", "\0\u{1a}\u{1a}01\0", "é\0\u{202e}"] {
            let kept = storable(text);
            assert!(!kept.contains('\0'));
            assert_eq!(stored(&kept), text);
        }
        // No two texts become one.
        assert_ne!(storable("\0"), storable("\u{1a}0"));
    }
}
