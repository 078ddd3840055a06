//! Values that a program prints of itself (`--metric`).
//!
//! Nothing is read while the program runs: its output goes to files in memory, or to the file that the plan names, and is searched
//! when the sample is over.

use regex::bytes::{Regex, RegexBuilder};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::run::plan::{Output, RunPlan};
use tarebench_core::sample::data::MetricReading;
use tarebench_sys::SysError;
use tarebench_sys::memory_file::memory_file;

/// Bytes of each stream that are searched, from its end.
pub const SEARCHED: u64 = 16 << 20;
/// Characters of a text that is taken as a number.
const LONGEST: usize = 64;

/// A plan's metrics that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricRefused {
    /// The pattern is no regular expression.
    #[error("metric `{name}`: {why} in the pattern `{pattern}`")]
    Pattern {
        name: String,
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two of them would have one column.
    #[error("two metrics have the name `{name}`")]
    Twice { name: String },
    /// A table needs one.
    #[error("a metric has no name")]
    NoName,
    /// The output goes to a pipe or to where tare's own goes.
    #[error("metrics are read from what the programs print, which must go nowhere or to a file for that")]
    OutputNotKept,
}

struct MetricPattern {
    name: String,
    regex: Regex,
}

/// The metrics of a plan, ready to be searched for.
#[derive(Default)]
pub struct MetricPatterns(Vec<MetricPattern>);

impl MetricPatterns {
    /// Compiles them. `^` and `$` match at the ends of lines, too.
    ///
    /// # Errors
    /// What is wrong with the first that cannot be read.
    pub fn new(plan: &RunPlan) -> Result<MetricPatterns, MetricRefused> {
        let mut patterns: Vec<MetricPattern> = Vec::new();
        for metric in &plan.metrics {
            let name = metric.name.clone();
            if name.trim().is_empty() {
                return Err(MetricRefused::NoName);
            }
            if patterns.iter().any(|p| p.name == name) {
                return Err(MetricRefused::Twice { name });
            }
            let built = RegexBuilder::new(&metric.pattern).multi_line(true).build();
            match built {
                Ok(regex) => patterns.push(MetricPattern { name, regex }),
                Err(e) => {
                    let (pattern, why) = (metric.pattern.clone(), reason(&e));
                    return Err(MetricRefused::Pattern { name, pattern, why });
                }
            }
        }
        let lost = |output: &Output| matches!(output, Output::Pipe | Output::Inherit);
        if !patterns.is_empty() && plan.programs.iter().any(|p| lost(plan.output_of(p))) {
            return Err(MetricRefused::OutputNotKept);
        }
        Ok(MetricPatterns(patterns))
    }

    /// Nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values: of each pattern the last match on standard output, without one there the last on standard error.
    pub(crate) fn search(&self, texts: &[Result<CapturedText, Absent>; 2]) -> Vec<MetricReading> {
        let reading = |p: &MetricPattern| MetricReading { name: p.name.clone(), text: find(&p.regex, texts) };
        self.0.iter().map(reading).collect()
    }
}

/// The last line of the message, which says what is wrong; those before it show where.
fn reason(e: &regex::Error) -> String {
    let text = e.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    last.trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

fn find(regex: &Regex, texts: &[Result<CapturedText, Absent>; 2]) -> Reading<String> {
    if let Some(found) = texts.iter().flatten().find_map(|t| last_value(regex, &t.bytes)) {
        return number(found);
    }
    if let Some(why) = texts.iter().find_map(|t| t.as_ref().err()) {
        return Reading::Absent(why.clone());
    }
    let cut = texts.iter().flatten().any(|t| t.cut);
    Reading::Absent(Absent::Failed(match cut {
        true => {
            format!("the pattern does not match in the last {} MiB of the output, which are searched", SEARCHED >> 20)
        }
        false => "the pattern matches nothing that the program printed".to_owned(),
    }))
}

/// The first group that takes part in the last match; without groups the whole match.
fn last_value<'t>(regex: &Regex, text: &'t [u8]) -> Option<&'t [u8]> {
    let last = regex.find_iter(text).last()?;
    let groups = regex.captures_at(text, last.start())?;
    let value = (1..groups.len()).find_map(|i| groups.get(i)).or_else(|| groups.get(0))?;
    Some(value.as_bytes())
}

fn number(found: &[u8]) -> Reading<String> {
    let text = String::from_utf8_lossy(found);
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    let short = text.chars().count() <= LONGEST;
    match text.parse::<f64>() {
        Ok(n) if plain && short && n.is_finite() => Reading::Value(text.to_owned()),
        Ok(_) if short => Reading::Absent(Absent::Failed(format!("`{text}` is not a finite number"))),
        _ => {
            let shown: String = text.chars().take(LONGEST).collect();
            let dots = if short { "" } else { "…" };
            Reading::Absent(Absent::Failed(format!("`{shown}{dots}` is not a number")))
        }
    }
}

/// The end of what a program wrote to one stream.
pub(crate) struct CapturedText {
    pub bytes: Vec<u8>,
    /// There was more before it.
    pub cut: bool,
}

enum CaptureSource {
    Memory(File),
    /// What is appended to this file from this length on.
    Appended(Name, u64),
}

/// Where the output of one execution goes, so that it can be searched.
pub(crate) struct OutputCapture {
    /// Standard output and error.
    streams: [Result<CaptureSource, Absent>; 2],
}

impl OutputCapture {
    pub fn new(output: &Output) -> OutputCapture {
        let memory = || memory_file().map(CaptureSource::Memory).map_err(|e| e.absent("a file in memory"));
        let stdout = match output {
            Output::File(name) => Ok(CaptureSource::Appended(name.clone(), length(name))),
            Output::Null | Output::Pipe | Output::Inherit => memory(),
        };
        OutputCapture { streams: [stdout, memory()] }
    }

    /// A descriptor for the program's standard output (1) or error (2); `None` if it goes where the plan says.
    ///
    /// It appends, as one that the program opens again by its name must not write over what is there.
    pub fn descriptor(&self, stream: usize) -> Option<Result<OwnedFd, SysError>> {
        let source = self.streams.get(stream.checked_sub(1)?)?;
        let Ok(CaptureSource::Memory(file)) = source else { return None };
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let opened = File::options().append(true).open(again).map(OwnedFd::from);
        Some(opened.map_err(|e| SysError::io("open a file in memory", e)))
    }

    /// What was written, when the program has ended. `open` opens a file for reading.
    pub fn finish(self, open: &dyn Fn(&[u8]) -> Result<OwnedFd, SysError>) -> [Result<CapturedText, Absent>; 2] {
        let failed = |e: std::io::Error| Absent::Failed(format!("the output cannot be read: {e}"));
        self.streams.map(|source| match source? {
            CaptureSource::Memory(file) => tail(&file, 0).map_err(failed),
            CaptureSource::Appended(name, from) => {
                // To open a FIFO would wait for a writer.
                let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
                if !std::fs::metadata(path).map_err(failed)?.is_file() {
                    return Err(Absent::NotSupported(format!("the output goes to `{name}`, which is no regular file")));
                }
                let file =
                    File::from(open(name.as_bytes()).map_err(|e| e.absent("the right to read the output's file"))?);
                tail(&file, from).map_err(failed)
            }
        })
    }
}

fn length(name: &Name) -> u64 {
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    std::fs::metadata(path).map_or(0, |m| m.len())
}

/// What a file holds from a length on, at most its last [`SEARCHED`] bytes.
fn tail(mut file: &File, from: u64) -> std::io::Result<CapturedText> {
    let end = file.metadata()?.len();
    // A program may have begun the file anew.
    let from = if from > end { 0 } else { from };
    let first = from.max(end.saturating_sub(SEARCHED));
    file.seek(SeekFrom::Start(first))?;
    let mut bytes = Vec::new();
    file.take(SEARCHED).read_to_end(&mut bytes)?;
    Ok(CapturedText { bytes, cut: first > from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::tests::plan as plan_of;
    use std::io::Write;
    use tarebench_core::run::plan::{MetricPlan, Order};

    fn plan() -> RunPlan {
        plan_of(1, 0, 1, Order::Rounds)
    }

    fn patterns(all: &[(&str, &str)]) -> Result<MetricPatterns, MetricRefused> {
        let metric = |(name, pattern): &(&str, &str)| MetricPlan { name: (*name).into(), pattern: (*pattern).into() };
        MetricPatterns::new(&RunPlan { metrics: all.iter().map(metric).collect(), ..plan() })
    }

    fn said(text: &str) -> Result<CapturedText, Absent> {
        Ok(CapturedText { bytes: text.as_bytes().to_vec(), cut: false })
    }

    fn read(pattern: &str, stdout: &str, stderr: &str) -> Result<String, String> {
        let found = patterns(&[("m", pattern)]).unwrap().search(&[said(stdout), said(stderr)]);
        found[0].text.as_result().cloned().map_err(ToString::to_string)
    }

    #[test]
    fn the_last_match_and_its_first_group() {
        assert_eq!(read(r"time: ([\d.]+)", "time: 1.5\ntime: 2.25 s\n", "time: 9"), Ok("2.25".into()));
        assert_eq!(read(r"\d+", "1 2 3", ""), Ok("3".into()));
        assert_eq!(read(r"a=(\d+)|b=(\d+)", "a=1 b=2", ""), Ok("2".into()));
        assert_eq!(read(r"^x (.*)$", "x 1\nx  -4e-3 \ny 5", ""), Ok("-4e-3".into()));
        // Standard error only where standard output has no match.
        assert_eq!(read(r"t=(.+)", "nothing", "t=7"), Ok("7".into()));
        assert_eq!(read(r"t=(.+)", "t=x", "t=7"), Err("not known: `x` is not a number".into()));
    }

    #[test]
    fn what_is_not_a_finite_number_is_absent() {
        for text in ["inf", "nan", "-infinity", "1e999"] {
            let why = format!("not known: `{text}` is not a finite number");
            assert_eq!(read("v=(.*)", &format!("v={text}"), ""), Err(why));
        }
        for text in ["1,5", "0x10", "", "1_000", "1 2"] {
            assert_eq!(read("v=(.*)", &format!("v={text}"), ""), Err(format!("not known: `{text}` is not a number")));
        }
        let long = read("v=(.*)", &format!("v={}", "1".repeat(1000)), "").unwrap_err();
        assert!(long.len() < 120, "{long}");
        let none = read("v=(.*)", "w=1", "").unwrap_err();
        assert_eq!(none, "not known: the pattern matches nothing that the program printed");
    }

    #[test]
    fn bytes_that_are_no_text_are_searched() {
        let texts = [Ok(CapturedText { bytes: b"\xff\xfe v=\xff3\nv=4\xc0".to_vec(), cut: false }), said("")];
        let found = patterns(&[("m", r"v=(\d+)")]).unwrap().search(&texts);
        assert_eq!(found[0].text, Reading::Value("4".to_owned()));
    }

    #[test]
    fn wrong_patterns_are_refused_in_one_sentence() {
        let refused = |all: &[(&str, &str)]| patterns(all).map(|_| ()).unwrap_err();
        let why = refused(&[("m", "(")]).to_string();
        assert_eq!(why, "metric `m`: unclosed group in the pattern `(`");
        assert_eq!(refused(&[("m", "a"), ("m", "b")]), MetricRefused::Twice { name: "m".into() });
        assert_eq!(refused(&[(" ", "a")]), MetricRefused::NoName);
        let inherits = RunPlan {
            metrics: vec![MetricPlan { name: "m".into(), pattern: "a".into() }],
            output: Output::Inherit,
            ..plan()
        };
        assert_eq!(MetricPatterns::new(&inherits).map(|_| ()), Err(MetricRefused::OutputNotKept));
    }

    #[test]
    fn long_output_is_searched_from_its_end() {
        let capture = OutputCapture::new(&Output::Null);
        let mut written = File::from(capture.descriptor(1).unwrap().unwrap());
        written.write_all(b"v=1\n").unwrap();
        let block = vec![b'\n'; 1 << 20];
        (0..16).for_each(|_| written.write_all(&block).unwrap());
        let texts = capture.finish(&|_| Err(SysError::format("open", "nothing", b"")));
        let found = patterns(&[("m", "v=(.)")]).unwrap().search(&texts);
        let why = found[0].text.absent().unwrap().to_string();
        assert!(why.contains("the last 16 MiB"), "{why}");
    }

    #[test]
    fn only_what_the_sample_appended_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "v=1\n").unwrap();
        let name = Name::new(path.as_os_str().as_bytes());
        let open = |name: &[u8]| {
            let opened = File::open(Path::new(std::ffi::OsStr::from_bytes(name))).map(OwnedFd::from);
            opened.map_err(|e| SysError::io("open", e))
        };
        let found = |after: &dyn Fn()| {
            let capture = OutputCapture::new(&Output::File(name.clone()));
            assert!(capture.descriptor(1).is_none());
            after();
            patterns(&[("m", "v=(.)")]).unwrap().search(&capture.finish(&open))[0].text.value().cloned()
        };
        let append = |text: &str| File::options().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        assert_eq!(found(&|| append("nothing\n")), None);
        assert_eq!(found(&|| append("v=2\n")), Some("2".to_owned()));
        assert_eq!(found(&|| std::fs::write(&path, "v=3").unwrap()), Some("3".to_owned()));
    }
}
