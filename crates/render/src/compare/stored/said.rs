//! A comparison of stored runs in words that the terminal, the page and the exports share.

use crate::compare::sentence::spelled;
use std::collections::BTreeSet;
use tarebench_core::compare::ratio::{RatioBasis, Verdict};
use tarebench_core::compare::stored::{BlockRatio, ComparedBy, StoredComparison, StoredPair, StoredSide};
use tarebench_core::compare::stored_floor::{FloorSource, RunFloor};
use tarebench_core::compare::stored_report::{NoVerdict, RatioWay, StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::documents::head::Status;
use tarebench_core::machine::differences::{ConditionDifference, ConditionKind};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::SheetRemark;
use tarebench_report::style::Paint;
use tarebench_report::words::plural;

/// The sentences of one comparison, without their periods.
pub(crate) struct StoredWords<'a> {
    pub comparison: &'a StoredComparison,
}

impl StoredWords<'_> {
    pub fn side(&self, index: u32) -> Option<&StoredSide> {
        self.comparison.sides.get(index as usize)
    }

    fn label(&self, index: u32) -> Cell {
        Cell::foreign(self.side(index).map_or("", |s| s.label.as_str()))
    }

    /// `run 12`.
    fn run(&self, index: u32) -> String {
        let run = self.side(index).and_then(|s| self.comparison.runs.get(s.run as usize));
        run.map_or_else(|| "a run".to_owned(), |r| format!("run {}", r.run))
    }

    /// `gzip of run 12`.
    pub fn name(&self, index: u32) -> Cell {
        self.label(index).and(format!(" of {}", self.run(index)))
    }

    /// What one ratio says of its pair: `gzip of run 15 is 1.08 [1.02, 1.15] times as slow as in run 12`.
    fn sentence(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> Cell {
        let (lead, decided) = match (&ratio.interval, ratio.verdict) {
            (_, Err(NoVerdict::OtherMachine)) => ("no verdict, as the machines differ: ", false),
            (Err(NoInterval::TooFew { .. }), _) => ("undecided, too few samples: ", false),
            (Ok(_), Ok(Verdict::Undecided | Verdict::Same)) => ("undecided: ", false),
            (Ok(_), Ok(Verdict::Faster | Verdict::Slower)) => ("", true),
        };
        let mark = if pair.other_machine && ratio.verdict.is_ok() { "across machines: " } else { "" };
        let turned = ratio.ratio < 1.0;
        let said = Cell::text(format!("{mark}{lead}"));
        let said = if let ComparedBy::Time(_) = ratio.measure {
            let is = if decided { "is" } else { "was" };
            let how = if turned { "fast" } else { "slow" };
            let said = said.and(self.name(pair.program)).and(format!(" {is} ")).and(factor(ratio));
            said.and(format!(" times as {how} as ")).and(self.other(pair))
        } else {
            // The program that has more of it stands first: tare cannot know whether that is better.
            let (program, reference) = (self.name(pair.program), self.name(pair.reference));
            let (more, less) = if turned { (reference, program) } else { (program, reference) };
            let said = said.and(more).and(if decided { " has " } else { " had " }).and(factor(ratio));
            said.and(" times the ").and(measured(&ratio.measure)).and(" of ").and(less)
        };
        said.paint(if decided { Paint::Strong } else { Paint::Warn })
    }

    /// What a program is compared with, after its own name.
    fn other(&self, pair: &StoredPairReport) -> Cell {
        match (self.same_run(pair), self.label(pair.program) == self.label(pair.reference)) {
            (false, true) => format!("in {}", self.run(pair.reference)).into(),
            (true, _) => self.label(pair.reference),
            (false, false) => self.name(pair.reference),
        }
    }

    /// The ratio of the verdict in a sentence, with what it rests on.
    pub fn answer(&self, pair: &StoredPairReport) -> Option<Cell> {
        pair.chosen().map(|chosen| self.based(pair, chosen))
    }

    /// The same, and after it the ratio by another time that says otherwise.
    pub fn answers(&self, pair: &StoredPairReport) -> Vec<Cell> {
        let disagreeing = pair.disagreeing().map(|other| self.based(pair, other));
        self.answer(pair).into_iter().chain(disagreeing).collect()
    }

    fn based(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> Cell {
        self.sentence(pair, ratio).and(": ").and(self.basis(pair, ratio))
    }

    fn same_run(&self, pair: &StoredPairReport) -> bool {
        let run = |index| self.side(index).map(|s| s.run);
        run(pair.program) == run(pair.reference)
    }

    /// `CPU time, medians of 10 and 12 samples`.
    pub fn basis(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> Cell {
        let what = match ratio.measure {
            ComparedBy::Time(m) => spelled(m),
            ComparedBy::Printed { .. } if self.have_duets(pair) => "printed value, executions alone",
            ComparedBy::Printed { .. } => "printed value",
            ComparedBy::Counter { .. } if self.have_duets(pair) => "count, executions alone",
            ComparedBy::Counter { .. } => "count",
        };
        let what = Cell::text(what);
        match ratio.way {
            RatioWay::SameRun { basis, pairs } => what.and(format!(", {}", plural(pairs, block(basis)))),
            RatioWay::RatioOfMedians { samples: [a, b] } => what.and(", medians of ").and(of_each(a, b, "sample")),
            RatioWay::RatioOfRatios { basis, pairs: [a, b] } => {
                let against = self.side(pair.program).and_then(|s| s.against.as_ref());
                let reference = Cell::foreign(against.map_or("", |r| r.label.as_str()));
                what.and(", ratios to ").and(reference).and(" in both runs, ").and(of_each(a, b, block(basis)))
            }
        }
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

    /// How far two runs differ although the program does not, and how that is known.
    pub fn floor(&self, pair: &StoredPairReport, ratio: &StoredRatio) -> Option<Cell> {
        let floor = ratio.floor?;
        let RunFloor { share, source } = floor;
        let percent = Cell::of(Unit::Share, share);
        let ratios = matches!(ratio.way, RatioWay::RatioOfRatios { .. });
        let two_machines = !pair.other_machine && pair.differences.iter().any(|d| d.what == ConditionKind::Machine);
        let runs_of = if two_machines { "two machines like these" } else { "this machine" };
        let (before, after) = match source {
            FloorSource::SameProgram { pairs, runs, others } => {
                let what = if ratios { "the same ratio differs" } else { "the same program differs" };
                let beside = others.map(|n| format!(", beside {n} other programs")).unwrap_or_default();
                let known = format!("{} of {}{beside}", plural(pairs, "pair"), plural(runs, "run"));
                (format!("between runs of {runs_of}, {what} by ± "), format!(" ({known}{})", too_few(&floor)))
            }
            FloorSource::OtherPrograms { pairs, programs } => {
                let what = if ratios { "such ratios of other programs differ" } else { "other programs differ" };
                let known = format!("{} of runs, {}", plural(pairs, "pair"), plural(programs, "program"));
                let before = format!("no history of it: between runs of {runs_of}, {what} by ± ");
                (before, format!(" ({known}{})", too_few(&floor)))
            }
            FloorSource::Assumed => {
                let (before, after) = match (ratios, two_machines) {
                    (true, _) => ("± ", " between two runs is assumed of such ratios"),
                    (_, true) => {
                        ("", " between two machines of the same description is common, and less gets no verdict")
                    }
                    _ => ("on shared machines, ", " between runs is common, and less gets no verdict"),
                };
                (format!("no history: {before}"), after.to_owned())
            }
        };
        Some(Cell::text(before).and(percent).and(after))
    }

    /// What must be pointed out of a pair, beside its ratio.
    fn remarks(&self, pair: &StoredPairReport) -> Vec<SheetRemark> {
        let Some(chosen) = pair.chosen() else {
            let said = self.name(pair.program).and(" and ").and(self.name(pair.reference));
            return vec![SheetRemark::warning(said.and(" cannot be compared: no measure has times above 0 of both"))];
        };
        let mut all: Vec<Cell> = Vec::new();
        if let Some(asked) = self.comparison.plan.measure.as_ref().filter(|m| **m != chosen.measure) {
            let said = Cell::text("they cannot be compared by ").and(measured(asked));
            all.push(said.and(format!(": {}", missing(pair, asked))));
        }
        if !matches!(chosen.measure, ComparedBy::Time(_)) && !self.same_run(pair) {
            let said = Cell::text("how far ").and(measured(&chosen.measure));
            all.push(said.and(" differs from run to run is not known: its interval allows for the samples only"));
        }
        if chosen.floor.is_some_and(|f| f.of_few()) && chosen.verdict == Ok(Verdict::Undecided) {
            let reference = match chosen.way {
                RatioWay::RatioOfMedians { .. } => ", and the same reference program in both runs makes it far sharper",
                RatioWay::RatioOfRatios { .. } | RatioWay::SameRun { .. } => "",
            };
            all.push(
                format!("few runs show how far runs differ: more runs of the program make this sharper{reference}")
                    .into(),
            );
        }
        if pair.other_machine && chosen.verdict.is_ok() {
            all.push("across machines: the ratio is that of the machines, too".into());
        }
        if let Err(NoInterval::TooFew { have, need }) = chosen.interval {
            all.push(format!("no interval: {have} samples or blocks of the smaller side, {need} needed").into());
        }
        if self.same_run(pair) && self.paired(pair).is_some_and(|p| !p.paired_in_time) {
            let said = "the programs ran one after the other: a drift of the machine may look like a difference";
            all.push(said.into());
        }
        let differences = pair.differences.iter().map(|d| self.difference(pair, d));
        all.into_iter().map(SheetRemark::warning).chain(differences).collect()
    }

    /// `kernel: 6.1.0 in run 12, 6.2.0 in run 15`.
    fn difference(&self, pair: &StoredPairReport, d: &ConditionDifference) -> SheetRemark {
        let value = |text: &Option<String>| match text.as_deref() {
            None => Cell::text("not known"),
            Some("") => Cell::text("none"),
            Some(text) => match (&d.what, text.parse::<u64>()) {
                (ConditionKind::Memory, Ok(bytes)) => Cell::of(Unit::Bytes, bytes as f64),
                _ => Cell::foreign(text),
            },
        };
        let (reference, program) = (self.run(pair.reference), self.run(pair.program));
        let said = condition(&d.what).and(": ").and(value(&d.first)).and(format!(" in {reference}, "));
        let cell = said.and(value(&d.second)).and(format!(" in {program}"));
        SheetRemark { warning: d.what.is_decisive(), cell }
    }

    /// Programs that are compared with nothing, and runs that are not finished.
    fn of_all(&self) -> Vec<SheetRemark> {
        let run = |index: u32| self.comparison.runs.get(index as usize).map_or(0, |r| r.run);
        let left_out = self.comparison.left_out.iter().map(|left| {
            let of_run = format!(" of run {} is in no other run, and is left out", run(left.run));
            SheetRemark::information(Cell::foreign(&left.label).and(of_run))
        });
        let unfinished = self.comparison.runs.iter().filter(|r| r.status != Status::Finished);
        let unfinished = unfinished.map(|r| {
            SheetRemark::information(format!("run {} is not finished: its samples so far are compared", r.run))
        });
        left_out.chain(unfinished).collect()
    }
}

/// What must be pointed out of all pairs, each once, warnings first: pairs of the same runs have the same conditions.
pub(crate) fn every_remark(words: &StoredWords<'_>, report: &StoredReport) -> Vec<SheetRemark> {
    let mut seen = BTreeSet::new();
    let all = report.pairs.iter().flat_map(|pair| words.remarks(pair)).chain(words.of_all());
    let mut all: Vec<SheetRemark> = all.filter(|remark| seen.insert(remark.cell.plain())).collect();
    all.sort_by_key(|r| !r.warning);
    all
}

/// `CPU time`; the name of what programs print.
pub(crate) fn measured(by: &ComparedBy) -> Cell {
    match by {
        ComparedBy::Time(m) => Cell::text(spelled(*m)),
        ComparedBy::Printed { metric } => Cell::foreign(metric),
        ComparedBy::Counter { counter } => Cell::text(counter.name()),
    }
}

/// Why a floor is wide.
fn too_few(floor: &RunFloor) -> &'static str {
    if floor.of_few() { ", too few to be sharper" } else { "" }
}

/// `10 samples each`, `10 and 12 samples`.
fn of_each(a: u32, b: u32, noun: &str) -> String {
    if a == b { format!("{} each", plural(a, noun)) } else { format!("{a} and {}", plural(b, noun)) }
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
fn condition(what: &ConditionKind) -> Cell {
    Cell::text(match what {
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
        ConditionKind::Factor(name) => return Cell::foreign(name),
    })
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

/// By how much, at least 1: the ratio, or its inverse if it is below 1.
fn factor(ratio: &StoredRatio) -> Cell {
    if ratio.ratio < 1.0 {
        let inverse = |i: Interval| Interval { low: 1.0 / i.high, high: 1.0 / i.low, level: i.level };
        let interval = ratio.interval.clone().map(inverse);
        Cell::figure(Figure::new(Unit::Ratio, 1.0 / ratio.ratio).with_interval(&interval))
    } else {
        Cell::figure(ratio_figure(ratio))
    }
}

/// Program / reference.
pub(crate) fn ratio_figure(ratio: &StoredRatio) -> Figure {
    Figure::new(Unit::Ratio, ratio.ratio).with_interval(&ratio.interval)
}
