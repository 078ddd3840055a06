//! What a run's duets say of two programs.

use crate::base::units::Nanos;
use crate::compare::duet::{AloneEvidence, Duet, DuetAccount, NoDuet};
use crate::compare::gang::{GangSlices, GangSummary};
use crate::compare::ratio::verdict_within;
use crate::run::blocks::{DuetTimes, duet_logs, duet_measure, duet_times, duets_end};
use crate::run::data::Run;
use crate::run::report::data::{DuetRatio, MeasureRatio};
use crate::run::report::grouping::{KeptSamples, count};
use crate::sample::data::{Phase, Sample};
use crate::sample::measure::Measure;
use crate::statistics::block_dependence::BlockDependence;
use crate::statistics::intervals::{Interval, LEVEL, median_interval_at};
use crate::statistics::rank_sum::shift_interval;
use crate::statistics::sequential::SequentialDesign;
use crate::statistics::series::{Values, median};
use crate::statistics::signed_rank::{detectable, location};

/// The duets of a run, by program, and what decides whether there are any.
pub(crate) struct RunDuets<'a> {
    run: &'a Run,
    alone: Vec<AloneSamples>,
    programs: Vec<ProgramDuets>,
}

/// Of the executions alone of a program, those that decide, by position in the run.
#[derive(Default)]
struct AloneSamples {
    /// The first counted one, and the last warm-up before it.
    samples: Vec<Sample>,
}

/// The duets of a program with the reference.
#[derive(Default)]
struct ProgramDuets {
    /// Block, position in the run, and times.
    pairs: Vec<(u32, u32, DuetTimes)>,
    /// Of the program and of the reference, where they are known.
    accounts: [Vec<DuetAccount>; 2],
    left_out: u32,
    /// Position in the run of the first duet that ended the duets of these programs, and the program that failed in it.
    failed: Option<(u32, u32)>,
    /// The same of the first that says nothing of them, and why.
    void: Option<(u32, NoDuet)>,
    overlaps: Vec<f64>,
    /// Of those that took turns as gangs: how, and what CPU time of tare that took.
    gangs: Vec<(GangSlices, Nanos)>,
}

impl<'a> RunDuets<'a> {
    pub fn new(run: &'a Run) -> RunDuets<'a> {
        let programs = run.plan.programs.iter().map(|_| ProgramDuets::default()).collect();
        let alone = run.plan.programs.iter().map(|_| AloneSamples::default()).collect();
        RunDuets { run, alone, programs }
    }

    /// Takes note of an execution alone.
    pub fn add_alone(&mut self, sample: &Sample) {
        if self.run.plan.order.has_duets()
            && let Some(alone) = self.alone.get_mut(sample.series as usize)
        {
            alone.add(sample);
        }
    }

    pub fn add(&mut self, duet: &Duet) {
        let [program, reference] = &duet.sides;
        let Some(all) = self.programs.get_mut(program.series as usize) else { return };
        if reference.series != self.run.plan.reference() {
            return;
        }
        if let Some(why) = duet.void {
            if all.void.is_none_or(|first| duet.seq < first.0) {
                all.void = Some((duet.seq, why));
            }
            return;
        }
        match duet_times(&self.run.plan, duet) {
            Some(times) => {
                all.pairs.push((duet.index, duet.seq, times));
                all.overlaps.extend(duet.overlap());
                for (accounts, side) in all.accounts.iter_mut().zip(&duet.sides) {
                    accounts.extend(side.short_account(duet.slices.is_some()));
                }
                all.gangs.extend(duet.slices.iter().map(|slices| (slices.clone(), duet.own.cpu)));
            }
            None => all.left_out = all.left_out.saturating_add(1),
        }
        if let Some(series) = duets_end(&self.run.plan, duet)
            && all.failed.is_none_or(|first| duet.seq < first.0)
        {
            all.failed = Some((duet.seq, series));
        }
    }

    /// Of one program, with intervals of this level; `None` in an order without duets. Of a sequential measurement `design` gives
    /// the interval.
    pub fn ratio(
        &self,
        series: usize,
        kept: [&KeptSamples; 2],
        level: f64,
        design: Option<&SequentialDesign>,
    ) -> Option<Result<DuetRatio, NoDuet>> {
        if !self.run.plan.order.has_duets() {
            return None;
        }
        let all = self.programs.get(series)?;
        if all.pairs.is_empty() && all.left_out == 0 && all.void.is_none() {
            let sides = [count(series), self.run.plan.reference()];
            let times = sides.map(|s| (s, self.alone.get(s as usize).and_then(|a| a.evidence(self.run).times())));
            // Nothing was measured yet, if they suit.
            return self.run.plan.duets(times).err().map(Err);
        }
        let found = all.ratio(kept, level, design, self.run.plan.margin);
        let fails = all.failed.map(|(_, series)| NoDuet::Fails { series });
        match fails.or(all.void.map(|(_, why)| why)) {
            // What there was before says less than the rounds, which go on.
            Some(why) if found.as_ref().is_none_or(|f| f.interval.is_err()) => Some(Err(why)),
            _ => found.map(Ok),
        }
    }
}

impl AloneSamples {
    /// Keeps the few that may decide.
    fn add(&mut self, sample: &Sample) {
        self.samples.push(sample.clone());
        self.samples.sort_unstable_by_key(|s| s.seq);
        let counted = |s: &Sample| s.phase == Phase::Counted;
        // What comes after the first counted one decides nothing; before it, only the last that succeeded.
        if let Some(first) = self.samples.iter().position(|s| counted(s) && s.outcome.success()) {
            self.samples.truncate(first + 1);
        }
        let surplus = self.samples.len().saturating_sub(MOST_ALONE);
        self.samples.drain(..surplus);
    }

    fn evidence(&self, run: &Run) -> AloneEvidence {
        let mut evidence = AloneEvidence::default();
        for sample in &self.samples {
            evidence.add(sample, run.plan.ignore_failure.accepts(&sample.outcome));
        }
        evidence
    }
}

/// So many executions alone are kept of a program whose executions fail.
const MOST_ALONE: usize = 16;

impl ProgramDuets {
    fn ratio(
        &self,
        kept: [&KeptSamples; 2],
        level: f64,
        design: Option<&SequentialDesign>,
        margin: Option<f64>,
    ) -> Option<DuetRatio> {
        let mut pairs = self.pairs.clone();
        pairs.sort_unstable_by_key(|p| (p.0, p.1));
        let measure = duet_measure(pairs.iter().map(|p| &p.2));
        let free = duet_logs(pairs.iter().map(|p| &p.2), measure)?;
        let logs = Values::new(free.logs).ok()?;
        let chosen = measure_ratio(&logs, measure, level, design, margin)?;
        let attained = design.and_then(|d| d.local_level(logs.len())).map_or(level, |(_, level)| level);
        let process = || {
            let logs = Values::new(duet_logs(pairs.iter().map(|p| &p.2), Measure::Pt)?.logs).ok()?;
            measure_ratio(&logs, Measure::Pt, level, design, margin)
        };
        let times = |side: usize| {
            let together = Values::new(pairs.iter().filter_map(|p| p.2.pt.get(side).copied())).ok()?;
            let alone = Values::new(kept.get(side)?.pt.iter().map(|p| p.1)).ok()?;
            Some((together, alone))
        };
        let inflation = [0, 1].map(|side| {
            let (together, alone) = times(side)?;
            Some(median(&together)? / median(&alone)? - 1.0).filter(|i| i.is_finite())
        });
        let inflation_intervals = [0, 1].map(|side| {
            let (together, alone) = times(side)?;
            let logs = |v: &Values| v.as_slice().iter().map(|t| t.ln()).filter(|l| l.is_finite()).collect::<Vec<f64>>();
            shift_interval(&logs(&together), &logs(&alone), LEVEL).ok().map(of_log_ratio)
        });
        Some(DuetRatio {
            measure,
            ratio: chosen.ratio,
            verdict: chosen.verdict,
            interval: chosen.interval,
            process: if measure == Measure::Net { process() } else { None },
            accounts: self.accounts.each_ref().map(|all| median_account(all)),
            sign_interval: median_interval_at(&logs, level).map(exp),
            used: count(pairs.len()),
            left_out: self.left_out,
            first_longer: free.first.map(f64::exp_m1),
            first_interval: free.first_interval.map(of_log_ratio),
            detectable: detectable(&paid(&logs), attained).map(f64::exp_m1),
            overlap: Values::new(self.overlaps.iter().copied()).ok().and_then(|o| median(&o)),
            inflation,
            inflation_intervals,
            gangs: GangSummary::new(&self.gangs),
        })
    }
}

/// Hodges and Lehmann's estimate, with the design's interval in a sequential measurement.
fn measure_ratio(
    logs: &Values,
    measure: Measure,
    level: f64,
    design: Option<&SequentialDesign>,
    margin: Option<f64>,
) -> Option<MeasureRatio> {
    let found = location(logs, level)?;
    let interval = match design {
        None => location(&paid(logs), level)?.interval,
        Some(design) => design.interval_of_series(logs).map(|i| i.reaching(found.estimate)),
    };
    let interval = interval.map(exp);
    Some(MeasureRatio {
        measure,
        ratio: found.estimate.exp(),
        verdict: verdict_within(&interval, margin),
        interval,
        pairs: count(logs.len()),
    })
}

/// Where neighbours are clearly alike, as few independent values would spread that are worth as much.
fn paid(logs: &Values) -> Values {
    BlockDependence::clear(logs).around_middle(logs)
}

/// As a change, 0 for none.
fn of_log_ratio(i: Interval) -> Interval {
    Interval { low: i.low.exp_m1(), high: i.high.exp_m1(), level: i.level }
}

fn exp(i: Interval) -> Interval {
    Interval { low: i.low.exp(), high: i.high.exp(), level: i.level }
}

/// The median of each entry; `None` without any.
fn median_account(all: &[DuetAccount]) -> Option<DuetAccount> {
    let middle = |entry: fn(&DuetAccount) -> Option<f64>| median(&Values::new(all.iter().filter_map(entry)).ok()?);
    Some(DuetAccount {
        net: middle(|a| Some(a.net))?,
        partner: middle(|a| Some(a.partner))?,
        interrupts: middle(|a| Some(a.interrupts))?,
        stolen: middle(|a| a.stolen),
    })
}
