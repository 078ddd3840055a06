//! A lab: a central store on a PostgreSQL server, with a queue of tasks for many machines.
//!
//! [`Lab`] is the queue. Its users are told apart by their roles in the database; only the server's clock counts. Every operation may
//! be repeated when its answer was lost.

mod campaigns;
mod connection;
mod error;
mod machines;
mod metrics;
pub mod push;
mod queue;
mod raised;
mod schema;

pub use crate::lab::connection::Lab;
pub use crate::lab::error::LabError;
pub use crate::lab::metrics::LabMetrics;
pub use crate::lab::queue::{HeldLease, LeaseAnswer, LeasedTask};
pub use crate::lab::schema::{LabInit, LabInitStep, ROLES};
