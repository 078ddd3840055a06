//! Suite files of studies: read, or refused in one sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tarebench_papers::measure::suite_file::parse;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse(text, Path::new("suite.toml")) {
        Ok(suite) => drop(suite.installed()),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
});
