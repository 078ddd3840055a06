//! What to measure and how: everything that is needed to run it, or to resume it later.

use crate::base::name::Name;
use crate::base::units::Nanos;
use crate::compare::duet::{AloneTimes, DuetForm, NoDuet, duet_form, suit};
use crate::quiet::data::ProbePlan;
use crate::run::discards::DiscardRule;
use crate::sample::data::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a command is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program and its arguments, started as they are.
    Argv(Vec<Name>),
    /// A script for a shell.
    Shell {
        /// The shell's program and arguments before `-c`.
        shell: Vec<Name>,
        script: Name,
    },
}

impl Command {
    /// The words to execute, shell included.
    pub fn words(&self) -> Vec<Name> {
        match self {
            Command::Argv(words) => words.clone(),
            Command::Shell { shell, script } => {
                let mut words = shell.clone();
                words.push(Name::from("-c"));
                words.push(script.clone());
                words
            }
        }
    }
}

/// One program under test: a series is made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What tables call it: the name that the user gave, else the command as typed.
    pub label: String,
    pub command: Command,
    /// Values of this program's parameters (`-L`, `-P`), already put into the command.
    pub parameters: BTreeMap<String, String>,
    /// Run before each of its samples, through a shell, not timed.
    pub prepare: Option<String>,
    /// Run after each of its samples.
    pub conclude: Option<String>,
    /// Run once before its first sample.
    pub setup: Option<String>,
    /// Run once after its last sample, however that ended.
    pub cleanup: Option<String>,
    /// Where its standard output and error go; `None`: as [`RunPlan::output`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Working directory of the program and its hooks, absolute; `None`: [`RunPlan::cwd`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Name>,
    /// Others are compared with it.
    pub reference: bool,
    /// It is the reference once more, which shows by how much two programs seem to differ that do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}

impl Program {
    /// One without hooks, in the run's folder.
    pub fn new(label: String, command: Command) -> Program {
        Program {
            label,
            command,
            parameters: BTreeMap::new(),
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
            output: None,
            cwd: None,
            reference: false,
            control: false,
        }
    }
}

/// The order of several programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A B C A B C: a drifting machine hits all alike.
    #[default]
    Rounds,
    /// Rounds, each in random order by the seed.
    Random,
    /// A A A B B B.
    Sequential,
    /// Blocks of random rounds, each followed by a duet of every program with the reference where that makes sense
    /// ([`RunPlan::duets`]).
    Auto,
    /// Blocks of duets, the first [`ALONE_BLOCKS`] of them after a random round.
    Duet,
}

/// Blocks of [`Order::Duet`] that hold executions alone, for the programs' own figures.
pub const ALONE_BLOCKS: u32 = 3;

impl Order {
    /// Whether the order of the programs in each round is drawn.
    pub fn is_random(self) -> bool {
        matches!(self, Order::Random | Order::Auto | Order::Duet)
    }

    /// Whether programs run together, too.
    pub fn has_duets(self) -> bool {
        matches!(self, Order::Auto | Order::Duet)
    }
}

/// How many counted samples per series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCount {
    /// Exactly this number (EMPv6: 10).
    Fixed(u32),
    /// Until the 95% intervals of mean and median are within `precision` of these ([`crate::run::stopping::PrecisionRule`]).
    Adaptive {
        /// Relative half width to reach, e.g. 0.01.
        precision: f64,
        min: u32,
        max: u32,
    },
    /// Blocks until a difference of this size would be seen: until the interval of every program's log-ratio to the reference, which
    /// holds at all looks together ([`crate::statistics::sequential`]), has a half width below it.
    Detect {
        /// E.g. 0.01.
        difference: f64,
        /// Maximum number of blocks.
        max: u32,
    },
}

/// Which failing exit statuses are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoreFailure {
    /// None: only 0 is a success.
    #[default]
    No,
    /// Any exit status, and death by signal.
    All,
    Codes(Vec<i32>),
}

impl IgnoreFailure {
    /// Whether a sample with this outcome counts: a success always; a failure if the program ended by itself or by a signal and
    /// this accepts its status (128 + n for signal n, as a shell has it). What never ran to its own end never counts.
    pub fn accepts(&self, outcome: &Outcome) -> bool {
        match (outcome.shell_code(), self) {
            (Some(0), _) | (Some(_), IgnoreFailure::All) => true,
            (Some(code), IgnoreFailure::Codes(codes)) => codes.contains(&code),
            _ => false,
        }
    }
}

/// Where the program's standard output and error go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe that another process empties.
    Pipe,
    /// Where tare's own go.
    Inherit,
    /// A file (appended to); standard error goes to `/dev/null`.
    File(Name),
}

/// Where the program's standard input comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// `/dev/null`.
    #[default]
    Null,
    /// Tare's own.
    Inherit,
    /// A file, opened again for each sample.
    File(Name),
}

/// Scheduling of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sched {
    /// SCHED_FIFO with this priority, 1 to 99.
    Fifo(u8),
    /// A nice value, -20 to 19.
    Nice(i8),
}

/// Which profile of daemons discards samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileChoice {
    /// The newest that fits this machine, if there is one.
    #[default]
    Newest,
    Named(String),
    No,
}

/// Which part of a profile a run makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The short task length.
    Short,
    Long,
}

/// A run of INC that a profile is learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learning {
    /// Name of the profile.
    pub profile: String,
    /// What the parts of one profile have in common, 32 hex digits.
    pub attempt: String,
    /// Which part this is.
    pub stage: Stage,
    pub length: Nanos,
    /// What comes after it: the long part's task length and samples.
    pub then: Option<(Nanos, u32)>,
}

/// A recording of what runs on the machine, instead of programs that are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watching {
    /// Name of the profile.
    pub profile: String,
    /// Length of a slice.
    pub interval: Nanos,
    /// How long in all.
    pub total: Nanos,
    /// Task lengths of the virtual samples, short and long.
    pub lengths: (Nanos, Option<Nanos>),
}

/// What a run is for, if not for timing the user's programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunPurpose {
    /// Learning by running INC.
    Learn(Learning),
    Watch(Watching),
}

/// A value that the programs print, to be recorded with each sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricPlan {
    /// What tables call it.
    pub name: String,
    /// Regular expression in the syntax of the crate regex, searched in what the program printed.
    pub pattern: String,
}

/// Everything that a run was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The programs, in the order given.
    pub programs: Vec<Program>,
    /// Their order in time.
    pub order: Order,
    /// Seed of all that is random (order, environment padding, bootstrap).
    pub seed: u64,
    /// Executions before counting begins, per program.
    pub warmup: u32,
    /// Counted samples per program.
    pub runs: RunCount,
    /// Ratios from 1 / (1 + margin) to 1 + margin make no difference in practice; `None`: every difference counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// No new round is started after this time.
    pub max_time: Option<Nanos>,
    /// A single execution is killed after this time.
    pub timeout: Option<Nanos>,
    /// Which failures are accepted.
    pub ignore_failure: IgnoreFailure,
    /// s of the second check: strict 2, relaxed 5; 0: none (SEDONA).
    pub sigma: f64,
    /// Profile of the first check.
    pub profile: ProfileChoice,
    /// What the first check goes by; `None`: the effect of the daemons where the account tells it, else the papers' rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<DiscardRule>,
    /// Standard output and error of the programs that name nothing else.
    pub output: Output,
    pub input: Input,
    /// CPUs that the program may use; empty: all.
    pub cpus: Vec<u32>,
    pub sched: Option<Sched>,
    pub cwd: Name,
    /// Variables that the user sets for the program.
    pub env: Vec<(Name, Name)>,
    /// Run the program as this user.
    pub user: Option<String>,
    /// Keep what outlives the program.
    pub leave_running: bool,
    /// Take snapshots of all processes around each sample.
    pub images: bool,
    /// Account for every sample's time by tracing in the kernel, where that can be had.
    pub account: bool,
    /// Count the events of the kernel and the PMU also on a machine without a PMU, where only the kernel's are left: any event makes
    /// starting a process some microseconds slower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// Labels that the user gave, for finding the run again.
    pub tags: BTreeMap<String, String>,
    /// Protocol steps without which nothing is measured (`v1` … `v6`).
    pub require: Vec<String>,
    /// Shell that runs the hooks: its program and arguments before `-c`; empty: `/bin/sh`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook_shell: Vec<Name>,
    /// The user states that no program's setup undoes that of another program, so they may all run first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub independent_setups: bool,
    /// What it is for, if not for timing the user's programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<RunPurpose>,
    /// Values that the programs print.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricPlan>,
    /// Probes beside the programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbePlan>,
}

/// An order was asked for in which every setup runs before the first counted sample, but the programs' setups differ: the last
/// one may undo the others (two builds in one folder), and every series would time its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the programs' setup commands differ, and in this order all of them run before the first counted sample")]
pub struct DependentSetups {
    /// The order asked for.
    pub order: Order,
}

/// Whether one program's setup may undo that of another: true if they are not all the same.
pub fn setups_differ(programs: &[Program]) -> bool {
    programs.iter().zip(programs.iter().skip(1)).any(|(a, b)| a.setup != b.setup)
}

/// The order of these programs: the one that was asked for; else, of several programs, [`Order::Auto`], or rounds if one of them has a
/// command before or after each execution: that is a sign of files that two programs would share if they ran at the same time. Where
/// setups differ and are not stated to be independent, only sequential order measures what each of them made.
///
/// # Errors
/// If another order was asked for then.
pub fn choose_order(
    asked: Option<Order>,
    programs: &[Program],
    independent_setups: bool,
) -> Result<Order, DependentSetups> {
    if independent_setups || !setups_differ(programs) {
        let hooked = programs.iter().any(|p| p.prepare.is_some() || p.conclude.is_some());
        let usual = if programs.len() > 1 && !hooked { Order::Auto } else { Order::Rounds };
        return Ok(asked.unwrap_or(usual));
    }
    match asked {
        None | Some(Order::Sequential) => Ok(Order::Sequential),
        Some(order) => Err(DependentSetups { order }),
    }
}

impl RunPlan {
    /// Ten samples of each after a warm-up, in rounds, with all that is recorded of them, checked by the newest profile.
    pub fn of(programs: Vec<Program>) -> RunPlan {
        RunPlan {
            programs,
            order: Order::Rounds,
            seed: 1,
            warmup: 1,
            runs: RunCount::Fixed(10),
            margin: None,
            max_time: None,
            timeout: None,
            ignore_failure: IgnoreFailure::No,
            sigma: 2.0,
            profile: ProfileChoice::Newest,
            discard: None,
            output: Output::Null,
            input: Input::Null,
            cpus: Vec::new(),
            sched: None,
            cwd: Name::from("/"),
            env: Vec::new(),
            user: None,
            leave_running: false,
            images: true,
            account: true,
            counters: false,
            tags: BTreeMap::new(),
            require: Vec::new(),
            hook_shell: Vec::new(),
            independent_setups: false,
            purpose: None,
            metrics: Vec::new(),
            probes: None,
        }
    }

    /// Where a program's standard output and error go.
    pub fn output_of<'a>(&'a self, program: &'a Program) -> &'a Output {
        program.output.as_ref().unwrap_or(&self.output)
    }

    /// Working directory of a program and its hooks.
    pub fn cwd_of<'a>(&'a self, program: &'a Program) -> &'a Name {
        program.cwd.as_ref().unwrap_or(&self.cwd)
    }

    /// Refuses an order that would measure the last setup's result in every series.
    ///
    /// # Errors
    /// See [`choose_order`].
    pub fn check_order(&self) -> Result<(), DependentSetups> {
        choose_order(Some(self.order), &self.programs, self.independent_setups).map(|_| ())
    }

    /// Whether the order is sequential because the programs' setups differ.
    pub fn sequential_for_setups(&self) -> bool {
        self.order == Order::Sequential && !self.independent_setups && setups_differ(&self.programs)
    }

    /// The program that others are compared with: the one that is marked, else the first.
    pub fn reference(&self) -> u32 {
        let marked = self.programs.iter().position(|p| p.reference).unwrap_or(0);
        u32::try_from(marked).unwrap_or(u32::MAX)
    }

    /// Whether two programs run together, and how, given what each takes alone. Where duets were asked for, only what makes them
    /// impossible counts.
    pub fn duets(&self, sides: [(u32, Option<AloneTimes>); 2]) -> Result<DuetForm, NoDuet> {
        if matches!(self.sched, Some(Sched::Fifo(_))) {
            return Err(NoDuet::RealTime);
        }
        if let Some((series, _)) = sides.iter().find(|s| s.1.is_none()) {
            return Err(NoDuet::NotKnown { series: *series });
        }
        // On one CPU nothing uses several.
        let form = if self.cpus.len() == 1 { DuetForm::OneCpu } else { duet_form(sides.map(|s| s.1)) };
        if self.order != Order::Duet {
            suit(sides, form)?;
        }
        Ok(form)
    }

    /// Largest number of counted samples per series.
    pub fn max_runs(&self) -> u32 {
        match self.runs {
            RunCount::Fixed(n) => n,
            RunCount::Adaptive { max, .. } | RunCount::Detect { max, .. } => max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::schedule::tests::plan;

    #[test]
    fn several_programs_have_duets_unless_they_may_share_files() {
        let programs = |n| plan(n, 1, 1, Order::Rounds, 1).programs;
        let chosen = |programs: &[Program]| choose_order(None, programs, false);
        assert_eq!(chosen(&programs(1)), Ok(Order::Rounds));
        assert_eq!(chosen(&programs(2)), Ok(Order::Auto));
        assert_eq!(chosen(&programs(10)), Ok(Order::Auto));
        let mut hooked = programs(2);
        hooked[1].prepare = Some("rm -f out".to_owned());
        assert_eq!(chosen(&hooked), Ok(Order::Rounds));
        assert_eq!(choose_order(Some(Order::Auto), &hooked, false), Ok(Order::Auto));
        hooked[1].prepare = None;
        hooked[0].conclude = Some("rm -f out".to_owned());
        assert_eq!(chosen(&hooked), Ok(Order::Rounds));
    }

    #[test]
    fn setups_that_differ_keep_the_programs_apart() {
        let mut programs = plan(2, 1, 1, Order::Rounds, 1).programs;
        for (program, setup) in programs.iter_mut().zip(["make a", "make b"]) {
            program.setup = Some(setup.to_owned());
        }
        assert_eq!(choose_order(None, &programs, false), Ok(Order::Sequential));
        assert_eq!(choose_order(Some(Order::Auto), &programs, false), Err(DependentSetups { order: Order::Auto }));
        assert_eq!(choose_order(None, &programs, true), Ok(Order::Auto));
    }
}
