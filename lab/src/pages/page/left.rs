//! How long a campaign still takes.

use crate::data::state::{CampaignState, LabTask, LabTaskState};
use tarebench_core::base::units::Nanos;

/// An estimate of the time until the last task of a campaign ends: what is left to do, by the mean time of the tasks
/// that are done and by as many machines as measure now; at least until the last task may start, and has run. `None`
/// if no time is known yet, or the campaign does not proceed.
pub fn time_left(state: CampaignState, tasks: &[LabTask], now: Nanos) -> Option<Nanos> {
    if !matches!(state, CampaignState::Running | CampaignState::Queued) {
        return None;
    }
    let typical = typical(tasks, now)?;
    let held = tasks.iter().filter(|t| t.state == LabTaskState::Leased);
    let begun: f64 = held.clone().map(|t| typical * (1.0 - share(t, typical, now))).sum();
    let waiting: Vec<&LabTask> = tasks.iter().filter(|t| t.state == LabTaskState::Waiting).collect();
    let (ready, later): (Vec<&LabTask>, Vec<&LabTask>) = waiting.into_iter().partition(|t| t.not_before <= now);
    let machines = held.count().max(1) as f64;
    let work = (begun + typical * ready.len() as f64) / machines;
    let last = later.iter().map(|t| (t.not_before - now).as_f64() + typical).fold(0.0, f64::max);
    // What is due later also waits for machines, but spread over the time until then.
    let rest = work.max(last).max(typical * later.len() as f64 / machines);
    rest.is_finite().then_some(Nanos(rest as i64))
}

/// Mean time of a task, ns: of those that are done, else as their progress promises.
fn typical(tasks: &[LabTask], now: Nanos) -> Option<f64> {
    let took = |t: &LabTask| Some((t.ended? - t.started?).as_f64()).filter(|ns| *ns >= 0.0);
    let done = tasks.iter().filter(|t| t.state == LabTaskState::Done).filter_map(took);
    let promised = tasks.iter().filter(|t| t.state == LabTaskState::Leased).filter_map(|t| {
        let share = progress(t).filter(|share| *share >= 0.05)?;
        Some((now - t.started?).as_f64() / share)
    });
    mean(done).or_else(|| mean(promised))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0_u64), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// How much of a task is done: by its samples, else by its time.
fn share(task: &LabTask, typical: f64, now: Nanos) -> f64 {
    let by_time = || Some((now - task.started?).as_f64() / typical).filter(|share| share.is_finite());
    progress(task).or_else(by_time).unwrap_or(0.0).clamp(0.0, 1.0)
}

fn progress(task: &LabTask) -> Option<f64> {
    let progress = task.progress?;
    let wanted = progress.wanted.filter(|n| *n > 0)?;
    Some(progress.done as f64 / wanted as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::state::LabProgress;
    use crate::pages::page::fixtures::{NOW, task};

    const MINUTE: i64 = 60_000_000_000;

    fn done(minutes: i64) -> LabTask {
        let start = NOW - Nanos(100 * MINUTE);
        LabTask { started: Some(start), ended: Some(start + Nanos(minutes * MINUTE)), ..task(1, LabTaskState::Done) }
    }

    fn held(done: u64) -> LabTask {
        let progress = Some(LabProgress { done, wanted: Some(10) });
        LabTask { started: Some(NOW - Nanos(5 * MINUTE)), progress, ..task(2, LabTaskState::Leased) }
    }

    fn waiting(minutes: i64) -> LabTask {
        LabTask { not_before: NOW + Nanos(minutes * MINUTE), ..task(3, LabTaskState::Waiting) }
    }

    fn minutes(tasks: &[LabTask]) -> Option<i64> {
        time_left(CampaignState::Running, tasks, NOW).map(|t| t.0 / MINUTE)
    }

    #[test]
    fn what_is_left_is_shared_by_the_machines_at_work() {
        assert_eq!(minutes(&[waiting(0)]), None);
        assert_eq!(minutes(&[done(10), waiting(0)]), Some(10));
        // Two machines have half a task each and share two more.
        assert_eq!(minutes(&[done(10), held(5), held(5), waiting(0), waiting(0)]), Some(15));
        // 5 minutes for half of it.
        assert_eq!(minutes(&[held(5), waiting(0)]), Some(15));
        assert_eq!(minutes(&[done(10), waiting(60)]), Some(70));
        assert_eq!(minutes(&[done(10)]), Some(0));
    }

    #[test]
    fn a_campaign_that_does_not_proceed_has_no_end() {
        let tasks = [done(10), waiting(0)];
        for state in [CampaignState::Paused, CampaignState::Cancelled, CampaignState::Finished] {
            assert_eq!(time_left(state, &tasks, NOW), None);
        }
    }
}
