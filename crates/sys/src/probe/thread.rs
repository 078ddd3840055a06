//! The thread of one CPU that wakes up, measures, and sleeps again; between samples it waits without any wake-up.

use super::buffers::ProbeMemory;
use super::gate::{GateAction, GateMachine};
use super::records::WakeRecords;
use crate::cgroup::{Freezer, without_realtime};
use crate::cpu::CpuSet;
use crate::sched::SchedPolicy;
use crate::{SysError, SysResult, clock};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::probes::{GateWake, ProbeKind, ProbeWake};

/// Lowest of the real-time priorities: it comes before every ordinary process, and before nothing else. Beside a program that has one
/// itself, the probes run only while it waits.
const PRIORITY: u8 = 1;
/// Time between two wake-ups while the program is paused, or is about to be started.
const LOOK: Nanos = Nanos::from_millis(1);
/// The least time between two wake-ups: a real-time thread must leave the CPU.
const LEAST: Nanos = Nanos::from_micros(100);
/// How often it is tried to decide before the decision is left to the next wake-up.
const TRIES: u32 = 500;
/// How long a thread may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than it uses; a mapping that is written to once.
const STACK: usize = 256 << 10;

/// What the threads are to do now: the program runs, and is not paused any more; it runs, and a gate may pause it; it is not started
/// yet; it is paused.
const RUNNING: u8 = 0;
const WATCHED: u8 = 1;
const WAITING: u8 = 2;
const PAUSED: u8 = 3;

/// The gate of the present sample, and what it acts on.
#[derive(Default)]
pub(super) struct GateSeat {
    pub machine: Option<GateMachine>,
    pub freezer: Option<Freezer>,
    /// It could not be frozen or thawed.
    pub failed: Option<SysError>,
}

/// What the threads and their owner share.
pub(super) struct ProbeShared {
    /// Odd while a sample is taken; a change ends the threads' sleep.
    command: AtomicU32,
    phase: AtomicU8,
    gate: Mutex<GateSeat>,
    /// An eventfd: the program may be started.
    may_start: File,
}

impl ProbeShared {
    pub fn new() -> SysResult<ProbeShared> {
        // SAFETY: a new descriptor that nobody else owns.
        let may_start = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(SysError::last("make an eventfd"));
            }
            File::from_raw_fd(fd)
        };
        let (command, phase) = (AtomicU32::new(0), AtomicU8::new(RUNNING));
        Ok(ProbeShared { command, phase, gate: Mutex::new(GateSeat::default()), may_start })
    }

    /// The gate, for the owner of the threads.
    pub fn seat(&self) -> MutexGuard<'_, GateSeat> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gate, for a thread: it does not wait for what may be a process that it keeps from running.
    fn try_seat(&self) -> Option<MutexGuard<'_, GateSeat>> {
        for _ in 0..TRIES {
            match self.gate.try_lock() {
                Ok(seat) => return Some(seat),
                Err(TryLockError::Poisoned(seat)) => return Some(seat.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    pub fn may_start(&self) -> BorrowedFd<'_> {
        self.may_start.as_fd()
    }

    /// A sample begins, with this gate; returns the command that threads obey until it changes.
    pub fn begin(&self, gate: Option<(GateMachine, Freezer)>) -> u32 {
        // What was written for an earlier sample.
        let _ = (&self.may_start).read_exact(&mut [0; 8]);
        let mut seat = self.seat();
        let (machine, freezer) = gate.unzip();
        *seat = GateSeat { machine, freezer, failed: None };
        self.say_phase(&seat);
        self.command.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// The sample is over: threads go back to sleep.
    pub fn finish(&self) {
        self.command.fetch_add(1, Ordering::AcqRel);
        // SAFETY: the address of a word that lives; nothing is read or written through the rest.
        unsafe {
            let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, self.command.as_ptr(), wake, i32::MAX);
        }
    }

    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Acquire)
    }

    fn say_phase(&self, seat: &GateSeat) {
        let phase = match &seat.machine {
            Some(machine) if machine.is_waiting() => WAITING,
            Some(machine) if machine.is_paused() => PAUSED,
            Some(machine) if machine.is_watching() => WATCHED,
            _ => RUNNING,
        };
        self.phase.store(phase, Ordering::Release);
    }

    /// Whatever the gate has paused continues for good.
    pub fn release(&self) {
        let mut seat = self.seat();
        let GateSeat { machine, freezer, failed } = &mut *seat;
        if let Some(machine) = machine {
            if (machine.is_paused() || failed.is_some())
                && let Some(Err(e)) = freezer.as_ref().map(Freezer::thaw)
            {
                *failed = Some(e);
            }
            machine.end(clock::monotonic());
        }
        self.say_phase(&seat);
    }

    /// The program is started now, whatever was being waited for.
    pub fn start_anyway(&self) {
        let mut seat = self.seat();
        if let Some(machine) = &mut seat.machine
            && machine.is_waiting()
        {
            machine.opened(clock::monotonic());
        }
        self.say_phase(&seat);
    }

    /// Decides after a wake-up, and does it; returns how long the program may still be kept from running, if it is.
    fn decide(&self, index: usize, at: Nanos, latency: u32, issue: u32) -> Option<Nanos> {
        let Some(mut seat) = self.try_seat() else {
            return matches!(self.phase(), WAITING | PAUSED).then_some(LOOK);
        };
        let GateSeat { machine, freezer, failed } = &mut *seat;
        let (machine, freezer) = (machine.as_mut()?, freezer.as_ref()?);
        match machine.woke(index, at, latency, issue) {
            GateAction::Nothing => {}
            GateAction::Pause => {
                // Nothing is paused that has not begun.
                if freezer.is_populated().unwrap_or(true) {
                    match freezer.freeze() {
                        Ok(()) => machine.paused(at),
                        Err(e) => {
                            let _ = freezer.thaw();
                            give_up(machine, failed, e);
                        }
                    }
                }
            }
            GateAction::Open if machine.is_waiting() => {
                machine.opened(clock::monotonic());
                let _ = (&self.may_start).write_all(&1_u64.to_ne_bytes());
            }
            GateAction::Open => match freezer.thaw() {
                Ok(()) => machine.opened(clock::monotonic()),
                // Still paused: the next wake-up tries again.
                Err(e) => *failed = Some(e),
            },
        }
        let held = machine.is_waiting() || machine.is_paused();
        let left = if failed.is_some() { LOOK } else { machine.left(at) };
        self.say_phase(&seat);
        held.then_some(left)
    }

    /// Sleeps until then; false if the sample is over.
    fn sleep_until(&self, at: Nanos, command: u32) -> bool {
        let until = libc::timespec { tv_sec: at.0 / 1_000_000_000, tv_nsec: at.0 % 1_000_000_000 };
        while self.command.load(Ordering::Acquire) == command {
            // With a bit set, the time is absolute, on CLOCK_MONOTONIC (futex(2)). As clock_nanosleep, but that its owner can end it.
            // SAFETY: the address of a word that lives, and a valid time.
            let (r, errno) = unsafe {
                let wait = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
                let (word, none) = (self.command.as_ptr(), std::ptr::null::<u32>());
                let r = libc::syscall(libc::SYS_futex, word, wait, command, &raw const until, none, u32::MAX);
                (r, *libc::__errno_location())
            };
            match errno {
                _ if r == 0 => {}
                libc::EAGAIN | libc::EINTR => {}
                libc::ETIMEDOUT => return self.command.load(Ordering::Acquire) == command,
                // It must not run on without a sleep.
                _ => return false,
            }
        }
        false
    }
}

fn give_up(machine: &mut GateMachine, failed: &mut Option<SysError>, e: SysError) {
    machine.end(clock::monotonic());
    *failed = Some(e);
}

/// What a thread is to do next.
struct ProbeJob {
    records: Box<WakeRecords>,
    /// Between two wake-ups of all probes.
    period: Nanos,
    /// The command that it obeys until it changes.
    command: u32,
    /// Only so many wake-ups, as if the program were about to be started.
    learn: Option<u32>,
}

/// A thread on its CPU. It ends with this value.
pub(super) struct ProbeLane {
    pub cpu: u32,
    jobs: Option<SyncSender<ProbeJob>>,
    done: Receiver<Box<WakeRecords>>,
    /// While the thread does nothing.
    records: Option<Box<WakeRecords>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread has.
struct ProbeThread {
    index: usize,
    memory: ProbeMemory,
    shared: Arc<ProbeShared>,
}

impl ProbeLane {
    /// Starts the thread of a CPU, the `index`th.
    ///
    /// # Errors
    /// If the CPU may not be used, or no real-time priority be had: at an ordinary one, probes would measure when the program lets
    /// them.
    pub fn start(index: usize, cpu: u32, shared: &Arc<ProbeShared>) -> Result<ProbeLane, Absent> {
        may_probe(cpu)?;
        let memory = ProbeMemory::new(index).map_err(|e| e.absent("memory"))?;
        let mut own = ProbeThread { index, memory, shared: Arc::clone(shared) };
        let (jobs, inbox) = sync_channel::<ProbeJob>(1);
        let (outbox, done) = sync_channel(1);
        let (said, told) = sync_channel(1);
        let serve = move || {
            let ready = become_real_time(cpu);
            let is_ready = ready.is_ok();
            if said.send(ready).is_err() || !is_ready {
                return;
            }
            // The code and the memory are there before the first sample.
            own.memory.all();
            while let Ok(job) = inbox.recv() {
                if outbox.send(own.wake_up(job)).is_err() {
                    return;
                }
            }
        };
        let thread = with_signals_blocked(|| {
            let builder = std::thread::Builder::new().name("tare-probe".to_owned()).stack_size(STACK);
            builder.spawn(serve).map_err(|e| SysError::io("start a thread for probes", e))
        });
        let thread = thread.and_then(|t| t).map_err(|e| e.absent("another thread"))?;
        let records = Some(Box::new(WakeRecords::new()));
        let lane = ProbeLane { cpu, jobs: Some(jobs), done, records, thread: Some(thread) };
        let lost = || Absent::Failed("the thread for probes has ended".to_owned());
        told.recv().unwrap_or_else(|_| Err(lost()))?;
        Ok(lane)
    }

    /// Executes all probes every so often until the command changes; where a gate may pause the program, it wakes up twice as often.
    pub fn begin(&mut self, period: Nanos, command: u32) {
        self.give(period, command, None);
    }

    fn give(&mut self, period: Nanos, command: u32, learn: Option<u32>) {
        if let (Some(mut records), Some(jobs)) = (self.records.take(), &self.jobs) {
            records.clear();
            let _ = jobs.send(ProbeJob { records, period: period.max(LEAST), command, learn });
        }
    }

    /// What it has measured, when it has stopped.
    ///
    /// `None` if it does not get its CPU: a process of a higher priority is there.
    pub fn finish(&mut self) -> Option<&WakeRecords> {
        if self.records.is_none() {
            self.records = self.done.recv_timeout(PATIENCE).ok();
        }
        self.records.as_deref()
    }

    /// What [`ProbeLane::finish`] has got, without waiting again.
    pub fn kept(&self) -> Option<&WakeRecords> {
        self.records.as_deref()
    }

    /// Looks at the machine so many times, 1 ms apart, while nothing is measured.
    pub fn learn(&mut self, shared: &ProbeShared, wakes: u32) {
        self.give(LOOK, shared.command.load(Ordering::Acquire), Some(wakes));
    }
}

impl Drop for ProbeLane {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl ProbeThread {
    fn wake_up(&mut self, job: ProbeJob) -> Box<WakeRecords> {
        let ProbeJob { mut records, period, command, learn } = job;
        let mut began = clock::thread_cpu();
        let mut had_started = self.shared.phase() != WAITING;
        let mut looks = learn;
        // The gate needs two probes: only every second wake-up is of all of them, whatever pauses lie between.
        let mut all_are_due = true;
        let watch = Nanos(period.0 / 2).max(LEAST);
        let mut step = period;
        // Each CPU at a moment of its own: on two threads of one core, probes at the same time would measure each other.
        let mut next = clock::monotonic() + self.moment();
        while looks != Some(0) {
            looks = looks.map(|n| n - 1);
            let at = clock::monotonic();
            let phase = if learn.is_some() { WAITING } else { self.shared.phase() };
            if !had_started && phase != WAITING {
                (had_started, began) = (true, clock::thread_cpu());
            }
            let runs = matches!(phase, RUNNING | WATCHED);
            records.late = records.late.saturating_add(u64::from(runs && at - next > Nanos(step.0 / 2)));
            let all = phase == RUNNING || all_are_due;
            let held = match phase {
                RUNNING | WATCHED if all => self.measure(&mut records, at),
                _ => self.look(&mut records, at, phase, learn.is_some()),
            };
            if runs {
                all_are_due = !all;
            }
            step = match held {
                Some(left) => left.min(LOOK).max(LEAST),
                None if self.shared.phase() == WATCHED => watch,
                None => period,
            };
            let now = clock::monotonic();
            // Those that were missed are not made up for; the moment stays.
            let due = (now - next).0.max(0) / step.0 + 1;
            next += Nanos(step.0.saturating_mul(due));
            if !self.shared.sleep_until(next, command) {
                break;
            }
        }
        records.cpu = clock::thread_cpu() - began;
        records
    }

    /// Where in a millisecond this CPU's wake-ups are: multiples of the golden ratio are far apart, however many there are.
    fn moment(&self) -> Nanos {
        Nanos(i64::try_from(self.index).unwrap_or(0).wrapping_mul(618_034).rem_euclid(LOOK.0))
    }

    fn measure(&mut self, records: &mut WakeRecords, at: Nanos) -> Option<Nanos> {
        let ticks = self.memory.all();
        records.running.add(ProbeWake { at, ticks });
        let [latency, issue, ..] = ticks;
        self.shared.decide(self.index, at, latency, issue)
    }

    /// Only what the gate goes by; with `only`, nothing is decided.
    fn look(&mut self, records: &mut WakeRecords, at: Nanos, phase: u8, only: bool) -> Option<Nanos> {
        let [latency, issue] = [ProbeKind::Latency, ProbeKind::Issue].map(|kind| self.memory.ticks(kind));
        let kept = if phase == WATCHED { &mut records.watched } else { &mut records.paused };
        kept.add(GateWake { at, latency, issue });
        match only {
            true => Some(LOOK),
            false => self.shared.decide(self.index, at, latency, issue),
        }
    }
}

/// Whether a thread may probe, before there is memory for it: without exit records, peak memory below that of tare is not known.
fn may_probe(cpu: u32) -> Result<(), Absent> {
    let thread = with_signals_blocked(|| std::thread::Builder::new().spawn(move || become_real_time(cpu)));
    let thread = thread.and_then(|t| t.map_err(|e| SysError::io("start a thread for probes", e)));
    let thread = thread.map_err(|e| e.absent("another thread"))?;
    thread.join().unwrap_or_else(|_| Err(Absent::Failed("the thread for probes has ended".to_owned())))
}

/// Keeps the calling thread to a CPU, where it runs as soon as its time comes.
fn become_real_time(cpu: u32) -> Result<(), Absent> {
    let set = CpuSet::new(&[cpu]).map_err(|e| e.absent("a CPU"))?;
    // SAFETY: plain calls on valid arguments, for this thread alone.
    unsafe {
        if libc::sched_setaffinity(0, size_of_val(&set.0), &set.0) != 0 {
            return Err(SysError::last(format!("probe on CPU {cpu}")).absent("the CPU of the program"));
        }
        // Real-time threads have none in later kernels; in earlier ones it would delay a futex by 50 µs.
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
    if SchedPolicy::fifo(PRIORITY).set() == 0 {
        return Ok(());
    }
    let error = SysError::last("give a thread a real-time priority");
    Err(match without_realtime(Path::new("/")) {
        Some(file) => Absent::NotSupported(format!("{} leaves no time for real-time threads", file.display())),
        None => error.absent("CAP_SYS_NICE, for a thread with a real-time priority (run as root)"),
    })
}

/// Starts a thread by `start` that gets no signal: those of the process are for the thread that waits for the program.
fn with_signals_blocked<T>(start: impl FnOnce() -> T) -> SysResult<T> {
    // SAFETY: plain calls on valid sets.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        if libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) != 0 {
            return Err(SysError::last("block signals"));
        }
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        Ok(started)
    }
}
