//! The page of a comparison of stored runs: the answers with the intervals, and a part for each pair.

use crate::compare::sentence::spelled;
use crate::compare::stored::said::{StoredWords, every_remark};
use crate::compare::stored::tables::{by_measure, printed, ratios, runs, times};
use std::collections::BTreeSet;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::compare::stored::{ComparedBy, PastRun, SeriesTimes, StoredComparison};
use tarebench_core::compare::stored_report::{StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::sample::measure::Measure;
use tarebench_report::cell::{Figure, Unit};
use tarebench_report::number;
use tarebench_report::style::Style;
use tarebench_report::text::escape;
use tarebench_report::web::page::{
    Join, Overview, OverviewRow, OverviewVerdict, Page, PageAxis, PageCurve, PageFigure, PageKind, PagePart,
    PageQuantity, PageRemark, PageScale,
};

/// The page of a comparison.
pub fn comparison(
    head: &DocumentHead,
    comparison: &StoredComparison,
    report: &StoredReport,
    zone: &TimeZone,
    foot: String,
) -> Page {
    let show = |text: &str| escape(text).into_owned();
    let words = StoredWords { comparison, show: &show, g: Style::default().glyphs(), unicode: true };
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let remarks = every_remark(&words, report).into_iter();
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Comparison,
        title: format!("Comparison{id}: {}", escape(&head.title)).into(),
        subtitle: "Programs of stored runs against each other".to_owned().into(),
        facts: vec![
            ("Made".to_owned(), date(head.created, zone).into()),
            ("Runs".to_owned(), comparison.runs.len().to_string().into()),
            ("Other runs looked at".to_owned(), comparison.history.len().to_string().into()),
        ],
        remarks: remarks.map(|r| PageRemark { warning: r.warning, text: format!("{}.", r.text).into() }).collect(),
        overview: Some(overview(&words, report)),
        plots: Vec::new(),
        timeline: None,
        parts: report.pairs.iter().enumerate().map(|(place, pair)| part(&words, pair, place)).collect(),
        tables: vec![ratios(&words, report), runs(&words, zone)],
        foot: foot.into(),
    }
}

fn part_id(place: usize) -> String {
    format!("pair-{}", place + 1)
}

fn overview(words: &StoredWords<'_>, report: &StoredReport) -> Overview {
    let floors = report.pairs.iter().filter_map(|pair| {
        let floor = words.floor(pair, pair.chosen()?)?;
        let mut letters = floor.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        Some(format!("{first}{}.", letters.as_str()))
    });
    let mut seen = BTreeSet::new();
    let floors: Vec<String> = floors.filter(|floor| seen.insert(floor.clone())).collect();
    let mut measures: Vec<Measure> = report.pairs.iter().filter_map(time_of).collect();
    measures.dedup();
    let printed =
        |pair: &StoredPairReport| matches!(pair.measure, Some(ComparedBy::Printed { .. } | ComparedBy::Counter { .. }));
    let (of, what) = match report.pairs.iter().any(printed) {
        true => ("value", "the samples only, where programs print it or it is a count"),
        false => ("time", "the range by which two runs differ although the program does not"),
    };
    Overview {
        answers: report.pairs.iter().filter_map(|pair| words.answer(pair)).map(|text| format!("{text}.").into()).collect(),
        note: format!(
            "Times: medians of the retained samples. Ratio: {of} of the program divided by that of what it is compared with; \
             its 95% interval holds {what}. {}",
            floors.join(" ")
        ).into(),
        what: "program",
        measure: match measures.as_slice() {
            [Measure::Pt] => "CPU time",
            [Measure::Et] => "elapsed time",
            [Measure::Net] => "net time",
            _ => "time",
        },
        compared: true,
        rows: rows(words, report),
        accounts: Vec::new(),
        duets: None,
    }
}

/// The references, each before the programs that are compared with it.
fn rows(words: &StoredWords<'_>, report: &StoredReport) -> Vec<OverviewRow> {
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for (place, pair) in report.pairs.iter().enumerate() {
        if seen.insert(pair.reference) {
            rows.push(OverviewRow {
                verdict: Some(OverviewVerdict::Reference),
                ..row(words, pair, pair.reference, place)
            });
        }
        let chosen = pair.chosen();
        rows.push(OverviewRow {
            ratio: chosen.map(ratio_figure),
            basis: chosen.map_or_else(String::new, |c| words.basis(pair, c)).into(),
            verdict: chosen.and_then(verdict),
            ..row(words, pair, pair.program, place)
        });
    }
    rows
}

/// A side without its ratio.
fn row(words: &StoredWords<'_>, pair: &StoredPairReport, side: u32, place: usize) -> OverviewRow {
    let times = words.comparison.sides.get(side as usize).and_then(|s| of_measure(&s.times, time_of(pair)));
    OverviewRow {
        title: words.name(side).into(),
        plot: part_id(place),
        mean: times.map(median_figure),
        ratio: None,
        alone: None,
        basis: String::new().into(),
        limit: None,
        verdict: None,
        samples: times.map_or_else(|| "no time".to_owned(), |t| format!("{} samples", t.samples)).into(),
    }
}

fn of_measure(times: &[SeriesTimes], measure: Option<Measure>) -> Option<&SeriesTimes> {
    times.iter().find(|t| Some(t.measure) == measure)
}

/// The time that stands beside the ratio: that of the verdict; beside printed values CPU time, or elapsed time.
fn time_of(pair: &StoredPairReport) -> Option<Measure> {
    match pair.measure.as_ref()? {
        ComparedBy::Time(measure) => Some(*measure),
        ComparedBy::Printed { .. } | ComparedBy::Counter { .. } => {
            [Measure::Pt, Measure::Et].into_iter().find(|m| pair.by(*m).is_some())
        }
    }
}

/// `None` where what a program prints is lower or higher, which is neither faster nor slower: the answer says which.
fn verdict(ratio: &StoredRatio) -> Option<OverviewVerdict> {
    let timed = matches!(ratio.measure, ComparedBy::Time(_));
    match ratio.verdict.ok()? {
        Verdict::Faster => timed.then_some(OverviewVerdict::Faster),
        Verdict::Slower => timed.then_some(OverviewVerdict::Slower),
        Verdict::Same => Some(OverviewVerdict::Same),
        Verdict::Undecided => Some(OverviewVerdict::Undecided),
    }
}

fn median_figure(times: &SeriesTimes) -> Figure {
    Figure::new(Unit::Time, times.median).with_interval(&times.interval)
}

fn ratio_figure(ratio: &StoredRatio) -> Figure {
    Figure::new(Unit::Ratio, ratio.ratio).with_interval(&ratio.interval)
}

fn part(words: &StoredWords<'_>, pair: &StoredPairReport, place: usize) -> PagePart {
    let id = part_id(place);
    let title = format!("{} / {}", words.name(pair.program), words.name(pair.reference));
    let floor = pair.chosen().and_then(|chosen| words.floor(pair, chosen));
    PagePart {
        note: floor.map_or_else(String::new, |floor| format!("{floor}.")).into(),
        figures: [intervals(words, pair, &id, &title), history(words, pair, &id, &title)]
            .into_iter()
            .flatten()
            .collect(),
        tables: vec![
            by_measure(words, pair),
            times(words, &[pair.reference, pair.program], None),
            printed(words, std::slice::from_ref(pair)),
        ]
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect(),
        id,
        title: title.into(),
    }
}

/// Looks of curves of which each is another measure; the next one is that of the line.
const LOOKS: usize = 4;

/// The ratio by each measure with its interval, one below the other; `None` without any.
fn intervals(words: &StoredWords<'_>, pair: &StoredPairReport, id: &str, title: &str) -> Option<PageFigure> {
    let curve = |(row, ratio): (u32, &StoredRatio)| {
        let bounds = ratio.interval.as_ref().ok();
        let x: Vec<f64> = match bounds {
            Some(i) => vec![i.low, ratio.ratio, i.high],
            None => vec![ratio.ratio],
        };
        PageCurve {
            title: words.what(&ratio.measure),
            look: (row as usize - 1) % LOOKS,
            thin: false,
            join: Join::Straight,
            y: vec![f64::from(row); x.len()],
            x,
            band: None,
        }
    };
    let mut curves: Vec<PageCurve> = (1..).zip(&pair.ratios).map(curve).collect();
    let last = curves.len() as f64;
    if curves.is_empty() {
        return None;
    }
    curves.push(PageCurve {
        title: "no difference".to_owned(),
        look: LOOKS,
        thin: true,
        join: Join::Straight,
        x: vec![1.0, 1.0],
        y: vec![0.5, last + 0.5],
        band: None,
    });
    Some(PageFigure {
        id: format!("{id}-intervals"),
        title: format!("{title}: ratios with their 95% intervals"),
        note: "A point with the bounds of its interval for each measure; the dotted line is a ratio of 1.".to_owned(),
        x: PageAxis::scaled("The program over what it is compared with", PageQuantity::Ratio, &[PageScale::Linear]),
        y: PageAxis::scaled("Measure", PageQuantity::Count, &[PageScale::Linear]),
        curves,
    })
}

/// Medians of the programs in all runs that were looked at, in the order of time; `None` without other runs.
fn history(words: &StoredWords<'_>, pair: &StoredPairReport, id: &str, title: &str) -> Option<PageFigure> {
    let measure = time_of(pair)?;
    let comparison = words.comparison;
    let side = |index: u32| {
        let side = comparison.sides.get(index as usize)?;
        let created = comparison.runs.get(side.run as usize)?.created;
        Some((created, side.program.as_str(), of_measure(&side.times, Some(measure))?.median))
    };
    let (reference, program) = (side(pair.reference)?, side(pair.program)?);
    let past = |run: &PastRun| {
        let same = run.series.iter().find(|s| s.program == reference.1 || s.program == program.1)?;
        let median = same.medians.iter().find(|m| m.measure == measure)?.median;
        Some((run.created, 0, median))
    };
    let mut all: Vec<_> = comparison.history.iter().filter_map(past).collect();
    if all.is_empty() {
        return None;
    }
    all.extend([(reference.0, 1, reference.2), (program.0, 2, program.2)]);
    all.sort_by_key(|(created, ..)| *created);
    let titles = ["other runs".to_owned(), words.name(pair.reference), words.name(pair.program)];
    let curves = titles.into_iter().enumerate().map(|(look, title)| {
        let own = (1..).zip(&all).filter(|(_, (_, kind, _))| *kind == look);
        let (x, y) = own.map(|(n, (.., median)): (u32, _)| (f64::from(n), *median)).unzip();
        PageCurve { title, look, thin: false, join: Join::Points, x, y, band: None }
    });
    Some(PageFigure {
        id: format!("{id}-history"),
        title: format!("{title}: the same programs in other runs"),
        note: format!(
            "Medians of the {} in each run, in the order of time; {} other runs.",
            spelled(measure),
            number::fixed(all.len() as f64 - 2.0, 0).unwrap_or_default()
        ),
        x: PageAxis::scaled("Run", PageQuantity::Count, &[PageScale::Linear]),
        y: PageAxis::scaled(spelled(measure), PageQuantity::Time, &[PageScale::Linear, PageScale::Log]),
        curves: curves.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stored::fixtures;
    use tarebench_core::compare::stored_report::report;
    use tarebench_report::cell::Cell;
    use tarebench_report::svg::figures::figures;
    use tarebench_report::text::hidden;
    use tarebench_report::web::html::data;

    fn page(stored: &StoredComparison) -> Page {
        comparison(&fixtures::head(), stored, &report(stored), &TimeZone::UTC, "foot".to_owned())
    }

    #[test]
    fn it_opens_with_the_answer_and_the_intervals() {
        let p = page(&fixtures::slower());
        assert_eq!(p.kind, PageKind::Comparison);
        let o = p.overview.unwrap();
        assert_eq!(
            o.answers,
            [
                "gzip of run 15 is 1.300 times as slow as in run 12 [1.211, 1.395]: CPU time, medians of 10 samples each."
            ]
        );
        assert!(
            o.note
                .plain()
                .ends_with("Between runs of this machine, the same program differs by ± 7.2 % (28 pairs of 8 runs).")
        );
        let [reference, program] = o.rows.as_slice() else { panic!("two rows") };
        assert_eq!((reference.verdict, reference.ratio.as_ref()), (Some(OverviewVerdict::Reference), None));
        assert_eq!((program.verdict, program.plot.as_str()), (Some(OverviewVerdict::Slower), "pair-1"));
        let ratio = program.ratio.as_ref().unwrap();
        assert_eq!(Cell::figure(ratio.clone()), "1.300 [1.211, 1.395]");
        assert!(Cell::from(program.mean.clone()).plain().starts_with("390.0 ms ["), "{program:?}");
    }

    #[test]
    fn what_programs_print_stands_in_the_answer_and_in_a_table() {
        let p = page(&fixtures::printed());
        let o = p.overview.unwrap();
        let said = o.answers.iter().map(Cell::plain).collect::<String>();
        assert!(said.starts_with("gzip of run 15 has 2.000 times the rate of gzip of run 12 [1.972, 2.028]"), "{said}");
        assert!(o.note.plain().contains("the samples only") && o.measure == "CPU time", "{}", o.note);
        let program = &o.rows[1];
        assert_eq!(
            (Cell::from(program.ratio.clone()).plain().as_str(), program.verdict),
            ("2.000 [1.972, 2.028]", None)
        );
        let [part] = p.parts.as_slice() else { panic!("one pair") };
        let titles: Vec<String> = part.tables.iter().map(|t| t.title.plain()).collect();
        assert_eq!(titles, ["Ratios", "Times", "Printed values"]);
        // Three measures and the line.
        assert_eq!(part.figures[0].curves.len(), 4);
    }

    #[test]
    fn every_pair_has_its_figures() {
        let p = page(&fixtures::slower());
        let [part] = p.parts.as_slice() else { panic!("one pair") };
        let ids: Vec<&str> = part.figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["pair-1-intervals", "pair-1-history"]);
        let points: Vec<usize> = part.figures[1].curves.iter().map(|c| c.x.len()).collect();
        assert_eq!(points, [8, 1, 1]);
        // Two measures and the line.
        assert_eq!(part.figures[0].curves.len(), 3);
        let names: Vec<String> = figures(&p).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["pair-1-intervals.svg", "pair-1-history.svg", "pair-1-history-log.svg"]);
        assert!(page(&fixtures::several()).parts.iter().all(|part| part.figures.len() == 1), "no history, no figure");
    }

    #[test]
    fn whatever_a_name_holds_the_page_is_whole() {
        for stored in fixtures::all() {
            let p = page(&stored);
            let text = data(&p).unwrap();
            assert!(!text.contains('<') && !text.contains("NaN"), "{text}");
            let shown = |cell: &Cell| assert!(!cell.plain().chars().any(hidden), "{cell:?}");
            shown(&p.title);
            p.parts.iter().for_each(|part| shown(&part.title));
            p.remarks.iter().for_each(|remark| shown(&remark.text));
            assert!(figures(&p).unwrap().iter().all(|(_, svg)| !svg.contains("<script>")));
        }
    }
}
