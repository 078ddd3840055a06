pub mod bsp;
pub mod figures;
pub mod page;
pub mod platform;
pub mod question;
pub mod several;
pub mod tables;
pub mod terminal;
