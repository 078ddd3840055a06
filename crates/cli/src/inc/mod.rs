//! INC and the other reference programs.

pub mod command;
pub mod work;
