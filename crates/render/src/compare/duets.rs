//! What is said of duets beside their ratio: what they can show, what they assume, why there are none.

use crate::compare::sentence::{alone, oriented, short};
use std::collections::BTreeMap;
use tarebench_core::base::hint::Hint;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{DuetAccount, NoDuet};
use tarebench_core::compare::gang::{GangMeans, SwitchTimes};
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::{Comparison, DuetRatio, Measure, MeasureRatio, RunReport};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::number::time;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::words::plural;

/// Process time in duets that is longer than alone by so much gets a note, if that is no chance: the programs may disturb each
/// other's caches.
const INFLATED: f64 = 0.05;
/// Process time in duets that is shorter than alone by so much gets a note, likewise: the programs may do work for each other.
const DEFLATED: f64 = -0.1;
/// Programs that ran together for less of their process time get a note.
const APART: f64 = 0.8;
/// So many programs are named in a line that is about several.
const NAMED: usize = 3;
/// So many notes on several programs are in the default output, so that ten programs fit on a screen.
const MOST: usize = 4;

/// A sentence on duets, without its final stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DuetNote {
    /// It puts the ratio in doubt.
    pub warning: bool,
    pub text: String,
}

impl DuetNote {
    fn plain(text: String) -> DuetNote {
        DuetNote { warning: false, text }
    }

    fn warning(text: String) -> DuetNote {
        DuetNote { warning: true, text }
    }
}

/// Everything that there is to say of the duets of a run, and why there are none.
pub(crate) fn notes(report: &RunReport, hints: &Hints) -> Vec<Cell> {
    let names: Vec<String> = report.series.iter().map(|s| s.program.label.clone()).collect();
    let of_pair = |c: &Comparison| {
        let found = sentences(c, &names, true, hints)
            .into_iter()
            .chain(first(c))
            .chain(gangs(c, true))
            .chain(accounts(c, &names, true));
        let lead = match report.comparisons.len() {
            0 | 1 => String::new(),
            _ => format!("program {}: ", u64::from(c.series) + 1),
        };
        let said = found.chain(beside(c)).map(|note| {
            Cell::text(format!("{lead}{}", note.text)).paint(if note.warning { Paint::Warn } else { Paint::Dim })
        });
        said.collect::<Vec<_>>()
    };
    report.comparisons.iter().flat_map(of_pair).collect()
}

/// Where the time of both programs went while they ran together; the program's, then the reference's.
pub(crate) fn accounts(c: &Comparison, names: &[String], unicode: bool) -> Vec<DuetNote> {
    let Some(Ok(duets)) = &c.duets else { return Vec::new() };
    let sentence = |(series, account): (u32, &Option<DuetAccount>)| {
        let account = account.as_ref()?;
        let entry = |what: &str, ns: f64| time(ns, None, unicode).map(|t| format!("{what} {t}"));
        let all = [
            entry("net", account.net),
            entry("waited for its partner", account.partner),
            entry("interrupts", account.interrupts),
            account.stolen.and_then(|ns| entry("stolen", ns)),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        Some(DuetNote::plain(format!("{} in duets, medians: {}", name(names, series), all.join(", "))))
    };
    [c.series, c.reference].into_iter().zip(&duets.accounts).filter_map(sentence).collect()
}

/// The ratios of executions alone, where the verdict rests on the duets.
fn beside(c: &Comparison) -> Option<DuetNote> {
    if !matches!(c.duets, Some(Ok(_))) {
        return None;
    }
    let ratio = |m: Measure| c.by(m).map(|r| format!("{} {}, {}", short(m), written(r), plural(r.pairs, "pair")));
    let all: Vec<String> = [Measure::Pt, Measure::Et].into_iter().filter_map(ratio).collect();
    (!all.is_empty()).then(|| DuetNote::plain(format!("ratio of executions alone: {}", all.join("; "))))
}

/// What starting first adds to a program's time, of which the ratio is free.
fn first(c: &Comparison) -> Option<DuetNote> {
    let duets = c.duets.as_ref()?.as_ref().ok()?;
    // Not what may be chance.
    duets.first_interval.as_ref().filter(|i| !i.contains(0.0))?;
    let longer = duets.first_longer.filter(|longer| longer.is_finite())?;
    let more = if longer < 0.0 { "less" } else { "more" };
    let share = percent(longer.abs());
    Some(DuetNote::plain(format!(
        "a program that starts first takes {share} {more}; the order alternates, and the ratio is free of it"
    )))
}

/// How programs that use several CPUs were alternated, and what that took.
pub(crate) fn gangs(c: &Comparison, unicode: bool) -> Option<DuetNote> {
    let Some(Ok(DuetRatio { gangs: Some(gangs), .. })) = &c.duets else { return None };
    let means = match gangs.by {
        GangMeans::Freezer => "the freezer of their cgroups",
        GangMeans::Signals => "signals to their process groups",
    };
    let took = |what: &str, times: &Option<SwitchTimes>| {
        let text = |t: Nanos| time(t.as_f64(), None, unicode);
        times.as_ref().and_then(|t| Some(format!("; {what} took {}, at most {}", text(t.median)?, text(t.largest)?)))
    };
    let own = gangs.own.map(|own| format!("; tare used {} of a CPU meanwhile", percent(own)));
    let late = match gangs.late {
        0 => None,
        n => Some(format!("; {n} times a program did not stop in time, and both ran at once")),
    };
    let rest = [took("stopping", &gangs.stopping), took("continuing", &gangs.continuing), own, late];
    let text = format!(
        "on {} both were stopped and continued alternately by {means}, {} a duet{}",
        plural(gangs.cpus, "CPU"),
        plural(gangs.switches, "time"),
        rest.into_iter().flatten().collect::<String>()
    );
    Some(if gangs.late > 0 { DuetNote::warning(text) } else { DuetNote::plain(text) })
}

/// `1.010 [0.980, 1.040]`.
fn written(r: &MeasureRatio) -> String {
    Cell::from(oriented(r, true)).plain()
}

/// Draws what the reader of the default output needs: why there are no duets only where they would help.
pub(crate) fn brief(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let (unicode, hints) = (page.style.unicode, page.style.hints.clone());
    let found = match report.comparisons.as_slice() {
        [c] => match &c.duets {
            Some(Err(why)) => undecided(report, c, why, names, unicode, &hints).into_iter().collect(),
            _ => sentences(c, names, unicode, &hints),
        },
        all => few(together(all, names, &hints), page.g.dots),
    };
    for note in found {
        draw(page, &note);
    }
}

/// The first ones, and how many more there are.
fn few(mut notes: Vec<DuetNote>, dots: &str) -> Vec<DuetNote> {
    if notes.len() > MOST {
        let rest = notes.split_off(MOST - 1);
        let more = format!("{dots} and {} on duets", plural(rest.len() as u64, "more remark"));
        notes.push(DuetNote { warning: rest.iter().any(|n| n.warning), text: more });
    }
    notes
}

fn draw(page: &mut ScreenText<'_>, note: &DuetNote) {
    let (mark, paint) = match note.warning {
        true => (vec![(Paint::Warn, format!("{} ", page.g.warning))], Paint::Warn),
        false => (Vec::new(), Paint::Dim),
    };
    page.hang(&mark, paint, &note.text);
}

/// The notes on one comparison.
pub(crate) fn sentences(c: &Comparison, names: &[String], unicode: bool, hints: &Hints) -> Vec<DuetNote> {
    match &c.duets {
        None => Vec::new(),
        Some(Err(why)) => {
            let text = format!("no duets, the ratio is that of rounds: {}", reason(why, names, unicode));
            vec![DuetNote { warning: matches!(why, NoDuet::Fails { .. }), text }]
        }
        Some(Ok(duets)) => of_duets(c, duets, names, hints),
    }
}

fn percent(share: f64) -> Cell {
    Cell::of(Unit::Share, share)
}

fn name(names: &[String], series: u32) -> &str {
    names.get(series as usize).map_or("", String::as_str)
}

fn of_duets(c: &Comparison, duets: &DuetRatio, names: &[String], hints: &Hints) -> Vec<DuetNote> {
    let mut all = Vec::new();
    if let Some(least) = duets.detectable {
        let duets = plural(duets.used, "duet");
        all.push(DuetNote::plain(format!(
            "smallest difference that {duets} would show with 95% power: {}",
            percent(least)
        )));
    }
    if duets.left_out > 0 {
        all.push(DuetNote::warning(format!("{} left out, as a program failed", plural(duets.left_out, "duet"))));
    }
    let alone = hints.aside(&Hint::CompareAlone);
    for (series, change) in inflated(c, duets) {
        let who = name(names, series);
        if change > INFLATED {
            all.push(DuetNote::warning(format!(
                "the CPU time of {who} is {} longer in duets than alone: the ratio is that of programs that run together, which \
                 may share caches{alone}",
                percent(change)
            )));
        } else if change < DEFLATED {
            all.push(DuetNote::warning(format!(
                "the CPU time of {who} is {} shorter in duets than alone: the ratio may be wrong, as one may do a part of the \
                 other's work, such as files that both write{alone}",
                percent(-change)
            )));
        }
    }
    if let Some(together) = duets.overlap.filter(|share| *share < APART) {
        all.push(DuetNote::warning(format!(
            "both ran together for only {} of their CPU time: what the machine did meanwhile cancels for that part only",
            percent(together)
        )));
    }
    all
}

/// By how much the process times of the program and of the reference are longer in duets than alone, where that is no chance.
fn inflated(c: &Comparison, duets: &DuetRatio) -> Vec<(u32, f64)> {
    let sides = [c.series, c.reference].into_iter().zip(duets.inflation).zip(&duets.inflation_intervals);
    let certain = |((series, share), interval): ((u32, Option<f64>), &Option<Interval>)| {
        let excluded = interval.as_ref().is_some_and(|i| !i.contains(0.0));
        Some((series, share?)).filter(|_| excluded)
    };
    sides.filter_map(certain).collect()
}

/// Why there are no duets, if they might have decided, and what to do.
fn undecided(
    report: &RunReport,
    c: &Comparison,
    why: &NoDuet,
    names: &[String],
    unicode: bool,
    hints: &Hints,
) -> Option<DuetNote> {
    let fails = matches!(why, NoDuet::Fails { .. });
    if !fails && (c.verdict != Verdict::Undecided || matches!(why, NoDuet::NotKnown { .. })) {
        return None;
    }
    let because = reason(why, names, unicode);
    let lead = if fails { "no duets" } else { "no duets, which show smaller differences" };
    let hint = match why {
        NoDuet::TooLong { .. } => Hint::MakeDuets,
        NoDuet::Fails { .. } if c.verdict != Verdict::Undecided => Hint::CompareAlone,
        _ => Hint::Samples(more(report, c)),
    };
    let text = format!("{lead}: {because}{}", hints.aside(&hint));
    Some(if fails { DuetNote::warning(text) } else { DuetNote::plain(text) })
}

/// Four times as many samples have half the interval; without an interval, as many as have one.
fn more(report: &RunReport, c: &Comparison) -> u32 {
    match &c.interval {
        Err(NoInterval::TooFew { .. }) if c.pairs < 10 => 10,
        _ => report.run.plan.max_runs().max(c.pairs).saturating_mul(4),
    }
}

/// The notes on several comparisons: a line for each matter.
fn together(all: &[Comparison], names: &[String], hints: &Hints) -> Vec<DuetNote> {
    let duets = || all.iter().filter_map(|c| Some((c, c.duets.as_ref()?.as_ref().ok()?)));
    let mut notes = Vec::new();
    let least = || duets().filter_map(|(_, d)| d.detectable).filter(|d| d.is_finite());
    if let (Some(low), Some(high)) = (least().min_by(f64::total_cmp), least().max_by(f64::total_cmp)) {
        let (low, high) = (percent(low), percent(high));
        let range = if low.plain() == high.plain() { low.plain() } else { format!("{low} to {high}") };
        notes.push(DuetNote::plain(format!("smallest difference that the duets would show with 95% power: {range}")));
    }
    let otherwise = all.iter().filter_map(|c| Some(format!("{} {}", name(names, c.series), written(alone(c)?))));
    if let Some(programs) = listed(&otherwise.collect::<Vec<_>>()) {
        notes.push(DuetNote::warning(format!("executions alone say otherwise of CPU time: {programs}")));
    }
    notes.extend(failed(all, names));
    // The reference is in every pair: by the one that changed it most.
    let mut changes: BTreeMap<u32, f64> = BTreeMap::new();
    for (c, d) in duets() {
        for (series, change) in inflated(c, d) {
            let most = changes.entry(series).or_insert(0.0);
            *most = if change.abs() > most.abs() { change } else { *most };
        }
    }
    let hint = hints.aside(&Hint::CompareAlone);
    let changed = |beyond: &dyn Fn(f64) -> bool| -> Vec<String> {
        let beyond = changes.iter().filter(|(_, share)| beyond(**share));
        beyond.map(|(series, share)| format!("{} {}", name(names, *series), percent(share.abs()))).collect()
    };
    if let Some(programs) = listed(&changed(&|share| share > INFLATED)) {
        notes.push(DuetNote::warning(format!(
            "CPU time longer in duets than alone: {programs}; their ratios are those of programs that run together{hint}"
        )));
    }
    if let Some(programs) = listed(&changed(&|share| share < DEFLATED)) {
        notes.push(DuetNote::warning(format!(
            "CPU time shorter in duets than alone: {programs}; one program may do a part of another's work{hint}"
        )));
    }
    let apart = duets().filter_map(|(c, d)| {
        let share = d.overlap.filter(|share| *share < APART)?;
        Some(format!("{} {}", name(names, c.series), percent(share)))
    });
    if let Some(programs) = listed(&apart.collect::<Vec<_>>()) {
        notes.push(DuetNote::warning(format!("ran together for only a part of their CPU time: {programs}")));
    }
    let left_out: u32 = duets().map(|(_, d)| d.left_out).fold(0, u32::saturating_add);
    if left_out > 0 {
        notes.push(DuetNote::warning(format!("{} left out, as a program failed", plural(left_out, "duet"))));
    }
    notes.extend(unsuited(all, names, hints));
    notes
}

/// The programs of several that have no duets for a reason.
fn missing(all: &[Comparison], names: &[String], concerned: impl Fn(&Comparison, &NoDuet) -> bool) -> Option<String> {
    let concerned = |c: &&Comparison| matches!(&c.duets, Some(Err(why)) if concerned(c, why));
    listed(&all.iter().filter(concerned).map(|c| name(names, c.series).to_owned()).collect::<Vec<_>>())
}

fn failed(all: &[Comparison], names: &[String]) -> Option<DuetNote> {
    let programs = missing(all, names, |_, why| matches!(why, NoDuet::Fails { .. }))?;
    Some(DuetNote::warning(format!("no duets, as one of two failed when they ran together: {programs}")))
}

/// Those about which duets might have decided, and what to do.
fn unsuited(all: &[Comparison], names: &[String], hints: &Hints) -> Option<DuetNote> {
    let programs = missing(all, names, |c, why| {
        c.verdict == Verdict::Undecided && !matches!(why, NoDuet::Fails { .. } | NoDuet::NotKnown { .. })
    })?;
    let most = all.iter().map(|c| c.pairs).max().unwrap_or(0).max(3);
    let hint = hints.aside(&Hint::Samples(most.saturating_mul(4)));
    Some(DuetNote::plain(format!("undecided, and not suited to duets: {programs}{hint}")))
}

/// `a, b, c and 4 others`; `None` without any.
fn listed(programs: &[String]) -> Option<String> {
    let shown: Vec<&str> = programs.iter().take(NAMED).map(String::as_str).collect();
    match programs.len().checked_sub(NAMED).filter(|rest| *rest > 0) {
        _ if programs.is_empty() => None,
        Some(rest) => Some(format!("{} and {}", shown.join(", "), plural(rest as u64, "other"))),
        None => Some(shown.join(", ")),
    }
}

/// Why there are no duets.
pub(crate) fn reason(why: &NoDuet, names: &[String], unicode: bool) -> String {
    let name = |i: &u32| name(names, *i);
    let cpu = |ns: i64| time(ns as f64, None, unicode).unwrap_or_default();
    match why {
        NoDuet::NotKnown { series } => format!("no execution of {} alone succeeded", name(series)),
        NoDuet::TooShort { series, pt } => {
            format!("{} takes {} of CPU time, and a duet needs 40 ms", name(series), cpu(pt.0))
        }
        NoDuet::TooLong { series, pt } => {
            format!("{} takes {} of CPU time, and duets would double the time to measure", name(series), cpu(pt.0))
        }
        NoDuet::Asleep { series, share } => format!(
            "{} sleeps for {} of its elapsed time, so that two would hardly alternate",
            name(series),
            number::percent(*share).unwrap_or_default()
        ),
        NoDuet::SeveralCpus { series, cpus } => format!(
            "{} uses {} CPUs, and nothing here can stop and continue all its processes: neither the freezer of a cgroup nor \
             signals to a process group of its own",
            name(series),
            number::fixed(*cpus, 1).unwrap_or_default()
        ),
        NoDuet::RealTime => "programs with a real-time priority do not alternate".to_owned(),
        NoDuet::Fails { series } => format!("{} failed when both ran together", name(series)),
        NoDuet::ShortGang { series, elapsed } => format!(
            "{} takes {} of elapsed time, and duets of programs that use several CPUs need 75 ms",
            name(series),
            cpu(elapsed.0)
        ),
        NoDuet::Memory { needed, available } => format!(
            "both together need {} of memory, of which {} are available",
            number::bytes(*needed),
            number::bytes(*available)
        ),
        NoDuet::LeftGroup { series } => {
            format!("a part of {} has left its process group, by which alone it could be stopped", name(series))
        }
        NoDuet::LeftCgroup { series } => {
            format!("a part of {} has left the cgroup by which the two programs are alternated", name(series))
        }
        NoDuet::StoppedItself { series } => {
            format!("{} stops itself, so that signals cannot alternate it with another program", name(series))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;
    use crate::run::terminal::report::run_report;
    use tarebench_core::compare::gang::GangSummary;
    use tarebench_report::style::Style;
    use tarebench_report::text;

    fn said(r: &RunReport, width: usize, full: bool) -> String {
        run_report(r, &Style { width, full, hints: fixtures::hints(), ..Style::default() })
    }

    /// The lines joined, so that texts are found wherever they are broken.
    fn whole(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// [`fixtures::duets`] without its duets.
    fn without(why: NoDuet, verdict: Verdict) -> RunReport {
        let mut r = fixtures::duets();
        let mut c = fixtures::comparison(1, 1.02, 0.98, 1.06, verdict);
        c.duets = Some(Err(why));
        r.comparisons = vec![c];
        r
    }

    fn short() -> NoDuet {
        NoDuet::TooShort { series: 1, pt: Nanos::from_millis(3) }
    }

    #[test]
    fn the_answer_of_two_programs_says_what_duets_can_show() {
        let text = said(&fixtures::duets(), 140, false);
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|l| l.contains("times as fast")).unwrap();
        assert_eq!(
            lines[at..at + 2],
            [
                "./inc 60000 is 1.0083 times as fast as ./inc 60600  [1.0063, 1.0111]   CPU time, 12 duets;  elapsed: 1.020 \
                 [0.990, 1.050]",
                "smallest difference that 12 duets would show with 95% power: 0.38 %"
            ]
        );
        assert!(!text.contains("executions alone"), "{text}");
        let full = said(&fixtures::duets(), 140, true);
        let alone =
            "ratio of executions alone: CPU 1.010 [0.980, 1.040], 10 pairs; elapsed 1.020 [0.990, 1.050], 10 pairs";
        assert!(
            whole(&full).contains(alone) && whole(&full).contains("over the duets with its 95% signed-rank interval"),
            "{full}"
        );
        for width in [60, 80, 120] {
            let text = said(&fixtures::duets(), width, false);
            let most = if width < 80 { 14 } else { 12 };
            assert!(text.lines().count() <= most && text.lines().all(|l| text::columns(l) <= width), "{text}");
            assert!(
                whole(&text).contains("1.0083 times as fast") && whole(&text).contains("[1.0063, 1.0111]"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_puts_the_ratio_in_doubt_is_a_warning_with_its_consequence() {
        let with = |change: &dyn Fn(&mut DuetRatio)| {
            let mut r = fixtures::duets();
            if let Some(Ok(d)) = &mut r.comparisons[0].duets {
                change(d);
            }
            said(&r, 140, false)
        };
        let both = |shares: [f64; 2]| move |d: &mut DuetRatio| (0..2).for_each(|i| fixtures::inflate(d, i, shares[i]));
        let text = with(&both([0.12, 0.04]));
        let longer = "! the CPU time of ./inc 60600 is 12 % longer in duets than alone: the ratio is that of programs that run \
                      together, which may share caches (do something about it)";
        assert!(whole(&text).contains(longer), "{text}");
        assert_eq!(text.lines().filter(|l| l.starts_with("! ")).count(), 1, "{text}");
        let text = with(&both([0.02, -0.45]));
        assert!(whole(&text).contains("! the CPU time of ./inc 60000 is 45 % shorter in duets than alone"), "{text}");
        let text = with(&|d| d.overlap = Some(0.62));
        assert!(whole(&text).contains("! both ran together for only 62 % of their CPU time"), "{text}");
        let text = with(&|d| {
            both([0.05, -0.1])(d);
            d.overlap = Some(0.8);
        });
        assert!(!text.contains("! "), "these are no reason to doubt: {text}");
        let text = with(&|d| d.inflation = [Some(0.12), Some(-0.45)]);
        assert!(!text.contains("! "), "their intervals contain 0: {text}");
        let text = with(&|d| (d.inflation, d.inflation_intervals) = ([Some(0.12), Some(-0.45)], [None, None]));
        assert!(!text.contains("! "), "nothing says that it is no chance: {text}");
        let text = with(&|d| (d.left_out, d.detectable) = (2, None));
        assert!(text.contains("! 2 duets left out") && !text.contains("smallest difference"), "{text}");
    }

    #[test]
    fn why_there_are_no_duets_is_said_where_they_would_help() {
        let decided = without(short(), Verdict::Slower);
        assert!(!said(&decided, 140, false).contains("duet"), "{}", said(&decided, 140, false));
        let full = whole(&said(&decided, 140, true));
        let why =
            "no duets, the ratio is that of rounds: ./inc 60600 takes 3.00 ms of CPU time, and a duet needs 40 ms";
        assert!(full.contains(why), "{full}");
        let open = whole(&said(&without(short(), Verdict::Undecided), 140, false));
        let why = "no duets, which show smaller differences: ./inc 60600 takes 3.00 ms of CPU time, and a duet needs 40 ms (do \
                   something about it)";
        assert!(open.contains(why), "{open}");
        // Nothing is known of it, as it failed: other lines say that.
        let unknown = without(NoDuet::NotKnown { series: 1 }, Verdict::Undecided);
        assert!(!said(&unknown, 140, false).contains("duet"));
        // Nobody expects this.
        for verdict in [Verdict::Slower, Verdict::Undecided] {
            let text = said(&without(NoDuet::Fails { series: 0 }, verdict), 140, false);
            assert!(text.contains("! no duets: ./inc 60000 failed when both ran together"), "{text}");
        }
    }

    #[test]
    fn the_number_of_samples_that_might_decide_is_named() {
        let r = without(short(), Verdict::Undecided);
        assert_eq!(more(&r, &r.comparisons[0]), 40);
        let mut few = r.clone();
        few.comparisons[0].pairs = 3;
        few.comparisons[0].interval = Err(fixtures::no_interval());
        assert_eq!(more(&few, &few.comparisons[0]), 10);
        let mut many = r;
        many.comparisons[0].pairs = u32::MAX;
        assert_eq!(more(&many, &many.comparisons[0]), u32::MAX);
    }

    #[test]
    fn several_programs_share_their_lines_and_fit_on_a_screen() {
        let r = fixtures::ten_with_duets();
        for width in [60, 80, 120, 140] {
            let text = said(&r, width, false);
            assert!(text.lines().count() <= 24, "at {width}: {text}");
            assert!(text.lines().all(|l| text::columns(l) <= width), "at {width}: {text}");
            let all = whole(&text);
            assert!(
                all.contains("smallest difference that the duets would show with 95% power: 0.38 % to 0.91 %"),
                "{text}"
            );
            assert!(all.contains("! CPU time longer in duets than alone: bzip2 12 %;"), "{text}");
            assert!(all.contains("and 3 more remarks on duets") && !all.contains("left out"), "{text}");
        }
        let text = said(&r, 120, false);
        let lz4 = text.lines().find(|l| l.starts_with("  lz4")).unwrap();
        assert!(
            whole(lz4).contains("1.010 [0.950, 1.060] undecided*") && text.contains("of 12 duets, * of 10 pairs"),
            "{text}"
        );
        assert_eq!(
            text.lines().filter(|l| whole(l).contains("ed* ") || whole(l).contains("er* ")).count(),
            1,
            "only that one rests on executions alone: {text}"
        );
        // The table of the full output has everything.
        let full = whole(&said(&r, 120, true));
        assert!(
            full.contains("2 duets left out") && full.contains("no duets, the ratio is that of rounds: lz4"),
            "{full}"
        );
    }

    #[test]
    fn executions_alone_that_say_otherwise_are_named() {
        let mut r = fixtures::ten_with_duets();
        r.comparisons[1].ratios[1] = fixtures::ratio(Measure::Pt, 0.9, 0.88, 0.92, Verdict::Faster);
        let text = whole(&said(&r, 140, false));
        assert!(text.contains("! executions alone say otherwise of CPU time: bzip2 0.900 [0.880, 0.920]"), "{text}");
    }

    #[test]
    fn what_starting_first_adds_is_said() {
        let mut r = fixtures::duets();
        let said = |r: &RunReport| first(&r.comparisons[0]).map(|note| note.text);
        let whole = "a program that starts first takes 0.90 % more; the order alternates, and the ratio is free of it";
        assert_eq!(said(&r).unwrap(), whole);
        if let Some(Ok(d)) = &mut r.comparisons[0].duets {
            (d.first_longer, d.first_interval) = (Some(-0.002), Some(fixtures::interval(-0.003, -0.001)));
        }
        assert!(said(&r).unwrap().contains("0.20 % less"));
        if let Some(Ok(d)) = &mut r.comparisons[0].duets {
            d.first_interval = Some(fixtures::interval(-0.004, 0.001));
        }
        assert_eq!(said(&r), None, "it may be chance");
    }

    #[test]
    fn gangs_are_described_with_what_alternating_them_took() {
        let mut r = fixtures::duets();
        let Some(Ok(d)) = &mut r.comparisons[0].duets else { panic!("duets") };
        let times = |median, largest| Some(SwitchTimes { median: Nanos(median), largest: Nanos(largest) });
        d.gangs = Some(GangSummary {
            by: GangMeans::Freezer,
            cpus: 2,
            duets: 12,
            switches: 31,
            stopping: times(210_000, 1_400_000),
            continuing: None,
            late: 0,
            own: Some(0.012),
        });
        let expected = "on 2 CPUs both were stopped and continued alternately by the freezer of their cgroups, 31 times a duet; stopping \
                        took 210 µs, at most 1.40 ms; tare used 1.2 % of a CPU meanwhile";
        let full = whole(&said(&r, 140, true));
        assert!(full.contains(expected), "{full}");
        assert!(!said(&r, 140, false).contains("freezer"));
    }

    #[test]
    fn the_account_of_each_program_names_its_partner() {
        let mut r = fixtures::duets();
        let Some(Ok(d)) = &mut r.comparisons[0].duets else { panic!("duets") };
        let account = DuetAccount { net: 84.1e6, partner: 48.2e6, interrupts: 0.31e6, stolen: None };
        d.accounts = [Some(account), Some(DuetAccount { stolen: Some(2e6), ..account })];
        let full = whole(&said(&r, 140, true));
        let program = "./inc 60600 in duets, medians: net 84.1 ms, waited for its partner 48.2 ms, interrupts 310 µs";
        assert!(full.contains(program) && !full.contains(&format!("{program}, stolen")), "{full}");
        assert!(full.contains("./inc 60000 in duets, medians:") && full.contains("stolen 2.00 ms"), "{full}");
        assert!(!said(&r, 140, false).contains("partner"));
    }

    #[test]
    fn names_are_listed_up_to_three() {
        let names = |n: usize| (0..n).map(|i| format!("p{i}")).collect::<Vec<_>>();
        assert_eq!(listed(&names(0)), None);
        assert_eq!(listed(&names(3)).unwrap(), "p0, p1, p2");
        assert_eq!(listed(&names(4)).unwrap(), "p0, p1, p2 and 1 other");
        assert_eq!(listed(&names(9)).unwrap(), "p0, p1, p2 and 6 others");
    }

    #[test]
    fn every_reason_is_a_sentence_whatever_the_numbers() {
        let names = vec!["a".to_owned()];
        let all = [
            NoDuet::NotKnown { series: 0 },
            NoDuet::TooShort { series: 9, pt: Nanos(i64::MIN) },
            NoDuet::TooLong { series: 0, pt: Nanos(i64::MAX) },
            NoDuet::Asleep { series: 0, share: f64::NAN },
            NoDuet::SeveralCpus { series: 0, cpus: f64::INFINITY },
            NoDuet::RealTime,
            NoDuet::Fails { series: u32::MAX },
            NoDuet::ShortGang { series: 0, elapsed: Nanos(0) },
            NoDuet::Memory { needed: u64::MAX, available: 0 },
            NoDuet::LeftGroup { series: 0 },
            NoDuet::LeftCgroup { series: 0 },
            NoDuet::StoppedItself { series: 0 },
        ];
        for why in all {
            let text = reason(&why, &names, false);
            assert!(!text.is_empty() && text.is_ascii() && !text.contains("NaN") && !text.ends_with('.'), "{text}");
        }
    }
}
