//! Words and times of the lab's pages.

use crate::data::state::{CampaignState, LabEngine, LabMachineState, LabTaskState};
use crate::pages::page::html::Html;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::base::units::Nanos;
use tarebench_report::number;

/// How something stands, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As it should be.
    Good,
    Active,
    /// Waits, or does nothing.
    Quiet,
    /// Someone should look at it.
    Bad,
}

impl Mood {
    fn class(self) -> &'static str {
        match self {
            Mood::Good => "state good",
            Mood::Active => "state active",
            Mood::Quiet => "state quiet",
            Mood::Bad => "state bad",
        }
    }
}

/// A word with its colour.
pub(crate) fn state((word, mood): (&'static str, Mood)) -> Html {
    let mut html = Html::new();
    html.line("span", &[("class", mood.class())], word);
    html
}

pub(crate) fn campaign_state(state: CampaignState) -> (&'static str, Mood) {
    match state {
        CampaignState::Queued => ("queued", Mood::Quiet),
        CampaignState::Running => ("running", Mood::Active),
        CampaignState::Paused => ("paused", Mood::Quiet),
        CampaignState::Cancelled => ("cancelled", Mood::Quiet),
        CampaignState::Finished => ("finished", Mood::Good),
    }
}

pub(crate) fn task_state(state: LabTaskState) -> (&'static str, Mood) {
    match state {
        LabTaskState::Waiting => ("waiting", Mood::Quiet),
        LabTaskState::Leased => ("running", Mood::Active),
        LabTaskState::Done => ("done", Mood::Good),
        LabTaskState::Failed => ("failed", Mood::Bad),
        LabTaskState::Cancelled => ("cancelled", Mood::Quiet),
    }
}

pub(crate) fn machine_state(state: LabMachineState) -> (&'static str, Mood) {
    match state {
        LabMachineState::Idle => ("idle", Mood::Good),
        LabMachineState::Busy => ("measuring", Mood::Active),
        LabMachineState::Draining => ("draining", Mood::Quiet),
        LabMachineState::TooLoaded => ("too loaded", Mood::Bad),
        LabMachineState::OutsideHours => ("outside its hours", Mood::Quiet),
        LabMachineState::Gone => ("gone", Mood::Bad),
    }
}

pub(crate) fn engine(engine: LabEngine) -> &'static str {
    match engine {
        LabEngine::Agents => "agents",
        LabEngine::Slurm => "Slurm",
    }
}

/// How long ago something was, or how soon it will be, with the date as its tooltip.
pub(crate) fn age(at: Nanos, now: Nanos, zone: &TimeZone) -> Html {
    let mut html = Html::new();
    html.line("span", &[("class", "age"), ("title", &date(at, zone))], &age_words(at, now));
    html
}

/// `12 s ago`, `in 3 min`, `now`.
pub(crate) fn age_words(at: Nanos, now: Nanos) -> String {
    let ago = now - at;
    match ago.secs() {
        s if s.abs() < 1.0 => "now".to_owned(),
        s if s < 0.0 => format!("in {}", lasted(Nanos::ZERO - ago)),
        _ => format!("{} ago", lasted(ago)),
    }
}

/// A time in whole seconds, minutes, hours or days.
pub(crate) fn lasted(time: Nanos) -> String {
    let secs = time.secs().max(0.0);
    match secs {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 100.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

pub(crate) fn load(load: Option<f64>) -> String {
    load.and_then(|l| number::fixed(l, 2)).unwrap_or_else(|| "–".to_owned())
}

/// `1,234`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let now = Nanos::from_millis(1_000_000_000);
        let ago = |secs: f64| age_words(now - Nanos::from_secs_f64(secs), now);
        let all = [0.2, 12.0, 99.4, 150.0, 7200.0, 200_000.0, -180.0].map(ago);
        assert_eq!(all, ["now", "12 s ago", "99 s ago", "2 min ago", "2 h ago", "2 d ago", "in 3 min"]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(load(Some(f64::NAN)), "–");
    }
}
