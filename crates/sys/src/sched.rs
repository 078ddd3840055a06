//! Scheduling policies by the kernel's own calls: the functions of these names in the C library musl always fail.

use libc::{c_int, c_long};

/// The kernel's `struct sched_param`. That of musl has more fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SchedParam {
    priority: c_int,
}

/// Policy and priority of a thread.
#[derive(Clone, Copy, Debug)]
pub struct SchedPolicy {
    policy: c_int,
    param: SchedParam,
}

impl SchedPolicy {
    /// SCHED_FIFO with a priority from 1 (lowest) to 99.
    pub const fn fifo(priority: u8) -> SchedPolicy {
        SchedPolicy { policy: libc::SCHED_FIFO, param: SchedParam { priority: priority as c_int } }
    }

    /// That of the calling thread; `None` with the reason in `errno`.
    pub fn of_this_thread() -> Option<SchedPolicy> {
        let policy = policy_of(0);
        let mut param = SchedParam { priority: 0 };
        // SAFETY: the kernel writes one int.
        let got = unsafe { libc::syscall(libc::SYS_sched_getparam, 0 as c_long, &raw mut param) };
        (policy >= 0 && got == 0).then_some(SchedPolicy { policy, param })
    }

    /// Gives it to the calling thread: 0, or -1 with the reason in `errno`. May be called between fork and exec: one system call.
    pub fn set(&self) -> c_int {
        // SAFETY: the kernel reads one int.
        let set = unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, 0 as c_long, c_long::from(self.policy), &raw const self.param)
        };
        if set == 0 { 0 } else { -1 }
    }
}

/// Policy of a thread, 0 for the calling one: `libc::SCHED_OTHER`, …; -1 with the reason in `errno`.
pub fn policy_of(tid: c_int) -> c_int {
    // SAFETY: no memory involved.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, c_long::from(tid)) };
    c_int::try_from(policy).unwrap_or(-1)
}
