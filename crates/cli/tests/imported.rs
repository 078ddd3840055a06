//! Archives of somebody else: their commands are shown, and run only if the user says so.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, signal, tare, text, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// The archive of a run of this machine that was interrupted after some of its samples. It creates `made` in the folder.
fn archive(dir: &TempDir) -> Value {
    let made = dir.path().join("made");
    let mut command = tare(dir);
    command.args(["run", "-r", "500", "-w", "0", "--no-account", "--prepare", "true", "--"]);
    let script = format!("touch {}; sleep 0.02", made.display());
    let mut child = command.args(["sh", "-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the program was run", || made.exists());
    signal(child.id(), libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    std::fs::remove_file(made).unwrap();
    json(tare(dir).args(["export", "1"]), 0)
}

/// Written to a file and imported into the store of the folder.
fn import(dir: &TempDir, archive: &Value) -> PathBuf {
    let file = dir.path().join("archive.json");
    std::fs::write(&file, archive.to_string()).unwrap();
    run(tare(dir).arg("import").arg(&file), 0);
    file
}

fn said(out: &std::process::Output) -> String {
    text(&out.stdout) + &text(&out.stderr)
}

/// All of the plan is shown, and nothing of it is run before the user trusts it.
#[test]
fn an_imported_run_is_resumed_only_if_it_is_trusted() {
    let _lock = shared();
    let (source, dir) = (folder(), folder());
    let mut archive = archive(&source);
    let done = archive["samples"].as_array().unwrap().len();
    let made = |name: &str| dir.path().join(name);
    let program = &mut archive["run"]["plan"]["programs"][0];
    program["command"]["argv"] = json!(["touch", made("program")]);
    for hook in ["setup", "prepare", "conclude", "cleanup"] {
        program[hook] = format!("touch {}", made(hook).display()).into();
    }
    archive["run"]["plan"]["env"] = json!([["LD_PRELOAD", ""]]);
    archive["run"]["plan"]["input"] = json!({"file": "/dev/null"});
    archive["run"]["plan"]["output"] = json!({"file": made("output")});
    archive["run"]["plan"]["runs"] = json!({"fixed": done + 1});
    import(&dir, &archive);

    let out = run(tare(&dir).args(["resume", "1"]), 2);
    let shown = said(&out);
    let folder = dir.path().display();
    for line in [
        format!("program 1       touch {folder}/program"),
        format!("setup 1         /bin/sh -c 'touch {folder}/setup'"),
        format!("prepare 1       /bin/sh -c 'touch {folder}/prepare'"),
        format!("conclude 1      /bin/sh -c 'touch {folder}/conclude'"),
        format!("cleanup 1       /bin/sh -c 'touch {folder}/cleanup'"),
        "user            the user who runs tare".to_owned(),
        format!("working folder  {}", archive["run"]["plan"]["cwd"].as_str().unwrap()),
        "environment     LD_PRELOAD=".to_owned(),
        "input file      /dev/null".to_owned(),
        format!("output file     {folder}/output"),
        "run 1 was imported".to_owned(),
        "--trust-imported".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let all = ["program", "setup", "prepare", "conclude", "cleanup", "output"];
    assert!(all.iter().all(|name| !made(name).exists()), "something was run");

    let out = run(tare(&dir).args(["resume", "1", "--trust-imported"]), 0);
    assert!(said(&out).contains("setup 1         /bin/sh -c"), "{}", said(&out));
    assert!(all.iter().all(|name| made(name).exists()), "not everything was run");
    assert_eq!(json(tare(&dir).args(["show", "1", "--json"]), 0)["samples"].as_array().unwrap().len(), done + 1);
    // It stays an import.
    assert!(json(tare(&dir).args(["list", "--json"]), 0)[0]["imported"].as_i64().unwrap() > 1_700_000_000_000_000_000);
    assert!(text(&run(tare(&dir).args(["show", "1"]), 0).stdout).starts_with("run 1 was imported on 20"));
    assert_eq!(json(tare(&source).args(["list", "--json"]), 0)[0]["imported"], Value::Null);
    assert!(!text(&run(tare(&source).args(["show", "1"]), 0).stdout).contains("imported"));
}

/// What is shown is one line for each command, whatever characters it has.
#[test]
fn commands_of_an_archive_cannot_fool_the_terminal() {
    let _lock = shared();
    let (source, dir) = (folder(), folder());
    let mut archive = archive(&source);
    let program = &mut archive["run"]["plan"]["programs"][0];
    program["label"] = "\u{1b}[2Kharmless".into();
    program["command"]["argv"] = json!(["rm", "-rf\\n\\x1b[2K\\x1b[1Aprogram 1  true", "a\u{ad}b", "it's"]);
    program["setup"] = "evil\r\n\u{1b}]0;title\u{7}\u{202e}setup 1 true".into();
    archive["run"]["plan"]["cwd"] = json!("/\\x1b[8m");
    archive["run"]["plan"]["env"] = json!([["A\\x1b[0m", "b c"]]);
    archive["run"]["plan"]["user"] = json!("root\u{1b}[1A");
    import(&dir, &archive);
    for style in ["auto", "basic", "color"] {
        let shown = said(&run(tare(&dir).args(["resume", "1", "--style", style]), 2));
        let hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}' || c == '\u{ad}';
        assert!(!shown.contains(hidden), "{}", shown.escape_debug());
        assert!(shown.contains(r"rm '-rf\n\x1b[2K\x1b[1Aprogram 1  true' 'a\"), "{shown}");
        assert!(shown.contains(r"'it'\''s'"), "{shown}");
        assert!(shown.contains(r"'evil\x0d\n\x1b]0;title\x07\u{202e}setup 1 true'"), "{shown}");
        assert!(shown.contains(r"user            root\x1b[1A (hooks: the user who runs tare)"), "{shown}");
        assert_eq!(shown.lines().filter(|l| l.trim_start().starts_with("setup 1")).count(), 1, "{shown}");
    }
}

/// Learning a profile runs the program of an imported run, too: of its unfinished part, and of the part that follows a finished one.
#[test]
fn an_imported_profile_is_resumed_only_if_it_is_trusted() {
    let _lock = shared();
    let source = folder();
    let mut archive = archive(&source);
    let done = archive["samples"].as_array().unwrap().len();
    for status in ["interrupted", "finished"] {
        let dir = folder();
        let made = dir.path().join("made");
        let plan = &mut archive["run"]["plan"];
        plan["programs"][0]["command"]["argv"] = json!(["touch", made, "1"]);
        plan["cwd"] = json!(dir.path());
        plan["runs"] = json!({"fixed": done + 1});
        plan["tags"] = json!({"profile": "p"});
        let (short, long) = (1_000_000_000_i64, 2_000_000_000_i64);
        plan["purpose"] = json!({"kind": "learn", "profile": "p", "attempt": "0".repeat(32), "stage": "short",
                                 "length": short, "then": [long, 1]});
        archive["run"]["status"] = status.into();
        import(&dir, &archive);
        for command in [&["profile", "resume"][..], &["profile", "resume", "p"], &["resume", "1"]] {
            let out = tare(&dir).args(command).output().unwrap();
            assert_eq!(out.status.code(), Some(2), "{command:?}: {}", said(&out));
            assert!(!Path::exists(&made), "{status}: {command:?}");
            if command[0] == "profile" {
                assert!(said(&out).contains("--trust-imported"), "{}", said(&out));
                assert!(said(&out).contains(&format!("program 1       touch {}", made.display())), "{}", said(&out));
            }
        }
        // The samples are not of INC, so that no profile comes of it.
        let out = tare(&dir).args(["profile", "resume", "--trust-imported"]).output().unwrap();
        assert!(made.exists(), "{status}: {}", said(&out));
    }
}
