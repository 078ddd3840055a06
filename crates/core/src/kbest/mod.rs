//! K-best measurements of pieces of code, and the clocks they use (CS:APP chapter 9).

pub mod bench;
pub mod clock_choice;
pub mod clocks;
pub mod interval_counting;
pub mod report;
pub mod scheme;
pub mod timing;
