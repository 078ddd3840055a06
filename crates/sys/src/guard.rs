//! A process that outlives this one briefly, to write what must be written when this one dies.

use crate::procfs::{parse_cgroup2_mount, parse_own_cgroup2, read_below};
use crate::{SysError, SysResult};
use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Maximum number of files of one guard.
const MOST: usize = 4096;
/// As many open files as the guard needs, with its pipe and the like.
const OPEN_FILES: libc::rlim_t = MOST as libc::rlim_t + 64;
/// Exit codes of the process that starts the guard; beyond the last one: a file could not be opened, plus the error's number.
const NO_CGROUP: i32 = 2;
const NO_FILE: i32 = 100;
/// Interval at which it checks whether its process is stopped or its file gone, ms: long, as it wakes up during a measurement.
const LOOK: i64 = 5_000;
/// Prefix of the names of guards' cgroups.
const PREFIX: &str = "tare-guard.";

const DISMISSED: u8 = b'x';
const KEPT: u8 = b'k';
const BEGINS: u8 = b'b';
const ENDS: u8 = b'e';

/// The pipe to the guard of this process; -1 without one.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// When to write, besides at the end of this process.
#[derive(Clone, Debug)]
pub struct GuardLimits {
    /// So long after the start, or after the last sample, if none is being taken.
    pub beyond: Duration,
    /// The guard of a process that has left it behind ([`Guard::keep`]) ends soon after this file is gone, and writes nothing.
    pub while_exists: Option<PathBuf>,
    /// Live in a separate cgroup: a kill of this process's whole cgroup does not reach it then.
    pub own_cgroup: bool,
}

/// Writes `0` to files (`cgroup.freeze`) when this process ends without [`Guard::dismiss`], by SIGKILL too, or is stopped, or
/// takes no sample for too long: a separate process waits for the end of a pipe that only this one holds.
#[derive(Debug)]
pub struct Guard {
    pipe: Option<File>,
}

/// A sample that is being taken: until it ends there is no time limit.
#[derive(Debug)]
pub struct SampleMark(());

impl SampleMark {
    /// It begins; it ends with the value. Without a guard nothing is done.
    pub fn begin() -> SampleMark {
        tell(BEGINS);
        SampleMark(())
    }
}

impl Drop for SampleMark {
    fn drop(&mut self) {
        tell(ENDS);
    }
}

fn tell(what: u8) {
    let fd = PIPE.load(Ordering::Relaxed);
    if fd >= 0 {
        // SAFETY: a descriptor that is open while it is in PIPE; one byte.
        unsafe { libc::write(fd, (&raw const what).cast(), 1) };
    }
}

/// What the guard needs, opened before it is started or when it starts: later it needs neither memory nor permissions.
struct Needs {
    read: OwnedFd,
    /// Opened by the guard, which has a higher limit of open files than this process and the programs that it starts.
    paths: Vec<CString>,
    /// `/proc/PID/stat` of the process that it guards.
    stat: File,
    while_exists: Option<File>,
    cgroup: Option<OwnCgroup>,
    beyond: i64,
}

/// A cgroup that is made for the guard.
struct OwnCgroup {
    procs: File,
    /// To leave it for the one above.
    procs_above: File,
    above: File,
    name: CString,
}

impl OwnCgroup {
    /// Makes one as near to the root of the hierarchy as this process may, but not below its own.
    fn make() -> SysResult<OwnCgroup> {
        let root = Path::new("/");
        let none = || SysError::io("find cgroup v2", std::io::Error::from_raw_os_error(libc::ENOSYS));
        let mount = parse_cgroup2_mount(&read_below(root, "proc/self/mountinfo")?).ok_or_else(none)?;
        let own = parse_own_cgroup2(&read_below(root, "proc/self/cgroup")?).ok_or_else(none)?;
        let mount = PathBuf::from(OsStr::from_bytes(&mount));
        let own = Path::new(OsStr::from_bytes(own.strip_prefix(b"/").unwrap_or(&own)));
        let mut above: Vec<&Path> = own.ancestors().collect();
        above.reverse();
        // All but its own, unless that is the root, which cannot be killed.
        let above = above.iter().filter(|p| p.as_os_str().is_empty() || **p != own);
        let mut last = none();
        for folder in above.map(|p| mount.join(p)) {
            remove_empty(&folder);
            match OwnCgroup::below(&folder) {
                Ok(made) => return Ok(made),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    fn below(folder: &Path) -> SysResult<OwnCgroup> {
        let failed = |path: &Path, e| SysError::io(format!("make the guard's cgroup {}", path.display()), e);
        let name = format!("{PREFIX}{}", crate::process::own_pid());
        let path = folder.join(&name);
        match std::fs::create_dir(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(&path, e)),
            _ => {}
        }
        let open = |path: PathBuf| OpenOptions::new().write(true).open(&path).map_err(|e| failed(&path, e));
        let opened = || {
            Ok(OwnCgroup {
                procs: open(path.join("cgroup.procs"))?,
                procs_above: open(folder.join("cgroup.procs"))?,
                above: File::open(folder).map_err(|e| failed(folder, e))?,
                name: CString::new(name).map_err(|_| failed(&path, std::io::ErrorKind::InvalidInput.into()))?,
            })
        };
        opened().inspect_err(|_| drop(std::fs::remove_dir(&path)))
    }
}

/// Removes cgroups that guards could not remove themselves; the kernel keeps those with processes.
fn remove_empty(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

impl Guard {
    /// Starts the guard.
    ///
    /// # Errors
    /// If a file cannot be opened, or no process or cgroup be made.
    pub fn start(files: &[PathBuf], limits: &GuardLimits) -> SysResult<Guard> {
        if files.len() > MOST {
            let what = format!("guard {} files, {MOST} at most", files.len());
            return Err(SysError::io(what, std::io::ErrorKind::ArgumentListTooLong.into()));
        }
        let opened =
            |p: &PathBuf, how: &OpenOptions| how.open(p).map_err(|e| SysError::io(format!("open {}", p.display()), e));
        let (to_write, to_read) = (OpenOptions::new().write(true).clone(), OpenOptions::new().read(true).clone());
        // Each is opened here, too, one at a time, to name the one that cannot be.
        let path = |p: &PathBuf| {
            drop(opened(p, &to_write)?);
            CString::new(p.as_os_str().as_bytes())
                .map_err(|_| SysError::io(format!("open {}", p.display()), std::io::ErrorKind::InvalidInput.into()))
        };
        let paths = files.iter().map(path).collect::<SysResult<_>>()?;
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return Err(SysError::last("make a pipe"));
        }
        // SAFETY: both were just made and have no other owner.
        let (read, write) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        let needs = Needs {
            read,
            paths,
            stat: opened(&PathBuf::from(format!("/proc/{}/stat", crate::process::own_pid())), &to_read)?,
            while_exists: limits.while_exists.as_ref().map(|p| opened(p, &to_read)).transpose()?,
            cgroup: limits.own_cgroup.then(OwnCgroup::make).transpose()?,
            beyond: i64::try_from(limits.beyond.as_millis()).unwrap_or(i64::MAX / 2),
        };
        let started = needs.start();
        if let (Err(_), Some(cgroup)) = (&started, &needs.cgroup) {
            // SAFETY: a valid descriptor and a C string.
            unsafe { libc::unlinkat(cgroup.above.as_raw_fd(), cgroup.name.as_ptr(), libc::AT_REMOVEDIR) };
        }
        started?;
        // SAFETY: the descriptor changes its owner.
        let pipe = unsafe { File::from_raw_fd(write.into_raw_fd()) };
        PIPE.store(pipe.as_raw_fd(), Ordering::Relaxed);
        Ok(Guard { pipe: Some(pipe) })
    }

    fn last_word(mut self, word: u8) {
        if let Some(mut pipe) = self.pipe.take() {
            PIPE.store(-1, Ordering::Relaxed);
            let _ = pipe.write_all(&[word]);
        }
    }

    /// Ends the guard; it writes nothing.
    pub fn dismiss(self) {
        self.last_word(DISMISSED);
    }

    /// Leaves the guard behind: it writes when the limit has passed, whatever happens to this process.
    pub fn keep(self) {
        self.last_word(KEPT);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.pipe.is_some() {
            PIPE.store(-1, Ordering::Relaxed);
        }
    }
}

impl Needs {
    fn kept(&self) -> Vec<RawFd> {
        let cgroup = self.cgroup.iter().flat_map(|c| [&c.procs_above, &c.above]);
        let files = [&self.stat].into_iter().chain(&self.while_exists).chain(cgroup);
        let mut kept: Vec<RawFd> = files.map(AsRawFd::as_raw_fd).chain([self.read.as_raw_fd()]).collect();
        kept.sort_unstable();
        kept
    }

    /// Two forks: the guard becomes a child of init, so that a measurement, which kills leftover processes of a program
    /// among its own children, does not see it.
    fn start(&self) -> SysResult<()> {
        let kept = self.kept();
        let mut files: Vec<RawFd> = vec![-1; self.paths.len()];
        // SAFETY: the child makes only async-signal-safe calls (fork(2) is one on Linux) on memory that is its own copy.
        let middle = unsafe { libc::fork() };
        if middle < 0 {
            return Err(SysError::last("fork the guard"));
        }
        if middle == 0 {
            // SAFETY: as above; nothing else in this process touches `self`.
            unsafe {
                if let Some(cgroup) = &self.cgroup
                    && libc::write(cgroup.procs.as_raw_fd(), c"0".as_ptr().cast(), 1) != 1
                {
                    libc::_exit(NO_CGROUP);
                }
                // No Ctrl-C ends the guard, and no handler of this process writes to a descriptor that is now another.
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
                close_all_but(&kept);
                raise_file_limit();
                for (path, file) in self.paths.iter().zip(&mut files) {
                    *file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                    if *file < 0 {
                        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                        libc::_exit(NO_FILE + code.clamp(1, 155));
                    }
                }
                match libc::fork() {
                    0 => self.wait_and_write(&files),
                    -1 => libc::_exit(1),
                    _ => libc::_exit(0),
                }
            }
        }
        let mut status = 0;
        // SAFETY: our own child, a valid place for its status.
        while unsafe { libc::waitpid(middle, &mut status, 0) } < 0 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return Err(SysError::last("wait for the start of the guard"));
            }
        }
        let failed = |what: &str, code| Err(SysError::io(what, std::io::Error::from_raw_os_error(code)));
        match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
            (true, 0) => Ok(()),
            (true, NO_CGROUP) => failed("move the guard to a separate cgroup", libc::EACCES),
            (true, code) if code > NO_FILE => failed("open the files of the guard", code - NO_FILE),
            _ => failed("fork the guard", libc::EAGAIN),
        }
    }

    /// The guard's main function.
    ///
    /// # Safety
    /// Only in a freshly forked child.
    unsafe fn wait_and_write(&self, files: &[RawFd]) -> ! {
        // SAFETY: plain calls on valid arguments.
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_NAME, c"tare-guard".as_ptr());
            if self.wait() {
                for file in files {
                    libc::write(*file, c"0\n".as_ptr().cast(), 2);
                }
            }
            if let Some(cgroup) = &self.cgroup {
                libc::write(cgroup.procs_above.as_raw_fd(), c"0".as_ptr().cast(), 1);
                libc::unlinkat(cgroup.above.as_raw_fd(), cgroup.name.as_ptr(), libc::AT_REMOVEDIR);
            }
            libc::_exit(0)
        }
    }

    /// Waits until it is known whether to write.
    ///
    /// # Safety
    /// Only in the guard: async-signal-safe calls.
    unsafe fn wait(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let (mut deadline, mut kept) = (Some(now().saturating_add(self.beyond)), false);
        let mut bytes = [0u8; 64];
        loop {
            let left = deadline.map_or(i64::MAX, |d| (d - now()).max(0));
            let left = left.min(LOOK);
            // SAFETY: one valid pollfd; a place for 64 bytes.
            let n = unsafe {
                libc::poll(&mut poll, 1, libc::c_int::try_from(left).unwrap_or(libc::c_int::MAX));
                libc::read(self.read.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len())
            };
            if n == 0 && !kept {
                return true;
            }
            if n == 0 {
                // After its end the pipe is not polled.
                poll.fd = -1;
            }
            for byte in bytes.iter().take(usize::try_from(n).unwrap_or(0)) {
                match *byte {
                    DISMISSED => return false,
                    BEGINS => deadline = None,
                    ENDS => deadline = Some(now().saturating_add(self.beyond)),
                    KEPT => (kept, deadline) = (true, Some(now().saturating_add(self.beyond))),
                    _ => {}
                }
            }
            if kept && self.is_obsolete() {
                return false;
            }
            if deadline.is_some_and(|d| now() >= d) {
                return true;
            }
            if !kept && self.is_stopped() {
                return true;
            }
        }
    }

    /// Whether the file that the guard depends on was removed.
    fn is_obsolete(&self) -> bool {
        let Some(file) = &self.while_exists else { return false };
        // SAFETY: all-zero is a valid stat, and fstat writes to it.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            libc::fstat(file.as_raw_fd(), &mut stat) == 0 && stat.st_nlink == 0
        }
    }

    /// Whether the process that it guards is stopped, as by Ctrl-Z. A debugger's stops (`t`) do not count.
    fn is_stopped(&self) -> bool {
        let mut text = [0u8; 512];
        // SAFETY: room for 512 bytes.
        let n = unsafe { libc::pread(self.stat.as_raw_fd(), text.as_mut_ptr().cast(), text.len(), 0) };
        let text = text.get(..usize::try_from(n).unwrap_or(0)).unwrap_or_default();
        // The name before it may hold anything.
        let end = text.iter().rposition(|b| *b == b')');
        end.and_then(|i| text.get(i + 2)) == Some(&b'T')
    }
}

/// Milliseconds on a clock that runs while the machine sleeps.
fn now() -> i64 {
    // SAFETY: an all-zero timespec is valid; the clock exists since Linux 2.6.39.
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut t);
        t.tv_sec.saturating_mul(1000).saturating_add(t.tv_nsec / 1_000_000)
    }
}

/// Raises this process's limit of open files; a hard limit that is too low stays where no privilege allows more.
///
/// # Safety
/// Only in a process that starts no program, which would inherit the limit.
unsafe fn raise_file_limit() {
    // SAFETY: an all-zero rlimit is valid, and both calls are system calls on it.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 || limit.rlim_cur >= OPEN_FILES {
            return;
        }
        let hard = limit.rlim_max;
        let wanted = libc::rlimit { rlim_cur: OPEN_FILES, rlim_max: hard.max(OPEN_FILES) };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) != 0 {
            limit.rlim_cur = hard;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Closes all descriptors but these, in rising order, so that this process holds open only what it needs: no lock, no terminal, no
/// pipe.
///
/// # Safety
/// The others must not be used afterwards.
unsafe fn close_all_but(kept: &[RawFd]) {
    let mut from = 0u32;
    for fd in kept {
        let fd = *fd as u32;
        if fd > from {
            // SAFETY: by the caller.
            unsafe { close_between(from, fd - 1) };
        }
        from = fd + 1;
    }
    // SAFETY: by the caller.
    unsafe { close_between(from, u32::MAX) };
}

/// # Safety
/// The descriptors must not be used afterwards.
unsafe fn close_between(first: u32, last: u32) {
    // SAFETY: by the caller. close_range exists since Linux 5.9, which this project's oldest kernel has.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Instant;

    /// There is one guard in a process.
    static ALONE: Mutex<()> = Mutex::new(());

    fn limits(beyond: Duration) -> GuardLimits {
        GuardLimits { beyond, while_exists: None, own_cgroup: false }
    }

    const LONG: Duration = Duration::from_secs(600);

    fn becomes(path: &PathBuf, wanted: &str) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if std::fs::read_to_string(path).unwrap().trim() == wanted {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn files(dir: &Path) -> [PathBuf; 2] {
        let files = [dir.join("a"), dir.join("b")];
        files.iter().for_each(|f| std::fs::write(f, "1\n").unwrap());
        files
    }

    #[test]
    fn writes_when_nobody_dismisses_it() {
        let _alone = ALONE.lock().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let guard = Guard::start(&files, &limits(LONG)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "1\n");
        drop(guard);
        assert!(files.iter().all(|f| becomes(f, "0")));
        std::fs::write(&files[0], "1\n").unwrap();
        Guard::start(&files[..1], &limits(LONG)).unwrap().dismiss();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "1\n");
        assert!(Guard::start(&[dir.path().join("none")], &limits(LONG)).is_err());
    }

    #[test]
    fn writes_after_a_limit_but_not_within_a_sample() {
        let _alone = ALONE.lock().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let short = Duration::from_millis(200);
        let guard = Guard::start(&files[..1], &limits(short)).unwrap();
        let sample = SampleMark::begin();
        std::thread::sleep(short * 3);
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "1\n");
        drop(sample);
        assert!(becomes(&files[0], "0"));
        drop(guard);
        // Left behind: it writes when the limit has passed, unless there is nothing left to restore.
        let journal = dir.path().join("journal");
        for gone in [false, true] {
            std::fs::write(&files[1], "1\n").unwrap();
            std::fs::write(&journal, "").unwrap();
            let limits = GuardLimits { while_exists: Some(journal.clone()), ..limits(short) };
            Guard::start(&files[1..], &limits).unwrap().keep();
            if gone {
                std::fs::remove_file(&journal).unwrap();
                std::thread::sleep(short * 3);
                assert_eq!(std::fs::read_to_string(&files[1]).unwrap(), "1\n");
            } else {
                assert!(becomes(&files[1], "0"));
            }
        }
    }

    /// A guard has more files than its process may have open; the limit of the process, which its programs inherit, stays.
    #[test]
    fn guards_more_files_than_its_process_may_open() {
        let _alone = ALONE.lock().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut files: Vec<PathBuf> = (0..MOST).map(|i| dir.path().join(i.to_string())).collect();
        files.iter().for_each(|f| std::fs::write(f, "1\n").unwrap());
        let limit = |soft: libc::rlim_t| {
            // SAFETY: valid structures.
            unsafe {
                let mut limit: libc::rlimit = std::mem::zeroed();
                assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
                let old = limit.rlim_cur;
                limit.rlim_cur = soft;
                assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
                old
            }
        };
        // Enough for other tests of this process.
        let old = limit(1_024);
        let guard = Guard::start(&files, &limits(LONG));
        assert_eq!(limit(old), 1_024);
        let guard = guard.unwrap();
        assert_eq!(std::fs::read_to_string(&files[MOST - 1]).unwrap(), "1\n");
        drop(guard);
        assert!(files.iter().all(|f| becomes(f, "0")));
        files.push(dir.path().join("a"));
        let more = Guard::start(&files, &limits(LONG)).unwrap_err();
        assert!(more.to_string().contains("4097 files, 4096 at most"), "{more}");
    }

    /// The limit on processes lets the first fork through and not the second.
    #[test]
    fn a_guard_that_cannot_be_started_is_an_error() {
        const USER: libc::uid_t = 54_321;
        if crate::process::effective_uid() != 0 {
            return;
        }
        let _alone = ALONE.lock().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        for path in files.iter().map(PathBuf::as_path).chain([dir.path()]) {
            std::os::unix::fs::chown(path, Some(USER), None).unwrap();
        }
        let limit = |soft: libc::rlim_t| {
            // SAFETY: valid structures.
            unsafe {
                let mut limit: libc::rlimit = std::mem::zeroed();
                assert_eq!(libc::getrlimit(libc::RLIMIT_NPROC, &mut limit), 0);
                let old = limit.rlim_cur;
                limit.rlim_cur = soft;
                assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
                old
            }
        };
        let (started, room) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // The raw call changes this thread alone. It counts as the user's first process.
                // SAFETY: no memory involved.
                assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, USER, USER, USER) }, 0);
                let old = limit(2);
                let started = Guard::start(&files, &limits(LONG)).map(Guard::dismiss);
                limit(3);
                let room = Guard::start(&files, &limits(LONG)).map(Guard::dismiss);
                limit(old);
                (started, room)
            });
            thread.join().unwrap()
        });
        assert_eq!(started.unwrap_err().errno(), Some(libc::EAGAIN));
        room.unwrap();
    }
}
