//! EMPv3: the CPUs' clock speed stays the same.

use crate::factors::machine::{FactorMachine, format_cpu_list};
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use crate::setting::Setting;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use tarebench_core::base::reading::Absent;

const CPU: &str = "sys/devices/system/cpu";
const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";

/// Idle states that take longer to leave than this are deep, µs.
const DEEP: i64 = 10;

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        name: "turbo",
        group: FactorGroup::ClockSpeed,
        step: 3,
        optional: false,
        wanted: "off",
        reason: "Turbo and boost raise the clock speed as temperature and the other cores allow: the time of the same \
                 work varies. Without it the paper's spread fell by 19 to 35%.",
        source: "EMP 4.3; kernel doc. admin-guide/pm/{intel_pstate,cpufreq,amd-pstate}.rst",
        privilege: Privilege::Root,
        reader: turbo,
        setter: Some(set_turbo),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "energy-preference",
        group: FactorGroup::ClockSpeed,
        step: 0,
        optional: false,
        wanted: "performance, on all CPUs",
        reason: "If the CPU chooses its speed itself, this sets how early it slows down.",
        source: "kernel doc. admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
        privilege: Privilege::Root,
        reader: energy,
        setter: Some(set_energy),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "governor",
        group: FactorGroup::ClockSpeed,
        step: 3,
        optional: false,
        wanted: "performance on all CPUs, or minimum = maximum frequency",
        reason: "Other governors follow the load, so a program starts slowly and becomes faster (SpeedStep).",
        source: "EMP 4.3; kernel doc. admin-guide/pm/cpufreq.rst",
        privilege: Privilege::Root,
        reader: governor,
        setter: Some(set_governor),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "frequency",
        group: FactorGroup::ClockSpeed,
        step: 0,
        optional: false,
        wanted: "minimum frequency = maximum without turbo, or governor performance",
        reason: "Fixes the frequency, whatever the governor or the CPU prefers.",
        source: "EMP 4.3, appendix A.2.4; pyperf system tune",
        privilege: Privilege::Root,
        reader: frequency,
        setter: Some(set_frequency),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "idle-states",
        group: FactorGroup::ClockSpeed,
        step: 0,
        optional: true,
        wanted: "no enabled state takes more than 10 µs to leave, or /dev/cpu_dma_latency held at 10 µs or less",
        reason: "A CPU in a deep idle state starts late and with cold caches. Matters for short programs and for those \
                 that wait. Costs heat, which may reduce turbo.",
        source: "kernel doc. admin-guide/pm/cpuidle.rst; cyclictest does it",
        privilege: Privilege::Root,
        reader: idle_states,
        setter: Some(set_idle_states),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "throttling",
        group: FactorGroup::ClockSpeed,
        step: 0,
        optional: false,
        wanted: "no CPU was slowed down for heat since boot",
        reason: "A CPU that is too hot is slowed down, regardless of all other settings.",
        source: "kernel doc. ABI/testing/sysfs-devices-system-cpu (thermal_throttle); BenchExec compares the counts",
        privilege: Privilege::None,
        reader: throttling,
        setter: None,
        compare: Compare::Count("more times slowed down for heat"),
    },
    FactorSpec {
        name: "mains-power",
        group: FactorGroup::ClockSpeed,
        step: 0,
        optional: false,
        wanted: "a portable machine runs on mains power",
        reason: "On battery, firmware and daemons limit the clock speed.",
        source: "kernel doc. ABI/testing/sysfs-class-power",
        privilege: Privilege::None,
        reader: mains,
        setter: None,
        compare: Compare::Exact,
    },
];

fn no_control(m: &FactorMachine) -> Absent {
    Absent::NotSupported(if m.is_virtual() {
        "a virtual machine cannot see or set the clock speed; its host decides".to_owned()
    } else {
        "the kernel shows no control of the clock speed (cpufreq)".to_owned()
    })
}

/// Files of all policies by this name, with the policy's first CPU.
fn policy_files(m: &FactorMachine, name: &str) -> Vec<(u32, String)> {
    let files = m.policies().into_iter().map(|(cpu, folder)| (cpu, format!("{folder}/{name}")));
    files.filter(|(_, f)| m.has(f)).collect()
}

/// `value: CPUs` for each value of a file of all policies.
fn by_value(m: &FactorMachine, name: &str) -> Result<BTreeMap<String, Vec<u32>>, Absent> {
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (cpu, file) in policy_files(m, name) {
        values.entry(m.text(&file)?).or_default().push(cpu);
    }
    if values.is_empty() { Err(no_control(m)) } else { Ok(values) }
}

fn listed(values: &BTreeMap<String, Vec<u32>>) -> String {
    let mut list: Vec<(&String, &Vec<u32>)> = values.iter().collect();
    list.sort_by_key(|(_, cpus)| cpus.first().copied());
    match list[..] {
        [(value, _)] => value.clone(),
        _ => {
            let value_on_cpus =
                |(value, cpus): &(&String, &Vec<u32>)| format!("{value} on CPUs {}", format_cpu_list(cpus));
            list.iter().map(value_on_cpus).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Bit 38 of IA32_MISC_ENABLE: turbo is off (Intel SDM vol. 4).
fn turbo_msr(m: &FactorMachine) -> Result<bool, Absent> {
    let path = m.root.join("dev/cpu/0/msr");
    let mut value = [0; 8];
    let read = std::fs::File::open(path).and_then(|f| f.read_exact_at(&mut value, 0x1a0));
    read.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Absent::NotSupported("no cpufreq driver with a switch; `modprobe msr`".into()),
        _ => Absent::NoPermission("root and the module msr, as no cpufreq driver has a switch".into()),
    })?;
    Ok(u64::from_le_bytes(value) >> 38 & 1 == 1)
}

fn turbo(m: &FactorMachine) -> FoundFactor {
    if m.has(NO_TURBO) {
        let off = m.number(NO_TURBO)? == 1;
        let text = if off { "off (intel_pstate/no_turbo = 1)" } else { "on (intel_pstate/no_turbo = 0)" };
        return Ok(FactorValue::when(off, text)
            .value(if off { "off" } else { "on" })
            .fix(format!("echo 1 > /{NO_TURBO}")));
    }
    let mut on = Vec::new();
    let policies = policy_files(m, "boost");
    for (cpu, file) in &policies {
        if m.number(file)? != 0 {
            on.push(*cpu);
        }
    }
    let global = if m.has(BOOST) { Some(m.number(BOOST)? != 0) } else { None };
    let finding = match (global, policies.len()) {
        (Some(false), _) => FactorValue::held("off (cpufreq/boost = 0)").value("off"),
        (Some(true), 0) => FactorValue::wrong("on (cpufreq/boost = 1)").value("on"),
        (None, 0) => return turbo_by_msr(m),
        (_, n) => {
            let cpus = format_cpu_list(&on);
            let (text, value) = match on.len() {
                0 => ("off on all CPUs (boost = 0)".to_owned(), "off".to_owned()),
                k if k == n => ("on, on all CPUs (boost = 1)".to_owned(), "on".to_owned()),
                _ => (format!("on, on CPUs {cpus}"), format!("on {cpus}")),
            };
            FactorValue::when(on.is_empty(), text).value(value)
        }
    };
    let files = if policies.is_empty() { BOOST.to_owned() } else { format!("{CPU}/cpufreq/policy*/boost") };
    let fix = if policies.is_empty() { format!("echo 0 > /{files}") } else { format!("echo 0 | tee /{files}") };
    Ok(finding.fix(fix))
}

fn turbo_by_msr(m: &FactorMachine) -> FoundFactor {
    if m.is_virtual() {
        return Err(no_control(m));
    }
    if !m.text("proc/cpuinfo").is_ok_and(|c| c.contains("GenuineIntel")) {
        return turbo_by_cppc(m);
    }
    let off = turbo_msr(m)?;
    let text = format!("{} (MSR 0x1a0, bit 38)", if off { "off" } else { "on" });
    Ok(FactorValue::when(off, text).value(if off { "off" } else { "on" }).fix("switch it off in the firmware's set-up"))
}

/// Without a switch, ACPI may say that there is nothing above the nominal speed.
fn turbo_by_cppc(m: &FactorMachine) -> FoundFactor {
    let policies = m.policies();
    let Some((cpu, _)) = policies.first() else { return Err(no_control(m)) };
    let perf = |name: &str| m.number(&format!("{CPU}/cpu{cpu}/acpi_cppc/{name}"));
    match (perf("highest_perf"), perf("nominal_perf")) {
        (Ok(highest), Ok(nominal)) if highest <= nominal => {
            Ok(FactorValue::held("none: ACPI lists no speed above the nominal one").value("off"))
        }
        _ => {
            let driver = by_value(m, "scaling_driver").map(|d| listed(&d)).unwrap_or_else(|_| "the driver".to_owned());
            Err(Absent::NotSupported(format!("{driver} has no switch for boost; the firmware's set-up may have one")))
        }
    }
}

fn set_turbo(m: &FactorMachine) -> Vec<Setting> {
    if m.has(NO_TURBO) {
        return m.one_file("turbo", NO_TURBO, 1);
    }
    // By policy where there are such switches: writing the common one would lose what each of them was.
    let policies = policy_files(m, "boost");
    if policies.is_empty() {
        return m.one_file("turbo", BOOST, 0);
    }
    policies.into_iter().filter_map(|(_, f)| m.file_setting("turbo", f, 0)).collect()
}

fn energy(m: &FactorMachine) -> FoundFactor {
    if m.policies().is_empty() {
        return Err(no_control(m));
    }
    let Ok(values) = by_value(m, "energy_performance_preference") else {
        return Ok(FactorValue::held("this frequency driver has none: the governor decides"));
    };
    let good = values.keys().all(|v| v == "performance");
    let fix = format!("echo performance | tee /{CPU}/cpufreq/policy*/energy_performance_preference");
    Ok(FactorValue::when(good, listed(&values)).value(listed(&values)).fix(fix))
}

fn set_energy(m: &FactorMachine) -> Vec<Setting> {
    let files = policy_files(m, "energy_performance_preference").into_iter();
    files.filter_map(|(_, f)| m.file_setting("energy-preference", f, "performance")).collect()
}

/// A policy's minimum frequency and its maximum without turbo, in kHz.
struct FrequencySpan {
    cpu: u32,
    least: i64,
    most: i64,
    /// Where turbo begins is known, or there is no turbo in the greatest.
    sure: bool,
}

/// The maximum frequency without turbo, as far as the driver reports it.
fn nominal(m: &FactorMachine, folder: &str, cpu: u32) -> Option<i64> {
    let listed = || {
        let all = m.text(&format!("{folder}/scaling_available_frequencies")).ok()?;
        all.split_whitespace().filter_map(|f| f.parse().ok()).max()
    };
    let cppc = || m.number(&format!("{CPU}/cpu{cpu}/acpi_cppc/nominal_freq")).ok().map(|mhz| mhz.saturating_mul(1000));
    m.number(&format!("{folder}/base_frequency")).ok().or_else(listed).or_else(cppc).filter(|f| *f > 0)
}

fn spans(m: &FactorMachine) -> Result<Vec<FrequencySpan>, Absent> {
    let has_turbo = !set_turbo(m).is_empty();
    let mut spans = Vec::new();
    for (cpu, folder) in m.policies() {
        let least = m.number(&format!("{folder}/scaling_min_freq"))?;
        let most = m.number(&format!("{folder}/scaling_max_freq"))?;
        let nominal = nominal(m, &folder, cpu);
        let sure = nominal.is_some() || !has_turbo;
        spans.push(FrequencySpan { cpu, least, most: nominal.map_or(most, |n| n.min(most)), sure });
    }
    if spans.is_empty() { Err(no_control(m)) } else { Ok(spans) }
}

fn is_performance(m: &FactorMachine, cpu: u32) -> bool {
    m.text(&format!("{CPU}/cpufreq/policy{cpu}/scaling_governor")).is_ok_and(|g| g == "performance")
}

fn governor(m: &FactorMachine) -> FoundFactor {
    let values = by_value(m, "scaling_governor")?;
    let spans = spans(m).unwrap_or_default();
    let fixed = |cpu: &u32| spans.iter().any(|s| s.cpu == *cpu && s.least >= s.most);
    let loose = values.iter().any(|(g, cpus)| g != "performance" && !cpus.iter().all(fixed));
    let driver = by_value(m, "scaling_driver").map(|d| format!(" ({})", listed(&d))).unwrap_or_default();
    let only = values.len() == 1 && values.contains_key("performance");
    let tail = if loose || only { "" } else { ", with the frequency fixed" };
    let fix = format!("echo performance | tee /{CPU}/cpufreq/policy*/scaling_governor");
    Ok(FactorValue::when(!loose, format!("{}{tail}{driver}", listed(&values))).value(listed(&values)).fix(fix))
}

fn set_governor(m: &FactorMachine) -> Vec<Setting> {
    let files = policy_files(m, "scaling_governor").into_iter();
    files.filter_map(|(_, f)| m.file_setting("governor", f, "performance")).collect()
}

fn mhz(khz: i64) -> String {
    format!("{:.0}", khz as f64 / 1e3)
}

fn frequency(m: &FactorMachine) -> FoundFactor {
    let spans = spans(m)?;
    let mut ranges: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for s in &spans {
        let range = if s.least >= s.most {
            format!("fixed at {} MHz", mhz(s.most))
        } else {
            format!("{} to {} MHz", mhz(s.least), mhz(s.most))
        };
        let range = if s.sure { range } else { format!("{range}, turbo included") };
        let held = if s.least < s.most && is_performance(m, s.cpu) { ", kept high by the governor" } else { "" };
        ranges.entry(format!("{range}{held}")).or_default().push(s.cpu);
    }
    let good = spans.iter().all(|s| s.least >= s.most || is_performance(m, s.cpu));
    let fix = "write each policy's maximum frequency without turbo into its scaling_min_freq";
    Ok(FactorValue::when(good, listed(&ranges)).value(listed(&ranges)).fix(fix))
}

/// Only the minimum is raised, to the maximum without turbo: the maximum follows turbo, and could not be restored
///
/// while turbo is still off.
fn set_frequency(m: &FactorMachine) -> Vec<Setting> {
    let least_frequency = |s: FrequencySpan| {
        let file = format!("{CPU}/cpufreq/policy{}/scaling_min_freq", s.cpu);
        m.file_setting("frequency", file, s.most)
    };
    spans(m).unwrap_or_default().into_iter().filter(|s| s.sure).filter_map(least_frequency).collect()
}

struct Idle {
    folder: String,
    name: String,
    latency: i64,
    disabled: bool,
}

fn idle(m: &FactorMachine) -> Vec<Idle> {
    let mut all = Vec::new();
    for cpu in m.numbered(CPU, "cpu") {
        let states = format!("{CPU}/cpu{cpu}/cpuidle");
        for state in m.numbered(&states, "state") {
            let folder = format!("{states}/state{state}");
            let (Ok(latency), Ok(disable)) =
                (m.number(&format!("{folder}/latency")), m.number(&format!("{folder}/disable")))
            else {
                continue;
            };
            let name = m.text(&format!("{folder}/name")).unwrap_or_else(|_| format!("state{state}"));
            all.push(Idle { folder, name, latency, disabled: disable != 0 });
        }
    }
    all
}

/// The limit on wake-up latency that some program holds, in µs; absent without root.
fn latency_limit(m: &FactorMachine) -> Option<i32> {
    let mut value = [0; 4];
    let file = std::fs::File::open(m.root.join("dev/cpu_dma_latency")).ok()?;
    file.read_exact_at(&mut value, 0).ok()?;
    // PM_QOS_CPU_LATENCY_DEFAULT_VALUE is 2000 s: no limit.
    Some(i32::from_ne_bytes(value)).filter(|v| *v < 2_000_000_000)
}

fn idle_states(m: &FactorMachine) -> FoundFactor {
    let all = idle(m);
    if all.is_empty() {
        return Err(Absent::NotSupported("the kernel shows no idle states (cpuidle)".into()));
    }
    if let Some(limit) = latency_limit(m).filter(|l| i64::from(*l) <= DEEP) {
        return Ok(
            FactorValue::held(format!("held at {limit} µs by /dev/cpu_dma_latency")).value(format!("limit {limit}"))
        );
    }
    let mut deep: Vec<(String, i64)> = Vec::new();
    for s in all.iter().filter(|s| s.latency > DEEP && !s.disabled) {
        if !deep.iter().any(|d| d.0 == s.name) {
            deep.push((s.name.clone(), s.latency));
        }
    }
    let list = deep.iter().map(|(n, l)| format!("{n} ({l} µs)")).collect::<Vec<_>>().join(", ");
    if deep.is_empty() {
        return Ok(FactorValue::held("no enabled state takes more than 10 µs to leave").value(""));
    }
    let fix = format!("echo 1 | tee /{CPU}/cpu*/cpuidle/stateN/disable");
    Ok(FactorValue::wrong(format!("deep ones enabled: {list}")).value(list).fix(fix))
}

fn set_idle_states(m: &FactorMachine) -> Vec<Setting> {
    let deep = idle(m).into_iter().filter(|s| s.latency > DEEP);
    deep.filter_map(|s| m.file_setting("idle-states", format!("{}/disable", s.folder), 1)).collect()
}

fn throttling(m: &FactorMachine) -> FoundFactor {
    let mut total = 0_i64;
    let mut worst: Vec<u32> = Vec::new();
    let mut seen = false;
    for cpu in m.numbered(CPU, "cpu") {
        let mut of_cpu = 0_i64;
        for file in ["core_throttle_count", "package_throttle_count"] {
            if let Ok(n) = m.number(&format!("{CPU}/cpu{cpu}/thermal_throttle/{file}")) {
                seen = true;
                of_cpu = of_cpu.saturating_add(n.max(0));
            }
        }
        if of_cpu > 0 {
            worst.push(cpu);
        }
        total = total.saturating_add(of_cpu);
    }
    if !seen {
        return Err(Absent::NotSupported(if m.is_virtual() {
            "a virtual machine cannot see throttling of its host".into()
        } else {
            "this CPU or kernel does not count thermal throttling".into()
        }));
    }
    let finding = match total {
        0 => FactorValue::held("none since boot"),
        n => FactorValue::wrong(format!(
            "{n} counted since boot, over cores and packages (CPUs {})",
            format_cpu_list(&worst)
        ))
        .fix("cool it better or lower scaling_max_freq; the count starts again at boot"),
    };
    Ok(finding.value(total))
}

fn mains(m: &FactorMachine) -> FoundFactor {
    let folder = "sys/class/power_supply";
    if !m.has("sys/class") {
        return Err(Absent::NotSupported("this machine has no /sys/class".into()));
    }
    let supplies = m.names(folder);
    let kind = |s: &String| m.text(&format!("{folder}/{s}/type")).unwrap_or_default();
    let online = |s: &String| m.number(&format!("{folder}/{s}/online")).is_ok_and(|o| o > 0);
    // Batteries of mice and the like have the scope Device.
    let of_machine = |s: &&String| m.text(&format!("{folder}/{s}/scope")).map_or(true, |s| s != "Device");
    let batteries: Vec<&String> = supplies.iter().filter(|s| kind(s) == "Battery").filter(of_machine).collect();
    if batteries.is_empty() {
        return Ok(FactorValue::held("no battery: not a portable machine").value("mains"));
    }
    let plugged = supplies.iter().any(|s| ["Mains", "USB"].contains(&kind(s).as_str()) && online(s));
    if plugged {
        return Ok(FactorValue::held("on mains power").value("mains"));
    }
    let known = supplies.iter().any(|s| kind(s) == "Mains");
    let status = |s: &&String| m.text(&format!("{folder}/{s}/status")).unwrap_or_default();
    if !known && !batteries.iter().any(|b| status(b) == "Discharging") {
        return Err(Absent::NotSupported(
            "there is a battery, but the kernel does not report whether it is in use".into(),
        ));
    }
    Ok(FactorValue::wrong("on battery").value("battery").fix("plug it in"))
}
