//! A gate as a sheet: its answer with the intervals, a row for each benchmark, and a section for each with the ratio of each block.

use crate::compare::gate::said::{
    MODIFIED, alike_blocks, answer, blocks, change, common_measure, control, corrected, mean, measure, no_duets,
    of_control, order, paint, reading, reason, revision, slow_blocks, times, uneven, verdict_word,
};
use crate::compare::sentence::{short, spelled};
use crate::documents::machine::described;
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::gate::{BenchmarkReport, Gate, GateReport, GateSide, GateVerdict, SideTimes};
use tarebench_core::documents::head::{DocumentHead, Status};
use tarebench_core::run::report::data::Measure;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetNote, SheetRemark};
use tarebench_report::table::{Column, Detail, Table};
use tarebench_report::terminal_table::ROWS;
use tarebench_report::web::page::{
    Band, Join, Overview, OverviewRow, OverviewVerdict, PageAxis, PageCurve, PageFigure, PageKind,
};

/// Of a gate, finished or not.
pub fn gate(head: &DocumentHead, gate: &Gate, report: &GateReport, zone: &TimeZone, foot: String) -> Sheet {
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let suite = if gate.plan.suite.is_empty() { &head.title } else { &gate.plan.suite };
    let places = order(report, ROWS);
    let items = [Item::Table(table(gate, report, &places)), Item::Overview(Box::new(overview(gate, report, &places)))];
    let parts = (0..report.benchmarks.len()).filter_map(|place| section(gate, report, place));
    Sheet {
        kind: PageKind::Gate,
        title: Cell::text(format!("Gate{id}: ")).and(Cell::foreign(suite)),
        subtitle: "Whether a change makes programs slower".into(),
        answers: vec![answer(report)],
        facts: facts(head, gate, zone),
        notes: notes(gate, report),
        remarks: remarks(head, gate, report, &places),
        sections: [Section::result(items)].into_iter().chain(parts).collect(),
        foot: foot.into(),
    }
}

fn part_id(place: usize) -> String {
    format!("benchmark-{}", place + 1)
}

/// Whether there is room for this ratio beside others in a plot.
fn is_drawable(ratio: f64) -> bool {
    (1e-6..1e6).contains(&ratio)
}

fn facts(head: &DocumentHead, gate: &Gate, zone: &TimeZone) -> Vec<SheetFact> {
    let plan = &gate.plan;
    let suite = (!plan.suite.is_empty()).then(|| SheetFact::new("suite", Cell::foreign(&plan.suite)));
    let sides = [SheetFact::new("base", side(&plan.base)), SheetFact::new("head", side(&plan.head))];
    let mut all: Vec<SheetFact> = suite.into_iter().chain(sides).collect();
    for (label, side) in [("base date", &plan.base), ("head date", &plan.head)] {
        all.extend(side.committed.map(|at| SheetFact::full(label, Cell::date(at, zone))));
    }
    all.push(SheetFact::full("started", Cell::date(head.created, zone)));
    all.extend(described(head).map(|m| SheetFact::full("machine", Cell::foreign(m))));
    let budget = plan.budget.map(|b| Cell::text(", ").and(Cell::of(Unit::LongTime, b.as_f64())).and(" for the suite"));
    let most = Cell::text(format!("{} at most for a benchmark", plan.max_blocks));
    all.push(SheetFact::full("blocks", budget.into_iter().fold(most, Cell::and)));
    let error = Cell::of(Unit::Share, plan.family_error)
        .and(" for calling any benchmark of the suite slower, and the same for faster");
    all.push(SheetFact::full("error", error));
    all
}

/// The revision with what is known of it.
fn side(side: &GateSide) -> Cell {
    let said = revision(side);
    let foreign = [said.name, said.subject].into_iter().flatten();
    let known = foreign.fold(Cell::foreign(&said.id), |all, part| all.and(" · ").and(Cell::foreign(part)));
    if said.modified { known.and(format!(" · {MODIFIED}")) } else { known }
}

fn notes(gate: &Gate, report: &GateReport) -> Vec<SheetNote> {
    let error = Cell::text(
        "a regression is slower by more than half of its threshold, in the middle of its blocks or in their mean, an improvement faster \
         by as much, each with an error of ",
    )
    .and(Cell::of(Unit::Share, gate.plan.family_error))
    .and(
        " for the whole suite; of what passes, the intervals of middle and mean end below the threshold; what is inconclusive is \
         neither",
    );
    let mut all = vec![
        SheetNote::new("", reading(gate)),
        SheetNote::full("", error),
        SheetNote::new("control", control(gate, report)),
    ];
    all.extend(
        mean(report).map(|mean| SheetNote::new("mean change", mean.and(" (geometric, by the benchmarks' weights)"))),
    );
    if report.benchmarks.iter().any(|b| b.corrected.is_some()) {
        let said = "CPU times without what probes say that the machine added; verdicts rest on the measured times";
        all.push(SheetNote::full("on the quiet machine", said));
    }
    all
}

/// Why benchmarks have no verdict or no duets, and what they would be on the quiet machine.
fn remarks(head: &DocumentHead, gate: &Gate, report: &GateReport, places: &[usize]) -> Vec<SheetRemark> {
    let mut all = Vec::new();
    if head.status != Status::Finished {
        all.push(SheetRemark::warning("the gate is not finished"));
    }
    let named = |place: usize, said: Cell, between: &str| {
        let name = report.benchmarks.get(place).map_or("", |b| b.name.as_str());
        Cell::foreign(name).and(between).and(said)
    };
    let shown = || places.iter().copied();
    all.extend(
        shown().filter_map(|place| Some(SheetRemark::warning(named(place, reason(gate, report, place)?, ": ")))),
    );
    all.extend(
        shown().filter_map(|place| Some(SheetRemark::information(named(place, uneven(gate, report, place)?, ": ")))),
    );
    let without = |place: usize| no_duets(gate.measured.get(place)?);
    all.extend(
        shown()
            .filter_map(|place| Some(SheetRemark::information(named(place, without(place)?.into(), ": no duets: ")))),
    );
    all.extend(shown().filter_map(|place| {
        Some(SheetRemark::information(named(place, corrected(gate, report, place)?, " on the quiet machine: ")))
    }));
    all
}

fn overview(gate: &Gate, report: &GateReport, places: &[usize]) -> Overview {
    let rows = places.iter().filter_map(|place| Some(row(gate, report.benchmarks.get(*place)?, *place)));
    Overview {
        answers: Vec::new(),
        note: "Times of the head: medians of its executions alone. Ratio: head / base, by the blocks; the line beside 1 is the \
               threshold."
            .into(),
        what: "benchmark",
        measure: match common_measure(gate) {
            Some(Measure::Pt) => "CPU time of the head",
            Some(Measure::Et) => "elapsed time of the head",
            Some(Measure::Net) => "net time of the head",
            None => "time of the head",
        },
        compared: true,
        rows: rows.collect(),
        accounts: Vec::new(),
        duets: None,
    }
}

fn row(gate: &Gate, b: &BenchmarkReport, place: usize) -> OverviewRow {
    let count = blocks(b.blocks, gate.measured.get(place));
    let limit = gate.plan.benchmarks.get(place).map(|b| 1.0 + b.threshold);
    let ratio = |ratio: f64| Figure::new(Unit::Ratio, ratio).with_interval(&b.interval);
    OverviewRow {
        title: Cell::foreign(&b.name).paint(paint(b.verdict)),
        plot: part_id(place),
        mean: times(gate, place).filter(|t| t.head.is_finite()).map(|t| sides(t)[1].clone()),
        ratio: b.ratio.filter(|r| is_drawable(*r)).map(ratio),
        alone: None,
        basis: count.clone().into(),
        limit: limit.filter(|limit| is_drawable(*limit)),
        verdict: Some(match b.verdict {
            GateVerdict::Pass => OverviewVerdict::Pass,
            GateVerdict::Regression => OverviewVerdict::Regression,
            GateVerdict::Improvement => OverviewVerdict::Improvement,
            GateVerdict::Inconclusive => OverviewVerdict::Inconclusive,
            GateVerdict::Failed => OverviewVerdict::Failed,
        }),
        samples: count.into(),
    }
}

/// Times of base and head.
fn sides(t: &SideTimes) -> [Figure; 2] {
    [(t.base, &t.base_interval), (t.head, &t.head_interval)]
        .map(|(ns, interval)| Figure::new(Unit::Time, ns).with_interval(interval))
}

/// The median alone: its interval stands in the benchmark's own section.
fn median(figure: Figure) -> Cell {
    let digits = figure.bounds().map(tarebench_core::statistics::intervals::Interval::half_width);
    Cell::figure(Figure { interval: None, digits, ..figure })
}

fn table(gate: &Gate, report: &GateReport, places: &[usize]) -> Table {
    let columns = [
        Column::new("benchmark").key("benchmark"),
        Column::new("verdict").key("verdict"),
        Column::new("change [95%]").key("change"),
        Column::new("threshold").key("threshold").priority(1),
        Column::new("blocks").key("blocks").priority(2),
        Column::new("base").key("base").priority(3).shared_unit(),
        Column::new("head").key("head").priority(3).shared_unit(),
        Column::new("mean [95%]").key("mean").full(),
        Column::new("p (slower)").key("p_slower").full(),
        Column::new("on the quiet machine").key("quiet").full(),
    ];
    let mixed = common_measure(gate).is_none();
    let mut table = Table::of("", "", columns);
    for place in places {
        let Some(b) = report.benchmarks.get(*place) else { continue };
        let count = blocks(b.blocks, gate.measured.get(*place));
        let measure = measure(gate, *place).filter(|_| mixed).map(short);
        let [base, head] =
            times(gate, *place).map_or_else(|| [Cell::absent(), Cell::absent()], |t| sides(t).map(median));
        let cells = [
            Cell::foreign(&b.name),
            Cell::text(verdict_word(b.verdict)).paint(paint(b.verdict)),
            b.ratio.map(|ratio| change(ratio, &b.interval)).into(),
            Cell::of(Unit::Limit, gate.plan.benchmarks.get(*place).map(|b| b.threshold)),
            measure.map_or(count.clone(), |measure| format!("{count}, {measure}")).into(),
            base,
            head,
            b.mean.as_ref().map(|mean| change(mean.ratio, &mean.interval)).into(),
            Cell::of(Unit::Chance, b.p_slower),
            corrected(gate, report, *place).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn section(gate: &Gate, report: &GateReport, place: usize) -> Option<Section> {
    let b = report.benchmarks.get(place)?;
    let why = reason(gate, report, place).map(|why| Cell::text(": ").and(why));
    let note = why.into_iter().fold(Cell::text(verdict_word(b.verdict)), Cell::and).and(".");
    let table = figures(gate, report, place)?;
    let figure = figure(gate, b, place).map(Item::Figure);
    Some(Section {
        id: part_id(place),
        title: Cell::foreign(&b.name),
        note,
        detail: Detail::Full,
        items: figure.into_iter().chain([Item::Table(table)]).collect(),
    })
}

/// The ratio of each block, with the estimate and the threshold; `None` without any.
fn figure(gate: &Gate, b: &BenchmarkReport, place: usize) -> Option<PageFigure> {
    let measured = gate.measured.get(place)?;
    let points = |logs: &[f64], title: &str, look: usize| {
        let ratios = (1..).zip(logs).map(|(n, log): (u32, &f64)| (f64::from(n), log.exp()));
        let (x, y): (Vec<f64>, Vec<f64>) = ratios.filter(|(_, ratio)| is_drawable(*ratio)).unzip();
        let title = title.to_owned();
        (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Points, x, y, band: None })
    };
    let head = points(&measured.logs, "head / base", 0)?;
    let last = measured.logs.len().max(measured.control_logs.len()) as f64;
    let level = |value: f64, title: String, look: usize, band: Option<Band>| PageCurve {
        title,
        look,
        thin: false,
        join: Join::Straight,
        x: vec![1.0, last],
        y: vec![value; 2],
        band,
    };
    let band = b.interval.as_ref().ok().filter(|i| is_drawable(i.low) && is_drawable(i.high));
    let band = band.map(|i| Band { title: "95% interval", low: vec![Some(i.low); 2], high: vec![Some(i.high); 2] });
    let estimate = b.ratio.filter(|r| is_drawable(*r)).map(|ratio| level(ratio, "estimate".to_owned(), 1, band));
    let limit = gate.plan.benchmarks.get(place).map(|b| b.threshold).filter(|t| is_drawable(1.0 + t));
    let limit = limit.map(|t| level(1.0 + t, format!("threshold, {}", number::limit(t)), 4, None));
    let control = points(&measured.control_logs, "base / base", 3);
    Some(PageFigure {
        id: format!("{}-blocks", part_id(place)),
        title: format!("{}: ratio of each block", Cell::foreign(&b.name).plain()),
        note: "In the order of the blocks: a trend, steps or two levels say that the blocks are not alike.".to_owned(),
        x: PageAxis::counts("Block"),
        y: PageAxis::ratios("Time of the head over that of the base"),
        curves: [Some(head), control, estimate, limit].into_iter().flatten().collect(),
    })
}

/// All figures of a benchmark.
fn figures(gate: &Gate, report: &GateReport, place: usize) -> Option<Table> {
    let b = report.benchmarks.get(place)?;
    let (planned, measured) = (gate.plan.benchmarks.get(place), gate.measured.get(place));
    let shown = b.detectable.map(|least| Cell::of(Unit::Share, least));
    let mut all: Vec<(&str, Option<Cell>)> = vec![
        ("command", planned.map(|p| Cell::foreign(&p.command))),
        ("change", b.ratio.map(|ratio| change(ratio, &b.interval))),
        ("change of the mean", b.mean.as_ref().map(|mean| change(mean.ratio, &mean.interval))),
        ("blocks that are slower", b.mean.as_ref().map(|mean| slow_blocks(gate, mean, place, true))),
        ("neighbouring blocks", b.alike.map(|alike| alike_blocks(alike).into())),
        ("change on the quiet machine", corrected(gate, report, place)),
        ("threshold", planned.map(|p| Cell::of(Unit::Limit, p.threshold))),
        ("blocks", Some(blocks(b.blocks, measured).into())),
        ("smallest slowdown that so many blocks show with 95% power", shown),
        ("p value of not slower than half of the threshold", Some(Cell::of(Unit::Chance, b.p_slower))),
        ("p value of not faster by as much", Some(Cell::of(Unit::Chance, b.p_faster))),
        ("p value of slower by the threshold or more", Some(Cell::of(Unit::Chance, b.p_beyond))),
        ("base against itself", b.control.as_ref().map(of_control)),
    ];
    all.extend(measured.into_iter().flat_map(|m| &m.times).map(|t| {
        let [base, head] = sides(t).map(Cell::figure);
        let said = Cell::text("base ").and(base).and(", head ").and(head);
        (spelled(t.measure), Some(said.and(format!(", {} executions each", t.samples))))
    }));
    all.push(("run", measured.and_then(|m| m.run).map(|run| run.to_string().into())));
    let mut table = Table::new("", "", &["figure", "value"]);
    for (name, cell) in all {
        if let Some(cell) = cell {
            table.row([Cell::text(name), cell], Vec::new());
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_core::compare::gate::CorrectedRatio;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_report::document::document;
    use tarebench_report::style::Style;
    use tarebench_report::svg::figures::figures as svg;
    use tarebench_report::terminal::sheet_text;
    use tarebench_report::text;
    use tarebench_report::text::hidden;
    use tarebench_report::web::html::{data, html};
    use tarebench_report::web::page::Page;

    fn sheet((found, report): &(Gate, GateReport)) -> Sheet {
        gate(&fixtures::head(), found, report, &TimeZone::UTC, "foot".to_owned())
    }

    fn page(fixture: &(Gate, GateReport)) -> Page {
        sheet(fixture).into_page()
    }

    fn shown(width: usize, fixture: &(Gate, GateReport)) -> String {
        sheet_text(&sheet(fixture), &Style { width, ..Style::default() })
    }

    fn markdown(fixture: &(Gate, GateReport)) -> String {
        document(&sheet(fixture))
    }

    /// The line of the table that begins with this name.
    fn row(text: &str, name: &str) -> String {
        let found = text.lines().find(|l| l.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_answer_stands_first_and_the_table_below() {
        insta::assert_snapshot!(shown(100, &fixtures::three()));
    }

    #[test]
    fn what_is_undecided_says_why() {
        let text = shown(100, &fixtures::every_verdict());
        assert!(text.starts_with("failed: 1 of 8 benchmarks could not be measured; 1 slower, 4 undecided, 1 faster\n"));
        for says in [
            "! noisy: 24 duets show neither a slowdown above 1 % nor one below 2 %; about ",
            "! few: only 3 rounds, at least 6 are needed",
            "! bistable: the base differs from itself by +3.0 % [+2.8, +3.2]: ",
            "! none: no block was measured",
            "! crash: could not be measured: the head failed with exit code 3: `panicked at src/main.rs:3`",
            "control: in 1 of 2 benchmarks the base differs from itself",
            "few: no duets: the base takes 12.0 ms of CPU time",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        // Measures that differ stand beside the numbers of blocks.
        assert!(row(&text, "few").contains("3 rounds, elapsed") && row(&text, "noisy").contains("24 duets, CPU"));
        assert!(row(&text, "crash").contains("failed – 2 % 0 rounds"), "{text}");
    }

    #[test]
    fn the_change_on_the_quiet_machine_stands_beside_the_measured_one() {
        let (gate, mut report) = fixtures::every_verdict();
        let few = report.benchmarks.iter_mut().find(|b| b.name == "few").unwrap();
        let interval = Interval { low: 1.016, high: 1.022, level: 0.95 };
        few.corrected = Some(CorrectedRatio { ratio: 1.019, interval, uncorrected: 1.032 });
        let text = shown(100, &(gate, report));
        assert!(text.contains("few on the quiet machine: +1.9 % [+1.6, +2.2], uncorrected +3.2 %\n"), "{text}");
        let says = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %";
        let fixture = fixtures::corrected();
        assert!(shown(140, &fixture).contains(&format!("grind on the quiet machine: {says}\n")));
        assert!(markdown(&fixture).contains(&format!("\n- `grind` on the quiet machine: {says}\n")));
        let p = page(&fixture);
        assert!(p.remarks.iter().any(|r| r.text.plain() == format!("grind on the quiet machine: {says}.")));
        let rows: Vec<String> = p.parts[1].tables[0].rows.iter().map(|r| r.plain().join(": ")).collect();
        assert!(rows.contains(&format!("change on the quiet machine: {says}")), "{rows:?}");
    }

    #[test]
    fn it_fits_into_the_terminal() {
        for fixture in [fixtures::three(), fixtures::every_verdict(), fixtures::hostile()] {
            for width in [40, 60, 80, 100, 200] {
                for (unicode, full) in [(true, false), (false, false), (true, true)] {
                    let style = Style { width, unicode, full, ..Style::default() };
                    let text = sheet_text(&sheet(&fixture), &style);
                    let widest = text.lines().map(text::columns).max().unwrap();
                    assert!(widest <= width, "{widest} of {width}: {text}");
                    assert!(unicode || text.is_ascii(), "{text}");
                    assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
                }
            }
        }
        // The verdict and the change are there on the narrowest terminal, the times from 80 columns on.
        let narrow = shown(40, &fixtures::three());
        assert!(row(&narrow, "parse").contains("regression +4.1 %"), "{narrow}");
        assert!(row(&shown(60, &fixtures::three()), "parse").contains("[+3.8, +4.4]"));
        assert!(row(&shown(80, &fixtures::three()), "parse").contains("800.0 833.8"));
    }

    #[test]
    fn colours_only_where_asked() {
        let fixture = fixtures::three();
        assert!(!shown(80, &fixture).contains('\u{1b}'));
        let text = sheet_text(&sheet(&fixture), &Style { color: true, ..Style::default() });
        assert!(text.starts_with("\u{1b}[31mregression: 1 of 3"), "{text:?}");
    }

    #[test]
    fn a_large_suite_shows_its_worst() {
        let mut all: Vec<_> =
            (0..40).map(|i| fixtures::benchmark(&format!("p{i}"), GateVerdict::Pass, 1.0, 0.004)).collect();
        all.push(fixtures::benchmark("slow", GateVerdict::Regression, 1.1, 0.004));
        let large = fixtures::gate_of(all, GateVerdict::Regression);
        let more = Some("tare show g3 --full".to_owned());
        let text = sheet_text(&sheet(&large), &Style { width: 80, more, ..Style::default() });
        assert!(text.contains("\n  slow ") && text.contains("  and 21 more rows\n"), "{text}");
        assert!(text.ends_with("tare show g3 --full\n"), "{text}");
        let text = sheet_text(&sheet(&large), &Style { full: true, ..Style::default() });
        assert!(text.contains("\n  p39 ") && !text.contains("more rows"));
        let all = (0..900).map(|i| fixtures::benchmark(&format!("b{i}"), GateVerdict::Pass, 1.0, 0.004));
        let text = markdown(&fixtures::gate_of(all.collect(), GateVerdict::Pass));
        assert!(text.contains("\n700 more rows are not listed here.\n") && text.len() < 100_000, "{}", text.len());
    }

    #[test]
    fn without_benchmarks_it_says_so() {
        let none = fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive);
        let text = shown(80, &none);
        assert!(text.starts_with("inconclusive: nothing was measured\n"), "{text}");
        assert!(markdown(&none).starts_with("### Gate g3: `parsers`\n\n**inconclusive: nothing was measured**\n"));
    }

    #[test]
    fn the_page_opens_with_the_answer_and_the_intervals() {
        let p = page(&fixtures::three());
        assert_eq!((p.title.plain().as_str(), p.kind, p.remarks.len()), ("Gate g3: parsers", PageKind::Gate, 0));
        let o = p.overview.as_ref().unwrap();
        assert_eq!(o.answers, ["Regression: 1 of 3 benchmarks is slower; 1 faster."]);
        let first = &o.rows[0];
        assert_eq!((first.title.plain().as_str(), first.plot.as_str()), ("parse", "benchmark-1"));
        assert_eq!((first.verdict, first.limit), (Some(OverviewVerdict::Regression), Some(1.02)));
        assert_eq!(Cell::from(first.ratio.clone()), "1.0410 [1.0380, 1.0440]");
        assert_eq!(Cell::from(first.mean.clone()), "833.8 ms [825.5, 842.1]");
        assert_eq!((p.facts[0].0.as_str(), p.facts[1].0.as_str()), ("Suite", "Base"));
        assert_eq!(p.facts[1].1, "1f2e3d4c5b6a · origin/main · Keep the table sorted");
        assert!(p.facts.iter().any(|f| f.0 == "Machine" && f.1.plain().contains("a CPU")));
    }

    #[test]
    fn every_benchmark_has_its_blocks() {
        let fixture = fixtures::three();
        let p = page(&fixture);
        assert_eq!((p.parts.len(), p.tables.len(), p.tables[0].rows.len()), (3, 1, 3));
        let part = &p.parts[0];
        let curves = &part.figures[0].curves;
        let titles: Vec<&str> = curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["head / base", "estimate", "threshold, 2 %"]);
        assert_eq!((curves[0].x.len(), curves[0].x[23], curves[0].join), (24, 24.0, Join::Points));
        assert!(curves[0].y.iter().zip(&fixture.0.measured[0].logs).all(|(y, log)| (y - log.exp()).abs() < 1e-12));
        assert_eq!(curves[1].band.as_ref().unwrap().low.len(), curves[1].x.len());
        let cells: Vec<String> = part.tables[0].rows.iter().map(|r| r.plain().join(": ")).collect();
        for says in
            ["change: +4.1 % [+3.8, +4.4]", "threshold: 2 %", "base against itself: −0.1 % [−0.3, +0.1]", "run: 7"]
        {
            assert!(cells.iter().any(|c| c == says), "{says}: {cells:?}");
        }
        let names: Vec<String> = svg(&p).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["intervals", "benchmark-1-blocks", "benchmark-2-blocks", "benchmark-3-blocks"].map(|n| format!("{n}.svg"))
        );
    }

    #[test]
    fn what_has_no_verdict_is_a_remark() {
        let (found, report) = fixtures::every_verdict();
        let mut head = fixtures::head();
        head.status = Status::Interrupted;
        let p = gate(&head, &found, &report, &TimeZone::UTC, String::new()).into_page();
        let warnings: Vec<String> = p.remarks.iter().filter(|r| r.warning).map(|r| r.text.plain()).collect();
        assert_eq!((warnings.len(), warnings[0].as_str()), (6, "The gate is not finished."));
        assert!(
            warnings.iter().any(|t| t.starts_with("crash: could not be measured: the head failed")),
            "{warnings:?}"
        );
        // One that was not measured has no figure.
        assert!(p.parts[6].figures.is_empty() && !p.parts[6].tables.is_empty());
    }

    #[test]
    fn the_document_says_the_same() {
        let text = markdown(&fixtures::three());
        insta::assert_snapshot!(text);
        let text = markdown(&fixtures::every_verdict());
        let reason = "`` the head failed with exit code 3: `panicked at src/main.rs:3` ``";
        assert!(text.contains(&format!("\n- `crash`: could not be measured: {reason}\n")), "{text}");
        assert!(text.contains("\n- `few`: only 3 rounds, at least 6 are needed\n"), "{text}");
        assert!(text.contains("| `none` | inconclusive | – | 2 % | 0 rounds | – | – |\n"), "{text}");
    }

    /// What is outside of code, with the delimiters of the code left out.
    fn outside_code(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('`') {
            out.push_str(&rest[..at]);
            let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            let body = &rest[at + run..];
            // The next run of the same length closes it.
            let closes = |from: &usize| {
                let begins = *from == 0 || !body[..*from].ends_with('`');
                let length = body[*from..].len() - body[*from..].trim_start_matches('`').len();
                begins && length == run
            };
            let end =
                body.match_indices('`').map(|(i, _)| i).find(closes).unwrap_or_else(|| panic!("not closed: {text}"));
            rest = &body[end + run..];
        }
        out + rest
    }

    #[test]
    fn foreign_text_stays_in_code() {
        let fixture = fixtures::hostile();
        let text = markdown(&fixture);
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{text:?}");
        let outside = outside_code(&text);
        for sign in ["<", "@", "http", "script", "\\u"] {
            assert!(!outside.contains(sign), "{sign}: {outside}");
        }
        // Each row has its seven cells.
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).collect();
        assert_eq!(rows.len(), 1 + fixture.1.benchmarks.len());
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
        }
    }

    #[test]
    fn foreign_text_is_text() {
        for fixture in [fixtures::hostile(), fixtures::gate_of(Vec::new(), GateVerdict::Inconclusive)] {
            let p = page(&fixture);
            let json = data(&p).unwrap();
            assert!(!json.chars().any(hidden) && !json.contains('<'), "{json}");
            let text = html(&p).unwrap();
            assert!(!text.contains("<script>alert"));
            // Every figure can be drawn, and is XML.
            for (name, svg) in svg(&p).unwrap() {
                roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}: {svg}"));
            }
        }
    }
}
