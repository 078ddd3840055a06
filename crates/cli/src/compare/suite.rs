//! The file of a suite of benchmarks, in TOML.

use crate::args::values::{cpu_list, duration, share};
use crate::exit::Failure;
use clap::ValueEnum;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use tarebench::core::base::units::Nanos;
use tarebench::core::run::report::data::Measure;
use tarebench::core::statistics::intervals::FEWEST;
use tarebench::core::statistics::sequential::MOST_BLOCKS;
use toml::Spanned;

/// Benchmarks, and what holds for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    pub name: String,
    pub base: Option<String>,
    pub build: Option<String>,
    pub budget: Option<Nanos>,
    pub max_blocks: Option<u32>,
    pub control: Option<bool>,
    /// What benchmarks have that say nothing else.
    pub usual: SuiteConditions,
    pub benchmarks: Vec<SuiteBenchmark>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteBenchmark {
    /// Unique.
    pub name: String,
    pub command: String,
    pub weight: f64,
    pub budget: Option<Nanos>,
    pub setup: Option<String>,
    pub prepare: Option<String>,
    pub conclude: Option<String>,
    pub cleanup: Option<String>,
    pub own: SuiteConditions,
}

/// How a benchmark is measured and judged, as far as something is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteConditions {
    pub threshold: Option<f64>,
    pub measure: Option<GateMeasure>,
    pub timeout: Option<Nanos>,
    pub cpus: Option<Vec<u32>>,
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

/// What programs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateMeasure {
    /// CPU time of all processes of the program
    Cpu,
    /// Elapsed time; without duets, and so less exact
    Elapsed,
}

impl GateMeasure {
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
    /// Of `tare study suite`, which reads the same files.
    #[serde(default, rename = "packages")]
    _packages: BTreeMap<String, String>,
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

/// Longest file that is read.
const LONGEST: u64 = 4 << 20;
/// Most benchmarks of a suite.
const MOST_BENCHMARKS: usize = 10_000;

/// Reads a file.
///
/// # Errors
/// One sentence with the place and what was expected there.
pub fn read(file: &Path) -> Result<Suite, Failure> {
    let failed = |what: String| Failure::usage(format!("suite file {}: {what}", file.display()));
    let length = std::fs::metadata(file).map_err(|e| failed(e.to_string()))?.len();
    if length > LONGEST {
        return Err(failed(format!("it has {length} bytes, expected at most {} MiB", LONGEST >> 20)));
    }
    let bytes = std::fs::read(file).map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|e| failed(format!("it is not UTF-8 text: {e}")))?;
    of_text(&text, file)
}

/// The suite of a file with this text.
pub fn of_text(text: &str, file: &Path) -> Result<Suite, Failure> {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    parse(text, &stem).map_err(|e| {
        let place = e.at.map(|at| position(text, at));
        let place = place.map_or_else(String::new, |(line, column)| format!(", line {line}, column {column}"));
        // Some messages of the parser have several lines.
        let what = e.what.split_whitespace().collect::<Vec<_>>().join(" ");
        let failure = Failure::usage(format!("{}{place}: {what}", file.display()));
        match e.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// What is wrong in a file.
#[derive(Debug, PartialEq, Eq)]
struct BadSuite {
    /// Position in bytes.
    at: Option<usize>,
    what: String,
    hint: Option<&'static str>,
}

impl BadSuite {
    fn new(at: Option<usize>, what: impl Into<String>) -> BadSuite {
        BadSuite { at, what: what.into(), hint: None }
    }
}

/// Line and column, from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

fn parse(text: &str, stem: &str) -> Result<Suite, BadSuite> {
    let parsed = toml::from_str::<SuiteFile>(text).map_err(|e| BadSuite::new(e.span().map(|s| s.start), e.message()));
    let SuiteFile { name, base, build, budget, max_blocks, control, threshold, measure, timeout, cpus, env, benchmark } =
        parsed?;
    if benchmark.is_empty() {
        let hint = "begin each benchmark with a line [[benchmark]], followed by name = \"…\" and command = \"…\"";
        return Err(BadSuite { hint: Some(hint), ..BadSuite::new(None, "it has no benchmark, expected at least one") });
    }
    if benchmark.len() > MOST_BENCHMARKS {
        let what = format!("it has {} benchmarks, expected at most {MOST_BENCHMARKS}", benchmark.len());
        return Err(BadSuite::new(None, what));
    }
    let usual = conditions(threshold, measure, timeout, cpus, env)?;
    let mut benchmarks: Vec<SuiteBenchmark> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (number, table) in (1..).zip(benchmark) {
        let at = table.name.as_ref().unwrap_or(&table.command).span().start;
        let made = one_benchmark(table)?;
        if let Some(first) = numbers.insert(made.name.clone(), number) {
            let what = format!("benchmark {number} has the name `{}` of benchmark {first}", made.name);
            return Err(BadSuite { hint: Some("give each its own name"), ..BadSuite::new(Some(at), what) });
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
    })
}

fn one_benchmark(table: BenchmarkTable) -> Result<SuiteBenchmark, BadSuite> {
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
        _packages: _,
    } = table;
    let (at, command) = (command.span().start, command.into_inner());
    if command.trim().is_empty() {
        return Err(BadSuite::new(Some(at), "the command is empty, expected a program with its arguments"));
    }
    if let Some(empty) = name.as_ref().filter(|n| n.get_ref().trim().is_empty()) {
        return Err(BadSuite::new(Some(empty.span().start), "the name is empty, expected a text"));
    }
    Ok(SuiteBenchmark {
        name: name.map_or_else(|| command.clone(), Spanned::into_inner),
        command,
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
) -> Result<SuiteConditions, BadSuite> {
    let cpus = cpus.map(|list| {
        let bad = |_| BadSuite::new(Some(list.span().start), "expected CPUs such as \"1\" or \"0-3,8\"");
        cpu_list(list.get_ref()).map_err(bad)
    });
    if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let what = format!("`{name}` is no name of a variable of the environment");
        return Err(BadSuite::new(None, what));
    }
    Ok(SuiteConditions {
        threshold: threshold.map(|s| s.0),
        measure,
        timeout: timeout.map(|t| t.0),
        cpus: cpus.transpose()?,
        env,
    })
}

fn checked_weight(weight: Spanned<f64>) -> Result<f64, BadSuite> {
    let (at, value) = (weight.span().start, weight.into_inner());
    // So that a sum of them is finite, too.
    if (0.0..=1e12).contains(&value) {
        return Ok(value);
    }
    Err(BadSuite::new(Some(at), format!("the weight is {value}, expected a number of at least 0")))
}

fn blocks(number: Spanned<i64>) -> Result<u32, BadSuite> {
    let (at, value) = (number.span().start, number.into_inner());
    let fits = u32::try_from(value).ok().filter(|n| (FEWEST..=MOST_BLOCKS).contains(n));
    fits.ok_or_else(|| {
        BadSuite::new(Some(at), format!("max-blocks is {value}, expected a number from {FEWEST} to {MOST_BLOCKS}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((e.message, e.exit), (expected, crate::exit::Exit::Usage));
        std::fs::write(&file, b"name = '\xff'").unwrap();
        assert!(read(&file).unwrap_err().message.contains("it is not UTF-8 text"));
        assert!(read(&dir.path().join("none.toml")).unwrap_err().message.contains("No such file"));
        assert!(read(dir.path()).unwrap_err().message.contains("directory"));
    }

    #[test]
    fn places_in_a_text() {
        let text = "a\néb\n";
        assert_eq!([0, 1, 2, 4, 5, 6].map(|at| position(text, at)), [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)]);
        // Inside a character, or after the end.
        assert_eq!((position(text, 3), position(text, 99)), ((3, 1), (3, 1)));
    }
}
