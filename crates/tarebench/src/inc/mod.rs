pub mod calibration;
pub mod workload;
