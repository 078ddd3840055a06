//! Which machine differs from the others, by the same work on all of them.
//!
//! The median time of each program in each run is compared with that of the typical machine, the median of all
//! machines; a machine's level is the median over its runs of the geometric mean over its programs. Runs are the
//! blocks: programs of one run share what happened to it, so that its samples are never counted as if they were runs.
//! Machines are compared within one fingerprint first: a machine of another model or kernel is not odd, but another
//! machine.

use crate::data::drift::{LevelDrift, fleet_drifts};
use crate::data::groups::{FleetSplit, split};
use crate::data::levels::{DEVIATIONS, FleetLevels, LEVEL, MachineLevel, RunLevel, fleet_levels, of_median};
use crate::data::spread::spread_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::series::median_of;

/// One program in one run on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRun {
    /// Name of the machine.
    pub machine: String,
    /// Of the machine, when this was measured.
    pub fingerprint: String,
    /// Uuid of the run; the programs of one run have the same.
    pub run: String,
    /// Start of the run, in ns since 1970.
    pub started: Nanos,
    /// Name of the program with its parameters.
    pub program: String,
    /// Counted samples, in ns, in any order.
    pub times: Vec<f64>,
    /// Share of the elapsed time that the machine added, median over the samples, 0 to 1; `None` without an account.
    pub added: Option<f64>,
}

/// The machines of a campaign, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesReport {
    /// Which time was compared.
    pub measure: Measure,
    pub machines: usize,
    /// Runs that were used.
    pub runs: usize,
    /// Times that were left out, as they are not above 0.
    pub left_out: usize,
    /// Machines of equal fingerprints, the most machines first.
    pub fleets: Vec<NodeFleet>,
    /// Machines with runs of more than one fingerprint, ascending.
    pub changed: Vec<String>,
}

/// Machines of one fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFleet {
    pub fingerprint: String,
    /// Whether one of them is odd.
    pub answer: OddAnswer,
    /// Names of those whose level changes with time, apart from the fleet, ascending.
    pub drifting: Vec<String>,
    /// The odd ones first, then by ratio, the slowest first.
    pub machines: Vec<NodeRow>,
    /// Programs that were compared, ascending.
    pub programs: Vec<String>,
    pub spread: FleetSpread,
    /// Smallest ratio less 1 that counts as a difference.
    pub relevant: f64,
    /// Ratio less 1 of a machine that would be named in nine of ten fleets like this one; `None` if no spread is known.
    pub detectable: Option<f64>,
    /// Each machine has so few runs that the spread of runs was taken from that between the machines.
    pub single_runs: bool,
    pub groups: Option<FleetGroups>,
    /// Time of the typical machine over that of the first fleet, by the programs that both have.
    pub ratio_to_first: Option<f64>,
    /// Change of the typical machine from the first run to the last one, as a ratio; `None` for fewer than three
    /// machines with enough runs.
    pub common_drift: Option<f64>,
    /// Start of the first and of the last run, in ns since 1970.
    pub first: Nanos,
    pub last: Nanos,
}

/// Is there an odd machine?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OddAnswer {
    /// There is one machine only.
    Alone,
    /// Too few runs to tell machines from runs.
    TooFew,
    No,
    /// These differ, and lie outside of the others; the one that is furthest off first.
    Yes(Vec<String>),
    /// There are two groups; these differ from their own one.
    TwoGroups {
        odd: Vec<String>,
    },
    /// There are two machines, and they differ.
    TwoDiffer,
    /// So many differ from the typical one, but none lies outside of the others.
    Spread {
        differing: usize,
    },
}

/// Standard deviations of logarithms; of small ones, relative deviations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetSpread {
    /// Between executions in one run; the median over runs.
    pub executions: Option<f64>,
    /// Between runs of one machine, without what the executions add to it.
    pub runs: Option<f64>,
    /// Between machines, without what the runs add to it.
    pub machines: Option<f64>,
}

/// Two groups of machines with a gap between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetGroups {
    /// Names of the machines, ascending.
    pub fast: Vec<String>,
    pub slow: Vec<String>,
    /// Time of the typical machine of the slow group over that of the fast one.
    pub ratio: f64,
    /// Probability of such a gap if there were one group only.
    pub p: f64,
}

/// A machine of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    pub machine: String,
    /// Its time over that of the typical machine of the fleet; above 1: slower.
    pub ratio: f64,
    /// All intervals of the fleet hold together with their level. `None`: too few runs.
    pub interval: Option<Interval>,
    /// The interval excludes 1, and the difference is relevant; of all programs together or of one of them.
    pub differs: bool,
    /// It differs, and lies outside of the others or of its group.
    pub odd: bool,
    pub runs: usize,
    /// Counted samples of all its programs.
    pub samples: usize,
    /// Standard deviation between its executions in one run, and between its runs; of logarithms.
    pub executions_spread: Option<f64>,
    pub runs_spread: Option<f64>,
    /// Share of the elapsed time that the machine added, median over its runs, 0 to 1.
    pub added: Option<f64>,
    pub drift: Option<NodeDrift>,
    /// Each of its programs, in the order of the fleet; empty if there is only one program.
    pub programs: Vec<NodeProgram>,
    /// Programs of the fleet that it has not run, ascending.
    pub missing: Vec<String>,
}

/// A program on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeProgram {
    pub program: String,
    /// Its time over that on the typical machine.
    pub ratio: f64,
    /// As [`NodeRow::interval`].
    pub interval: Option<Interval>,
    pub differs: bool,
}

/// How a machine's level changes, apart from the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeDrift {
    /// Level at its last run over that at its first one, on a line through them.
    pub ratio: f64,
    /// All intervals of the fleet hold together.
    pub interval: Interval,
    /// The interval excludes 1, and the change is relevant.
    pub drifts: bool,
    /// From its first run to its last one.
    pub span: Nanos,
}

/// A program in a run, in logarithms.
#[derive(Clone, Copy, Debug)]
struct ProgramLevel {
    /// Of the median time.
    level: f64,
    samples: usize,
    /// Standard deviation of executions; 0 for a single one.
    spread: f64,
    added: Option<f64>,
}

/// Start of a run, and its uuid.
type RunKey = (Nanos, String);
/// Programs of runs of machines of one fingerprint.
type FleetRuns = BTreeMap<String, BTreeMap<RunKey, BTreeMap<String, ProgramLevel>>>;

/// Compares machines. The order of the runs does not matter.
pub fn nodes(runs: &[NodeRun], measure: Measure) -> NodesReport {
    let (by_fingerprint, left_out) = sorted(runs);
    let mut fleets: Vec<(NodeFleet, BTreeMap<String, f64>)> =
        by_fingerprint.iter().map(|(fingerprint, fleet)| one_fleet(fingerprint, fleet)).collect();
    fleets.sort_by(|(a, _), (b, _)| b.machines.len().cmp(&a.machines.len()).then(a.fingerprint.cmp(&b.fingerprint)));
    let first = fleets.first().map(|(_, typical)| typical.clone()).unwrap_or_default();
    for (fleet, typical) in fleets.iter_mut().skip(1) {
        let apart = typical.iter().filter_map(|(program, level)| Some(level - first.get(program)?)).collect();
        fleet.ratio_to_first = median_of(apart).map(ratio);
    }
    let mut seen: BTreeMap<&String, usize> = BTreeMap::new();
    for machine in by_fingerprint.values().flat_map(FleetRuns::keys) {
        *seen.entry(machine).or_default() += 1;
    }
    NodesReport {
        measure,
        machines: seen.len(),
        runs: by_fingerprint.values().flat_map(FleetRuns::values).map(BTreeMap::len).sum(),
        left_out,
        fleets: fleets.into_iter().map(|(fleet, _)| fleet).collect(),
        changed: seen.into_iter().filter(|(_, n)| *n > 1).map(|(machine, _)| machine.clone()).collect(),
    }
}

/// Largest logarithm whose power of e is a finite number, rounded down.
const LARGEST: f64 = 700.0;

/// A ratio that is always finite.
fn ratio(logarithm: f64) -> f64 {
    logarithm.clamp(-LARGEST, LARGEST).exp()
}

fn interval(deviation: f64, half: f64, level: f64) -> Interval {
    Interval { low: ratio(deviation - half), high: ratio(deviation + half), level }
}

/// The runs by fingerprint, machine, time and program, and how many times were left out.
fn sorted(runs: &[NodeRun]) -> (BTreeMap<String, FleetRuns>, usize) {
    // Times of one program of one run may come in several parts.
    type Parts = (Vec<f64>, Vec<f64>);
    let mut times: BTreeMap<(&str, &str, Nanos, &str, &str), Parts> = BTreeMap::new();
    let mut left_out = 0;
    for r in runs {
        let key = (r.fingerprint.as_str(), r.machine.as_str(), r.started, r.run.as_str(), r.program.as_str());
        let (all, added) = times.entry(key).or_default();
        // Logarithms of their ratios stay finite.
        let usable = r.times.iter().copied().filter(|t| *t > 1e-150 && *t < 1e150);
        let before = all.len();
        all.extend(usable);
        left_out += r.times.len() - (all.len() - before);
        added.extend(r.added.filter(|a| a.is_finite()));
    }
    let mut fleets: BTreeMap<String, FleetRuns> = BTreeMap::new();
    for ((fingerprint, machine, started, run, program), (mut times, added)) in times {
        times.sort_by(f64::total_cmp);
        let logs: Vec<f64> = times.iter().map(|t| t.ln()).collect();
        let Some(level) = median_of(logs.clone()) else { continue };
        let found =
            ProgramLevel { level, samples: logs.len(), spread: deviation(&logs, level), added: median_of(added) };
        let of_machine = fleets.entry(fingerprint.to_owned()).or_default().entry(machine.to_owned()).or_default();
        of_machine.entry((started, run.to_owned())).or_default().insert(program.to_owned(), found);
    }
    (fleets, left_out)
}

/// Standard deviation of logarithms around their median: robust, or that of all where more than half are equal or there
/// are few.
fn deviation(logs: &[f64], median: f64) -> f64 {
    let robust = 1.4826 * median_of(logs.iter().map(|l| (l - median).abs()).collect()).unwrap_or(0.0);
    if robust > 0.0 && logs.len() >= 5 { robust } else { spread_of(logs).variance.sqrt() }
}

/// Logarithm of the typical machine's time of each program.
fn typical_levels(fleet: &FleetRuns) -> BTreeMap<String, f64> {
    let mut by_program: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for runs in fleet.values() {
        let mut own: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        for (program, found) in runs.values().flatten() {
            own.entry(program).or_default().push(found.level);
        }
        for (program, levels) in own {
            by_program.entry(program).or_default().extend(median_of(levels));
        }
    }
    by_program.into_iter().filter_map(|(program, levels)| Some((program.clone(), median_of(levels)?))).collect()
}

/// The levels of a machine's runs, of the programs that are asked for; runs without any are left out.
fn run_levels(
    runs: &BTreeMap<RunKey, BTreeMap<String, ProgramLevel>>,
    typical: &BTreeMap<String, f64>,
    only: Option<&str>,
) -> Vec<RunLevel> {
    let level = |((at, _), programs): (&RunKey, &BTreeMap<String, ProgramLevel>)| {
        let (mut n, mut sum, mut sampling) = (0.0, 0.0, 0.0);
        for (program, found) in programs.iter().filter(|(p, _)| only.is_none_or(|o| o == p.as_str())) {
            let Some(usual) = typical.get(program) else { continue };
            n += 1.0;
            sum += found.level - usual;
            sampling += found.spread.powi(2) * of_median(found.samples);
        }
        (n > 0.0).then(|| RunLevel { at: *at, level: sum / n, sampling: sampling / (n * n) })
    };
    runs.iter().filter_map(level).collect()
}

/// A fleet's levels of all programs together, and of each one.
struct AllLevels {
    runs: Vec<Vec<RunLevel>>,
    overall: FleetLevels,
    /// By program, if there are several: its levels, and the position of each machine in them.
    by_program: Vec<(String, FleetLevels, Vec<Option<usize>>)>,
}

fn all_levels(fleet: &FleetRuns, typical: &BTreeMap<String, f64>) -> AllLevels {
    let runs: Vec<Vec<RunLevel>> = fleet.values().map(|r| run_levels(r, typical, None)).collect();
    let several = typical.len() > 1;
    // One for each machine, and for each program on it; a difference of two machines is one.
    let each = if runs.len() == 2 { 1 } else { runs.len() };
    let tests = each.saturating_mul(if several { typical.len() + 1 } else { 1 });
    let one_program = |program: &String| {
        let found: Vec<Vec<RunLevel>> = fleet.values().map(|r| run_levels(r, typical, Some(program))).collect();
        let mut next = 0..;
        let places = found.iter().map(|r| if r.is_empty() { None } else { next.next() }).collect();
        let there: Vec<Vec<RunLevel>> = found.into_iter().filter(|r| !r.is_empty()).collect();
        (program.clone(), fleet_levels(&there, tests), places)
    };
    let by_program = if several { typical.keys().map(one_program).collect() } else { Vec::new() };
    AllLevels { overall: fleet_levels(&runs, tests), runs, by_program }
}

/// Compares the machines of one fingerprint; also the typical level of each program.
fn one_fleet(fingerprint: &str, fleet: &FleetRuns) -> (NodeFleet, BTreeMap<String, f64>) {
    let typical = typical_levels(fleet);
    let levels = all_levels(fleet, &typical);
    let names: Vec<&String> = fleet.keys().collect();
    let deviations: Vec<f64> = levels.overall.machines.iter().map(|m| m.deviation).collect();
    let found = split(&deviations, levels.overall.relevant);
    let odd = odd_machines(&levels, found.as_ref());
    let drifts = fleet_drifts(&levels.runs, levels.overall.relevant);
    let times: Vec<Nanos> = levels.runs.iter().flatten().map(|r| r.at).collect();
    let (first, last) = (times.iter().min(), times.iter().max());
    let (first, last) = (first.copied().unwrap_or_default(), last.copied().unwrap_or_default());
    let mut machines: Vec<NodeRow> = Vec::new();
    for (i, (name, runs)) in fleet.iter().enumerate() {
        let drift = drifts.machines.get(i).copied().flatten();
        let place = RowPlace { i, odd: odd.get(i).copied().unwrap_or(false), drift };
        machines.extend(row(name, runs, &levels, &place, &typical));
    }
    let off = |r: &NodeRow| if r.odd { furthest(r) } else { 0.0 };
    machines.sort_by(|a, b| {
        (b.odd.cmp(&a.odd))
            .then(off(b).total_cmp(&off(a)))
            .then(b.ratio.total_cmp(&a.ratio))
            .then(a.machine.cmp(&b.machine))
    });
    let change = drifts.slope * (last.0 as f64 - first.0 as f64);
    let enough = drifts.machines.iter().flatten().count() > 2;
    let report = NodeFleet {
        fingerprint: fingerprint.to_owned(),
        answer: answer(&machines, &levels.overall, found.is_some()),
        drifting: names_of(&names, |i| drifts.machines.get(i).copied().flatten().is_some_and(|d| d.drifts)),
        programs: typical.keys().cloned().collect(),
        spread: FleetSpread {
            executions: median_of(fleet.values().flat_map(executions).collect()),
            runs: levels.overall.runs,
            machines: levels.overall.between,
        },
        relevant: levels.overall.relevant.min(LARGEST).exp_m1(),
        detectable: levels.overall.detectable.map(|d| ratio(d) - 1.0),
        single_runs: levels.overall.from_fleet,
        groups: found.map(|f| groups(&names, &deviations, &f)),
        ratio_to_first: None,
        common_drift: enough.then(|| ratio(change)),
        first,
        last,
        machines,
    };
    (report, typical)
}

fn names_of(names: &[&String], chosen: impl Fn(usize) -> bool) -> Vec<String> {
    names.iter().enumerate().filter(|(i, _)| chosen(*i)).map(|(_, name)| (*name).clone()).collect()
}

/// The largest deviation of a machine, of all programs together or of one that differs.
fn furthest(row: &NodeRow) -> f64 {
    let programs = row.programs.iter().filter(|p| p.differs).map(|p| p.ratio.ln().abs());
    programs.fold(row.ratio.ln().abs(), f64::max)
}

/// Deviations from the centre of each machine's own group, or as they are.
fn from_centre(deviations: &[f64], found: Option<&FleetSplit>) -> Vec<f64> {
    let Some(found) = found else { return deviations.to_vec() };
    let centre = |slow: bool| {
        let own = deviations.iter().zip(&found.slow).filter(|(_, s)| **s == slow).map(|(d, _)| *d);
        median_of(own.collect()).unwrap_or(0.0)
    };
    let (fast, slow) = (centre(false), centre(true));
    deviations.iter().zip(&found.slow).map(|(d, s)| d - if *s { slow } else { fast }).collect()
}

/// Which machines are odd: they differ from the centre of their group by more than the group spreads. Two machines only
/// differ from each other.
fn odd_machines(levels: &AllLevels, found: Option<&FleetSplit>) -> Vec<bool> {
    let n = levels.runs.len();
    if n < 3 {
        return vec![false; n];
    }
    let mut odd = outside(&levels.overall, found);
    for (_, program, places) in &levels.by_program {
        // The groups are of all programs together, and so are those of each program that has them.
        let deviations: Vec<f64> = program.machines.iter().map(|m| m.deviation).collect();
        let outside = outside(program, split(&deviations, program.relevant).as_ref());
        if program.machines.len() < 3 {
            continue;
        }
        for (odd, place) in odd.iter_mut().zip(places) {
            *odd |= place.and_then(|p| outside.get(p)).copied().unwrap_or(false);
        }
    }
    odd
}

fn outside(levels: &FleetLevels, found: Option<&FleetSplit>) -> Vec<bool> {
    let deviations: Vec<f64> = levels.machines.iter().map(|m| m.deviation).collect();
    let centred = from_centre(&deviations, found);
    let spread = match found {
        Some(_) => 1.4826 * median_of(centred.iter().map(|d| d.abs()).collect()).unwrap_or(0.0),
        None => levels.apart.unwrap_or(0.0),
    };
    let judged = |(m, d): (&MachineLevel, &f64)| {
        let excludes = m.half.is_some_and(|h| d.abs() > h) && d.abs() >= levels.relevant;
        excludes && d.abs() > DEVIATIONS * spread
    };
    levels.machines.iter().zip(&centred).map(judged).collect()
}

fn groups(names: &[&String], deviations: &[f64], found: &FleetSplit) -> FleetGroups {
    let members = |slow: bool| names_of(names, |i| found.slow.get(i) == Some(&slow));
    let level = |slow: bool| {
        let own = deviations.iter().zip(&found.slow).filter(|(_, s)| **s == slow).map(|(d, _)| *d);
        median_of(own.collect()).unwrap_or(0.0)
    };
    FleetGroups { fast: members(false), slow: members(true), ratio: ratio(level(true) - level(false)), p: found.p }
}

fn answer(machines: &[NodeRow], levels: &FleetLevels, grouped: bool) -> OddAnswer {
    let odd: Vec<String> = machines.iter().filter(|r| r.odd).map(|r| r.machine.clone()).collect();
    let differing = machines.iter().filter(|r| r.differs).count();
    if machines.len() < 2 {
        OddAnswer::Alone
    } else if grouped {
        OddAnswer::TwoGroups { odd }
    } else if levels.detectable.is_none() {
        OddAnswer::TooFew
    } else if !odd.is_empty() {
        OddAnswer::Yes(odd)
    } else if machines.len() == 2 && differing > 0 {
        OddAnswer::TwoDiffer
    } else if differing > 0 {
        OddAnswer::Spread { differing }
    } else {
        OddAnswer::No
    }
}

/// What a row has beside its runs.
struct RowPlace {
    /// Position of the machine.
    i: usize,
    odd: bool,
    drift: Option<LevelDrift>,
}

/// Spread of executions of each program of each run with several.
fn executions(runs: &BTreeMap<RunKey, BTreeMap<String, ProgramLevel>>) -> Vec<f64> {
    runs.values().flat_map(BTreeMap::values).filter(|p| p.samples > 1).map(|p| p.spread).collect()
}

fn row(
    name: &str,
    runs: &BTreeMap<RunKey, BTreeMap<String, ProgramLevel>>,
    levels: &AllLevels,
    place: &RowPlace,
    typical: &BTreeMap<String, f64>,
) -> Option<NodeRow> {
    let found = levels.overall.machines.get(place.i)?;
    let within = |m: &MachineLevel| m.half.map(|h| interval(m.deviation, h, LEVEL));
    let one_program = |(program, all, places): &(String, FleetLevels, Vec<Option<usize>>)| {
        let m = all.machines.get(places.get(place.i).copied().flatten()?)?;
        let (ratio, interval) = (ratio(m.deviation), within(m));
        Some(NodeProgram { program: program.clone(), ratio, interval, differs: m.differs })
    };
    let programs: Vec<NodeProgram> = levels.by_program.iter().filter_map(one_program).collect();
    let own: Vec<f64> = levels.runs.get(place.i)?.iter().map(|r| r.level).collect();
    let all = || runs.values().flat_map(BTreeMap::iter);
    let there: BTreeSet<&String> = all().map(|(program, _)| program).collect();
    Some(NodeRow {
        machine: name.to_owned(),
        ratio: ratio(found.deviation),
        interval: within(found),
        differs: found.differs || programs.iter().any(|p| p.differs),
        odd: place.odd,
        runs: runs.len(),
        samples: all().map(|(_, p)| p.samples).sum(),
        executions_spread: median_of(executions(runs)),
        runs_spread: (own.len() > 1).then(|| spread_of(&own).variance.sqrt()),
        added: median_of(all().filter_map(|(_, p)| p.added).collect()),
        drift: place.drift.map(|d| NodeDrift {
            ratio: ratio(d.change),
            interval: interval(d.change, d.half, crate::data::drift::DRIFT_LEVEL),
            drifts: d.drifts,
            span: Nanos(d.span as i64),
        }),
        programs,
        missing: typical.keys().filter(|p| !there.contains(p)).cloned().collect(),
    })
}

#[cfg(test)]
mod tests;
