//! The work of the probes, exactly fixed and in assembly, 0.3 to 5 µs each on current cores. One file for each architecture, so that
//! it can be read beside the manual.

#[cfg(target_arch = "aarch64")]
#[path = "kernels/aarch64.rs"]
mod arch;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "kernels/other.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "kernels/x86_64.rs"]
mod arch;

pub use arch::{branches, chase, code, fetch, issue, latency, loads, missing, scatter, stores, system_calls};
