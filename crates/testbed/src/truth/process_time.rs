//! Process time of known work: of the program itself, and of processes and threads that it starts. Long, as under emulation the end of a
//! process, which it cannot report itself, takes some milliseconds.

use crate::report::{CheckReport, Found, Instead, Works, absent, folder, json, number, tare};
use serde_json::Value;

/// What burns a known time, and how many processes say how much they have burnt.
const TREES: [(&str, &str, usize); 5] = [
    ("itself", "burn-self 1500", 1),
    ("child", "child-waited 3000", 2),
    ("orphan", "child-unwaited 3000", 2),
    ("daemon", "daemon 4000", 3),
    ("threads", "threads 4 400", 1),
];
/// As the command's tests have it: a share of the truth, or 1 ms.
const SHARE: f64 = 0.01;
const LEAST: f64 = 1e6;

pub fn check(report: &mut CheckReport) {
    for (what, work, tellers) in TREES {
        report.check(&format!("process time: {what}"), || of_tree(work, tellers));
    }
    report.check("exit records", exit_records);
}

fn sample(work: &str) -> Result<Value, String> {
    let words: Vec<&str> = ["run", "--json", "-w0", "-r1", "--", "burner"].into_iter().chain(work.split(' ')).collect();
    let document = json(&mut tare(&words))?;
    document.pointer("/samples/0").cloned().ok_or_else(|| "no sample".to_owned())
}

/// What the burner's processes have written down of themselves.
fn truth(tellers: usize) -> Result<f64, String> {
    let path = folder().join("truth");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    let each: Vec<f64> = text.lines().filter_map(|l| l.rsplit(' ').next()?.parse().ok()).collect();
    match each.len() == tellers {
        true => Ok(each.iter().sum()),
        false => Err(format!("{tellers} processes should have told their time: {text}")),
    }
}

fn of_tree(work: &str, tellers: usize) -> Found {
    let _ = std::fs::remove_file(folder().join("truth"));
    let sample = sample(work)?;
    let times = &sample["process_times"]["value"];
    let source = times["source"].as_str().ok_or("no source")?.to_owned();
    let reading = &times[&source];
    let whole = reading.pointer("/value/total").or_else(|| reading.get("value")).and_then(Value::as_f64);
    let found = whole.ok_or_else(|| format!("no process time: {reading}"))?;
    let truth = truth(tellers)?;
    let off = (found - truth) / truth;
    let text = format!("{source}: {:.1} of {:.1} ms", found / 1e6, truth / 1e6);
    if (found - truth).abs() <= (truth * SHARE).max(LEAST) {
        return Ok(Works(text));
    }
    // Where nothing better may be read, the kernel leaves out what no process waited for, and tare says so with the source.
    match source == "wait4" && tellers > 1 && found < truth {
        true => Ok(Instead(format!("{text}: processes that nobody waited for are missing"))),
        false => Err(format!("{text}, {:+.1} %", 100.0 * off)),
    }
}

/// The kernel's own records of a process that ends: exact to the nanosecond by eBPF.
fn exit_records() -> Found {
    let sample = sample("burn-self 1500")?;
    let truth = truth(1)?;
    let reading = &sample["process_times"]["value"]["exit_records"];
    if let Some(why) = absent(reading) {
        return Ok(Instead(why));
    }
    let found = number(reading, "/value")?;
    match (found - truth).abs() <= (truth * SHARE).max(LEAST) {
        true => Ok(Works(format!("{:.1} of {:.1} ms", found / 1e6, truth / 1e6))),
        false => Err(format!("{:.1} of {:.1} ms", found / 1e6, truth / 1e6)),
    }
}
