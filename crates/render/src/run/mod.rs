pub mod commands;
pub mod csv;
pub mod duet_csv;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod hyperfine;
pub mod json;
pub mod markup;
pub(crate) mod metrics;
pub mod page;
pub mod protocol;
pub mod remarks;
pub mod self_check;
pub mod terminal;
#[cfg(test)]
mod tests;
