pub(crate) mod account;
pub mod doubts;
pub(crate) mod effect;
pub(crate) mod plots;
pub mod said;
pub mod sheet;
