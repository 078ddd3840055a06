//! The tasks of a campaign.

use crate::data::campaign::{
    Campaign, CampaignError, CampaignNeeds, CampaignProgram, CampaignRepeat, DAY, MOST_TASKS, MachineChoice, SECOND,
};
use crate::data::state::{LabMachine, LabMachineState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::units::Nanos;
use tarebench_core::statistics::random::{RandomPurpose, below, generator};

/// Tag of a task's runs with the campaign's name.
pub const CAMPAIGN_TAG: &str = "lab.campaign";
/// Tag of a task's runs with its uuid.
pub const TASK_TAG: &str = "lab.task";
/// Tag of a task's runs with the repetition, from 0 on.
pub const REPETITION_TAG: &str = "lab.repetition";

/// A task before it is queued: all programs of a campaign with all values of its parameters, once, on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabTaskPlan {
    pub uuid: String,
    /// Its place in the campaign, from 0 on.
    pub ordinal: u32,
    /// Which repetition it belongs to, from 0 on.
    pub repetition: u32,
    /// It is not started before this time, in ns since 1970.
    pub not_before: Nanos,
    /// The machine that it is for; `None`: any that fits, and none that has another task of the same repetition.
    pub machine: Option<String>,
    /// Which machines may take it.
    pub fits: MachineChoice,
    /// All that follows `tare run`.
    pub arguments: Vec<String>,
    pub needs: CampaignNeeds,
    /// It failed if it takes longer than this, in ns.
    pub time_limit: Option<Nanos>,
    /// How often it is started again if it failed.
    pub retries: u32,
    /// Tags of its runs, those of the lab included.
    pub tags: BTreeMap<String, String>,
}

/// The tasks of a campaign: for each repetition, one on each machine, in the order of their times.
///
/// `machines` are those that the lab knows; those that are gone are not chosen by `all` and by tags. `now` and
/// `local_midnight`, the latest one that is not after it, are in ns since 1970; nights are 24 hours apart, so that they
/// move by an hour when the clocks change. `uuids` makes a new one at each call.
///
/// # Errors
/// Those of [`Campaign::check`], and if no machine fits or there are too many tasks.
pub fn expand(
    campaign: &Campaign,
    machines: &[LabMachine],
    now: Nanos,
    local_midnight: Nanos,
    uuids: &mut dyn FnMut() -> String,
) -> Result<Vec<LabTaskPlan>, CampaignError> {
    campaign.check()?;
    let places = places(&campaign.machines, machines)?;
    let all = u64::from(campaign.repeat.times()).saturating_mul(places.len() as u64);
    if all > MOST_TASKS as u64 {
        return Err(CampaignError::TooManyTasks(all));
    }
    let mut tasks: Vec<LabTaskPlan> = Vec::new();
    for (repetition, not_before) in (0..).zip(times(&campaign.repeat, now, local_midnight)) {
        for place in &places {
            let uuid = uuids();
            let tags = tags(campaign, &uuid, repetition);
            tasks.push(LabTaskPlan {
                ordinal: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
                repetition,
                not_before,
                machine: place.clone(),
                fits: match place {
                    Some(name) => MachineChoice::Names(vec![name.clone()]),
                    None => campaign.machines.clone(),
                },
                arguments: arguments(campaign, &tags),
                needs: campaign.needs.clone(),
                time_limit: campaign.time_limit,
                retries: campaign.retries,
                tags,
                uuid,
            });
        }
    }
    Ok(tasks)
}

/// The machine of each task of a repetition; `None` is any.
fn places(choice: &MachineChoice, machines: &[LabMachine]) -> Result<Vec<Option<String>>, CampaignError> {
    let any = |count: u32| {
        let most = u32::try_from(MOST_TASKS).unwrap_or(u32::MAX);
        if count > most { Err(CampaignError::TooManyTasks(count.into())) } else { Ok(vec![None; count as usize]) }
    };
    let known = || {
        let there = machines.iter().filter(|m| m.state != LabMachineState::Gone && choice.fits(&m.name, &m.tags));
        let names: BTreeSet<&String> = there.map(|m| &m.name).collect();
        if names.is_empty() {
            return Err(CampaignError::NoneFits(machines.len()));
        }
        Ok(names.into_iter().cloned().map(Some).collect())
    };
    match choice {
        MachineChoice::Count(count) | MachineChoice::Tags { count: Some(count), .. } => any(*count),
        MachineChoice::Names(names) => Ok(names.iter().cloned().map(Some).collect()),
        MachineChoice::All | MachineChoice::Tags { count: None, .. } => known(),
    }
}

/// When each repetition may begin, ascending.
fn times(repeat: &CampaignRepeat, now: Nanos, local_midnight: Nanos) -> Vec<Nanos> {
    let apart = |first: Nanos, n: u32, by: Nanos| -> Vec<Nanos> {
        (0..n).map(|k| first + Nanos(by.0.saturating_mul(i64::from(k)))).collect()
    };
    match repeat {
        CampaignRepeat::Once => vec![now],
        CampaignRepeat::Times { times, every } => apart(now, *times, every.unwrap_or(Nanos::ZERO)),
        CampaignRepeat::Nightly { nights, at: (hour, minute) } => {
            let minutes = i64::from(*hour) * 60 + i64::from(*minute);
            let tonight = local_midnight + Nanos(minutes.saturating_mul(60 * SECOND.0));
            apart(if tonight < now { tonight + DAY } else { tonight }, *nights, DAY)
        }
        CampaignRepeat::AtRandom { times, within, seed } => at_random(*times, *within, *seed, now),
    }
}

/// Different whole seconds of the time from now on, each set of them equally likely (Floyd's sampling).
fn at_random(times: u32, within: Nanos, seed: u64, now: Nanos) -> Vec<Nanos> {
    let mut rng = generator(seed, RandomPurpose::Lab, 0);
    let seconds = u32::try_from(within.0 / SECOND.0).unwrap_or(u32::MAX);
    let mut chosen = BTreeSet::new();
    for last in seconds.saturating_sub(times)..seconds {
        let drawn = below(&mut rng, last.saturating_add(1));
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().map(|second| now + Nanos(i64::from(second) * SECOND.0)).collect()
}

fn tags(campaign: &Campaign, uuid: &str, repetition: u32) -> BTreeMap<String, String> {
    let mut tags = campaign.tags.clone();
    tags.insert(CAMPAIGN_TAG.to_owned(), campaign.name.clone());
    tags.insert(TASK_TAG.to_owned(), uuid.to_owned());
    tags.insert(REPETITION_TAG.to_owned(), repetition.to_string());
    tags
}

/// The words after `tare run`.
///
/// Each text of the campaign is one word that cannot be taken for an option: values are joined to theirs by `=`, and
/// programs are strings that do not begin with `-`. After `--` there is room for a single program only, so that it is
/// not used.
fn arguments(campaign: &Campaign, tags: &BTreeMap<String, String>) -> Vec<String> {
    let mut words: Vec<String> = tags.iter().map(|(k, v)| format!("--tag={k}={v}")).collect();
    words.extend(campaign.options.iter().cloned());
    let programs = &campaign.programs;
    if let Some(folder) = &campaign.needs.directory {
        words.push(format!("--cwd={folder}"));
    }
    if let Some(first) = programs.first() {
        // The same for all programs.
        words.extend(first.setup.iter().map(|h| format!("--setup={h}")));
        words.extend(first.cleanup.iter().map(|h| format!("--cleanup={h}")));
    }
    words.extend(each("--prepare", programs, |p| p.prepare.as_deref()));
    words.extend(each("--conclude", programs, |p| p.conclude.as_deref()));
    for (name, values) in &campaign.parameters {
        let values: Vec<String> = values.iter().map(|v| v.replace(',', "\\,")).collect();
        words.extend(["--parameter-list".to_owned(), name.clone(), values.join(",")]);
    }
    // Also without a label, since a command may get a space in front.
    words.extend(programs.iter().map(|p| format!("--command-name={}", p.name())));
    words.extend(programs.iter().map(|p| {
        if p.command.starts_with('-') {
            // White space before a command changes nothing.
            format!(" {}", p.command)
        } else {
            p.command.clone()
        }
    }));
    words
}

/// A hook of each program, or none at all; `:` does nothing, for those without.
fn each(option: &str, programs: &[CampaignProgram], hook: fn(&CampaignProgram) -> Option<&str>) -> Vec<String> {
    if programs.iter().all(|p| hook(p).is_none()) {
        return Vec::new();
    }
    programs.iter().map(|p| format!("{option}={}", hook(p).unwrap_or(":"))).collect()
}

#[cfg(test)]
mod tests;
