//! System calls that a program sleeps in: their names, by architecture, and what sleeping in them means.

use serde::{Deserialize, Serialize};

/// Why a task sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asleep {
    /// For a file, a pipe, a socket, a disk.
    Io,
    /// For a lock or another thread.
    Locks,
    /// For time to pass, or a signal.
    Sleep,
    /// For any of several events.
    Events,
    /// For a child process.
    Children,
    /// For a page of its memory.
    Faults,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Created, and not yet made runnable.
    Created,
    /// The main thread has ended, others of its process have not.
    Ended,
    Other,
}

impl Asleep {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Asleep::Io => "I/O",
            Asleep::Locks => "locks",
            Asleep::Sleep => "sleep",
            Asleep::Events => "events",
            Asleep::Children => "children",
            Asleep::Faults => "page faults",
            Asleep::Stopped => "stopped",
            Asleep::Created => "creation",
            Asleep::Ended => "other threads' end",
            Asleep::Other => "other",
        }
    }
}

use Asleep::*;

/// The calls that sleep for something known, by name on either architecture.
const CALLS: &[(Asleep, &[&str])] = &[
    (
        Io,
        &[
            "read",
            "write",
            "open",
            "close",
            "stat",
            "ioctl",
            "pread64",
            "pwrite64",
            "readv",
            "writev",
            "msync",
            "sendfile",
            "connect",
            "accept",
            "sendto",
            "recvfrom",
            "sendmsg",
            "recvmsg",
            "execve",
            "msgsnd",
            "msgrcv",
            "fsync",
            "fdatasync",
            "ftruncate",
            "getdents64",
            "rename",
            "mkdir",
            "unlink",
            "sync",
            "mount",
            "io_getevents",
            "openat",
            "mkdirat",
            "newfstatat",
            "unlinkat",
            "splice",
            "sync_file_range",
            "fallocate",
            "accept4",
            "preadv",
            "pwritev",
            "recvmmsg",
            "syncfs",
            "sendmmsg",
            "finit_module",
            "renameat2",
            "execveat",
            "copy_file_range",
            "statx",
            "io_uring_enter",
            "openat2",
            "fstatat",
        ],
    ),
    (Locks, &["semop", "fcntl", "flock", "futex", "semtimedop", "membarrier", "futex_waitv", "futex_wait"]),
    (Sleep, &["pause", "nanosleep", "rt_sigtimedwait", "rt_sigsuspend", "clock_nanosleep"]),
    (Events, &["poll", "select", "epoll_wait", "pselect6", "ppoll", "epoll_pwait", "epoll_pwait2"]),
    (Children, &["clone", "fork", "vfork", "wait4", "waitid", "clone3"]),
    (Faults, &["mmap", "munmap", "brk", "madvise"]),
];

/// Those that are no system calls.
const SPECIAL: &[(&str, Asleep)] = &[
    ("page fault", Faults),
    ("disk", Io),
    ("stopped", Stopped),
    ("created", Created),
    ("main thread ended", Ended),
    ("other call", Other),
];

/// The name of a system call on an architecture (as `uname -m` says it); `call N` where it is not known.
pub fn call_name(architecture: &str, number: u16) -> String {
    let number = usize::from(number);
    let name = match architecture {
        "x86_64" => syscalls::x86_64::Sysno::new(number).map(|c| c.name()),
        "aarch64" => syscalls::aarch64::Sysno::new(number).map(|c| c.name()),
        _ => None,
    };
    name.map_or_else(|| format!("call {number}"), str::to_owned)
}

/// What sleeping in a call means, by the names that [`call_name`] gives and those for what is no call.
pub fn asleep(call: &str) -> Asleep {
    let special = SPECIAL.iter().find(|s| s.0 == call).map(|s| s.1);
    special.or_else(|| CALLS.iter().find(|(_, names)| names.contains(&call)).map(|c| c.0)).unwrap_or(Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_architecture_s_names() {
        assert_eq!(call_name("x86_64", 230), "clock_nanosleep");
        assert_eq!(call_name("aarch64", 115), "clock_nanosleep");
        assert_eq!(call_name("x86_64", 0), "read");
        assert_eq!(call_name("aarch64", 63), "read");
        assert_eq!(call_name("x86_64", 400), "call 400");
        assert_eq!(call_name("aarch64", u16::MAX), format!("call {}", u16::MAX));
        assert_eq!(call_name("riscv64", 63), "call 63");
    }

    #[test]
    fn kinds_are_of_calls_that_there_are() {
        assert_eq!((asleep("futex"), asleep("page fault"), asleep("call 400")), (Locks, Faults, Other));
        let names = |architecture| (0..1024).map(move |n| call_name(architecture, n));
        let known: Vec<String> = names("x86_64").chain(names("aarch64")).collect();
        let all: Vec<&str> = CALLS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for (i, name) in all.iter().enumerate() {
            assert!(known.iter().any(|k| k == name), "{name}");
            assert!(!all[i + 1..].contains(name), "{name} stands twice");
        }
    }
}
