pub mod doubts;
pub mod page;
pub mod terminal;
