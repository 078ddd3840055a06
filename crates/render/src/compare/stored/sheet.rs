//! A comparison of stored runs as a sheet: the answers with the intervals, and a section for each pair.

use crate::compare::sentence::spelled;
use crate::compare::stored::said::{StoredWords, every_remark, measured, ratio_figure, stored_verdict};
use crate::compare::stored::tables::{by_measure, median, printed, ratios, runs, times};
use std::collections::BTreeSet;
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::compare::stored::{ComparedBy, PastRun, SeriesTimes, StoredComparison};
use tarebench_core::compare::stored_report::{StoredPairReport, StoredRatio, StoredReport};
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::sample::measure::Measure;
use tarebench_report::cell::Cell;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetNote, sentence};
use tarebench_report::table::Detail;
use tarebench_report::web::page::{
    Join, Overview, OverviewRow, OverviewVerdict, PageAxis, PageCurve, PageFigure, PageKind, PageQuantity, PageScale,
};
use tarebench_report::words::plural;

/// Of a comparison, stored or not.
pub fn comparison(
    head: &DocumentHead,
    comparison: &StoredComparison,
    report: &StoredReport,
    zone: &TimeZone,
    foot: String,
) -> Sheet {
    let words = StoredWords { comparison };
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let (answers, compared) = match report.pairs.as_slice() {
        [pair] => (words.answers(pair), by_measure(&words, pair)),
        pairs => (vec![counted(pairs)], ratios(comparison, report)),
    };
    let full = |item: Item| Section { detail: Detail::Full, ..Section::result([item]) };
    let results = [
        Section::result([Item::Table(compared), Item::Table(printed(&words, &report.pairs))]),
        full(Item::Overview(Box::new(overview(&words, report)))),
        full(Item::Table(runs(&words, zone))),
    ];
    let parts = report.pairs.iter().enumerate().map(|(place, pair)| section(&words, report, pair, place));
    Sheet {
        kind: PageKind::Comparison,
        title: Cell::text(format!("Comparison{id}: ")).and(Cell::foreign(&head.title)),
        subtitle: "Programs of stored runs against each other".into(),
        answers,
        facts: vec![
            SheetFact::full("made", Cell::date(head.created, zone)),
            SheetFact::full("runs", Cell::count(comparison.runs.len() as u32)),
            SheetFact::full("history", plural(comparison.history.len() as u64, "other run")),
        ],
        notes: notes(&words, report),
        remarks: every_remark(&words, report),
        sections: results.into_iter().chain(parts).collect(),
        foot: foot.into(),
    }
}

/// `3 pairs: 1 slower, 2 undecided`.
fn counted(pairs: &[StoredPairReport]) -> Cell {
    let verdict = |pair: &StoredPairReport| pair.chosen().map(stored_verdict);
    let named = |said: Option<&'static str>| {
        let n = pairs.iter().filter(|pair| verdict(pair) == said).count();
        let said = match said {
            Some("other machine") => "without a verdict, as the machines differ",
            Some(word) => word,
            None => "not comparable",
        };
        (n > 0).then(|| format!("{n} {said}"))
    };
    let words = ["slower", "higher", "faster", "lower", "undecided", "other machine"].map(Some);
    let said: Vec<String> = words.into_iter().chain([None]).filter_map(named).collect();
    Cell::text(format!("{}: {}", plural(pairs.len() as u64, "pair"), said.join(", ")))
}

/// What the ratio is, and what two runs differ by, each sentence once.
fn notes(words: &StoredWords<'_>, report: &StoredReport) -> Vec<SheetNote> {
    let timed = |pair: &StoredPairReport| matches!(pair.measure, Some(ComparedBy::Time(_)) | None);
    let (of, holds) = match report.pairs.iter().all(timed) {
        true => ("time", "the range by which two runs differ although the program does not"),
        false => ("value", "the samples only, where programs print it or it is a count"),
    };
    let ratio = format!(
        "ratio: {of} of the program divided by that of what it is compared with; its 95% interval holds {holds}"
    );
    let mut seen = BTreeSet::new();
    let floors = report.pairs.iter().filter_map(|pair| {
        let floor = words.floor(pair, pair.chosen()?)?;
        let name = (report.pairs.len() > 1).then(|| words.name(pair.program).and(": "));
        let said = name.map_or_else(|| floor.clone(), |name| name.and(floor.clone()));
        seen.insert(floor.plain()).then(|| SheetNote::new("", said))
    });
    floors.chain([SheetNote::new("", ratio)]).collect()
}

fn part_id(place: usize) -> String {
    format!("pair-{}", place + 1)
}

fn overview(words: &StoredWords<'_>, report: &StoredReport) -> Overview {
    let mut measures: Vec<Measure> = report.pairs.iter().filter_map(time_of).collect();
    measures.dedup();
    Overview {
        answers: Vec::new(),
        note: "Times: medians of the retained samples.".into(),
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
            basis: chosen.map(|c| words.basis(pair, c)).unwrap_or_default(),
            verdict: chosen.and_then(verdict),
            ..row(words, pair, pair.program, place)
        });
    }
    rows
}

/// A side without its ratio.
fn row(words: &StoredWords<'_>, pair: &StoredPairReport, side: u32, place: usize) -> OverviewRow {
    let times = words.side(side).and_then(|s| of_measure(&s.times, time_of(pair)));
    OverviewRow {
        title: words.name(side),
        plot: part_id(place),
        mean: times.map(median),
        ratio: None,
        alone: None,
        basis: Cell::empty(),
        limit: None,
        verdict: None,
        samples: times.map_or_else(|| "no time".into(), |t| plural(t.samples, "sample").into()),
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

fn section(words: &StoredWords<'_>, report: &StoredReport, pair: &StoredPairReport, place: usize) -> Section {
    let id = part_id(place);
    let title = words.name(pair.program).and(" / ").and(words.name(pair.reference));
    let figures = [intervals(pair, &id, &title.plain()), history(words, pair, &id, &title.plain())];
    let times = times(words, &[pair.reference, pair.program]);
    let only = report.pairs.len() == 1;
    // Of a single pair the sheet itself has these.
    let (note, tables) = if only {
        (Cell::empty(), vec![times])
    } else {
        let said = words.answers(pair).into_iter().map(sentence);
        (said.fold(Cell::empty(), Cell::and_sentence), vec![by_measure(words, pair), times])
    };
    Section {
        items: figures.into_iter().flatten().map(Item::Figure).chain(tables.into_iter().map(Item::Table)).collect(),
        detail: if only { Detail::Always } else { Detail::Full },
        id,
        title,
        note,
    }
}

/// Looks of curves of which each is another measure; the next one is that of the line.
const LOOKS: usize = 4;

/// The ratio by each measure with its interval, one below the other; `None` without any.
fn intervals(pair: &StoredPairReport, id: &str, title: &str) -> Option<PageFigure> {
    let curve = |(row, ratio): (u32, &StoredRatio)| {
        let bounds = ratio.interval.as_ref().ok();
        let x: Vec<f64> = match bounds {
            Some(i) => vec![i.low, ratio.ratio, i.high],
            None => vec![ratio.ratio],
        };
        PageCurve {
            title: measured(&ratio.measure).plain(),
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
        let side = words.side(index)?;
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
    let titles = ["other runs".to_owned(), words.name(pair.reference).plain(), words.name(pair.program).plain()];
    let curves = titles.into_iter().enumerate().map(|(look, title)| {
        let own = (1..).zip(&all).filter(|(_, (_, kind, _))| *kind == look);
        let (x, y) = own.map(|(n, (.., median)): (u32, _)| (f64::from(n), *median)).unzip();
        PageCurve { title, look, thin: false, join: Join::Points, x, y, band: None }
    });
    Some(PageFigure {
        id: format!("{id}-history"),
        title: format!("{title}: the same programs in other runs"),
        note: format!(
            "Medians of the {} in each run, in the order of time; {}.",
            spelled(measure),
            plural(all.len() as u64 - 2, "other run")
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
    use crate::compare::stored::tables::exported;
    use tarebench_core::compare::stored_report::report;
    use tarebench_report::csv;
    use tarebench_report::document;
    use tarebench_report::markup::Markup;
    use tarebench_report::style::Style;
    use tarebench_report::svg::figures::figures;
    use tarebench_report::terminal::sheet_text;
    use tarebench_report::text;
    use tarebench_report::text::hidden;
    use tarebench_report::web::html::data;
    use tarebench_report::web::page::Page;

    fn sheet(stored: &StoredComparison) -> Sheet {
        comparison(&fixtures::head(), stored, &report(stored), &TimeZone::UTC, "foot".to_owned())
    }

    fn page(stored: &StoredComparison) -> Page {
        sheet(stored).into_page()
    }

    fn shown(stored: &StoredComparison) -> String {
        let text = sheet_text(&sheet(stored), &Style::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn full(stored: &StoredComparison) -> String {
        sheet_text(&sheet(stored), &Style { full: true, ..Style::default() })
    }

    #[test]
    fn the_answer_stands_first() {
        insta::assert_snapshot!(sheet_text(&sheet(&fixtures::slower()), &Style::default()));
        insta::assert_snapshot!("everything", full(&fixtures::slower()));
        insta::assert_snapshot!("several", sheet_text(&sheet(&fixtures::several()), &Style::default()));
    }

    #[test]
    fn few_runs_are_named_as_the_reason_of_a_wide_interval() {
        let mut c = fixtures::slower();
        c.history.truncate(3);
        // Undecided: more runs help.
        c.sides[1].times = c.sides[0].times.clone();
        let text = shown(&c).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("(3 pairs of 3 runs, too few to be sharper)"), "{text}");
        let says = "few runs show how far runs differ: more runs of the program make this sharper, and the same reference \
                    program in both runs makes it far sharper";
        assert!(text.to_lowercase().contains(says), "{text}");
        // A difference that is seen needs no more of them.
        let seen = fixtures::slower();
        assert!(!shown(&seen).contains("too few"), "{}", shown(&seen));
    }

    #[test]
    fn other_machines_are_pointed_out() {
        let refused = shown(&fixtures::other_machine(false));
        assert!(refused.starts_with("no verdict, as the machines differ: gzip of run 15 was 1."), "{refused}");
        assert!(refused.contains("! kernel: 6.1.0 in run 12, 6.2.0 in run 15"), "{refused}");
        assert!(refused.contains(" ntp: on in run 12, off in run 15"), "{refused}");
        let marked = shown(&fixtures::other_machine(true));
        assert!(marked.starts_with("across machines: gzip of run 15 is 1.3"), "{marked}");
        assert!(marked.contains("! across machines: the ratio is that of the machines, too"), "{marked}");
        assert!(marked.contains("slower, across machines"), "{marked}");
    }

    #[test]
    fn what_a_ratio_rests_on_is_said() {
        let text = shown(&fixtures::with_reference());
        assert!(
            text.starts_with("gzip of run 15 is 1.100 [") && text.contains("] times as slow as in run 12: "),
            "{text}"
        );
        assert!(text.contains("ratios to sleep in both runs, 12 duets each"), "{text}");
        assert!(text.contains("no history: ± 1.0 % between two runs is assumed of such ratios"), "{text}");
        assert!(text.contains("sleep, its reference CPU time 100"), "{text}");
        let text = shown(&fixtures::same_run());
        let says = "undecided, too few samples: xz of run 12 was 4.00 times as fast as gzip: CPU time, 3 pairs ";
        assert!(text.starts_with(says), "{text}");
        assert!(text.contains("ran one after the other"), "{text}");
        assert!(!text.contains("between runs of"), "{text}");
    }

    #[test]
    fn what_programs_print_is_compared_if_it_is_asked_for() {
        let text = shown(&fixtures::printed());
        let answer = "gzip of run 15 has 2.000 [1.972, 2.028] times the rate of gzip of run 12: printed value, medians of 10 samples each";
        assert!(text.starts_with(answer), "{text}");
        for beside in ["elapsed time 1.29 [1.17, 1.42]", "CPU time 1.300 [1.215, 1.391]"] {
            assert!(text.contains(beside), "{beside}: {text}");
        }
        assert!(text.contains("! how far rate differs from run to run is not known"), "{text}");
        let not_asked = StoredComparison { plan: Default::default(), ..fixtures::printed() };
        let text = shown(&not_asked);
        assert!(text.starts_with("gzip of run 15 is 1.300 [1.215, 1.391] times as slow as in run 12"), "{text}");
        let row = "rate gzip of run 15 200.0 gzip of run 12 100.0 2.000 [1.972, 2.028]";
        assert!(text.contains(row), "{text}");
        let mut refused = fixtures::printed();
        refused.sides[0].metrics[0].smallest = 0.0;
        let text = shown(&refused);
        let why = "! they cannot be compared by rate: a value that one of them printed is zero or negative, and such values have no \
                   meaningful ratio";
        assert!(text.starts_with("gzip of run 15 is 1.300") && text.contains(why), "{text}");
        refused.sides[0].metrics.clear();
        assert!(shown(&refused).contains("by rate: not both print it"));
    }

    #[test]
    fn another_time_that_says_otherwise_is_an_answer() {
        let mut stored = fixtures::slower();
        // The elapsed time is that of run 12.
        stored.sides[1].times[0] = stored.sides[0].times[0].clone();
        let said = sheet(&stored).answers.iter().map(Cell::plain).collect::<Vec<_>>();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].starts_with("undecided: gzip of run 15 was 1.000 ["), "{said:?}");
        assert!(said[1].ends_with(": elapsed time, medians of 10 samples each"), "{said:?}");
    }

    #[test]
    fn several_pairs_are_a_table() {
        let text = shown(&fixtures::several());
        for says in [
            "gzip of run 15",
            "xz of run 12",
            "2 pairs: 1 faster, 1 undecided",
            "gzip of run 15: no history: on shared machines, 10 % between runs is common",
            "! they cannot be compared by net time: not both have it",
            " bzip2 of run 15 is in no other run, and is left out",
            " run 15 is not finished: its samples so far are compared",
        ] {
            assert!(text.contains(says), "{says:?} in {text}");
        }
        let p = page(&fixtures::several());
        assert_eq!(p.overview.unwrap().answers, ["2 pairs: 1 faster, 1 undecided."]);
        let note = p.parts[0].note.plain();
        assert!(note.starts_with("gzip of run 15 is 1.58 ["), "{note}");
        assert!(p.parts.iter().all(|part| part.tables[0].title.plain() == "Ratios"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_name_acts_on_it() {
        for stored in fixtures::all() {
            for (width, unicode, full) in [(40, true, false), (60, false, true), (100, true, true), (113, false, false)]
            {
                let style = Style { width, unicode, full, ..Style::default() };
                let text = sheet_text(&sheet(&stored), &style);
                for line in text.lines() {
                    assert!(text::columns(line) <= width, "{} of {width}: {line:?}", text::columns(line));
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                    assert!(unicode || line.is_ascii(), "{line:?}");
                }
            }
        }
    }

    #[test]
    fn the_page_opens_with_the_answer_and_the_intervals() {
        let p = page(&fixtures::slower());
        assert_eq!(p.kind, PageKind::Comparison);
        let o = p.overview.unwrap();
        assert_eq!(
            o.answers,
            [
                "gzip of run 15 is 1.300 [1.215, 1.391] times as slow as in run 12: CPU time, medians of 10 samples each."
            ]
        );
        let floor =
            "Between runs of this machine, the same program differs by ± 6.8 % (28 pairs of 8 runs). Ratio: time of";
        assert!(o.note.plain().contains(floor), "{}", o.note);
        let [reference, program] = o.rows.as_slice() else { panic!("two rows") };
        assert_eq!((reference.verdict, reference.ratio.as_ref()), (Some(OverviewVerdict::Reference), None));
        assert_eq!((program.verdict, program.plot.as_str()), (Some(OverviewVerdict::Slower), "pair-1"));
        let ratio = program.ratio.as_ref().unwrap();
        assert_eq!(Cell::figure(ratio.clone()), "1.300 [1.215, 1.391]");
        assert!(Cell::from(program.mean.clone()).plain().starts_with("390.0 ms ["), "{program:?}");
    }

    #[test]
    fn what_programs_print_stands_in_the_answer_and_in_a_table() {
        let p = page(&fixtures::printed());
        let o = p.overview.unwrap();
        assert!(o.note.plain().contains("the samples only") && o.measure == "CPU time", "{}", o.note);
        let program = &o.rows[1];
        assert_eq!(
            (Cell::from(program.ratio.clone()).plain().as_str(), program.verdict),
            ("2.000 [1.972, 2.028]", None)
        );
        let titles: Vec<String> = p.tables.iter().map(|t| t.title.plain()).collect();
        assert_eq!(titles, ["Ratios", "Printed values", "Runs"]);
        let [part] = p.parts.as_slice() else { panic!("one pair") };
        assert_eq!(part.tables[0].title.plain(), "Times");
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
    fn a_table_of_a_document_has_a_row_for_each_pair() {
        let table =
            |stored: &StoredComparison| document::table(&ratios(stored, &report(stored)), Markup::Markdown, None);
        let expected = "| program | against | measure | ratio [95%] | between runs, ± | verdict |\n\
                        |:---|---:|---:|---:|---:|---:|\n\
                        | `gzip` of run 15 | `gzip` of run 12 | CPU time | 1.300 [1.215, 1.391] | 6.8 % | slower |\n";
        assert_eq!(table(&fixtures::slower()), expected);
        let text = table(&fixtures::printed());
        assert!(text.contains("| `rate` | 2.000 [1.972, 2.028] | – | higher |"), "{text}");
        for stored in fixtures::all() {
            for markup in [Markup::Markdown, Markup::Asciidoc, Markup::Org, Markup::Latex] {
                let text = document::table(&ratios(&stored, &report(&stored)), markup, None);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
                assert!(
                    !text.contains("<script>") || text.contains('`') || matches!(markup, Markup::Org | Markup::Latex),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn every_ratio_is_a_row_of_csv() {
        let rows = |stored: &StoredComparison| csv::table(&exported(stored, &report(stored))).unwrap();
        let text = rows(&fixtures::slower());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let uuids = [format!("{:032x}", 15), format!("{:032x}", 12)];
        let begins = format!("gzip,15,{},gzip,12,{},cpu,true,ratio of medians,1.", uuids[0], uuids[1]);
        assert!(lines[2].starts_with(&begins) && lines[2].ends_with(",same program,slower,false"), "{}", lines[2]);
        assert!(lines[1].contains(",elapsed,false,") && lines[1].contains(",assumed,"), "{}", lines[1]);
        let text = rows(&fixtures::printed());
        let last = text.lines().last().unwrap();
        assert!(last.contains(",metric:rate,true,ratio of medians,") && last.ends_with(",,,higher,false"), "{last}");
        for stored in fixtures::all() {
            let text = rows(&stored);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let heads = reader.headers().unwrap().len();
            for record in reader.records() {
                let record = record.unwrap();
                assert_eq!(record.len(), heads);
                assert!(!record.iter().any(|c| c.chars().any(char::is_control)), "{record:?}");
            }
        }
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
