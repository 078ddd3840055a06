//! The databases that the tests run on: SQLite, and a PostgreSQL server that this test program starts and ends.

use crate::data;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tarebench_lab::postgres::PostgresPlace;
use tarebench_store::{SqliteStore, Store, StoreError, open_place, open_place_read_only};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

/// PostgreSQL, if it is installed: the tests of every store run on SQLite in crate tarebench-store.
pub fn backends() -> Vec<Backend> {
    server().map(|_| Backend::Postgres).into_iter().collect()
}

/// SQLite as well.
pub fn all_backends() -> Vec<Backend> {
    [Backend::Sqlite].into_iter().chain(backends()).collect()
}

/// A database of a kind, which is empty at first, and ends with this value.
pub struct Place {
    /// As a user names it.
    pub name: OsString,
    backend: Backend,
    _folder: Option<tempfile::TempDir>,
}

impl Backend {
    /// A new place, with no store at it yet.
    pub fn place(self) -> Place {
        println!("on {self:?}");
        match self {
            Backend::Sqlite => {
                let (folder, path) = data::place();
                Place { name: path.into(), backend: self, _folder: Some(folder) }
            }
            Backend::Postgres => {
                let name = server().unwrap().database().into();
                Place { name, backend: self, _folder: None }
            }
        }
    }

    /// An empty store for one case of many of a test: a new one would take too long each time.
    pub fn empty(self) -> Box<dyn Store> {
        match self {
            Backend::Sqlite => self.store(),
            Backend::Postgres => {
                // A case has at most two of them at once.
                thread_local!(static PLACES: RefCell<VecDeque<&'static Place>> =
                    RefCell::new([(); 2].map(|()| &*Box::leak(Box::new(Backend::Postgres.place()))).into()));
                PLACES.with_borrow_mut(|places| {
                    places.rotate_left(1);
                    let store = places[0].open();
                    places[0].run_sql(
                        "DELETE FROM run; DELETE FROM document; DELETE FROM document_number; DELETE FROM host;
                         SELECT setval(pg_get_serial_sequence('run', 'id'), 1, false)",
                    );
                    store
                })
            }
        }
    }

    /// A new store that is used by one process only.
    pub fn store(self) -> Box<dyn Store> {
        match self {
            Backend::Sqlite => Box::new(SqliteStore::in_memory().unwrap()),
            // It stays until the server ends.
            Backend::Postgres => Box::leak(Box::new(self.place())).open(),
        }
    }
}

/// Opens a store as the command does.
pub fn open(name: &OsString) -> Result<Box<dyn Store>, StoreError> {
    tarebench_lab::open_servers();
    open_place(name, &|_| None)
}

impl Place {
    pub fn open(&self) -> Box<dyn Store> {
        open(&self.name).unwrap()
    }

    pub fn open_read_only(&self) -> Box<dyn Store> {
        tarebench_lab::open_servers();
        open_place_read_only(&self.name, &|_| None).unwrap()
    }

    /// Runs statements beside the store.
    pub fn run_sql(&self, sql: &str) {
        match self.backend {
            Backend::Sqlite => rusqlite::Connection::open(&self.name).unwrap().execute_batch(sql).unwrap(),
            Backend::Postgres => self.client().batch_execute(sql).unwrap(),
        }
    }

    /// The number that a query gives.
    pub fn number(&self, sql: &str) -> i64 {
        match self.backend {
            Backend::Sqlite => {
                let conn = rusqlite::Connection::open(&self.name).unwrap();
                conn.query_row(sql, [], |r| r.get(0)).unwrap()
            }
            Backend::Postgres => self.client().query_one(sql, &[]).unwrap().get(0),
        }
    }

    /// The place as a server's.
    pub fn server_place(&self) -> PostgresPlace {
        PostgresPlace::parse(self.name.to_str().unwrap(), &|_| None).unwrap()
    }

    /// A connection to it, without a store.
    pub fn client(&self) -> postgres::Client {
        self.server_place().connect().unwrap()
    }

    /// That the database is in order, as far as it can be checked.
    pub fn assert_sound(&self) {
        match self.backend {
            Backend::Sqlite => data::assert_sound(Path::new(&self.name)),
            Backend::Postgres => {
                let counts = "SELECT count(*) FROM run FULL JOIN
                        (SELECT run_id, count(*) AS n FROM sample WHERE phase = 'counted' GROUP BY run_id) AS s ON run_id = id
                    WHERE coalesce(n, 0) IS DISTINCT FROM coalesce((SELECT counted FROM run_counted AS c WHERE c.run_id = id), 0)";
                assert_eq!(self.number(counts), 0);
            }
        }
    }
}

impl Drop for Place {
    /// Its files would fill the disk.
    fn drop(&mut self) {
        if self.backend == Backend::Postgres {
            let shown = self.server_place().to_string();
            let name = shown.split(['/', '?']).nth(3).unwrap();
            let mut client = server().unwrap().place("postgres").connect().unwrap();
            client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).unwrap();
        }
    }
}

/// A server with a folder of its own, which only this test program uses.
pub struct Server {
    folder: PathBuf,
    port: u16,
    databases: AtomicU32,
    /// The shell that ends the server and removes its folder when this program ends and so closes its standard input.
    watchdog: Child,
}

/// The server of this test program; `None` if PostgreSQL is not installed.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| programs().map(|programs| Server::start(&programs, ""))).as_ref()
}

/// The folder of the newest server's programs; `None`, with the reason said, if there is none.
pub fn programs() -> Option<PathBuf> {
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
    if found.is_empty() {
        skipped("needs PostgreSQL (Debian's package postgresql)");
    }
    found.pop().map(|(_, path)| path)
}

/// Says that a test cannot run here.
pub fn skipped(reason: &str) {
    assert!(std::env::var_os("TARE_NO_SKIP").is_none_or(|v| v != "1"), "must not be skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// Runs a program as a user who may run a server: root may not.
fn as_server_user(program: &Path) -> Command {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command
}

impl Server {
    /// Starts a server on a Unix socket in a new folder, with these settings beside those of all tests.
    pub fn start(programs: &Path, settings: &str) -> Server {
        Server::start_at(programs, settings, 5432)
    }

    /// The same, where the settings name this port.
    pub fn start_at(programs: &Path, settings: &str, port: u16) -> Server {
        let folder = tempfile::Builder::new().prefix("tare-pg-").tempdir().unwrap().keep();
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
        }
        let data = folder.join("data");
        let made = as_server_user(&programs.join("initdb"))
            .args(["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"])
            .arg("--pgdata")
            .arg(&data)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut file = std::fs::OpenOptions::new().append(true).open(data.join("postgresql.conf")).unwrap();
        writeln!(
            file,
            "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\nmax_connections = 200\n{settings}",
            folder.display()
        )
        .unwrap();
        // One role must give a password.
        let rules = data.join("pg_hba.conf");
        let others = std::fs::read_to_string(&rules).unwrap();
        std::fs::write(
            &rules,
            format!("local all locked scram-sha-256\nhostnossl all all 127.0.0.1/32 reject\n{others}"),
        )
        .unwrap();
        let script =
            r#""$1/postgres" -D "$2/data" >"$2/log" 2>&1 & pid=$!; read -r _; kill -QUIT $pid; wait $pid; rm -rf "$2""#;
        let watchdog = as_server_user(Path::new("/bin/sh"))
            .args(["-c", script, "sh"])
            .args([programs, &folder])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { folder, port, databases: AtomicU32::new(0), watchdog };
        let begun = Instant::now();
        while server.place("postgres").connect().is_err() {
            let log = || std::fs::read_to_string(server.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://postgres@/{database}?host={}&port={}", self.folder.display(), self.port)
    }

    pub fn place(&self, database: &str) -> PostgresPlace {
        PostgresPlace::parse(&self.url(database), &|_| None).unwrap()
    }

    /// The URL of a new database.
    pub fn database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut client = self.place("postgres").connect().unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name} STRATEGY file_copy")).unwrap();
        self.url(&name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().unwrap();
    }
}
