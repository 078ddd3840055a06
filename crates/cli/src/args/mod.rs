//! Arguments that several commands share.

pub mod exports;
pub mod hints;
pub mod store;
pub mod style;
pub mod values;
