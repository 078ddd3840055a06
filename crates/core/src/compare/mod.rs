//! One program against another.

pub mod duet;
pub mod ratio;
