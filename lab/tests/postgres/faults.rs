//! A lab whose connections break at any byte, and whose server is killed.

use crate::backends::{Server, programs, server};
use crate::data;
use crate::queue::{LEASE, SHORT, TestLab, agent_at, local_run, machine, plan, plans};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{Id, Status};
use tarebench_lab::data::state::{CampaignState, LabProgress, LabTaskState};
use tarebench_lab::data::tasks::LabTaskPlan;
use tarebench_lab::postgres::{PostgresPlace, PostgresStore};
use tarebench_lab::server::{Lab, LabError, LeaseAnswer, LeasedTask};
use tarebench_store::copy::{Pushed, digest, push};
use tarebench_store::{SqliteStore, Store, StoreError};

/// A way to a server that breaks each connection after a number of bytes.
struct Breaker {
    folder: tempfile::TempDir,
    /// How many connections broke.
    broken: Arc<AtomicU32>,
}

impl Breaker {
    /// `cut` says after how many bytes, both ways together, the connection of this number breaks.
    fn new(cut: impl Fn(u64) -> Option<u64> + Send + 'static) -> Breaker {
        let folder = tempfile::tempdir().unwrap();
        let broken = Arc::new(AtomicU32::new(0));
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let upstream = server().unwrap().folder().join(".s.PGSQL.5432");
        let count = broken.clone();
        std::thread::spawn(move || {
            for (number, client) in (0..).zip(listener.incoming()) {
                let Ok(client) = client else { return };
                let Ok(server) = UnixStream::connect(&upstream) else { return };
                relay(client, server, cut(number), &count);
            }
        });
        Breaker { folder, broken }
    }

    fn place(&self, lab: &TestLab, user: &str) -> PostgresPlace {
        let (user, database) = (lab.user_name(user), lab.database());
        let url = format!("postgresql://{user}@/{database}?host={}", self.folder.path().display());
        PostgresPlace::parse(&url, &|_| None).unwrap()
    }
}

fn relay(client: UnixStream, server: UnixStream, cut: Option<u64>, broken: &Arc<AtomicU32>) {
    let left = Arc::new(Mutex::new(cut));
    for (from, to) in [(&client, &server), (&server, &client)] {
        let [mut from, mut to] = [from, to].map(|s| s.try_clone().unwrap());
        let (left, broken) = (left.clone(), broken.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let mut left = left.lock().unwrap();
                let allowed = left.map_or(n, |left| n.min(usize::try_from(left).unwrap()));
                let sent = to.write_all(&buffer[..allowed]).is_ok();
                *left = left.map(|left| left - allowed as u64);
                if allowed < n {
                    broken.fetch_add(1, Ordering::Relaxed);
                }
                if allowed < n || !sent {
                    break;
                }
            }
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

/// Different numbers for each `n`, that look random (splitmix64).
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Does it over new connections until it succeeds, as agents do.
fn persist<T>(place: &PostgresPlace, instance: &str, mut what: impl FnMut(&mut Lab) -> Result<T, LabError>) -> T {
    for _ in 0..10_000 {
        let connected = Lab::connect(place).map(|mut lab| {
            lab.set_instance(instance);
            lab
        });
        match connected.and_then(|mut lab| what(&mut lab)) {
            Ok(done) => return done,
            Err(e) => {
                assert!(e.is_passing(), "{e}");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
    panic!("the server is away for too long");
}

fn persist_push(place: &PostgresPlace, local: &SqliteStore) {
    for _ in 0..10_000 {
        let pushed = PostgresStore::open(place).map(|mut store| push(local, Id::run(1), &mut store, &mut |_| {}));
        match pushed {
            Ok(Ok(_)) => return,
            Ok(Err(tarebench_store::copy::PushError::Store(e))) | Err(e) => {
                let passing = LabError::from(e);
                assert!(passing.is_passing(), "{passing}");
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(Err(e)) => panic!("{e}"),
        }
    }
    panic!("the server is away for too long");
}

/// An agent that runs tasks until none is left, in spite of everything. Its samples stay in its local stores, by task.
/// After each lease that it loses it asks for twice the time.
fn work(
    place: &PostgresPlace,
    name: &str,
    mut lease: Nanos,
    samples: u32,
    left: &dyn Fn() -> bool,
) -> Vec<(LeasedTask, SqliteStore)> {
    let mut done: Vec<(LeasedTask, SqliteStore)> = Vec::new();
    let shown = machine(name, &[]);
    persist(place, name, |lab| lab.announce(&shown));
    while left() {
        let Some(task) = persist(place, name, |lab| lab.take(name, lease)) else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let local = local_run(&task, samples, Status::Finished);
        let progress = LabProgress { done: 1, wanted: Some(2) };
        if persist(place, name, |lab| lab.heartbeat(&task.held, lease, Some(progress))) == LeaseAnswer::Lost {
            lease = Nanos(lease.0 * 2);
            continue;
        }
        persist_push(place, &local);
        let runs = [local.run(1).unwrap().uuid];
        if persist(place, name, |lab| lab.finish(&task.held, &runs, None)) == LeaseAnswer::Held {
            done.push((task, local));
        } else {
            lease = Nanos(lease.0 * 2);
        }
    }
    done
}

/// That each task is done once, and all samples are in the store once.
fn assert_done(lab: &TestLab, tasks: u32, samples: u32, done: &[(LeasedTask, SqliteStore)]) {
    let all = lab.admin().tasks(1).unwrap();
    assert!(all.iter().all(|t| t.state == LabTaskState::Done && t.runs.len() == 1), "{all:?}");
    let once: BTreeSet<i64> = done.iter().map(|(task, _)| task.held.task).collect();
    assert_eq!((done.len(), once.len()), (tasks as usize, tasks as usize));
    assert_eq!(lab.number("SELECT count(*) FROM run"), i64::from(tasks));
    assert_eq!(lab.number("SELECT count(*) FROM sample"), i64::from(tasks * samples));
    let store = PostgresStore::open(&lab.place()).unwrap();
    for (_, local) in done {
        let there = store.find(&local.run(1).unwrap().uuid).unwrap().number;
        assert_eq!(digest(&store, there).unwrap(), digest(local, 1).unwrap());
    }
}

#[test]
fn connections_may_break_at_any_byte() {
    let Some(lab) = TestLab::new() else { return };
    const TASKS: u32 = 24;
    lab.submit("c", &plans(TASKS));
    lab.user("agent", "tare_agent");
    // Two of three break, within what an exchange takes.
    let breaker = Breaker::new(|n| (!mixed(n).is_multiple_of(3)).then(|| mixed(n) / 3 % 4_000));
    let place = breaker.place(&lab, "agent");
    let left = || lab.number("SELECT count(*) FROM lab_task WHERE state <> 'done'") > 0;
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let (place, left) = (&place, &left);
                scope.spawn(move || work(place, &format!("m{n}"), LEASE, 5, left))
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert!(breaker.broken.load(Ordering::Relaxed) > 30);
    assert_done(&lab, TASKS, 5, &done);
    // A repeated question is no further attempt, and nothing failed.
    assert!(lab.admin().tasks(1).unwrap().iter().all(|t| t.attempts == 1));
    assert_eq!(lab.admin().metrics().unwrap().failures, 0);
}

/// Each exchange is broken at each byte of a list, and repeated: before the server hears of it, and after it has done it.
#[test]
fn each_exchange_may_be_repeated() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &(0..400).map(|n| LabTaskPlan { retries: 9, ..plan(n) }).collect::<Vec<_>>());
    lab.user("agent", "tare_agent");
    let at = Arc::new(AtomicU64::new(u64::MAX));
    let limit = at.clone();
    // The first connection after the limit was set breaks there.
    let breaker = Breaker::new(move |_| Some(limit.swap(u64::MAX, Ordering::Relaxed)).filter(|n| *n != u64::MAX));
    let place = breaker.place(&lab, "agent");
    persist(&place, "m", |lab| lab.announce(&machine("m", &[])));
    // What connecting takes, and what an exchange takes after it, in bytes.
    for cut in (500..3_000).step_by(100) {
        let broken = |n: u64| at.store(n, Ordering::Relaxed);
        broken(cut);
        let task = persist(&place, "m", |lab| lab.take("m", LEASE)).unwrap();
        assert_eq!((task.attempt, lab.number("SELECT count(*) FROM lab_task WHERE state = 'leased'")), (1, 1), "{cut}");
        let progress = LabProgress { done: 1, wanted: None };
        broken(cut);
        assert_eq!(persist(&place, "m", |lab| lab.heartbeat(&task.held, LEASE, Some(progress))), LeaseAnswer::Held);
        let local = local_run(&task, 3, Status::Finished);
        broken(cut * 4);
        persist_push(&place, &local);
        let runs = [local.run(1).unwrap().uuid];
        broken(cut);
        assert_eq!(persist(&place, "m", |lab| lab.finish(&task.held, &runs, None)), LeaseAnswer::Held);
        let task = persist(&place, "m", |lab| lab.take("m", LEASE)).unwrap();
        broken(cut);
        assert_eq!(persist(&place, "m", |lab| lab.fail(&task.held, "x")), LeaseAnswer::Held);
        let task = persist(&place, "m", |lab| lab.take("m", LEASE)).unwrap();
        broken(cut);
        assert_eq!(persist(&place, "m", |lab| lab.give_back(&task.held)), LeaseAnswer::Held);
        let waiting = lab.task(task.held.task);
        // One has failed, and one was given back.
        assert_eq!((waiting.state, waiting.attempts), (LabTaskState::Waiting, 1), "{cut}");
        lab.client()
            .batch_execute(&format!("UPDATE lab_task SET state = 'cancelled' WHERE id = {}", waiting.id))
            .unwrap();
        at.store(u64::MAX, Ordering::Relaxed);
    }
    assert!(breaker.broken.load(Ordering::Relaxed) > 50, "{}", breaker.broken.load(Ordering::Relaxed));
    let end = lab.admin().summary(1).unwrap();
    assert_eq!((end.done, end.leased, lab.admin().metrics().unwrap().failures), (25, 0, 25));
    assert_eq!((end.samples, lab.number("SELECT count(*) FROM sample")), (25, 75));
}

#[test]
fn a_push_goes_on_where_it_was_cut() {
    let Some(lab) = TestLab::new() else { return };
    lab.user("agent", "tare_agent");
    let mut local = SqliteStore::in_memory().unwrap();
    let id = local.begin_run(&data::run(1)).unwrap();
    let all: Vec<_> = (0..3_000).map(|seq| data::sample(seq, 2)).collect();
    local.add_samples(id, &all).unwrap();
    local.set_status(Id::run(id), Status::Finished).unwrap();
    let size: u64 = all.iter().map(|s| serde_json::to_string(s).unwrap().len() as u64).sum();
    let breaker = Breaker::new(move |n| (n < 6).then_some(size / 5));
    let place = breaker.place(&lab, "agent");
    let mut there = Vec::new();
    loop {
        let pushed = PostgresStore::open(&place)
            .map_err(Into::into)
            .and_then(|mut store| push(&local, Id::run(id), &mut store, &mut |_| {}));
        there.push(lab.number("SELECT count(*) FROM sample"));
        match pushed {
            Ok(pushed) => {
                assert!(matches!(pushed.1, Pushed::Added { samples: 1..2_999 }), "{pushed:?}");
                break;
            }
            Err(tarebench_store::copy::PushError::Store(StoreError::Disconnected { .. })) => {
                let status: String = lab.client().query_one("SELECT status FROM run", &[]).unwrap().get(0);
                assert_eq!(status, "unfinished", "not all is there");
            }
            Err(e) => panic!("{e}"),
        }
    }
    assert!(there.len() > 2 && there.is_sorted() && there[0] > 0 && there[0] < 3_000, "{there:?}");
    let store = PostgresStore::open(&lab.place()).unwrap();
    assert_eq!(digest(&store, 1).unwrap(), digest(&local, id).unwrap());
    assert_eq!(store.run(1).unwrap().status, Status::Finished);
    assert_eq!(lab.number("SELECT counted FROM run_counted"), 2_998);
}

/// Leases end while tasks run: who lost one stops, and each task has the result of one holder.
#[test]
fn leases_may_end_while_tasks_run() {
    let Some(lab) = TestLab::new() else { return };
    const TASKS: u32 = 12;
    lab.submit("c", &(0..TASKS).map(|n| LabTaskPlan { retries: 10_000, ..plan(n) }).collect::<Vec<_>>());
    let place = lab.user("agent", "tare_agent");
    let slow = Nanos(SHORT.0 / 3);
    let left = || lab.number("SELECT count(*) FROM lab_task WHERE state <> 'done'") > 0;
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|n| {
                let (place, left) = (&place, &left);
                scope.spawn(move || work(place, &format!("m{n}"), slow, 3, left).len())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(counts.iter().sum::<usize>(), TASKS as usize, "each was accepted once");
    let all = lab.admin().tasks(1).unwrap();
    assert!(all.iter().all(|t| t.state == LabTaskState::Done && t.runs.len() == 1));
    assert_eq!(lab.admin().summary(1).unwrap().samples, u64::from(TASKS));
}

#[test]
fn the_server_may_be_killed() {
    let Some(programs) = programs() else { return };
    let own = Server::start(&programs, "");
    let lab = TestLab::on_server(&own);
    const TASKS: u32 = 30;
    lab.submit("c", &plans(TASKS));
    let place = lab.user("agent", "tare_agent");
    let (ended, kills) = (AtomicBool::new(false), AtomicU32::new(0));
    let open = AtomicU64::new(u64::from(TASKS));
    let done: Vec<_> = std::thread::scope(|scope| {
        let (ended, kills, open, own) = (&ended, &kills, &open, &own);
        scope.spawn(move || {
            let mut pause = Duration::from_millis(500);
            while !ended.load(Ordering::Relaxed) && kills.load(Ordering::Relaxed) < 6 {
                std::thread::sleep(pause);
                // A slow machine gets further each time.
                pause = pause * 3 / 2;
                // Without a word, which makes the server end all others at once and recover from its log.
                if kill_backend(&own.folder().join("data")) {
                    kills.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let place = &place;
                let left = move || {
                    if let Ok(mut client) = place.connect()
                        && let Ok(row) = client.query_one("SELECT count(*) FROM lab_task WHERE state <> 'done'", &[])
                    {
                        open.store(row.get::<_, i64>(0).unsigned_abs(), Ordering::Relaxed);
                    }
                    open.load(Ordering::Relaxed) > 0
                };
                scope.spawn(move || work(place, &format!("m{n}"), LEASE, 4, &left))
            })
            .collect();
        let done = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        ended.store(true, Ordering::Relaxed);
        done
    });
    assert!(kills.load(Ordering::Relaxed) > 0);
    while place.connect().is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_done(&lab, TASKS, 4, &done);
    assert!(lab.admin().tasks(1).unwrap().iter().all(|t| t.attempts == 1));
}

/// Kills one of the server's processes that serve connections.
fn kill_backend(data: &Path) -> bool {
    let pid_of = |path: PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let Ok(lines) = std::fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let Some(postmaster) = lines.lines().next() else { return false };
    let children = std::fs::read_dir("/proc").unwrap().filter_map(|e| pid_of(e.ok()?.path())).filter(|pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let title = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.lines().any(|l| l == format!("PPid:\t{postmaster}"))
            && String::from_utf8_lossy(&title).contains("[local]")
    });
    let Some(pid) = children.into_iter().next() else { return false };
    // It may have ended by now.
    std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).output().is_ok_and(|o| o.status.success())
}

#[test]
fn no_password_or_secret_is_shown() {
    let Some(lab) = TestLab::new() else { return };
    lab.submit("c", &plans(1));
    let task = lab.on("a").take("a", LEASE).unwrap().unwrap();
    assert!(!format!("{task:?}").contains(&task.held.secret));
    let shown = format!("{:?}", agent_at(&lab.user("agent", "tare_agent"), "i").path());
    assert!(shown.contains("postgresql://"), "{shown}");
}

/// Each of many tasks is taken once, by machines that ask at the same time, and all samples are in the store.
#[test]
fn many_agents_take_each_task_once() {
    let Some(lab) = TestLab::new() else { return };
    const TASKS: u32 = 200;
    lab.submit("c", &plans(TASKS));
    let place = lab.user("agent", "tare_agent");
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for n in 0..20 {
            let (place, taken) = (&place, &taken);
            scope.spawn(move || {
                let name = format!("m{n}");
                let mut agent = agent_at(place, &name);
                agent.announce(&machine(&name, &[])).unwrap();
                let mut store = PostgresStore::open(place).unwrap();
                while let Some(task) = agent.take(&name, LEASE).unwrap() {
                    taken.lock().unwrap().push((task.held.task, task.attempt));
                    let local = local_run(&task, 4, Status::Finished);
                    push(&local, Id::run(1), &mut store, &mut |_| {}).unwrap();
                    let runs = [local.run(1).unwrap().uuid];
                    assert_eq!(agent.finish(&task.held, &runs, None).unwrap(), LeaseAnswer::Held);
                }
            });
        }
    });
    let taken = taken.into_inner().unwrap();
    let once: BTreeSet<i64> = taken.iter().map(|(task, _)| *task).collect();
    assert_eq!((taken.len(), once.len()), (TASKS as usize, TASKS as usize));
    assert!(taken.iter().all(|(_, attempt)| *attempt == 1));
    let end = lab.admin().summary(1).unwrap();
    assert_eq!((end.state, end.done, end.samples), (CampaignState::Finished, 200, 400));
    let uuids: BTreeSet<String> = lab.admin().tasks(1).unwrap().into_iter().flat_map(|t| t.runs).collect();
    assert_eq!(uuids.len(), TASKS as usize);
    assert_eq!(lab.number("SELECT count(*) FROM sample"), 800);
}
