//! Short programs: several executions of each in a block.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

const BLOCKS: usize = 6;

fn samples<'a>(document: &'a Value, phase: &str) -> Vec<&'a Value> {
    let mut all: Vec<&Value> =
        document["samples"].as_array().expect("samples").iter().filter(|s| s["phase"] == phase).collect();
    all.sort_by_key(|s| s["seq"].as_u64());
    all
}

/// By the rule: the shortest warm-ups of all programs together, as often as they last 20 ms, even, at most 32.
fn expected(document: &Value) -> u64 {
    let mut shortest: BTreeMap<u64, f64> = BTreeMap::new();
    for s in samples(document, "warmup") {
        let entry = shortest.entry(s["series"].as_u64().expect("a series")).or_insert(f64::INFINITY);
        *entry = entry.min(elapsed(s));
    }
    let round: f64 = shortest.values().sum();
    let needed = (20e6 / round).ceil() as u64;
    if needed <= 1 { 1 } else { needed.next_multiple_of(2).min(32) }
}

/// Checks that the counted samples of two programs are complete blocks, mirrored; returns how many executions of each one holds.
fn check_blocks(document: &Value) -> u64 {
    let counted = samples(document, "counted");
    let executions = counted[0]["block"]["executions"].as_u64().unwrap_or(1);
    assert_eq!(counted.len() as u64, 2 * BLOCKS as u64 * executions);
    for (number, block) in counted.chunks(2 * executions as usize).enumerate() {
        let series: Vec<u64> = block.iter().map(|s| s["series"].as_u64().expect("a series")).collect();
        let (a, b) = (series[0], 1 - series[0]);
        if executions == 1 {
            assert!(block.iter().all(|s| s["block"].is_null()));
            assert_eq!(series, [a, b]);
            continue;
        }
        let mirrored = [a, b, b, a, b, a, a, b].into_iter().cycle().take(series.len());
        assert!(series.iter().copied().eq(mirrored), "{series:?}");
        for s in block {
            assert_eq!((&s["block"]["number"], &s["block"]["executions"]), (&number.into(), &executions.into()));
            assert_eq!(s["index"].as_u64().map(|i| i / executions), Some(number as u64));
        }
    }
    executions
}

/// The first attempt with several executions in a block, if one of six has them: a machine that is busy during all warm-ups makes
/// the programs look long.
fn until_short(mut attempt: impl FnMut() -> u64) -> u64 {
    (0..6).map(|_| attempt()).find(|executions| *executions > 1).unwrap_or(1)
}

fn shown(dir: &TempDir, options: &[&str]) -> String {
    let out = run(tare(dir).arg("show").args(options), 0);
    text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn blocks_of_short_programs_hold_several_executions() {
    let _lock = shared();
    let burns = format!("{} burn-self 2", burner());
    let options = ["run", "--json", "-w3", "-r6", "--sigma", "none", "--no-account", "-n", "empty", "-n", "burner"];
    let executions = until_short(|| {
        let (dir, other) = (folder(), folder());
        let document = json(tare(&dir).args(options).args(["true", &burns]), 0);
        let executions = check_blocks(&document);
        assert_eq!(executions, expected(&document));
        let report = &document["report"];
        let c = &report["comparisons"][0];
        assert_eq!((c["pairs"].as_u64(), c["basis"].as_str()), (Some(BLOCKS as u64), Some("alone")));
        assert!(c["interval"]["Ok"]["low"].as_f64().is_some(), "{c:#}");
        assert_eq!(report["series"][1]["counted"], BLOCKS as u64 * executions);
        let said = format!("blocks of {executions} executions each, A B B A");
        for options in [&[][..], &["--full"]] {
            let shown = shown(&dir, options);
            assert_eq!(shown.contains(&said), executions > 1, "{shown}");
        }
        // Archives keep it.
        let file = dir.path().join("run.json");
        run(tare(&dir).args(["export", "last", "-o"]).arg(&file), 0);
        run(tare(&other).arg("import").arg(&file), 0);
        let imported = json(tare(&other).args(["show", "last", "--json"]), 0);
        assert_eq!(imported["report"]["comparisons"], report["comparisons"]);
        assert_eq!(check_blocks(&imported), executions);
        executions
    });
    assert!(executions > 1, "two short programs never had several executions in a block");
}

#[test]
fn an_order_that_was_asked_for_has_one_execution_in_a_block() {
    let _lock = shared();
    for options in [&["--order", "rounds"][..], &["--order", "random"], &["-w0"]] {
        let dir = folder();
        let mut c = tare(&dir);
        c.args(["run", "--json", "-r6", "--no-account"]).args(options).args(["true a", "true b"]);
        let document = json(&mut c, 0);
        assert_eq!(check_blocks(&document), 1, "{options:?}");
        assert!(!shown(&dir, &["--full"]).contains("blocks of"), "{options:?}");
    }
}

#[test]
fn a_resumed_run_completes_its_blocks() {
    let _lock = shared();
    let executions = until_short(|| {
        let dir = folder();
        let mark = dir.path().join("stop");
        let script = format!(
            "if [ \"$TARE_ITERATION\" = 5 ] && [ ! -e {0} ]; then touch {0}; kill -INT $PPID; sleep 60; fi",
            mark.display()
        );
        let stops = format!("sh -c '{script}'");
        run(tare(&dir).args(["run", "-w2", "-r6", "--sigma", "none", "--no-account", "true", &stops]), 130);
        let before = json(tare(&dir).args(["show", "--json"]), 0);
        assert!(samples(&before, "counted").len() >= 5, "{before:#}");
        let document = json(tare(&dir).args(["resume", "--json"]), 0);
        assert_eq!(document["report"]["comparisons"][0]["pairs"].as_u64(), Some(BLOCKS as u64));
        let executions = check_blocks(&document);
        // By the warm-ups of the first session; those of the second one count for nothing.
        assert_eq!(executions, expected(&before));
        executions
    });
    assert!(executions > 1, "two short programs never had several executions in a block");
}
