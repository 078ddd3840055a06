//! Results of benchmarks, as a user reads them.
#![allow(clippy::unwrap_used, reason = "tests")]

use insta::assert_snapshot;
use proptest::prelude::*;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head as document;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::documents::head::Status;
use tarebench_core::kbest::bench::{Bench, BenchMachine, BenchResult, FORMAT, VERSION};
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::report::{BenchReport, build};
use tarebench_core::kbest::scheme::Parameters;
use tarebench_core::kbest::timing::{Cache, Compensation, Timing, TimingStanding, Trial};
use tarebench_render::documents::list::{DocumentRow, table};
use tarebench_render::kbest::bench::{ShownBench, json, trials};
use tarebench_render::kbest::sheet;
use tarebench_report::markup::Markup;
use tarebench_report::number::TimeUnit;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;
use tarebench_report::{csv, document as documents};
use unicode_width::UnicodeWidthStr;

fn timing(counts: &[u64]) -> Timing {
    let one =
        |count| Trial { count, cpu: Some(count), ticks: Some(2), preemptions: Some(0), waits: None, core_cycles: None };
    Timing {
        clock: ClockKind::Counter,
        hz: 2.3e9,
        cache: Cache::Warm,
        repetitions: 1,
        parameters: Parameters::default(),
        compensation: Reading::Absent(Absent::NotAsked("no compensation asked for".to_owned())),
        overhead: 46,
        less_overhead: false,
        apart: 0,
        trials: counts.iter().map(|c| one(*c)).collect(),
    }
}

fn bench(rows: Vec<(&str, Timing)>) -> Bench {
    Bench {
        format: FORMAT.to_owned(),
        version: VERSION,
        tool: "0.1.0".to_owned(),
        name: "sorts".to_owned(),
        created: Nanos(1_700_000_000_000_000_000),
        machine: BenchMachine {
            name: "box".to_owned(),
            kernel: "6.1.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu: Reading::Value("AMD EPYC".to_owned()),
            cpus: 2,
        },
        rows: rows.into_iter().map(|(name, timing)| BenchResult { name: name.to_owned(), timing }).collect(),
    }
}

fn head(b: &Bench) -> DocumentHead {
    DocumentHead {
        kind: document::DocumentKind::Bench,
        number: 1,
        uuid: "0".repeat(32),
        title: b.name.clone(),
        created: b.created,
        status: Status::Finished,
        tool: b.tool.clone(),
        machine: b.machine.name.clone(),
        conditions: None,
        tags: std::collections::BTreeMap::new(),
    }
}

/// No trouble.
fn plain() -> Bench {
    let mut add = timing(&[2_300_000, 2_300_100, 2_300_200, 2_400_000]);
    add.repetitions = 1_000_000;
    bench(vec![("add", add), ("sort 1000", timing(&[23_001_000, 23_000_000, 23_000_500]))])
}

/// Every standing, clock and state of the caches; names that would act on a terminal.
fn troubled() -> Bench {
    let mut cold = timing(&[23_000_000, 23_500_000, 24_000_000]);
    cold.cache = Cache::Cold { bytes: 64 << 20 };
    let mut sliced = timing(&[39_100_000, 39_100_010, 39_100_020]);
    sliced.trials.iter_mut().for_each(|t| t.cpu = Some(5_001_000));
    let mut compensated = timing(&[23_000_000; 3]);
    compensated.compensation = Reading::Value(Compensation { cost: 11_500.0, period: 9_200_000.0 });
    compensated.less_overhead = true;
    let mut cpu = timing(&[5_000_000; 3]);
    (cpu.clock, cpu.hz) = (ClockKind::ThreadCpu, 1e9);
    bench(vec![
        ("cold\x1b[31m | `x`\n", cold),
        ("\u{202e}sliced", sliced),
        ("short", timing(&[300, 300, 300])),
        ("compensated", compensated),
        ("cpu", cpu),
        ("two trials", timing(&[23_000_000, 23_000_001])),
        ("nothing", timing(&[0, 0, 0])),
    ])
}

fn shown(b: &Bench, style: &Style) -> String {
    let (head, report) = (head(b), build(b));
    sheet_text(
        &sheet::bench(&ShownBench { head: &head, bench: b, report: &report }, &TimeZone::UTC, String::new()),
        style,
    )
}

fn csv(report: &BenchReport) -> String {
    csv::table(&sheet::table(report)).unwrap()
}

fn benchmarks(report: &BenchReport, unit: Option<TimeUnit>, markup: Markup) -> String {
    documents::table(&sheet::table(report), markup, unit)
}

#[test]
fn the_table() {
    let style = |width| Style { width, ..Style::default() };
    assert_snapshot!("bench_100", shown(&plain(), &style(100)));
    assert_snapshot!(
        "bench_ascii",
        shown(&plain(), &Style { unicode: false, unit: Some(TimeUnit::Microsecond), ..style(100) })
    );
    assert_snapshot!("bench_troubled_120", shown(&troubled(), &style(120)));
    assert_snapshot!("bench_troubled_100", shown(&troubled(), &style(100)));
    assert_snapshot!("bench_troubled_60", shown(&troubled(), &style(60)));
    let many = bench((0..30).map(|_| ("x", timing(&[0, 0, 0]))).collect());
    let text = shown(&many, &Style { more: Some("tare show b1 --full".to_owned()), ..style(80) });
    assert!(text.contains("and 10 more rows") && text.ends_with("Details: tare show b1 --full\n"), "{text}");
    assert_eq!(text.matches("no spread").count(), 20);
}

#[test]
fn documents_of_it() {
    for (name, b) in [("plain", plain()), ("troubled", troubled())] {
        let report = build(&b);
        assert_snapshot!(format!("bench_csv_{name}"), csv(&report));
        assert_snapshot!(format!("bench_markdown_{name}"), benchmarks(&report, None, Markup::Markdown));
    }
    let report = build(&plain());
    assert_snapshot!("bench_trials", trials(&plain()).unwrap());
    assert_snapshot!("bench_asciidoc", benchmarks(&report, None, Markup::Asciidoc));
    assert_snapshot!("bench_orgmode", benchmarks(&report, Some(TimeUnit::Millisecond), Markup::Org));
    let b = troubled();
    let (head, report) = (head(&b), build(&b));
    let text = json(&ShownBench { head: &head, bench: &b, report: &report }).unwrap();
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()) && !text.contains('\u{202e}'));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["format"], &document["version"], &document["id"]),
        (&"tare-bench-report".into(), &1.into(), &"b1".into())
    );
    let rows = document["report"]["rows"].as_array().unwrap();
    assert_eq!(rows[1]["standing"]["standing"], "slice_too_short");
    assert!(rows[1]["time"]["absent"]["detail"].as_str().unwrap().contains("another process had the CPU"));
    assert_eq!(serde_json::from_value::<Bench>(document["bench"].clone()).unwrap(), b);
}

#[test]
fn the_list_of_documents() {
    let row = |kind, number, title: &str, status| DocumentRow {
        id: document::Id { kind, number },
        created: "2026-11-21 18:00:00".to_owned(),
        status,
        titles: vec![title.to_owned()],
        samples: None,
        machine: plain().machine.name,
        tags: std::collections::BTreeMap::new(),
    };
    let rows = [
        row(document::DocumentKind::Study, 2, "interval counting", Status::Interrupted),
        row(document::DocumentKind::Profile, 1, "build7@2", Status::Finished),
        DocumentRow {
            machine: "another".to_owned(),
            ..row(
                document::DocumentKind::Bench,
                12,
                "sorts\x1b[31m of a title that goes on and on, far beyond what a line has room for",
                Status::Finished,
            )
        },
    ];
    assert_snapshot!("documents_100", table(&rows, &Style::default()));
    assert_snapshot!("documents_60", table(&rows, &Style { width: 60, ..Style::default() }));
}

fn any_timing() -> impl Strategy<Value = Timing> {
    let trial = (any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>());
    let figures = (1e-300..1e300_f64, any::<f64>(), any::<f64>(), 1..u64::MAX, any::<u64>());
    (proptest::collection::vec(trial, 1..6), figures, any::<bool>(), 1..5_u32).prop_map(
        |(trials, (hz, cost, period, repetitions, overhead), less_overhead, k)| Timing {
            hz,
            repetitions,
            overhead,
            less_overhead,
            parameters: Parameters::new(k, 0.1, 9, 0).unwrap(),
            cache: if less_overhead { Cache::Warm } else { Cache::Cold { bytes: overhead } },
            compensation: Reading::Value(Compensation { cost, period }),
            trials: trials
                .into_iter()
                .map(|(count, cpu, ticks)| Trial {
                    count,
                    cpu,
                    ticks,
                    preemptions: None,
                    waits: None,
                    core_cycles: None,
                })
                .collect(),
            ..timing(&[])
        },
    )
}

proptest! {
    #[test]
    fn any_figures_and_names_stay_in_their_place(
        rows in proptest::collection::vec(("\\PC{0,80}|.{0,400}|[a-z \\x1b\\n|]{0,30}", any_timing()), 1..5),
        title in ".{0,60}", width in 40usize..140, color in any::<bool>(), unicode in any::<bool>(), full in any::<bool>(),
    ) {
        let mut b = bench(rows.iter().map(|(name, t)| (name.as_str(), t.clone())).collect());
        (b.name, b.machine.name, b.machine.kernel) = (title.clone(), title.clone(), title.clone());
        b.machine.cpu = Reading::Absent(Absent::Failed(title.clone()));
        let style = Style { width, color: false, unicode, full, ..Style::default() };
        let row = DocumentRow {
            id: head(&b).id(),
            created: title.clone(),
            status: Status::Finished,
            titles: vec![title.clone()],
            samples: Some(7),
            machine: title.clone(),
            tags: [(title.clone(), title)].into(),
        };
        for text in [shown(&b, &style), table(&[row], &style)] {
            for line in text.lines() {
                prop_assert!(line.width() <= width, "{} columns: {:?}", line.width(), line);
                prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
                prop_assert!(unicode || line.is_ascii(), "{:?}", line);
            }
        }
        let coloured = shown(&b, &Style { color, ..style.clone() });
        prop_assert!(color || coloured == shown(&b, &style));
        let report = build(&b);
        let (head, org) = (head(&b), benchmarks(&report, None, Markup::Org));
        prop_assert_eq!(org.lines().count(), rows.len() + 2);
        // With the share that a slice lacked, if one was too short.
        let lacking = report.rows.iter().any(|r| matches!(r.standing, TimingStanding::SliceTooShort { .. }));
        let bars = if lacking { 10 } else { 9 };
        prop_assert!(org.lines().skip(2).all(|l| l.matches('|').count() == bars));
        for text in [org, benchmarks(&report, None, Markup::Markdown), benchmarks(&report, None, Markup::Asciidoc), csv(&report), trials(&b).unwrap()] {
            prop_assert!(!text.chars().any(|c| c != '\n' && c.is_control()));
        }
        let text = json(&ShownBench { head: &head, bench: &b, report: &report }).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        for row in document["report"]["rows"].as_array().unwrap() {
            prop_assert!(row["time"]["value"].is_number() || row["time"]["absent"].is_object());
        }
    }
}
