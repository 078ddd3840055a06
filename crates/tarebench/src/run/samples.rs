//! The samples of a run, wherever they are.

use tarebench_core::compare::duet::Duet;
use tarebench_core::run::samples::{Kept, SampleSource};
use tarebench_core::sample::data::Sample;
use tarebench_store::{Store, StoreError};

/// The samples of a run: those in a store, then those in memory.
#[derive(Clone, Copy)]
pub struct RunSamples<'a> {
    stored: Option<(&'a dyn Store, i64)>,
    in_memory: Kept<'a>,
}

impl<'a> RunSamples<'a> {
    pub(crate) fn new(stored: Option<(&'a dyn Store, i64)>, in_memory: Kept<'a>) -> RunSamples<'a> {
        RunSamples { stored, in_memory }
    }

    /// Those of a run in a store.
    pub fn stored(store: &'a dyn Store, run: i64) -> RunSamples<'a> {
        RunSamples { stored: Some((store, run)), in_memory: Kept::default() }
    }

    /// All of them in memory, by position in the run: a million take gigabytes.
    pub fn all(&self) -> Result<Vec<Sample>, StoreError> {
        let mut all = match self.stored {
            Some((store, run)) => store.samples(run)?,
            None => Vec::new(),
        };
        all.extend_from_slice(self.in_memory.samples);
        Ok(all)
    }

    /// All duets in memory, by position in the run.
    pub fn duets(&self) -> Result<Vec<Duet>, StoreError> {
        let mut all = Vec::new();
        self.each_duet(&mut |duet| all.push(duet.clone()))?;
        all.sort_unstable_by_key(|duet| duet.seq);
        Ok(all)
    }
}

/// The samples of a stored run without their lists of daemons, for those who need only times.
pub(crate) struct SamplesAlone<'a> {
    pub store: &'a dyn Store,
    pub run: i64,
}

impl SampleSource for SamplesAlone<'_> {
    type Error = StoreError;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), StoreError> {
        self.store.each_sample_alone(self.run, &mut |sample| visit(&sample))
    }

    fn each_duet(&self, visit: &mut dyn FnMut(&Duet)) -> Result<(), StoreError> {
        self.store.each_duet(self.run, &mut |duet| visit(&duet))
    }
}

impl SampleSource for RunSamples<'_> {
    type Error = StoreError;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), StoreError> {
        if let Some((store, run)) = self.stored {
            store.each_sample(run, &mut |sample| visit(&sample))?;
        }
        let Ok(()) = self.in_memory.each(visit);
        Ok(())
    }

    fn each_duet(&self, visit: &mut dyn FnMut(&Duet)) -> Result<(), StoreError> {
        if let Some((store, run)) = self.stored {
            store.each_duet(run, &mut |duet| visit(&duet))?;
        }
        let Ok(()) = self.in_memory.each_duet(visit);
        Ok(())
    }
}
