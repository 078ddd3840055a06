pub mod html;
pub mod page;
