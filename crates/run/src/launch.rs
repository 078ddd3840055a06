//! Starting the programs of a plan, one sample at a time.

use crate::last_words::{KEPT, Listener, last_lines};
use crate::metrics::{MetricPatterns, OutputCapture};
use crate::{RunError, identity};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Child as StdChild, Command as StdCommand, Stdio};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::run::plan::{Input, Output, Program, RunPlan, Sched};
use tarebench_core::sample::data::{ClockShift, MetricReading, Outcome, OwnUse, Phase, Stamp, Usage};
use tarebench_core::sample::process_time::CpuTime;
use tarebench_sys::arguments::{argument_bytes, argument_limit};
use tarebench_sys::cpu::CpuSet;
use tarebench_sys::opened_as::{OpenPurpose, open_as};
use tarebench_sys::signals::Signals;
use tarebench_sys::spawn::{Child, Launch, Scheduling, resolve, spawn};
use tarebench_sys::wait::{ProcessEnd, Reaped, Woken, own_switches, reap, settle, wait, wait_any};
use tarebench_sys::{SysError, cgroup, clock, fifo, limits, process, topology};

/// The result of one execution, between the two stamps and by reaping.
#[derive(Clone, Debug)]
pub struct LaunchedExecution {
    /// Just before the start.
    pub start: Stamp,
    /// Just after the end.
    pub end: Stamp,
    /// CLOCK_REALTIME at the start.
    pub wall_clock: Nanos,
    /// By how much other clocks moved away from CLOCK_MONOTONIC meanwhile.
    pub clock_shift: Reading<ClockShift>,
    pub outcome: Outcome,
    /// Main process, if it was started.
    pub pid: Option<i32>,
    /// CPU time by wait4.
    pub cpu: Reading<CpuTime>,
    /// The rest of the rusage.
    pub usage: Reading<Usage>,
    /// Orphans that tare adopted and reaped during the execution: pid and CPU time.
    pub orphans: Vec<(i32, CpuTime)>,
    /// How long the start took, where no cgroup holds the program.
    pub until_exec: Nanos,
    /// The cgroup that the main process ended in, where one was made for it.
    pub last_cgroup: Reading<Name>,
    /// The main thread's time on a CPU and runnable without one, by the scheduler.
    pub schedstat: Reading<(Nanos, Nanos)>,
    /// Tare's own use between the stamps.
    pub own: OwnUse,
    /// The signal that asked tare to end during the execution.
    pub interrupted: Option<i32>,
}

pub struct ProcessLauncher {
    plan: RunPlan,
    base_environment: Vec<Vec<u8>>,
    path: Vec<u8>,
    identity: Option<tarebench_sys::spawn::Identity>,
    cpus: Option<CpuSet>,
    /// The CPUs that tare itself could use before it left those of the program.
    own_before: Option<Vec<u32>>,
    drain: Option<Drain>,
    drain_pipe: Option<OwnedFd>,
    /// Reads the standard error of the next execution.
    listener: Option<Listener>,
    last_words: Option<String>,
    patterns: MetricPatterns,
    /// Keeps the output of the next execution, if there is something to search in it.
    capture: Option<OutputCapture>,
    metrics: Vec<MetricReading>,
}

/// How long a tree may take to end by itself after SIGTERM.
const GRACE: Nanos = Nanos::from_millis(500);
/// How long a program may stay stopped.
const STOP_GRACE: Nanos = Nanos::from_millis(1_000);

impl ProcessLauncher {
    /// Checks what can be checked before the first sample: user, CPUs, working directory.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn new(plan: &RunPlan) -> Result<ProcessLauncher, RunError> {
        let patterns = MetricPatterns::new(plan).map_err(|e| RunError::Plan(e.to_string()))?;
        let identity = plan.user.as_deref().map(identity::of_plan).transpose()?;
        let base_environment = identity::environment(plan, identity.as_ref());
        let path =
            base_environment.iter().find_map(|v| v.strip_prefix(b"PATH=")).unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
        let path = path.to_vec();
        for cwd in std::iter::once(&plan.cwd).chain(plan.programs.iter().filter_map(|p| p.cwd.as_ref())) {
            if !Path::new(std::ffi::OsStr::from_bytes(cwd.as_bytes())).is_dir() {
                return Err(RunError::Plan(format!("working directory `{cwd}` is not a folder")));
            }
        }
        let (cpus, own_before) = match plan.cpus.as_slice() {
            [] => (None, None),
            cpus => keep_to_other_cpus(cpus).map(|(set, before)| (Some(set), Some(before)))?,
        };
        let piped = plan.programs.iter().any(|p| *plan.output_of(p) == Output::Pipe);
        let (drain, drain_pipe) = match piped {
            true => start_drain().map(|(d, p)| (Some(d), Some(p)))?,
            false => (None, None),
        };
        Ok(ProcessLauncher {
            plan: plan.clone(),
            base_environment,
            path,
            identity,
            cpus,
            own_before,
            drain,
            drain_pipe,
            listener: None,
            last_words: None,
            patterns,
            capture: None,
            metrics: Vec::new(),
        })
    }

    /// Whether all programs can be started with the longest padding, and with what else a sample adds to the environment.
    pub fn has_room_for_padding(&self) -> bool {
        const ADDED: u64 = 4096 + 512;
        let bytes = |words: &mut dyn Iterator<Item = &[u8]>| words.map(argument_bytes).sum::<u64>();
        let environment = bytes(&mut self.base_environment.iter().map(Vec::as_slice));
        let arguments = |p: &Program| bytes(&mut p.command.words().iter().map(|w| w.as_bytes()));
        let longest = self.plan.programs.iter().map(arguments).max().unwrap_or(0);
        // Its path is on the stack, too.
        longest + environment + ADDED + 4096 < argument_limit()
    }

    fn launch_for(&self, program: &Program, environment: &[Vec<u8>], signals: &Signals) -> Result<Launch, SysError> {
        let words = program.command.words();
        let name = words.first().map(|w| w.as_bytes()).unwrap_or_default();
        let folder = self.plan.cwd_of(program).as_bytes();
        let cwd = Path::new(std::ffi::OsStr::from_bytes(folder));
        let path = resolve(name, &self.path, cwd)?;
        // Shells set it by themselves, and their children find it there.
        let pwd = program.cwd.as_ref().map(|folder| [&b"PWD="[..], folder.as_bytes()].concat());
        let inherited = self.base_environment.iter().filter(|v| pwd.is_none() || !v.starts_with(b"PWD="));
        let env = inherited.chain(&pwd).chain(environment).map(Vec::as_slice);
        let mut launch = Launch::new(&path, words.iter().map(|w| w.as_bytes()), env)?;
        // Tare's own folder is inherited; to change to it again would only cost time. Of programs that are in different folders,
        // all change theirs, as one of them would be at an advantage.
        let each_its_own = self.plan.programs.iter().any(|p| p.cwd.is_some());
        if each_its_own || !std::env::current_dir().is_ok_and(|d| d == cwd) {
            launch.cwd(folder)?;
        }
        self.streams(program, &mut launch, signals)?;
        if let Some(cpus) = self.cpus {
            launch.cpus(cpus);
        }
        match self.plan.sched {
            Some(Sched::Fifo(p)) => launch.scheduling(Scheduling::Fifo(p)),
            Some(Sched::Nice(n)) => launch.scheduling(Scheduling::Nice(n)),
            None => {}
        }
        if let Some(identity) = &self.identity {
            launch.identity(identity.clone());
        }
        // A program that reads the terminal must stay in the foreground's process group.
        if self.plan.input != Input::Inherit {
            launch.own_group();
        }
        if !self.plan.leave_running {
            launch.die_with_parent();
        }
        Ok(launch)
    }

    /// Lays out the start of a program that runs together with another one: on this CPU and with this nice value, or as it runs alone.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn together(
        &self,
        series: u32,
        environment: &[Vec<u8>],
        on_one_cpu: Option<(u32, i8)>,
        signals: &Signals,
    ) -> Result<Launch, SysError> {
        let none = || SysError::format("start a program", "one of the plan", series.to_string().as_bytes());
        let program = self.plan.programs.get(series as usize).ok_or_else(none)?;
        let mut launch = self.launch_for(program, environment, signals)?;
        if let Some((cpu, nice)) = on_one_cpu {
            launch.cpus(CpuSet::new(&[cpu])?);
            launch.scheduling(Scheduling::Nice(nice));
        }
        Ok(launch)
    }

    /// With `signals`, the other end of a FIFO is waited for.
    fn open_named(&self, name: &[u8], purpose: OpenPurpose, signals: Option<&Signals>) -> Result<OwnedFd, SysError> {
        let open = |options: &mut std::fs::OpenOptions| match signals {
            Some(signals) => fifo::open(options, name, signals),
            None => open(options, name),
        };
        match (&self.identity, purpose) {
            // Its program may have put a link or a FIFO there since the last sample.
            (Some(user), _) => open_as(user, Path::new(std::ffi::OsStr::from_bytes(name)), purpose),
            (None, OpenPurpose::Read) => open(File::options().read(true)),
            (None, OpenPurpose::Append) => open(File::options().append(true).create(true)),
        }
    }

    fn streams(&self, program: &Program, launch: &mut Launch, signals: &Signals) -> Result<(), SysError> {
        match &self.plan.input {
            Input::Null => launch.stdio(0, open(File::options().read(true), b"/dev/null")?),
            Input::File(name) => launch.stdio(0, self.open_named(name.as_bytes(), OpenPurpose::Read, Some(signals))?),
            Input::Inherit => {}
        }
        match (self.plan.output_of(program), &self.drain_pipe) {
            (Output::Inherit, _) => {}
            (Output::File(name), _) => {
                launch.stdio(1, self.open_named(name.as_bytes(), OpenPurpose::Append, Some(signals))?);
                launch.stdio(2, open(File::options().write(true), b"/dev/null")?);
            }
            (Output::Pipe, Some(pipe)) => {
                for stream in [1, 2] {
                    launch.stdio(stream, pipe.try_clone().map_err(|e| SysError::io("copy the pipe", e))?);
                }
            }
            (Output::Null | Output::Pipe, _) => {
                for stream in [1, 2] {
                    launch.stdio(stream, open(File::options().write(true), b"/dev/null")?);
                }
            }
        }
        for stream in [1, 2] {
            if let Some(kept) = self.capture.as_ref().and_then(|c| c.descriptor(stream)) {
                launch.stdio(stream, kept?);
            }
        }
        if let Some(listener) = &self.listener {
            launch.stdio(2, listener.pipe().map_err(|e| SysError::io("copy the pipe", e))?);
        }
        Ok(())
    }

    /// Makes the next execution's standard error a pipe whose end is kept, where that costs no sample anything: in warm-ups, and
    /// where the output goes to a pipe anyway. What outlives the program must not be left with a pipe that nobody reads. Without
    /// tail(1) the last words stay unknown. Where the output is searched for metrics, all of it is kept.
    pub fn listen(&mut self, series: usize, phase: Phase) {
        self.last_words = None;
        self.metrics.clear();
        if !self.patterns.is_empty() {
            let program = self.plan.programs.get(series);
            self.capture = program.map(|p| OutputCapture::new(self.plan.output_of(p)));
            return;
        }
        let listens = self.plan.programs.get(series).is_some_and(|program| match self.plan.output_of(program) {
            Output::Inherit => false,
            Output::Pipe => true,
            Output::Null | Output::File(_) => phase == Phase::Warmup,
        });
        self.listener = if listens && !self.plan.leave_running { Listener::start().ok() } else { None };
    }

    /// Stops listening; what a failed execution wrote last is kept for [`Self::last_words`], what its output says of itself for
    /// [`Self::metrics`].
    pub fn heard(&mut self, failed: bool) {
        if let Some(capture) = self.capture.take() {
            let texts = capture.finish(&|name| self.open_named(name, OpenPurpose::Read, None));
            self.metrics = self.patterns.search(&texts);
            let [_, stderr] = texts;
            let end = |text: &[u8]| {
                let kept = usize::try_from(KEPT).unwrap_or(usize::MAX);
                last_lines(text.get(text.len().saturating_sub(kept)..).unwrap_or_default())
            };
            self.last_words = stderr.ok().filter(|_| failed).and_then(|t| end(&t.bytes));
        }
        let Some(listener) = self.listener.take() else { return };
        if failed {
            self.last_words = listener.finish();
        } else {
            listener.dismiss();
        }
    }

    /// What the last execution printed of the plan's metrics.
    pub fn metrics(&mut self) -> Vec<MetricReading> {
        std::mem::take(&mut self.metrics)
    }

    /// The last words of the last execution, if it failed and they are known.
    pub fn last_words(&mut self) -> Option<String> {
        self.last_words.take()
    }
}

/// Relative names are relative to where tare was started, as in a shell's redirection.
fn open(options: &mut std::fs::OpenOptions, name: &[u8]) -> Result<OwnedFd, SysError> {
    let name = OsString::from_vec(name.to_vec());
    let opened = options.open(&name).map(OwnedFd::from);
    opened.map_err(|e| SysError::io(format!("open `{}`", name.to_string_lossy()), e))
}

/// Keeps tare off the program's CPUs, and off the other hyper-threads of their cores, if it has others; returns the program's set, and
/// what tare had.
fn keep_to_other_cpus(cpus: &[u32]) -> Result<(CpuSet, Vec<u32>), RunError> {
    let (allowed, reachable) = (tarebench_sys::cpu::allowed()?, topology::reachable()?);
    if let Some(bad) = cpus.iter().find(|c| !reachable.contains(c)) {
        return Err(RunError::Plan(format!("CPU {bad} is not among the CPUs that may be used here: {reachable:?}")));
    }
    let others = topology::apart_from(Path::new("/"), &allowed, cpus);
    if !others.is_empty() {
        tarebench_sys::cpu::confine(&others)?;
    }
    Ok((CpuSet::new(cpus)?, allowed))
}

/// A process that reads the pipe, so that tare need not wake up for it.
struct Drain {
    child: StdChild,
    /// It may be reaped with the program's orphans; its pid may then belong to another process.
    pidfd: OwnedFd,
}

fn start_drain() -> Result<(Drain, OwnedFd), RunError> {
    let plan = |e: std::io::Error| {
        RunError::Plan(format!("the process that reads the program's output could not be started: {e}"))
    };
    let (reader, writer) = std::io::pipe().map_err(plan)?;
    let mut command = StdCommand::new("/bin/cat");
    command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
    // Not in the terminal's foreground group: a Ctrl-C must not end it before the program.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn().map_err(plan)?;
    let pidfd = tarebench_sys::pidfd::open(child.id() as i32)?;
    Ok((Drain { child, pidfd }, writer.into()))
}

impl Drop for ProcessLauncher {
    fn drop(&mut self) {
        self.drain_pipe = None;
        if let Some(drain) = &mut self.drain {
            let _ = tarebench_sys::pidfd::signal(drain.pidfd.as_fd(), 9);
            tarebench_sys::pidfd::reap(drain.pidfd.as_fd());
        }
        // A later plan in this process may want those CPUs.
        if let Some(before) = &self.own_before {
            let _ = tarebench_sys::cpu::confine(before);
        }
    }
}

impl ProcessLauncher {
    /// Processes that help tare, which are not daemons.
    pub fn helpers(&self) -> Vec<i32> {
        let listener = self.listener.iter().map(Listener::pid);
        self.drain.iter().map(|d| d.child.id() as i32).chain(listener).collect()
    }

    /// Executes program `series` once. `environment` holds the variables of this sample, `KEY=value`.
    /// `end_tree` is called to kill the whole tree if necessary.
    ///
    /// # Errors
    /// Only what makes further measuring pointless; a program that cannot be started is an [`Outcome`].
    pub fn execute(
        &self,
        series: usize,
        environment: &[Vec<u8>],
        cgroup: Option<BorrowedFd<'_>>,
        end_tree: &mut dyn FnMut(i32, bool),
        signals: &Signals,
    ) -> Result<LaunchedExecution, RunError> {
        let program = self.plan.programs.get(series).ok_or_else(|| RunError::Plan("no such program".into()))?;
        let launch = self.launch_for(program, environment, signals);
        // A signal that arrived during an earlier wait would not wake the wait below.
        if let Some(signal) = signals.caught() {
            let interrupted = Some(signal);
            return Ok(LaunchedExecution {
                outcome: Outcome::Interrupted,
                interrupted,
                ..LaunchedExecution::nothing()
            });
        }
        let mut launch = match launch {
            Ok(launch) => launch,
            Err(e) => return Ok(not_started(&e)),
        };
        settle(signals);
        let wall_clock = clock::realtime();
        let offsets = clock::offsets();
        let switches = own_switches();
        let cpu = clock::own_cpu();
        launch.start_at_once();
        // From here to the end stamp tare only starts the program and sleeps.
        let start = clock::stamp_before();
        let child = match spawn(&launch, cgroup, signals) {
            Ok(child) => child,
            Err(e) => return Ok(not_started(&e)),
        };
        // perf's task-clock may be in use. The clock is read without a system call, when the program runs already.
        let until_exec = if cgroup.is_none() { clock::monotonic() - start.monotonic } else { Nanos::ZERO };
        let mut orphans = Vec::new();
        let mut orphan = |r: Reaped| orphans.push((r.pid, r.cpu));
        // Pauses of the gate are not the program's time.
        let pauses = self.plan.probes.and_then(|p| p.gate).map_or(Nanos::ZERO, |gate| gate.limit);
        let began = start.monotonic + pauses;
        let deadline = self.plan.timeout.map(|t| began + t);
        let woken = wait(&child, deadline, signals, &mut orphan);
        let mut end = clock::stamp_after();
        let own = own_use(cpu, switches);
        let (outcome, interrupted) = match woken {
            Woken::Ended => (None, None),
            other => {
                let early = Early { child: &child, others: &[], start: began, limit: self.plan.timeout, signals };
                let r = early.end(other, end_tree, &mut orphan);
                end = clock::stamp_after();
                r
            }
        };
        let clock_shift = offsets.and_then(|before| Ok(before.shift_until(clock::offsets()?)));
        let schedstat = process::schedstat(child.pid).map_err(|e| e.absent("a readable /proc"));
        let last_cgroup = last_cgroup(child.pid, cgroup.is_some());
        let reaped = reap(child.pid, true)?;
        let lost = || Absent::Failed("another process has reaped the program".into());
        let outcome = outcome.unwrap_or(match reaped.map(|r| r.ended) {
            Some(ProcessEnd::Signaled(signal)) => Outcome::Signaled { signal },
            Some(ProcessEnd::Exited(code)) => Outcome::Exited { code },
            None => Outcome::NotStarted { error: lost().to_string(), by_limit: false },
        });
        Ok(LaunchedExecution {
            start,
            end,
            wall_clock,
            clock_shift: clock_shift.into(),
            outcome,
            pid: Some(child.pid),
            cpu: reaped.map(|r| r.cpu).ok_or_else(lost).into(),
            usage: reaped.map(|r| r.usage).ok_or_else(lost).into(),
            orphans,
            until_exec,
            last_cgroup,
            schedstat: schedstat.into(),
            own,
            interrupted,
        })
    }
}

/// The cgroup in which a process that has not been reaped ended, if one was made for it.
pub(crate) fn last_cgroup(pid: i32, has_one: bool) -> Reading<Name> {
    match has_one {
        true => cgroup::of_process(pid).map(Name::new).map_err(|e| e.absent("a readable /proc")).into(),
        false => Reading::Absent(Absent::NotAsked("no cgroup was made for the program".into())),
    }
}

pub(crate) fn own_use(cpu: Nanos, switches: (i64, i64)) -> OwnUse {
    let cpu = clock::own_cpu() - cpu;
    let now = own_switches();
    OwnUse { cpu, voluntary_switches: now.0 - switches.0, involuntary_switches: now.1 - switches.1 }
}

/// A program that has not ended by itself.
pub(crate) struct Early<'a> {
    pub child: &'a Child,
    /// Children of tare that are no orphans of it.
    pub others: &'a [i32],
    pub start: Nanos,
    pub limit: Option<Nanos>,
    pub signals: &'a Signals,
}

impl Early<'_> {
    fn wait(&self, deadline: Option<Nanos>, orphan: &mut dyn FnMut(Reaped)) -> Woken {
        wait_any(&[self.child], self.others, deadline, self.signals, orphan).1
    }

    /// Asks its tree to end, then kills it.
    ///
    /// Returns the outcome, unless the program was only stopped for a moment and has ended since.
    pub(crate) fn end(
        &self,
        woken: Woken,
        end_tree: &mut dyn FnMut(i32, bool),
        orphan: &mut dyn FnMut(Reaped),
    ) -> (Option<Outcome>, Option<i32>) {
        let mut woken = woken;
        while let Woken::Stopped(signal) = woken {
            // Another process may be about to continue it. It may also end then, and its end must not be missed.
            let until = clock::monotonic() + STOP_GRACE;
            while let Woken::Stopped(_) = woken {
                woken = self.wait(Some(until), orphan);
            }
            if woken == Woken::TimedOut {
                if tarebench_sys::wait::is_stopped(self.child) {
                    end_tree(self.child.pid, true);
                    return (Some(Outcome::Stopped { signal }), None);
                }
                woken = self.wait(self.limit.map(|l| self.start + l), orphan);
            }
        }
        if woken == Woken::Ended {
            return (None, None);
        }
        end_tree(self.child.pid, false);
        if wait_quietly(self.child) != Woken::Ended || self.signals.times() > 1 {
            end_tree(self.child.pid, true);
        }
        match woken {
            Woken::Signal(signal) => (Some(Outcome::Interrupted), Some(signal)),
            _ => (Some(Outcome::TimedOut { limit: self.limit.unwrap_or_default() }), None),
        }
    }
}

/// Waits for an end within the grace period, without being woken by signals that are already pending.
fn wait_quietly(child: &Child) -> Woken {
    let until = clock::monotonic() + GRACE;
    while clock::monotonic() < until {
        if tarebench_sys::wait::has_ended(child) {
            return Woken::Ended;
        }
        process::sleep(std::time::Duration::from_millis(5));
    }
    Woken::TimedOut
}

fn not_started(e: &SysError) -> LaunchedExecution {
    LaunchedExecution { outcome: not_started_by(e), ..LaunchedExecution::nothing() }
}

/// Why a program was not started; of a limit, which one.
pub(crate) fn not_started_by(e: &SysError) -> Outcome {
    const ENOMEM: i32 = 12;
    const EAGAIN: i32 = 11;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const E2BIG: i32 = 7;
    let limit = match e.errno() {
        Some(EMFILE) => format!("; the limit of open files is {} (`ulimit -n`)", limits::open_files()),
        Some(ENFILE) => "; the system's limit of open files is reached (fs.file-max)".to_owned(),
        Some(EAGAIN) => "; the limit of processes is reached: `ulimit -u`, or pids.max of the cgroup".to_owned(),
        Some(ENOMEM) => "; there is no memory left for it: `ulimit -v`, or the machine's".to_owned(),
        // It says itself what is too long.
        Some(E2BIG) => String::new(),
        _ => return Outcome::NotStarted { error: e.to_string(), by_limit: false },
    };
    Outcome::NotStarted { error: format!("{e}{limit}"), by_limit: true }
}

impl LaunchedExecution {
    /// An execution that did not take place, stamped now.
    pub fn nothing() -> LaunchedExecution {
        let absent = || Absent::NotAsked("the program was not started".into());
        LaunchedExecution {
            start: clock::stamp_before(),
            end: clock::stamp_after(),
            wall_clock: clock::realtime(),
            clock_shift: Reading::Absent(absent()),
            outcome: Outcome::NotStarted { error: String::new(), by_limit: false },
            pid: None,
            cpu: Reading::Absent(absent()),
            usage: Reading::Absent(absent()),
            orphans: Vec::new(),
            until_exec: Nanos::ZERO,
            last_cgroup: Reading::Absent(absent()),
            schedstat: Reading::Absent(absent()),
            own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
            interrupted: None,
        }
    }
}
