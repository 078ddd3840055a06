//! The machine's state: what it is, whether steps v1 to v4 of the protocol hold, and how to change it temporarily.
//!
//! Every reader takes a root folder, so that other machines can be laid out as files. [`tune::tune`] records the old
//! values before it changes anything ([`journal`]); [`restore::restore`] restores exactly those.

pub mod access;
mod coupled;
pub mod factors;
mod folder;
pub mod freeze;
pub mod host;
mod init_script;
pub mod journal;
pub mod protect;
pub mod restore;
pub mod setting;
pub mod state;
mod targets;
pub mod tick;
pub mod tune;
pub mod units;
