pub mod bench;
pub mod clocks;
pub(crate) mod said;
pub mod sheet;
