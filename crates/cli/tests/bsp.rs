//! `tare noise bsp`: files, and the MPI program itself. A hypervisor may steal whatever it likes: the assertions hold
//! all the same.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{TARE, alone, folder, is_root, json, run, shared, skip, tare, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Two ranks on one node of two CPUs, recorded on a virtual machine; its name was made `node0`.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bsp-2.txt")
}

fn bsp(dir: &TempDir) -> Command {
    let mut c = tare(dir);
    c.args(["noise", "bsp"]);
    // The environment of the tests' own launcher does not apply to theirs.
    let of_slurm = std::env::vars_os().map(|v| v.0).filter(|n| n.to_string_lossy().starts_with("SLURM_"));
    of_slurm.for_each(|n| {
        c.env_remove(n);
    });
    c
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is no number"))
}

fn said(c: &mut Command, code: i32) -> String {
    let out = run(c, code);
    assert_eq!(text(&out.stdout), "");
    text(&out.stderr)
}

/// What must hold for every job of `ranks` ranks on this machine.
fn check(d: &Value, ranks: usize, phases: u64) {
    assert_eq!((&d["format"], &d["version"]), (&"tare-noise-bsp".into(), &1.into()));
    assert_eq!(d["job"]["phases"], phases);
    let all = d["job"]["ranks"].as_array().unwrap();
    assert_eq!(all.len(), ranks);
    assert!(all.iter().all(|r| number(&r["per_iteration"]) > 0.0 && r["host"] == all[0]["host"]), "{all:?}");
    let c = &d["comparison"];
    let shortest = number(&c["shortest"]);
    assert!(shortest > 0.0 && c["nodes"] == 1, "{c}");
    for r in c["ranks"].as_array().unwrap() {
        for kind in ["alone", "work"] {
            assert!(number(&r[kind]["min"]) >= shortest && r[kind]["n"] == phases, "{r}");
        }
    }
    assert!(number(&c["barrier"]["min"]) >= 0.0 && number(&c["barrier"]["max"]) > 0.0);
    let jobs = c["jobs"].as_array().unwrap();
    let sizes: Vec<(&str, u64)> = jobs.iter().map(|j| (j["of"].as_str().unwrap(), j["n"].as_u64().unwrap())).collect();
    let expected: &[_] = if ranks == 1 { &[("ranks", 1)] } else { &[("ranks", 1), ("ranks", 2), ("nodes", 1)] };
    assert_eq!(sizes, expected);
    for j in jobs {
        // Nothing is shorter than the shortest.
        assert!(number(&j["measured"]["value"]) >= 1.0 && number(&j["predicted"]["value"]) >= 1.0, "{j}");
        let bounds = &j["measured"]["bounds"]["Ok"];
        let value = number(&j["measured"]["value"]);
        assert!(number(&bounds["low"]) <= value && value <= number(&bounds["high"]), "{j}");
        // The verdict is the intervals'.
        let predicted = &j["predicted"]["bounds"]["Ok"];
        if predicted.is_null() {
            // A machine that is so busy that its ranks had few phases at the same time.
            assert!(j["of"] == "nodes" && j["agreement"].is_null(), "{j}");
            continue;
        }
        let inside = number(&predicted["low"]) <= value && predicted["high"].as_f64().is_none_or(|h| value <= h);
        assert_eq!(j["agreement"] == "inside", inside, "{j}");
    }
    // With more ranks the slowest is slower, measured and predicted.
    let value = |i: usize, what: &str| number(&jobs[i][what]["value"]);
    if ranks == 2 {
        assert!(value(0, "measured") <= value(1, "measured") && value(0, "predicted") <= value(1, "predicted"));
        assert_eq!(value(1, "measured"), value(2, "measured"), "the one node has both ranks");
    }
    // The barrier comes after the work of the slowest, but for the clock's readings on two CPUs.
    let last = jobs.last().unwrap();
    assert!(number(&last["whole"]) >= number(&jobs[0]["measured"]["value"]), "{last}");
}

#[test]
fn a_recorded_job_is_shown() {
    let _shared = shared();
    let dir = folder();
    let d = json(bsp(&dir).arg(recorded()).arg("--json"), 0);
    check(&d, 2, 500);
    let shown = text(&run(bsp(&dir).arg(recorded()), 0).stdout);
    for says in ["job of 2 ranks on 1 node", "2 ranks", "1 node (2 ranks)", "predicted", "empty: median", "node0"] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    assert!(shown.lines().all(|l| l.chars().count() <= 100), "{shown}");
    // The same intervals again.
    assert_eq!(json(bsp(&dir).arg(recorded()).arg("--json"), 0), d);
    assert!(!dir.path().join("tare.db").exists(), "nothing is stored");
}

#[test]
fn bad_files_and_options_are_told() {
    let _shared = shared();
    let dir = folder();
    let good = std::fs::read_to_string(recorded()).unwrap();
    let file = dir.path().join("job.txt");
    let tell = |content: &str| {
        std::fs::write(&file, content).unwrap();
        said(bsp(&dir).arg(&file), 2)
    };
    assert!(tell("").contains("line 1: the file is incomplete"));
    let cut = tell(good.trim_end().strip_suffix("end").unwrap());
    assert!(cut.contains("expected `end`") && cut.lines().count() == 1, "{cut}");
    let other = tell(&good.replacen("unit ns", "unit cycles", 1));
    assert!(other.contains("line 5: expected `unit ns`, found `unit cycles`"), "{other}");
    let hostile = tell("\u{1b}]0;x\u{7}\n");
    assert!(hostile.contains("line 1") && !hostile.contains('\u{1b}'), "{hostile:?}");
    assert!(said(bsp(&dir).arg(dir.path().join("none")), 2).contains("No such file"));
    assert!(said(bsp(&dir).arg(&file).args(["--launch", "mpirun"]), 2).contains("cannot be used with"));
    assert!(said(bsp(&dir).args(["--grain", "1ns", "--program", TARE]), 2).contains("between 1us and 1s"));
    assert!(said(bsp(&dir).args(["--launch", "'"]), 2).contains("--launch"));
    assert!(said(bsp(&dir).args(["--program", "/no/such/file"]), 2).contains("no such file"));
    // Options of `tare noise` do not belong to its commands.
    assert!(said(tare(&dir).args(["noise", "--sweep", "bsp"]), 2).contains("--sweep"));
}

#[test]
fn launchers_that_fail_are_told() {
    let _shared = shared();
    let dir = folder();
    let with = |launch: &str| {
        let mut c = bsp(&dir);
        c.args(["--program", TARE, "--launch", launch]);
        c
    };
    let missing = said(&mut with("no-such-mpirun -n 2"), 4);
    assert!(missing.contains("cannot start the launcher no-such-mpirun") && missing.contains("--launch"), "{missing}");
    assert!(said(&mut with("false"), 1).contains("false ended with exit status: 1"));
    let other = said(&mut with("echo"), 1);
    assert!(other.contains("is not a result: line 1: expected `tare-bsp 1`"), "{other}");
    assert!(said(&mut with(""), 2).contains("--launch is empty"));
    // Its output is stored even if it is invalid.
    let kept = dir.path().join("kept");
    said(with("echo").arg("-o").arg(&kept), 1);
    let stored = std::fs::read_to_string(&kept).unwrap();
    assert!(stored.contains("-g 1000000ns -p 10000 -c 1000"));
    // A launcher that fails, or that is not there, leaves an earlier result as it was; another one replaces the file as a whole.
    said(with("false").arg("-o").arg(&kept), 1);
    said(with("no-such-mpirun").arg("-o").arg(&kept), 4);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), stored);
    let mut earlier = std::fs::File::open(&kept).unwrap();
    said(with("echo other").arg("-o").arg(&kept), 1);
    assert!(std::fs::read_to_string(&kept).unwrap().starts_with("other "));
    assert_eq!(std::io::read_to_string(&mut earlier).unwrap(), stored);
    let missing = said(with("echo").arg("-o").arg(dir.path().join("none/kept")), 2);
    assert!(missing.contains("output file") && missing.contains("No such file"), "{missing}");
    // Without one beside it, the program is said to be missing.
    let copy = dir.path().join("tare");
    std::fs::copy(TARE, &copy).unwrap();
    let mut lonely = Command::new(&copy);
    let told = said(lonely.args(["noise", "bsp", "--db", "none"]).env_remove("TARE_DB"), 4);
    assert!(told.contains("tare-bsp is not in") && told.contains("make mpi"), "{told}");
}

/// The MPI program, built once; `None` where there is no MPI.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| {
        let there = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
        if !(there("mpicc") && there("mpirun")) {
            skip("needs mpicc and mpirun: scripts/setup.sh mpi");
            return None;
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = Path::new(TARE).parent().unwrap();
        library(&root, target);
        let mut make = Command::new("make");
        make.args(["-s", "-C"]).arg(root.join("mpi")).arg(format!("LIBRARIES={}", target.display()));
        run(make.arg("CFLAGS=-O2 -Wall -Wextra -Werror"), 0);
        Some(target.join("tare-bsp"))
    });
    found.as_deref()
}

/// Puts the C library beside `tare`: the program is linked with it. In the whole suite cargo has built it for its own tests; by itself
/// it is built here.
fn library(root: &Path, target: &Path) {
    if std::env::var_os("TARE_TEST_RERUNS").is_some() {
        let (built, wanted) = (target.join("deps/libtare.a"), target.join("libtare.a"));
        let _ = std::fs::remove_file(&wanted);
        std::fs::hard_link(&built, &wanted).unwrap();
        return;
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "-p", "tarebench-c", "--target-dir"]).arg(target.parent().unwrap());
    if target.ends_with("release") {
        cargo.arg("--release");
    }
    run(cargo.current_dir(root).env_remove("RUSTC_BOOTSTRAP"), 0);
}

/// Open MPI starts nothing as root unless both variables are set.
fn as_root(c: &mut Command) -> &mut Command {
    c.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
}

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn jobs_of_one_and_two_ranks_are_measured() {
    let _alone = alone();
    if program().is_none() {
        return;
    }
    let dir = folder();
    for ranks in 1..=cpus().min(2) {
        let file = dir.path().join(format!("{ranks}.txt"));
        let launch = format!("mpirun --bind-to core -n {ranks}");
        let mut c = bsp(&dir);
        c.args(["--grain", "100us", "--phases", "2000", "--calibrations", "50", "--launch", &launch, "--json", "-o"]);
        // It is found beside tare.
        let d = json(as_root(c.arg(&file)), 0);
        check(&d, ranks, 2_000);
        assert_eq!(d["job"]["grain"], 100_000);
        // A clock speed that doubled after the calibration would be needed.
        assert!(number(&d["comparison"]["shortest"]) > 40_000.0, "{}", d["comparison"]["shortest"]);
        let own: Vec<&Value> = d["job"]["ranks"].as_array().unwrap().iter().map(|r| &r["cpu"]).collect();
        assert!(ranks == 1 || own[0] != own[1], "each has a CPU: {own:?}");
        assert!(d["job"]["ranks"].as_array().unwrap().iter().all(|r| r["allowed"] == 1), "they are bound");
        // The stored job is the same.
        assert_eq!(json(bsp(&dir).arg(&file).arg("--json"), 0), d);
        barriers_hold(&std::fs::read_to_string(&file).unwrap(), ranks);
    }
    // What the program refuses is seen, and the exit code is of a program that failed.
    let mut c = Command::new("mpirun");
    let refused = as_root(c.args(["-n", "1"]).arg(program().unwrap()).args(["-g", "1"])).output().unwrap();
    assert!(text(&refused.stderr).contains("-g is not between 1us and 1s") && refused.status.code() != Some(0));
    let mut c = bsp(&dir);
    c.args(["--launch", "mpirun --no-such-option", "--phases", "10"]);
    assert!(said(as_root(&mut c), 1).contains("mpirun ended with"));
}

/// A result replaces an earlier one when it is whole, and not before; nothing else is left behind.
#[test]
fn the_program_replaces_its_file_as_a_whole() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let dir = folder();
    let own = dir.path().join("results");
    std::fs::create_dir(&own).unwrap();
    let (file, link) = (own.join("job.txt"), dir.path().join("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let job = |phases: &str, output: &Path| {
        let mut c = Command::new("mpirun");
        as_root(c.args(["-n", "1"]).arg(program).args(["-g", "1ms", "-c", "10", "-p", phases, "-o"]).arg(output));
        c
    };
    let names = || std::fs::read_dir(&own).unwrap().flatten().map(|e| e.file_name()).collect::<Vec<_>>();
    run(&mut job("20", &file), 0);
    let first = std::fs::read_to_string(&file).unwrap();
    assert!(first.ends_with("end\n"));
    // While the next one is measured, and after it was ended, the first one is there.
    let mut child = job("20000", &link).spawn().unwrap();
    common::until("its temporary file is there", || names().len() == 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    common::signal(child.id(), libc::SIGTERM);
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    names().iter().filter(|n| *n != "job.txt").for_each(|n| std::fs::remove_file(own.join(n)).unwrap());
    // Who has the file open keeps reading the first one, through the link, too, which stays.
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let mut opened = std::fs::File::open(&file).unwrap();
    run(&mut job("30", &link), 0);
    assert_eq!(std::io::read_to_string(&mut opened).unwrap(), first);
    let second = std::fs::read_to_string(&file).unwrap();
    assert!(second.contains("phases 30\n") && second.ends_with("end\n"));
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap());
    assert_eq!((mode & 0o777, names(), link.is_symlink()), (0o640, vec!["job.txt".into()], true));
}

/// No rank passes a barrier before the other has done its work: of each phase with a barrier, the time of the slower
/// one is at most that of either with the barrier, except for the difference in reading the clock and leaving the
/// barrier.
fn barriers_hold(file: &str, ranks: usize) {
    let rows: Vec<Vec<u64>> = file
        .lines()
        .filter(|l| l.starts_with(|c: char| c.is_ascii_digit()))
        .map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), ranks * 2_000);
    assert!(rows.iter().all(|r| r.len() == 5 && r[3] >= r[2]));
    let (first, second) = rows.split_at(2_000);
    // The phases of both take as long in all: they wait for each other.
    let sum = |rows: &[Vec<u64>], column: usize| rows.iter().map(|r| r[column]).sum::<u64>() as f64;
    if ranks == 2 {
        let (a, b) = (sum(first, 3), sum(second, 3));
        assert!((a / b - 1.0).abs() < 0.1, "{a} {b}");
        let slowest: f64 = first.iter().zip(second).map(|(a, b)| a[2].max(b[2]) as f64).sum();
        assert!(a.max(b) * 1.1 >= slowest, "{a} {b} {slowest}");
    }
}

/// The batch script under a separate Slurm: one node, two tasks.
#[test]
#[ignore = "slow: starts the daemons of Slurm (make slow)"]
fn the_batch_script_runs_under_slurm() {
    let _alone = alone();
    let there =
        |name: &str| Command::new("which").arg(name).env("PATH", PATH).output().is_ok_and(|o| o.status.success());
    if !is_root() || cpus() < 2 || !["slurmctld", "slurmd", "munged", "sbatch"].into_iter().all(there) {
        return skip("needs root, two CPUs and Slurm: scripts/setup.sh slurm");
    }
    let Some(program) = program() else { return };
    let dir = folder();
    let mpi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mpi");
    let mut c = Command::new(mpi.join("with-slurm.sh"));
    c.args(["sbatch", "--wait", "--parsable"]).arg(mpi.join("tare-bsp.sbatch"));
    c.args(["-g", "1ms", "-p", "500", "-c", "50"]);
    let out = as_root(c.current_dir(dir.path()).env("TARE_BSP", program).env("PATH", PATH)).output().unwrap();
    let log = std::fs::read_to_string(dir.path().join("tare-bsp-1.log")).unwrap_or_default();
    assert!(out.status.success(), "{}\n{}\n{log}", text(&out.stdout), text(&out.stderr));
    assert_eq!(text(&out.stdout).trim(), "1", "the job's number");
    let d = json(bsp(&dir).arg(dir.path().join("tare-bsp-1.txt")).arg("--json"), 0);
    check(&d, 2, 500);
    let ranks = d["job"]["ranks"].as_array().unwrap();
    assert!(ranks[0]["cpu"] != ranks[1]["cpu"] && ranks.iter().all(|r| r["allowed"] == 1), "bound: {ranks:?}");
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
