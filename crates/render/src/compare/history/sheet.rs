//! A history as a sheet: its answers, and a section for each benchmark with a figure and all builds.

use crate::compare::history::said::{answers, build_name, change, counted, day, newest, remarks, shown_range, title};
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::history::{BenchmarkHistory, HistoryPoint, HistoryReport};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark, sentence};
use tarebench_report::table::{Column, Detail, Table};
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageKind};
use tarebench_report::words::plural;

/// Most changes of a benchmark among the answers; the table of builds has all.
const CHANGES: usize = 5;
/// Most benchmarks that are named beside a remark.
const NAMED: usize = 3;
/// Most gates that are named beside a build.
const GATES: usize = 5;

pub fn history(report: &HistoryReport, zone: &TimeZone, hints: &Hints, foot: String) -> Sheet {
    Sheet {
        kind: PageKind::History,
        title: "History of benchmarks".into(),
        subtitle: "How benchmarks changed from build to build".into(),
        answers: report.benchmarks.iter().flat_map(|h| answered(h, zone)).collect(),
        facts: vec![SheetFact::new("measured by", plural(report.gates as u64, "gate"))],
        notes: Vec::new(),
        remarks: limits(report, zone, hints),
        sections: report.benchmarks.iter().enumerate().map(|(place, h)| section(h, place, zone)).collect(),
        foot: foot.into(),
    }
}

pub(crate) fn name(h: &BenchmarkHistory) -> Cell {
    Cell::foreign(title(h))
}

fn answered(h: &BenchmarkHistory, zone: &TimeZone) -> Vec<Cell> {
    let all = answers(h, zone);
    let left = all.len().saturating_sub(CHANGES) as u64;
    let more = (left > 0).then(|| Cell::text(format!("and {} before", plural(left, "change"))));
    let named = |said: Cell| {
        let paint = said.paint;
        name(h).and(": ").and(said).paint(paint)
    };
    all.into_iter().take(CHANGES).chain(more).map(named).collect()
}

/// Each remark once, with the benchmarks that it is about unless it is about all.
fn limits(report: &HistoryReport, zone: &TimeZone, hints: &Hints) -> Vec<SheetRemark> {
    let mut found: Vec<(Cell, Vec<Cell>)> = Vec::new();
    for h in &report.benchmarks {
        for remark in remarks(h, zone, hints) {
            match found.iter_mut().find(|(said, _)| *said == remark) {
                Some((_, names)) => names.push(name(h)),
                None => found.push((remark, vec![name(h)])),
            }
        }
    }
    let remark = |(said, names): (Cell, Vec<Cell>)| {
        let n = names.len();
        if n == report.benchmarks.len() {
            return SheetRemark::warning(said);
        }
        let join = |all: Cell, name: Cell| if all.is_empty() { name } else { all.and(", ").and(name) };
        let about = names.into_iter().take(NAMED).fold(Cell::empty(), join);
        let about = if n > NAMED { about.and(format!(" and {} more", n - NAMED)) } else { about };
        SheetRemark::warning(about.and(": ").and(said))
    };
    found.into_iter().map(remark).collect()
}

fn section(h: &BenchmarkHistory, place: usize, zone: &TimeZone) -> Section {
    let id = format!("benchmark-{}", place + 1);
    let figure = figure(h, &id).map(Item::Figure);
    Section {
        title: name(h),
        note: newest(h, zone).map(|now| sentence(Cell::text("newest: ").and(now))).unwrap_or_default(),
        detail: Detail::Full,
        items: figure.into_iter().chain([Item::Table(builds(h, zone))]).collect(),
        id,
    }
}

/// All builds, the newest first.
fn builds(h: &BenchmarkHistory, zone: &TimeZone) -> Table {
    let columns = [">no.", "build", "date", "relative to the anchor", "change", "measured by", "subject"];
    let mut table = Table::new(counted(h), "", &columns);
    for (place, point) in h.points.iter().enumerate().rev() {
        let b = &point.build;
        let name = Cell::foreign(build_name(b));
        let also = b.name.as_ref().filter(|_| b.commit.is_some());
        let changed = h.changes.iter().find(|c| c.after == place);
        let cells = [
            Cell::count(place as u32 + 1),
            also.map_or(name.clone(), |also| name.and(" (").and(Cell::foreign(also)).and(")")),
            day(b.time, zone).into(),
            change(point.ratio, point.interval.as_ref()),
            changed.map(|c| change(c.ratio, Some(&c.interval))).unwrap_or_default(),
            gates(point).into(),
            b.subject.as_ref().map(Cell::foreign).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn gates(point: &HistoryPoint) -> String {
    let named: Vec<String> = point.gates.iter().take(GATES).map(|n| format!("g{n}")).collect();
    let more = point.gates.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let elsewhere = if point.other_machine { ", another machine" } else { "" };
    format!("{}{more}{elsewhere}", named.join(" "))
}

/// Points over the builds, and the levels with their intervals. What is far away is drawn at the edge.
fn figure(h: &BenchmarkHistory, id: &str) -> Option<PageFigure> {
    let (low, high) = shown_range(h)?;
    let shown = |ratio: f64| ratio.clamp(1.0 + low, 1.0 + high);
    let is_beyond = |p: &HistoryPoint| shown(p.ratio) != p.ratio;
    let points = |title: &str, look: usize, wanted: &dyn Fn(&HistoryPoint) -> bool| {
        let own = (1_u32..).zip(&h.points).filter(|(_, p)| !p.ratio.is_nan() && wanted(p));
        let (x, y): (Vec<f64>, Vec<f64>) = own.map(|(n, p)| (f64::from(n), shown(p.ratio))).unzip();
        let title = title.to_owned();
        (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Points, x, y, band: None })
    };
    let levels = h.levels.iter().filter(|l| l.ratio.is_finite());
    let last = levels.clone().next_back().map(|l| (l.last as f64 + 1.5, l));
    let corners: Vec<_> = levels.map(|l| (l.first as f64 + 0.5, l)).chain(last).collect();
    let bound = |v: f64| Some(v).filter(|v| v.is_finite()).map(shown);
    let levels = (!corners.is_empty()).then(|| PageCurve {
        title: "level".to_owned(),
        look: 1,
        thin: false,
        join: Join::Before,
        x: corners.iter().map(|(x, _)| *x).collect(),
        y: corners.iter().map(|(_, l)| shown(l.ratio)).collect(),
        band: Some(Band {
            title: "95% interval",
            low: corners.iter().map(|(_, l)| bound(l.interval.low)).collect(),
            high: corners.iter().map(|(_, l)| bound(l.interval.high)).collect(),
        }),
    });
    let curves = [
        points("build", 0, &|p| !is_beyond(p) && !p.other_machine),
        points("build, measured on another machine than the newest gate's", 3, &|p| !is_beyond(p) && p.other_machine),
        points("build beyond the figure", 2, &is_beyond),
        levels,
    ];
    Some(PageFigure {
        id: format!("{id}-builds"),
        title: format!("{}: time of each build", name(h).plain()),
        note:
            "Each build's time divided by that of the anchor; below are the intervals. A step of the line is a change."
                .to_owned(),
        x: PageAxis::counts("Builds in order of time"),
        y: PageAxis::ratios("Build / anchor"),
        curves: curves.into_iter().flatten().collect(),
    })
}

/// A row for each build of each benchmark, for CSV; the time is in s since 1970, of the commit, else of the first measurement.
pub fn exported(report: &HistoryReport) -> Table {
    let columns = [
        "suite",
        "benchmark",
        "position",
        "commit",
        "modified",
        "name",
        "folder",
        "subject",
        "time_s",
        "committed",
        "ratio",
        "ratio_low",
        "ratio_high",
        "level",
        "level_low",
        "level_high",
        "change",
        "change_low",
        "change_high",
        "gates",
        "other_machine",
        "other_machine_from_here",
    ];
    let mut table = Table::of("", "", columns.map(Column::new));
    for h in &report.benchmarks {
        for (place, point) in h.points.iter().enumerate() {
            table.row(exported_build(h, place, point), Vec::new());
        }
    }
    table
}

fn exported_build(h: &BenchmarkHistory, place: usize, point: &HistoryPoint) -> [Cell; 22] {
    let level = h.levels.iter().find(|l| (l.first..=l.last).contains(&place));
    let changed = h.changes.iter().find(|c| c.after == place);
    let b = &point.build;
    let foreign = |text: &Option<String>| text.as_ref().map(Cell::foreign).unwrap_or_default();
    let gates: Vec<String> = point.gates.iter().map(|g| format!("g{g}")).collect();
    // The columns are there in every file, also if no build has an interval.
    let bounds = |interval: Option<&Interval>| {
        [interval.map(|i| i.low), interval.map(|i| i.high)].map(|bound| Cell::of(Unit::Ratio, bound))
    };
    let [low, high] = bounds(point.interval.as_ref());
    let [level_low, level_high] = bounds(level.map(|l| &l.interval));
    let [change_low, change_high] = bounds(changed.map(|c| &c.interval));
    [
        Cell::foreign(&h.suite),
        Cell::foreign(&h.name),
        Cell::count(place as u32 + 1),
        foreign(&b.commit),
        b.modified.to_string().into(),
        foreign(&b.name),
        Cell::foreign(&b.folder),
        foreign(&b.subject),
        Cell::count(b.time.secs()),
        b.committed.to_string().into(),
        Cell::of(Unit::Ratio, point.ratio),
        low,
        high,
        Cell::of(Unit::Ratio, level.map(|l| l.ratio)),
        level_low,
        level_high,
        Cell::of(Unit::Ratio, changed.map(|c| c.ratio)),
        change_low,
        change_high,
        gates.join(" ").into(),
        point.other_machine.to_string().into(),
        changed.map(|c| c.machine_changed.to_string()).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;
    use tarebench_report::csv;
    use tarebench_report::svg::figures::figures;
    use tarebench_report::text::hidden;
    use tarebench_report::web::html::data;
    use tarebench_report::web::page::Page;

    fn page(report: &HistoryReport) -> Page {
        history(report, &TimeZone::UTC, &Hints::default(), "foot".to_owned()).into_page()
    }

    #[test]
    fn the_page_has_answers_figures_and_tables() {
        let p = page(&fixtures::report());
        let said: Vec<String> = p.remarks.iter().map(|r| r.text.plain()).collect();
        assert_eq!(said[0], "sort: −1.0 % [−1.3, −0.7] between 00000f0 and 0000100 (2026-10-17).");
        assert!(said[1].starts_with("sort: +2.0 % [+1.8, +2.2] between "), "{said:?}");
        assert!(said.iter().any(|t| t.starts_with("sort: 3 more builds in 1 group cannot be compared")), "{said:?}");
        assert_eq!(p.parts.len(), 2);
        let part = &p.parts[0];
        let newest = "Newest: +1.0 % [+0.8, +1.2] since 0000100 (2026-10-17), relative to 0000000 (2026-10-01).";
        assert_eq!((part.title.plain().as_str(), part.note.plain().as_str()), ("sort", newest));
        let [builds] = part.tables.as_slice() else { panic!("one table") };
        assert_eq!((builds.title.plain().as_str(), builds.rows.len()), ("20 commits", 20));
        let changed = builds.rows[11].plain();
        assert_eq!(changed[..3], ["9", "0000080", "2026-10-09"]);
        assert_eq!(changed[4..], ["+2.0 % [+1.8, +2.2]", "g8", "change 8"]);
        assert_eq!(builds.rows[19].plain()[5], "g0, another machine");
    }

    #[test]
    fn points_and_levels_are_drawn() {
        let mut report = fixtures::report();
        report.benchmarks[0].points[5].ratio = 50.0;
        let p = page(&report);
        let curves = &p.parts[0].figures[0].curves;
        let counts: Vec<(usize, usize)> = curves.iter().map(|c| (c.look, c.x.len())).collect();
        // Twelve here, seven elsewhere, the one far away at the edge; three levels and the end of the last one.
        assert_eq!(counts, [(0, 12), (3, 7), (2, 1), (1, 4)]);
        assert!(curves[2].y[0] < 1.03, "{:?}", curves[2]);
        assert_eq!((&curves[3].x, &curves[3].y), (&vec![0.5, 8.5, 16.5, 20.5], &vec![1.0, 1.02, 1.01, 1.01]));
        assert_eq!(page(&fixtures::report()).parts[1].figures[0].curves.len(), 2);
        report.benchmarks[0].points.clear();
        // Without a build there is nothing to show.
        assert_eq!(page(&report).parts.len(), p.parts.len() - 1);
    }

    #[test]
    fn many_changes_and_remarks_are_counted() {
        let mut report = fixtures::report();
        let first = report.benchmarks[0].changes[0].clone();
        report.benchmarks[0].changes = vec![first; 8];
        report.benchmarks.remove(1);
        let sheet = |report: &HistoryReport| history(report, &TimeZone::UTC, &Hints::default(), String::new());
        let answers = sheet(&report).answers;
        assert_eq!((answers.len(), answers[5].plain().as_str()), (6, "sort: and 3 changes before"));
        let one = report.benchmarks[0].clone();
        report.benchmarks =
            (0..5).map(|i| BenchmarkHistory { name: format!("b{i}"), commands: 1 + i.min(1), ..one.clone() }).collect();
        let remarks: Vec<String> = sheet(&report).remarks.iter().map(|r| r.cell.plain()).collect();
        assert!(remarks[0].starts_with("3 more builds in 1 group"), "{remarks:?}");
        let says = "b1, b2, b3 and 1 more: 2 different commands have this name.";
        assert!(remarks.iter().any(|r| r == says), "{remarks:?}");
    }

    #[test]
    fn hostile_names_are_text() {
        let p = page(&fixtures::hostile());
        let text = data(&p).unwrap();
        assert!(!text.contains('<') && !text.contains("NaN") && !text.chars().any(hidden), "{text}");
        for (_, svg) in figures(&p).unwrap() {
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!svg.contains("<script") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(page(&HistoryReport { gates: 0, benchmarks: Vec::new() }).parts.is_empty());
    }

    fn records(report: &HistoryReport) -> Vec<Vec<String>> {
        let table = csv::table(&exported(report)).unwrap();
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), 22);
        reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn a_row_of_csv_is_a_build() {
        let all = records(&fixtures::report());
        assert_eq!(all.len(), 40);
        let first: Vec<&str> = all[0].iter().map(String::as_str).collect();
        assert_eq!(first[..3], ["", "sort", "1"]);
        assert_eq!(first[7..10], ["change 0", "1790812800", "true"]);
        assert_eq!(first[10..17], ["1", "", "", "1", "0.998", "1.002", ""]);
        assert_eq!(first[19..], ["g0", "true", ""]);
        let changed: Vec<&str> = all[8].iter().map(String::as_str).collect();
        assert_eq!((changed[13], changed[16], changed[20], changed[21]), ("1.02", "1.02", "false", "true"));
        let all = records(&fixtures::hostile());
        assert_eq!(all.len(), 40);
        assert!(all.iter().all(|r| r.len() == 22 && !r.iter().any(|c| c.contains(char::is_control))));
        assert_eq!(all[1][10], "");
        let mut formula = fixtures::report();
        formula.benchmarks[0].name = "=1+1".to_owned();
        assert_eq!(records(&formula)[0][1], "'=1+1");
        formula.benchmarks.clear();
        assert!(records(&formula).is_empty());
    }
}
