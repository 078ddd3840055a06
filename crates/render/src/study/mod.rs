pub mod page;
pub mod terminal;
