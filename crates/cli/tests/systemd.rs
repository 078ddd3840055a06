//! tune and restore with systemd: a service of its name on a private bus.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "../../host/tests/common/machines.rs"]
mod machines;
#[path = "common/tuning.rs"]
mod tuning;

use common::{skip, text, until};
use machines::{amd_desktop, arm_server, hybrid_desktop, intel_laptop, old_server};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tuning::Machine;
use zbus::blocking::{Connection, connection};
use zbus::fdo;
use zbus::zvariant::{ObjectPath, OwnedObjectPath};

type Line = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

/// Units with their ActiveState, and the requests.
#[derive(Default)]
struct Units {
    states: BTreeMap<String, String>,
    calls: Vec<String>,
    /// Units that polkit would not let go.
    denied: Vec<String>,
    /// Units whose start ends in another state.
    starts_as: BTreeMap<String, String>,
}

struct Manager(Arc<Mutex<Units>>);

fn none() -> OwnedObjectPath {
    ObjectPath::from_static_str_unchecked("/").into()
}

fn line(name: &str, state: Option<&String>) -> Line {
    let load = if state.is_some() { "loaded" } else { "not-found" };
    let active = state.cloned().unwrap_or_else(|| "inactive".into());
    let words = [name, "", load, &active, "", ""].map(str::to_owned);
    let [a, b, c, d, e, f] = words;
    (a, b, c, d, e, f, none(), 0, String::new(), none())
}

impl Manager {
    fn set(&self, call: &str, name: &str, state: &str) -> fdo::Result<OwnedObjectPath> {
        let mut units = self.0.lock().expect("no panic");
        units.calls.push(format!("{call} {name}"));
        if units.denied.iter().any(|d| d == name) {
            return Err(fdo::Error::AccessDenied("Permission denied".into()));
        }
        let service = name.strip_suffix(".socket").map(|stem| units.states.get(&format!("{stem}.service")));
        if call == "start" && service.flatten().is_some_and(|state| state == "active") {
            return Err(fdo::Error::Failed(format!("Socket service of {name} already active, refusing.")));
        }
        let becomes = (call == "start").then(|| units.starts_as.get(name).cloned()).flatten();
        match units.states.get_mut(name) {
            None => Err(fdo::Error::Failed(format!("Unit {name} not found."))),
            Some(s) => {
                *s = becomes.unwrap_or_else(|| state.to_owned());
                Ok(none())
            }
        }
    }
}

#[zbus::interface(name = "org.freedesktop.systemd1.Manager")]
impl Manager {
    fn list_units(&self) -> Vec<Line> {
        self.0.lock().expect("no panic").states.iter().map(|(n, s)| line(n, Some(s))).collect()
    }

    fn list_units_by_names(&self, names: Vec<String>) -> Vec<Line> {
        let units = self.0.lock().expect("no panic");
        names.iter().map(|n| line(n, units.states.get(n))).collect()
    }

    fn get_unit(&self, name: &str) -> fdo::Result<OwnedObjectPath> {
        let known = self.0.lock().expect("no panic").states.contains_key(name);
        if known { Ok(none()) } else { Err(fdo::Error::Failed(format!("Unit {name} not loaded."))) }
    }

    fn stop_unit(&self, name: &str, _mode: &str) -> fdo::Result<OwnedObjectPath> {
        self.set("stop", name, "inactive")
    }

    fn start_unit(&self, name: &str, _mode: &str) -> fdo::Result<OwnedObjectPath> {
        self.set("start", name, "active")
    }
}

const CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=PATH</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"#;

/// A private bus with the service on it.
struct Bus {
    daemon: Child,
    _dir: TempDir,
    _connection: Connection,
    address: String,
    units: Arc<Mutex<Units>>,
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Daemons and timers that disturb, and units that must never be touched.
const DISTURBING: &[&str] = &["cron.service", "cups.socket", "cups.service", "apt-daily.timer", "fwupd.service"];
const VITAL: &[&str] =
    &["chronyd.service", "dbus.service", "ssh.service", "systemd-udevd.service", "gdm.service", "session-2.scope"];

impl Bus {
    fn start() -> Option<Bus> {
        let dir = tempfile::tempdir().expect("a folder");
        let socket = dir.path().join("bus");
        let config = dir.path().join("config");
        std::fs::write(&config, CONFIG.replace("PATH", &socket.to_string_lossy())).expect("write");
        let mut c = Command::new("dbus-daemon");
        c.arg("--nofork").arg("--config-file").arg(&config).stdin(Stdio::null()).stderr(Stdio::null());
        let daemon = c.spawn().ok()?;
        until("the bus listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        let address = format!("unix:path={}", socket.display());
        let units = Arc::new(Mutex::new(Units::default()));
        for (names, state) in
            [(DISTURBING, "active"), (VITAL, "active"), (&["man-db.timer", "bluetooth.service"], "inactive")]
        {
            let mut units = units.lock().expect("no panic");
            units.states.extend(names.iter().map(|n| ((*n).to_owned(), state.to_owned())));
        }
        let service = connection::Builder::address(address.as_str())
            .and_then(|b| b.name("org.freedesktop.systemd1"))
            .and_then(|b| b.serve_at("/org/freedesktop/systemd1", Manager(units.clone())))
            .and_then(|b| b.build());
        let connection = service.expect("the service");
        Some(Bus { daemon, _dir: dir, _connection: connection, address, units })
    }

    fn states(&self) -> BTreeMap<String, String> {
        self.units.lock().expect("no panic").states.clone()
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.units.lock().expect("no panic").calls)
    }

    fn set(&self, name: &str, state: &str) {
        self.units.lock().expect("no panic").states.insert(name.to_owned(), state.to_owned());
    }
}

const MACHINES: [fn(&Path); 5] = [intel_laptop, amd_desktop, old_server, arm_server, hybrid_desktop];

#[test]
fn units_are_stopped_and_started_again_on_each_machine() {
    for lay_out in MACHINES {
        let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
        let m = Machine::fake(lay_out).with_bus(&bus.address);
        let (files, units) = (m.values(), bus.states());
        m.tare(&["tune", "--dry-run"], 0);
        assert_eq!(bus.calls(), [""; 0], "a dry run only looks");
        m.tare(&["tune"], 0);
        let stopped: Vec<&str> = DISTURBING.to_vec();
        for (name, state) in bus.states() {
            let expected = if stopped.contains(&name.as_str()) { "inactive" } else { units[&name].as_str() };
            assert_eq!(state, expected, "{name}");
        }
        let calls = bus.calls();
        assert_eq!(calls.len(), DISTURBING.len(), "{calls:?}");
        let at = |name: &str| calls.iter().position(|c| *c == format!("stop {name}")).expect("stopped");
        assert!(at("cups.socket") < at("cups.service"), "or the socket would start it again: {calls:?}");
        m.tare(&["restore"], 0);
        assert_eq!((m.values(), bus.states()), (files, units));
        let mut back: Vec<String> = calls.iter().rev().map(|c| c.replace("stop", "start")).collect();
        back.sort_by_key(|c| c.ends_with(".service"));
        assert_eq!(bus.calls(), back, "in reverse order, and sockets before their services");
    }
}

#[test]
fn doctor_names_the_units_of_each_machine() {
    for lay_out in MACHINES {
        let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
        let m = Machine::fake(lay_out).with_bus(&bus.address);
        let look = || {
            let out = m.command(&["doctor", "--json", "--only", "daemons,timers"]).output().expect("tare");
            text(&out.stdout)
        };
        let found = look();
        for name in ["cron", "cups", "fwupd", "apt-daily"] {
            assert!(found.contains(name), "{name} in {found}");
        }
        for name in VITAL {
            assert!(!found.contains(name), "{name} in {found}");
        }
        m.tare(&["tune", "--only", "daemons,timers"], 0);
        assert!(!look().contains("apt-daily.timer"), "a stopped timer is as wanted: {}", look());
        m.tare(&["restore"], 0);
        assert_eq!(look(), found);
        assert!(bus.calls().iter().all(|c| c.starts_with("stop ") || c.starts_with("start ")));
    }
}

#[test]
fn killed_at_every_step() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    let (files, units) = (m.values(), bus.states());
    for n in 1.. {
        let killed = m.killed(&["tune"], n);
        m.tare(&["restore"], 0);
        assert_eq!((&m.values(), &bus.states()), (&files, &units), "tune killed at step {n}");
        if !killed {
            break;
        }
    }
    for n in 1.. {
        m.tare(&["tune"], 0);
        let killed = m.killed(&["restore"], n);
        m.tare(&["restore"], 0);
        assert_eq!((&m.values(), &bus.states()), (&files, &units), "restore killed at step {n}");
        if !killed {
            break;
        }
    }
}

#[test]
fn refused_changed_and_restarted() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    bus.units.lock().expect("no panic").denied.push("cron.service".to_owned());
    let out = m.tare(&["tune", "--only", "daemons"], 1);
    assert!(text(&out.stdout).contains("refused: stop cron.service: Access denied"), "{}", text(&out.stdout));
    assert_eq!(bus.states()["cups.service"], "inactive");
    // Somebody has started one again: that is as before.
    bus.set("fwupd.service", "active");
    bus.calls();
    m.tare(&["restore"], 0);
    assert_eq!(bus.calls(), ["start cups.socket", "start cups.service"]);
    // After a restart, units that do not run are started; one that the restart has started is not touched.
    m.tare(&["tune", "--only", "timers"], 0);
    m.put("proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000000");
    m.tare(&["restore"], 0);
    assert_eq!(bus.states()["apt-daily.timer"], "active");
    // A unit that has failed is not running: nothing to stop, nothing to start.
    bus.set("cron.service", "failed");
    bus.calls();
    m.tare(&["tune", "--only", "daemons"], 0);
    m.tare(&["restore"], 0);
    assert!(bus.calls().iter().all(|c| !c.contains("cron")));
}

#[test]
fn units_that_do_not_start_again() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    let starts_as = |name: &str, state: &str| {
        bus.units.lock().expect("no panic").starts_as.insert(name.to_owned(), state.to_owned());
    };
    // It had failed meanwhile for a reason of its own. It is told once, and stays in the journal until that is dropped.
    starts_as("fwupd.service", "failed");
    // One that ends by itself when it has nothing to do.
    starts_as("cups.service", "inactive");
    m.tare(&["tune", "--only", "daemons"], 0);
    bus.calls();
    let said = text(&m.tare(&["restore"], 1).stdout);
    assert!(said.contains("start fwupd.service: it failed; `systemctl status fwupd.service` says why"), "{said}");
    assert!(said.contains("started and is inactive again; `systemctl status cups.service` says why"), "{said}");
    assert!(said.contains("tare restore --forget"), "{said}");
    let starts = |calls: &[String], name: &str| calls.iter().filter(|c| **c == format!("start {name}")).count();
    let calls = bus.calls();
    assert_eq!((starts(&calls, "fwupd.service"), starts(&calls, "cups.service")), (1, 1), "{calls:?}");
    assert_eq!(bus.states()["cron.service"], "active");
    let said = text(&m.tare(&["restore", "--forget"], 1).stdout);
    assert!(said.contains("fwupd.service") && !said.contains("cups.service"), "{said}");
    assert!(!m.journal().exists());
    assert!(text(&m.tare(&["restore"], 0).stdout).contains("nothing to restore"));
}

#[test]
fn vital_units_are_refused_even_if_asked_for() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    let list: Vec<_> = VITAL
        .iter()
        .map(|n| {
            serde_json::json!({"factor": "test", "target": {"kind": "unit", "name": n}, "wanted": "inactive",
            "survives_reboot": false})
        })
        .collect();
    let file = m.dir.path().join("vital.json");
    std::fs::write(&file, serde_json::to_vec(&list).expect("JSON")).expect("write");
    let out = m.tare(&["tune", "--settings", &file.to_string_lossy()], 1);
    assert_eq!(text(&out.stdout).matches("is not changed").count(), VITAL.len(), "{}", text(&out.stdout));
    assert_eq!(bus.calls(), [""; 0]);
    assert!(!m.journal().exists());
}

/// As the study of the NTP daemon's effect does (EMP figure 10): off, and back; and as `--only ntp` does: on, and back.
#[test]
fn the_ntp_daemon_is_switched_by_its_own_factor_and_restored() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    let off = serde_json::json!([{"factor": "ntp", "target": {"kind": "unit", "name": "chronyd.service"},
        "wanted": "inactive", "survives_reboot": false}]);
    let file = m.dir.path().join("ntp.json");
    std::fs::write(&file, off.to_string()).expect("write");
    m.tare(&["tune", "--settings", &file.to_string_lossy()], 0);
    assert_eq!(bus.states()["chronyd.service"], "inactive");
    assert!(m.journal().exists());
    m.tare(&["restore"], 0);
    assert_eq!(bus.calls(), ["stop chronyd.service", "start chronyd.service"]);
    // Where it is installed and does not run, it is started if it is named.
    bus.set("chronyd.service", "inactive");
    std::fs::create_dir_all(m.root().join("usr/lib/systemd/system")).expect("a folder");
    m.put("usr/lib/systemd/system/chronyd.service", "[Unit]");
    m.tare(&["tune", "--only", "ntp"], 0);
    assert_eq!(bus.states()["chronyd.service"], "active");
    m.tare(&["restore"], 0);
    assert_eq!(bus.states()["chronyd.service"], "inactive");
    assert_eq!(bus.calls(), ["start chronyd.service", "stop chronyd.service"]);
    m.tare(&["tune", "--only", "timers"], 0);
    m.tare(&["restore"], 0);
    assert!(bus.calls().iter().all(|c| !c.contains("chronyd")));
}

#[test]
fn nothing_of_the_bus_is_left_while_a_run_measures() {
    let Some(bus) = Bus::start() else { return skip("needs dbus-daemon") };
    let m = Machine::fake(arm_server).with_bus(&bus.address);
    let mut c = m.command(&["run", "--tune", "-r1", "-w0", "--style", "none"]);
    let mut child = c.args(["--", "sleep", "2"]).stderr(Stdio::null()).spawn().expect("tare");
    until("its program runs", || {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        let name = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        children.split_whitespace().any(|pid| name(pid).trim() == "sleep")
    });
    assert_eq!(bus.states()["cron.service"], "inactive");
    let entries_of = |what: &str| {
        let entries = std::fs::read_dir(format!("/proc/{}/{what}", child.id())).expect("alive").flatten();
        entries.map(|e| e.path()).collect::<Vec<_>>()
    };
    let sockets: Vec<String> = entries_of("fd")
        .iter()
        .filter_map(|fd| {
            Some(std::fs::read_link(fd).ok()?.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let local = std::fs::read_to_string("/proc/net/unix").expect("sockets");
    let open = |inode: &&String| local.lines().any(|l| l.split_whitespace().nth(6) == Some(inode.as_str()));
    assert_eq!(sockets.iter().find(open), None, "no connection is open");
    let names: Vec<String> =
        entries_of("task").iter().filter_map(|t| std::fs::read_to_string(t.join("comm")).ok()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(child.wait().expect("tare").success());
    assert_eq!(bus.states()["cron.service"], "active");
}
