//! Two programs that run together: each has its own account, in which the other one is the partner that it waited for.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use tarebench::core::base::reading::Reading;
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::duet::{Duet, DuetSide};
use tarebench::core::sample::account::Account;
use tempfile::TempDir;

fn burns(args: &str) -> String {
    format!("{} {args}", burner())
}

/// The document of `tare run --order duet`, and its duets.
fn duets(dir: &TempDir, options: &[&str], programs: &[String]) -> (Value, Vec<Duet>) {
    let mut c = tare(dir);
    c.args(["run", "--json", "--order", "duet"]).args(options).args(programs);
    let document = json(&mut c, 0);
    let archive = json(tare(dir).args(["export", "last"]), 0);
    (document, serde_json::from_value(archive["duets"].clone()).expect("duets"))
}

fn no_tracing() -> bool {
    if !is_root() {
        skip("needs root, for tracing in the kernel");
    }
    !is_root()
}

#[track_caller]
fn account(side: &DuetSide) -> &Account {
    match &side.account {
        Reading::Value(a) => {
            assert_eq!((a.lost, a.open), (0, 0));
            a
        }
        Reading::Absent(why) => panic!("no account: {why}"),
    }
}

fn total(of: impl Fn(&DuetSide) -> Nanos, duet: &Duet) -> f64 {
    duet.sides.iter().map(of).sum::<Nanos>().as_f64()
}

/// Forks and threads belong to the program whose they are: the time on CPUs is, of each, its process time.
#[test]
fn each_program_has_its_own_time_on_the_cpu() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    for (tree, side) in [("burn-self 150", 0), ("child-unwaited 150", 1), ("threads 4 40", 0), ("threads 4 40", 1)] {
        comes_near(&format!("{tree}, side {side}"), 0.01, || {
            let dir = folder();
            let programs = [burns("burn-self 150"), burns(tree)];
            let (_, duets) = duets(&dir, &["-w0", "-r1", "--cpus", "1"], &programs);
            let side: &DuetSide = &duets[0].sides[side];
            (account(side).traced_runtime().as_f64(), side.process_time().unwrap().as_f64())
        });
    }
}

/// Of two programs with one task each, on one CPU, each waits while the other one runs.
#[test]
fn a_program_waits_for_its_partner() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    for (side, partner) in [(0, 1), (1, 0)] {
        comes_near(&format!("side {side}"), 0.05, || {
            let dir = folder();
            let programs = [burns("burn-self 150"), burns("burn-self 150")];
            let (_, duets) = duets(&dir, &["-w0", "-r1", "--cpus", "1"], &programs);
            let [side, partner] = [&duets[0].sides[side], &duets[0].sides[partner]];
            let together = partner.together.value().expect("a cgroup").as_f64();
            (side.waited_for_partner(false).unwrap().as_f64(), together)
        });
    }
}

/// Stopped for the partner's turn is waited for it, too.
#[test]
fn gangs_wait_for_their_turns() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    if !std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2) {
        return skip("needs two CPUs");
    }
    let dir = folder();
    let programs = [burns("threads 2 150"), burns("threads 2 150")];
    let (_, duets) = duets(&dir, &["-w1", "-r1"], &programs);
    let duet = &duets[0];
    let slices = duet.slices.as_ref().expect("gangs");
    for (side, other) in [(0, 1), (1, 0)] {
        account(&duet.sides[side]);
        let waited = duet.sides[side].waited_for_partner(true).unwrap().as_f64();
        // Two threads at work, and a main thread that waits for them.
        assert!(waited > slices.ran[other].as_f64(), "{waited}: {slices:?}");
    }
    assert!(total(|s| s.net_time().unwrap(), duet) <= total(|s| s.process_time().unwrap(), duet));
}

#[test]
fn the_ratio_is_of_net_time() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let programs = [burns("burn-self 60"), burns("burn-self 60")];
    let (document, duets) = duets(&dir, &["-w0", "-r6"], &programs);
    let found = &document["report"]["comparisons"][0]["duets"]["Ok"];
    assert_eq!((found["measure"].as_str(), found["process"]["measure"].as_str()), (Some("net"), Some("pt")));
    assert!(found["accounts"][0]["partner"].as_f64().unwrap() > 0.0, "{found:#}");
    assert!(duets.iter().flat_map(|d| &d.sides).all(|s| s.net_time().unwrap() < s.process_time().unwrap()));
    // Asked for without accounts, it is of process time.
    let dir = folder();
    let (document, duets) = self::duets(&dir, &["-w0", "-r6", "--no-account"], &programs);
    let found = &document["report"]["comparisons"][0]["duets"]["Ok"];
    assert_eq!((found["measure"].as_str(), &found["process"]), (Some("pt"), &Value::Null));
    assert!(duets.iter().flat_map(|d| &d.sides).all(|s| s.account.value().is_none()));
}
