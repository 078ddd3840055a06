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
words!(Waits, 8);
words!(Filter, FILTER_WORDS);
words!(TaskWords, TASK_WORDS);
words!(PreemptorKey, 1 + NAME_BYTES / 8);
words!(PreemptorCost, PREEMPTOR_WORDS);

/// Nanoseconds and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Time.
    pub ns: u64,
    /// Times.
    pub count: u64,
}

/// Who had a CPU that the program's tasks waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptorRecord {
    /// One of `PREEMPTOR_*`.
    pub kind: usize,
    /// Name of its process's main thread; empty for the program itself.
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
    /// Over all CPUs, by class and slot: `sums[CLASS_*][SLOT_* + n]`.
    pub sums: Vec<Vec<Sum>>,
    /// Events that were lost.
    pub lost: u64,
    /// In no order.
    pub preemptors: Vec<PreemptorRecord>,
    /// Tasks of the program that had not ended.
    pub open: u32,
}

/// What a kernel program has cost, while statistics were on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Its name.
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
    waits: Array<MapData, Waits>,
    filter: Array<MapData, Filter>,
    tasks: HashMap<MapData, u64, TaskWords>,
    preemptors: HashMap<MapData, PreemptorKey, PreemptorCost>,
    generation: u64,
    before: Vec<Cpu>,
    missing: Vec<&'static str>,
    loader: Loader,
}

fn of_map(e: &MapError) -> BpfError {
    BpfError::new("maps of the account", e)
}

impl AccountTracer {
    /// Loads the programs for a machine with `cpus` possible CPUs and attaches them. They do nothing until armed.
    /// `most_tasks`: how many tasks of a program can be distinguished at a time, 16,384 by default.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, on kernels without BTF or older than 5.15, or where the verifier refuses them.
    pub fn load(types: &KernelTypes, cpus: u32, most_tasks: Option<u32>) -> Result<AccountTracer, BpfError> {
        let mut entries = vec![("cpus", cpus), ("waits", cpus)];
        entries.extend(most_tasks.map(|n| ("tasks", n)));
        let mut loader = Loader::open("account", &OBJECT.0, types, &entries)?;
        let missing = attach_all(&mut loader, types)?;
        Ok(AccountTracer {
            control: Array::try_from(loader.take_map("control")?).map_err(|e| of_map(&e))?,
            cpus: Array::try_from(loader.take_map("cpus")?).map_err(|e| of_map(&e))?,
            waits: Array::try_from(loader.take_map("waits")?).map_err(|e| of_map(&e))?,
            filter: Array::try_from(loader.take_map("filter")?).map_err(|e| of_map(&e))?,
            tasks: HashMap::try_from(loader.take_map("tasks")?).map_err(|e| of_map(&e))?,
            preemptors: HashMap::try_from(loader.take_map("preemptors")?).map_err(|e| of_map(&e))?,
            generation: 0,
            before: Vec::new(),
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
    ///
    /// # Errors
    /// The kernel's.
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
        self.arm(own, true)
    }

    fn arm(&mut self, own: i32, warming: bool) -> Result<(), BpfError> {
        self.generation += 1;
        let mut control = Control([0; CONTROL_WORDS]);
        control.0[CONTROL_STATE] = 1;
        control.0[CONTROL_TARE] = own as u64;
        control.0[CONTROL_BASE] = monotonic();
        control.0[CONTROL_GENERATION] = self.generation;
        control.0[CONTROL_WARMING] = u64::from(warming);
        self.control.set(0, control, 0).map_err(|e| of_map(&e))
    }

    /// The next task that this process starts is the program. One system call, as more would cool the caches again.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(&mut self, own: i32) -> Result<(), BpfError> {
        self.arm(own, false)
    }

    /// Ends the account and reads it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn stop(&mut self) -> Result<AccountRecord, BpfError> {
        let control = self.control.get(&0, 0).map_err(|e| of_map(&e))?;
        self.control.set(0, Control([0; CONTROL_WORDS]), 0).map_err(|e| of_map(&e))?;
        let now = monotonic();
        // Between samples nothing is summed: what was read after the last one still holds.
        let after = self.snapshot()?;
        let before = std::mem::replace(&mut self.before, after.clone());
        let word = |at: usize| control.0.get(at).copied().unwrap_or_default();
        let time = |at: usize| Some(word(at)).filter(|t| *t > 0).and_then(|t| i64::try_from(t).ok()).map(Nanos);
        let difference = |at: usize| -> u64 {
            let sum_at = |list: &[Cpu]| list.iter().filter_map(|c| c.0.get(at)).fold(0_u64, |a, b| a.wrapping_add(*b));
            sum_at(&after).wrapping_sub(sum_at(&before))
        };
        let sum = |class: usize, slot: usize| {
            let at = WORD_SUMS + 2 * (class * SLOTS + slot);
            Sum { ns: difference(at), count: difference(at + 1) }
        };
        let mut sums: Vec<Vec<Sum>> =
            (0..CLASSES).map(|class| (0..SLOTS).map(|slot| sum(class, slot)).collect()).collect();
        let open = self.open_stints(&after, word(CONTROL_LEADER), now, &mut sums);
        let main = u32::try_from(word(CONTROL_MAIN)).ok().filter(|m| *m > 0);
        Ok(AccountRecord {
            main: main.and_then(|m| i32::try_from(m).ok()),
            exec: time(CONTROL_EXEC),
            end: time(CONTROL_END),
            left: time(CONTROL_LEFT),
            steal_known: word(CONTROL_STEAL_KNOWN) != 0,
            steal_left_out: word(CONTROL_STEAL_LEFT_OUT) != 0,
            irq_left_out: word(CONTROL_IRQ_LEFT_OUT) != 0,
            sums,
            lost: difference(WORD_LOST),
            preemptors: self.drain(),
            open,
        })
    }

    /// Adds the open periods of the tasks that have not ended; returns how many these are. The main thread, `leader`,
    /// stays in the table when it has ended, and what it does then is not accounted.
    fn open_stints(&self, cpus: &[Cpu], leader: u64, now: u64, sums: &mut [Vec<Sum>]) -> u32 {
        let mut add = |class: u64, slot: usize, since: u64| {
            let class = usize::try_from(class).unwrap_or(CLASSES);
            if let Some(sum) = sums.get_mut(class).and_then(|s| s.get_mut(slot)) {
                sum.ns = sum.ns.wrapping_add(now.saturating_sub(since));
                sum.count += 1;
            }
        };
        let mut open = 0;
        for (task, t) in self.tasks.iter().filter_map(Result::ok) {
            if t.0[TASK_GENERATION] != self.generation || task == leader {
                continue;
            }
            open += 1;
            let (class, since) = (t.0[TASK_CLASS], t.0[TASK_SINCE]);
            let call = usize::try_from(t.0[TASK_CALL]).unwrap_or(CALL_OTHER).min(CALLS - 1);
            match usize::try_from(t.0[TASK_STATE]) {
                Ok(STATE_PREEMPTED) => add(class, SLOT_PREEMPTED, since),
                Ok(STATE_WOKEN) => add(class, SLOT_WOKEN, since),
                Ok(STATE_BLOCKED) => add(class, SLOT_BLOCKED + call, since),
                // On a CPU, which knows since when.
                _ => {}
            }
        }
        for cpu in cpus {
            let class = cpu.0[WORD_CLASS];
            if class >> 3 == self.generation && cpu.0[WORD_TASK] != leader {
                add((class & 7).wrapping_sub(1), SLOT_ON_CPU, cpu.0[WORD_SINCE]);
            }
        }
        open
    }

    fn snapshot(&self) -> Result<Vec<Cpu>, BpfError> {
        self.cpus.iter().collect::<Result<_, _>>().map_err(|e| of_map(&e))
    }

    fn drain(&mut self) -> Vec<PreemptorRecord> {
        let all: Vec<(PreemptorKey, PreemptorCost)> = self.preemptors.iter().filter_map(Result::ok).collect();
        for (key, _) in &all {
            let _ = self.preemptors.remove(key);
        }
        let preemptor = |(key, cost): &(PreemptorKey, PreemptorCost)| {
            let [kind, name @ ..] = &key.0;
            let bytes = name.iter().flat_map(|w| w.to_ne_bytes()).take_while(|b| *b != 0);
            let [main_ns, main_count, others_ns, others_count] = cost.0;
            PreemptorRecord {
                kind: usize::try_from(*kind).unwrap_or(PREEMPTOR_USER),
                name: bytes.collect(),
                main: Sum { ns: main_ns, count: main_count },
                others: Sum { ns: others_ns, count: others_count },
            }
        };
        all.iter().map(preemptor).collect()
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
        assert!(WORD_SUMS + 2 * CLASSES * SLOTS == CPU_WORDS);
        assert!(WORD_FRAMES + 2 * FRAMES <= WORD_SINCE && WORD_NEXT + 3 <= WORD_CHARGED && WORD_CHARGED < WORD_SUMS);
        assert!(SLOT_TASKS < SLOT_SOFTIRQ && SLOT_SOFTIRQ + SOFTIRQS <= SLOT_VECTOR);
        assert!(SLOT_VECTOR + VECTORS <= SLOT_IRQ && SLOT_IRQ + IRQS <= SLOT_BLOCKED && SLOT_BLOCKED + CALLS == SLOTS);
    };
}
