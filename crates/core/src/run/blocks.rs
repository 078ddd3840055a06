//! What a run says of two programs, block by block: what a measurement that may stop early decides by.
//!
//! A block holds an execution of each program. Every execution that succeeded counts here, or that the plan accepts.
//! What the checks of the report discard (daemons above their cutoffs, standard deviations) is not left out: that
//! depends on all samples of a run, so that a decision made on the way could not be repeated afterwards.

use crate::compare::duet::{Duet, DuetSide};
use crate::compare::ratio::RatioBasis;
use crate::run::data::Run;
use crate::run::plan::{Order, RunPlan};
use crate::run::samples::SampleSource;
use crate::sample::data::{Outcome, Phase, Sample};
use crate::sample::measure::Measure;
use crate::statistics::series::Values;
use std::collections::BTreeMap;

/// Logarithms of program / reference, one for each block.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    pub basis: RatioBasis,
    pub measure: Measure,
    /// In the order of the blocks.
    pub logs: Vec<f64>,
}

impl Blocks {
    /// The logarithms, to compute with.
    pub fn values(&self) -> Values {
        // Those of positive times are finite.
        Values::new(self.logs.iter().copied()).unwrap_or_default()
    }
}

/// Of one program of a run with its reference: by duets where it has any, else by executions alone of the same round
/// with this measure. `None` without blocks.
///
/// # Errors
/// If the samples cannot be read.
pub fn blocks<S: SampleSource + ?Sized>(
    run: &Run,
    samples: &S,
    series: u32,
    measure: Measure,
) -> Result<Option<Blocks>, S::Error> {
    let mut all = RunBlocks::new(&run.plan);
    samples.each(&mut |sample| all.add(&run.plan, sample))?;
    samples.each_duet(&mut |duet| all.add_duet(&run.plan, duet))?;
    Ok(all.blocks(series, measure))
}

/// The blocks of a run, which may still grow.
#[derive(Clone, Debug)]
pub struct RunBlocks {
    reference: u32,
    programs: Vec<ProgramBlocks>,
}

/// Those of a program, by number.
#[derive(Clone, Debug, Default)]
struct ProgramBlocks {
    /// Times of the execution alone, ns: elapsed, process, net.
    alone: BTreeMap<u32, [Option<f64>; 3]>,
    /// Logarithms of the duets with the reference, by their position in the run, too.
    duets: BTreeMap<(u32, u32), f64>,
    ended: bool,
}

impl RunBlocks {
    /// Without any.
    pub fn new(plan: &RunPlan) -> RunBlocks {
        RunBlocks { reference: plan.reference(), programs: vec![ProgramBlocks::default(); plan.programs.len()] }
    }

    /// Adds an execution alone.
    pub fn add(&mut self, plan: &RunPlan, sample: &Sample) {
        let Some(program) = self.programs.get_mut(sample.series as usize) else { return };
        if sample.phase == Phase::Counted && plan.ignore_failure.accepts(&sample.outcome) {
            let times = [Ok(sample.elapsed()), sample.process_time(), sample.net_time()];
            let times = times.map(|t| t.ok().filter(|t| t.0 > 0).map(|t| t.as_f64()));
            program.alone.entry(sample.index).or_insert(times);
        }
    }

    /// Adds a duet.
    pub fn add_duet(&mut self, plan: &RunPlan, duet: &Duet) {
        let slot = duet.slot();
        let Some(program) = self.programs.get_mut(slot.series as usize) else { return };
        if slot.reference != self.reference {
            return;
        }
        if let Some([time, reference]) = duet_times(plan, duet) {
            program.duets.insert((slot.index, duet.seq), time.ln() - reference.ln());
        }
        program.ended |= duet.void.is_some() || duets_end(plan, duet).is_some();
    }

    /// As [`blocks`].
    pub fn blocks(&self, series: u32, measure: Measure) -> Option<Blocks> {
        let duets = &self.programs.get(series as usize)?.duets;
        if duets.is_empty() {
            return self.rounds(series, measure);
        }
        Some(Blocks { basis: RatioBasis::Duets, measure: Measure::Pt, logs: duets.values().copied().collect() })
    }

    /// By the executions alone, also where there are duets.
    pub fn rounds(&self, series: u32, measure: Measure) -> Option<Blocks> {
        let all = |series: u32| self.programs.get(series as usize).map(|p| &p.alone);
        let (program, reference) = (all(series)?, all(self.reference)?);
        let place = match measure {
            Measure::Et => 0,
            Measure::Pt => 1,
            Measure::Net => 2,
        };
        let time = |times: &[Option<f64>; 3]| times.get(place).copied().flatten();
        let log =
            |(index, times): (&u32, &[Option<f64>; 3])| Some(time(times)?.ln() - time(reference.get(index)?)?.ln());
        let logs: Vec<f64> = program.iter().filter_map(log).collect();
        Some(Blocks { basis: RatioBasis::Alone, measure, logs }).filter(|b| !b.logs.is_empty())
    }

    /// Whether the duets of a program have ended (a failure, or [`Duet::void`]) while its executions alone go on.
    pub fn duets_ended(&self, series: u32) -> bool {
        self.programs.get(series as usize).is_some_and(|p| p.ended)
    }
}

/// Process times of the program and of the reference in a duet, ns; `None` where one of them failed or its time is not
/// known, or where it says nothing of them.
pub fn duet_times(plan: &RunPlan, duet: &Duet) -> Option<[f64; 2]> {
    if duet.void.is_some() {
        return None;
    }
    let time = |side: &DuetSide| {
        let good = plan.ignore_failure.accepts(&side.outcome);
        side.process_time().ok().filter(|pt| good && pt.0 > 0).map(|pt| pt.as_f64())
    };
    let [program, reference] = &duet.sides;
    Some([time(program)?, time(reference)?])
}

/// The program that failed in a duet that nobody asked for, which ends those of both programs.
pub(crate) fn duets_end(plan: &RunPlan, duet: &Duet) -> Option<u32> {
    let failed = |s: &&DuetSide| s.outcome != Outcome::Interrupted && !plan.ignore_failure.accepts(&s.outcome);
    let found = duet.sides.iter().find(failed).filter(|_| plan.order == Order::Auto);
    found.map(|side| side.series)
}
