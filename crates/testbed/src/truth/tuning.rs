//! `tune` and `restore`: afterwards everything is as before, whenever `tune` was killed.

use crate::report::{CheckReport, Found, Works, folder, json, said, tare};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// Kills, at equal distances of the time that a whole `tune` takes.
const KILLS: u32 = 8;

pub fn check(report: &mut CheckReport) {
    report.check("tune, restore", whole);
    report.check("tune, SIGKILL, restore", killed);
}

fn command(words: &[&str]) -> Command {
    let mut c = tare(words);
    c.env("TARE_STATE", folder().join("state"));
    c
}

/// The files that `tune` would set, with what they say.
fn settings() -> Result<BTreeMap<String, String>, String> {
    let plan = json(&mut command(&["tune", "--dry-run", "--json"]))?;
    let items = plan["items"].as_array().ok_or("no items")?;
    let files = items.iter().filter(|i| i["target"]["kind"] == "file").filter_map(|i| i["target"]["name"].as_str());
    let read = |name: &str| (name.to_owned(), std::fs::read_to_string(format!("/{name}")).unwrap_or_default());
    Ok(files.map(read).collect())
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let changed = before.iter().filter(|(name, value)| after.get(*name) != Some(value));
    changed.map(|(name, value)| format!("{name}: {value:?}, now {:?}", after.get(name))).collect()
}

fn restored(before: &BTreeMap<String, String>) -> Result<(), String> {
    said(&mut command(&["restore"]), 0)?;
    let left = differences(before, &settings()?);
    if !left.is_empty() {
        return Err(format!("not as before: {left:?}"));
    }
    // A journal that is left makes every command warn.
    let out = command(&["list"]).output().map_err(|e| e.to_string())?;
    match out.stderr.is_empty() {
        true => Ok(()),
        false => Err(format!("after restore: {}", String::from_utf8_lossy(&out.stderr))),
    }
}

fn whole() -> Found {
    let before = settings()?;
    let planned = json(&mut command(&["tune", "--dry-run", "--json"]))?;
    let planned = planned["items"].as_array().into_iter().flatten().filter(|i| i["state"] == "planned").count();
    let out = command(&["tune", "--json"]).output().map_err(|e| e.to_string())?;
    let tuned: Value = serde_json::from_slice(&out.stdout)
        .map_err(|e| format!("tune: {e}: {}", String::from_utf8_lossy(&out.stderr)))?;
    let changed = differences(&before, &settings()?).len();
    restored(&before)?;
    match planned == 0 || changed > 0 {
        true => Ok(Works(format!("{changed} of {} settings changed", tuned["items"].as_array().map_or(0, Vec::len)))),
        false => Err(format!("{planned} settings were to be changed, and none was: {tuned}")),
    }
}

fn killed() -> Found {
    let before = settings()?;
    let began = Instant::now();
    let _ = command(&["tune"]).output();
    let took = began.elapsed();
    restored(&before)?;
    for n in 0..KILLS {
        let mut child = command(&["tune"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        std::thread::sleep(took * n / KILLS + Duration::from_millis(1));
        let _ = child.kill();
        let _ = child.wait();
        restored(&before).map_err(|e| format!("killed after {n}/{KILLS} of {took:?}: {e}"))?;
    }
    Ok(Works(format!("{KILLS} kills within {:.0} ms", took.as_secs_f64() * 1e3)))
}
