//! The time of a program on the quiet machine, from samples with probes.

use crate::base::units::Nanos;
use crate::quiet::data::{
    FEATURES, HeldOut, NoQuietTime, PriorSource, QuietCoefficients, QuietDoubt, QuietLevels, QuietTime, Shrinkage,
    SlowdownCause,
};
use crate::quiet::features::{chance_of_branches, depends_on_program, features};
use crate::quiet::learning::learned;
use crate::quiet::prior::{KnownCoefficients, Start, start};
use crate::quiet::regression::{Fit, Point, Vector, dot, fit, form, huber_mean, middle};
use crate::sample::data::Sample;
use crate::sample::probes::{PROBE_KINDS, ProbeKind, SampleProbes};
use crate::statistics::intervals::{Interval, LEVEL};

/// Most samples of a series that are looked at. More change nothing: what is left is the error of the correction itself.
pub const MOST_SAMPLES: usize = 10_000;
/// Fewest samples if nothing is known, and if something is.
const FEWEST: usize = 6;
const FEWEST_KNOWN: usize = 3;
/// Least share of a CPU's time.
const BUSY_SHARE: f64 = 0.9;
/// A program may seem to use so much more of a CPU than there is.
const ROUNDING: f64 = 0.1;
/// Share of a correction that its own error is, whatever the samples say: probes and program need not slow down alike.
const SYSTEMATIC: f64 = 0.05;
/// How exactly the quiet level of a probe is known: half a bin of the histograms.
const LEVEL_ERROR: f64 = 0.0025;
/// Two standard deviations of a sample's correction above this: its state is none that the coefficients are known for.
const UNKNOWN: f64 = 0.3;
/// By how much a feature may be outside the range that was seen, and coefficients that make it matter.
const OUTSIDE: f64 = 0.1;
const MATTERS: f64 = 0.1;
/// By which factor the held-out error must be smaller than without correction, as by chance it often is a little; and by which it
/// may be larger where the correction changes the value by more than its interval: if the machine's state was the same all the
/// time, the samples agree with each other without correction, too.
const BETTER: f64 = 0.9;
const WORSE: f64 = 1.5;
/// The same for a program whose coefficients are known from earlier runs: that they make it repeat, those have shown.
const WORSE_KNOWN: f64 = 2.0;
/// Of the variance of `Branches` between samples counts what is above so many times that by chance, as ten samples say little of a
/// variance.
const TIMES_CHANCE: f64 = 3.0;
/// Or above that of this standard deviation, if that is more: by 0.8 to 1.0% samples differed on a calm machine (EPYC) though their
/// wake-ups did not, by how each execution lies in the predictor's tables.
const BY_EXECUTION: f64 = 0.012;
/// The probes that see what was evicted from the core's own caches.
const EVICTIONS: [ProbeKind; 2] = [ProbeKind::Evicted, ProbeKind::Code];
/// Huber's limit for held-out errors, in standard deviations.
const HELD_OUT_LIMIT: f64 = 2.5;
/// Deviations of a sample that is disturbed, and the least by which it differs.
const DISTURBED: f64 = 5.0;
const LEAST_DISTURBANCE: f64 = 0.03;
/// Share of the elapsed time that the hypervisor may take without a doubt.
const STEAL: f64 = 0.01;
const RESIDUAL: f64 = 0.025;
const MEMORY: f64 = 0.3;
const STOPS: f64 = 0.3;
const EVICTION: f64 = 0.03;
const LARGE: f64 = 0.15;

/// What a correction needs of a sample.
#[derive(Clone, Copy, Debug)]
pub struct QuietSample<'a> {
    /// Number in its series.
    pub index: u32,
    pub pt: Nanos,
    pub elapsed: Nanos,
    /// For a CPU that other processes had, as far as it is known: that is no sleep, and the probes saw the CPU meanwhile.
    pub waited: Nanos,
    /// That the hypervisor took; `None` if it is not known.
    pub steal: Option<Nanos>,
    pub probes: &'a SampleProbes,
}

impl QuietSample<'_> {
    /// `None` without probes, or without a process time.
    pub fn of(sample: &Sample) -> Option<QuietSample<'_>> {
        Some(QuietSample {
            index: sample.index,
            pt: sample.process_time().ok()?,
            elapsed: sample.elapsed() - sample.paused(),
            waited: waited(sample),
            steal: sample.steal.value().copied(),
            probes: sample.probes.value()?,
        })
    }
}

/// By the account the waits of all tasks for others than the program's own; without it, those of the main thread for any.
fn waited(sample: &Sample) -> Nanos {
    if let Some(waits) = sample.waits() {
        return waits.iter().map(|w| w.preempted(false)).sum();
    }
    sample.estimate.value().and_then(|e| e.waited.value().copied()).unwrap_or(Nanos::ZERO)
}

/// The samples of a series, of which only the features are kept.
#[derive(Clone, Debug)]
pub struct QuietSeries {
    levels: QuietLevels,
    kept: Vec<Observed>,
    /// Those whose number is a multiple of it are kept.
    step: u32,
    total: u32,
}

#[derive(Clone, Copy, Debug)]
struct Observed {
    index: u32,
    /// log PT, and the features.
    point: Point,
    /// Variance of `Branches` by chance.
    chance: f64,
    /// CPUs used, and probed.
    used: f64,
    probed: u32,
    /// Share of the elapsed time in which it used a CPU, or another process had it.
    busy: f64,
    /// Share of the elapsed time.
    stolen: f64,
    limit_reached: bool,
}

impl Observed {
    fn new(sample: &QuietSample<'_>, levels: &QuietLevels) -> Option<Observed> {
        if sample.pt <= Nanos::ZERO || sample.elapsed <= Nanos::ZERO {
            return None;
        }
        let elapsed = sample.elapsed.as_f64();
        let paused = sample.probes.gate.as_ref().map_or(0.0, |g| g.paused.as_f64().max(0.0));
        Some(Observed {
            index: sample.index,
            point: Point { y: sample.pt.as_f64().ln(), x: features(sample.probes, levels)?.0 },
            chance: chance_of_branches(sample.probes),
            used: sample.pt.as_f64() / elapsed,
            probed: u32::try_from(sample.probes.cpus.len()).unwrap_or(u32::MAX),
            busy: (sample.pt + sample.waited.max(Nanos::ZERO)).as_f64() / elapsed,
            // Steal time is that of the pauses, too.
            stolen: sample.steal.map_or(0.0, |s| s.as_f64() / (elapsed + paused)),
            limit_reached: sample.probes.gate.as_ref().is_some_and(|g| g.limit_reached),
        })
    }
}

/// The time on the quiet machine; `levels` are the machine's.
///
/// # Errors
/// Why it is not known; the uncorrected time stands then.
pub fn quiet_time(
    samples: &[QuietSample<'_>],
    levels: Option<&QuietLevels>,
    known: &KnownCoefficients,
) -> Result<QuietTime, NoQuietTime> {
    let mut series = QuietSeries::new(levels.ok_or(NoQuietTime::NeverQuiet)?.clone());
    samples.iter().for_each(|s| series.add(s));
    series.time(known)
}

/// What the samples say of the program's coefficients, together with what was known, to be stored under its identity. `None` for
/// samples that [`quiet_time`] refuses before it fits, and for fewer than six.
pub fn fit_coefficients(
    samples: &[QuietSample<'_>],
    levels: &QuietLevels,
    known: &KnownCoefficients,
    program: &str,
    fitted: Nanos,
) -> Option<QuietCoefficients> {
    let mut series = QuietSeries::new(levels.clone());
    samples.iter().for_each(|s| series.add(s));
    series.coefficients(known, program, fitted)
}

impl QuietSeries {
    pub fn new(levels: QuietLevels) -> QuietSeries {
        QuietSeries { levels, kept: Vec::new(), step: 1, total: 0 }
    }

    /// Adds a sample. Of more than 10,000 every second, fourth, … number is kept, whatever the order in which they come.
    pub fn add(&mut self, sample: &QuietSample<'_>) {
        self.total = self.total.saturating_add(1);
        if !sample.index.is_multiple_of(self.step) {
            return;
        }
        self.kept.extend(Observed::new(sample, &self.levels));
        while self.kept.len() > MOST_SAMPLES {
            // Numbers that occur more than once could be too many with any step.
            let Some(step) = self.step.checked_mul(2) else { return self.kept.truncate(MOST_SAMPLES) };
            self.step = step;
            self.kept.retain(|o| o.index.is_multiple_of(step));
        }
    }

    /// As [`quiet_time`].
    ///
    /// # Errors
    /// Why it is not known.
    pub fn time(mut self, known: &KnownCoefficients) -> Result<QuietTime, NoQuietTime> {
        let start = self.checked(known)?;
        let reference = self.relate_to_program(&start);
        let (branches, branches_error) = self.shrink_branches();
        let too_few = NoQuietTime::TooFew { samples: self.samples() };
        let points = self.points();
        let fit = fit(&points, &start.prior).ok_or_else(|| too_few.clone())?.without_negative(&points);
        self.check_states(&fit, &start)?;
        let plain = huber_mean(&points.iter().map(|p| p.y).collect::<Vec<f64>>()).ok_or(too_few.clone())?;
        let held_out = HeldOut { plain: spread(&plain.held_out), corrected: spread(&fit.held_out) };
        let mean_x = weighted(&points, &plain.weights);
        let correction = dot(&mean_x, &fit.coefficients);
        let variance =
            (SYSTEMATIC * correction).powi(2) + LEVEL_ERROR.powi(2) * dot(&fit.coefficients, &fit.coefficients);
        let by_branches =
            fit.coefficients.get(ProbeKind::Branches as usize).map_or(0.0, |b| b.powi(2) * branches_error);
        let (low, high) = fit.interval(variance + by_branches).ok_or(too_few)?;
        let by_chance = (low..=high).contains(&plain.level);
        let limit = match start.source {
            PriorSource::SameProgram => WORSE_KNOWN,
            _ if by_chance => BETTER,
            _ => WORSE,
        };
        if held_out.corrected > limit * held_out.plain {
            return Err(NoQuietTime::NoBetter { held_out });
        }
        let value = fit.level.exp();
        let interval = Interval { low: low.exp(), high: high.exp(), level: LEVEL };
        if value <= 0.0 || ![value, interval.low, interval.high].iter().all(|v| v.is_finite()) {
            return Err(NoQuietTime::Unseen { samples: self.samples() });
        }
        Ok(QuietTime {
            value,
            interval,
            uncorrected: plain.level.exp(),
            samples: self.samples(),
            left_out: self.total - self.samples(),
            parts: parts(&mean_x, &fit.coefficients),
            residual: fit.residual,
            held_out,
            prior: start.source,
            coefficients: fit.coefficients,
            reference,
            branches,
            doubts: self.doubts(&fit, &mean_x),
            disturbed: self.disturbed(&fit),
        })
    }

    /// As [`fit_coefficients`].
    pub fn coefficients(
        mut self,
        known: &KnownCoefficients,
        program: &str,
        fitted: Nanos,
    ) -> Option<QuietCoefficients> {
        let start = self.checked(known).ok()?;
        self.relate_to_program(&start);
        self.shrink_branches();
        if self.kept.len() < FEWEST {
            return None;
        }
        let fit = fit(&self.points(), &start.prior)?;
        let earlier = start.same.map_or(0, |c| c.samples);
        let mut seen = start.same.map_or([(f64::INFINITY, f64::NEG_INFINITY); FEATURES], |c| c.seen);
        for o in &self.kept {
            seen.iter_mut().zip(&o.point.x).for_each(|(s, x)| *s = (s.0.min(*x), s.1.max(*x)));
        }
        let learned = learned(&fit, &start, &self.levels);
        Some(QuietCoefficients {
            revision: self.levels.revision,
            program: program.to_owned(),
            samples: earlier.saturating_add(self.samples()),
            fitted,
            coefficients: learned.coefficients,
            residual: fit.residual,
            seen,
            covariance: Some(Box::new(learned.covariance)),
            level: Some(Box::new(learned.level)),
        })
    }

    fn samples(&self) -> u32 {
        u32::try_from(self.kept.len()).unwrap_or(u32::MAX)
    }

    fn points(&self) -> Vec<Point> {
        self.kept.iter().map(|o| o.point).collect()
    }

    /// Puts the samples in order, and refuses what cannot be corrected at all.
    fn checked<'k>(&mut self, known: &'k KnownCoefficients) -> Result<Start<'k>, NoQuietTime> {
        self.kept.sort_unstable_by(|a, b| a.index.cmp(&b.index).then(a.point.y.total_cmp(&b.point.y)));
        let samples = self.samples();
        let median = |of: fn(&Observed) -> f64| middle(&mut self.kept.iter().map(of).collect::<Vec<f64>>());
        let too_few = NoQuietTime::TooFew { samples };
        let (used, busy) = median(|o| o.used).zip(median(|o| o.busy)).ok_or(too_few)?;
        if busy < BUSY_SHARE {
            return Err(NoQuietTime::Sleeps { share: busy });
        }
        let probed = self.kept.iter().map(|o| o.probed).min().unwrap_or(0);
        if used > f64::from(probed) + ROUNDING {
            return Err(NoQuietTime::MoreCpus { used, probed });
        }
        let start = start(known, self.levels.revision, self.levels.learned);
        let fewest = if start.source == PriorSource::Physical { FEWEST } else { FEWEST_KNOWN };
        if self.kept.len() < fewest {
            return Err(NoQuietTime::TooFew { samples });
        }
        Ok(start)
    }

    /// Counts the features of the probes that depend on the program from what its first run saw, and those of evictions, which
    /// neighbours can only add to, from the least that any of its runs saw; returns by how much that differs from the machine's
    /// levels. Else a program that uses much memory would be corrected by what it does itself, and by as much as its coefficients are
    /// not known yet.
    fn relate_to_program(&mut self, start: &Start<'_>) -> Vector {
        let known = start.same.and_then(|c| c.level.as_ref()).map(|known| known.levels.levels);
        let mut reference = [0.0; FEATURES];
        for kind in ProbeKind::ALL.into_iter().filter(|kind| depends_on_program(*kind)) {
            let place = kind as usize;
            let Some(level) = self.levels.levels.get_mut(place).filter(|level| **level > 0.0) else { continue };
            let earlier = known.and_then(|levels| levels.get(place).copied()).filter(|own| *own > 0.0);
            let now =
                || middle(&mut self.kept.iter().filter_map(|o| o.point.x.get(place).copied()).collect::<Vec<f64>>());
            let earlier = earlier.map(|own| (own / *level).ln());
            let shift = match earlier {
                Some(earlier) if EVICTIONS.contains(&kind) => now().map(|now| now.min(earlier)),
                Some(earlier) => Some(earlier),
                None => now(),
            };
            let Some(shift) = shift.filter(|shift| shift.is_finite()) else { continue };
            *level *= shift.exp();
            self.kept.iter_mut().filter_map(|o| o.point.x.get_mut(place)).for_each(|x| *x -= shift);
            if let Some(reference) = reference.get_mut(place) {
                *reference = shift;
            }
        }
        reference
    }

    /// Draws `Branches` to its mean, as far as the samples differ by chance. Else chance would make the coefficient of a program of
    /// branches too small, and seem to say so exactly (errors in variables, regression dilution). Returns the variance of its mean, too.
    fn shrink_branches(&mut self) -> (Shrinkage, f64) {
        let count = self.kept.len() as f64;
        let place = ProbeKind::Branches as usize;
        let mean = |value: &dyn Fn(&Observed) -> f64| self.kept.iter().map(|o| value(o) / count).sum::<f64>();
        let branches = |o: &Observed| o.point.x.get(place).copied().unwrap_or(0.0);
        let centre = mean(&branches);
        let variance = mean(&|o| (branches(o) - centre).powi(2)) * count / (count - 1.0);
        let chance = mean(&|o| (TIMES_CHANCE * o.chance).max(BY_EXECUTION.powi(2)));
        let share = 1.0 - chance / variance;
        let shrinkage = Shrinkage { mean: centre, share: if share > 0.0 { share } else { 0.0 } };
        for x in self.kept.iter_mut().filter_map(|o| o.point.x.get_mut(place)) {
            *x = shrinkage.of(*x);
        }
        (shrinkage, chance / count)
    }

    /// Refuses if most samples ran in states that the coefficients are not known for.
    fn check_states(&self, fit: &Fit, start: &Start<'_>) -> Result<(), NoQuietTime> {
        let own = self.kept.len() >= FEWEST;
        let outside = |x: &Vector, seen: &[(f64, f64); FEATURES]| {
            let beyond = |(x, (low, high)): (&f64, &(f64, f64))| *x < low - OUTSIDE || *x > high + OUTSIDE;
            let matters = fit.coefficients.iter().map(|b| b.abs() > MATTERS);
            x.iter().zip(seen).zip(matters).any(|(x, matters)| matters && beyond(x))
        };
        let unknown = |o: &&Observed| {
            let uncertain = 2.0 * form(&fit.covariance, &o.point.x).max(0.0).sqrt() > UNKNOWN;
            uncertain || (!own && start.same.is_some_and(|c| outside(&o.point.x, &c.seen)))
        };
        let count = self.kept.iter().filter(unknown).count();
        let samples = u32::try_from(count).unwrap_or(u32::MAX);
        if 2 * count > self.kept.len() { Err(NoQuietTime::Unseen { samples }) } else { Ok(()) }
    }

    fn doubts(&self, fit: &Fit, mean_x: &Vector) -> Vec<QuietDoubt> {
        let b = &fit.coefficients;
        let kind = |v: &[f64], kinds: [ProbeKind; 2]| kinds.iter().filter_map(|k| v.get(*k as usize)).sum::<f64>();
        let count =
            |f: fn(&Observed) -> bool| u32::try_from(self.kept.iter().filter(|o| f(o)).count()).unwrap_or(u32::MAX);
        let mut doubts = Vec::new();
        let mut add = |doubtful: bool, doubt: QuietDoubt| {
            if doubtful {
                doubts.push(doubt);
            }
        };
        add(fit.residual > RESIDUAL, QuietDoubt::Residual { residual: fit.residual });
        let coefficients = kind(b, [ProbeKind::MemoryLatency, ProbeKind::MemoryThroughput]);
        add(coefficients > MEMORY, QuietDoubt::Memory { coefficients });
        let stopped = self.kept.iter().any(|o| o.point.x.get(PROBE_KINDS).is_some_and(|x| *x > 0.0));
        let coefficient = b.get(PROBE_KINDS).copied().unwrap_or(0.0);
        add(stopped && coefficient > STOPS, QuietDoubt::Stops { coefficient });
        let added = mean_x.iter().zip(b).map(|(x, b)| x * b).collect::<Vec<f64>>();
        let part = kind(&added, EVICTIONS);
        add(part > EVICTION, QuietDoubt::Eviction { part });
        let correction = dot(mean_x, b);
        add(correction.abs() > LARGE, QuietDoubt::Large { correction });
        let samples = count(|o| o.limit_reached);
        add(samples > 0, QuietDoubt::LimitReached { samples });
        let samples = count(|o| o.stolen > STEAL);
        add(samples > 0, QuietDoubt::Steal { samples });
        doubts
    }

    /// Numbers of samples that differ from the others in what probes or steal time say, or in what the fit leaves.
    fn disturbed(&self, fit: &Fit) -> Vec<u32> {
        let corrections: Vec<f64> = self.kept.iter().map(|o| dot(&o.point.x, &fit.coefficients)).collect();
        let stolen: Vec<f64> = self.kept.iter().map(|o| o.stolen).collect();
        let (by_probes, by_steal) = (upper_limit(&corrections), upper_limit(&stolen));
        let rows = self.kept.iter().zip(&corrections).zip(&fit.deviations);
        let found = rows.filter(|((o, correction), deviation)| {
            **correction > by_probes || o.stolen > by_steal || **deviation > DISTURBED
        });
        found.map(|((o, _), _)| o.index).collect()
    }
}

/// Above it a value is none of the others.
fn upper_limit(values: &[f64]) -> f64 {
    let centre = middle(&mut values.to_vec()).unwrap_or(0.0);
    let deviation = middle(&mut values.iter().map(|v| (v - centre).abs()).collect::<Vec<f64>>()).unwrap_or(0.0);
    centre + (DISTURBED * deviation).max(LEAST_DISTURBANCE)
}

/// Mean features, by these weights.
fn weighted(points: &[Point], weights: &[f64]) -> Vector {
    let total: f64 = weights.iter().sum();
    let mut mean = [0.0; FEATURES];
    for (p, w) in points.iter().zip(weights) {
        mean.iter_mut().zip(&p.x).for_each(|(mean, x)| *mean += w / total * x);
    }
    mean
}

fn parts(mean_x: &Vector, coefficients: &Vector) -> Vec<(SlowdownCause, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for (place, (x, b)) in mean_x.iter().zip(coefficients).enumerate() {
        let cause = ProbeKind::ALL.get(place).map_or(SlowdownCause::Stops, |kind| cause(*kind));
        *sums.entry(cause).or_insert(0.0) += x * b;
    }
    sums.into_iter().collect()
}

fn cause(kind: ProbeKind) -> SlowdownCause {
    match kind {
        ProbeKind::Latency => SlowdownCause::Clock,
        ProbeKind::Issue | ProbeKind::Loads | ProbeKind::Stores | ProbeKind::Branches | ProbeKind::FirstLevel => {
            SlowdownCause::Sibling
        }
        ProbeKind::SystemCalls => SlowdownCause::Kernel,
        ProbeKind::MemoryLatency | ProbeKind::MemoryThroughput => SlowdownCause::Memory,
        ProbeKind::Evicted | ProbeKind::Code => SlowdownCause::Eviction,
    }
}

/// Root of the mean square of errors, each as far as 2.5 robust deviations: a median alone would omit the slower of two states.
fn spread(errors: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    let limit = HELD_OUT_LIMIT * 1.4826 * middle(&mut sizes).unwrap_or(0.0);
    let squares: f64 = sizes.iter().map(|e| e.min(limit).powi(2)).sum();
    (squares / sizes.len().max(1) as f64).sqrt()
}
