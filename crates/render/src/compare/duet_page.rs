//! The duets of a run on its page: a table of the pairs, and a plot of each pair's ratio by block.

use crate::compare::duets::{DuetNote, accounts, reason, sentences};
use crate::compare::sentence::word;
use crate::compare::table::label;
use tarebench_core::run::blocks::{Blocks, RunBlocks};
use tarebench_core::run::report::data::{Comparison, DuetRatio, Measure, RatioBasis, RunReport};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageDuets, PageFigure, PageQuantity, PageScale};
use tarebench_report::words::plural;

/// The most points of all plots together.
const POINTS: usize = 10_000;

/// What the duets of a run say; `None` if there are none. `blocks` are those of the run.
pub(crate) fn duets(report: &RunReport, blocks: &RunBlocks, hints: &Hints) -> Option<PageDuets> {
    let all = || report.comparisons.iter().chain(&report.control);
    let found: Vec<(&Comparison, &DuetRatio)> =
        all().filter_map(|c| Some((c, c.duets.as_ref()?.as_ref().ok()?))).collect();
    if found.is_empty() {
        return None;
    }
    let most = (POINTS / found.len()).max(1);
    let figures = found.iter().filter_map(|(c, d)| {
        let blocks = blocks.blocks(c.series, Measure::Pt).filter(|b| b.basis == RatioBasis::Duets)?;
        figure(report, c, d, &blocks, most)
    });
    Some(PageDuets {
        note: "In a duet both programs run at the same time on the same CPUs, so that what the machine does meanwhile is the same for \
               both. Each duet gives one ratio of CPU times."
            .to_owned().into(),
        figures: figures.collect(),
        table: table(report, &all().collect::<Vec<_>>(), hints),
    })
}

const COLUMNS: [&str; 11] = [
    "program",
    "against",
    "ratio [95%]",
    "verdict",
    ">duets",
    ">left out",
    ">ran together",
    ">longer than alone",
    ">the reference",
    ">would show",
    "what to consider",
];

fn table(report: &RunReport, all: &[&Comparison], hints: &Hints) -> Table {
    let names: Vec<String> = report.series.iter().map(|s| escape(&s.program.label).into_owned()).collect();
    let mut t = Table::new(
        "Pairs of programs",
        "Ratio of the CPU times: Hodges and Lehmann's estimate with its 95% signed-rank interval. Ran together: the share of their CPU \
         time that both used while the other one ran. Longer than alone: by how much the CPU time of the program and of the reference \
         grew by running together, medians. Would show: the smallest difference that so many duets show with 95% power.",
        &COLUMNS,
    );
    for c in all {
        let who = [label(report, c.series), label(report, c.reference)].into_iter();
        match &c.duets {
            None => {}
            Some(Ok(d)) => {
                let consider = sentences(c, &names, true, hints).into_iter().filter(|n| n.warning);
                let consider = consider.map(|n: DuetNote| n.text).collect::<Vec<_>>().join("; ");
                let counts = [d.used, d.left_out].map(Cell::count);
                let shares = [d.overlap, d.inflation[0], d.inflation[1], d.detectable];
                let found = [ratio(d).into(), word(d.verdict).into()].into_iter().chain(counts);
                let shares = shares.map(|share| Cell::of(Unit::Share, share));
                t.row(who.chain(found).chain(shares).chain([consider.into()]), Vec::new());
            }
            Some(Err(why)) => {
                let none = std::iter::repeat_n(Cell::absent(), COLUMNS.len() - 3);
                let why = Cell::text(format!("no duets: {}", reason(why, &names, true)));
                t.row(who.chain(none).chain([why]), Vec::new());
            }
        }
    }
    t
}

fn ratio(d: &DuetRatio) -> Figure {
    Figure::new(Unit::Ratio, d.ratio).with_interval(&d.interval)
}

/// The ratios in the order of the blocks, at most so many of them, as evenly spaced as may be: number from 1, and ratio.
fn thinned(logs: &[f64], most: usize) -> Vec<(f64, f64)> {
    let count = logs.len().min(most);
    let places = (0..count).map(|i| i * logs.len() / count);
    places.filter_map(|at| Some(((at + 1) as f64, logs.get(at)?.exp()))).collect()
}

fn figure(report: &RunReport, c: &Comparison, d: &DuetRatio, blocks: &Blocks, most: usize) -> Option<PageFigure> {
    let points = thinned(&blocks.logs, most);
    let ends = [points.first()?.0, points.last()?.0];
    let [first, last] = if ends[0] < ends[1] { ends } else { [ends[0] - 0.5, ends[1] + 0.5] };
    let total = blocks.logs.len();
    let drawn = match points.len() {
        n if n < total => format!(" {n} of {total} duets are drawn, evenly spaced."),
        _ => String::new(),
    };
    let bounds = d.interval.as_ref().ok().filter(|i| i.low.is_finite() && i.high.is_finite());
    let line = |title: &str, y: f64, thin| PageCurve {
        title: title.to_owned(),
        look: 1,
        thin,
        join: Join::Straight,
        x: vec![first, last],
        y: vec![y; 2],
        band: None,
    };
    let band = bounds.map(|i| Band { title: "95% interval", low: vec![Some(i.low); 2], high: vec![Some(i.high); 2] });
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    let equal = is_near(1.0, &y).then(|| line("no difference", 1.0, true));
    let points = PageCurve { title: "a duet".to_owned(), look: 0, thin: false, join: Join::Points, x, y, band: None };
    let estimate = PageCurve { band, ..line("estimate", d.ratio, false) };
    let axis = |title: String, quantity| PageAxis {
        title,
        quantity,
        scales: vec![PageScale::Linear],
        floor: None,
        shown: None,
    };
    let against = label(report, c.reference).plain();
    let what = if blocks.measure == Measure::Net { "Net CPU time" } else { "CPU time" };
    let names: Vec<String> = report.series.iter().map(|s| escape(&s.program.label).into_owned()).collect();
    let accounts = accounts(c, &names, true).into_iter().map(|n| format!(" {}.", n.text)).collect::<String>();
    Some(PageFigure {
        id: format!("duets-{}", u64::from(c.series) + 1),
        title: label(report, c.series).plain(),
        note: format!("{}: {}.{drawn}{accounts}", plural(d.used, "duet"), Cell::from(ratio(d))),
        x: axis("Duet".to_owned(), PageQuantity::Count),
        y: axis(format!("{what} / that of {against}"), PageQuantity::Ratio),
        curves: [Some(points), Some(estimate), equal].into_iter().flatten().collect(),
    })
}

/// Whether a value is no farther from these than they are from each other.
fn is_near(value: f64, of: &[f64]) -> bool {
    let low = of.iter().copied().fold(f64::INFINITY, f64::min);
    let high = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = high - low;
    (low - span..=high + span).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixtures;

    fn made(report: &RunReport, duets: &[tarebench_core::compare::duet::Duet]) -> Option<PageDuets> {
        let mut blocks = RunBlocks::new(&report.run.plan);
        duets.iter().for_each(|d| blocks.add_duet(&report.run.plan, d));
        super::duets(report, &blocks, &fixtures::hints())
    }

    #[test]
    fn each_duet_is_a_point_around_the_estimate() {
        let page = made(&fixtures::duets(), &fixtures::raw_duets()).unwrap();
        let [figure] = page.figures.as_slice() else { panic!("one pair") };
        assert_eq!((figure.id.as_str(), figure.title.as_str()), ("duets-2", "./inc 60600"));
        assert_eq!(figure.y.title, "CPU time / that of ./inc 60000");
        assert_eq!(figure.note, "12 duets: 1.0083 [1.0063, 1.0111].");
        let [points, estimate] = figure.curves.as_slice() else { panic!("1 is too far away: {:?}", figure.curves) };
        // The last duet is left out, as the program failed in it.
        assert_eq!(points.x, (1..=12).map(f64::from).collect::<Vec<_>>());
        let wanted = (0..12).map(|i| 1.0072 + 0.0002 * f64::from(i));
        assert!(points.y.iter().zip(wanted).all(|(y, w)| (y - w).abs() < 1e-6), "{:?}", points.y);
        assert_eq!((points.join, estimate.y.as_slice()), (Join::Points, &[1.0083, 1.0083][..]));
        let band = estimate.band.as_ref().unwrap();
        assert_eq!((band.low[0], band.high[1]), (Some(1.0063), Some(1.0111)));
    }

    #[test]
    fn the_table_has_a_row_for_each_pair() {
        let page = made(&fixtures::duets(), &fixtures::raw_duets()).unwrap();
        let row = page.table.rows[0].plain().join(" | ");
        assert_eq!(
            row,
            "./inc 60600 | ./inc 60000 | 1.0083 [1.0063, 1.0111] | slower | 12 | 0 | 97 % | 1.2 % | 0.80 % | 0.38 % | "
        );
        let all = made(&fixtures::ten_with_duets(), &[]).unwrap();
        assert!(all.figures.is_empty(), "no duet was given");
        assert_eq!(all.table.rows.len(), 9);
        let columns = page.table.columns.len();
        assert!(all.table.rows.iter().all(|r| r.cells.len() == columns));
        assert!(all.table.rows[3].cells[10].plain().starts_with("no duets: lz4"), "{:?}", all.table.rows[3]);
        let considered = all.table.rows[1].cells[10].plain();
        assert!(considered.contains("may share caches") && considered.contains("62 %"), "{considered}");
    }

    #[test]
    fn without_duets_there_is_nothing() {
        assert_eq!(made(&fixtures::two(), &[]), None);
        let mut none = fixtures::duets();
        none.comparisons[0].duets = Some(Err(tarebench_core::compare::duet::NoDuet::RealTime));
        assert_eq!(made(&none, &[]), None);
    }

    #[test]
    fn many_points_are_thinned_evenly() {
        let logs: Vec<f64> = (0..25_000).map(|i| f64::from(i) * 1e-6).collect();
        let points = thinned(&logs, 10_000);
        assert_eq!(points.len(), 10_000);
        assert_eq!((points[0].0, points[9_999].0), (1.0, 24_998.0));
        assert!(points.windows(2).all(|w| (2.0..=3.0).contains(&(w[1].0 - w[0].0))));
        assert_eq!(thinned(&logs[..3], 10).iter().map(|p| p.0).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        assert_eq!(thinned(&[], 10), []);
        let blocks = Blocks { basis: RatioBasis::Duets, measure: Measure::Pt, logs, process_logs: Vec::new() };
        let report = fixtures::duets();
        let Some(Ok(d)) = &report.comparisons[0].duets else { panic!("duets") };
        let figure = figure(&report, &report.comparisons[0], d, &blocks, 5_000).unwrap();
        assert!(figure.note.ends_with(" 5000 of 25000 duets are drawn, evenly spaced."), "{}", figure.note);
        // What is no difference is in view.
        assert_eq!(figure.curves.len(), 3);
        assert!(figure.curves[2].thin && figure.curves[2].y == [1.0, 1.0]);
    }
}
