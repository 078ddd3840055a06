//! What agents and tasks say on standard error while they work: a line each, for a terminal or a journal.

use crate::data::state::LabMachineState;
use crate::work::agent::AgentNews;
use crate::work::task::TaskNews;
use tarebench::report::text::escape;

/// One line of an agent's news.
pub fn agent_line(news: &AgentNews<'_>) -> String {
    match news {
        AgentNews::Started { name } => format!("agent {} waits for tasks", escape(name)),
        AgentNews::Took(task) => {
            let (number, campaign, attempt) = (task.held.task, escape(&task.campaign), task.attempt);
            format!("task {number} of {campaign}, attempt {attempt}: begins")
        }
        AgentNews::Task(news) => task_line(news),
        AgentNews::Ended(task, end) => format!("task {}: {}", task.held.task, escape(&end.to_string())),
        AgentNews::Standing(LabMachineState::Idle) => "waits for tasks again".to_owned(),
        AgentNews::Standing(LabMachineState::TooLoaded) => "starts no task: the load is above --max-load".to_owned(),
        AgentNews::Standing(LabMachineState::OutsideHours) => "starts no task outside of --hours".to_owned(),
        AgentNews::Standing(_) => "starts no task".to_owned(),
        AgentNews::Occupied => "starts no task while another `tare` measures on this machine".to_owned(),
        AgentNews::Away { cause, pause } => away(cause, pause.secs()),
        AgentNews::Back => "the lab can be reached again".to_owned(),
    }
}

/// One line of a task's news.
pub fn task_line(news: &TaskNews<'_>) -> String {
    match news {
        TaskNews::Resuming { run } => format!("resumes run {run}"),
        TaskNews::NotResumed { run, cause } => {
            format!("run {run} cannot be resumed, a new one begins: {}", escape(cause))
        }
        TaskNews::Away { cause, pause } => away(cause, pause.secs()),
    }
}

fn away(cause: &str, seconds: f64) -> String {
    format!("the lab cannot be reached; next attempt in {seconds:.0} s: {}", escape(cause))
}
