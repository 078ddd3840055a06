//! INC and the other reference programs of the papers, and the calibration of INC.

pub mod calibration;
pub mod workload;
