//! CPUs for which no probes are written.

use super::ProbeCode;

/// Why there are no probes on this machine.
pub fn missing() -> Option<String> {
    Some(format!("no probes are written for {}", std::env::consts::ARCH))
}

pub extern "C" fn all() -> ProbeCode {
    ProbeCode { start: std::ptr::null(), end: std::ptr::null() }
}
