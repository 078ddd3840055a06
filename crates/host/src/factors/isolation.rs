//! What else may use the CPUs that are measured on.

use crate::factors::machine::{FactorMachine, format_cpu_list};
use crate::factors::spec::{FactorGroup, FactorReader, FactorSpec, FactorValue, FoundFactor, Privilege, Setter};
use crate::setting::{Setting, Target};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::reading::Absent;
use tarebench_sys::procfs::parse_cpu_list;
use tarebench_sys::topology::core_of;

const KERNEL: &str = "proc/sys/kernel";
const CPU: &str = "sys/devices/system/cpu";
const FAIR_SERVER: &str = "sys/kernel/debug/sched/fair_server";

/// A row of this group.
const fn row(name: &'static str, reader: FactorReader, setter: Option<Setter>) -> FactorSpec {
    FactorSpec::of(FactorGroup::Isolation, name, reader, setter)
}

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        optional: true,
        wanted: "all CPUs are of one kind, or those measured on are",
        reason: "On CPUs with two kinds of cores (P and E, big and little), a program takes a different time on each; \
                 the scheduler moves it between them.",
        source: "kernel doc. ABI/testing/sysfs-devices-system-cpu (cpu_capacity); BenchExec issue 850",
        privilege: Privilege::None,
        ..row("alike-cpus", alike, None)
    },
    FactorSpec {
        optional: true,
        wanted: "one thread on each core",
        reason: "Two hardware threads share a core's units and caches: a task on the other thread slows the program.",
        source: "kernel doc. ABI/testing/sysfs-devices-system-cpu (smt); temci and BenchExec keep siblings idle",
        ..row("smt", smt, None)
    },
    FactorSpec {
        optional: true,
        wanted: "the measured CPUs are isolated (isolcpus, nohz_full, rcu_nocbs)",
        reason: "The scheduler puts no other task on isolated CPUs; without tick and RCU callbacks the kernel does \
                 little work there either.",
        source: "kernel doc. admin-guide/kernel-parameters.txt, timers/no_hz.rst; pyperf system show",
        privilege: Privilege::Reboot,
        ..row("isolated-cpus", isolated, None)
    },
    FactorSpec {
        wanted: "does not run",
        reason: "Moves interrupts between CPUs every ten seconds, so that their load changes between samples.",
        source: "irqbalance(1); pyperf system tune stops it",
        ..row("irqbalance", irqbalance, Some(stop_irqbalance))
    },
    FactorSpec {
        optional: true,
        wanted: "no device interrupt may go to the measured CPUs",
        reason: "The time of interrupts is charged to the program that they interrupt.",
        source: "kernel doc. core-api/irq/irq-affinity.rst; pyperf system tune",
        ..row("irq-affinity", irq_affinity, Some(set_irq_affinity))
    },
    FactorSpec {
        wanted: "0",
        reason: "The kernel unmaps a program's pages from time to time to see which CPU uses them, which causes page \
                 faults.",
        source: "kernel doc. admin-guide/sysctl/kernel.rst (numa_balancing)",
        ..row("numa-balancing", numa_balancing, Some(|m| m.one_file("numa-balancing", &sysctl("numa_balancing"), 0)))
    },
    FactorSpec {
        wanted: "0",
        reason: "Wakes a thread of the highest priority on every CPU, every few seconds.",
        source: "kernel doc. admin-guide/lockup-watchdogs.rst",
        ..row("watchdog", watchdog, Some(|m| m.one_file("watchdog", &sysctl("watchdog"), 0)))
    },
    FactorSpec {
        wanted: "0",
        reason: "Uses a hardware counter on every CPU and interrupts the CPU with an NMI every few seconds.",
        source: "kernel doc. admin-guide/lockup-watchdogs.rst",
        ..row("nmi-watchdog", nmi_watchdog, Some(|m| m.one_file("nmi-watchdog", &sysctl("nmi_watchdog"), 0)))
    },
    FactorSpec {
        wanted: "0",
        reason: "Moves timers of idle CPUs to busy ones, hence to the measured one.",
        source: "kernel doc. timers/no_hz.rst; tuned's profile realtime",
        ..row(
            "timer-migration",
            timer_migration,
            Some(|m| m.one_file("timer-migration", &sysctl("timer_migration"), 0)),
        )
    },
    FactorSpec {
        wanted: "1 a second",
        reason: "Limits how often a running profiler may interrupt.",
        source: "pyperf system tune; kernel doc. admin-guide/sysctl/kernel.rst",
        ..row(
            "perf-sample-rate",
            perf_rate,
            Some(|m| m.one_file("perf-sample-rate", &sysctl("perf_event_max_sample_rate"), 1)),
        )
    },
    FactorSpec {
        optional: true,
        wanted: "-1, if programs run with a real-time priority",
        reason: "By default, programs with a real-time priority get at most 0.95 s of each second. Other programs are \
                 not affected. Without the limit, one that never sleeps may hang its CPU.",
        source: "kernel doc. scheduler/sched-rt-group.rst; tuned's profile realtime",
        ..row("rt-throttling", rt_throttling, Some(|m| m.one_file("rt-throttling", &sysctl("sched_rt_runtime_us"), -1)))
    },
    FactorSpec {
        optional: true,
        wanted: "off where CPUs run without tick",
        reason: "Reserves 5% of each CPU for ordinary tasks, with a timer; on some kernels with nohz_full it \
                 interrupts a thousand times a second.",
        source: "Linux 6.12, kernel/sched/deadline.c; sched/fair_server in debugfs",
        ..row("deadline-server", deadline_server, Some(set_deadline_server))
    },
];

fn sysctl(name: &str) -> String {
    format!("{KERNEL}/{name}")
}

/// A sysctl that should hold one number.
fn wants(m: &FactorMachine, name: &str, wanted: i64, what: impl Fn(i64) -> String) -> FoundFactor {
    let value = m.number(&sysctl(name))?;
    Ok(FactorValue::when(value == wanted, what(value)).value(value).fix(format!("sysctl -w kernel.{name}={wanted}")))
}

fn on_off(value: i64) -> String {
    if value == 0 { "off".to_owned() } else { format!("on ({value})") }
}

fn alike(m: &FactorMachine) -> FoundFactor {
    let (core, atom) = (m.cpu_list("sys/devices/cpu_core/cpus"), m.cpu_list("sys/devices/cpu_atom/cpus"));
    let low = m.cpu_list("sys/devices/cpu_lowpower/cpus");
    let mut kinds: Vec<(String, Vec<u32>)> =
        [("P cores", core), ("E cores", atom), ("low-power cores", low)].map(|(n, c)| (n.to_owned(), c)).into();
    kinds.retain(|k| !k.1.is_empty());
    let online = m.online();
    if kinds.len() < 2 {
        let mut by_capacity: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for cpu in &online {
            if let Ok(c) = m.number(&format!("{CPU}/cpu{cpu}/cpu_capacity")) {
                by_capacity.entry(c).or_default().push(*cpu);
            }
        }
        kinds = by_capacity.into_iter().rev().map(|(c, cpus)| (format!("capacity {c}"), cpus)).collect();
    }
    if online.is_empty() {
        return Err(Absent::Failed("the list of online CPUs cannot be read".into()));
    }
    if kinds.len() < 2 {
        return Ok(FactorValue::held(format!("all {} CPUs are of one kind", online.len())));
    }
    let list: Vec<String> = kinds.iter().map(|(n, c)| format!("{n}: CPUs {}", format_cpu_list(c))).collect();
    let list = list.join("; ");
    let within = |cpus: &Vec<u32>| kinds.iter().any(|(_, k)| !cpus.is_empty() && cpus.iter().all(|c| k.contains(c)));
    if m.cpus.as_ref().is_some_and(within) {
        return Ok(FactorValue::held(format!("those measured on are of one kind ({list})")));
    }
    let first = kinds.first().map(|k| format_cpu_list(&k.1)).unwrap_or_default();
    Ok(FactorValue::wrong(format!("CPUs of several kinds ({list})"))
        .fix(format!("measure on CPUs of one kind, e.g. {first}")))
}

fn smt(m: &FactorMachine) -> FoundFactor {
    let control = m.text(&format!("{CPU}/smt/control")).unwrap_or_default();
    let active = m.number(&format!("{CPU}/smt/active"))? != 0;
    if !active {
        let why = match control.as_str() {
            "off" | "forceoff" => "off",
            _ => "one thread on each core",
        };
        return Ok(FactorValue::held(why).value("off"));
    }
    if let Some(cpus) = &m.cpus {
        let alone = |c: &u32| m.cpu_list(&format!("{CPU}/cpu{c}/topology/thread_siblings_list")).len() < 2;
        if !cpus.is_empty() && cpus.iter().all(alone) {
            return Ok(FactorValue::held("on, but no other CPU shares a core with the measured ones").value("on"));
        }
    }
    let fix = format!("echo off > /{CPU}/smt/control, or keep the siblings of the measured CPUs idle");
    let online = m.online();
    let cores: BTreeSet<Vec<u32>> = online.iter().map(|cpu| core_of(&m.root, *cpu)).collect();
    let text = match cores.iter().find(|core| core.len() > 1) {
        Some(core) => {
            let (cpus, cores) = (online.len(), cores.len());
            format!("on: {cpus} CPUs are threads of {cores} cores, CPUs {} of one", format_cpu_list(core))
        }
        None => "on: two threads or more share a core".to_owned(),
    };
    Ok(FactorValue::wrong(text).value("on").fix(fix))
}

/// Value of a kernel parameter; the last one counts.
fn parameter(cmdline: &str, name: &str) -> Option<String> {
    cmdline.split_whitespace().filter_map(|w| w.strip_prefix(name)?.strip_prefix('=')).next_back().map(str::to_owned)
}

fn isolated(m: &FactorMachine) -> FoundFactor {
    let cmdline = m.text("proc/cmdline")?;
    let list = |cpus: &[u32]| if cpus.is_empty() { "none".to_owned() } else { format_cpu_list(cpus) };
    let isolated = m.cpu_list(&format!("{CPU}/isolated"));
    // `(null)` is what kernels without the parameter show; it is no list.
    let nohz = m.cpu_list(&format!("{CPU}/nohz_full"));
    let rcu = parameter(&cmdline, "rcu_nocbs").unwrap_or_else(|| "none".to_owned());
    let text = format!("isolated: {}; without tick: {}; rcu_nocbs: {rcu}", list(&isolated), list(&nohz));
    let (good, shown) = match &m.cpus {
        Some(cpus) if !cpus.is_empty() => (cpus.iter().all(|c| isolated.contains(c)), text.clone()),
        _ if isolated.is_empty() => (false, text.clone()),
        // They are used only where somebody asks for them.
        _ => (true, format!("{text}; measure there: --cpus {}", format_cpu_list(&isolated))),
    };
    let fix = "boot with isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST, and measure on these CPUs";
    Ok(FactorValue::when(good, shown).value(text).fix(fix))
}

fn irqbalance(m: &FactorMachine) -> FoundFactor {
    let runs = !m.running_of(&["irqbalance"])?.is_empty();
    let text = if runs { "running" } else { "does not run" };
    Ok(FactorValue::when(!runs, text).value(text).fix("systemctl stop irqbalance while measuring"))
}

fn stop_irqbalance(m: &FactorMachine) -> Vec<Setting> {
    let active = m.active_units(&["irqbalance.service"]).unwrap_or_default();
    let setting = |name| Setting {
        factor: "irqbalance".to_owned(),
        target: Target::Unit(name),
        wanted: "inactive".to_owned(),
        survives_reboot: false,
    };
    active.into_iter().map(setting).collect()
}

/// Device interrupts with the CPUs that they may go to.
fn interrupts(m: &FactorMachine) -> Vec<(u32, Vec<u32>)> {
    let affinity = |n: u32| {
        let list = m.text(&format!("proc/irq/{n}/smp_affinity_list")).ok()?;
        Some((n, parse_cpu_list(&list)?))
    };
    m.numbered("proc/irq", "").into_iter().filter_map(affinity).collect()
}

fn irq_affinity(m: &FactorMachine) -> FoundFactor {
    let all = interrupts(m);
    if all.is_empty() {
        return Err(Absent::NotSupported("/proc/irq shows no interrupts".into()));
    }
    let quiet = m.quiet_cpus();
    if quiet.is_empty() {
        let text = format!("no CPUs are isolated, so {} interrupts may go to any CPU", all.len());
        return Ok(FactorValue::wrong(text).fix("choose the CPUs to measure on: --cpus LIST"));
    }
    let near: Vec<u32> = all.iter().filter(|(_, cpus)| cpus.iter().any(|c| quiet.contains(c))).map(|i| i.0).collect();
    let cpus = format_cpu_list(&quiet);
    let text = match near.len() {
        0 => format!("none of {} may go to CPUs {cpus}", all.len()),
        n => format!("{n} of {} may go to CPUs {cpus}: IRQ {}", all.len(), format_cpu_list(&near)),
    };
    let fix = "echo LIST > /proc/irq/N/smp_affinity_list";
    Ok(FactorValue::when(near.is_empty(), text).value(format_cpu_list(&near)).fix(fix))
}

fn set_irq_affinity(m: &FactorMachine) -> Vec<Setting> {
    let quiet = m.quiet_cpus();
    let others: Vec<u32> = m.online().into_iter().filter(|c| !quiet.contains(c)).collect();
    if quiet.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let near = interrupts(m).into_iter().filter(|(_, cpus)| cpus.iter().any(|c| quiet.contains(c)));
    let setting = |(n, cpus): (u32, Vec<u32>)| {
        // As close as possible to the old value: only the measured CPUs are removed, if others remain.
        let left: Vec<u32> = cpus.into_iter().filter(|c| others.contains(c)).collect();
        let to = if left.is_empty() { &others } else { &left };
        m.file_setting("irq-affinity", format!("proc/irq/{n}/smp_affinity_list"), format_cpu_list(to))
    };
    near.filter_map(setting).collect()
}

fn numa_balancing(m: &FactorMachine) -> FoundFactor {
    let nodes = m.cpu_list("sys/devices/system/node/online").len();
    match m.number(&sysctl("numa_balancing")) {
        Err(Absent::NotSupported(_)) if m.has(KERNEL) => Ok(FactorValue::held("this kernel does not have it")),
        Err(why) => Err(why),
        Ok(v) if nodes == 1 => Ok(FactorValue::held(format!("{}; one node: no effect", on_off(v))).value(v)),
        Ok(_) => wants(m, "numa_balancing", 0, on_off),
    }
}

/// A switch that some kernels are built without.
fn switch(m: &FactorMachine, name: &str) -> FoundFactor {
    match wants(m, name, 0, on_off) {
        Err(Absent::NotSupported(_)) if m.has(KERNEL) => Ok(FactorValue::held("this kernel does not have it")),
        found => found,
    }
}

fn watchdog(m: &FactorMachine) -> FoundFactor {
    switch(m, "watchdog")
}

fn nmi_watchdog(m: &FactorMachine) -> FoundFactor {
    switch(m, "nmi_watchdog")
}

fn timer_migration(m: &FactorMachine) -> FoundFactor {
    switch(m, "timer_migration")
}

fn perf_rate(m: &FactorMachine) -> FoundFactor {
    wants(m, "perf_event_max_sample_rate", 1, |v| format!("{v} a second"))
}

fn rt_throttling(m: &FactorMachine) -> FoundFactor {
    wants(m, "sched_rt_runtime_us", -1, |v| match v {
        -1 => "off: real-time programs may use all of a CPU".to_owned(),
        v => format!("{v} µs of each period; it limits only programs with a real-time priority"),
    })
}

fn fair_servers(m: &FactorMachine) -> Vec<String> {
    let cpus = m.numbered(FAIR_SERVER, "cpu");
    cpus.into_iter().map(|c| format!("{FAIR_SERVER}/cpu{c}/runtime")).collect()
}

fn deadline_server(m: &FactorMachine) -> FoundFactor {
    let files = fair_servers(m);
    if files.is_empty() {
        let release = m.kernel.value().cloned().unwrap_or_default();
        let mut numbers = release.split('.').map_while(|n| n.parse::<u32>().ok());
        return match (numbers.next(), numbers.next()) {
            (Some(a), Some(b)) if (a, b) < (6, 12) => {
                Ok(FactorValue::held("this kernel does not have it (since 6.12)"))
            }
            _ => Err(Absent::NotSupported(
                "debugfs shows no sched/fair_server (not mounted, not readable, or not built in)".into(),
            )),
        };
    }
    let mut on = 0;
    for file in &files {
        on += usize::from(m.number(file)? != 0);
    }
    let nohz = m.cpu_list(&format!("{CPU}/nohz_full"));
    if on == 0 {
        return Ok(FactorValue::held("off on all CPUs").value("off"));
    }
    let text = format!("on, on {on} of {} CPUs", files.len());
    if nohz.is_empty() {
        return Ok(
            FactorValue::held(format!("{text}; no CPU runs without tick, so its cost is negligible")).value("on")
        );
    }
    Ok(FactorValue::wrong(text).value("on").fix(format!("echo 0 | tee /{FAIR_SERVER}/cpu*/runtime")))
}

fn set_deadline_server(m: &FactorMachine) -> Vec<Setting> {
    fair_servers(m).into_iter().filter_map(|f| m.file_setting("deadline-server", f, 0)).collect()
}
