pub(crate) mod account;
pub mod commands;
pub(crate) mod counters;
pub mod csv;
pub(crate) mod csv_cells;
pub mod duet_csv;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod hints;
pub mod hyperfine;
mod intervals;
pub mod json;
pub mod markup;
pub(crate) mod metrics;
pub(crate) mod plot;
pub(crate) mod program;
pub mod protocol;
pub(crate) mod quiet;
pub(crate) mod quiet_csv;
#[cfg(test)]
pub(crate) mod quiet_fixtures;
pub(crate) mod quiet_page;
pub mod remarks;
pub mod self_check;
pub mod sheet;
pub mod terminal;
#[cfg(test)]
mod tests;
