//! systemd's units by D-Bus: their state, start and stop; never enable or disable.
//!
//! systemd's own busctl(1) asks, which is wherever systemd is: a D-Bus library of one's own would be a third of all that tare depends on.

use crate::setting::ValueError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tarebench_core::base::reading::Absent;
use tarebench_sys::process;

/// Looked for in these folders, whatever PATH says.
const FOLDERS: [&str; 2] = ["/usr/bin", "/bin"];
const SERVICE: &str = "org.freedesktop.systemd1";
const PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
/// How long an answer may take, in seconds.
const ANSWER: u32 = 25;
/// How long a unit may take to start or stop before it counts as on its way.
const SETTLE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bus {
    /// Behind the system's bus.
    System,
    /// Behind the bus at this address.
    At(String),
    /// Nowhere: files laid out below a folder have no systemd.
    None,
}

/// One line of `ListUnitsByNames`: name, description, load state, active state, sub state, followed, path, job.
type UnitLine = (String, String, String, String, String, String, String, u32, String, String);

/// What busctl prints of an answer: its values, of which each method here has one.
#[derive(Deserialize)]
struct BusAnswer<T> {
    data: (T,),
}

/// A systemd that answers.
#[derive(Debug)]
pub struct Systemd {
    busctl: String,
    /// Its option for the bus.
    bus: String,
}

impl Systemd {
    /// Connects, and asks whether systemd is there.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn connect(bus: &Bus, root: &Path) -> Result<Systemd, Absent> {
        let bus = match bus {
            Bus::None => return Err(Absent::NotSupported("no D-Bus for this root folder".into())),
            // sd_booted(3)
            Bus::System if !root.join("run/systemd/system").is_dir() => {
                return Err(Absent::NotSupported("this machine was not started by systemd".into()));
            }
            Bus::System => "--system".to_owned(),
            Bus::At(address) => format!("--address={address}"),
        };
        let found = FOLDERS.iter().map(|folder| format!("{folder}/busctl")).find(|file| Path::new(file).exists());
        let busctl =
            found.ok_or_else(|| Absent::NotSupported("busctl, a program of systemd, is not installed".into()))?;
        let systemd = Systemd { busctl, bus };
        match systemd.lines(&[]) {
            Ok(_) => Ok(systemd),
            Err(why) => Err(Absent::Failed(format!("ask {SERVICE}: {why}"))),
        }
    }

    /// Calls a method of systemd's manager; the error is its sentence.
    fn call<T: DeserializeOwned>(&self, method: &str, arguments: &[&str]) -> Result<T, String> {
        let mut busctl = Command::new(&self.busctl);
        busctl.args([&self.bus, "--json=short", "--allow-interactive-authorization=no"]);
        busctl.args([&format!("--timeout={ANSWER}"), "--", "call", SERVICE, PATH, MANAGER, method]).args(arguments);
        let done =
            busctl.env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(|e| format!("{}: {e}", self.busctl))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = said.trim();
            return Err(said.strip_prefix("Call failed: ").unwrap_or(said).to_owned());
        }
        let answer: BusAnswer<T> =
            serde_json::from_slice(&done.stdout).map_err(|e| format!("the answer of busctl: {e}"))?;
        Ok(answer.data.0)
    }

    fn lines(&self, names: &[&str]) -> Result<Vec<UnitLine>, String> {
        let count = names.len().to_string();
        let arguments: Vec<&str> = ["as", &count].into_iter().chain(names.iter().copied()).collect();
        self.call("ListUnitsByNames", &arguments)
    }

    /// All loaded units with their state (`active`, `inactive`).
    pub(crate) fn all(&self) -> Result<Vec<(String, String)>, Absent> {
        let lines: Result<Vec<UnitLine>, String> = self.call("ListUnits", &[]);
        let lines = lines.map_err(|why| Absent::Failed(format!("ask {SERVICE} for its units: {why}")))?;
        Ok(lines.into_iter().map(|l| (l.0, simple(&l.3).to_owned())).collect())
    }

    /// The unit's ActiveState, and whether a job of it is pending.
    fn line(&self, name: &str) -> Result<UnitLine, ValueError> {
        let failed = |cause: String| ValueError::Systemd { what: format!("ask for {name}"), cause };
        let line = self.lines(&[name]).map_err(failed)?.into_iter().next();
        // A unit that is not installed is answered for, too.
        line.filter(|l| l.2 != "not-found").ok_or_else(|| ValueError::Missing(format!("unit {name}")))
    }

    /// `active` or `inactive`; a unit on its way counts as where it goes to, a failed one as inactive.
    pub(crate) fn state(&self, name: &str) -> Result<String, ValueError> {
        Ok(simple(&self.line(name)?.3).to_owned())
    }

    /// Starts (`active`) or stops (`inactive`) a unit, and waits until it has settled.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<(), ValueError> {
        // systemd starts no socket whose service is running (src/core/socket.c, socket_start): the service has to stop for it.
        let service = name.strip_suffix(".socket").filter(|_| value == "active").map(|stem| format!("{stem}.service"));
        let Some(service) = service.filter(|service| self.state(service).is_ok_and(|state| state == "active")) else {
            return self.ask(name, value);
        };
        self.ask(&service, "inactive")?;
        let started = self.ask(name, value);
        self.ask(&service, "active").and(started)
    }

    fn ask(&self, name: &str, value: &str) -> Result<(), ValueError> {
        let (method, verb) = match value {
            "active" => ("StartUnit", "start"),
            "inactive" => ("StopUnit", "stop"),
            _ => return Err(ValueError::Form { what: format!("wanted state of {name}"), found: value.to_owned() }),
        };
        let failed = |cause: String| ValueError::Systemd { what: format!("{verb} {name}"), cause };
        let _job: String = self.call(method, &["ss", name, "replace"]).map_err(failed)?;
        let began = Instant::now();
        while began.elapsed() < SETTLE {
            let line = self.line(name)?;
            // Field 7 is the number of the unit's pending job; a timer's or socket's start has none for long.
            if line.7 == 0 && !line.3.ends_with("ing") {
                if verb == "start" && line.3 == "failed" {
                    let cause = format!("it failed; `systemctl status {name}` says why");
                    return Err(ValueError::Systemd { what: format!("{verb} {name}"), cause });
                }
                break;
            }
            process::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn simple(state: &str) -> &'static str {
    match state {
        "active" | "reloading" | "activating" | "refreshing" => "active",
        _ => "inactive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_systemd_is_a_typed_reason() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Systemd::connect(&Bus::None, dir.path()), Err(Absent::NotSupported(_))));
        assert!(matches!(Systemd::connect(&Bus::System, dir.path()), Err(Absent::NotSupported(_))));
        let nowhere = Bus::At(format!("unix:path={}", dir.path().join("bus").display()));
        assert!(matches!(Systemd::connect(&nowhere, dir.path()), Err(Absent::Failed(_))));
    }
}
