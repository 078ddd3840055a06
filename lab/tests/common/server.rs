//! A PostgreSQL server that a test program starts for itself.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server on a Unix socket in a folder of its own; it ends with this value, or with the test program.
pub struct TestServer {
    programs: PathBuf,
    folder: PathBuf,
    databases: AtomicU32,
    /// The shell that ends the server and removes its folder when its standard input is closed.
    watchdog: Child,
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            path.join("bin/initdb").exists().then(|| (version, path.join("bin")))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}

/// As a user who may run a server: root may not.
fn as_server_user(program: &Path) -> Command {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command
}

impl TestServer {
    /// Starts one; `None` if PostgreSQL is not installed.
    pub fn start() -> Option<TestServer> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("tare-lab-pg-").tempdir().expect("a folder").keep();
        // SAFETY: no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).expect("chown");
        }
        let data = folder.join("data");
        let made = as_server_user(&programs.join("initdb"))
            .args([
                "--no-sync",
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--pgdata",
            ])
            .arg(&data)
            .current_dir(&folder)
            .output()
            .expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut file = std::fs::OpenOptions::new().append(true).open(data.join("postgresql.conf")).expect("settings");
        let socket = folder.display();
        writeln!(file, "listen_addresses = ''\nunix_socket_directories = '{socket}'\nfsync = off").expect("settings");
        // Each line stops the server, as a crash does, or starts it again; the end of the input ends it.
        let script = r#"more=0
            while [ $more = 0 ]; do
                "$1/postgres" -D "$2/data" >>"$2/log" 2>&1 & pid=$!
                read -r _; more=$?
                kill -QUIT $pid; wait $pid
                if [ $more = 0 ]; then read -r _; more=$?; fi
            done
            rm -rf "$2""#;
        let watchdog = as_server_user(Path::new("/bin/sh"))
            .args(["-c", script, "sh"])
            .args([&programs, &folder])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server");
        let server = TestServer { programs, folder, databases: AtomicU32::new(0), watchdog };
        server.wait_until(true);
        Some(server)
    }

    fn wait_until(&self, answers: bool) {
        let begun = Instant::now();
        while self.sql("postgres", "SELECT 1").0 != answers {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start, or does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn toggle(&mut self) {
        self.watchdog.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("the shell");
    }

    /// Ends the server as a crash does.
    #[allow(dead_code, reason = "not all test programs do")]
    pub fn stop(&mut self) {
        self.toggle();
        self.wait_until(false);
    }

    /// Starts it again.
    #[allow(dead_code, reason = "not all test programs do")]
    pub fn begin(&mut self) {
        self.toggle();
        self.wait_until(true);
    }

    /// The URL of a database for a user.
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgresql://{user}@/{database}?host={}", self.folder.display())
    }

    /// Runs a statement; whether that succeeded, and what it printed.
    pub fn sql(&self, database: &str, sql: &str) -> (bool, String) {
        let out = Command::new(self.programs.join("psql"))
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet", "--command", sql])
            .arg(self.url("postgres", database))
            .env("PGCONNECT_TIMEOUT", "5")
            .output()
            .expect("psql");
        (out.status.success(), String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    /// A new database; its name.
    pub fn database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        assert!(self.sql("postgres", &format!("CREATE DATABASE {name}")).0);
        name
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}
