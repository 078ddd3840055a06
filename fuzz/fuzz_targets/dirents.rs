//! The parser of `getdents64` buffers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_sys::snapshot::parse_dirents;

fuzz_target!(|data: &[u8]| {
    let mut pids = Vec::new();
    parse_dirents(data, &mut pids);
    assert!(pids.iter().all(|&pid| pid >= 0));
    // A record has at least 20 bytes.
    assert!(pids.len() <= data.len() / 20);
});
