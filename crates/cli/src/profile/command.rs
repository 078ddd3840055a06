//! `tare profile`: learn the machine's daemons and their cutoffs, and manage the profiles.

use crate::args::store::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::profile::{kept, learn};
use clap::{Args, Subcommand};
use tarebench::profile::ProfilingError;

/// Learn the machine's infrequent, long-running daemons, so that `tare run` can discard the samples that they disturb
///
/// Without a subcommand, a new profile is learned: by running INC many times (--preset, --short, --long), or by
/// recording the machine during normal use (--watch). EMPv5; SEDONA step B.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER)]
pub struct ProfileArgs {
    #[command(subcommand)]
    what: Option<ProfileCommand>,
    #[command(flatten)]
    learn: learn::LearnArgs,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER: &str = "Examples:
  tare profile --preset overnight
  tare profile --short 2sx900 --long 60sx30 --cpus 1
  tare profile --watch --for 24h
  tare profile resume
  tare profile show --full

Exit codes: 0 success; 1 `check` found daemons that are not in the profile; 2 usage error; 4 the store or the system \
failed; 130 interrupted.";

#[derive(Subcommand)]
enum ProfileCommand {
    /// Resume a profile that was interrupted, killed, or stopped by a reboot
    Resume(learn::ProfileResumeArgs),
    /// Make a profile from the samples so far, or from a recording with other task lengths
    Learn(learn::SoFarArgs),
    /// List the profiles
    List(kept::ProfileListArgs),
    /// Print a profile's tables
    Show(kept::ProfileShowArgs),
    /// Write a profile, with its samples, as JSON that `tare profile import` reads
    Export(kept::ProfileExportArgs),
    /// Import a file of `tare profile export`
    Import(kept::ProfileImportArgs),
    /// Merge the samples of several profiles into one
    Merge(kept::MergeArgs),
    /// List daemons of recent runs that are not in the profile
    Check(kept::CheckArgs),
    /// Remove profiles; keep the runs that they were learned from
    Rm(kept::ProfileRmArgs),
}

pub fn profile(args: &ProfileArgs) -> Result<Exit, Failure> {
    let store = &args.store;
    match &args.what {
        None => learn::learn(&args.learn, store),
        Some(ProfileCommand::Resume(a)) => learn::resume(a, store),
        Some(ProfileCommand::Learn(a)) => learn::so_far(a, store),
        Some(ProfileCommand::List(a)) => kept::list(a, store),
        Some(ProfileCommand::Show(a)) => kept::show(a, store),
        Some(ProfileCommand::Export(a)) => kept::export(a, store),
        Some(ProfileCommand::Import(a)) => kept::import(a, store),
        Some(ProfileCommand::Merge(a)) => kept::merge(a, store),
        Some(ProfileCommand::Check(a)) => kept::check(a, store),
        Some(ProfileCommand::Rm(a)) => kept::rm(a, store),
    }
}

impl From<ProfilingError> for Failure {
    fn from(e: ProfilingError) -> Failure {
        match e {
            ProfilingError::Session(e) => e.into(),
            ProfilingError::Document(e) => e.into(),
            ProfilingError::NoStore => Failure::usage(e.to_string()).hint("give a file with --db, or omit --db"),
            ProfilingError::Nothing(_) => Failure::usage(e.to_string())
                .hint("learn one with `tare profile`; `tare profile list` lists the profiles"),
            ProfilingError::TooFew(..) => {
                Failure::usage(e.to_string()).hint("if it was interrupted, resume with: `tare profile resume`")
            }
            ProfilingError::Different(..) | ProfilingError::NoRecording(_) => Failure::usage(e.to_string()),
        }
    }
}
