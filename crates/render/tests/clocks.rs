//! The table of clocks and the advice, as a user reads them.
#![allow(clippy::unwrap_used, reason = "tests")]

use insta::assert_snapshot;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::choose;
use tarebench_core::kbest::clocks::{ClockKind, Clocks, MeasuredClock, Mechanism, ReadingMethod};
use tarebench_core::kbest::interval_counting::clock_tick_rate;
use tarebench_render::kbest::clocks::{ClocksRequest, json, sentences, sheet};
use tarebench_report::cell::Cell;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;

fn clocks() -> Clocks {
    let mechanism = |kind, way, resolution, latency, went_back| Mechanism {
        kind,
        measured: Reading::Value(MeasuredClock { way, resolution, latency, went_back }),
    };
    Clocks {
        source: Reading::Value("tsc".to_owned()),
        counter_hz: Reading::Value(2.3e9),
        constant: Reading::Value(true),
        apart: Reading::Value(37.0),
        mechanisms: vec![
            mechanism(ClockKind::Counter, ReadingMethod::Instruction, Some(9.6), 14.2, false),
            mechanism(ClockKind::Monotonic, ReadingMethod::Vdso, Some(21.0), 24.1, false),
            mechanism(ClockKind::MonotonicCoarse, ReadingMethod::Vdso, Some(4e6), 3.9, false),
            mechanism(ClockKind::Realtime, ReadingMethod::Vdso, Some(20.0), 24.4, true),
            mechanism(ClockKind::ThreadCpu, ReadingMethod::Call, Some(150.0), 181.0, false),
            mechanism(ClockKind::Times, ReadingMethod::Call, Some(1e7), 402.0, false),
            mechanism(ClockKind::Stat, ReadingMethod::File, None, 9_800.0, false),
            Mechanism { kind: ClockKind::Rdpmc, measured: Reading::Absent(Absent::NotSupported("no PMU".to_owned())) },
        ],
    }
}

#[test]
fn the_table() {
    for (name, style) in [
        ("wide", Style { width: 150, ..Style::default() }),
        ("narrow", Style { width: 72, ..Style::default() }),
        ("ascii", Style { width: 110, unicode: false, ..Style::default() }),
    ] {
        let asked = ClocksRequest { duration: Nanos::from_millis(5), load: 3 };
        let choice = choose(5e6, 3, None, &clocks());
        assert_snapshot!(name, sheet_text(&sheet(&clocks(), None, Some((&asked, &choice))), &style));
    }
}

#[test]
fn every_advice_in_words() {
    let all = [(100, 1), (20_000, 1), (20_000, 4), (3_900_000, 11), (5_000_000, 1), (5_000_000, 3), (2_000_000_000, 1)];
    let mut text = String::new();
    for (ns, load) in all {
        let asked = ClocksRequest { duration: Nanos(ns), load };
        let choice = choose(ns as f64, load, None, &clocks());
        text += &format!(
            "{ns} ns, load {load}\n  {}\n",
            sentences(&asked, &choice).iter().map(Cell::plain).collect::<Vec<_>>().join("\n  ")
        );
    }
    assert_snapshot!(text);
}

#[test]
fn as_json() {
    let ticks = clock_tick_rate(50, 0.5);
    let text = json(&clocks(), ticks.as_ref(), None).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["format"], "tare-clocks");
    assert_eq!(document["clocks"]["mechanisms"][0]["kind"], "counter");
    assert!(document["choice"].is_null());
    assert_eq!((document["times"]["ticks"].as_u64(), document["times"]["estimate"].as_f64()), (Some(50), Some(100.0)));
}

/// CS:APP homework problem 9.10.
#[test]
fn the_rate_of_times_has_bounds() {
    let shown = sheet_text(&sheet(&clocks(), clock_tick_rate(50, 0.5).as_ref(), None), &Style::default());
    let line = "times       100 ticks a second (98.0 to 102): 50 during a sleep of 500 ms";
    assert!(shown.lines().any(|l| l.trim() == line), "{shown}");
}
