//! What `tare tune` never stops or freezes: what keeps the clock right, the machine reachable and its data intact.

use std::path::Path;
use tarebench_sys::procfs::read_text_below;

const TIME: &str = "it synchronises the clock";
const BUS: &str = "other services communicate through it";
const DEVICES: &str = "it manages devices";
const NETWORK: &str = "it keeps the network up";
const FILTER: &str = "it filters the network; stopping it opens the machine";
const LOGIN: &str = "it provides logins";
const DISPLAY: &str = "it runs the display";
const STORAGE: &str = "file systems or RAID depend on it";
const LOGS: &str = "it writes the logs; processes that log wait for it";
const SYSTEM: &str = "it is a part of systemd";

/// Beginnings of unit names (without the suffix) and of process names, with the reason. A `$` ends a whole name.
const NAMES: &[(&str, &str)] = &[
    ("chrony", TIME),
    ("ntp", TIME),
    ("openntpd", TIME),
    ("systemd-timesyn", TIME),
    ("ptp4l", TIME),
    ("phc2sys", TIME),
    ("timemaster", TIME),
    ("dbus", BUS),
    ("polkit", BUS),
    ("udev", DEVICES),
    ("eudev", DEVICES),
    ("mdev$", DEVICES),
    ("NetworkManager", NETWORK),
    ("networking$", NETWORK),
    ("network$", NETWORK),
    ("netplan", NETWORK),
    ("wpa_supplicant", NETWORK),
    ("iwd$", NETWORK),
    ("connman", NETWORK),
    ("dhc", NETWORK),
    ("ifup", NETWORK),
    ("wicked", NETWORK),
    ("nftables", FILTER),
    ("firewalld", FILTER),
    ("iptables", FILTER),
    ("ip6tables", FILTER),
    ("ebtables", FILTER),
    ("arptables", FILTER),
    ("netfilter-persis", FILTER),
    ("dnsmasq", NETWORK),
    ("unbound$", NETWORK),
    ("resolvconf", NETWORK),
    ("wg-quick", NETWORK),
    ("openvpn", NETWORK),
    ("tailscaled", NETWORK),
    ("ssh", LOGIN),
    ("dropbear", LOGIN),
    ("getty", LOGIN),
    ("agetty", LOGIN),
    ("serial-getty", LOGIN),
    ("console-getty", LOGIN),
    ("login$", LOGIN),
    ("sudo$", LOGIN),
    ("su$", LOGIN),
    ("sssd", LOGIN),
    ("nscd$", LOGIN),
    ("nslcd$", LOGIN),
    ("elogind", LOGIN),
    ("gdm", DISPLAY),
    ("lightdm", DISPLAY),
    ("sddm", DISPLAY),
    ("lxdm", DISPLAY),
    ("xdm$", DISPLAY),
    ("slim$", DISPLAY),
    ("ly$", DISPLAY),
    ("greetd", DISPLAY),
    ("display-manager", DISPLAY),
    ("X$", DISPLAY),
    ("Xorg", DISPLAY),
    ("Xwayland", DISPLAY),
    ("gnome-shell", DISPLAY),
    ("kwin", DISPLAY),
    ("plasmashell", DISPLAY),
    ("mutter", DISPLAY),
    ("weston", DISPLAY),
    ("sway", DISPLAY),
    ("plymouth", DISPLAY),
    ("lvm", STORAGE),
    ("dmeventd", STORAGE),
    ("dm-event", STORAGE),
    ("blk-availability", STORAGE),
    ("mdadm", STORAGE),
    ("mdmon", STORAGE),
    ("mdcheck", STORAGE),
    ("multipathd", STORAGE),
    ("iscsi", STORAGE),
    ("open-iscsi", STORAGE),
    ("nvmf", STORAGE),
    ("nfs", STORAGE),
    ("rpc", STORAGE),
    ("nfsdcld", STORAGE),
    ("zfs", STORAGE),
    ("zed$", STORAGE),
    ("ceph", STORAGE),
    ("gluster", STORAGE),
    ("autofs", STORAGE),
    ("automount", STORAGE),
    ("drbd", STORAGE),
    ("ntfs-3g", STORAGE),
    ("mount.", STORAGE),
    ("fuse", STORAGE),
    ("virtiofsd", STORAGE),
    ("udisks", STORAGE),
    ("rbd", STORAGE),
    ("nbd", STORAGE),
    ("qemu-nbd", STORAGE),
    ("qemu-storage-d", STORAGE),
    ("ublk", STORAGE),
    ("tcmu", STORAGE),
    ("auditd", LOGS),
    ("audisp", LOGS),
    ("audit-", LOGS),
    ("rsyslog", LOGS),
    ("syslog", LOGS),
    ("busybox-syslogd", LOGS),
    ("inetutils-syslo", LOGS),
    ("metalog$", LOGS),
    ("klogd$", LOGS),
    ("cryptsetup", STORAGE),
    ("veritysetup", STORAGE),
];

fn by_name(name: &str) -> Option<&'static str> {
    let matches = |pattern: &str| match pattern.strip_suffix('$') {
        Some(whole) => name == whole,
        None => name.starts_with(pattern),
    };
    NAMES.iter().find(|(pattern, _)| matches(pattern)).map(|(_, why)| *why)
}

/// Why a unit is never stopped; `own` are the units that tare itself runs in.
pub fn unit(name: &str, own: &[String]) -> Option<&'static str> {
    if own.iter().any(|o| o == name) {
        return Some("tare runs in it");
    }
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
    match kind {
        "mount" | "automount" | "swap" | "device" => return Some(STORAGE),
        "target" | "slice" => return Some("it controls many units"),
        "scope" if stem == "init" || stem.starts_with("session-") => return Some("it is a user's session"),
        "service" | "socket" | "timer" | "path" | "scope" => {}
        _ => return Some("it is not a service, socket, timer, path or scope"),
    }
    if stem.starts_with("user@") || stem.starts_with("user-runtime-dir@") {
        return Some("it is a user's session");
    }
    // Of systemd's own, only the timers that start work later may be paused.
    let paused = kind == "timer" && stem.starts_with("systemd-");
    by_name(stem).or((stem.starts_with("systemd-") && !paused).then_some(SYSTEM))
}

/// Why a process of this name is never frozen.
pub fn process(name: &str) -> Option<&'static str> {
    let own = name.starts_with("systemd") || name.starts_with("(sd-") || name.starts_with("(systemd");
    by_name(name).or(own.then_some(SYSTEM))
}

/// Units that this process runs in, by the names of its cgroups.
pub fn own_units(root: &Path) -> Vec<String> {
    let cgroups = read_text_below(root, "proc/self/cgroup").unwrap_or_default();
    let paths = cgroups.lines().filter_map(|l| l.splitn(3, ':').nth(2));
    let names = paths.flat_map(|p| p.split('/')).filter(|n| n.contains('.'));
    let mut own: Vec<String> = names.map(str::to_owned).collect();
    own.sort();
    own.dedup();
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_the_machine_alive_is_spared() {
        for name in [
            "chronyd.service",
            "systemd-timesyncd.service",
            "ntp.service",
            "ntpsec.service",
            "dbus.socket",
            "dbus-broker.service",
            "systemd-udevd.service",
            "systemd-networkd.service",
            "NetworkManager.service",
            "ssh.service",
            "sshd.service",
            "sshd@3-1.2.3.4.service",
            "gdm3.service",
            "display-manager.service",
            "user@1000.service",
            "session-4.scope",
            "init.scope",
            "user-1000.slice",
            "multi-user.target",
            "home.mount",
            "mdmonitor.service",
            "mdadm.service",
            "lvm2-monitor.service",
            "zfs-zed.service",
            "nfs-server.service",
            "systemd-journald.service",
            "auditd.service",
            "iptables.service",
            "ip6tables.service",
            "netfilter-persistent.service",
            "nonsense",
        ] {
            assert!(unit(name, &[]).is_some(), "{name}");
        }
    }

    #[test]
    fn daemons_that_only_disturb_may_be_stopped() {
        for name in [
            "cron.service",
            "cups.service",
            "cups.socket",
            "apt-daily.timer",
            "systemd-tmpfiles-clean.timer",
            "packagekit.service",
            "fwupd.service",
            "ModemManager.service",
            "snapd.socket",
            "irqbalance.service",
            "man-db.timer",
        ] {
            assert_eq!(unit(name, &[]), None, "{name}");
        }
        assert!(unit("cron.service", &["cron.service".to_owned()]).is_some());
        assert!(process("sshd").is_some() && process("systemd-journal").is_some() && process("firefox").is_none());
        assert!(process("sudo").is_some() && process("su").is_some() && process("sublime_text").is_none());
    }
}
