pub mod added;
pub mod brief;
pub mod failed;
pub mod lines;
pub(crate) mod quiet;
pub mod report;
pub(crate) mod warnings;
