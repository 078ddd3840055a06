//! What the variance of process time is made of: the question that EMP section 8 leaves open ("the origin of the shape of these
//! curves is entirely unknown").
//!
//! First what is exact. Process time is net time, plus interrupts and stolen time that the kernel charged to the program
//! ([`tarebench_core::sample::account`]). A part's share of the variance is its covariance with process time over the variance of process
//! time; the three shares add up to one, and a share is negative where the part is larger when process time is smaller.
//!
//! Then what is estimated. The share of net time is divided by a regression of net time on what else is known of each execution:
//! how often it was preempted, its page faults, its clock speed, where its stack lay, how times of its neighbours drift. Each
//! has the mean of what it adds over all orders ([`regression_shares`]). The rest is left unexplained. Without an account process time
//! itself is divided in this way. All is of one program at one length: an association over executions, not an experiment.

use crate::data::cells::StudyPreset;
use crate::data::dual::{dual_run, halves};
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, condition_labels, long_enough};
use serde::{Deserialize, Serialize};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::run::discards::RELAXED;
use tarebench_core::sample::account::Ledger;
use tarebench_core::sample::counters::Counter;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::process_time::PtSource;
use tarebench_core::statistics::blocks::{block_length, draw_blocks, lag_one, resamples};
use tarebench_core::statistics::correlation::within;
use tarebench_core::statistics::decomposition::{covariance_shares, regression_shares};
use tarebench_core::statistics::intervals::{Interval, LEVEL, expanded_tail};
use tarebench_core::statistics::random::{RandomPurpose, generator};
use tarebench_core::statistics::series::{Values, median_of_sorted, summary};
use tarebench_core::statistics::trend::trend;

/// Fewest samples of which a variance is divided.
const FEWEST: usize = 30;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 400;
/// The account is used if at least this part of the samples has a complete one; the others are left out.
const MOST: f64 = 0.9;
/// Bytes after which the layout of a stack repeats: its alignment to pages.
const PAGE: f64 = 4096.0;

/// Where a part of the variance comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VarianceCause {
    Interrupts,
    /// Time that the hypervisor took.
    Steal,
    /// What follows being preempted: cold caches. (Waiting itself is not process time.)
    Preemptions,
    Faults,
    /// Cycles took longer or shorter.
    ClockSpeed,
    /// What changes slowly and moves neighbouring samples together: temperature, clock speed, other guests.
    Drift,
    /// Where the stack lay, by the environment's length.
    Layout,
    /// Which physical pages the program got.
    PagePlacement,
    Unexplained,
}

impl VarianceCause {
    /// All, in the order of tables.
    pub const ALL: [VarianceCause; 9] = [
        VarianceCause::Interrupts,
        VarianceCause::Steal,
        VarianceCause::Preemptions,
        VarianceCause::Faults,
        VarianceCause::ClockSpeed,
        VarianceCause::Drift,
        VarianceCause::Layout,
        VarianceCause::PagePlacement,
        VarianceCause::Unexplained,
    ];
}

/// How a share is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOrigin {
    /// From the account, by covariance.
    Exact,
    /// The kernel does not charge it to programs, so that process time has none of it.
    NotCharged,
    Regression,
    /// It was the same in all samples, so that it explains nothing.
    Constant,
    /// What the others leave.
    Remainder,
}

/// A share of the variance of process time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownShare {
    /// All known ones add up to 1; negative where process time is shorter when there is more of it, or by chance.
    pub share: f64,
    /// By a bootstrap of blocks; `None` for what is 0 by construction.
    pub interval: Option<Interval>,
    pub origin: ShareOrigin,
}

/// One of the causes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceShare {
    pub cause: VarianceCause,
    pub share: Reading<KnownShare>,
}

/// The variance of these samples, divided; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceSplit {
    pub samples: u32,
    pub mean: f64,
    pub std_dev: f64,
    /// Of net time, if there are accounts.
    pub net_std_dev: Option<f64>,
    /// Of the interrupts and of the stolen time in process time.
    pub charged_std_dev: Option<f64>,
    /// By cause, as [`VarianceCause::ALL`].
    pub shares: Vec<VarianceShare>,
    /// Part of the variance that both halves of an execution share, for programs that print their halves: 4 cov(first, second) /
    /// var(first + second). What concerns an execution as a whole (layout, placement, slow drift) is in it.
    pub between: Option<KnownShare>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceRow {
    pub condition: String,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    pub all: VarianceSplit,
    pub trimmed: Option<VarianceSplit>,
    pub removed: u32,
    /// Samples without process time, or without a complete account where most have one.
    pub left_out: u32,
}

/// What the variance of process time is made of, by task length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceReport {
    /// Standard deviations beyond which a sample is an outlier.
    pub s: f64,
    pub rows: Vec<VarianceRow>,
    /// Programs with fewer than 30 samples, or whose process time does not vary.
    pub without: Vec<String>,
}

/// Three minutes; an hour; the lengths of EMP figure 17, with its numbers of samples. The programs print their halves.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => vec![dual_run(&[0.0625, 0.125, 0.25, 0.5], 150)],
        StudyPreset::Hour => vec![dual_run(&[0.125, 0.25, 0.5, 1.0, 2.0], 750)],
        StudyPreset::Paper => {
            let samples = |l: f64| {
                if l > 4096.0 {
                    40
                } else if l > 64.0 {
                    300
                } else {
                    1000
                }
            };
            (0..=14).map(|i| 2_f64.powi(i)).map(|l| dual_run(&[l], samples(l))).collect()
        }
    }
}

/// The variance of all series, divided.
///
/// # Errors
/// [`StudyGap`] if no series has 30 samples with a process time that varies.
pub fn report(series: &[StudySeries<'_>]) -> Result<VarianceReport, StudyGap> {
    let usable = long_enough(series, FEWEST)?;
    let labels = condition_labels(&usable);
    let (mut rows, mut without) = (Vec::new(), Vec::new());
    for ((s, condition), item) in usable.iter().zip(labels).zip(0_u64..) {
        match row(s, condition, item * 4) {
            Some(row) => rows.push(row),
            None => without.push(s.program.label.clone()),
        }
    }
    if rows.is_empty() {
        let label = without.into_iter().next().unwrap_or_default();
        return Err(StudyGap::Lacking { label, what: "a process time that varies".to_owned() });
    }
    without.extend(series.iter().filter(|s| s.samples.len() < FEWEST).map(|s| s.program.label.clone()));
    rows.sort_by(|a: &VarianceRow, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)));
    Ok(VarianceReport { s: RELAXED, rows, without })
}

fn row(series: &StudySeries<'_>, condition: String, item: u64) -> Option<VarianceRow> {
    let timed: Vec<&Sample> = series.samples.iter().copied().filter(|s| s.process_time().is_ok()).collect();
    let complete: Vec<&Sample> = timed.iter().copied().filter(|s| s.net_time().is_ok()).collect();
    let accounted = complete.len() >= FEWEST && complete.len() as f64 >= MOST * timed.len() as f64;
    let used = if accounted { complete } else { timed };
    let times: Vec<f64> = used.iter().filter_map(|s| s.process_time().ok()).map(|t| t.as_f64()).collect();
    let keep = within(&times, RELAXED);
    let kept: Vec<&Sample> = used.iter().copied().zip(&keep).filter(|(_, k)| **k).map(|(s, _)| s).collect();
    let removed = used.len() - kept.len();
    Some(VarianceRow {
        condition,
        label: series.program.label.clone(),
        size: series.size(),
        all: split(&used, accounted, item)?,
        trimmed: if removed > 0 { split(&kept, accounted, item + 2) } else { None },
        removed: u32::try_from(removed).unwrap_or(u32::MAX),
        left_out: u32::try_from(series.samples.len() - used.len()).unwrap_or(u32::MAX),
    })
}

/// Interrupts and stolen time that `source` charged to the program, ns; stolen time is `None` where it is charged and not known.
fn charged(sample: &Sample) -> Option<(f64, Option<f64>)> {
    let account = sample.account.value()?;
    let all = sample.process_times.value().map(|p| p.source) == Some(PtSource::TaskClock);
    let ledgers = || [&account.outside, &account.main, &account.others].into_iter().skip(usize::from(all));
    let sum = |part: fn(&Ledger) -> f64| ledgers().map(part).sum::<f64>();
    let interrupts = if all || account.interrupts_charged { sum(|l| l.interrupted().as_f64()) } else { 0.0 };
    if !(all || account.stolen_charged) {
        return Some((interrupts, Some(0.0)));
    }
    let known = ledgers().all(|l| l.stolen.value().is_some());
    Some((interrupts, known.then(|| sum(|l| l.stolen().as_f64()))))
}

/// Whether the kernel, or the source of process time, charges interrupts to the program.
fn contains_interrupts(sample: &Sample) -> bool {
    let task_clock = sample.process_times.value().is_some_and(|p| p.source == PtSource::TaskClock);
    task_clock || sample.account.value().is_some_and(|a| a.interrupts_charged)
}

/// What is divided, and by what.
struct VarianceInput {
    /// Net time, charged interrupts and charged stolen time; or process time alone.
    parts: Vec<Vec<f64>>,
    /// What the first part depends on.
    predictors: Vec<(VarianceCause, Vec<Vec<f64>>)>,
    /// Causes that are known without either.
    others: Vec<(VarianceCause, Reading<KnownShare>)>,
}

fn constant(origin: ShareOrigin) -> Reading<KnownShare> {
    Reading::Value(KnownShare { share: 0.0, interval: None, origin })
}

impl VarianceInput {
    fn new(samples: &[&Sample], accounted: bool) -> VarianceInput {
        let mut input = VarianceInput { parts: Vec::new(), predictors: Vec::new(), others: Vec::new() };
        input.exact(samples, accounted);
        let rest = input.parts.first().cloned().unwrap_or_default();
        if input.parts.len() < 3 || !varies(input.parts.get(2)) {
            input.predictor(VarianceCause::Steal, stolen(samples, accounted));
        }
        input.predictor(VarianceCause::Preemptions, preemptions(samples, accounted));
        input.predictor(VarianceCause::Faults, faults(samples));
        input.predictor(VarianceCause::ClockSpeed, cycle_length(samples, &rest));
        input.predictor(VarianceCause::Drift, Ok(vec![trend(&rest).at]));
        input.predictor(VarianceCause::Layout, Ok(layout(samples)));
        let unknown = "the kernel does not report which physical pages a process has had".to_owned();
        input.others.push((VarianceCause::PagePlacement, Reading::Absent(Absent::NotSupported(unknown))));
        input
    }

    /// The parts that add up to process time.
    fn exact(&mut self, samples: &[&Sample], accounted: bool) {
        let times = || samples.iter().filter_map(|s| s.process_time().ok()).map(|t| t.as_f64());
        let parts: Option<Vec<(f64, f64)>> =
            samples.iter().map(|s| charged(s).and_then(|(i, s)| Some((i, s?)))).collect();
        let Some(parts) = parts.filter(|_| accounted) else {
            let why = samples.iter().find_map(|s| s.net_time().err());
            let why = why.unwrap_or_else(|| Absent::NotSupported("stolen time of single tasks".to_owned()));
            self.others.push((VarianceCause::Interrupts, Reading::Absent(why)));
            self.parts = vec![times().collect()];
            return;
        };
        let (interrupts, stolen): (Vec<f64>, Vec<f64>) = parts.into_iter().unzip();
        let net = times().zip(&interrupts).zip(&stolen).map(|((t, i), s)| t - i - s).collect();
        if !varies(Some(&interrupts)) {
            let origin = if samples.iter().any(|s| contains_interrupts(s)) {
                ShareOrigin::Constant
            } else {
                ShareOrigin::NotCharged
            };
            self.others.push((VarianceCause::Interrupts, constant(origin)));
        }
        self.parts = vec![net, interrupts, stolen];
    }

    /// Adds a quantity, if it is known of all samples and varies.
    fn predictor(&mut self, cause: VarianceCause, columns: Result<Vec<Vec<f64>>, Absent>) {
        match columns {
            Err(why) => self.others.push((cause, Reading::Absent(why))),
            Ok(columns) if columns.iter().any(|c| varies(Some(c))) => self.predictors.push((cause, columns)),
            Ok(_) => self.others.push((cause, constant(ShareOrigin::Constant))),
        }
    }

    /// Shares of the causes at these positions of the samples, in the order of [`VarianceInput::causes`].
    fn shares(&self, positions: &[usize]) -> Option<Vec<f64>> {
        let at = |column: &Vec<f64>| positions.iter().filter_map(|i| column.get(*i)).copied().collect::<Vec<f64>>();
        let parts: Vec<Vec<f64>> = self.parts.iter().map(at).collect();
        let exact = covariance_shares(&parts)?;
        let (net, charged) = exact.split_first()?;
        let quantities: Vec<Vec<Vec<f64>>> =
            self.predictors.iter().map(|(_, columns)| columns.iter().map(at).collect()).collect();
        let found = regression_shares(parts.first()?, &quantities);
        // A net time that does not vary has nothing to explain.
        let estimated = found.as_ref().map_or_else(|| vec![0.0; quantities.len()], |f| f.shares.clone());
        let explained = found.map_or(0.0, |f| f.explained);
        let estimated = estimated.iter().map(|s| s * net);
        Some(charged.iter().copied().chain(estimated).chain([net * (1.0 - explained)]).collect())
    }

    /// The causes whose shares are computed.
    fn causes(&self) -> Vec<(VarianceCause, ShareOrigin)> {
        let exact = [VarianceCause::Interrupts, VarianceCause::Steal].map(|c| (c, ShareOrigin::Exact));
        let exact = exact.into_iter().take(self.parts.len().saturating_sub(1));
        let estimated = self.predictors.iter().map(|(c, _)| (*c, ShareOrigin::Regression));
        exact.chain(estimated).chain([(VarianceCause::Unexplained, ShareOrigin::Remainder)]).collect()
    }
}

fn varies(column: Option<&Vec<f64>>) -> bool {
    column.is_some_and(|c| c.windows(2).any(|w| matches!(w, [a, b] if a != b)))
}

/// A number of every sample, or why one has none.
fn every(samples: &[&Sample], number: impl Fn(&Sample) -> Result<f64, Absent>) -> Result<Vec<Vec<f64>>, Absent> {
    let column: Result<Vec<f64>, Absent> = samples.iter().map(|s| number(s)).collect();
    Ok(vec![column?])
}

/// Stolen time that is not in process time, whose after-effects may be: of the program's tasks, or else of all CPUs.
fn stolen(samples: &[&Sample], accounted: bool) -> Result<Vec<Vec<f64>>, Absent> {
    every(samples, |s| match s.account.value() {
        Some(a) if accounted => {
            let each = [&a.outside, &a.main, &a.others].map(|l| l.stolen.as_result().map(|s| s.time.as_f64()));
            each.into_iter().sum::<Result<f64, &Absent>>().map_err(Clone::clone)
        }
        _ => s.steal.as_result().map(|t| t.as_f64()).map_err(Clone::clone),
    })
}

/// How often the program's tasks lost their CPU.
fn preemptions(samples: &[&Sample], accounted: bool) -> Result<Vec<Vec<f64>>, Absent> {
    every(samples, |s| match s.account.value() {
        Some(a) if accounted => Ok((a.main.preempted.count + a.others.preempted.count) as f64),
        _ => s.usage.as_result().map(|u| u.involuntary_switches as f64).map_err(Clone::clone),
    })
}

fn faults(samples: &[&Sample]) -> Result<Vec<Vec<f64>>, Absent> {
    every(samples, |s| {
        let usage = s.usage.as_result().map_err(Clone::clone)?;
        Ok((usage.minor_faults + usage.major_faults) as f64)
    })
}

/// Time of a cycle, ns.
fn cycle_length(samples: &[&Sample], times: &[f64]) -> Result<Vec<Vec<f64>>, Absent> {
    let length = |(s, time): (&&Sample, &f64)| {
        let c = s.counters.as_result().map_err(Clone::clone)?;
        let cycles = Counter::Cycles.of(c)?.value;
        let none = || Absent::NotSupported("the CPU counted no cycles".to_owned());
        if cycles > 0.0 { Ok(time / cycles) } else { Err(none()) }
    };
    let column: Result<Vec<f64>, Absent> = samples.iter().zip(times).map(length).collect();
    Ok(vec![column?])
}

/// Where in a page the environment ends, as a point on a circle.
fn layout(samples: &[&Sample]) -> Vec<Vec<f64>> {
    let angle = |s: &&Sample| std::f64::consts::TAU * f64::from(s.environment_padding) / PAGE;
    let on_circle = |f: fn(f64) -> f64| samples.iter().map(|s| f(angle(s))).collect::<Vec<f64>>();
    vec![on_circle(f64::sin), on_circle(f64::cos)]
}

/// `None` for fewer than 30 samples, or if process time does not vary.
fn split(samples: &[&Sample], accounted: bool, item: u64) -> Option<VarianceSplit> {
    let times: Vec<f64> = samples.iter().filter_map(|s| s.process_time().ok()).map(|t| t.as_f64()).collect();
    if times.len() < FEWEST {
        return None;
    }
    let input = VarianceInput::new(samples, accounted);
    let length = block_length(times.len(), lag_one(&times));
    let (shares, intervals) = bootstrap(times.len(), length, item, |positions| input.shares(positions))?;
    let computed = input.causes().into_iter().zip(shares.into_iter().zip(intervals));
    let mut found: Vec<(VarianceCause, Reading<KnownShare>)> = input.others.clone();
    for ((cause, origin), (share, interval)) in computed {
        // Those that are not charged have an entry already; their part is 0 throughout.
        if !found.iter().any(|(known, _)| *known == cause) && !estimated_instead(&input, cause, origin) {
            found.push((cause, Reading::Value(KnownShare { share, interval: Some(interval), origin })));
        }
    }
    found.sort_by_key(|(cause, _)| *cause);
    let both = summary(&Values::new(times.iter().copied()).ok()?)?;
    let deviation = |column: Option<Vec<f64>>| summary(&Values::new(column?).ok()?)?.std_dev;
    let net = (input.parts.len() == 3).then(|| input.parts.first().cloned()).flatten();
    let charges = match input.parts.as_slice() {
        [_, interrupts, stolen] => Some(interrupts.iter().zip(stolen).map(|(i, s)| i + s).collect()),
        _ => None,
    };
    Some(VarianceSplit {
        samples: u32::try_from(times.len()).unwrap_or(u32::MAX),
        mean: both.mean,
        std_dev: both.std_dev?,
        net_std_dev: deviation(net),
        charged_std_dev: deviation(charges),
        shares: found.into_iter().map(|(cause, share)| VarianceShare { cause, share }).collect(),
        between: between(samples, item + 1),
    })
}

/// Stolen time that is not charged has a part of 0, and is estimated by its after-effects instead.
fn estimated_instead(input: &VarianceInput, cause: VarianceCause, origin: ShareOrigin) -> bool {
    origin == ShareOrigin::Exact && input.predictors.iter().any(|(c, _)| *c == cause)
}

/// What both halves of an execution have in common.
fn between(samples: &[&Sample], item: u64) -> Option<KnownShare> {
    let pairs: Vec<(f64, f64)> = samples.iter().filter_map(|s| halves(s)).collect();
    if pairs.len() < FEWEST {
        return None;
    }
    let all = pairs.as_slice();
    let share = |positions: &[usize]| {
        let drawn = || positions.iter().filter_map(move |i| all.get(*i));
        // var(a + b) = var(a - b) + 4 cov(a, b).
        let differences: Vec<f64> = drawn().map(|(a, b)| a - b).collect();
        let sums: Vec<f64> = drawn().map(|(a, b)| a + b).collect();
        let deviation = |values: Vec<f64>| summary(&Values::new(values).ok()?)?.std_dev;
        let (apart, whole) = (deviation(differences)?, deviation(sums)?);
        (whole > 0.0).then(|| vec![1.0 - (apart / whole).powi(2)])
    };
    let sums: Vec<f64> = pairs.iter().map(|(a, b)| a + b).collect();
    let (shares, intervals) = bootstrap(pairs.len(), block_length(pairs.len(), lag_one(&sums)), item, share)?;
    let (share, interval) = shares.into_iter().zip(intervals).next()?;
    Some(KnownShare { share, interval: Some(interval), origin: ShareOrigin::Exact })
}

/// Numbers and their intervals by a bootstrap of blocks. The intervals are the percentiles of the resamples' deviations from their
/// median, around the numbers: a regression explains more of a resample than of the samples, as it has some of them twice.
fn bootstrap(
    n: usize,
    length: usize,
    item: u64,
    numbers: impl Fn(&[usize]) -> Option<Vec<f64>>,
) -> Option<(Vec<f64>, Vec<Interval>)> {
    let found = numbers(&(0..n).collect::<Vec<usize>>())?;
    let mut rng = generator(SEED, RandomPurpose::Bootstrap, item);
    let mut positions = Vec::with_capacity(n);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); found.len()];
    for _ in 0..resamples(n, RESAMPLES) {
        draw_blocks(&mut rng, n, length, &mut positions);
        for (column, number) in drawn.iter_mut().zip(numbers(&positions).unwrap_or_default()) {
            column.push(number);
        }
    }
    let interval = |(at, column): (&f64, &mut Vec<f64>)| {
        column.sort_by(f64::total_cmp);
        let middle = median_of_sorted(column)?;
        let rank = (expanded_tail(n) * column.len() as f64) as usize;
        let (low, high) = (column.get(rank)?, column.get(column.len().checked_sub(rank + 1)?)?);
        Some(Interval { low: at + low - middle, high: at + high - middle, level: LEVEL }.reaching(*at))
    };
    let intervals: Option<Vec<Interval>> = found.iter().zip(&mut drawn).map(interval).collect();
    Some((found, intervals?))
}

#[cfg(test)]
mod tests;
