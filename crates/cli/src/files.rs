//! Figures and tables as files in a folder.

use crate::exit::Failure;
use crate::replace::write_text;
use std::path::Path;

/// Writes files by their names into a folder, which is made if it is not there. `noun` is what each of them is: `figure`.
pub fn write_files(folder: &Path, files: &[(String, String)], noun: &str) -> Result<(), Failure> {
    if files.is_empty() {
        eprintln!("there are no {noun}s to write to {}", folder.display());
        return Ok(());
    }
    let failed = |e: std::io::Error| Failure::system(format!("write {}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (name, text) in files {
        write_text(&folder.join(name), text)?;
    }
    let plural = if files.len() == 1 { "" } else { "s" };
    eprintln!("wrote {} {noun}{plural} to {}", files.len(), folder.display());
    Ok(())
}
