//! Services of machines without systemd, by their scripts in /etc/init.d: their state, start and stop; never enable or disable.
//!
//! What the scripts' arguments and exit codes mean is in the Linux Standard Base, "Init Script Actions".

use crate::setting::ValueError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tarebench_core::base::reading::Absent;
use tarebench_sys::process;

/// Where the scripts are, below the root.
pub(crate) const FOLDER: &str = "etc/init.d";
/// How long a script may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a service may take until its script answers for its new state: a daemon writes its process id after the script has ended.
const SETTLE: Duration = Duration::from_secs(5);
const PERIOD: Duration = Duration::from_millis(20);
/// Whoever may write to a script would have root run it.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// A script that may be run: there, root's, and written by nobody else.
fn script(root: &Path, name: &str) -> Result<PathBuf, ValueError> {
    let path = root.join(FOLDER).join(name);
    let shown = path.display().to_string();
    let protected = |why: &str| ValueError::Protected { what: shown.clone(), why: why.to_owned() };
    let found = match std::fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(ValueError::Missing(shown)),
        Err(cause) => return Err(ValueError::Refused { what: format!("look at {shown}"), cause }),
    };
    if !found.is_file() {
        return Err(protected("it is not a regular file"));
    }
    if found.uid() != 0 || found.mode() & OTHERS_MAY_WRITE != 0 {
        return Err(protected("others than root may write to it"));
    }
    Ok(path)
}

/// Runs a script to its end, with an environment of its own, as its daemon inherits it.
fn run(path: &Path, action: &str) -> Result<ExitStatus, ValueError> {
    let what = format!("{} {action}", path.display());
    let refused = |cause| ValueError::Refused { what: what.clone(), cause };
    let mut command = Command::new(path);
    command
        .arg(action)
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(refused)?;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(refused)? {
            return Ok(status);
        }
        if began.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(ValueError::Script { what, cause: format!("it did not end within {} s", LIMIT.as_secs()) });
        }
        process::sleep(PERIOD);
    }
}

/// `active` or `inactive`.
pub(crate) fn state(root: &Path, name: &str) -> Result<String, ValueError> {
    let path = script(root, name)?;
    let status = run(&path, "status")?;
    match status.code() {
        Some(0) => Ok("active".to_owned()),
        // It is dead and left a file of its process id, or a lock; or it is not running.
        Some(1..=3) => Ok("inactive".to_owned()),
        _ => Err(ValueError::Script { what: format!("{} status", path.display()), cause: status.to_string() }),
    }
}

/// Starts (`active`) or stops (`inactive`) a service, and waits until its script says so.
pub(crate) fn set(root: &Path, name: &str, value: &str) -> Result<(), ValueError> {
    let action = match value {
        "active" => "start",
        "inactive" => "stop",
        _ => return Err(ValueError::Form { what: format!("wanted state of {name}"), found: value.to_owned() }),
    };
    let path = script(root, name)?;
    let status = run(&path, action)?;
    if !status.success() {
        return Err(ValueError::Script { what: format!("{} {action}", path.display()), cause: status.to_string() });
    }
    let began = Instant::now();
    while state(root, name)? != value && began.elapsed() < SETTLE {
        process::sleep(PERIOD);
    }
    Ok(())
}

/// Whether services are switched by scripts on this machine: the real one, not booted by systemd, whose own answer is another one.
pub(crate) fn are_used(root: &Path, is_real: bool) -> Result<(), ValueError> {
    let why = if !is_real {
        "no service runs below this root folder"
    } else if root.join("run/systemd/system").is_dir() {
        "systemd switches services here"
    } else {
        return Ok(());
    };
    Err(ValueError::NoScripts(Absent::NotSupported(why.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const SERVICE: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
case $1 in
    start) touch runs ;;
    stop) rm -f runs ;;
    status) [ -e runs ] || exit 3 ;;
    *) exit 2 ;;
esac
"#;

    fn laid_out(text: &str, mode: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("ntpd");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn a_service_is_started_and_stopped() {
        let dir = laid_out(SERVICE, 0o755);
        if dir.path().metadata().unwrap().uid() != 0 {
            // Scripts of other users are refused: the next test.
            return;
        }
        assert_eq!(state(dir.path(), "ntpd").unwrap(), "inactive");
        set(dir.path(), "ntpd", "active").unwrap();
        assert_eq!(state(dir.path(), "ntpd").unwrap(), "active");
        set(dir.path(), "ntpd", "inactive").unwrap();
        assert_eq!(state(dir.path(), "ntpd").unwrap(), "inactive");
        assert!(matches!(set(dir.path(), "ntpd", "on"), Err(ValueError::Form { .. })));
    }

    #[test]
    fn what_others_may_write_is_not_run() {
        let dir = laid_out(SERVICE, 0o775);
        assert!(matches!(state(dir.path(), "ntpd"), Err(ValueError::Protected { .. })));
        assert!(matches!(set(dir.path(), "ntpd", "active"), Err(ValueError::Protected { .. })));
        assert!(!dir.path().join(FOLDER).join("runs").exists());
        std::os::unix::fs::symlink("ntpd", dir.path().join(FOLDER).join("ntp")).unwrap();
        assert!(matches!(state(dir.path(), "ntp"), Err(ValueError::Protected { .. })));
        assert!(matches!(state(dir.path(), "chrony"), Err(ValueError::Missing(_))));
    }

    #[test]
    fn what_a_script_says_of_a_failure_is_told() {
        let dir = laid_out("#!/bin/sh\nexit 4\n", 0o755);
        if dir.path().metadata().unwrap().uid() == 0 {
            let said = set(dir.path(), "ntpd", "active").unwrap_err().to_string();
            assert!(said.ends_with("ntpd start: exit status: 4"), "{said}");
            assert!(matches!(state(dir.path(), "ntpd"), Err(ValueError::Script { .. })));
        }
    }

    #[test]
    fn only_without_systemd_and_on_the_real_machine() {
        let dir = tempfile::tempdir().unwrap();
        assert!(are_used(dir.path(), true).is_ok());
        assert!(are_used(dir.path(), false).unwrap_err().is_missing());
        std::fs::create_dir_all(dir.path().join("run/systemd/system")).unwrap();
        assert!(are_used(dir.path(), true).unwrap_err().is_missing());
    }
}
