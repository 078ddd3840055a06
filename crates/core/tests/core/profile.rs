//! Profiles as wholes: what is doubted of them, what they lack, how their samples are joined.

use crate::common::{daemon, sample};
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::{Doubt, Profile, ProfilePart};
use tarebench_core::profile::dual::{FamilyExecutions, Observation, pair};
use tarebench_core::profile::lacking::lacking;

const DAY: i64 = 86_400_000_000_000;

fn observation(number: u32, daemon: &str, cpu: i64) -> Observation {
    Observation {
        number,
        start: Nanos(i64::from(number)),
        elapsed: Nanos(1000),
        process_time: None,
        executions: Reading::Value(FamilyExecutions::from([(daemon.to_owned(), vec![Nanos(cpu)])])),
        incomplete: false,
        waits: None,
    }
}

fn part(numbers: &[u32], run: &str) -> ProfilePart {
    let observations = numbers.iter().map(|n| observation(*n, "cron", 5)).collect();
    ProfilePart { length: Nanos(1000), runs: vec![run.to_owned()], observations }
}

#[test]
fn a_profile_is_doubted_for_age_kernel_and_machine() {
    let profile = Profile { cpus: 2, ..Profile::of_cutoffs("build7", "m", "6.1", vec![]) };
    let doubts = |now: i64, machine: &str, kernel: &str, cpus| profile.doubts(Nanos(now), machine, kernel, cpus);
    assert!(doubts(30 * DAY, "m", "6.1", 2).is_empty());
    assert_eq!(doubts(31 * DAY, "m", "6.1", 2), [Doubt::Old { days: 31 }]);
    let kernels = Doubt::OtherKernel { profile: "6.1".into(), run: "6.2".into() };
    assert_eq!(doubts(0, "m", "6.2", 4), [kernels, Doubt::OtherCpus { profile: 2, run: 4 }]);
    // Of another machine, nothing else matters.
    assert_eq!(doubts(99 * DAY, "n", "6.2", 4), [Doubt::OtherMachine]);
}

#[test]
fn labels() {
    let parsed = ["build7@2", "build7", "a@b", "a@b@3", "@3", "x@-1", ""].map(Profile::parse_label);
    let expected = [
        ("build7", Some(2)),
        ("build7", None),
        ("a@b", None),
        ("a@b", Some(3)),
        ("@3", None),
        ("x@-1", None),
        ("", None),
    ];
    assert_eq!(parsed, expected);
}

#[test]
fn joined_samples_stay_pairs() {
    let mut first = part(&[1, 2, 3, 4, 5], "a");
    first.append(&part(&[1, 2, 3, 4], "b"));
    assert_eq!(first.runs, ["a", "b"]);
    let pairs: Vec<(u32, u32)> = pair(&first.observations).pairs().map(|d| (d.odd.number, d.even.number)).collect();
    assert_eq!(pairs, [(1, 2), (3, 4), (7, 8), (9, 10)], "5 lost its partner and gets no stranger");
}

#[test]
fn daemons_that_a_profile_lacks() {
    let profile = Profile { short: part(&[1, 2], "a"), ..Profile::of_cutoffs("p", "m", "k", vec![]) };
    let ran = |name, cpu| daemon(name, Nanos(cpu));
    let lists = [
        vec![ran("cron", 9_000_000), ran("updater", 20_000_000), ran("tiny", 1000)],
        vec![ran("updater", 5_000_000), ran("updater", 1_000_000)],
    ];
    let samples: Vec<_> = (0..).zip(lists).map(|(i, list)| sample(0, i, Nanos::from_millis(100), list)).collect();
    let found = lacking(&profile, &samples);
    let short: Vec<_> = found.iter().map(|l| (l.daemon.as_str(), l.samples, l.max.0, l.matters())).collect();
    assert_eq!(short, [("updater", 2, 20_000_000, true), ("tiny", 1, 1000, false)]);
    assert!((found[0].share - 0.2).abs() < 0.01, "{}", found[0].share);
}
