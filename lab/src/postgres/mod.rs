//! The store on a PostgreSQL server.

pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod place;
mod place_files;
mod place_text;
pub(crate) mod schema;
mod session;
pub(crate) mod store;
mod tls;

pub use crate::postgres::call::around_calls;
pub use crate::postgres::place::PostgresPlace;
pub use crate::postgres::store::PostgresStore;
