//! What the tests of tune and restore share: machines laid out as files, their values, and kills between steps.

#![allow(dead_code, reason = "each test binary uses a part of it")]
use crate::common::{run, tare, text};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A machine laid out below a folder in memory, with its journal's folder beside it.
pub struct Machine {
    pub dir: TempDir,
    /// None is the real machine.
    root: Option<PathBuf>,
    settings: Option<PathBuf>,
    bus: Option<String>,
}

fn in_memory() -> TempDir {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm).expect("a folder") } else { tempfile::tempdir().expect("a folder") }
}

impl Machine {
    pub fn fake(lay_out: fn(&Path)) -> Machine {
        let dir = in_memory();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).expect("a folder");
        lay_out(&root);
        Machine { dir, root: Some(root), settings: None, bus: None }
    }

    /// The machine that this test runs on.
    pub fn real() -> Machine {
        Machine { dir: in_memory(), root: None, settings: None, bus: None }
    }

    /// Set these files to these values, instead of what the table of factors says.
    pub fn set(mut self, files: &[(&str, &str)]) -> Machine {
        let setting = |(name, wanted): &(&str, &str)| {
            serde_json::json!({"factor": "test", "target": {"kind": "file", "name": name}, "wanted": wanted,
                "survives_reboot": false})
        };
        let list: Vec<_> = files.iter().map(setting).collect();
        let path = self.dir.path().join("settings.json");
        std::fs::write(&path, serde_json::to_vec(&list).expect("JSON")).expect("write");
        self.settings = Some(path);
        self
    }

    pub fn with_bus(mut self, address: &str) -> Machine {
        self.bus = Some(address.to_owned());
        self
    }

    pub fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("/"))
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub fn journal(&self) -> PathBuf {
        self.state().join("journal")
    }

    /// `tare COMMAND` for this machine; what follows `--` is to be added to it, after the options that name the machine.
    pub fn command(&self, args: &[&str]) -> Command {
        assert!(!args.contains(&"--"), "{args:?} would be for the real machine");
        let mut c = tare(&self.dir);
        self.arm(&mut c, args);
        c
    }

    pub fn arm(&self, c: &mut Command, args: &[&str]) {
        c.args(args);
        c.env("TARE_STATE", self.state()).env_remove("TARE_TEST_STOP_AFTER").env_remove("TARE_SYSTEMD_BUS");
        if let Some(root) = &self.root {
            c.arg("--root").arg(root);
        }
        if let Some(bus) = &self.bus {
            c.arg("--bus").arg(bus);
        }
        // What restore needs is in the journal.
        if let Some(file) = self.settings.as_ref().filter(|_| args.first() != Some(&"restore")) {
            c.arg("--settings").arg(file);
        }
    }

    #[track_caller]
    pub fn tare(&self, args: &[&str], code: i32) -> Output {
        run(&mut self.command(args), code)
    }

    #[track_caller]
    pub fn json(&self, args: &[&str], code: i32) -> serde_json::Value {
        let out = self.tare(&[args, &["--json"]].concat(), code);
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    /// Runs it until its n-th step; whether it was killed there.
    pub fn killed(&self, args: &[&str], n: u64) -> bool {
        let out = self.command(args).env("TARE_TEST_STOP_AFTER", n.to_string()).output().expect("start");
        let killed = out.status.signal() == Some(9);
        assert!(killed || out.status.code() == Some(0), "{args:?} {n}: {}{}", text(&out.stdout), text(&out.stderr));
        killed
    }

    /// Every file below the root with its value; of a choice, the chosen word.
    pub fn values(&self) -> BTreeMap<PathBuf, String> {
        fn walk(folder: &Path, values: &mut BTreeMap<PathBuf, String>) {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                match entry.file_type().expect("a type") {
                    t if t.is_dir() => walk(&path, values),
                    t if t.is_file() => {
                        let text = std::fs::read_to_string(&path).expect("read");
                        let chosen = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
                        values.insert(path, chosen.unwrap_or(text.trim()).to_owned());
                    }
                    _ => {}
                }
            }
        }
        let mut values = BTreeMap::new();
        walk(self.root(), &mut values);
        // What a kill leaves between writing and renaming, on laid-out files only.
        values.retain(|p, _| p.extension().is_none_or(|e| e != "tare-new"));
        values
    }

    pub fn value(&self, file: &str) -> String {
        std::fs::read_to_string(self.root().join(file)).expect("read").trim().to_owned()
    }

    pub fn put(&self, file: &str, value: &str) {
        std::fs::write(self.root().join(file), format!("{value}\n")).expect("write");
    }
}

/// Puts files of the real machine back when a test fails.
pub struct Saved(Vec<(String, String)>);

impl Saved {
    pub fn of(files: &[(&str, &str)]) -> Saved {
        let all = ["proc/sys/kernel/soft_watchdog", "proc/sys/kernel/nmi_watchdog"];
        let names = files.iter().map(|(name, _)| *name).chain(all);
        Saved(names.filter_map(|n| Some((n.to_owned(), real_value(n)?))).collect())
    }

    #[track_caller]
    pub fn check(&self, when: &str) {
        for (name, value) in &self.0 {
            assert_eq!(real_value(name).as_ref(), Some(value), "{name} {when}");
        }
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            if real_value(name).as_ref() != Some(value) {
                let _ = std::fs::write(Path::new("/").join(name), value);
            }
        }
    }
}

/// Value of a file of the running kernel, if it has it.
pub fn real_value(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/").join(name)).ok()?;
    let chosen = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']').map(str::to_owned));
    Some(chosen.unwrap_or_else(|| text.trim().to_owned()))
}
