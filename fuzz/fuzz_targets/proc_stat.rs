//! The parsers of `/proc`, `/sys` and cgroup files: any bytes, no panic, and what they accept makes sense.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_sys::procfs;

fuzz_target!(|data: &[u8]| {
    if let Some(stat) = procfs::parse_stat(data) {
        // The name is what stands between the first and the last parenthesis, cut to what fits.
        let open = data.iter().position(|&b| b == b'(').expect("a parsed line has one");
        let close = data.iter().rposition(|&b| b == b')').expect("a parsed line has one");
        assert!(data[open + 1..close].starts_with(stat.comm.as_bytes()));
        // Must not overflow, however late the process began.
        let _ = stat.start();
    }
    let _ = procfs::parse_schedstat(data);
    let _ = procfs::parse_schedstat_waits(data);
    for line in procfs::parse_interrupts(data) {
        assert!(!line.label.contains(':') && line.label == line.label.trim());
    }
    if let Err(error) = procfs::parse_steal(data) {
        assert!(!error.to_string().chars().any(|c| c.is_control()), "an error message with control characters");
    }
    let _ = procfs::parse_cgroup2_mount(data);
    let _ = procfs::parse_own_cgroup2(data);
    for key in ["usage_usec", "user_usec", "populated"] {
        let _ = procfs::flat_keyed(data, key);
    }
    if let Some(cpus) = std::str::from_utf8(data).ok().and_then(procfs::parse_cpu_list) {
        assert!(cpus.is_sorted_by(|a, b| a < b), "CPUs in order, each once");
    }
});
