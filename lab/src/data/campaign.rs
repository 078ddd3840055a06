//! A campaign as it was submitted.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::units::Nanos;

/// Programs that are compared, on which machines, how often, and under what conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    pub name: String,
    /// At least one; the first is the one that others are compared with.
    pub programs: Vec<CampaignProgram>,
    /// Values of the parameters: each combination makes a program of each program that names one of them.
    #[serde(default)]
    pub parameters: BTreeMap<String, Vec<String>>,
    /// Further arguments of `tare run`, without programs.
    #[serde(default)]
    pub options: Vec<String>,
    /// Tags of its runs, beside those of the lab.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    pub machines: MachineChoice,
    pub repeat: CampaignRepeat,
    #[serde(default)]
    pub needs: CampaignNeeds,
    /// A task that takes longer than this, in ns, failed.
    #[serde(default)]
    pub time_limit: Option<Nanos>,
    /// How often a task is started again that failed.
    #[serde(default)]
    pub retries: u32,
}

/// A program of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignProgram {
    /// The program with its arguments, in one string, as `tare run` takes it.
    pub command: String,
    /// Its name in tables.
    #[serde(default)]
    pub label: Option<String>,
    /// Shell command before its first sample; the same for all programs that have one.
    #[serde(default)]
    pub setup: Option<String>,
    /// Shell command before each sample.
    #[serde(default)]
    pub prepare: Option<String>,
    /// Shell command after each sample.
    #[serde(default)]
    pub conclude: Option<String>,
    /// Shell command after its last sample; the same for all programs that have one.
    #[serde(default)]
    pub cleanup: Option<String>,
}

/// Machines on which a campaign runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineChoice {
    /// Each machine that the lab knows when the campaign is submitted.
    All,
    /// These, also where the lab does not know them yet.
    Names(Vec<String>),
    /// Those with all of these tags: each of them, or any `count` of them.
    Tags {
        tags: BTreeMap<String, String>,
        #[serde(default)]
        count: Option<u32>,
    },
    /// Any so many different machines.
    Count(u32),
}

/// How often a campaign is repeated on each machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignRepeat {
    /// One time, at once.
    Once,
    /// So many times, one after the other, or with starts this far apart, in ns.
    Times {
        times: u32,
        #[serde(default)]
        every: Option<Nanos>,
    },
    /// Each night at this hour and minute of the local time.
    Nightly { nights: u32, at: (u8, u8) },
    /// So many times at random within this time, in ns.
    AtRandom { times: u32, within: Nanos, seed: u64 },
}

/// What a machine must have before it measures; nothing is copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignNeeds {
    /// Files that must be there.
    #[serde(default)]
    pub files: Vec<NeededFile>,
    /// Shell command that builds what is measured; run before the files are checked.
    #[serde(default)]
    pub build: Option<String>,
    /// Folder in which everything is run; an absolute path.
    #[serde(default)]
    pub directory: Option<String>,
}

/// A file that a campaign needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeededFile {
    pub path: String,
    /// 64 hex digits; `None`: its content is not checked.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// Most characters of a campaign's name.
pub const LONGEST_NAME: usize = 200;
/// Most series of a task: programs with each combination of parameters.
pub const MOST_SERIES: usize = 10_000;
/// Most tasks of a campaign.
pub const MOST_TASKS: usize = 100_000;
/// Most retries of a task.
pub const MOST_RETRIES: u32 = 1_000;
/// Longest time of a campaign: ten years, in ns.
pub const LONGEST: Nanos = Nanos(3_660 * 86_400_000_000_000);

/// Why something is no campaign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CampaignError {
    #[error("the campaign has no name")]
    NoName,
    #[error("the campaign's name has {0} characters, expected at most {LONGEST_NAME}")]
    LongName(usize),
    #[error("the campaign's name `{0}` is a number, expected a name that is not taken for the number of a campaign")]
    NumberedName(String),
    #[error("{0} contains a zero byte")]
    ZeroByte(String),
    #[error("the campaign has no program, expected at least one")]
    NoProgram,
    #[error("program {0}: the command is empty")]
    EmptyCommand(usize),
    #[error("program {0}: the label is empty")]
    EmptyLabel(usize),
    #[error("programs {0} and {1} have the same name `{2}`, expected a label for each")]
    SameName(usize, usize, String),
    #[error("the programs differ in their {0} command, expected the same for all: `tare run` takes one")]
    HookDiffers(&'static str),
    #[error("`{0}` is not a valid parameter name: expected text without braces that does not begin with `-`")]
    ParameterName(String),
    #[error("the parameter `{0}` has no values")]
    NoValues(String),
    #[error("the parameter `{name}` has the value `{value}` twice")]
    SameValue { name: String, value: String },
    #[error("the parameter `{name}`: `{value}` ends in a backslash, expected that of the last value only")]
    Backslash { name: String, value: String },
    #[error("the parameter `{0}` has the single value `--`, which ends the options of `tare run`")]
    OnlyDashes(String),
    #[error("more than {MOST_SERIES} programs by the parameters")]
    TooManySeries,
    #[error("options: `{option}` is set by the campaign itself; {instead}")]
    OwnOption { option: String, instead: &'static str },
    #[error("tags: `{0}`: tags that begin with `lab.` are set by the lab")]
    LabTag(String),
    #[error("tags: `{0}` is no key of a tag: expected text without `=`")]
    TagKey(String),
    #[error("machines: expected at least one")]
    NoMachines,
    #[error("machines: a name is empty")]
    EmptyMachine,
    #[error("machines: `{0}` is given twice")]
    SameMachine(String),
    #[error("repeat: expected at least one time")]
    NoTimes,
    #[error("repeat: {hour}:{minute:02} is no time of the day")]
    TimeOfDay { hour: u8, minute: u8 },
    #[error("repeat: expected a time between the repetitions that is above 0, and at most ten years for all of them")]
    Every,
    #[error("repeat: {times} times within {seconds} s: expected at most one per second, and at most ten years")]
    Within { times: u32, seconds: i64 },
    #[error("needs: the path of file {0} is empty")]
    EmptyPath(usize),
    #[error("needs: `{0}` is no SHA-256: expected 64 hexadecimal digits")]
    Digest(String),
    #[error("needs: the {0} is empty")]
    EmptyNeed(&'static str),
    #[error("needs: the directory `{0}` is relative, expected a path from `/`")]
    RelativeDirectory(String),
    #[error("time limit: expected a time above 0")]
    TimeLimit,
    #[error("retries: {0}, expected at most {MOST_RETRIES}")]
    Retries(u32),
    #[error("no machine of the lab fits: {0} are known")]
    NoneFits(usize),
    #[error("{0} tasks, expected at most {MOST_TASKS}")]
    TooManyTasks(u64),
}

impl CampaignProgram {
    /// Its name in tables: the label, or the command without one.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.command)
    }
}

impl MachineChoice {
    /// Whether a machine of this name, with these tags, is one of them.
    pub fn fits(&self, name: &str, tags: &BTreeMap<String, String>) -> bool {
        match self {
            MachineChoice::All | MachineChoice::Count(_) => true,
            MachineChoice::Names(names) => names.iter().any(|n| n == name),
            MachineChoice::Tags { tags: wanted, .. } => wanted.iter().all(|(k, v)| tags.get(k) == Some(v)),
        }
    }
}

impl CampaignRepeat {
    /// How often each machine runs the campaign.
    pub fn times(&self) -> u32 {
        match self {
            CampaignRepeat::Once => 1,
            CampaignRepeat::Times { times, .. } | CampaignRepeat::AtRandom { times, .. } => *times,
            CampaignRepeat::Nightly { nights, .. } => *nights,
        }
    }
}

impl Campaign {
    /// Checks everything that can be checked without a machine; whether `tare run` takes the options is not.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), CampaignError> {
        self.check_name()?;
        self.check_programs()?;
        self.check_hooks()?;
        self.check_parameters()?;
        check_options(&self.options)?;
        self.check_tags()?;
        check_machines(&self.machines)?;
        check_repeat(&self.repeat)?;
        self.check_needs()?;
        if self.time_limit.is_some_and(|t| t <= Nanos::ZERO) {
            return Err(CampaignError::TimeLimit);
        }
        if self.retries > MOST_RETRIES {
            return Err(CampaignError::Retries(self.retries));
        }
        Ok(())
    }

    /// Series of a task: the programs with each combination of parameters.
    pub fn series(&self) -> usize {
        self.parameters.values().fold(self.programs.len(), |n, values| n.saturating_mul(values.len()))
    }

    fn check_name(&self) -> Result<(), CampaignError> {
        no_zero("the campaign's name", &self.name)?;
        let length = self.name.chars().count();
        if self.name.trim().is_empty() {
            return Err(CampaignError::NoName);
        }
        if length > LONGEST_NAME {
            return Err(CampaignError::LongName(length));
        }
        // `tare lab status 7` is about campaign 7.
        if self.name.chars().all(|c| c.is_ascii_digit()) {
            return Err(CampaignError::NumberedName(self.name.clone()));
        }
        Ok(())
    }

    fn check_programs(&self) -> Result<(), CampaignError> {
        if self.programs.is_empty() {
            return Err(CampaignError::NoProgram);
        }
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, program) in (1..).zip(&self.programs) {
            let hooks = [&program.label, &program.setup, &program.prepare, &program.conclude, &program.cleanup];
            for text in hooks.into_iter().flatten().chain([&program.command]) {
                no_zero(&format!("program {number}"), text)?;
            }
            if program.command.trim().is_empty() {
                return Err(CampaignError::EmptyCommand(number));
            }
            if program.label.as_ref().is_some_and(|l| l.trim().is_empty()) {
                return Err(CampaignError::EmptyLabel(number));
            }
            if let Some(first) = names.insert(program.name(), number) {
                return Err(CampaignError::SameName(first, number, program.name().to_owned()));
            }
        }
        Ok(())
    }

    /// A set-up of one program may undo that of another; `tare run` has one for all.
    fn check_hooks(&self) -> Result<(), CampaignError> {
        let first = self.programs.first();
        let differ = |hook: fn(&CampaignProgram) -> &Option<String>| {
            self.programs.iter().any(|p| first.is_some_and(|f| hook(f) != hook(p)))
        };
        if differ(|p| &p.setup) {
            return Err(CampaignError::HookDiffers("setup"));
        }
        if differ(|p| &p.cleanup) {
            return Err(CampaignError::HookDiffers("cleanup"));
        }
        Ok(())
    }

    fn check_parameters(&self) -> Result<(), CampaignError> {
        for (name, values) in &self.parameters {
            no_zero(&format!("the parameter `{}`", name.escape_debug()), name)?;
            if name.trim().is_empty() || name.starts_with('-') || name.contains(['{', '}']) {
                return Err(CampaignError::ParameterName(name.clone()));
            }
            if values.is_empty() {
                return Err(CampaignError::NoValues(name.clone()));
            }
            let mut seen = BTreeSet::new();
            for (place, value) in (1..).zip(values) {
                no_zero(&format!("the parameter `{name}`"), value)?;
                let (name, value) = (name.clone(), value.clone());
                if !seen.insert(value.clone()) {
                    return Err(CampaignError::SameValue { name, value });
                }
                // In a list, a backslash takes the comma behind it into the value.
                if value.ends_with('\\') && place < values.len() {
                    return Err(CampaignError::Backslash { name, value });
                }
            }
            if values.len() == 1 && seen.contains("--") {
                return Err(CampaignError::OnlyDashes(name.clone()));
            }
        }
        if self.series() > MOST_SERIES { Err(CampaignError::TooManySeries) } else { Ok(()) }
    }

    fn check_tags(&self) -> Result<(), CampaignError> {
        for (key, value) in &self.tags {
            no_zero("a tag", key)?;
            no_zero(&format!("the tag `{key}`"), value)?;
            if key.starts_with(LAB_TAGS) {
                return Err(CampaignError::LabTag(key.clone()));
            }
            check_key(key)?;
        }
        Ok(())
    }

    fn check_needs(&self) -> Result<(), CampaignError> {
        for (number, file) in (1..).zip(&self.needs.files) {
            no_zero(&format!("the path of file {number}"), &file.path)?;
            if file.path.is_empty() {
                return Err(CampaignError::EmptyPath(number));
            }
            let hex = |d: &&String| d.len() == 64 && d.bytes().all(|b| b.is_ascii_hexdigit());
            if let Some(digest) = file.sha256.as_ref().filter(|d| !hex(d)) {
                return Err(CampaignError::Digest(digest.clone()));
            }
        }
        for (what, text) in [("build command", &self.needs.build), ("directory", &self.needs.directory)] {
            let Some(text) = text else { continue };
            no_zero(&format!("the {what}"), text)?;
            if text.trim().is_empty() {
                return Err(CampaignError::EmptyNeed(what));
            }
        }
        // An agent runs in any folder.
        match self.needs.directory.as_ref().filter(|d| !d.starts_with('/')) {
            Some(relative) => Err(CampaignError::RelativeDirectory(relative.clone())),
            None => Ok(()),
        }
    }
}

/// How tags begin that the lab sets.
pub const LAB_TAGS: &str = "lab.";

/// Neither an argument of a program nor a text of PostgreSQL may have one.
fn no_zero(what: &str, text: &str) -> Result<(), CampaignError> {
    if text.contains('\0') { Err(CampaignError::ZeroByte(what.to_owned())) } else { Ok(()) }
}

fn check_key(key: &str) -> Result<(), CampaignError> {
    if key.trim().is_empty() || key.contains('=') { Err(CampaignError::TagKey(key.to_owned())) } else { Ok(()) }
}

/// Options of `tare run` that a campaign sets, with their short forms, and where to write them.
const OWN_OPTIONS: [(&str, Option<char>, &str); 13] = [
    ("--command-name", Some('n'), "give the programs labels"),
    ("--parameter-list", Some('L'), "list the values in its parameters"),
    ("--parameter-scan", Some('P'), "list the values in its parameters"),
    ("--parameter-step-size", Some('D'), "list the values in its parameters"),
    ("--setup", Some('s'), "write it to the programs"),
    ("--prepare", Some('p'), "write it to the programs"),
    ("--conclude", Some('C'), "write it to the programs"),
    ("--cleanup", Some('c'), "write it to the programs"),
    ("--reference", None, "the first program is the reference"),
    ("--db", None, "each machine measures into its own store"),
    ("--push", None, "each task is pushed when it has ended"),
    ("--self-check", None, "a campaign measures programs"),
    ("--cwd", None, "name the directory in its needs"),
];

fn check_options(options: &[String]) -> Result<(), CampaignError> {
    let mut before = "";
    for option in options {
        no_zero("an option", option)?;
        if option == "--" {
            let instead = "write programs as programs";
            return Err(CampaignError::OwnOption { option: option.clone(), instead });
        }
        let name = option.split('=').next().unwrap_or_default();
        // Flags without a value may stand before another letter.
        let letters = option.strip_prefix('-').map(|rest| rest.trim_start_matches(['N', 'i']));
        let short = letters.and_then(|rest| rest.chars().next()).filter(|c| *c != '-');
        let own = OWN_OPTIONS.iter().find(|(long, letter, _)| *long == name || (short.is_some() && *letter == short));
        if let Some((_, _, instead)) = own {
            return Err(CampaignError::OwnOption { option: option.clone(), instead });
        }
        let tag = option.strip_prefix("--tag=").or((before == "--tag").then_some(option.as_str()));
        if let Some(tag) = tag.filter(|t| t.starts_with(LAB_TAGS)) {
            return Err(CampaignError::LabTag(tag.to_owned()));
        }
        before = option;
    }
    Ok(())
}

fn check_machines(choice: &MachineChoice) -> Result<(), CampaignError> {
    match choice {
        MachineChoice::All => Ok(()),
        MachineChoice::Count(0) | MachineChoice::Tags { count: Some(0), .. } => Err(CampaignError::NoMachines),
        MachineChoice::Count(_) => Ok(()),
        MachineChoice::Names(names) => {
            if names.is_empty() {
                return Err(CampaignError::NoMachines);
            }
            let mut seen = BTreeSet::new();
            for name in names {
                no_zero("the name of a machine", name)?;
                if name.trim().is_empty() {
                    return Err(CampaignError::EmptyMachine);
                }
                if !seen.insert(name) {
                    return Err(CampaignError::SameMachine(name.clone()));
                }
            }
            Ok(())
        }
        MachineChoice::Tags { tags, .. } => {
            for (key, value) in tags {
                no_zero("a tag of the machines", key)?;
                no_zero("a tag of the machines", value)?;
                check_key(key)?;
            }
            if tags.is_empty() { Err(CampaignError::NoMachines) } else { Ok(()) }
        }
    }
}

fn check_repeat(repeat: &CampaignRepeat) -> Result<(), CampaignError> {
    if repeat.times() == 0 {
        return Err(CampaignError::NoTimes);
    }
    match repeat {
        CampaignRepeat::Once | CampaignRepeat::Times { every: None, .. } => Ok(()),
        CampaignRepeat::Times { times, every: Some(every) } => {
            let all = every.0.saturating_mul(i64::from(*times));
            if every.0 > 0 && all <= LONGEST.0 { Ok(()) } else { Err(CampaignError::Every) }
        }
        CampaignRepeat::Nightly { nights, at: (hour, minute) } => {
            if *hour > 23 || *minute > 59 {
                return Err(CampaignError::TimeOfDay { hour: *hour, minute: *minute });
            }
            if i64::from(*nights) <= LONGEST.0 / DAY.0 { Ok(()) } else { Err(CampaignError::Every) }
        }
        CampaignRepeat::AtRandom { times, within, .. } => {
            let seconds = within.0 / SECOND.0;
            let fits = i64::from(*times) <= seconds && *within <= LONGEST;
            if fits { Ok(()) } else { Err(CampaignError::Within { times: *times, seconds }) }
        }
    }
}

/// A second, in ns.
pub(crate) const SECOND: Nanos = Nanos(1_000_000_000);
/// A day of 24 hours, in ns.
pub(crate) const DAY: Nanos = Nanos(86_400_000_000_000);

#[cfg(test)]
pub(crate) mod tests;
