//! A gate from its builds to its verdicts, without the command. One test, as it changes the environment of its process.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tarebench::builds::BuildNews;
use tarebench::builds::error::BuildsError;
use tarebench::builds::sides::GateBase;
use tarebench::compare::gate::{GateError, load};
use tarebench::compare::gate_request::{GateRequest, GateRequestError, resume};
use tarebench::core::compare::gate::GateVerdict;
use tarebench::core::documents::head::Status;
use tarebench::documents::{DocumentError, Stopped};
use tarebench::event::Event;
use tarebench::programs::startable::{NotStartable, StartProblem};
use tarebench::run::session::StorePlace;
use tarebench::store::SqliteStore;
use tarebench::suite::{Suite, SuiteConditions, SuiteOptions, of_commands, of_text};
use tarebench::sys::signals::Signals;

/// Rounds of a loop: some tens of milliseconds.
const WORK: u64 = 30_000_000;

/// Builds a program for each benchmark from a file of C and a number.
const SUITE: &str = "
    name = 'suite'
    build = 'for f in slower same; do cc -O1 -DWORK=$(cat $f) -o prog-$f prog.c; done'
    control = false
    [[benchmark]]
    name = 'slower'
    command = './prog-slower'
    [[benchmark]]
    name = 'same'
    command = './prog-same'
";

fn git(repo: &Path, args: &[&str]) -> String {
    let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let out = Command::new("git").arg("-C").arg(repo).args(set).args(args).output().expect("git");
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

fn commit(repo: &Path, message: &str) -> String {
    git(repo, &["add", "."]);
    git(repo, &["commit", "--quiet", "-m", message]);
    git(repo, &["rev-parse", "HEAD"])
}

fn suite() -> Suite {
    // The bound is far from both: other tests may run beside this one.
    let conditions = SuiteConditions { threshold: Some(0.1), ..SuiteConditions::default() };
    let options = SuiteOptions { conditions, max_blocks: Some(16), ..SuiteOptions::default() };
    of_text(SUITE, Path::new("tare.toml")).unwrap().with(options)
}

#[test]
fn a_gate_needs_no_command() {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: the only test of this process, before anything that reads the environment.
    unsafe {
        std::env::set_var("XDG_CACHE_HOME", dir.path().join("cache"));
        std::env::remove_var("CARGO_TARGET_DIR");
    }
    let repo = dir.path().join("repo");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(repo.join(".gitignore"), "prog-*\n").unwrap();
    fs::write(repo.join("prog.c"), "int main(void) { for (volatile long i = 0; i < WORK; i++); }\n").unwrap();
    let work = |name: &str, rounds: u64| fs::write(repo.join(name), rounds.to_string()).unwrap();
    work("slower", WORK);
    work("same", WORK);
    let base = commit(&repo, "base");
    work("slower", WORK / 4 * 5);
    let head = commit(&repo, "head");
    let signals = Signals::install().unwrap();
    let mut place = StorePlace::Store(Box::new(SqliteStore::in_memory().unwrap()));

    // Two revisions, with the suite of a file.
    let tags = BTreeMap::from([("pull".to_owned(), "7".to_owned())]);
    let request =
        GateRequest { suite: suite(), base: GateBase::Revision("HEAD~1".to_owned()), head: repo.clone(), tags };
    let mut built = Vec::new();
    let gate = tarebench::gate(request.clone(), &mut place, &signals, &mut |event: Event<'_>| {
        if let Event::Build(BuildNews::Building { side, .. }) = event {
            built.push(side);
        }
    });
    let gate = gate.unwrap();
    assert_eq!((built.as_slice(), gate.stopped), (&["head", "base"][..], Stopped::Finished));
    let report = gate.report();
    let verdicts: Vec<_> = report.benchmarks.iter().map(|b| (b.name.as_str(), b.verdict)).collect();
    assert_eq!(verdicts, [("slower", GateVerdict::Regression), ("same", GateVerdict::Pass)], "{report:#?}");
    assert_eq!(report.verdict, GateVerdict::Regression);
    let plan = &gate.gate.plan;
    assert_eq!((plan.base.commit.as_ref(), plan.head.commit.as_ref()), (Some(&base), Some(&head)));
    assert_eq!((plan.benchmarks[0].threshold, plan.max_blocks, plan.control), (0.1, 16, false));
    // What is stored is what was returned.
    let id = gate.head.id();
    let stored = load(place.store().unwrap(), id).unwrap();
    assert_eq!(stored, (gate.head.clone(), gate.gate.clone()));
    assert_eq!((stored.0.status, stored.0.tags), (Status::Finished, request.tags.clone()));
    let again = resume(id, &mut place, &signals, &mut |_: Event<'_>| {});
    assert!(matches!(again, Err(GateRequestError::Gate(GateError::Document(DocumentError::Finished(_))))), "{again:?}");

    // Two folders, with a command. They are what was built above.
    let folder = Path::new(&plan.base.folder).to_owned();
    let options = SuiteOptions { control: Some(false), max_blocks: Some(6), ..SuiteOptions::default() };
    let same = of_commands(&["./prog-same".to_owned()], &["again".to_owned()]).unwrap().with(options);
    let of_folders = GateRequest { suite: same, base: GateBase::Folder(folder), ..request.clone() };
    let gate = tarebench::gate(of_folders, &mut StorePlace::Nowhere, &signals, &mut |_: Event<'_>| {}).unwrap();
    let report = gate.report();
    let [only] = report.benchmarks.as_slice() else { panic!("{report:?}") };
    assert_eq!((only.name.as_str(), only.blocks, gate.head.number), ("again", 6, 0));

    what_is_wrong_is_found_before_it_is_measured(&request, &signals);
}

fn what_is_wrong_is_found_before_it_is_measured(request: &GateRequest, signals: &Signals) {
    let refused = |change: &dyn Fn(&mut GateRequest)| {
        let mut request = request.clone();
        change(&mut request);
        tarebench::gate(request, &mut StorePlace::Nowhere, signals, &mut |_: Event<'_>| {}).unwrap_err()
    };
    let e = refused(&|r| r.suite.benchmarks.clear());
    assert!(matches!(e, GateRequestError::Bad(_)), "{e}");
    let e = refused(&|r| r.suite.max_blocks = Some(1001));
    assert!(e.to_string().contains("a cap of blocks that is not from 1 to 1000"), "{e}");
    let e = refused(&|r| r.suite.benchmarks[0].own.cpus = Some(vec![4000]));
    assert!(matches!(e, GateRequestError::Cpu { cpu: 4000, .. }), "{e}");
    let e = refused(&|r| r.base = GateBase::Revision("nowhere".to_owned()));
    assert!(matches!(e, GateRequestError::Builds(BuildsError::NoRevision { .. })), "{e}");
    let e = refused(&|r| r.head = "/nowhere".into());
    assert!(matches!(e, GateRequestError::Head { .. }), "{e}");
    let e = refused(&|r| r.suite.benchmarks[1].command = "./prog-sane".to_owned());
    let GateRequestError::NotStartable { cause: NotStartable::Program { why, .. }, .. } = e else { panic!("{e}") };
    assert_eq!(why, StartProblem::NoFile);
}
