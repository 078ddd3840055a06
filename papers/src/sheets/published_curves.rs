//! Values that the papers printed, as curves in the figures of this machine: a mark for each value, joined by a dashed line. What the
//! papers drew without printing its numbers is not read from their pictures.

use crate::data::published::{PublishedCell, PublishedTable, by_id};
use crate::sheets::interval_figure::UNTIL;
use tarebench_report::number::chance;
use tarebench_report::web::page::{Join, Page, PageCurve, PageFigure};

/// Looks of curves repeat after so many; the first of them is a solid line.
const LOOKS: usize = 8;
/// From where on figure 9.14's values for long computations are, ns; as their rows say.
const BEYOND: f64 = 10e6;
/// Column of the papers' tables.
const DEVIATION: &str = "standard deviation";

/// Title of a curve, and its points in the units of the figure.
pub(crate) type PublishedCurve = (String, Vec<(f64, f64)>);

/// Adds the papers' values to the figures of a command's page: `study scaling`.
pub fn add_published(command: &str, page: &mut Page) {
    page.parts.iter_mut().flat_map(|p| &mut p.figures).for_each(|figure| add_curves(command, figure));
}

/// Adds the papers' values to one figure, if it shows anything of this machine.
pub(crate) fn add_curves(command: &str, figure: &mut PageFigure) {
    if figure.curves.iter().all(|c| c.x.is_empty()) {
        return;
    }
    let mut look = figure.curves.iter().map(|c| c.look + 1).max().unwrap_or(0);
    for (title, points) in published_curves(command, &figure.id) {
        look += usize::from(look.is_multiple_of(LOOKS));
        if let (Some((low, high)), Some((x, _))) = (&mut figure.x.shown, points.first()) {
            (*low, *high) = (low.min(*x), high.max(*x));
        }
        let (x, y) = points.into_iter().unzip();
        figure.curves.push(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: None });
        look += 1;
    }
}

/// The curves of a figure that its paper printed values of.
pub(crate) fn published_curves(command: &str, figure: &str) -> Vec<PublishedCurve> {
    let by_length = |what: &str, id: &str, column: &str| (what.to_owned(), points(id, column, task_length));
    let all = match (command, figure) {
        ("study et-pt", "growth") => vec![
            by_length("ET, EMP table II", "emp-table-2", DEVIATION),
            by_length("PT, EMP table III", "emp-table-3", DEVIATION),
        ],
        ("study scaling", "growth") => vec![
            by_length("standard deviation, EMP table VI", "emp-table-6", DEVIATION),
            by_length("standard deviation, the report's table 3", "report-table-3", DEVIATION),
        ],
        ("study evolution", "evolution-a") => versions("ET"),
        ("study evolution", "evolution-b") => versions("PT"),
        ("study sample-size", "by-size-process") => sample_sizes(),
        ("study dual", "dual-correlations") => vec![
            by_length("all, the report's table 7", "report-table-7", "correlation"),
            by_length("without outliers, the report's table 7", "report-table-7", "correlation without outliers"),
        ],
        ("study daemons", "daemon-correlations") => vec![
            by_length("all, the report's table 8", "report-table-8", "correlation, EMPv4"),
            by_length("without outliers, the report's table 8", "report-table-8", "correlation, EMPv5 relaxed"),
        ],
        ("study kbest", figure) => kbest(figure),
        ("study interval-counting", "interval-counting-book") => counted_by_ticks().into_iter().collect(),
        ("noise", "grain-1ms-distribution") => phases(),
        ("noise", figure) if figure.ends_with("-delayed") => delayed(),
        _ => Vec::new(),
    };
    let shown = all.into_iter().filter(|(_, points)| !points.is_empty());
    shown.map(|(title, points)| (format!("published: {title}"), points)).collect()
}

/// A unit of the tables in that of figures: ns, or 1.
fn unit(name: &str) -> f64 {
    match name {
        "s" => 1e9,
        "ms" => 1e6,
        "µs" => 1e3,
        _ => 1.0,
    }
}

/// Index of the column of this name, and its unit.
fn column(table: &PublishedTable, title: &str) -> Option<(usize, f64)> {
    let at = table.columns.iter().position(|c| c.title == title)?;
    Some((at, unit(&table.columns.get(at)?.unit)))
}

/// A column over what its rows are of, ascending; without the rows that have no number.
fn points(id: &str, y: &str, x: impl Fn(&[PublishedCell]) -> Option<f64>) -> Vec<(f64, f64)> {
    let Some((table, (at, unit))) = by_id(id).and_then(|t| Some((t, column(t, y)?))) else { return Vec::new() };
    let point = |row: &Vec<PublishedCell>| Some((x(row)?, row.get(at)?.number()? * unit));
    let mut all: Vec<(f64, f64)> = table.rows.iter().filter_map(point).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// Of INC8, or PUT8 as the report calls it, 8 s in ns.
fn task_length(row: &[PublishedCell]) -> Option<f64> {
    let name = row.first()?.text()?.split(',').next()?;
    let seconds = name.strip_prefix("INC").or_else(|| name.strip_prefix("PUT"))?;
    Some(seconds.parse::<f64>().ok()? * 1e9)
}

/// EMP figure 17, as far as the text says it.
fn versions(measure: &str) -> Vec<PublishedCurve> {
    let length = |row: &[PublishedCell]| {
        let same = row.get(1).and_then(PublishedCell::text) == Some(measure);
        same.then(|| task_length(row)).flatten()
    };
    let version =
        |name: &str, column: &str| (format!("{name}, EMP figure 17"), points("emp-figure-17", column, length));
    vec![version("EMPv1", "standard deviation, first"), version("EMPv6", "standard deviation, last")]
}

fn sample_sizes() -> Vec<PublishedCurve> {
    let samples = |row: &[PublishedCell]| row.first()?.number();
    let curve = |what: &str, id: &str, column: &str| (what.to_owned(), points(id, column, samples));
    vec![
        curve("PUT1, the report's table 4", "report-table-4", "PUT1"),
        curve("PUT2, the report's table 4", "report-table-4", "PUT2"),
        curve("PUT16, the report's table 6", "report-table-6", "EMPv4"),
    ]
}

/// A value of a table that has a name, a value and a unit in each row.
fn value(id: &str, what: &str) -> Option<f64> {
    match by_id(id)?.row(what)? {
        [_, value, PublishedCell::Text(name)] => Some(value.number()? * unit(name)),
        _ => None,
    }
}

/// Figures 9.14 to 9.16 as the book describes them: errors over ranges of the expected time.
fn kbest(figure: &str) -> Vec<PublishedCurve> {
    let value = |what: &str| value("csapp-figure-9-14", what);
    let (shortest, longest) = (value("expected times, shortest"), value("expected times, longest"));
    let range = |title: &str, from: Option<f64>, to: Option<f64>, error: Option<f64>| {
        let ends = from.zip(to).zip(error).map(|((from, to), error)| vec![(from, error), (to, error)]);
        (title.to_owned(), ends.unwrap_or_default())
    };
    let small = value("error there, about");
    match figure {
        "kbest-loads" => vec![
            range("every load, figure 9.14", shortest, value("accurate under every load up to"), small),
            range("idle, at least", Some(BEYOND), longest, value("overestimate beyond 10 ms, idle, least")),
            range("idle, at most", Some(BEYOND), longest, value("overestimate beyond 10 ms, idle, most")),
        ],
        "kbest-by-k" => vec![
            range("K = 2, figure 9.15", shortest, value("K = 2: error below 0.1% up to"), small),
            range("K of 3 or more", shortest, value("K of 3 or more: accurate up to"), small),
        ],
        "kbest-compensated" => {
            vec![range("idle, below, figure 9.16", shortest, longest, value("error with compensation, idle, below"))]
        }
        _ => Vec::new(),
    }
}

/// Figure 9.8 as the book describes it: the average error of longer computations.
fn counted_by_ticks() -> Option<PublishedCurve> {
    let value = |what: &str| value("csapp-figure-9-8", what);
    let from = value("shortest time with an acceptable error")?;
    let error = value("measured over true time beyond it, average")? - 1.0;
    Some(("average, figure 9.8".to_owned(), vec![(from, error), (UNTIL, error)]))
}

/// Two points of each distribution of ICS'05, figure 3, left: its median and its maximum. They are of a grain of 1 ms.
fn phases() -> Vec<PublishedCurve> {
    let policy = |name: &str| {
        let place = |column: &str, share: f64| {
            let share_of = |row: &[PublishedCell]| (row.first()?.text()? == name).then_some(share);
            points("ics05-table-2", column, share_of).into_iter().map(|(share, ns)| (ns, share)).collect::<Vec<_>>()
        };
        (format!("{name}, ICS'05 table 2"), [place("median", 0.5), place("maximum", 1.0)].concat())
    };
    ["OTHER", "FIFO"].map(policy).into()
}

/// ICS'05, figure 2: the probabilities of a delay that the text computes, a curve for each p.
fn delayed() -> Vec<PublishedCurve> {
    let Some(table) = by_id("ics05-model") else { return Vec::new() };
    let mut all: Vec<(f64, Vec<(f64, f64)>)> = Vec::new();
    for row in &table.rows {
        let [PublishedCell::Text(what), p, nodes, chance] = row.as_slice() else { continue };
        let numbers = p.number().zip(nodes.number()).zip(chance.number());
        let Some(((p, nodes), chance)) = numbers.filter(|_| what.starts_with("probability of a delay")) else {
            continue;
        };
        match all.iter_mut().find(|(same, _)| *same == p) {
            Some((_, points)) => points.push((nodes, chance)),
            None => all.push((p, vec![(nodes, chance)])),
        }
    }
    all.into_iter().map(|(p, points)| (format!("p = {}, ICS'05 section 2", chance(p)), points)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheets::timing_parts::{by_length, length_figure};
    use tarebench_report::svg::figures::figure;
    use tarebench_report::web::page::PageQuantity;

    fn of(command: &str, figure: &str) -> Vec<(String, Vec<(f64, f64)>)> {
        published_curves(command, figure)
    }

    #[test]
    fn values_are_those_that_the_papers_printed() {
        let scaling = of("study scaling", "growth");
        assert_eq!(scaling[0].0, "published: standard deviation, EMP table VI");
        // INC1: 0.7 ms; fifteen lengths, to INC16384.
        assert_eq!((scaling[0].1.len(), scaling[0].1[0].0), (15, 1e9));
        assert!((scaling[0].1[0].1 - 0.7e6).abs() < 1.0 && scaling[0].1[14].0 == 16_384e9);
        assert_eq!(of("study evolution", "evolution-a")[0].1, [(8e9, 72e6)]);
        assert_eq!(of("study evolution", "evolution-a")[1].1, [(8e9, 2e6), (16_384e9, 198e6)]);
        assert_eq!(of("study evolution", "evolution-b")[0].1, [(8e9, 15e6)]);
        let sizes = of("study sample-size", "by-size-process");
        assert_eq!(sizes.iter().map(|c| c.1.len()).collect::<Vec<_>>(), [20, 20, 6]);
        // Programs whose correlation was not finished have no point; two are named with a month.
        assert_eq!(of("study dual", "dual-correlations")[0].1.len(), 9);
        assert_eq!(of("study daemons", "daemon-correlations")[1].1.len(), 17);
        let loads = of("study kbest", "kbest-loads");
        assert_eq!(loads.iter().map(|c| c.1.len()).collect::<Vec<_>>(), [2, 2, 2]);
        assert!((loads[1].1[1].0 - 50e6).abs() < 1.0 && (loads[1].1[1].1 - 0.04).abs() < 1e-12);
        assert_eq!((of("study kbest", "kbest-by-k").len(), of("study kbest", "kbest-compensated").len()), (2, 1));
        let counted = of("study interval-counting", "interval-counting-book");
        assert!((counted[0].1[0].1 - 0.04).abs() < 1e-9 && counted[0].1[0].0 == 100e6, "{counted:?}");
        let phases = of("noise", "grain-1ms-distribution");
        assert_eq!(phases[1].1, [(1_025e3, 0.5), (1_959e3, 1.0)]);
        let delayed = of("noise", "grain-250µs-delayed");
        assert_eq!(
            delayed.iter().map(|c| c.1.as_slice()).collect::<Vec<_>>(),
            [&[(1000.0, 0.01)][..], &[(10.0, 0.1), (100.0, 0.63)][..]]
        );
    }

    #[test]
    fn what_was_only_drawn_has_no_curve() {
        for (command, figure) in [
            ("study scaling", "executions"),
            ("study kbest", "kbest-patient"),
            ("noise", "grain-1ms-survival"),
            ("noise", "grain-2ms-distribution"),
            ("study variance", "growth"),
        ] {
            assert!(of(command, figure).is_empty(), "{command} {figure}");
        }
    }

    #[test]
    fn they_are_dashed_and_named() {
        let own = |n: usize| (0..n).filter_map(|look| by_length(format!("own {look}"), look, [(1.0, 2e6), (2.0, 3e6)]));
        let made = |n: usize| {
            let curves = own(n).collect();
            length_figure("growth", "Growth", "", ("Standard deviation", PageQuantity::Time), curves)
        };
        for n in [1, 6, 7, 8] {
            let mut found = made(n).unwrap();
            add_curves("study scaling", &mut found);
            let added = &found.curves[n..];
            assert_eq!(added.len(), 2);
            assert!(added.iter().all(|c| c.title.starts_with("published: ") && c.look % LOOKS != 0 && c.look >= n));
            assert!(added[0].look != added[1].look);
            let svg = figure(&found, "box").unwrap();
            let tree = roxmltree::Document::parse(&svg).unwrap();
            assert!(tree.descendants().any(|d| d.text().is_some_and(|t| t.trim() == added[0].title)), "{svg}");
        }
        // Where this machine has nothing to show, neither have the papers.
        let mut none = made(1).unwrap();
        none.curves.clear();
        add_curves("study scaling", &mut none);
        assert!(none.curves.is_empty());
    }

    #[test]
    fn the_first_point_is_in_view() {
        let mut found = length_figure(
            "interval-counting-book",
            "t",
            "",
            ("e", PageQuantity::Ratio),
            vec![by_length("load 1".to_owned(), 0, [(0.01, 1.0)]).unwrap()],
        )
        .unwrap();
        found.x.shown = Some((0.0, 20e6));
        add_curves("study interval-counting", &mut found);
        assert_eq!(found.x.shown, Some((0.0, 100e6)));
    }
}
