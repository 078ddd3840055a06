//! Results of benchmarks written with the library, as `cargo bench` leaves them: a file that `tare` imports.

use crate::reading::Reading;
use crate::timing::Timing;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Marks the file.
pub const FORMAT: &str = "tare-bench";
/// The version that is written, and the latest that is read.
pub const VERSION: u32 = 1;

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
    /// Where.
    pub machine: Machine,
    /// In the order of their execution.
    pub rows: Vec<Row>,
}

/// What the library knows of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub name: String,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Architecture, as `uname -m`.
    pub architecture: String,
    /// CPU model.
    pub cpu: Reading<String>,
    /// CPUs online.
    pub cpus: u32,
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What was measured.
    pub timing: Timing,
}

/// What is no file of benchmarks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBench {
    /// Something else.
    #[error("it says it is {0:?}, expected \"{FORMAT}\"")]
    Format(String),
    /// From a later library.
    #[error("its version is {0}, expected {VERSION} at most: a later tare reads it")]
    Version(u32),
    /// A row that cannot be.
    #[error("benchmark {row} ({name:?}) has {what}")]
    Row {
        /// From 1.
        row: usize,
        /// Its name.
        name: String,
        /// What is wrong.
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
        for (i, r) in self.rows.iter().enumerate() {
            let t = &r.timing;
            let what = if !(t.hz.is_finite() && t.hz > 0.0) {
                "a clock whose rate is not a finite number over 0"
            } else if t.repetitions == 0 {
                "no execution in a trial, expected at least one"
            } else if t.trials.is_empty() {
                "no trial, expected at least one"
            } else {
                continue;
            };
            return Err(BadBench::Row { row: i + 1, name: r.name.clone(), what });
        }
        Ok(())
    }
}
