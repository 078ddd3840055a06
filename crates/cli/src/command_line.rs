//! The commands of `tare`, and which function does each.

use crate::documents::{export, list, report, resume, rm, show};
use crate::exit::{Exit, Failure};
use crate::inc::{command as inc, work};
use crate::machine::{doctor, restore, tune};
use crate::noise::command as noise;
use crate::profile::command as profile;
use crate::run::{args::RunArgs, command as run};
use crate::{completions, kbest as clocks, man, study, trace};
use clap::{CommandFactory, Parser, Subcommand};

/// Measures how long programs take, so that the figure can be trusted.
///
/// Gross time, less what the machine added (the tare: daemons, interrupts, hypervisor, waiting), is net time.
#[derive(Parser)]
#[command(name = "tare", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a program failed; 2 wrong usage; 3 the environment cannot do what was \
required; 4 the store or the system failed; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Run(Box<RunArgs>),
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
    Study(study::StudyArgs),
    Noise(Box<noise::NoiseArgs>),
    Doctor(doctor::DoctorArgs),
    Tune(tune::TuneArgs),
    Restore(restore::RestoreArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs the command that was asked for.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    if !matches!(
        cli.command,
        Command::Tune(_) | Command::Restore(_) | Command::Work(_) | Command::Completions(_) | Command::Man(_)
    ) {
        tune::warn_of_pending();
    }
    match cli.command {
        Command::Run(a) => run::run(*a),
        Command::Inc(a) => inc::inc(&a),
        Command::Work(a) => work::work(&a),
        Command::List(a) => list::list(&a),
        Command::Show(a) => show::show(&a),
        Command::Export(a) => export::export(&a),
        Command::Import(a) => export::import(&a),
        Command::Rm(a) => rm::rm(&a),
        Command::Resume(a) => resume::resume(&a),
        Command::Profile(a) => profile::profile(&a),
        Command::Report(a) => report::report(&a),
        Command::Clocks(a) => clocks::show(&a),
        Command::Trace(a) => trace::show(&a),
        Command::Study(a) => study::study(&a),
        Command::Noise(a) => noise::noise(&a),
        Command::Doctor(a) => doctor::doctor(&a),
        Command::Tune(a) => tune::tune(&a),
        Command::Restore(a) => restore::restore(&a),
        Command::Completions(a) => completions::completions(&a, Cli::command()),
        Command::Man(a) => man::man(&a, Cli::command()),
    }
}
