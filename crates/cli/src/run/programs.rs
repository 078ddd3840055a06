//! The programs of a run: strings and their parameters, names, hooks, and shells.

use crate::exit::Failure;
use crate::output::short;
use crate::run::args::{RunArgs, WhatArgs};
use crate::run::parameters::{MOST_PROGRAMS, ParameterValues, combinations, label, substitute, substitute_bytes};
use crate::run::shell::{ShellSyntax, shell_syntax};
use std::os::unix::ffi::OsStrExt;
use tarebench::core::base::name::Name;
use tarebench::core::run::plan::{Command, Program};

/// The shell for strings that need one.
const DEFAULT_SHELL: &str = "/bin/sh";

/// The programs, and those of them that the shell runs without an option that requests it.
pub struct Programs {
    pub programs: Vec<Program>,
    /// The command as typed, and what in it needs a shell.
    pub by_shell: Vec<(String, ShellSyntax)>,
}

/// One program as typed, before parameters are replaced.
struct Template {
    text: String,
    /// Its words, if they were given one by one.
    words: Vec<Name>,
}

/// The programs: the reference first, then for each combination of parameters the one after `--` or each string.
pub fn programs(args: &RunArgs) -> Result<Programs, Failure> {
    let what = &args.what;
    let templates = templates(args)?;
    let combinations = combinations(&what.parameter_scan, what.parameter_step_size.as_deref(), &what.parameter_list)?;
    let count = Count {
        reference: usize::from(what.reference.is_some()),
        templates: templates.len(),
        series: combinations.len() * templates.len(),
    };
    if count.series > MOST_PROGRAMS {
        let n = count.series;
        return Err(Failure::usage(format!("{n} programs by the parameters: expected at most {MOST_PROGRAMS}")));
    }
    count.check_names(what.command_name.len())?;
    let chosen = ChosenShell::of(what)?;
    let mut made = Programs { programs: Vec::new(), by_shell: Vec::new() };
    if let Some(reference) = &what.reference {
        let values = ParameterValues::new();
        let label = what.reference_name.clone().unwrap_or_else(|| reference.clone());
        let command = chosen.command(reference, &[], &mut made.by_shell)?;
        let place = HookPlace { template: 0, series: 0 };
        let program = Hooks { args, count: &count, values: &values }.program(label, command, &place, true)?;
        check_reference(reference, &program, combinations.first())?;
        made.programs.push(program);
    }
    for (c, values) in combinations.iter().enumerate() {
        for (i, template) in templates.iter().enumerate() {
            let series = c * templates.len() + i;
            let text = substitute(&template.text, values);
            let words: Vec<Name> = template.words.iter().map(|w| substitute_bytes(w, values)).collect();
            let label = match count.name(&what.command_name, i, series) {
                Some((name, true)) => substitute(name, values),
                Some((name, false)) => label(name, values),
                None => label(&template.text, values),
            };
            let command = chosen.command(&text, &words, &mut made.by_shell)?;
            let place = HookPlace { template: count.reference + i, series: count.reference + series };
            made.programs.push(Hooks { args, count: &count, values }.program(label, command, &place, false)?);
        }
    }
    Ok(made)
}

/// Refuses a reference that names a parameter: it has no values, so that `{NAME}` would stay as it is.
fn check_reference(text: &str, reference: &Program, parameters: Option<&ParameterValues>) -> Result<(), Failure> {
    let texts = [
        ("reference", Some(text)),
        ("setup", reference.setup.as_deref()),
        ("prepare", reference.prepare.as_deref()),
        ("conclude", reference.conclude.as_deref()),
        ("cleanup", reference.cleanup.as_deref()),
    ];
    for (option, text) in texts.into_iter().filter_map(|(option, text)| Some((option, text?))) {
        let Some(name) =
            parameters.into_iter().flat_map(ParameterValues::keys).find(|n| text.contains(&format!("{{{n}}}")))
        else {
            continue;
        };
        let message =
            format!("--{option} `{}` uses {{{name}}}, which has no value for the reference program", short(text));
        return Err(Failure::usage(message).hint(match option {
            "prepare" | "conclude" => format!("give --{option} once per program, the reference first"),
            _ => "omit --reference and time the reference as another program or another value".to_owned(),
        }));
    }
    Ok(())
}

fn templates(args: &RunArgs) -> Result<Vec<Template>, Failure> {
    let mut templates = Vec::new();
    if !args.argv.is_empty() {
        let words: Vec<Name> = args.argv.iter().map(|w| Name::new(w.as_bytes())).collect();
        let text = words.iter().map(|w| shell_words::quote(&w.to_string()).into_owned()).collect::<Vec<_>>().join(" ");
        templates.push(Template { text, words });
    }
    templates.extend(args.what.commands.iter().map(|c| Template { text: c.clone(), words: Vec::new() }));
    if templates.is_empty() {
        return Err(Failure::usage("no program to time").hint("tare run -- PROG ARGS…, or tare run 'PROG A' 'PROG B'"));
    }
    Ok(templates)
}

/// Numbers of the things for each of which an option may be given.
struct Count {
    /// 1 with a reference program.
    reference: usize,
    /// Programs as typed.
    templates: usize,
    /// Programs with each combination of parameters.
    series: usize,
}

impl Count {
    /// Names count per program, or per series; any other number would assign some names wrongly.
    fn check_names(&self, names: usize) -> Result<(), Failure> {
        let fits = if self.series == self.templates {
            names <= self.templates
        } else {
            names == 0 || names == self.templates || names == self.series
        };
        if fits {
            return Ok(());
        }
        let (templates, series) = (self.templates, self.series);
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (names, programs) = (plural(names, "name"), plural(templates, "program"));
        Err(Failure::usage(if series == templates {
            format!("{names} (-n) for {programs}: expected at most one for each")
        } else {
            format!(
                "{names} (-n) for {programs} and {series} series by their parameters: expected {templates}, one for each \
                 program, or {series}, one for each series"
            )
        }))
    }

    /// The name of a series, and whether it was given for this series alone.
    fn name<'a>(&self, names: &'a [String], template: usize, series: usize) -> Option<(&'a str, bool)> {
        if self.series != self.templates && names.len() == self.series {
            return names.get(series).map(|n| (n.as_str(), true));
        }
        names.get(template).map(|n| (n.as_str(), false))
    }
}

/// The position of a program among those that hooks are given for; the reference is the first.
struct HookPlace {
    template: usize,
    series: usize,
}

/// The hooks that the arguments give to a program with these parameters.
struct Hooks<'a> {
    args: &'a RunArgs,
    count: &'a Count,
    values: &'a ParameterValues,
}

impl Hooks<'_> {
    fn program(&self, label: String, command: Command, place: &HookPlace, reference: bool) -> Result<Program, Failure> {
        let h = &self.args.hooks;
        let once = |s: &Option<String>| s.as_ref().map(|s| substitute(s, self.values));
        Ok(Program {
            parameters: self.values.clone(),
            prepare: self.pick(&h.prepare, "prepare", place)?,
            conclude: self.pick(&h.conclude, "conclude", place)?,
            setup: once(&h.setup),
            cleanup: once(&h.cleanup),
            reference,
            ..Program::new(label, command)
        })
    }

    /// The value of an option that is given once for all, or for each program or series, including the reference.
    fn pick(&self, list: &[String], option: &str, place: &HookPlace) -> Result<Option<String>, Failure> {
        let Count { reference, templates, series } = *self.count;
        let given = match list.len() {
            0 => return Ok(None),
            1 => list.first(),
            n if n == series + reference => list.get(place.series),
            n if n == templates + reference => list.get(place.template),
            n => {
                let all = templates + reference;
                let counted = if reference == 1 { ", the reference among them" } else { "" };
                return Err(Failure::usage(format!(
                    "--{option} is given {n} times for {all} programs{counted}: expected once, or once for each"
                )));
            }
        };
        Ok(given.map(|s| substitute(s, self.values)))
    }
}

/// The chosen shell of the programs, which also runs the hooks; empty without one.
pub fn explicit_shell(what: &WhatArgs) -> Result<Vec<Name>, Failure> {
    Ok(match ChosenShell::of(what)? {
        ChosenShell::Shell(shell) => names(shell),
        ChosenShell::Auto | ChosenShell::No => Vec::new(),
    })
}

/// The command of a string without options for a shell: one that needs a shell is run by it, and added to `by_shell`.
pub fn command_of(text: &str, by_shell: &mut Vec<(String, ShellSyntax)>) -> Result<Command, Failure> {
    ChosenShell::Auto.command(text, &[], by_shell)
}

/// How strings are run.
enum ChosenShell {
    /// A shell where the string needs one.
    Auto,
    /// No shell, as requested.
    No,
    /// This one.
    Shell(Vec<String>),
}

impl ChosenShell {
    fn of(what: &WhatArgs) -> Result<ChosenShell, Failure> {
        Ok(match what.shell.as_deref() {
            _ if what.no_shell => ChosenShell::No,
            None => ChosenShell::Auto,
            Some("none") => ChosenShell::No,
            Some("default") => ChosenShell::Shell(vec![DEFAULT_SHELL.to_owned()]),
            Some(other) => {
                let words = split(other)?;
                if words.is_empty() {
                    return Err(Failure::usage("--shell: expected default, none, or a shell's command"));
                }
                ChosenShell::Shell(words)
            }
        })
    }

    /// The command of a text, or of separate words; separate words get a shell only if one is requested.
    fn command(
        &self,
        text: &str,
        words: &[Name],
        by_shell: &mut Vec<(String, ShellSyntax)>,
    ) -> Result<Command, Failure> {
        if words.is_empty() && text.trim().is_empty() {
            return Err(Failure::usage("the command is an empty string"));
        }
        let shell = match self {
            ChosenShell::Shell(shell) => shell.clone(),
            _ if !words.is_empty() => return Ok(Command::Argv(words.to_vec())),
            _ => match shell_syntax(text) {
                None => return without_shell(text),
                Some(syntax) if matches!(self, ChosenShell::No) => {
                    let message = format!("`{}` needs a shell: it has {syntax}", short(text));
                    return Err(Failure::usage(message)
                        .hint("omit -N (or -S none), or quote the characters that belong to an argument"));
                }
                Some(syntax) => {
                    by_shell.push((text.to_owned(), syntax));
                    vec![DEFAULT_SHELL.to_owned()]
                }
            },
        };
        Ok(Command::Shell { shell: names(shell), script: Name::from(text) })
    }
}

fn without_shell(text: &str) -> Result<Command, Failure> {
    let words = split(text)?;
    if words.is_empty() {
        return Err(Failure::usage("the command is an empty string"));
    }
    Ok(Command::Argv(names(words)))
}

fn split(text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|_| Failure::usage(format!("a quote is not closed in `{text}`")))
}

fn names(words: Vec<String>) -> Vec<Name> {
    words.into_iter().map(|w| Name::new(w.into_bytes())).collect()
}
