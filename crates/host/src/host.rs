//! What machine this is.

use std::path::Path;
use tarebench_core::base::hash::fnv64;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::Host;
use tarebench_sys::clock::CounterRate;
use tarebench_sys::procfs::{parse_cpu_list, read_text_below};
use tarebench_sys::{topology, uname};

fn text(root: &Path, path: &str) -> Reading<String> {
    read_text_below(root, path).map_err(|e| e.absent("a readable file")).into()
}

fn cpuinfo_field(cpuinfo: &str, key: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A stable identity of the machine: a hash of `/etc/machine-id`, or of what else distinguishes machines.
fn machine(root: &Path, name: &str) -> String {
    let id = read_text_below(root, "etc/machine-id").ok().filter(|t| !t.is_empty());
    let id = id.or_else(|| read_text_below(root, "sys/class/dmi/id/product_uuid").ok());
    let cpu = read_text_below(root, "proc/cpuinfo").ok().and_then(|c| cpuinfo_field(&c, "model name"));
    let id = id.unwrap_or_else(|| format!("{name}/{}", cpu.unwrap_or_default()));
    format!("{:016x}", fnv64(format!("tarebench:{id}").as_bytes()))
}

/// Identity of the machine whose files are below `root` ([`Host::machine`]).
pub fn identity(root: &Path) -> String {
    machine(root, &uname::uname().node)
}

pub(crate) fn hypervisor(root: &Path, cpuinfo: &str) -> Reading<String> {
    let product = read_text_below(root, "sys/class/dmi/id/product_name").unwrap_or_default();
    let vendor = read_text_below(root, "sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let kind = read_text_below(root, "sys/hypervisor/type").ok().filter(|t| !t.is_empty());
    let flags = cpuinfo_field(cpuinfo, "flags").unwrap_or_default();
    let known = [
        ("KVM", "KVM"),
        ("QEMU", "KVM/QEMU"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Firecracker", "KVM/Firecracker"),
        ("Amazon EC2", "KVM (Amazon EC2)"),
        ("Google", "KVM (Google)"),
    ];
    let by_name = known.iter().find(|(k, _)| product.contains(k) || vendor.contains(k)).map(|k| k.1.to_owned());
    if let Some(kind) = kind.or(by_name) {
        return Reading::Value(kind);
    }
    if flags.split(' ').any(|f| f == "hypervisor") {
        // The flag is set, but no name is given; the paravirtual clock reveals KVM.
        let clocks = read_text_below(root, "sys/devices/system/clocksource/clocksource0/available_clocksource");
        let kvm = clocks.is_ok_and(|c| c.contains("kvm-clock"));
        return Reading::Value(if kvm { "KVM" } else { "unnamed hypervisor" }.to_owned());
    }
    if flags.is_empty() {
        return Reading::Absent(Absent::NotSupported("this CPU does not report whether it is virtual".into()));
    }
    Reading::Value("none".to_owned())
}

/// Describes the machine whose files are below `root`; name, kernel and counter are of the running one.
pub fn describe(root: &Path) -> Host {
    let rate = CounterRate::begin();
    Host { cycle_counter_hz: counter_hz(rate), ..describe_at_once(root) }
}

/// The cycle counter's frequency, at the earliest 10 ms after `rate` was begun.
pub fn counter_hz(rate: CounterRate) -> Reading<f64> {
    rate.hz(Nanos::from_millis(10)).map_err(|e| Absent::NotSupported(e.to_string())).into()
}

/// As [`describe`], but for the cycle counter's frequency, which takes some time.
pub fn describe_at_once(root: &Path) -> Host {
    let u = uname::uname();
    let cpuinfo = read_text_below(root, "proc/cpuinfo").unwrap_or_default();
    let os_release = read_text_below(root, "etc/os-release").map_err(|e| e.absent("a readable file"));
    let pretty = |t: String| {
        let line = t.lines().find_map(|l| l.strip_prefix("PRETTY_NAME=").map(|v| v.trim_matches('"').to_owned()));
        line.ok_or_else(|| Absent::Failed("os-release has no PRETTY_NAME".into()))
    };
    let model = ["model name", "Model", "Processor", "CPU part"].iter().find_map(|k| cpuinfo_field(&cpuinfo, k));
    let memory = read_text_below(root, "proc/meminfo").ok().and_then(|m| {
        let line = cpuinfo_field(&m, "MemTotal")?;
        line.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|k| k * 1024)
    });
    let online = topology::online(root).ok().and_then(|t| parse_cpu_list(&t));
    Host {
        machine: machine(root, &u.node),
        name: u.node,
        boot: text(root, "proc/sys/kernel/random/boot_id"),
        kernel: u.release,
        kernel_version: u.version,
        architecture: u.machine,
        distribution: os_release.and_then(pretty).into(),
        cpu: model.ok_or_else(|| Absent::NotSupported("/proc/cpuinfo names no CPU".into())).into(),
        microcode: cpuinfo_field(&cpuinfo, "microcode")
            .ok_or_else(|| Absent::NotSupported("/proc/cpuinfo has no microcode".into()))
            .into(),
        cpus: online.map_or(1, |o| o.len() as u32),
        memory: memory.ok_or_else(|| Absent::Failed("/proc/meminfo has no MemTotal".into())).into(),
        hypervisor: hypervisor(root, &cpuinfo),
        clock_source: text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cycle_counter_hz: Reading::Absent(Absent::NotAsked("the counter was not timed".into())),
    }
}
