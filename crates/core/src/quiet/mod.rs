//! The quiet machine's time: what a program takes while nothing else uses its core, from probes that ran beside it.
//!
//! The papers discard samples that a daemon spoiled (EMPv5) and fix the clock (EMPv3). On a shared machine neither is possible, but the
//! state can be measured while the program runs ([`crate::sample::probes`]), waited for (the gate), and regressed out.

pub mod correction;
#[cfg(test)]
mod correction_tests;
pub mod data;
pub mod features;
pub mod knowledge;
mod learning;
#[cfg(test)]
mod learning_tests;
pub mod levels;
pub mod prior;
mod regression;
#[cfg(test)]
mod simulation;
