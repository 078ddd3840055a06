//! Units, readings that may be absent, names as the kernel gives them.

pub mod name;
pub mod reading;
pub mod units;
