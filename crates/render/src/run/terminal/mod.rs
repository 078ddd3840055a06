pub mod account;
pub mod compare;
pub mod conditions;
pub mod discards;
pub mod program;
pub mod report;
pub mod words;
