pub mod states;
pub mod terminal;
