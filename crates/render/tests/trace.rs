//! An activity trace as text, in JSON, as a figure and as a page's data.
#![allow(clippy::unwrap_used, reason = "tests")]

use insta::assert_snapshot;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::trace::activity::{Gap, Trace};
use tarebench_core::trace::explained::{Explained, TraceRecording, explain};
use tarebench_core::trace::timeline::ClockPair;
use tarebench_core::trace::timeline::{CpuEvent, CpuOccupant, TraceTask};
use tarebench_render::trace::activity::{Activity, Made, json};
use tarebench_render::trace::book::{parse, text};
use tarebench_render::trace::sheet;
use tarebench_report::hints::Hints;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;
use tarebench_report::web::html as web;

const HOSTILE: &str = "a)b <script>";
/// Cycles of a millisecond.
const MS: i64 = 2_000_000;

fn event(what: CpuOccupant, start: i64, end: i64) -> CpuEvent {
    let at = |cycles: i64| Nanos(cycles / 2);
    CpuEvent { what, start: at(start), end: at(end), own: at(end - start), complete: true }
}

/// Ticks every 4 ms for this many ms; after every third one another task runs for 2 ms; and one period of steal time.
fn trace(ms: i64) -> (Trace, Vec<CpuEvent>) {
    let task = |name: &[u8], by| CpuOccupant::Task(TraceTask { name: Name::new(name.to_vec()), by, pid: 77, tid: 78 });
    let (mut gaps, mut events) = (Vec::new(), Vec::new());
    let mut gap = |start: i64, end: i64| {
        gaps.push(Gap { start: start.unsigned_abs(), duration: (end - start).unsigned_abs() });
    };
    let mut i = 0;
    while (4 * i + 5) * MS <= ms * MS {
        let at = (4 * i + 1) * MS;
        events.push(event(CpuOccupant::Timer, at + 600, at + 9_000));
        match i % 3 {
            2 => {
                let who = if i % 2 == 0 {
                    task(HOSTILE.as_bytes(), TaskKind::User)
                } else {
                    task(b"kworker/1:2-events", TaskKind::Kernel)
                };
                events.push(event(who, at + 9_600, at + 2 * MS - 900));
                gap(at, at + 2 * MS);
            }
            _ => {
                events.push(event(CpuOccupant::Softirq { name: "TIMER".to_owned() }, at + 9_300, at + 11_000));
                gap(at, at + 12_000);
            }
        }
        if i == 3 {
            gap(at + 2 * MS, at + 3 * MS);
        }
        i += 1;
    }
    (Trace::new(2e9, (ms * MS).unsigned_abs(), gaps).unwrap(), events)
}

fn explained(trace: &Trace, mut events: Vec<CpuEvent>) -> Explained {
    events.sort_by_key(|e| e.start);
    let pair = |cycles: f64| ClockPair { cycles, clock: Nanos((cycles / 2.0) as i64), within: Nanos(20) };
    let recording = TraceRecording {
        events,
        from: Nanos(-100),
        until: Nanos(i64::MAX),
        lost: 0,
        late: 0,
        missing: Vec::new(),
        own: 5,
        switches: None,
        faults: Some(0),
    };
    explain(trace, &recording, &[pair(-1_000.0), pair(trace.length() as f64 + 1_000.0)]).unwrap()
}

fn activity(ms: i64, traced: bool) -> Activity {
    let (trace, events) = trace(ms);
    let made = Made { cpu: 1, load: 1, threshold: 300, full: false };
    let known = match traced {
        true => Reading::Value(explained(&trace, events)),
        false => Reading::Absent(Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".to_owned())),
    };
    Activity::new(trace, made, known)
}

#[test]
fn each_period_is_explained_at_the_end_of_its_line() {
    let a = activity(30, true);
    assert_snapshot!("lines", text(&a));
    assert_eq!(parse(&text(&a), 2e9).unwrap(), a.trace, "and it is read back as before");
    assert!(text(&activity(30, false)).lines().filter(|l| l.starts_with('I')).all(|l| !l.contains("preempted")));
}

#[test]
fn the_summary_has_causes_or_says_why_not() {
    let style = Style { width: 96, ..Style::default() };
    assert_snapshot!("summary", summary(&activity(60, true), &style));
    assert_snapshot!("summary_unexplained", summary(&activity(60, false), &style));
    let Reading::Value(e) = activity(60, true).explained else { unreachable!() };
    let doubtful = Explained { lost: 7, unreported: Some(2), faults: Some(1), ..e };
    let a = Activity { explained: Reading::Value(doubtful), ..activity(60, true) };
    assert_snapshot!("summary_doubtful", summary(&a, &Style { width: 60, unicode: false, ..Style::default() }));
}

#[test]
fn json_has_the_events_or_the_reason() {
    let d: serde_json::Value = serde_json::from_str(&json(&activity(30, true)).unwrap()).unwrap();
    let e = &d["explained"]["value"];
    assert_eq!(e["gaps"].as_array().unwrap().len(), d["trace"]["gaps"].as_array().unwrap().len());
    let cause = e["gaps"][2]["cause"].as_u64().unwrap() as usize;
    assert_eq!(e["causes"][cause]["reason"], serde_json::json!({"kind": "preempted", "name": HOSTILE, "by": "user"}));
    assert_eq!(e["gaps"][2]["task"]["pid"], 77);
    assert_eq!(
        e["events"][0],
        serde_json::json!({"kind": "timer", "start": MS + 600, "end": MS + 9_000, "own": 8_400, "complete": true})
    );
    assert_eq!(d["summary"]["tick"]["hz"], 250);
    let d: serde_json::Value = serde_json::from_str(&json(&activity(30, false)).unwrap()).unwrap();
    assert_eq!(d["explained"]["absent"]["reason"], "no_permission");
    assert_eq!(d["causes"][0], "tick");
}

/// Periods, signs and rows of a figure, which must be well-formed.
fn summary(a: &Activity, style: &Style) -> String {
    sheet_text(&sheet::trace(a, &style.hints, String::new()), style)
}

fn drawn(text: &str) -> (usize, usize, usize) {
    let tree = roxmltree::Document::parse(text).unwrap();
    let paths = |class: &str| -> usize {
        let of = tree.descendants().filter(|n| n.attribute("class") == Some(class));
        of.map(|n| n.attribute("d").unwrap().matches('M').count()).sum()
    };
    let active = tree.descendants().find(|n| n.attribute("class") == Some("active")).unwrap();
    (paths("gaps"), paths("signs"), active.children().filter(|n| n.is_element()).count())
}

#[test]
fn the_picture_shows_each_period_and_each_timer_interrupt() {
    let a = activity(60, true);
    let picture = tarebench_render::trace::figures::trace(&a, "tare 0.9.0");
    let (gaps, signs, rows) = drawn(&picture);
    let others = a.trace.gaps().len() - 10;
    let timers = a.explained.value().unwrap().timers().count();
    assert_eq!((gaps, signs, rows), (a.trace.gaps().len(), timers + others, 1));
    assert!(picture.contains("a)b &lt;script&gt;") && !picture.contains("<script"));
    assert_snapshot!("picture", picture);
    assert_eq!(
        picture,
        tarebench_render::trace::figures::trace(&a, "tare 0.9.0"),
        "the same trace gives the same bytes"
    );
    assert!(tarebench_render::trace::figures::trace(&activity(60, false), "").contains("another process"));
}

#[test]
fn long_traces_are_folded_and_their_pictures_stay_small() {
    let (gaps, _, rows) = drawn(&tarebench_render::trace::figures::trace(&activity(1_000, true), ""));
    assert_eq!(rows, 10);
    // A period may continue in the next row.
    assert!(gaps >= activity(1_000, true).trace.gaps().len(), "{gaps}");
    let long = tarebench_render::trace::figures::trace(&activity(400_000, true), "");
    let (_, _, rows) = drawn(&long);
    assert!(rows <= 40 && long.len() < 4_000_000, "{rows} rows, {} bytes", long.len());
    let none = Activity::new(
        Trace::new(1e9, 0, Vec::new()).unwrap(),
        Made { cpu: 0, load: 1, threshold: 1, full: true },
        Reading::Absent(Absent::NotAsked(String::new())),
    );
    drawn(&tarebench_render::trace::figures::trace(&none, ""));
    assert!(
        web::data(&sheet::trace(&none, &Hints::default(), String::new()).into_page())
            .unwrap()
            .contains("\"kind\":\"trace\"")
    );
}

#[test]
fn the_pages_data_are_columns_of_the_same_trace() {
    let a = activity(60, true);
    let page = sheet::trace(&a, &Hints::default(), "tare 0.9.0".to_owned()).into_page();
    let t = page.timeline.as_ref().unwrap();
    let n = a.trace.gaps().len();
    assert_eq!((t.start.len(), t.duration.len(), t.cause.len(), t.words.len()), (n, n, n, n));
    assert_eq!(t.causes.iter().map(|c| c.gaps as usize).sum::<usize>(), n);
    assert_eq!(t.start[0], 1e6);
    let events = t.events.as_ref().unwrap();
    assert!(events.kind.iter().all(|k| *k < events.what.len()));
    assert_eq!(page.tables[0].rows.len(), t.causes.len());
    let data = web::data(&page).unwrap();
    assert!(!data.contains("<script") && data.contains("script"), "names cannot end the element they stand in");
}
