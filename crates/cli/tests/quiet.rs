//! `--quiet` and `--correct`: probes beside a program, its time on the quiet machine, and what they teach of the machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{NO_CAPABILITIES, burner, folder, is_root, json, run, shared, skip, tare, text, via};
use serde_json::Value;
use tempfile::TempDir;

const HOSTILE: &str = "</script>\u{1b}[31m=cmd";

/// Eight samples of 60 ms each with these options; the document.
fn probed(dir: &TempDir, options: &[&str]) -> Value {
    let mut c = tare(dir);
    c.args(["run", "-r", "8", "--json", "--no-account", "--no-images", "-n", HOSTILE]).args(options);
    json(c.arg("--").arg(burner()).args(["burn-self", "60"]), 0)
}

fn counted(document: &Value) -> Vec<&Value> {
    let samples = document["samples"].as_array().unwrap();
    samples.iter().filter(|s| s["phase"] == "counted").collect()
}

/// The data in a page.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"tare-data\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Options that are refused, and what is said of them.
const REFUSED: &[(&[&str], &str)] = &[
    (&["--correct", "--order", "duet"], "in a duet two programs share the CPU"),
    (&["--quiet", "--order", "duet"], "in a duet two programs share the CPU"),
    (&["--quiet", "--sched", "fifo:1"], "--quiet with --sched fifo"),
    (&["--correct", "--sched", "fifo:99"], "--correct with --sched fifo"),
    (&["--quiet", "--correct"], "cannot be used with"),
    (&["--correct", "--no-correct"], "cannot be used with"),
    (&["--no-correct"], "--quiet"),
    (&["--quiet-limit", "1s"], "--quiet"),
    (&["--correct", "--quiet-limit", "1s"], "cannot be used with"),
    (&["--quiet", "--quiet-limit", "0"], "expected a positive time"),
    (&["--correct", "--probe-period", "1us"], "from 1ms to 100ms"),
    (&["--probe-period", "2ms"], "with --quiet or --correct"),
];

#[test]
fn what_cannot_be_together_is_refused() {
    let dir = folder();
    for (options, what) in REFUSED {
        let out = run(tare(&dir).args(["run", "-r", "1"]).args(*options).args(["true", "false"]), 2);
        let said = text(&out.stderr);
        assert!(said.contains(what) && !said.contains("panicked"), "{options:?}: {said}");
    }
    assert!(!dir.path().join("tare.db").exists(), "nothing was measured");
}

#[test]
fn programs_run_in_rounds_on_one_cpu_and_that_is_said() {
    let _lock = shared();
    let dir = folder();
    let mut c = tare(&dir);
    let out = run(c.args(["run", "-r", "1", "-w0", "--correct", "--json", "true", "echo"]), 0);
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let plan = &document["report"]["run"]["plan"];
    assert_eq!(plan["order"], "rounds");
    assert_eq!(plan["probes"]["correct"], true);
    assert!(plan["probes"]["gate"].is_null());
    let [cpu] = plan["cpus"].as_array().unwrap().as_slice() else { panic!("{plan:#}") };
    let said = text(&out.stderr);
    assert!(said.contains(&format!("kept to CPU {cpu}")), "{said}");
    let shown = text(&run(tare(&dir).args(["show", "1"]), 0).stdout);
    assert!(shown.contains(&format!("run 1, on CPU {cpu}")), "{shown}");
    // Who names CPUs knows them.
    let mut c = tare(&dir);
    let named =
        run(c.args(["run", "-r", "1", "-w0", "--quiet", "--cpus", "0", "--order", "random", "true", "echo"]), 0);
    assert!(!text(&named.stderr).contains("kept to CPU"), "{}", text(&named.stderr));
    let second = json(tare(&dir).args(["show", "2", "--json"]), 0);
    assert_eq!(second["report"]["run"]["plan"]["order"], "random");
    assert_eq!(second["report"]["run"]["plan"]["probes"]["gate"]["limit"], 1_500_000_000);
}

#[test]
fn a_probed_run_is_stored_shown_exported_and_imported() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for threads with a real-time priority");
    }
    let dir = folder();
    let document = probed(&dir, &["--correct"]);
    for sample in counted(&document) {
        let probes = &sample["probes"]["value"];
        assert!(probes["cpus"][0]["wakes"].as_array().is_some_and(|w| !w.is_empty()), "{:#}", sample["probes"]);
        assert!(probes["gate"].is_null());
    }
    assert!(document["report"]["series"][0]["quiet"].is_object());
    // What is shown later may rest on levels that this run taught.
    let later = json(tare(&dir).args(["show", "1", "--json"]), 0);
    let quiet = &later["report"]["series"][0]["quiet"];
    assert!(quiet["Ok"]["value"].is_f64() || quiet["Err"]["kind"].is_string(), "{quiet:#}");
    assert_eq!(document["report"]["series"][0]["probes"]["samples"], 8);

    let shown = text(&run(tare(&dir).args(["show", "1"]), 0).stdout);
    let line = shown.lines().find(|l| l.starts_with("  quiet")).unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(line.contains("not corrected: "), quiet["Err"].is_object(), "{line}");
    let full = text(&run(tare(&dir).args(["show", "1", "--full"]), 0).stdout);
    assert!(full.contains("  probes ") && full.contains("of CPU time a sample"), "{full}");
    assert!(!shown.contains('\u{1b}') && !full.contains('\u{1b}'));

    let rows = text(&run(tare(&dir).args(["show", "1", "--export-samples", "-"]), 0).stdout);
    let mut rows = rows.lines();
    let at = rows.next().unwrap().split(',').position(|h| h == "probes_ns").unwrap();
    // No cell before has a comma.
    let cells: Vec<&str> = rows.map(|r| r.split(',').nth(at).unwrap()).collect();
    assert!(cells.iter().filter(|c| c.parse::<i64>().is_ok()).count() >= 8, "{cells:?}");
    let table = text(&run(tare(&dir).args(["show", "1", "--export-csv", "-"]), 0).stdout);
    assert!(table.contains(",quiet,quiet_low,quiet_high,"), "{table}");

    let page = dir.path().join("page.html");
    run(tare(&dir).args(["report", "1", "-o"]).arg(&page), 0);
    let page = data(&std::fs::read_to_string(page).unwrap());
    let section = &page["plots"][0]["quiet"];
    assert!(section["answer"].as_str().is_some_and(|a| a.contains("CPU time")), "{section:#}");
    let figures: Vec<&Value> = section["figures"].as_array().unwrap().iter().map(|f| &f["id"]).collect();
    assert!(figures.contains(&&Value::from("quiet-samples-1")), "{figures:?}");

    let archive = dir.path().join("run.json");
    run(tare(&dir).args(["export", "1", "-o"]).arg(&archive), 0);
    let other = folder();
    run(tare(&other).arg("import").arg(&archive), 0);
    let again = json(tare(&other).args(["show", "1", "--json"]), 0);
    assert_eq!(again["samples"], document["samples"]);
    assert!(again["report"]["series"][0]["quiet"].is_object());
}

#[test]
fn only_gated_programs_are_not_corrected() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for threads with a real-time priority");
    }
    let dir = folder();
    let document = probed(&dir, &["--quiet", "--no-correct", "--quiet-limit", "100ms"]);
    for sample in counted(&document) {
        let gate = &sample["probes"]["value"]["gate"];
        assert!(gate["stops"].is_u64() && gate["limit_reached"].is_boolean(), "{:#}", sample["probes"]["absent"]);
    }
    let series = &document["report"]["series"][0];
    assert_eq!(series["quiet"]["Err"]["kind"], "not_asked");
    assert_eq!(series["probes"]["gated"], 8);
    let shown = text(&run(tare(&dir).args(["show", "1"]), 0).stdout);
    let line = shown.lines().find(|l| l.starts_with("  quiet")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains(" in 8 samples") && !line.contains("not corrected"), "{line}");
}

#[test]
fn without_the_privilege_the_reason_is_shown() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to drop capabilities");
    }
    let dir = folder();
    let mut c = via(&dir, NO_CAPABILITIES);
    let out = run(c.args(["run", "-r", "6", "-w0", "--correct", "--no-account", "--", "true"]), 0);
    let shown = text(&out.stdout);
    assert!(shown.contains("  quiet    not corrected: the probes could not run"), "{shown}\n{}", text(&out.stderr));
    assert!(shown.contains("  CPU "), "the uncorrected time stands: {shown}");
}

#[test]
fn the_machines_states_are_learned_shown_and_forgotten() {
    let _lock = shared();
    let dir = folder();
    // Where lines break depends on the path of the store.
    let shown = text(&run(tare(&dir).arg("machine"), 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Nothing is known of this machine's states yet"), "{shown}");
    assert!(shown.contains("tare run --correct"), "{shown}");
    let nothing = json(tare(&dir).args(["machine", "--json"]), 0);
    assert_eq!((&nothing["format"], &nothing["states"]), (&"tare-machine".into(), &Value::Null));
    assert!(!dir.path().join("tare.db").exists(), "looking writes nothing");
    run(tare(&dir).args(["machine", "--json", "--forget"]), 2);
    run(tare(&dir).args(["machine", "--db", "none"]), 2);
    if !is_root() {
        return skip("needs root, for threads with a real-time priority");
    }
    probed(&dir, &["--correct"]);
    let known = json(tare(&dir).args(["machine", "--json"]), 0);
    let share = known["states"]["quiet"].as_f64().unwrap_or_else(|| panic!("{known:#}"));
    assert!((0.0..=1.0).contains(&share));
    assert!(known["levels"]["latency"].as_f64().is_some_and(|l| l > 0.0), "{known:#}");
    let shown = text(&run(tare(&dir).arg("machine"), 0).stdout);
    assert!(shown.contains("wake-ups of probes, from 20"), "{shown}");
    // Removing the run forgets nothing.
    run(tare(&dir).args(["rm", "1"]), 0);
    assert!(json(tare(&dir).args(["machine", "--json"]), 0)["states"].is_object());
    let out = run(tare(&dir).args(["machine", "--forget"]), 0);
    assert!(text(&out.stderr).contains("forgot "), "{}", text(&out.stderr));
    assert!(json(tare(&dir).args(["machine", "--json"]), 0)["states"].is_null());
    let out = run(tare(&dir).args(["machine", "--forget"]), 0);
    assert!(text(&out.stderr).contains("nothing was known"), "{}", text(&out.stderr));
}

#[test]
fn help_has_the_options_but_the_probes_own() {
    let dir = folder();
    let help = text(&run(tare(&dir).args(["run", "--help"]), 0).stdout);
    for option in ["--quiet", "--correct", "--no-correct", "--quiet-limit"] {
        assert!(help.contains(option), "{option}");
    }
    assert!(!help.contains("--probe-period"));
    assert!(text(&run(tare(&dir).arg("--help"), 0).stdout).contains("  machine "));
}
