//! Running a campaign's tasks by Slurm: array jobs, whose elements are tasks.

use crate::data::tasks::LabTaskPlan;
use crate::work::campaign_file::minutes;
use crate::work::folder::LabFolder;
use crate::work::hours::begin_time;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tarebench_core::base::units::Nanos;

/// How long a command of Slurm may take: its own commands try for a while to reach a controller that is away.
const PATIENCE: Duration = Duration::from_secs(60);
/// Shortest time limit with which Slurm is asked to signal a task before it kills it: it may do so a minute early.
const WARNED_LIMIT: Nanos = Nanos(600_000_000_000);

/// Why Slurm was not asked, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A command could not be run.
    #[error("cannot run {command}: {cause}")]
    NotRun {
        command: String,
        /// The system's error.
        cause: std::io::Error,
    },
    #[error("{command} failed: {said}")]
    Failed {
        command: String,
        /// How it ended, and what it wrote.
        said: String,
    },
    /// What a command printed could not be read.
    #[error("{command} printed `{found}`, expected {expected}")]
    Output { command: String, found: String, expected: &'static str },
}

/// What the user asks of Slurm; all but the lists are passed on untouched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmOptions {
    /// `--account` and the like, with their values.
    pub options: Vec<String>,
    /// Whether the user gave `--time`.
    pub has_time: bool,
}

/// What a task's batch script starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmCommand {
    pub tare: String,
    /// Where tasks push to, without a password; `None`: they leave archives in the folder.
    pub push: Option<String>,
}

/// Tasks that one array job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// Their places in the campaign.
    pub ordinals: Vec<u32>,
    /// The node that they are for.
    pub node: Option<String>,
    /// When they may start, since 1970; `None`: at once.
    pub begin: Option<Nanos>,
    /// Time limit of each, in ns.
    pub limit: Option<Nanos>,
}

/// The jobs of a campaign: one array for all tasks that may start at the same time on the same nodes.
pub fn jobs(tasks: &[LabTaskPlan], now: Nanos) -> Vec<SlurmJob> {
    let mut jobs: BTreeMap<(Option<Nanos>, Option<String>), SlurmJob> = BTreeMap::new();
    for task in tasks {
        let begin = Some(task.not_before).filter(|t| *t > now);
        let job = jobs.entry((begin, task.machine.clone())).or_insert_with(|| SlurmJob {
            ordinals: Vec::new(),
            node: task.machine.clone(),
            begin,
            limit: task.time_limit,
        });
        job.ordinals.push(task.ordinal);
    }
    jobs.into_values().collect()
}

/// The arguments of sbatch, without the script.
pub fn sbatch_arguments(job: &SlurmJob, options: &SlurmOptions, folder: &LabFolder, zone: &TimeZone) -> Vec<String> {
    let mut arguments = vec!["--parsable".to_owned(), format!("--array={}", ranges(&job.ordinals))];
    let usual = ["--exclusive", "--nodes=1", "--ntasks=1", "--acctg-freq=0", "--requeue", "--open-mode=append"];
    arguments.extend(usual.map(str::to_owned));
    arguments.push(format!("--output={}/state/slurm-%A_%a.out", folder.path().display()));
    if let Some(node) = &job.node {
        arguments.push(format!("--nodelist={node}"));
    }
    if let Some(begin) = job.begin {
        arguments.push(format!("--begin={}", begin_time(begin, zone)));
    }
    if let Some(limit) = job.limit.filter(|_| !options.has_time) {
        // The task itself ends at its limit; Slurm's is for one that hangs.
        arguments.push(format!("--time={}", minutes(limit) + 10));
        if limit >= WARNED_LIMIT {
            arguments.push("--signal=B:TERM@90".to_owned());
        }
    }
    // Last, so that they win.
    arguments.extend(options.options.iter().cloned());
    arguments
}

/// The batch script. Signals of Slurm reach tare itself, as it takes the shell's place.
pub fn script(command: &SlurmCommand, folder: &LabFolder) -> String {
    let folder = quoted(&folder.path().display().to_string());
    let push = command.push.as_ref().map(|url| format!(" --push {}", quoted(url))).unwrap_or_default();
    format!("#!/bin/sh\nexec {} lab task {folder} \"$SLURM_ARRAY_TASK_ID\"{push}\n", quoted(&command.tare))
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Numbers as `--array` takes them, `0-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for n in sorted {
        match parts.last_mut() {
            Some((_, last)) if n == last.saturating_add(1) => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let part = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// Submits a job; returns its number.
///
/// # Errors
/// sbatch's.
pub fn sbatch(arguments: &[String], script: &Path) -> Result<u64, SlurmError> {
    let script = script.display().to_string();
    let words: Vec<&str> = arguments.iter().map(String::as_str).chain([script.as_str()]).collect();
    job_number(&output("sbatch", &words)?)
}

/// The number in what `sbatch --parsable` prints: `123`, or `123;cluster`.
fn job_number(printed: &str) -> Result<u64, SlurmError> {
    let first = printed.trim().split(';').next().unwrap_or_default();
    first.parse().map_err(|_| SlurmError::Output {
        command: "sbatch".to_owned(),
        found: printed.trim().to_owned(),
        expected: "the number of a job",
    })
}

/// Names of the nodes that are idle.
///
/// # Errors
/// sinfo's.
pub fn idle_nodes(partition: Option<&str>) -> Result<Vec<String>, SlurmError> {
    let mut words = vec!["--noheader", "--Node", "--states=idle", "--format=%N"];
    if let Some(partition) = partition {
        words.extend(["--partition", partition]);
    }
    let printed = output("sinfo", &words)?;
    let mut nodes: Vec<String> = printed.split_whitespace().map(str::to_owned).collect();
    // A node is printed once for each of its partitions.
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}

/// Asks Slurm to do something with jobs: `scancel`, or `scontrol hold`.
///
/// # Errors
/// The command's.
pub fn control(command: &str, words: &[&str]) -> Result<(), SlurmError> {
    output(command, words).map(|_| ())
}

/// What a command prints on standard output, in at most [`PATIENCE`].
pub(crate) fn output(command: &str, words: &[&str]) -> Result<String, SlurmError> {
    let not_run = |cause| SlurmError::NotRun { command: command.to_owned(), cause };
    let mut child = Command::new(command)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_run)?;
    // Both are read at once, or a command that fills one pipe would wait for ever.
    let mut errors = child.stderr.take();
    let reader = std::thread::spawn(move || text_of(errors.as_mut().map(|e| e as &mut dyn Read)));
    let mut out = child.stdout.take();
    let printed = std::thread::spawn(move || text_of(out.as_mut().map(|o| o as &mut dyn Read)));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(not_run)? {
            Some(status) => break Some(status),
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill().and_then(|()| child.wait());
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (printed, said) = (printed.join().unwrap_or_default(), reader.join().unwrap_or_default());
    match status {
        Some(status) if status.success() => Ok(printed),
        Some(status) => {
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            Err(SlurmError::Failed { command: command.to_owned(), said: format!("{status}: {said}") })
        }
        None => {
            let said = format!("no answer within {} s", PATIENCE.as_secs());
            Err(SlurmError::Failed { command: command.to_owned(), said })
        }
    }
}

fn text_of(from: Option<&mut dyn Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What could be read is what there is.
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::campaign::{CampaignNeeds, MachineChoice};

    fn task(ordinal: u32, machine: Option<&str>, not_before: i64) -> LabTaskPlan {
        LabTaskPlan {
            uuid: format!("{ordinal:032x}"),
            ordinal,
            repetition: 0,
            not_before: Nanos(not_before),
            machine: machine.map(str::to_owned),
            fits: MachineChoice::Count(1),
            arguments: Vec::new(),
            needs: CampaignNeeds::default(),
            time_limit: Some(Nanos(3_600_000_000_000)),
            retries: 0,
            tags: BTreeMap::new(),
        }
    }

    #[test]
    fn one_array_holds_what_may_run_together() {
        let tasks =
            [task(0, None, 0), task(1, None, 5), task(2, Some("n1"), 0), task(3, None, 0), task(4, Some("n1"), 50)];
        let jobs = jobs(&tasks, Nanos(10));
        let found: Vec<_> = jobs.iter().map(|j| (j.ordinals.as_slice(), j.node.as_deref(), j.begin)).collect();
        let expected: [(&[u32], Option<&str>, Option<Nanos>); 3] =
            [(&[0, 1, 3], None, None), (&[2], Some("n1"), None), (&[4], Some("n1"), Some(Nanos(50)))];
        assert_eq!(found, expected);
    }

    #[test]
    fn sbatch_is_asked_for_a_node_alone() {
        let folder = LabFolder::at(Path::new("/shared/c's")).unwrap();
        let job = &jobs(&[task(0, Some("n1"), 0), task(1, Some("n1"), 0)], Nanos(10))[0];
        let options = SlurmOptions { options: vec!["--account=a b".to_owned()], has_time: false };
        let zone = TimeZone::UTC;
        let arguments = sbatch_arguments(job, &options, &folder, &zone);
        for expected in
            ["--parsable", "--array=0-1", "--exclusive", "--nodes=1", "--acctg-freq=0", "--nodelist=n1", "--time=70"]
        {
            assert!(arguments.iter().any(|a| a == expected), "{expected}: {arguments:?}");
        }
        assert_eq!(arguments.last().map(String::as_str), Some("--account=a b"));
        let own = sbatch_arguments(job, &SlurmOptions { has_time: true, ..options }, &folder, &zone);
        assert!(!own.iter().any(|a| a.starts_with("--time") || a.starts_with("--signal")), "{own:?}");
        let command = SlurmCommand { tare: "/opt/tare".to_owned(), push: Some("postgresql://h/d".to_owned()) };
        let expected = "#!/bin/sh\nexec '/opt/tare' lab task '/shared/c'\\''s' \"$SLURM_ARRAY_TASK_ID\" \
                        --push 'postgresql://h/d'\n";
        assert_eq!(script(&command, &folder), expected);
    }

    #[test]
    fn arrays_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[7, 0, 2, 1, 9, 7]), "0-2,7,9");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn the_number_of_a_job_is_read() {
        assert_eq!(job_number("123\n").unwrap(), 123);
        assert_eq!(job_number("123;cluster\n").unwrap(), 123);
        for bad in ["", "sbatch: error", "12a"] {
            assert!(job_number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn commands_that_fail_are_named() {
        let e = output("no-such-command-of-slurm", &[]).unwrap_err().to_string();
        assert!(e.starts_with("cannot run no-such-command-of-slurm: "), "{e}");
        let e = output("sh", &["-c", "echo slurm is away >&2; exit 3"]).unwrap_err().to_string();
        assert!(e.contains("sh failed: exit status: 3: slurm is away"), "{e}");
        assert_eq!(output("sh", &["-c", "echo 5"]).unwrap(), "5\n");
    }
}
