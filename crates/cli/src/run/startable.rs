//! What to do about a program that cannot be started.

use crate::exit::Failure;
use tarebench::core::run::plan::{Command, Program, RunPlan};
use tarebench::programs::shell::is_builtin;
use tarebench::programs::startable::{self, NotStartable, StartProblem, problem};

/// Refuses a plan with a program that cannot be started.
pub fn check(plan: &RunPlan) -> Result<(), Failure> {
    startable::check(plan).map_err(|e| refused(plan, &e))
}

/// The failure, with the most likely remedy.
pub fn refused(plan: &RunPlan, e: &NotStartable) -> Failure {
    let failure = Failure::usage(e.to_string());
    match e {
        NotStartable::Script { .. } => failure.hint("close its quotes and brackets, or select another shell with -S"),
        NotStartable::Program { series, name, why, .. } => match plan.programs.get(*series) {
            Some(program) => failure.hint(cure(plan, program, &name.to_string(), why)),
            None => failure,
        },
    }
}

fn cure(plan: &RunPlan, program: &Program, name: &str, why: &StartProblem) -> String {
    let Command::Argv(words) = &program.command else {
        return "select another shell with -S, e.g. -S bash".to_owned();
    };
    if is_builtin(name) {
        let script = program.label.replace('\'', r"'\''");
        return format!("`{name}` is a command of the shell: tare run -S default '{script}'");
    }
    if words.len() == 1 && name.contains(char::is_whitespace) {
        return "put a program and its arguments in one string before any `--`: tare run 'PROG ARGS'".to_owned();
    }
    let several = plan.programs.len() > 1 && plan.programs.iter().all(|p| p.parameters.is_empty());
    let first_starts = || plan.programs.first().is_some_and(|p| problem(plan, p).is_none());
    if several && words.len() == 1 && !program.reference && first_starts() {
        let all: Vec<&str> = plan.programs.iter().map(|p| p.label.as_str()).collect();
        return format!("each string is a program; for one program and its arguments: tare run -- {}", all.join(" "));
    }
    match why {
        StartProblem::Folder => "name a program in it".to_owned(),
        StartProblem::OnlyHere => format!("name it by its path: ./{name}"),
        StartProblem::NotExecutable => format!("chmod +x {name}, or name the program that runs it"),
        StartProblem::NoInterpreter(_) => "correct its first line, or name the program that runs it".to_owned(),
        StartProblem::NoFile | StartProblem::NotOnPath => {
            "check its spelling; use -S SHELL for a function or an alias".to_owned()
        }
    }
}
