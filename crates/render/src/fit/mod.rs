//! How a program's time grows with its size: a sheet, a figure, JSON.

pub mod json;
pub mod said;
pub mod sheet;
