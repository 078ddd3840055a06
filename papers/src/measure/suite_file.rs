//! The programs of `tare study suite`: of a file of the same format as that of `tare gate`, or the open suite.

use crate::data::series::{StudyProgram, StudyWork};
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tarebench::suite::SuiteBenchmark;
use tarebench::written::{BadWritten, WrittenFileError};

/// Programs from Debian packages, in the places of SPEC's.
pub const OPEN: &str = include_str!("../../suites/open.toml");
/// How the owners of SPEC CPU2006 and CPU2017 measure theirs.
pub const SPEC_2006: &str = include_str!("../../suites/spec2006.toml");
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
pub fn open_suite() -> Result<SuitePrograms, WrittenFileError> {
    parse(OPEN, Path::new("open.toml"))
}

/// The programs of a file that are installed; `file` is its name.
///
/// # Errors
/// [`WrittenFileError`] with the place.
pub fn read(text: &str, file: &Path) -> Result<Vec<StudyProgram>, WrittenFileError> {
    parse(text, file).map(|suite| suite.installed().0)
}

/// Reads a suite; `file` is its name.
///
/// # Errors
/// [`WrittenFileError`] with the place.
pub fn parse(text: &str, file: &Path) -> Result<SuitePrograms, WrittenFileError> {
    let suite = tarebench::suite::of_text(text, file)?;
    let program = |b| program(b, &suite.usual.env).map_err(|(at, what)| BadWritten::new(Some(at), what));
    let programs = suite.benchmarks.into_iter().map(program).collect::<Result<_, _>>();
    Ok(SuitePrograms {
        name: suite.name,
        programs: programs.map_err(|e| e.within(file, text))?,
        ignored: suite.measuring_keys.into_iter().map(str::to_owned).collect(),
    })
}

/// A program, or what is wrong with it at which byte.
fn program(
    benchmark: SuiteBenchmark,
    common: &BTreeMap<String, String>,
) -> Result<SuiteProgram, (usize, &'static str)> {
    // Left out, the program would not do what the suite means.
    if benchmark.prepare.is_some() || benchmark.conclude.is_some() {
        let what =
            "a study runs nothing before or after each execution; move it into the command, or into setup and cleanup";
        return Err((benchmark.at, what));
    }
    let mut env = common.clone();
    env.extend(benchmark.own.env);
    if env.keys().any(|name| !is_variable(name)) {
        return Err((benchmark.at, "a name in env is no name of a variable of the shell"));
    }
    let exports: String = env.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    let with_env = |script: String| format!("{exports}{script}");
    let work = StudyWork::Shell {
        command: with_env(benchmark.command),
        setup: benchmark.setup.map(with_env),
        cleanup: benchmark.cleanup.map(with_env),
    };
    Ok(SuiteProgram { program: StudyProgram { label: benchmark.name, work, size: None }, packages: benchmark.packages })
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
        assert_eq!(parse(SPEC_2006, Path::new("spec2006.toml")).unwrap().programs.len(), 29);
        assert!(parse(SPEC_2017, Path::new("spec2017.toml")).unwrap().programs.len() >= 20);
    }

    #[test]
    fn a_file_of_the_gate_is_read() {
        let text = "base = 'origin/main'\nthreshold = '2%'\nenv = { A = \"it's\" }\n[[benchmark]]\nname = 'big'\n\
                    command = './sort big'\nsetup = './make'\ncleanup = 'rm big'\nweight = 2\nenv = { B = '2' }\n\
                    [[benchmark]]\ncommand = './sort small'\n";
        let suite = parse(text, Path::new("some/sorting.toml")).unwrap();
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
        let (found, missing) = parse(text, Path::new("f.toml")).unwrap().divided(|command| command == "a");
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
            (with("prepare = 'rm -f x'"), Some(2), "runs nothing before or after each execution"),
            (with("conclude = 'true'"), Some(2), "runs nothing before or after each execution"),
            (with("[[benchmark]]\nname = 'a'\ncommand = 'c'"), Some(5), "benchmark 2 has the name `a` of benchmark 1"),
            (with("[[benchmark]]\ncommand = ' '"), Some(5), "the command is empty"),
            (with("[[benchmark]]\nname = ''\ncommand = 'c'"), Some(5), "the name is empty"),
            (with("env = { 'A;B' = 'c' }"), Some(2), "no name of a variable"),
            (String::new(), None, "it has no benchmark"),
        ];
        for (text, line, expected) in cases {
            let e = parse(&text, Path::new("f.toml")).unwrap_err();
            assert!(e.what.contains(expected), "{text}: {e}");
            assert_eq!(e.place.map(|p| p.0), line, "{text}: {e}");
        }
        let e = parse(&with("setup = 3"), Path::new("f.toml")).unwrap_err().to_string();
        assert!(e.starts_with("f.toml, line 4, column "), "{e}");
    }
}
