//! Suite files of gates: read, or refused in one sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_cli::api::check_gate_suite;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(failure) = check_gate_suite(text) {
        assert!(!failure.message.contains('\n'), "{}", failure.message);
    }
});
