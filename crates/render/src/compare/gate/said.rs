//! A gate in words and figures.

use crate::compare::duets;
use crate::compare::sentence::spelled;
use tarebench_core::compare::gate::{
    AlikeBlocks, BenchmarkReport, ControlReport, CorrectedSide, Gate, GateReport, GateSide, GateVerdict, MeanRatio,
    MeasuredBenchmark, SideTimes,
};
use tarebench_core::compare::gate_rule::{blocks_needed, fewest_to_pass};
use tarebench_core::run::report::data::{Measure, RatioBasis};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;
use tarebench_report::style::Paint;
use tarebench_report::words::plural;

/// Digits of a commit's id that are shown.
const COMMIT: usize = 12;

pub(crate) fn verdict_word(v: GateVerdict) -> &'static str {
    match v {
        GateVerdict::Pass => "pass",
        GateVerdict::Regression => "regression",
        GateVerdict::Improvement => "improvement",
        GateVerdict::Inconclusive => "inconclusive",
        GateVerdict::Failed => "failed",
    }
}

/// Positions of the benchmarks: in the order of the plan if there are at most `most`, else the worst first.
pub(crate) fn order(report: &GateReport, most: usize) -> Vec<usize> {
    let rank = |v: GateVerdict| match v {
        GateVerdict::Failed => 0,
        GateVerdict::Regression => 1,
        GateVerdict::Inconclusive => 2,
        GateVerdict::Improvement => 3,
        GateVerdict::Pass => 4,
    };
    let mut all: Vec<(usize, &BenchmarkReport)> = report.benchmarks.iter().enumerate().collect();
    if all.len() > most {
        all.sort_by_key(|(_, b)| rank(b.verdict));
    }
    all.into_iter().map(|(place, _)| place).collect()
}

/// The answer at a glance, without a period.
pub(crate) fn answer(report: &GateReport) -> Cell {
    let lead = Cell::text(format!("{}: ", verdict_word(report.verdict)));
    let said = match report.benchmarks.as_slice() {
        [] => lead.and("nothing was measured"),
        [b] => lead.and(Cell::foreign(&b.name)).and(format!(" {}", alone(b.verdict))),
        all => lead.and(several(report.verdict, all)),
    };
    said.paint(paint(report.verdict))
}

pub(crate) fn paint(v: GateVerdict) -> Paint {
    match v {
        GateVerdict::Pass | GateVerdict::Improvement => Paint::Good,
        GateVerdict::Regression | GateVerdict::Failed => Paint::Bad,
        GateVerdict::Inconclusive => Paint::Warn,
    }
}

fn alone(v: GateVerdict) -> &'static str {
    match v {
        GateVerdict::Pass => "is not slower",
        GateVerdict::Regression => "is slower",
        GateVerdict::Improvement => "is faster",
        GateVerdict::Inconclusive => "is undecided",
        GateVerdict::Failed => "could not be measured",
    }
}

fn several(whole: GateVerdict, all: &[BenchmarkReport]) -> String {
    let count = |v: GateVerdict| all.iter().filter(|b| b.verdict == v).count();
    let n = all.len();
    let are = |k: usize, what: &str| format!("{k} of {n} benchmarks {} {what}", if k == 1 { "is" } else { "are" });
    let lead = match whole {
        GateVerdict::Failed => format!("{} of {n} benchmarks could not be measured", count(whole)),
        GateVerdict::Regression => are(count(whole), "slower"),
        GateVerdict::Inconclusive => are(count(whole), "undecided"),
        GateVerdict::Pass | GateVerdict::Improvement => format!("none of {n} benchmarks is slower"),
    };
    let others = [
        (GateVerdict::Regression, "slower"),
        (GateVerdict::Inconclusive, "undecided"),
        (GateVerdict::Improvement, "faster"),
    ];
    let others = others.into_iter().filter(|(v, _)| *v != whole && count(*v) > 0);
    let others: Vec<String> = others.map(|(v, what)| format!("{} {what}", count(v))).collect();
    if others.is_empty() { lead } else { format!("{lead}; {}", others.join(", ")) }
}

/// A ratio as a change with its interval: `+4.1 % [+3.8, +4.4]`.
pub(crate) fn change(ratio: f64, interval: &Result<Interval, NoInterval>) -> Cell {
    Cell::figure(Figure::new(Unit::Change, ratio).with_interval(interval))
}

/// `24 duets`, `1 round`.
pub(crate) fn blocks(n: u32, measured: Option<&MeasuredBenchmark>) -> String {
    let kind = match measured.map(|m| m.basis) {
        Some(RatioBasis::Duets) => "duet",
        Some(RatioBasis::Alone) => "round",
        None => "block",
    };
    plural(n, kind)
}

/// The measure that a benchmark is compared by, where it is known.
pub(crate) fn measure(gate: &Gate, place: usize) -> Option<Measure> {
    let asked = || gate.plan.benchmarks.get(place).and_then(|b| b.measure);
    gate.measured.get(place).and_then(|m| m.measure).or_else(asked)
}

/// The one that all of these are compared by, if they are compared by one.
pub(crate) fn common_measure(gate: &Gate) -> Option<Measure> {
    let mut all = (0..gate.plan.benchmarks.len()).filter_map(|i| measure(gate, i));
    let first = all.next()?;
    all.all(|m| m == first).then_some(first)
}

/// Times of both builds by the measure that a benchmark is compared by.
pub(crate) fn times(gate: &Gate, place: usize) -> Option<&SideTimes> {
    let measure = measure(gate, place)?;
    gate.measured.get(place)?.times.iter().find(|t| t.measure == measure)
}

/// Why a benchmark has no verdict, and what would give it one, without a period; `None` if it has one.
pub(crate) fn reason(gate: &Gate, report: &GateReport, place: usize) -> Option<Cell> {
    let b = report.benchmarks.get(place)?;
    match b.verdict {
        GateVerdict::Failed => {
            let said = Cell::text("could not be measured");
            Some(match gate.measured.get(place).and_then(|m| m.failed.clone()) {
                Some(failed) => said.and(": ").and(Cell::foreign(failed)),
                None => said,
            })
        }
        GateVerdict::Inconclusive => Some(undecided(gate, b, place)),
        GateVerdict::Pass | GateVerdict::Regression | GateVerdict::Improvement => None,
    }
}

fn undecided(gate: &Gate, b: &BenchmarkReport, place: usize) -> Cell {
    if let Some(control) = b.control.as_ref().filter(|c| c.differs) {
        return Cell::text("the base differs from itself by ").and(of_control(control)).and(
            ": what makes it differ may be what makes the head differ, so that more blocks decide nothing; look for something that \
             one execution leaves to the next",
        );
    }
    let have = blocks(b.blocks, gate.measured.get(place));
    if b.blocks == 0 {
        return "no block was measured".into();
    }
    if let Err(NoInterval::TooFew { need, .. }) = &b.interval {
        return format!("only {have}, at least {need} are needed").into();
    }
    let limit = gate.plan.benchmarks.get(place).map_or(0.0, |b| b.threshold);
    let below = |i: &Result<Interval, NoInterval>| i.as_ref().is_ok_and(|i| i.high < 1.0 + limit);
    let least = fewest_to_pass();
    if b.blocks < least && below(&b.interval) && b.mean.as_ref().is_some_and(|m| below(&m.interval)) {
        return format!(
            "only {have}, a pass needs at least {least}: fewer may all be fast though a quarter of the executions is slow"
        )
        .into();
    }
    let counted = b.alike.map(|alike| format!(" ({})", alike_blocks(alike))).unwrap_or_default();
    let shown = format!(
        "{have}{counted} show neither a slowdown above {} nor one below {}",
        number::limit(limit / 2.0),
        number::limit(limit)
    );
    let most = gate.plan.max_blocks;
    Cell::text(match blocks_needed(gate, place) {
        Some(n) if n > most => {
            format!("{shown}; about {n} blocks would decide it, more than the {most} that it may have")
        }
        Some(n) => format!("{shown}; about {n} blocks would decide it"),
        None => shown,
    })
}

/// What correlated blocks are worth.
pub(crate) fn alike_blocks(alike: AlikeBlocks) -> String {
    format!("neighbours are alike, correlation {:.1}: worth {:.0} independent ones", alike.correlation, alike.worth)
}

/// How many blocks are slower and faster than the threshold: `6 of 24 duets by more than 2 %, and 1 faster by as much`.
pub(crate) fn slow_blocks(gate: &Gate, mean: &MeanRatio, place: usize, slower: bool) -> Cell {
    let (most, least, other) = match slower {
        true => (mean.slow_blocks, mean.fast_blocks, "faster"),
        false => (mean.fast_blocks, mean.slow_blocks, "slower"),
    };
    let all = blocks(mean.of_blocks, gate.measured.get(place));
    let limit = Cell::of(Unit::Limit, gate.plan.benchmarks.get(place).map(|b| b.threshold));
    Cell::text(format!("{most} of {all} by more than ")).and(limit).and(format!(", and {least} {other} by as much"))
}

/// That a share of the executions is slower or faster, where the mean shows what the middle does not: their intervals do not
/// overlap, or only one of them lets the benchmark pass. Without a period.
pub(crate) fn uneven(gate: &Gate, report: &GateReport, place: usize) -> Option<Cell> {
    let b = report.benchmarks.get(place)?;
    let (mean, limit) = (b.mean.as_ref()?, 1.0 + gate.plan.benchmarks.get(place)?.threshold);
    let (middle, ratio) = (b.ratio?, mean.ratio);
    let (inner, outer) = (b.interval.as_ref().ok()?, mean.interval.as_ref().ok()?);
    let apart = outer.low > inner.high || outer.high < inner.low;
    let decides = outer.high >= limit && inner.high < limit;
    if !apart && !decides {
        return None;
    }
    let slower = ratio > middle;
    let lead =
        if slower { "a share of the executions may be slower: " } else { "a share of the executions may be faster: " };
    let lead = if apart { lead.replace("may be", "is") } else { lead.to_owned() };
    let changed = Cell::text("; the mean changed by ").and(change(ratio, &mean.interval)).and(", the middle by ");
    let said = Cell::text(lead).and(slow_blocks(gate, mean, place, slower)).and(changed);
    Some(said.and(change(middle, &b.interval)))
}

/// Of the base against itself, `+0.1 % [-0.2, +0.4]`.
pub(crate) fn of_control(c: &ControlReport) -> Cell {
    change(c.ratio, &c.interval)
}

/// What the comparisons of the base with itself gave, in a sentence without its period.
pub(crate) fn control(gate: &Gate, report: &GateReport) -> Cell {
    let all: Vec<&ControlReport> = report.benchmarks.iter().filter_map(|b| b.control.as_ref()).collect();
    let size = |c: &ControlReport| c.ratio.ln().abs();
    let largest = all.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let Some(largest) = largest else {
        return Cell::text(match gate.plan.control {
            true => "the base was not compared with itself yet",
            false => "none: the base was not compared with itself",
        });
    };
    let differing = all.iter().filter(|c| c.differs).count();
    let said = match (all.len(), differing) {
        (1, 0) => "the base against itself, ".to_owned(),
        (1, _) => "the base differs from itself, ".to_owned(),
        (n, 0) => format!("in none of {n} benchmarks the base differs from itself; the largest change is "),
        (n, k) => format!("in {k} of {n} benchmarks the base differs from itself; the largest change is "),
    };
    let said = Cell::text(said).and(of_control(largest));
    if differing > 0 { said.paint(Paint::Warn) } else { said }
}

/// Why there are no duets of a benchmark.
pub(crate) fn no_duets(measured: &MeasuredBenchmark) -> Option<String> {
    // In the order of the benchmark's run; the last one is the control.
    let names = ["the base", "the head", "the base"].map(str::to_owned);
    measured.no_duets.as_ref().map(|why| duets::reason(why, &names, true))
}

/// The change on the quiet machine, without correction, and by how much the time of each build was corrected:
/// `+1.9 % [+1.6, +2.2], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %`. `None` where nothing is corrected.
pub(crate) fn corrected(gate: &Gate, report: &GateReport, place: usize) -> Option<Cell> {
    let c = report.benchmarks.get(place)?.corrected.as_ref()?;
    let plain = |ratio: f64| Cell::of(Unit::Change, ratio);
    let said = change(c.ratio, &Ok(c.interval.clone())).and(", uncorrected ").and(plain(c.uncorrected));
    let Some(sides) = gate.measured.get(place).and_then(|m| m.corrected.as_ref()) else { return Some(said) };
    let by = |side: &CorrectedSide| plain(side.value / side.uncorrected);
    Some(said.and("; base corrected by ").and(by(&sides.base)).and(", head by ").and(by(&sides.head)))
}

/// The mean of several benchmarks.
pub(crate) fn mean(report: &GateReport) -> Option<Cell> {
    let measured = report.benchmarks.iter().filter(|b| b.ratio.is_some()).count();
    report.mean_ratio.filter(|_| measured > 1).map(|mean| Cell::of(Unit::Change, mean))
}

/// A build: its commit or folder, and what else is known of it. All but `modified` is foreign text.
pub(crate) struct GateRevision<'a> {
    /// The beginning of the commit's id; the folder if it has none.
    pub id: String,
    pub name: Option<&'a str>,
    pub subject: Option<&'a str>,
    pub modified: bool,
}

pub(crate) fn revision(side: &GateSide) -> GateRevision<'_> {
    GateRevision {
        id: match &side.commit {
            Some(commit) => commit.chars().take(COMMIT).collect(),
            None => side.folder.clone(),
        },
        name: side.name.as_deref().filter(|name| !name.is_empty()),
        subject: side.subject.as_deref().filter(|subject| !subject.is_empty()),
        modified: side.modified,
    }
}

/// After a revision whose folder had uncommitted changes.
pub(crate) const MODIFIED: &str = "with uncommitted changes";

/// How the figures are to be read.
pub(crate) fn reading(gate: &Gate) -> String {
    let time = common_measure(gate).map_or("time", spelled);
    format!(
        "change: of the head's {time} relative to the base's, the middle of the blocks; intervals: 95%, however often the gate looked \
         at them; threshold: the largest slowdown that passes, of the middle and of the mean"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;

    #[test]
    fn changes_have_the_digits_of_their_interval() {
        let text = |ratio, low, high| change(ratio, &Ok(Interval { low, high, level: 0.95 })).plain();
        assert_eq!(text(1.041, 1.038, 1.044), "+4.1 % [+3.8, +4.4]");
        assert_eq!(text(0.9969, 0.9963, 0.9975), "−0.31 % [−0.37, −0.25]");
        assert_eq!(text(1.0, 0.998, 1.002), "0.0 % [−0.2, +0.2]");
        assert_eq!(text(1.5, 1.2, 1.9), "+50.0 % [+20.0, +90.0]");
        assert_eq!(text(1.0, 1.0, 1.0), "0.0 % [0.0, 0.0]");
        let none = Err(NoInterval::TooFew { have: 1, need: 6 });
        assert_eq!(change(1.02, &none), "+2.0 %");
        assert_eq!(change(f64::NAN, &none), "–");
        assert_eq!(change(1e20, &none), "+1.0e22 %");
    }

    #[test]
    fn corrected_and_uncorrected_stand_side_by_side() {
        let (mut gate, report) = fixtures::corrected();
        assert_eq!(corrected(&gate, &report, 0), None);
        let whole = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %";
        assert_eq!(corrected(&gate, &report, 1).unwrap(), whole);
        gate.measured[1].corrected = None;
        let whole = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %";
        assert_eq!(corrected(&gate, &report, 1).unwrap(), whole);
    }

    #[test]
    fn the_answer_counts() {
        let said = |verdicts: &[GateVerdict]| answer(&fixtures::report_of(verdicts));
        use GateVerdict::{Failed, Improvement, Inconclusive, Pass, Regression};
        assert_eq!(said(&[Pass, Regression, Pass]), "regression: 1 of 3 benchmarks is slower");
        let mixed = [Improvement, Regression, Inconclusive, Regression];
        assert_eq!(said(&mixed), "regression: 2 of 4 benchmarks are slower; 1 undecided, 1 faster");
        assert_eq!(said(&[Failed, Regression]), "failed: 1 of 2 benchmarks could not be measured; 1 slower");
        assert_eq!(said(&[Pass, Improvement]), "pass: none of 2 benchmarks is slower; 1 faster");
        assert_eq!(said(&[Inconclusive, Pass]), "inconclusive: 1 of 2 benchmarks is undecided");
        assert_eq!(said(&[Regression]), "regression: b1 is slower");
        assert_eq!(said(&[Improvement]), "pass: b1 is faster");
        assert_eq!(said(&[]), "inconclusive: nothing was measured");
    }

    #[test]
    fn many_benchmarks_stand_the_worst_first() {
        use GateVerdict::{Failed, Improvement, Inconclusive, Pass, Regression};
        let report = fixtures::report_of(&[Pass, Inconclusive, Regression, Improvement, Failed, Regression]);
        assert_eq!(order(&report, 5), [4, 2, 5, 1, 3, 0]);
        assert_eq!(order(&report, 6), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn reasons_say_what_would_decide() {
        let (gate, report) = fixtures::every_verdict();
        let text = |place: usize| reason(&gate, &report, place).map(|why| why.plain());
        let by_name = |name: &str| report.benchmarks.iter().position(|b| b.name == name).unwrap();
        assert!(
            text(by_name("parse")).is_none() && text(by_name("render")).is_none() && text(by_name("sort")).is_none()
        );
        let noisy = text(by_name("noisy")).unwrap();
        assert!(noisy.starts_with("24 duets show neither a slowdown above 1 % nor one below 2 %; about "), "{noisy}");
        let few = text(by_name("few")).unwrap();
        assert_eq!(few, "only 3 rounds, at least 6 are needed");
        let bistable = text(by_name("bistable")).unwrap();
        assert!(bistable.starts_with("the base differs from itself by +3.0 % [+2.8, +3.2]: "), "{bistable}");
        assert_eq!(text(by_name("none")).unwrap(), "no block was measured");
        let crash = text(by_name("crash")).unwrap();
        assert!(crash.starts_with("could not be measured: the head failed with exit code 3"), "{crash}");
        assert!(text(99).is_none());
    }

    #[test]
    fn controls_in_a_sentence() {
        let (mut gate, mut report) = fixtures::every_verdict();
        let said = |gate: &Gate, report: &GateReport| control(gate, report);
        let both = said(&gate, &report);
        assert_eq!(
            both,
            "in 1 of 2 benchmarks the base differs from itself; the largest change is +3.0 % [+2.8, +3.2]"
        );
        report.benchmarks.retain(|b| b.name == "parse");
        assert_eq!(said(&gate, &report), "the base against itself, −0.1 % [−0.3, +0.1]");
        report.benchmarks.clear();
        assert_eq!(said(&gate, &report), "the base was not compared with itself yet");
        gate.plan.control = false;
        assert_eq!(said(&gate, &report), "none: the base was not compared with itself");
    }

    #[test]
    fn a_share_of_slow_executions_is_said() {
        let (gate, mut report) = fixtures::uneven();
        let text = |report: &GateReport, place| uneven(&gate, report, place).map(|said| said.plain());
        assert_eq!(
            text(&report, 0).unwrap(),
            "a share of the executions is slower: 6 of 24 duets by more than 2 %, and 1 faster by as much; the mean changed by \
             +2.4 % [+1.1, +3.7], the middle by +0.1 % [−0.2, +0.4]"
        );
        assert_eq!(text(&report, 1), None);
        // What may be: the mean alone reaches beyond the threshold.
        let mean = report.benchmarks[0].mean.as_mut().unwrap();
        (mean.ratio, mean.interval) = (1.012, Ok(Interval { low: 0.999, high: 1.025, level: 0.95 }));
        assert!(text(&report, 0).unwrap().starts_with("a share of the executions may be slower: 6 of 24 duets"));
        let why = |place| reason(&gate, &report, place).unwrap().plain();
        assert!(why(1).starts_with("24 duets (neighbours are alike, correlation 0.5: worth 7 independent ones) show "));
        assert!(why(2).starts_with("only 10 duets, a pass needs at least 11: "), "{}", why(2));
    }

    #[test]
    fn revisions_are_short() {
        let (gate, _) = fixtures::every_verdict();
        let base = revision(&gate.plan.base);
        assert_eq!((base.id.as_str(), base.name, base.modified), ("1f2e3d4c5b6a", Some("origin/main"), false));
        let side = GateSide { folder: "../old".to_owned(), ..GateSide::default() };
        let folder = revision(&side);
        assert_eq!((folder.id.as_str(), folder.name, folder.subject), ("../old", None, None));
    }
}
