//! The commands of `tare` and their functions.

use crate::compare::{compare_command, gate, history};
use crate::documents::{export, list, push, report, resume, rm, show};
use crate::elsewhere::{self, Addition, ElsewhereArgs};
use crate::exit::{Exit, Failure};
use crate::inc::{command as inc, work};
use crate::machine::{doctor, restore, states, tune};
use crate::noise::command as noise;
use crate::profile::command as profile;
use crate::run::{args::RunArgs, command as run};
use crate::{completions, fit, kbest as clocks, man, trace};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tarebench::programs::shell::shell_syntax;
use tarebench::sys::spawn::resolve;

/// Measure how long programs take, and what the machine added to their times.
///
/// Net time is gross (elapsed) time minus the tare, what the machine added: daemons, interrupts, hypervisor, waiting.
/// `tare 'PROG ARGS'` is short for `tare run 'PROG ARGS'`.
#[derive(Parser)]
#[command(name = "tare", bin_name = "tare", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: TareCommand,
}

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a program failed; 2 usage error; 3 a required step or factor does \
not hold; 4 the store or the system failed; 5 a gate found a regression; 6 a gate was inconclusive, with --inconclusive fail; \
130 interrupted.";

#[derive(Subcommand)]
enum TareCommand {
    Run(Box<RunArgs>),
    Gate(Box<gate::GateArgs>),
    Compare(Box<compare_command::CompareArgs>),
    Fit(Box<fit::FitArgs>),
    Inc(inc::IncArgs),
    Work(work::WorkArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
    Import(export::ImportArgs),
    Rm(rm::RmArgs),
    Resume(resume::ResumeArgs),
    Profile(Box<profile::ProfileArgs>),
    Report(report::ReportArgs),
    Clocks(clocks::ClocksArgs),
    Trace(trace::TraceArgs),
    /// Repeat the papers' experiments on this machine, or list them
    Study(ElsewhereArgs),
    Noise(Box<noise::NoiseArgs>),
    History(history::HistoryArgs),
    /// Measure on many machines: queue campaigns in a PostgreSQL database, run them by agents or Slurm
    Lab(ElsewhereArgs),
    Push(push::PushArgs),
    Pull(push::PullArgs),
    Doctor(doctor::DoctorArgs),
    Machine(states::MachineStatesArgs),
    Tune(tune::TuneArgs),
    Restore(restore::RestoreArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Why there is no command to run.
pub enum NotParsed {
    /// The first argument is neither a command nor a program.
    Failure(Failure),
    /// Help, the version, or a wrong option: the text and the exit code are clap's.
    Clap(clap::Error),
}

/// What is to be run.
pub enum Parsed {
    /// A command of tare.
    Own(Box<Cli>),
    /// The one that was added, with its arguments.
    Added(Addition, ArgMatches),
}

/// All commands.
fn commands(added: &[Addition]) -> clap::Command {
    let replaced = |own: clap::Command, a: &Addition| own.mut_subcommand(a.name, |_| (a.command)());
    added.iter().fold(Cli::command(), replaced)
}

/// Parses the command; programs without a command belong to `tare run`. What only a larger program has is left to it.
///
/// # Errors
/// Also for help and the version, which clap words.
pub fn parse(mut arguments: Vec<OsString>, added: &[Addition]) -> Result<Parsed, NotParsed> {
    match arguments.get(1).map(|first| what_is(first)) {
        Some(First::Programs) => arguments.insert(1, "run".into()),
        Some(First::Neither) => return Err(NotParsed::Failure(neither(arguments))),
        Some(First::Command) | None => {}
    }
    elsewhere::help(&arguments, added).map_err(NotParsed::Failure)?;
    let mut matches = commands(added).try_get_matches_from(&arguments).map_err(NotParsed::Clap)?;
    elsewhere::go_on(&arguments, &matches, added).map_err(NotParsed::Failure)?;
    if let Some(chosen) = added.iter().find(|a| matches.subcommand_name() == Some(a.name))
        && let Some((_, arguments)) = matches.remove_subcommand()
    {
        return Ok(Parsed::Added(*chosen, arguments));
    }
    Cli::from_arg_matches(&matches).map(|cli| Parsed::Own(Box::new(cli))).map_err(NotParsed::Clap)
}

/// Parses the words after `tare run`; never ends the process.
///
/// # Errors
/// clap's sentence on the wrong option.
pub fn parse_run(arguments: Vec<OsString>) -> Result<RunArgs, Failure> {
    let words = ["tare", "run"].into_iter().map(OsString::from).chain(arguments);
    let cli = Cli::try_parse_from(words).map_err(|e| said_by_clap(&e))?;
    match cli.command {
        TareCommand::Run(args) => Ok(*args),
        // `run` is the first word.
        _ => Err(Failure::usage("expected the arguments of `tare run`")),
    }
}

/// The error's first paragraph as the message, and its tip as the hint.
fn said_by_clap(e: &clap::Error) -> Failure {
    if !e.use_stderr() {
        return Failure::usage("--help and --version print text: use them with the command `tare run`");
    }
    let text = e.to_string();
    let mut paragraphs = text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = paragraphs.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let tip = paragraphs.find_map(|p| p.strip_prefix("tip: ").map(str::to_owned));
    Failure { hint: tip, ..Failure::usage(message) }
}

/// What the first argument is.
#[derive(Debug, PartialEq, Eq)]
enum First {
    /// A command of tare, or an option of tare itself.
    Command,
    /// A program, or an option of `tare run`.
    Programs,
    /// Neither a command nor a program.
    Neither,
}

fn what_is(first: &OsStr) -> First {
    let text = first.to_string_lossy();
    let mut own = Cli::command();
    own.build();
    if own.find_subcommand(first).is_some() || matches!(&*text, "" | "-h" | "--help" | "-V" | "--version") {
        return First::Command;
    }
    // An option, a path, or several words: `tare run` reports what is wrong with it.
    if text.starts_with('-') || text.contains(|c: char| c.is_whitespace() || "/{".contains(c)) {
        return First::Programs;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = resolve(first.as_bytes(), path.as_bytes(), Path::new(".")).is_ok();
    if is_program || shell_syntax(&text).is_some() { First::Programs } else { First::Neither }
}

/// The failure of a first argument that is neither a command nor a program, with the command that it resembles.
fn neither(arguments: Vec<OsString>) -> Failure {
    let first = arguments.get(1).map(|a| a.to_string_lossy().into_owned()).unwrap_or_default();
    let similar = Cli::try_parse_from(arguments).err().and_then(|e| match e.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        // The most similar one comes last.
        Some(ContextValue::Strings(list)) => list.last().cloned(),
        _ => None,
    });
    let hint = match similar {
        Some(command) => format!("did you mean `tare {command}`? `tare --help` lists the commands"),
        None => "`tare --help` lists the commands".to_owned(),
    };
    Failure::usage(format!("`{first}` is neither a command of tare nor a program on PATH")).hint(hint)
}

/// Runs the command.
pub fn dispatch(parsed: Parsed, added: &[Addition]) -> Result<Exit, Failure> {
    let cli = match parsed {
        Parsed::Own(cli) => *cli,
        Parsed::Added(added, arguments) => {
            tune::warn_of_pending();
            return (added.run)(&arguments);
        }
    };
    if !matches!(
        cli.command,
        TareCommand::Tune(_)
            | TareCommand::Restore(_)
            | TareCommand::Work(_)
            | TareCommand::Completions(_)
            | TareCommand::Man(_)
    ) {
        tune::warn_of_pending();
    }
    match cli.command {
        TareCommand::Run(a) => run::run(*a),
        TareCommand::Gate(a) => gate::gate(&a),
        TareCommand::Compare(a) => compare_command::compare(&a),
        TareCommand::Fit(a) => fit::fit(*a),
        TareCommand::Inc(a) => inc::inc(&a),
        TareCommand::Work(a) => work::work(&a),
        TareCommand::List(a) => list::list(&a),
        TareCommand::Show(a) => show::show(&a),
        TareCommand::Export(a) => export::export(&a),
        TareCommand::Import(a) => export::import(&a),
        TareCommand::Rm(a) => rm::rm(&a),
        TareCommand::Resume(a) => resume::resume(&a),
        TareCommand::Profile(a) => profile::profile(&a),
        TareCommand::Report(a) => report::report(&a),
        TareCommand::Clocks(a) => clocks::show(&a),
        TareCommand::Trace(a) => trace::show(&a),
        TareCommand::Noise(a) => noise::noise(&a),
        TareCommand::History(a) => history::history(&a),
        // The programs that have these never come here.
        TareCommand::Lab(_) | TareCommand::Study(_) => Err(Failure::usage("this program does not have that command")),
        TareCommand::Push(a) => push::push(&a),
        TareCommand::Pull(a) => push::pull(&a),
        TareCommand::Doctor(a) => doctor::doctor(&a),
        TareCommand::Machine(a) => states::states(&a),
        TareCommand::Tune(a) => tune::tune(&a),
        TareCommand::Restore(a) => restore::restore(&a),
        TareCommand::Completions(a) => completions::completions(&a, commands(added)),
        TareCommand::Man(a) => man::man(&a, commands(added)),
    }
}
