//! A comparison of stored runs in words that the terminal, the page and the exports share.

use crate::compare::sentence::{short, spelled};
use std::collections::BTreeSet;
use tarebench_core::compare::ratio::{RatioBasis, Verdict};
use tarebench_core::compare::stored::{BlockRatio, ComparedBy, StoredComparison, StoredPair, StoredSide};
use tarebench_core::compare::stored_floor::{FloorSource, RunFloor};
use tarebench_core::compare::stored_report::{NoVerdict, RatioWay, StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::documents::head::Status;
use tarebench_core::machine::differences::{ConditionDifference, ConditionKind};
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;
use tarebench_report::style::Glyphs;
use tarebench_report::text;
use tarebench_report::words::plural;

/// Most columns of a program's name in a sentence.
const WIDEST: usize = 40;

/// How texts of the machine and the user, and signs, are written.
pub(crate) struct StoredWords<'a> {
    pub comparison: &'a StoredComparison,
    /// Makes a text ready to be shown.
    pub show: &'a dyn Fn(&str) -> String,
    pub g: Glyphs,
    pub unicode: bool,
}

/// A sentence on a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredSentence {
    /// `gzip of run 15 is 1.08 times as slow as in run 12`, without a period.
    pub text: String,
    /// `[1.02, 1.15]`.
    pub interval: Option<String>,
}

/// A remark on a comparison, without its period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRemark {
    /// It puts the ratio in doubt.
    pub warning: bool,
    pub text: String,
}

impl StoredWords<'_> {
    fn side(&self, index: u32) -> Option<&StoredSide> {
        self.comparison.sides.get(index as usize)
    }

    /// The label of a side, cut in its middle.
    pub fn label(&self, index: u32) -> String {
        let label = self.side(index).map_or("", |s| s.label.as_str());
        text::cut_middle(&(self.show)(label), WIDEST, self.g.dots).into_owned()
    }

    /// `run 12`.
    pub fn run(&self, index: u32) -> String {
        let run = self.side(index).and_then(|s| self.comparison.runs.get(s.run as usize));
        run.map_or_else(|| "a run".to_owned(), |r| format!("run {}", r.run))
    }

    /// `gzip of run 12`.
    pub fn name(&self, index: u32) -> String {
        format!("{} of {}", self.label(index), self.run(index))
    }

    /// `CPU time`; the name of what programs print, cut in its middle.
    pub fn what(&self, by: &ComparedBy) -> String {
        match by {
            ComparedBy::Time(m) => spelled(*m).to_owned(),
            ComparedBy::Printed { metric } => text::cut_middle(&(self.show)(metric), WIDEST, self.g.dots).into_owned(),
            ComparedBy::Counter { counter } => counter.name().to_owned(),
        }
    }

    /// The same for every output.
    pub fn measured(&self, by: &ComparedBy) -> Cell {
        match by {
            ComparedBy::Time(m) => Cell::text(spelled(*m)),
            ComparedBy::Printed { metric } => Cell::foreign(metric),
            ComparedBy::Counter { counter } => Cell::text(counter.name()),
        }
    }

    /// What one ratio says of its pair.
    pub fn sentence(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> StoredSentence {
        match ratio.measure {
            ComparedBy::Time(_) => self.timed(pair, ratio),
            ComparedBy::Printed { .. } | ComparedBy::Counter { .. } => self.of_number(pair, ratio),
        }
    }

    /// The program that has more of it stands first: tare cannot know whether that is better.
    fn of_number(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> StoredSentence {
        let (program, reference) = (self.name(pair.program), self.name(pair.reference));
        let (more, less) = if ratio.ratio < 1.0 { (reference, program) } else { (program, reference) };
        let (factor, interval) = figures(ratio.ratio, &ratio.interval, self.g.absent);
        let said = |verb: &str| format!("{more} {verb} {factor} times the {} of {less}", self.what(&ratio.measure));
        let mark = if pair.other_machine { "across machines: " } else { "" };
        let text = match (&ratio.interval, ratio.verdict) {
            (_, Err(NoVerdict::OtherMachine)) => format!("no verdict, as the machines differ: {}", said("had")),
            (Err(NoInterval::TooFew { .. }), _) => format!("{mark}undecided, too few samples: {}", said("had")),
            (Ok(_), Ok(Verdict::Undecided | Verdict::Same)) => format!("{mark}undecided: {}", said("had")),
            (Ok(_), Ok(Verdict::Faster | Verdict::Slower)) => format!("{mark}{}", said("has")),
        };
        StoredSentence { text, interval }
    }

    fn timed(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> StoredSentence {
        let (program, reference) = (self.name(pair.program), self.name(pair.reference));
        let other = match (self.same_run(pair), self.label(pair.program) == self.label(pair.reference)) {
            (false, true) => format!("in {}", self.run(pair.reference)),
            (true, _) => self.label(pair.reference),
            (false, false) => reference,
        };
        let (factor, interval) = figures(ratio.ratio, &ratio.interval, self.g.absent);
        let mark = if pair.other_machine { "across machines: " } else { "" };
        let how = if ratio.ratio < 1.0 { "fast" } else { "slow" };
        let text = match (&ratio.interval, ratio.verdict) {
            (_, Err(NoVerdict::OtherMachine)) => {
                format!("no verdict, as the machines differ: {program} was {factor} times as {how} as {other}")
            }
            (Err(NoInterval::TooFew { .. }), _) => {
                format!("{mark}undecided, too few samples: {program} was {factor} times as {how} as {other}")
            }
            (Ok(_), Ok(Verdict::Undecided | Verdict::Same)) => {
                format!("{mark}undecided: {program} was {factor} times as {how} as {other}")
            }
            (Ok(_), Ok(Verdict::Faster | Verdict::Slower)) => {
                format!("{mark}{program} is {factor} times as {how} as {other}")
            }
        };
        StoredSentence { text, interval }
    }

    /// Sentence and interval of the ratio of the verdict, with its measure: as on the terminal, on one line.
    pub fn answer(&self, pair: &StoredPairReport) -> Option<String> {
        let chosen = pair.chosen()?;
        let said = self.sentence(pair, chosen);
        let interval = said.interval.map_or_else(String::new, |i| format!(" {i}"));
        Some(format!("{}{interval}: {}", said.text, self.basis(pair, chosen)))
    }

    fn same_run(&self, pair: &StoredPairReport) -> bool {
        let run = |index| self.side(index).map(|s| s.run);
        run(pair.program) == run(pair.reference)
    }

    /// `CPU time, medians of 10 and 12 samples`.
    pub fn basis(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> String {
        let how = match ratio.way {
            RatioWay::SameRun { basis, pairs } => plural(pairs, block(basis)),
            RatioWay::RatioOfMedians { samples: [a, b] } => of_each("medians of ", a, b, "sample"),
            RatioWay::RatioOfRatios { basis, pairs: [a, b] } => {
                let reference =
                    self.side(pair.program).and_then(|s| s.against.as_ref()).map_or("", |r| r.label.as_str());
                let reference = text::cut_middle(&(self.show)(reference), WIDEST, self.g.dots).into_owned();
                of_each(&format!("ratios to {reference} in both runs, "), a, b, block(basis))
            }
        };
        let what = match ratio.measure {
            ComparedBy::Time(m) => spelled(m),
            ComparedBy::Printed { .. } if self.have_duets(pair) => "printed value, executions alone",
            ComparedBy::Printed { .. } => "printed value",
            ComparedBy::Counter { .. } if self.have_duets(pair) => "count, executions alone",
            ComparedBy::Counter { .. } => "count",
        };
        format!("{what}, {how}")
    }

    fn paired(&self, pair: &StoredPairReport) -> Option<&StoredPair> {
        self.comparison.pairs.iter().find(|p| (p.program, p.reference) == (pair.program, pair.reference))
    }

    /// Whether there are duets of the two, or of one of them in its run: what programs print there is not read.
    fn have_duets(&self, pair: &StoredPairReport) -> bool {
        let is_duet = |r: &BlockRatio| r.basis == RatioBasis::Duets;
        let of_side =
            |index| self.side(index).and_then(|s| s.against.as_ref()).is_some_and(|a| a.ratios.iter().any(is_duet));
        let own = self.paired(pair).is_some_and(|p| p.blocks.iter().any(is_duet));
        own || of_side(pair.program) || of_side(pair.reference)
    }

    /// The ratio by another measure, in a note: `elapsed: 1.07 [1.00, 1.14]`, in the direction of the chosen one.
    pub fn beside(&self, chosen: &StoredRatio, other: &StoredRatio) -> String {
        let turned = chosen.ratio < 1.0;
        let (factor, interval) = directed(other.ratio, &other.interval, turned, self.g.absent);
        let interval = interval.map_or_else(String::new, |i| format!(" {i}"));
        match &other.measure {
            ComparedBy::Time(m) => format!("{}: {factor}{interval}", short(*m)),
            printed => format!("{}: {factor}{interval}", self.what(printed)),
        }
    }

    /// How far two runs differ although the program does not, and how that is known.
    pub fn floor(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> Option<String> {
        let RunFloor { share, source } = ratio.floor?;
        let percent = number::percent(share).unwrap_or_else(|| self.g.absent.to_owned());
        let by = format!("by {} {percent}", self.g.plus_minus);
        let ratios = matches!(ratio.way, RatioWay::RatioOfRatios { .. });
        let two_machines = !pair.other_machine && pair.differences.iter().any(|d| d.what == ConditionKind::Machine);
        let runs_of = if two_machines { "two machines like these" } else { "this machine" };
        Some(match source {
            FloorSource::SameProgram { pairs, runs } => {
                let what = if ratios { "the same ratio differs" } else { "the same program differs" };
                let known = format!("{} of {}", plural(pairs, "pair"), plural(runs, "run"));
                format!("between runs of {runs_of}, {what} {by} ({known})")
            }
            FloorSource::OtherPrograms { pairs, programs } => {
                let what = if ratios { "such ratios of other programs differ" } else { "other programs differ" };
                let known = format!("{} of runs, {}", plural(pairs, "pair"), plural(programs, "program"));
                format!("no history of it: between runs of {runs_of}, {what} {by} ({known})")
            }
            FloorSource::Assumed if ratios => {
                format!("no history: {} {percent} between two runs is assumed of such ratios", self.g.plus_minus)
            }
            FloorSource::Assumed if two_machines => {
                format!(
                    "no history: {percent} between two machines of the same description is common, and less gets no verdict"
                )
            }
            FloorSource::Assumed => {
                format!("no history: on shared machines, {percent} between runs is common, and less gets no verdict")
            }
        })
    }

    /// What must be pointed out of a pair, beside its ratio.
    pub fn remarks(&self, pair: &StoredPairReport) -> Vec<StoredRemark> {
        let mut all = Vec::new();
        let mut add = |warning: bool, text: String| all.push(StoredRemark { warning, text });
        let Some(chosen) = pair.chosen() else {
            let (a, b) = (self.name(pair.program), self.name(pair.reference));
            add(true, format!("{a} and {b} cannot be compared: no measure has times above 0 of both"));
            return all;
        };
        if let Some(asked) = self.comparison.plan.measure.as_ref().filter(|m| **m != chosen.measure) {
            add(true, format!("they cannot be compared by {}: {}", self.what(asked), missing(pair, asked)));
        }
        if !matches!(chosen.measure, ComparedBy::Time(_)) && !self.same_run(pair) {
            let what = self.what(&chosen.measure);
            add(
                true,
                format!(
                    "how far {what} differs from run to run is not known: its interval allows for the samples only"
                ),
            );
        }
        if pair.other_machine && chosen.verdict.is_ok() {
            add(true, "across machines: the ratio is that of the machines, too".to_owned());
        }
        if let Err(NoInterval::TooFew { have, need }) = chosen.interval {
            add(true, format!("no interval: {have} samples or blocks of the smaller side, {need} needed"));
        }
        if self.same_run(pair) && self.paired(pair).is_some_and(|p| !p.paired_in_time) {
            add(
                true,
                "the programs ran one after the other: a drift of the machine may look like a difference".to_owned(),
            );
        }
        all.extend(pair.differences.iter().map(|d| self.difference(pair, d)));
        all
    }

    /// `kernel: 6.1.0 in run 12, 6.2.0 in run 15`.
    fn difference(&self, pair: &StoredPairReport, d: &ConditionDifference) -> StoredRemark {
        let value = |text: &Option<String>| match text {
            None => "not known".to_owned(),
            Some(text) if text.is_empty() => "none".to_owned(),
            Some(text) => match (&d.what, text.parse::<u64>()) {
                (ConditionKind::Memory, Ok(bytes)) => number::bytes(bytes),
                _ => (self.show)(text),
            },
        };
        let (first, second) = (value(&d.first), value(&d.second));
        let what = condition(&d.what);
        let (reference, program) = (self.run(pair.reference), self.run(pair.program));
        let text = format!("{}: {first} in {reference}, {second} in {program}", (self.show)(&what));
        StoredRemark { warning: d.what.is_decisive(), text }
    }

    /// Programs that are compared with nothing, and runs that are not finished.
    pub fn of_all(&self) -> Vec<StoredRemark> {
        let run = |index: u32| self.comparison.runs.get(index as usize).map_or(0, |r| r.run);
        let left_out = self.comparison.left_out.iter().map(|left| StoredRemark {
            warning: false,
            text: format!("{} of run {} is in no other run, and is left out", (self.show)(&left.label), run(left.run)),
        });
        let unfinished = self.comparison.runs.iter().filter(|r| r.status != Status::Finished);
        let unfinished = unfinished.map(|r| StoredRemark {
            warning: false,
            text: format!("run {} is not finished: its samples so far are compared", r.run),
        });
        left_out.chain(unfinished).collect()
    }
}

/// What must be pointed out of all pairs, each once: pairs of the same runs have the same conditions.
pub(crate) fn every_remark(words: &StoredWords<'_>, report: &StoredReport) -> Vec<StoredRemark> {
    let mut seen = BTreeSet::new();
    let all = report.pairs.iter().flat_map(|pair| words.remarks(pair)).chain(words.of_all());
    all.filter(|remark| seen.insert(remark.text.clone())).collect()
}

/// `medians of 10 samples each`, `medians of 10 and 12 samples`.
fn of_each(lead: &str, a: u32, b: u32, noun: &str) -> String {
    if a == b { format!("{lead}{} each", plural(a, noun)) } else { format!("{lead}{a} and {}", plural(b, noun)) }
}

fn block(basis: RatioBasis) -> &'static str {
    match basis {
        RatioBasis::Duets => "duet",
        RatioBasis::Alone => "pair",
    }
}

/// Why the measure that was asked for is not that of the verdict.
fn missing(pair: &StoredPairReport, asked: &ComparedBy) -> &'static str {
    match asked {
        ComparedBy::Time(_) => "not both have it",
        ComparedBy::Printed { metric } if pair.not_positive.contains(metric) => {
            "a value that one of them printed is zero or negative, and such values have no meaningful ratio"
        }
        ComparedBy::Printed { .. } => "not both print it",
        ComparedBy::Counter { .. } => "not both have a count above 0 in all samples",
    }
}

/// What differs, in words; the name of a factor is the machine's text.
fn condition(what: &ConditionKind) -> String {
    let words = match what {
        ConditionKind::Machine => "machine",
        ConditionKind::CpuModel => "CPU model",
        ConditionKind::Microcode => "microcode",
        ConditionKind::CpuCount => "CPUs",
        ConditionKind::Memory => "memory",
        ConditionKind::Architecture => "architecture",
        ConditionKind::Kernel => "kernel",
        ConditionKind::KernelVersion => "kernel version",
        ConditionKind::Hypervisor => "hypervisor",
        ConditionKind::ClockSource => "clock source",
        ConditionKind::Factor(name) => return name.clone(),
    };
    words.to_owned()
}

/// The verdict in a table, with its mark.
pub(crate) fn marked_verdict(pair: &StoredPairReport, ratio: &StoredRatio) -> String {
    let mark = if pair.other_machine && ratio.verdict.is_ok() { ", across machines" } else { "" };
    format!("{}{mark}", stored_verdict(ratio))
}

/// The verdict in one word.
pub(crate) fn stored_verdict(ratio: &StoredRatio) -> &'static str {
    let number = !matches!(ratio.measure, ComparedBy::Time(_));
    match ratio.verdict {
        Ok(Verdict::Faster) if number => "lower",
        Ok(Verdict::Slower) if number => "higher",
        Ok(Verdict::Faster) => "faster",
        Ok(Verdict::Slower) => "slower",
        Ok(Verdict::Same | Verdict::Undecided) => "undecided",
        Err(NoVerdict::OtherMachine) => "other machine",
    }
}

/// By how much, at least 1: the ratio, or its inverse if it is below 1; with the interval.
fn figures(ratio: f64, interval: &Result<Interval, NoInterval>, absent: &str) -> (String, Option<String>) {
    directed(ratio, interval, ratio < 1.0, absent)
}

fn directed(
    ratio: f64,
    interval: &Result<Interval, NoInterval>,
    turned: bool,
    absent: &str,
) -> (String, Option<String>) {
    let interval = interval.as_ref().ok().map(|i| (i.low, i.high));
    let (ratio, interval) = match turned {
        true => (1.0 / ratio, interval.map(|(low, high)| (1.0 / high, 1.0 / low))),
        false => (ratio, interval),
    };
    let decimals = number::ratio_decimals(ratio, interval.map(|(low, high)| (high - low) / 2.0)).min(4);
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_else(|| absent.to_owned());
    (show(ratio), interval.map(|(low, high)| format!("[{}, {}]", show(low), show(high))))
}

/// A ratio in a table: program / reference, with its decimals by the interval.
pub(crate) fn cell(ratio: &StoredRatio) -> (Option<String>, Option<String>) {
    let half = ratio.interval.as_ref().ok().map(Interval::half_width);
    let decimals = number::ratio_decimals(ratio.ratio, half).min(4);
    let show = |v: f64| number::fixed(v, decimals);
    let interval = ratio.interval.as_ref().ok().and_then(|i| Some(format!("[{}, {}]", show(i.low)?, show(i.high)?)));
    (show(ratio.ratio), interval)
}

/// The same for every output.
pub(crate) fn ratio(ratio: &StoredRatio) -> Cell {
    Cell::figure(Figure::new(Unit::Ratio, ratio.ratio).with_interval(&ratio.interval))
}

/// The ratios beside the chosen one, elapsed before process time.
pub(crate) fn others<'a>(pair: &'a StoredPairReport, chosen: &StoredRatio) -> Vec<&'a StoredRatio> {
    let wanted = [Measure::Et, Measure::Pt].into_iter().filter(|m| ComparedBy::Time(*m) != chosen.measure);
    wanted.filter_map(|m| pair.by(m)).collect()
}
