//! `tare study`: the papers' studies on this machine.

pub mod cells;
pub mod command;
pub mod compare;
pub mod kind;
pub mod list;
pub mod resume;
pub mod samples;
pub mod stored;
