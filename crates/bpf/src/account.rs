//! Where the time of a program's tasks goes, summed in the kernel while it runs and read once afterwards.

use crate::interrupts::attach_interrupts;
use crate::kernel_types::KernelTypes;
use crate::object::{Aligned, KernelProgram, Loader};
use crate::program::BpfError;
use aya::Pod;
use aya::maps::{Array, HashMap, MapData, MapError};
use tarebench_core::base::units::Nanos;

use crate::layout::account::*;

const OBJECT_SIZE: usize = include_bytes!("account.bpf.o").len();
static OBJECT: Aligned<OBJECT_SIZE> = Aligned(*include_bytes!("account.bpf.o"));

/// A task's stack in the kernel, on x86-64 and aarch64, unless a page is larger (THREAD_SIZE in arch/*/include/asm).
const STACK_BYTES: u64 = 16 << 10;

/// Programs that the account needs, and their tracepoints.
const PROGRAMS: &[(&str, &str)] = &[
    ("account_switch", "sched_switch"),
    ("account_wakeup", "sched_wakeup"),
    ("account_wakeup_new", "sched_wakeup_new"),
    ("account_migrate", "sched_migrate_task"),
    ("account_fork", "sched_process_fork"),
    ("account_exec", "sched_process_exec"),
    ("account_exit", "sched_process_exit"),
    ("account_waking", "sched_waking"),
];

macro_rules! words {
    ($name:ident, $n:expr) => {
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        struct $name([u64; $n]);
        // SAFETY: plain words without padding, for which any bytes are valid.
        unsafe impl Pod for $name {}
    };
}
words!(Control, CONTROL_WORDS);
words!(Cpu, CPU_WORDS);
words!(Second, SECOND_WORDS);
words!(Waits, 8);
/// Bytes, handed over as words.
const FILTER_WORDS: usize = FILTER_BYTES / size_of::<u64>();
words!(Filter, FILTER_WORDS);
words!(TaskWords, TASK_WORDS);
words!(PreemptorKey, 1 + NAME_BYTES / 8);
words!(PreemptorCost, PREEMPTOR_WORDS);

/// Nanoseconds and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub ns: u64,
    pub count: u64,
}

/// Who had a CPU that the program's tasks waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptorRecord {
    /// One of `PREEMPTOR_*`: `PREEMPTOR_SELF` is a task of the program itself, `PREEMPTOR_PARTNER` one of the program that ran
    /// together with it.
    pub kind: usize,
    /// Name of its process's main thread; empty for the two programs.
    pub name: Vec<u8>,
    /// Time that the program's main thread waited for it, and how often it was preempted by it.
    pub main: Sum,
    /// The same of the program's other tasks.
    pub others: Sum,
}

/// The account of one program, as recorded in the kernel. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug)]
pub struct AccountRecord {
    /// The program's main thread, if tare started one.
    pub main: Option<i32>,
    /// When its exec succeeded.
    pub exec: Option<Nanos>,
    /// When it woke tare at its end.
    pub end: Option<Nanos>,
    /// When its main thread left the CPU for the last time.
    pub left: Option<Nanos>,
    /// The kernel reports steal time.
    pub steal_known: bool,
    /// The scheduler does not charge steal time to tasks.
    pub steal_left_out: bool,
    /// The scheduler does not charge interrupts to tasks.
    pub irq_left_out: bool,
    /// Over all CPUs, by class within the program and slot: `sums[CLASS_*][SLOT_* + n]`.
    pub sums: Vec<Vec<Sum>>,
    /// Events that were lost.
    pub lost: u64,
    pub preemptors: Vec<PreemptorRecord>,
    /// Tasks of the program that had not ended.
    pub open: u32,
}

/// What a kernel program has cost, while statistics were on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    pub program: String,
    /// Time in it, ns, what statistics cost included.
    pub ns: u64,
    /// How often it ran.
    pub runs: u64,
    /// How often the kernel skipped it, because it ran already on that CPU.
    pub missed: u64,
}

/// The programs, loaded and attached.
pub struct AccountTracer {
    control: Array<MapData, Control>,
    cpus: Array<MapData, Cpu>,
    /// The sums of the second of two programs.
    seconds: Array<MapData, Second>,
    waits: Array<MapData, Waits>,
    filter: Array<MapData, Filter>,
    tasks: HashMap<MapData, u64, TaskWords>,
    preemptors: HashMap<MapData, PreemptorKey, PreemptorCost>,
    generation: u64,
    before: Vec<Cpu>,
    before_seconds: Vec<Second>,
    missing: Vec<&'static str>,
    loader: Loader,
}

/// What the kernel knew when it was disarmed.
struct EndedInterval {
    control: Control,
    now: u64,
    cpus: Vec<Cpu>,
    /// Of the first program.
    sums: Vec<Vec<Sum>>,
    lost: u64,
}

impl EndedInterval {
    fn word(&self, at: usize) -> u64 {
        self.control.0.get(at).copied().unwrap_or_default()
    }

    fn of_side(&self, side: usize, at: usize) -> u64 {
        self.word(CONTROL_SIDES + SIDE_WORDS * side + at)
    }
}

/// By how much a word has grown over all CPUs.
fn difference<T>(after: &[T], before: &[T], word: impl Fn(&T) -> Option<&u64>) -> u64 {
    let sum_at = |list: &[T]| list.iter().filter_map(&word).fold(0_u64, |a, b| a.wrapping_add(*b));
    sum_at(after).wrapping_sub(sum_at(before))
}

/// By class and slot, from where they begin in a CPU's record.
fn sums(first: usize, difference: impl Fn(usize) -> u64) -> Vec<Vec<Sum>> {
    let sum = |class: usize, slot: usize| {
        let at = first + 2 * (class * SLOTS + slot);
        Sum { ns: difference(at), count: difference(at + 1) }
    };
    (0..CLASSES).map(|class| (0..SLOTS).map(|slot| sum(class, slot)).collect()).collect()
}

/// The class within its program, if it is one of this program's (0 or 1).
fn part_of_side(class: u64, side: usize) -> Option<usize> {
    usize::try_from(class).ok()?.checked_sub(side * SIDE_CLASS).filter(|part| *part < CLASSES)
}

/// What one has cost the first (0) or the second program.
fn preemptor(key: &PreemptorKey, cost: &PreemptorCost, side: usize) -> PreemptorRecord {
    let [kind, name @ ..] = &key.0;
    let bytes = name.iter().flat_map(|w| w.to_ne_bytes()).take_while(|b| *b != 0);
    let kind = match usize::try_from(*kind) {
        // The kernel's words are those of the first program.
        Ok(PREEMPTOR_SELF) if side == 1 => PREEMPTOR_PARTNER,
        Ok(PREEMPTOR_PARTNER) if side == 1 => PREEMPTOR_SELF,
        Ok(kind) => kind,
        Err(_) => PREEMPTOR_USER,
    };
    let at = |word: usize| cost.0.get(side * COST_WORDS + word).copied().unwrap_or_default();
    PreemptorRecord {
        kind,
        name: bytes.collect(),
        main: Sum { ns: at(0), count: at(1) },
        others: Sum { ns: at(2), count: at(3) },
    }
}

fn of_map(e: &MapError) -> BpfError {
    BpfError::new("maps of the account", e)
}

impl AccountTracer {
    /// Loads the programs for a machine with `cpus` possible CPUs and attaches them. They do nothing until armed.
    /// `most_tasks`: how many tasks of a program can be distinguished at a time, 16,384 by default.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, on kernels without BTF or older than 5.10, or where the verifier refuses them.
    pub fn load(types: &KernelTypes, cpus: u32, most_tasks: Option<u32>) -> Result<AccountTracer, BpfError> {
        let mut entries = vec![("cpus", cpus), ("seconds", cpus), ("waits", cpus)];
        entries.extend(most_tasks.map(|n| ("tasks", n)));
        let mut loader = Loader::open("account", &OBJECT.0, types, &entries)?;
        let missing = attach_all(&mut loader, types)?;
        Ok(AccountTracer {
            control: Array::try_from(loader.take_map("control")?).map_err(|e| of_map(&e))?,
            cpus: Array::try_from(loader.take_map("cpus")?).map_err(|e| of_map(&e))?,
            seconds: Array::try_from(loader.take_map("seconds")?).map_err(|e| of_map(&e))?,
            waits: Array::try_from(loader.take_map("waits")?).map_err(|e| of_map(&e))?,
            filter: Array::try_from(loader.take_map("filter")?).map_err(|e| of_map(&e))?,
            tasks: HashMap::try_from(loader.take_map("tasks")?).map_err(|e| of_map(&e))?,
            preemptors: HashMap::try_from(loader.take_map("preemptors")?).map_err(|e| of_map(&e))?,
            generation: 0,
            before: Vec::new(),
            before_seconds: Vec::new(),
            missing,
            loader,
        })
    }

    /// Interrupts that this kernel does not report.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Drops the remains of the last sample, and arms: what this process starts next is accounted, but only to warm
    /// the programs up, until [`AccountTracer::start`].
    pub fn prepare(&mut self, own: i32) -> Result<(), BpfError> {
        let left: Vec<u64> = self.tasks.keys().filter_map(Result::ok).collect();
        for task in left {
            // It may end at any time.
            let _ = self.tasks.remove(&task);
        }
        for cpu in 0..self.waits.len() {
            self.waits.set(cpu, Waits([0; 8]), 0).map_err(|e| of_map(&e))?;
        }
        self.filter.set(0, Filter([0; FILTER_WORDS]), 0).map_err(|e| of_map(&e))?;
        self.drain();
        self.arm(own, true, 1)
    }

    fn arm(&mut self, own: i32, warming: bool, programs: u64) -> Result<(), BpfError> {
        self.generation += 1;
        let mut control = Control([0; CONTROL_WORDS]);
        control.0[CONTROL_STATE] = 1;
        control.0[CONTROL_TARE] = own as u64;
        control.0[CONTROL_BASE] = monotonic();
        control.0[CONTROL_GENERATION] = self.generation;
        control.0[CONTROL_WARMING] = u64::from(warming);
        control.0[CONTROL_WANTED] = programs;
        control.0[CONTROL_STACK] = STACK_BYTES.max(tarebench_sys::cpu::page_bytes());
        self.control.set(0, control, 0).map_err(|e| of_map(&e))
    }

    /// The next task that this process starts is the program. One system call, as more would cool the caches again.
    pub fn start(&mut self, own: i32) -> Result<(), BpfError> {
        self.arm(own, false, 1)
    }

    /// The next two tasks that this process starts are two programs, which run together.
    pub fn start_two(&mut self, own: i32) -> Result<(), BpfError> {
        self.arm(own, false, SIDES as u64)
    }

    /// Ends the account and reads it.
    pub fn stop(&mut self) -> Result<AccountRecord, BpfError> {
        let ended = self.end()?;
        let preemptors = self.drain();
        Ok(self.record(&ended, 0, ended.sums.clone(), &preemptors))
    }

    /// Ends the account of two programs and reads it, in the order in which they were started.
    pub fn stop_two(&mut self) -> Result<[AccountRecord; SIDES], BpfError> {
        let ended = self.end()?;
        let after = self.seconds.iter().collect::<Result<Vec<Second>, _>>().map_err(|e| of_map(&e))?;
        let before = std::mem::replace(&mut self.before_seconds, after.clone());
        let second = sums(0, |at| difference(&after, &before, |cpu: &Second| cpu.0.get(at)));
        let preemptors = self.drain();
        Ok([self.record(&ended, 0, ended.sums.clone(), &preemptors), self.record(&ended, 1, second, &preemptors)])
    }

    /// Disarms, and reads what the accounts of one and of two programs need.
    fn end(&mut self) -> Result<EndedInterval, BpfError> {
        let control = self.control.get(&0, 0).map_err(|e| of_map(&e))?;
        self.control.set(0, Control([0; CONTROL_WORDS]), 0).map_err(|e| of_map(&e))?;
        let now = monotonic();
        // Between samples nothing is summed: what was read after the last one still holds.
        let after = self.cpus.iter().collect::<Result<Vec<Cpu>, _>>().map_err(|e| of_map(&e))?;
        let before = std::mem::replace(&mut self.before, after.clone());
        let sum_of = |at: usize| difference(&after, &before, |cpu: &Cpu| cpu.0.get(at));
        Ok(EndedInterval { control, now, lost: sum_of(WORD_LOST), sums: sums(WORD_SUMS, sum_of), cpus: after })
    }

    /// Of the first (0) or the second program, with its sums.
    fn record(
        &self,
        ended: &EndedInterval,
        side: usize,
        mut sums: Vec<Vec<Sum>>,
        preemptors: &[(PreemptorKey, PreemptorCost)],
    ) -> AccountRecord {
        let open = self.open_stints(ended, side, &mut sums);
        let time = |at: usize| i64::try_from(ended.of_side(side, at)).ok().filter(|t| *t > 0).map(Nanos);
        AccountRecord {
            main: i32::try_from(ended.of_side(side, SIDE_MAIN)).ok().filter(|m| *m > 0),
            exec: time(SIDE_EXEC),
            end: time(SIDE_END),
            left: time(SIDE_LEFT),
            steal_known: ended.word(CONTROL_STEAL_KNOWN) != 0,
            steal_left_out: ended.word(CONTROL_STEAL_LEFT_OUT) != 0,
            irq_left_out: ended.word(CONTROL_IRQ_LEFT_OUT) != 0,
            sums,
            lost: ended.lost,
            preemptors: preemptors.iter().map(|(key, cost)| preemptor(key, cost, side)).collect(),
            open,
        }
    }

    /// Adds the open periods of a program's tasks that have not ended; returns how many these are. Its main thread stays in
    /// the table when it has ended, and what it does then is not accounted.
    fn open_stints(&self, ended: &EndedInterval, side: usize, sums: &mut [Vec<Sum>]) -> u32 {
        let leader = ended.of_side(side, SIDE_LEADER);
        let mut add = |part: usize, slot: usize, since: u64| {
            if let Some(sum) = sums.get_mut(part).and_then(|s| s.get_mut(slot)) {
                sum.ns = sum.ns.wrapping_add(ended.now.saturating_sub(since));
                sum.count += 1;
            }
        };
        let mut open = 0;
        for (task, t) in self.tasks.iter().filter_map(Result::ok) {
            let Some(part) = part_of_side(t.0[TASK_CLASS], side) else { continue };
            if t.0[TASK_GENERATION] != self.generation || task == leader {
                continue;
            }
            open += 1;
            let since = t.0[TASK_SINCE];
            let call = usize::try_from(t.0[TASK_CALL]).unwrap_or(CALL_OTHER).min(CALLS - 1);
            match usize::try_from(t.0[TASK_STATE]) {
                Ok(STATE_PREEMPTED) => add(part, SLOT_PREEMPTED, since),
                Ok(STATE_WOKEN) => add(part, SLOT_WOKEN, since),
                Ok(STATE_BLOCKED) => add(part, SLOT_BLOCKED + call, since),
                // On a CPU, which knows since when.
                _ => {}
            }
        }
        for cpu in &ended.cpus {
            let class = cpu.0[WORD_CLASS];
            if class >> 3 == self.generation
                && cpu.0[WORD_TASK] != leader
                && let Some(part) = part_of_side((class & 7).wrapping_sub(1), side)
            {
                add(part, SLOT_ON_CPU, cpu.0[WORD_SINCE]);
            }
        }
        open
    }

    fn drain(&mut self) -> Vec<(PreemptorKey, PreemptorCost)> {
        let all: Vec<(PreemptorKey, PreemptorCost)> = self.preemptors.iter().filter_map(Result::ok).collect();
        for (key, _) in &all {
            let _ = self.preemptors.remove(key);
        }
        all
    }

    /// What each program has cost since it was loaded, as far as statistics were on ([`Statistics`]).
    pub fn costs(&self) -> Vec<Cost> {
        let program_cost = |program: &KernelProgram| {
            let field = |key: &str| program.field(key);
            let (ns, runs, missed) = (field("run_time_ns")?, field("run_cnt")?, field("recursion_misses")?);
            Some(Cost { program: program.name().to_owned(), ns, runs, missed })
        };
        self.loader.programs().iter().filter_map(program_cost).collect()
    }
}

/// Attaches all programs; returns the tracepoints that this kernel does not have.
fn attach_all(loader: &mut Loader, types: &KernelTypes) -> Result<Vec<&'static str>, BpfError> {
    for (program, tracepoint) in PROGRAMS {
        loader.attach_needed(program, tracepoint, types)?;
    }
    attach_interrupts(loader, types, |tracepoint| match tracepoint {
        "softirq_entry" => tracepoint,
        // Nothing of an interrupt is read when it begins.
        entry if entry.ends_with("_entry") => "interrupt_entry",
        exit => exit,
    })
}

/// While this lives, the kernel keeps statistics of its BPF programs, which costs each some time.
pub struct Statistics {
    _fd: std::os::fd::OwnedFd,
}

impl Statistics {
    /// Turns them on.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or on kernels before 5.8.
    pub fn enable() -> Result<Statistics, BpfError> {
        let fd = aya::sys::enable_stats(aya::sys::Stats::RunTime).map_err(|e| BpfError::new("statistics", &e))?;
        Ok(Statistics { _fd: fd })
    }
}

fn monotonic() -> u64 {
    u64::try_from(tarebench_sys::clock::monotonic().0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    /// Each treats the processes that this one starts as the program.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn tracer(most_tasks: Option<u32>) -> Option<AccountTracer> {
        let loaded = KernelTypes::read().and_then(|types| AccountTracer::load(&types, 1024, most_tasks));
        match loaded {
            Ok(tracer) => Some(tracer),
            Err(e) => {
                let needed = std::env::var_os("TARE_NO_SKIP").is_some_and(|v| v == "1");
                assert!(!needed, "must not be skipped: {e}\n{}", e.detail());
                eprintln!("skipped: {e}");
                None
            }
        }
    }

    fn record(tracer: &mut AccountTracer, script: &str) -> AccountRecord {
        let own = tarebench_sys::process::own_pid();
        tracer.prepare(own).unwrap();
        tracer.start(own).unwrap();
        let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
        assert!(status.success());
        tracer.stop().unwrap()
    }

    /// More tasks at a time than the table holds are lost, and reported as lost.
    #[test]
    fn an_overflow_is_told() {
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
        let Some(mut tracer) = tracer(Some(8)) else { return };
        let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.2 & done; wait";
        let r = record(&mut tracer, many);
        assert!(r.lost > 0, "{}", r.lost);
        let r = record(&mut tracer, "sleep 0.01; sleep 0.01");
        assert_eq!((r.lost, r.open, r.sums[CLASS_OTHERS][SLOT_TASKS].count), (0, 0, 2), "the next has room again");
    }

    /// Two scripts at once, in the order of starting; on one CPU.
    fn record_two(tracer: &mut AccountTracer, scripts: [&str; 2]) -> [AccountRecord; 2] {
        let own = tarebench_sys::process::own_pid();
        let cpu = tarebench_sys::cpu::allowed().unwrap().last().unwrap().to_string();
        tracer.prepare(own).unwrap();
        tracer.start_two(own).unwrap();
        let start = |script: &str| {
            std::process::Command::new("taskset").args(["-c", &cpu, "sh", "-c", script]).spawn().unwrap()
        };
        for mut child in scripts.map(start) {
            assert!(child.wait().unwrap().success());
        }
        tracer.stop_two().unwrap()
    }

    fn on_cpu(r: &AccountRecord) -> u64 {
        r.sums.iter().map(|class| class[SLOT_ON_CPU].ns).sum()
    }

    /// What the main thread waited for tasks of this kind, and how often it was preempted by one.
    fn waited_for(r: &AccountRecord, wanted: usize) -> Sum {
        let summed = |s: &[&PreemptorRecord]| Sum {
            ns: s.iter().map(|p| p.main.ns).sum(),
            count: s.iter().map(|p| p.main.count).sum(),
        };
        summed(&r.preemptors.iter().filter(|p| p.kind == wanted).collect::<Vec<_>>())
    }

    #[test]
    fn two_programs_have_their_own_sums_and_wait_for_each_other() {
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
        let Some(mut tracer) = tracer(None) else { return };
        let work = |n: u32| format!("i=0; while [ $i -lt {n} ]; do i=$((i + 1)); done");
        let forking = format!("({}) & {}; wait; sleep 0.01", work(40_000), work(200_000));
        let [a, b] = record_two(&mut tracer, [&work(200_000), &forking]);
        assert!(a.main.is_some() && b.main.is_some() && a.main != b.main, "{:?} {:?}", a.main, b.main);
        assert_eq!([a.lost, b.lost], [0, 0]);
        for r in [&a, &b] {
            assert!(r.exec < r.end && r.end.is_some(), "{:?} {:?}", r.exec, r.end);
            let sum = |slot: usize| r.sums.iter().map(|class| class[slot].ns).sum::<u64>() as f64;
            let (on_cpu, stolen, runtime) = (sum(SLOT_ON_CPU), sum(SLOT_STOLEN), sum(SLOT_RUNTIME));
            // The scheduler leaves out what the hypervisor took, as far as it knows of it by then.
            let fits = (0.97 * (on_cpu - stolen)..1.03 * on_cpu).contains(&runtime);
            assert!(r.irq_left_out || fits, "{on_cpu} on CPUs, {stolen} stolen, {runtime} by the scheduler");
            // What is stolen counts once.
            let once = !r.steal_left_out || r.irq_left_out || on_cpu - stolen > 0.9 * runtime;
            assert!(once, "{on_cpu} on CPUs, {stolen} stolen, {runtime} by the scheduler");
        }
        let tasks = |r: &AccountRecord| r.sums[CLASS_OTHERS][SLOT_TASKS].count;
        assert_eq!((tasks(&a), tasks(&b)), (0, 2));
        let [by_b, by_a] = [&a, &b].map(|r| waited_for(r, PREEMPTOR_PARTNER));
        // One task cannot wait for longer than the others had the CPU; it waits for most of that, as it has as much to do.
        assert!(by_b.ns <= on_cpu(&b) && by_b.ns > on_cpu(&b) / 3, "{by_b:?} of {}", on_cpu(&b));
        assert!(by_a.ns <= on_cpu(&a) && by_a.ns > on_cpu(&a) / 3, "{by_a:?} of {}", on_cpu(&a));
        // The child of the second one is no partner of its own parent.
        assert_eq!(waited_for(&a, PREEMPTOR_SELF), Sum::default());
        assert!(waited_for(&b, PREEMPTOR_SELF).ns > 0);

        let r = record(&mut tracer, "true; true");
        assert_eq!(waited_for(&r, PREEMPTOR_PARTNER), Sum::default(), "one alone has no partner");
        let [a, b] = record_two(&mut tracer, ["sleep 0.01; true", "sleep 0.01 & wait"]);
        assert_eq!((tasks(&a), tasks(&b)), (1, 1), "only what is new is summed");
    }

    #[test]
    fn what_a_program_costs_is_known_while_statistics_are_on() {
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
        let Some(mut tracer) = tracer(None) else { return };
        let _statistics = Statistics::enable().unwrap();
        record(&mut tracer, "true; true");
        let costs = tracer.costs();
        let switch = costs.iter().find(|c| c.program == "account_switch").unwrap();
        assert!(switch.runs > 2 && switch.ns > 0, "{costs:?}");
    }

    /// Loading takes most of a short run's time: each additional program costs, and each additional path through one of
    /// them.
    #[test]
    fn few_instructions_are_verified() {
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
        let Some(tracer) = tracer(None) else { return };
        let programs = tracer.loader.programs();
        let verified: Vec<_> = programs.iter().map(|p| (p.name(), p.field("verified_insns").unwrap())).collect();
        // Reported since Linux 5.16. It was 66,000 in 36 programs with one for each interrupt, and all functions in
        // line.
        assert!(verified.len() <= 25, "{verified:?}");
        assert!(verified.iter().map(|v| v.1).sum::<u64>() < 20_000, "{verified:?}");
    }

    /// The record of a CPU is as long as its parts need, and the parts do not overlap.
    const _: () = {
        assert!(WORD_SUMS + 2 * CLASSES * SLOTS == CPU_WORDS && 2 * CLASSES * SLOTS == SECOND_WORDS);
        assert!(CLASSES <= CLASS_WARMING && CLASS_WARMING < SIDE_CLASS);
        // A word for each class, and room in a CPU's mark for one more than each.
        assert!((SIDES - 1) * SIDE_CLASS + CLASSES < 8);
        assert!(CONTROL_STARTED < CONTROL_SIDES && CONTROL_SIDES + SIDES * SIDE_WORDS <= CONTROL_WORDS);
        assert!(SIDE_LEFT < SIDE_WORDS && SIDES * COST_WORDS == PREEMPTOR_WORDS);
        assert!(WORD_FRAMES + 2 * FRAMES <= WORD_SINCE && WORD_NEXT + 3 <= WORD_CHARGED);
        assert!(
            WORD_CHARGED < WORD_PREEMPTOR && WORD_PREEMPTOR + 3 <= WORD_QUEUE_CLOCK && WORD_QUEUE_STEAL < WORD_SUMS
        );
        assert!(SLOT_TASKS < SLOT_SOFTIRQ && SLOT_SOFTIRQ + SOFTIRQS <= SLOT_VECTOR);
        assert!(SLOT_VECTOR + VECTORS <= SLOT_IRQ && SLOT_IRQ + IRQS <= SLOT_BLOCKED && SLOT_BLOCKED + CALLS == SLOTS);
    };
}
