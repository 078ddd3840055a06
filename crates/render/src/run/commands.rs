//! The commands of a plan, for a user who decides whether to run those of somebody else.

use tarebench_core::base::name::Name;
use tarebench_core::run::plan::{Input, Output, Program, RunPlan};
use tarebench_report::style::Style;

/// Everything that a plan runs and opens, a line each: what it is, and its text, whole and on one line, with words quoted as for a
/// shell and control characters escaped.
pub fn commands(plan: &RunPlan, style: &Style) -> Vec<String> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (number, program) in (1..).zip(&plan.programs) {
        rows.push((format!("program {number}"), words(&program.command.words(), style)));
        rows.extend(hooks(plan, program, style).map(|(hook, text)| (format!("{hook} {number}"), text)));
        rows.extend(program.cwd.iter().map(|folder| (format!("its folder {number}"), word(folder, style))));
    }
    rows.push(("user".to_owned(), user(plan, style)));
    rows.push(("working folder".to_owned(), word(&plan.cwd, style)));
    rows.extend(plan.env.iter().map(|(name, value)| {
        let whole = [name.as_bytes(), b"=", value.as_bytes()].concat();
        ("environment".to_owned(), word(&Name::new(whole), style))
    }));
    if let Input::File(file) = &plan.input {
        rows.push(("input file".to_owned(), word(file, style)));
    }
    let outputs = plan.programs.iter().map(|p| plan.output_of(p));
    rows.extend(outputs.filter_map(|output| match output {
        Output::File(file) => Some(("output file".to_owned(), word(file, style))),
        Output::Null | Output::Pipe | Output::Inherit => None,
    }));
    rows.dedup();
    let width = rows.iter().map(|(what, _)| what.len()).max().unwrap_or_default();
    rows.iter().map(|(what, text)| format!("{what:width$}  {text}")).collect()
}

/// The hooks of a program, in the order in which they run.
fn hooks<'a>(
    plan: &'a RunPlan,
    program: &'a Program,
    style: &'a Style,
) -> impl Iterator<Item = (&'static str, String)> + 'a {
    let Program { setup, prepare, conclude, cleanup, .. } = program;
    let all = [("setup", setup), ("prepare", prepare), ("conclude", conclude), ("cleanup", cleanup)];
    all.into_iter().filter_map(move |(hook, script)| {
        let mut whole = plan.hook_shell.clone();
        if whole.is_empty() {
            whole.push(Name::from("/bin/sh"));
        }
        whole.extend([Name::from("-c"), Name::from(script.as_ref()?.as_str())]);
        Some((hook, words(&whole, style)))
    })
}

fn user(plan: &RunPlan, style: &Style) -> String {
    match &plan.user {
        Some(user) => format!("{} (hooks: the user who runs tare)", style.show(user)),
        None => "the user who runs tare".to_owned(),
    }
}

fn words(words: &[Name], style: &Style) -> String {
    let all: Vec<String> = words.iter().map(|w| word(w, style)).collect();
    all.join(" ")
}

/// A word as it is typed in a shell, if it has no hidden characters; those are escaped.
fn word(word: &Name, style: &Style) -> String {
    let shown = style.show_name(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !shown.is_empty() && shown.chars().all(plain) {
        true => shown,
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    }
}
