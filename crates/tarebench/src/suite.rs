//! The file of a suite of benchmarks, in TOML, as gates, studies and campaigns read it.

use crate::programs::short;
use crate::written::{BadWritten, WrittenFileError, read_text};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::base::written::{duration, share};
use tarebench_core::run::report::data::Measure;
use tarebench_core::statistics::intervals::FEWEST;
use tarebench_core::statistics::sequential::MOST_BLOCKS;
use tarebench_sys::procfs::parse_cpu_list;
use toml::Spanned;

/// Benchmarks, and what holds for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// That of the file, if it has none.
    pub name: String,
    /// Revision that a gate compares with.
    pub base: Option<String>,
    /// Shell command that builds.
    pub build: Option<String>,
    /// For all benchmarks of a gate.
    pub budget: Option<Nanos>,
    /// Most blocks of a benchmark of a gate.
    pub max_blocks: Option<u32>,
    /// Whether a gate compares the base with itself.
    pub control: Option<bool>,
    /// What benchmarks have that say nothing else.
    pub usual: SuiteConditions,
    /// At least one, with different names.
    pub benchmarks: Vec<SuiteBenchmark>,
    /// The keys that only say how something is measured and judged, and builds, in alphabetical order.
    pub measuring_keys: BTreeSet<&'static str>,
}

/// A benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteBenchmark {
    /// Unique; the command, if it has none.
    pub name: String,
    /// Whether the file has the name.
    pub is_named: bool,
    /// A program with its arguments, or a line for the shell.
    pub command: String,
    /// Of the sum of a gate.
    pub weight: f64,
    /// For a gate.
    pub budget: Option<Nanos>,
    /// Before the first execution.
    pub setup: Option<String>,
    /// Before each execution.
    pub prepare: Option<String>,
    /// After each execution.
    pub conclude: Option<String>,
    /// After the last execution.
    pub cleanup: Option<String>,
    /// What it says itself.
    pub own: SuiteConditions,
    /// Debian package of each command that it needs, by command.
    pub packages: BTreeMap<String, String>,
    /// Where it begins in the file, in bytes.
    pub at: usize,
}

/// How a benchmark is measured and judged, as far as something is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteConditions {
    /// Largest slowdown that passes, a share.
    pub threshold: Option<f64>,
    /// What is compared.
    pub measure: Option<GateMeasure>,
    /// For an execution.
    pub timeout: Option<Nanos>,
    /// CPUs that programs may use.
    pub cpus: Option<Vec<u32>>,
    /// Variables for programs and hooks.
    pub env: BTreeMap<String, String>,
}

impl SuiteConditions {
    /// This, and `other` for what this says nothing of.
    pub fn or(&self, other: &SuiteConditions) -> SuiteConditions {
        let mut env = other.env.clone();
        env.extend(self.env.clone());
        SuiteConditions {
            threshold: self.threshold.or(other.threshold),
            measure: self.measure.or(other.measure),
            timeout: self.timeout.or(other.timeout),
            cpus: self.cpus.clone().or_else(|| other.cpus.clone()),
            env,
        }
    }
}

/// What is asked for beside a suite. It holds where a benchmark says nothing itself, and goes before what the suite says of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteOptions {
    /// How benchmarks are measured and judged.
    pub conditions: SuiteConditions,
    /// Before the first execution.
    pub setup: Option<String>,
    /// Before each execution.
    pub prepare: Option<String>,
    /// After each execution.
    pub conclude: Option<String>,
    /// After the last execution.
    pub cleanup: Option<String>,
    /// Shell command that builds.
    pub build: Option<String>,
    /// For all benchmarks of a gate.
    pub budget: Option<Nanos>,
    /// Most blocks of a benchmark of a gate.
    pub max_blocks: Option<u32>,
    /// Whether a gate compares the base with itself.
    pub control: Option<bool>,
}

impl Suite {
    /// This suite with what is asked for beside it.
    pub fn with(mut self, options: SuiteOptions) -> Suite {
        for benchmark in &mut self.benchmarks {
            benchmark.own = benchmark.own.or(&options.conditions);
            let or = |own: &mut Option<String>, option: &Option<String>| *own = own.take().or_else(|| option.clone());
            or(&mut benchmark.setup, &options.setup);
            or(&mut benchmark.prepare, &options.prepare);
            or(&mut benchmark.conclude, &options.conclude);
            or(&mut benchmark.cleanup, &options.cleanup);
        }
        Suite {
            build: options.build.or(self.build),
            budget: options.budget.or(self.budget),
            max_blocks: options.max_blocks.or(self.max_blocks),
            control: options.control.or(self.control),
            ..self
        }
    }
}

/// Why commands are no suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteCommandsError {
    /// More names than commands.
    #[error("{names} names for {commands} commands: expected at most one for each")]
    Names {
        /// Names.
        names: usize,
        /// Commands.
        commands: usize,
    },
    /// Two of them have this name.
    #[error("two benchmarks have the name `{}`", short(.0))]
    Twice(String),
}

/// A suite of commands, each of them a program with its arguments or a line for the shell. The first ones have these names, the others
/// that of the command.
///
/// # Errors
/// [`SuiteCommandsError`].
pub fn of_commands(commands: &[String], names: &[String]) -> Result<Suite, SuiteCommandsError> {
    if names.len() > commands.len() {
        return Err(SuiteCommandsError::Names { names: names.len(), commands: commands.len() });
    }
    let mut seen = BTreeSet::new();
    let benchmark = |(i, command): (usize, &String)| {
        let name = names.get(i).unwrap_or(command);
        if !seen.insert(name.clone()) {
            return Err(SuiteCommandsError::Twice(name.clone()));
        }
        Ok(SuiteBenchmark { name: name.clone(), command: command.clone(), weight: 1.0, ..SuiteBenchmark::default() })
    };
    let benchmarks = commands.iter().enumerate().map(benchmark).collect::<Result<_, _>>()?;
    Ok(Suite { benchmarks, ..Suite::default() })
}

/// What programs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateMeasure {
    /// CPU time of all processes of the program
    Cpu,
    /// Elapsed time; without duets, and so less exact
    Elapsed,
}

impl GateMeasure {
    /// The measure of a report.
    pub fn measure(self) -> Measure {
        match self {
            GateMeasure::Cpu => Measure::Pt,
            GateMeasure::Elapsed => Measure::Et,
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SuiteFile {
    name: Option<String>,
    base: Option<String>,
    build: Option<String>,
    budget: Option<SuiteTime>,
    max_blocks: Option<Spanned<i64>>,
    control: Option<bool>,
    threshold: Option<SuiteShare>,
    measure: Option<GateMeasure>,
    timeout: Option<SuiteTime>,
    cpus: Option<Spanned<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    benchmark: Vec<BenchmarkTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct BenchmarkTable {
    name: Option<Spanned<String>>,
    command: Spanned<String>,
    weight: Option<Spanned<f64>>,
    budget: Option<SuiteTime>,
    setup: Option<String>,
    prepare: Option<String>,
    conclude: Option<String>,
    cleanup: Option<String>,
    threshold: Option<SuiteShare>,
    measure: Option<GateMeasure>,
    timeout: Option<SuiteTime>,
    cpus: Option<Spanned<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    packages: BTreeMap<String, String>,
}

/// `"2%"` or 0.02.
struct SuiteShare(f64);

/// `"90s"`, or a number of seconds.
struct SuiteTime(Nanos);

/// A value that may be written as text or as a number.
struct WrittenValue<T> {
    expected: &'static str,
    text: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for WrittenValue<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(|expected| E::custom(format!("`{text}`: {expected}")))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de> Deserialize<'de> for SuiteShare {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SuiteShare, D::Error> {
        let visitor = WrittenValue { expected: "a share such as \"1%\" or 0.01", text: share };
        d.deserialize_any(visitor).map(SuiteShare)
    }
}

impl<'de> Deserialize<'de> for SuiteTime {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SuiteTime, D::Error> {
        let visitor = WrittenValue { expected: "a time such as \"90s\" or a number of seconds", text: duration };
        d.deserialize_any(visitor).map(SuiteTime)
    }
}

/// Most benchmarks of a suite.
const MOST_BENCHMARKS: usize = 10_000;

/// Reads a file.
///
/// # Errors
/// What is wrong in it, and where.
pub fn read(file: &Path) -> Result<Suite, WrittenFileError> {
    of_text(&read_text(file)?, file)
}

/// The suite of a file with this text.
///
/// # Errors
/// What is wrong in it, and where.
pub fn of_text(text: &str, file: &Path) -> Result<Suite, WrittenFileError> {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    parse(text, &stem).map_err(|e| e.within(file, text))
}

/// The keys of a file that only say how something is measured and judged, and builds.
fn measuring_keys(file: &SuiteFile) -> BTreeSet<&'static str> {
    let usual = [
        ("base", file.base.is_some()),
        ("build", file.build.is_some()),
        ("budget", file.budget.is_some()),
        ("max-blocks", file.max_blocks.is_some()),
        ("control", file.control.is_some()),
        ("threshold", file.threshold.is_some()),
        ("measure", file.measure.is_some()),
        ("timeout", file.timeout.is_some()),
        ("cpus", file.cpus.is_some()),
    ];
    let own = |b: &BenchmarkTable| {
        [
            ("weight", b.weight.is_some()),
            ("budget", b.budget.is_some()),
            ("threshold", b.threshold.is_some()),
            ("measure", b.measure.is_some()),
            ("timeout", b.timeout.is_some()),
            ("cpus", b.cpus.is_some()),
        ]
    };
    let all = usual.into_iter().chain(file.benchmark.iter().flat_map(own));
    all.filter(|(_, is_there)| *is_there).map(|(key, _)| key).collect()
}

fn parse(text: &str, stem: &str) -> Result<Suite, BadWritten> {
    let file: SuiteFile = toml::from_str(text).map_err(|e| BadWritten::of_toml(&e))?;
    let measuring_keys = measuring_keys(&file);
    let SuiteFile { name, base, build, budget, max_blocks, control, threshold, measure, timeout, cpus, env, benchmark } =
        file;
    if benchmark.is_empty() {
        let hint = "begin each benchmark with a line [[benchmark]], followed by name = \"…\" and command = \"…\"";
        return Err(BadWritten {
            hint: Some(hint),
            ..BadWritten::new(None, "it has no benchmark, expected at least one")
        });
    }
    if benchmark.len() > MOST_BENCHMARKS {
        let what = format!("it has {} benchmarks, expected at most {MOST_BENCHMARKS}", benchmark.len());
        return Err(BadWritten::new(None, what));
    }
    let usual = conditions(threshold, measure, timeout, cpus, env)?;
    let mut benchmarks: Vec<SuiteBenchmark> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (number, table) in (1..).zip(benchmark) {
        let at = table.name.as_ref().unwrap_or(&table.command).span().start;
        let made = one_benchmark(table)?;
        if let Some(first) = numbers.insert(made.name.clone(), number) {
            let what = format!("benchmark {number} has the name `{}` of benchmark {first}", made.name);
            return Err(BadWritten { hint: Some("give each its own name"), ..BadWritten::new(Some(at), what) });
        }
        benchmarks.push(made);
    }
    Ok(Suite {
        name: name.unwrap_or_else(|| stem.to_owned()),
        base,
        build,
        budget: budget.map(|t| t.0),
        max_blocks: max_blocks.map(blocks).transpose()?,
        control,
        usual,
        benchmarks,
        measuring_keys,
    })
}

fn one_benchmark(table: BenchmarkTable) -> Result<SuiteBenchmark, BadWritten> {
    let BenchmarkTable {
        name,
        command,
        weight,
        budget,
        setup,
        prepare,
        conclude,
        cleanup,
        threshold,
        measure,
        timeout,
        cpus,
        env,
        packages,
    } = table;
    let (at, command) = (command.span().start, command.into_inner());
    if command.trim().is_empty() {
        return Err(BadWritten::new(Some(at), "the command is empty, expected a program with its arguments"));
    }
    if let Some(empty) = name.as_ref().filter(|n| n.get_ref().trim().is_empty()) {
        return Err(BadWritten::new(Some(empty.span().start), "the name is empty, expected a text"));
    }
    Ok(SuiteBenchmark {
        is_named: name.is_some(),
        at: name.as_ref().map_or(at, |n| n.span().start),
        name: name.map_or_else(|| command.clone(), Spanned::into_inner),
        command,
        packages,
        weight: weight.map_or(Ok(1.0), checked_weight)?,
        budget: budget.map(|t| t.0),
        setup,
        prepare,
        conclude,
        cleanup,
        own: conditions(threshold, measure, timeout, cpus, env)?,
    })
}

fn conditions(
    threshold: Option<SuiteShare>,
    measure: Option<GateMeasure>,
    timeout: Option<SuiteTime>,
    cpus: Option<Spanned<String>>,
    env: BTreeMap<String, String>,
) -> Result<SuiteConditions, BadWritten> {
    let cpus = cpus.map(|list| {
        let bad = || BadWritten::new(Some(list.span().start), "expected CPUs such as \"1\" or \"0-3,8\"");
        parse_cpu_list(list.get_ref()).filter(|cpus| !cpus.is_empty()).ok_or_else(bad)
    });
    if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let what = format!("`{name}` is no name of a variable of the environment");
        return Err(BadWritten::new(None, what));
    }
    Ok(SuiteConditions {
        threshold: threshold.map(|s| s.0),
        measure,
        timeout: timeout.map(|t| t.0),
        cpus: cpus.transpose()?,
        env,
    })
}

fn checked_weight(weight: Spanned<f64>) -> Result<f64, BadWritten> {
    let (at, value) = (weight.span().start, weight.into_inner());
    // So that a sum of them is finite, too.
    if (0.0..=1e12).contains(&value) {
        return Ok(value);
    }
    Err(BadWritten::new(Some(at), format!("the weight is {value}, expected a number of at least 0")))
}

fn blocks(number: Spanned<i64>) -> Result<u32, BadWritten> {
    let (at, value) = (number.span().start, number.into_inner());
    let fits = u32::try_from(value).ok().filter(|n| (FEWEST..=MOST_BLOCKS).contains(n));
    fits.ok_or_else(|| {
        BadWritten::new(Some(at), format!("max-blocks is {value}, expected a number from {FEWEST} to {MOST_BLOCKS}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::position;

    #[test]
    fn a_suite_as_it_is_written() {
        let text = "
            name = 'sorting'
            base = 'origin/main'
            build = 'make'
            budget = '10min'
            max-blocks = 54
            control = false
            threshold = '2%'
            env = { A = '1', B = '2' }

            [[benchmark]]
            name = 'big'
            command = './sort big.txt'
            weight = 2
            threshold = 0.01
            budget = 90
            measure = 'elapsed'
            timeout = 0.5
            cpus = '0-1'
            prepare = 'rm -f out'
            env = { A = '3' }

            [[benchmark]]
            command = './sort small.txt'
        ";
        let suite = parse(text, "tare").unwrap();
        let said = (suite.name.as_str(), suite.base.as_deref(), suite.build.as_deref());
        assert_eq!(said, ("sorting", Some("origin/main"), Some("make")));
        assert_eq!((suite.budget, suite.max_blocks), (Some(Nanos::from_millis(600_000)), Some(54)));
        assert_eq!((suite.control, suite.usual.threshold), (Some(false), Some(0.02)));
        let [big, small] = suite.benchmarks.as_slice() else { panic!("{suite:?}") };
        let all = big.own.or(&suite.usual);
        assert_eq!((all.threshold, all.measure), (Some(0.01), Some(GateMeasure::Elapsed)));
        assert_eq!((all.timeout, &all.cpus), (Some(Nanos::from_millis(500)), &Some(vec![0, 1])));
        assert_eq!(all.env.into_iter().map(|(k, v)| k + &v).collect::<Vec<_>>(), ["A3", "B2"]);
        assert_eq!((big.weight, big.budget), (2.0, Some(Nanos::from_millis(90_000))));
        assert_eq!(big.prepare.as_deref(), Some("rm -f out"));
        assert_eq!((small.name.as_str(), small.weight, &small.own), ("./sort small.txt", 1.0, &Default::default()));
        assert_eq!(small.own.or(&suite.usual).threshold, Some(0.02));
        // The name of the file, where the suite has none.
        assert_eq!(parse("[[benchmark]]\ncommand = 'a'", "tare").unwrap().name, "tare");
    }

    /// Each is one sentence, with its line where it has one.
    #[test]
    fn what_is_wrong_is_said() {
        let with = |line: &str| format!("[[benchmark]]\nname = 'a'\ncommand = 'b'\n{line}\n");
        let cases = [
            (String::new(), None, "it has no benchmark"),
            ("benchmark = []".to_owned(), None, "it has no benchmark"),
            ("benchmark = 3".to_owned(), Some(1), "invalid type"),
            ("[[benchmark]]\nname = 'a'".to_owned(), None, "missing field `command`"),
            // What the parser says.
            ("name = 'a\n[[benchmark]]".to_owned(), None, ""),
            (with("name = 'b'"), None, ""),
            (with("treshold = '2%'"), Some(4), "unknown field `treshold`, expected one of"),
            (with("threshold = '2'"), Some(4), "`2`: expected a share such as 1% or 0.01"),
            (with("threshold = 2"), Some(4), "`2`: expected a share"),
            (with("threshold = nan"), Some(4), "`NaN`: expected a share"),
            (with("threshold = true"), Some(4), "expected a share such as \"1%\" or 0.01"),
            (with("budget = 'soon'"), Some(4), "`soon`: expected a time such as"),
            (with("budget = -1"), Some(4), "`-1`: expected a positive time"),
            (with("timeout = []"), Some(4), "expected a time such as"),
            (with("measure = 'wall'"), Some(4), "unknown variant `wall`, expected `cpu` or `elapsed`"),
            (with("weight = -1.0"), Some(4), "the weight is -1, expected a number of at least 0"),
            (with("weight = inf"), Some(4), "the weight is inf"),
            (with("weight = nan"), Some(4), "the weight is NaN"),
            (with("weight = '1'"), Some(4), "invalid type"),
            (with("cpus = 'all'"), Some(4), "expected CPUs such as"),
            (with("env = { 'A=B' = 'c' }"), None, "`A=B` is no name of a variable"),
            (with("env = { A = 1 }"), Some(4), "invalid type"),
            (with("[[benchmark]]\nname = 'a'\ncommand = 'c'"), Some(5), "benchmark 2 has the name `a` of benchmark 1"),
            (with("[[benchmark]]\ncommand = 'a'"), Some(5), "benchmark 2 has the name `a` of benchmark 1"),
            (with("[[benchmark]]\ncommand = ' '"), Some(5), "the command is empty"),
            (with("[[benchmark]]\nname = ''\ncommand = 'c'"), Some(5), "the name is empty"),
            (format!("max-blocks = 5\n{}", with("")), Some(1), "max-blocks is 5, expected a number from 6 to 1000"),
            (format!("max-blocks = 9999999999\n{}", with("")), Some(1), "expected a number from 6 to 1000"),
            (format!("max_blocks = 10\n{}", with("")), Some(1), "unknown field `max_blocks`"),
            (format!("control = 'no'\n{}", with("")), Some(1), "invalid type"),
        ];
        for (text, line, expected) in cases {
            let e = parse(&text, "tare").unwrap_err();
            assert!(e.what.contains(expected), "{text}: {}", e.what);
            let found = e.at.map(|at| position(&text, at).0);
            assert!(line.is_none() || found == line, "{text}: line {found:?}: {}", e.what);
        }
        let many = "[[benchmark]]\ncommand = 'a'\n".repeat(MOST_BENCHMARKS + 1);
        assert!(parse(&many, "tare").unwrap_err().what.contains("expected at most 10000"));
    }

    #[test]
    fn a_failure_names_file_line_and_column() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tare.toml");
        std::fs::write(&file, "[[benchmark]]\nname = 'é'\ncommand = 'b'\nthreshold = '2'\n").unwrap();
        let e = read(&file).unwrap_err();
        let expected = format!("{}, line 4, column 13: `2`: expected a share such as 1% or 0.01", file.display());
        assert_eq!(e.to_string(), expected);
        std::fs::write(&file, b"name = '\xff'").unwrap();
        let what = |file: &Path| read(file).unwrap_err().to_string();
        assert!(what(&file).contains("it is not UTF-8 text"));
        assert!(what(&dir.path().join("none.toml")).contains("No such file"));
        assert!(what(dir.path()).contains("directory"));
    }
}
