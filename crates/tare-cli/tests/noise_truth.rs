//! `tare noise` against the truth: noise that a task of known period and length makes, and the tick as a plain loop sees it. A
//! hypervisor steals and the clock speed changes, at times; so what is found must be near the truth in most attempts.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/noise.rs"]
mod helpers;

use common::{alone, burner, folder, json, signal, skip, text};
use helpers::{cpus, fifo_allowed, noise, number};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// What is found may be off by so much of the truth.
const NEAR: f64 = 0.05;
const ATTEMPTS: usize = 7;

/// A figure of one attempt.
struct Figure {
    name: &'static str,
    found: f64,
    truth: f64,
    /// How far off it may be.
    within: f64,
}

fn figure(name: &'static str, found: f64, truth: f64) -> Figure {
    Figure { name, found, truth, within: NEAR * truth.abs() }
}

/// Each figure must be near its truth in most attempts. Attempts end when that is decided.
fn mostly_near(mut attempt: impl FnMut() -> Vec<Figure>) {
    let most = ATTEMPTS / 2 + 1;
    let mut all: Vec<Vec<Figure>> = Vec::new();
    let near = |all: &[Vec<Figure>], i: usize| {
        all.iter().filter(|a| (a[i].found - a[i].truth).abs() <= a[i].within).count()
    };
    while all.len() < ATTEMPTS {
        all.push(attempt());
        if (0..all[0].len()).all(|i| near(&all, i) >= most) {
            break;
        }
    }
    let mut failed = false;
    for i in 0..all[0].len() {
        let seen: Vec<String> = all.iter().map(|a| format!("{:.4} ({:.4})", a[i].found, a[i].truth)).collect();
        let enough = near(&all, i) >= most;
        failed |= !enough;
        let bad = if enough { "" } else { ": NOT NEAR" };
        eprintln!("{}, found (truth){bad}: {}", all[0][i].name, seen.join(", "));
    }
    assert!(!failed, "a figure is not near the truth in {most} of {ATTEMPTS} attempts, see above");
}

/// Detours of a file, or of what the plain loop says: begin and length, ns.
fn detours(lines: &str) -> Vec<(f64, f64)> {
    let of = |line: &str| {
        let (start, length) = line.split_once('\t').expect("two columns");
        (start.parse().expect("a begin"), length.parse().expect("a length"))
    };
    lines.lines().map(of).collect()
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.into_iter().collect();
    all.sort_by(f64::total_cmp);
    assert!(!all.is_empty());
    f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
}

/// A real-time task that takes the CPU at known times.
struct Injected {
    child: Child,
    output: BufReader<ChildStdout>,
}

const PERIOD: u32 = 20_000;
const LENGTH: u32 = 2_000;

impl Injected {
    fn start(cpu: u32) -> Injected {
        let mut c = Command::new(burner());
        c.args(["inject", "injected", &cpu.to_string(), "30", &PERIOD.to_string(), &LENGTH.to_string(), "3000"]);
        let mut child = c.stdout(Stdio::piped()).spawn().expect("start the task");
        let mut output = BufReader::new(child.stdout.take().expect("stdout"));
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        assert_eq!(line, "ready\n");
        Injected { child, output }
    }

    /// What it did: begins and ends, ns of CLOCK_MONOTONIC.
    fn end(mut self) -> Vec<(f64, f64)> {
        signal(self.child.id(), libc::SIGTERM);
        let mut lines = String::new();
        self.output.read_to_string(&mut lines).expect("what it did");
        assert!(self.child.wait().expect("reap").success());
        let of = |line: &str| {
            let (began, ended) = line.split_once(' ').expect("two times");
            (began.parse().expect("a begin"), ended.parse().expect("an end"))
        };
        lines.lines().map(of).collect()
    }
}

/// The expected longest of n phases, where a phase takes `undisturbed` with the rest of the probability, and else with `p` each
/// of these delays more: a sum over them in their order (ICS'05, section 2.4).
fn expected_longest(n: i32, undisturbed: f64, p: f64, delays: &[f64]) -> f64 {
    let mut delays = delays.to_vec();
    delays.sort_by(f64::total_cmp);
    let each = p / delays.len() as f64;
    let mut below = 1.0 - p;
    let mut sum = undisturbed * below.powi(n);
    for delay in delays {
        let next: f64 = (below + each).min(1.0);
        sum += (undisturbed + delay) * (next.powi(n) - below.powi(n));
        below = next;
    }
    sum
}

fn curve<'a>(by: &'a Value, minus: &Value) -> &'a Value {
    by["curves"].as_array().unwrap().iter().find(|c| &c["minus"] == minus).expect("the curve")
}

/// On one CPU.
fn measured(dir: &TempDir, cpu: u32, more: &[&str]) -> Value {
    let mut c = noise(dir);
    c.args(["--cpus", &cpu.to_string(), "--grain", "100us", "--delays", "1ms", "--json", "--db", "none"]).args(more);
    json(&mut c, 0)
}

fn attribution(d: &Value) -> &Value {
    &d["grains"][0]["attribution"][0]["by"]["value"]
}

#[test]
fn injected_noise_is_recovered() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let cpu = *cpus().last().unwrap();
    let file = dir.path().join("detours.txt");
    if attribution(&measured(&dir, cpu, &["--phases", "10"])).is_null() {
        return skip("there is no record of the kernel here");
    }
    mostly_near(|| {
        let quiet = measured(&dir, cpu, &["--for", "1500ms"]);
        let task = Injected::start(cpu);
        let exported = ["--detour-threshold", "1ms", "--export-detours", file.to_str().unwrap()];
        let d = measured(&dir, cpu, &[&["--for", "3s"][..], &exported[..]].concat());
        let all = task.end();
        // What it did meanwhile.
        let clock = |i: usize| number(&d["series"][0]["pairs"][i]["clock"]);
        let (from, until) = (clock(0), clock(1));
        let jobs: Vec<(f64, f64)> = all.iter().copied().filter(|(began, ended)| *began >= from && *ended <= until).collect();
        assert!(jobs.len() > 100 && all.last().unwrap().0 > until, "the task ran all the time");
        let lengths: Vec<f64> = jobs.iter().map(|(began, ended)| ended - began).collect();
        let length: f64 = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let period = (jobs.last().unwrap().0 - jobs[0].0) / (jobs.len() - 1) as f64;

        // Theory: of the time between two jobs, so many phases, of which one is delayed.
        let grain = &d["grains"][0];
        let (row, chance) = (&grain["rows"][0], &grain["chances"][0]);
        let (undisturbed, shortest) = (number(&row["median"]), number(&row["min"]));
        let p = undisturbed / (period - length);
        let mut figures = vec![
            figure("delayed phases", number(&chance["count"]), jobs.len() as f64),
            figure("p", number(&chance["p"]), p),
        ];
        for (i, delayed, slower) in
            [(0, "d_p(1)", "slowdown of 1"), (1, "d_p(10)", "slowdown of 10"), (2, "d_p(100)", "slowdown of 100")]
        {
            let n = 10_i32.pow(i);
            let (d_p, job) = (&chance["jobs"][i as usize], &grain["jobs"][i as usize]);
            assert_eq!((&d_p["nodes"], &job["nodes"]), (&n.into(), &n.into()));
            figures.push(figure(delayed, number(&d_p["chance"]), 1.0 - (1.0 - p).powi(n)));
            let theory = expected_longest(n, undisturbed, p, &lengths) / shortest;
            figures.push(figure(slower, number(&job["slowdown"]["value"]), theory));
        }

        // Each delay, one by one: it begins with the phase that the job came into.
        let found = detours(&std::fs::read_to_string(&file).unwrap());
        let matched: Vec<f64> = jobs
            .iter()
            .filter_map(|(began, _)| {
                let at = began - from;
                found.iter().find(|(start, _)| (at - 2.0 * undisturbed..=at + 20e3).contains(start)).map(|(_, l)| *l)
            })
            .collect();
        figures.push(figure("jobs that are detours", matched.len() as f64, jobs.len() as f64));
        figures.push(figure("length of a delay", median(matched.iter().copied()), median(lengths.iter().copied())));

        // What the kernel's record says.
        let by = attribution(&d);
        let sources = by["sources"].as_array().unwrap();
        let is_it = |s: &&Value| s["reason"]["kind"] == "preempted" && s["reason"]["name"] == "injected";
        let source = sources.iter().find(is_it).unwrap_or_else(|| panic!("the task is not named: {sources:?}"));
        figures.push(figure("preemptions by the task", number(&source["count"]), jobs.len() as f64));
        figures.push(figure("time of the task", number(&source["time"]), lengths.iter().sum()));

        // What is left, with everything subtracted, as without the task; over the median, as the clock speed changes.
        let by_median = |d: &Value, minus: &Value, which: &str| {
            number(&curve(attribution(d), minus)[which]) / number(&d["grains"][0]["rows"][0]["median"])
        };
        let left = Value::from("preemption");
        for (name, which) in [("mean of what is left", "mean"), ("99.9% of what is left", "most")] {
            figures.push(figure(name, by_median(&d, &left, which), by_median(&quiet, &left, which)));
        }
        // Without the subtraction it is another picture.
        let whole = 1.0 + f64::from(LENGTH) * 1e3 / undisturbed;
        assert!(by_median(&d, &Value::Null, "most") > 0.9 * whole);
        figures
    });
}

/// Begin and length of each tick among detours: what comes at the one time of each period at which most comes. `None` without any.
fn ticks(detours: &[(f64, f64)], period: f64) -> Option<Vec<(f64, f64)>> {
    const BINS: usize = 100;
    // A hundredth of the period is some tens of microseconds: more than an interrupt is ever late, unless something is stolen.
    let bin = |start: f64| ((start / period).fract() * BINS as f64) as usize % BINS;
    let mut counts = [0_usize; BINS];
    detours.iter().for_each(|d| counts[bin(d.0)] += 1);
    // What jitters about the edge of a bin is in the next.
    let three = |i: usize| counts[(i + BINS - 1) % BINS] + counts[i] + counts[(i + 1) % BINS];
    let best = (0..BINS).max_by_key(|i| three(*i)).filter(|i| three(*i) > 0)?;
    let here = |start: f64| (bin(start) + BINS + 1 - best) % BINS < 3;
    let mut found: Vec<(f64, f64)> = detours.iter().copied().filter(|d| here(d.0)).collect();
    found.dedup_by(|b, a| b.0 - a.0 < period / 2.0);
    Some(found)
}

#[test]
fn ticks_are_told_from_other_detours() {
    let mut all: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i) * 4e6 + 3.99e6, 5e3)).collect();
    // Another one each 3 ms, and one that came twice.
    all.extend((0..130).map(|i| (f64::from(i) * 3e6 + 1e6, 9e3)));
    all.push((50.0 * 4e6 + 3.998e6, 9e3));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let found = ticks(&all, 4e6).unwrap();
    let right = found.iter().filter(|t| t.1 == 5e3).count();
    assert!(right >= 99 && found.len() <= 100, "{right} of {}", found.len());
    assert!(ticks(&[], 4e6).is_none());
}

/// Length of a tick of this kernel (1/HZ), ns: the resolution of the clock that only a tick sets.
fn tick_length() -> f64 {
    // SAFETY: a valid timespec to write to.
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut t), 0);
        t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
    }
}

/// bench/noise/detours.c, built.
fn plain_loop(dir: &TempDir) -> Option<String> {
    let program = dir.path().join("detours").to_str().unwrap().to_owned();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/noise/detours.c");
    match Command::new("cc").args(["-O2", "-Wall", "-Werror", "-o", &program, source]).status() {
        Ok(status) => {
            assert!(status.success());
            Some(program)
        }
        Err(e) => {
            skip(&format!("cc: {e}"));
            None
        }
    }
}

const THRESHOLD: &str = "500";

#[test]
fn the_tick_is_what_a_plain_loop_sees() {
    let _alone = alone();
    let dir = folder();
    let Some(program) = plain_loop(&dir) else { return };
    let (cpu, period) = (*cpus().last().unwrap(), tick_length());
    let file = dir.path().join("detours.txt");
    mostly_near(|| {
        let out = Command::new(&program).args([&cpu.to_string(), "1", THRESHOLD]).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        let said = text(&out.stdout);
        let (head, lines) = said.split_once('\n').unwrap();
        let window: f64 = head.split_once(' ').unwrap().0.parse().unwrap();
        let plain = ticks(&detours(lines), period).expect("a second has ticks");

        let mut c = noise(&dir);
        c.args(["--cpus", &cpu.to_string(), "--grain", "1us", "--for", "1s", "--json", "--db", "none", "--no-explain"]);
        c.args(["--detour-threshold", "500ns", "--export-detours"]).arg(&file);
        let d = json(&mut c, 0);
        let clock = |i: usize| number(&d["series"][0]["pairs"][i]["clock"]);
        let measured = clock(1) - clock(0);
        let own = ticks(&detours(&std::fs::read_to_string(&file).unwrap()), period).expect("a second has ticks");

        let rate = |n: usize, window: f64| n as f64 / window * 1e9;
        let (own_rate, plain_rate) = (rate(own.len(), measured), rate(plain.len(), window));
        let length = |ticks: &[(f64, f64)]| median(ticks.iter().map(|t| t.1));
        vec![
            figure("ticks a second by the loop, HZ", plain_rate, 1e9 / period),
            figure("ticks a second by tare, HZ", own_rate, 1e9 / period),
            figure("ticks a second by tare, by the loop", own_rate, plain_rate),
            figure("length of a tick by tare, by the loop, ns", length(&own), length(&plain)),
        ]
    });
}
