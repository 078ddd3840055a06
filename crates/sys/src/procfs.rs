//! Parsers of `/proc` files: bytes in, no allocation where many processes are read, any name accepted.

use crate::{SysError, SysResult};
use std::path::Path;
use tarebench_core::base::units::Nanos;

/// The kernel's USER_HZ: the unit of times in `/proc/PID/stat`, 100 on all of tare's architectures.
pub const USER_HZ: i64 = 100;

/// A command name as `/proc/PID/stat` gives it: at most 63 bytes (15 for user processes).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Comm {
    len: u8,
    bytes: [u8; 63],
}

impl Comm {
    /// From bytes; what goes beyond 63 is cut.
    pub fn new(name: &[u8]) -> Comm {
        let len = name.len().min(63);
        let mut bytes = [0; 63];
        bytes[..len].copy_from_slice(&name[..len]);
        Comm { len: len as u8, bytes }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// What tare uses of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    /// Command name, which may hold anything, parentheses and newlines too.
    pub comm: Comm,
    pub state: u8,
    pub ppid: i32,
    pub pgrp: i32,
    pub session: i32,
    pub kernel_thread: bool,
    /// Start time since boot, in units of 1 / USER_HZ s.
    pub start_ticks: u64,
}

impl Stat {
    /// Whether it has ended. Where nobody reaps it, as the first process of many containers, it stays in the table.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// Start time since boot.
    pub fn start(&self) -> Nanos {
        Nanos((self.start_ticks as i64).saturating_mul(1_000_000_000 / USER_HZ))
    }
}

const PF_KTHREAD: u64 = 0x0020_0000;

/// Parses the content of `/proc/PID/stat`.
///
/// The name stands between the first `(` and the *last* `)`, as proc(5) implies.
pub fn parse_stat(data: &[u8]) -> Option<Stat> {
    let open = data.iter().position(|&b| b == b'(')?;
    let close = data.iter().rposition(|&b| b == b')')?;
    let pid = parse_int(data.get(..open)?.strip_suffix(b" ")?)?;
    let comm = Comm::new(data.get(open + 1..close)?);
    // Fields 3 (state), 4 (ppid), 5 (pgrp), 6 (session), 9 (flags), 22 (starttime) of proc(5).
    let mut fields = data.get(close + 1..)?.split(|&b| b == b' ' || b == b'\n').filter(|f| !f.is_empty());
    let state = *fields.next()?.first()?;
    let ppid = parse_int(fields.next()?)?;
    let pgrp = parse_int(fields.next()?)?;
    let session = parse_int(fields.next()?)?;
    let flags = parse_int::<u64>(fields.nth(2)?)?;
    let start_ticks = parse_int(fields.nth(12)?)?;
    Some(Stat { pid, comm, state, ppid, pgrp, session, kernel_thread: flags & PF_KTHREAD != 0, start_ticks })
}

/// Parses a decimal integer that fills the whole slice.
pub fn parse_int<T: std::str::FromStr>(data: &[u8]) -> Option<T> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

/// First field of `/proc/PID/task/TID/schedstat`: time on a CPU, ns.
pub fn parse_schedstat(data: &[u8]) -> Option<Nanos> {
    parse_int(data.split(|&b| b == b' ').next()?).map(Nanos)
}

/// `schedstat`: time on a CPU, and time runnable without one, ns.
pub fn parse_schedstat_waits(data: &[u8]) -> Option<(Nanos, Nanos)> {
    let mut fields = data.split(|b| b.is_ascii_whitespace()).filter(|f| !f.is_empty()).map(parse_int);
    Some((Nanos(fields.next()??), Nanos(fields.next()??)))
}

/// A line of `/proc/interrupts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptLine {
    /// Its label: a number, or a word such as `LOC`.
    pub label: String,
    /// What handles it, or what it is for: the last word of the line for a number, all words for a label.
    pub what: String,
    /// How many so far, over all CPUs.
    pub count: u64,
}

/// The lines of `/proc/interrupts`; those that are not understood are omitted.
pub fn parse_interrupts(data: &[u8]) -> Vec<InterruptLine> {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |head| head.split_whitespace().filter(|w| w.starts_with("CPU")).count());
    let parse_line = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let label = label.trim().to_owned();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words.iter().take(cpus).map_while(|w| w.parse::<u64>().ok());
        let (n, count) = counts.fold((0, 0_u64), |(n, sum), c| (n + 1, sum.saturating_add(c)));
        let words = words.get(n..).unwrap_or_default();
        let what = match label.parse::<u32>() {
            Ok(_) => words.last().copied().unwrap_or_default().to_owned(),
            Err(_) => words.join(" "),
        };
        (n > 0).then_some(InterruptLine { label, what, count })
    };
    lines.filter_map(parse_line).collect()
}

/// User time of one CPU without that of nice processes, counted at timer interrupts, from its line of `/proc/stat`; tick
/// resolution.
pub fn parse_cpu_user(data: &[u8], cpu: u32) -> Option<Nanos> {
    let name = format!("cpu{cpu} ");
    let line = data.split(|&b| b == b'\n').find_map(|l| l.strip_prefix(name.as_bytes()))?;
    let ticks: i64 = parse_int(line.split(|&b| b == b' ').find(|f| !f.is_empty())?)?;
    Some(Nanos(ticks.saturating_mul(1_000_000_000 / USER_HZ)))
}

/// Steal time of all CPUs together, from the first line of `/proc/stat` (field 8), tick resolution.
///
/// # Errors
/// If the line is not there or the kernel is too old to have the field.
pub fn parse_steal(data: &[u8]) -> SysResult<Nanos> {
    steal_of_line(data, b"cpu ")
}

/// The same of one CPU.
///
/// # Errors
/// If the CPU has no line of the expected format.
pub fn parse_steal_of(data: &[u8], cpu: u32) -> SysResult<Nanos> {
    steal_of_line(data, format!("cpu{cpu} ").as_bytes())
}

fn steal_of_line(data: &[u8], prefix: &[u8]) -> SysResult<Nanos> {
    let bad = || SysError::format("/proc/stat", "a line `cpu` with at least 8 numbers", data);
    let line = data.split(|&b| b == b'\n').find_map(|l| l.strip_prefix(prefix)).ok_or_else(bad)?;
    let field = line.split(|&b| b == b' ').filter(|f| !f.is_empty()).nth(7).ok_or_else(bad)?;
    let ticks: i64 = parse_int(field).ok_or_else(bad)?;
    Ok(Nanos(ticks.saturating_mul(1_000_000_000 / USER_HZ)))
}

/// Tasks of the machine that run or are ready to, the reader included, from `/proc/loadavg` (field 4).
///
/// # Errors
/// If the field is not there.
pub fn parse_running(data: &[u8]) -> SysResult<u64> {
    let bad = || SysError::format("/proc/loadavg", "`running/all` as its fourth field", data);
    let field = data.split(|&b| b == b' ').nth(3).and_then(|f| f.split(|&b| b == b'/').next()).ok_or_else(bad)?;
    parse_int(field).ok_or_else(bad)
}

/// Where the cgroup v2 hierarchy is mounted, from `/proc/self/mountinfo`.
pub fn parse_cgroup2_mount(mountinfo: &[u8]) -> Option<Vec<u8>> {
    mountinfo.split(|&b| b == b'\n').find_map(|line| {
        let text = line.split(|&b| b == b' ').collect::<Vec<_>>();
        let dash = text.iter().position(|f| *f == b"-")?;
        (text.get(dash + 1)? == b"cgroup2").then(|| unescape_octal(text.get(4).copied().unwrap_or_default()))
    })
}

/// Where the cgroup v1 hierarchy with this controller is mounted, from `/proc/self/mountinfo`, after which of its cgroups is mounted
/// there.
pub fn parse_cgroup1_mount(mountinfo: &[u8], controller: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    mountinfo.split(|&b| b == b'\n').find_map(|line| {
        let text = line.split(|&b| b == b' ').collect::<Vec<_>>();
        let dash = text.iter().position(|f| *f == b"-")?;
        let controllers = text.get(dash + 3).filter(|_| text.get(dash + 1).is_some_and(|kind| *kind == b"cgroup"))?;
        let field = |i: usize| unescape_octal(text.get(i).copied().unwrap_or_default());
        controllers.split(|&b| b == b',').any(|c| c == controller.as_bytes()).then(|| (field(3), field(4)))
    })
}

/// Mount points hold `\040` for a space and the like.
fn unescape_octal(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut i = 0;
    while i < field.len() {
        let octal = field
            .get(i + 1..i + 4)
            .filter(|_| field[i] == b'\\')
            .and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        match octal {
            Some(b) => {
                out.push(b);
                i += 4;
            }
            None => {
                out.push(field[i]);
                i += 1;
            }
        }
    }
    out
}

/// Path of the process in the v2 hierarchy, from `/proc/self/cgroup` (`0::/path`).
pub fn parse_own_cgroup2(cgroup: &[u8]) -> Option<Vec<u8>> {
    cgroup.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"0::")).map(<[u8]>::to_vec)
}

/// Path of the process in the v1 hierarchy with this controller, from `/proc/self/cgroup` (`4:cpu,cpuacct:/path`).
pub fn parse_own_cgroup1(cgroup: &[u8], controller: &str) -> Option<Vec<u8>> {
    cgroup.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.splitn(3, |b| *b == b':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers.split(|b| *b == b',').any(|c| c == controller.as_bytes()).then(|| path.to_vec())
    })
}

/// Value of a key in a flat keyed file such as `cpu.stat` or `cgroup.events`.
pub fn flat_keyed(data: &[u8], key: &str) -> Option<u64> {
    data.split(|&b| b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(key.as_bytes())?.strip_prefix(b" ")?;
        parse_int(rest)
    })
}

/// Parses a list of CPUs such as `0-3,8,10-11`, as sysfs writes and `--cpus` takes it.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    // More CPUs than any machine has would only use up memory.
    const MOST: u32 = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b): (u32, u32) = (a.trim().parse().ok()?, b.trim().parse().ok()?);
        if a > b || b >= MOST || cpus.len() > 2 * MOST as usize {
            return None;
        }
        cpus.extend(a..=b);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Reads a whole small file below a root folder.
///
/// # Errors
/// With the path that was tried.
pub fn read_below(root: &Path, path: &str) -> SysResult<Vec<u8>> {
    let full = root.join(path.trim_start_matches('/'));
    std::fs::read(&full).map_err(|e| SysError::io(format!("read {}", full.display()), e))
}

/// Reads a small text file below a root folder, trimmed.
///
/// # Errors
/// With the path that was tried.
pub fn read_text_below(root: &Path, path: &str) -> SysResult<String> {
    read_below(root, path).map(|d| String::from_utf8_lossy(&d).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn running_tasks() {
        assert_eq!(parse_running(b"0.10 0.20 0.30 2/200 1234\n").unwrap(), 2);
        for bad in [&b""[..], b"0.10 0.20 0.30", b"a b c d"] {
            assert!(parse_running(bad).is_err());
        }
    }

    #[test]
    fn interrupts_are_summed_over_cpus_and_named() {
        let text = b"           CPU0       CPU1       \n  24:          1          2  IO-APIC   5-edge      ACPI:Ged\n \
            LOC:    20738    17482   Local timer interrupts\n ERR:          7\n junk\n XYZ: a b\n";
        let all = parse_interrupts(text);
        let got: Vec<_> = all.iter().map(|i| (i.label.as_str(), i.what.as_str(), i.count)).collect();
        assert_eq!(got, [("24", "ACPI:Ged", 3), ("LOC", "Local timer interrupts", 38220), ("ERR", "", 7)]);
        assert_eq!(parse_schedstat_waits(b"1852007 1119845 2\n"), Some((Nanos(1_852_007), Nanos(1_119_845))));
        assert_eq!(parse_schedstat_waits(b"1852007"), None);
    }

    const REAL: &[u8] = b"1331 (cat) R 1322 1322 1348 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 99028 3133440 388 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn reads_a_real_line() {
        let s = parse_stat(REAL).unwrap();
        assert_eq!((s.pid, s.ppid, s.start_ticks, s.state), (1331, 1322, 99028, b'R'));
        assert_eq!((s.pgrp, s.session), (1322, 1348));
        assert_eq!(s.comm.as_bytes(), b"cat");
        assert!(!s.kernel_thread);
        assert_eq!(s.start(), Nanos(990_280_000_000));
    }

    #[test]
    fn kernel_threads_are_known_by_their_flag() {
        let s = parse_stat(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0").unwrap();
        assert!(s.kernel_thread);
    }

    #[test]
    fn user_time_of_a_cpu() {
        let text = b"cpu  9 8 7\ncpu1 12 3 4 5\ncpu11 99 3\n";
        assert_eq!(
            [1, 11, 0].map(|c| parse_cpu_user(text, c)),
            [Some(Nanos(120_000_000)), Some(Nanos(990_000_000)), None]
        );
    }

    #[test]
    fn own_file_parses() {
        let s = parse_stat(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert_eq!(s.pid, std::process::id() as i32);
    }

    #[test]
    fn cgroup_and_mounts() {
        let mounts = b"25 1 0:23 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n40 25 0:39 / /sys/fs/a\\040b rw,relatime shared:1 - cgroup2 cgroup2 rw\n";
        assert_eq!(parse_cgroup2_mount(mounts).unwrap(), b"/sys/fs/a b");
        assert_eq!(parse_own_cgroup2(b"9:name=systemd:/\n0::/user.slice/x\n").unwrap(), b"/user.slice/x");
        assert_eq!(flat_keyed(b"usage_usec 12\nuser_usec 7\n", "user_usec"), Some(7));
        assert_eq!(flat_keyed(b"usage_usec 12\n", "usage"), None);
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpu_list("0-2,5, 7-7\n").unwrap(), [0, 1, 2, 5, 7]);
        assert_eq!(parse_cpu_list("").unwrap(), Vec::<u32>::new());
        for bad in ["3-1", "x", "1-", "0-4294967295"] {
            assert_eq!(parse_cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn steal_of_a_real_line_and_of_an_old_kernel() {
        assert_eq!(parse_steal(b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n").unwrap(), Nanos::from_millis(80));
        assert!(parse_steal(b"cpu  1 2 3 4 5 6 7\n").is_err());
        assert!(parse_steal(b"").is_err());
    }

    proptest! {
        #[test]
        fn any_name_is_read_back(name in proptest::collection::vec(any::<u8>(), 0..15)) {
            let mut line = b"7 (".to_vec();
            line.extend(&name);
            line.extend(b") S 1 7 7 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 42 0 0\n");
            let s = parse_stat(&line).unwrap();
            prop_assert_eq!(s.comm.as_bytes(), &name[..]);
            prop_assert_eq!((s.pid, s.ppid, s.start_ticks), (7, 1, 42));
        }

        #[test]
        fn garbage_never_panics(data in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (parse_stat(&data), parse_schedstat(&data), parse_steal(&data).is_ok());
            let _ = (parse_schedstat_waits(&data), parse_interrupts(&data));
            let _ = (parse_cgroup2_mount(&data), parse_own_cgroup2(&data), flat_keyed(&data, "usage_usec"));
            let _ = (parse_cgroup1_mount(&data, "cpu"), parse_own_cgroup1(&data, "cpu"));
            let _ = parse_cpu_list(&String::from_utf8_lossy(&data));
        }
    }
}
