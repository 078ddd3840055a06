//! Finds what must be pointed out beside the figures.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::compare::ratio::{RatioBasis, Verdict};
use crate::documents::head::Status;
use crate::profile::data::Profile;
use crate::run::blocks::block_means;
use crate::run::data::Run;
use crate::run::notes;
use crate::run::notes::Note;
use crate::run::plan::{Order, RunCount};
use crate::run::report::account::EntryKind;
use crate::run::report::counted::{GoodSample, RunCounts, SeriesCounts};
use crate::run::report::data::{Comparison, FailedSample, Measure, SeriesReport, SurvivorSummary};
use crate::run::report::findings::{NameCount, Remark, RemarkKind};
use crate::run::report::grouping::{KeptSamples, count, reference};
use crate::run::report::quiet::{RunQuiet, SeriesProbes};
use crate::run::stopping::{DetectInterval, DetectRule, PrecisionRule};
use crate::sample::data::Outcome;
use crate::statistics::intervals::{FEWEST, Interval};
use crate::statistics::steadiness::{Unsteadiness, coarse_clock, unsteadiness};

/// Elapsed time above this many times the process time gives a remark.
const FAR_ABOVE: f64 = 1.5;
/// Share of the gross that may be unattributed without a remark.
const UNATTRIBUTED: f64 = 0.001;
/// Share of all CPUs' time that may be steal time without a remark.
const STEAL_SHARE: f64 = 0.005;

/// All that remarks are made from.
pub(crate) struct RemarkContext<'a> {
    pub run: &'a Run,
    pub counted: &'a RunCounts<'a>,
    pub series: &'a [SeriesReport],
    pub comparisons: &'a [Comparison],
    pub control: Option<&'a Comparison>,
    /// The rule that ended the run, if differences were to be detected.
    pub detect: Option<&'a DetectRule>,
    pub kept: &'a [KeptSamples],
    pub profile: Option<&'a Profile>,
    pub quiet: &'a RunQuiet<'a>,
}

/// Collects remarks; `series` is what they are about.
struct RemarkBuilder {
    series: Option<u32>,
    remarks: Vec<Remark>,
}

impl RemarkBuilder {
    fn add(&mut self, kind: RemarkKind) {
        self.remarks.push(Remark { series: self.series, kind });
    }
}

/// Remarks on the whole run, then on each series in order.
pub(crate) fn all(c: &RemarkContext) -> Vec<Remark> {
    let mut builder = RemarkBuilder { series: None, remarks: Vec::new() };
    completeness(c, &mut builder);
    process_time_source(c.run, &mut builder);
    noted(c.run, &mut builder);
    profile(c, &mut builder);
    comparison(c, &mut builder);
    control(c, &mut builder);
    detect(c, &mut builder);
    for (group, report) in c.counted.series.iter().zip(c.series) {
        builder.series = Some(count(group.index));
        outcomes(group, report, &mut builder);
        unseen_by_source(group, &mut builder);
        limits(group, &mut builder);
        retained(group, report, &mut builder);
        steadiness(c, group, &mut builder);
        adaptive(c.run, group, &mut builder);
        daemons(group, report, &mut builder);
        survivors(report, &mut builder);
        let probes = c.quiet.series(group.index);
        waiting(group, report, probes, &mut builder);
        account(report, &mut builder);
        steal(c.run, group, &mut builder);
        clocks(group, &mut builder);
        probes.iter().for_each(|p| gate(group, p, &mut builder));
    }
    builder.remarks
}

fn completeness(c: &RemarkContext, builder: &mut RemarkBuilder) {
    if c.counted.strays > 0 {
        builder.add(RemarkKind::Strays { samples: c.counted.strays });
    }
    let status = c.run.status;
    if status != Status::Finished {
        let counted = c.counted.series.iter().map(|g| u64::from(g.counted)).sum();
        builder.add(RemarkKind::Incomplete { status, run: c.run.id, counted });
    }
}

fn process_time_source(run: &Run, builder: &mut RemarkBuilder) {
    if run.pt_source.misses().is_some() {
        builder.add(RemarkKind::Source { source: run.pt_source, notes: run.pt_source_notes.clone() });
    }
}

/// What was noted of the machine and of the shells.
fn noted(run: &Run, builder: &mut RemarkBuilder) {
    if let Some(tuning) = notes::tuning(&run.notes) {
        builder.add(RemarkKind::Tuned { what: tuning.summary.clone() });
    }
    let (mut starts, mut words, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for note in &run.notes {
        match note {
            Note::Shell { starts: more } => starts.extend(more.iter().cloned()),
            Note::Text { key, text } if key == "shell" => words.push(text.clone()),
            Note::Changed { changes: more } => changes.extend(more.iter().cloned()),
            _ => {}
        }
    }
    if !starts.is_empty() || !words.is_empty() {
        builder.add(RemarkKind::Shell { starts, words });
    }
    if !changes.is_empty() {
        builder.add(RemarkKind::Changed { changes });
    }
}

fn profile(c: &RemarkContext, builder: &mut RemarkBuilder) {
    let Some(p) = c.profile else { return };
    let host = &c.run.host;
    for doubt in p.doubts(c.run.created, &host.machine, &host.kernel, host.cpus) {
        builder.add(RemarkKind::Profile { profile: p.label(), doubt });
    }
}

fn comparison(c: &RemarkContext, builder: &mut RemarkBuilder) {
    if c.series.len() < 2 {
        return;
    }
    if c.run.plan.sequential_for_setups() {
        builder.add(RemarkKind::SequentialForSetups);
    } else if c.run.plan.order == Order::Sequential {
        builder.add(RemarkKind::Sequential);
    }
    if let Some(executions) = c.counted.in_block {
        builder.add(RemarkKind::ShortBlocks { executions, programs: count(c.series.len()) });
    }
    let base = reference(c.run);
    for (i, kept) in c.kept.iter().enumerate() {
        let done = c.comparisons.iter().chain(c.control).any(|x| x.series as usize == i);
        if i != base && !done && !kept.et.is_empty() {
            builder.series = Some(count(i));
            builder.add(RemarkKind::NotComparable);
        }
    }
    for comparison in c.comparisons {
        builder.series = Some(comparison.series);
        by_elapsed(comparison, builder);
    }
    builder.series = None;
}

/// The reference must not differ from itself: what makes it do so, may make the others differ, too.
fn control(c: &RemarkContext, builder: &mut RemarkBuilder) {
    let Some(control) = c.control else { return };
    if let Ok(interval) = control.interval.as_ref()
        && !interval.contains(1.0)
    {
        let (reference, ratio, interval) = (control.reference, control.ratio, interval.clone());
        builder.add(RemarkKind::ControlDiffers { reference, ratio, interval });
    }
}

/// By the same intervals that ended the measurement; programs that failed did not prolong it.
fn detect(c: &RemarkContext, builder: &mut RemarkBuilder) {
    let (Some(rule), RunCount::Detect { difference, max }) = (c.detect, c.run.plan.runs) else { return };
    let unasked = c.run.plan.order == Order::Auto;
    let ends = |f: &FailedSample| !f.ignored && f.outcome != Outcome::Interrupted && !(f.duet && unasked);
    let base = reference(c.run);
    let programs = c.series.iter().enumerate().filter(|(i, s)| *i != base && !s.failures.iter().any(ends));
    let found: Vec<DetectInterval> = programs.filter_map(|(i, _)| rule.interval(count(i))).collect();
    let Some(blocks) = found.iter().map(|f| f.blocks.logs.len()).min() else { return };
    let most = found.iter().map(|f| f.blocks.logs.len()).max().unwrap_or(blocks);
    let widths: Option<Vec<f64>> = found.iter().map(|f| f.interval.as_ref().ok().map(Interval::half_width)).collect();
    let by_duets = found.iter().all(|f| f.blocks.basis == RatioBasis::Duets);
    builder.add(RemarkKind::Detect {
        asked: difference,
        reached: widths.map(|all| all.into_iter().fold(0.0, f64::max)),
        basis: if by_duets { RatioBasis::Duets } else { RatioBasis::Alone },
        blocks: count(blocks),
        most: max,
        looks: count(rule.design().looks_with(most)),
    });
}

/// Programs that wait may differ in elapsed time alone, and parallel ones in the other direction.
fn by_elapsed(c: &Comparison, builder: &mut RemarkBuilder) {
    let Some(other) = c.by(Measure::Et).filter(|e| e.verdict != c.verdict && e.verdict != Verdict::Undecided) else {
        return;
    };
    builder.add(RemarkKind::ByElapsed {
        reference: c.reference,
        ratio: other.ratio,
        interval: other.interval.clone(),
        elapsed: other.verdict,
        process: c.verdict,
    });
}

fn outcomes(group: &SeriesCounts, report: &SeriesReport, builder: &mut RemarkBuilder) {
    if group.counted == 0 {
        builder.add(RemarkKind::NoSamples);
        return;
    }
    let of = u64::from(group.counted);
    let all = || report.failures.iter().filter(|f| f.is_counted() && f.outcome != Outcome::Interrupted);
    if let Some(first) = all().next() {
        let failed = all().count() as u64;
        let accepted = report.failures.iter().filter(|f| f.ignored && f.is_counted()).count() as u64;
        let accepted = accepted.min(failed);
        builder.add(RemarkKind::Failures { failed, accepted, of, first: first.outcome.clone() });
    }
    if let Some(why) = group.no_process_time.get() {
        let missing = group.good.iter().filter(|s| s.pt.is_none()).count() as u64;
        let of = group.good.len() as u64;
        builder.add(RemarkKind::NoProcessTime { missing, of, why: why.clone() });
    }
}

/// What the run's source did not see of the program.
fn unseen_by_source(group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let of = count(group.good.len());
    if let (samples, Some(first)) = (group.replaced.0, group.replaced.1.get()) {
        builder.add(RemarkKind::Replaced { samples, of, first: *first });
    }
    if let (samples, Some(to)) = (group.moved.0, group.moved.1.get()) {
        builder.add(RemarkKind::LeftCgroup { samples, of, to: to.clone() });
    }
}

/// What limits of the program's cgroups did to it.
fn limits(group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let of = count(group.good.len());
    if let (samples, Some(first)) = (group.out_of_memory.0, group.out_of_memory.1.get()) {
        builder.add(RemarkKind::OutOfMemory { samples, of, first: first.clone() });
    }
    let held = &group.throttled;
    if let Some(cgroup) = held.cgroup.get() {
        let (samples, time, cgroup) = (held.samples, held.time.as_f64(), cgroup.clone());
        builder.add(RemarkKind::Throttled { samples, of, time, cgroup });
    }
}

fn retained(group: &SeriesCounts, report: &SeriesReport, builder: &mut RemarkBuilder) {
    for (measure, reading) in [(Measure::Pt, &report.pt), (Measure::Et, &report.et)] {
        match reading {
            Reading::Value(m) if !m.trustworthy => {
                builder.add(RemarkKind::NotTrustworthy { measure, retained: m.retained, of: m.samples });
            }
            Reading::Absent(why) if !group.good.is_empty() && report.et.value().is_none() => {
                builder.add(RemarkKind::NoTime { measure, why: why.clone() });
            }
            _ => {}
        }
    }
    let all = [(Measure::Pt, &report.pt), (Measure::Et, &report.et), (Measure::Net, &report.net)];
    let few = all.into_iter().filter_map(|(measure, r)| Some((measure, r.value()?.retained))).filter(|m| m.1 < FEWEST);
    let (measures, counts): (Vec<Measure>, Vec<u32>) = few.unzip();
    if let Some(least) = counts.iter().min() {
        builder.add(RemarkKind::NoIntervals { measures, retained: *least, needed: FEWEST });
    }
}

/// Of all samples that count: what is discarded may be the disturbance. By process time, where there is one.
fn steadiness(c: &RemarkContext, group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let by = |measure, time: fn(&GoodSample) -> Option<Nanos>| {
        let timed: Vec<(&GoodSample, Nanos)> = group.good.iter().filter_map(|s| Some((s, time(s)?))).collect();
        Some((measure, timed)).filter(|(_, timed)| !timed.is_empty())
    };
    let Some((measure, timed)) = by(Measure::Pt, |s| s.pt).or_else(|| by(Measure::Et, |s| Some(s.elapsed))) else {
        return;
    };
    let clock = coarse_clock(&timed.iter().map(|(_, time)| time.0).collect::<Vec<i64>>());
    let tick = if let Some(Unsteadiness::Ticks { tick, .. }) = clock { tick } else { 0.0 };
    let blocks = c.counted.in_block.is_some();
    let place = |s: &GoodSample| if blocks { s.block } else { s.index };
    let times: Vec<(u32, f64)> = timed.iter().map(|(s, time)| (place(s), time.as_f64())).collect();
    let means = if blocks { block_means(&times) } else { times };
    let values: Vec<f64> = means.iter().map(|m| m.1).collect();
    let sample_at = |at: u32| {
        let wanted = means.get(at as usize).map(|m| m.0);
        timed.iter().find(|(s, _)| Some(place(s)) == wanted).map_or(at, |(s, _)| s.index)
    };
    let found = unsteadiness(&values, tick, c.run.plan.seed, group.index as u64);
    for found in found.into_iter().map(|f| f.in_samples(sample_at)).chain(clock) {
        builder.add(RemarkKind::Unsteady { measure, blocks, found });
    }
}

/// By the same figure that ended the series: of all successful samples, not only of the retained ones.
fn adaptive(run: &Run, group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let RunCount::Adaptive { precision, .. } = run.plan.runs else { return };
    let mut rule = PrecisionRule::default();
    group.good.iter().for_each(|s| rule.add(s.block, s.elapsed, s.pt));
    builder.add(RemarkKind::Precision {
        samples: u64::from(group.counted),
        asked: precision,
        measure: rule.measure(),
        reached: rule.reached(&run.plan, count(group.index)).filter(|w| w.is_finite()),
    });
}

fn daemons(group: &SeriesCounts, report: &SeriesReport, builder: &mut RemarkBuilder) {
    if let Some((samples, why)) = &report.daemons_incomplete {
        let of = group.good.len() as u64;
        builder.add(RemarkKind::DaemonsIncomplete { samples: *samples, of, why: why.clone() });
    }
}

fn survivors(report: &SeriesReport, builder: &mut RemarkBuilder) {
    let list = |n: fn(&SurvivorSummary) -> u32| {
        let some = report.survivors.iter().filter(|s| n(s) > 0);
        let names: Vec<_> = some.map(|s| NameCount { name: s.name.clone(), count: n(s) }).collect();
        Some(names).filter(|names| !names.is_empty())
    };
    if let Some(names) = list(|s| s.not_ended) {
        builder.add(RemarkKind::NotEnded { names });
    }
    if let Some(names) = list(|s| s.count.saturating_sub(s.left).saturating_sub(s.not_ended)) {
        builder.add(RemarkKind::Ended { names });
    }
    if let Some(names) = list(|s| s.left) {
        builder.add(RemarkKind::LeftRunning { names });
    }
}

/// What makes an account say less than it seems to.
fn account(report: &SeriesReport, builder: &mut RemarkBuilder) {
    let Reading::Value(a) = &report.account else { return };
    if let Some((samples, why)) = &a.incomplete {
        builder.add(RemarkKind::AccountIncomplete { samples: *samples, of: a.samples, why: why.clone() });
    }
    let rest = a.elapsed.iter().find(|e| e.kind == EntryKind::Unattributed).map_or(0.0, |e| e.time);
    if rest.abs() > (UNATTRIBUTED * a.gross).max(20e3) {
        let share = Some(rest / a.gross).filter(|s| s.is_finite());
        builder.add(RemarkKind::Unattributed { time: rest, share });
    }
}

/// Without the pauses of the gate, which are named apart.
fn waiting(group: &SeriesCounts, report: &SeriesReport, probes: Option<&SeriesProbes>, builder: &mut RemarkBuilder) {
    let both = group.good.iter().filter_map(|s| Some((s.elapsed, s.pt?)));
    let (et, pt) = both.fold((0.0, 0.0), |(e, p), (et, pt)| (e + et.as_f64(), p + pt.as_f64()));
    let et = et - probes.map_or(0.0, |p| p.pauses().1.as_f64());
    if pt <= 0.0 || et <= FAR_ABOVE * pt {
        return;
    }
    let d = &report.difference;
    builder.add(RemarkKind::Waiting {
        ratio: et / pt,
        accounted: report.account.value().is_some(),
        daemons: d.daemons.clone(),
        steal: d.steal.clone(),
    });
}

fn steal(run: &Run, group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let (et, stolen) = group.stolen;
    let capacity = et.as_f64() * f64::from(run.host.cpus.max(1));
    if capacity > 0.0 && stolen.as_f64() > STEAL_SHARE * capacity {
        builder.add(RemarkKind::Steal { time: stolen.as_f64(), share: stolen.as_f64() / capacity });
    }
}

fn gate(group: &SeriesCounts, probes: &SeriesProbes, builder: &mut RemarkBuilder) {
    let of = count(group.good.len());
    let samples = probes.limit_reached();
    if !samples.is_empty() {
        builder.add(RemarkKind::GateLimit { samples, of });
    }
    let (samples, time) = probes.pauses();
    if samples > 0 {
        builder.add(RemarkKind::Paused { samples, of, time: time.as_f64() });
    }
}

/// What happened to the machine's clocks inside samples. These are kept: CLOCK_MONOTONIC stands still during a suspend and cannot
/// be set, so elapsed time is right; but after a suspend caches and CPUs are cold.
fn clocks(group: &SeriesCounts, builder: &mut RemarkBuilder) {
    let shifts = || group.clock_shifts.iter().map(|((index, _), shift)| (*index, shift));
    let suspends: Vec<_> = shifts().filter_map(|(i, shift)| Some((i, shift.suspend()?))).collect();
    if !suspends.is_empty() {
        let time: Nanos = suspends.iter().map(|s| s.1).sum();
        let samples = suspends.iter().map(|s| s.0).collect();
        builder.add(RemarkKind::Suspended { samples, time: time.as_f64() });
    }
    let steps: Vec<_> = shifts().filter_map(|(i, shift)| Some((i, shift.step()?))).collect();
    if let Some((_, step)) = steps.iter().max_by_key(|s| s.1.0.unsigned_abs()) {
        let samples = steps.iter().map(|s| s.0).collect();
        builder.add(RemarkKind::ClockSet { samples, step: step.as_f64() });
    }
}
