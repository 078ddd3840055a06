//! A lab: campaigns of measurements on many machines, with a PostgreSQL server as the queue and the store.
//!
//! A measurement is always written to a local store first, and pushed when it has ended. Nothing here keeps a
//! connection open while a sample is taken.

pub mod agent;
pub mod campaign_file;
mod campaign_suite;
pub mod campaign_values;
pub mod collect;
pub mod folder;
pub mod hours;
pub mod lease;
pub mod machine;
pub mod needs;
pub mod nodes;
pub mod slurm;
pub mod slurm_state;
pub mod slurm_task;
pub mod submit;
pub mod task;
