pub mod csv;
#[cfg(test)]
mod fixtures;
pub mod hyperfine;
pub mod json;
pub mod markup;
pub mod overview;
pub mod page;
pub mod progress;
pub mod protocol;
pub mod remarks;
pub mod self_check;
pub mod terminal;
#[cfg(test)]
mod tests;
