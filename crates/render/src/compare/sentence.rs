//! The comparison of two programs in words, for the terminal and the page.

use crate::counted;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::{Comparison, Measure, MeasureRatio, RatioBasis, RunReport};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::words::plural;

/// `elapsed time`, `CPU time`, `net time`.
pub(crate) fn spelled(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed time",
        Measure::Pt => "CPU time",
        Measure::Net => "net time",
    }
}

/// `elapsed`, `CPU`, `net`.
pub(crate) fn short(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed",
        Measure::Pt => "CPU",
        Measure::Net => "net",
    }
}

/// The verdict of a comparison in one word. Whether more or less of what programs print or count is better, tare cannot know.
pub(crate) fn verdict_word(c: &Comparison) -> &'static str {
    match (c.verdict, c.number()) {
        (Verdict::Faster, Some(_)) => "lower",
        (Verdict::Slower, Some(_)) => "higher",
        (verdict, _) => word(verdict),
    }
}

/// The verdict of times in one word.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// What one measure says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sentence {
    /// `CPU time`; `CPU time in duets` and `CPU time alone` where these disagree; `printed value`; `count`.
    pub by: &'static str,
    /// In the direction of the sentence.
    pub ratio: Figure,
    /// `10 pairs`, `3 pairs of 6 needed`.
    pub pairs: String,
    before: Cell,
    after: Cell,
}

impl Sentence {
    /// `xz is 2.58 [2.50, 2.70] times as fast as gzip`, without a period.
    pub fn whole(&self) -> Cell {
        self.with(self.ratio.clone())
    }

    /// The same without the interval.
    pub fn brief(&self) -> Cell {
        let digits = self.ratio.bounds().map(Interval::half_width);
        self.with(Figure { interval: None, digits, ..self.ratio.clone() })
    }

    fn with(&self, ratio: Figure) -> Cell {
        self.before.clone().and(ratio).and(self.after.clone())
    }
}

/// The figures of a measure that agrees with the first, in the direction of its sentence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BesideMeasure {
    pub measure: Measure,
    pub ratio: Figure,
}

/// The answer to which of two programs is faster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The measures have the same verdict.
    Agreed(Box<Sentence>, Vec<BesideMeasure>),
    /// Elapsed and CPU time, or duets and executions alone, differ in their verdict; of the measures the larger difference first.
    Disagreed(Vec<Sentence>),
}

/// The answer, with the programs' names in the order of the report.
pub(crate) fn answer(report: &RunReport, c: &Comparison, names: &[Cell]) -> Answer {
    let words = AnswerWords { c, margin: report.run.plan.margin, names };
    let chosen = chosen(c);
    let beside = |but: Option<Measure>| {
        let others = [Measure::Et, Measure::Pt].into_iter().filter(|m| Some(*m) != but);
        let figure = |r: MeasureRatio| BesideMeasure { measure: r.measure, ratio: oriented(&r, chosen.ratio > 1.0) };
        others.filter_map(|m| ratio_by(c, m)).map(figure).collect()
    };
    if let Some(number) = c.number() {
        let name = counted::name_of(number);
        let said = words.of_number(&chosen, name, counted::basis(report, c, number));
        return Answer::Agreed(Box::new(said), beside(None));
    }
    let own = |by| words.sentence(&chosen, by, made_of(c, c.measure));
    let in_duets = if c.net_duets() { "net CPU time in duets" } else { "CPU time in duets" };
    let other = c.disagreeing().and_then(|other| ratio_by(c, other.measure)).filter(|r| r.verdict != c.verdict);
    let mut all = match alone(c) {
        Some(alone) => {
            let by = if alone.measure == Measure::Net { "net CPU time alone" } else { "CPU time alone" };
            vec![own(in_duets), words.sentence(alone, by, "pair")]
        }
        None if other.is_some() => vec![own(spelled_of(c, c.measure))],
        None => Vec::new(),
    };
    if let Some(other) = other {
        let size = |r: &MeasureRatio| r.ratio.ln().abs();
        let at = if size(&other) > size(&chosen) { 0 } else { all.len() };
        all.insert(at, words.sentence(&other, spelled_of(c, other.measure), made_of(c, other.measure)));
    }
    if !all.is_empty() {
        return Answer::Disagreed(all);
    }
    Answer::Agreed(Box::new(own(spelled_of(c, c.measure))), beside(Some(chosen.measure)))
}

/// The ratio of the verdict; by what programs print, its measure says nothing.
pub(crate) fn chosen(c: &Comparison) -> MeasureRatio {
    MeasureRatio {
        measure: c.measure,
        ratio: c.ratio,
        interval: c.interval.clone(),
        pairs: c.pairs,
        verdict: c.verdict,
    }
}

/// The ratio by a measure: the comparison's own where that is of this measure; by CPU time that of the duets, if there are any.
pub(crate) fn ratio_by(c: &Comparison, measure: Measure) -> Option<MeasureRatio> {
    match &c.duets {
        _ if c.measure == measure && c.number().is_none() => Some(chosen(c)),
        // Duets that were chosen by another measure say nothing new by this one.
        Some(Ok(d)) if measure == Measure::Pt && c.basis == RatioBasis::Alone => Some(MeasureRatio {
            measure,
            ratio: d.ratio,
            interval: d.interval.clone(),
            pairs: d.used,
            verdict: d.verdict,
        }),
        _ => c.by(measure).cloned(),
    }
}

/// The ratio of executions alone by the measure of the duets, if it says something else than they do. That it leaves open what
/// they decide says nothing.
pub(crate) fn alone(c: &Comparison) -> Option<&MeasureRatio> {
    let alone = c.by(c.measure).filter(|_| c.basis == RatioBasis::Duets)?;
    let decided = matches!(alone.verdict, Verdict::Faster | Verdict::Slower);
    Some(alone).filter(|a| decided && a.verdict != c.verdict)
}

/// The measure of a ratio; of duets, whether their CPU time is net.
fn spelled_of(c: &Comparison, measure: Measure) -> &'static str {
    let net = measure == Measure::Pt && made_of(c, measure) == "duet" && c.net_duets();
    if net { "net CPU time" } else { spelled(measure) }
}

/// `duet` or `pair`: what the ratio by a measure is made of.
fn made_of(c: &Comparison, measure: Measure) -> &'static str {
    let by_duets = match c.basis {
        RatioBasis::Duets => measure == c.measure,
        // By elapsed time, the duets still have the ratio of CPU time.
        RatioBasis::Alone => measure == Measure::Pt && c.measure != measure && matches!(c.duets, Some(Ok(_))),
    };
    if by_duets { "duet" } else { "pair" }
}

/// The ratio of the reference's speed to the program's if `reference_first`, else the reverse.
pub(crate) fn oriented(r: &MeasureRatio, reference_first: bool) -> Figure {
    if reference_first {
        return Figure::new(Unit::Ratio, r.ratio).with_interval(&r.interval);
    }
    let turned = |i: &Interval| Interval { low: 1.0 / i.high, high: 1.0 / i.low, ..i.clone() };
    Figure::new(Unit::Ratio, 1.0 / r.ratio).with_interval(&r.interval.as_ref().map(turned).map_err(Clone::clone))
}

/// What the sentences of a comparison are made of.
struct AnswerWords<'a> {
    c: &'a Comparison,
    margin: Option<f64>,
    names: &'a [Cell],
}

impl AnswerWords<'_> {
    fn name(&self, i: u32) -> Cell {
        self.names.get(i as usize).cloned().unwrap_or_default()
    }

    /// The faster program stands first, so that the ratio is at least 1. `kind`: what the ratio is made of.
    fn sentence(&self, r: &MeasureRatio, by: &'static str, kind: &str) -> Sentence {
        let reference_first = r.ratio > 1.0;
        let (program, reference) = (self.name(self.c.series), self.name(self.c.reference));
        let (fast, slow) = if reference_first { (reference, program) } else { (program, reference) };
        let (lead, decided) = self.lead(r, kind);
        Sentence {
            by,
            ratio: oriented(r, reference_first),
            pairs: pairs(r, kind),
            before: Cell::words([lead.into(), fast, if decided { " is " } else { " was " }.into()]),
            after: Cell::text(" times as fast as ").and(slow),
        }
    }

    /// The program that has more of it stands first, so that the ratio is at least 1.
    fn of_number(&self, r: &MeasureRatio, name: Cell, by: &'static str) -> Sentence {
        let program_first = r.ratio > 1.0;
        let (program, reference) = (self.name(self.c.series), self.name(self.c.reference));
        let (more, less) = if program_first { (program, reference) } else { (reference, program) };
        let (lead, decided) = self.lead(r, "pair");
        Sentence {
            by,
            ratio: oriented(r, program_first),
            pairs: pairs(r, "pair"),
            before: Cell::words([lead.into(), more, if decided { " has " } else { " had " }.into()]),
            after: Cell::text(" times the ").and(name).and(" of ").and(less),
        }
    }

    /// What precedes the sentence, and whether it is decided which is faster.
    fn lead(&self, r: &MeasureRatio, kind: &str) -> (String, bool) {
        match (&r.interval, r.verdict) {
            (Err(NoInterval::TooFew { .. }), _) => (format!("undecided, too few {kind}s: "), false),
            (Ok(_), Verdict::Undecided) => ("undecided: ".to_owned(), false),
            (Ok(_), Verdict::Same) => (format!("{}: ", no_difference(self.margin)), false),
            (Ok(_), Verdict::Faster | Verdict::Slower) => (String::new(), true),
        }
    }
}

/// `10 pairs`, `3 pairs of 6 needed`.
pub(crate) fn pairs(r: &MeasureRatio, kind: &str) -> String {
    match &r.interval {
        Err(NoInterval::TooFew { need, .. }) => format!("{} of {need} needed", plural(r.pairs, kind)),
        Ok(_) => plural(r.pairs, kind),
    }
}

/// `no difference beyond 1%`.
pub(crate) fn no_difference(margin: Option<f64>) -> String {
    // A margin was typed by a person: 0.07 is 7%, not 7.000000000000001%.
    let percent = margin.map(|m| (m * 1e8).round() / 1e6).filter(|p| p.is_finite());
    percent.map_or_else(|| "no difference that matters".to_owned(), |p| format!("no difference beyond {p}%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    fn answer(c: &Comparison, margin: Option<f64>) -> Answer {
        let mut report = fixtures::two();
        report.run.plan.margin = margin;
        super::answer(&report, c, &["gzip", "xz"].map(Cell::foreign))
    }

    fn agreed(c: &Comparison, margin: Option<f64>) -> (Sentence, Vec<BesideMeasure>) {
        match answer(c, margin) {
            Answer::Agreed(s, beside) => (*s, beside),
            Answer::Disagreed(s) => panic!("{s:?}"),
        }
    }

    fn beside_texts(all: &[BesideMeasure]) -> Vec<(Measure, String)> {
        all.iter().map(|b| (b.measure, Cell::from(b.ratio.clone()).plain())).collect()
    }

    #[test]
    fn the_faster_program_stands_first() {
        let agreed = |ratio, low, high, verdict| agreed(&fixtures::comparison(1, ratio, low, high, verdict), None);
        let (s, beside) = agreed(0.3876, 0.37, 0.40, Verdict::Faster);
        assert_eq!((s.brief().plain().as_str(), s.pairs.as_str()), ("xz is 2.58 times as fast as gzip", "10 pairs"));
        assert_eq!(s.whole(), "xz is 2.58 [2.50, 2.70] times as fast as gzip");
        assert_eq!(beside, []);
        let (s, _) = agreed(2.0, 1.9, 2.1, Verdict::Slower);
        assert_eq!(s.brief(), "gzip is 2.00 times as fast as xz");
        let (s, _) = agreed(1.01, 0.98, 1.04, Verdict::Undecided);
        assert_eq!(s.brief(), "undecided: gzip was 1.010 times as fast as xz");
        assert_eq!(s.whole(), "undecided: gzip was 1.010 [0.980, 1.040] times as fast as xz");
    }

    #[test]
    fn without_an_interval_nothing_is_claimed() {
        let mut c = fixtures::comparison(1, 0.5, 0.4, 0.6, Verdict::Undecided);
        c.interval = Err(NoInterval::TooFew { have: 3, need: 6 });
        c.pairs = 3;
        let (s, _) = agreed(&c, None);
        assert_eq!(s.brief(), "undecided, too few pairs: xz was 2.00 times as fast as gzip");
        assert_eq!((s.whole().plain(), s.pairs.as_str()), (s.brief().plain(), "3 pairs of 6 needed"));
    }

    #[test]
    fn a_measure_that_agrees_stands_beside() {
        let (s, beside) = agreed(&fixtures::two().comparisons[0], None);
        assert_eq!(s.by, "CPU time");
        assert_eq!(beside_texts(&beside), [(Measure::Et, "2.44 [2.20, 2.60]".to_owned())]);
    }

    /// 12 duets of 1.0083, and pairs of executions alone.
    fn with_duets(alone: (f64, f64, f64, Verdict)) -> Comparison {
        let mut c = fixtures::comparison(1, alone.0, alone.1, alone.2, alone.3);
        c.ratios.insert(0, fixtures::ratio(Measure::Et, 1.02, 0.99, 1.05, Verdict::Undecided));
        c.duets = Some(Ok(fixtures::duet_ratio(1.0083, 1.0063, 1.0111, Verdict::Slower)));
        c.choose_duets();
        c
    }

    #[test]
    fn the_answer_rests_on_the_duets() {
        let c = with_duets((1.01, 0.98, 1.04, Verdict::Undecided));
        let (s, beside) = agreed(&c, None);
        assert_eq!(s.brief(), "gzip is 1.0083 times as fast as xz");
        assert_eq!((s.by, s.pairs.as_str()), ("CPU time", "12 duets"));
        assert!(s.whole().plain().contains(" 1.0083 [1.0063, 1.0111] "), "{:?}", s.whole());
        assert_eq!(beside_texts(&beside), [(Measure::Et, "1.020 [0.990, 1.050]".to_owned())]);
        // By elapsed time the duets stand beside.
        let mut by_elapsed = c.clone();
        by_elapsed.choose(Measure::Et);
        by_elapsed.duets = Some(Ok(fixtures::duet_ratio(1.0083, 0.9963, 1.0211, Verdict::Undecided)));
        let (s, beside) = agreed(&by_elapsed, None);
        assert_eq!((s.by, s.pairs.as_str()), ("elapsed time", "10 pairs"));
        assert_eq!(beside_texts(&beside), [(Measure::Pt, "1.008 [0.996, 1.021]".to_owned())]);
    }

    #[test]
    fn executions_alone_that_say_the_opposite_are_shown() {
        let c = with_duets((0.95, 0.93, 0.97, Verdict::Faster));
        let Answer::Disagreed(said) = answer(&c, None) else { panic!("they disagree") };
        let said: Vec<_> = said.iter().map(|s| (s.by, s.brief().plain(), s.pairs.as_str())).collect();
        assert_eq!(
            said,
            [
                ("CPU time in duets", "gzip is 1.0083 times as fast as xz".to_owned(), "12 duets"),
                ("CPU time alone", "xz is 1.053 times as fast as gzip".to_owned(), "10 pairs"),
            ]
        );
        // Elapsed time with a larger difference stands first.
        let mut c = c;
        c.ratios[0] = fixtures::ratio(Measure::Et, 0.5, 0.49, 0.51, Verdict::Faster);
        let Answer::Disagreed(said) = answer(&c, None) else { panic!("they disagree") };
        assert_eq!(
            said.iter().map(|s| s.by).collect::<Vec<_>>(),
            ["elapsed time", "CPU time in duets", "CPU time alone"]
        );
        assert_eq!(said[0].pairs, "10 pairs");
    }

    #[test]
    fn the_program_that_prints_more_stands_first() {
        let said = agreed;
        let mut c = with_duets((0.95, 0.93, 0.97, Verdict::Faster));
        c.metrics = vec![fixtures::metric_ratio("rate", 0.5, 0.48, 0.52)];
        assert!(c.choose_metric("rate", None));
        let (s, beside) = said(&c, None);
        assert_eq!(s.brief(), "gzip has 2.000 times the rate of xz");
        assert_eq!((s.by, s.pairs.as_str()), ("printed value, executions alone", "10 pairs"));
        assert_eq!(s.whole(), "gzip has 2.000 [1.923, 2.083] times the rate of xz");
        // The times are in the same direction: of gzip, divided by those of xz; CPU time is that of the duets.
        let beside: Vec<_> =
            beside_texts(&beside).iter().map(|(m, t)| (*m, t.split(' ').next().unwrap().to_owned())).collect();
        assert_eq!(beside, [(Measure::Et, "0.980".to_owned()), (Measure::Pt, "0.9918".to_owned())]);
        assert_eq!(verdict_word(&c), "lower");
        let mut c = fixtures::comparison(1, 0.9, 0.8, 1.1, Verdict::Undecided);
        c.metrics = vec![fixtures::metric_ratio("rate", 1.02, 0.99, 1.05)];
        c.choose_metric("rate", None);
        let (s, _) = said(&c, None);
        assert_eq!(
            (s.brief().plain().as_str(), s.by),
            ("undecided: xz had 1.020 times the rate of gzip", "printed value")
        );
        c.choose_metric("rate", Some(0.1));
        assert_eq!(said(&c, Some(0.1)).0.brief(), "no difference beyond 10%: xz had 1.020 times the rate of gzip");
        c.metrics[0].interval = Err(NoInterval::TooFew { have: 3, need: 6 });
        c.metrics[0].pairs = 3;
        c.choose_metric("rate", None);
        let (s, _) = said(&c, None);
        assert_eq!(s.brief(), "undecided, too few pairs: xz had 1.02 times the rate of gzip");
        assert_eq!(s.pairs, "3 pairs of 6 needed");
    }

    #[test]
    fn programs_within_the_margin_are_the_same() {
        let mut c = fixtures::comparison(1, 1.002, 0.997, 1.007, Verdict::Same);
        c.ratios[0].verdict = Verdict::Same;
        let said = |margin| match answer(&c, margin) {
            Answer::Agreed(s, _) => s.brief().plain(),
            Answer::Disagreed(s) => panic!("{s:?}"),
        };
        assert_eq!(said(Some(0.01)), "no difference beyond 1%: gzip was 1.0020 times as fast as xz");
        assert!(said(Some(0.07)).starts_with("no difference beyond 7%:"));
        assert!(said(Some(f64::NAN)).starts_with("no difference that matters:"));
    }
}
