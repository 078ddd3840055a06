//! The page of a gate: its answer with the intervals, the table, and a part for each benchmark with the ratio of each block.

use crate::compare::gate::said::{
    GateRevision, MODIFIED, answer, basis, blocks, change, common_measure, control, corrected, mean, of_control,
    reading, reason, revision, threshold, times, verdict_word,
};
use crate::compare::sentence::spelled;
use crate::documents::machine::described;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::compare::gate::{BenchmarkReport, Gate, GateReport, GateSide, GateVerdict, SideTimes};
use tarebench_core::documents::head::{DocumentHead, Status};
use tarebench_core::run::report::data::Measure;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::markup::ABSENT;
use tarebench_report::number;
use tarebench_report::number::TimeScale;
use tarebench_report::style::{Glyphs, Style};
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::web::page::{
    Band, Join, Overview, OverviewRow, OverviewVerdict, Page, PageAxis, PageCurve, PageEstimate, PageFigure, PageKind,
    PagePart, PageQuantity, PageRemark, PageScale,
};

/// Benchmarks whose corrections stand in the first view; the table has all of them.
const CORRECTED: usize = 5;

/// The page of a gate, finished or not.
pub fn gate(head: &DocumentHead, gate: &Gate, report: &GateReport, zone: &TimeZone, foot: String) -> Page {
    let g = Style::default().glyphs();
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    let suite = if gate.plan.suite.is_empty() { &head.title } else { &gate.plan.suite };
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Gate,
        title: format!("Gate{id}: {}", escape(suite)),
        subtitle: "Whether a change makes programs slower".to_owned(),
        facts: facts(head, gate, report, zone, &g),
        remarks: remarks(head, gate, report, &g),
        overview: Some(overview(gate, report, &g)),
        plots: Vec::new(),
        timeline: None,
        parts: (0..report.benchmarks.len()).filter_map(|place| part(gate, report, place, &g)).collect(),
        tables: Some(table(gate, report, &g)).filter(|t| !t.rows.is_empty()).into_iter().collect(),
        foot,
    }
}

fn part_id(place: usize) -> String {
    format!("benchmark-{}", place + 1)
}

/// Whether there is room for this ratio beside others in a plot.
fn is_drawable(ratio: f64) -> bool {
    (1e-6..1e6).contains(&ratio)
}

fn time(ns: f64) -> String {
    number::time(ns, None, true).unwrap_or_else(|| ABSENT.to_owned())
}

fn facts(head: &DocumentHead, gate: &Gate, report: &GateReport, zone: &TimeZone, g: &Glyphs) -> Vec<(String, String)> {
    let plan = &gate.plan;
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let mut all = vec![
        fact("Base", side(&plan.base, zone)),
        fact("Head", side(&plan.head, zone)),
        fact("Started", date(head.created, zone)),
    ];
    all.extend(described(head).iter().map(|m| fact("Machine", escape(m).into_owned())));
    let budget = plan.budget.map_or_else(String::new, |b| format!(", {} for the suite", number::long_time(b, true)));
    all.push(fact("Blocks", format!("{} at most for a benchmark{budget}", plan.max_blocks)));
    let error = number::percent(plan.family_error).unwrap_or_else(|| ABSENT.to_owned());
    all.push(fact("Error", format!("{error} for calling any benchmark of the suite slower, and the same for faster")));
    all.push(fact("Control", control(gate, report, g)));
    all
}

/// The revision with what is known of it.
fn side(side: &GateSide, zone: &TimeZone) -> String {
    let GateRevision { id, name, subject, modified } = revision(side);
    let mut text = escape(&id).into_owned();
    for part in [name, subject].into_iter().flatten() {
        text.push_str(&format!(" · {}", escape(part)));
    }
    if let Some(at) = side.committed {
        text.push_str(&format!(" · {}", date(at, zone)));
    }
    if modified {
        text.push_str(&format!(" · {MODIFIED}"));
    }
    text
}

fn remarks(head: &DocumentHead, gate: &Gate, report: &GateReport, g: &Glyphs) -> Vec<PageRemark> {
    let unfinished = (head.status != Status::Finished)
        .then(|| PageRemark { warning: true, text: "The gate is not finished.".to_owned() });
    let reasons = report.benchmarks.iter().enumerate().filter_map(|(place, b)| {
        let why = reason(gate, report, place, g)?;
        let foreign = why.foreign.map_or_else(String::new, |text| format!(": {}", escape(&text)));
        Some(PageRemark { warning: true, text: format!("{}: {}{foreign}.", escape(&b.name), why.text) })
    });
    unfinished.into_iter().chain(reasons).collect()
}

fn overview(gate: &Gate, report: &GateReport, g: &Glyphs) -> Overview {
    let mean = mean(report, g).map(|mean| format!("Mean change: {mean}."));
    let answer = format!("{}.", answer(report, |name| escape(name).into_owned()));
    let quiet = report.benchmarks.iter().enumerate().filter_map(|(place, b)| {
        Some(format!("{} on the quiet machine: {}.", escape(&b.name), corrected(gate, report, place, g)?))
    });
    Overview {
        answers: [answer].into_iter().chain(mean).chain(quiet.take(CORRECTED)).collect(),
        note: format!(
            "Times of the head: medians of its executions alone. Ratio: head / base, by the blocks; the line beside 1 is the \
             threshold. {}.",
            reading(gate).replacen("change", "Change", 1)
        ),
        what: "benchmark",
        measure: match common_measure(gate) {
            Some(Measure::Pt) => "CPU time of the head",
            Some(Measure::Et) => "elapsed time of the head",
            Some(Measure::Net) => "net time of the head",
            None => "time of the head",
        },
        compared: true,
        rows: report.benchmarks.iter().enumerate().map(|(place, b)| row(gate, b, place)).collect(),
        accounts: Vec::new(),
        duets: None,
    }
}

fn row(gate: &Gate, b: &BenchmarkReport, place: usize) -> OverviewRow {
    let count = blocks(b.blocks, gate.measured.get(place));
    let limit = gate.plan.benchmarks.get(place).map(|b| 1.0 + b.threshold);
    OverviewRow {
        title: escape(&b.name).into_owned(),
        plot: part_id(place),
        mean: times(gate, place).filter(|t| t.head.is_finite()).map(head_time),
        ratio: b.ratio.filter(|r| is_drawable(*r)).map(|ratio| ratio_estimate(ratio, &b.interval)),
        alone: None,
        basis: count.clone(),
        limit: limit.filter(|limit| is_drawable(*limit)),
        verdict: Some(match b.verdict {
            GateVerdict::Pass => OverviewVerdict::Pass,
            GateVerdict::Regression => OverviewVerdict::Regression,
            GateVerdict::Improvement => OverviewVerdict::Improvement,
            GateVerdict::Inconclusive => OverviewVerdict::Inconclusive,
            GateVerdict::Failed => OverviewVerdict::Failed,
        }),
        samples: count,
    }
}

fn head_time(t: &SideTimes) -> PageEstimate {
    let half = t.head_interval.as_ref().ok().map(Interval::half_width);
    let scale = TimeScale::of(t.head, half, None);
    let value = |ns: f64| scale.value(ns).unwrap_or_default();
    let text = format!("{} {}", value(t.head), scale.unit.sign(true));
    PageEstimate { text, ..estimate(t.head, &t.head_interval, value) }
}

fn ratio_estimate(ratio: f64, interval: &Result<Interval, NoInterval>) -> PageEstimate {
    let places = number::ratio_decimals(ratio, interval.as_ref().ok().map(Interval::half_width));
    estimate(ratio, interval, |v| number::fixed(v, places).unwrap_or_default())
}

fn estimate(value: f64, interval: &Result<Interval, NoInterval>, text: impl Fn(f64) -> String) -> PageEstimate {
    let bounds = interval.as_ref().ok().filter(|i| i.low.is_finite() && i.high.is_finite());
    PageEstimate {
        value,
        low: bounds.map(|i| i.low),
        high: bounds.map(|i| i.high),
        text: text(value),
        interval: match (bounds, interval) {
            (Some(i), _) => format!("[{}, {}]", text(i.low), text(i.high)),
            (None, Err(why)) => why.to_string(),
            (None, Ok(_)) => String::new(),
        },
    }
}

fn table(gate: &Gate, report: &GateReport, g: &Glyphs) -> Table {
    let mut heads = vec![
        "benchmark",
        "verdict",
        ">change",
        "95% interval",
        ">threshold",
        ">blocks",
        "by",
        ">base",
        ">head",
        ">p (slower)",
    ];
    let has_corrected = report.benchmarks.iter().any(|b| b.corrected.is_some());
    if has_corrected {
        heads.push("on the quiet machine");
    }
    let mut table = Table::new("Benchmarks", format!("{}.", reading(gate).replacen("change", "Change", 1)), &heads);
    for (place, b) in report.benchmarks.iter().enumerate() {
        let limit = gate.plan.benchmarks.get(place).map(|b| b.threshold);
        let (change, interval) = b.ratio.map(|ratio| change(ratio, &b.interval, g)).unzip();
        let times = times(gate, place);
        let mut cells = vec![
            escape(&b.name).into_owned(),
            verdict_word(b.verdict).to_owned(),
            change.unwrap_or_default(),
            interval.flatten().unwrap_or_default(),
            limit.map(threshold).unwrap_or_default(),
            b.blocks.to_string(),
            basis(gate, place),
            times.map_or_else(String::new, |t| time(t.base)),
            times.map_or_else(String::new, |t| time(t.head)),
            number::chance(b.p_slower),
        ];
        if has_corrected {
            cells.push(corrected(gate, report, place, g).unwrap_or_default());
        }
        table.row(cells, Vec::new());
        let low = b.interval.as_ref().ok().map(|i| i.low);
        let (base, head) = times.map(|t| (t.base, t.head)).unzip();
        let count = Some(f64::from(b.blocks));
        let mut values = vec![None, None, b.ratio, low, limit, count, None, base, head, Some(b.p_slower)];
        if has_corrected {
            values.push(b.corrected.as_ref().map(|c| c.ratio));
        }
        table.values(values);
    }
    table
}

fn part(gate: &Gate, report: &GateReport, place: usize, g: &Glyphs) -> Option<PagePart> {
    let b = report.benchmarks.get(place)?;
    let why = reason(gate, report, place, g).map_or_else(String::new, |why| format!(": {}", why.text));
    Some(PagePart {
        id: part_id(place),
        title: escape(&b.name).into_owned(),
        note: format!("{}{why}.", verdict_word(b.verdict)),
        figures: figure(gate, b, place).into_iter().collect(),
        tables: vec![figures(gate, report, place, g)?],
    })
}

fn axis(title: &str, quantity: PageQuantity) -> PageAxis {
    PageAxis { title: title.to_owned(), quantity, scales: vec![PageScale::Linear], floor: None, shown: None }
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
    let limit = limit.map(|t| level(1.0 + t, format!("threshold, {}", threshold(t)), 4, None));
    let control = points(&measured.control_logs, "base / base", 3);
    Some(PageFigure {
        id: format!("{}-blocks", part_id(place)),
        title: format!("{}: ratio of each block", escape(&b.name)),
        note: "In the order of the blocks: a trend, steps or two levels say that the blocks are not alike.".to_owned(),
        x: axis("Block", PageQuantity::Count),
        y: axis("Time of the head over that of the base", PageQuantity::Ratio),
        curves: [Some(head), control, estimate, limit].into_iter().flatten().collect(),
    })
}

/// All figures of a benchmark.
fn figures(gate: &Gate, report: &GateReport, place: usize, g: &Glyphs) -> Option<Table> {
    let b = report.benchmarks.get(place)?;
    let (planned, measured) = (gate.plan.benchmarks.get(place), gate.measured.get(place));
    let mut table = Table::new("Figures", "", &["figure", "value"]);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.row(vec![name.to_owned(), value], Vec::new());
        }
    };
    add("command", planned.map(|p| escape(&p.command).into_owned()));
    let (change, interval) = b.ratio.map(|ratio| change(ratio, &b.interval, g)).unzip();
    add("change", change);
    add("95% interval", interval.flatten());
    add("change on the quiet machine", corrected(gate, report, place, g));
    add("threshold", planned.map(|p| threshold(p.threshold)));
    add("blocks", Some(blocks(b.blocks, measured)));
    let shown = b.detectable.and_then(number::percent);
    add("smallest slowdown that so many blocks show with 95% power", shown);
    add("p value of not slower than half of the threshold", Some(number::chance(b.p_slower)));
    add("p value of not faster by as much", Some(number::chance(b.p_faster)));
    add("p value of slower by the threshold or more", Some(number::chance(b.p_beyond)));
    add("base against itself", b.control.as_ref().map(|c| of_control(c, g)));
    for t in measured.into_iter().flat_map(|m| &m.times) {
        let text = format!("base {}, head {}, {} executions each", time(t.base), time(t.head), t.samples);
        add(spelled(t.measure), Some(text));
    }
    add("run", measured.and_then(|m| m.run).map(|run| run.to_string()));
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_report::svg::figures::figures as svg;
    use tarebench_report::text::hidden;
    use tarebench_report::web::html::{data, html};

    fn page((found, report): &(Gate, GateReport)) -> Page {
        gate(&fixtures::head(), found, report, &TimeZone::UTC, "foot".to_owned())
    }

    #[test]
    fn it_opens_with_the_answer_and_the_intervals() {
        let p = page(&fixtures::three());
        assert_eq!((p.title.as_str(), p.kind, p.remarks.len()), ("Gate g3: parsers", PageKind::Gate, 0));
        let o = p.overview.as_ref().unwrap();
        assert_eq!(o.answers[0], "regression: 1 of 3 benchmarks is slower; 1 faster.");
        let first = &o.rows[0];
        assert_eq!((first.title.as_str(), first.plot.as_str()), ("parse", "benchmark-1"));
        assert_eq!((first.verdict, first.limit), (Some(OverviewVerdict::Regression), Some(1.02)));
        let ratio = first.ratio.as_ref().unwrap();
        assert_eq!((ratio.value, ratio.text.as_str(), ratio.interval.as_str()), (1.041, "1.0410", "[1.0380, 1.0440]"));
        assert_eq!((first.mean.as_ref().unwrap().text.as_str(), first.samples.as_str()), ("833.8 ms", "24 duets"));
        let base = &p.facts[0];
        assert_eq!(base.0, "Base");
        assert_eq!(base.1, "1f2e3d4c5b6a · origin/main · Keep the table sorted · 2023-11-14 22:13:20 +00:00");
        assert!(p.facts.iter().any(|f| f.0 == "Machine" && f.1.contains("a CPU")));
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
        let cells: Vec<String> = part.tables[0].rows.iter().map(|r| r.cells.join(": ")).collect();
        for says in ["change: +4.1 %", "threshold: 2 %", "base against itself: −0.1 % [−0.3, +0.1]", "run: 7"] {
            assert!(cells.iter().any(|c| c == says), "{says}: {cells:?}");
        }
        // The table is sorted by numbers, one for each column.
        assert!(
            p.tables[0]
                .rows
                .iter()
                .all(|r| r.values.len() == p.tables[0].columns.len() && r.cells.len() == r.values.len())
        );
        let names: Vec<String> = svg(&p).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["intervals", "benchmark-1-blocks", "benchmark-2-blocks", "benchmark-3-blocks"].map(|n| format!("{n}.svg"))
        );
    }

    #[test]
    fn corrections_stand_in_the_first_view_and_with_the_benchmark() {
        let p = page(&fixtures::corrected());
        let says = "+2.0 % [+1.4, +2.6], uncorrected +3.2 %; base corrected by −5.0 %, head by −6.1 %";
        let answers = &p.overview.as_ref().unwrap().answers;
        assert_eq!(answers.last().unwrap(), &format!("grind on the quiet machine: {says}."));
        let rows: Vec<String> = p.parts[1].tables[0].rows.iter().map(|r| r.cells.join(": ")).collect();
        assert!(rows.contains(&format!("change on the quiet machine: {says}")), "{rows:?}");
        let [parse, grind] = p.tables[0].rows.as_slice() else { panic!("{:?}", p.tables[0]) };
        assert_eq!((parse.cells[10].as_str(), grind.cells[10].as_str()), ("", says));
        let ratio = grind.values[10].unwrap();
        assert!(parse.values[10].is_none() && (ratio - 1.02).abs() < 1e-9, "{ratio}");
        assert!(p.tables[0].rows.iter().all(|r| r.values.len() == p.tables[0].columns.len()));
        // Without any, there is no such column.
        assert_eq!(page(&fixtures::three()).tables[0].columns.len(), 10);
    }

    #[test]
    fn what_has_no_verdict_is_a_remark() {
        let (found, report) = fixtures::every_verdict();
        let mut head = fixtures::head();
        head.status = Status::Interrupted;
        let p = gate(&head, &found, &report, &TimeZone::UTC, String::new());
        let texts: Vec<&str> = p.remarks.iter().map(|r| r.text.as_str()).collect();
        assert_eq!((texts.len(), texts[0]), (6, "The gate is not finished."));
        assert!(texts.iter().any(|t| t.starts_with("crash: could not be measured: the head failed")), "{texts:?}");
        // One that was not measured has no figure.
        assert!(p.parts[6].figures.is_empty() && !p.parts[6].tables.is_empty());
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
