//! Every system call that tare makes, and nothing else.
//!
//! The hot path of a sample is [`spawn::spawn`] and [`wait::wait`]; everything else runs before
//! the first stamp or after the last one. Readers of procfs, sysfs and cgroup files take a root
//! folder, so that they can be tested on other machines' files.

pub mod activity;
pub mod arguments;
pub mod bpf;
pub mod cache;
pub mod cgroup;
pub mod cgroup_limits;
pub mod clock;
pub mod command;
pub mod counter;
pub mod cpu;
pub mod cpu_controller;
pub mod error;
pub mod events;
pub mod fifo;
pub mod guard;
pub mod limits;
pub mod lock;
pub mod mechanisms;
pub mod memory;
pub mod memory_file;
pub mod noise;
pub mod opened_as;
pub mod perf;
pub mod pidfd;
pub mod probe;
pub mod process;
pub mod procfs;
pub mod sched;
pub mod signals;
pub mod snapshot;
pub mod spawn;
pub mod stdio;
pub mod taskstats;
pub mod thread;
pub mod topology;
pub mod tree_guard;
pub mod uname;
pub mod wait;

pub use crate::error::{SysError, SysResult};
