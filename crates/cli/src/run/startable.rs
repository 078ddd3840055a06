//! Checks before the first sample whether the programs of a plan can be started.

use crate::exit::Failure;
use crate::run::shell::is_builtin;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tarebench::core::base::name::Name;
use tarebench::core::run::plan::{Command, Program, RunPlan};
use tarebench::sys::opened_as::beginning;
use tarebench::sys::spawn::resolve;

/// Refuses a plan with a program that cannot be started.
///
/// A setup or prepare command may create any of the programs, so only the shells of a plan with one are checked.
pub fn check(plan: &RunPlan) -> Result<(), Failure> {
    let made = plan.programs.iter().any(|p| p.setup.is_some() || p.prepare.is_some());
    for program in &plan.programs {
        match &program.command {
            Command::Argv(words) if !made => check_words(plan, program, words)?,
            Command::Argv(_) => {}
            Command::Shell { shell, script } => {
                check_words(plan, program, shell)?;
                check_script(plan, program, shell, script)?;
            }
        }
    }
    Ok(())
}

fn check_words(plan: &RunPlan, program: &Program, words: &[Name]) -> Result<(), Failure> {
    let Some(first) = words.first() else { return Ok(()) };
    match problem(plan, program, first) {
        None => Ok(()),
        Some(what) => {
            let place = program.cwd.as_ref().map_or_else(String::new, |folder| format!(" (started in {folder})"));
            Err(Failure::usage(format!("{what}{place}")).hint(cure(plan, program, first, words.len())))
        }
    }
}

/// The folder in which a program is started.
fn folder<'a>(plan: &'a RunPlan, program: &'a Program) -> &'a Path {
    Path::new(OsStr::from_bytes(plan.cwd_of(program).as_bytes()))
}

/// A sentence on why this program cannot be started.
fn problem(plan: &RunPlan, program: &Program, name: &Name) -> Option<String> {
    let cwd = folder(plan, program);
    let file = match resolve(name.as_bytes(), search_path(plan).as_bytes(), cwd) {
        Ok(file) => file,
        Err(_) => return Some(not_found(cwd, name)),
    };
    // Another user's file is read with that user's rights only, by the kernel at the start.
    if plan.user.is_some() {
        return None;
    }
    let interpreter = interpreter(&beginning(&file, 256)?)?;
    let there = cwd.join(&interpreter);
    if !there.exists() {
        let interpreter = interpreter.display();
        return Some(format!(
            "`{name}` cannot be started: its interpreter `{interpreter}` (after `#!`) does not exist"
        ));
    }
    None
}

fn not_found(cwd: &Path, name: &Name) -> String {
    let path = cwd.join(OsStr::from_bytes(name.as_bytes()));
    let has_folder = name.as_bytes().contains(&b'/');
    let what = match std::fs::metadata(&path) {
        Ok(m) if m.is_dir() => "it is a folder",
        Ok(_) if has_folder => "it is not executable",
        Ok(_) => "there is no such program on PATH, though there is such a file in the working directory",
        Err(_) if has_folder => "there is no such file",
        Err(_) => "there is no such program on PATH",
    };
    format!("`{name}` cannot be started: {what}")
}

/// The file named after `#!`.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let word = line.split(|b| matches!(b, b' ' | b'\t')).find(|w| !w.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// The most likely remedy.
fn cure(plan: &RunPlan, program: &Program, name: &Name, words: usize) -> String {
    let text = name.to_string();
    let file = folder(plan, program).join(OsStr::from_bytes(name.as_bytes()));
    if matches!(program.command, Command::Shell { .. }) {
        return "select another shell with -S, e.g. -S bash".to_owned();
    }
    if is_builtin(&text) {
        let script = program.label.replace('\'', r"'\''");
        return format!("`{text}` is a command of the shell: tare run -S default '{script}'");
    }
    if words == 1 && text.contains(char::is_whitespace) {
        return "put a program and its arguments in one string before any `--`: tare run 'PROG ARGS'".to_owned();
    }
    let several = plan.programs.len() > 1 && plan.programs.iter().all(|p| p.parameters.is_empty());
    let first_starts = || plan.programs.first().is_some_and(|p| problem_of(plan, p).is_none());
    if several && words == 1 && !program.reference && first_starts() {
        let all: Vec<&str> = plan.programs.iter().map(|p| p.label.as_str()).collect();
        return format!("each string is a program; for one program and its arguments: tare run -- {}", all.join(" "));
    }
    match std::fs::metadata(&file) {
        Ok(m) if m.is_dir() => "name a program in it".to_owned(),
        Ok(_) if !text.contains('/') => format!("name it by its path: ./{text}"),
        Ok(m) if m.permissions().mode() & 0o111 == 0 => format!("chmod +x {text}, or name the program that runs it"),
        Ok(_) => "correct its first line, or name the program that runs it".to_owned(),
        Err(_) => "check its spelling; use -S SHELL for a function or an alias".to_owned(),
    }
}

fn problem_of(plan: &RunPlan, program: &Program) -> Option<String> {
    program.command.words().first().and_then(|name| problem(plan, program, name))
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
fn check_script(plan: &RunPlan, program: &Program, shell: &[Name], script: &Name) -> Result<(), Failure> {
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
    Err(Failure::usage(format!("{name} cannot read `{script}`: {}", words.join("; ")))
        .hint("close its quotes and brackets, or select another shell with -S"))
}
