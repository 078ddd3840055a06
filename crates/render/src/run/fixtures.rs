//! Realistic reports for the tests.

use tarebench_core::base::hint::Hint;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::{Cycles, Nanos};
use tarebench_core::compare::duet::{Duet, DuetSide, DuetWeight, NoDuet};
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::{Host, Standing};
use tarebench_core::run::data::Run;
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::notes::FactorChange;
use tarebench_core::run::plan::{Command, Order, Program, RunPlan};
use tarebench_core::run::protocol::{CheckOne, FactorFinding, NoCheckOne, ProtocolReport, ProtocolStep, StepFinding};
use tarebench_core::run::report::account::AccountEntry;
use tarebench_core::run::report::account::AccountReport;
use tarebench_core::run::report::account::EstimateReport;
use tarebench_core::run::report::data::*;
use tarebench_core::run::report::findings::{Remark, RemarkKind};
use tarebench_core::run::report::metrics::MetricRatio;
use tarebench_core::sample::daemons::Daemon;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::*;
use tarebench_core::sample::process_time::CpuTime;
use tarebench_core::sample::process_time::ProcessTimes;
use tarebench_core::sample::process_time::{PtSource, SourceCheck};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::hints::Hints;

/// Words for some hints.
pub fn hints() -> Hints {
    Hints::new(|hint| match hint {
        Hint::Resume(id) => format!("resume with: `tare resume {id}`"),
        Hint::LearnProfile => "make one with: `tare profile`".to_owned(),
        _ => "do something about it".to_owned(),
    })
}

pub fn no_interval() -> NoInterval {
    NoInterval::TooFew { have: 4, need: 6 }
}

pub fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high, level: 0.95 }
}

pub fn measure(mean: f64, sd: f64, samples: u32, cutoff: u32, sigma: u32) -> MeasureReport {
    let retained = samples - cutoff - sigma;
    let few = retained < 6;
    let i = |c: f64, w: f64| {
        if few { Err(no_interval()) } else { Ok(interval(c - w, c + w)) }
    };
    MeasureReport {
        samples,
        discarded_by_cutoff: cutoff,
        discarded_by_sigma: sigma,
        retained,
        mean,
        median: mean - 0.1 * sd,
        std_dev: (retained > 1).then_some(sd),
        relative_error: (retained > 1).then_some(sd / mean),
        min: mean - 1.4 * sd,
        max: mean + 1.9 * sd,
        mean_interval: i(mean, 0.7 * sd),
        median_interval: i(mean - 0.1 * sd, 0.8 * sd),
        dependence: None,
        between_runs: None,
        independent: None,
        trustworthy: retained * 2 >= samples,
    }
}

pub fn program(label: &str) -> Program {
    Program::new(label.to_owned(), Command::Argv(label.split(' ').map(Name::from).collect()))
}

fn daemon(family: &str, kind: TaskKind, samples: u32, mean: f64, max: i64, born: u32) -> DaemonSummary {
    DaemonSummary {
        family: family.to_owned(),
        kind,
        samples,
        total: Nanos((mean * 10.0) as i64),
        mean,
        max: Nanos(max),
        born,
    }
}

pub fn daemons() -> Vec<DaemonSummary> {
    use tarebench_core::sample::daemons::TaskKind::{Kernel, User};
    vec![
        daemon("postgres", User, 10, 1.214e6, 5_402_113, 0),
        daemon("rcu_preempt", Kernel, 10, 231.4e3, 402_113, 0),
        daemon("kworker", Kernel, 9, 88.1e3, 312_007, 0),
        daemon("rhn_check", User, 1, 61.0e3, 610_233, 1),
        daemon("jbd2/md0-8", Kernel, 2, 12.2e3, 97_120, 0),
        daemon("systemd-journal", User, 3, 9.1e3, 44_000, 0),
        daemon("chronyd", User, 1, 800.0, 8_000, 0),
    ]
}

pub fn series(label: &str, pt: MeasureReport, et: MeasureReport) -> SeriesReport {
    let difference = et.mean - pt.mean;
    SeriesReport {
        program: program(label),
        counted: et.samples,
        warmups: 1,
        resources: Resources {
            user: Reading::Value(pt.mean * 0.93),
            system: Reading::Value(pt.mean * 0.07),
            max_rss: Reading::Value(48_402_432),
            voluntary_switches: Reading::Value(3.1),
            involuntary_switches: Reading::Value(12.0),
            major_faults: Reading::Value(0.0),
        },
        pt: Reading::Value(pt),
        et: Reading::Value(et),
        discards: Vec::new(),
        failures: Vec::new(),
        daemons: daemons(),
        daemons_incomplete: None,
        survivors: Vec::new(),
        net: Reading::Absent(Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".into())),
        account: Reading::Absent(Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".into())),
        estimate: Reading::Value(EstimateReport {
            waited: Reading::Value(310.0e3),
            throttled: Reading::Value(0.0),
            interrupts: Reading::Value([("Local timer interrupts".to_owned(), 209.0)].into()),
        }),
        counters: Reading::Absent(Absent::NotSupported("no PMU (performance monitoring unit)".into())),
        difference: GrossDifference {
            gross_less_pt: Reading::Value(difference),
            daemons: Reading::Value(1.617e6),
            tare: 212.0e3,
            steal: Reading::Value(0.0),
        },
        metrics: Vec::new(),
        quiet: None,
        probes: None,
    }
}

fn host() -> Host {
    Host {
        name: "build7".into(),
        machine: "8f3a01c2d4e5b697".into(),
        boot: Reading::Value("b".into()),
        kernel: "6.8.0-45-generic".into(),
        kernel_version: "#45-Ubuntu SMP".into(),
        architecture: "x86_64".into(),
        distribution: Reading::Value("Ubuntu 24.04.1 LTS".into()),
        cpu: Reading::Value("AMD EPYC 7R13 Processor".into()),
        microcode: Reading::Value("0x1".to_owned()),
        cpus: 8,
        memory: Reading::Value(33_000_000_000),
        hypervisor: Reading::Value("kvm".into()),
        clock_source: Reading::Value("tsc".into()),
        cycle_counter_hz: Reading::Value(2.649_998e9),
    }
}

fn plan(programs: Vec<Program>) -> RunPlan {
    RunPlan { seed: 7, cwd: Name::from("/home/ada"), ..RunPlan::of(programs) }
}

fn protocol() -> ProtocolReport {
    use Standing::{Held, NotHeld, Unknown};
    let factors = |names: &[&str], standing, finding: &str, fix: Option<&str>| {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        vec![FactorFinding { names, standing, finding: finding.into(), fix: fix.map(str::to_owned), settable: false }]
    };
    let step = |version, standing, finding| ProtocolStep { version, standing, finding };
    let read =
        |name: &str, standing, text: &str| StepFinding::Factors { factors: factors(&[name], standing, text, None) };
    let daemons = factors(&["cron", "postgres"], NotHeld, "running", Some("stop them for the run"));
    let check_one = CheckOne::NotDone(NoCheckOne::NoProfile);
    ProtocolReport {
        steps: vec![
            step(1, NotHeld, StepFinding::ProcessTime { missing: None, factors: daemons }),
            step(2, Held, read("ntp", Held, "chronyd, synchronised")),
            step(3, Unknown, read("governor", Unknown, "this virtual machine does not show cpufreq")),
            step(4, Held, read("kernel", Held, "6.8.0-45-generic")),
            step(5, NotHeld, StepFinding::Outliers { check_one, sigma: Some(2.0) }),
            step(6, Held, StepFinding::Size { least: Some(10), needed: 10 }),
        ],
        reached: 0,
    }
}

pub fn report(series: Vec<SeriesReport>) -> RunReport {
    let programs = series.iter().map(|s| s.program.clone()).collect();
    RunReport {
        run: Run {
            id: 12,
            uuid: "0123456789abcdef0123456789abcdef".into(),
            created: Nanos(1_763_689_000_000_000_000),
            tool: "0.1.0".into(),
            plan: plan(programs),
            host: host(),
            pt_source: PtSource::TaskClock,
            pt_source_notes: vec!["cgroup v2: needs a delegated cgroup (systemd-run --user --scope)".into()],
            factors: Vec::new(),
            status: Status::Finished,
            notes: Vec::new(),
        },
        series,
        comparisons: Vec::new(),
        control: None,
        protocol: protocol(),
        profile: Err(NoCheckOne::NoProfile),
        remarks: Vec::new(),
        quiet_levels: None,
        states: None,
    }
}

fn sigma(index: u32, measure: Measure, value: f64, low: f64, high: f64) -> Discard {
    Discard { index, measure, reason: DiscardReason::Sigma { value, low, high } }
}

fn cutoff(index: u32, measure: Measure, daemon: &str, cpu: i64) -> Discard {
    let reason = DiscardReason::Cutoff { daemon: daemon.into(), cpu: Nanos(cpu), cutoff: 2_400_000.0 };
    Discard { index, measure, reason }
}

/// One program, ten samples, two discarded.
pub fn one() -> RunReport {
    let mut s = series("sort -n big.txt", measure(812.4321e6, 3.12e6, 10, 1, 1), measure(824.771e6, 9.871e6, 10, 1, 0));
    s.discards = vec![
        cutoff(2, Measure::Pt, "postgres", 5_402_113),
        cutoff(2, Measure::Et, "postgres", 5_402_113),
        sigma(6, Measure::Pt, 831.203e6, 806.19e6, 818.67e6),
    ];
    let mut r = report(vec![s]);
    r.profile = Ok("build7-2025-11".into());
    traced(&mut r.series[0]);
    r.remarks.push(Remark { series: None, kind: RemarkKind::Tuned { what: "turbo off, cron stopped".into() } });
    r
}

/// With an account by tracing: gross 824.771 ms.
fn traced(s: &mut SeriesReport) {
    let entry = |kind, name: &str, task, time, count| AccountEntry { kind, name: name.into(), task, time, count };
    use tarebench_core::run::report::account::EntryKind::*;
    s.net = Reading::Value(measure(808.9311e6, 2.98e6, 10, 1, 1));
    s.account = Reading::Value(AccountReport {
        samples: 9,
        gross: 824.771e6,
        elapsed: vec![
            entry(Net, "", None, 807.511e6, Some(14.0)),
            entry(Preempted, "postgres", Some(TaskKind::User), 7.9e6, Some(2.5)),
            entry(Blocked, "read", None, 4.21e6, Some(12.0)),
            entry(Interrupt, "local_timer", None, 3.5e6, Some(209.0)),
            entry(Preempted, "kworker", Some(TaskKind::Kernel), 0.61e6, Some(7.0)),
            entry(Stolen, "", None, 0.4e6, Some(1.2)),
            entry(Launch, "", None, 0.301e6, None),
            entry(Softirq, "SCHED", None, 0.27e6, Some(41.0)),
            entry(Waiting, "", None, 0.041e6, Some(3.0)),
            entry(Reap, "", None, 0.028e6, None),
            entry(Unattributed, "", None, 0.0, None),
        ],
        other_tasks: 1.0,
        others: vec![entry(Net, "", None, 31.0e6, Some(3.0)), entry(Own, "", None, 2.0e6, Some(1.0))],
        agreement: Some(0.99991),
        incomplete: Some((1, "lost: 3 events of the tracing, as its tables were full".into())),
        open: 0,
    });
}

pub fn comparison(series: u32, ratio: f64, low: f64, high: f64, verdict: Verdict) -> Comparison {
    Comparison {
        series,
        reference: 0,
        measure: Measure::Pt,
        by_metric: None,
        by_counter: None,
        basis: RatioBasis::Alone,
        ratio,
        interval: Ok(interval(low, high)),
        pairs: 10,
        paired_in_time: true,
        verdict,
        ratios: vec![MeasureRatio {
            measure: Measure::Pt,
            ratio,
            interval: Ok(interval(low, high)),
            pairs: 10,
            verdict,
        }],
        duets: None,
        metrics: Vec::new(),
        counters: Vec::new(),
    }
}

/// Of what programs print, by 10 pairs.
pub fn metric_ratio(name: &str, ratio: f64, low: f64, high: f64) -> MetricRatio {
    MetricRatio { name: name.to_owned(), ratio, interval: Ok(interval(low, high)), pairs: 10 }
}

/// Three programs, the first one being the reference.
pub fn three() -> RunReport {
    let at = |label: &str, mean: f64| {
        series(label, measure(mean, mean * 0.004, 10, 0, 1), measure(mean * 1.02, mean * 0.01, 10, 0, 0))
    };
    let mut r = report(vec![
        at("sort -n big.txt", 812.4e6),
        at("sort -n --parallel=8 big.txt", 945.2e6),
        at("gsort -n big.txt", 811.1e6),
    ]);
    r.series[0].program.reference = true;
    for s in &mut r.series {
        s.discards = vec![sigma(6, Measure::Pt, 831.203e6, 806.19e6, 818.67e6)];
    }
    r.series[1].et = Reading::Value(measure(201.3e6, 2.2e6, 10, 0, 0));
    r.series[1].difference.gross_less_pt = Reading::Value(-743.9e6);
    r.comparisons = vec![
        comparison(1, 1.1634, 1.1581, 1.1702, Verdict::Slower),
        comparison(2, 0.9984, 0.9921, 1.0042, Verdict::Undecided),
    ];
    r
}

/// A parameter scan of ten values.
pub fn scan() -> RunReport {
    let value = |n: u32| {
        let mean = 1.9e6 * f64::from(n).powf(1.6);
        let label = format!("./target/release/solve --grid {n} --method conjugate-gradient input.dat");
        let mut s = series(
            &label,
            measure(mean, mean * 0.011, 10, 0, u32::from(n.is_multiple_of(3))),
            measure(mean * 1.05, mean * 0.02, 10, 0, 0),
        );
        s.program.parameters.insert("n".into(), n.to_string());
        s
    };
    let mut r = report((1..=10).map(|n| value(n * 2)).collect());
    for i in 1..10 {
        let ratio = f64::from(i + 1).powf(1.6);
        r.comparisons.push(comparison(i, ratio, ratio * 0.99, ratio * 1.01, Verdict::Slower));
    }
    r.series[3].failures = vec![
        FailedSample {
            index: 2,
            warmup: false,
            duet: false,
            outcome: Outcome::Exited { code: 3 },
            ignored: false,
            out_of_memory: None,
        },
        FailedSample {
            index: 3,
            warmup: false,
            duet: false,
            outcome: Outcome::Exited { code: 3 },
            ignored: false,
            out_of_memory: None,
        },
    ];
    r.series[7].pt = Reading::Value(measure(160e6, 2e6, 10, 5, 1));
    r.comparisons[6].interval = Err(no_interval());
    r.comparisons[6].verdict = Verdict::Undecided;
    r
}

/// Everything that can go wrong.
pub fn troubled() -> RunReport {
    let mut s = series("flaky --server", measure(5.02e6, 0.4e6, 10, 6, 0), measure(1.004e9, 1.1e6, 10, 6, 0));
    s.discards = (0..6).map(|i| cutoff(i, Measure::Pt, "postgres", 3_000_000 + i64::from(i))).collect();
    s.failures = vec![
        FailedSample {
            index: 0,
            warmup: true,
            duet: false,
            outcome: Outcome::Exited { code: 1 },
            ignored: false,
            out_of_memory: None,
        },
        FailedSample {
            index: 7,
            warmup: false,
            duet: false,
            outcome: Outcome::Signaled { signal: 11 },
            ignored: false,
            out_of_memory: None,
        },
        FailedSample {
            index: 8,
            warmup: false,
            duet: false,
            outcome: Outcome::Signaled { signal: 11 },
            ignored: false,
            out_of_memory: None,
        },
        FailedSample {
            index: 9,
            warmup: false,
            duet: false,
            outcome: Outcome::Exited { code: 4 },
            ignored: true,
            out_of_memory: None,
        },
        FailedSample {
            index: 10,
            warmup: false,
            duet: false,
            outcome: Outcome::TimedOut { limit: Nanos(5_000_000_000) },
            ignored: false,
            out_of_memory: None,
        },
    ];
    s.survivors = vec![
        SurvivorSummary { name: "cache-server".into(), count: 11, left: 0, not_ended: 0 },
        SurvivorSummary { name: "stuck".into(), count: 2, left: 0, not_ended: 1 },
    ];
    s.daemons_incomplete = Some((3, "lost: exit records overran the receive buffer (ENOBUFS)".into()));
    s.difference.steal = Reading::Absent(Absent::NotSupported("this kernel has no steal time".into()));
    s.resources.max_rss = Reading::Absent(Absent::Failed("wait4: no child".into()));
    let mut r = report(vec![s]);
    r.run.status = Status::Interrupted;
    r.run.pt_source = PtSource::Wait4;
    r.remarks = vec![
        Remark { series: None, kind: RemarkKind::Incomplete { status: Status::Interrupted, run: 12, counted: 11 } },
        Remark {
            series: Some(0),
            kind: RemarkKind::DaemonsIncomplete { samples: 3, of: 10, why: "not known: needs CAP_NET_ADMIN".into() },
        },
        Remark { series: Some(0), kind: RemarkKind::NotTrustworthy { measure: Measure::Pt, retained: 4, of: 10 } },
    ];
    r
}

/// No PT, no daemons, a single sample.
pub fn absent() -> RunReport {
    let mut s = series("true", measure(1e6, 0.0, 1, 0, 0), measure(1_234_567.0, 0.0, 1, 0, 0));
    let why = || Absent::NoPermission("perf_event_paranoid 2 or lower".into());
    s.pt = Reading::Absent(why());
    s.difference.gross_less_pt = Reading::Absent(why());
    s.difference.daemons = Reading::Absent(Absent::NotAsked("--no-images".into()));
    s.daemons.clear();
    s.resources.user = Reading::Absent(why());
    s.resources.system = Reading::Absent(why());
    let mut r = report(vec![s]);
    r.run.host.cpu = Reading::Absent(Absent::NotSupported("no model name".into()));
    r.run.host.clock_source = Reading::Absent(Absent::Failed("permission denied".into()));
    r.run.id = 0;
    r
}

pub fn hostile() -> RunReport {
    let names = ["<script>alert(1)</script>", "two\nlines\x1b[31m|red`", "\u{202e}gpj.exe \u{9b}2J", &"x".repeat(300)];
    let mut r =
        report(names.iter().map(|n| series(n, measure(1e6, 1e4, 10, 0, 0), measure(1.1e6, 1e4, 10, 0, 0))).collect());
    r.series[1].program.command = Command::Argv(vec![Name::new(b"bin\xff\x1b]0;t\x07".to_vec())]);
    r.series[2].program.parameters.insert("p\x1b".into(), "\x07\n".into());
    for s in &mut r.series {
        s.daemons[0].family = "d\x1b[2J\n".repeat(20);
        s.survivors = vec![SurvivorSummary { name: "s\u{2066}\r".into(), count: 1, left: 1, not_ended: 0 }];
        s.failures = vec![FailedSample {
            index: 0,
            warmup: false,
            duet: false,
            outcome: Outcome::NotStarted { error: "\x1b[5m no\nfile".into(), by_limit: false },
            ignored: false,
            out_of_memory: None,
        }];
        s.daemons_incomplete = Some((1, "\x1b[0m".into()));
        s.discards = vec![cutoff(0, Measure::Pt, "e\x1b\u{85}", 1)];
    }
    r.run.host.name = "h\x1b\n".into();
    r.run.host.cpu = Reading::Value("c\x1b".into());
    r.profile = Ok("p\x1b".into());
    if let StepFinding::ProcessTime { factors, .. } = &mut r.protocol.steps[0].finding {
        factors[0].finding = "f\x1b\u{200f}".into();
    }
    r.remarks =
        vec![Remark { series: Some(0), kind: RemarkKind::Changed { changes: vec![change("r\x1b[1m\n\u{2028}")] } }];
    r
}

/// Samples for [`one`]: a warm-up and three counted ones, of which the last was killed.
pub fn samples() -> Vec<Sample> {
    let outcomes = [
        Outcome::Exited { code: 0 },
        Outcome::Exited { code: 0 },
        Outcome::Exited { code: 2 },
        Outcome::Signaled { signal: 9 },
    ];
    outcomes.into_iter().enumerate().map(|(i, o)| sample(i as u32, o)).collect()
}

fn sample(i: u32, outcome: Outcome) -> Sample {
    let at =
        |ns: i64| Stamp { monotonic: Nanos(ns), monotonic_raw: Nanos(ns + 5), cycles: Some(Cycles(ns as u64 * 3)) };
    let start = 1_000_000_000 * i64::from(i);
    let cpu = CpuTime { user: Nanos(700_000_000), system: Nanos(100_000_000), total: Nanos(800_000_123) };
    Sample {
        series: 0,
        seq: i,
        index: i.saturating_sub(1),
        phase: if i == 0 { Phase::Warmup } else { Phase::Counted },
        block: None,
        wall_clock: Nanos(1_763_689_000_000_000_000 + start),
        start: at(start),
        end: at(start + 820_000_000 + 1_000_000 * i64::from(i)),
        outcome,
        process_times: Reading::Value(ProcessTimes {
            source: PtSource::TaskClock,
            cgroup: Reading::Absent(Absent::NoPermission("a delegated cgroup".into())),
            task_clock: Reading::Value(Nanos(800_000_123)),
            exit_records: Reading::Absent(Absent::NoPermission("CAP_NET_ADMIN".into())),
            wait4: Reading::Value(cpu),
            check: SourceCheck::default(),
        }),
        usage: Reading::Value(Usage {
            max_rss: 48_402_432,
            minor_faults: 120,
            major_faults: 0,
            voluntary_switches: 3,
            involuntary_switches: 12,
        }),
        peak_memory: Reading::Value(48_402_432),
        daemons: Reading::Value(Daemons {
            list: vec![Daemon {
                pid: 77,
                start: Nanos(5),
                name: Name::new(b"k\xff,\"w".to_vec()),
                kind: TaskKind::Kernel,
                cpu: Nanos(1_500),
                tick_bound: false,
                interval_counted: None,
                born: false,
                died: false,
            }],
            incomplete: None,
            processes: 200,
            image_before: Nanos(900_000),
            image_after: Nanos(910_000),
        }),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos(200_000), voluntary_switches: 2, involuntary_switches: 0 },
        steal: Reading::Absent(Absent::NotSupported("no steal".into())),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: match i {
            0 => Reading::Absent(Absent::NotAsked("a test".into())),
            i => {
                Reading::Value(ClockShift { suspended: Nanos(61_000_000_000), stepped: Nanos(i64::from(i) * -900_000) })
            }
        },
        account: Reading::Absent(Absent::NotAsked("a test".into())),
        estimate: Reading::Absent(Absent::NotAsked("a test".into())),
        counters: Reading::Absent(Absent::NotSupported("no PMU".into())),
        environment_padding: 100,
        metrics: Vec::new(),
        probes: tarebench_core::sample::data::not_probed(),
    }
}

/// Two programs, with accounts by tracing.
pub fn two() -> RunReport {
    let mut gzip = series("gzip -6 -k -c numbers.txt", measure(294e6, 31e6, 10, 0, 0), measure(307e6, 39e6, 10, 0, 0));
    let mut xz = series("xz -0 -k -c numbers.txt", measure(114e6, 2.1e6, 10, 0, 1), measure(126e6, 4.4e6, 10, 0, 1));
    for (s, net) in [(&mut gzip, 293e6), (&mut xz, 113.2e6)] {
        let gross = s.et.value().map_or(0.0, |m| m.mean);
        alone(s, gross, net);
    }
    xz.discards = vec![sigma(6, Measure::Pt, 831.203e6, 806.19e6, 818.67e6)];
    let mut r = report(vec![gzip, xz]);
    r.series[0].program.reference = true;
    let mut c = comparison(1, 0.3876, 0.3704, 0.4, Verdict::Faster);
    c.ratios.insert(0, ratio(Measure::Et, 0.41, 0.3846, 0.4545, Verdict::Faster));
    r.comparisons = vec![c];
    r.protocol.reached = 1;
    r.remarks = vec![
        Remark {
            series: None,
            kind: RemarkKind::Changed {
                changes: vec![change("steal: 30 ms of CPU time were stolen by the hypervisor")],
            },
        },
        Remark { series: Some(1), kind: RemarkKind::Source { source: PtSource::Wait4, notes: Vec::new() } },
    ];
    r
}

pub fn ratio(measure: Measure, ratio: f64, low: f64, high: f64, verdict: Verdict) -> MeasureRatio {
    MeasureRatio { measure, ratio, interval: Ok(interval(low, high)), pairs: 10, verdict }
}

/// A program of one task: gross, net and what the machine added.
fn alone(s: &mut SeriesReport, gross: f64, net: f64) {
    let entry = |kind, name: &str, task, time| AccountEntry { kind, name: name.into(), task, time, count: Some(1.0) };
    use tarebench_core::run::report::account::EntryKind::*;
    let rest = gross - net;
    s.net = Reading::Value(measure(net, net * 0.1, 10, 0, 0));
    s.account = Reading::Value(AccountReport {
        samples: 10,
        gross,
        elapsed: vec![
            entry(Net, "", None, net),
            entry(Preempted, "sh", Some(TaskKind::User), rest * 0.46),
            entry(Stolen, "", None, rest * 0.2),
            entry(Launch, "", None, rest * 0.19),
            entry(Interrupt, "local_timer", None, rest * 0.14),
            entry(Reap, "", None, rest * 0.01),
            entry(Unattributed, "", None, 0.0),
        ],
        other_tasks: 0.0,
        others: Vec::new(),
        agreement: Some(1.0),
        incomplete: None,
        open: 0,
    });
}

/// A program that waits and one that computes: CPU time and elapsed time disagree.
pub fn waits() -> RunReport {
    let waiting = series("sleep 0.05", measure(612e3, 31e3, 10, 0, 0), measure(50.9e6, 0.2e6, 10, 0, 0));
    let burning = series("factor 1234567", measure(29.8e6, 0.4e6, 10, 0, 0), measure(30.4e6, 0.5e6, 10, 0, 0));
    let mut r = report(vec![waiting, burning]);
    let entry = |kind, name: &str, time| AccountEntry { kind, name: name.into(), task: None, time, count: Some(1.0) };
    use tarebench_core::run::report::account::EntryKind::*;
    alone(&mut r.series[0], 50.9e6, 0.6e6);
    if let Reading::Value(a) = &mut r.series[0].account {
        a.elapsed = vec![entry(Net, "", 0.6e6), entry(Blocked, "clock_nanosleep", 50e6), entry(Launch, "", 0.3e6)];
    }
    let mut c = comparison(1, 48.7, 46.2, 50.1, Verdict::Slower);
    c.ratios.insert(0, ratio(Measure::Et, 0.597, 0.589, 0.604, Verdict::Faster));
    r.comparisons = vec![c];
    r
}

/// Ten programs against the first.
pub fn ten() -> RunReport {
    let tools = ["gzip -6", "xz -0", "bzip2 -9", "zstd -3", "lz4", "brotli -q 5", "pigz", "lzop", "7z a", "compress"];
    let compressed = |(i, tool): (u32, &&str)| {
        let mean = 100e6 * (1.0 + f64::from(i * 7 % 10) * 0.35);
        let label = format!("{tool} -k -c numbers.txt");
        series(&label, measure(mean, mean * 0.01, 10, 0, i % 3), measure(mean * 1.04, mean * 0.02, 10, 0, 0))
    };
    let mut r = report((0..).zip(&tools).map(compressed).collect());
    for i in 1..10 {
        let by = 1.0 + f64::from(i * 7 % 10) * 0.35;
        let mut c = comparison(i, by, by * 0.99, by * 1.01, Verdict::Slower);
        c.ratios.insert(0, ratio(Measure::Et, by, by * 0.98, by * 1.02, Verdict::Slower));
        r.comparisons.push(c);
    }
    r.remarks =
        (0..10).map(|i| Remark { series: Some(i), kind: RemarkKind::Steal { time: 20e6, share: 0.02 } }).collect();
    r
}

/// Of 12 duets.
pub fn duet_ratio(ratio: f64, low: f64, high: f64, verdict: Verdict) -> DuetRatio {
    DuetRatio {
        measure: Measure::Pt,
        ratio,
        interval: Ok(interval(low, high)),
        sign_interval: Ok(interval(low - 0.001, high + 0.001)),
        used: 12,
        left_out: 0,
        first_longer: Some(0.009),
        first_interval: Some(interval(0.008, 0.010)),
        detectable: Some(0.0038),
        overlap: Some(0.97),
        inflation: [Some(0.012), Some(0.008)],
        inflation_intervals: [Some(interval(-0.01, 0.03)), Some(interval(-0.01, 0.03))],
        gangs: None,
        verdict,
        process: None,
        accounts: [None, None],
    }
}

/// Makes the process time of one of the two longer in duets, or shorter, and that no chance.
pub(crate) fn inflate(duets: &mut DuetRatio, side: usize, share: f64) {
    duets.inflation[side] = Some(share);
    duets.inflation_intervals[side] = Some(interval(share - 0.02, share + 0.02));
}

/// Two programs that do nearly the same work: executions alone leave open what 12 duets decide.
pub fn duets() -> RunReport {
    let at = |label: &str, mean: f64| {
        series(label, measure(mean, mean * 0.05, 10, 0, 0), measure(mean * 1.03, mean * 0.06, 10, 0, 0))
    };
    let mut r = report(vec![at("./inc 60000", 84.2e6), at("./inc 60600", 85.0e6)]);
    for (s, net) in r.series.iter_mut().zip([84.0e6, 84.8e6]) {
        alone(s, net + 2.7e6, net);
    }
    r.run.plan.order = Order::Auto;
    r.series[0].program.reference = true;
    let mut c = comparison(1, 1.01, 0.98, 1.04, Verdict::Undecided);
    c.ratios.insert(0, ratio(Measure::Et, 1.02, 0.99, 1.05, Verdict::Undecided));
    c.duets = Some(Ok(duet_ratio(1.0083, 1.0063, 1.0111, Verdict::Slower)));
    c.choose_duets();
    r.comparisons = vec![c];
    r
}

/// Duets of [`duets`]: 12 whose ratios are 1.0072 to 1.0094, and a last one in which the program failed.
pub fn raw_duets() -> Vec<Duet> {
    let side = |series: u32, pt: f64, block: u32| {
        let like = sample(block, Outcome::Exited { code: 0 });
        let cpu = CpuTime { user: Nanos(pt as i64), system: Nanos(0), total: Nanos(pt as i64) };
        DuetSide {
            series,
            weight: DuetWeight::Cgroup(100),
            start: like.start,
            end: like.end,
            outcome: if block == 12 && series == 1 { Outcome::Exited { code: 3 } } else { like.outcome },
            process_times: Reading::Value(ProcessTimes {
                source: PtSource::Wait4,
                cgroup: Reading::Absent(Absent::NoPermission("a delegated cgroup".into())),
                task_clock: Reading::Absent(Absent::NoPermission("perf_event_paranoid 2 or lower".into())),
                exit_records: Reading::Absent(Absent::NoPermission("CAP_NET_ADMIN".into())),
                wait4: Reading::Value(cpu),
                check: SourceCheck::default(),
            }),
            together: Reading::Value(Nanos((pt * 0.97) as i64)),
            account: Reading::Absent(Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".into())),
            usage: like.usage,
            survivors: Vec::new(),
        }
    };
    let duet = |index: u32| {
        let like = sample(index, Outcome::Exited { code: 0 });
        let (reference, ratio) = (84e6 + 1e6 * f64::from(index % 5), 1.0072 + 0.0002 * f64::from(index % 12));
        Duet {
            seq: 3 * index + 4,
            index,
            cpu: 1,
            wall_clock: like.wall_clock,
            sides: [side(1, reference * ratio, index), side(0, reference, index)],
            own: like.own,
            steal: Reading::Value(Nanos(0)),
            cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
            clock_shift: like.clock_shift,
            environment_padding: 100,
            slices: None,
            void: None,
        }
    };
    (0..13).map(duet).collect()
}

/// [`ten`] with duets: of all but one, two with something to point out.
pub fn ten_with_duets() -> RunReport {
    let mut r = ten();
    r.run.plan.order = Order::Auto;
    for c in &mut r.comparisons {
        let by = c.ratio;
        c.duets = Some(Ok(duet_ratio(by, by * 0.997, by * 1.003, Verdict::Slower)));
        c.choose_duets();
    }
    let alone = NoDuet::TooShort { series: 4, pt: Nanos::from_millis(12) };
    let mut without = comparison(4, 1.01, 0.95, 1.06, Verdict::Undecided);
    without.duets = Some(Err(alone));
    r.comparisons[3] = without;
    if let Some(Ok(d)) = &mut r.comparisons[1].duets {
        inflate(d, 0, 0.12);
        (d.overlap, d.left_out, d.detectable) = (Some(0.62), 2, Some(0.0091));
    }
    if let Some(Ok(d)) = &mut r.comparisons[6].duets {
        inflate(d, 0, -0.4);
    }
    r
}

pub(crate) fn change(what: &str) -> FactorChange {
    let count = what.strip_prefix("steal: ").and_then(|n| n.split_once(' ')?.0.parse().ok());
    let factor = what.split(':').next().unwrap_or_default().to_owned();
    FactorChange { factor, what: what.to_owned(), count, between: None }
}
