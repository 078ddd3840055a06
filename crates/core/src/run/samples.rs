//! Reading the samples of a run, which may be too many for memory.

use crate::compare::duet::Duet;
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

    /// Visits every duet once, in any order; none, where the source has only samples.
    fn each_duet(&self, _visit: &mut dyn FnMut(&Duet)) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl SampleSource for [Sample] {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), Infallible> {
        self.iter().for_each(visit);
        Ok(())
    }
}

/// Samples and duets in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept<'a> {
    pub samples: &'a [Sample],
    pub duets: &'a [Duet],
}

impl SampleSource for Kept<'_> {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), Infallible> {
        self.samples.each(visit)
    }

    fn each_duet(&self, visit: &mut dyn FnMut(&Duet)) -> Result<(), Infallible> {
        self.duets.iter().for_each(visit);
        Ok(())
    }
}
