//! Gates for the tests.

use std::collections::BTreeMap;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::NoDuet;
use tarebench_core::compare::gate::{
    AlikeBlocks, BenchmarkReport, ControlReport, CorrectedSide, CorrectedSides, Gate, GateBenchmark, GatePlan,
    GateReport, GateSide, GateVerdict, MeanRatio, MeasuredBenchmark, SideTimes,
};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::{Factor, Host, Standing};
use tarebench_core::run::report::data::{Measure, RatioBasis};
use tarebench_core::statistics::intervals::{Interval, NoInterval};

pub fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high, level: 0.95 }
}

/// A benchmark as it was planned and measured, and its result.
type WholeBenchmark = (GateBenchmark, MeasuredBenchmark, BenchmarkReport);

/// Of duets, with this ratio and interval; the base takes 800 ms of CPU time.
pub fn benchmark(name: &str, verdict: GateVerdict, ratio: f64, half: f64) -> WholeBenchmark {
    let planned = GateBenchmark {
        name: name.to_owned(),
        command: format!("./target/release/{name} input"),
        threshold: 0.02,
        weight: 1.0,
        measure: None,
        budget: None,
    };
    let times = |measure, base: f64, head: f64| SideTimes {
        measure,
        base,
        base_interval: Ok(interval(base * 0.99, base * 1.01)),
        head,
        head_interval: Ok(interval(head * 0.99, head * 1.01)),
        samples: 6,
    };
    let log = |i: u32| ratio.ln() + half * (f64::from(i) / 11.5 - 1.0);
    let measured = MeasuredBenchmark {
        run: Some(7),
        run_uuid: Some("7".repeat(32)),
        basis: RatioBasis::Duets,
        measure: Some(Measure::Pt),
        logs: (0..24).map(log).collect(),
        times: vec![times(Measure::Et, 8.2e8, 8.3e8), times(Measure::Pt, 8e8, 8e8 * ratio + 1e6)],
        took: Nanos(60_000_000_000),
        ..MeasuredBenchmark::default()
    };
    let report = BenchmarkReport {
        name: name.to_owned(),
        verdict,
        ratio: Some(ratio),
        interval: Ok(interval(ratio - half, ratio + half)),
        mean: Some(MeanRatio {
            ratio,
            interval: Ok(interval(ratio - half, ratio + half)),
            slow_blocks: if ratio > 1.02 { 24 } else { 0 },
            fast_blocks: if ratio < 0.98 { 24 } else { 0 },
            of_blocks: 24,
        }),
        blocks: 24,
        detectable: Some(0.004),
        alike: None,
        p_slower: if verdict == GateVerdict::Regression { 1e-6 } else { 1.0 },
        p_faster: if verdict == GateVerdict::Improvement { 1e-6 } else { 1.0 },
        p_beyond: if verdict == GateVerdict::Pass { 1e-6 } else { 1.0 },
        control: None,
        corrected: None,
    };
    (planned, measured, report)
}

fn control(ratio: f64, half: f64, differs: bool) -> ControlReport {
    ControlReport { ratio, interval: Ok(interval(ratio - half, ratio + half)), p: 0.5, differs }
}

/// A gate of these.
pub fn gate_of(all: Vec<WholeBenchmark>, verdict: GateVerdict) -> (Gate, GateReport) {
    let side = |commit: &str, name: Option<&str>, subject: &str| GateSide {
        folder: "/src/prog".to_owned(),
        commit: Some(commit.to_owned()),
        name: name.map(str::to_owned),
        committed: Some(Nanos(1_700_000_000_000_000_000)),
        subject: Some(subject.to_owned()),
        modified: false,
    };
    let mut gate = Gate {
        plan: GatePlan {
            suite: "parsers".to_owned(),
            base: side("1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c", Some("origin/main"), "Keep the table sorted"),
            head: side("9a8b7c6d5e4f30219a8b7c6d5e4f30219a8b7c6d", None, "Parse numbers without copying"),
            benchmarks: Vec::new(),
            budget: Some(Nanos(600_000_000_000)),
            max_blocks: 54,
            control: true,
            family_error: 0.01,
        },
        measured: Vec::new(),
    };
    let mut report = GateReport { verdict, benchmarks: Vec::new(), mean_ratio: None };
    for (planned, measured, said) in all {
        gate.plan.benchmarks.push(planned);
        gate.measured.push(measured);
        report.benchmarks.push(said);
    }
    let ratios: Vec<f64> = report.benchmarks.iter().filter_map(|b| b.ratio).collect();
    let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
    report.mean_ratio = Some(mean.exp()).filter(|mean| mean.is_finite());
    (gate, report)
}

/// `b1`, `b2`, … with these verdicts; that of the suite is the worst.
pub fn report_of(verdicts: &[GateVerdict]) -> GateReport {
    let all = (1..).zip(verdicts).map(|(i, v)| benchmark(&format!("b{i}"), *v, 1.0, 0.003));
    let worst = [GateVerdict::Failed, GateVerdict::Regression, GateVerdict::Inconclusive];
    let worst = worst.into_iter().find(|v| verdicts.contains(v));
    let none = if verdicts.is_empty() { GateVerdict::Inconclusive } else { GateVerdict::Pass };
    gate_of(all.collect(), worst.unwrap_or(none)).1
}

/// One that is slower, one that is not, one that is faster.
pub fn three() -> (Gate, GateReport) {
    let mut parse = benchmark("parse", GateVerdict::Regression, 1.041, 0.003);
    parse.2.control = Some(control(0.999, 0.002, false));
    let all = vec![
        parse,
        benchmark("render", GateVerdict::Pass, 1.001, 0.004),
        benchmark("sort", GateVerdict::Improvement, 0.93, 0.01),
    ];
    gate_of(all, GateVerdict::Regression)
}

/// A quarter of the executions of the first is slower, and neighbouring blocks of the second are alike.
pub fn uneven() -> (Gate, GateReport) {
    let mut share = benchmark("share", GateVerdict::Regression, 1.001, 0.003);
    share.2.mean = Some(MeanRatio {
        ratio: 1.024,
        interval: Ok(interval(1.011, 1.037)),
        slow_blocks: 6,
        fast_blocks: 1,
        of_blocks: 24,
    });
    let mut alike = benchmark("alike", GateVerdict::Inconclusive, 1.003, 0.03);
    alike.2.alike = Some(AlikeBlocks { correlation: 0.52, worth: 6.8 });
    let mut ten = benchmark("ten", GateVerdict::Inconclusive, 1.001, 0.003);
    ten.2.blocks = 10;
    gate_of(vec![share, alike, ten], GateVerdict::Regression)
}

/// One of duets, and one that ran alone beside probes and was corrected.
pub fn corrected() -> (Gate, GateReport) {
    let mut alone = benchmark("grind", GateVerdict::Regression, 1.032, 0.012);
    let side = |value: f64, half: f64, uncorrected: f64| CorrectedSide {
        value,
        interval: interval(value - half, value + half),
        uncorrected,
    };
    alone.1.basis = RatioBasis::Alone;
    alone.1.no_duets = Some(NoDuet::TooLong { series: 1, pt: Nanos(6_000_000_000) });
    let (base, head) = (side(7.6e8, 3e6, 8e8), side(7.752e8, 3.2e6, 8.256e8));
    alone.1.corrected = Some(CorrectedSides { base, head });
    alone.2.corrected = alone.1.corrected_ratio();
    gate_of(vec![benchmark("parse", GateVerdict::Pass, 1.001, 0.003), alone], GateVerdict::Regression)
}

/// Every verdict, and every reason for having none.
pub fn every_verdict() -> (Gate, GateReport) {
    let mut all: Vec<WholeBenchmark> = {
        let (gate, report) = three();
        let planned = gate.plan.benchmarks.into_iter().zip(gate.measured).zip(report.benchmarks);
        planned.map(|((a, b), c)| (a, b, c)).collect()
    };
    let noisy = benchmark("noisy", GateVerdict::Inconclusive, 1.003, 0.1);
    let mut few = benchmark("few", GateVerdict::Inconclusive, 1.0, 0.1);
    few.1.basis = RatioBasis::Alone;
    few.1.measure = Some(Measure::Et);
    few.1.no_duets = Some(NoDuet::TooShort { series: 0, pt: Nanos(12_000_000) });
    few.1.logs.truncate(3);
    few.2.blocks = 3;
    few.2.interval = Err(NoInterval::TooFew { have: 3, need: 6 });
    few.2.mean = None;
    few.2.detectable = None;
    let mut bistable = benchmark("bistable", GateVerdict::Inconclusive, 1.05, 0.01);
    bistable.2.control = Some(control(1.03, 0.002, true));
    let mut none = nothing("none", GateVerdict::Inconclusive);
    none.1.failed = None;
    let crash = nothing("crash", GateVerdict::Failed);
    all.extend([noisy, few, bistable, none, crash]);
    gate_of(all, GateVerdict::Failed)
}

/// Nothing was measured, because it failed.
fn nothing(name: &str, verdict: GateVerdict) -> WholeBenchmark {
    let (planned, _, report) = benchmark(name, verdict, 1.0, 0.1);
    let failed = Some("the head failed with exit code 3: `panicked at src/main.rs:3`".to_owned());
    let measured = MeasuredBenchmark { failed, ..MeasuredBenchmark::default() };
    let interval = Err(NoInterval::TooFew { have: 0, need: 6 });
    (planned, measured, BenchmarkReport { ratio: None, interval, mean: None, blocks: 0, detectable: None, ..report })
}

/// A text that would act on a terminal, in HTML, in Markdown and in a table of it.
pub const HOSTILE: &str = "a\u{1b}[31m<script>alert(1)</script>|`\n```\n| x | @user \u{202e}[b](http://c)";

/// Every text is hostile, and the figures are no numbers or huge.
pub fn hostile() -> (Gate, GateReport) {
    let (mut gate, mut report) = every_verdict();
    for (i, b) in gate.plan.benchmarks.iter_mut().enumerate() {
        b.name = format!("{i}{HOSTILE}{}", "x".repeat(3_000));
        b.command = HOSTILE.to_owned();
        report.benchmarks[i].name.clone_from(&b.name);
    }
    gate.plan.suite = HOSTILE.to_owned();
    for side in [&mut gate.plan.base, &mut gate.plan.head] {
        let text = || Some(HOSTILE.to_owned());
        *side = GateSide { folder: HOSTILE.to_owned(), name: text(), subject: text(), commit: text(), ..side.clone() };
    }
    gate.measured.iter_mut().for_each(|m| m.failed = Some(HOSTILE.to_owned()));
    let figures = [f64::NAN, f64::INFINITY, 1e300, 0.0, -1.0, 5e-324, f64::MAX, f64::NEG_INFINITY];
    for (b, figure) in report.benchmarks.iter_mut().zip(figures) {
        b.ratio = Some(figure);
        b.interval = Ok(interval(figure, figure));
        b.alike = Some(AlikeBlocks { correlation: figure, worth: figure });
        b.mean.iter_mut().for_each(|m| (m.ratio, m.interval) = (figure, Ok(interval(figure, figure))));
    }
    for (m, figure) in gate.measured.iter_mut().zip(figures) {
        m.logs.push(figure);
        m.times.iter_mut().for_each(|t| t.head = figure);
    }
    gate.plan.benchmarks.iter_mut().zip(figures).for_each(|(b, figure)| b.threshold = figure);
    report.mean_ratio = Some(f64::NAN);
    (gate, report)
}

/// Of a gate that is stored as g3, on a machine with two CPUs.
pub fn head() -> DocumentHead {
    let known = |t: &str| Reading::Value(t.to_owned());
    let host = Host {
        name: "box".to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: "6.1.0".to_owned(),
        kernel_version: "#1".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: known("0x1"),
        cpus: 2,
        memory: Reading::Value(1 << 30),
        hypervisor: known("KVM"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(2.1e9),
    };
    let factor = |name: &str, value: &str, finding: &str| Factor {
        value: Some(value.to_owned()),
        ..Factor::new(0, name, Standing::Held, finding)
    };
    let factors = vec![
        factor("governor", "powersave", "powersave"),
        factor("load-average", "", "0.25 over 1 minute, 0.50 over 5, 0.75 over 15"),
    ];
    DocumentHead {
        kind: DocumentKind::Gate,
        number: 3,
        uuid: "3".repeat(32),
        title: "parsers".to_owned(),
        created: Nanos(1_700_000_000_000_000_000),
        status: Status::Finished,
        tool: "0.1.0".to_owned(),
        machine: "box".to_owned(),
        conditions: Some(Box::new(Conditions::new(host, factors))),
        tags: BTreeMap::new(),
    }
}
