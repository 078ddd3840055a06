pub mod list;
pub mod machine;
