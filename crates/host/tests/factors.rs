//! The factors of machines that are not at hand, value by value.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/machines.rs"]
mod machines;

use machines::Root;
use std::path::Path;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::{Factor, Standing};
use tarebench_host::factors;
use tarebench_host::factors::{Busy, FactorMachine};
use tarebench_host::setting::{Setting, Target};
use tarebench_sys::clock::ClockDiscipline;

/// What has no file, as on a quiet machine of 1 January 2025 with its clock synchronised.
fn machine(root: &Path) -> FactorMachine {
    let mut m = FactorMachine::from_files(root);
    m.discipline = Reading::Value(ClockDiscipline {
        synchronised: true,
        offset: -250_000.0,
        frequency_ppm: 1.5,
        estimated_error: Nanos(40_000),
        status: 0x2001,
    });
    m.clock_costs = Reading::Value(vec![("CLOCK_MONOTONIC", 22.0), ("cycle counter", 8.0)]);
    m.epoch = Reading::Value(Nanos(1_700_000_000_000_000_000));
    m.now = Reading::Value(Nanos(1_735_689_600_000_000_000));
    m.hardware_counters = Reading::Value(());
    m.steal = Reading::Value(0.0);
    m.busy = Reading::Value(Vec::new());
    m.units = Reading::Value(Vec::new());
    m
}

fn laid_out(build: fn(&Path)) -> (tempfile::TempDir, FactorMachine) {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let m = machine(dir.path());
    (dir, m)
}

fn table(factors: &[Factor]) -> String {
    let mark = |s| match s {
        Standing::Held => '+',
        Standing::NotHeld => 'x',
        Standing::Unknown => '?',
    };
    factors.iter().map(|f| format!("{} {}: {}\n", mark(f.standing), f.name, f.finding)).collect()
}

fn listed(settings: &[Setting]) -> String {
    let setting_text = |s: &Setting| match &s.target {
        Target::File(f) => format!("{f} = {}\n", s.wanted),
        Target::Unit(u) => format!("unit {u} = {}\n", s.wanted),
        Target::Script(name) => format!("script {name} = {}\n", s.wanted),
    };
    settings.iter().map(setting_text).collect()
}

#[test]
fn intel_laptop() {
    let (_dir, mut m) = laid_out(machines::intel_laptop);
    let units = [("apt-daily.timer", "active"), ("fstrim.timer", "active"), ("cups.service", "active")];
    m.units = Reading::Value(units.map(|(n, s)| (n.to_owned(), s.to_owned())).to_vec());
    insta::assert_snapshot!(table(&factors::read_all(&m)));
    insta::assert_snapshot!("intel_laptop_settings", listed(&factors::settings(&m, &[]).unwrap()));
}

#[test]
fn amd_desktop() {
    let (_dir, m) = laid_out(machines::amd_desktop);
    insta::assert_snapshot!(table(&factors::read_all(&m)));
    insta::assert_snapshot!("amd_desktop_settings", listed(&factors::settings(&m, &[]).unwrap()));
}

#[test]
fn old_server() {
    let (_dir, mut m) = laid_out(machines::old_server);
    m.clock_costs = Reading::Value(vec![("CLOCK_MONOTONIC", 812.0), ("cycle counter", 11.0)]);
    insta::assert_snapshot!(table(&factors::read_all(&m)));
    insta::assert_snapshot!("old_server_settings", listed(&factors::settings(&m, &[]).unwrap()));
}

#[test]
fn arm_server() {
    let (_dir, m) = laid_out(machines::arm_server);
    insta::assert_snapshot!(table(&factors::read_all(&m)));
    insta::assert_snapshot!("arm_server_settings", listed(&factors::settings(&m, &[]).unwrap()));
}

#[test]
fn hybrid_desktop() {
    let (_dir, m) = laid_out(machines::hybrid_desktop);
    insta::assert_snapshot!(table(&factors::read_all(&m)));
    insta::assert_snapshot!("hybrid_desktop_settings", listed(&factors::settings(&m, &[]).unwrap()));
}

/// Each of the machines, once its files hold what the settings ask for, has nothing to complain of in those factors.
#[test]
fn what_is_set_is_held() {
    for build in [
        machines::intel_laptop,
        machines::amd_desktop,
        machines::old_server,
        machines::arm_server,
        machines::hybrid_desktop,
    ] {
        let (dir, m) = laid_out(build);
        let settings = factors::settings(&m, &[]).unwrap();
        for s in &settings {
            let Target::File(path) = &s.target else { panic!("{s:?} without systemd") };
            let full = dir.path().join(path);
            let old = std::fs::read_to_string(&full).unwrap();
            let new =
                if old.contains('[') { format!("always [{}] never\n", s.wanted) } else { s.wanted.clone() + "\n" };
            std::fs::write(&full, new).unwrap();
        }
        let after = factors::read_all(&machine(dir.path()));
        for s in &settings {
            let f = after.iter().find(|f| f.name == s.factor).unwrap();
            assert_eq!(f.standing, Standing::Held, "{}: {}", f.name, f.finding);
        }
    }
}

#[test]
fn only_what_is_named_is_set() {
    let (_dir, mut m) = laid_out(machines::old_server);
    let settings_of = |m: &FactorMachine, name: &str| listed(&factors::settings(m, &[name.to_owned()]).unwrap());
    assert_eq!(settings_of(&m, "aslr"), "proc/sys/kernel/randomize_va_space = 2\n");
    assert_eq!(settings_of(&m, "rt-throttling"), "proc/sys/kernel/sched_rt_runtime_us = -1\n");
    // CPUs 4-7 are isolated; the other interrupt stays away from them already.
    assert_eq!(settings_of(&m, "irq-affinity"), "proc/irq/27/smp_affinity_list = 0-3\n");
    m.cpus = Some(vec![0, 1, 2, 3]);
    let near = "proc/irq/26/smp_affinity_list = 4-7\nproc/irq/27/smp_affinity_list = 4-7\n";
    assert_eq!(settings_of(&m, "irq-affinity"), near);
    let usual = factors::settings(&m, &[]).unwrap();
    for optional in ["aslr", "rt-throttling", "irq-affinity", "idle-states", "deadline-server"] {
        assert!(usual.iter().all(|s| s.factor != optional), "{optional}");
    }
    assert_eq!(
        factors::settings(&m, &["nonsense".to_owned()]).unwrap_err().to_string(),
        "no factor is called `nonsense`"
    );
}

#[test]
fn units_are_stopped_sockets_first_and_never_the_clocks() {
    let (_dir, mut m) = laid_out(machines::intel_laptop);
    let units = [
        ("cups.service", "active"),
        ("cups.socket", "active"),
        ("cron.service", "inactive"),
        ("irqbalance.service", "active"),
        ("systemd-timesyncd.service", "active"),
        ("ssh.service", "active"),
        ("dbus.service", "active"),
        ("apt-daily.timer", "active"),
    ];
    m.units = Reading::Value(units.map(|(n, s)| (n.to_owned(), s.to_owned())).to_vec());
    let stopped: Vec<Setting> = factors::settings(&m, &[]).unwrap();
    let stopped: Vec<&Setting> = stopped.iter().filter(|s| matches!(s.target, Target::Unit(_))).collect();
    let names: Vec<String> = stopped.iter().map(|s| format!("{}: {:?}", s.factor, s.target)).collect();
    let expected = [
        r#"daemons: Unit("cups.socket")"#,
        r#"daemons: Unit("cups.service")"#,
        r#"timers: Unit("apt-daily.timer")"#,
        r#"irqbalance: Unit("irqbalance.service")"#,
    ];
    assert_eq!(names, expected);
    assert!(stopped.iter().all(|s| s.wanted == "inactive" && !s.survives_reboot));
}

/// EMP table XXVII stops auditd and the packet filters; the machine needs them.
#[test]
fn what_the_paper_stopped_and_the_machine_needs_is_kept() {
    let (_dir, mut m) = laid_out(machines::hybrid_desktop);
    let units = ["auditd.service", "iptables.service", "ip6tables.service", "atd.service", "nftables.service"];
    m.units = Reading::Value(units.map(|n| (n.to_owned(), "active".to_owned())).to_vec());
    assert_eq!(listed(&factors::settings(&m, &["daemons".to_owned()]).unwrap()), "unit atd.service = inactive\n");
    let found = factors::find("daemons").unwrap().read(&m);
    assert_eq!((found.standing, found.value.as_deref()), (Standing::NotHeld, Some("atd.service")));
    for kept in ["auditd.service (it writes the logs", "iptables.service (it filters", "ip6tables.service (it filters"]
    {
        assert!(found.finding.contains(kept), "{}", found.finding);
    }
    // Alone they do not make the machine wrong.
    m.units = Reading::Value(vec![("iptables.service".to_owned(), "active".to_owned())]);
    assert_eq!(factors::find("daemons").unwrap().read(&m).standing, Standing::Held);
}

/// EMP figure 10 needs the daemon off and on; nothing else may touch it.
#[test]
fn the_ntp_daemon_is_switched_by_its_own_factor_when_it_is_named() {
    let (dir, mut m) = laid_out(machines::intel_laptop);
    let ntp = |m: &FactorMachine| listed(&factors::settings(m, &["ntp".to_owned()]).unwrap());
    // Not known to systemd, or no systemd.
    assert_eq!(ntp(&m), "");
    let state = |s: &str| Reading::Value(vec![("systemd-timesyncd.service".to_owned(), s.to_owned())]);
    m.units = state("active");
    assert_eq!(ntp(&m), "unit systemd-timesyncd.service = active\n");
    m.units = state("inactive");
    assert_eq!(ntp(&m), "");
    // Installed, though not running; what is masked cannot be started.
    let r = Root(dir.path());
    r.put("usr/lib/systemd/system/chrony.service", "[Unit]\n");
    r.put("usr/lib/systemd/system/ntp.service", "[Unit]\n");
    assert_eq!(ntp(&m), "unit chrony.service = active\n");
    std::fs::create_dir_all(dir.path().join("etc/systemd/system")).unwrap();
    std::os::unix::fs::symlink("/dev/null", dir.path().join("etc/systemd/system/chrony.service")).unwrap();
    assert_eq!(ntp(&m), "unit ntp.service = active\n");
    // Without being named it stays as it is.
    m.units = state("active");
    assert!(factors::settings(&m, &[]).unwrap().iter().all(|s| s.factor != "ntp"));
    assert!(!factors::find("ntp").unwrap().settable());
}

#[test]
fn a_hybrid_machine_is_content_with_cpus_of_one_kind() {
    let (_dir, mut m) = laid_out(machines::hybrid_desktop);
    let alike = |m: &FactorMachine| factors::find("alike-cpus").unwrap().read(m);
    assert_eq!(alike(&m).fix.as_deref(), Some("measure on CPUs of one kind, e.g. 0-11"));
    m.cpus = Some(vec![12, 13]);
    assert_eq!(alike(&m).standing, Standing::Held);
    m.cpus = Some(vec![11, 12]);
    assert_eq!(alike(&m).standing, Standing::NotHeld);
}

#[test]
fn a_virtual_machine_says_what_it_cannot_do() {
    let dir = tempfile::tempdir().unwrap();
    let r = Root(dir.path());
    r.common(2);
    r.kernel("6.1.0-21-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1 (2024-05-03)", "ro");
    r.cpuinfo_x86(2, "AuthenticAMD", "AMD EPYC", "constant_tsc hypervisor");
    r.clock_source("kvm-clock", "kvm-clock tsc acpi_pm");
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "QEMU"), ("product_name", "Standard PC")]);
    r.put("sys/fs/cgroup/user.slice/cpu.max", "50000 100000");
    r.put("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 5\nnr_throttled 12\n");
    r.processes(&["chronyd", "burner"]);
    let mut m = machine(dir.path());
    m.hardware_counters = Reading::Absent(Absent::NotSupported("the kernel has no hardware counters".into()));
    m.steal = Reading::Value(0.031);
    m.busy = Reading::Value(vec![Busy { pid: 400, comm: "burner".into(), uid: Some(1000), share: 0.987 }]);
    insta::assert_snapshot!(table(&factors::read_all(&m)));
}

#[test]
fn a_machine_that_says_nothing_is_unknown_not_good() {
    let dir = tempfile::tempdir().unwrap();
    let factors = factors::read_all(&FactorMachine::from_files(dir.path()));
    let claimed: Vec<&str> =
        factors.iter().filter(|f| f.standing != Standing::Unknown).map(|f| f.name.as_str()).collect();
    assert_eq!(claimed, Vec::<&str>::new());
    assert!(factors.iter().all(|f| !f.finding.is_empty()));
}

#[test]
fn malformed_files_are_unknown_and_never_a_panic() {
    let junk: [&[u8]; 8] = [
        b"",
        b"\n",
        b"\xff\xfe\x00",
        b"-1",
        b"99999999999999999999999",
        b"[",
        b"a b c [d] \n\n:::",
        b"0-4294967295,7-2",
    ];
    for build in [machines::intel_laptop, machines::old_server] {
        let (dir, _) = laid_out(build);
        for text in junk {
            overwrite(dir.path(), text);
            let m = machine(dir.path());
            let all = factors::read_all(&m);
            assert_eq!(all.len(), factors::table().count());
            for f in factors::table() {
                f.settings(&m);
            }
            factors::changes(&all, &all);
        }
    }
}

fn overwrite(folder: &Path, text: &[u8]) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            overwrite(&entry.path(), text);
        } else if kind.is_file() {
            std::fs::write(entry.path(), text).unwrap();
        }
    }
}

#[test]
fn the_table_is_complete() {
    let mut names = std::collections::BTreeSet::new();
    for f in factors::table() {
        assert!(names.insert(f.name), "{} twice", f.name);
        for (what, text) in [("wanted", f.wanted), ("reason", f.reason), ("source", f.source)] {
            assert!(!text.is_empty(), "{} has no {what}", f.name);
        }
        assert!(f.step <= 4);
    }
    // Every EMP step of the machine is decided by some factor.
    assert!((1..=4).all(|step| factors::table().any(|f| f.step == step)));
}

#[test]
fn changes_between_two_readings_of_a_machine() {
    let (dir, m) = laid_out(machines::intel_laptop);
    let before = factors::read_all(&m);
    assert_eq!(factors::changes(&before, &before), []);
    let r = Root(dir.path());
    r.put("sys/devices/system/cpu/cpufreq/policy3/scaling_governor", "performance");
    r.put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "15");
    r.put("proc/vmstat", "pswpin 7\npswpout 0\n");
    let mut later = machine(dir.path());
    later.epoch = Reading::Value(Nanos(1_700_000_000_250_000_000));
    let told = factors::changes(&before, &factors::read_all(&later));
    assert_eq!(
        told.iter().map(|t| t.factor.as_str()).collect::<Vec<_>>(),
        ["clock-step", "governor", "frequency", "throttling", "swap"]
    );
    assert_eq!(told[0].what, "clock-step: the clock was stepped by +0.250 s");
    assert_eq!(told[3].what, "throttling: 3 more times slowed down for heat");
    assert_eq!(told[3].count, Some(3));
}

/// The quick reading comes before every run; it does not wait.
#[test]
fn this_machine_is_read_without_waiting() {
    let factors = factors::read(Path::new("/"));
    assert_eq!(factors.len(), factors::table().count());
    let factor = |name: &str| factors.iter().find(|f| f.name == name).unwrap();
    assert_eq!(factor("busy-processes").standing, Standing::Unknown);
    assert_ne!(factor("clock-cost").standing, Standing::Unknown);
}
