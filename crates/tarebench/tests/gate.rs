//! Gates of real programs: what is measured and stored, and how one is resumed. Each test measures in this process, whose children
//! all belong to one measurement at a time.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use serde_json::json;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tarebench::RunError;
use tarebench::compare::gate::{GateError, MeasuredGate, PlannedGate, load, measure, resume};
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::duet::NoDuet;
use tarebench::core::compare::gate::{GateBenchmark, GatePlan, GateSide, GateVerdict};
use tarebench::core::documents::head::{Id, Status};
use tarebench::core::run::plan::{RunCount, RunPlan};
use tarebench::core::run::report::data::{Measure, RatioBasis};
use tarebench::core::sample::data::Phase;
use tarebench::documents::{DocumentError, MeasureOptions, Stopped};
use tarebench::event::Event;
use tarebench::run::session::{self, RunOptions, SessionError, StorePlace};
use tarebench::store::{SqliteStore, Store};
use tarebench::sys::signals::Signals;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a script is run in the folders `base` and `head`, and in `base` again.
fn run_plan(name: &str, script: &str, folder: &Path) -> RunPlan {
    let program = |side: &str, place: &str| {
        json!({
            "label": format!("{name} ({side})"),
            "command": { "argv": ["sh", "-c", script] },
            "parameters": {},
            "prepare": null,
            "conclude": null,
            "setup": null,
            "cleanup": null,
            "cwd": folder.join(place),
            "reference": side == "base",
            "control": side == "base again",
        })
    };
    let plan = json!({
        "programs": [program("base", "base"), program("head", "head"), program("base again", "base")],
        "order": "random",
        "seed": 1,
        "warmup": 1,
        "runs": { "fixed": 1 },
        "max_time": null,
        "timeout": null,
        "ignore_failure": "no",
        "sigma": 2.0,
        "profile": "no",
        "output": "null",
        "input": "null",
        "cpus": [],
        "sched": null,
        "cwd": folder,
        "env": [],
        "user": null,
        "leave_running": false,
        "images": false,
        "account": false,
        "tags": {},
        "require": [],
    });
    serde_json::from_value(plan).unwrap()
}

/// Benchmarks by name and script, in folders of which the head's has a file `broken`.
struct Builds {
    folder: tempfile::TempDir,
    request: PlannedGate,
}

fn builds(benchmarks: &[(&str, &str)]) -> Builds {
    let folder = tempfile::tempdir().unwrap();
    for side in ["base", "head"] {
        std::fs::create_dir(folder.path().join(side)).unwrap();
    }
    std::fs::write(folder.path().join("head/broken"), "").unwrap();
    let benchmark = |(name, script): &(&str, &str)| GateBenchmark {
        name: (*name).to_owned(),
        command: (*script).to_owned(),
        threshold: 0.5,
        weight: 1.0,
        measure: None,
        budget: None,
    };
    let plan = GatePlan {
        suite: "suite".to_owned(),
        base: GateSide::default(),
        head: GateSide::default(),
        benchmarks: benchmarks.iter().map(benchmark).collect(),
        budget: None,
        max_blocks: 16,
        control: true,
        family_error: 0.01,
    };
    let runs = benchmarks.iter().map(|(name, script)| run_plan(name, script, folder.path())).collect();
    Builds { folder, request: PlannedGate { plan, runs } }
}

fn memory() -> StorePlace {
    StorePlace::Store(Box::new(SqliteStore::in_memory().unwrap()))
}

fn store(place: &mut StorePlace) -> &mut dyn Store {
    match place {
        StorePlace::Store(store) => &mut **store,
        StorePlace::Nowhere => panic!("no store"),
    }
}

fn gate(request: &PlannedGate, place: &mut StorePlace) -> MeasuredGate {
    let signals = Signals::install().unwrap();
    measure(request, place, &MeasureOptions::default(), &signals, &mut |_: Event<'_>| {}).unwrap()
}

fn again(id: Id, place: &mut StorePlace) -> Result<MeasuredGate, GateError> {
    let signals = Signals::install().unwrap();
    resume(id, place, &signals, &mut |_: Event<'_>| {})
}

#[test]
fn a_program_that_fails_does_not_stop_the_others() {
    let _lock = alone();
    let b = builds(&[("fine", "true"), ("broken", "test ! -e broken || { echo gone >&2; exit 3; }")]);
    let (mut place, mut steps) = (memory(), Vec::new());
    let signals = Signals::install().unwrap();
    let done = measure(&b.request, &mut place, &MeasureOptions::default(), &signals, &mut |event| {
        if let Event::Gate(Some(id), step) = event {
            steps.push((id, step.benchmark, step.of, step.name.to_owned(), step.planned));
        }
    });
    let done = done.unwrap();
    assert_eq!(done.stopped, Stopped::Finished);
    let [fine, broken] = done.gate.measured.as_slice() else { panic!("{:?}", done.gate.measured) };
    assert_eq!((&fine.failed, fine.basis, fine.measure), (&None, RatioBasis::Alone, Some(Measure::Pt)));
    assert!(matches!(fine.no_duets, Some(NoDuet::TooShort { .. })), "{:?}", fine.no_duets);
    assert!([10, 16].contains(&fine.logs.len()), "{}", fine.logs.len());
    assert_eq!(fine.control_logs.len(), fine.logs.len());
    assert!(fine.times.iter().any(|t| t.measure == Measure::Et && t.base > 0.0 && t.samples > 5), "{:?}", fine.times);
    assert!(fine.took > Nanos::ZERO && broken.took > Nanos::ZERO);
    let said = broken.failed.as_deref().unwrap();
    assert!(said.starts_with("`broken (head)` failed") && said.ends_with("gone"), "{said}");
    assert_eq!((broken.run, broken.logs.len()), (None, 0));
    assert_eq!(done.report().verdict, GateVerdict::Failed);
    // What is stored is what was returned, and the run has the blocks.
    let id = done.head.id();
    assert!(steps.iter().all(|(shown, _, of, ..)| (*shown, *of) == (id, 2)));
    assert!(steps.iter().any(|(_, n, _, name, planned)| (*n, name.as_str(), *planned) == (1, "fine", 10)));
    let store = store(&mut place);
    assert_eq!(load(store, id).unwrap(), (done.head.clone(), done.gate.clone()));
    assert_eq!((done.head.status, done.head.title.as_str()), (Status::Finished, "suite"));
    let run = fine.run.unwrap();
    let counted = store.samples(run).unwrap().iter().filter(|s| s.phase == Phase::Counted).count();
    assert_eq!(counted, 3 * fine.logs.len());
    assert_eq!(Some(store.run(run).unwrap().uuid), fine.run_uuid);
    assert!(matches!(again(id, &mut place), Err(GateError::Document(DocumentError::Finished(_)))));
}

#[test]
fn without_a_store_there_are_results_only() {
    let _lock = alone();
    let done = gate(&builds(&[("fine", "true")]).request, &mut StorePlace::Nowhere);
    let [fine] = done.gate.measured.as_slice() else { panic!("{:?}", done.gate.measured) };
    assert_eq!((done.head.number, fine.run, &fine.run_uuid), (0, None, &None));
    assert!(fine.logs.len() >= 10);
}

/// As after a kill: the document says less than the runs, and those less than they were asked for.
#[test]
fn a_gate_is_resumed_where_it_was_killed() {
    let _lock = alone();
    let b = builds(&[("fine", "true"), ("other", "true")]);
    let mut place = memory();
    let done = gate(
        &PlannedGate { plan: GatePlan { max_blocks: 10, ..b.request.plan.clone() }, ..b.request.clone() },
        &mut place,
    );
    let id = done.head.id();
    let [fine, other] = [0, 1].map(|i| done.gate.measured[i].clone());
    let s = store(&mut place);
    let mut doc = s.document(id).unwrap().doc;
    doc["plan"]["max_blocks"] = json!(16);
    doc["measured"][0]["logs"] = json!([]);
    s.set_document(id, Status::Unfinished, &doc).unwrap();
    s.set_run_count(fine.run.unwrap(), RunCount::Fixed(12)).unwrap();
    s.set_status(Id::run(fine.run.unwrap()), Status::Unfinished).unwrap();
    // The user has removed this one.
    s.remove(Id::run(other.run.unwrap())).unwrap();
    let resumed = again(id, &mut place).unwrap();
    let [new_fine, new_other] = [0, 1].map(|i| resumed.gate.measured[i].clone());
    assert_eq!(new_fine.run, fine.run);
    assert!(new_fine.logs.len() >= 12 && new_fine.logs.starts_with(&fine.logs), "{}", new_fine.logs.len());
    assert!(new_fine.took > fine.took);
    assert_ne!(new_other.run_uuid, other.run_uuid);
    assert!(new_other.logs.len() >= 10 && new_other.took > other.took);
    assert_eq!((resumed.stopped, resumed.head.status), (Stopped::Finished, Status::Finished));
}

#[test]
fn a_budget_that_is_spent_ends_the_gate() {
    let _lock = alone();
    let mut b = builds(&[("fine", "true"), ("other", "true")]);
    b.request.plan.budget = Some(Nanos(1));
    let done = gate(&b.request, &mut memory());
    // The first probe takes longer than that.
    assert!(done.gate.measured.iter().all(|m| m.logs.is_empty() && m.failed.is_none()));
    assert_eq!((done.report().verdict, done.stopped), (GateVerdict::Inconclusive, Stopped::Finished));
    // One of a benchmark is that of the benchmark.
    b.request.plan.budget = None;
    b.request.plan.benchmarks[0].budget = Some(Nanos(1));
    let done = gate(&b.request, &mut memory());
    assert_eq!(done.gate.measured[0].logs.len(), 0);
    assert!(done.gate.measured[1].logs.len() >= 10);
}

#[test]
fn a_gate_of_somebody_else_is_not_resumed() {
    let _lock = alone();
    let mut place = memory();
    let done = gate(&builds(&[("fine", "true")]).request, &mut place);
    let mut file = Vec::new();
    store(&mut place).export(done.head.id(), &mut file).unwrap().unwrap();
    let mut other = memory();
    let id = store(&mut other).import(&mut file.as_slice()).unwrap();
    assert_eq!(load(store(&mut other), id).unwrap().1, done.gate);
    assert!(matches!(again(id, &mut other), Err(GateError::Imported(_))));
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let _lock = alone();
    let b = builds(&[("fine", "true")]);
    std::fs::remove_dir(b.folder.path().join("base")).unwrap();
    let signals = Signals::install().unwrap();
    let done = measure(&b.request, &mut memory(), &MeasureOptions::default(), &signals, &mut |_: Event<'_>| {});
    let Err(GateError::Session(SessionError::Run(RunError::Plan(text)))) = &done else { panic!("{done:?}") };
    assert!(text.contains("/base` is not a folder"), "{text}");
}

#[test]
fn a_run_is_made_longer_but_not_shorter() {
    let _lock = alone();
    let b = builds(&[("fine", "true")]);
    let log = b.folder.path().join("log");
    let mut plan = RunPlan { runs: RunCount::Fixed(2), ..b.request.runs[0].clone() };
    plan.programs.iter_mut().for_each(|p| p.setup = Some(format!("echo x >> {}", log.display())));
    let mut place = memory();
    let signals = Signals::install().unwrap();
    let options = RunOptions { uuid: Some("0123456789abcdef".repeat(2)), ..RunOptions::default() };
    let first = session::measure(plan, &mut place, options, &signals, &mut |_: Event<'_>| {}).unwrap();
    assert_eq!(first.run.uuid, "0123456789abcdef".repeat(2));
    let id = first.run.id;
    let extend = |place: &mut StorePlace, n: u32| {
        session::extend(id, RunCount::Fixed(n), place, &signals, &mut |_: Event<'_>| {})
    };
    let longer = extend(&mut place, 5).unwrap();
    assert_eq!((longer.run.status, longer.run.plan.runs), (Status::Finished, RunCount::Fixed(5)));
    let samples = store(&mut place).samples(id).unwrap();
    let number = |phase: Phase| samples.iter().filter(|s| s.phase == phase).count();
    // Each session has its own warm-ups and setups, of three programs.
    assert_eq!((number(Phase::Counted), number(Phase::Warmup)), (15, 6));
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 6);
    let shorter = extend(&mut place, 4).unwrap_err();
    assert!(shorter.to_string().contains("cannot be shortened to 4"), "{shorter}");
    assert_eq!(extend(&mut place, 5).unwrap().taken, 21);
    let nowhere = extend(&mut StorePlace::Nowhere, 6).unwrap_err();
    assert!(matches!(nowhere, SessionError::NotResumable(_)), "{nowhere}");
    let mut file = Vec::new();
    store(&mut place).export(Id::run(id), &mut file).unwrap().unwrap();
    let mut other = memory();
    assert_eq!(store(&mut other).import(&mut file.as_slice()).unwrap(), Id::run(id));
    assert!(matches!(extend(&mut other, 6), Err(SessionError::Imported(_))));
}
