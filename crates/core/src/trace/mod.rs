//! Activity of a process and of the kernel on a time line (CS:APP 9.1).

pub mod activity;
pub mod explained;
pub mod ticks;
pub mod timeline;
