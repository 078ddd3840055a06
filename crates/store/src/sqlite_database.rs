//! SQLite as a [`Database`].

use crate::database::{Database, RowInsert, RowVisitor, SqlRow, SqlValue};
use crate::error::{Fault, Inner};
use rusqlite::types::{FromSql, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use std::borrow::Cow;

/// A transaction of a connection, which others keep out of while it writes.
pub(crate) struct SqliteDatabase<'a>(pub &'a Connection);

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            SqlValue::Int(Some(value)) => ValueRef::Integer(*value),
            SqlValue::Bool(value) => ValueRef::Integer(i64::from(*value)),
            SqlValue::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            SqlValue::Blob(Some(bytes)) => ValueRef::Blob(bytes),
            SqlValue::Int(None) | SqlValue::Text(None) | SqlValue::Blob(None) => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

struct SqliteRow<'a>(&'a Row<'a>);

impl SqliteRow<'_> {
    fn column<T: FromSql>(&self, column: usize) -> Inner<Option<T>> {
        Ok(self.0.get(column)?)
    }

    fn value(&self, column: usize) -> Inner<ValueRef<'_>> {
        Ok(self.0.get_ref(column)?)
    }
}

impl SqlRow for SqliteRow<'_> {
    fn int(&self, column: usize) -> Inner<Option<i64>> {
        self.column(column)
    }

    fn bool(&self, column: usize) -> Inner<Option<bool>> {
        self.column(column)
    }

    fn text(&self, column: usize) -> Inner<Option<Cow<'_, str>>> {
        let text = self.value(column)?.as_str_or_null().map_err(|e| Fault::Row(format!("column {column}: {e}")))?;
        Ok(text.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Inner<Option<&[u8]>> {
        self.value(column)?.as_blob_or_null().map_err(|e| Fault::Row(format!("column {column}: {e}")))
    }
}

impl Database for SqliteDatabase<'_> {
    fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Inner<u64> {
        Ok(self.0.prepare_cached(sql)?.execute(params_from_iter(values))? as u64)
    }

    fn each_row(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            if visit(&SqliteRow(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn few_rows(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()> {
        self.each_row(sql, values, visit)
    }

    fn insert(&self, into: &RowInsert, values: &[SqlValue<'_>]) -> Inner<Option<i64>> {
        if values.is_empty() {
            return Ok(None);
        }
        let marks: Vec<String> = (1..=into.columns.len()).map(|n| format!("?{n}")).collect();
        let mut sql = format!("INSERT INTO {} ({}) VALUES ({})", into.table, into.columns.join(", "), marks.join(", "));
        if !into.key.is_empty() {
            sql.push_str(&format!(" ON CONFLICT ({}) DO NOTHING", into.key.join(", ")));
        }
        let mut statement = self.0.prepare_cached(&sql)?;
        for row in values.chunks(into.columns.len()) {
            if statement.execute(params_from_iter(row))? == 0 {
                let key = into.key_column().and_then(|column| row.get(column));
                return Ok(match key {
                    Some(SqlValue::Int(key)) => *key,
                    _ => None,
                });
            }
        }
        Ok(None)
    }

    /// A transaction that writes is the only one.
    fn lock(&self, _: &str) -> Inner<()> {
        Ok(())
    }

    fn page(&self) -> usize {
        1
    }

    fn counted(&self) -> &'static str {
        "(SELECT count(*) FROM sample WHERE run_id = run.id AND phase = 'counted')"
    }
}
