//! One program against another.

pub mod ratio;
