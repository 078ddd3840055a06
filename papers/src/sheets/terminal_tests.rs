//! Every study of samples on terminals of several widths, from one small synthetic run.

use crate::data::published::all;
use crate::data::samples::report;
use crate::data::series::{SampleStudy, StudyProgram, StudyRunPart, StudyWork};
use crate::data::test_samples;
use crate::sheets::outputs::study_text;
use crate::sheets::published::{published_tables, published_text};
use crate::sheets::samples::sheet;
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::run::plan::IgnoreFailure;
use tarebench_core::sample::daemons::{Daemon, TaskKind};
use tarebench_core::sample::data::{ClockShift, MetricReading, Outcome, Phase, Sample};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::style::Style;
use tarebench_report::table::Table;
use tarebench_report::text::columns;

/// Task lengths, s.
const LENGTHS: [f64; 2] = [0.25, 1.0];
const SAMPLES: u32 = 40;
const WIDTHS: [usize; 3] = [60, 80, 100];
/// Studies whose snapshots are of all widths: those with the widest tables. The others have one of 80 columns.
const WIDE: [SampleStudy; 7] = [
    SampleStudy::EtPt,
    SampleStudy::Ntp,
    SampleStudy::Outliers,
    SampleStudy::SampleSize,
    SampleStudy::Dual,
    SampleStudy::Worst,
    SampleStudy::Variance,
];

/// A number from 0 to 1 for each sample: the fractional part of multiples of the golden ratio.
fn share(i: u32) -> f64 {
    (f64::from(i) * 0.618_033_988_749_895).fract()
}

fn daemon(pid: i32, name: &str, cpu: i64) -> Daemon {
    Daemon {
        pid,
        start: Nanos(1),
        name: Name::from(name),
        kind: TaskKind::User,
        cpu: Nanos(cpu),
        tick_bound: false,
        interval_counted: None,
        born: false,
        died: false,
    }
}

/// The i-th execution of a program of this length: it varies by a few per mille, and one of them met a long-running daemon.
fn sample(series: usize, i: u32, seconds: f64) -> Sample {
    let mut made = test_samples::sample(i, 0.0, 0, 0);
    made.steal = Reading::Absent(Absent::NotSupported("no steal".to_owned()));
    made.counters = Reading::Absent(Absent::NotSupported("no PMU".to_owned()));
    let met = if i == 17 { 9e6 } else { 0.0 };
    let pt = Nanos((seconds * 1e9 * (1.0 + 4e-3 * share(i)) + met).round() as i64);
    let elapsed = pt + Nanos((5e6 * share(7 * i + 1)) as i64 + 1_000_000);
    let start = Nanos(2_000_000_000 * i64::from(2 * i + 1));
    let seq = 2 * i + u32::try_from(series).unwrap();
    (made.series, made.seq, made.index) = (u32::try_from(series).unwrap(), seq, i);
    (made.phase, made.outcome) = (Phase::Counted, Outcome::Exited { code: 0 });
    made.wall_clock = Nanos(1_763_689_000_000_000_000) + start;
    for (stamp, at) in [(&mut made.start, start), (&mut made.end, start + elapsed)] {
        (stamp.monotonic, stamp.monotonic_raw) = (at, at);
        stamp.cycles = None;
    }
    made.clock_shift = Reading::Value(ClockShift { suspended: Nanos::ZERO, stepped: Nanos::ZERO });
    let whole = CpuTime { user: pt, system: Nanos::ZERO, total: pt };
    let Reading::Value(times) = made.process_times else { panic!("the fixture has process times") };
    let times = ProcessTimes { source: PtSource::Wait4, wait4: Reading::Value(whole), ..times };
    made.process_times = Reading::Value(times);
    if let Reading::Value(daemons) = &mut made.daemons {
        let long = if i == 17 { 700_000_000 } else { 40_000 };
        let usual = (2e6 * share(3 * i)) as i64 + 100_000;
        daemons.list = vec![daemon(8, "systemd-journald", usual), daemon(9, "rhn_check", long)];
    }
    let half = |name: &str, part: f64| MetricReading {
        name: name.to_owned(),
        text: Reading::Value(format!("{:.9}", pt.as_f64() / 1e9 * part)),
    };
    let part = 0.5 + 1e-3 * (share(5 * i) - 0.5);
    made.metrics = vec![half("first", part), half("second", 1.0 - part)];
    made
}

fn part(condition: &str, stretched: f64) -> StudyRunPart {
    let head = DocumentHead {
        kind: DocumentKind::Run,
        number: 1,
        uuid: "0".repeat(32),
        title: "INC".to_owned(),
        created: Nanos(0),
        status: Status::Finished,
        tool: "0.1.0".to_owned(),
        machine: "box".to_owned(),
        conditions: None,
        tags: BTreeMap::new(),
    };
    let program = |seconds: &f64| StudyProgram {
        label: format!("dual INC{seconds}"),
        work: StudyWork::Halves { seconds: *seconds },
        size: Some(*seconds),
    };
    let samples = (0..SAMPLES).flat_map(|i| LENGTHS.iter().enumerate().map(move |(s, l)| (s, i, *l)));
    StudyRunPart {
        condition: condition.to_owned(),
        programs: LENGTHS.iter().map(program).collect(),
        head,
        samples: samples.map(|(s, i, l)| sample(s, i, l * stretched)).collect(),
        cutoffs: Vec::new(),
        ignore_failure: IgnoreFailure::No,
    }
}

fn sheet_of(study: SampleStudy) -> Sheet {
    let found = report(study, &[part("NTP daemon off", 1.001), part("NTP daemon on", 1.0)]);
    let found = found.unwrap_or_else(|gap| panic!("{study}: {gap}"));
    Sheet { title: format!("Study s1: {study}").into(), ..sheet(&found) }
}

fn words(text: String) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// No line is wider than the terminal, nothing is cut, and every number and name of every table is whole.
fn nothing_is_cut(what: &str, text: &str, tables: &[&Table], width: usize) {
    for line in text.lines() {
        assert!(columns(line) <= width, "{what} at {width}: {line:?}");
    }
    assert!(!text.contains('…'), "{what} at {width}:\n{text}");
    for table in tables {
        for word in table.rows.iter().flat_map(|r| r.plain()).flat_map(words) {
            assert!(text.contains(&word), "{what} at {width}: no {word:?} in\n{text}");
        }
        let shown = |i: usize| table.rows.iter().any(|r| !r.cells[i].is_empty());
        let headings = table.columns.iter().enumerate().filter(|(i, _)| shown(*i));
        for word in headings.flat_map(|(_, c)| words(c.title.plain())) {
            assert!(text.contains(&word), "{what} at {width}: no {word:?} in\n{text}");
        }
    }
}

#[test]
fn every_study_on_every_terminal() {
    for study in SampleStudy::all() {
        let sheet = sheet_of(study);
        let tables: Vec<&Table> = sheet.sections.iter().flat_map(Section::tables).collect();
        let ids: Vec<&str> = sheet.sections.iter().flat_map(Section::figures).map(|f| f.id.as_str()).collect();
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{study}: figures have ids of their own");
        let mut shown = String::new();
        for width in WIDTHS {
            let text = study_text(&sheet, &Style { width, ..Style::default() });
            nothing_is_cut(study.name(), &text, &tables, width);
            if width == 80 || WIDE.contains(&study) {
                shown.push_str(&format!("{width} columns\n{text}\n"));
            }
        }
        insta::assert_snapshot!(study.name(), shown);
    }
}

#[test]
fn the_papers_tables_on_every_terminal() {
    let commands: Vec<&String> = all().iter().flat_map(|t| &t.counterpart).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let tables = published_tables(command);
        for width in WIDTHS {
            let text = published_text(&tables, &Style { width, ..Style::default() });
            nothing_is_cut(command, &text, &tables.iter().collect::<Vec<_>>(), width);
        }
    }
}
