//! A sheet in every format: the same figures everywhere, and foreign text stays text.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::csv;
use tarebench_report::document;
use tarebench_report::form::Form;
use tarebench_report::markup::Markup;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetNote, SheetRemark};
use tarebench_report::style::Style;
use tarebench_report::table::{Column, Table};
use tarebench_report::terminal::sheet_text;
use tarebench_report::text::{columns, hidden};
use tarebench_report::web::html::data;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageKind};

const UNITS: [Unit; 13] = [
    Unit::Time,
    Unit::FineTime,
    Unit::LongTime,
    Unit::Ratio,
    Unit::Change,
    Unit::Share,
    Unit::Limit,
    Unit::ChosenTime,
    Unit::Chance,
    Unit::Count,
    Unit::Correlation,
    Unit::Exact,
    Unit::Plain,
];

fn figure() -> impl Strategy<Value = Cell> {
    let unit = prop::sample::select(UNITS.to_vec());
    (unit, 1e-3..1e4_f64, prop::option::of(0.001..0.5_f64), any::<bool>()).prop_map(|(unit, size, half, spread)| {
        let value = if matches!(unit, Unit::Time | Unit::FineTime | Unit::LongTime) { size * 1e6 } else { size };
        let half =
            half.map(|h| h * value).filter(|_| matches!(unit, Unit::Time | Unit::Ratio | Unit::Change | Unit::Plain));
        let figure = Figure::new(unit, value);
        let figure = match half {
            Some(half) if spread => figure.with_spread(Some(half)),
            Some(half) => figure.with_interval(&Ok(Interval { low: value - half, high: value + half, level: 0.95 })),
            None => figure.with_interval(&Err(NoInterval::TooFew { have: 1, need: 6 })),
        };
        Cell::figure(figure)
    })
}

fn sheet(names: &[String], figures: &[Cell]) -> Sheet {
    let mut table =
        Table::of("Results", "", [Column::new("program").key("program"), Column::new("figure").key("figure")]);
    for (name, figure) in names.iter().zip(figures) {
        table.row([Cell::foreign(name), figure.clone()], Vec::new());
    }
    let first = names.first().map(Cell::foreign).unwrap_or_default();
    Sheet {
        kind: PageKind::Comparison,
        title: Cell::text("Comparison of ").and(first.clone()),
        subtitle: "".into(),
        answers: vec![first.clone().and(" takes ").and(figures.first().cloned().unwrap_or_default())],
        facts: vec![SheetFact::new("machine", first.clone())],
        notes: vec![SheetNote::new("control", "nothing differs")],
        remarks: vec![SheetRemark::warning(first.and(" was killed"))],
        sections: vec![Section::result([Item::Table(table)])],
        foot: "".into(),
    }
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}",
        Just("<script>alert(1)</script>".to_owned()),
        Just("a | b\\| `c` *d* _e_ @f =g= ~h~".to_owned()),
        Just("\u{1b}[31m\u{202e}x\n$(y) \\input{z} %&#{}".to_owned()),
        "\\PC{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_figure_reads_the_same_in_every_format(figures in prop::collection::vec(figure(), 1..6)) {
        let names: Vec<String> = (1..).map(|i| format!("program{i}")).take(figures.len()).collect();
        let sheet = sheet(&names, &figures);
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let terminal = flat(&sheet_text(&sheet, &Style { width: 200, ..Style::default() }));
        let markdown = document::document(&sheet);
        let page: serde_json::Value = serde_json::from_str(&data(&sheet.clone().into_page()).unwrap()).unwrap();
        for (i, (name, cell)) in names.iter().zip(&figures).enumerate() {
            let read = cell.plain();
            prop_assert!(terminal.contains(&format!("{name} {read}")), "{read}: {terminal}");
            prop_assert!(markdown.contains(&format!("| `{name}` | {read} |")), "{read}: {markdown}");
            prop_assert_eq!(&page["tables"][0]["rows"][i]["cells"][1], &serde_json::json!(read));
            let value = page["tables"][0]["rows"][i]["values"][1].as_f64().unwrap();
            prop_assert!((value - cell.value().unwrap()).abs() <= 1e-12 * value.abs(), "{value}");
        }
    }

    #[test]
    fn csv_has_what_is_read_unrounded(figures in prop::collection::vec(figure(), 1..6)) {
        let names: Vec<String> = (1..).map(|i| format!("program{i}")).take(figures.len()).collect();
        let sheet = sheet(&names, &figures);
        let table = sheet.sections[0].tables().next().unwrap();
        let text = csv::table(table).unwrap();
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heads = rows.next().unwrap();
        for (row, cell) in rows.zip(&figures) {
            let at = |name: &str| heads.iter().position(|head| *head == name).and_then(|i| row[i].parse::<f64>().ok());
            let figure = cell.as_figure().unwrap();
            prop_assert_eq!(at("figure"), Some(figure.value));
            prop_assert_eq!(at("figure_low"), figure.bounds().map(|i| i.low));
            prop_assert_eq!(at("figure_high"), figure.bounds().map(|i| i.high));
            prop_assert_eq!(at("figure_sd"), figure.spread);
        }
    }

    #[test]
    fn foreign_text_stays_text(name in hostile(), width in 40_usize..120, unicode: bool, full: bool) {
        let sheet = sheet(&[name], &[Cell::time(1e6)]);
        let text = sheet_text(&sheet, &Style { width, unicode, full, ..Style::default() });
        prop_assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        prop_assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        prop_assert!(unicode || text.is_ascii(), "{text}");
        let page = data(&sheet.clone().into_page()).unwrap();
        prop_assert!(!page.contains('<') && !page.chars().any(hidden), "{page}");
        let table = sheet.sections[0].tables().next().unwrap();
        for markup in [Markup::Markdown, Markup::Asciidoc, Markup::Org, Markup::Latex] {
            let text = document::table(table, markup, None);
            prop_assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        }
        let latex = document::table(table, Markup::Latex, None);
        // Two columns: one separator a row, two rows and three rules.
        prop_assert_eq!(latex.replace("\\&", "").matches('&').count(), 2, "{}", latex);
        let markdown = document::table(table, Markup::Markdown, None);
        for row in markdown.lines() {
            prop_assert_eq!(row.replace("\\|", "").matches('|').count(), 3, "{}", row);
        }
    }
}

#[test]
fn a_figure_has_its_unit_its_spread_and_its_interval() {
    let read = |figure: Figure| Cell::figure(figure).plain();
    let interval = |low, high| Ok(Interval { low, high, level: 0.95 });
    let time = Figure::new(Unit::Time, 927_123.0).with_spread(Some(162_000.0)).with_interval(&interval(752e3, 1063e3));
    assert_eq!(read(time), "927 µs ± 162 [752, 1063]");
    assert_eq!(read(Figure::new(Unit::Ratio, 0.98321).with_interval(&interval(0.910, 1.629))), "0.983 [0.910, 1.629]");
    assert_eq!(read(Figure::new(Unit::Change, 1.041).with_interval(&interval(1.038, 1.044))), "+4.1 % [+3.8, +4.4]");
    assert_eq!(read(Figure::new(Unit::Change, 0.93)), "−7.0 %");
    assert_eq!(read(Figure::new(Unit::Share, 0.123)), "12 %");
    assert_eq!(read(Figure::new(Unit::Limit, 0.005)), "0.5 %");
    let correlation = Figure::new(Unit::Correlation, -0.3456).with_interval(&interval(-0.5, 0.001));
    assert_eq!(read(correlation), "−0.35 [−0.50, 0.00]");
    assert_eq!(read(Figure::new(Unit::Exact, -8022.0625)), "−8022.0625");
    assert_eq!(read(Figure::new(Unit::Time, 0.0)), "0");
    assert_eq!(read(Figure::new(Unit::Bytes, 12_900_000.0)), "12.3 MiB");
    assert_eq!(read(Figure::new(Unit::Time, f64::NAN)), "–");
    assert_eq!(Cell::absent(), "–");
    let ascii = Style { unicode: false, ..Style::default() };
    let change = Cell::figure(Figure::new(Unit::Change, 0.93).with_spread(Some(0.01)));
    assert_eq!(change.write(&Form::terminal(&ascii)), "-7.0 % +- 1.0");
}

#[test]
fn what_has_nothing_to_show_is_omitted_and_a_label_stands_once() {
    let curve = |x: Vec<f64>| PageCurve {
        title: "a\u{1b}".to_owned(),
        look: 0,
        thin: false,
        join: Join::Points,
        y: x.clone(),
        x,
        band: None,
    };
    let figure = |x| PageFigure {
        id: "f".to_owned(),
        title: "of \u{1b}".to_owned(),
        note: String::new(),
        x: PageAxis::counts("x"),
        y: PageAxis::counts("y"),
        curves: vec![curve(x)],
    };
    let mut sheet = Sheet::new(PageKind::Study, "a study");
    sheet.facts = ["one", "two"].map(|machine| SheetFact::new("machine", machine)).into();
    sheet.sections = vec![
        Section::new("none", "Nothing", "How to read it.", [figure(Vec::new())]),
        Section::new("empty", "No rows", "", [Table::new("", "", &["program"])]),
        Section::new("some", "Something", "How to read it.", [figure(vec![1.0])]),
    ];
    let text = sheet_text(&sheet, &Style::default());
    assert_eq!(
        text.trim_end(),
        "a study\n  machine     one\n              two",
        "curves and notes on them are not of a terminal"
    );
    let page = sheet.into_page();
    let [part] = page.parts.as_slice() else { panic!("{page:?}") };
    assert_eq!((part.id.as_str(), part.figures[0].title.as_str()), ("some", r"of \x1b"));
    assert_eq!(part.figures[0].curves[0].title, r"a\x1b");
}

#[test]
fn times_of_a_column_share_a_unit_where_asked() {
    let mut table = Table::of("", "", [Column::new("program"), Column::new("mean").shared_unit()]);
    table.row([Cell::foreign("a"), Cell::time(1.5e6)], Vec::new());
    table.row([Cell::foreign("b"), Cell::time(250e3)], Vec::new());
    table.row([Cell::foreign("c"), Cell::absent()], Vec::new());
    let text = document::table(&table, Markup::Markdown, None);
    assert_eq!(text, "| program | mean [ms] |\n|:---|---:|\n| `a` | 1.50 |\n| `b` | 0.250 |\n| `c` | – |\n");
}

#[test]
fn short_times_have_decimals_of_a_nanosecond() {
    let fine =
        |value, digits| Cell::figure(Figure { digits: Some(digits), ..Figure::new(Unit::FineTime, value) }).plain();
    assert_eq!(fine(0.25, 0.0), "0.250 ns");
    assert_eq!(fine(1.0, 1e-9), "1.000 ns");
    assert_eq!(fine(10e6, 434.0), "10.000 ms");
    assert_eq!(fine(2.5e-5, 0.0), "2.50e-5 ns");
    assert_eq!(fine(0.0, 0.0), "0");
}

#[test]
fn a_sheet_without_an_answer_begins_with_its_title() {
    let text = |answers: &[&str]| {
        let answers = answers.iter().map(|a| Cell::from(*a)).collect();
        sheet_text(&Sheet { answers, ..Sheet::new(PageKind::Noise, "Noise n1") }, &Style::default())
    };
    assert_eq!(
        (text(&[]), text(&["nothing was delayed"])),
        ("Noise n1\n".to_owned(), "nothing was delayed\n".to_owned())
    );
}

#[test]
fn the_number_of_remarks_that_are_left_out_is_shown() {
    let remarks = |n: usize| Sheet {
        remarks: vec![SheetRemark::warning("something is odd"); n],
        ..sheet(&["a".to_owned()], &[Cell::count(1)])
    };
    let style = Style { more: Some("everything".to_owned()), ..Style::default() };
    assert!(!sheet_text(&remarks(20), &style).contains(" more"));
    let text = sheet_text(&remarks(23), &style);
    assert!(
        text.contains("\n  and 3 more\n") && text.ends_with("Not everything is shown. Details: everything\n"),
        "{text}"
    );
    assert!(!sheet_text(&remarks(23), &Style { full: true, ..style }).contains(" more"));
}

#[test]
fn numbers_with_texts_of_their_own_have_such_bounds() {
    let read = |figure: Figure| Cell::figure(figure).plain();
    assert_eq!(read(Figure::new(Unit::ChosenTime, 1_500.0)), "1.5 µs");
    let interval = Ok(Interval { low: 2.5e-5, high: 0.012, level: 0.95 });
    assert_eq!(read(Figure::new(Unit::Chance, 0.0012).with_interval(&interval)), "0.12 % [2.5e-5, 1.2 %]");
}
