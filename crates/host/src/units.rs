//! systemd's units by D-Bus: their state, start and stop; never enable or disable.

use crate::setting::ValueError;
use std::path::Path;
use std::time::{Duration, Instant};
use tarebench_core::base::reading::Absent;
use tarebench_sys::process;
use zbus::blocking::{Connection, connection};
use zbus::zvariant::OwnedObjectPath;

const SERVICE: &str = "org.freedesktop.systemd1";
const PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(25);
/// How long a unit may take to start or stop before it counts as on its way.
const SETTLE: Duration = Duration::from_secs(30);

/// Where systemd is.
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
type UnitLine = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

/// A connection to systemd.
#[derive(Debug)]
pub struct Systemd {
    connection: Connection,
}

impl Systemd {
    /// Connects, and asks whether systemd is there.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn connect(bus: &Bus, root: &Path) -> Result<Systemd, Absent> {
        let builder = match bus {
            Bus::None => return Err(Absent::NotSupported("no D-Bus for this root folder".into())),
            // sd_booted(3)
            Bus::System if !root.join("run/systemd/system").is_dir() => {
                return Err(Absent::NotSupported("this machine was not started by systemd".into()));
            }
            Bus::System => connection::Builder::system(),
            Bus::At(address) => connection::Builder::address(address.as_str()),
        };
        let connection = builder.and_then(|b| b.method_timeout(ANSWER).build());
        let connection = connection.map_err(|e| Absent::Failed(format!("connect to D-Bus: {e}")))?;
        let systemd = Systemd { connection };
        match systemd.lines(&[]) {
            Ok(_) => Ok(systemd),
            Err(e) => Err(Absent::Failed(format!("ask {SERVICE}: {e}"))),
        }
    }

    fn lines(&self, names: &[&str]) -> zbus::Result<Vec<UnitLine>> {
        let reply = self.connection.call_method(Some(SERVICE), PATH, Some(MANAGER), "ListUnitsByNames", &(names))?;
        reply.body().deserialize()
    }

    /// All loaded units with their state (`active`, `inactive`).
    pub(crate) fn all(&self) -> Result<Vec<(String, String)>, Absent> {
        let call = self.connection.call_method(Some(SERVICE), PATH, Some(MANAGER), "ListUnits", &());
        let lines = call.and_then(|reply| reply.body().deserialize::<Vec<UnitLine>>());
        let lines = lines.map_err(|e| Absent::Failed(format!("ask {SERVICE} for its units: {}", said(&e))))?;
        Ok(lines.into_iter().map(|l| (l.0, simple(&l.3).to_owned())).collect())
    }

    /// The unit's ActiveState, and whether a job of it is pending.
    fn line(&self, name: &str) -> Result<UnitLine, ValueError> {
        let failed = |e: zbus::Error| ValueError::Systemd { what: format!("ask for {name}"), cause: said(&e) };
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
        let failed = |e: zbus::Error| ValueError::Systemd { what: format!("{verb} {name}"), cause: said(&e) };
        let call = self.connection.call_method(Some(SERVICE), PATH, Some(MANAGER), method, &(name, "replace"));
        call.map_err(failed)?;
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

/// D-Bus errors carry a name and a sentence; only the sentence is shown.
fn said(e: &zbus::Error) -> String {
    match e {
        zbus::Error::MethodError(name, Some(text), _) if text.is_empty() => name.to_string(),
        zbus::Error::MethodError(_, Some(text), _) => text.clone(),
        other => other.to_string(),
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
