//! Phases of one fixed loop, back to back, each timed by the cycle counter (ICS'05, section 3.1), on one CPU or several at
//! once.
//!
//! Each CPU has a separate process, which is alone in its part of the memory: nothing of tare's runs between two
//! phases. A real-time one cannot hang the machine: it stops by itself when its time is over, the kernel kills it if it
//! uses too much CPU time (RLIMIT_RTTIME) or if tare ends (PR_SET_PDEATHSIG), and tare, at a higher priority meanwhile,
//! kills it if it takes too long.

use crate::activity::{ThreadCounts, paired};
use crate::sched::SchedPolicy;
use crate::signals::Signals;
use crate::{SysError, SysResult, clock, counter, cpu};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::data::PhasesEnd;
use tarebench_core::trace::timeline::ClockPair;

/// The highest priority of the phases: tare itself needs one above.
pub const HIGHEST: u8 = 98;

/// An empty loop: a count down to zero. All phases, of calibrations too, run this same machine code.
#[inline(never)]
pub fn work(iterations: u64) {
    let n = iterations.max(1);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes one register and the flags.
    unsafe {
        core::arch::asm!(".p2align 6", "2:", "dec {n}", "jnz 2b", n = inout(reg) n => _, options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes one register and the flags.
    unsafe {
        core::arch::asm!(".p2align 6", "2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) n => _, options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    for i in 0..n {
        std::hint::black_box(i);
    }
}

/// Value of a phase that was not measured.
const EMPTY: u64 = u64::MAX;

/// Phases until there is no more room or the time is over; they are as long as they are, one is measured at least. The moment
/// of the beginning is stored before the first.
#[inline(never)]
fn phases(iterations: u64, first: &AtomicU64, into: &[AtomicU64], most: u64) {
    let began = counter::fenced();
    first.store(began, Ordering::Relaxed);
    let mut last = began;
    for place in into {
        work(iterations);
        let now = counter::fenced();
        place.store(now.wrapping_sub(last), Ordering::Relaxed);
        last = now;
        if now.wrapping_sub(began) >= most {
            return;
        }
    }
}

#[derive(Clone, Debug)]
pub struct Setup {
    /// On which CPUs, at once.
    pub cpus: Vec<u32>,
    /// Real-time priority (SCHED_FIFO), 1 to [`HIGHEST`]; the default scheduler if `None`.
    pub fifo: Option<u8>,
    /// Iterations of the loop in a phase.
    pub iterations: u64,
    /// Maximum number of phases on each CPU.
    pub phases: usize,
    /// Start no new phase after this many units of the counter.
    pub most: Option<u64>,
    /// How long all phases should take.
    pub expected: Nanos,
    /// Real-time ones are killed after four times that and so much, by tare; and by the kernel if they have used up four times that
    /// and twice so much of CPU time, as tare may be stopped.
    pub grace: Nanos,
}

/// Long enough for some steal time.
pub const GRACE: Nanos = Nanos::from_millis(10_000);

impl Setup {
    fn limit(&self, graces: i64) -> Nanos {
        let grace = self.grace.0.saturating_mul(graces);
        Nanos(self.expected.0.max(0).saturating_mul(4).saturating_add(grace))
    }
}

/// What one CPU measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCpu {
    pub cpu: u32,
    /// The thread that had the phases.
    pub tid: i32,
    pub ended: PhasesEnd,
    /// What each phase took, in units of the counter, the reading of the counter included.
    pub durations: Vec<u64>,
    /// The counter, from the beginning of the first phase, beside CLOCK_MONOTONIC: before the first and after the last.
    pub pairs: Vec<ClockPair>,
    /// What the kernel counted of the thread meanwhile; `None` if it was killed.
    pub counted: Option<ThreadCounts>,
    /// Its memory could be locked.
    pub locked: bool,
}

/// What parent and child share: this, and after it the durations.
#[repr(C)]
struct SharedHeader {
    step: AtomicI32,
    errno: AtomicI32,
    locked: AtomicI32,
    done: AtomicI32,
    start_at: AtomicI64,
    base: AtomicU64,
    first: AtomicU64,
    before: SharedPair,
    after: SharedPair,
    counted: AtomicI32,
    switches: AtomicU64,
    faults: AtomicU64,
}

#[repr(C)]
struct SharedPair {
    cycles: AtomicU64,
    clock: AtomicI64,
    within: AtomicI64,
}

impl SharedPair {
    fn put(&self, p: ClockPair) {
        self.cycles.store(p.cycles.to_bits(), Ordering::Relaxed);
        self.clock.store(p.clock.0, Ordering::Relaxed);
        self.within.store(p.within.0, Ordering::Relaxed);
    }

    fn get(&self, offset: f64) -> ClockPair {
        ClockPair {
            cycles: f64::from_bits(self.cycles.load(Ordering::Relaxed)) - offset,
            clock: Nanos(self.clock.load(Ordering::Relaxed)),
            within: Nanos(self.within.load(Ordering::Relaxed)),
        }
    }
}

const PAGE: usize = 4096;
const _: () = assert!(size_of::<SharedHeader>() <= PAGE);

/// Memory that is shared with a child.
struct Shared {
    base: NonNull<u8>,
    bytes: usize,
    phases: usize,
}

impl Shared {
    fn new(phases: usize) -> SysResult<Shared> {
        let what = || format!("map memory for {phases} phases");
        let no_room = || SysError::io(what(), std::io::ErrorKind::OutOfMemory.into());
        let bytes = phases.checked_mul(8).and_then(|b| b.checked_add(PAGE)).ok_or_else(no_room)?;
        // SAFETY: a fresh mapping.
        let base = unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, prot, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(SysError::last(what()));
        }
        let base = NonNull::new(base.cast()).ok_or_else(no_room)?;
        Ok(Shared { base, bytes, phases })
    }

    fn header(&self) -> &SharedHeader {
        // SAFETY: the mapping begins with it, page-aligned and zero, which is valid; all of it is atomic.
        unsafe { self.base.cast().as_ref() }
    }

    fn durations(&self) -> &[AtomicU64] {
        // SAFETY: `phases` of them follow the first page.
        unsafe { std::slice::from_raw_parts(self.base.add(PAGE).cast().as_ptr(), self.phases) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A child on its CPU. It does not outlive this value.
struct Lane {
    cpu: u32,
    pid: libc::pid_t,
    /// Readable when it has ended.
    pidfd: OwnedFd,
    shared: Shared,
    reaped: bool,
}

impl Lane {
    fn kill(&self) {
        if !self.reaped {
            let _ = crate::pidfd::signal(self.pidfd.as_fd(), libc::SIGKILL);
        }
    }

    /// Whether it has ended. Waits for that if `wait` is set.
    fn ended(&mut self, wait: bool) -> bool {
        while !self.reaped {
            let mut status = 0;
            // SAFETY: as above; a valid place for the status.
            let r = unsafe { libc::waitpid(self.pid, &mut status, if wait { 0 } else { libc::WNOHANG }) };
            if r == 0 {
                return false;
            }
            let again = r < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            self.reaped = !again;
        }
        true
    }

    fn measured(&self, killed: Option<PhasesEnd>, phases: usize) -> MeasuredCpu {
        let header = self.shared.header();
        let durations = self.shared.durations().iter().map(|d| d.load(Ordering::Relaxed));
        let durations: Vec<u64> = durations.take_while(|d| *d != EMPTY).collect();
        let (base, first) = (header.base.load(Ordering::Relaxed), header.first.load(Ordering::Relaxed));
        let offset = first.wrapping_sub(base).cast_signed() as f64;
        let whole = header.done.load(Ordering::Acquire) == 1;
        let after = if whole { header.after.get(offset) } else { paired(first, 20) };
        let ended = match killed.filter(|_| !whole) {
            _ if whole && durations.len() == phases => PhasesEnd::Complete,
            _ if whole => PhasesEnd::TimeOver,
            Some(killed) => killed,
            None => PhasesEnd::Died,
        };
        let pairs = if first == 0 { Vec::new() } else { vec![header.before.get(offset), after] };
        let counted = (header.counted.load(Ordering::Relaxed) == 1).then(|| ThreadCounts {
            switches: header.switches.load(Ordering::Relaxed),
            faults: header.faults.load(Ordering::Relaxed),
        });
        let locked = header.locked.load(Ordering::Relaxed) == 1;
        MeasuredCpu { cpu: self.cpu, tid: self.pid, ended, durations, pairs, counted, locked }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.kill();
        self.ended(true);
    }
}

/// This process at a real-time priority, until the value is dropped.
struct Above(SchedPolicy);

impl Above {
    fn new(priority: u8) -> SysResult<Above> {
        let before = SchedPolicy::of_this_thread().ok_or_else(|| SysError::last("read the scheduling of tare"))?;
        if SchedPolicy::fifo(priority).set() != 0 {
            return Err(SysError::last(format!("give tare the real-time priority {priority}")));
        }
        Ok(Above(before))
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Children that are ready and wait.
pub struct Team {
    lanes: Vec<Lane>,
    go: File,
    setup: Setup,
}

const STEPS: [&str; 5] =
    ["start", "set the parent-death signal of", "set the CPU of", "limit the real-time CPU time of", "give"];

impl Team {
    /// Starts a process for each CPU and waits until they are ready. To be called from a process with one thread.
    ///
    /// # Errors
    /// The system's: EPERM where real-time priorities are not allowed.
    pub fn start(setup: &Setup) -> SysResult<Team> {
        let (go_read, go) = pipe()?;
        let (mut ready, ready_write) = pipe()?;
        let parent = crate::process::own_pid();
        let mut lanes = Vec::with_capacity(setup.cpus.len());
        for &cpu in &setup.cpus {
            let set = cpu::CpuSet::new(&[cpu])?;
            let shared = Shared::new(setup.phases)?;
            // SAFETY: the child makes async-signal-safe calls only and never returns.
            match unsafe { libc::fork() } {
                -1 => return Err(SysError::last("start a process for the phases")),
                0 => child(setup, &set, &shared, parent, (ready_write.as_raw_fd(), go_read.as_raw_fd())),
                pid => lanes.push(Lane { cpu, pid, pidfd: pidfd(pid)?, shared, reaped: false }),
            }
        }
        drop((ready_write, go_read));
        // One byte of each; the end, if one has died.
        let mut bytes = vec![0; lanes.len()];
        let all = ready.read_exact(&mut bytes);
        for lane in &lanes {
            let header = lane.shared.header();
            let step = header.step.load(Ordering::Acquire);
            if step != 0 {
                let errno = header.errno.load(Ordering::Relaxed);
                let cause = std::io::Error::from_raw_os_error(errno);
                let step = usize::try_from(step).ok().and_then(|s| STEPS.get(s)).unwrap_or(&STEPS[0]);
                let more = if *step == STEPS[4] { " a real-time priority" } else { "" };
                return Err(SysError::io(format!("{step} the process on CPU {}{more}", lane.cpu), cause));
            }
        }
        all.map_err(|e| SysError::io("wait for the processes of the phases", e))?;
        Ok(Team { lanes, go: File::from(go), setup: setup.clone() })
    }

    /// The processes, in the order of the CPUs.
    pub fn pids(&self) -> Vec<i32> {
        self.lanes.iter().map(|l| l.pid).collect()
    }

    /// Starts their measurements, and waits for them; a signal ends them. The measurements so far are returned, with
    /// the signal.
    pub fn run(mut self, signals: &Signals) -> SysResult<(Vec<MeasuredCpu>, Option<i32>)> {
        let above = self.setup.fifo.map(|p| Above::new(p.saturating_add(1))).transpose()?;
        let start = clock::monotonic() + Nanos::from_millis(2);
        self.lanes.iter().for_each(|l| l.shared.header().start_at.store(start.0, Ordering::Release));
        // One byte for each of them.
        let go = self.go.write_all(&vec![1; self.lanes.len()]);
        go.map_err(|e| SysError::io("start the phases", e))?;
        let deadline = above.as_ref().map(|_| Nanos(start.0.saturating_add(self.setup.limit(1).0)));
        let mut killed = None;
        while self.lanes.iter_mut().filter_map(|l| (!l.ended(killed.is_some())).then_some(())).count() > 0 {
            killed = if let Some(signal) = crate::signals::caught() {
                Some(PhasesEnd::Interrupted { signal })
            } else if deadline.is_some_and(|d| clock::monotonic() >= d) {
                Some(PhasesEnd::TookTooLong)
            } else {
                wait(&self.lanes, signals, deadline);
                continue;
            };
            self.lanes.iter().for_each(Lane::kill);
        }
        drop(above);
        let phases = self.setup.phases;
        let measured = self.lanes.iter().map(|l| l.measured(killed, phases)).collect();
        Ok((measured, signals.caught()))
    }
}

/// Sleeps until a child ends, a signal comes, or until the deadline. Signals are blocked elsewhere, so that none is missed.
fn wait(lanes: &[Lane], signals: &Signals, deadline: Option<Nanos>) {
    let running = lanes.iter().filter(|l| !l.reaped);
    let mut fds: Vec<libc::pollfd> =
        running.map(|l| libc::pollfd { fd: l.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
    let left = deadline.map(|d| (d - clock::monotonic()).max(Nanos::ZERO).0);
    let left = left.map(|l| libc::timespec { tv_sec: l / 1_000_000_000, tv_nsec: l % 1_000_000_000 });
    let timeout = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: valid descriptors, a valid time-out or none, and a valid mask.
    unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout, &signals.waiting) };
}

/// A descriptor of a child. Without one the child is ended.
fn pidfd(pid: libc::pid_t) -> SysResult<OwnedFd> {
    // SAFETY: a child of ours that is not waited for; the new descriptor is ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            let e = SysError::last("watch the process of the phases");
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
            return Err(e);
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

fn pipe() -> SysResult<(File, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which have no other owner.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(SysError::last("make a pipe"));
        }
        Ok((File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Name of the processes.
const NAME: &std::ffi::CStr = c"tare-noise";

/// The child's main function. Descriptors: to say that it is ready, and to wait on.
fn child(setup: &Setup, set: &cpu::CpuSet, shared: &Shared, parent: i32, fds: (i32, i32)) -> ! {
    let (ready, go) = fds;
    let header = shared.header();
    // SAFETY: async-signal-safe calls with valid arguments, in a process of one thread.
    unsafe {
        if let Err(step) = prepare(setup, set, shared, parent) {
            header.errno.store(*libc::__errno_location(), Ordering::Relaxed);
            header.step.store(step, Ordering::Release);
            libc::write(ready, NAME.as_ptr().cast(), 1);
            libc::_exit(1);
        }
        libc::write(ready, NAME.as_ptr().cast(), 1);
        libc::close(ready);
        let mut byte = 0_u8;
        while libc::read(go, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
    }
    let start = Nanos(header.start_at.load(Ordering::Acquire));
    while clock::monotonic() < start {}
    let before = ThreadCounts::now();
    let base = counter::fenced();
    header.base.store(base, Ordering::Relaxed);
    header.before.put(paired(base, 20));
    phases(setup.iterations, &header.first, shared.durations(), setup.most.unwrap_or(u64::MAX));
    header.after.put(paired(base, 20));
    if let Some((after, before)) = ThreadCounts::now().zip(before) {
        let counted = after.since(before);
        header.switches.store(counted.switches, Ordering::Relaxed);
        header.faults.store(counted.faults, Ordering::Relaxed);
        header.counted.store(1, Ordering::Relaxed);
    }
    header.done.store(1, Ordering::Release);
    // SAFETY: never returns; nothing of the parent's is run.
    unsafe { libc::_exit(0) }
}

/// The steps before the measurement; returns the number of the step that failed.
///
/// # Safety
/// Only in a freshly forked child.
unsafe fn prepare(setup: &Setup, set: &cpu::CpuSet, shared: &Shared, parent: i32) -> Result<(), i32> {
    let ok = |r: i32, step: i32| if r == 0 { Ok(()) } else { Err(step) };
    // SAFETY: async-signal-safe calls with valid arguments.
    unsafe {
        ok(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0), 1)?;
        if libc::getppid() != parent {
            libc::_exit(1);
        }
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        ok(libc::sched_setaffinity(0, size_of_val(&set.0), &set.0), 2)?;
        // Written here, so that the pages are there for this process, too.
        shared.durations().iter().for_each(|d| d.store(EMPTY, Ordering::Relaxed));
        let locked = libc::mlock(shared.base.as_ptr().cast(), shared.bytes) == 0;
        shared.header().locked.store(i32::from(locked), Ordering::Relaxed);
        // The code and the loop's predictors.
        (0..10).for_each(|_| work(setup.iterations.min(100_000)));
        if let Some(priority) = setup.fifo {
            // In microseconds of CPU time without a sleep; the hypervisor's time may count in it.
            let most = libc::rlim_t::try_from(setup.limit(2).0 / 1_000).unwrap_or(libc::RLIM_INFINITY);
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            ok(libc::setrlimit(libc::RLIMIT_RTTIME, &limit), 3)?;
            ok(SchedPolicy::fifo(priority).set(), 4)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(fifo: Option<u8>) -> Setup {
        let cpus = vec![*cpu::allowed().unwrap().last().unwrap()];
        let expected = Nanos::from_millis(50);
        Setup { cpus, fifo, iterations: 1_000, phases: 5_000, most: None, expected, grace: GRACE }
    }

    fn run(setup: &Setup) -> Vec<MeasuredCpu> {
        let signals = Signals::install().unwrap();
        let (measured, signal) = Team::start(setup).unwrap().run(&signals).unwrap();
        assert_eq!(signal, None);
        measured
    }

    #[test]
    fn all_phases_are_measured_within_the_time_around_them() {
        if !counter::PRESENT {
            return;
        }
        let (before, count) = (clock::monotonic(), counter::fenced());
        let all = run(&setup(None));
        let (after, end) = (clock::monotonic(), counter::fenced());
        let [one] = all.as_slice() else { panic!("{}", all.len()) };
        assert_eq!((one.ended, one.durations.len()), (PhasesEnd::Complete, 5_000));
        let sum: u64 = one.durations.iter().sum();
        assert!(sum > 0 && sum <= end - count, "{sum}");
        let [first, last] = one.pairs.as_slice() else { panic!() };
        assert!(first.clock >= before && last.clock <= after && last.clock > first.clock);
        assert!(first.cycles <= 0.0 && last.cycles >= sum as f64);
        assert!(one.counted.is_some());
        assert!(!crate::process::exists(one.tid));
    }

    #[test]
    fn longer_loops_take_longer() {
        let shortest = |iterations| {
            let all = run(&Setup { iterations, phases: 200, ..setup(None) });
            *all[0].durations.iter().min().unwrap()
        };
        let (short, long) = (shortest(10_000), shortest(1_000_000));
        // A hundred times as long, whatever the clock speed does.
        assert!(long > 20 * short && short > 0, "{short}, {long}");
    }

    #[test]
    fn the_time_ends_it() {
        let all = run(&Setup { most: Some(1), ..setup(None) });
        assert_eq!((all[0].ended, all[0].durations.len()), (PhasesEnd::TimeOver, 1));
    }

    #[test]
    fn all_cpus_measure_at_once() {
        let cpus = cpu::allowed().unwrap();
        let all = run(&Setup { cpus: cpus.clone(), phases: 20_000, iterations: 10_000, ..setup(None) });
        assert_eq!(all.iter().map(|m| m.cpu).collect::<Vec<_>>(), cpus);
        assert!(all.iter().all(|m| m.durations.len() == 20_000));
        let latest = all.iter().map(|m| m.pairs[0].clock).max().unwrap();
        let earliest = all.iter().map(|m| m.pairs[1].clock).min().unwrap();
        assert!(latest < earliest, "they do not overlap");
    }

    #[test]
    fn what_cannot_be_is_said() {
        let e = Team::start(&Setup { cpus: vec![1023], ..setup(None) }).err().unwrap();
        assert!(e.to_string().contains("CPU 1023"), "{e}");
        let e = Team::start(&Setup { phases: usize::MAX, ..setup(None) }).err().unwrap();
        assert!(e.to_string().contains("map memory"), "{e}");
    }

    /// Far more phases than should take no time at all; `None` where real-time priorities are not allowed.
    fn endless(grace: i64) -> Option<Setup> {
        let setup = Setup {
            iterations: 1_000_000,
            phases: 200_000,
            expected: Nanos::ZERO,
            grace: Nanos::from_millis(grace),
            ..setup(Some(1))
        };
        match Team::start(&setup) {
            Ok(_) => Some(setup),
            Err(e) => {
                assert!(std::env::var_os("TARE_NO_SKIP").is_none_or(|v| v != "1"), "must not be skipped: {e}");
                eprintln!("skipped: {e}");
                None
            }
        }
    }

    /// A process that takes far longer than it should is killed, and its measurements so far are kept.
    #[test]
    fn real_time_phases_that_take_too_long_are_killed() {
        let Some(setup) = endless(500) else { return };
        let began = clock::monotonic();
        let all = run(&setup);
        let took = clock::monotonic() - began;
        assert!(took >= Nanos::from_millis(500) && took < Nanos::from_millis(5_000), "{took:?}");
        assert_eq!(all[0].ended, PhasesEnd::TookTooLong);
        assert!((1..200_000).contains(&all[0].durations.len()), "{}", all[0].durations.len());
        assert!(!crate::process::exists(all[0].tid));
        // This process is as it was.
        assert_eq!(crate::sched::policy_of(0), libc::SCHED_OTHER);
    }

    /// Also if tare never checks.
    #[test]
    fn the_kernel_kills_real_time_phases_that_take_too_long() {
        let Some(setup) = endless(200) else { return };
        let mut team = Team::start(&setup).unwrap();
        let lane = &mut team.lanes[0];
        // Before the phases start: they may take this thread's CPU from it until they are killed.
        let began = clock::monotonic();
        lane.shared.header().start_at.store(began.0, Ordering::Release);
        team.go.write_all(&[1]).unwrap();
        assert!(lane.ended(true));
        let took = clock::monotonic() - began;
        // The kernel counts in ticks, and a hypervisor's time may count.
        assert!(took > Nanos::from_millis(200) && took < Nanos::from_millis(10_000), "{took:?}");
        let measured = lane.measured(None, setup.phases);
        assert_eq!(measured.ended, PhasesEnd::Died);
        assert!((1..200_000).contains(&measured.durations.len()));
    }

    #[test]
    fn a_team_that_is_dropped_leaves_no_process() {
        let team = Team::start(&setup(None)).unwrap();
        let pids = team.pids();
        assert!(pids.iter().all(|p| crate::process::exists(*p)));
        drop(team);
        assert!(pids.iter().all(|p| !crate::process::exists(*p)));
    }
}
