//! Kernel programs (eBPF) of tare: tracepoints only, compiled beforehand, nothing woken in user space.

pub mod account;
mod exits;
pub mod interrupts;
pub mod layout;
mod program;
pub mod timeline;

pub use crate::exits::{ExitRecord, ExitTracer};
pub use crate::program::{BpfError, KernelTypes, own_namespaces};
