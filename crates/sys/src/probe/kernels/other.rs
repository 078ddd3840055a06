//! CPUs for which no probes are written.

/// Why there are no probes on this machine.
pub fn missing() -> Option<String> {
    Some(format!("no probes are written for {}", std::env::consts::ARCH))
}

pub fn latency() {}

pub fn issue() {}

/// # Safety
/// None is needed.
pub unsafe fn loads(_: *const u64) {}

/// # Safety
/// None is needed.
pub unsafe fn stores(_: *mut u64) {}

pub fn branches(state: u64) -> u64 {
    state
}

pub fn system_calls() {}

/// # Safety
/// None is needed.
pub unsafe fn fetch(_: *const u64, _: u32) {}

/// # Safety
/// None is needed.
pub unsafe fn chase(from: *const u64, _: u32) -> *const u64 {
    from
}

/// # Safety
/// None is needed.
pub unsafe fn scatter(_: *const u64, _: u64, state: u64) -> u64 {
    state
}

pub extern "C" fn code() {}
