//! What the PMU and the kernel count, held against programs whose events are known exactly.

use crate::report::{CheckReport, Found, Instead, Works, absent, json, number, tare};
use serde_json::Value;

/// Of the burner's loop.
const PER_ROUND: f64 = 4.0;
const ROUNDS: u64 = 25_000_000;
/// What the start of a program may take, and by how much two starts may differ.
const START: f64 = 3e6;
const STARTS_DIFFER: f64 = 20e3;

pub fn check(report: &mut CheckReport) {
    report.check("counters: instructions", instructions);
    report.check("counters: clock speed", clock_speed);
    report.check("counters: 1% more instructions", one_percent_more);
    report.check("counters: page faults", page_faults);
    report.check("counters: context switches", context_switches);
    if report.is_root() {
        report.check("counters: too many events", multiplexed);
    }
}

/// The first sample of the burner.
fn sample(words: &[&str]) -> Result<Value, String> {
    let run = ["run", "--json", "-w0", "-r1", "--counters", "--", "burner"];
    let document = json(&mut tare(&[&run[..], words].concat()))?;
    document.pointer("/samples/0").cloned().ok_or_else(|| "no sample".to_owned())
}

/// A count of a sample, or why there is none.
fn count(sample: &Value, event: &str) -> Result<Result<f64, String>, String> {
    let counters = &sample["counters"];
    if let Some(why) = absent(counters) {
        return Ok(Err(why));
    }
    let missing = counters["value"]["absent"].as_array().into_iter().flatten();
    let mut why = missing.filter(|a| a["events"].as_array().is_some_and(|all| all.iter().any(|e| e == event)));
    if let Some(found) = why.next() {
        return Ok(Err(found["why"]["detail"].as_str().unwrap_or_default().to_owned()));
    }
    let part = |what: &str| number(counters, &format!("/value/counts/{event}{what}"));
    match part("/times/value/enabled")? == part("/times/value/running")? {
        true => Ok(Ok(part("/count")?)),
        false => Err(format!("{event} is scaled: {}", counters["value"]["counts"][event])),
    }
}

/// The count of an event in a program, and in one that does so much more.
fn two(program: &str, event: &str, [once, more]: [u64; 2]) -> Result<Result<[f64; 2], String>, String> {
    let counted = |n: u64| count(&sample(&[program, &n.to_string()])?, event);
    Ok(match (counted(once)?, counted(more)?) {
        (Ok(once), Ok(more)) => Ok([once, more]),
        (Err(why), _) | (_, Err(why)) => Err(why),
    })
}

fn instructions() -> Found {
    let [once, twice] = match two("instructions", "instructions_user", [ROUNDS, 2 * ROUNDS])? {
        Ok(counts) => counts,
        Err(why) => return Ok(Instead(why)),
    };
    let truth = PER_ROUND * ROUNDS as f64;
    let text = format!("{once:.0} of {truth:.0}, twice as many rounds: {:+.0} of {truth:.0}", twice - once);
    let in_all = once >= truth && once - truth < START;
    match in_all && (twice - once - truth).abs() < STARTS_DIFFER {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

/// Cycles per time on the CPU do not depend on how long that was.
fn clock_speed() -> Found {
    let speed = |rounds: u64| -> Result<Result<f64, String>, String> {
        let sample = sample(&["instructions", &rounds.to_string()])?;
        let all = ["cycles_user", "cycles_kernel", "task_clock"].map(|event| count(&sample, event));
        let [user, kernel, time] = all;
        Ok(match (user?, kernel?, time?) {
            (Ok(user), Ok(kernel), Ok(time)) => Ok((user + kernel) / time),
            (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => Err(why),
        })
    };
    let (short, long) = match (speed(ROUNDS)?, speed(3 * ROUNDS)?) {
        (Ok(short), Ok(long)) => (short, long),
        (Err(why), _) | (_, Err(why)) => return Ok(Instead(why)),
    };
    let text = format!("{short:.4} and {long:.4} GHz");
    match short > 0.05 && short < 10.0 && (short / long - 1.0).abs() < 0.05 {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

/// The ratio of the instructions of two programs, and the verdict.
fn one_percent_more() -> Found {
    let (less, more) = (format!("burner instructions {ROUNDS}"), format!("burner instructions {}", ROUNDS / 100 * 101));
    let by = ["run", "--json", "-w0", "-r6", "--order", "rounds", "--compare-by", "instructions:u"];
    let mut c = tare(&[&by[..], &[less.as_str(), more.as_str()]].concat());
    let document = match json(&mut c) {
        Ok(document) => document,
        Err(why) if why.contains("PMU") || why.contains("perf_event") => {
            let why = why.rsplit("--compare-by instructions:u: ").next().unwrap_or_default();
            return Ok(Instead(why.lines().next().unwrap_or_default().to_owned()));
        }
        Err(why) => return Err(why),
    };
    let comparison = &document["report"]["comparisons"][0];
    let ratio = number(comparison, "/ratio")?;
    let text = format!("ratio {ratio:.6}, {}", comparison["verdict"]);
    // The start of the programs makes it a little smaller.
    match comparison["by_counter"] == "instructions_user"
        && comparison["verdict"] == "slower"
        && (ratio - 1.01).abs() < 4e-4
    {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

fn page_faults() -> Found {
    const PAGES: u64 = 4_000;
    let [once, twice] = match two("page-faults", "page_faults", [PAGES, 2 * PAGES])? {
        Ok(counts) => counts,
        Err(why) => return Ok(Instead(why)),
    };
    let text = format!("{once:.0}, twice as many: {:+.0} of {PAGES}", twice - once);
    match (twice - once - PAGES as f64).abs() < 0.01 * PAGES as f64 {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

/// No fewer than the program slept, no more than the kernel itself has for it.
fn context_switches() -> Found {
    const SLEEPS: u64 = 200;
    let sample = sample(&["sleeps", &SLEEPS.to_string()])?;
    let found = match count(&sample, "context_switches")? {
        Ok(found) => found,
        Err(why) => return Ok(Instead(why)),
    };
    let usage = |what: &str| number(&sample, &format!("/usage/value/{what}"));
    let kernel = usage("voluntary_switches")? + usage("involuntary_switches")?;
    let text = format!("{found:.0} of {kernel:.0} with those before exec, {SLEEPS} sleeps");
    match found >= SLEEPS as f64 && found <= kernel {
        true => Ok(Works(text)),
        false => Err(text),
    }
}

/// Counters of this program on every CPU, which leave others one or none.
struct Crowd(Vec<i32>);

impl Crowd {
    const MOST: usize = 32;

    /// `None` without a PMU that counts instructions.
    fn new() -> Option<Crowd> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut crowd = Crowd(Vec::new());
        for cpu in 0..cpus {
            let opened: Vec<i32> = (0..Crowd::MOST).map_while(|_| open(cpu)).collect();
            let has_counter = |fd: &&i32| times(**fd).is_some_and(|[_, running]| running > 0);
            let counting = opened.iter().filter(has_counter).count();
            // One is left to the others.
            let (kept, released) = opened.split_at(counting.saturating_sub(1));
            released.iter().for_each(|fd| close(*fd));
            crowd.0.extend(kept);
        }
        (!crowd.0.is_empty()).then_some(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.iter().for_each(|fd| close(*fd));
    }
}

fn close(fd: i32) {
    // SAFETY: opened by this program.
    unsafe { libc::close(fd) };
}

/// A pinned event for all instructions on a CPU.
fn open(cpu: usize) -> Option<i32> {
    const PINNED: u64 = 1 << 2;
    // `struct perf_event_attr`, version 0: type, size, config, period, sample type, read format, flags.
    let attr: [u64; 8] = [64 << 32, 1, 0, 0, 3, PINNED, 0, 0];
    let cpu = i32::try_from(cpu).ok()?;
    // SAFETY: the attributes have the size that they state.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attr.as_ptr(), -1, cpu, -1, 0) };
    i32::try_from(fd).ok().filter(|fd| *fd >= 0)
}

/// For how long it was enabled and counted; `None` where the kernel has stopped it.
fn times(fd: i32) -> Option<[u64; 2]> {
    let mut value = [0_u64; 3];
    // SAFETY: three words to write to.
    let read = unsafe { libc::read(fd, value.as_mut_ptr().cast(), 24) };
    (read == 24).then_some([value[1], value[2]])
}

/// Events that take turns: their counts are estimates near the truth, and marked; or there is none.
fn multiplexed() -> Found {
    let Some(_crowd) = Crowd::new() else {
        return Ok(Instead("no PMU that counts instructions".to_owned()));
    };
    let rounds = (8 * ROUNDS).to_string();
    let document = json(&mut tare(&["run", "--json", "-w1", "-r1", "--", "burner", "instructions", &rounds]))?;
    let all = document.pointer("/report/series/0/counters/value/counters").and_then(Value::as_array);
    let by_name = |name: &str| all.and_then(|all| all.iter().find(|c| c["counter"] == name)).ok_or("no counters");
    let found = by_name("instructions_user")?;
    if let Some(why) = absent(&found["figures"]) {
        return Ok(Instead(why));
    }
    let value = number(found, "/figures/value/mean")?;
    let share = number(found, "/scaled/least").map_err(|_| format!("not marked: {found}"))?;
    let truth = PER_ROUND * 8.0 * ROUNDS as f64;
    let text = format!("{value:.3e} of {truth:.3e}, counted {:.0}% of the time", 100.0 * share);
    match share < 1.0 && (value / truth - 1.0).abs() < 0.2 {
        true => Ok(Works(text)),
        false => Err(text),
    }
}
