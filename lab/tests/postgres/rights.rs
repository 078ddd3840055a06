//! What users of a lab's database cannot do.

use crate::data;
use crate::queue::{LEASE, TestLab, agent_at, campaign, machine, plan, plans, push_as};
use postgres::Client;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_lab::data::state::{LabEngine, LabTaskState};
use tarebench_lab::postgres::PostgresStore;
use tarebench_lab::server::{HeldLease, Lab, LabError, LeaseAnswer};
use tarebench_store::{DocumentFilter, Store, StoreError};

/// Each statement alone, which the server refuses for want of a right, or which changes no row.
fn refused(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        match client.simple_query(sql) {
            Err(e) => {
                let code = e.code().map(|c| c.code().to_owned()).unwrap_or_default();
                assert_eq!(code, "42501", "{sql}: {e:?}");
            }
            Ok(answers) => {
                let rows = answers.iter().map(|a| match a {
                    postgres::SimpleQueryMessage::CommandComplete(n) => *n,
                    _ => 0,
                });
                assert_eq!(rows.sum::<u64>(), 0, "{sql}");
            }
        }
    }
}

/// A lab with a task that an honest agent holds and one that it has finished, and a hostile one of the same role.
fn besieged() -> Option<(TestLab, Lab, HeldLease, Client, Lab)> {
    let lab = TestLab::new()?;
    lab.submit("c", &plans(3));
    let mut honest = lab.on("honest");
    let first = honest.take("honest", LEASE).unwrap().unwrap();
    let run = lab.push(&first, 4);
    assert_eq!(honest.finish(&first.held, &[run], None).unwrap(), LeaseAnswer::Held);
    let held = honest.take("honest", LEASE).unwrap().unwrap().held;
    let place = lab.user("mallory", "tare_agent");
    let mut mallory = agent_at(&place, "mallory");
    mallory.announce(&machine("mallory", &[])).unwrap();
    Some((lab, honest, held, place.connect().unwrap(), mallory))
}

/// A digest of all that others have, to see whether anything changed.
fn everything(lab: &TestLab) -> String {
    let sql = "SELECT md5(string_agg(t, '|' ORDER BY t)) FROM (
        SELECT x::text AS t FROM run AS x WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM sample AS x JOIN run AS r ON r.id = run_id WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM daemon AS x JOIN run AS r ON r.id = run_id WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM tag AS x JOIN run AS r ON r.id = run_id WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM run_note AS x JOIN run AS r ON r.id = run_id WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM run_counted AS x JOIN run AS r ON r.id = run_id WHERE owner NOT LIKE 'mallory%'
        UNION ALL SELECT x::text FROM lab_task AS x UNION ALL SELECT x::text FROM lab_campaign AS x
        UNION ALL SELECT x::text FROM lab_lease AS x
        UNION ALL SELECT x::text FROM lab_machine AS x WHERE owner NOT LIKE 'mallory%') AS s";
    lab.client().query_one(sql, &[]).unwrap().get(0)
}

/// What no agent may do with the queue.
const FORBIDDEN: &[&str] = &[
    "SELECT * FROM lab_lease",
    "SELECT digest FROM lab_lease",
    "SELECT count(*) FROM lab_lease",
    "SELECT * FROM lab_machine",
    "SELECT instance FROM lab_machine",
    "SELECT former FROM lab_machine",
    "TABLE lab_lease",
    "COPY lab_lease TO STDOUT",
    "UPDATE lab_task SET state = 'done'",
    "UPDATE lab_task SET runs = '{}' WHERE id = 1",
    "DELETE FROM lab_task",
    "INSERT INTO lab_campaign (uuid, name, owner, engine, created_ns, doc, toml) VALUES ('u','n','o','agents',1,'','')",
    "UPDATE lab_lease SET owner = session_user",
    "INSERT INTO lab_lease (task, digest, machine, instance, owner) VALUES (3, '\\x00', 'm', 'i', session_user)",
    "UPDATE lab_machine SET owner = session_user",
    "DELETE FROM lab_machine",
    "UPDATE lab_state SET changes = 0",
    "INSERT INTO lab_rate VALUES (1, 1)",
    "TRUNCATE lab_task",
    "DO $$ BEGIN LOCK TABLE lab_task IN ACCESS EXCLUSIVE MODE; END $$",
    "ALTER TABLE lab_task DISABLE TRIGGER ALL",
    "DROP TABLE lab_task",
    "CREATE TRIGGER t AFTER INSERT ON lab_task EXECUTE FUNCTION tare_count_samples()",
    // What only administrators, and only functions may call.
    "SELECT lab_cancel(1)",
    "SELECT lab_pause(1, true)",
    "SELECT lab_retry(1)",
    "SELECT lab_set_slurm(1, 'x')",
    "SELECT lab_slurm_state(1, 'failed', NULL, NULL)",
    "SELECT lab_forget_machine('honest')",
    "SELECT lab_submit('n','agents','','',NULL,'{}','{}','{}','{}','{}','{}','{}','{}','{}')",
    "SELECT lab_done(3, '{}', NULL, session_user)",
    "SELECT lab_grant(3, 'mallory', 'mallory', 1, 1, false)",
    "SELECT lab_expire(9000000000000000000)",
    "SELECT lab_lock_lease(2, 'x')",
    "SELECT lab_lock_machine('honest', 'x')",
    "SELECT lab_changed(1)",
    "SELECT lab_count(1, 1)",
    "SELECT lab_still_held('honest', 'x', 1)",
    "SELECT lab_task_runs('x', 'x')",
    "SELECT lab_is_admin()",
    // No way round the functions, and none into them.
    "ALTER FUNCTION lab_now() SECURITY INVOKER",
    "CREATE FUNCTION public.lab_changed(integer) RETURNS void LANGUAGE sql AS 'SELECT'",
    "CREATE TABLE lab_other (x integer)",
    "GRANT tare_admin TO CURRENT_USER",
    "SET ROLE tare_admin",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE postgres",
];

#[test]
fn an_agent_reads_no_secret_and_changes_no_queue() {
    let Some((lab, mut honest, held, mut sql, mut mallory)) = besieged() else { return };
    let before = everything(&lab);
    refused(&mut sql, FORBIDDEN);
    assert_eq!(everything(&lab), before);
    // All that it may see holds no secret.
    let seen = ["lab_task", "lab_campaign", "lab_state", "lab_rate"].map(|table| {
        let rows = sql.query(&format!("SELECT x::text FROM {table} AS x"), &[]).unwrap();
        rows.iter().map(|r| r.get::<_, String>(0)).collect::<String>()
    });
    assert!(!seen.concat().contains(&held.secret));
    // What it guesses does not help: secrets of others, empty ones, its own for others' tasks.
    let mine = mallory.take("mallory", LEASE).unwrap().unwrap().held;
    let before = everything(&lab);
    for secret in ["", "0", &held.secret, &mine.secret, &"0".repeat(32)] {
        let guess = HeldLease { task: held.task, secret: secret.to_owned() };
        let waiting = HeldLease { task: 1, secret: secret.to_owned() };
        for lease in [&guess, &waiting] {
            assert_eq!(mallory.heartbeat(lease, LEASE, None).unwrap(), LeaseAnswer::Lost);
            assert_eq!(mallory.finish(lease, &[data::uuid(1)], None).unwrap(), LeaseAnswer::Lost);
            assert_eq!(mallory.fail(lease, "").unwrap(), LeaseAnswer::Lost);
            assert_eq!(mallory.give_back(lease).unwrap(), LeaseAnswer::Lost);
        }
    }
    assert!(matches!(mallory.take("honest", LEASE), Err(LabError::NotYours { .. })));
    assert_eq!(mallory.take_task(held.task, "mallory", LEASE).unwrap(), None);
    for denied in [
        mallory.submit(&campaign("m"), LabEngine::Agents, "", &plans(1), None).map(|_| ()),
        mallory.cancel(1).map(|_| ()),
        mallory.retry(1).map(|_| ()),
        mallory.pause(1, true),
    ] {
        assert!(matches!(denied, Err(LabError::Store(StoreError::NotPermitted { .. }))), "{denied:?}");
    }
    assert_eq!(everything(&lab), before);
    assert_eq!(honest.heartbeat(&held, LEASE, None).unwrap(), LeaseAnswer::Held);
}

#[test]
fn a_task_is_not_finished_with_the_runs_of_others() {
    let Some((lab, _, _, _, mut mallory)) = besieged() else { return };
    let task = mallory.take("mallory", LEASE).unwrap().unwrap();
    // The honest agent's run, and one that the honest agent has of the same task.
    let other = lab.task(1).runs;
    assert!(matches!(mallory.finish(&task.held, &other, None), Err(LabError::RunsMissing { .. })));
    let theirs = [lab.push(&task, 3)];
    assert!(matches!(mallory.finish(&task.held, &theirs, None), Err(LabError::RunsMissing { .. })));
    // Runs that anyone has tagged do not become the results of others' tasks.
    push_as(&lab.user("stranger", "tare_agent"), &HeldTask(2).leased(&lab), 3);
    let done = lab.admin().slurm_state(2, LabTaskState::Done, None, None);
    assert!(matches!(done, Err(LabError::RunsMissing { .. })), "{done:?}");
}

/// A task by its number, as if it were held.
struct HeldTask(i64);

impl HeldTask {
    fn leased(&self, lab: &TestLab) -> tarebench_lab::server::LeasedTask {
        tarebench_lab::server::LeasedTask {
            held: HeldLease { task: self.0, secret: String::new() },
            plan: lab.admin().task_plan(self.0).unwrap(),
            campaign: String::new(),
            attempt: 1,
            ends: tarebench_core::base::units::Nanos(0),
        }
    }
}

#[test]
fn an_agent_changes_nothing_that_others_have_stored() {
    let Some((lab, _, _, mut sql, _)) = besieged() else { return };
    let before = everything(&lab);
    refused(
        &mut sql,
        &[
            "UPDATE sample SET elapsed_ns = 1",
            "DELETE FROM sample",
            "DELETE FROM run",
            "DELETE FROM daemon",
            "UPDATE run SET status = 'unfinished'",
            "UPDATE run SET plan = '{}'",
            "UPDATE run SET owner = session_user",
            "UPDATE run SET uuid = 'x'",
            "UPDATE run SET rest = '{}'",
            "UPDATE run_counted SET counted = 0",
            "INSERT INTO run_counted VALUES (1, 7)",
            "TRUNCATE run CASCADE",
            "INSERT INTO sample SELECT run_id, 99, series, phase, idx, 1, 1, outcome, daemons, doc FROM sample LIMIT 1",
            "INSERT INTO daemon SELECT run_id, seq, 99, pid, start_ns, name, kind, cpu_ns, tick_bound, NULL, born, died FROM daemon LIMIT 1",
            "INSERT INTO tag SELECT id, 'a', 'b' FROM run LIMIT 1",
            "INSERT INTO run_note SELECT id, 99, 'text', '{}' FROM run LIMIT 1",
            "INSERT INTO recording SELECT id, 99, '{}' FROM run LIMIT 1",
            "INSERT INTO duet SELECT id, 99, 0, 1, 0, NULL, NULL, '{}' FROM run LIMIT 1",
            "INSERT INTO claim SELECT id, 1, 1, 'b', 'h' FROM run LIMIT 1",
            "INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest, owner)
                SELECT 'x', 1, 'finished', 't', host_id, plan, rest, owner FROM run LIMIT 1",
            "UPDATE tag SET value = 'x'",
            "UPDATE host SET name = 'x'",
            "DELETE FROM host",
            "INSERT INTO host (name, machine, doc) SELECT 'evil', machine, replace(doc, '6.1.0', '6.2.0') FROM host LIMIT 1",
            "INSERT INTO level_history VALUES ('m', 'f', 1, 1, '{}')",
            "DELETE FROM quiet_coefficients",
            "UPDATE tare_schema_version SET version = 99",
            "ALTER TABLE run DISABLE ROW LEVEL SECURITY",
            "DROP POLICY lab_read ON run",
            "ALTER TABLE run OWNER TO CURRENT_USER",
        ],
    );
    // The function that counts samples believes the table that it is a trigger of.
    refused(
        &mut sql,
        &[
            "CREATE TEMP TABLE fake (run_id bigint, phase text)",
            "CREATE TRIGGER t AFTER INSERT ON pg_temp.fake REFERENCING NEW TABLE AS added
                FOR EACH STATEMENT EXECUTE FUNCTION tare_count_samples()",
        ],
    );
    assert_eq!(everything(&lab), before);
}

#[test]
fn tables_of_an_own_session_do_not_take_the_place_of_the_queues() {
    let Some((lab, mut honest, held, mut sql, _)) = besieged() else { return };
    let before = everything(&lab);
    let digest = "sha256(convert_to('guess', 'UTF8'))";
    sql.batch_execute(&format!(
        "CREATE TEMP TABLE lab_lease (task bigint, digest bytea, machine text, instance text, owner text, outcome text);
         INSERT INTO pg_temp.lab_lease SELECT {}, {digest}, 'mallory', 'i', session_user, NULL;
         CREATE TEMP TABLE run (id bigint, uuid text, status text, owner text);
         INSERT INTO pg_temp.run VALUES (1, 'u', 'finished', session_user);
         CREATE TEMP TABLE tag (run_id bigint, key text, value text);
         INSERT INTO pg_temp.tag SELECT 1, 'lab.task', uuid FROM lab_task WHERE id = {};
         CREATE TEMP TABLE lab_task AS SELECT * FROM public.lab_task;
         CREATE TEMP TABLE lab_state (version integer, changes bigint, failures bigint);
         CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT ''\\x00''::bytea';
         CREATE FUNCTION pg_temp.lab_is_admin() RETURNS boolean LANGUAGE sql AS 'SELECT true';
         SET search_path = pg_temp, public",
        held.task, held.task
    ))
    .unwrap();
    let finish = format!("SELECT public.lab_finish({}, 'guess', '{{u}}', NULL)", held.task);
    let said: String = sql.query_one(&finish, &[]).unwrap().get(0);
    assert_eq!(said, "lost");
    let cancel = sql.query_one("SELECT public.lab_cancel(1)", &[]).unwrap_err();
    assert_eq!(cancel.code().unwrap().code(), "42501");
    assert_eq!(everything(&lab), before);
    assert_eq!(honest.heartbeat(&held, LEASE, None).unwrap(), LeaseAnswer::Held);
}

#[test]
fn every_function_has_a_search_path_and_none_is_open_to_all() {
    let Some(lab) = TestLab::new() else { return };
    let own = "FROM pg_proc AS p WHERE p.pronamespace = 'public'::regnamespace
               AND (p.proname LIKE 'lab\\_%' OR p.proname LIKE 'tare\\_%')";
    assert!(lab.number(&format!("SELECT count(*) {own}")) > 25);
    let open = "has_function_privilege('public', p.oid, 'EXECUTE')";
    assert_eq!(lab.number(&format!("SELECT count(*) {own} AND {open}")), 0);
    // pg_temp is searched last only where it is named.
    let fixed = "array_to_string(p.proconfig, ' ') ~ 'search_path=.*, pg_temp$'";
    assert_eq!(lab.number(&format!("SELECT count(*) {own} AND {fixed} IS NOT TRUE")), 0);
    let tables = "FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                  AND c.relname NOT LIKE 'lab\\_%' AND c.relname <> 'tare_schema_version'";
    assert!(lab.number(&format!("SELECT count(*) {tables}")) >= 16);
    assert_eq!(lab.number(&format!("SELECT count(*) {tables} AND NOT c.relrowsecurity")), 0, "a table was forgotten");
    assert_eq!(lab.number(&format!("SELECT count(*) {tables} AND has_table_privilege('public', c.oid, 'SELECT')")), 0);
}

#[test]
fn an_agent_stores_what_is_its_own() {
    let Some(lab) = TestLab::new() else { return };
    let place = lab.user("agent", "tare_agent");
    let mut store = PostgresStore::open(&place).unwrap();
    let id = store.begin_run(&data::run(1)).unwrap();
    store.add_sample(id, &data::sample(0, 3)).unwrap();
    store.add_note(id, &data::run(1).notes[0]).unwrap();
    store.set_run_count(id, tarebench_core::run::plan::RunCount::Fixed(9)).unwrap();
    store.set_status(Id::run(id), Status::Interrupted).unwrap();
    store.set_status(Id::run(id), Status::Finished).unwrap();
    // What is finished stays so.
    assert!(store.set_status(Id::run(id), Status::Unfinished).is_err());
    assert!(store.remove(Id::run(id)).is_err());
    assert_eq!(store.run(id).unwrap().status, Status::Finished);
    // Its machine was described before; another description that says another name was refused above.
    store.begin_run(&data::run(2)).unwrap();
    let doc = serde_doc();
    let number = store.create_document(&data::head(5), &doc).unwrap();
    store.append_part(number, &tarebench_store::DocumentPart { doc: doc.clone(), blob: Some(vec![0, 255]) }).unwrap();
    store.set_document(number, Status::Finished, &doc).unwrap();
    assert_eq!((number.number, store.create_document(&data::head(6), &doc).unwrap().number), (1, 2));
    let mut archive = Vec::new();
    store.export(number, &mut archive).unwrap().unwrap();

    let mut other = PostgresStore::open(&lab.user("other", "tare_agent")).unwrap();
    assert_eq!(other.create_document(&data::head(7), &doc).unwrap().number, 3);
    assert!(other.append_part(number, &tarebench_store::DocumentPart { doc: doc.clone(), blob: None }).is_err());
    assert!(other.add_sample(id, &data::sample(1, 0)).is_err());
    assert!(other.add_sample(id, &data::sample(1, 3)).is_err());
    assert!(other.set_status(Id::run(2), Status::Finished).is_err());
    assert_eq!(other.samples(id).unwrap(), [data::sample(0, 3)]);
    let mut sql = place.connect().unwrap();
    refused(
        &mut sql,
        &[
            "UPDATE document_number SET last = 7",
            "UPDATE document_number SET last = last + 2",
            "INSERT INTO document_number VALUES ('noise', 5)",
            "DELETE FROM document_number",
            "DELETE FROM document",
            "UPDATE document_part SET doc = '{}'",
            "INSERT INTO document_claim VALUES ('bench', 1, 1, 1, 'b', 'h')",
        ],
    );
    // A file is imported by whoever may store.
    let mut text = Vec::new();
    store.export(Id::run(id), &mut text).unwrap().unwrap();
    let text = String::from_utf8(text).unwrap().replace(&data::run(1).uuid, &data::uuid(99));
    let again = other.import(&mut text.as_bytes()).unwrap().number;
    assert_eq!(other.samples(again).unwrap().len(), 1);
}

fn serde_doc() -> serde_json::Value {
    tarebench_store::content(&data::bench()).unwrap()
}

#[test]
fn a_reader_reads_and_an_administrator_manages() {
    let Some((lab, _, _, _, _)) = besieged() else { return };
    let place = lab.user("reader", "tare_reader");
    let mut reader = Lab::connect(&place).unwrap();
    assert_eq!(reader.campaigns().unwrap().len(), 1);
    assert_eq!((reader.tasks(1).unwrap().len(), reader.machines().unwrap().len()), (3, 2));
    assert!(reader.metrics().unwrap().queue > 0);
    reader.wait_for_change(0, std::time::Duration::ZERO).unwrap();
    let store = PostgresStore::open_read_only(&place).unwrap();
    assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len(), 1);
    assert_eq!((store.samples(1).unwrap().len(), store.profiles().unwrap().len()), (4, 0));
    for denied in [
        reader.announce(&machine("r", &[])),
        reader.take("honest", LEASE).map(|_| ()),
        reader.cancel(1).map(|_| ()),
        reader.drain("honest", true),
    ] {
        assert!(matches!(denied, Err(LabError::Store(StoreError::NotPermitted { .. }))), "{denied:?}");
    }
    let mut sql = place.connect().unwrap();
    refused(
        &mut sql,
        &["SELECT * FROM lab_lease", "INSERT INTO tag VALUES (1, 'a', 'b')", "UPDATE run SET status = 'unfinished'"],
    );
    assert!(PostgresStore::open(&place).unwrap().begin_run(&data::run(3)).is_err());
    // Nobody without a role sees anything.
    let mut nobody = lab.user("nobody", "pg_monitor").connect().unwrap();
    refused(&mut nobody, &["SELECT * FROM run", "SELECT * FROM lab_task", "SELECT lab_now()"]);

    let place = lab.user("admin", "tare_admin");
    let mut store = PostgresStore::open(&place).unwrap();
    store.set_status(Id::run(1), Status::Unfinished).unwrap();
    store.remove(Id::run(1)).unwrap();
    assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap(), []);
    let mut admin = lab.admin();
    admin.submit(&campaign("d"), LabEngine::Agents, "", &[plan(0)], None).unwrap();
    assert_eq!(admin.cancel(2).unwrap(), 1);
    refused(&mut place.connect().unwrap(), &["SELECT * FROM lab_lease", "DELETE FROM lab_task", "DROP TABLE lab_task"]);
}
