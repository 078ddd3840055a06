//! The measured machine.

pub mod conditions;
pub mod data;
pub mod differences;
#[cfg(test)]
pub(crate) mod test_host;
