//! The table of clocks and the advice, as a user reads them.
#![allow(clippy::unwrap_used, reason = "tests")]

use insta::assert_snapshot;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::choose;
use tarebench_core::kbest::clocks::{Clocks, Kind, Measured, Mechanism, Way};
use tarebench_render::kbest::clocks::{Asked, json, sentences, terminal};
use tarebench_render::kit::style::Style;

fn clocks() -> Clocks {
    let mechanism = |kind, way, resolution, latency, went_back| Mechanism {
        kind,
        measured: Reading::Value(Measured { way, resolution, latency, went_back }),
    };
    Clocks {
        source: Reading::Value("tsc".to_owned()),
        counter_hz: Reading::Value(2.3e9),
        constant: Reading::Value(true),
        apart: Reading::Value(37.0),
        mechanisms: vec![
            mechanism(Kind::Counter, Way::Instruction, Some(9.6), 14.2, false),
            mechanism(Kind::Monotonic, Way::Vdso, Some(21.0), 24.1, false),
            mechanism(Kind::MonotonicCoarse, Way::Vdso, Some(4e6), 3.9, false),
            mechanism(Kind::Realtime, Way::Vdso, Some(20.0), 24.4, true),
            mechanism(Kind::ThreadCpu, Way::Call, Some(150.0), 181.0, false),
            mechanism(Kind::Times, Way::Call, Some(1e7), 402.0, false),
            mechanism(Kind::Stat, Way::File, None, 9_800.0, false),
            Mechanism { kind: Kind::Rdpmc, measured: Reading::Absent(Absent::NotSupported("no PMU".to_owned())) },
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
        let asked = Asked { duration: Nanos::from_millis(5), load: 3 };
        let choice = choose(5e6, 3, None, &clocks());
        assert_snapshot!(name, terminal(&clocks(), Some((&asked, &choice)), &style));
    }
}

#[test]
fn every_advice_in_words() {
    let all = [(100, 1), (20_000, 1), (20_000, 4), (3_900_000, 11), (5_000_000, 1), (5_000_000, 3), (2_000_000_000, 1)];
    let mut text = String::new();
    for (ns, load) in all {
        let asked = Asked { duration: Nanos(ns), load };
        let choice = choose(ns as f64, load, None, &clocks());
        text += &format!("{ns} ns, load {load}\n  {}\n", sentences(&asked, &choice, true).join("\n  "));
    }
    assert_snapshot!(text);
}

#[test]
fn as_json() {
    let text = json(&clocks(), None).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["format"], "tare-clocks");
    assert_eq!(document["clocks"]["mechanisms"][0]["kind"], "counter");
    assert!(document["choice"].is_null());
}
