//! What only a server has: connections that break, logins, rights, TLS, and others that do the same at the same time.

use crate::backends::{Backend, Place, Server, backends, programs, server};
use crate::children::{asked_by_name, child};
use crate::data::{head, run, sample};
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::run::notes::Note;
use tarebench_core::sample::data::MetricReading;
use tarebench_lab::postgres::{PostgresPlace, PostgresStore};
use tarebench_store::{Claimant, DocumentFilter, DocumentPart, Store, StoreError};

/// A new database; `None` if there is no server here.
fn place() -> Option<Place> {
    server().map(|_| Backend::Postgres.place())
}

fn parsed(url: &str) -> PostgresPlace {
    PostgresPlace::parse(url, &|_| None).unwrap()
}

/// Ends all other connections of a database, as an administrator may.
fn terminate_others(client: &mut postgres::Client) {
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.query_one(sql, &[]).unwrap();
}

#[test]
fn many_open_a_new_database_at_once() {
    let Some(place) = place() else { return };
    std::thread::scope(|scope| {
        for n in 0..8 {
            let place = &place;
            scope.spawn(move || place.open().begin_run(&run(n)).unwrap());
        }
    });
    let numbers: BTreeSet<i64> =
        place.open().list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().iter().map(|r| r.head.number).collect();
    assert_eq!(numbers.len(), 8);
}

#[test]
fn a_connection_that_broke_while_it_was_idle_is_made_anew() {
    let Some(place) = place() else { return };
    let (mut store, mut admin) = (place.open(), place.client());
    let id = store.begin_run(&run(1)).unwrap();
    for seq in 0..3 {
        terminate_others(&mut admin);
        store.add_sample(id, &sample(seq, 2)).unwrap();
        terminate_others(&mut admin);
        assert_eq!(store.samples(id).unwrap().len(), seq as usize + 1);
    }
}

/// What was being done fails with a sentence, nothing of it stays, and the next operation works.
#[test]
fn a_connection_that_breaks_in_use_ends_one_operation() {
    let Some(place) = place() else { return };
    let (mut store, mut admin) = (place.open(), place.client());
    let id = store.begin_run(&run(1)).unwrap();
    // More than are read at once.
    let samples: Vec<_> = (0..500).map(|seq| sample(seq, 20)).collect();
    store.add_samples(id, &samples).unwrap();
    let mut visited = 0;
    let read = store.each_sample(id, &mut |_| {
        if visited == 0 {
            terminate_others(&mut admin);
        }
        visited += 1;
    });
    let e = read.unwrap_err();
    assert!(matches!(e, StoreError::Disconnected { .. }), "{e:?}");
    assert!(
        e.to_string().starts_with("cannot read the samples: the server closed the connection to the store "),
        "{e}"
    );
    assert!(visited < samples.len());
    assert_eq!(store.samples(id).unwrap(), samples);
    // While a claim asks whether another process lives, within the transaction.
    let (one, two) = (claimant(1), claimant(2));
    store.claim(Id::run(id), &one, &|_| true).unwrap();
    let admin = std::cell::RefCell::new(admin);
    let claimed = store.claim(Id::run(id), &two, &|_| {
        terminate_others(&mut admin.borrow_mut());
        false
    });
    assert!(matches!(claimed, Err(StoreError::Disconnected { .. })), "{claimed:?}");
    assert_eq!(store.claimant(Id::run(id)).unwrap(), Some(one));
}

#[test]
fn a_server_that_is_gone() {
    let Some(programs) = programs() else { return };
    let own = Server::start(&programs, "");
    let place = parsed(&own.url("postgres"));
    let mut store = PostgresStore::open(&place).unwrap();
    store.begin_run(&run(1)).unwrap();
    drop(own);
    for _ in 0..2 {
        let e = store.begin_run(&run(2)).unwrap_err();
        assert!(matches!(e, StoreError::Unreachable { .. }), "{e:?}");
        assert!(e.to_string().starts_with("cannot connect to postgresql://postgres@/postgres?host="), "{e}");
    }
    assert!(matches!(PostgresStore::open(&place), Err(StoreError::Unreachable { .. })));
}

fn claimant(pid: i32) -> Claimant {
    Claimant { pid, start: Nanos(7), boot: "b".to_owned(), host: "h".to_owned() }
}

#[test]
fn of_many_that_claim_a_run_one_gets_it() {
    let Some(place) = place() else { return };
    let id = place.open().begin_run(&run(1)).unwrap();
    for _ in 0..5 {
        let claimed = std::thread::scope(|scope| {
            let claims = (0..6).map(|pid| {
                let place = &place;
                scope.spawn(move || place.open().claim(Id::run(id), &claimant(pid), &|_| true).is_ok())
            });
            let claims: Vec<_> = claims.collect();
            claims.into_iter().map(|c| c.join().unwrap()).filter(|got| *got).count()
        });
        assert_eq!(claimed, 1);
        let mut store = place.open();
        let holder = store.claimant(Id::run(id)).unwrap().unwrap();
        store.release(Id::run(id), &holder).unwrap();
    }
}

/// What has the next number of something is added by several at once, and the same run by several at once.
#[test]
fn what_several_add_at_once_is_all_there() {
    let Some(place) = place() else { return };
    let mut store = place.open();
    let (id, of_all) = (store.begin_run(&run(1)).unwrap(), store.create_document(&head(1), &json!(1)).unwrap());
    const EACH: u32 = 12;
    let duplicates = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..5_u32)
            .map(|writer| {
                let place = &place;
                scope.spawn(move || {
                    let mut store = place.open();
                    let mut duplicates = 0;
                    for n in 0..EACH {
                        let text = format!("{writer}/{n}");
                        store.add_note(id, &Note::Text { key: "n".to_owned(), text: text.clone() }).unwrap();
                        store.append_part(of_all, &DocumentPart { doc: json!(text), blob: None }).unwrap();
                        store.create_document(&head(100 + u128::from(writer * EACH + n)), &json!(1)).unwrap();
                        // Each of these by all writers.
                        match store.begin_run(&run(1_000 + u128::from(n))) {
                            Ok(_) => {}
                            Err(StoreError::Duplicate { .. }) => duplicates += 1,
                            Err(e) => panic!("{e}"),
                        }
                        let temporary = store.begin_run(&run(5_000 + u128::from(writer))).unwrap();
                        store.remove(Id::run(temporary)).unwrap();
                    }
                    duplicates
                })
            })
            .collect();
        writers.into_iter().map(|w| w.join().unwrap()).sum::<u32>()
    });
    let all = 5 * EACH as usize;
    assert_eq!(duplicates, 4 * EACH);
    assert_eq!(store.run(id).unwrap().notes.len(), all + run(1).notes.len());
    assert_eq!(store.document(of_all).unwrap().parts.len(), all);
    assert_eq!(store.list(&DocumentFilter::default()).unwrap().len(), all + 1 + EACH as usize + 1);
    assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len(), EACH as usize + 1);
    assert_eq!(place.number("SELECT count(*) FROM host"), 1);
}

#[test]
fn other_databases_are_refused_and_left_alone() {
    let Some(server) = server() else { return };
    let tables = |place: &Place| place.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    let missing = Backend::Postgres.place();
    let e = PostgresStore::open_read_only(&missing.server_place()).unwrap_err();
    assert!(matches!(e, StoreError::Missing { .. }), "{e:?}");
    assert_eq!(tables(&missing), 0, "reading makes no store");
    let others = Backend::Postgres.place();
    others.run_sql("CREATE TABLE tag (mine text)");
    let e = PostgresStore::open(&others.server_place()).unwrap_err();
    assert!(matches!(e, StoreError::NotADatabase { .. }) && e.to_string().contains("a table tag of another"), "{e}");
    assert_eq!(tables(&others), 1);
    let e = PostgresStore::open(&parsed(&server.url("none"))).unwrap_err();
    assert!(matches!(e, StoreError::Unreachable { .. }) && e.to_string().contains("\"none\" does not exist"), "{e}");

    let newer = Backend::Postgres.place();
    let mut open = newer.open();
    let id = open.begin_run(&run(1)).unwrap();
    newer.run_sql("UPDATE tare_schema_version SET version = 99");
    let refused = [
        PostgresStore::open(&newer.server_place()).map(|_| ()),
        PostgresStore::open_read_only(&newer.server_place()).map(|_| ()),
        open.add_sample(id, &sample(0, 1)),
    ];
    for r in refused {
        assert!(matches!(r, Err(StoreError::Newer { found: 99, known: 1, .. })), "{r:?}");
    }
    newer.run_sql("UPDATE tare_schema_version SET version = 0");
    let e = PostgresStore::open_read_only(&newer.server_place()).unwrap_err();
    assert!(matches!(e, StoreError::Older { found: 0, .. }), "{e:?}");
    newer.run_sql("UPDATE tare_schema_version SET version = 1");
    assert_eq!(open.samples(id).unwrap(), []);

    let mut client = missing.client();
    client.batch_execute("CREATE DATABASE latin ENCODING LATIN1 LOCALE 'C' TEMPLATE template0").unwrap();
    let e = PostgresStore::open(&parsed(&server.url("latin"))).unwrap_err();
    assert!(e.to_string().contains("its encoding is LATIN1, expected UTF8"), "{e}");
}

/// Several stores in one database, each in its own schema.
#[test]
fn the_search_path_names_the_schema() {
    let Some(place) = place() else { return };
    place.run_sql("CREATE SCHEMA one; CREATE SCHEMA two");
    let url = |schema: &str| format!("{}&options=-csearch_path%3D{schema}", place.name.to_str().unwrap());
    let [mut one, two] = ["one", "two"].map(|schema| PostgresStore::open(&parsed(&url(schema))).unwrap());
    let id = one.begin_run(&run(1)).unwrap();
    one.add_samples(id, &[sample(0, 1), sample(2, 1)]).unwrap();
    assert_eq!(
        (
            one.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap()[0].counted,
            two.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len()
        ),
        (Some(1), 0)
    );
    let e = PostgresStore::open(&parsed(&url("three"))).unwrap_err();
    assert!(matches!(e, StoreError::NotADatabase { .. }) && e.to_string().contains("search_path"), "{e}");
}

#[test]
fn who_may_not_is_told_so() {
    let Some(server) = server() else { return };
    let place = Backend::Postgres.place();
    let mut store = place.open();
    store.begin_run(&run(1)).unwrap();
    place.run_sql("CREATE ROLE locked LOGIN PASSWORD 'hunter2'; CREATE ROLE nothing LOGIN");
    let database = place.server_place().to_string();
    let of_user = |user: &str| database.replacen("postgres@", &format!("{user}@"), 1);
    // A role without rights.
    for r in [
        PostgresStore::open(&parsed(&of_user("nothing"))).map(|_| ()),
        PostgresStore::open_read_only(&parsed(&of_user("nothing"))).map(|_| ()),
    ] {
        assert!(matches!(r, Err(StoreError::NotPermitted { .. })), "{r:?}");
    }
    place.run_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO nothing");
    let mut reader = PostgresStore::open(&parsed(&of_user("nothing"))).unwrap();
    assert_eq!(reader.run(1).unwrap().uuid, run(1).uuid);
    let e = reader.set_status(Id::run(1), Status::Finished).unwrap_err();
    assert!(matches!(e, StoreError::NotPermitted { .. }), "{e:?}");
    assert!(e.to_string().contains("lacks a permission: permission denied for table run"), "{e}");

    // A role with a password.
    place.run_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO locked");
    let login = |user: &str, environment: &[(&str, &str)]| {
        let find = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        PostgresStore::open_read_only(&PostgresPlace::parse(&of_user(user), &find).unwrap()).map(|_| ())
    };
    assert!(login("locked:hunter2", &[]).is_ok());
    assert!(login("locked", &[("PGPASSWORD", "hunter2")]).is_ok());
    let e = login("locked:wrong-one", &[]).unwrap_err();
    assert!(
        matches!(e, StoreError::LoginRefused { .. }) && e.to_string().contains("password authentication failed"),
        "{e}"
    );
    assert!(!e.to_string().contains("wrong-one"));
    let e = login("locked", &[]).unwrap_err();
    assert!(matches!(e, StoreError::LoginRefused { .. }) && e.to_string().contains("none was given"), "{e}");
    let e = login("nobody_of_this_name", &[]).unwrap_err();
    assert!(matches!(e, StoreError::LoginRefused { .. }), "{e:?}");
    // From a file; others may not read it.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pgpass");
    std::fs::write(&file, format!("{}:5432:*:locked:hunter2\n", server.folder().display())).unwrap();
    let by_file = [("PGPASSFILE", file.to_str().unwrap())];
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(login("locked", &by_file).is_ok());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let e = login("locked", &by_file).unwrap_err();
    assert!(matches!(e, StoreError::LoginRefused { .. }) && e.to_string().contains("others may read it"), "{e}");
}

#[test]
fn a_store_opened_for_reading_cannot_write() {
    let Some(place) = place() else { return };
    let id = place.open().begin_run(&run(1)).unwrap();
    let mut store = place.open_read_only();
    assert_eq!(store.run(id).unwrap().uuid, run(1).uuid);
    assert!(matches!(store.begin_run(&run(2)), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.remove(Id::run(id)), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.import(&mut r#"{"format":"tare-run"}"#.as_bytes()), Err(StoreError::ReadOnly { .. })));
    // A database that only reads, as a standby does.
    place.run_sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$");
    let mut store = place.open();
    store.set_status(Id::run(id), Status::Finished).unwrap();
}

/// A name that an index cannot hold is refused with a sentence; a long value is not a name.
#[test]
fn what_is_too_long_for_an_index_is_refused() {
    let Some(place) = place() else { return };
    let mut store = place.open();
    let long: String = (0..4_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut named = run(1);
    named.plan.tags = [(long.clone(), "v".to_owned())].into();
    let e = store.begin_run(&named).unwrap_err();
    assert!(matches!(e, StoreError::Unstorable { .. }), "{e:?}");
    named.plan.tags = [("k".to_owned(), long.clone())].into();
    named.host.name = long.clone();
    let id = store.begin_run(&named).unwrap();
    let filter = DocumentFilter { tags: named.plan.tags.clone(), ..DocumentFilter::of_kind(DocumentKind::Run) };
    assert_eq!(store.list(&filter).unwrap()[0].head.number, id);
    assert_eq!(store.run(id).unwrap().host, named.host);
}

/// Who has stored something is what the server says, whoever claims otherwise.
#[test]
fn what_is_stored_has_an_owner() {
    let Some(place) = place() else { return };
    let mut store = place.open();
    store.begin_run(&run(1)).unwrap();
    store.create_document(&head(1), &json!(1)).unwrap();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for table in ["run", "document"] {
        let row = place.client().query_one(&format!("SELECT owner, owner_machine FROM {table}"), &[]).unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("postgres", host.trim()));
    }
    let name = place.client().query_one(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tare'",
        &[],
    );
    assert!(name.unwrap().get::<_, i64>(0) >= 1);
}

/// Reads a run of 200 MB of samples.
#[test]
fn child_reads_a_long_run() {
    let Some((database, _)) = asked_by_name() else { return };
    let store = crate::backends::open(&database).unwrap();
    let (mut count, mut bytes) = (0, 0);
    store
        .each_sample(1, &mut |sample| {
            count += 1;
            bytes += sample.metrics[0].name.len();
            assert_eq!(sample.daemons.value().unwrap().list.len(), 1);
        })
        .unwrap();
    assert_eq!((count, bytes), (2_000, 200_000_000));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let (_, peak) = status.split_once("VmHWM:").unwrap();
    let kib: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kib < 64 << 10, "peak memory {kib} KiB");
}

#[test]
fn a_run_is_read_in_bounded_memory() {
    let Some(place) = place() else { return };
    let mut store = place.open();
    let id = store.begin_run(&run(1)).unwrap();
    let mut long = sample(0, 1);
    long.metrics = vec![MetricReading { name: "x".repeat(100_000), text: Reading::Value(String::new()) }];
    store.add_sample(id, &long).unwrap();
    place.run_sql(
        r#"INSERT INTO sample SELECT run_id, n, series, phase, idx, elapsed_ns, pt_ns, outcome, daemons,
                   replace(doc, '"seq":0,', '"seq":' || n || ',') FROM sample, generate_series(1, 1999) AS n;
           INSERT INTO daemon SELECT run_id, n, ordinal, pid, start_ns, name, kind, cpu_ns, tick_bound, interval_counted_ns, born, died
                   FROM daemon, generate_series(1, 1999) AS n"#,
    );
    let out = child("postgres_server::child_reads_a_long_run", &place.name, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

fn openssl(folder: &Path, arguments: &str) {
    let out = Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{arguments}: {}", String::from_utf8_lossy(&out.stderr));
}

/// A folder with an authority, another one, and a server's certificate for `localhost` and one that it has signed itself.
fn certificates() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    for name in ["ca", "other", "self"] {
        let subject =
            format!("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN={name}");
        openssl(folder, &format!("{subject} -addext subjectAltName=DNS:localhost -keyout {name}.key -out {name}.crt"));
    }
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout server.key -out server.csr";
    openssl(folder, request);
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile names -out server.crt",
    );
    dir
}

/// A server with TLS on this machine's own address, which refuses connections without it; its port.
fn with_tls(programs: &Path, certificates: &Path, name: &str) -> (Server, u16) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = tempfile::Builder::new().prefix("tare-tls-").tempdir().unwrap().keep();
    for end in ["key", "crt"] {
        let file = place.join(format!("server.{end}"));
        std::fs::copy(certificates.join(format!("{name}.{end}")), &file).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        // The user of the server, if this is root.
        let _ = std::os::unix::fs::chown(&file, Some(65534), Some(65534));
    }
    let _ = std::os::unix::fs::chown(&place, Some(65534), Some(65534));
    let settings = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\nssl_key_file = '{0}/server.key'\nssl_cert_file = '{0}/server.crt'",
        place.display()
    );
    let server = Server::start_at(programs, &settings, port);
    // It has read them.
    std::fs::remove_dir_all(&place).unwrap();
    (server, port)
}

#[test]
fn tls_is_checked_as_its_mode_says() {
    let Some(programs) = programs() else { return };
    let certificates = certificates();
    let file = |name: &str| certificates.path().join(name).to_str().unwrap().to_owned();
    let (_server, port) = with_tls(&programs, certificates.path(), "server");
    let connect = |host: &str, query: &str| {
        let url = format!("postgresql://postgres@{host}:{port}/postgres?{query}");
        let encrypted = |mut client: postgres::Client| {
            let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
            client.query_one(sql, &[]).unwrap().get::<_, bool>(0)
        };
        parsed(&url).connect().map(encrypted)
    };
    let ca = format!("sslrootcert={}", file("ca.crt"));
    for (host, query) in [
        ("localhost", String::new()),
        ("localhost", "sslmode=require".to_owned()),
        ("localhost", format!("sslmode=prefer&sslrootcert={}", file("other.crt"))),
        ("localhost", format!("sslmode=require&{ca}")),
        ("127.0.0.1", format!("sslmode=verify-ca&{ca}")),
        ("localhost", format!("sslmode=verify-full&{ca}")),
    ] {
        assert!(matches!(connect(host, &query), Ok(true)), "{host} {query}");
    }
    let other = format!("sslrootcert={}", file("other.crt"));
    for (host, query, words) in [
        ("localhost", format!("sslmode=require&{other}"), "UnknownIssuer"),
        ("localhost", format!("sslmode=verify-ca&{other}"), "UnknownIssuer"),
        ("localhost", format!("sslmode=verify-full&{other}"), "UnknownIssuer"),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), "certificate"),
        ("127.0.0.1", format!("sslmode=verify-full&{ca}"), "not valid for name"),
    ] {
        let e = connect(host, &query).unwrap_err();
        assert!(matches!(e, StoreError::Unreachable { .. } | StoreError::BadPlace { .. }), "{e:?}");
        assert!(e.to_string().contains(words), "{query}: {e}");
    }
    let e = connect("localhost", "sslmode=disable").unwrap_err();
    assert!(matches!(e, StoreError::LoginRefused { .. }), "{e:?}");
    for bad in ["none.crt", "names"] {
        let e = connect("localhost", &format!("sslmode=verify-full&sslrootcert={}", file(bad))).unwrap_err();
        assert!(matches!(e, StoreError::BadPlace { .. }) && e.to_string().contains(bad), "{e}");
    }
}

/// As a site without an authority has it: the file of trusted certificates has the server's own.
#[test]
fn a_certificate_that_a_server_has_signed_itself_may_be_trusted() {
    let Some(programs) = programs() else { return };
    let certificates = certificates();
    let (_server, port) = with_tls(&programs, certificates.path(), "self");
    let connect = |host: &str, mode: &str, file: &str| {
        let file = certificates.path().join(file);
        let query = format!("sslmode={mode}&sslrootcert={}", file.display());
        parsed(&format!("postgresql://postgres@{host}:{port}/postgres?{query}")).connect().is_ok()
    };
    assert!(connect("localhost", "verify-full", "self.crt") && connect("127.0.0.1", "verify-ca", "self.crt"));
    assert!(!connect("127.0.0.1", "verify-full", "self.crt"));
    assert!(!connect("localhost", "verify-ca", "other.crt"));
}

/// Reads all there is; says whether all of it was well.
fn read_all(store: &dyn Store) -> Result<usize, StoreError> {
    let mut samples = 0;
    for summary in store.list(&DocumentFilter::of_kind(DocumentKind::Run))? {
        store.run(summary.head.number)?;
        samples += store.samples(summary.head.number)?.len();
    }
    Ok(samples)
}

/// What SQLite's tests do to a row, as far as the types of columns let it be done.
#[test]
fn a_changed_row_on_a_server() {
    for backend in backends() {
        for sql in [
            "UPDATE sample SET doc = '{' WHERE seq = 3",
            "DELETE FROM daemon WHERE seq = 3 AND ordinal = 50",
            "UPDATE daemon SET name = '\\q' WHERE seq = 3",
            "UPDATE daemon SET pid = 1::bigint << 40 WHERE seq = 3",
            "UPDATE sample SET doc = (SELECT doc FROM sample WHERE seq = 4) WHERE seq = 3",
            "UPDATE run SET plan = '[]'",
            "ALTER TABLE run DROP CONSTRAINT run_status_check; UPDATE run SET status = 'done'",
            "ALTER TABLE host DROP CONSTRAINT host_doc; UPDATE host SET doc = ''",
            "ALTER TABLE run ALTER uuid DROP NOT NULL; UPDATE run SET uuid = NULL",
            "ALTER TABLE run ALTER created_ns TYPE text",
        ] {
            let place = backend.place();
            let mut store = place.open();
            let id = store.begin_run(&run(1)).unwrap();
            store.add_samples(id, &(0..10).map(|seq| sample(seq, 100)).collect::<Vec<_>>()).unwrap();
            place.run_sql(sql);
            let read = read_all(&*place.open());
            assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{sql}: {read:?}");
        }
        let place = backend.place();
        place.open().begin_run(&run(1)).unwrap();
        place.run_sql("DROP TABLE tag");
        let read = read_all(&*place.open());
        assert!(matches!(read, Err(StoreError::Server { .. })), "{read:?}");
    }
}
