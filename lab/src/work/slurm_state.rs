//! What Slurm says of a campaign's tasks, by sacct and squeue, each asked once for all jobs of a campaign.
//!
//! Only states are taken from Slurm, never a time. If it does not answer, states stay as they are.

use crate::data::state::LabTaskState;
use crate::work::slurm::output;
use std::collections::{BTreeMap, BTreeSet};

/// State of a task's job, as Slurm says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmTask {
    /// What that is in the queue; `None` for words that this tare does not know.
    pub state: Option<LabTaskState>,
    /// Slurm's word, e.g. `NODE_FAIL`.
    pub word: String,
    /// Exit code and signal, `0:15`, if there is one.
    pub exit: Option<String>,
    /// The node, if there is one.
    pub node: Option<String>,
}

impl SlurmTask {
    /// What happened, for a task that has failed.
    pub fn message(&self) -> String {
        let node = self.node.as_ref().map(|n| format!(" on {n}")).unwrap_or_default();
        let exit = self.exit.as_ref().map(|e| format!(", exit code {e}")).unwrap_or_default();
        format!("Slurm: {}{node}{exit}", self.word)
    }
}

/// Job and place in its array, as in `123_4`.
pub type SlurmKey = (u64, u32);

/// What Slurm said, and of which commands it did not answer.
#[derive(Debug, Default)]
pub struct SlurmAnswer {
    /// By job and place in its array.
    pub tasks: BTreeMap<SlurmKey, SlurmTask>,
    /// The failures of its commands.
    pub failures: Vec<String>,
}

/// Asks Slurm for all jobs, each command once.
pub fn ask(jobs: &BTreeSet<u64>) -> SlurmAnswer {
    let mut answer = SlurmAnswer::default();
    if jobs.is_empty() {
        return answer;
    }
    let list = jobs.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let sacct = [
        "--parsable2",
        "--noheader",
        "--allocations",
        "--format=JobIDRaw,JobID,State,ExitCode,NodeList",
        "--jobs",
        &list,
    ];
    match output("sacct", &sacct) {
        Ok(printed) => answer.tasks = parse_sacct(&printed),
        Err(e) => answer.failures.push(e.to_string()),
    }
    let squeue = ["--noheader", "--array", "--states=all", "--format=%i|%T|%N", "--jobs", &list];
    match output("squeue", &squeue) {
        // It knows of jobs that have not ended, and is never behind, as the accounting may be.
        Ok(printed) => answer.tasks.extend(parse_squeue(&printed)),
        // It refuses jobs that ended a while ago.
        Err(e) if e.to_string().contains("Invalid job id") => {}
        Err(e) => answer.failures.push(e.to_string()),
    }
    answer
}

/// The lines of `sacct --parsable2 --noheader --format=JobIDRaw,JobID,State,ExitCode,NodeList`. Lines that cannot be
/// read are left out, as are those of steps.
pub fn parse_sacct(printed: &str) -> BTreeMap<SlurmKey, SlurmTask> {
    let mut tasks = BTreeMap::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [_, job, state, exit, nodes, ..] = fields.as_slice() else { continue };
        let exit = Some((*exit).to_owned()).filter(|e| !e.is_empty() && e != "0:0");
        add(&mut tasks, job, state, exit, nodes);
    }
    tasks
}

/// The lines of `squeue --noheader --array --format=%i|%T|%N`.
pub fn parse_squeue(printed: &str) -> BTreeMap<SlurmKey, SlurmTask> {
    let mut tasks = BTreeMap::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [job, state, nodes] = fields.as_slice() else { continue };
        add(&mut tasks, job, state, None, nodes);
    }
    tasks
}

fn add(tasks: &mut BTreeMap<SlurmKey, SlurmTask>, job: &str, state: &str, exit: Option<String>, nodes: &str) {
    // `CANCELLED by 1000`; a `+` marks a word that was cut.
    let word = state.split_whitespace().next().unwrap_or_default().trim_end_matches('+').to_owned();
    let node = Some(nodes.trim().to_owned()).filter(|n| !n.is_empty() && n != "None assigned");
    if word.is_empty() {
        return;
    }
    for key in keys(job) {
        let task = SlurmTask { state: known(&word), word: word.clone(), exit: exit.clone(), node: node.clone() };
        tasks.insert(key, task);
    }
}

/// Most places of an array; a wrong range is not expanded.
const MOST_PLACES: u32 = 1_000_000;

/// The tasks of `123_4`, or of `123_[5-7,9%2]`; none of a step or of a job without an array.
fn keys(job: &str) -> Vec<SlurmKey> {
    let Some((job, places)) = job.split_once('_') else { return Vec::new() };
    let Ok(job) = job.parse::<u64>() else { return Vec::new() };
    let Some(list) = places.strip_prefix('[') else {
        return places.parse().map(|place| vec![(job, place)]).unwrap_or_default();
    };
    // Long lists are cut off by `...`; what follows `%` limits how many run at once.
    let list = list.split([']', '%']).next().unwrap_or_default();
    let mut keys = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        if last < MOST_PLACES {
            keys.extend((first..=last).map(|place| (job, place)));
        }
    }
    keys
}

/// What a word of Slurm is in the queue.
fn known(word: &str) -> Option<LabTaskState> {
    match word {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
            Some(LabTaskState::Waiting)
        }
        // It goes back to the queue.
        "PREEMPTED" => Some(LabTaskState::Waiting),
        "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => {
            Some(LabTaskState::Leased)
        }
        // Whether its result is there is for the queue to say.
        "COMPLETED" => Some(LabTaskState::Done),
        "FAILED" | "TIMEOUT" | "NODE_FAIL" | "OUT_OF_MEMORY" | "BOOT_FAIL" | "DEADLINE" | "REVOKED" => {
            Some(LabTaskState::Failed)
        }
        "CANCELLED" => Some(LabTaskState::Cancelled),
        _ => None,
    }
}

/// Whether a node was a job's alone, from `scontrol show job -o`; `None` if that does not say.
pub fn exclusive(printed: &str) -> Option<bool> {
    let field = printed.split_whitespace().find_map(|f| f.strip_prefix("OverSubscribe="))?;
    match field {
        // The job got whole nodes.
        "NO" => Some(true),
        "OK" | "YES" | "USER" | "MCS" | "TOPO" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sacct_is_read_line_by_line() {
        let printed = "101|100_0|COMPLETED|0:0|node1\n\
                       102|100_1|NODE_FAIL|1:0|node2\n\
                       103|100_2|CANCELLED by 1000|0:15|node3\n\
                       104|100_3|OUT_OF_ME+|0:125|node3\n\
                       105|100_4|RUNNING|0:0|node4\n\
                       106|100_5|SOMETHING_NEW|0:0|node5\n\
                       101.batch|100_0.batch|COMPLETED|0:0|node1\n\
                       100|100_[6-8,10%2]|PENDING|0:0|None assigned\n";
        let tasks = parse_sacct(printed);
        let state = |place: u32| tasks.get(&(100, place)).and_then(|t| t.state);
        assert_eq!(state(0), Some(LabTaskState::Done));
        assert_eq!((state(1), state(2)), (Some(LabTaskState::Failed), Some(LabTaskState::Cancelled)));
        // A word that was cut is not guessed; neither is an unknown one.
        assert_eq!((state(3), state(5)), (None, None));
        assert_eq!(tasks[&(100, 5)].word, "SOMETHING_NEW");
        assert_eq!(state(4), Some(LabTaskState::Leased));
        assert_eq!(
            [6, 7, 8, 9, 10].map(state),
            [
                Some(LabTaskState::Waiting),
                Some(LabTaskState::Waiting),
                Some(LabTaskState::Waiting),
                None,
                Some(LabTaskState::Waiting)
            ]
        );
        assert_eq!(tasks.len(), 10);
        assert_eq!(tasks[&(100, 6)].node, None);
        assert_eq!(tasks[&(100, 1)].message(), "Slurm: NODE_FAIL on node2, exit code 1:0");
        assert_eq!(tasks[&(100, 0)].message(), "Slurm: COMPLETED on node1");
    }

    /// slurmdbd may be stopped while it answers.
    #[test]
    fn what_is_cut_off_or_garbled_is_left_out() {
        let printed = "101|100_0|COMPLETED|0:0|node1\n102|100_1|COMPL";
        assert_eq!(parse_sacct(printed).keys().copied().collect::<Vec<_>>(), [(100, 0)]);
        for garbled in [
            "",
            "\n\n",
            "|||||",
            "sacct: error: slurm_persist_conn_open",
            "1|x_y|RUNNING|0:0|n",
            "1|5|RUNNING|0:0|n",
            "1|100_[3-|PENDING||",
            "1|100_[0-4000000000]|PENDING||",
            "1|100_1||0:0|n",
            "1|99999999999999999999_1|RUNNING|0:0|n",
        ] {
            assert!(parse_sacct(garbled).is_empty(), "{garbled}");
        }
        assert_eq!(keys("7_[1-3,...]"), [(7, 1), (7, 2), (7, 3)]);
        assert_eq!(keys("7_[5]"), [(7, 5)]);
    }

    #[test]
    fn squeue_is_read_too() {
        let printed = "100_0|RUNNING|node1\n100_1|PENDING|\n  100_2|COMPLETING|node2  \nslurm_load_jobs error\n";
        let tasks = parse_squeue(printed);
        assert_eq!(tasks.len(), 3);
        assert_eq!(
            (tasks[&(100, 0)].state, &tasks[&(100, 0)].node),
            (Some(LabTaskState::Leased), &Some("node1".to_owned()))
        );
        assert_eq!((tasks[&(100, 1)].state, &tasks[&(100, 1)].node), (Some(LabTaskState::Waiting), &None));
    }

    #[test]
    fn a_node_is_exclusive_if_slurm_says_so() {
        let line = |value: &str| format!("JobId=5 JobName=tare OverSubscribe={value} Contiguous=0 Licenses=(null)");
        assert_eq!(exclusive(&line("NO")), Some(true));
        assert_eq!([exclusive(&line("OK")), exclusive(&line("YES"))], [Some(false); 2]);
        assert_eq!([exclusive(&line("(null)")), exclusive("slurm_load_jobs error: Invalid job id")], [None; 2]);
    }

    #[test]
    fn no_jobs_are_no_question() {
        let answer = ask(&BTreeSet::new());
        assert!(answer.tasks.is_empty() && answer.failures.is_empty());
    }
}
