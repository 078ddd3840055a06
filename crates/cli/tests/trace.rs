//! `tare trace` on this machine: the tick, competitors, injected preemptions.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{NOBODY, alone, burner, folder, json, run, shared, skip, tare, text, via};
use serde_json::Value;
use std::process::{Command, Stdio};

fn traced(arguments: &[&str]) -> Value {
    let dir = folder();
    json(tare(&dir).args(["trace", "--json"]).args(arguments), 0)
}

/// The kernel's tick by its own word: CLOCK_MONOTONIC_COARSE moves with it.
fn kernel_hz() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is valid for writing.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut t) };
    1e9 / t.tv_nsec as f64
}

#[test]
fn the_tick_is_the_kernels() {
    let _alone = alone();
    let hz = kernel_hz().round();
    let traces: Vec<Value> = (0..6).map(|_| traced(&["--for", "400ms"])).collect();
    let recorded: Vec<f64> = traces.iter().filter_map(|d| d["explained"]["value"]["tick"]["hz"].as_f64()).collect();
    // Another program may have a faster timer on this CPU for a while.
    assert!(recorded.contains(&hz), "{hz}: the kernel's record shows {recorded:?}");
    assert!(recorded.iter().all(|t| *t >= hz), "{hz}: the kernel's record shows {recorded:?}");
    // Another guest may hide the ticks for a while. The host's tick interrupts the program, too: in a virtual machine, a
    // higher rate than the kernel's own may be inferred, if the host has one.
    let inferred: Vec<f64> = traces.iter().filter_map(|d| d["summary"]["tick"]["hz"].as_f64()).collect();
    let guest = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains(" hypervisor");
    assert!(inferred.contains(&hz), "{hz}: {inferred:?}");
    assert!(inferred.iter().all(|t| *t == hz || (guest && *t > hz)), "another tick was seen: {inferred:?}");
}

#[test]
fn competitors_take_their_share() {
    let _alone = alone();
    let share = |load: &str| {
        let d = traced(&["--for", "1s", "--load", load]);
        d["summary"]["active"].as_f64().unwrap()
    };
    for (load, most) in [("2", 0.62), ("4", 0.4)] {
        let wanted = 1.0 / load.parse::<f64>().unwrap();
        // A hypervisor that runs something else takes from the share, and in one second more than in another.
        let all: Vec<f64> = (0..3).map(|_| share(load)).collect();
        assert!(all.iter().all(|active| *active < most), "load {load}: active {all:?}");
        assert!(all.iter().any(|active| *active > wanted * 0.4), "load {load}: active {all:?}");
    }
}

/// A name that a page or a terminal must not interpret.
const ODD: &str = "a)b <script>";

/// A process of this name that uses the CPU for 3 ms every 50 ms, until the value is dropped.
struct Pulse(std::process::Child);

impl Pulse {
    fn start(name: &str, cpu: &str) -> Pulse {
        let mut c = Command::new(burner());
        Pulse(c.args(["pulse", name, cpu, "50", "3", "0"]).stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Which CPU is traced.
fn cpu() -> String {
    json(tare(&folder()).args(["trace", "--json", "--for", "1ms"]), 0)["made"]["cpu"].to_string()
}

/// The explanation of a trace, if this machine allows one.
fn explained(d: &Value) -> Option<&Value> {
    let e = &d["explained"]["value"];
    if e.is_null() {
        skip(&d["explained"]["absent"].to_string());
        return None;
    }
    Some(e)
}

fn list<'a>(of: &'a Value, name: &str) -> &'a Vec<Value> {
    of[name].as_array().unwrap()
}

/// What each inactive period was.
fn reasons(e: &Value) -> Vec<&str> {
    let causes = list(e, "causes");
    let reason_of = |g: &Value| causes[g["cause"].as_u64().unwrap() as usize]["reason"]["kind"].as_str().unwrap();
    list(e, "gaps").iter().map(reason_of).collect()
}

#[test]
fn injected_preemptions_are_named() {
    let _alone = alone();
    let cpu = cpu();
    let pulse = Pulse::start(ODD, &cpu);
    let d = traced(&["--for", "2s", "--cpu", &cpu]);
    drop(pulse);
    let Some(e) = explained(&d) else { return };
    let hz = d["trace"]["hz"].as_f64().unwrap();
    let cause = list(e, "causes").iter().find(|c| c["reason"]["name"] == ODD).expect("a cause of this name");
    assert_eq!((&cause["reason"]["kind"], &cause["reason"]["by"]), (&"preempted".into(), &"user".into()));
    // Where others are on the CPU too, some of its bursts lie in periods that are mostly theirs.
    assert!(cause["gaps"].as_u64().unwrap() >= 1, "{cause}");
    let is_odd_task = |e: &&Value| e["kind"] == "task" && e["name"] == ODD;
    let length = |e: &Value| (e["end"].as_f64().unwrap() - e["start"].as_f64().unwrap()) / hz;
    let taken: f64 = list(e, "events").iter().filter(is_odd_task).map(length).sum();
    // 40 bursts of 3 ms of CPU time; what the hypervisor takes within them comes on top.
    assert!(taken > 0.6 * 0.12, "{taken} s, injected 0.12 s");
    // The counter and the kernel's clock agree: a task that has the CPU is never within active time.
    let gaps: Vec<(f64, f64)> = list(&d["trace"], "gaps")
        .iter()
        .map(|g| (g["start"].as_f64().unwrap(), g["start"].as_f64().unwrap() + g["duration"].as_f64().unwrap()))
        .collect();
    let all: Vec<&Value> = list(e, "events").iter().filter(|e| is_odd_task(e) && e["complete"] == true).collect();
    let inside = all.iter().filter(|e| {
        let (start, end) = (e["start"].as_f64().unwrap(), e["end"].as_f64().unwrap());
        gaps.iter().any(|g| g.0 <= start && end <= g.1)
    });
    let inside = inside.count();
    assert!(inside * 10 >= all.len() * 9, "{inside} of {} lie in a gap", all.len());
}

#[test]
fn odd_names_are_text_in_lines_pictures_and_pages() {
    let _alone = alone();
    let (dir, cpu) = (folder(), cpu());
    let _pulse = Pulse::start(ODD, &cpu);
    let named = format!("preempted by {ODD} (pid ");
    // Where others are on the CPU too, all of its bursts may lie in periods that are mostly theirs.
    let found = (0..6).any(|_| {
        let (picture, page) = (dir.path().join("t.svg"), dir.path().join("t.html"));
        let mut c = tare(&dir);
        c.args(["trace", "--for", "1s", "--cpu", &cpu, "--svg"]).arg(&picture).arg("--html").arg(&page);
        let out = text(&run(&mut c, 0).stdout);
        let (picture, page) = (std::fs::read_to_string(picture).unwrap(), std::fs::read_to_string(page).unwrap());
        assert!(picture.contains("</svg>") && !picture.contains("<script"));
        let (_, data) = page.split_once("id=\"tare-data\"").unwrap();
        let data = data.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["kind"], "trace");
        let t = &data["timeline"];
        assert_eq!(list(t, "start").len(), out.lines().filter(|l| l.starts_with('I')).count());
        if t["events"].is_null() {
            skip("no record of the kernel's");
            return true;
        }
        let named = out.lines().any(|l| l.starts_with('I') && l.contains(&named));
        // All three say the same.
        assert_eq!(named, list(t, "causes").iter().any(|c| c["title"] == format!("preempted by {ODD}")));
        named && picture.contains("a)b &lt;script&gt;")
    });
    assert!(found, "no period was named after it");
}

/// Of the timer interrupts after which the process went on at once: others that run on the CPU, and a hypervisor that is late,
/// must not matter.
#[test]
fn most_ticks_are_explained_as_timer_interrupts() {
    let _alone = alone();
    let (mut timers, mut met, mut outside, mut told) = (0, 0, 0, 0);
    for _ in 0..8 {
        let d = traced(&["--for", "400ms"]);
        let Some(e) = explained(&d) else { return };
        let hz = d["summary"]["tick"]["hz"].as_f64();
        assert!(hz.is_none_or(|hz| hz == kernel_hz().round()), "{}", d["summary"]["tick"]);
        let alone = |(g, _): &(&Value, &str)| g["timers"].as_u64() > Some(0) && g["task"].is_null();
        let of: Vec<&str> = list(e, "gaps").iter().zip(reasons(e)).filter(alone).map(|(_, r)| r).collect();
        timers += of.iter().filter(|r| **r == "timer").count();
        met += of.len();
        told += list(e, "events").iter().filter(|e| e["kind"] != "task" && e["kind"] != "idle").count();
        outside += e["outside"].as_u64().unwrap() as usize;
        if met >= 40 && timers * 10 >= met * 8 {
            break;
        }
    }
    assert!(timers * 2 > met, "{timers} of {met}");
    assert!(outside * 20 <= told, "{outside} of {told} interrupts are in active time: the clocks do not agree");
}

/// If the program hardly runs, recorded kernel events still give the tick.
#[test]
fn a_mostly_preempted_trace_has_its_tick() {
    let _alone = alone();
    let mut found = Vec::new();
    for _ in 0..4 {
        let d = traced(&["--for", "500ms", "--load", "10"]);
        if explained(&d).is_none() {
            return;
        }
        found.push(d["summary"]["tick"]["hz"].as_f64());
    }
    let hz = Some(kernel_hz().round());
    assert!(found.contains(&hz) && found.iter().all(|f| f.is_none() || *f == hz), "{hz:?}: {found:?}");
}

#[test]
fn without_privilege_it_says_why_and_goes_by_period_and_length() {
    let _shared = shared();
    if !common::is_root() {
        return skip("this test becomes another user");
    }
    let dir = folder();
    let d = json(via(&dir, NOBODY).args(["trace", "--json", "--for", "100ms"]), 0);
    assert_eq!(d["explained"]["absent"]["reason"], "no_permission", "{}", d["explained"]);
    assert_eq!(list(&d, "causes").len(), list(&d["trace"], "gaps").len());
    let (picture, page) = (dir.path().join("t.svg"), dir.path().join("t.html"));
    let mut c = via(&dir, NOBODY);
    c.args(["trace", "--summary", "--for", "100ms", "--svg"]).arg(&picture).arg("--html").arg(&page);
    let shown = text(&run(&mut c, 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("CAP_BPF") && shown.contains("and length"), "{shown}");
    assert!(picture.exists() && std::fs::read_to_string(page).unwrap().contains("CAP_BPF"));
    let d = json(tare(&dir).args(["trace", "--json", "--for", "10ms", "--no-explain"]), 0);
    assert_eq!(d["explained"]["absent"]["reason"], "not_asked");
}

/// A process that uses the CPU for 3 ms every 50 ms, and preempts at once: its bursts are in the trace.
#[test]
fn injected_preemptions_are_found() {
    let _alone = alone();
    let cpu = cpu();
    let other = Pulse::start("t-pulse", &cpu);
    let d = traced(&["--for", "2s", "--cpu", &cpu]);
    drop(other);
    let hz = d["trace"]["hz"].as_f64().unwrap();
    let taken: f64 = d["trace"]["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["duration"].as_f64().unwrap() / hz)
        .filter(|s| *s > 0.5e-3)
        .sum();
    // 40 bursts of 3 ms, some of them in parts.
    assert!(taken > 0.6 * 0.12, "{taken} s in gaps over half a millisecond, injected 0.12 s");
}

#[test]
fn shown_as_in_the_book() {
    let _shared = shared();
    let dir = folder();
    let out = run(tare(&dir).args(["trace", "--for", "50ms"]), 0);
    let shown = text(&out.stdout);
    assert!(shown.starts_with("A0\tTime\t0\t(0.00 ms),\tDuration\t"), "{shown}");
    assert!(shown.contains("active") && shown.contains("inactive"), "{shown}");
    let out = run(tare(&dir).args(["trace", "--summary", "--for", "10ms"]), 0);
    assert!(!text(&out.stdout).contains("A0\t"));
}

#[test]
fn bad_requests_are_named() {
    let dir = folder();
    let out = run(tare(&dir).args(["trace", "--cpu", "1000"]), 2);
    assert!(text(&out.stderr).contains("CPU 1000 is not available; tare may use"), "{}", text(&out.stderr));
    for file in ["--svg", "--html"] {
        let out = run(tare(&dir).args(["trace", "--summary", "--for", "1ms", file, "/nonexistent/t"]), 4);
        assert!(text(&out.stderr).contains("/nonexistent/t"), "{}", text(&out.stderr));
    }
    for bad in [&["--for", "0"][..], &["--for", "2h"], &["--load", "0"], &["--threshold", "-1"]] {
        run(tare(&dir).arg("trace").args(bad), 2);
    }
}
