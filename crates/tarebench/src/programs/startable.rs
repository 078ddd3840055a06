//! Checks before the first sample whether the programs of a plan can be started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tarebench_core::base::name::Name;
use tarebench_core::run::plan::{Command, Program, RunPlan};
use tarebench_sys::opened_as::beginning;
use tarebench_sys::spawn::resolve;

/// Why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartProblem {
    /// Its name is that of a folder.
    #[error("it is a folder")]
    Folder,
    /// Its name is that of a file that may not be executed.
    #[error("it is not executable")]
    NotExecutable,
    /// A name without a slash, of a file that is where the program would start only.
    #[error("there is no such program on PATH, though there is such a file in the working directory")]
    OnlyHere,
    /// A path to nothing.
    #[error("there is no such file")]
    NoFile,
    /// A name without a slash that no program has.
    #[error("there is no such program on PATH")]
    NotOnPath,
    /// A script for this program, which there is not.
    #[error("its interpreter `{}` (after `#!`) does not exist", .0.display())]
    NoInterpreter(PathBuf),
}

/// Why nothing of a plan can be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStartable {
    /// A program, or the shell that is to run it.
    #[error("`{name}` cannot be started: {why}{}", started_in(.folder.as_ref()))]
    Program {
        /// Which of the plan's programs.
        series: usize,
        /// What cannot be started.
        name: Name,
        /// Why not.
        why: StartProblem,
        /// Folder of the program, if it is not that of the plan.
        folder: Option<Name>,
    },
    /// A script with a syntax error.
    #[error("{shell} cannot read `{script}`: {said}")]
    Script {
        /// The shell.
        shell: Name,
        /// For it.
        script: Name,
        /// The shell's own words, on one line.
        said: String,
    },
}

fn started_in(folder: Option<&Name>) -> String {
    folder.map_or_else(String::new, |folder| format!(" (started in {folder})"))
}

/// Refuses a plan with a program that cannot be started.
///
/// A setup or prepare command may create any of the programs, so only the shells of a plan with one are checked.
///
/// # Errors
/// The first that cannot.
pub fn check(plan: &RunPlan) -> Result<(), NotStartable> {
    let made = plan.programs.iter().any(|p| p.setup.is_some() || p.prepare.is_some());
    for (series, program) in plan.programs.iter().enumerate() {
        let is_made = made && matches!(program.command, Command::Argv(_));
        if let Some((name, why)) = problem(plan, program).filter(|_| !is_made) {
            return Err(NotStartable::Program { series, name, why, folder: program.cwd.clone() });
        }
        if let Command::Shell { shell, script } = &program.command {
            check_script(plan, program, shell, script)?;
        }
    }
    Ok(())
}

/// What of a program, or of the shell that is to run it, cannot be started, and why; `None` if nothing is known of it.
pub fn problem(plan: &RunPlan, program: &Program) -> Option<(Name, StartProblem)> {
    let name = program.command.words().into_iter().next()?;
    let cwd = folder(plan, program);
    let Ok(file) = resolve(name.as_bytes(), search_path(plan).as_bytes(), cwd) else {
        let why = not_found(cwd, &name);
        return Some((name, why));
    };
    // Another user's file is read with that user's rights only, by the kernel at the start.
    if plan.user.is_some() {
        return None;
    }
    let interpreter = interpreter(&beginning(&file, 256)?)?;
    let is_there = cwd.join(&interpreter).exists();
    (!is_there).then_some((name, StartProblem::NoInterpreter(interpreter)))
}

/// The folder in which a program is started.
fn folder<'a>(plan: &'a RunPlan, program: &'a Program) -> &'a Path {
    Path::new(OsStr::from_bytes(plan.cwd_of(program).as_bytes()))
}

fn not_found(cwd: &Path, name: &Name) -> StartProblem {
    let has_folder = name.as_bytes().contains(&b'/');
    match std::fs::metadata(cwd.join(OsStr::from_bytes(name.as_bytes()))) {
        Ok(m) if m.is_dir() => StartProblem::Folder,
        Ok(_) if has_folder => StartProblem::NotExecutable,
        Ok(_) => StartProblem::OnlyHere,
        Err(_) if has_folder => StartProblem::NoFile,
        Err(_) => StartProblem::NotOnPath,
    }
}

/// The file named after `#!`.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let word = line.split(|b| matches!(b, b' ' | b'\t')).find(|w| !w.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// PATH of the programs.
fn search_path(plan: &RunPlan) -> OsString {
    let set = plan.env.iter().find(|(k, _)| k.as_bytes() == b"PATH");
    let set = set.map(|(_, v)| OsStr::from_bytes(v.as_bytes()).to_owned());
    set.or_else(|| std::env::var_os("PATH")).unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// Shells that read a script without running it by `-n`.
const CHECKING_SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// Lets the shell read the script without running it, and shows the shell's message on a syntax error.
fn check_script(plan: &RunPlan, program: &Program, shell: &[Name], script: &Name) -> Result<(), NotStartable> {
    // A shell that another user may have put there is started as that user only.
    let ([name], None) = (shell, &plan.user) else { return Ok(()) };
    let file = Path::new(OsStr::from_bytes(name.as_bytes()));
    if !file.file_name().and_then(OsStr::to_str).is_some_and(|n| CHECKING_SHELLS.contains(&n)) {
        return Ok(());
    }
    let mut command = std::process::Command::new(file);
    command.args(["-n", "-c"]).arg(OsStr::from_bytes(script.as_bytes()));
    command.stdin(std::process::Stdio::null()).current_dir(folder(plan, program));
    command.env("PATH", search_path(plan));
    let Ok(out) = command.output() else { return Ok(()) };
    if out.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&out.stderr);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|l| !l.is_empty()).take(3).collect();
    Err(NotStartable::Script { shell: name.clone(), script: script.clone(), said: words.join("; ") })
}
