//! A harness for `cargo bench` (`harness = false`): a row for each benchmark, and a file that `tare import` takes.
//!
//! ```no_run
//! use tarebench_kbest::bench::Harness;
//!
//! fn main() -> std::process::ExitCode {
//!     let mut harness = Harness::new("sums");
//!     let data = vec![1_u64; 4096];
//!     harness.bench("sum", || data.iter().sum::<u64>());
//!     harness.finish()
//! }
//! ```
//!
//! `cargo bench --bench sums -- [FILTER] [--json FILE] [--list]`

use crate::{Kbest, KbestError};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::bench::{Bench, BenchMachine, BenchResult, FORMAT, VERSION};
use tarebench_core::kbest::timing::{Timing, TimingStanding};
use tarebench_sys::{clock, procfs, uname};

/// What the command line requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BenchArguments {
    filters: Vec<String>,
    json: Option<PathBuf>,
    list: bool,
    /// Each once, unmeasured: `cargo test` does not give `--bench`.
    test: bool,
}

/// Time between the starts of two trials: a tenth of a second for thirty of them.
const APART: Nanos = Nanos::from_millis(3);

/// Runs benchmarks one after the other.
#[derive(Debug)]
pub struct Harness {
    asked: BenchArguments,
    kbest: Kbest,
    document: Bench,
    failed: Option<String>,
}

impl Harness {
    /// Reads the command line. If it is invalid, [`Harness::finish`] reports it, and nothing is measured.
    pub fn new(name: &str) -> Harness {
        Harness::with_args(name, std::env::args_os().skip(1))
    }

    fn with_args(name: &str, args: impl Iterator<Item = OsString>) -> Harness {
        let (asked, failed) = match parse(args) {
            Ok(asked) => (asked, None),
            Err(why) => (BenchArguments::default(), Some(why)),
        };
        let document = Bench {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.to_owned(),
            created: clock::realtime(),
            machine: machine(),
            rows: Vec::new(),
        };
        Harness { asked, kbest: Kbest::new().apart(APART), document, failed }
    }

    /// Settings for the benchmarks that follow.
    pub fn settings(&mut self, kbest: Kbest) -> &mut Harness {
        self.kbest = kbest;
        self
    }

    /// Measures the code as [`Kbest::measure`] does, and prints its row.
    pub fn bench<R>(&mut self, name: &str, mut code: impl FnMut() -> R) -> &mut Harness {
        let kbest = self.kbest.clone();
        self.row(name, |test| {
            if test {
                std::hint::black_box(code());
                return Ok(None);
            }
            kbest.measure(&mut code).map(Some)
        })
    }

    /// The same with a new input for each execution, as [`Kbest::measure_with`] does.
    pub fn bench_with<T>(
        &mut self,
        name: &str,
        mut setup: impl FnMut() -> T,
        mut code: impl FnMut(&mut T),
    ) -> &mut Harness {
        let kbest = self.kbest.clone();
        self.row(name, |test| {
            if test {
                code(&mut setup());
                return Ok(None);
            }
            kbest.measure_with(&mut setup, &mut code).map(Some)
        })
    }

    fn row(&mut self, name: &str, measure: impl FnOnce(bool) -> Result<Option<Timing>, KbestError>) -> &mut Harness {
        let wanted = self.asked.filters.is_empty() || self.asked.filters.iter().any(|f| name.contains(f.as_str()));
        if self.failed.is_some() || !wanted {
            return self;
        }
        if self.asked.list {
            self.print(&format!("{name}: benchmark\n"));
            return self;
        }
        match measure(self.asked.test) {
            Ok(None) => self.print(&format!("{name}: executed\n")),
            Ok(Some(timing)) => {
                if self.document.rows.is_empty() {
                    self.print(&line(&["benchmark", "time", "spread", "trials", "× in each", ""]));
                }
                self.print(&described(name, &timing));
                self.document.rows.push(BenchResult { name: name.to_owned(), timing });
            }
            Err(e) => self.failed = Some(format!("{name}: {e}")),
        }
        self
    }

    fn print(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        // The reader has closed the pipe: it needs no more.
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            self.failed.get_or_insert_with(|| "standard output was closed".to_owned());
        }
    }

    /// The results so far.
    pub fn results(&self) -> &Bench {
        &self.document
    }

    /// Writes the file, if requested. The exit code is 0, 1 if something failed, 2 if the command line is wrong.
    pub fn finish(&mut self) -> ExitCode {
        let usage = self.failed.as_ref().is_some_and(|f| f.starts_with(USAGE));
        if self.failed.is_none()
            && let Some(path) = self.asked.json.clone()
            && let Err(why) = write(&path, &self.document)
        {
            self.failed = Some(why);
        }
        match &self.failed {
            None => ExitCode::SUCCESS,
            Some(why) => {
                let _ = writeln!(std::io::stderr(), "error: {why}");
                ExitCode::from(if usage { 2 } else { 1 })
            }
        }
    }
}

const USAGE: &str = "usage: [FILTER …] [--json FILE] [--list]";

fn parse(args: impl Iterator<Item = OsString>) -> Result<BenchArguments, String> {
    let mut asked = BenchArguments { test: true, ..BenchArguments::default() };
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--bench") => asked.test = false,
            Some("--test") => asked.test = true,
            Some("--list") => asked.list = true,
            Some("--json") => {
                asked.json = Some(args.next().ok_or_else(|| format!("{USAGE}: --json without a file"))?.into());
            }
            Some(option) if option.starts_with("--json=") => {
                asked.json = Some(option.trim_start_matches("--json=").into());
            }
            // What `cargo` and test runners give to every harness.
            Some("--nocapture" | "--exact" | "--quiet" | "-q") => {}
            Some(option) if option.starts_with('-') => {
                return Err(format!("{USAGE}: {option:?} is not an option of a benchmark"));
            }
            Some(filter) => asked.filters.push(filter.to_owned()),
            None => return Err(format!("{USAGE}: {arg:?} is not UTF-8")),
        }
    }
    Ok(asked)
}

fn write(path: &Path, document: &Bench) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| format!("{}: the results were not written: {e}", path.display());
    let mut text = serde_json::to_string_pretty(document).map_err(|e| said(&e))?;
    text.push('\n');
    // Written completely or not at all.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).map_err(|e| {
        let _ = std::fs::remove_file(&beside);
        said(&e)
    })
}

fn machine() -> BenchMachine {
    let u = uname::uname();
    let root = Path::new("/");
    let model = procfs::read_text_below(root, "proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let online = procfs::read_text_below(root, "sys/devices/system/cpu/online").ok();
    let cpus = online.and_then(|text| procfs::parse_cpu_list(text.trim())).map_or(1, |c| c.len());
    BenchMachine {
        name: u.node,
        kernel: u.release,
        architecture: u.machine,
        cpu: model.ok_or_else(|| Absent::NotSupported("the kernel does not report the model".to_owned())).into(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
    }
}

fn line(cells: &[&str; 6]) -> String {
    let [name, time, spread, trials, each, standing] = cells;
    let text = format!("{name:<32} {time:>11} {spread:>9} {trials:>7} {each:>10}  {standing}");
    text.trim_end().to_owned() + "\n"
}

fn described(name: &str, timing: &Timing) -> String {
    let outcome = timing.outcome();
    let time = match timing.value() {
        Reading::Value(ns) => scaled(ns),
        Reading::Absent(_) => "–".to_owned(),
    };
    let standing = match timing.standing() {
        TimingStanding::Converged => String::new(),
        TimingStanding::NotConverged => "not converged".to_owned(),
        TimingStanding::TooShort => "too short for the clock".to_owned(),
        TimingStanding::SliceTooShort { lacking } => {
            format!(
                "another process had the CPU in every trial, for {:.0}% of the fastest: use the thread's CPU time",
                lacking * 100.0
            )
        }
    };
    let spread = outcome.as_ref().map_or("–".to_owned(), |o| format!("{:.3}%", o.spread * 100.0));
    let (trials, each) = (timing.trials.len().to_string(), timing.repetitions.to_string());
    line(&[name, &time, &spread, &trials, &each, &standing])
}

/// With four digits and a unit.
fn scaled(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        x if x < 1e3 => (ns, "ns"),
        x if x < 1e6 => (ns / 1e3, "µs"),
        x if x < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if value.abs() < 10.0 {
        3
    } else if value.abs() < 100.0 {
        2
    } else {
        1
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> impl Iterator<Item = OsString> {
        words.iter().map(OsString::from).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn the_command_line_of_cargo() {
        let asked = parse(args(&["--bench", "sum", "--json", "x.json"])).unwrap();
        assert_eq!((asked.test, asked.filters, asked.json), (false, vec!["sum".to_owned()], Some("x.json".into())));
        assert!(parse(args(&[])).unwrap().test);
        for bad in [&["--what"][..], &["--json"]] {
            assert!(parse(args(bad)).unwrap_err().starts_with(USAGE));
        }
    }

    #[test]
    fn only_what_is_wanted_is_measured_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.json");
        let mut h = Harness::with_args("mine", args(&["--bench", "su", "--json", file.to_str().unwrap()]));
        let mut other = false;
        h.bench("sum", || (0..100_u32).map(std::hint::black_box).sum::<u32>()).bench("other", || other = true);
        h.finish();
        assert!(!other);
        let read: Bench = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        read.check().unwrap();
        assert_eq!((read.rows.len(), read.rows[0].name.as_str(), &read), (1, "sum", h.results()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_test_executes_once_and_a_wrong_option_nothing() {
        let mut n = 0;
        Harness::with_args("mine", args(&[])).bench("count", || n += 1);
        assert_eq!(n, 1);
        Harness::with_args("mine", args(&["--nope"])).bench("count", || n += 1);
        assert_eq!(n, 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let h = Harness::with_args("mine", args(&[]));
        let why = write(Path::new("/nowhere/at/all.json"), h.results()).unwrap_err();
        assert!(why.contains("/nowhere/at/all.json") && why.contains("not written"), "{why}");
    }

    #[test]
    fn four_digits_and_a_unit() {
        let texts = [0.5, 12.345, 999.9, 1234.5, 45.67e6, 1.5e9].map(scaled);
        assert_eq!(texts, ["0.500 ns", "12.35 ns", "999.9 ns", "1.234 µs", "45.67 ms", "1.500 s"]);
    }
}
