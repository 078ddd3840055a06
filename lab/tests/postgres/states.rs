//! What a lab says of its machines, of Slurm's tasks, and in figures.

use crate::data;
use crate::queue::{LEASE, SHORT, TestLab, campaign, machine, past_it, plan, push_as};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tarebench_core::base::units::Nanos;
use tarebench_lab::data::state::{CampaignState, LabEngine, LabMachine, LabMachineState, LabProgress, LabTaskState};
use tarebench_lab::data::tasks::LabTaskPlan;
use tarebench_lab::server::{HeldLease, Lab, LabError, LeasedTask};

#[test]
fn machines_are_as_the_server_sees_them() {
    let Some(lab) = TestLab::new() else { return };
    let mut b = lab.on("b");
    let mut a = lab.agent("a 1");
    a.announce(&LabMachine { state: LabMachineState::TooLoaded, load: Some(f64::NAN), ..machine("a", &[("k", "v")]) })
        .unwrap();
    let now = lab.number("SELECT lab_now()");
    let seen = a.machines().unwrap();
    assert_eq!(seen.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let first = &seen[0];
    assert_eq!(
        (first.owner.clone(), first.state, first.load),
        (lab.user_name("agent"), LabMachineState::TooLoaded, None)
    );
    assert!((first.first_seen.0 - now).abs() < 60_000_000_000 && first.heartbeat >= first.first_seen);
    assert_eq!((first.task, first.draining, first.host.clone()), (None, false, data::run(1).host));
    // A description that cannot be read hides no other machine.
    lab.client().batch_execute("UPDATE lab_machine SET doc = '{}' WHERE name = 'a'").unwrap();
    assert_eq!(a.machines().unwrap().len(), 1);
    // Not heard of for longer than its lease.
    b.take("b", SHORT).unwrap();
    assert_eq!(a.machines().unwrap()[0].state, LabMachineState::Idle);
    past_it();
    assert_eq!(a.machines().unwrap()[0].state, LabMachineState::Gone);
    b.take("b", LEASE).unwrap();
    assert_eq!(a.machines().unwrap()[0].state, LabMachineState::Idle);
    b.announce(&LabMachine { state: LabMachineState::Gone, ..machine("b", &[]) }).unwrap();
    assert_eq!(a.machines().unwrap()[0].state, LabMachineState::Gone);
}

#[test]
fn slurm_says_how_its_tasks_are() {
    let Some(lab) = TestLab::new() else { return };
    let mut admin = lab.admin();
    let tasks: Vec<_> = (0..3).map(|n| LabTaskPlan { not_before: Nanos(i64::MAX), retries: 1, ..plan(n) }).collect();
    admin.submit(&campaign("s"), LabEngine::Slurm, "", &tasks, None).unwrap();
    admin.set_slurm(1, "4711_0").unwrap();
    let mut node = lab.on("node");
    assert_eq!(node.take("node", LEASE).unwrap(), None, "it is Slurm's");
    let news = |admin: &mut Lab, task, state, message| admin.slurm_state(task, state, message, None).unwrap();
    assert!(news(&mut admin, 1, LabTaskState::Leased, None));
    assert!(!news(&mut admin, 1, LabTaskState::Leased, None));
    let task = node.take_task(1, "node", LEASE).unwrap().unwrap();
    assert_eq!((task.attempt, lab.task(1).slurm.as_deref()), (1, Some("4711_0")));
    // The node was lost.
    assert!(news(&mut admin, 1, LabTaskState::Waiting, Some("NODE_FAIL")));
    let mut other = lab.on("other");
    let again = other.take_task(1, "other", LEASE).unwrap().unwrap();
    assert_eq!((again.attempt, lab.task(1).message.as_deref()), (2, Some("NODE_FAIL")));
    let run = lab.push(&again, 4);
    other.finish(&again.held, &[run], Some(false)).unwrap();
    for state in [LabTaskState::Failed, LabTaskState::Waiting, LabTaskState::Done] {
        assert!(!news(&mut admin, 1, state, Some("late")));
    }
    assert_eq!(lab.task(1).exclusive, Some(false));
    // Collected from a folder by the administrator.
    let done = admin.slurm_state(2, LabTaskState::Done, None, Some(true));
    assert!(matches!(done, Err(LabError::RunsMissing { task: 2, .. })), "{done:?}");
    let held = HeldLease { task: 2, secret: String::new() };
    let second = LeasedTask { held, plan: tasks[1].clone(), campaign: String::new(), attempt: 1, ends: Nanos(0) };
    let uuid = push_as(&lab.user("admin", "tare_admin"), &second, 3);
    assert!(admin.slurm_state(2, LabTaskState::Done, None, Some(true)).unwrap());
    let collected = lab.task(2);
    assert_eq!((collected.state, collected.runs, collected.exclusive), (LabTaskState::Done, vec![uuid], Some(true)));
    assert!(news(&mut admin, 3, LabTaskState::Failed, Some("TIMEOUT")));
    assert_eq!(admin.summary(1).unwrap().state, CampaignState::Finished);
    assert!(matches!(admin.slurm_state(9, LabTaskState::Failed, None, None), Err(LabError::NoSuchTask { .. })));
    assert!(matches!(admin.set_slurm(9, "x"), Err(LabError::NoSuchTask { .. })));
    assert!(matches!(node.take_task(9, "node", LEASE), Err(LabError::NoSuchTask { .. })));
}

#[test]
fn figures_and_changes_are_counted() {
    let Some(lab) = TestLab::new() else { return };
    let (mut admin, mut watcher) = (lab.admin(), lab.admin());
    let start = admin.changes_since(0).unwrap();
    assert_eq!(watcher.wait_for_change(start, Duration::from_millis(20)).unwrap(), start);
    let waiting = std::thread::spawn(move || {
        let begun = Instant::now();
        (watcher.wait_for_change(start, Duration::from_secs(60)).unwrap(), begun.elapsed())
    });
    sleep(Duration::from_millis(100));
    lab.submit("c", &[LabTaskPlan { not_before: Nanos(i64::MAX), ..plan(0) }, plan(1), plan(2)]);
    let (heard, after) = waiting.join().unwrap();
    assert!(heard > start && after < Duration::from_secs(30));
    let mut a = lab.on("a");
    let task = a.take("a", LEASE).unwrap().unwrap();
    let before = admin.changes_since(heard).unwrap();
    assert!(before > heard);
    a.heartbeat(&task.held, LEASE, None).unwrap();
    a.announce(&machine("a", &[])).unwrap();
    assert_eq!(admin.changes_since(before).unwrap(), before, "nothing that a page shows");
    let progress = |done| Some(LabProgress { done, wanted: Some(40) });
    a.heartbeat(&task.held, LEASE, progress(30)).unwrap();
    assert!(admin.changes_since(before).unwrap() > before);
    // Resumed from an earlier state: nothing is taken back, and nothing counted twice.
    a.heartbeat(&task.held, LEASE, progress(20)).unwrap();
    a.heartbeat(&task.held, LEASE, progress(30)).unwrap();
    lab.on("b");
    let m = admin.metrics().unwrap();
    assert_eq!((m.queue, m.failures), (1, 0));
    assert!((m.samples_per_minute - 8.0).abs() < 1e-9, "{}: 30 and, as it had gone back, 10", m.samples_per_minute);
    let in_state = |m: &[(LabTaskState, u64)]| m.iter().map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!(in_state(&m.tasks), [2, 1, 0, 0, 0]);
    let find = |state| m.machines.iter().find(|(s, _)| *s == state).unwrap().1;
    assert_eq!((find(LabMachineState::Busy), find(LabMachineState::Idle), find(LabMachineState::Gone)), (1, 1, 0));
    assert_eq!(m.campaigns.iter().find(|(_, n)| *n == 1).unwrap().0, CampaignState::Running);
    assert_eq!(m.campaigns.len(), 5);
}
