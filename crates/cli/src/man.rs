//! `tare man`: manual pages, made from the same definitions as the help.

use crate::exit::{Exit, Failure};
use clap::Args;
use std::path::PathBuf;

/// Write the manual pages (tare.1, tare-run.1, …) into a folder
#[derive(Args)]
pub struct ManArgs {
    /// Folder to write to; created if missing
    folder: PathBuf,
}

pub fn man(args: &ManArgs, command: clap::Command) -> Result<Exit, Failure> {
    let failed = |e: std::io::Error| Failure::system(format!("write manual pages to {}: {e}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(command, &args.folder).map_err(failed)?;
    Ok(Exit::Done)
}
