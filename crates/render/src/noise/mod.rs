pub mod bsp;
pub mod figures;
pub mod json;
pub mod platform;
pub mod question;
pub(crate) mod said;
pub mod several;
pub mod sheet;
