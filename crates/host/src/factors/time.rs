//! EMPv2: the clock is disciplined, and reading it is cheap and steady.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use crate::init_script;
use crate::setting::{Setting, Target};
use std::path::Path;
use tarebench_core::base::reading::Absent;

/// NTP daemons by process name.
const NTP_DAEMONS: &[(&str, &str)] = &[
    ("chronyd", "chronyd"),
    ("ntpd", "ntpd"),
    ("ntpd-rs", "ntpd-rs"),
    ("ntp-daemon", "ntpd-rs"),
    ("openntpd", "openntpd"),
    ("systemd-timesyn", "systemd-timesyncd"),
    ("ptp4l", "ptp4l"),
    ("phc2sys", "phc2sys"),
];

/// Units of NTP daemons, as distributions call them.
const NTP_UNITS: &[&str] = &[
    "chrony.service",
    "chronyd.service",
    "ntp.service",
    "ntpd.service",
    "ntpd-rs.service",
    "ntpsec.service",
    "openntpd.service",
    "systemd-timesyncd.service",
];
/// Scripts of NTP daemons in /etc/init.d, as distributions call them, with the name of the daemon's process.
const NTP_SCRIPTS: &[(&str, &str)] = &[
    ("chrony", "chronyd"),
    ("chronyd", "chronyd"),
    ("ntp", "ntpd"),
    ("ntpd", "ntpd"),
    ("ntpsec", "ntpd"),
    ("openntpd", "ntpd"),
];
/// Where systemd looks for units, the first that has one wins.
const UNIT_FOLDERS: [&str; 4] =
    ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];

/// Whether a unit is an NTP daemon's. [`ntp_daemon`] starts it, and a study of the daemon's effect (EMP figure 10) stops it
/// meanwhile; it is protected from everything else.
pub(crate) fn is_ntp_unit(unit: &str) -> bool {
    NTP_UNITS.contains(&unit)
}

/// The same of scripts, on machines without systemd.
pub(crate) fn is_ntp_script(script: &str) -> bool {
    NTP_SCRIPTS.iter().any(|(name, _)| *name == script)
}

const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// A clock that is read without a system call takes some tens of ns; with one, hundreds.
const CHEAP: f64 = 150.0;

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        name: "ntp",
        group: FactorGroup::Time,
        step: 2,
        optional: false,
        wanted: "an NTP daemon runs and the clock is synchronised",
        reason: "With the NTP daemon on, the paper found fewer outliers and a standard deviation about 30% lower. The \
                 kernel applies the same correction to CLOCK_MONOTONIC, so elapsed times include it.",
        source: "EMP 4.2, appendix D; adjtimex(2)",
        privilege: Privilege::Root,
        reader: ntp,
        setter: Some(ntp_daemon),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "clock-step",
        group: FactorGroup::Time,
        step: 0,
        optional: false,
        wanted: "the clock is slewed, never stepped, while measuring",
        reason: "A step of CLOCK_REALTIME gives a sample a wrong date; programs that read the clock may react to it.",
        source: "EMP appendix D; clock_gettime(2)",
        privilege: Privilege::Root,
        reader: clock_step,
        setter: None,
        // Two readings of two clocks are microseconds apart; an interrupt in between may make it more.
        compare: Compare::Span("the clock was stepped", 1_000_000),
    },
    FactorSpec {
        name: "clock-source",
        group: FactorGroup::Time,
        step: 0,
        optional: false,
        wanted: "tsc on x86, arch_sys_counter on Arm",
        reason: "Other sources are read through the chip set or the hypervisor: slower by a factor of ten to a \
                 hundred, and each reading is part of the measured time.",
        source: "EMP appendix A; kernel doc. timers/timekeeping.rst",
        privilege: Privilege::Root,
        reader: clock_source,
        setter: None,
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "cycle-counter",
        group: FactorGroup::Time,
        step: 0,
        optional: false,
        wanted: "constant rate, and runs in idle states",
        reason: "Only then is a number of cycles a measure of time, independent of the clock speed.",
        source: "EMP appendix A.2.4; Intel SDM vol. 3, invariant TSC",
        privilege: Privilege::Host,
        reader: cycle_counter,
        setter: None,
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "clock-cost",
        group: FactorGroup::Time,
        step: 0,
        optional: false,
        wanted: "CLOCK_MONOTONIC in less than 150 ns, hence without a system call",
        reason: "The cost of a reading is the shortest interval that can be timed, and is part of every sample.",
        source: "EMP appendix A; vdso(7)",
        privilege: Privilege::Root,
        reader: clock_cost,
        setter: None,
        compare: Compare::Never,
    },
];

/// Names of the status bits, as adjtimex(2) has them.
fn status(bits: i32) -> String {
    const NAMES: [(i32, &str); 12] = [
        (libc::STA_PLL, "PLL"),
        (libc::STA_PPSFREQ, "PPSFREQ"),
        (libc::STA_PPSTIME, "PPSTIME"),
        (libc::STA_FLL, "FLL"),
        (libc::STA_INS, "INS"),
        (libc::STA_DEL, "DEL"),
        (libc::STA_UNSYNC, "UNSYNC"),
        (libc::STA_FREQHOLD, "FREQHOLD"),
        (libc::STA_PPSSIGNAL, "PPSSIGNAL"),
        (libc::STA_CLOCKERR, "CLOCKERR"),
        (libc::STA_NANO, "NANO"),
        (libc::STA_MODE, "MODE"),
    ];
    let set: Vec<&str> = NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|n| n.1).collect();
    if set.is_empty() { format!("{bits:#x}") } else { set.join("+") }
}

fn ntp(m: &FactorMachine) -> FoundFactor {
    let d = m.discipline.as_result().map_err(Clone::clone)?;
    let names: Vec<&str> = NTP_DAEMONS.iter().map(|d| d.0).collect();
    let mut daemons: Vec<&str> = Vec::new();
    for comm in m.running_of(&names).unwrap_or_default() {
        daemons.extend(NTP_DAEMONS.iter().find(|d| d.0 == comm).map(|d| d.1));
    }
    let who = daemons.join(", ");
    let figures = format!(
        "offset {:+.3} ms, frequency {:+.2} ppm, estimated error {:.3} ms, status {}",
        d.offset / 1e6,
        d.frequency_ppm,
        d.estimated_error.millis(),
        status(d.status)
    );
    let finding = match (d.synchronised, daemons.is_empty()) {
        (true, false) => FactorValue::held(format!("synchronised by {who}: {figures}")),
        (true, true) => FactorValue::held(format!("synchronised by a daemon that is not visible from here: {figures}")),
        (false, false) => FactorValue::wrong(format!("{who} runs, but the clock is not synchronised (yet): {figures}"))
            .fix("wait, or read its log: the servers may be unreachable"),
        (false, true) => FactorValue::wrong(format!("not synchronised, and no NTP daemon runs: {figures}"))
            .fix("install and start one (chronyd, ntpd or systemd-timesyncd)"),
    };
    let state = if d.synchronised { "synchronised" } else { "not synchronised" };
    Ok(finding.value(if who.is_empty() { state.to_owned() } else { format!("{state} by {who}") }))
}

/// Whether a unit is installed, and not masked by a link to nothing.
fn is_installed(m: &FactorMachine, unit: &str) -> bool {
    let path = UNIT_FOLDERS.iter().map(|folder| m.root.join(folder).join(unit)).find(|p| p.symlink_metadata().is_ok());
    path.is_some_and(|p| !std::fs::read_link(&p).is_ok_and(|to| to == Path::new("/dev/null")))
}

/// The NTP daemon that runs, or else the first that is installed, is to run.
fn ntp_daemon(m: &FactorMachine) -> Vec<Setting> {
    let targets: Vec<Target> = if m.has("run/systemd/system") || m.units.value().is_some() {
        let Ok(mut units) = m.active_units(NTP_UNITS) else { return Vec::new() };
        if units.is_empty() {
            units.extend(NTP_UNITS.iter().find(|u| is_installed(m, u)).map(|u| (*u).to_owned()));
        }
        units.into_iter().map(Target::Unit).collect()
    } else {
        ntp_script(m).into_iter().map(Target::Script).collect()
    };
    let setting = |target: Target| Setting {
        factor: "ntp".to_owned(),
        target,
        wanted: "active".to_owned(),
        survives_reboot: false,
    };
    targets.into_iter().map(setting).collect()
}

/// The script of the daemon that runs, or else the first that is installed.
fn ntp_script(m: &FactorMachine) -> Option<String> {
    let installed = || NTP_SCRIPTS.iter().filter(|(name, _)| m.has(&format!("{}/{name}", init_script::FOLDER)));
    let running = m.running_of(&installed().map(|(_, daemon)| *daemon).collect::<Vec<_>>()).unwrap_or_default();
    let found = installed().find(|(_, daemon)| running.iter().any(|r| r == daemon)).or_else(|| installed().next());
    found.map(|(name, _)| (*name).to_owned())
}

fn clock_step(m: &FactorMachine) -> FoundFactor {
    let epoch = m.epoch.as_result().map_err(Clone::clone)?;
    Ok(FactorValue::held("recorded, and compared with a later reading").value(epoch.0))
}

/// What the kernel's clock sources other than the CPU's own are.
fn describe(source: &str) -> &'static str {
    match source {
        "hpet" => "a timer in the chip set, about 1 µs a reading, by a system call",
        "acpi_pm" => "a timer in the chip set, several µs a reading, by a system call",
        "kvm-clock" => "KVM's clock, computed from the TSC; about as cheap as tsc, but scaled by the host",
        "xen" => "Xen's page over the TSC; on older kernels a system call for each reading",
        "hyperv_clocksource_tsc_page" => "Hyper-V's page over the TSC; about as cheap as tsc",
        "hyperv_clocksource_msr" => "an exit to Hyper-V for each reading",
        "jiffies" => "the timer interrupt: resolution of milliseconds",
        "refined-jiffies" => "the timer interrupt: resolution of milliseconds",
        _ => "not known to tare",
    }
}

fn clock_source(m: &FactorMachine) -> FoundFactor {
    let current = m.text(&format!("{CLOCK_SOURCE}/current_clocksource"))?;
    let cost = m.clock_costs.value().and_then(|c| c.iter().find(|c| c.0 == "CLOCK_MONOTONIC"));
    let cost = cost.map(|c| format!("; {:.0} ns a reading", c.1)).unwrap_or_default();
    if ["tsc", "arch_sys_counter"].contains(&current.as_str()) {
        return Ok(FactorValue::held(format!("{current}, the CPU's own counter{cost}")).value(current));
    }
    let available = m.text(&format!("{CLOCK_SOURCE}/available_clocksource")).unwrap_or_default();
    let fix = if available.split_whitespace().any(|s| s == "tsc") {
        format!("echo tsc > /{CLOCK_SOURCE}/current_clocksource")
    } else {
        "the kernel does not offer the TSC, mostly because it found it unstable: see `dmesg | grep -i tsc`; a firmware \
         update or tsc=reliable may help"
            .to_owned()
    };
    Ok(FactorValue::wrong(format!("{current}: {}{cost}", describe(&current))).value(current).fix(fix))
}

fn cycle_counter(m: &FactorMachine) -> FoundFactor {
    let flags = match m.cpu_flags() {
        Ok(flags) => flags,
        // The generic timer of the Arm architecture has a fixed rate and is always on.
        Err(_) if m.text(&format!("{CLOCK_SOURCE}/current_clocksource")).is_ok_and(|c| c == "arch_sys_counter") => {
            return Ok(FactorValue::held("the architecture's counter: fixed rate, always on").value("architected"));
        }
        Err(why) => return Err(why),
    };
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    let value = ["constant_tsc", "nonstop_tsc"].into_iter().filter(|f| has(f)).collect::<Vec<_>>().join(" ");
    let finding = match (has("constant_tsc"), has("nonstop_tsc")) {
        (true, true) => FactorValue::held("TSC at a constant rate, non-stop (constant_tsc, nonstop_tsc)"),
        (true, false) => FactorValue::wrong("TSC at a constant rate, but it may stop in deep idle states"),
        (false, _) => FactorValue::wrong("the TSC's rate may change with the clock speed: no constant_tsc"),
    };
    Ok(finding.value(value).fix("cannot be changed: the CPU or its host decides; do not use cycles as time"))
}

fn clock_cost(m: &FactorMachine) -> FoundFactor {
    let costs = m.clock_costs.as_result().map_err(Clone::clone)?;
    let monotonic = costs.iter().find(|c| c.0 == "CLOCK_MONOTONIC").map(|c| c.1);
    let monotonic = monotonic.ok_or_else(|| Absent::Failed("CLOCK_MONOTONIC was not read".into()))?;
    let list: Vec<String> = costs.iter().map(|(name, ns)| format!("{name} {ns:.0} ns")).collect();
    Ok(FactorValue::when(monotonic < CHEAP, list.join(", ")).fix("see clock-source"))
}
