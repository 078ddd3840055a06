//! Comparisons of stored runs for tests.

use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::RatioBasis;
use tarebench_core::compare::stored::{
    BlockRatio, ComparedBy, ComparedRun, LeftOutProgram, PastMedian, PastRun, PastSeries, SeriesTimes, SideMetric,
    SideReference, StoredComparison, StoredPair, StoredPlan, StoredSide,
};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::{Factor, Host, Standing};
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::intervals::{Interval, NoInterval};

const HOUR: i64 = 3_600_000_000_000;
const MS: f64 = 1e6;

fn host(machine: &str, kernel: &str) -> Host {
    let known = |t: &str| Reading::Value(t.to_owned());
    Host {
        name: "box".to_owned(),
        machine: machine.to_owned(),
        boot: known("b"),
        kernel: kernel.to_owned(),
        kernel_version: "#1".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: Reading::Absent(Absent::NotAsked(String::new())),
        cpus: 2,
        memory: Reading::Value(4 << 30),
        hypervisor: known("KVM"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(2.1e9),
    }
}

pub fn run(number: i64, kernel: &str, ntp: &str) -> ComparedRun {
    let factor = Factor { value: Some(ntp.to_owned()), ..Factor::new(2, "ntp", Standing::Held, "") };
    ComparedRun {
        run: number,
        uuid: format!("{number:032x}"),
        created: Nanos(1_700_000_000_000_000_000 + number * HOUR),
        status: Status::Finished,
        conditions: Conditions::new(host("m", kernel), vec![factor]),
    }
}

fn times(measure: Measure, median: f64) -> SeriesTimes {
    let interval = Ok(Interval { low: median * 0.99, high: median * 1.01, level: 0.97 });
    SeriesTimes { measure, samples: 10, median, interval }
}

/// In ms.
pub fn side(run: u32, label: &str, elapsed: f64, cpu: f64) -> StoredSide {
    StoredSide {
        run,
        series: 0,
        label: label.to_owned(),
        program: label.to_owned(),
        times: vec![times(Measure::Et, elapsed * MS), times(Measure::Pt, cpu * MS)],
        metrics: Vec::new(),
        counters: Vec::new(),
        against: None,
    }
}

fn pair(program: u32, reference: u32) -> StoredPair {
    StoredPair {
        program,
        reference,
        blocks: Vec::new(),
        metrics: Vec::new(),
        counters: Vec::new(),
        paired_in_time: false,
    }
}

/// Eight runs of a program, whose times differ by 2% from run to run.
fn history(program: &str, fingerprint: &str) -> Vec<PastRun> {
    let past = |i: i64| PastRun {
        uuid: format!("{:032x}", 100 + i),
        created: Nanos(1_600_000_000_000_000_000 + 10 * i * HOUR),
        machine: "m".to_owned(),
        fingerprint: fingerprint.to_owned(),
        series: vec![PastSeries {
            program: program.to_owned(),
            medians: vec![PastMedian { measure: Measure::Pt, median: 300.0 * MS * (1.0 + 0.02 * (i % 2) as f64) }],
            ratios: Vec::new(),
        }],
    };
    (0..8).map(past).collect()
}

/// gzip of run 15, which takes 30% longer than in run 12, with a history of its CPU time.
pub fn slower() -> StoredComparison {
    let runs = vec![run(12, "6.1.0", "on"), run(15, "6.1.0", "on")];
    let history = history("gzip", runs[0].conditions.fingerprint());
    StoredComparison {
        plan: StoredPlan::default(),
        sides: vec![side(0, "gzip", 310.0, 300.0), side(1, "gzip", 400.0, 390.0)],
        pairs: vec![pair(1, 0)],
        left_out: Vec::new(),
        runs,
        history,
    }
}

fn metric(name: &str, median: f64) -> SideMetric {
    let interval = Ok(Interval { low: median * 0.99, high: median * 1.01, level: 0.97 });
    SideMetric { name: name.to_owned(), samples: 10, median, interval, smallest: median * 0.9 }
}

/// The same, compared by a rate that it prints.
pub fn printed() -> StoredComparison {
    let mut comparison = slower();
    comparison.plan.measure = Some(ComparedBy::Printed { metric: "rate".to_owned() });
    for (side, rate) in comparison.sides.iter_mut().zip([100.0, 200.0]) {
        side.metrics = vec![metric("rate", rate)];
    }
    comparison
}

/// The same with another kernel in run 15, and clocks that were set there.
pub fn other_machine(across: bool) -> StoredComparison {
    StoredComparison {
        plan: StoredPlan { measure: None, across_machines: across },
        runs: vec![run(12, "6.1.0", "on"), run(15, "6.2.0", "off")],
        ..slower()
    }
}

/// Both runs hold sleep as their reference.
pub fn with_reference() -> StoredComparison {
    let mut comparison = slower();
    for (side, ratio) in comparison.sides.iter_mut().zip([3.0, 3.3]) {
        let interval = Ok(Interval { low: ratio * 0.995, high: ratio * 1.005, level: 0.95 });
        side.against = Some(SideReference {
            label: "sleep".to_owned(),
            program: "sleep".to_owned(),
            times: vec![times(Measure::Pt, 100.0 * MS)],
            ratios: vec![BlockRatio { measure: Measure::Pt, basis: RatioBasis::Duets, ratio, interval, pairs: 12 }],
        });
    }
    comparison
}

/// Three programs of two runs; one of them is in one run only, and the second run is not finished.
pub fn several() -> StoredComparison {
    let mut runs = vec![run(12, "6.1.0", "on"), run(15, "6.1.0", "off")];
    runs[1].status = Status::Interrupted;
    StoredComparison {
        plan: StoredPlan { measure: Some(ComparedBy::Time(Measure::Net)), across_machines: false },
        sides: vec![
            side(0, "gzip", 310.0, 300.0),
            side(1, "gzip", 200.0, 190.0),
            side(0, "xz", 90.0, 80.0),
            side(1, "xz", 90.0, 80.0),
        ],
        pairs: vec![pair(1, 0), pair(3, 2)],
        left_out: vec![LeftOutProgram { run: 1, label: "bzip2".to_owned() }],
        runs,
        history: Vec::new(),
    }
}

/// Programs of one run that ran one after the other; too few blocks.
pub fn same_run() -> StoredComparison {
    let too_few = || Err(NoInterval::TooFew { have: 3, need: 6 });
    let block = |measure, ratio| BlockRatio { measure, basis: RatioBasis::Alone, ratio, interval: too_few(), pairs: 3 };
    StoredComparison {
        plan: StoredPlan::default(),
        runs: vec![run(12, "6.1.0", "on")],
        sides: vec![side(0, "gzip", 310.0, 300.0), side(0, "xz", 90.0, 80.0)],
        pairs: vec![StoredPair { blocks: vec![block(Measure::Pt, 0.25)], ..pair(1, 0) }],
        left_out: Vec::new(),
        history: Vec::new(),
    }
}

pub const HOSTILE: &str = "a\u{1b}[31m<script>alert(1)</script>|`\n```\n| x | \u{202e}=1+1 größe";

/// Names that do what names should not, times of 0, and no measure in common.
pub fn hostile() -> StoredComparison {
    let mut comparison = several();
    comparison.sides.iter_mut().for_each(|s| s.label = HOSTILE.to_owned());
    comparison.sides[2].times = vec![times(Measure::Net, 5.0)];
    comparison.sides[3].times = vec![SeriesTimes { median: 0.0, ..times(Measure::Net, 0.0) }];
    comparison.left_out[0].label = HOSTILE.to_owned();
    comparison.plan.measure = Some(ComparedBy::Printed { metric: HOSTILE.to_owned() });
    for (side, value) in comparison.sides.iter_mut().zip([1e-30, 1e40, 0.0, 1.0]) {
        side.metrics = vec![metric(HOSTILE, value)];
    }
    let factor = |value: &str| Factor { value: Some(value.to_owned()), ..Factor::new(1, HOSTILE, Standing::Held, "") };
    for (run, value) in comparison.runs.iter_mut().zip([HOSTILE, ""]) {
        run.conditions = Conditions::new(Host { name: HOSTILE.to_owned(), ..host("m", HOSTILE) }, vec![factor(value)]);
    }
    comparison
}

pub fn all() -> Vec<StoredComparison> {
    vec![
        slower(),
        other_machine(false),
        other_machine(true),
        with_reference(),
        several(),
        same_run(),
        hostile(),
        printed(),
    ]
}

pub fn head() -> DocumentHead {
    DocumentHead {
        kind: DocumentKind::Comparison,
        number: 1,
        uuid: "0".repeat(32),
        title: HOSTILE.to_owned(),
        created: Nanos(1_700_000_000_000_000_000),
        status: Status::Finished,
        tool: "0.1.0".to_owned(),
        machine: "box".to_owned(),
        conditions: None,
        tags: std::collections::BTreeMap::new(),
    }
}
