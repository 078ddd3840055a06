pub mod list;
pub mod machine;
pub mod progress;
