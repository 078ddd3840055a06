//! What a campaign needs on a machine: a build, and files with the right content. Nothing is copied.

use crate::data::campaign::{CampaignNeeds, NeededFile};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tarebench_run::hooks::{self, HookContext, HookError};
use tarebench_sys::signals::Signals;

/// Why a task cannot be measured here.
#[derive(Debug, PartialEq, Eq)]
pub enum NeedsFault {
    /// What is missing or wrong.
    Missing(String),
    /// Asked to end meanwhile, by this signal.
    Interrupted(i32),
}

/// Builds what is measured, then checks the files.
///
/// # Errors
/// The first thing that is missing.
pub fn check(needs: &CampaignNeeds, signals: &Signals) -> Result<(), NeedsFault> {
    let folder = folder(needs)?;
    if let Some(script) = &needs.build {
        build(script, &folder, signals)?;
    }
    for file in &needs.files {
        check_file(file, &folder, &|| signals.caught())?;
    }
    Ok(())
}

fn folder(needs: &CampaignNeeds) -> Result<PathBuf, NeedsFault> {
    let missing = |what: String| NeedsFault::Missing(what);
    match &needs.directory {
        Some(folder) if Path::new(folder).is_dir() => Ok(PathBuf::from(folder)),
        Some(folder) => Err(missing(format!("the campaign's directory {folder} is no folder on this machine"))),
        None => std::env::current_dir().map_err(|e| missing(format!("working directory: {e}"))),
    }
}

fn build(script: &str, folder: &Path, signals: &Signals) -> Result<(), NeedsFault> {
    let env: Vec<Vec<u8>> =
        std::env::vars_os().map(|(name, value)| [name.into_vec(), value.into_vec()].join(&b'=')).collect();
    let place = HookContext { shell: &[], cwd: folder.as_os_str().as_bytes(), env: &env, show: false };
    hooks::run("build", script, &place, signals).map_err(|e| match e {
        HookError::Failed(what) => NeedsFault::Missing(what),
        HookError::Interrupted(signal) => NeedsFault::Interrupted(signal),
    })
}

fn check_file(file: &NeededFile, folder: &Path, interrupted: &dyn Fn() -> Option<i32>) -> Result<(), NeedsFault> {
    let path = folder.join(&file.path);
    let failed = |what: String| NeedsFault::Missing(format!("the campaign needs {}: {what}", path.display()));
    let Some(expected) = &file.sha256 else {
        return std::fs::metadata(&path).map(|_| ()).map_err(|e| failed(e.to_string()));
    };
    let mut opened = File::open(&path).map_err(|e| failed(e.to_string()))?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        if let Some(signal) = interrupted() {
            return Err(NeedsFault::Interrupted(signal));
        }
        match opened.read(&mut piece).map_err(|e| failed(e.to_string()))? {
            0 => break,
            n => hash.update(piece.get(..n).unwrap_or_default()),
        }
    }
    let found = hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    if found == *expected {
        return Ok(());
    }
    Err(failed(format!("its sha256 is {found}, expected {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_right_content() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "abc").unwrap();
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let check = |path: &str, sha256: Option<&str>| {
            let file = NeededFile { path: path.to_owned(), sha256: sha256.map(str::to_owned) };
            check_file(&file, dir.path(), &|| None)
        };
        assert_eq!(check("a", Some(right)), Ok(()));
        assert_eq!(check("a", None), Ok(()));
        let wrong = "0".repeat(64);
        let Err(NeedsFault::Missing(what)) = check("a", Some(&wrong)) else { panic!("accepted") };
        assert!(what.contains(&format!("its sha256 is {right}, expected {wrong}")), "{what}");
        for digest in [None, Some(right)] {
            let Err(NeedsFault::Missing(what)) = check("b", digest) else { panic!("accepted") };
            assert!(what.contains("/b: No such file"), "{what}");
        }
        let file = NeededFile { path: "a".to_owned(), sha256: Some(right.to_owned()) };
        assert_eq!(check_file(&file, dir.path(), &|| Some(15)), Err(NeedsFault::Interrupted(15)));
    }

    #[test]
    fn a_missing_directory_is_named() {
        let needs = CampaignNeeds { directory: Some("/no/such/folder".to_owned()), ..CampaignNeeds::default() };
        let Err(NeedsFault::Missing(what)) = folder(&needs) else { panic!("accepted") };
        assert!(what.contains("/no/such/folder"), "{what}");
    }
}
