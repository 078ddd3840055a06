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
    /// In another call.
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

/// Name, kind, number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) and on aarch64
/// (include/uapi/asm-generic/unistd.h); `NONE` where the architecture does not have it.
const CALLS: &[(&str, Asleep, u16, u16)] = &[
    ("read", Io, 0, 63),
    ("write", Io, 1, 64),
    ("open", Io, 2, NONE),
    ("close", Io, 3, 57),
    ("stat", Io, 4, NONE),
    ("poll", Events, 7, NONE),
    ("mmap", Faults, 9, 222),
    ("munmap", Faults, 11, 215),
    ("brk", Faults, 12, 214),
    ("ioctl", Io, 16, 29),
    ("pread64", Io, 17, 67),
    ("pwrite64", Io, 18, 68),
    ("readv", Io, 19, 65),
    ("writev", Io, 20, 66),
    ("select", Events, 23, NONE),
    ("msync", Io, 26, 227),
    ("madvise", Faults, 28, 233),
    ("pause", Sleep, 34, NONE),
    ("nanosleep", Sleep, 35, 101),
    ("sendfile", Io, 40, 71),
    ("connect", Io, 42, 203),
    ("accept", Io, 43, 202),
    ("sendto", Io, 44, 206),
    ("recvfrom", Io, 45, 207),
    ("sendmsg", Io, 46, 211),
    ("recvmsg", Io, 47, 212),
    ("clone", Children, 56, 220),
    ("fork", Children, 57, NONE),
    ("vfork", Children, 58, NONE),
    ("execve", Io, 59, 221),
    ("exit", Other, 60, 93),
    ("wait4", Children, 61, 260),
    ("semop", Locks, 65, 193),
    ("msgsnd", Io, 69, 189),
    ("msgrcv", Io, 70, 188),
    ("fcntl", Locks, 72, 25),
    ("flock", Locks, 73, 32),
    ("fsync", Io, 74, 82),
    ("fdatasync", Io, 75, 83),
    ("ftruncate", Io, 77, 46),
    ("getdents64", Io, 217, 61),
    ("rename", Io, 82, NONE),
    ("mkdir", Io, 83, NONE),
    ("unlink", Io, 87, NONE),
    ("rt_sigtimedwait", Sleep, 128, 137),
    ("rt_sigsuspend", Sleep, 130, 133),
    ("sync", Io, 162, 81),
    ("mount", Io, 165, 40),
    ("futex", Locks, 202, 98),
    ("io_getevents", Io, 208, 4),
    ("semtimedop", Locks, 220, 192),
    ("clock_nanosleep", Sleep, 230, 115),
    ("exit_group", Other, 231, 94),
    ("epoll_wait", Events, 232, NONE),
    ("waitid", Children, 247, 95),
    ("openat", Io, 257, 56),
    ("mkdirat", Io, 258, 34),
    ("newfstatat", Io, 262, 79),
    ("unlinkat", Io, 263, 35),
    ("pselect6", Events, 270, 72),
    ("ppoll", Events, 271, 73),
    ("splice", Io, 275, 76),
    ("sync_file_range", Io, 277, 84),
    ("fallocate", Io, 285, 47),
    ("epoll_pwait", Events, 281, 22),
    ("accept4", Io, 288, 242),
    ("preadv", Io, 295, 69),
    ("pwritev", Io, 296, 70),
    ("recvmmsg", Io, 299, 243),
    ("syncfs", Io, 306, 267),
    ("sendmmsg", Io, 307, 269),
    ("finit_module", Io, 313, 273),
    ("renameat2", Io, 316, 276),
    ("execveat", Io, 322, 281),
    ("membarrier", Locks, 324, 283),
    ("copy_file_range", Io, 326, 285),
    ("statx", Io, 332, 291),
    ("io_uring_enter", Io, 426, 426),
    ("clone3", Children, 435, 435),
    ("openat2", Io, 437, 437),
    ("epoll_pwait2", Events, 441, 441),
    ("futex_waitv", Locks, 449, 449),
    ("futex_wait", Locks, 455, 455),
];
const NONE: u16 = u16::MAX;

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
    let number_of = |c: &(&str, Asleep, u16, u16)| if architecture == "aarch64" { c.3 } else { c.2 };
    let known = CALLS.iter().find(|c| number != NONE && number_of(c) == number);
    known.map_or_else(|| format!("call {number}"), |c| c.0.to_owned())
}

/// What sleeping in a call means, by the names that [`call_name`] gives and those for what is no call.
pub fn asleep(call: &str) -> Asleep {
    let special = SPECIAL.iter().find(|s| s.0 == call).map(|s| s.1);
    special.or_else(|| CALLS.iter().find(|c| c.0 == call).map(|c| c.1)).unwrap_or(Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_kinds_agree() {
        assert_eq!(call_name("x86_64", 230), "clock_nanosleep");
        assert_eq!(call_name("aarch64", 115), "clock_nanosleep");
        assert_eq!(call_name("x86_64", 400), "call 400");
        assert_eq!(call_name("aarch64", NONE), format!("call {NONE}"));
        assert_eq!((asleep("futex"), asleep("page fault"), asleep("call 400")), (Locks, Faults, Other));
        for (i, a) in CALLS.iter().enumerate() {
            for b in &CALLS[i + 1..] {
                assert!(a.0 != b.0 && a.2.min(a.3) != NONE, "{a:?}");
                assert!(a.2 == NONE || a.2 != b.2, "{a:?} {b:?}");
                assert!(a.3 == NONE || a.3 != b.3, "{a:?} {b:?}");
            }
        }
    }
}
