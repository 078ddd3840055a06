//! Suite files: read, or refused in one sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tarebench::suite::of_text;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(e) = of_text(text, Path::new("suite.toml")) {
        let said = e.to_string();
        assert!(!said.contains('\n'), "{said}");
    }
});
