//! The journal of a tuned machine: any text, and lines with a valid checksum around any record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::hash::fnv64;
use tarebench_host::journal::read;

/// A record with its checksum, as tare writes it; other lines as they are.
fn sealed(line: &str) -> String {
    match line.strip_prefix('{') {
        Some(rest) if !line.starts_with("{\"sum\"") => {
            format!("{{\"sum\":\"{:016x}\",{rest}\n", fnv64(line.as_bytes()))
        }
        _ => format!("{line}\n"),
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for text in [text.to_string(), text.lines().map(sealed).collect()] {
        let found = read(&text);
        let lines = text.lines().count();
        assert!(found.changes.len() <= lines);
        assert!(
            found.damaged.is_sorted_by(|a, b| a < b) && found.damaged.iter().all(|l| (1..=lines.max(1)).contains(l))
        );
        assert!(found.header.is_some() || !found.damaged.is_empty(), "a journal without a first line is damaged");
    }
});
