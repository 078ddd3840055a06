//! Which programs are the same.

use crate::base::hash::fnv64;
use crate::run::plan::{Input, Program, RunPlan};

/// Equal for programs that do the same work as far as the plan tells: command, working directory, environment, user, input. 16 hex
/// digits. (What the command's file holds is not known.)
pub fn program_identity(plan: &RunPlan, program: &Program) -> String {
    let words = program.command.words();
    let mut bytes = Vec::new();
    // The lengths keep "ab", "c" from being "a", "bc".
    let mut add = |part: &[u8]| {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    };
    add(&(words.len() as u64).to_le_bytes());
    words.iter().for_each(|word| add(word.as_bytes()));
    add(plan.cwd_of(program).as_bytes());
    for (name, value) in &plan.env {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    add(plan.user.as_deref().unwrap_or_default().as_bytes());
    match &plan.input {
        Input::Null => add(b"null"),
        Input::Inherit => add(b"inherit"),
        Input::File(name) => {
            add(b"file");
            add(name.as_bytes());
        }
    }
    format!("{:016x}", fnv64(&bytes))
}
