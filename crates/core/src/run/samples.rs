//! Reading the samples of a run, which may be too many for memory.

use crate::sample::data::Sample;
use std::convert::Infallible;

/// Samples of a run that can be read as often as needed, one at a time.
pub trait SampleSource {
    /// Why they cannot be read.
    type Error;

    /// Visits every sample once, in any order.
    ///
    /// # Errors
    /// If they cannot be read; some may have been visited then.
    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), Self::Error>;
}

impl SampleSource for [Sample] {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), Infallible> {
        self.iter().for_each(visit);
        Ok(())
    }
}
