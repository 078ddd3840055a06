//! Gates: two builds of programs against each other. And programs of stored runs.

mod document;
pub mod error;
pub mod gate;
pub mod gate_request;
pub mod history;
mod named;
mod probe;
mod session;
pub mod stored;
mod stored_error;
