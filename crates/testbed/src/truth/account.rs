//! The account of a sample, and duets.

use crate::report::{CheckReport, Found, Instead, Works, absent, json, number, tare};
use serde_json::Value;
use std::process::{Child, Command};

/// Of the elapsed time, or so much.
const UNATTRIBUTED: f64 = 0.001;
const UNATTRIBUTED_NS: f64 = 20e3;

pub fn check(report: &mut CheckReport) {
    let (rounds, is_root) = (rounds(200), report.is_root());
    report.check("account: unattributed", || adds_up(rounds));
    report.check("account: preemptor", || names_a_preemptor(rounds, is_root));
    report.check("net time", || net_time(rounds));
    report.check("duets", || duets(rounds));
}

/// So many rounds of the burner's loop take about so many milliseconds here.
fn rounds(ms: u64) -> u64 {
    const TRIED: u64 = 2_000_000;
    let began = std::time::Instant::now();
    let _ = Command::new("burner").args(["loop", &TRIED.to_string()]).status();
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    TRIED * ms * 1_000_000 / took.max(1)
}

fn measure(rounds: u64, runs: &str, options: &[&str]) -> Result<Vec<Value>, String> {
    let rounds = rounds.to_string();
    let mut words = vec!["run", "--json", "-w0", runs];
    words.extend(options.iter().chain(&["--", "burner", "loop", &rounds]));
    let document = json(&mut tare(&words))?;
    document["samples"].as_array().cloned().ok_or_else(|| "no samples".to_owned())
}

/// What stands in for the account, where there is none.
fn estimate(sample: &Value) -> Option<Found> {
    let why = absent(&sample["account"])?;
    Some(match absent(&sample["estimate"]) {
        None => Ok(Instead(format!("an estimate; {why}"))),
        Some(no_estimate) => Err(format!("neither an account ({why}) nor an estimate ({no_estimate})")),
    })
}

/// Elapsed time less all entries, and the elapsed time.
fn unattributed(sample: &Value) -> Result<(f64, f64), String> {
    let account = &sample["account"]["value"];
    if (number(account, "/lost")?, number(account, "/open")?) != (0.0, 0.0) {
        return Err(format!("lost {}, open {}", account["lost"], account["open"]));
    }
    let (start, end) = (number(sample, "/start/monotonic")?, number(sample, "/end/monotonic")?);
    let around = (number(account, "/exec")? - start) + (end - number(account, "/end")?);
    let main = &account["main"];
    let time = |name: &str| number(main, &format!("/{name}/time"));
    let blocked: f64 = main["blocked"].as_object().into_iter().flatten().filter_map(|(_, b)| b["time"].as_f64()).sum();
    let entries = time("on_cpu")? + time("preempted")? + time("woken")? + blocked;
    Ok((end - start - around - entries, end - start))
}

fn adds_up(rounds: u64) -> Found {
    let samples = measure(rounds, "-r5", &[])?;
    if let Some(found) = estimate(&samples[0]) {
        return found;
    }
    let rests: Vec<(f64, f64)> = samples.iter().map(unattributed).collect::<Result<_, _>>()?;
    let share = |(rest, whole): &(f64, f64)| rest.abs() / whole;
    let worst = rests.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or_default();
    let text = format!("at most {:.1} us of {:.1} ms", worst.0 / 1e3, worst.1 / 1e6);
    match rests.iter().all(|(rest, whole)| rest.abs() <= (whole * UNATTRIBUTED).max(UNATTRIBUTED_NS)) {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

struct Competitor(Child);

impl Drop for Competitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn names_a_preemptor(rounds: u64, is_root: bool) -> Found {
    let cpu = (std::thread::available_parallelism().map_or(1, usize::from) - 1).to_string();
    // Beside the program on its CPU, for all of its time.
    let other = Command::new("taskset").args(["-c", &cpu, "burner", "loop", &(rounds * 1_000).to_string()]).spawn();
    let _other = Competitor(other.map_err(|e| format!("taskset: {e}"))?);
    let samples = measure(rounds, "-r2", &["--cpus", &cpu])?;
    if let Some(found) = estimate(&samples[0]) {
        return found;
    }
    if !is_root {
        return Err("an ordinary user has an account".to_owned());
    }
    let main = &samples[0]["account"]["value"]["main"];
    let by_name = main["preemptors"].as_array().into_iter().flatten().filter(|p| p["name"] == "burner");
    let waited: f64 = by_name.filter_map(|p| p.pointer("/share/time")?.as_f64()).sum();
    let whole = number(main, "/preempted/time")? + number(main, "/woken/time")?;
    let text = format!("waited {:.1} ms, of it for burner {:.1} ms", whole / 1e6, waited / 1e6);
    // Two that compute share a CPU.
    let on_cpu = number(main, "/on_cpu/time")?;
    match waited > 0.5 * on_cpu && waited > 0.7 * whole {
        true => Ok(Works(text)),
        false => Err(format!("{text}, on the CPU {:.1} ms: {}", on_cpu / 1e6, main["preemptors"])),
    }
}

fn net_time(rounds: u64) -> Found {
    let rounds = rounds.to_string();
    let document = json(&mut tare(&["run", "--json", "-w0", "-r2", "--", "burner", "loop", &rounds]))?;
    let report = &document["report"]["series"][0];
    match report.pointer("/net/value/mean").and_then(Value::as_f64) {
        Some(net) => Ok(Works(format!("{:.1} ms", net / 1e6))),
        None => match absent(&document["samples"][0]["account"]) {
            Some(why) => Ok(Instead(format!("absent; {why}"))),
            None => Err(format!("no net time: {}", report["net"])),
        },
    }
}

/// Twice 10% more work than the other, beside it at the same time.
fn duets(rounds: u64) -> Found {
    let programs = [rounds * 2, rounds * 22 / 10].map(|n| format!("burner loop {n}"));
    let [a, b] = &programs;
    let document = json(&mut tare(&["run", "--json", "--order", "duet", "-r6", a, b]))?;
    let comparison = &document["report"]["comparisons"][0];
    let [ratio, low, high] = ["/ratio", "/interval/Ok/low", "/interval/Ok/high"].map(|place| number(comparison, place));
    let (ratio, low, high) = (ratio?, low?, high?);
    let by = comparison["basis"].as_str().unwrap_or("nothing");
    let text = format!("{ratio:.3} [{low:.3}, {high:.3}] of 1.1, by {by}");
    // An emulated machine's CPUs differ from moment to moment: where the ratio is less well known, the interval says how well.
    let right = (ratio - 1.1).abs() < 0.02 || ((low..=high).contains(&1.1) && high - low < 0.3);
    match right && comparison["basis"] == "duets" {
        true => Ok(Works(text)),
        false => Err(text),
    }
}
