//! The seam between the store and its databases: SQL is written once, with `?1`, `?2`, … for its values, and each database runs it.

use crate::error::{Fault, Inner};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// A value of a statement. NULL has a type, too, as a server asks for the types of all values.
#[derive(Clone, Debug)]
pub enum SqlValue<'a> {
    Int(Option<i64>),
    Bool(bool),
    Text(Option<Cow<'a, str>>),
    Blob(Option<Cow<'a, [u8]>>),
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for SqlValue<'_> {
            fn from(value: $integer) -> Self {
                SqlValue::Int(Some(i64::from(value)))
            }
        }
        impl From<Option<$integer>> for SqlValue<'_> {
            fn from(value: Option<$integer>) -> Self {
                SqlValue::Int(value.map(i64::from))
            }
        }
    )*};
}

integers!(i64, i32, u32);

impl From<bool> for SqlValue<'_> {
    fn from(value: bool) -> Self {
        SqlValue::Bool(value)
    }
}

impl<'a> From<&'a str> for SqlValue<'a> {
    fn from(value: &'a str) -> Self {
        SqlValue::Text(Some(value.into()))
    }
}

impl<'a> From<&'a String> for SqlValue<'a> {
    fn from(value: &'a String) -> Self {
        SqlValue::Text(Some(value.into()))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(value: String) -> Self {
        SqlValue::Text(Some(value.into()))
    }
}

impl From<Option<String>> for SqlValue<'_> {
    fn from(value: Option<String>) -> Self {
        SqlValue::Text(value.map(Cow::Owned))
    }
}

impl<'a> From<Option<&'a str>> for SqlValue<'a> {
    fn from(value: Option<&'a str>) -> Self {
        SqlValue::Text(value.map(Cow::Borrowed))
    }
}

impl<'a> From<&'a Option<Vec<u8>>> for SqlValue<'a> {
    fn from(value: &'a Option<Vec<u8>>) -> Self {
        SqlValue::Blob(value.as_deref().map(Cow::Borrowed))
    }
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(crate::database::SqlValue::from($value)),*] };
}
pub(crate) use values;

/// A row of a result. Columns are counted from 0.
pub trait SqlRow {
    fn int(&self, column: usize) -> Inner<Option<i64>>;
    fn bool(&self, column: usize) -> Inner<Option<bool>>;
    fn text(&self, column: usize) -> Inner<Option<Cow<'_, str>>>;
    fn blob(&self, column: usize) -> Inner<Option<&[u8]>>;
}

/// A type that a column can be read as.
pub trait FromColumn: Sized {
    /// `None` if it is NULL.
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<Self>>;
}

impl FromColumn for i64 {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<i64>> {
        row.int(column)
    }
}

impl FromColumn for bool {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<bool>> {
        row.bool(column)
    }
}

impl FromColumn for String {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<String>> {
        Ok(row.text(column)?.map(Cow::into_owned))
    }
}

impl FromColumn for Vec<u8> {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<Vec<u8>>> {
        Ok(row.blob(column)?.map(<[u8]>::to_vec))
    }
}

fn narrow<T: TryFrom<i64>>(row: &dyn SqlRow, column: usize) -> Inner<Option<T>> {
    let narrowed = |value| T::try_from(value).map_err(|_| Fault::Row(format!("column {column} is {value}")));
    row.int(column)?.map(narrowed).transpose()
}

impl FromColumn for u32 {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<u32>> {
        narrow(row, column)
    }
}

impl FromColumn for i32 {
    fn from_column(row: &dyn SqlRow, column: usize) -> Inner<Option<i32>> {
        narrow(row, column)
    }
}

impl dyn SqlRow + '_ {
    /// A column that may be NULL.
    pub fn maybe<T: FromColumn>(&self, column: usize) -> Inner<Option<T>> {
        T::from_column(self, column)
    }

    /// A column that may not be NULL.
    pub fn get<T: FromColumn>(&self, column: usize) -> Inner<T> {
        self.maybe(column)?.ok_or_else(|| null(column))
    }

    /// The text of a column, without a copy.
    pub fn str(&self, column: usize) -> Inner<Cow<'_, str>> {
        self.text(column)?.ok_or_else(|| null(column))
    }
}

fn null(column: usize) -> Fault {
    Fault::Row(format!("column {column} is NULL"))
}

/// Where rows are inserted.
pub struct RowInsert {
    pub table: &'static str,
    pub columns: &'static [&'static str],
    /// The columns of its primary key, if a row that is already there is to be reported; the last of them is an integer.
    pub key: &'static [&'static str],
}

impl RowInsert {
    /// The place of the last column of the key.
    pub fn key_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| Some(column) == self.key.last())
    }
}

/// Called with each row of a result, until it breaks off.
pub type RowVisitor<'a> = &'a mut dyn FnMut(&dyn SqlRow) -> Inner<ControlFlow<()>>;

/// A transaction of a database.
pub trait Database {
    /// Changes rows; returns how many.
    fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Inner<u64>;

    /// Visits the rows of a result of any length, of which only a few are in memory at a time. Other statements may run meanwhile.
    fn each_row(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()>;

    /// Visits the rows of a result that is known to be short.
    fn few_rows(&self, sql: &str, values: &[SqlValue<'_>], visit: RowVisitor<'_>) -> Inner<()>;

    /// Inserts rows, whose values stand one after another. Ends at a row whose key is there already: returns the last column
    /// of that key.
    fn insert(&self, into: &RowInsert, values: &[SqlValue<'_>]) -> Inner<Option<i64>>;

    /// Waits until no other transaction has locked this name, and locks it until the end of this one.
    fn lock(&self, name: &str) -> Inner<()>;

    /// How many samples are read or inserted by one statement: 1 if a statement costs nothing, more if it travels over a network.
    fn page(&self) -> usize;

    /// SQL for the number of counted samples of `run.id`.
    fn counted(&self) -> &'static str;
}

impl dyn Database + '_ {
    /// The first row, if there is one.
    pub fn optional<T>(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl Fn(&dyn SqlRow) -> Inner<T>,
    ) -> Inner<Option<T>> {
        let mut found = None;
        self.few_rows(sql, values, &mut |row| {
            found = Some(read(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    pub fn single<T>(&self, sql: &str, values: &[SqlValue<'_>], read: impl Fn(&dyn SqlRow) -> Inner<T>) -> Inner<T> {
        self.optional(sql, values, read)?.ok_or_else(|| Fault::Row("there is none".to_owned()))
    }

    /// Whether there is a row.
    pub fn exists(&self, sql: &str, values: &[SqlValue<'_>]) -> Inner<bool> {
        Ok(self.optional(sql, values, |_| Ok(()))?.is_some())
    }

    pub fn all<T>(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&dyn SqlRow) -> Inner<T>,
    ) -> Inner<Vec<T>> {
        let mut found = Vec::new();
        self.each_row(sql, values, &mut |row| {
            found.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}
