//! Machines compared, for the tests: made by the analysis from figures that need no randomness.

use crate::data::campaign::{Campaign, CampaignRepeat, MachineChoice};
use crate::data::nodes::{NodeRun, NodesReport, nodes};
use crate::data::tasks::LabTaskPlan;
use crate::data::tasks::expand;
use crate::pages::page::fixtures::{HOSTILE, NOW, campaign};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::measure::Measure;

/// An hour, in ns.
const HOUR: i64 = 3_600_000_000_000;

/// -1 to 1, scattered.
fn scattered(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_75 + 0.1).fract() * 2.0 - 1.0
}

/// Runs of `machines` machines, eight each; `slower` gives a machine's slowness at a share of the whole time.
pub(crate) fn runs(machines: usize, programs: &[&str], slower: impl Fn(usize, f64, usize) -> f64) -> Vec<NodeRun> {
    let mut all = Vec::new();
    for m in 0..machines {
        for r in 0..8 {
            for (p, program) in programs.iter().enumerate() {
                let run_level = 0.003 * scattered(97 * m + 31 * r + 7) + slower(m, r as f64 / 7.0, p);
                let time = |i: usize| 1e8 * (run_level + 0.01 * scattered(i + 1_013 * m + 211 * r + 17 * p)).exp();
                all.push(NodeRun {
                    machine: format!("node{m:02}"),
                    fingerprint: "a105a3f8583580d0".to_owned(),
                    run: format!("{m}-{r}"),
                    started: Nanos(NOW.0 + r as i64 * 24 * HOUR),
                    program: (*program).to_owned(),
                    times: (0..10).map(time).collect(),
                    added: Some(0.004 + 0.001 * scattered(m)),
                });
            }
        }
    }
    all
}

/// One of twelve is 3% slower, and one drifts.
pub(crate) fn odd() -> NodesReport {
    let slower = |m: usize, along: f64, _: usize| match m {
        7 => 0.03,
        3 => 0.02 * along - 0.01,
        _ => 0.0,
    };
    nodes(&runs(12, &["gzip", "xz"], slower), Measure::Net)
}

/// Twelve that are alike.
pub(crate) fn alike() -> NodesReport {
    nodes(&runs(12, &["gzip"], |_, _, _| 0.0), Measure::Pt)
}

/// Two groups, and one program that is slow on one machine.
pub(crate) fn groups() -> NodesReport {
    nodes(&runs(16, &["gzip"], |m, _, _| if m % 4 == 0 { 0.05 } else { 0.0 }), Measure::Pt)
}

/// Several fingerprints; a machine that changed its own, programs that were not run, and one that is odd in a single
/// program.
pub(crate) fn fingerprints() -> NodesReport {
    let mut all = runs(14, &["gzip", "xz", "zstd", "lz4"], |m, _, p| match (m, p) {
        (10.., _) => 0.2,
        (4, 2) => 0.06,
        _ => 0.0,
    });
    for r in &mut all {
        let m: usize = r.machine[4..].parse().unwrap();
        if m >= 10 || m == 2 && r.started.0 > NOW.0 + 100 * HOUR {
            r.fingerprint = "b205a3f8583580d1".to_owned();
        }
    }
    all.retain(|r| r.machine != "node05" || r.program != "xz");
    nodes(&all, Measure::Net)
}

/// All names are hostile, and one time is none.
pub(crate) fn hostile() -> NodesReport {
    let mut all = runs(5, &["a", "b"], |m, _, _| if m == 1 { 0.2 } else { 0.0 });
    for r in &mut all {
        r.machine = format!("{HOSTILE}{}", r.machine);
        r.program = format!("{HOSTILE}{}", r.program.repeat(300));
        r.fingerprint = HOSTILE.to_owned();
        r.added = Some(f64::INFINITY);
    }
    all[0].times.push(f64::NAN);
    all[1].fingerprint = "other\u{202e}".to_owned();
    nodes(&all, Measure::Et)
}

/// A campaign on named machines at several times, and its tasks.
pub(crate) fn named_campaign() -> Campaign {
    Campaign {
        machines: MachineChoice::Names((0..9).map(|m| format!("node{m:02}")).collect()),
        repeat: CampaignRepeat::Times { times: 3, every: Some(Nanos(24 * HOUR)) },
        ..campaign()
    }
}

pub(crate) fn plans() -> Vec<LabTaskPlan> {
    expand(&named_campaign(), &[], NOW, NOW, &mut || "0".repeat(32)).unwrap()
}
