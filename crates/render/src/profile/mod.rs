pub mod account;
pub mod doubts;
pub(crate) mod effect;
pub mod page;
pub mod terminal;
