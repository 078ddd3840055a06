//! EMPv1: non-critical daemons.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use crate::protect;
use crate::setting::{Setting, Target};
use tarebench_core::base::reading::{Absent, Reading};

/// Non-critical daemons by process name (15 bytes): EMP table XXVII, then those of today's distributions that do the
/// same kind of work. (The table's iptables and ip6tables are no processes; `postfix` shows as `master`.) Some of them are never
/// stopped ([`protect`]): auditd is reported, and left to the user.
pub const NON_CRITICAL: &[&str] = &[
    // EMP table XXVII.
    "abrtd",
    "abrttd",
    "acpid",
    "atd",
    "auditd",
    "certmonger",
    "crond",
    "cupsd",
    "hald",
    "master",
    "vmware-usbarbit",
    "xinetd",
    // Today's.
    "cron",
    "anacron",
    "packagekitd",
    "unattended-upgr",
    "apt.systemd.dai",
    "apt-get",
    "dnf",
    "dnf5",
    "dnf-automatic",
    "yum",
    "zypper",
    "snapd",
    "tracker-miner-f",
    "tracker-extract",
    "localsearch-3",
    "localsearch-ext",
    "baloo_file",
    "baloo_file_extr",
    "fwupd",
    "mandb",
    "logrotate",
    "updatedb",
    "updatedb.plocat",
    "updatedb.mlocat",
    "plocate",
    "cups-browsed",
    "avahi-daemon",
    "ModemManager",
    "bluetoothd",
    "thermald",
    "tuned",
    "tuned-ppd",
    "power-profiles-",
    "rhn_check",
    "rhnsd",
    "rhsmcertd",
    "insights-client",
    "whoopsie",
    "apport",
    "geoclue",
    "colord",
    "smartd",
    "motd-news",
];

/// The same by systemd's units. `irqbalance.service` is a separate factor; what the machine needs (NTP,
/// dbus, udev, network, sshd, display manager, filesystems, RAID) is never among them.
pub const NON_CRITICAL_UNITS: &[&str] = &[
    // EMP table XXVII.
    "abrtd.service",
    "acpid.service",
    "acpid.socket",
    "atd.service",
    "certmonger.service",
    "crond.service",
    "cups.service",
    "cups.socket",
    "cups.path",
    "postfix.service",
    "vmware-USBArbitrator.service",
    "xinetd.service",
    // Today's.
    "cron.service",
    "anacron.service",
    "cronie.service",
    "packagekit.service",
    "unattended-upgrades.service",
    "snapd.service",
    "snapd.socket",
    "fwupd.service",
    "cups-browsed.service",
    "avahi-daemon.service",
    "avahi-daemon.socket",
    "ModemManager.service",
    "bluetooth.service",
    "thermald.service",
    "tuned.service",
    "tuned-ppd.service",
    "power-profiles-daemon.service",
    "rhnsd.service",
    "rhsmcertd.service",
    "whoopsie.service",
    "apport.service",
    "geoclue.service",
    "colord.service",
    "smartd.service",
    "smartmontools.service",
];

/// Units of EMP table XXVII that the machine needs: the paper stopped them, tare names them and lets them run. Processes that write
/// to the audit log wait for auditd; without its packet filter a machine is open, and the filter takes time only of packets.
const KEPT_UNITS: &[&str] = &["auditd.service", "ip6tables.service", "iptables.service"];

/// Whether a timer may be paused: all but those of filesystems and RAID.
fn is_pausable_timer(unit: &str) -> bool {
    unit.ends_with(".timer") && !["mdcheck", "mdmonitor", "zfs", "btrfs"].iter().any(|k| unit.starts_with(k))
}

/// Whether a factor stops this unit: one of the above, a timer that may be paused, or irqbalance.
pub(crate) fn is_stopped_by_a_factor(unit: &str) -> bool {
    NON_CRITICAL_UNITS.contains(&unit) || is_pausable_timer(unit) || unit == "irqbalance.service"
}

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        name: "daemons",
        group: FactorGroup::Daemons,
        step: 1,
        optional: false,
        wanted: "none of the known non-critical daemons runs",
        reason: "Each runs at unpredictable times and uses CPU time and caches that the program needs; the paper's \
                 protocol first stops those that are not needed.",
        source: "EMP 4.1, table XXVII",
        privilege: Privilege::Root,
        reader: daemons,
        setter: Some(stop_units),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "timers",
        group: FactorGroup::Daemons,
        step: 0,
        optional: false,
        wanted: "no systemd timer is due",
        reason: "A timer can start its job in the middle of a series: updates of package lists, logs, and indexes of \
                 files and manual pages.",
        source: "EMP 4.1 (crond, atd), systemd.timer(5)",
        privilege: Privilege::Root,
        reader: timers,
        setter: Some(stop_timers),
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "containers",
        group: FactorGroup::Daemons,
        step: 0,
        optional: true,
        wanted: "no other container runs",
        reason: "Besides its own work, a container's health check starts a process at a fixed interval.",
        source: "EMP 4.1; Dockerfile reference (HEALTHCHECK)",
        privilege: Privilege::Root,
        reader: containers,
        setter: None,
        compare: Compare::Exact,
    },
];

fn daemons(m: &FactorMachine) -> FoundFactor {
    // By systemd where it runs, and by processes in any case: not all are units.
    let mut found = m.running_of(NON_CRITICAL)?;
    found.extend(m.active_units(NON_CRITICAL_UNITS).unwrap_or_default());
    let kept = kept(m, &found);
    if found.is_empty() {
        return Ok(FactorValue::held(format!("none of the known non-critical ones runs{kept}")).value(""));
    }
    let list = found.join(", ");
    let fix = if m.has("run/systemd/system") {
        "systemctl stop UNIT while measuring, then systemctl start UNIT"
    } else {
        "stop them while measuring (service NAME stop), then start them again"
    };
    Ok(FactorValue::wrong(format!("running: {list}{kept}")).value(&list).fix(fix))
}

/// What of table XXVII runs and is never stopped, with the reasons.
fn kept(m: &FactorMachine, found: &[String]) -> String {
    let units = m.active_units(KEPT_UNITS).unwrap_or_default();
    let process = |name: &String| Some(format!("{name} ({})", protect::process(name)?));
    let unit = |name: &String| Some(format!("{name} ({})", protect::unit(name, &[])?));
    let reasons: Vec<String> = found.iter().filter_map(process).chain(units.iter().filter_map(unit)).collect();
    if reasons.is_empty() { String::new() } else { format!("; never stopped by tare: {}", reasons.join(", ")) }
}

/// Each running container has one of these as its keeper.
const KEEPERS: &[&str] = &["containerd-shim", "conmon"];

fn containers(m: &FactorMachine) -> FoundFactor {
    let n = m.processes()?.iter().filter(|p| !p.kernel_thread && KEEPERS.contains(&p.comm.as_str())).count();
    let finding = match n {
        0 => FactorValue::held("none is seen"),
        n => FactorValue::wrong(format!("{n} running"))
            .fix("docker pause NAME while measuring, then docker unpause NAME"),
    };
    Ok(finding.value(n))
}

fn unit(factor: &str, name: &str) -> Setting {
    Setting {
        factor: factor.to_owned(),
        target: Target::Unit(name.to_owned()),
        wanted: "inactive".to_owned(),
        survives_reboot: false,
    }
}

fn stop_units(m: &FactorMachine) -> Vec<Setting> {
    let mut units = m.active_units(NON_CRITICAL_UNITS).unwrap_or_default();
    // What the machine needs wins over the paper's list.
    units.retain(|u| protect::unit(u, &[]).is_none());
    // A socket or a path would start its service again: it is stopped first.
    units.sort_by_key(|u| u.ends_with(".service"));
    units.iter().map(|u| unit("daemons", u)).collect()
}

fn active_timers(m: &FactorMachine) -> Result<Vec<String>, Absent> {
    let units = m.units.as_result().map_err(Clone::clone)?;
    let timers = units.iter().filter(|(name, state)| state == "active" && is_pausable_timer(name));
    Ok(timers.map(|(name, _)| name.clone()).collect())
}

fn timers(m: &FactorMachine) -> FoundFactor {
    if m.has("run") && !m.has("run/systemd/system") && matches!(m.units, Reading::Absent(_)) {
        return Ok(FactorValue::held("systemd does not run here, so it has no timers").value(""));
    }
    let timers = active_timers(m)?;
    let list = timers.join(", ");
    let finding = match timers.len() {
        0 => FactorValue::held("no timer is active"),
        n => {
            FactorValue::wrong(format!("{n} active: {list}")).fix("systemctl stop TIMER while measuring, then start it")
        }
    };
    Ok(finding.value(list))
}

fn stop_timers(m: &FactorMachine) -> Vec<Setting> {
    active_timers(m).unwrap_or_default().iter().map(|t| unit("timers", t)).collect()
}
