//! Numbers of samples.

use tarebench_core::run::plan::RunCount;
use tarebench_core::statistics::intervals::FEWEST;
use tarebench_core::statistics::sequential::MOST_BLOCKS;

/// Samples of each program, unless the user names another number.
const SAMPLES: u32 = 10;
/// Most samples until a precision is reached, unless the user names another number.
const MOST_SAMPLES: u32 = 500;
/// Most blocks until a difference would be seen, unless the user names another number.
const BLOCKS: u32 = 200;

/// Why there is no such number of samples.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CountError {
    /// The limits contradict each other.
    #[error("at least {min} samples, but at most {max}")]
    Limits {
        /// The least number.
        min: u32,
        /// The largest number.
        max: u32,
    },
    /// No share.
    #[error("a precision of {0}: expected a fraction between 0 and 1, e.g. 0.01 for 1%")]
    Precision(f64),
    /// Too few or too many blocks to find a difference.
    #[error("at most {0} blocks: expected {FEWEST} to {MOST_BLOCKS} blocks to find a difference")]
    Blocks(u32),
}

impl CountError {
    /// The fewest and the most blocks in which a difference can be found.
    pub const BLOCKS: (u32, u32) = (FEWEST, MOST_BLOCKS);
}

/// How many samples of each program are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountRequest {
    /// This number; `None`: 10, unless one of the following is there.
    pub samples: Option<u32>,
    /// Until the 95% intervals of mean and median are within ± this share of these.
    pub precision: Option<f64>,
    /// Blocks until a difference of this share would be seen between the programs.
    pub difference: Option<f64>,
    /// At least this number.
    pub min: Option<u32>,
    /// At most this number; `None`: 500 samples for a precision, 200 blocks for a difference.
    pub max: Option<u32>,
}

impl CountRequest {
    /// As a plan has it.
    ///
    /// # Errors
    /// [`CountError`].
    pub fn count(&self) -> Result<RunCount, CountError> {
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            return Err(CountError::Limits { min, max });
        }
        if let Some(difference) = self.difference {
            let max = self.max.unwrap_or(BLOCKS);
            let is_possible = (FEWEST..=MOST_BLOCKS).contains(&max);
            return if is_possible { Ok(RunCount::Detect { difference, max }) } else { Err(CountError::Blocks(max)) };
        }
        match self.precision {
            Some(precision) if precision > 0.0 && precision < 1.0 => {
                let min = self.min.unwrap_or(SAMPLES);
                Ok(RunCount::Adaptive { precision, min, max: self.max.unwrap_or(MOST_SAMPLES.max(min)) })
            }
            Some(other) => Err(CountError::Precision(other)),
            None => {
                let samples = self.samples.unwrap_or(SAMPLES);
                Ok(RunCount::Fixed(samples.max(self.min.unwrap_or(0)).min(self.max.unwrap_or(u32::MAX))))
            }
        }
    }
}
