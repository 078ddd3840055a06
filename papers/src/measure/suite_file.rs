//! The programs of `tare study suite`: of a file of the same format as that of `tare gate`, or the open suite.

use crate::data::series::{StudyProgram, StudyWork};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Programs from Debian packages, in the places of SPEC's.
pub const OPEN: &str = include_str!("../../suites/open.toml");
/// How the owners of SPEC CPU2006 and CPU2017 measure theirs.
pub const SPEC_2006: &str = include_str!("../../suites/spec2006.toml");
/// As above.
pub const SPEC_2017: &str = include_str!("../../suites/spec2017.toml");
/// Where Debian has games beside the usual folders.
const GAMES: &str = "/usr/games";

/// A suite as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct SuitePrograms {
    /// Name of the suite; of the file without one.
    pub name: String,
    /// In the order of the file.
    pub programs: Vec<SuiteProgram>,
    /// Keys that only `tare gate` uses, once each, in alphabetical order.
    pub ignored: Vec<String>,
}

/// A program of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteProgram {
    /// What a study measures.
    pub program: StudyProgram,
    /// Debian package of each command that it needs, by command; empty where the file names none.
    pub packages: BTreeMap<String, String>,
}

/// A program of a suite that cannot be measured here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// The program's name in the suite.
    pub label: String,
    /// The command that is not installed.
    pub command: String,
    /// The Debian package that has it.
    pub package: String,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingProgram { label, command, package } = self;
        write!(f, "{label} is left out: `{command}` is not installed (Debian package {package})")
    }
}

impl SuitePrograms {
    /// Those whose commands are installed, and what is missing for the others.
    pub fn installed(self) -> (Vec<StudyProgram>, Vec<MissingProgram>) {
        self.divided(is_installed)
    }

    fn divided(self, is_installed: impl Fn(&str) -> bool) -> (Vec<StudyProgram>, Vec<MissingProgram>) {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for SuiteProgram { program, packages } in self.programs {
            match packages.into_iter().find(|(command, _)| !is_installed(command)) {
                Some((command, package)) => missing.push(MissingProgram { label: program.label, command, package }),
                None => found.push(program),
            }
        }
        (found, missing)
    }
}

/// Whether a command is in a folder of PATH, or among Debian's games.
fn is_installed(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from(GAMES)]);
    folders.map(|folder| folder.join(command)).any(|file| is_executable(&file))
}

fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The programs of the open suite that are installed.
pub fn open() -> Vec<StudyProgram> {
    open_suite().map(|suite| suite.installed().0).unwrap_or_default()
}

/// The open suite, whether installed or not.
///
/// # Errors
/// None, unless the shipped file is wrong, which a test excludes.
pub fn open_suite() -> Result<SuitePrograms, SuiteFileError> {
    parse(OPEN, "open.toml")
}

/// The programs of a file that are installed; `file` is its name.
///
/// # Errors
/// [`SuiteFileError`] with the place.
pub fn read(text: &str, file: &str) -> Result<Vec<StudyProgram>, SuiteFileError> {
    parse(text, file).map(|suite| suite.installed().0)
}

/// What is wrong in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteFileError {
    /// Name of the file, as messages give it.
    pub file: String,
    /// Line and column, from 1.
    pub place: Option<(usize, usize)>,
    /// The key of that line, if it has one.
    pub key: Option<String>,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl SuiteFileError {
    fn new(text: &str, file: &str, at: Option<usize>, what: &str) -> SuiteFileError {
        let before = at.map(|at| text.get(..at).unwrap_or(text));
        let place = before.map(|before| {
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            (before.matches('\n').count() + 1, column)
        });
        let line = place.and_then(|(line, _)| text.lines().nth(line - 1));
        let key = line.and_then(|l| l.split_once('=')).map(|(key, _)| key.trim().to_owned());
        // Some messages of the parser have several lines.
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        SuiteFileError { file: file.to_owned(), place, key: key.filter(|k| !k.is_empty()), what }
    }
}

impl fmt::Display for SuiteFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ", line {line}, column {column}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", key `{key}`")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for SuiteFileError {}

/// The file; keys that only `tare gate` uses are accepted, so that one file serves both.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SuiteDocument {
    name: Option<String>,
    base: Option<IgnoredAny>,
    build: Option<IgnoredAny>,
    budget: Option<IgnoredAny>,
    max_blocks: Option<IgnoredAny>,
    control: Option<IgnoredAny>,
    threshold: Option<IgnoredAny>,
    measure: Option<IgnoredAny>,
    timeout: Option<IgnoredAny>,
    cpus: Option<IgnoredAny>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    benchmark: Vec<SuiteEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SuiteEntry {
    name: Option<Spanned<String>>,
    command: Spanned<String>,
    setup: Option<String>,
    cleanup: Option<String>,
    prepare: Option<Spanned<String>>,
    conclude: Option<Spanned<String>>,
    weight: Option<IgnoredAny>,
    budget: Option<IgnoredAny>,
    threshold: Option<IgnoredAny>,
    measure: Option<IgnoredAny>,
    timeout: Option<IgnoredAny>,
    cpus: Option<IgnoredAny>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    packages: BTreeMap<String, String>,
}

impl SuiteDocument {
    fn ignored(&self) -> Vec<String> {
        let own = [
            ("base", &self.base),
            ("build", &self.build),
            ("budget", &self.budget),
            ("max-blocks", &self.max_blocks),
            ("control", &self.control),
            ("threshold", &self.threshold),
            ("measure", &self.measure),
            ("timeout", &self.timeout),
            ("cpus", &self.cpus),
        ];
        let of_entry = |e: &SuiteEntry| {
            [
                ("weight", e.weight.is_some()),
                ("budget", e.budget.is_some()),
                ("threshold", e.threshold.is_some()),
                ("measure", e.measure.is_some()),
                ("timeout", e.timeout.is_some()),
                ("cpus", e.cpus.is_some()),
            ]
        };
        let own = own.map(|(key, value)| (key, value.is_some())).into_iter();
        let present = own.chain(self.benchmark.iter().flat_map(of_entry)).filter(|(_, present)| *present);
        let mut keys: Vec<String> = present.map(|(key, _)| key.to_owned()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Reads a suite; `file` is its name.
///
/// # Errors
/// [`SuiteFileError`] with the place.
pub fn parse(text: &str, file: &str) -> Result<SuitePrograms, SuiteFileError> {
    let bad = |at: Option<usize>, what: &str| SuiteFileError::new(text, file, at, what);
    let document: SuiteDocument = toml::from_str(text).map_err(|e| bad(e.span().map(|s| s.start), e.message()))?;
    if document.benchmark.is_empty() {
        return Err(bad(None, "it has no [[benchmark]], expected at least one with a command"));
    }
    let ignored = document.ignored();
    let mut programs: Vec<SuiteProgram> = Vec::new();
    for entry in document.benchmark {
        let at = entry.name.as_ref().unwrap_or(&entry.command).span().start;
        let made = program(entry, &document.env).map_err(|(at, what)| bad(Some(at), what))?;
        if programs.iter().any(|p| p.program.label == made.program.label) {
            return Err(bad(Some(at), &format!("`{}` is the name of two benchmarks", made.program.label)));
        }
        programs.push(made);
    }
    let stem = Path::new(file).file_stem().map(|s| s.to_string_lossy().into_owned());
    let name = document.name.or(stem).unwrap_or_default();
    Ok(SuitePrograms { name, programs, ignored })
}

/// A program, or what is wrong with it at which byte.
fn program(entry: SuiteEntry, common: &BTreeMap<String, String>) -> Result<SuiteProgram, (usize, &'static str)> {
    if entry.command.get_ref().trim().is_empty() {
        return Err((entry.command.span().start, "the command is empty, expected a program with its arguments"));
    }
    if let Some(empty) = entry.name.as_ref().filter(|n| n.get_ref().trim().is_empty()) {
        return Err((empty.span().start, "the name is empty, expected a text"));
    }
    // Left out, the program would not do what the suite means.
    if let Some(hook) = entry.prepare.as_ref().or(entry.conclude.as_ref()) {
        let what =
            "a study runs nothing before or after each execution; move it into the command, or into setup and cleanup";
        return Err((hook.span().start, what));
    }
    let mut env = common.clone();
    env.extend(entry.env);
    if env.keys().any(|name| !is_variable(name)) {
        return Err((entry.command.span().start, "a name in env is no name of a variable of the shell"));
    }
    let exports: String = env.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    let with_env = |script: String| format!("{exports}{script}");
    let command = entry.command.into_inner();
    let label = entry.name.map_or_else(|| command.clone(), Spanned::into_inner);
    let work = StudyWork::Shell {
        command: with_env(command),
        setup: entry.setup.map(with_env),
        cleanup: entry.cleanup.map(with_env),
    };
    Ok(SuiteProgram { program: StudyProgram { label, work, size: None }, packages: entry.packages })
}

fn is_variable(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(known) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// As one word of a shell.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_suites_are_right() {
        let open = open_suite().unwrap();
        assert!(open.programs.len() >= 12 && open.ignored.is_empty(), "{:?}", open.ignored);
        assert!(open.programs.iter().all(|p| !p.packages.is_empty()));
        assert_eq!(parse(SPEC_2006, "spec2006.toml").unwrap().programs.len(), 29);
        assert!(parse(SPEC_2017, "spec2017.toml").unwrap().programs.len() >= 20);
    }

    #[test]
    fn a_file_of_the_gate_is_read() {
        let text = "base = 'origin/main'\nthreshold = '2%'\nenv = { A = \"it's\" }\n[[benchmark]]\nname = 'big'\n\
                    command = './sort big'\nsetup = './make'\ncleanup = 'rm big'\nweight = 2\nenv = { B = '2' }\n\
                    [[benchmark]]\ncommand = './sort small'\n";
        let suite = parse(text, "some/sorting.toml").unwrap();
        assert_eq!((suite.name.as_str(), suite.programs.len()), ("sorting", 2));
        assert_eq!(suite.ignored, ["base", "threshold", "weight"]);
        let StudyWork::Shell { command, setup, cleanup } = &suite.programs[0].program.work else { panic!("{suite:?}") };
        let exports = "export A='it'\\''s'\nexport B='2'\n";
        assert_eq!(*command, format!("{exports}./sort big"));
        assert_eq!(setup.as_deref(), Some(format!("{exports}./make").as_str()));
        assert!(cleanup.as_ref().is_some_and(|c| c.ends_with("rm big")));
        assert_eq!(suite.programs[1].program.label, "./sort small");
    }

    #[test]
    fn what_is_not_installed_is_left_out_with_its_package() {
        let text = "[[benchmark]]\nname = 'a'\ncommand = 'a'\npackages = { a = 'pa' }\n\
                    [[benchmark]]\nname = 'b'\ncommand = 'b'\npackages = { b = 'pb' }\n[[benchmark]]\ncommand = 'c'\n";
        let (found, missing) = parse(text, "f.toml").unwrap().divided(|command| command == "a");
        assert_eq!(found.iter().map(|p| p.label.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].to_string(), "b is left out: `b` is not installed (Debian package pb)");
        assert!(is_installed("sh") && !is_installed("no such command"));
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let with = |line: &str| format!("[[benchmark]]\nname = 'a'\ncommand = 'b'\n{line}\n");
        let cases = [
            (with("treshold = 1"), Some(4), "unknown field `treshold`"),
            (with("setup = 3"), Some(4), "invalid type"),
            (with("prepare = 'rm -f x'"), Some(4), "runs nothing before or after each execution"),
            (with("conclude = 'true'"), Some(4), "runs nothing before or after each execution"),
            (with("[[benchmark]]\nname = 'a'\ncommand = 'c'"), Some(5), "`a` is the name of two benchmarks"),
            (with("[[benchmark]]\ncommand = ' '"), Some(5), "the command is empty"),
            (with("[[benchmark]]\nname = ''\ncommand = 'c'"), Some(5), "the name is empty"),
            (with("env = { 'A;B' = 'c' }"), Some(3), "no name of a variable"),
            (String::new(), None, "it has no [[benchmark]]"),
        ];
        for (text, line, expected) in cases {
            let e = parse(&text, "f.toml").unwrap_err();
            assert!(e.what.contains(expected), "{text}: {e}");
            assert_eq!(e.place.map(|p| p.0), line, "{text}: {e}");
        }
        let e = parse(&with("setup = 3"), "f.toml").unwrap_err().to_string();
        assert!(e.starts_with("f.toml, line 4, column ") && e.contains(", key `setup`: "), "{e}");
    }
}
