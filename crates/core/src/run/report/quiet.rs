//! What the probes of a run say: the machine's levels and states, and each program's time on the quiet machine.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::quiet::correction::{QuietSample, QuietSeries};
use crate::quiet::data::{MachineStates, NoQuietTime, ProbesSummary, QuietLevels, QuietTime};
use crate::quiet::knowledge::QuietKnowledge;
use crate::quiet::levels::LevelHistory;
use crate::quiet::prior::KnownCoefficients;
use crate::run::data::Run;
use crate::run::identity::program_identity;
use crate::run::report::data::SeriesReport;
use crate::run::report::grouping::{FirstFound, count, place};
use crate::sample::data::{Phase, Sample};

/// The probes of a run, of which only sums and features are kept.
pub(crate) struct RunQuiet<'a> {
    run: &'a Run,
    known: &'a QuietKnowledge,
    /// What this run saw; of revision 0 before its first probes.
    own: LevelHistory,
    levels: Option<QuietLevels>,
    series: Vec<SeriesProbes>,
}

/// Those of the counted samples of a program that succeeded.
#[derive(Default)]
pub(crate) struct SeriesProbes {
    summary: Option<ProbesSummary>,
    /// Numbers of the samples in which the gate's limit was reached.
    limit_reached: Vec<u32>,
    paused: u32,
    absent: FirstFound<Absent>,
    fitted: Option<QuietSeries>,
}

impl SeriesProbes {
    /// In which samples the gate's limit was reached, in order.
    pub fn limit_reached(&self) -> Vec<u32> {
        let mut samples = self.limit_reached.clone();
        samples.sort_unstable();
        samples
    }

    /// How many samples were paused, and how long in all.
    pub fn pauses(&self) -> (u32, Nanos) {
        (self.paused, self.summary.map_or(Nanos::ZERO, |s| s.paused))
    }

    fn add(&mut self, sample: &Sample) {
        let probes = match &sample.probes {
            Reading::Value(probes) => probes,
            Reading::Absent(why) => return self.absent.offer(place(sample), || why.clone()),
        };
        self.summary.get_or_insert_default().add(probes);
        self.paused += u32::from(sample.paused() > Nanos::ZERO);
        if probes.gate.as_ref().is_some_and(|gate| gate.limit_reached) {
            self.limit_reached.push(sample.index);
        }
    }
}

impl<'a> RunQuiet<'a> {
    pub fn new(run: &'a Run, known: &'a QuietKnowledge) -> RunQuiet<'a> {
        let series = run.plan.programs.iter().map(|_| SeriesProbes::default()).collect();
        RunQuiet { run, known, own: LevelHistory::new(0), levels: None, series }
    }

    pub fn series(&self, index: usize) -> Option<&SeriesProbes> {
        self.series.get(index)
    }

    pub fn add(&mut self, sample: &Sample) {
        // A run of an earlier tare has probes of an earlier revision; of two in a run that was resumed, the later one counts,
        // whatever the order of the samples.
        if let Reading::Value(probes) = &sample.probes
            && probes.revision > self.own.revision()
        {
            self.own = LevelHistory::new(probes.revision);
        }
        // Those of the earlier one teach nothing of the levels.
        let _ = self.own.add_sample(sample);
        if self.counts(sample)
            && let Some(series) = self.series.get_mut(sample.series as usize)
        {
            series.add(sample);
        }
    }

    /// Between the readings: the levels are what was known, or else what the run saw. Not those of the history, which later runs
    /// add to.
    pub fn learn(&mut self) {
        let known = self.known.levels.clone().filter(|l| self.own.is_empty() || l.revision == self.own.revision());
        self.levels = known.or_else(|| self.own.levels());
        let Some(levels) = self.levels.as_ref().filter(|_| self.corrects()) else { return };
        let probed = self.series.iter_mut().filter(|s| s.summary.is_some());
        probed.for_each(|s| s.fitted = Some(QuietSeries::new(levels.clone())));
    }

    pub fn correct(&mut self, sample: &Sample) {
        if !self.counts(sample) {
            return;
        }
        let series = self.series.get_mut(sample.series as usize).and_then(|s| s.fitted.as_mut());
        if let Some((series, sample)) = series.zip(QuietSample::of(sample)) {
            series.add(&sample);
        }
    }

    /// Completes the reports of the series; the levels and states are absent if the run has no probes.
    pub fn finish(self, reports: &mut [SeriesReport]) -> (Option<QuietLevels>, Option<MachineStates>) {
        let corrects = self.corrects();
        let mut probed = self.run.plan.probes.is_some();
        for (report, series) in reports.iter_mut().zip(self.series) {
            let asked = self.run.plan.probes.is_some() || series.summary.is_some();
            probed |= asked;
            report.probes = series.summary;
            report.quiet = asked.then(|| {
                let identity = program_identity(&self.run.plan, &report.program);
                let known = KnownCoefficients::of_program(&self.known.coefficients, &identity);
                if corrects { time(series, self.levels.is_some(), &known) } else { Err(NoQuietTime::NotAsked) }
            });
        }
        let history = || self.known.history.as_ref().and_then(LevelHistory::states);
        let states = || history().or_else(|| self.own.states());
        if probed { (self.levels, states()) } else { (None, None) }
    }

    /// Probes that the plan does not have are from an imported run; nobody asked for no correction.
    fn corrects(&self) -> bool {
        self.run.plan.probes.as_ref().is_none_or(|plan| plan.correct)
    }

    fn counts(&self, sample: &Sample) -> bool {
        sample.phase == Phase::Counted && self.run.plan.ignore_failure.accepts(&sample.outcome)
    }
}

fn time(series: SeriesProbes, has_levels: bool, known: &KnownCoefficients) -> Result<QuietTime, NoQuietTime> {
    match (series.fitted, series.absent.into_inner()) {
        (Some(fitted), _) => fitted.time(known),
        (None, Some(why)) if series.summary.is_none() => Err(NoQuietTime::NoProbes { why: why.to_string() }),
        (None, _) if series.summary.is_some() && !has_levels => Err(NoQuietTime::NeverQuiet),
        (None, _) => Err(NoQuietTime::TooFew { samples: count(0) }),
    }
}
