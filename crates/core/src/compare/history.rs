//! The history of benchmarks over commits, from the gates of a store.
//!
//! Each gate measured the ratio of two builds, its head and its base. Of each benchmark, these ratios are joined
//! ([`crate::compare::positions`]) to the ratio of every build to one of them, the anchor: it survives changes of the
//! machine's state, as both builds of a gate met the same one. In order of the commits' times, changes are looked for
//! ([`crate::compare::change_points`]).
//!
//! A build is its commit. A folder with uncommitted changes, or without a commit, can hold anything: as a base it is
//! taken for the same build as long as its machine, folder and commit are, as a kept build is; as a head it is a build
//! of its own for each gate, unless the user gave it a name.

use crate::base::units::Nanos;
use crate::compare::change_points::{FoundLevels, LevelStep, SeriesLevel, levels};
use crate::compare::gate::{CorrectedRatio, Gate, GateBenchmark, GateSide, MeasuredBenchmark};
use crate::compare::positions::{BuildPair, connected, positions};
use crate::compare::ratio::RatioBasis;
use crate::compare::stored_floor::{ASSUMED_DUETS, ASSUMED_ROUNDS};
use crate::sample::measure::Measure;
use crate::statistics::intervals::{Interval, LEVEL};
use crate::statistics::series::Values;
use crate::statistics::signed_rank::location;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest standard error of a gate's logarithm: no two executions agree better than to 0.01%.
const LEAST_ERROR: f64 = 1e-4;
/// Two-sided 95% quantile of the normal distribution.
const Z: f64 = 1.959_964;
/// Most builds of a benchmark that are shown, the newest ones; all others still connect them.
pub const MOST_POINTS: usize = 2_000;
/// As many heads make a base one that was kept for comparing.
const HEADS_OF_A_KEPT_BASE: usize = 3;
/// Fewest digits of a commit id that name it.
const FEWEST_DIGITS: usize = 4;

/// A gate with what its document says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryGate {
    /// Number of its document.
    pub number: i64,
    /// When it began, since 1970.
    pub created: Nanos,
    /// Identity of its machine, or its name where there is none.
    pub machine: String,
    /// [`crate::machine::conditions::fingerprint`], where it is known.
    pub fingerprint: Option<String>,
    pub gate: Gate,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPlan {
    /// Names of benchmarks; empty: all.
    pub benchmarks: Vec<String>,
    /// Only of this suite.
    pub suite: Option<String>,
    /// The build to which all others are compared: a commit id or at least its first four digits, what a gate called
    /// it, its folder, or the number of the gate (`g3`) whose head it was. `None`: the earliest base that was kept,
    /// else the earliest build.
    pub anchor: Option<String>,
    /// Only builds from then on, since 1970; earlier ones still connect them.
    pub since: Option<Nanos>,
}

/// Why there is no such anchor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnchor {
    #[error("no gate measured a build {0:?}")]
    Unknown(String),
    #[error("{name:?} names {builds} builds")]
    Several { name: String, builds: usize },
}

/// The history of all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryReport {
    /// Number of gates that were read.
    pub gates: usize,
    /// By suite and name.
    pub benchmarks: Vec<BenchmarkHistory>,
}

/// The history of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkHistory {
    /// Empty for single commands.
    pub suite: String,
    pub name: String,
    /// Of the newest gate. Others of CPU time count, too, if that is of CPU time: if one of them knows no net time, all ratios are of
    /// process time.
    pub measure: Option<Measure>,
    /// Different commands that gates had under this name.
    pub commands: usize,
    /// What all ratios are relative to; `None` if no gate measured the benchmark.
    pub anchor: Option<HistoryBuild>,
    /// The asked anchor is none of its builds, so that another one was chosen.
    pub anchor_replaced: bool,
    /// Builds in order of their times.
    pub points: Vec<HistoryPoint>,
    pub levels: Vec<HistoryLevel>,
    pub changes: Vec<HistoryChange>,
    /// Standard deviation of a ratio from gate to gate, beyond what its own blocks show, e.g. 0.003.
    pub between_gates: f64,
    pub between_source: BetweenSource,
    /// Correlation of each build with the one before it, about the levels: 0 where builds do not resemble each other.
    pub correlation: f64,
    /// The smallest change in the middle of these builds that is found in 95 of 100 cases, e.g. 0.006; `None` of fewer
    /// builds than two levels have.
    pub detectable: Option<f64>,
    /// Groups of builds that no gate connects to the anchor.
    pub apart: Vec<ApartBuilds>,
    /// Gates without duets whose ratio is that of the times on the quiet machine.
    pub corrected: usize,
    /// Gates of which only the ratio of net times is known, among others of process times.
    pub only_net: usize,
    pub not_used: NotUsed,
}

/// Where the deviation between gates is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BetweenSource {
    /// The benchmark's own builds.
    Builds,
    /// Of fewer than six builds, other benchmarks: the root of their mean square.
    OtherBenchmarks { benchmarks: usize },
    /// Neither is known: what is common of such ratios.
    Assumed,
}

/// A build of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryBuild {
    pub commit: Option<String>,
    pub modified: bool,
    /// What a gate called it.
    pub name: Option<String>,
    pub folder: String,
    /// First line of the commit's message.
    pub subject: Option<String>,
    /// The gate whose head it was, if nothing else distinguishes it from others.
    pub gate: Option<i64>,
    /// When it was committed, else when it was first measured; since 1970.
    pub time: Nanos,
    pub committed: bool,
}

/// A build and where it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    pub build: HistoryBuild,
    /// Its time divided by that of the anchor.
    pub ratio: f64,
    /// 95% interval; `None` for the anchor.
    pub interval: Option<Interval>,
    /// Numbers of the gates that measured it.
    pub gates: Vec<i64>,
    /// It was measured on other machines (by their fingerprints) than that of the newest gate only.
    pub other_machine: bool,
}

/// Builds that take the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryLevel {
    /// Positions of the first and the last one in [`BenchmarkHistory::points`].
    pub first: usize,
    pub last: usize,
    /// Relative to the anchor.
    pub ratio: f64,
    pub interval: Interval,
}

/// A change of the program's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryChange {
    /// Position of the last build before it, in [`BenchmarkHistory::points`].
    pub before: usize,
    /// Position of the first build after it.
    pub after: usize,
    /// Time after it divided by that before it.
    pub ratio: f64,
    pub interval: Interval,
    /// The builds on its two sides were measured on different machines.
    pub machine_changed: bool,
}

/// Builds that are connected to each other, but not to the anchor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApartBuilds {
    pub builds: usize,
    pub newest: HistoryBuild,
}

/// Gates whose result of a benchmark was not used, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotUsed {
    /// The benchmark failed or was not measured yet.
    pub failed: usize,
    /// Too few blocks for an interval.
    pub few_blocks: usize,
    /// Both sides were the same build.
    pub same_build: usize,
    /// Another clock than that of the newest gate: CPU or elapsed time.
    pub other_measure: usize,
}

/// The history of the benchmarks that are asked for.
///
/// # Errors
/// [`NoAnchor`] if the asked anchor is a build of none of them, or of one of them several builds.
pub fn report(gates: &[HistoryGate], plan: &HistoryPlan) -> Result<HistoryReport, NoAnchor> {
    let mut order: Vec<&HistoryGate> = gates.iter().collect();
    order.sort_by_key(|g| (g.created, g.number));
    let mut all: BTreeMap<(&str, &str), CollectedBuilds> = BTreeMap::new();
    let asked = |name: &String| plan.benchmarks.is_empty() || plan.benchmarks.contains(name);
    for gate in order {
        let suite = gate.gate.plan.suite.as_str();
        if plan.suite.as_deref().is_some_and(|s| s != suite) {
            continue;
        }
        let measured = gate.gate.plan.benchmarks.iter().zip(&gate.gate.measured);
        for (benchmark, measured) in measured.filter(|(b, _)| asked(&b.name)) {
            all.entry((suite, benchmark.name.as_str())).or_default().add(gate, benchmark, measured);
        }
    }
    let mut anchors = Vec::with_capacity(all.len());
    for collected in all.values_mut() {
        collected.one_measure();
        let asked = plan.anchor.as_deref().map(|name| collected.named(name)).transpose()?;
        anchors.push(asked.flatten());
    }
    if let Some(name) = &plan.anchor
        && !anchors.is_empty()
        && anchors.iter().all(Option::is_none)
    {
        return Err(NoAnchor::Unknown(name.clone()));
    }
    let histories = |others: Option<&OtherSpread>| -> Vec<BenchmarkHistory> {
        let anchored = all.iter().zip(&anchors);
        let history = anchored.map(|(((suite, name), collected), anchor)| {
            let names = ((*suite).to_owned(), (*name).to_owned());
            collected.history(names, *anchor, plan, others)
        });
        history.collect()
    };
    let mut benchmarks = histories(None);
    if let Some(others) = OtherSpread::of(&benchmarks) {
        benchmarks = histories(Some(&others));
    }
    Ok(HistoryReport { gates: gates.len(), benchmarks })
}

/// How far gates of benchmarks with enough builds differ.
struct OtherSpread {
    deviation: f64,
    benchmarks: usize,
}

impl OtherSpread {
    /// `None` where no benchmark shows it, and where none lacks it.
    fn of(histories: &[BenchmarkHistory]) -> Option<OtherSpread> {
        let (known, lacking): (Vec<_>, Vec<_>) =
            histories.iter().filter(|h| h.points.len() > 1).partition(|h| h.between_source == BetweenSource::Builds);
        let squares: f64 = known.iter().map(|h| h.between_gates.powi(2)).sum();
        let benchmarks = known.len();
        (benchmarks > 0 && !lacking.is_empty())
            .then(|| OtherSpread { deviation: (squares / benchmarks as f64).sqrt(), benchmarks })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BuildKey {
    Commit(String),
    /// What the user calls a build without a commit.
    Name(String),
    /// A kept build: its machine, folder and commit.
    Folder(String, String, Option<String>),
    /// The head of a gate, by its time and number.
    Head(Nanos, i64),
}

/// The builds of a benchmark, and what was measured of them.
#[derive(Default)]
struct CollectedBuilds<'a> {
    builds: Vec<HistoryBuild>,
    index: BTreeMap<BuildKey, usize>,
    /// In order of time.
    pairs: Vec<CollectedPair<'a>>,
    commands: BTreeSet<&'a str>,
    not_used: NotUsed,
}

struct CollectedPair<'a> {
    pair: BuildPair,
    gate: &'a HistoryGate,
    measure: Option<Measure>,
    /// Logarithm and standard error by process time, where `pair` is by net time.
    process: Option<(f64, f64)>,
    /// The ratio is that of the corrected times.
    corrected: bool,
    basis: RatioBasis,
}

impl<'a> CollectedBuilds<'a> {
    fn add(&mut self, gate: &'a HistoryGate, benchmark: &'a GateBenchmark, measured: &MeasuredBenchmark) {
        if measured.failed.is_some() || measured.logs.is_empty() {
            self.not_used.failed += 1;
            return;
        }
        let corrected = measured.corrected_ratio();
        let Some((log, error)) = corrected.as_ref().map(corrected_logarithm).or_else(|| logarithm(&measured.logs))
        else {
            self.not_used.few_blocks += 1;
            return;
        };
        let plan = &gate.gate.plan;
        let (base, head) = (base_key(gate, &plan.base), head_key(gate, &plan.head));
        if base == head {
            self.not_used.same_build += 1;
            return;
        }
        let base = self.build(base, &plan.base, gate.created, None);
        let head = self.build(head, &plan.head, gate.created, Some(gate.number));
        self.commands.insert(benchmark.command.as_str());
        let pair = BuildPair { base, head, log, error };
        let (measure, process) = (measured.measure, logarithm(&measured.process_logs));
        let (corrected, basis) = (corrected.is_some(), measured.basis);
        self.pairs.push(CollectedPair { pair, gate, measure, process, corrected, basis });
    }

    /// The number of a build, which is new or gets what is still missing of it.
    fn build(&mut self, key: BuildKey, side: &GateSide, measured: Nanos, head_of: Option<i64>) -> usize {
        let next = self.builds.len();
        let only_known_by_gate = matches!(key, BuildKey::Head(..));
        let number = *self.index.entry(key).or_insert(next);
        if number == next {
            self.builds.push(HistoryBuild {
                commit: None,
                modified: side.modified,
                name: None,
                folder: side.folder.clone(),
                subject: None,
                gate: head_of.filter(|_| only_known_by_gate),
                time: measured,
                committed: false,
            });
        }
        if let Some(build) = self.builds.get_mut(number) {
            build.commit = build.commit.take().or_else(|| side.commit.clone());
            build.name = build.name.take().or_else(|| side.name.clone());
            build.subject = build.subject.take().or_else(|| side.subject.clone());
            // What was changed since the commit is as old as its measurement.
            if let Some(committed) = side.committed.filter(|_| !build.committed && !side.modified) {
                (build.time, build.committed) = (committed, true);
            }
        }
        number
    }

    /// The build that a user means; `None` if there is none of this name.
    fn named(&self, text: &str) -> Result<Option<usize>, NoAnchor> {
        let used: BTreeSet<usize> = self.pairs.iter().flat_map(|p| [p.pair.base, p.pair.head]).collect();
        let ranked = |build: &usize| Some((rank(self.builds.get(*build)?, text)?, *build));
        let ranked: Vec<((bool, bool), usize)> = used.iter().filter_map(ranked).collect();
        let Some(best) = ranked.iter().map(|(rank, _)| *rank).min() else { return Ok(None) };
        let meant: Vec<usize> = ranked.iter().filter(|(rank, _)| *rank == best).map(|(_, build)| *build).collect();
        match meant.as_slice() {
            [build] => Ok(Some(*build)),
            several => Err(NoAnchor::Several { name: text.to_owned(), builds: several.len() }),
        }
    }

    /// Leaves out what was measured by another clock than the newest gate's. Where not all know net time, all ratios become those of
    /// process time: interrupts may be a larger part of one build's time than of another's.
    fn one_measure(&mut self) {
        let elapsed = |measure: Option<Measure>| measure == Some(Measure::Et);
        let Some(newest) = self.pairs.last().map(|p| elapsed(p.measure)) else { return };
        let before = self.pairs.len();
        self.pairs.retain(|p| elapsed(p.measure) == newest);
        self.not_used.other_measure += before - self.pairs.len();
        if self.pairs.iter().any(|p| p.measure != Some(Measure::Net)) {
            for p in &mut self.pairs {
                if let Some((log, error)) = p.process {
                    (p.pair.log, p.pair.error, p.measure) = (log, error, Some(Measure::Pt));
                }
            }
        }
    }

    /// What is common of the benchmark's gates, as a standard deviation: a floor is half of the width that holds 95%.
    fn assumed(&self) -> f64 {
        let alone = self.pairs.iter().any(|p| p.basis == RatioBasis::Alone && !p.corrected);
        (if alone { ASSUMED_ROUNDS } else { ASSUMED_DUETS }).ln_1p() / Z
    }

    fn history(
        &self,
        (suite, name): (String, String),
        asked: Option<usize>,
        plan: &HistoryPlan,
        others: Option<&OtherSpread>,
    ) -> BenchmarkHistory {
        let only_net = self.pairs.iter().filter(|p| p.measure == Some(Measure::Net)).count();
        let newest = self.pairs.last().and_then(|p| p.measure);
        let measure =
            if only_net < self.pairs.len() && newest == Some(Measure::Net) { Some(Measure::Pt) } else { newest };
        let mut history = BenchmarkHistory {
            suite,
            name,
            measure,
            commands: self.commands.len(),
            anchor: None,
            anchor_replaced: plan.anchor.is_some() && asked.is_none(),
            points: Vec::new(),
            levels: Vec::new(),
            changes: Vec::new(),
            between_gates: 0.0,
            between_source: BetweenSource::Assumed,
            correlation: 0.0,
            detectable: None,
            apart: Vec::new(),
            corrected: self.pairs.iter().filter(|p| p.corrected).count(),
            only_net: if measure == Some(Measure::Net) { 0 } else { only_net },
            not_used: self.not_used,
        };
        let pairs: Vec<BuildPair> = self.pairs.iter().map(|p| p.pair).collect();
        let groups = BuildGroups::new(&self.builds, &pairs);
        let Some(group) = asked.map(|a| groups.of(a)).or_else(|| groups.largest()) else { return history };
        let order = groups.members(group);
        let Some(anchor) = asked.or_else(|| kept_base(order, &pairs)) else { return history };
        let pairs: Vec<BuildPair> = pairs.into_iter().filter(|p| groups.of(p.head) == group).collect();
        let of_time = |b: &usize| plan.since.is_none_or(|since| self.builds.get(*b).is_some_and(|b| b.time >= since));
        let shown: Vec<usize> = order.iter().copied().filter(of_time).collect();
        let shown = shown.get(shown.len().saturating_sub(MOST_POINTS)..).unwrap_or_default();
        // Earlier builds than those that are shown tell of the gates, too.
        let newest = order.get(order.len().saturating_sub(MOST_POINTS)..).unwrap_or_default();
        let assumed = others.map_or_else(|| self.assumed(), |o| o.deviation);
        let placed = positions(self.builds.len(), anchor, &pairs, newest, assumed);
        let series = placed.series(anchor, shown);
        let found = levels(&series.points, series.shared.as_deref());
        let machines: Vec<BTreeSet<Option<&str>>> = shown.iter().map(|b| self.machines(*b)).collect();
        history.points = shown
            .iter()
            .zip(&machines)
            .zip(series.points.iter().zip(&series.variances))
            .filter_map(|((build, machines), (point, variance))| {
                // Builds that resemble each other differ by more than neighbours do.
                let variance = variance * found.serial.points;
                self.point(*build, machines, point.value, (*build != anchor).then_some(variance))
            })
            .collect();
        history.set_levels(&found, &machines);
        history.anchor = self.builds.get(anchor).cloned();
        history.between_gates = placed.between;
        history.between_source = match others {
            _ if placed.between_measured => BetweenSource::Builds,
            Some(others) => BetweenSource::OtherBenchmarks { benchmarks: others.benchmarks },
            None => BetweenSource::Assumed,
        };
        history.correlation = found.serial.correlation;
        history.apart = groups.apart(group, &self.builds);
        history
    }

    /// Fingerprints of the machines on which a build was measured.
    fn machines(&self, build: usize) -> BTreeSet<Option<&'a str>> {
        let of_build = self.pairs.iter().filter(|p| p.pair.head == build || p.pair.base == build);
        of_build.map(|p| p.gate.fingerprint.as_deref()).collect()
    }

    fn point(
        &self,
        build: usize,
        machines: &BTreeSet<Option<&str>>,
        log: f64,
        variance: Option<f64>,
    ) -> Option<HistoryPoint> {
        let newest = self.pairs.last().and_then(|p| p.gate.fingerprint.as_deref());
        let of_build = self.pairs.iter().filter(|p| p.pair.head == build || p.pair.base == build);
        Some(HistoryPoint {
            build: self.builds.get(build)?.clone(),
            ratio: log.exp(),
            interval: variance.map(|v| interval(log, v)),
            gates: of_build.map(|p| p.gate.number).collect(),
            other_machine: !machines.contains(&newest),
        })
    }
}

impl BenchmarkHistory {
    fn set_levels(&mut self, found: &FoundLevels, machines: &[BTreeSet<Option<&str>>]) {
        let level = |l: &SeriesLevel| HistoryLevel {
            first: l.points.start,
            last: l.points.end.saturating_sub(1),
            ratio: l.value.exp(),
            interval: interval(l.value, l.variance),
        };
        self.levels = found.levels.iter().map(level).collect();
        let change = |c: &LevelStep| {
            let before = c.at.saturating_sub(1);
            let sides = machines.get(before).zip(machines.get(c.at));
            HistoryChange {
                before,
                after: c.at,
                ratio: c.difference.exp(),
                interval: interval(c.difference, c.variance),
                machine_changed: sides.is_some_and(|(a, b)| a.is_disjoint(b)),
            }
        };
        self.changes = found.changes.iter().map(change).collect();
        self.detectable = found.detectable.map(f64::exp_m1);
    }
}

/// Of a ratio, from its logarithm.
fn interval(log: f64, variance: f64) -> Interval {
    let half = Z * variance.max(0.0).sqrt();
    Interval { low: (log - half).exp(), high: (log + half).exp(), level: LEVEL }
}

/// Logarithm of head / base with its standard error; `None` below six blocks.
fn logarithm(logs: &[f64]) -> Option<(f64, f64)> {
    let values = Values::new(logs.iter().copied()).ok()?;
    let found = location(&values, LEVEL)?;
    let error = found.interval.ok()?.half_width() / Z;
    Some((found.estimate, error.max(LEAST_ERROR)))
}

/// Of head / base on the quiet machine, with its standard error: where both ran alone, the machine's states in between are in the
/// ratio of their blocks, and from gate to gate they differ.
fn corrected_logarithm(corrected: &CorrectedRatio) -> (f64, f64) {
    let error = (corrected.interval.high / corrected.interval.low).ln() / 2.0 / Z;
    (corrected.ratio.ln(), error.max(LEAST_ERROR))
}

fn base_key(gate: &HistoryGate, side: &GateSide) -> BuildKey {
    match (&side.commit, &side.name) {
        (Some(commit), _) if !side.modified => BuildKey::Commit(commit.clone()),
        (None, Some(name)) => BuildKey::Name(name.clone()),
        (commit, _) => BuildKey::Folder(gate.machine.clone(), side.folder.clone(), commit.clone()),
    }
}

fn head_key(gate: &HistoryGate, side: &GateSide) -> BuildKey {
    match (&side.commit, &side.name) {
        (Some(commit), _) if !side.modified => BuildKey::Commit(commit.clone()),
        (None, Some(name)) => BuildKey::Name(name.clone()),
        _ => BuildKey::Head(gate.created, gate.number),
    }
}

/// How well a text names a build, the best first; `None` if it does not. The number of a gate names its head, the first
/// digits of a commit id that commit. What is named by its beginning comes after what is named in full, a commit with
/// changes after the same one without.
fn rank(build: &HistoryBuild, text: &str) -> Option<(bool, bool)> {
    let commit = build.commit.as_deref().unwrap_or_default();
    let digits = text.to_ascii_lowercase();
    let gate = build.gate.is_some_and(|g| text.strip_prefix('g').is_some_and(|number| number == g.to_string()));
    // The folder says what is in it only of kept builds.
    let kept = build.gate.is_none() && (commit.is_empty() || build.modified) && build.folder == text;
    if gate || kept || build.name.as_deref() == Some(text) || (!commit.is_empty() && commit == digits) {
        return Some((false, build.modified));
    }
    let hex = digits.len() >= FEWEST_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    (hex && commit.starts_with(&digits)).then_some((true, build.modified))
}

/// The earliest base of at least three heads, else the earliest build.
fn kept_base(order: &[usize], pairs: &[BuildPair]) -> Option<usize> {
    let heads = |build: &usize| {
        let heads: BTreeSet<usize> = pairs.iter().filter(|p| p.base == *build).map(|p| p.head).collect();
        heads.len()
    };
    order.iter().find(|b| heads(b) >= HEADS_OF_A_KEPT_BASE).or_else(|| order.first()).copied()
}

/// Groups of connected builds.
struct BuildGroups {
    group: Vec<usize>,
    /// Members in order of time, of groups with more than one.
    members: BTreeMap<usize, Vec<usize>>,
}

impl BuildGroups {
    fn new(builds: &[HistoryBuild], pairs: &[BuildPair]) -> BuildGroups {
        let group = connected(builds.len(), pairs);
        let mut order: Vec<usize> = (0..builds.len()).collect();
        // Builds of one time are in the order in which they were measured.
        order.sort_by_key(|b| (builds.get(*b).map(|b| b.time), *b));
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for build in order {
            if let Some(group) = group.get(build) {
                members.entry(*group).or_default().push(build);
            }
        }
        // Builds of which no result was used.
        members.retain(|_, all| all.len() > 1);
        BuildGroups { group, members }
    }

    fn of(&self, build: usize) -> usize {
        self.group.get(build).copied().unwrap_or(build)
    }

    fn members(&self, group: usize) -> &[usize] {
        self.members.get(&group).map_or(&[], Vec::as_slice)
    }

    /// The group of most builds; of several, the one that was measured last.
    fn largest(&self) -> Option<usize> {
        self.members.iter().max_by_key(|(_, all)| (all.len(), all.iter().max().copied())).map(|(group, _)| *group)
    }

    /// All groups but one, the one with the newest build first.
    fn apart(&self, group: usize, builds: &[HistoryBuild]) -> Vec<ApartBuilds> {
        let others = self.members.iter().filter(|(other, _)| **other != group);
        let mut apart: Vec<ApartBuilds> = others
            .filter_map(|(_, all)| Some(ApartBuilds { builds: all.len(), newest: builds.get(*all.last()?)?.clone() }))
            .collect();
        apart.sort_by_key(|a| Reverse(a.newest.time));
        apart
    }
}

#[cfg(test)]
mod simulations;
#[cfg(test)]
mod tests;
