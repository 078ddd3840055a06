pub mod activity;
pub mod book;
pub mod figures;
pub(crate) mod said;
pub mod sheet;
pub(crate) mod timeline;
