//! Histories for the tests.

use tarebench_core::base::units::Nanos;
use tarebench_core::compare::history::{
    ApartBuilds, BenchmarkHistory, BetweenSource, HistoryBuild, HistoryChange, HistoryLevel, HistoryPoint,
    HistoryReport, NotUsed,
};
use tarebench_core::run::report::data::Measure;
use tarebench_core::statistics::intervals::Interval;

pub const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m\u{202e}\n";
/// 2026-10-01, in seconds since 1970.
const FIRST_DAY: i64 = 1_790_812_800;

pub fn build(day: i64) -> HistoryBuild {
    HistoryBuild {
        commit: Some(format!("{:07x}{}", day * 16, "a".repeat(33))),
        modified: false,
        name: None,
        folder: "/src".to_owned(),
        subject: Some(format!("change {day}")),
        gate: None,
        time: Nanos((FIRST_DAY + day * 86_400) * 1_000_000_000),
        committed: true,
    }
}

fn around(value: f64, half: f64) -> Interval {
    Interval { low: value - half, high: value + half, level: 0.95 }
}

/// Twenty commits; of this ratio, and something between -0.1 and 0.1 %.
fn points(ratio: impl Fn(i64) -> f64) -> Vec<HistoryPoint> {
    let point = |day: i64| {
        let ratio = if day == 0 { 1.0 } else { ratio(day) + (day * 7 % 5 - 2) as f64 * 0.0005 };
        HistoryPoint {
            build: build(day),
            ratio,
            interval: (day > 0).then(|| around(ratio, 0.003)),
            gates: vec![day],
            other_machine: false,
        }
    };
    (0..20).map(point).collect()
}

fn level(first: usize, last: usize, ratio: f64) -> HistoryLevel {
    HistoryLevel { first, last, ratio, interval: around(ratio, 0.002) }
}

/// One benchmark that became slower by 2 % at its ninth commit and faster by 1 % at its 17th, and one that did not
/// change.
pub fn report() -> HistoryReport {
    let mut stepped = points(|day| match day {
        0..8 => 1.0,
        8..16 => 1.02,
        _ => 1.01,
    });
    stepped.iter_mut().take(8).for_each(|p| p.other_machine = true);
    let sort = BenchmarkHistory {
        suite: String::new(),
        name: "sort".to_owned(),
        measure: Some(Measure::Net),
        commands: 1,
        anchor: Some(build(0)),
        anchor_replaced: false,
        points: stepped,
        levels: vec![level(0, 7, 1.0), level(8, 15, 1.02), level(16, 19, 1.01)],
        changes: vec![
            HistoryChange { before: 7, after: 8, ratio: 1.02, interval: around(1.02, 0.002), machine_changed: true },
            HistoryChange { before: 15, after: 16, ratio: 0.99, interval: around(0.99, 0.003), machine_changed: false },
        ],
        between_gates: 0.001,
        between_source: BetweenSource::Builds,
        correlation: 0.1,
        detectable: Some(0.0061),
        apart: vec![ApartBuilds {
            builds: 3,
            newest: HistoryBuild { commit: Some(format!("0000990{}", "b".repeat(33))), ..build(-1) },
        }],
        corrected: 0,
        only_net: 0,
        not_used: NotUsed { failed: 1, few_blocks: 2, ..NotUsed::default() },
    };
    let steady = BenchmarkHistory {
        name: "parse".to_owned(),
        points: points(|_| 1.0),
        levels: vec![level(0, 19, 1.0)],
        changes: Vec::new(),
        apart: Vec::new(),
        not_used: NotUsed::default(),
        ..sort.clone()
    };
    HistoryReport { gates: 22, benchmarks: vec![sort, steady] }
}

/// Names that are no names, and figures that are no numbers.
pub fn hostile() -> HistoryReport {
    let mut report = report();
    for (i, h) in report.benchmarks.iter_mut().enumerate() {
        h.name = format!("{i}{HOSTILE}");
        h.suite = HOSTILE.to_owned();
        for point in &mut h.points {
            point.build.commit = None;
            point.build.name = Some(HOSTILE.to_owned());
            point.build.subject = Some(HOSTILE.repeat(20));
        }
        h.anchor = h.points.first().map(|p| p.build.clone());
        for (place, ratio) in [f64::NAN, f64::INFINITY, 0.0, 1e300, -1.0].into_iter().enumerate() {
            h.points[place + 1].ratio = ratio;
            h.points[place + 1].interval = Some(Interval { low: f64::NAN, high: ratio, level: 0.95 });
        }
    }
    report
}
