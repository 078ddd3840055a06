//! The programs of a run: strings and their parameters, names, hooks, and shells.

use crate::programs::command::{ByShell, CommandError, ShellChoice};
use crate::programs::parameters::{
    MOST_PROGRAMS, Parameter, ParameterError, ParameterValues, combinations, label, substitute, substitute_bytes,
};
use crate::programs::short;
use tarebench_core::base::name::Name;
use tarebench_core::run::plan::Program;

/// A program as it is asked for, before parameters are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedProgram {
    /// A program with its arguments, or a line for a shell.
    Line(String),
    /// A program and its arguments, one by one.
    Words(Vec<Name>),
}

impl AskedProgram {
    /// As one string.
    fn text(&self) -> String {
        match self {
            AskedProgram::Line(text) => text.clone(),
            AskedProgram::Words(words) => {
                words.iter().map(|w| shell_words::quote(&w.to_string()).into_owned()).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The program that the others are compared with. It has no parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedReference {
    /// A program with its arguments, or a line for a shell.
    pub text: String,
    /// What tables call it; `None`: its text.
    pub name: Option<String>,
}

/// Shell commands around the samples; parameters are replaced in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedHooks {
    /// Before a program's first sample.
    pub setup: Option<String>,
    /// Before each sample: none, one for all programs, or one for each, the reference first.
    pub prepare: Vec<String>,
    /// After each sample: none, one for all programs, or one for each, the reference first.
    pub conclude: Vec<String>,
    /// After a program's last sample.
    pub cleanup: Option<String>,
}

/// The programs that are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramsRequest {
    /// At least one.
    pub programs: Vec<AskedProgram>,
    /// What they are compared with; `None`: the first.
    pub reference: Option<AskedReference>,
    /// What tables call the programs: at most one for each; with parameters none, one for each program, or one for each program with
    /// each combination of parameters.
    pub names: Vec<String>,
    /// Each combination of their values makes a program of each program.
    pub parameters: Vec<Parameter>,
    /// What runs strings and hooks.
    pub shell: ShellChoice,
    /// Commands around the samples.
    pub hooks: AskedHooks,
}

/// A text of a program in which parameters are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramText {
    /// The program itself.
    Program,
    /// Its command before the first sample.
    Setup,
    /// Its command before each sample.
    Prepare,
    /// Its command after each sample.
    Conclude,
    /// Its command after the last sample.
    Cleanup,
}

impl ProgramText {
    fn noun(self) -> &'static str {
        match self {
            ProgramText::Program => "program",
            ProgramText::Setup => "setup command",
            ProgramText::Prepare => "prepare command",
            ProgramText::Conclude => "conclude command",
            ProgramText::Cleanup => "cleanup command",
        }
    }
}

/// How many names were given to how many programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamesGiven {
    /// Names.
    pub names: usize,
    /// Programs that are asked for.
    pub programs: usize,
    /// Programs with each combination of parameters.
    pub series: usize,
}

impl NamesGiven {
    /// What was given, with a note after the names, and what was expected.
    pub fn sentence(self, note: &str) -> String {
        let NamesGiven { names, programs, series } = self;
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (names, given) = (plural(names, "name"), plural(programs, "program"));
        if series == programs {
            return format!("{names}{note} for {given}: expected at most one for each");
        }
        format!(
            "{names}{note} for {given} and {series} series by their parameters: expected {programs}, one for each \
             program, or {series}, one for each series"
        )
    }
}

/// Why there are no such programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramsError {
    /// None was named.
    #[error("no program to time")]
    NoProgram,
    /// So many by the parameters.
    #[error("{0} programs by the parameters: expected at most {MOST_PROGRAMS}")]
    TooMany(usize),
    /// Some names would be those of other programs.
    #[error("{}", .0.sentence(""))]
    Names(NamesGiven),
    /// A command around the samples that is given for some of the programs only.
    #[error("{given} {}s for {programs} programs{}: expected one, or one for each", .text.noun(), among_them(*.reference))]
    Hooks {
        /// Which one.
        text: ProgramText,
        /// How many there are.
        given: usize,
        /// How many programs there are.
        programs: usize,
        /// Whether the reference is one of them.
        reference: bool,
    },
    /// A parameter in a text of the reference, for which it has no value.
    #[error("the {} `{}` uses {{{parameter}}}, which has no value for the reference program", .text.noun(), short(.content))]
    ReferenceParameter {
        /// Which text.
        text: ProgramText,
        /// What it says.
        content: String,
        /// The parameter's name.
        parameter: String,
    },
    /// A string that is no command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The parameters.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// What follows the number of programs.
pub fn among_them(reference: bool) -> &'static str {
    if reference { ", the reference among them" } else { "" }
}

/// Programs as a plan has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// The reference first, then for each combination of parameters each program.
    pub programs: Vec<Program>,
    /// Those that a shell runs without having been asked for.
    pub by_shell: Vec<ByShell>,
}

/// Makes the programs that are asked for.
///
/// # Errors
/// [`ProgramsError`].
pub fn programs(request: &ProgramsRequest) -> Result<Programs, ProgramsError> {
    if request.programs.is_empty() {
        return Err(ProgramsError::NoProgram);
    }
    let combinations = combinations(&request.parameters)?;
    let count = ProgramCount {
        reference: usize::from(request.reference.is_some()),
        templates: request.programs.len(),
        series: combinations.len() * request.programs.len(),
    };
    if count.series > MOST_PROGRAMS {
        return Err(ProgramsError::TooMany(count.series));
    }
    count.check_names(request.names.len())?;
    let mut made = Programs::default();
    if let Some(reference) = &request.reference {
        let label = reference.name.clone().unwrap_or_else(|| reference.text.clone());
        let place = HookPlace { template: 0, series: 0 };
        let program = Program {
            reference: true,
            ..Program::new(label, request.shell.command(&reference.text, &mut made.by_shell)?)
        };
        let program = request.hooks.with(program, &count, &place, &ParameterValues::new())?;
        check_reference(&reference.text, &program, &request.parameters)?;
        made.programs.push(program);
    }
    for (c, values) in combinations.iter().enumerate() {
        for (i, asked) in request.programs.iter().enumerate() {
            let (series, template) = (c * count.templates + i, asked.text());
            let label = match count.name(&request.names, i, series) {
                Some((name, true)) => substitute(name, values),
                Some((name, false)) => label(name, values),
                None => label(&template, values),
            };
            let text = substitute(&template, values);
            let command = match asked {
                AskedProgram::Line(_) => request.shell.command(&text, &mut made.by_shell)?,
                AskedProgram::Words(words) => {
                    let words = words.iter().map(|w| substitute_bytes(w, values)).collect();
                    request.shell.command_of_words(&text, words)
                }
            };
            let place = HookPlace { template: count.reference + i, series: count.reference + series };
            let program = Program { parameters: values.clone(), ..Program::new(label, command) };
            made.programs.push(request.hooks.with(program, &count, &place, values)?);
        }
    }
    Ok(made)
}

/// Refuses a reference that names a parameter: it has no values, so that `{NAME}` would stay as it is.
fn check_reference(text: &str, reference: &Program, parameters: &[Parameter]) -> Result<(), ProgramsError> {
    let texts = [
        (ProgramText::Program, Some(text)),
        (ProgramText::Setup, reference.setup.as_deref()),
        (ProgramText::Prepare, reference.prepare.as_deref()),
        (ProgramText::Conclude, reference.conclude.as_deref()),
        (ProgramText::Cleanup, reference.cleanup.as_deref()),
    ];
    for (text, content) in texts.into_iter().filter_map(|(text, content)| Some((text, content?))) {
        if let Some(used) = parameters.iter().find(|p| content.contains(&format!("{{{}}}", p.name))) {
            let (content, parameter) = (content.to_owned(), used.name.clone());
            return Err(ProgramsError::ReferenceParameter { text, content, parameter });
        }
    }
    Ok(())
}

/// Numbers of the things for each of which a name or a hook may be given.
struct ProgramCount {
    /// 1 with a reference program.
    reference: usize,
    /// Programs as they are asked for.
    templates: usize,
    /// Programs with each combination of parameters.
    series: usize,
}

impl ProgramCount {
    /// Names count per program, or per series; any other number would assign some names wrongly.
    fn check_names(&self, names: usize) -> Result<(), ProgramsError> {
        let fits = if self.series == self.templates {
            names <= self.templates
        } else {
            names == 0 || names == self.templates || names == self.series
        };
        let given = NamesGiven { names, programs: self.templates, series: self.series };
        if fits { Ok(()) } else { Err(ProgramsError::Names(given)) }
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

impl AskedHooks {
    /// A program with its hooks, in which its parameters are replaced.
    fn with(
        &self,
        program: Program,
        count: &ProgramCount,
        place: &HookPlace,
        values: &ParameterValues,
    ) -> Result<Program, ProgramsError> {
        let replaced = |text: Option<&String>| text.map(|text| substitute(text, values));
        Ok(Program {
            prepare: replaced(pick(&self.prepare, ProgramText::Prepare, count, place)?),
            conclude: replaced(pick(&self.conclude, ProgramText::Conclude, count, place)?),
            setup: replaced(self.setup.as_ref()),
            cleanup: replaced(self.cleanup.as_ref()),
            ..program
        })
    }
}

/// The hook that is given once for all, or for each program or series, including the reference.
fn pick<'a>(
    list: &'a [String],
    text: ProgramText,
    count: &ProgramCount,
    place: &HookPlace,
) -> Result<Option<&'a String>, ProgramsError> {
    let ProgramCount { reference, templates, series } = *count;
    match list.len() {
        0 | 1 => Ok(list.first()),
        n if n == series + reference => Ok(list.get(place.series)),
        n if n == templates + reference => Ok(list.get(place.template)),
        given => Err(ProgramsError::Hooks { text, given, programs: templates + reference, reference: reference == 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::parameters::ParameterRange;
    use tarebench_core::run::plan::Command;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    fn request(programs: &[&str], values: &[&str]) -> ProgramsRequest {
        let levels = Parameter { name: "level".to_owned(), range: ParameterRange::Values(texts(values)) };
        ProgramsRequest {
            programs: programs.iter().map(|p| AskedProgram::Line((*p).to_owned())).collect(),
            parameters: if values.is_empty() { Vec::new() } else { vec![levels] },
            ..ProgramsRequest::default()
        }
    }

    fn labels(request: &ProgramsRequest) -> Vec<String> {
        programs(request).unwrap().programs.into_iter().map(|p| p.label).collect()
    }

    #[test]
    fn values_make_programs() {
        let mut asked = request(&["gzip -{level} f", "cat f | wc"], &["1", "9"]);
        asked.hooks.prepare = texts(&["rm {level}"]);
        let made = programs(&asked).unwrap();
        let argv = |words: &[&str]| Command::Argv(words.iter().map(|w| Name::from(*w)).collect());
        assert_eq!(made.programs[0].command, argv(&["gzip", "-1", "f"]));
        assert_eq!(made.programs[2].command, argv(&["gzip", "-9", "f"]));
        assert_eq!(made.programs[2].prepare.as_deref(), Some("rm 9"));
        assert_eq!(made.by_shell.iter().map(|b| b.text.as_str()).collect::<Vec<_>>(), ["cat f | wc"; 2]);
        let expected = ["gzip -1 f", "cat f | wc (level = 1)", "gzip -9 f", "cat f | wc (level = 9)"];
        assert_eq!(labels(&asked), expected);
        asked.names = texts(&["gzip", "wc"]);
        assert_eq!(labels(&asked)[..2], ["gzip (level = 1)", "wc (level = 1)"]);
        asked.names = texts(&["a", "b", "c", "d"]);
        assert_eq!(labels(&asked), asked.names);
    }

    #[test]
    fn words_stay_words() {
        let mut asked = request(&[], &[]);
        assert_eq!(programs(&asked), Err(ProgramsError::NoProgram));
        asked.programs.push(AskedProgram::Words(vec![Name::from("echo"), Name::from("a;b c")]));
        let made = programs(&asked).unwrap();
        assert_eq!(made.programs[0].label, "echo 'a;b c'");
        assert_eq!(made.programs[0].command.words().len(), 2);
        asked.shell = ShellChoice::named("default").unwrap();
        assert_eq!(programs(&asked).unwrap().programs[0].command.words()[0], Name::from("/bin/sh"));
    }

    #[test]
    fn what_would_be_assigned_wrongly_is_refused() {
        let said = |asked: &ProgramsRequest| programs(asked).unwrap_err().to_string();
        let mut asked = ProgramsRequest { names: texts(&["a", "b"]), ..request(&["true"], &[]) };
        assert_eq!(said(&asked), "2 names for 1 program: expected at most one for each");
        asked.names.clear();
        asked.hooks.conclude = texts(&["a", "b", "c"]);
        assert_eq!(said(&asked), "3 conclude commands for 1 programs: expected one, or one for each");
        let reference = AskedReference { text: "x {level}".to_owned(), name: None };
        let asked = ProgramsRequest { reference: Some(reference), ..request(&["true"], &["1"]) };
        assert_eq!(said(&asked), "the program `x {level}` uses {level}, which has no value for the reference program");
        let asked = ProgramsRequest { shell: ShellChoice::No, ..request(&["a | b"], &[]) };
        assert_eq!(said(&asked), "`a | b` needs a shell: it has the operator `|`");
    }
}
