//! Where a server is and how to connect to it: a URL, the environment, a service file and a password file, as libpq uses them.

use crate::postgres::call::ServerCall;
use crate::postgres::error::connecting;
use crate::postgres::place_files::{PasswordFile, PasswordKey, password, password_file, service};
use crate::postgres::place_text::{PlaceParameters, encoded, is_url, parse};
use crate::postgres::tls::{TlsCheck, TlsRoots, TlsSettings};
use postgres::config::{SslMode, TargetSessionAttrs};
use postgres::{Client, Config, NoTls};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_store::error::{ErrorContext, Fault, ServerFault, StoreError};

/// PlaceParameters and the variables of the environment that give them if nothing else does.
const VARIABLES: &[(&str, &str)] = &[
    ("application_name", "PGAPPNAME"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("dbname", "PGDATABASE"),
    ("host", "PGHOST"),
    ("options", "PGOPTIONS"),
    ("passfile", "PGPASSFILE"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("service", "PGSERVICE"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("user", "PGUSER"),
];

/// Folders in which a server has its Unix socket if nothing else is said, Debian's first.
const SOCKET_FOLDERS: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// How long connecting to an address may take if nothing else is said.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// After so long without an answer a connection that is used counts as broken.
const SILENCE: Duration = Duration::from_secs(60);

/// A PostgreSQL server, with a database and a user. What it shows of itself never has the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresPlace {
    hosts: Vec<PlaceHost>,
    user: String,
    dbname: String,
    /// `None`: without TLS.
    tls: Option<TlsSettings>,
    /// Whether a server without TLS is accepted.
    plain: bool,
    /// `None`: without a limit.
    connect_timeout: Option<Duration>,
    options: Option<String>,
    application_name: String,
    writable_only: bool,
    /// The URL, without the password.
    shown: String,
    /// Why a password file was not used.
    warning: Option<String>,
}

/// One of the addresses of a server, which are tried in turn.
#[derive(Clone, PartialEq, Eq)]
struct PlaceHost {
    /// A name, an address, or the folder of a Unix socket.
    name: String,
    port: u16,
    password: Option<String>,
}

impl PlaceHost {
    fn is_socket(&self) -> bool {
        self.name.starts_with(['/', '@'])
    }
}

impl fmt::Display for PostgresPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresPlace({})", self.shown)
    }
}

impl PostgresPlace {
    /// Whether a text names a server: `postgresql://…`, `postgres://…`, or `service=…`.
    pub fn is_url(text: &str) -> bool {
        is_url(text)
    }

    /// Reads a URL `postgresql://user@host:port/db?sslmode=…` or a list of parameters `service=NAME key=value`. What they do not say
    /// is taken from the service, then from the environment (`PGHOST`, `PGUSER`, …), then from libpq's defaults; the password
    /// also from the password file, if nobody but its owner may read that ([`PostgresPlace::warning`]).
    ///
    /// # Errors
    /// [`StoreError::BadPlace`].
    pub fn parse(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<PostgresPlace, StoreError> {
        Self::of_text(text, environment).map_err(|cause| StoreError::BadPlace { cause })
    }

    fn of_text(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<PostgresPlace, String> {
        let environment = |name: &str| environment(name).filter(|value| !value.is_empty());
        let mut given = parse(text)?;
        // As in libpq, an empty value is none; a password may be empty.
        given.retain(|key, value| !value.is_empty() || key == "password");
        if let Some(name) = given.remove("service").or_else(|| environment("PGSERVICE")) {
            for (key, value) in service(&name, &environment)? {
                given.entry(key).or_insert(value);
            }
        }
        let explicit = given.clone();
        for (key, variable) in VARIABLES {
            if let (false, Some(value)) = (given.contains_key(*key), environment(variable)) {
                given.insert((*key).to_owned(), value);
            }
        }
        let user = match given.remove("user") {
            Some(user) => user,
            None => whoami::username().map_err(|e| format!("the name of the user is not known: {e}"))?,
        };
        let dbname = given.remove("dbname").unwrap_or_else(|| user.clone());
        let mut hosts = hosts(&given)?;
        let warning = set_passwords(&mut hosts, &given, &dbname, &user, &environment);
        let shown = shown(&hosts, &user, &dbname, &explicit);
        let (tls, plain) = tls(&given, &environment)?;
        Ok(PostgresPlace {
            hosts,
            user,
            dbname,
            tls,
            plain,
            connect_timeout: connect_timeout(given.get("connect_timeout"))?,
            options: given.remove("options"),
            application_name: given.remove("application_name").unwrap_or_else(|| "tare".to_owned()),
            writable_only: writable_only(given.get("target_session_attrs"))?,
            shown,
            warning,
        })
    }

    /// Why a password file was not used, as a sentence for the user.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Name of the database user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What it shows of itself, as a path for [`crate::Store::path`].
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&self.shown)
    }

    /// Connects, to the first of its addresses that answers. It may not be called within an asynchronous runtime.
    ///
    /// # Errors
    /// [`StoreError::BadPlace`] for a certificate that cannot be read, [`StoreError::Unreachable`], [`StoreError::LoginRefused`].
    pub fn connect(&self) -> Result<Client, StoreError> {
        let _call = ServerCall::begin();
        let path = self.path();
        let at = ErrorContext { path: &path, doing: "connect", writable: false };
        let mut failed = None;
        for host in &self.hosts {
            match self.connect_to(host)? {
                Ok(client) => return Ok(client),
                Err(e) => {
                    let (fault, mut cause) = connecting(&e);
                    if let (ServerFault::LoginRefused, Some(warning)) = (fault, &self.warning) {
                        cause = format!("{cause}; {warning}");
                    }
                    failed = Some(at.complete(Fault::Server(fault, cause)));
                    // Another address of the same server would refuse it, too.
                    if fault == ServerFault::LoginRefused {
                        break;
                    }
                }
            }
        }
        Err(failed.unwrap_or(StoreError::Unreachable { path, cause: "no host is named".to_owned() }))
    }

    fn connect_to(&self, host: &PlaceHost) -> Result<Result<Client, postgres::Error>, StoreError> {
        let mut config = Config::new();
        config.user(&self.user).dbname(&self.dbname).port(host.port).application_name(&self.application_name);
        config
            .keepalives_idle(SILENCE)
            .keepalives_interval(SILENCE / 6)
            .keepalives_retries(3)
            .tcp_user_timeout(SILENCE);
        if let Some(password) = &host.password {
            config.password(password);
        }
        if let Some(options) = &self.options {
            config.options(options);
        }
        if let Some(limit) = self.connect_timeout {
            config.connect_timeout(limit);
        }
        if self.writable_only {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        match &self.tls {
            Some(tls) if !host.is_socket() => {
                config.host(&host.name).ssl_mode(if self.plain { SslMode::Prefer } else { SslMode::Require });
                Ok(config.connect(tls.connector()?))
            }
            _ => {
                config.host(&host.name).ssl_mode(SslMode::Disable);
                Ok(config.connect(NoTls))
            }
        }
    }
}

fn hosts(given: &PlaceParameters) -> Result<Vec<PlaceHost>, String> {
    let names: Vec<String> = match given.get("host") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => vec![String::new()],
    };
    let ports: Vec<&str> = given.get("port").map_or_else(Vec::new, |ports| ports.split(',').collect());
    if ports.len() > 1 && ports.len() != names.len() {
        return Err(format!("it names {} hosts and {} ports", names.len(), ports.len()));
    }
    let host = |(n, name): (usize, String)| {
        let port = match ports.get(n).or_else(|| ports.first()).copied().unwrap_or("") {
            "" => 5432,
            text => match text.trim().parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(format!("its port is {text:?}, expected a number from 1 to 65535")),
            },
        };
        let name = if name.is_empty() { usual_host(port) } else { name };
        Ok(PlaceHost { name, port, password: None })
    };
    names.into_iter().enumerate().map(host).collect()
}

/// The socket of a server of this machine, or its own address if there is none.
fn usual_host(port: u16) -> String {
    let has_socket = |folder: &&&str| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
    SOCKET_FOLDERS.iter().find(has_socket).map_or("localhost", |folder| folder).to_owned()
}

/// Sets the passwords of hosts; returns why the password file was not used.
fn set_passwords(
    hosts: &mut [PlaceHost],
    given: &PlaceParameters,
    dbname: &str,
    user: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    if let Some(password) = given.get("password") {
        hosts.iter_mut().for_each(|host| host.password = Some(password.clone()));
        return None;
    }
    let file = given.get("passfile").cloned().or_else(|| environment("HOME").map(|home| format!("{home}/.pgpass")))?;
    match password_file(Path::new(&file)) {
        PasswordFile::Missing => None,
        PasswordFile::Refused(why) => Some(why),
        PasswordFile::Text(text) => {
            for host in hosts {
                let usual = SOCKET_FOLDERS.contains(&host.name.as_str());
                let name = if usual { "localhost" } else { host.name.as_str() };
                host.password = password(&text, &PasswordKey { host: name, port: host.port, dbname, user });
            }
            None
        }
    }
}

/// How to encrypt, and whether a server that cannot is accepted.
fn tls(
    given: &PlaceParameters,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(Option<TlsSettings>, bool), String> {
    let usual_roots = || {
        let path = PathBuf::from(environment("HOME")?).join(".postgresql/root.crt");
        path.exists().then_some(TlsRoots::File(path))
    };
    let roots = given.get("sslrootcert").map(|text| match text.as_str() {
        "system" => TlsRoots::System,
        path => TlsRoots::File(path.into()),
    });
    let of_system = roots == Some(TlsRoots::System);
    let mode = given.get("sslmode").map_or(if of_system { "verify-full" } else { "prefer" }, String::as_str);
    if of_system && mode != "verify-full" {
        // Anybody can have a certificate of these authorities.
        return Err(format!("with sslrootcert=system, its sslmode must be verify-full, not {mode:?}"));
    }
    let roots = roots.or_else(usual_roots);
    let (check, roots, plain) = match (mode, roots) {
        ("disable", _) => return Ok((None, true)),
        ("allow" | "prefer", _) => (TlsCheck::Nothing, TlsRoots::System, true),
        ("require", None) => (TlsCheck::Nothing, TlsRoots::System, false),
        ("require" | "verify-ca", Some(roots)) => (TlsCheck::Authority, roots, false),
        ("verify-ca", None) => {
            return Err("sslmode=verify-ca needs sslrootcert, a file with the certificate of the authority".to_owned());
        }
        ("verify-full", roots) => (TlsCheck::Host, roots.unwrap_or(TlsRoots::System), false),
        (other, _) => {
            return Err(format!(
                "its sslmode is {other:?}, expected disable, prefer, require, verify-ca or verify-full"
            ));
        }
    };
    let own = match (given.get("sslcert"), given.get("sslkey")) {
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        (None, None) => None,
        _ => return Err("sslcert and sslkey are needed together".to_owned()),
    };
    Ok((Some(TlsSettings { check, roots, own }), plain))
}

fn connect_timeout(text: Option<&String>) -> Result<Option<Duration>, String> {
    let Some(text) = text else { return Ok(Some(CONNECT_TIMEOUT)) };
    match text.trim().parse::<i64>() {
        Ok(seconds) => Ok(u64::try_from(seconds).ok().filter(|s| *s > 0).map(Duration::from_secs)),
        Err(_) => Err(format!("its connect_timeout is {text:?}, expected a number of seconds")),
    }
}

fn writable_only(text: Option<&String>) -> Result<bool, String> {
    match text.map_or("any", String::as_str) {
        "any" | "prefer-standby" => Ok(false),
        "read-write" | "primary" => Ok(true),
        other => Err(format!("its target_session_attrs is {other:?}, expected any or read-write")),
    }
}

/// The URL of a place, by which it can be named again, but for the password.
fn shown(hosts: &[PlaceHost], user: &str, dbname: &str, explicit: &PlaceParameters) -> String {
    let mut query = Vec::new();
    let mut authority = Vec::new();
    if hosts.iter().any(PlaceHost::is_socket) {
        let list = |parts: Vec<String>| parts.join(",");
        query.push(format!("host={}", list(hosts.iter().map(|h| encoded(&h.name)).collect())));
        if hosts.iter().any(|h| h.port != 5432) {
            query.push(format!("port={}", list(hosts.iter().map(|h| h.port.to_string()).collect())));
        }
    } else {
        for PlaceHost { name, port, .. } in hosts {
            let name = if name.contains(':') { format!("[{name}]") } else { encoded(name) };
            authority.push(if *port == 5432 { name } else { format!("{name}:{port}") });
        }
    }
    for key in ["sslmode", "sslrootcert", "sslcert", "sslkey", "options", "target_session_attrs"] {
        if let Some(value) = explicit.get(key) {
            query.push(format!("{key}={}", encoded(value)));
        }
    }
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("postgresql://{}@{}/{}{query}", encoded(user), authority.join(","), encoded(dbname).replace('/', "%2F"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place(text: &str, environment: &[(&str, &str)]) -> Result<PostgresPlace, String> {
        let environment: BTreeMap<&str, &str> = environment.iter().copied().collect();
        PostgresPlace::parse(text, &|name| environment.get(name).map(|v| (*v).to_owned())).map_err(|e| e.to_string())
    }

    fn passwords(place: &PostgresPlace) -> Vec<Option<&str>> {
        place.hosts.iter().map(|h| h.password.as_deref()).collect()
    }

    #[test]
    fn the_text_goes_before_the_environment() {
        let environment =
            [("PGHOST", "eh"), ("PGPORT", "7"), ("PGUSER", "eu"), ("PGDATABASE", "ed"), ("PGPASSWORD", "ep")];
        let all = place("postgresql://", &environment).unwrap();
        assert_eq!(all.to_string(), "postgresql://eu@eh:7/ed");
        assert_eq!(passwords(&all), [Some("ep")]);
        let some = place("postgresql://u:p@h/d?port=8", &environment).unwrap();
        assert_eq!((some.to_string().as_str(), passwords(&some)), ("postgresql://u@h:8/d", vec![Some("p")]));
        assert_eq!((some.application_name.as_str(), some.connect_timeout), ("tare", Some(CONNECT_TIMEOUT)));
        // The database has the name of the user.
        assert_eq!(place("postgresql://u@h", &[]).unwrap().to_string(), "postgresql://u@h/u");
        assert!(place("postgresql://h", &[]).unwrap().user().len() > 1, "that of the system");
        // An empty variable is none.
        assert_eq!(place("postgresql://u@h", &[("PGPORT", "")]).unwrap().to_string(), "postgresql://u@h/u");
    }

    #[test]
    fn several_hosts_and_sockets() {
        let shown = |text: &str| place(text, &[("PGUSER", "u")]).unwrap().to_string();
        assert_eq!(shown("postgresql://a:1,b,[::1]:3/d"), "postgresql://u@a:1,b,[::1]:3/d");
        assert_eq!(shown("postgresql://a,b/d?port=6"), "postgresql://u@a:6,b:6/d");
        assert_eq!(shown("postgresql:///d?host=/run/pg&port=6"), "postgresql://u@/d?host=/run/pg&port=6");
        assert_eq!(shown("postgresql:///a%2Fb?host=/x%20y"), "postgresql://u@/a%2Fb?host=/x%20y");
        for (text, words) in [
            ("postgresql://a:1,b:2?port=1,2,3", "2 hosts and 3 ports"),
            ("postgresql://a:0", "its port is \"0\""),
            ("postgresql://a:65536", "from 1 to 65535"),
            ("postgresql://a?connect_timeout=soon", "number of seconds"),
            ("postgresql://a?sslmode=maybe", "its sslmode is \"maybe\""),
            ("postgresql://a?sslmode=verify-ca", "needs sslrootcert"),
            ("postgresql://a?sslrootcert=system&sslmode=require", "must be verify-full"),
            ("postgresql://a?sslcert=x", "needed together"),
            ("postgresql://a?target_session_attrs=x", "expected any or read-write"),
        ] {
            let e = place(text, &[("PGUSER", "u")]).unwrap_err();
            assert!(
                e.contains(words) && e.starts_with("the PostgreSQL server cannot be used as a store: "),
                "{text}: {e}"
            );
        }
    }

    /// What is shown is read as the same place.
    #[test]
    fn what_is_shown_is_the_place_without_its_password() {
        for text in [
            "postgresql://us%40er:hunter2@h:6/d%3Fb?sslmode=require&options=-c%20a%3Db",
            "postgresql://u:hunter2@/d?host=/run/pg",
            "postgresql://u@h,[::1]:7/d?password=hunter2&sslmode=verify-full&sslrootcert=/a%20b",
        ] {
            let given = place(text, &[]).unwrap();
            let (shown, debugged) = (given.to_string(), format!("{given:?} {given:#?}"));
            assert!(!shown.contains("hunter2") && !debugged.contains("hunter2"), "{shown}");
            assert!(passwords(&given).iter().all(|p| *p == Some("hunter2")));
            let mut again = place(&shown, &[]).unwrap();
            again.hosts.iter_mut().for_each(|host| host.password = Some("hunter2".to_owned()));
            assert!(again == given, "{shown}");
        }
    }

    #[test]
    fn modes_of_tls_are_those_of_libpq() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let tls = |query: &str| {
            let place = place(&format!("postgresql://u@h?{query}"), &[("HOME", home)]).unwrap();
            (place.tls.map(|tls| (tls.check, tls.roots)), place.plain)
        };
        let system = TlsRoots::System;
        let file = || TlsRoots::File("/r".into());
        assert_eq!(tls("sslmode=disable"), (None, true));
        assert_eq!(tls(""), (Some((TlsCheck::Nothing, system.clone())), true));
        assert_eq!(tls("sslmode=prefer&sslrootcert=/r"), (Some((TlsCheck::Nothing, system.clone())), true));
        assert_eq!(tls("sslmode=require"), (Some((TlsCheck::Nothing, system.clone())), false));
        assert_eq!(tls("sslmode=require&sslrootcert=/r"), (Some((TlsCheck::Authority, file())), false));
        assert_eq!(tls("sslmode=verify-ca&sslrootcert=/r"), (Some((TlsCheck::Authority, file())), false));
        assert_eq!(tls("sslmode=verify-full&sslrootcert=/r"), (Some((TlsCheck::Host, file())), false));
        assert_eq!(tls("sslmode=verify-full"), (Some((TlsCheck::Host, system.clone())), false));
        assert_eq!(tls("sslrootcert=system"), (Some((TlsCheck::Host, system)), false));
        // The usual file of authorities.
        let usual = dir.path().join(".postgresql/root.crt");
        std::fs::create_dir(dir.path().join(".postgresql")).unwrap();
        std::fs::write(&usual, "").unwrap();
        assert_eq!(tls("sslmode=verify-ca"), (Some((TlsCheck::Authority, TlsRoots::File(usual.clone()))), false));
        assert_eq!(tls("sslmode=verify-full"), (Some((TlsCheck::Host, TlsRoots::File(usual)),), false));
    }

    #[test]
    fn services_and_passwords_are_in_files() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let home = dir.path().to_str().unwrap().to_owned();
        file(".pg_service.conf", "[lab]\nhost=sh\nuser=su\ndbname=sd\n[pw]\nhost=h\nuser=u\npassword=sp\n", 0o644);
        let passwords_file = file(".pgpass", "sh:5432:sd:su:fp\nlocalhost:*:*:*:socket\n", 0o600);
        let environment = [("HOME", home.as_str()), ("PGUSER", "eu"), ("PGSYSCONFDIR", home.as_str())];
        let lab = place("service=lab", &environment).unwrap();
        assert_eq!((lab.to_string().as_str(), passwords(&lab)), ("postgresql://su@sh/sd", vec![Some("fp")]));
        // What is explicit goes first, then the service, then the environment.
        let other = place("postgresql://h2/?service=lab", &environment).unwrap();
        assert_eq!((other.to_string().as_str(), passwords(&other)), ("postgresql://su@h2/sd", vec![None]));
        let by_variable = [environment.as_slice(), &[("PGSERVICE", "lab")]].concat();
        assert_eq!(place("postgresql://", &by_variable).unwrap().to_string(), "postgresql://su@sh/sd");
        assert_eq!(passwords(&place("service=pw", &environment).unwrap()), [Some("sp")]);
        let socket = place("postgresql://?host=/run/postgresql,/else&dbname=d", &environment).unwrap();
        assert_eq!(passwords(&socket), [Some("socket"), None]);
        let e = place("service=none", &environment).unwrap_err();
        assert!(e.contains("the service \"none\" is not defined in") && e.contains(".pg_service.conf"), "{e}");
        // A password of the environment goes before the file; a file that others may read is not used.
        let with_password = [environment.as_slice(), &[("PGPASSWORD", "ep")]].concat();
        assert_eq!(passwords(&place("service=lab", &with_password).unwrap()), [Some("ep")]);
        std::fs::set_permissions(&passwords_file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let warned = place("service=lab", &environment).unwrap();
        assert_eq!(passwords(&warned), [None]);
        assert!(warned.warning().unwrap().contains("others may read it"));
        let elsewhere = file("elsewhere", "*:*:*:*:x\n", 0o600);
        let by_file = [environment.as_slice(), &[("PGPASSFILE", elsewhere.as_str())]].concat();
        let used = place("service=lab", &by_file).unwrap();
        assert_eq!((passwords(&used), used.warning()), (vec![Some("x")], None));
    }

    #[test]
    fn nobody_listens() {
        let place = place("postgresql://u:hunter2@127.0.0.1:1/d?connect_timeout=5", &[]).unwrap();
        let e = place.connect().map(|_| ()).unwrap_err();
        assert!(matches!(e, StoreError::Unreachable { .. }), "{e:?}");
        let said = e.to_string();
        assert!(
            said.starts_with("cannot connect to postgresql://u@127.0.0.1:1/d: ") && !said.contains("hunter2"),
            "{said}"
        );
    }
}
