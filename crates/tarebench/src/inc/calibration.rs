//! INC's calibration: this machine's increments per second, stored so that INC8 is the same work every time.

use crate::inc::workload::{INNER, increments};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;
use tarebench_sys::clock;

/// Shortest and longest task length of INC, in seconds (the papers' longest is 16,384).
pub const LENGTHS: std::ops::RangeInclusive<f64> = 0.001..=16_384.0;

/// Increments per second of process time, on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncCalibration {
    /// The machine ([`tarebench_core::machine::data::Host::machine`]).
    pub machine: String,
    /// The constant of EMP figure 7.
    pub increments_per_second: f64,
    /// When it was made, since 1970.
    pub created: Nanos,
    /// Relative half range of the middle half of the trials: how far the clock wandered meanwhile.
    pub spread: f64,
}

/// What can go wrong with a calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The file cannot be read or written.
    #[error("INC's calibration {}: {cause}", path.display())]
    Io {
        /// Its place.
        path: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
    /// The file does not hold a calibration.
    #[error("INC's calibration {}: {cause}", path.display())]
    Format {
        /// Its place.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// A task length outside the range.
    #[error("task length {0} s: expected 0.001 to 16384 s")]
    Length(f64),
}

impl IncCalibration {
    /// Measures this machine: 15 trials of about 100 ms of process time each; the median's rate.
    pub fn measure(machine: &str) -> IncCalibration {
        let rate = |count: u64| {
            let began = clock::own_cpu();
            increments(count);
            count as f64 / (clock::own_cpu() - began).secs().max(1e-9)
        };
        // The first trial only finds how many increments take about 100 ms.
        rate(64 * INNER);
        let count = ((rate(64 * INNER) * 0.1) as u64).max(INNER);
        let mut rates: Vec<f64> = (0..15).map(|_| rate(count)).collect();
        rates.sort_by(f64::total_cmp);
        let at = |i: usize| rates.get(i).copied().unwrap_or(1e9);
        IncCalibration {
            machine: machine.to_owned(),
            increments_per_second: at(7),
            created: clock::realtime(),
            spread: (at(11) - at(3)) / at(7) / 2.0,
        }
    }

    /// Increments for a task length in seconds.
    ///
    /// # Errors
    /// If the length is outside [`LENGTHS`].
    pub fn increments(&self, seconds: f64) -> Result<u64, CalibrationError> {
        if !LENGTHS.contains(&seconds) {
            return Err(CalibrationError::Length(seconds));
        }
        Ok((self.increments_per_second * seconds).round() as u64)
    }

    /// The calibration of `machine` in the folder, if there is one.
    ///
    /// # Errors
    /// If the file is there and cannot be read or understood.
    pub fn load(folder: &Path, machine: &str) -> Result<Option<IncCalibration>, CalibrationError> {
        let path = file(folder, machine);
        let text = match std::fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(CalibrationError::Io { path, cause }),
            Ok(text) => text,
        };
        let bad = |cause: String| CalibrationError::Format { path: path.clone(), cause };
        let c: IncCalibration = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
        if !(c.increments_per_second.is_finite() && c.increments_per_second >= 1e3) {
            return Err(bad(format!("{} increments per second is not a valid rate", c.increments_per_second)));
        }
        Ok((c.machine == machine).then_some(c))
    }

    /// Keeps it in the folder: written beside and renamed, so that no reader sees half of it.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, CalibrationError> {
        let path = file(folder, &self.machine);
        let beside = path.with_extension(format!("{}.tmp", tarebench_sys::process::own_pid()));
        let write = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(&beside, serde_json::to_string_pretty(self)? + "\n")?;
            std::fs::rename(&beside, &path)
        };
        write().map_err(|cause| CalibrationError::Io { path: path.clone(), cause })?;
        Ok(path)
    }
}

fn file(folder: &Path, machine: &str) -> PathBuf {
    folder.join(format!("inc-{machine}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_kept_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new");
        assert_eq!(IncCalibration::load(&folder, "m").unwrap(), None);
        let c = IncCalibration { machine: "m".into(), increments_per_second: 3e9, created: Nanos(1), spread: 0.01 };
        let path = c.save(&folder).unwrap();
        assert_eq!(IncCalibration::load(&folder, "m").unwrap(), Some(c.clone()));
        assert_eq!(c.increments(8.0).unwrap(), 24_000_000_000);
        assert!(c.increments(0.0).is_err() && c.increments(f64::NAN).is_err() && c.increments(20_000.0).is_err());
        for garbage in ["", "{}", "nonsense", r#"{"machine":"m","increments_per_second":0,"created":1,"spread":0}"#] {
            std::fs::write(&path, garbage).unwrap();
            let e = IncCalibration::load(&folder, "m").unwrap_err().to_string();
            assert!(e.starts_with("INC's calibration "), "{e}");
        }
    }

    #[test]
    fn measures_something_plausible() {
        let c = IncCalibration::measure("m");
        assert!((1e7..1e11).contains(&c.increments_per_second), "{c:?}");
    }
}
