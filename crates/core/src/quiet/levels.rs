//! What a machine's probes took so far, as histograms of bounded size, and what follows from it: the quiet levels and the states.

use crate::base::units::Nanos;
use crate::quiet::data::{MachineStates, QuietLevels};
use crate::sample::data::Sample;
use crate::sample::probes::{CpuProbes, PROBE_KINDS, ProbeKind, SampleProbes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Width of a bin, as a difference of natural logarithms.
const WIDTH: f64 = 0.005;
/// Most bins of a histogram, counted from the lowest.
const MOST_BINS: usize = 128;
/// The last bin on both sides: ratios of two numbers of 32 bits lie within.
const LAST_BIN: i32 = 5_000;
/// Fewest wake-ups for a level.
const FEWEST_WAKES: u64 = 50;
/// Fewest of the first sample, whose clock is the reference.
const FEWEST_OF_FIRST: usize = 5;
/// Smallest share of the wake-ups near a mode: fewer are outliers.
const MODE_SHARE: f64 = 0.05;
/// Half widths, in bins, within which a mode is looked for: the next one if there is none with the first.
const MODE_WIDTHS: [i32; 4] = [4, 8, 16, 32];
/// The same for the memory probes, which scatter more than the clock: with a smaller one the mode changes with every run.
const BROAD: [i32; 1] = [32];
/// What evicted programs' caches depends on the programs themselves, and has no mode.
const QUARTILE: f64 = 0.25;
/// Steps from a bin to the mode near to it.
const SETTLING: u32 = 30;
/// The clock of the first sample is the reference as long as the lower mode is no further away, as a logarithm: a clock that wanders has no
/// mode that stays, and every time is in relation to it.
const SAME_CLOCK: f64 = 0.1;
/// A wake-up is busy if issue / latency exceeds its quiet ratio by this factor.
pub const BUSY: f64 = 1.12;
/// Bins that count as one where 2% are fine enough: for changes of the state, and for probes that scatter widely, of which the lowest
/// [`MOST_BINS`] would else not reach to their mode.
const COARSE: i32 = 4;

/// Probes of another revision did other work; their ticks cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("probes of revision {found}, expected revision {expected}")]
pub struct OtherRevision {
    pub expected: u32,
    pub found: u32,
}

/// Whether a probe is limited by the core, so that its clock divides out.
pub(crate) fn follows_clock(kind: ProbeKind) -> bool {
    !matches!(kind, ProbeKind::Latency | ProbeKind::MemoryLatency | ProbeKind::MemoryThroughput)
}

fn scatters(kind: ProbeKind) -> bool {
    use ProbeKind as K;
    matches!(kind, K::MemoryLatency | K::MemoryThroughput | K::Evicted | K::Code)
}

/// Counts of positive numbers by their logarithm: of the lowest [`MOST_BINS`] bins in which there are any, and how many are above.
/// A lower bin puts out the highest one. As a bin that stays was always among the lowest, the order makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CodedBins", into = "CodedBins")]
struct LogBins {
    counts: BTreeMap<i32, u64>,
    above: u64,
}

/// As it is written: from the first bin on, a count for a bin, or less 0 how many bins are empty.
#[derive(Serialize, Deserialize)]
struct CodedBins {
    first: i32,
    counts: Vec<i64>,
    above: u64,
}

impl From<LogBins> for CodedBins {
    fn from(bins: LogBins) -> CodedBins {
        let first = bins.counts.first_key_value().map_or(0, |(bin, _)| *bin);
        let (mut counts, mut next) = (Vec::new(), first);
        for (bin, count) in bins.counts {
            if bin > next {
                counts.push(i64::from(next - bin));
            }
            counts.push(i64::try_from(count).unwrap_or(i64::MAX));
            next = bin + 1;
        }
        CodedBins { first, counts, above: bins.above }
    }
}

impl TryFrom<CodedBins> for LogBins {
    type Error = String;

    fn try_from(coded: CodedBins) -> Result<LogBins, String> {
        let mut bins = LogBins { counts: BTreeMap::new(), above: coded.above };
        let mut next = i64::from(coded.first);
        for count in coded.counts {
            let Ok(count) = u64::try_from(count) else {
                next = next.saturating_sub(count);
                continue;
            };
            let inside = i32::try_from(next).ok().filter(|bin| (-LAST_BIN..=LAST_BIN).contains(bin));
            let bin = inside.ok_or_else(|| format!("bin {next} of a histogram; expected -{LAST_BIN} to {LAST_BIN}"))?;
            if count > 0 {
                bins.add(bin, count);
            }
            next += 1;
        }
        Ok(bins)
    }
}

fn bin_of(value: f64) -> Option<i32> {
    (value.is_finite() && value > 0.0).then(|| {
        let last = f64::from(LAST_BIN);
        (value.ln() / WIDTH).floor().clamp(-last, last) as i32
    })
}

/// Its centre, as a natural logarithm.
fn centre(bin: i32) -> f64 {
    (f64::from(bin) + 0.5) * WIDTH
}

impl LogBins {
    fn add(&mut self, bin: i32, count: u64) {
        let entry = self.counts.entry(bin).or_default();
        *entry = entry.saturating_add(count);
        if self.counts.len() > MOST_BINS
            && let Some((_, count)) = self.counts.pop_last()
        {
            self.above = self.above.saturating_add(count);
        }
    }

    fn merge(&mut self, other: &LogBins) {
        other.counts.iter().for_each(|(bin, count)| self.add(*bin, *count));
        self.above = self.above.saturating_add(other.above);
    }

    fn total(&self) -> u64 {
        self.counts.values().fold(self.above, |sum, count| sum.saturating_add(*count))
    }

    /// How many up to this bin, itself included.
    fn up_to(&self, bin: i32) -> u64 {
        self.counts.range(..=bin).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Counts within `width` bins around one: all, and weighted by nearness.
    fn around(&self, bin: i32, width: i32) -> Around {
        let (mut mass, mut density) = (0.0, 0.0);
        for (other, count) in self.counts.range(bin - width..=bin + width) {
            mass += *count as f64;
            density += f64::from(width + 1 - (other - bin).abs()) * *count as f64;
        }
        Around { mass, density }
    }

    /// From a logarithm to the mean of the logarithms around it, weighted by nearness, until it stays: a bin more or less, as the
    /// highest one, changes nothing.
    fn settled(&self, start: f64, width: i32) -> f64 {
        let reach = f64::from(width + 1) * WIDTH;
        let mut mean = start;
        for _ in 0..SETTLING {
            let (mut all, mut sum) = (0.0, 0.0);
            for (bin, count) in &self.counts {
                let near = (reach - (centre(*bin) - mean).abs()).max(0.0) * *count as f64;
                all += near;
                sum += near * centre(*bin);
            }
            mean = sum / all;
        }
        mean
    }

    /// The lowest mode that a fair share of the numbers is near to, within the first of these half widths in which there is one.
    fn lower_mode(&self, widths: &[i32]) -> Option<f64> {
        let total = self.total();
        if total < FEWEST_WAKES {
            return None;
        }
        let fair = MODE_SHARE * total as f64;
        let found = widths.iter().find_map(|&width| {
            let all: Vec<(i32, Around)> = self.counts.keys().map(|bin| (*bin, self.around(*bin, width))).collect();
            let highest = |bin: i32, density: f64| {
                let near = all.iter().filter(|(other, _)| (other - bin).abs() <= 2 * width);
                near.into_iter().all(|(_, a)| a.density <= density)
            };
            all.iter()
                .find(|(bin, a)| a.mass >= fair && highest(*bin, a.density))
                .map(|(bin, _)| self.settled(centre(*bin), width))
        });
        found.map(f64::exp).or_else(|| self.quantile(MODE_SHARE))
    }

    /// The highest bin that is known stands for what is above.
    fn quantile(&self, q: f64) -> Option<f64> {
        self.quantile_within(q, 0.0)
    }

    /// As if the numbers of a bin were spread evenly over so many bins around it.
    fn quantile_within(&self, q: f64, width: f64) -> Option<f64> {
        let rank = q * self.total() as f64;
        let (mut below, mut share) = (0.0, 0.5);
        let reached = self.counts.iter().find(|(_, count)| {
            share = (rank - below) / **count as f64;
            below += **count as f64;
            below >= rank
        });
        let (bin, share) = match reached {
            Some((bin, _)) => (bin, share),
            None => (self.counts.last_key_value()?.0, 0.5),
        };
        Some((centre(*bin) + (share - 0.5) * width * WIDTH).exp())
    }

    /// The quiet level of a kind.
    fn level(&self, kind: ProbeKind) -> Option<f64> {
        match kind {
            ProbeKind::Evicted | ProbeKind::Code => {
                (self.total() >= FEWEST_WAKES).then(|| self.quantile_within(QUARTILE, f64::from(COARSE))).flatten()
            }
            ProbeKind::MemoryLatency | ProbeKind::MemoryThroughput => self.lower_mode(&BROAD),
            _ => self.lower_mode(&MODE_WIDTHS),
        }
    }
}

struct Around {
    mass: f64,
    density: f64,
}

/// Pairs of successive wake-ups by the bins of their ratio, from a lower one to a higher one or reverse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RatioChanges {
    low: LogBins,
    high: LogBins,
}

impl RatioChanges {
    fn add(&mut self, low: i32, high: i32) {
        self.low.add(low, 1);
        self.high.add(high, 1);
    }

    fn merge(&mut self, other: &RatioChanges) {
        self.low.merge(&other.low);
        self.high.merge(&other.high);
    }

    /// How many crossed the upper limit of a bin.
    fn across(&self, bin: i32) -> u64 {
        self.low.up_to(bin).saturating_sub(self.high.up_to(bin))
    }
}

/// All that probes ever measured on a machine, in a few KB. What is added in any order, or added apart and merged, is equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelHistory {
    revision: u32,
    /// Of what [`QuietLevels::levels`] defines for each kind; of `Latency` the ticks.
    kinds: [LogBins; PROBE_KINDS],
    busier: RatioChanges,
    calmer: RatioChanges,
    /// Time between successive wake-ups of a sample, ns.
    watched: u64,
    /// The same by the ratio of the earlier one, µs: while the program is paused wake-ups are more frequent, and those of long
    /// samples are thinned out.
    #[serde(default)]
    times: LogBins,
    /// First and last wake-up, since 1970.
    span: Option<(Nanos, Nanos)>,
    /// When the first sample with enough wake-ups was, and what the ticks of its `Latency` were.
    #[serde(default)]
    first: Option<(Nanos, u32)>,
    /// Elapsed time of the samples whose steal time is known, and that, ns.
    elapsed: u64,
    stolen: u64,
}

impl LevelHistory {
    /// Nothing seen yet by probes of a revision.
    pub fn new(revision: u32) -> LevelHistory {
        LevelHistory {
            revision,
            kinds: Default::default(),
            busier: RatioChanges::default(),
            calmer: RatioChanges::default(),
            watched: 0,
            times: LogBins::default(),
            span: None,
            first: None,
            elapsed: 0,
            stolen: 0,
        }
    }

    /// [`crate::sample::probes::PROBE_REVISION`] of the probes.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    pub fn wakes(&self) -> u64 {
        self.kind(ProbeKind::Latency).total()
    }

    /// Nothing was seen yet.
    pub fn is_empty(&self) -> bool {
        self.span.is_none()
    }

    /// Adds the probes and the steal time of a sample; one without probes changes nothing.
    ///
    /// # Errors
    /// [`OtherRevision`]; nothing is changed then.
    pub fn add_sample(&mut self, sample: &Sample) -> Result<(), OtherRevision> {
        let Some(probes) = sample.probes.value() else { return Ok(()) };
        self.add(probes, sample.wall_clock)?;
        if let Some(stolen) = sample.steal.value() {
            let ns = |time: Nanos| u64::try_from(time.0).unwrap_or(0);
            self.elapsed = self.elapsed.saturating_add(ns(sample.elapsed()));
            self.stolen = self.stolen.saturating_add(ns(*stolen));
        }
        Ok(())
    }

    /// Adds the probes of a sample that started at this time since 1970.
    ///
    /// # Errors
    /// [`OtherRevision`]; nothing is changed then.
    pub fn add(&mut self, probes: &SampleProbes, wall_clock: Nanos) -> Result<(), OtherRevision> {
        self.check(probes.revision)?;
        for cpu in &probes.cpus {
            for wake in &cpu.wakes {
                self.add_ticks(wake.at, &wake.ticks, wall_clock);
            }
            // What was not run has 0 ticks.
            for wake in cpu.watched.iter().chain(&cpu.paused) {
                let mut ticks = [0; PROBE_KINDS];
                ticks[ProbeKind::Latency as usize] = wake.latency;
                ticks[ProbeKind::Issue as usize] = wake.issue;
                self.add_ticks(wake.at, &ticks, wall_clock);
            }
            self.add_changes(cpu);
        }
        self.add_first(clock_of(probes).map(|ticks| (wall_clock, ticks)));
        Ok(())
    }

    /// Adds all that another history of the same machine has seen.
    ///
    /// # Errors
    /// [`OtherRevision`]; nothing is changed then.
    pub fn merge(&mut self, other: &LevelHistory) -> Result<(), OtherRevision> {
        self.check(other.revision)?;
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(mine, theirs)| mine.merge(theirs));
        self.busier.merge(&other.busier);
        self.calmer.merge(&other.calmer);
        self.watched = self.watched.saturating_add(other.watched);
        self.times.merge(&other.times);
        self.elapsed = self.elapsed.saturating_add(other.elapsed);
        self.stolen = self.stolen.saturating_add(other.stolen);
        if let Some((first, last)) = other.span {
            self.extend(first);
            self.extend(last);
        }
        self.add_first(other.first);
        Ok(())
    }

    /// The quiet levels; `None` before 50 wake-ups.
    pub fn levels(&self) -> Option<QuietLevels> {
        let mode = self.kind(ProbeKind::Latency).level(ProbeKind::Latency)?;
        let first = self.first.map(|(_, ticks)| f64::from(ticks));
        let latency = first.filter(|first| (first / mode).ln().abs() <= SAME_CLOCK).unwrap_or(mode);
        let mut levels = [0.0; PROBE_KINDS];
        for ((level, bins), kind) in levels.iter_mut().zip(&self.kinds).zip(ProbeKind::ALL) {
            *level = if kind == ProbeKind::Latency { 1.0 } else { bins.level(kind).unwrap_or(0.0) };
        }
        let learned = self.span?.1;
        Some(QuietLevels { revision: self.revision, learned, wakes: self.wakes(), latency, levels })
    }

    /// What the machine's states are; `None` before 50 wake-ups.
    pub fn states(&self) -> Option<MachineStates> {
        let (latency, issue) = (self.kind(ProbeKind::Latency), self.kind(ProbeKind::Issue));
        let reference = latency.level(ProbeKind::Latency)?;
        let limit = bin_of(BUSY * issue.level(ProbeKind::Issue)?)?;
        let coarse = limit.div_euclid(COARSE);
        let quiet = match self.times.total() {
            // No sample has two wake-ups.
            0 => issue.up_to(limit) as f64 / issue.total() as f64,
            all => self.times.up_to(coarse) as f64 / all as f64,
        };
        let period = |share: f64, ends: u64| {
            (ends > 0).then(|| std::f64::consts::LN_2 * share * self.watched as f64 / ends as f64)
        };
        let clock = |q| latency.quantile(q).map(|ticks| ticks / reference);
        Some(MachineStates {
            quiet,
            quiet_period: period(quiet, self.busier.across(coarse)),
            busy_period: period(1.0 - quiet, self.calmer.across(coarse)),
            clock: [clock(0.05)?, clock(0.5)?, clock(0.95)?],
            wakes: self.wakes(),
            span: self.span?,
            stolen: (self.elapsed > 0).then(|| self.stolen as f64 / self.elapsed as f64),
        })
    }

    fn kind(&self, kind: ProbeKind) -> &LogBins {
        // One for each kind.
        &self.kinds[kind as usize]
    }

    /// Of two, the earlier one.
    fn add_first(&mut self, other: Option<(Nanos, u32)>) {
        self.first = self.first.into_iter().chain(other).min();
    }

    fn check(&self, found: u32) -> Result<(), OtherRevision> {
        let expected = self.revision;
        if found == expected { Ok(()) } else { Err(OtherRevision { expected, found }) }
    }

    fn extend(&mut self, time: Nanos) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    /// A probe of 0 ticks was not run.
    fn add_ticks(&mut self, at: Nanos, ticks: &[u32; PROBE_KINDS], wall_clock: Nanos) {
        let latency = f64::from(ticks[ProbeKind::Latency as usize]);
        if latency <= 0.0 {
            return;
        }
        self.extend(wall_clock + at);
        for ((bins, kind), ticks) in self.kinds.iter_mut().zip(ProbeKind::ALL).zip(ticks) {
            let by = if follows_clock(kind) { latency } else { 1.0 };
            if let Some(bin) = bin_of(f64::from(*ticks) / by) {
                let middle = bin.div_euclid(COARSE) * COARSE + COARSE / 2;
                bins.add(if scatters(kind) { middle } else { bin }, 1);
            }
        }
    }

    fn add_changes(&mut self, cpu: &CpuProbes) {
        let running = cpu.wakes.iter().map(|w| {
            let ticks = |kind: ProbeKind| w.ticks[kind as usize];
            (w.at, ticks(ProbeKind::Latency), ticks(ProbeKind::Issue))
        });
        let others = cpu.watched.iter().chain(&cpu.paused).map(|w| (w.at, w.latency, w.issue));
        let ratio = |(at, latency, issue): (Nanos, u32, u32)| {
            Some((at, bin_of(f64::from(issue) / f64::from(latency))?.div_euclid(COARSE)))
        };
        let mut course: Vec<(Nanos, i32)> = running.chain(others).filter_map(ratio).collect();
        course.sort_unstable();
        for ((start, before), (end, after)) in course.iter().zip(course.iter().skip(1)) {
            let time = u64::try_from((*end - *start).0).unwrap_or(0);
            self.watched = self.watched.saturating_add(time);
            // A count of 0 would not be read back.
            if time >= 1_000 {
                self.times.add(*before, time / 1_000);
            }
            match before.cmp(after) {
                std::cmp::Ordering::Less => self.busier.add(*before, *after),
                std::cmp::Ordering::Greater => self.calmer.add(*after, *before),
                std::cmp::Ordering::Equal => {}
            }
        }
    }
}

/// The mean of the middle half of the ticks of `Latency` while the program ran; `None` for fewer than five wake-ups.
fn clock_of(probes: &SampleProbes) -> Option<u32> {
    let wakes = probes.cpus.iter().flat_map(|cpu| &cpu.wakes);
    let mut ticks: Vec<u64> =
        wakes.map(|w| u64::from(w.ticks[ProbeKind::Latency as usize])).filter(|t| *t > 0).collect();
    ticks.sort_unstable();
    let quarter = ticks.len() / 4;
    let middle = ticks.get(quarter..ticks.len() - quarter).filter(|_| ticks.len() >= FEWEST_OF_FIRST)?;
    u32::try_from(middle.iter().sum::<u64>() / middle.len() as u64).ok()
}

#[cfg(test)]
mod tests;
