pub mod figures;
pub mod page;
pub mod terminal;
