//! How a string becomes a command: split into words, or run by a shell.

use crate::programs::shell::{ShellSyntax, shell_syntax};
use crate::programs::short;
use tarebench_core::base::name::Name;
use tarebench_core::run::plan::Command;

/// The shell for strings that need one.
const DEFAULT_SHELL: &str = "/bin/sh";

/// Why a string is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Nothing but spaces.
    #[error("the command is an empty string")]
    Empty,
    /// A quote that is not closed, in this string.
    #[error("a quote is not closed in `{0}`")]
    OpenQuote(String),
    /// Only a shell can run it, and none may be used.
    #[error("`{}` needs a shell: it has {syntax}", short(.text))]
    NeedsShell {
        /// The string.
        text: String,
        /// What needs the shell.
        syntax: ShellSyntax,
    },
    /// The name of the shell is empty.
    #[error("the shell has no name: expected default, none, or a shell's command")]
    NoShell,
}

/// A string that a shell runs although no shell was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByShell {
    /// As it was given, with its parameters replaced.
    pub text: String,
    /// What in it needs a shell.
    pub syntax: ShellSyntax,
}

/// How strings are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShellChoice {
    /// By `/bin/sh` where the string needs a shell, else without one.
    #[default]
    Auto,
    /// Without a shell.
    No,
    /// By this shell: its program and arguments before `-c`.
    Shell(Vec<Name>),
}

impl ShellChoice {
    /// The shell that is called so: `default` (`/bin/sh`), `none`, or a shell's command.
    ///
    /// # Errors
    /// [`CommandError::OpenQuote`], [`CommandError::NoShell`].
    pub fn named(name: &str) -> Result<ShellChoice, CommandError> {
        match name {
            "none" => Ok(ShellChoice::No),
            "default" => Ok(ShellChoice::Shell(vec![Name::from(DEFAULT_SHELL)])),
            other => match split(other)? {
                words if words.is_empty() => Err(CommandError::NoShell),
                words => Ok(ShellChoice::Shell(words)),
            },
        }
    }

    /// The shell that was asked for, which also runs the hooks; empty without one.
    pub fn shell(&self) -> &[Name] {
        match self {
            ShellChoice::Shell(shell) => shell,
            ShellChoice::Auto | ShellChoice::No => &[],
        }
    }

    /// The command of a string. One that a shell runs without having been asked for is added to `by_shell`.
    ///
    /// # Errors
    /// [`CommandError`], but for [`CommandError::NoShell`].
    pub fn command(&self, text: &str, by_shell: &mut Vec<ByShell>) -> Result<Command, CommandError> {
        if text.trim().is_empty() {
            return Err(CommandError::Empty);
        }
        let script = |shell: Vec<Name>| Command::Shell { shell, script: Name::from(text) };
        match (self, shell_syntax(text)) {
            (ShellChoice::Shell(shell), _) => Ok(script(shell.clone())),
            (_, None) => match split(text)? {
                words if words.is_empty() => Err(CommandError::Empty),
                words => Ok(Command::Argv(words)),
            },
            (ShellChoice::No, Some(syntax)) => Err(CommandError::NeedsShell { text: text.to_owned(), syntax }),
            (ShellChoice::Auto, Some(syntax)) => {
                by_shell.push(ByShell { text: text.to_owned(), syntax });
                Ok(script(vec![Name::from(DEFAULT_SHELL)]))
            }
        }
    }

    /// The command of a program whose words were given one by one: they get a shell, as the script `text`, only if one was asked for.
    pub(crate) fn command_of_words(&self, text: &str, words: Vec<Name>) -> Command {
        match self {
            ShellChoice::Shell(shell) => Command::Shell { shell: shell.clone(), script: Name::from(text) },
            ShellChoice::Auto | ShellChoice::No => Command::Argv(words),
        }
    }
}

fn split(text: &str) -> Result<Vec<Name>, CommandError> {
    let words = shell_words::split(text).map_err(|_| CommandError::OpenQuote(text.to_owned()))?;
    Ok(words.into_iter().map(|w| Name::new(w.into_bytes())).collect())
}
