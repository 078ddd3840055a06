//! Processes that ended during a sample: eBPF records, exact; else those of taskstats, which lack the last tick.

use std::collections::{HashMap, HashSet};
use tarebench_bpf::{BpfError, ExitRecord, ExitTracer, KernelTypes};
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::Nanos;
use tarebench_sys::procfs::{Comm, USER_HZ};
use tarebench_sys::taskstats::{ExitListener, TaskstatsRecord};
use tarebench_sys::{SysError, limits};

/// Room for 20,000 exits and more: a record takes up to 2.5 KiB of the receive buffer's account.
const LISTENER_BUFFER: usize = 128 << 20;

/// With fewer descriptors there would be none for the program's own start.
const OPEN_FILES: u64 = 64;

/// When a process started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// Since boot, to the nanosecond.
    Boot(Nanos),
    /// On CLOCK_REALTIME, to the second.
    Realtime(Nanos),
}

impl Began {
    /// As `/proc/PID/stat` gives it, if it is exact enough for that.
    pub fn start_ticks(self) -> Option<u64> {
        match self {
            Began::Boot(t) => u64::try_from(t.0 / (1_000_000_000 / USER_HZ)).ok(),
            Began::Realtime(_) => None,
        }
    }

    /// Since boot, given CLOCK_REALTIME minus CLOCK_BOOTTIME.
    pub fn since_boot(self, realtime_offset: Nanos) -> Nanos {
        match self {
            Began::Boot(t) => t,
            Began::Realtime(t) => t - realtime_offset,
        }
    }
}

/// A process that ended, combined from the records of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessExit {
    pub pid: i32,
    /// Parent at its end.
    pub ppid: i32,
    /// Its name: the main thread's where that is known.
    pub comm: Comm,
    /// CPU time of all its threads.
    pub cpu: Nanos,
    /// `cpu` may lack up to a tick for a thread.
    pub tick_bound: bool,
    /// Tick-sampled CPU time, where known for the whole process.
    pub interval_counted: Option<Nanos>,
    pub began: Began,
    /// Whether it was in the sample's cgroup, where that is known.
    pub member: Option<bool>,
    pub kernel: bool,
}

/// Combines eBPF's records of threads into processes, in the order of their ends. `cgroup` is the sample's, if any.
///
/// A process of one thread is exact. Of one with several, the time of threads that ended before it comes from the
/// kernel's own sum, to which each may have added up to a tick too little.
pub fn fold_tasks(records: &[ExitRecord], cgroup: Option<u64>) -> Vec<ProcessExit> {
    let mut order: Vec<(i32, Nanos)> = Vec::new();
    let mut seen: HashMap<(i32, Nanos), Vec<&ExitRecord>> = HashMap::new();
    for r in records {
        let tasks = seen.entry((r.pid, r.start)).or_default();
        if r.last && !tasks.iter().any(|t| t.last) {
            order.push((r.pid, r.start));
        }
        tasks.push(r);
    }
    order.iter().filter_map(|key| seen.get(key)).filter_map(|tasks| fold_process(tasks, cgroup)).collect()
}

/// One process from the records of its threads.
fn fold_process(tasks: &[&ExitRecord], cgroup: Option<u64>) -> Option<ProcessExit> {
    let first = *tasks.first()?;
    let main = tasks.iter().find(|t| t.tid == t.pid).map_or(Nanos::ZERO, |t| t.cpu);
    // Each record bounds the total from below, and none counts the main thread twice: once released, it is in the sum.
    let bound = |t: &&ExitRecord| if t.main_released { t.dead_threads.max(main) } else { t.dead_threads + main };
    let cpu = tasks.iter().map(bound).max()?;
    let single = tasks.len() == 1 && first.tid == first.pid && cpu == main;
    Some(ProcessExit {
        pid: first.pid,
        ppid: first.ppid,
        comm: Comm::new(first.name()),
        cpu,
        tick_bound: !single,
        interval_counted: single.then_some(first.interval_counted),
        began: Began::Boot(first.start),
        member: cgroup.map(|id| id == first.cgroup),
        kernel: first.kernel,
    })
}

/// Combines taskstats' records of threads into processes, in the order of their ends.
///
/// The kernel sends a record for each thread and, with that of the last thread of a process that had several, the
/// process's sum. Before Linux 5.19 a record does not name the thread's process; each then counts as a process.
pub fn fold_records(records: &[TaskstatsRecord]) -> Vec<ProcessExit> {
    let mut exits: Vec<ProcessExit> = Vec::new();
    let mut main_names: HashMap<i32, Comm> = HashMap::new();
    for r in records {
        if r.whole_process {
            if let Some(e) = exits.iter_mut().rev().find(|e| e.pid == r.id) {
                e.cpu = r.cpu;
                e.interval_counted = Some(r.interval_counted);
            }
            continue;
        }
        let pid = r.tgid.unwrap_or(r.id);
        if r.id == pid {
            main_names.insert(pid, r.comm);
        }
        if r.tgid.is_none() || r.last {
            exits.push(ProcessExit {
                pid,
                ppid: r.ppid,
                comm: main_names.remove(&pid).unwrap_or(r.comm),
                cpu: r.cpu,
                tick_bound: true,
                interval_counted: Some(r.interval_counted),
                began: Began::Realtime(r.began),
                member: None,
                kernel: false,
            });
        }
    }
    exits
}

/// Receives exits; nothing is read while a sample runs.
pub struct ExitSource {
    tracer: Result<ExitTracer, Absent>,
    listener: Result<ExitListener, Absent>,
    tasks: Vec<ExitRecord>,
    records: Vec<TaskstatsRecord>,
    tasks_lost: bool,
    records_lost: bool,
}

impl ExitSource {
    /// Opens what this kernel and this user's privilege allow.
    pub fn open(possible_cpus: &str, types: &Result<KernelTypes, BpfError>) -> ExitSource {
        const EINVAL: i32 = 22;
        let files = limits::open_files();
        let opened = match files < OPEN_FILES {
            true => Err(Absent::NotSupported(format!("{files} open files are allowed (`ulimit -n`), too few for it"))),
            false => Ok(ExitListener::open(possible_cpus, LISTENER_BUFFER)),
        };
        let listener = opened.and_then(|listener| {
            listener.map_err(|e| match e.errno() {
                Some(EINVAL) => Absent::NotSupported("taskstats exit records are not sent into containers".into()),
                _ => e.absent("CAP_NET_ADMIN (run as root), to see processes that end inside a sample"),
            })
        });
        ExitSource {
            tracer: types.as_ref().map_err(Clone::clone).and_then(ExitTracer::load).map_err(|e| e.absent()),
            listener,
            tasks: Vec::new(),
            records: Vec::new(),
            tasks_lost: false,
            records_lost: false,
        }
    }

    /// Why exits are not seen, if they are not.
    pub fn unseen(&self) -> Option<&Absent> {
        match (&self.tracer, &self.listener) {
            (Ok(_), _) | (_, Ok(_)) => None,
            (_, Err(absent)) => Some(absent),
        }
    }

    /// Drops all that was received so far.
    pub fn restart(&mut self) -> Result<(), SysError> {
        self.receive()?;
        self.forget(&|_, _| false);
        Ok(())
    }

    /// Drops what was received so far, but nothing that has come since, and not the ends of processes that `alive` says
    /// were in the snapshot before which they were received: what these used after it belongs to what follows.
    pub fn forget(&mut self, alive: &dyn Fn(i32, Option<u64>) -> bool) {
        let ticks = |r: &ExitRecord| Began::Boot(r.start).start_ticks();
        let ended: HashSet<(i32, Nanos)> = self.tasks.iter().filter(|r| r.last).map(|r| (r.pid, r.start)).collect();
        self.tasks.retain(|r| ended.contains(&(r.pid, r.start)) && alive(r.pid, ticks(r)));
        let pid = |r: &TaskstatsRecord| r.tgid.unwrap_or(r.id);
        let ended: HashSet<i32> = self.records.iter().filter(|r| r.last || r.tgid.is_none()).map(pid).collect();
        self.records.retain(|r| ended.contains(&pid(r)) && alive(pid(r), None));
        (self.tasks_lost, self.records_lost) = (false, false);
    }

    /// Reads what was received since.
    pub fn receive(&mut self) -> Result<(), SysError> {
        if let Ok(tracer) = &mut self.tracer {
            let tasks = &mut self.tasks;
            self.tasks_lost |= tracer.drain(|r| tasks.push(r)) > 0;
        }
        if let Ok(listener) = &mut self.listener {
            let records = &mut self.records;
            self.records_lost |= !listener.drain(|r| records.push(r))?;
        }
        Ok(())
    }

    /// The exits since the restart, from the better source, and why some may be missing.
    pub fn exits(&self, cgroup: Option<u64>) -> (Vec<ProcessExit>, Option<Absent>) {
        let lost = || Absent::Lost("more processes ended than the buffer for exits could hold".into());
        match (&self.tracer, &self.listener) {
            (Ok(_), _) if !self.tasks_lost => (fold_tasks(&self.tasks, cgroup), None),
            (_, Ok(_)) if !self.records_lost => (fold_records(&self.records), None),
            (Ok(_), _) => (fold_tasks(&self.tasks, cgroup), Some(lost())),
            (_, Ok(_)) => (fold_records(&self.records), Some(lost())),
            (_, Err(absent)) => (Vec::new(), Some(absent.clone())),
        }
    }

    /// Largest peak memory among the processes of `tree`, bytes; only taskstats reports it.
    pub fn peak_memory(&self, tree: &HashSet<i32>) -> Result<u64, Absent> {
        if let Err(absent) = &self.listener {
            return Err(absent.clone());
        }
        let of_tree = |r: &&TaskstatsRecord| tree.contains(&r.tgid.unwrap_or(r.id)) && r.peak_memory > 0;
        let peak = self.records.iter().filter(of_tree).map(|r| r.peak_memory).max();
        match peak {
            Some(_) if self.records_lost => Err(Absent::Lost("exit records".into())),
            Some(bytes) => Ok(bytes),
            None => Err(Absent::Lost("the program's exit record".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: i32, tgid: Option<i32>, name: &str, cpu: i64, whole: bool, last: bool) -> TaskstatsRecord {
        TaskstatsRecord {
            whole_process: whole,
            id,
            tgid,
            ppid: 1,
            comm: Comm::new(name.as_bytes()),
            cpu: Nanos(cpu),
            interval_counted: Nanos::ZERO,
            began: Nanos::ZERO,
            elapsed: Nanos::ZERO,
            peak_memory: 0,
            last,
        }
    }

    fn task(tid: i32, pid: i32, start: i64, cpu: i64, dead: i64, last: bool) -> ExitRecord {
        let (start, cpu, dead_threads) = (Nanos(start), Nanos(cpu), Nanos(dead));
        let comm = *b"name\0\0\0\0\0\0\0\0\0\0\0\0";
        let interval_counted = Nanos(cpu.0 / 2);
        ExitRecord {
            cpu,
            start,
            cgroup: 9,
            interval_counted,
            dead_threads,
            tid,
            pid,
            ppid: 1,
            last,
            kernel: false,
            main_released: false,
            comm,
        }
    }

    #[test]
    fn threads_fold_into_their_process() {
        let records = [
            record(10, Some(10), "main name", 1, false, false),
            record(12, Some(10), "worker", 2, false, false),
            record(11, Some(10), "worker", 3, false, true),
            record(10, Some(10), "", 6, true, false),
            record(20, Some(20), "single", 9, false, true),
        ];
        let exits = fold_records(&records);
        assert_eq!(exits.len(), 2);
        assert_eq!((exits[0].pid, exits[0].comm.as_bytes(), exits[0].cpu), (10, &b"main name"[..], Nanos(6)));
        assert_eq!((exits[1].pid, exits[1].cpu), (20, Nanos(9)));
    }

    #[test]
    fn a_task_of_one_thread_is_exact() {
        let exits = fold_tasks(&[task(7, 7, 5, 100, 0, true)], Some(9));
        assert_eq!((exits[0].cpu, exits[0].tick_bound, exits[0].member), (Nanos(100), false, Some(true)));
        assert_eq!(exits[0].interval_counted, Some(Nanos(50)));
        assert_eq!(fold_tasks(&[task(7, 7, 5, 100, 0, true)], Some(8))[0].member, Some(false));
        assert_eq!(fold_tasks(&[task(7, 7, 5, 100, 0, true)], None)[0].member, None);
    }

    #[test]
    fn a_process_of_threads_is_the_sum_and_a_living_one_is_none() {
        // Two workers end, then the main thread; a worker of a living process; the same pid used twice.
        let records = [
            task(8, 7, 5, 30, 30, false),
            task(9, 7, 5, 40, 70, false),
            task(7, 7, 5, 5, 70, true),
            task(21, 20, 6, 99, 0, false),
            task(7, 7, 50, 11, 0, true),
        ];
        let exits = fold_tasks(&records, None);
        let got: Vec<_> = exits.iter().map(|e| (e.pid, e.cpu.0, e.tick_bound)).collect();
        assert_eq!(got, [(7, 75, true), (7, 11, false)]);
    }

    #[test]
    fn a_task_that_was_released_before_its_last_switch_counts_once() {
        let released = |t: ExitRecord| ExitRecord { main_released: true, ..t };
        // Alone: what the parent took over lacks the last steps.
        let exits = fold_tasks(&[released(task(7, 7, 5, 52, 50, true))], None);
        assert_eq!((exits[0].cpu, exits[0].tick_bound), (Nanos(52), false));
        // With a worker (40), whose last switch comes after the main thread (52) was released.
        let records = [task(7, 7, 5, 52, 40, false), released(task(8, 7, 5, 40, 92, true))];
        assert_eq!(fold_tasks(&records, None)[0].cpu, Nanos(92));
    }
}
