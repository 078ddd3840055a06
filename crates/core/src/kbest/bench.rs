//! Results of benchmarks written with the library, as `cargo bench` leaves them: a file that `tare` imports.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::kbest::timing::Timing;
use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "tare-bench";
/// The version that is written, and the latest that is read.
pub const VERSION: u32 = 1;

/// Largest K that is accepted: no measurement needs more, and each trial is sorted into the K fastest.
const MOST_K: u32 = 1000;

/// Benchmarks of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Version of the library.
    pub tool: String,
    /// The program's own name.
    pub name: String,
    /// When it began, since 1970.
    pub created: Nanos,
    pub machine: BenchMachine,
    /// In the order of their execution.
    pub rows: Vec<BenchResult>,
}

/// What the library knows of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchMachine {
    pub name: String,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Architecture, as `uname -m`.
    pub architecture: String,
    pub cpu: Reading<String>,
    pub cpus: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub name: String,
    pub timing: Timing,
}

/// What is no file of benchmarks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBench {
    #[error("its format is {0:?}, expected \"{FORMAT}\"")]
    Format(String),
    /// From a later library.
    #[error("its version is {0}, expected at most {VERSION}: use a newer tare")]
    Version(u32),
    #[error("it has no benchmarks, expected at least one")]
    Empty,
    /// A row that cannot be.
    #[error("benchmark {row} ({name:?}) has {what}")]
    Row {
        /// From 1.
        row: usize,
        name: String,
        what: &'static str,
    },
}

impl Bench {
    /// Whether it can be.
    ///
    /// # Errors
    /// [`BadBench`], the first that is bad.
    pub fn check(&self) -> Result<(), BadBench> {
        if self.format != FORMAT {
            return Err(BadBench::Format(self.format.clone()));
        }
        if self.version > VERSION {
            return Err(BadBench::Version(self.version));
        }
        if self.rows.is_empty() {
            return Err(BadBench::Empty);
        }
        for (i, r) in self.rows.iter().enumerate() {
            let t = &r.timing;
            let what = if !(t.hz.is_finite() && t.hz > 0.0) {
                "a clock whose rate is not a finite number greater than 0"
            } else if t.repetitions == 0 {
                "no execution in a trial, expected at least one"
            } else if t.trials.is_empty() {
                "no trial, expected at least one"
            } else if t.parameters.k() > MOST_K {
                "a K over 1000, expected at most that many trials that must agree"
            } else {
                continue;
            };
            return Err(BadBench::Row { row: i + 1, name: r.name.clone(), what });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::Absent;
    use crate::kbest::clocks::ClockKind;
    use crate::kbest::scheme::Parameters;
    use crate::kbest::timing::{Cache, Trial};

    fn bench() -> Bench {
        let timing = Timing {
            clock: ClockKind::Counter,
            hz: 1e9,
            cache: Cache::Warm,
            repetitions: 1,
            parameters: Parameters::default(),
            compensation: Reading::Absent(Absent::NotAsked("none".to_owned())),
            overhead: 30,
            less_overhead: false,
            apart: 0,
            trials: vec![Trial { count: 5, cpu: None, ticks: None, preemptions: None, waits: None, core_cycles: None }],
        };
        Bench {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool: "0.1.0".to_owned(),
            name: "sorts".to_owned(),
            created: Nanos(1),
            machine: BenchMachine {
                name: "box".to_owned(),
                kernel: "6.1".to_owned(),
                architecture: "x86_64".to_owned(),
                cpu: Reading::Value("a CPU".to_owned()),
                cpus: 2,
            },
            rows: vec![
                BenchResult { name: "a".to_owned(), timing: timing.clone() },
                BenchResult { name: "b\n".to_owned(), timing },
            ],
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        assert_eq!(bench().check(), Ok(()));
        let refused = |change: &dyn Fn(&mut Bench)| {
            let mut b = bench();
            change(&mut b);
            b.check().unwrap_err().to_string()
        };
        assert!(refused(&|b| b.format = "tare-run".to_owned()).contains("\"tare-run\", expected \"tare-bench\""));
        assert!(refused(&|b| b.version = 2).contains("its version is 2, expected at most 1"));
        assert!(refused(&|b| b.rows.clear()).contains("no benchmarks"));
        let of_second = |what: &dyn Fn(&mut Timing)| refused(&|b| what(&mut b.rows[1].timing));
        assert_eq!(of_second(&|t| t.trials.clear()), r#"benchmark 2 ("b\n") has no trial, expected at least one"#);
        for hz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(of_second(&|t| t.hz = hz).contains("a clock whose rate"));
        }
        assert!(of_second(&|t| t.repetitions = 0).contains("no execution"));
        assert!(of_second(&|t| t.parameters = Parameters::new(1001, 0.1, 2000, 0).unwrap()).contains("K over 1000"));
    }
}
