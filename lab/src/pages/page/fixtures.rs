//! A small lab for the tests, and one with hostile names.

use crate::data::campaign::{Campaign, CampaignNeeds, CampaignProgram, CampaignRepeat, MachineChoice};
use crate::data::fixtures::host;
use crate::data::state::*;
use crate::pages::page::overview::{CampaignProgress, LabFailure};
use std::collections::BTreeMap;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::{Factor, Standing};

/// 2026-11-21 20:00:00 UTC.
pub(crate) const NOW: Nanos = Nanos(1_795_291_200_000_000_000);
pub(crate) const HOSTILE: &str =
    "<script>window.hacked = 1</script>\"'><img src=x onerror=alert(1)> \u{202e}gnp\u{200f}\u{1b}[31m&amp;\n";

pub(crate) fn ago(secs: i64) -> Nanos {
    NOW - Nanos::from_millis(secs * 1000)
}

pub(crate) fn task(id: i64, state: LabTaskState) -> LabTask {
    LabTask {
        id,
        campaign: 3,
        ordinal: u32::try_from(id).unwrap(),
        repetition: 0,
        not_before: ago(600),
        machine: None,
        state,
        attempts: 0,
        agent: None,
        lease_ends: None,
        progress: None,
        started: None,
        ended: None,
        message: None,
        runs: Vec::new(),
        slurm: None,
        exclusive: None,
    }
}

/// A task of each state.
pub(crate) fn tasks() -> Vec<LabTask> {
    let progress = |done, wanted| Some(LabProgress { done, wanted });
    vec![
        LabTask {
            machine: Some("node01".to_owned()),
            agent: Some("node01".to_owned()),
            attempts: 1,
            progress: progress(100, Some(100)),
            started: Some(ago(500)),
            ended: Some(ago(400)),
            runs: vec!["0123456789abcdef".repeat(2), "f".repeat(32)],
            ..task(11, LabTaskState::Done)
        },
        LabTask {
            machine: Some("node02".to_owned()),
            attempts: 1,
            progress: progress(25, Some(100)),
            started: Some(ago(30)),
            lease_ends: Some(ago(-270)),
            slurm: Some("4711_3".to_owned()),
            exclusive: Some(false),
            ..task(12, LabTaskState::Leased)
        },
        LabTask {
            machine: Some("node03".to_owned()),
            attempts: 3,
            started: Some(ago(300)),
            ended: Some(ago(290)),
            message: Some("/data/in.dat: expected sha256 12ab…, found 98cd…".to_owned()),
            ..task(13, LabTaskState::Failed)
        },
        LabTask { not_before: ago(-7200), repetition: 1, ..task(14, LabTaskState::Waiting) },
        task(15, LabTaskState::Cancelled),
    ]
}

pub(crate) fn summary() -> CampaignSummary {
    CampaignSummary {
        id: 3,
        uuid: "c".repeat(32),
        name: "gzip levels".to_owned(),
        owner: "alice".to_owned(),
        engine: LabEngine::Agents,
        created: ago(900),
        state: CampaignState::Running,
        tasks: 5,
        waiting: 1,
        leased: 1,
        done: 1,
        failed: 1,
        cancelled: 1,
        samples: 12_345,
    }
}

pub(crate) fn campaign() -> Campaign {
    let program = |command: &str, label: Option<&str>| CampaignProgram {
        command: command.to_owned(),
        label: label.map(str::to_owned),
        ..CampaignProgram::default()
    };
    Campaign {
        name: "gzip levels".to_owned(),
        programs: vec![program("gzip -6 -k -c in.dat", Some("gzip")), program("xz -0 -k -c in.dat", None)],
        parameters: BTreeMap::new(),
        options: Vec::new(),
        tags: BTreeMap::new(),
        machines: MachineChoice::All,
        repeat: CampaignRepeat::Once,
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 2,
    }
}

pub(crate) fn machine(name: &str, state: LabMachineState) -> LabMachine {
    LabMachine {
        name: name.to_owned(),
        owner: "agent".to_owned(),
        tags: BTreeMap::from([("rack".to_owned(), "7".to_owned()), ("quiet".to_owned(), String::new())]),
        machine: "1".repeat(16),
        fingerprint: "a105a3f8583580d0".to_owned(),
        host: host(name),
        factors: vec![Factor::new(1, "governor", Standing::NotHeld, "powersave")],
        version: "0.1.0".to_owned(),
        state,
        load: Some(0.25),
        first_seen: ago(86_400 * 10),
        heartbeat: ago(12),
        task: (state == LabMachineState::Busy).then_some(12),
        draining: state == LabMachineState::Draining,
    }
}

/// A machine in each state.
pub(crate) fn machines() -> Vec<LabMachine> {
    use LabMachineState as S;
    let states = [S::Idle, S::Busy, S::Draining, S::TooLoaded, S::OutsideHours, S::Gone];
    (1..).zip(states).map(|(i, state)| machine(&format!("node{i:02}"), state)).collect()
}

pub(crate) fn progress() -> CampaignProgress {
    CampaignProgress { summary: summary(), left: Some(Nanos::from_millis(754_000)) }
}

pub(crate) fn failure() -> LabFailure {
    LabFailure { campaign: "gzip levels".to_owned(), task: tasks().remove(2) }
}

/// All names are hostile.
pub(crate) fn hostile_machine() -> LabMachine {
    let hostile = || HOSTILE.to_owned();
    let mut m = machine(HOSTILE, LabMachineState::Gone);
    m.owner = hostile();
    m.tags = BTreeMap::from([(hostile(), hostile()), ("long".to_owned(), "x".repeat(5_000))]);
    m.fingerprint = hostile();
    m.machine = hostile();
    m.version = hostile();
    m.load = Some(f64::INFINITY);
    m.host.cpu = Reading::Value(hostile());
    m.host.kernel = hostile();
    m.host.kernel_version = hostile();
    m.host.distribution = Reading::Absent(Absent::Failed(hostile()));
    m.factors = vec![Factor::new(1, HOSTILE, Standing::Unknown, HOSTILE)];
    m.heartbeat = Nanos(i64::MIN);
    m.first_seen = Nanos(i64::MAX);
    m
}

pub(crate) fn hostile_task() -> LabTask {
    let hostile = || HOSTILE.to_owned();
    LabTask {
        machine: Some(hostile()),
        agent: Some(hostile()),
        message: Some(format!("{HOSTILE}{}", "y".repeat(5_000))),
        runs: vec![hostile(); 20],
        slurm: Some(hostile()),
        started: Some(Nanos(i64::MIN)),
        ended: Some(Nanos(i64::MAX)),
        progress: Some(LabProgress { done: u64::MAX, wanted: Some(0) }),
        repetition: u32::MAX,
        ..task(16, LabTaskState::Failed)
    }
}

pub(crate) fn hostile_summary() -> CampaignSummary {
    let tasks = u64::MAX;
    CampaignSummary { name: HOSTILE.to_owned(), owner: HOSTILE.to_owned(), tasks, done: tasks, ..summary() }
}
