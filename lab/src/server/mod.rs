//! A lab: a central store on a PostgreSQL server, with a queue of tasks for many machines.
//!
//! [`Lab`] is the queue. Its users are told apart by their roles in the database; only the server's clock counts. Every operation may
//! be repeated when its answer was lost.

mod campaigns;
mod connection;
mod error;
mod machines;
mod metrics;
mod queue;
mod raised;
mod schema;

pub use crate::server::connection::Lab;
pub use crate::server::error::LabError;
pub use crate::server::metrics::LabMetrics;
pub use crate::server::queue::{HeldLease, LeaseAnswer, LeasedTask};
pub use crate::server::schema::{LabInit, LabInitStep, ROLES};
