//! The samples of a run that its page shows, which are all of them unless they are very many.

use crate::run::blocks::RunBlocks;
use crate::run::data::Run;
use crate::run::samples::SampleSource;
use crate::sample::data::{Phase, Sample};

/// The most samples of a run that are shown: a page of more would not open in a browser.
pub const MOST_SHOWN: usize = 20_000;

/// What a page shows of a run's samples and duets.
#[derive(Clone, Debug)]
pub struct ShownRun {
    series: Vec<ShownSeries>,
    /// The blocks of all duets.
    pub blocks: RunBlocks,
}

/// The counted samples of a series, by their position in it: all, or evenly spaced pairs of consecutive ones.
#[derive(Clone, Debug, Default)]
pub struct ShownSeries {
    samples: Vec<Sample>,
    counted: u64,
    /// Binary logarithm of the spacing: a pair is shown if its number is a multiple of two to the power of this.
    spacing: u32,
}

impl ShownRun {
    /// Reads what is shown of a run; not more is in memory at any time.
    pub fn read<S: SampleSource + ?Sized>(run: &Run, source: &S) -> Result<ShownRun, S::Error> {
        ShownRun::with_most(run, source, MOST_SHOWN)
    }

    /// As [`ShownRun::read`], with this number as [`MOST_SHOWN`].
    pub fn with_most<S: SampleSource + ?Sized>(run: &Run, source: &S, most: usize) -> Result<ShownRun, S::Error> {
        let mut series = vec![ShownSeries::default(); run.plan.programs.len()];
        let most = (most / series.len().max(1)).max(2);
        source.each(&mut |sample| {
            if sample.phase == Phase::Counted
                && let Some(of) = series.get_mut(sample.series as usize)
            {
                of.add(sample, most);
            }
        })?;
        series.iter_mut().for_each(|of| of.samples.sort_by_key(|s| (s.index, s.seq)));
        let mut blocks = RunBlocks::new(&run.plan);
        source.each_duet(&mut |duet| blocks.add_duet(&run.plan, duet))?;
        Ok(ShownRun { series, blocks })
    }

    /// Of the program at this position of the plan.
    pub fn series(&self, position: usize) -> Option<&ShownSeries> {
        self.series.get(position)
    }
}

impl ShownSeries {
    /// What is shown, by position in the series.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// How many counted samples there are, shown or not.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Whether some of the samples are not shown.
    pub fn is_part(&self) -> bool {
        (self.samples.len() as u64) < self.counted
    }

    fn add(&mut self, sample: &Sample, most: usize) {
        self.counted += 1;
        if !self.shows(sample) {
            return;
        }
        self.samples.push(sample.clone());
        // Halved until it fits. Samples of one number, as in a damaged archive, are not told apart by it.
        while self.samples.len() > most && self.spacing < u32::BITS {
            self.spacing += 1;
            let mut kept = std::mem::take(&mut self.samples);
            kept.retain(|s| self.shows(s));
            self.samples = kept;
        }
        self.samples.truncate(most);
    }

    /// Pairs stay together, because a dual-execution scatter plot is of consecutive executions.
    fn shows(&self, sample: &Sample) -> bool {
        let pair = u64::from(sample.index / 2);
        pair.trailing_zeros() >= self.spacing
    }
}
