//! Units, dates, hashes, readings that may be absent, names as the kernel gives them, hints.

pub mod date;
pub mod hash;
pub mod hint;
pub mod name;
pub mod reading;
pub mod signal;
pub mod units;
pub mod written;
