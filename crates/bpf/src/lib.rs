//! Kernel programs (eBPF) of tare: tracepoints only, precompiled, without wake-ups in user space.

pub mod account;
mod exits;
pub mod interrupts;
mod kernel_types;
pub mod layout;
mod object;
mod program;
pub mod timeline;

pub use crate::exits::{ExitRecord, ExitTracer};
pub use crate::kernel_types::KernelTypes;
pub use crate::program::{BpfError, own_namespaces};
