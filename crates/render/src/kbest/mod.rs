pub mod bench;
pub mod clocks;
pub mod markup;
pub mod page;
