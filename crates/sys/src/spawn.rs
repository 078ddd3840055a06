//! Starting a program: a vfork-class clone3(2) that does only what was asked.
//!
//! glibc's posix_spawn cannot place a child in a cgroup (before 2.39), set CPUs or give a pidfd, and resets every signal
//! one by one; tare's own clone is faster and does all of it. The child shares the parent's memory and the
//! parent sleeps until the exec, as with vfork; the child runs on a separate stack and makes only raw system calls.

use crate::arguments::{LONGEST_ARGUMENT, argument_bytes, argument_limit};
use crate::cpu::{self, CpuSet};
use crate::sched::SchedPolicy;
use crate::signals::Signals;
use crate::{SysError, SysResult};
use std::ffi::{CString, c_char, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Scheduling to give to the program.
#[derive(Clone, Copy, Debug)]
pub enum Scheduling {
    /// SCHED_FIFO with this priority.
    Fifo(u8),
    /// SCHED_OTHER with this nice value.
    Nice(i8),
}

/// A user to become.
#[derive(Clone, Debug)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub name: Vec<u8>,
    pub home: Vec<u8>,
    pub shell: Vec<u8>,
    /// Set-user-ID programs and file capabilities keep their effect (PR_SET_NO_NEW_PRIVS is not set).
    pub new_privileges: bool,
}

/// Everything about a start that is the same for all samples, in the form that the kernel needs.
pub struct Launch {
    program: CString,
    argv: ArgumentStrings,
    envp: ArgumentStrings,
    /// For a script without `#!`: `/bin/sh program args…`, as execvp does.
    sh_argv: ArgumentStrings,
    cwd: Option<CString>,
    stdio: [Option<OwnedFd>; 3],
    cpus: Option<CpuSet>,
    here: Option<OwnCpu>,
    scheduling: Option<Scheduling>,
    identity: Option<Identity>,
    own_group: bool,
    die_with_parent: bool,
}

/// A thread that is confined to its CPU until the exec, and the CPUs that it had before.
#[derive(Clone, Copy)]
struct OwnCpu {
    before: CpuSet,
    thread: libc::pid_t,
}

/// A NULL-terminated array of C strings.
struct ArgumentStrings {
    pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl ArgumentStrings {
    fn bytes(&self) -> u64 {
        self._strings.iter().map(|s| argument_bytes(s.as_bytes())).sum()
    }

    fn new(strings: Vec<CString>) -> ArgumentStrings {
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        ArgumentStrings { pointers, _strings: strings }
    }
}

fn c_string(what: &str, bytes: &[u8]) -> SysResult<CString> {
    CString::new(bytes).map_err(|_| SysError::format(what, "no NUL byte inside", bytes))
}

fn c_strings<'a>(what: &str, words: impl IntoIterator<Item = &'a [u8]>) -> SysResult<Vec<CString>> {
    words.into_iter().map(|w| c_string(what, w)).collect()
}

/// Looks a program up as execvp does: a name with a slash is a path (relative to `cwd`), another is searched in PATH.
///
/// # Errors
/// ENOENT, or EACCES if it was found but is not executable.
pub fn resolve(program: &[u8], path: &[u8], cwd: &Path) -> SysResult<PathBuf> {
    let what = || format!("find program `{}`", String::from_utf8_lossy(program));
    let named = Path::new(std::ffi::OsStr::from_bytes(program));
    let candidates: Vec<PathBuf> = if program.contains(&b'/') {
        vec![cwd.join(named)]
    } else if program.is_empty() {
        Vec::new()
    } else {
        let folder = |p: &[u8]| cwd.join(std::ffi::OsStr::from_bytes(p)).join(named);
        path.split(|&b| b == b':').map(folder).collect()
    };
    let mut error = libc::ENOENT;
    for candidate in candidates {
        let c = c_string("program", candidate.as_os_str().as_bytes())?;
        // SAFETY: `c` is a valid C string.
        if candidate.is_file() && unsafe { libc::access(c.as_ptr(), libc::X_OK) } == 0 {
            return Ok(candidate);
        }
        if candidate.exists() {
            error = libc::EACCES;
        }
    }
    Err(SysError::io(what(), std::io::Error::from_raw_os_error(error)))
}

impl Launch {
    /// Lays out a start of `program` (a path) with these arguments (the first is the program's own name) and environment
    /// (`KEY=value` each).
    ///
    /// # Errors
    /// If a word holds a NUL byte.
    pub fn new<'a>(
        program: &Path,
        argv: impl IntoIterator<Item = &'a [u8]>,
        env: impl IntoIterator<Item = &'a [u8]>,
    ) -> SysResult<Launch> {
        let program = c_string("program", program.as_os_str().as_bytes())?;
        let argv = c_strings("argument", argv)?;
        let mut sh = vec![c"/bin/sh".to_owned(), program.clone()];
        sh.extend(argv.iter().skip(1).cloned());
        Ok(Launch {
            program,
            argv: ArgumentStrings::new(argv),
            envp: ArgumentStrings::new(c_strings("environment variable", env)?),
            sh_argv: ArgumentStrings::new(sh),
            cwd: None,
            stdio: [None, None, None],
            cpus: None,
            here: None,
            scheduling: None,
            identity: None,
            own_group: false,
            die_with_parent: false,
        })
    }

    /// Lets the child start at once, also where other processes run; to be called right before [`spawn`].
    ///
    /// On the CPU where the kernel places a new process, another one may be running: beside one busy process on two
    /// CPUs, one start in ten waited for 6 to 14 ms. So the child starts on the CPU of this thread, which sleeps until
    /// exec. Where nothing else runs, the kernel finds a free CPU itself, and the calls that this takes would only make
    /// the start longer: by some 60 µs of 550 for `true` on two virtual CPUs.
    pub fn start_at_once(&mut self) {
        if self.cpus.is_none() && cpu::others_run() {
            self.start_here();
        }
    }

    /// Until exec both threads are confined to this thread's CPU; the child then undoes that for both. Nothing is done
    /// if the system refuses.
    fn start_here(&mut self) {
        // SAFETY: no preconditions, cannot fail.
        let thread = unsafe { libc::gettid() };
        self.here = cpu::stay().map(|before| OwnCpu { before, thread });
    }

    /// What the kernel found too long.
    fn too_much(&self) -> String {
        let strings = self.argv._strings.iter().chain(&self.envp._strings);
        let longest = strings.map(|s| s.as_bytes().len()).max().unwrap_or(0);
        if longest >= LONGEST_ARGUMENT {
            return format!(": an argument or variable of {longest} bytes, of {LONGEST_ARGUMENT} at most");
        }
        let (all, limit) = (self.argv.bytes() + self.envp.bytes(), argument_limit());
        format!(": its arguments and environment take {all} bytes, of {limit} at most (a quarter of `ulimit -s`)")
    }

    /// Sets the working directory.
    ///
    /// # Errors
    /// If the path holds a NUL byte.
    pub fn cwd(&mut self, path: &[u8]) -> SysResult<()> {
        self.cwd = Some(c_string("working directory", path)?);
        Ok(())
    }

    /// Gives the program this file as standard input (0), output (1) or error (2); other numbers are ignored.
    pub fn stdio(&mut self, number: usize, file: OwnedFd) {
        if let Some(slot) = self.stdio.get_mut(number) {
            *slot = Some(file);
        }
    }

    /// Confines the program to CPUs.
    pub fn cpus(&mut self, cpus: CpuSet) {
        self.cpus = Some(cpus);
    }

    pub fn scheduling(&mut self, scheduling: Scheduling) {
        self.scheduling = Some(scheduling);
    }

    /// Runs it as another user, in a separate session, with no descriptors but the standard streams.
    ///
    /// In the terminal's session it could insert input (TIOCSTI), or take the terminal over.
    pub fn identity(&mut self, identity: Identity) {
        self.identity = Some(identity);
    }

    /// Puts it into a separate process group, so that a Ctrl-C on the terminal reaches tare alone.
    pub fn own_group(&mut self) {
        self.own_group = true;
    }

    /// Makes the kernel kill it when tare dies.
    pub fn die_with_parent(&mut self) {
        self.die_with_parent = true;
    }
}

/// A program that was started.
#[derive(Debug)]
pub struct Child {
    pub pid: i32,
    /// Readable when it has ended.
    pub pidfd: OwnedFd,
}

/// One stack for all children, kept: mapping one for each start would cost page faults, and its pages would be cold.
static STACK: Mutex<Option<ChildStack>> = Mutex::new(None);

// SAFETY: the mapping belongs to whoever holds the lock.
unsafe impl Send for ChildStack {}

/// A stack for the child, below a guard page.
struct ChildStack {
    base: *mut c_void,
    size: usize,
}

impl ChildStack {
    const SIZE: usize = 64 * 1024;
    const GUARD: usize = 64 * 1024;

    fn new() -> SysResult<ChildStack> {
        let size = Self::SIZE + Self::GUARD;
        // SAFETY: a fresh anonymous mapping; its lower part is made inaccessible.
        unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
            let base = libc::mmap(std::ptr::null_mut(), size, prot, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(SysError::last("map a stack for the child"));
            }
            libc::mprotect(base, Self::GUARD, libc::PROT_NONE);
            // Touched now, so that no start pays for the page.
            base.cast::<u8>().add(size - 4096).write_volatile(0);
            Ok(ChildStack { base, size })
        }
    }
}

impl Drop for ChildStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no child runs on it: clone returns only after exec or exit.
        unsafe { libc::munmap(self.base, self.size) };
    }
}

/// What the child reads, and where it reports a failure: the memory is shared until exec.
#[repr(C)]
struct ChildArgs {
    launch: *const Launch,
    parent_is_free: bool,
    /// The folder of a cgroup that the child is to join itself; -1 if there is none, or it was born into it.
    cgroup: RawFd,
    /// The kernel has not reset the signal handlers.
    has_handlers: bool,
    mask: *const libc::sigset_t,
    parent: libc::pid_t,
    failed_step: i32,
    errno: i32,
}

/// clone3 was refused, and the older call was not. Container filters say so for as long as they are there.
static CLONE3_IS_REFUSED: AtomicBool = AtomicBool::new(false);

const STEPS: [&str; 11] = [
    "start",
    "make a process group for",
    "set the standard streams of",
    "set the CPUs of",
    "set the scheduling of",
    "change to the working directory of",
    "change the user of",
    "reset the signals of",
    "execute",
    "set the parent-death signal of",
    "move to its cgroup",
];

#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// Handlers are reset to their defaults in the child (Linux 5.5): a signal that comes before the exec ends it, and no
/// handler runs in memory that it shares with the parent.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// Signals that tare, or Rust's runtime, may have a handler for.
const HANDLED: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGCHLD,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGXFSZ,
];

/// Starts the program; returns when it has started to execute (or could not).
///
/// With `cgroup` (a folder of the v2 hierarchy) the program is born into it; where clone3(2) is refused, its process joins it before
/// the exec, for which the kernel may wait some milliseconds. Signals are as before
/// [`Signals::install`]; SIGPIPE, which Rust programs ignore, is reset to its default.
///
/// # Errors
/// What failed and for which program; EBUSY, EOPNOTSUPP or EACCES for the cgroup show in the step "start".
pub fn spawn(launch: &Launch, cgroup: Option<BorrowedFd<'_>>, signals: &Signals) -> SysResult<Child> {
    let mut stack = STACK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stack = match &mut *stack {
        Some(stack) => stack,
        empty => empty.insert(ChildStack::new()?),
    };
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    let mut args = ChildArgs {
        launch,
        parent_is_free: false,
        cgroup: -1,
        has_handlers: false,
        mask: &signals.original,
        parent,
        failed_step: 0,
        errno: 0,
    };
    let mut pidfd: RawFd = -1;
    let mut clone = CloneArgs {
        flags: (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD) as u64 | CLONE_CLEAR_SIGHAND,
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.base as u64,
        stack_size: stack.size as u64,
        ..CloneArgs::default()
    };
    if let Some(folder) = cgroup {
        clone.flags |= CLONE_INTO_CGROUP;
        clone.cgroup = folder.as_raw_fd() as u64;
    }
    // SAFETY: the stack is ours and big enough, `args` and what it points to outlive the call (vfork), and child_main never
    // returns. No handler of ours runs in the child: clone3 has reset them all; after the older clone, the signals of
    // Signals::install are blocked until the child has reset them, its first action.
    let r = unsafe {
        let refused = match CLONE3_IS_REFUSED.load(Ordering::Relaxed) {
            true => -(libc::ENOSYS as isize),
            false => arch::clone3(&clone, child_main, (&raw mut args).cast()),
        };
        // Container filters deny clone3, with ENOSYS or, older ones, with EPERM. The older call lacks the cgroup and the handlers.
        if refused == -(libc::ENOSYS as isize) || refused == -(libc::EPERM as isize) {
            let top = stack.base.cast::<u8>().add(stack.size);
            args.has_handlers = true;
            args.cgroup = cgroup.map_or(-1, |folder| folder.as_raw_fd());
            let flags = clone.flags & !(CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP) | libc::SIGCHLD as u64;
            let r = arch::clone(flags, top.cast(), &raw mut pidfd, child_main, (&raw mut args).cast());
            CLONE3_IS_REFUSED.store(r >= 0, Ordering::Relaxed);
            if r >= 0 { r } else { refused }
        } else {
            refused
        }
    };
    // No child, or one that could not do it.
    if let Some(here) = &launch.here
        && !args.parent_is_free
    {
        cpu::leave(&here.before, 0);
    }
    let failure = |step: i32, errno: i32| {
        let step = STEPS.get(step as usize).unwrap_or(&STEPS[0]);
        let mut what = format!("{step} `{}`", launch.program.to_string_lossy());
        if errno == libc::E2BIG {
            what += &launch.too_much();
        }
        SysError::io(what, std::io::Error::from_raw_os_error(errno))
    };
    if r < 0 {
        return Err(failure(0, -r as i32));
    }
    let pid = r as i32;
    // SAFETY: the kernel made this descriptor for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    if args.failed_step != 0 {
        let mut status = 0;
        // SAFETY: a child of ours that has exited.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        return Err(failure(args.failed_step, args.errno));
    }
    Ok(Child { pid, pidfd })
}

/// The child, between clone and exec.
unsafe extern "C" fn child_main(args: *mut c_void) -> ! {
    let args = args.cast::<ChildArgs>();
    // SAFETY: the parent keeps `args` and the launch alive and sleeps until exec or exit.
    unsafe {
        let launch = &*(*args).launch;
        let step = prepare_child(launch, args);
        (*args).failed_step = match step {
            Some(step) => step,
            None => {
                libc::execve(launch.program.as_ptr(), launch.argv.pointers.as_ptr(), launch.envp.pointers.as_ptr());
                if *libc::__errno_location() == libc::ENOEXEC {
                    let sh = launch.sh_argv.pointers.as_ptr();
                    libc::execve(c"/bin/sh".as_ptr(), sh, launch.envp.pointers.as_ptr());
                }
                8
            }
        };
        (*args).errno = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Does what was asked before exec; returns the number of the step that failed.
///
/// # Safety
/// Only in a vfork child.
unsafe fn prepare_child(launch: &Launch, args: *mut ChildArgs) -> Option<i32> {
    // SAFETY: async-signal-safe calls on memory that the sleeping parent keeps valid. The system calls for ids are made
    // raw: glibc's wrappers would synchronise threads.
    unsafe {
        if (*args).has_handlers {
            reset_handlers();
        }
        if (*args).cgroup >= 0 && !join_cgroup((*args).cgroup) {
            return Some(10);
        }
        let apart = match launch.identity {
            Some(_) => libc::setsid(),
            None if launch.own_group => libc::setpgid(0, 0),
            None => 0,
        };
        if apart < 0 {
            return Some(1);
        }
        for (number, file) in launch.stdio.iter().enumerate() {
            if let Some(file) = file
                && libc::dup2(file.as_raw_fd(), number as i32) < 0
            {
                return Some(2);
            }
        }
        if let Some(here) = &launch.here {
            if !cpu::leave(&here.before, 0) {
                return Some(3);
            }
            (*args).parent_is_free = cpu::leave(&here.before, here.thread);
        }
        if let Some(cpus) = &launch.cpus
            && libc::sched_setaffinity(0, size_of_val(&cpus.0), &cpus.0) != 0
        {
            return Some(3);
        }
        let scheduled = match launch.scheduling {
            None => 0,
            Some(Scheduling::Nice(n)) => libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(n)),
            Some(Scheduling::Fifo(p)) => SchedPolicy::fifo(p).set(),
        };
        if scheduled != 0 {
            return Some(4);
        }
        if let Some(user) = &launch.identity
            && !become_user(user)
        {
            return Some(6);
        }
        if let Some(cwd) = &launch.cwd
            && libc::chdir(cwd.as_ptr()) != 0
        {
            return Some(5);
        }
        if launch.die_with_parent {
            // After the change of user, which clears it.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) != 0 || libc::getppid() != (*args).parent {
                return Some(9);
            }
        }
        if let Some(limit) = crate::limits::open_files_before() {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(libc::SIGPIPE, &default, std::ptr::null_mut()) != 0
            || libc::sigprocmask(libc::SIG_SETMASK, (*args).mask, std::ptr::null_mut()) != 0
        {
            return Some(7);
        }
    }
    None
}

/// Moves this process to the cgroup of this folder.
///
/// # Safety
/// Only in a vfork child.
unsafe fn join_cgroup(folder: RawFd) -> bool {
    // SAFETY: async-signal-safe calls on valid arguments; the descriptor table is the child's own.
    unsafe {
        let processes = libc::openat(folder, c"cgroup.procs".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        // 0 is the process that writes it.
        processes >= 0 && libc::write(processes, c"0".as_ptr().cast(), 1) == 1
    }
}

/// # Safety
/// Only in a vfork child.
unsafe fn reset_handlers() {
    // SAFETY: async-signal-safe calls on valid structures; the child has a separate table of handlers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        for signal in HANDLED {
            if libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction != libc::SIG_IGN {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// Gives up what the parent's user has: ids, groups, capabilities, descriptors, keys.
///
/// # Safety
/// Only in a vfork child.
unsafe fn become_user(user: &Identity) -> bool {
    const KEYCTL_JOIN_SESSION_KEYRING: i64 = 1;
    // _LINUX_CAPABILITY_VERSION_3 of linux/capability.h, of the calling thread; then three words twice.
    const HEADER: [u32; 2] = [0x2008_0522, 0];
    const NONE: [u32; 6] = [0; 6];
    // SAFETY: async-signal-safe calls on valid memory, made raw where glibc's wrappers would synchronise threads.
    unsafe {
        let (gid, uid) = (i64::from(user.gid), i64::from(user.uid));
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) != 0
            || libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) != 0
            || libc::syscall(libc::SYS_setresgid, gid, gid, gid) != 0
            || libc::syscall(libc::SYS_setresuid, uid, uid, uid) != 0
        {
            return false;
        }
        // The change of user clears the permitted and effective sets (capabilities(7)), not the inheritable one.
        if uid != 0 && libc::syscall(libc::SYS_capset, HEADER.as_ptr(), NONE.as_ptr()) != 0 {
            return false;
        }
        // A separate session keyring; a kernel or container without keys has none to leak.
        let _ = libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
        user.new_privileges || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    }
}

type ChildMain = unsafe extern "C" fn(*mut c_void) -> !;

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::{ChildMain, CloneArgs};
    use std::ffi::c_void;

    /// clone3; the child calls `main(arg)` on the new stack.
    ///
    /// # Safety
    /// The arguments describe a valid stack; `main` never returns; what it touches outlives the child's use.
    pub unsafe fn clone3(args: &CloneArgs, main: ChildMain, arg: *mut c_void) -> isize {
        let r: isize;
        // SAFETY: by the caller. The child starts with the same registers but a new stack, whose top is 16-byte aligned.
        unsafe {
            core::arch::asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp",
                "mov rdi, r8",
                "call r9",
                "ud2",
                "2:",
                inlateout("rax") libc::SYS_clone3 as isize => r,
                in("rdi") args,
                in("rsi") size_of::<CloneArgs>(),
                in("r8") arg,
                in("r9") main,
                lateout("rcx") _,
                lateout("r11") _,
            );
        }
        r
    }

    /// The older clone, with a pidfd.
    ///
    /// # Safety
    /// As [`clone3`]; `top` is the end of the stack.
    pub unsafe fn clone(flags: u64, top: *mut c_void, pidfd: *mut i32, main: ChildMain, arg: *mut c_void) -> isize {
        let r: isize;
        // SAFETY: by the caller.
        unsafe {
            core::arch::asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp",
                "mov rdi, r9",
                "call r12",
                "ud2",
                "2:",
                inlateout("rax") libc::SYS_clone as isize => r,
                in("rdi") flags,
                in("rsi") top,
                in("rdx") pidfd,
                in("r10") 0,
                in("r8") 0,
                in("r9") arg,
                in("r12") main,
                lateout("rcx") _,
                lateout("r11") _,
            );
        }
        r
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::{ChildMain, CloneArgs};
    use std::ffi::c_void;

    /// clone3; the child calls `main(arg)` on the new stack.
    ///
    /// # Safety
    /// The arguments describe a valid stack; `main` never returns; what it touches outlives the child's use.
    pub unsafe fn clone3(args: &CloneArgs, main: ChildMain, arg: *mut c_void) -> isize {
        let r: isize;
        // SAFETY: by the caller.
        unsafe {
            core::arch::asm!(
                "svc 0",
                "cbnz x0, 2f",
                "mov x29, xzr",
                "mov x0, x9",
                "blr x10",
                "brk 1",
                "2:",
                in("x8") libc::SYS_clone3,
                inlateout("x0") std::ptr::from_ref(args) => r,
                in("x1") size_of::<CloneArgs>(),
                in("x9") arg,
                in("x10") main,
            );
        }
        r
    }

    /// The older clone, with a pidfd.
    ///
    /// # Safety
    /// As [`clone3`]; `top` is the end of the stack.
    pub unsafe fn clone(flags: u64, top: *mut c_void, pidfd: *mut i32, main: ChildMain, arg: *mut c_void) -> isize {
        let r: isize;
        // SAFETY: by the caller.
        unsafe {
            core::arch::asm!(
                "svc 0",
                "cbnz x0, 2f",
                "mov x29, xzr",
                "mov x0, x9",
                "blr x10",
                "brk 1",
                "2:",
                in("x8") libc::SYS_clone,
                inlateout("x0") flags => r,
                in("x1") top,
                in("x2") pidfd,
                in("x3") 0,
                in("x4") 0,
                in("x9") arg,
                in("x10") main,
            );
        }
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_execvp_does() {
        let cwd = Path::new("/bin");
        assert_eq!(resolve(b"sh", b"/nowhere:/bin", cwd).unwrap(), Path::new("/bin/sh"));
        assert_eq!(resolve(b"./sh", b"", cwd).unwrap(), Path::new("/bin/./sh"));
        assert_eq!(resolve(b"sh", b"", cwd).unwrap(), Path::new("/bin/sh"), "an empty entry is the working directory");
        assert_eq!(resolve(b"no-such-program", b"/bin", cwd).unwrap_err().errno(), Some(libc::ENOENT));
        assert_eq!(resolve(b"/etc/passwd", b"", cwd).unwrap_err().errno(), Some(libc::EACCES));
        assert_eq!(resolve(b"", b"/bin", cwd).unwrap_err().errno(), Some(libc::ENOENT));
    }

    #[test]
    fn a_start_on_this_cpu_leaves_both_their_cpus() {
        use crate::signals::Signals;
        use crate::wait::{reap, wait};
        use std::io::{Read, Seek};
        let signals = Signals::install().unwrap();
        let before = cpu::allowed().unwrap();
        for program in ["/bin/sh", "/no/such/program"] {
            let mut said = crate::memory_file::memory_file().unwrap();
            let argv = [&b"sh"[..], b"-c", b"grep ^Cpus_allowed_list: /proc/self/status"];
            let mut launch = Launch::new(Path::new(program), argv, [&b"PATH=/usr/bin:/bin"[..]]).unwrap();
            launch.stdio(1, said.try_clone().unwrap().into());
            launch.start_here();
            match spawn(&launch, None, &signals) {
                Err(e) => assert!(program == "/no/such/program" && e.errno() == Some(libc::ENOENT), "{e}"),
                Ok(child) => {
                    wait(&child, None, &signals, &mut |_| {});
                    reap(child.pid, true).unwrap();
                    let mut text = String::new();
                    said.rewind().unwrap();
                    said.read_to_string(&mut text).unwrap();
                    let list = text.split(':').nth(1).unwrap().trim();
                    assert_eq!(crate::procfs::parse_cpu_list(list), Some(before.clone()));
                }
            }
            assert_eq!(cpu::allowed().unwrap(), before, "{program}");
        }
    }

    /// A handler that ran in the child, between clone and exec, would leave its word in the memory that both share.
    #[test]
    fn signals_before_the_exec_are_the_childs_alone() {
        use crate::signals::Signals;
        use crate::wait::{reap, wait};
        let signals = Signals::install().unwrap();
        let (launch, done) = (Launch::new(Path::new("/bin/true"), [&b"true"[..]], []).unwrap(), AtomicBool::new(false));
        // SAFETY: no preconditions.
        let parent = unsafe { libc::gettid() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let children = format!("/proc/self/task/{parent}/children");
                while !done.load(Ordering::Relaxed) {
                    let text = std::fs::read_to_string(&children).unwrap_or_default();
                    for pid in text.split_whitespace().filter_map(|w| w.parse::<i32>().ok()) {
                        let _ = crate::process::kill(pid, libc::SIGTERM);
                    }
                }
            });
            for _ in 0..400 {
                if let Ok(child) = spawn(&launch, None, &signals) {
                    wait(&child, None, &signals, &mut |_| {});
                    reap(child.pid, true).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(signals.caught(), None, "a handler of the parent has run in the child");
    }

    #[test]
    fn words_with_nul_are_refused() {
        let r = Launch::new(Path::new("/bin/true"), [&b"a\0b"[..]], []);
        assert!(r.err().unwrap().to_string().contains("NUL"));
    }
}
