//! The queue of a lab, as agents and administrators use it.

use crate::backends::{Server, server};
use crate::data;

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::run::data::Run;
use tarebench_lab::data::campaign::{Campaign, CampaignNeeds, CampaignProgram, CampaignRepeat, MachineChoice};
use tarebench_lab::data::state::{
    CampaignState, CampaignSummary, LabEngine, LabMachine, LabMachineState, LabProgress, LabTask, LabTaskState,
};
use tarebench_lab::data::tasks::LabTaskPlan;
use tarebench_lab::postgres::{PostgresPlace, PostgresStore};
use tarebench_lab::server::{Lab, LabError, LabInitStep, LeaseAnswer, LeasedTask, ROLES};
use tarebench_store::copy::{Pushed, push};
use tarebench_store::{DocumentFilter, SqliteStore, Store};

/// Long enough for any test.
pub const LEASE: Nanos = Nanos::from_millis(600_000);
/// So short that it has ended after [`past_it`].
pub const SHORT: Nanos = Nanos::from_millis(60);

pub fn past_it() {
    sleep(Duration::from_millis(90));
}

/// A lab of its own.
pub struct TestLab {
    url: String,
    /// Name of its database.
    name: String,
}

impl TestLab {
    /// `None` if there is no server here.
    pub fn new() -> Option<TestLab> {
        let lab = TestLab::without_queue()?;
        Lab::init(&lab.place()).unwrap();
        Some(lab)
    }

    pub fn without_queue() -> Option<TestLab> {
        Some(TestLab::at(server()?.database()))
    }

    /// On a server of its own.
    pub fn on_server(server: &Server) -> TestLab {
        let lab = TestLab::at(server.database());
        Lab::init(&lab.place()).unwrap();
        lab
    }

    fn at(url: String) -> TestLab {
        let name = url.split('/').nth(3).unwrap().split('?').next().unwrap().to_owned();
        TestLab { url, name }
    }

    /// Its database.
    pub fn database(&self) -> &str {
        &self.name
    }

    pub fn place(&self) -> PostgresPlace {
        PostgresPlace::parse(&self.url, &|_| None).unwrap()
    }

    /// A user of this database in a role, made at the first call.
    pub fn user(&self, name: &str, role: &str) -> PostgresPlace {
        let user = self.user_name(name);
        let made = format!(
            "DO $$ BEGIN CREATE ROLE {user} LOGIN; GRANT {role} TO {user};
             EXCEPTION WHEN duplicate_object THEN END $$"
        );
        self.client().batch_execute(&made).unwrap();
        self.place_of(&user)
    }

    pub fn user_name(&self, name: &str) -> String {
        format!("{name}_{}", self.name)
    }

    fn place_of(&self, user: &str) -> PostgresPlace {
        let url = self.url.replacen("postgres@", &format!("{user}@"), 1);
        PostgresPlace::parse(&url, &|_| None).unwrap()
    }

    /// An administrator's connection.
    pub fn admin(&self) -> Lab {
        Lab::connect(&self.user("admin", "tare_admin")).unwrap()
    }

    /// An agent's connection, under the name of its process.
    pub fn agent(&self, instance: &str) -> Lab {
        agent_at(&self.user("agent", "tare_agent"), instance)
    }

    /// An agent that has announced its machine.
    pub fn on(&self, name: &str) -> Lab {
        let mut lab = self.agent(&format!("{name} 1"));
        lab.announce(&machine(name, &[])).unwrap();
        lab
    }

    /// A connection beside the lab, of the owner of everything.
    pub fn client(&self) -> postgres::Client {
        self.place().connect().unwrap()
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.client().query_one(sql, &[]).unwrap().get(0)
    }

    /// Pushes a finished run of a task, as the agent; returns its uuid.
    pub fn push(&self, task: &LeasedTask, samples: u32) -> String {
        push_as(&self.user("agent", "tare_agent"), task, samples)
    }

    pub fn task(&self, id: i64) -> LabTask {
        self.admin().find_task(&id.to_string()).unwrap()
    }

    /// Submits a campaign with these tasks.
    pub fn submit(&self, name: &str, tasks: &[LabTaskPlan]) -> CampaignSummary {
        self.admin().submit(&campaign(name), LabEngine::Agents, "name = \"x\"", tasks, None).unwrap()
    }
}

pub fn agent_at(place: &PostgresPlace, instance: &str) -> Lab {
    let mut lab = Lab::connect(place).unwrap();
    lab.set_instance(instance);
    lab
}

pub fn push_as(place: &PostgresPlace, task: &LeasedTask, samples: u32) -> String {
    let local = local_run(task, samples, Status::Finished);
    let mut store = PostgresStore::open(place).unwrap();
    push(&local, Id::run(1), &mut store, &mut |_| {}).unwrap();
    local.run(1).unwrap().uuid
}

/// A local store with a run of a task; each attempt has another one.
pub fn local_run(task: &LeasedTask, samples: u32, status: Status) -> SqliteStore {
    let mut store = SqliteStore::in_memory().unwrap();
    let mut run = data::run(u128::from_str_radix(&task.plan.uuid, 16).unwrap() + u128::from(task.attempt));
    run.plan.tags.insert("lab.task".to_owned(), task.plan.uuid.clone());
    let id = store.begin_run(&run).unwrap();
    for seq in 0..samples {
        store.add_sample(id, &data::sample(seq, 2)).unwrap();
    }
    store.set_status(Id::run(id), status).unwrap();
    store
}

pub fn campaign(name: &str) -> Campaign {
    Campaign {
        name: name.to_owned(),
        programs: vec![CampaignProgram { command: "true".to_owned(), ..CampaignProgram::default() }],
        parameters: BTreeMap::new(),
        options: Vec::new(),
        tags: BTreeMap::new(),
        machines: MachineChoice::All,
        repeat: CampaignRepeat::Once,
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 0,
    }
}

/// Each plan has another uuid.
pub fn plan(ordinal: u32) -> LabTaskPlan {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    LabTaskPlan {
        uuid: data::uuid(u128::from(n) << 64),
        ordinal,
        // Otherwise one machine takes one of them only.
        repetition: ordinal,
        not_before: Nanos(0),
        machine: None,
        fits: MachineChoice::All,
        arguments: vec!["--".to_owned(), "true".to_owned(), "\u{1}é".to_owned()],
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 0,
        tags: BTreeMap::new(),
    }
}

pub fn plans(count: u32) -> Vec<LabTaskPlan> {
    (0..count).map(plan).collect()
}

pub fn machine(name: &str, tags: &[(&str, &str)]) -> LabMachine {
    LabMachine {
        name: name.to_owned(),
        owner: "somebody else".to_owned(),
        tags: tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        machine: "0123456789abcdef".to_owned(),
        fingerprint: "f".to_owned(),
        host: data::run(1).host,
        factors: data::run(1).factors,
        version: "0.1.0".to_owned(),
        state: LabMachineState::Idle,
        load: Some(0.25),
        first_seen: Nanos(-1),
        heartbeat: Nanos(i64::MAX),
        task: Some(-3),
        draining: true,
    }
}

fn number_of(task: &Option<LeasedTask>) -> Option<u32> {
    task.as_ref().map(|t| t.plan.ordinal)
}

#[test]
fn a_lab_is_made_once() {
    let Some(lab) = TestLab::without_queue() else { return };
    assert!(matches!(Lab::connect(&lab.place()), Err(LabError::NotALab { .. })));
    let first = Lab::init(&lab.place()).unwrap();
    assert_eq!((first.store, first.queue), (LabInitStep::Created, LabInitStep::Created));
    assert!(first.roles.iter().all(|role| ROLES.contains(role)));
    let submitted = lab.submit("c", &plans(2));
    let again = Lab::init(&lab.place()).unwrap();
    assert_eq!((again.store, again.queue, again.roles.len()), (LabInitStep::Current, LabInitStep::Current, 0));
    assert_eq!(again.schema, first.schema);
    // Nothing was lost, and what was given before still holds.
    assert_eq!(lab.admin().campaigns().unwrap(), [submitted]);
    // A store that was there before keeps what it has.
    let old = TestLab::without_queue().unwrap();
    PostgresStore::open(&old.place()).unwrap().begin_run(&data::run(1)).unwrap();
    assert_eq!(Lab::init(&old.place()).unwrap().store, LabInitStep::Current);
    assert_eq!(
        PostgresStore::open(&old.place()).unwrap().list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len(),
        1
    );
    // A later version is not touched.
    lab.client().batch_execute("UPDATE lab_state SET version = 99").unwrap();
    assert!(matches!(Lab::connect(&lab.place()), Err(LabError::Version { found: 99, known: 1, .. })));
    assert!(matches!(Lab::init(&lab.place()), Err(LabError::Version { found: 99, .. })));
}

#[test]
fn a_lab_is_made_by_several_at_once() {
    let Some(lab) = TestLab::without_queue() else { return };
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| Lab::init(&lab.place()).unwrap().queue)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|step| **step == LabInitStep::Created).count(), 1, "{made:?}");
}

#[test]
fn a_schema_that_is_open_to_all_is_refused() {
    let Some(lab) = TestLab::without_queue() else { return };
    let owner = lab.user_name("owner");
    let database = lab.database();
    lab.client()
        .batch_execute(&format!(
            "CREATE ROLE {owner} LOGIN CREATEROLE; GRANT CREATE ON DATABASE {database} TO {owner};
             GRANT CREATE ON SCHEMA public TO PUBLIC"
        ))
        .unwrap();
    // The owner of the tables is not that of the schema, and so cannot close it.
    let e = Lab::init(&lab.place_of(&owner)).unwrap_err();
    assert!(matches!(&e, LabError::OpenSchema { schema, .. } if schema == "public"), "{e}");
    lab.client().batch_execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC").unwrap();
    lab.client().batch_execute(&format!("GRANT CREATE ON SCHEMA public TO {owner}")).unwrap();
    Lab::init(&lab.place_of(&owner)).unwrap();
}

#[test]
fn a_campaign_is_submitted_once_and_found() {
    let Some(lab) = TestLab::new() else { return };
    let mut admin = lab.admin();
    let tasks = plans(3);
    let folder = Some("/shared/it's");
    let first = admin.submit(&campaign("night"), LabEngine::Agents, "toml é", &tasks, folder).unwrap();
    // The answer was lost.
    assert_eq!(admin.submit(&campaign("night"), LabEngine::Agents, "toml é", &tasks, folder).unwrap(), first);
    assert_eq!((first.tasks, first.waiting, first.samples, first.state), (3, 3, 0, CampaignState::Queued));
    assert_eq!((first.owner.as_str(), first.engine), (lab.user_name("admin").as_str(), LabEngine::Agents));
    let all = admin.tasks(first.id).unwrap();
    assert_eq!(
        all.iter().map(|t| (t.ordinal, t.state)).collect::<Vec<_>>(),
        [0, 1, 2].map(|n| (n, LabTaskState::Waiting))
    );
    assert_eq!(admin.task_plan(all[1].id).unwrap(), tasks[1]);
    assert_eq!(admin.find_task(&tasks[2].uuid).unwrap(), all[2]);
    let (read, toml, there) = admin.campaign(first.id).unwrap();
    assert_eq!((read, toml.as_str(), there.as_deref()), (campaign("night"), "toml é", folder));

    let other = vec![plan(0), tasks[0].clone()];
    let refused = admin.submit(&campaign("other"), LabEngine::Agents, "", &other, None);
    assert!(matches!(refused, Err(LabError::TaskElsewhere { .. })), "{refused:?}");
    let refused = admin.submit(&campaign("night"), LabEngine::Agents, "", &other, None);
    assert!(matches!(refused, Err(LabError::TaskElsewhere { .. })), "{refused:?}");
    let refused = admin.submit(&campaign("none"), LabEngine::Agents, "", &[], None);
    assert!(matches!(refused, Err(LabError::NoTasks { .. })), "{refused:?}");
    assert_eq!(admin.campaigns().unwrap(), std::slice::from_ref(&first));

    let second = admin.submit(&campaign("night"), LabEngine::Slurm, "", &plans(1), None).unwrap();
    assert_eq!(second.engine, LabEngine::Slurm);
    assert_eq!(admin.campaigns().unwrap(), [second.clone(), first.clone()]);
    for (text, expected) in [
        (first.id.to_string(), &first),
        ("night".to_owned(), &second),
        (first.uuid.clone(), &first),
        (first.uuid[..8].to_uppercase(), &first),
    ] {
        assert_eq!(admin.find_campaign(&text).unwrap(), *expected, "{text}");
    }
    for text in ["", "nigh", "9999", "ffffffffffffffffffffffffffffffff0", "%", "a\0b", "'"] {
        let found = admin.find_campaign(text);
        assert!(matches!(found, Err(LabError::NoSuchCampaign { .. })), "{text:?}: {found:?}");
    }
    assert!(matches!(admin.tasks(999), Err(LabError::NoSuchCampaign { .. })));
    assert!(matches!(admin.task_plan(999), Err(LabError::NoSuchTask { .. })));
    assert!(matches!(admin.cancel(999), Err(LabError::NoSuchCampaign { .. })));
}

#[test]
fn a_machine_holds_one_task_and_asks_again_for_it() {
    let Some(lab) = TestLab::new() else { return };
    let tasks = plans(3);
    let campaign = lab.submit("c", &tasks);
    let mut a = lab.on("a");
    let first = a.take("a", LEASE).unwrap().unwrap();
    assert_eq!((first.plan.clone(), first.attempt, first.campaign.as_str()), (tasks[0].clone(), 1, "c"));
    // The answer was lost: the same task, not a second one, and no other attempt.
    let again = a.take("a", LEASE).unwrap().unwrap();
    assert_eq!((again.held.task, again.attempt), (first.held.task, 1));
    assert_ne!(again.held.secret, first.held.secret);
    assert_eq!(a.heartbeat(&first.held, LEASE, None).unwrap(), LeaseAnswer::Lost);
    assert_eq!(a.heartbeat(&again.held, LEASE, None).unwrap(), LeaseAnswer::Held);
    // By its number, it gets no second one either.
    let second = lab.admin().tasks(campaign.id).unwrap()[1].id;
    assert_eq!(a.take_task(second, "a", LEASE).unwrap(), None);
    assert_eq!(a.take_task(first.held.task, "a", LEASE).unwrap().unwrap().attempt, 1);
    let summary = lab.admin().summary(campaign.id).unwrap();
    assert_eq!((summary.state, summary.leased, summary.waiting), (CampaignState::Running, 1, 2));
    // Another machine gets the next one.
    assert_eq!(number_of(&lab.on("b").take("b", LEASE).unwrap()), Some(1));
    let secrets = lab.number("SELECT count(*) FROM lab_lease WHERE length(digest) = 32");
    assert_eq!(secrets, 2);
}

#[test]
fn a_task_is_done_when_its_runs_are_in_the_store() {
    let Some(lab) = TestLab::new() else { return };
    let campaign = lab.submit("c", &plans(1));
    let mut a = lab.on("a");
    let task = a.take("a", LEASE).unwrap().unwrap();
    let missing = |r: Result<LeaseAnswer, LabError>, n: usize| match r {
        Err(LabError::RunsMissing { task: 1, runs }) => assert_eq!(runs.len(), n),
        other => panic!("{other:?}"),
    };
    missing(a.finish(&task.held, &[], None), 0);
    let progress = LabProgress { done: 3, wanted: Some(8) };
    assert_eq!(a.heartbeat(&task.held, LEASE, Some(progress)).unwrap(), LeaseAnswer::Held);
    assert_eq!((lab.task(1).progress, lab.admin().summary(1).unwrap().samples), (Some(progress), 3));
    missing(a.finish(&task.held, &[data::uuid(7)], None), 1);
    // Pushed, but not finished.
    let mut store = PostgresStore::open(&lab.user("agent", "tare_agent")).unwrap();
    let mut local = local_run(&task, 5, Status::Unfinished);
    let runs = [local.run(1).unwrap().uuid];
    assert_eq!(push(&local, Id::run(1), &mut store, &mut |_| {}).unwrap().1, Pushed::New { samples: 5 });
    missing(a.finish(&task.held, &runs, None), 1);
    // A run of another task does not count.
    store.begin_run(&Run { status: Status::Finished, ..data::run(9) }).unwrap();
    missing(a.finish(&task.held, &[runs[0].clone(), data::uuid(9)], None), 2);
    for seq in 5..8 {
        local.add_sample(1, &data::sample(seq, 0)).unwrap();
    }
    local.set_status(Id::run(1), Status::Finished).unwrap();
    assert_eq!(push(&local, Id::run(1), &mut store, &mut |_| {}).unwrap().1, Pushed::Added { samples: 3 });
    assert_eq!(a.finish(&task.held, &runs, Some(true)).unwrap(), LeaseAnswer::Held);
    let done = lab.task(1);
    assert_eq!((done.state, &done.runs[..], done.exclusive), (LabTaskState::Done, &runs[..], Some(true)));
    // Two of the eight are warm-ups.
    assert_eq!(done.progress.unwrap().done, 6);
    // The answer was lost.
    for _ in 0..2 {
        assert_eq!(a.finish(&task.held, &runs, None).unwrap(), LeaseAnswer::Held);
        assert_eq!(a.fail(&task.held, "?").unwrap(), LeaseAnswer::Held);
        assert_eq!(a.give_back(&task.held).unwrap(), LeaseAnswer::Held);
        assert_eq!(a.heartbeat(&task.held, LEASE, None).unwrap(), LeaseAnswer::Held);
    }
    assert_eq!(lab.task(1), done);
    let end = lab.admin().summary(campaign.id).unwrap();
    assert_eq!((end.state, end.done, end.samples), (CampaignState::Finished, 1, 6));
    assert_eq!(a.take("a", LEASE).unwrap(), None);
}

#[test]
fn a_task_that_fails_is_tried_again_as_often_as_it_may() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[LabTaskPlan { retries: 2, ..plan(0) }]);
    let mut a = lab.on("a");
    for attempt in 1..=3 {
        let task = a.take("a", LEASE).unwrap().unwrap();
        assert_eq!(task.attempt, attempt);
        assert_eq!(a.fail(&task.held, &format!("no file {attempt} \0")).unwrap(), LeaseAnswer::Held);
        // The answer was lost; nobody else has taken it.
        assert_eq!(a.fail(&task.held, "again").unwrap(), LeaseAnswer::Held);
        let said = lab.task(1).message.unwrap();
        assert_eq!(said, format!("no file {attempt} \u{fffd}"));
        assert_eq!(a.heartbeat(&task.held, LEASE, None).unwrap(), LeaseAnswer::Lost);
    }
    assert_eq!(a.take("a", LEASE).unwrap(), None);
    let failed = lab.task(1);
    assert_eq!((failed.state, failed.attempts), (LabTaskState::Failed, 3));
    assert_eq!(lab.admin().summary(1).unwrap().state, CampaignState::Finished);
    assert_eq!(lab.admin().metrics().unwrap().failures, 3);
    // As if it had never been tried.
    assert_eq!(lab.admin().retry(1).unwrap(), 1);
    assert_eq!(lab.admin().retry(1).unwrap(), 0);
    assert_eq!(a.take("a", LEASE).unwrap().unwrap().attempt, 1);
}

#[test]
fn a_task_that_is_given_back_has_lost_no_attempt_and_returns_to_its_machine() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &plans(3));
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    let (_, second) = (a.take("a", LEASE).unwrap().unwrap(), b.take("b", LEASE).unwrap().unwrap());
    assert_eq!(second.plan.ordinal, 1);
    for _ in 0..2 {
        assert_eq!(b.give_back(&second.held).unwrap(), LeaseAnswer::Held);
    }
    assert_eq!(b.heartbeat(&second.held, LEASE, None).unwrap(), LeaseAnswer::Lost);
    assert_eq!((lab.task(2).state, lab.task(2).attempts), (LabTaskState::Waiting, 0));
    // The first one is older, but b has begun the second.
    lab.admin().retry(1).unwrap();
    let first = a.take("a", LEASE).unwrap().unwrap();
    a.give_back(&first.held).unwrap();
    let again = b.take("b", LEASE).unwrap().unwrap();
    assert_eq!((again.held.task, again.attempt), (second.held.task, 1));
    // What is given back may go elsewhere.
    b.give_back(&again.held).unwrap();
    let mut c = lab.on("c");
    assert_eq!(number_of(&c.take("c", LEASE).unwrap()), Some(0));
    assert_eq!(number_of(&a.take("a", LEASE).unwrap()), Some(1));
    // The later word of b does not count.
    assert_eq!(b.give_back(&again.held).unwrap(), LeaseAnswer::Lost);
    assert_eq!(b.fail(&again.held, "?").unwrap(), LeaseAnswer::Lost);
    assert_eq!(lab.task(2).agent.as_deref(), Some("a"));
}

#[test]
fn a_lease_that_ends_frees_the_task_for_others() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[LabTaskPlan { retries: 1, ..plan(0) }]);
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    let lost = a.take("a", SHORT).unwrap().unwrap();
    a.heartbeat(&lost.held, SHORT, Some(LabProgress { done: 2, wanted: None })).unwrap();
    assert_eq!(b.take("b", LEASE).unwrap(), None);
    past_it();
    let taken = b.take("b", LEASE).unwrap().unwrap();
    assert_eq!((taken.held.task, taken.attempt), (lost.held.task, 2));
    assert!(lab.task(1).message.unwrap().contains("a was not heard of"));
    assert_eq!(lab.task(1).progress, None, "that of the other machine");
    // a still runs. Its result is welcome, but is not that of the task.
    assert_eq!(a.heartbeat(&lost.held, LEASE, None).unwrap(), LeaseAnswer::Lost);
    let late = lab.push(&lost, 4);
    assert_eq!(a.finish(&lost.held, std::slice::from_ref(&late), None).unwrap(), LeaseAnswer::Lost);
    assert_eq!(a.fail(&lost.held, "?").unwrap(), LeaseAnswer::Lost);
    assert_eq!(a.take("a", LEASE).unwrap(), None);
    let mut store = PostgresStore::open(&lab.user("agent", "tare_agent")).unwrap();
    let mut run = data::run(77);
    run.plan.tags.insert("lab.task".to_owned(), taken.plan.uuid.clone());
    let id = store.begin_run(&run).unwrap();
    store.add_samples(id, &[data::sample(0, 0), data::sample(2, 0), data::sample(3, 0)]).unwrap();
    store.set_status(Id::run(id), Status::Finished).unwrap();
    assert_eq!(b.finish(&taken.held, &[data::uuid(77)], None).unwrap(), LeaseAnswer::Held);
    let done = lab.task(1);
    assert_eq!((done.runs, done.agent.as_deref()), (vec![data::uuid(77)], Some("b")));
    // a's late samples are stored and count for nothing.
    assert_eq!(lab.admin().summary(1).unwrap().samples, 2);
    assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len(), 2);
    assert_eq!(a.finish(&lost.held, &[late], None).unwrap(), LeaseAnswer::Lost);
}

#[test]
fn a_lease_that_ended_is_taken_up_if_nobody_else_has_the_task() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[plan(0), plan(1), plan(2)]);
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    let task = a.take("a", SHORT).unwrap().unwrap();
    past_it();
    // A sample took longer than the lease.
    assert_eq!(a.heartbeat(&task.held, SHORT, None).unwrap(), LeaseAnswer::Held);
    past_it();
    // b looks for work and so ends the lease, for good: it was the only attempt.
    let other = b.take("b", LEASE).unwrap().unwrap();
    assert_eq!((other.plan.ordinal, lab.task(1).state), (1, LabTaskState::Failed));
    assert_eq!(a.heartbeat(&task.held, SHORT, None).unwrap(), LeaseAnswer::Held);
    assert_eq!((lab.task(1).state, lab.task(1).attempts), (LabTaskState::Leased, 1));
    past_it();
    b.fail(&other.held, "x").unwrap();
    assert_eq!(number_of(&b.take("b", LEASE).unwrap()), Some(2));
    assert_eq!(lab.task(1).state, LabTaskState::Failed);
    // The server was away for long; the result still counts.
    let run = lab.push(&task, 3);
    assert_eq!(a.finish(&task.held, &[run], None).unwrap(), LeaseAnswer::Held);
    assert_eq!(lab.task(1).state, LabTaskState::Done);

    // A task that waits again returns to the machine that has begun it, as the next attempt of a new process.
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[LabTaskPlan { retries: 1, ..plan(0) }, plan(1)]);
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    let old = a.take("a", SHORT).unwrap().unwrap();
    past_it();
    lab.admin().pause(1, true).unwrap();
    assert_eq!(b.take("b", LEASE).unwrap(), None);
    assert_eq!(lab.task(1).state, LabTaskState::Waiting);
    lab.admin().pause(1, false).unwrap();
    let mut restarted = lab.agent("a 2");
    restarted.announce(&machine("a", &[])).unwrap();
    let again = restarted.take("a", LEASE).unwrap().unwrap();
    assert_eq!((again.held.task, again.attempt), (old.held.task, 2));
    assert_eq!(a.finish(&old.held, &[data::uuid(1)], None).unwrap(), LeaseAnswer::Lost);
}

#[test]
fn an_agent_that_was_restarted_goes_on_with_its_task_as_another_attempt() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[LabTaskPlan { retries: 1, ..plan(0) }, plan(1)]);
    let mut a = lab.on("a");
    let first = a.take("a", LEASE).unwrap().unwrap();
    let mut restarted = lab.agent("a 2");
    restarted.announce(&machine("a", &[])).unwrap();
    let second = restarted.take("a", LEASE).unwrap().unwrap();
    assert_eq!((second.held.task, second.attempt), (first.held.task, 2));
    assert_eq!(lab.admin().metrics().unwrap().failures, 1);
    // A program that takes its machine down is not started for ever.
    let mut restarted = lab.agent("a 3");
    restarted.announce(&machine("a", &[])).unwrap();
    let other = restarted.take("a", LEASE).unwrap().unwrap();
    assert_eq!((other.plan.ordinal, other.attempt), (1, 1));
    let failed = lab.task(1);
    assert_eq!((failed.state, failed.attempts), (LabTaskState::Failed, 2));
    assert!(failed.message.unwrap().contains("ended while the task ran"));
}

#[test]
fn the_later_of_two_agents_of_one_name_has_it() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[LabTaskPlan { retries: 5, ..plan(0) }]);
    let mut first = lab.on("a");
    let task = first.take("a", LEASE).unwrap().unwrap();
    let mut second = lab.agent("another process");
    second.announce(&machine("a", &[])).unwrap();
    for replaced in [first.announce(&machine("a", &[])), first.take("a", LEASE).map(|_| ())] {
        assert!(matches!(&replaced, Err(LabError::Replaced { machine }) if machine == "a"), "{replaced:?}");
    }
    assert!(matches!(first.take_task(1, "a", LEASE), Err(LabError::Replaced { .. })));
    // What the first one runs is its task, until the second one asks.
    assert_eq!(first.heartbeat(&task.held, LEASE, None).unwrap(), LeaseAnswer::Held);
    second.announce(&machine("a", &[])).unwrap();
    assert_eq!(second.take("a", LEASE).unwrap().unwrap().held.task, task.held.task);
    assert_eq!(first.heartbeat(&task.held, LEASE, None).unwrap(), LeaseAnswer::Lost);
    // Another user's agent cannot have the name, as long as the machine is known.
    let mut stranger = agent_at(&lab.user("stranger", "tare_agent"), "stranger");
    let refused = stranger.announce(&machine("a", &[]));
    assert!(
        matches!(&refused, Err(LabError::NotYours { owner, .. }) if *owner == lab.user_name("agent")),
        "{refused:?}"
    );
    assert!(matches!(stranger.take("a", LEASE), Err(LabError::NotYours { .. })));
    assert!(matches!(stranger.drain("a", true), Err(LabError::NotYours { .. })));
    assert!(matches!(stranger.take("b", LEASE), Err(LabError::NoSuchMachine { .. })));
    lab.admin().forget_machine("a").unwrap();
    stranger.announce(&machine("a", &[])).unwrap();
    assert!(matches!(lab.admin().forget_machine("b"), Err(LabError::NoSuchMachine { .. })));
}

#[test]
fn a_process_is_one_agent_over_all_its_connections() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &plans(1));
    let place = lab.user("agent", "tare_agent");
    Lab::connect(&place).unwrap().announce(&machine("a", &[])).unwrap();
    let first = Lab::connect(&place).unwrap().take("a", LEASE).unwrap().unwrap();
    let again = Lab::connect(&place).unwrap().take("a", LEASE).unwrap().unwrap();
    assert_eq!((first.attempt, again.attempt), (1, 1));
}

#[test]
fn tasks_go_to_machines_that_they_fit() {
    let Some(lab) = TestLab::new() else { return };
    let names = |names: &[&str]| MachineChoice::Names(names.iter().map(|n| (*n).to_owned()).collect());
    let tagged = |count| MachineChoice::Tags { tags: [("cpu".to_owned(), "zen\"4".to_owned())].into(), count };
    lab.submit(
        "c",
        &[
            LabTaskPlan { machine: Some("b".to_owned()), ..plan(0) },
            LabTaskPlan { fits: names(&["c", "d"]), ..plan(1) },
            LabTaskPlan { fits: tagged(Some(1)), ..plan(2) },
            LabTaskPlan { not_before: Nanos(i64::MAX), ..plan(3) },
        ],
    );
    let mut a = lab.on("a");
    assert_eq!(a.take("a", LEASE).unwrap(), None);
    a.announce(&machine("a", &[("cpu", "zen\"4"), ("x", "y")])).unwrap();
    assert_eq!(number_of(&a.take("a", LEASE).unwrap()), Some(2));
    assert_eq!(number_of(&lab.on("b").take("b", LEASE).unwrap()), Some(0));
    assert_eq!(lab.on("e").take("e", LEASE).unwrap(), None);
    assert_eq!(number_of(&lab.on("d").take("d", LEASE).unwrap()), Some(1));
    assert_eq!(lab.on("c").take("c", LEASE).unwrap(), None, "the last one's time has not come");
}

#[test]
fn no_two_tasks_of_a_repetition_go_to_one_machine() {
    let Some(lab) = TestLab::new() else { return };
    let task =
        |ordinal, repetition| LabTaskPlan { fits: MachineChoice::Count(2), repetition, retries: 3, ..plan(ordinal) };
    lab.submit("c", &[task(0, 0), task(1, 0), task(2, 1), task(3, 1)]);
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    let first = a.take("a", LEASE).unwrap().unwrap();
    assert_eq!(first.plan.ordinal, 0);
    let run = lab.push(&first, 2);
    a.finish(&first.held, &[run], None).unwrap();
    // The second one is of the same repetition.
    let next = a.take("a", LEASE).unwrap().unwrap();
    assert_eq!(next.plan.ordinal, 2);
    // An attempt that failed left nothing on the machine.
    a.fail(&next.held, "x").unwrap();
    assert_eq!(number_of(&a.take("a", LEASE).unwrap()), Some(2));
    assert_eq!(number_of(&b.take("b", LEASE).unwrap()), Some(1));
    // The same machine may have tasks of another campaign's same repetition.
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &[task(0, 0)]);
    lab.submit("d", &[task(0, 0)]);
    let mut a = lab.on("a");
    let first = a.take("a", LEASE).unwrap().unwrap();
    let run = lab.push(&first, 2);
    a.finish(&first.held, &[run], None).unwrap();
    assert_eq!(a.take("a", LEASE).unwrap().unwrap().campaign, "d");
}

#[test]
fn the_oldest_campaign_is_first_and_times_are_the_servers() {
    let Some(lab) = TestLab::new() else { return };
    let soon = lab.number("SELECT lab_now()") + 2_000_000_000;
    let begun = Instant::now();
    lab.submit("first", &[LabTaskPlan { not_before: Nanos(soon), ..plan(0) }]);
    lab.submit("second", &plans(1));
    let (mut a, mut b) = (lab.on("a"), lab.on("b"));
    assert_eq!(a.take("a", LEASE).unwrap().unwrap().campaign, "second");
    let mut early = 0;
    let task = loop {
        if let Some(task) = b.take("b", LEASE).unwrap() {
            break task;
        }
        early += 1;
        sleep(Duration::from_millis(10));
    };
    assert_eq!(task.campaign, "first");
    assert!(early > 0 && begun.elapsed() > Duration::from_millis(1_900));
}

#[test]
fn campaigns_are_paused_and_cancelled() {
    let Some(lab) = TestLab::new() else { return };
    let mut admin = lab.admin();
    let state = |admin: &mut Lab| admin.summary(1).unwrap().state;
    lab.submit("c", &(0..4).map(|n| LabTaskPlan { retries: 3, ..plan(n) }).collect::<Vec<_>>());
    let (mut a, mut b, mut c) = (lab.on("a"), lab.on("b"), lab.on("c"));
    let running = a.take("a", LEASE).unwrap().unwrap();
    admin.pause(1, true).unwrap();
    admin.pause(1, true).unwrap();
    assert_eq!((b.take("b", LEASE).unwrap(), state(&mut admin)), (None, CampaignState::Paused));
    assert_eq!(b.take_task(2, "b", LEASE).unwrap(), None);
    // What runs goes on.
    assert_eq!(a.heartbeat(&running.held, LEASE, None).unwrap(), LeaseAnswer::Held);
    admin.pause(1, false).unwrap();
    let other = b.take("b", SHORT).unwrap().unwrap();
    assert_eq!(state(&mut admin), CampaignState::Running);

    assert_eq!(admin.cancel(1).unwrap(), 2);
    assert_eq!((c.take("c", LEASE).unwrap(), state(&mut admin)), (None, CampaignState::Cancelled));
    assert_eq!(a.heartbeat(&running.held, LEASE, None).unwrap(), LeaseAnswer::CancelWanted);
    for _ in 0..2 {
        assert_eq!(a.give_back(&running.held).unwrap(), LeaseAnswer::Held);
    }
    assert_eq!(lab.task(1).state, LabTaskState::Cancelled);
    // The other one is not heard of any more.
    past_it();
    assert_eq!(c.take("c", LEASE).unwrap(), None);
    assert_eq!(lab.task(2).state, LabTaskState::Cancelled);
    assert_eq!(b.heartbeat(&other.held, LEASE, None).unwrap(), LeaseAnswer::CancelWanted);
    let end = admin.summary(1).unwrap();
    assert_eq!((end.state, end.cancelled), (CampaignState::Cancelled, 4));
    assert_eq!(admin.cancel(1).unwrap(), 0);

    assert_eq!((admin.retry(1).unwrap(), state(&mut admin)), (4, CampaignState::Queued));
    let again = c.take("c", LEASE).unwrap().unwrap();
    // It was done before it was told.
    admin.cancel(1).unwrap();
    let run = lab.push(&again, 3);
    assert_eq!(c.finish(&again.held, &[run], None).unwrap(), LeaseAnswer::Held);
    assert_eq!(lab.task(again.held.task).state, LabTaskState::Done);
}

#[test]
fn a_draining_machine_takes_nothing() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &plans(2));
    let mut a = lab.on("a");
    let task = a.take("a", LEASE).unwrap().unwrap();
    lab.admin().drain("a", true).unwrap();
    assert_eq!(a.heartbeat(&task.held, LEASE, None).unwrap(), LeaseAnswer::Held);
    let busy = &a.machines().unwrap()[0];
    assert_eq!((busy.state, busy.draining, busy.task), (LabMachineState::Busy, true, Some(1)));
    let run = lab.push(&task, 3);
    a.finish(&task.held, &[run], None).unwrap();
    // Also after it has announced itself again.
    a.announce(&machine("a", &[])).unwrap();
    assert_eq!((a.take("a", LEASE).unwrap(), a.take_task(2, "a", LEASE).unwrap()), (None, None));
    assert_eq!(a.machines().unwrap()[0].state, LabMachineState::Draining);
    a.drain("a", false).unwrap();
    assert_eq!(number_of(&a.take("a", LEASE).unwrap()), Some(1));
}
