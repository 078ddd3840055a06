//! How a program's time grows with its size: the terminal, a figure, JSON.

pub mod figure;
pub mod json;
pub mod plot;
pub mod said;
pub mod terminal;
