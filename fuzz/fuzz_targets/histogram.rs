//! The histogram that is stored with a measurement of noise: what is read can be printed, and takes no more memory than it needs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench::noise::histogram::{lines, read};

fuzz_target!(|data: &[u8]| {
    if let Ok(histogram) = read(data) {
        assert!(lines(&histogram, 0.5).ends_with('\n'));
    }
});
