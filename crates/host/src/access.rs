//! Reading and writing what can be set: files below a root folder, systemd's units, and services by their scripts.

use crate::factors::{is_ntp_script, is_ntp_unit, is_stopped_by_a_factor};
use crate::init_script;
use crate::protect;
use crate::setting::Target;
use crate::setting::ValueError;
use crate::targets;
use crate::units::{Bus, Systemd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat, openat2, renameat, unlinkat};
use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_sys::process;

/// Longest content that may be a value.
const MOST: u64 = 64 * 1024;

/// Counts what is durable, for tests that end tare between any two such steps.
#[derive(Debug, Default)]
pub struct Steps {
    stop_after: Option<u64>,
    count: AtomicU64,
}

impl Steps {
    /// A step has been taken. The test hook ends this process here, as SIGKILL or a power cut would.
    pub(crate) fn done(&self) {
        let n = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if self.stop_after == Some(n) {
            let _ = process::kill(process::own_pid(), 9);
        }
    }
}

/// The machine as something to change.
#[derive(Debug)]
pub struct Access {
    root: PathBuf,
    bus: Bus,
    systemd: OnceCell<Result<Systemd, Absent>>,
    pub(crate) steps: Steps,
    /// Plays a kernel, below a root that is laid out: called before a file is read, and after it was written.
    #[cfg(test)]
    pub(crate) kernel: Option<fn(&Path, &str, Option<&str>)>,
}

impl Access {
    /// Access to the machine whose files are below `root`; its systemd by the bus of the system if `root` is `/`.
    pub fn new(root: &Path) -> Access {
        let bus = if root == Path::new("/") { Bus::System } else { Bus::None };
        Access {
            root: root.to_owned(),
            bus,
            systemd: OnceCell::new(),
            steps: Steps::default(),
            #[cfg(test)]
            kernel: None,
        }
    }

    /// With systemd behind another bus, by its D-Bus address.
    pub fn with_bus(mut self, address: &str) -> Access {
        self.bus = Bus::At(address.to_owned());
        self
    }

    /// Test hook: this process kills itself after this many steps.
    pub fn stop_after(mut self, steps: Option<u64>) -> Access {
        self.steps.stop_after = steps;
        self
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Id of the boot that is running; empty if the machine does not report it.
    pub fn boot(&self) -> String {
        tarebench_sys::procfs::read_text_below(&self.root, "proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    /// The connection to systemd, made on first use.
    fn systemd(&self) -> Result<&Systemd, ValueError> {
        let made = self.systemd.get_or_init(|| Systemd::connect(&self.bus, &self.root));
        made.as_ref().map_err(|a| ValueError::NoSystemd(a.clone()))
    }

    /// systemd's loaded units with their state (`active`, `inactive`).
    pub fn units(&self) -> Reading<Vec<(String, String)>> {
        match self.systemd() {
            Ok(systemd) => systemd.all().into(),
            Err(ValueError::NoSystemd(why)) => Reading::Absent(why),
            Err(e) => Reading::Absent(Absent::Failed(e.to_string())),
        }
    }

    /// Closes the connection to systemd; the next use makes a new one. To be called before a measurement, which is to
    /// be alone in its process.
    pub fn rest(&mut self) {
        self.systemd = OnceCell::new();
    }

    /// Whether the root is that of the running machine, whatever its path.
    fn is_real(&self) -> bool {
        let same = |(a, b): (std::fs::Metadata, std::fs::Metadata)| (a.dev(), a.ino()) == (b.dev(), b.ino());
        let both = std::fs::metadata(&self.root).and_then(|a| Ok((a, std::fs::metadata("/")?)));
        both.is_ok_and(same)
    }

    /// Where cgroup v2 is mounted, without slashes around it.
    pub(crate) fn cgroups(&self) -> Option<String> {
        let mounts = tarebench_sys::procfs::read_below(&self.root, "proc/self/mountinfo").ok()?;
        let mount = tarebench_sys::procfs::parse_cgroup2_mount(&mounts)?;
        Some(String::from_utf8(mount).ok()?.trim_matches('/').to_owned()).filter(|m| !m.is_empty())
    }

    /// Opens the file of a path below the root, without leaving the root or following a link of procfs.
    fn resolve(&self, name: &str, flags: OFlags) -> Result<OwnedFd, rustix::io::Errno> {
        let root =
            openat(rustix::fs::CWD, &self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            match openat2(&root, name, flags | OFlags::CLOEXEC, Mode::empty(), how) {
                // Something was renamed or mounted meanwhile.
                Err(rustix::io::Errno::AGAIN) if tries < 100 => tries += 1,
                result => return result,
            }
        }
    }

    /// Opens a file that factors can name, and makes sure that it is the kernel's.
    fn open(&self, verb: &str, name: &str, flags: OFlags) -> Result<File, ValueError> {
        let name = name.trim_start_matches('/');
        let shown = self.root.join(name).display().to_string();
        let protected = |why: &str| ValueError::Protected { what: shown.clone(), why: why.to_owned() };
        let Some(wanted) = targets::file_system(name, self.cgroups().as_deref()) else {
            let missing = targets::is_plain(name)
                && self.resolve(name, OFlags::PATH).is_err_and(|e| e == rustix::io::Errno::NOENT);
            return Err(if missing { ValueError::Missing(shown) } else { protected("no factor sets it") });
        };
        // Non-blocking, for whatever a laid-out root holds; for the kernel's files it changes nothing.
        let fd = self.resolve(name, flags | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(|e| match e {
            rustix::io::Errno::XDEV | rustix::io::Errno::LOOP => protected("its path leads elsewhere"),
            e => refused(format!("{verb} {shown}"), e.into()),
        })?;
        let failed = |e: rustix::io::Errno| refused(format!("{verb} {shown}"), e.into());
        if FileType::from_raw_mode(fstat(&fd).map_err(failed)?.st_mode) != FileType::RegularFile {
            return Err(protected("it is not a regular file"));
        }
        // A root that is laid out as files has them on any file system.
        if self.is_real() && fstatfs(&fd).map_err(failed)?.f_type as u64 != wanted {
            return Err(protected("it is not on the kernel's file system for it"));
        }
        Ok(File::from(fd))
    }

    /// Full path of a cgroup that freezing makes or moves processes from and to: the hierarchy's root, or `leaf`.
    pub(crate) fn cgroup(&self, path: &str, leaf: &str) -> Option<PathBuf> {
        let mount = self.cgroups()?;
        (path == mount || path == format!("{mount}/{leaf}")).then(|| self.root.join(path))
    }

    /// Value of a target.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, or is not a single value.
    pub fn read(&self, target: &Target) -> Result<String, ValueError> {
        match target {
            Target::File(name) => {
                #[cfg(test)]
                if let Some(kernel) = self.kernel {
                    kernel(&self.root, name, None);
                }
                let file = self.open("read", name, OFlags::RDONLY)?;
                read_file(file, &self.root.join(name.trim_start_matches('/')))
            }
            Target::Unit(name) => self.systemd()?.state(name),
            Target::Script(name) => {
                self.allowed(target)?;
                init_script::are_used(&self.root, self.is_real())?;
                init_script::state(&self.root, name)
            }
        }
    }

    /// Gives a target a value; [`Access::read`] shows whether it took effect.
    ///
    /// # Errors
    /// If it does not exist, refused, or is one that is never changed.
    pub fn write(&self, target: &Target, value: &str) -> Result<(), ValueError> {
        self.allowed(target)?;
        match target {
            Target::File(name) => self.write_file(name, value)?,
            Target::Unit(name) => self.systemd()?.set(name, value)?,
            Target::Script(name) => {
                init_script::are_used(&self.root, self.is_real())?;
                init_script::set(&self.root, name, value)?;
            }
        }
        self.steps.done();
        Ok(())
    }

    /// Refuses the units that are never touched, and the units and scripts that no factor stops or starts.
    ///
    /// # Errors
    /// [`ValueError::Protected`], with the reason.
    pub fn allowed(&self, target: &Target) -> Result<(), ValueError> {
        let name = match target {
            Target::File(_) => return Ok(()),
            Target::Script(name) if is_ntp_script(name) => return Ok(()),
            Target::Script(_) => {
                return Err(ValueError::Protected { what: label(target), why: "no factor runs it".to_owned() });
            }
            Target::Unit(name) => name,
        };
        let own = protect::own_units(&self.root);
        if is_ntp_unit(name) && !own.contains(name) {
            return Ok(());
        }
        match protect::unit(name, &own) {
            Some(why) => Err(ValueError::Protected { what: name.clone(), why: why.to_owned() }),
            None if !is_stopped_by_a_factor(name) => {
                Err(ValueError::Protected { what: name.clone(), why: "no factor stops it".to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Writes a value with one write(2), which is what kernel files expect. Where files are only laid out, a reader must
    /// not see half of it, so that they are replaced.
    fn write_file(&self, name: &str, value: &str) -> Result<(), ValueError> {
        let name = name.trim_start_matches('/');
        let failed = |e| refused(format!("write {}", self.root.join(name).display()), e);
        let mut file = self.open("write", name, OFlags::WRONLY)?;
        let line = format!("{value}\n");
        if self.is_real() {
            return file.write_all(line.as_bytes()).map_err(failed);
        }
        self.replace(name, &line).map_err(failed)?;
        #[cfg(test)]
        if let Some(kernel) = self.kernel {
            kernel(&self.root, name, Some(value));
        }
        Ok(())
    }

    fn replace(&self, name: &str, line: &str) -> io::Result<()> {
        let (folder, file) = name.rsplit_once('/').unwrap_or((".", name));
        let folder = self.resolve(folder, OFlags::PATH | OFlags::DIRECTORY)?;
        let new = format!("{file}.tare-new");
        // A kill may have left one.
        let _ = unlinkat(&folder, &new, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        File::from(openat(&folder, &new, flags, Mode::from_raw_mode(0o644))?).write_all(line.as_bytes())?;
        Ok(renameat(&folder, &new, &folder, file)?)
    }
}

fn refused(what: String, cause: io::Error) -> ValueError {
    // A device that has gone leaves files that answer ENODEV; a CPU that is offline ENXIO or ENOENT.
    match cause.kind() {
        io::ErrorKind::NotFound => ValueError::Missing(what.split_once(' ').map_or(what.clone(), |w| w.1.to_owned())),
        _ => ValueError::Refused { what, cause },
    }
}

fn read_file(file: File, path: &Path) -> Result<String, ValueError> {
    let mut data = Vec::new();
    let read = file.take(MOST).read_to_end(&mut data);
    read.map_err(|e| refused(format!("read {}", path.display()), e))?;
    let text = String::from_utf8_lossy(&data);
    let text = text.trim();
    if text.is_empty() || text.lines().count() > 1 {
        let found = text.chars().take(60).collect();
        return Err(ValueError::Form { what: path.display().to_string(), found });
    }
    Ok(chosen(text).to_owned())
}

/// The chosen word of a file that offers a choice (`always [madvise] never`); else the whole.
fn chosen(text: &str) -> &str {
    let word = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or(text)
}

/// Whether two values of a target are the same to the kernel, which writes numbers and lists of CPUs in its own way.
pub fn same(target: &Target, a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let Target::File(name) = target else { return false };
    let file = name.rsplit('/').next().unwrap_or_default();
    if file.ends_with("_list") || file == "cpuset.cpus" {
        let list = |t| tarebench_sys::procfs::parse_cpu_list(t);
        return list(a).is_some() && list(a) == list(b);
    }
    if file.ends_with("affinity") || file.ends_with("cpumask") {
        let bits = |t: &str| {
            let digits: String = t.chars().filter(|c| *c != ',').collect::<String>().to_lowercase();
            digits.trim_start_matches("0x").trim_start_matches('0').to_owned()
        };
        return bits(a) == bits(b);
    }
    matches!((a.parse::<i64>(), b.parse::<i64>()), (Ok(a), Ok(b)) if a == b)
}

/// How a target is called in messages: a path, also of a script, or a unit's name.
pub fn label(target: &Target) -> String {
    match target {
        Target::File(name) => format!("/{}", name.trim_start_matches('/')),
        Target::Unit(name) => name.clone(),
        Target::Script(name) => format!("/{}/{name}", init_script::FOLDER),
    }
}

/// The command that does the same by hand.
pub fn command(target: &Target, value: &str) -> String {
    match target {
        Target::File(_) => format!("echo {value} > {}", label(target)),
        Target::Unit(name) if value == "active" => format!("systemctl start {name}"),
        Target::Unit(name) => format!("systemctl stop {name}"),
        Target::Script(_) if value == "active" => format!("{} start", label(target)),
        Target::Script(_) => format!("{} stop", label(target)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Target {
        Target::File(name.into())
    }

    #[test]
    fn the_kernels_way_of_writing_values() {
        let irq = file("proc/irq/24/smp_affinity");
        assert!(same(&irq, "3", "00000003") && same(&irq, "00000000,00000003", "3") && !same(&irq, "3", "1"));
        assert!(same(&file("proc/irq/24/smp_affinity_list"), "0,1", "0-1"));
        assert!(same(&file("proc/sys/vm/swappiness"), "060", "60") && !same(&file("x"), "60", "6"));
        assert!(!same(&file("x"), "always", "never") && !same(&Target::Unit("a".into()), "1", "01"));
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("0-1"), "0-1");
    }

    #[test]
    fn values_are_single_and_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let a = Access::new(dir.path());
        let (one, two) = ("proc/sys/vm/swappiness", "proc/sys/kernel/watchdog");
        let (none, absent) = ("proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/soft_watchdog");
        for folder in ["proc/sys/vm", "proc/sys/kernel", "sys/kernel/mm/ksm"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for (name, text) in [(two, "a\nb\n"), (none, "\n"), (one, " 60\n"), ("other", "1\n"), ("proc/other", "1\n")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        assert!(matches!(a.read(&file(two)), Err(ValueError::Form { .. })));
        assert!(matches!(a.read(&file(none)), Err(ValueError::Form { .. })));
        assert!(matches!(a.read(&file(absent)), Err(ValueError::Missing(_))));
        // A link may lead elsewhere below the root, as those of cpufreq do, but not out of it.
        std::os::unix::fs::symlink(dir.path().join("other"), dir.path().join("sys/kernel/mm/ksm/run")).unwrap();
        for outside in ["other", "proc/../other", "../other", "proc/other", "sys/kernel/mm/ksm/run"] {
            assert!(matches!(a.read(&file(outside)), Err(ValueError::Protected { .. })), "{outside}");
            assert!(matches!(a.write(&file(outside), "2"), Err(ValueError::Protected { .. })), "{outside}");
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("other")).unwrap(), "1\n");
        assert_eq!(a.read(&file(one)).unwrap(), "60");
        a.write(&file("/proc/sys/vm/swappiness"), "1").unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join(one)).unwrap(), "1\n");
        let missing = a.write(&file(absent), "1").unwrap_err();
        assert!(missing.is_missing() && !dir.path().join(absent).exists(), "{missing}");
        assert!(matches!(a.read(&Target::Unit("cron.service".into())), Err(ValueError::NoSystemd(_))));
    }

    #[test]
    fn no_script_is_run_but_that_of_the_real_machines_ntp_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let a = Access::new(dir.path());
        for name in ["cron", "../../bin/sh", "chrony/../cron", ""] {
            let target = Target::Script(name.into());
            assert!(matches!(a.read(&target), Err(ValueError::Protected { .. })), "{name}");
            assert!(matches!(a.write(&target, "active"), Err(ValueError::Protected { .. })), "{name}");
        }
        let ntp = Target::Script("chrony".into());
        assert!(a.read(&ntp).unwrap_err().is_missing());
        assert!(a.write(&ntp, "active").unwrap_err().is_missing());
        assert_eq!(command(&ntp, "inactive"), "/etc/init.d/chrony stop");
    }
}
