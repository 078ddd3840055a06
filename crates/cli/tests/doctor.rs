//! `tare doctor`, on this machine and on others laid out as files; the manual's tables of factors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../../host/tests/common/machines.rs"]
mod machines;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn doctor(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command.arg("doctor").args(args).env("COLUMNS", "100").env_remove("CLICOLOR_FORCE");
    command.output().expect("tare starts")
}

fn text(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).expect("UTF-8")
}

fn document(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).expect("JSON")
}

#[test]
fn this_machine_is_told_of_in_every_row() {
    let out = doctor(&["--json"]);
    let d = document(&out);
    assert_eq!((&d["format"], &d["version"]), (&"tare-doctor".into(), &1.into()));
    let factors = d["factors"].as_array().expect("factors");
    assert!(factors.len() > 40, "{}", factors.len());
    for f in factors {
        for key in ["name", "group", "finding", "wanted", "reason", "source", "privilege"] {
            assert!(f[key].as_str().is_some_and(|t| !t.is_empty()), "{key} of {f}");
        }
        assert!(f["standing"] != "not_held" || f["fix"].is_string(), "no way out of {f}");
    }
    let busy = factors.iter().find(|f| f["name"] == "busy-processes").expect("there");
    assert_ne!(busy["standing"], "unknown", "{busy}");
    let wrong = d["counts"]["wrong"].as_u64().expect("a number") > 0;
    assert_eq!(out.status.code(), Some(i32::from(wrong)));
}

#[test]
fn exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    machines::hybrid_desktop(dir.path());
    let root = dir.path().to_str().unwrap();
    let code = |args: &[&str]| doctor(&[&["--root", root], args].concat()).status.code();
    assert_eq!(code(&["--only", "turbo,governor"]), Some(0));
    // Advice and unknown factors count with --strict.
    assert_eq!(code(&["--only", "turbo,smt"]), Some(0));
    assert_eq!(code(&["--only", "turbo,smt", "--strict"]), Some(1));
    assert_eq!(code(&["--only", "ntp"]), Some(0));
    assert_eq!(code(&["--only", "ntp", "--strict"]), Some(1));
    std::fs::write(dir.path().join("sys/devices/system/cpu/intel_pstate/no_turbo"), "0\n").unwrap();
    assert_eq!(code(&["--only", "turbo,governor"]), Some(1));
    assert_eq!(code(&["--only", "nonsense"]), Some(2));
    assert_eq!(code(&["--cpus", "3-1"]), Some(2));
}

#[test]
fn the_page_of_a_laptop() {
    let dir = tempfile::tempdir().unwrap();
    machines::intel_laptop(dir.path());
    let root = dir.path().to_str().unwrap();
    let page = text(&doctor(&["--root", root])).replace(root, "ROOT");
    assert!(page.lines().all(|l| l.chars().count() <= 100), "{page}");
    insta::assert_snapshot!(page);
    let explained = text(&doctor(&["--root", root, "--explain", "--only", "turbo,smt"])).replace(root, "ROOT");
    insta::assert_snapshot!("explained", explained);
}

/// `UPDATE=1` writes the tables into the manual.
#[test]
fn the_manuals_tables_are_current() {
    const BEGIN: &str = "<!-- factors: begin -->\n";
    const END: &str = "<!-- factors: end -->\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/environment.md");
    let old = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = old.split_once(BEGIN).expect("the mark of the beginning");
    let (_, tail) = rest.split_once(END).expect("the mark of the end");
    let new = format!("{head}{BEGIN}{}\n{END}{tail}", text(&doctor(&["--markdown"])));
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::write(&file, &new).unwrap();
    } else {
        assert!(old == new, "docs/environment.md is not current: UPDATE=1 cargo test -p tarebench-cli --test doctor");
    }
}
