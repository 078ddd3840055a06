//! A gate in words and figures that the terminal, Markdown and the page share.

use crate::compare::duets;
use crate::compare::sentence::{short, spelled};
use tarebench_core::compare::gate::{
    BenchmarkReport, ControlReport, CorrectedRatio, CorrectedSide, Gate, GateReport, GateSide, GateVerdict,
    MeasuredBenchmark, SideTimes,
};
use tarebench_core::compare::gate_rule::blocks_needed;
use tarebench_core::run::report::data::{Measure, RatioBasis};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::number;
use tarebench_report::style::Glyphs;
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

/// The answer at a glance, without a period; `name` makes a benchmark's name ready to be shown.
pub(crate) fn answer(report: &GateReport, name: impl Fn(&str) -> String) -> String {
    let word = verdict_word(report.verdict);
    let said = match report.benchmarks.as_slice() {
        [] => "nothing was measured".to_owned(),
        [b] => format!("{} {}", name(&b.name), alone(b.verdict)),
        all => several(report.verdict, all),
    };
    format!("{word}: {said}")
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

/// A share as a signed per cent, without its sign of unit: `+4.1`.
pub(crate) fn signed(share: f64, decimals: usize, g: &Glyphs) -> String {
    let percent = share * 100.0;
    let text = match percent.abs() {
        size if (1e7..f64::INFINITY).contains(&size) => Some(format!("{percent:.1e}")),
        _ => number::fixed(percent, decimals),
    };
    let Some(text) = text else { return g.absent.to_owned() };
    match text.strip_prefix('-') {
        Some(size) => format!("{}{size}", g.minus),
        // Zero has no sign.
        None if text.bytes().any(|b| (b'1'..=b'9').contains(&b)) => format!("+{text}"),
        None => text,
    }
}

/// A ratio as a change, `+4.1 %`, and its interval, `[+3.8, +4.4]`, with the decimals that the interval justifies.
pub(crate) fn change(ratio: f64, interval: &Result<Interval, NoInterval>, g: &Glyphs) -> (String, Option<String>) {
    let interval = interval.as_ref().ok();
    let half = interval.map(|i| i.half_width() * 100.0).filter(|half| *half > 0.0);
    let decimals = half.map_or(1, |half| number::decimals_for(half, 1).clamp(1, 4));
    let show = |ratio: f64| signed(ratio - 1.0, decimals, g);
    (format!("{} %", show(ratio)), interval.map(|i| format!("[{}, {}]", show(i.low), show(i.high))))
}

/// Both in one text; `None` without a ratio.
pub(crate) fn whole_change(b: &BenchmarkReport, g: &Glyphs) -> Option<String> {
    let (change, interval) = change(b.ratio?, &b.interval, g);
    Some(interval.map_or(change.clone(), |i| format!("{change} {i}")))
}

/// `2 %`, with no digit more than it has.
pub(crate) fn threshold(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
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

/// Why something is not decided: in tare's words, and what another program or the user wrote.
pub(crate) struct GateReason {
    pub text: String,
    pub foreign: Option<String>,
}

impl GateReason {
    fn own(text: String) -> GateReason {
        GateReason { text, foreign: None }
    }
}

/// Why a benchmark has no verdict, and what would give it one; `None` if it has one.
pub(crate) fn reason(gate: &Gate, report: &GateReport, place: usize, g: &Glyphs) -> Option<GateReason> {
    let b = report.benchmarks.get(place)?;
    let measured = gate.measured.get(place);
    match b.verdict {
        GateVerdict::Failed => {
            let foreign = measured.and_then(|m| m.failed.clone());
            Some(GateReason { text: "could not be measured".to_owned(), foreign })
        }
        GateVerdict::Inconclusive => Some(GateReason::own(undecided(gate, b, place, g))),
        GateVerdict::Pass | GateVerdict::Regression | GateVerdict::Improvement => None,
    }
}

fn undecided(gate: &Gate, b: &BenchmarkReport, place: usize, g: &Glyphs) -> String {
    if let Some(control) = b.control.as_ref().filter(|c| c.differs) {
        let by = of_control(control, g);
        return format!(
            "the base differs from itself by {by}: what makes it differ may be what makes the head differ, so that more blocks \
             decide nothing; look for something that one execution leaves to the next"
        );
    }
    let have = blocks(b.blocks, gate.measured.get(place));
    if b.blocks == 0 {
        return "no block was measured".to_owned();
    }
    if let Err(NoInterval::TooFew { need, .. }) = &b.interval {
        return format!("only {have}, at least {need} are needed");
    }
    let limit = gate.plan.benchmarks.get(place).map_or(0.0, |b| b.threshold);
    let shown =
        format!("{have} show neither a slowdown above {} nor one below {}", threshold(limit / 2.0), threshold(limit));
    match blocks_needed(gate, place) {
        Some(n) if n > gate.plan.max_blocks => {
            format!(
                "{shown}; about {n} blocks would decide it, more than the {} that it may have",
                gate.plan.max_blocks
            )
        }
        Some(n) => format!("{shown}; about {n} blocks would decide it"),
        None => shown,
    }
}

/// Of the base against itself, `+0.1 % [-0.2, +0.4]`.
pub(crate) fn of_control(c: &ControlReport, g: &Glyphs) -> String {
    let (change, interval) = change(c.ratio, &c.interval, g);
    interval.map_or(change.clone(), |i| format!("{change} {i}"))
}

/// What the comparisons of the base with itself gave, in a sentence without its period.
pub(crate) fn control(gate: &Gate, report: &GateReport, g: &Glyphs) -> String {
    let all: Vec<&ControlReport> = report.benchmarks.iter().filter_map(|b| b.control.as_ref()).collect();
    let size = |c: &ControlReport| c.ratio.ln().abs();
    let largest = all.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let Some(largest) = largest else {
        return match gate.plan.control {
            true => "the base was not compared with itself yet".to_owned(),
            false => "none: the base was not compared with itself".to_owned(),
        };
    };
    let by = of_control(largest, g);
    match (all.len(), all.iter().filter(|c| c.differs).count()) {
        (1, 0) => format!("the base against itself, {by}"),
        (1, _) => format!("the base differs from itself, {by}"),
        (n, 0) => format!("in none of {n} benchmarks the base differs from itself; the largest change is {by}"),
        (n, k) => format!("in {k} of {n} benchmarks the base differs from itself; the largest change is {by}"),
    }
}

/// Why there are no duets of a benchmark.
pub(crate) fn no_duets(measured: &MeasuredBenchmark, unicode: bool) -> Option<String> {
    // In the order of the benchmark's run; the last one is the control.
    let names = ["the base", "the head", "the base"].map(str::to_owned);
    measured.no_duets.as_ref().map(|why| duets::reason(why, &names, unicode))
}

/// The change on the quiet machine, without correction, and by how much the time of each build was corrected:
/// `+1.9 % [+1.6, +2.2], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %`. `None` where nothing is corrected.
pub(crate) fn corrected(gate: &Gate, report: &GateReport, place: usize, g: &Glyphs) -> Option<String> {
    let c = report.benchmarks.get(place)?.corrected.as_ref()?;
    let sides = gate.measured.get(place).and_then(|m| m.corrected.as_ref());
    let by = |side: &CorrectedSide| {
        let change = side.value / side.uncorrected - 1.0;
        format!("{} %", signed(change, if change.abs() < 0.01 { 2 } else { 1 }, g))
    };
    let by = sides.map(|s| format!("; base corrected by {}, head by {}", by(&s.base), by(&s.head)));
    Some(format!("{}{}", corrected_change(c, g), by.unwrap_or_default()))
}

/// `+1.9 % [+1.6, +2.2], uncorrected +3.2 %`.
fn corrected_change(c: &CorrectedRatio, g: &Glyphs) -> String {
    let (quiet, interval) = change(c.ratio, &Ok(c.interval.clone()), g);
    let quiet = interval.map_or(quiet.clone(), |i| format!("{quiet} {i}"));
    format!("{quiet}, uncorrected {} %", signed(c.uncorrected - 1.0, 1, g))
}

/// The mean of several benchmarks, `+1.2 %`.
pub(crate) fn mean(report: &GateReport, g: &Glyphs) -> Option<String> {
    let measured = report.benchmarks.iter().filter(|b| b.ratio.is_some()).count();
    report.mean_ratio.filter(|_| measured > 1).map(|mean| format!("{} %", signed(mean - 1.0, 2, g)))
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

/// `CPU, duets`, for tables that have a column for it.
pub(crate) fn basis(gate: &Gate, place: usize) -> String {
    let kind = gate.measured.get(place).map(|m| match m.basis {
        RatioBasis::Duets => "duets",
        RatioBasis::Alone => "rounds",
    });
    let by = measure(gate, place).map(short);
    [by, kind].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How the figures are to be read.
pub(crate) fn reading(gate: &Gate) -> String {
    let time = common_measure(gate).map_or("time", spelled);
    format!(
        "change: of the head's {time} relative to the base's; intervals: 95%, however often the gate looked at them; threshold: the \
         largest slowdown that passes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_report::style::Style;

    fn unicode() -> Glyphs {
        Style::default().glyphs()
    }

    #[test]
    fn changes_have_the_digits_of_their_interval() {
        let text = |ratio, low, high| {
            let (change, interval) = change(ratio, &Ok(Interval { low, high, level: 0.95 }), &unicode());
            format!("{change} {}", interval.unwrap())
        };
        assert_eq!(text(1.041, 1.038, 1.044), "+4.1 % [+3.8, +4.4]");
        assert_eq!(text(0.9969, 0.9963, 0.9975), "−0.31 % [−0.37, −0.25]");
        assert_eq!(text(1.0, 0.998, 1.002), "0.0 % [−0.2, +0.2]");
        assert_eq!(text(1.5, 1.2, 1.9), "+50.0 % [+20.0, +90.0]");
        assert_eq!(text(1.0, 1.0, 1.0), "0.0 % [0.0, 0.0]");
        let none = Err(NoInterval::TooFew { have: 1, need: 6 });
        assert_eq!(change(1.02, &none, &unicode()), ("+2.0 %".to_owned(), None));
        assert_eq!(change(f64::NAN, &none, &unicode()).0, "– %");
        assert_eq!(change(1e20, &none, &unicode()).0, "+1.0e22 %");
        assert_eq!((threshold(0.02), threshold(0.005), threshold(0.1)), ("2 %".into(), "0.5 %".into(), "10 %".into()));
    }

    #[test]
    fn corrected_and_uncorrected_stand_side_by_side() {
        let interval = Interval { low: 1.016, high: 1.022, level: 0.95 };
        let c = CorrectedRatio { ratio: 1.019, interval, uncorrected: 1.032 };
        assert_eq!(corrected_change(&c, &unicode()), "+1.9 % [+1.6, +2.2], uncorrected +3.2 %");
        let (mut gate, report) = fixtures::corrected();
        assert_eq!(corrected(&gate, &report, 0, &unicode()), None);
        let whole = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %";
        assert_eq!(corrected(&gate, &report, 1, &unicode()).as_deref(), Some(whole));
        gate.measured[1].corrected = None;
        let whole = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %";
        assert_eq!(corrected(&gate, &report, 1, &unicode()).as_deref(), Some(whole));
    }

    #[test]
    fn the_answer_counts() {
        let name = |n: &str| n.to_owned();
        let said = |verdicts: &[GateVerdict]| answer(&fixtures::report_of(verdicts), name);
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
        let text = |place: usize| reason(&gate, &report, place, &unicode());
        let by_name = |name: &str| report.benchmarks.iter().position(|b| b.name == name).unwrap();
        assert!(
            text(by_name("parse")).is_none() && text(by_name("render")).is_none() && text(by_name("sort")).is_none()
        );
        let noisy = text(by_name("noisy")).unwrap().text;
        assert!(noisy.starts_with("24 duets show neither a slowdown above 1 % nor one below 2 %; about "), "{noisy}");
        let few = text(by_name("few")).unwrap().text;
        assert_eq!(few, "only 3 rounds, at least 6 are needed");
        let bistable = text(by_name("bistable")).unwrap().text;
        assert!(bistable.starts_with("the base differs from itself by +3.0 % [+2.8, +3.2]: "), "{bistable}");
        assert_eq!(text(by_name("none")).unwrap().text, "no block was measured");
        let crash = text(by_name("crash")).unwrap();
        assert_eq!(crash.text, "could not be measured");
        assert!(crash.foreign.unwrap().contains("exit code 3"));
        assert!(text(99).is_none());
    }

    #[test]
    fn controls_in_a_sentence() {
        let (mut gate, mut report) = fixtures::every_verdict();
        let said = |gate: &Gate, report: &GateReport| control(gate, report, &unicode());
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
    fn revisions_are_short() {
        let (gate, _) = fixtures::every_verdict();
        let base = revision(&gate.plan.base);
        assert_eq!((base.id.as_str(), base.name, base.modified), ("1f2e3d4c5b6a", Some("origin/main"), false));
        let side = GateSide { folder: "../old".to_owned(), ..GateSide::default() };
        let folder = revision(&side);
        assert_eq!((folder.id.as_str(), folder.name, folder.subject), ("../old", None, None));
    }
}
