//! What the machine is doing now.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use tarebench_core::base::reading::Absent;

/// Load average of the last minute above which something runs.
const LOAD: f64 = 0.5;
/// Share of the last ten seconds, in percent, in which tasks waited, above which they matter.
const PRESSURE: f64 = 1.0;

const fn row(name: &'static str, reader: fn(&FactorMachine) -> FoundFactor) -> FactorSpec {
    FactorSpec {
        name,
        group: FactorGroup::Load,
        step: 0,
        optional: false,
        wanted: "",
        reason: "",
        source: "",
        privilege: Privilege::None,
        reader,
        setter: None,
        compare: Compare::Never,
    }
}

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        wanted: "below 0.5 over the last minute",
        reason: "Every running task uses CPU time, caches and memory bandwidth.",
        source: "proc(5) (/proc/loadavg)",
        ..row("load-average", load_average)
    },
    FactorSpec {
        wanted: "none but tare itself",
        reason: "A task that can run now competes with the program for a CPU.",
        source: "proc(5) (/proc/stat, procs_running)",
        ..row("runnable-tasks", runnable)
    },
    FactorSpec {
        wanted: "below 1% of the last ten seconds, for CPU, memory and I/O",
        reason: "Shows whether tasks had to wait for a resource; the load average shows only how many there were.",
        source: "kernel doc. accounting/psi.rst",
        ..row("pressure", pressure)
    },
    FactorSpec {
        wanted: "none over 1% of a CPU, for a second",
        reason: "Lists the processes that disturb the measurement.",
        source: "EMP 4.1; SEDONA step A",
        ..row("busy-processes", busy)
    },
];

fn load_average(m: &FactorMachine) -> FoundFactor {
    let text = m.text("proc/loadavg")?;
    let bad = || Absent::Failed(format!("/proc/loadavg holds `{}`", text.chars().take(40).collect::<String>()));
    let numbers: Vec<f64> = text.split_whitespace().take(3).map_while(|f| f.parse().ok()).collect();
    let [one, five, fifteen] = numbers[..] else { return Err(bad()) };
    let text = format!("{one:.2} over 1 minute, {five:.2} over 5, {fifteen:.2} over 15");
    Ok(FactorValue::when(one < LOAD, text).fix("wait until it is idle; busy-processes lists the processes that run"))
}

fn runnable(m: &FactorMachine) -> FoundFactor {
    let stat = m.text("proc/stat")?;
    let number = |key: &str| stat.lines().find_map(|l| l.strip_prefix(key)?.trim().parse::<u64>().ok());
    let running = number("procs_running ").ok_or_else(|| Absent::NotSupported("/proc/stat counts none".into()))?;
    // The one that reads the file is running.
    let others = running.saturating_sub(1);
    let blocked = number("procs_blocked ").filter(|b| *b > 0).map(|b| format!(", {b} wait for I/O"));
    let text = if others == 0 { "none".to_owned() } else { format!("{others} besides tare") };
    Ok(FactorValue::when(others == 0, text + &blocked.unwrap_or_default()).fix("wait, or stop the running processes"))
}

/// `avg10` of the line `some`.
fn some_avg10(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|l| l.strip_prefix("some "))?;
    line.split_whitespace().find_map(|f| f.strip_prefix("avg10="))?.parse().ok()
}

fn pressure(m: &FactorMachine) -> FoundFactor {
    let mut parts = Vec::new();
    let mut good = true;
    for kind in ["cpu", "memory", "io"] {
        let text = m.text(&format!("proc/pressure/{kind}")).map_err(|why| match why {
            Absent::NotSupported(_) => Absent::NotSupported("the kernel does not measure it (boot with psi=1)".into()),
            Absent::Failed(why) if why.contains("Operation not supported") => {
                Absent::NotSupported("the kernel does not measure it (boot with psi=1)".into())
            }
            why => why,
        })?;
        let avg = some_avg10(&text).ok_or_else(|| Absent::Failed(format!("/proc/pressure/{kind} has no avg10")))?;
        good &= avg < PRESSURE;
        parts.push(format!("{} {avg:.1}%", if kind == "io" { "I/O" } else { kind }));
    }
    let text = format!("tasks waited in the last 10 s for {}", parts.join(", "));
    Ok(FactorValue::when(good, text).fix("wait until it is idle; busy-processes lists the processes that run"))
}

fn busy(m: &FactorMachine) -> FoundFactor {
    let busy = m.busy.as_result().map_err(Clone::clone)?;
    if busy.is_empty() {
        return Ok(FactorValue::held("none"));
    }
    let described = |b: &crate::factors::Busy| {
        let user = match b.uid {
            Some(0) => String::new(),
            Some(uid) => format!(", user {uid}"),
            None => ", ended".to_owned(),
        };
        format!("{} ({:.0}%, pid {}{user})", b.comm, b.share * 100.0, b.pid)
    };
    const SHOWN: usize = 6;
    let mut list: Vec<String> = busy.iter().take(SHOWN).map(described).collect();
    if busy.len() > SHOWN {
        list.push(format!("and {} more", busy.len() - SHOWN));
    }
    Ok(FactorValue::wrong(list.join(", ")).fix("stop them while measuring"))
}
