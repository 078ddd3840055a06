//! Measuring the benchmarks of a gate: a probe of each, a first look at all in turn, further looks at the undecided ones.

use crate::compare::document::{BASE, CONTROL, GateDocument, HEAD};
use crate::compare::error::GateError;
use crate::compare::probe::{ProbedBenchmark, choose};
use crate::documents::DocumentError;
use crate::event::{Event, Watch};
use crate::run::samples::RunSamples;
use crate::run::session::{self, MeasuredRun, RunOptions, SessionError, StopReason, StorePlace};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::blocks::{Blocks, blocks};
use tarebench_core::compare::duet::{AloneEvidence, NoDuet};
use tarebench_core::compare::gate::{CorrectedSide, CorrectedSides, GateBenchmark, MeasuredBenchmark, SideTimes};
use tarebench_core::compare::gate_rule;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::documents::progress::GateStep;
use tarebench_core::run::data::Run;
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::plan::{Order, RunCount, RunPlan};
use tarebench_core::run::report::data::{FailedSample, Measure, MeasureReport, RatioBasis, RunReport};
use tarebench_core::run::samples::SampleSource;
use tarebench_core::sample::data::{Outcome, Phase};
use tarebench_core::statistics::sequential::looks;
use tarebench_render::run::terminal::failed::failed;
use tarebench_report::style::Style;
use tarebench_run::runner::RunEvent;
use tarebench_store::{Store, StoreError, content};
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// Blocks of the first look, if there is time for so many.
const FIRST_LOOK: u32 = 10;

/// Why no more is measured.
pub(crate) enum GateHalt {
    /// By this signal.
    Interrupted(i32),
    /// By a failure that concerns all benchmarks.
    Error(GateError),
}

impl From<GateError> for GateHalt {
    fn from(e: GateError) -> GateHalt {
        GateHalt::Error(e)
    }
}

impl From<SessionError> for GateHalt {
    fn from(e: SessionError) -> GateHalt {
        GateHalt::Error(e.into())
    }
}

impl From<StoreError> for GateHalt {
    fn from(e: StoreError) -> GateHalt {
        GateHalt::Error(e.into())
    }
}

/// One session of a gate, from its start or a resumption to its end.
pub(crate) struct GateSession<'a> {
    /// A store; in memory if nothing is kept.
    place: &'a mut StorePlace,
    id: Id,
    /// What the watcher is told of the document.
    shown: Id,
    pub document: GateDocument,
    /// Blocks that each benchmark's run was asked for so far; 0 without a run.
    planned: Vec<u32>,
    /// Ratio of each benchmark so far, and half the width of its interval.
    ratios: Vec<Option<(f64, Option<f64>)>>,
    signals: &'a Signals,
    watch: Watch<'a>,
}

impl<'a> GateSession<'a> {
    pub fn new(
        place: &'a mut StorePlace,
        (id, shown): (Id, Id),
        document: GateDocument,
        signals: &'a Signals,
        watch: Watch<'a>,
    ) -> GateSession<'a> {
        let count = document.gate.plan.benchmarks.len();
        let mut session = GateSession {
            place,
            id,
            shown,
            document,
            planned: vec![0; count],
            ratios: vec![None; count],
            signals,
            watch,
        };
        session.update_ratios();
        session
    }

    /// Measures what is left.
    pub fn run(&mut self) -> Result<(), GateHalt> {
        let count = self.document.gate.plan.benchmarks.len();
        for index in 0..count {
            self.complete(index)?;
        }
        let mut probed = Vec::new();
        for index in (0..count).filter(|i| self.measured(*i).is_some_and(is_new)).collect::<Vec<_>>() {
            // A probe takes time, too.
            if self.has_time(index)
                && let Some(found) = self.probe(index)?
            {
                probed.push((index, found));
            }
        }
        let blocks = self.first_look(&probed);
        for (index, found) in probed {
            if self.has_time(index) {
                let fits = self.left(index).is_none_or(|left| found.expected(blocks) <= left);
                let blocks = if fits { blocks } else { self.fewest() };
                self.look_first(index, found, blocks)?;
            }
        }
        while let Some((index, run, blocks)) = self.next_look() {
            self.look_again(index, run, blocks)?;
        }
        Ok(())
    }

    fn measured(&self, index: usize) -> Option<&MeasuredBenchmark> {
        self.document.gate.measured.get(index)
    }

    fn benchmark(&self, index: usize) -> Option<&GateBenchmark> {
        self.document.gate.plan.benchmarks.get(index)
    }

    fn store(&mut self) -> Result<&mut dyn Store, GateError> {
        let id = self.id;
        self.place.store().ok_or_else(|| DocumentError::NoStore(id).into())
    }

    fn reader(&self) -> Result<&dyn Store, GateError> {
        match &*self.place {
            StorePlace::Store(store) => Ok(&**store),
            StorePlace::Nowhere => Err(DocumentError::NoStore(self.id).into()),
        }
    }

    /// Stores what is there, so that a kill loses nothing of it.
    fn save(&mut self) -> Result<(), GateError> {
        let doc = content(&self.document)?;
        let id = self.id;
        Ok(self.store()?.set_document(id, Status::Unfinished, &doc)?)
    }

    /// What is left of the budgets; `None` without any.
    fn left(&self, index: usize) -> Option<Nanos> {
        let gate = &self.document.gate;
        let spent = |measured: &MeasuredBenchmark| measured.took;
        let of_suite = gate.plan.budget.map(|b| b - gate.measured.iter().map(spent).sum::<Nanos>());
        let own = self.benchmark(index).and_then(|b| b.budget);
        let of_benchmark = own.map(|b| b - self.measured(index).map(spent).unwrap_or_default());
        [of_suite, of_benchmark].into_iter().flatten().min()
    }

    fn has_time(&self, index: usize) -> bool {
        self.left(index).is_none_or(|left| left > Nanos::ZERO)
    }

    /// Blocks without which there is no verdict.
    fn fewest(&self) -> u32 {
        looks(self.document.gate.plan.max_blocks).first().copied().unwrap_or(1)
    }

    /// Blocks of the first look: fewer, if so many of all benchmarks would exceed the suite's budget.
    fn first_look(&self, probed: &[(usize, ProbedBenchmark)]) -> u32 {
        let gate = &self.document.gate;
        let usual = looks(gate.plan.max_blocks).into_iter().rfind(|n| *n <= FIRST_LOOK).unwrap_or(self.fewest());
        let spent: Nanos = gate.measured.iter().map(|m| m.took).sum();
        let expected: Nanos = probed.iter().map(|(_, p)| p.expected(usual)).sum();
        if gate.plan.budget.is_none_or(|b| spent + expected <= b) { usual } else { self.fewest() }
    }

    /// The benchmark to look at next, its run, and the number of blocks after that: of the undecided ones of which another look fits
    /// into the budget, judged by the time that its blocks took so far.
    fn next_look(&self) -> Option<(usize, i64, u32)> {
        let looks = looks(self.document.gate.plan.max_blocks);
        gate_rule::undecided(&self.document.gate).into_iter().find_map(|index| {
            let measured = self.measured(index).filter(|m| m.failed.is_none())?;
            let (run, have) = (measured.run?, self.planned.get(index).copied().filter(|n| *n > 0)?);
            let next = looks.iter().copied().find(|n| *n > have)?;
            let per_block = measured.took.secs() / f64::from(have);
            let expected = Nanos::from_secs_f64(per_block * f64::from(next - have));
            self.left(index).is_none_or(|left| expected <= left).then_some((index, run, next))
        })
    }

    /// After a resumption: completes the run of a benchmark as far as it was asked for. One that was removed is measured anew.
    fn complete(&mut self, index: usize) -> Result<(), GateHalt> {
        let Some(uuid) = self.measured(index).filter(|m| m.failed.is_none()).and_then(|m| m.run_uuid.clone()) else {
            return Ok(());
        };
        let store = self.store()?;
        let Some(found) = store.find_kind(DocumentKind::Run, &uuid)? else {
            self.forget(index);
            return Ok(());
        };
        let run = store.run(found.number)?;
        let blocks = run.plan.max_runs();
        let was_finished = run.status == Status::Finished;
        if !was_finished {
            self.look_again(index, run.id, blocks)?;
        }
        let (found, no_duets) = {
            let stored = session::load(self.reader()?, run.id)?;
            let report = stored.report()?;
            (self.found(index, &stored.run, &report, &stored.samples, &[])?, unsuited(&report))
        };
        if run.plan.order == Order::Duet && blocks <= FIRST_LOOK && no_duets.is_some() {
            // It was to be measured in rounds then.
            self.forget(index);
        } else if was_finished {
            // Only the document was not updated.
            self.keep(index, found, Nanos::ZERO, blocks)?;
        }
        Ok(())
    }

    /// The benchmark is measured anew.
    fn forget(&mut self, index: usize) {
        if let Some(m) = self.document.gate.measured.get_mut(index) {
            *m = MeasuredBenchmark { took: m.took, ..MeasuredBenchmark::default() };
        }
    }

    /// One warm-up and one execution of the base and of the head, alone; nothing is stored of it. `None` if one of them fails.
    fn probe(&mut self, index: usize) -> Result<Option<ProbedBenchmark>, GateHalt> {
        let Some(mut plan) = self.document.run_plans.get(index).cloned() else { return Ok(None) };
        let whole = plan.clone();
        plan.programs.truncate(2);
        (plan.order, plan.runs) = (Order::Rounds, RunCount::Fixed(1));
        // Without it, what waits for a CPU seems to sleep.
        plan.account = true;
        // Nothing is corrected by two executions, and what is paused seems to sleep.
        plan.probes = None;
        let began = clock::monotonic();
        let mut nowhere = StorePlace::Nowhere;
        let measured = self.watched(index, (0, 0), |watch, signals, _| {
            session::measure(plan, &mut nowhere, RunOptions::default(), signals, watch)
        })?;
        let took = clock::monotonic() - began;
        let failure = failure(&measured.report(&nowhere)?, &measured.last_words);
        let (mut executions, mut alone) = (0_i64, [AloneEvidence::default(); 2]);
        measured.samples(&nowhere).each(&mut |sample| {
            executions += 1;
            if let Some(evidence) = alone.get_mut(sample.series as usize).filter(|_| sample.phase != Phase::Warmup) {
                evidence.add(sample, true);
            }
        })?;
        if let Some(m) = self.document.gate.measured.get_mut(index) {
            m.took += took;
            m.failed = failure.clone();
        }
        self.save()?;
        halt(measured.why)?;
        if failure.is_some() {
            return Ok(None);
        }
        let execution = Nanos(took.0 / executions.max(1));
        let (requested, left) = (self.benchmark(index).and_then(|b| b.measure), self.left(index));
        Ok(Some(choose(&whole, requested, alone.map(|a| a.times()), execution, FIRST_LOOK, left)))
    }

    /// The first blocks of a benchmark. Where duets turn out to be impossible, in rounds.
    fn look_first(&mut self, index: usize, probed: ProbedBenchmark, blocks: u32) -> Result<(), GateHalt> {
        let Some(template) = self.document.run_plans.get(index).cloned() else { return Ok(()) };
        let mut orders = vec![(probed.order, probed.no_duets)];
        while let Some((order, no_duets)) = orders.pop() {
            let plan = probed.with_probes(RunPlan { order, runs: RunCount::Fixed(blocks), ..template.clone() });
            let uuid = session::new_uuid();
            if let Some(m) = self.document.gate.measured.get_mut(index) {
                (m.run_uuid, m.measure, m.no_duets) = (Some(uuid.clone()), Some(probed.measure), no_duets);
            }
            // Before the run begins, so that it is found if this process is killed.
            self.save()?;
            let began = clock::monotonic();
            let options = RunOptions { uuid: Some(uuid), ..RunOptions::default() };
            let measured = self.watched(index, (0, blocks), |watch, signals, place| {
                session::measure(plan, place, options, signals, watch)
            })?;
            let report = measured.report(self.place)?;
            if order == Order::Duet
                && let Some(why) = unsuited(&report)
            {
                if let Some(m) = self.document.gate.measured.get_mut(index) {
                    m.took += clock::monotonic() - began;
                }
                halt(measured.why)?;
                orders.push((Order::Random, Some(why)));
                continue;
            }
            self.keep_measured(index, measured, &report, began)?;
        }
        Ok(())
    }

    /// Measures a run on, until it has so many blocks.
    fn look_again(&mut self, index: usize, run: i64, blocks: u32) -> Result<(), GateHalt> {
        let began = clock::monotonic();
        let have = self.planned.get(index).copied().unwrap_or(0);
        let measured = self.watched(index, (have, blocks), |watch, signals, place| {
            session::extend(run, RunCount::Fixed(blocks), place, signals, watch)
        })?;
        let report = measured.report(self.place)?;
        self.keep_measured(index, measured, &report, began)
    }

    fn keep_measured(
        &mut self,
        index: usize,
        measured: MeasuredRun,
        report: &RunReport,
        began: Nanos,
    ) -> Result<(), GateHalt> {
        let took = clock::monotonic() - began;
        let blocks = measured.run.plan.max_runs();
        let found = {
            let samples = measured.samples(self.place);
            self.found(index, &measured.run, report, &samples, &measured.last_words)?
        };
        self.keep(index, found, took, blocks)?;
        halt(measured.why)
    }

    /// What a run says of its benchmark.
    fn found(
        &self,
        index: usize,
        run: &Run,
        report: &RunReport,
        samples: &RunSamples<'_>,
        last_words: &[LastWords],
    ) -> Result<MeasuredBenchmark, StoreError> {
        let before = self.measured(index).cloned().unwrap_or_default();
        let asked = self.benchmark(index).and_then(|b| b.measure);
        let mut head = None;
        // Elapsed time is always known.
        for measure in [before.measure.unwrap_or(Measure::Pt), Measure::Et] {
            if head.as_ref().is_none_or(|b: &Blocks| b.logs.is_empty()) && asked.is_none_or(|asked| asked == measure) {
                head = blocks(run, samples, HEAD, measure)?;
            }
        }
        let measure = head.as_ref().map_or(Measure::Pt, |b| b.measure);
        let control = match self.document.gate.plan.control {
            true => blocks(run, samples, CONTROL, measure)?,
            false => None,
        };
        let none = || "no block gave a ratio".to_owned();
        let is_empty = head.as_ref().is_none_or(|b| b.logs.is_empty());
        let unknown = (is_empty && run.status == Status::Finished).then(none);
        let basis = head.as_ref().map(|b| b.basis).unwrap_or_default();
        let measured_by = head.as_ref().map(|b| b.measure).or(before.measure);
        let (logs, process_logs) = head.map(|b| (b.logs, b.process_logs)).unwrap_or_default();
        Ok(MeasuredBenchmark {
            run: Some(run.id),
            run_uuid: Some(run.uuid.clone()),
            basis,
            measure: measured_by,
            no_duets: before.no_duets,
            logs,
            process_logs,
            control_logs: control.map(|b| b.logs).unwrap_or_default(),
            times: times(report),
            corrected: corrected(report).filter(|_| basis == RatioBasis::Alone),
            failed: failure(report, last_words).or(unknown),
            took: before.took,
        })
    }

    /// Keeps it, in the store too.
    fn keep(&mut self, index: usize, found: MeasuredBenchmark, took: Nanos, blocks: u32) -> Result<(), GateError> {
        if let Some(m) = self.document.gate.measured.get_mut(index) {
            *m = found;
            m.took += took;
        }
        if let Some(planned) = self.planned.get_mut(index) {
            *planned = blocks;
        }
        self.update_ratios();
        self.save()
    }

    fn update_ratios(&mut self) {
        let report = gate_rule::report(&self.document.gate);
        for (ratio, found) in self.ratios.iter_mut().zip(report.benchmarks) {
            let half = found.interval.as_ref().ok().map(|i| i.half_width());
            *ratio = found.ratio.map(|r| (r, half));
        }
    }

    /// Makes a run whose progress is that of the gate: `have` blocks are there, `planned` are there at its end.
    fn watched<T>(
        &mut self,
        index: usize,
        (have, planned): (u32, u32),
        measure: impl FnOnce(Watch<'_>, &Signals, &mut StorePlace) -> T,
    ) -> T {
        let left = self.left(index);
        let plan = &self.document.gate.plan;
        let mut step = GateStep {
            benchmark: index + 1,
            of: plan.benchmarks.len(),
            name: plan.benchmarks.get(index).map_or("", |b| b.name.as_str()),
            blocks: have,
            planned,
            ratio: self.ratios.get(index).copied().flatten(),
            left,
        };
        let (shown, watch, began) = (self.shown, &mut *self.watch, clock::monotonic());
        let mut on = |event: Event<'_>| {
            match &event {
                Event::Run(_, RunEvent::StartingDuet { slot }) => step.blocks = slot.index,
                Event::Run(_, RunEvent::Starting { slot }) if slot.phase == Phase::Counted && planned > 0 => {
                    step.blocks = slot.index;
                }
                Event::Run(_, RunEvent::Starting { .. }) => {}
                Event::Run(_, RunEvent::Warning(_)) => return watch(event),
                _ => return,
            }
            let left = left.map(|left| (left - (clock::monotonic() - began)).max(Nanos::ZERO));
            watch(Event::Gate(Some(shown), GateStep { left, ..step }));
        };
        measure(&mut on, self.signals, self.place)
    }
}

/// Nothing of it was measured yet.
fn is_new(measured: &MeasuredBenchmark) -> bool {
    measured.failed.is_none() && measured.run_uuid.is_none()
}

fn halt(why: StopReason) -> Result<(), GateHalt> {
    match why {
        StopReason::Finished => Ok(()),
        StopReason::Interrupted(signal) => Err(GateHalt::Interrupted(signal)),
        StopReason::NotKept(e) => Err(GateError::NotKept(e).into()),
        StopReason::Failed(e) => Err(GateError::Failed(e).into()),
    }
}

/// How the first program failed, as a sentence without its final stop.
fn failure(report: &RunReport, last_words: &[LastWords]) -> Option<String> {
    failed(report, last_words, &Style::default()).into_iter().next().map(|f| f.text)
}

/// Why base and head had no duets although they were to: a program that failed in duets only (both may need the same file or port),
/// or what the duets themselves found.
fn unsuited(report: &RunReport) -> Option<NoDuet> {
    let failures = report.series.iter().enumerate().flat_map(|(series, s)| s.failures.iter().map(move |f| (series, f)));
    let unaccepted = |f: &(usize, &FailedSample)| !f.1.ignored && f.1.outcome != Outcome::Interrupted;
    let failed: Vec<(usize, &FailedSample)> = failures.filter(unaccepted).collect();
    if let Some((series, _)) = failed.first() {
        let together = failed.iter().all(|(_, f)| f.duet);
        return u32::try_from(*series).ok().filter(|_| together).map(|series| NoDuet::Fails { series });
    }
    let found = report.comparisons.iter().find(|c| c.series == HEAD)?.duets.as_ref()?;
    found.as_ref().err().copied()
}

/// The process times of base and head on the quiet machine, if both could be corrected.
fn corrected(report: &RunReport) -> Option<CorrectedSides> {
    let side = |series: u32| {
        let time = report.series.get(series as usize)?.quiet.as_ref()?.as_ref().ok()?;
        Some(CorrectedSide::from(time))
    };
    Some(CorrectedSides { base: side(BASE)?, head: side(HEAD)? })
}

/// The medians of base and head by each measure that both have.
fn times(report: &RunReport) -> Vec<SideTimes> {
    let (Some(base), Some(head)) = (report.series.get(BASE as usize), report.series.get(HEAD as usize)) else {
        return Vec::new();
    };
    let measures =
        [(Measure::Et, &base.et, &head.et), (Measure::Pt, &base.pt, &head.pt), (Measure::Net, &base.net, &head.net)];
    let both = measures.into_iter().filter_map(|(measure, b, h)| Some((measure, b.value()?, h.value()?)));
    let times = |(measure, base, head): (Measure, &MeasureReport, &MeasureReport)| SideTimes {
        measure,
        base: base.median,
        base_interval: base.median_interval.clone(),
        head: head.median,
        head_interval: head.median_interval.clone(),
        samples: base.retained.min(head.retained),
    };
    both.map(times).collect()
}
