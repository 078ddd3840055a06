//! Operating-system noise (ICS'05): measurements, model, predictions for jobs on n nodes.

pub mod attribution;
pub mod blob;
pub mod bootstrap;
pub mod bsp;
pub mod bsp_report;
pub mod calibration;
pub mod cdf;
pub mod data;
pub mod detour;
pub mod empirical;
pub mod files;
pub mod model;
pub mod node;
pub mod phase;
pub mod prediction;
pub mod proportion;
pub mod question;
pub mod report;
pub mod subtraction;
pub mod tail;
pub mod undisturbed;
