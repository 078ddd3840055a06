//! Where a sample's time went: the tracer's sums as an account, and the estimate without a tracer.

use std::collections::BTreeMap;
use std::path::Path;
use tarebench_bpf::account::{AccountRecord, AccountTracer, Sum};
use tarebench_bpf::interrupts::InterruptNames;
use tarebench_bpf::layout::account::*;
use tarebench_bpf::{BpfError, KernelTypes, own_namespaces};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::account::{Account, Estimate, Ledger, Preemptor, Share};
use tarebench_core::sample::calls::call_name;
use tarebench_core::sample::counters::{CounterEvent, Counters};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::process_time::CpuTime;
use tarebench_sys::events::{CountingEvents, EventSet};
use tarebench_sys::process;
use tarebench_sys::procfs::{InterruptLine, parse_interrupts, read_below};
use tarebench_sys::topology::possible_count;

pub struct AccountCollector {
    tracer: Result<AccountTracer, Absent>,
    counters: Result<EventSet, Absent>,
    counting: Option<CountingEvents>,
    architecture: String,
    interrupts: Result<Vec<InterruptLine>, Absent>,
}

impl AccountCollector {
    /// Loads the tracer, if this kernel and this user's privilege allow.
    /// The kernel's events are counted where the PMU's are, and where they are asked for.
    pub fn open(types: &Result<KernelTypes, BpfError>, asked: bool) -> AccountCollector {
        let count = || possible_count(Path::new("/")).map_err(|e| e.absent("a readable /proc/stat"));
        let load = |cpus: u32| {
            let tracer = types.as_ref().map_err(Clone::clone).and_then(|t| AccountTracer::load(t, cpus, None));
            tracer.map_err(|e| e.absent())
        };
        AccountCollector {
            tracer: own_namespaces().and_then(|()| count()).and_then(load),
            counters: counters(asked),
            counting: None,
            architecture: std::env::consts::ARCH.to_owned(),
            interrupts: Err(Absent::NotAsked("the account is traced".into())),
        }
    }

    /// Why there is no account, if there is none.
    pub fn missing(&self) -> Option<&Absent> {
        self.tracer.as_ref().err()
    }

    /// The tracer, to measure its cost.
    pub fn tracer(&self) -> Option<&AccountTracer> {
        self.tracer.as_ref().ok()
    }

    /// Before the programs that warm the start path: they warm the tracer's, too.
    pub fn prepare(&mut self) {
        if let Ok(tracer) = &mut self.tracer
            && let Err(e) = tracer.prepare(process::own_pid())
        {
            self.tracer = Err(e.absent());
        }
    }

    /// The next process that tare starts is the program.
    pub fn start(&mut self) {
        if let Ok(tracer) = &mut self.tracer
            && let Err(e) = tracer.start(process::own_pid())
        {
            self.tracer = Err(e.absent());
        }
        self.interrupts = self.counted();
        // A new one for each sample, as for the task-clock.
        self.counting = self.counters.as_ref().ok().map(EventSet::open);
    }

    /// The next two processes that tare starts are programs that run together.
    pub fn start_two(&mut self) {
        if let Ok(tracer) = &mut self.tracer
            && let Err(e) = tracer.start_two(process::own_pid())
        {
            self.tracer = Err(e.absent());
        }
    }

    /// Interrupts so far, where nothing is traced.
    fn counted(&self) -> Result<Vec<InterruptLine>, Absent> {
        match &self.tracer {
            Ok(_) => Err(Absent::NotAsked("the account is traced".into())),
            Err(_) => interrupts(),
        }
    }

    /// Right after the program's end.
    pub fn ended(&mut self) {
        let now = self.counted();
        let was = std::mem::replace(&mut self.interrupts, Err(Absent::NotAsked("no sample".into())));
        self.interrupts = was.and_then(|was| Ok(since(&was, now?)));
    }

    /// When the program's tree has ended; `main` is its process, as it was started.
    pub fn stop(&mut self, main: Option<i32>) -> Reading<Account> {
        let record = self.read(AccountTracer::stop);
        let names = InterruptNames::read().unwrap_or_default();
        record.and_then(|r| account_of(&r, main, &self.architecture, &names)).into()
    }

    /// The same of two programs that ran together, in the order in which they were started.
    pub fn stop_two(&mut self, mains: [Option<i32>; 2]) -> [Reading<Account>; 2] {
        let [first, second] = match self.read(AccountTracer::stop_two) {
            Ok(records) => records,
            Err(absent) => return [Reading::Absent(absent.clone()), Reading::Absent(absent)],
        };
        let names = InterruptNames::read().unwrap_or_default();
        let [first_main, second_main] = mains;
        [(first, first_main), (second, second_main)]
            .map(|(record, main)| account_of(&record, main, &self.architecture, &names).into())
    }

    /// What the tracer has recorded; one that cannot be read is used no more.
    fn read<T>(&mut self, stop: impl FnOnce(&mut AccountTracer) -> Result<T, BpfError>) -> Result<T, Absent> {
        let tracer = self.tracer.as_mut().map_err(|absent| absent.clone())?;
        stop(tracer).map_err(|e| {
            let absent = e.absent();
            self.tracer = Err(absent.clone());
            absent
        })
    }

    /// The estimate without tracing; `schedstat` is the main thread's, when it had ended.
    pub fn estimate(&self, schedstat: &Reading<(Nanos, Nanos)>) -> Reading<Estimate> {
        if self.tracer.is_ok() {
            return Reading::Absent(Absent::NotAsked("the account is traced".into()));
        }
        let named = |lines: &Vec<InterruptLine>| {
            lines.iter().filter(|i| i.count > 0).map(|i| (interrupt_name(i), i.count)).collect::<BTreeMap<_, _>>()
        };
        Reading::Value(Estimate {
            waited: schedstat.clone().map(|s| s.1),
            on_cpu: schedstat.clone().map(|s| s.0),
            interrupts: self.interrupts.as_ref().map(named).map_err(Clone::clone).into(),
        })
    }

    /// The counts of the tree that has ended; `used` is the CPU time that its main process and those that it waited for used.
    pub fn counters(&mut self, used: &Reading<CpuTime>) -> Reading<Counters> {
        let set = match &mut self.counters {
            Ok(set) => set,
            Err(absent) => return Reading::Absent(absent.clone()),
        };
        let Some(opened) = self.counting.take() else {
            return Reading::Absent(Absent::NotAsked("the program was not started".into()));
        };
        let counters: Counters = set.read(opened).into_iter().collect();
        match used.value().and_then(|used| stopped_early(&counters, used.total)) {
            Some(why) => Reading::Absent(why),
            None => Reading::Value(counters),
        }
    }
}

/// The events that can be counted, or why none is.
fn counters(asked: bool) -> Result<EventSet, Absent> {
    let set = EventSet::probe(&CounterEvent::ALL);
    let missing = |e: CounterEvent| set.missing().find(|(missing, _)| *missing == e).map(|(_, why)| why.clone());
    let hardware: Option<Vec<Absent>> =
        CounterEvent::ALL.into_iter().filter(|e| !e.is_software()).map(missing).collect();
    match hardware.and_then(|all| all.into_iter().next()) {
        Some(why) if !asked => Err(why),
        _ => Ok(set),
    }
}

/// What of the CPU time may always be missing in the task-clock: what was used before exec.
const BEFORE_EXEC: Nanos = Nanos::from_millis(10);

/// The kernel stops counting, without a word, in a program that is set-user-ID or may not be read (`begin_new_exec`). Some kernels stop
/// before a process that ends gives its memory back, which takes less time than to use it: only from a half on is something missing.
fn stopped_early(counters: &Counters, used: Nanos) -> Option<Absent> {
    let clock = counters.get(CounterEvent::TaskClock).ok()?.value().ok()?;
    let missing = used.as_f64() - clock;
    (missing > BEFORE_EXEC.as_f64() && missing > used.as_f64() / 2.0).then(|| {
        Absent::Lost(format!(
            "the kernel counted {:.1} of {:.1} ms of CPU time; it does not count in a program that is set-user-ID or that the user \
             may not read",
            clock / 1e6,
            used.millis()
        ))
    })
}

fn interrupts() -> Result<Vec<InterruptLine>, Absent> {
    let read = read_below(Path::new("/"), "proc/interrupts");
    read.map(|d| parse_interrupts(&d)).map_err(|e| e.absent("a readable /proc/interrupts"))
}

fn since(before: &[InterruptLine], now: Vec<InterruptLine>) -> Vec<InterruptLine> {
    let was: BTreeMap<&str, u64> = before.iter().map(|i| (i.label.as_str(), i.count)).collect();
    let less = |i: InterruptLine| {
        let count = i.count.saturating_sub(was.get(i.label.as_str()).copied().unwrap_or(0));
        InterruptLine { count, ..i }
    };
    now.into_iter().map(less).collect()
}

fn interrupt_name(i: &InterruptLine) -> String {
    if i.what.is_empty() { format!("IRQ {}", i.label) } else { i.what.clone() }
}

/// The account of the program whose process this was.
fn account_of(
    record: &AccountRecord,
    main: Option<i32>,
    architecture: &str,
    names: &InterruptNames,
) -> Result<Account, Absent> {
    match record.main {
        Some(traced) if Some(traced) != main => Err(Absent::Lost("a process other than the program was traced".into())),
        _ => account(record, architecture, names),
    }
}

/// The tracer's record as an account.
///
/// # Errors
/// If the program was not started, or its exec failed.
fn account(r: &AccountRecord, architecture: &str, names: &InterruptNames) -> Result<Account, Absent> {
    let not_started = || Absent::NotAsked("the program was not started".into());
    let unseen = || Absent::Lost("the tracing did not record the program's end".into());
    let exec = r.exec.ok_or_else(not_started)?;
    let end = r.end.or(r.left).ok_or_else(unseen)?;
    let ledger_of = |class: usize| ledger(r, class, architecture, names);
    Ok(Account {
        exec,
        end,
        outside: ledger_of(CLASS_OUTSIDE),
        main: ledger_of(CLASS_MAIN),
        others: ledger_of(CLASS_OTHERS),
        interrupts_charged: !r.irq_left_out,
        stolen_charged: !r.steal_left_out,
        lost: r.lost,
        open: r.open,
    })
}

fn share(s: Sum) -> Share {
    // Sums of differences may be slightly negative.
    Share { time: Nanos(s.ns.cast_signed()), count: s.count }
}

fn ledger(r: &AccountRecord, class: usize, architecture: &str, names: &InterruptNames) -> Ledger {
    let at = |slot: usize| r.sums.get(class).and_then(|s| s.get(slot)).copied().unwrap_or_default();
    let filled = |from: usize, count: usize| {
        let used = move |n: &usize| at(from + n) != Sum::default();
        (0..count).filter(used).map(move |n| (n, share(at(from + n)))).collect::<Vec<_>>()
    };
    let irq = |n: usize| if n == IRQS - 1 { "other devices".to_owned() } else { names.irq(n) };
    let vectors = filled(SLOT_VECTOR, VECTORS).into_iter().map(|(n, s)| (names.vector(n), s));
    let irqs = filled(SLOT_IRQ, IRQS).into_iter().map(|(n, s)| (irq(n), s));
    // One for each name and kind: the bytes after a name's end may differ.
    let mut by_name: BTreeMap<(&[u8], usize), Share> = BTreeMap::new();
    for p in &r.preemptors {
        let sum = match class {
            CLASS_MAIN => p.main,
            CLASS_OTHERS => p.others,
            _ => Sum::default(),
        };
        let entry = by_name.entry((&p.name, p.kind)).or_default();
        *entry = *entry + share(sum);
    }
    let known = by_name.into_iter().filter(|(_, s)| *s != Share::default());
    let mut preemptors: Vec<Preemptor> = known
        .map(|((name, kind), share)| {
            let kind = match kind {
                PREEMPTOR_KERNEL => Some(TaskKind::Kernel),
                PREEMPTOR_SELF => None,
                PREEMPTOR_TARE => Some(TaskKind::Tare),
                PREEMPTOR_PARTNER => Some(TaskKind::Partner),
                _ => Some(TaskKind::User),
            };
            Preemptor { name: Name::new(name.to_vec()), kind, share }
        })
        .collect();
    preemptors.sort_by(|a, b| b.share.time.cmp(&a.share.time).then_with(|| a.name.as_bytes().cmp(b.name.as_bytes())));
    let stolen = match r.steal_known || !is_guest() {
        true => Reading::Value(share(at(SLOT_STOLEN))),
        false => Reading::Absent(Absent::NotSupported("the hypervisor has not reported any steal time yet".into())),
    };
    Ledger {
        tasks: at(SLOT_TASKS).count,
        on_cpu: share(at(SLOT_ON_CPU)),
        stolen,
        interrupts: vectors.chain(irqs).collect(),
        softirqs: filled(SLOT_SOFTIRQ, SOFTIRQS).into_iter().map(|(n, s)| (names.softirq(n), s)).collect(),
        runtime: share(at(SLOT_RUNTIME)).time,
        preempted: share(at(SLOT_PREEMPTED)),
        woken: share(at(SLOT_WOKEN)),
        preemptors,
        blocked: filled(SLOT_BLOCKED, CALLS).into_iter().map(|(n, s)| (call(n, architecture), s)).collect(),
    }
}

/// Whether the CPU reports a hypervisor; without one there is no steal time.
fn is_guest() -> bool {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|l| l.starts_with("flags"));
    flags.is_none_or(|f| f.split_whitespace().any(|w| w == "hypervisor"))
}

/// The name under which time asleep is recorded.
fn call(slot: usize, architecture: &str) -> String {
    let special = match slot {
        CALL_ENDED => "main thread ended",
        CALL_IO => "disk",
        CALL_STOPPED => "stopped",
        CALL_NEW => "created",
        CALL_FAULT => "page fault",
        CALL_OTHER => "other call",
        _ => return call_name(architecture, u16::try_from(slot).unwrap_or(u16::MAX)),
    };
    special.to_owned()
}
