pub mod bsp;
pub mod figures;
pub mod page;
pub mod tables;
pub mod terminal;
