//! Stored results: list, show, report, export, import, push, pull, rm, resume.

pub mod export;
pub mod kinds;
pub mod list;
pub mod push;
pub mod report;
pub mod resume;
pub mod rm;
pub mod show;
