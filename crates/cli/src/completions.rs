//! `tare completions`: made from the same definitions as the help.

use crate::exit::{Exit, Failure};
use clap::Args;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "tare", &mut text);
    crate::output::print(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}
