//! The table that compares programs.

use crate::compare::duets;
use crate::compare::rows::{order, parameters, reference, times};
use crate::compare::sentence::verdict_word;
use crate::counted;
use crate::words::measure;
use tarebench_core::base::hint::Hint;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::plan::{Order, RunCount};
use tarebench_core::run::report::data::{Comparison, Measure, RatioBasis, RunReport, SeriesReport};
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::number::TimeUnit;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::Reasons;

fn ratio(page: &ScreenText<'_>, c: &Comparison) -> String {
    let half = c.interval.as_ref().ok().map(|i| (i.high - i.low) / 2.0);
    let decimals = number::ratio_decimals(c.ratio, half);
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_else(|| page.g.absent.to_owned());
    match &c.interval {
        Ok(i) => format!("{} [{}, {}]", show(c.ratio), show(i.low), show(i.high)),
        Err(_) => show(c.ratio),
    }
}

fn verdict(c: &Comparison) -> GridCell {
    GridCell::new(verdict_word(c)).paint(match c.verdict {
        // Of what programs print, tare cannot know which is better.
        Verdict::Faster | Verdict::Slower if c.number().is_some() => Paint::Strong,
        Verdict::Faster => Paint::Good,
        Verdict::Slower => Paint::Bad,
        Verdict::Same => Paint::Plain,
        Verdict::Undecided => Paint::Warn,
    })
}

struct Columns {
    number: GridColumn,
    program: GridColumn,
    pt: GridColumn,
    et: GridColumn,
    ratio: GridColumn,
    verdict: GridColumn,
}

fn columns(page: &ScreenText<'_>, report: &RunReport, order: &[usize]) -> Columns {
    let rows: Vec<&SeriesReport> = order.iter().map(|&i| &report.series[i]).collect();
    let col = |head: String, align, cells: Vec<String>| {
        GridColumn::new(head, align, cells.into_iter().map(GridCell::new).collect())
    };
    let sign = |u: TimeUnit| u.sign(page.style.unicode);
    let (pt_unit, pt) = times(page, &rows, Measure::Pt, true);
    let (et_unit, et) = times(page, &rows, Measure::Et, false);
    let absent = || page.g.absent.to_owned();
    let the_reference = reference(report);
    let found = |i: usize| report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == i);
    let ratios = order.iter().map(|&i| match found(i) {
        Some(c) => ratio(page, c),
        None if the_reference == Some(i) => "1".to_owned(),
        None => absent(),
    });
    let verdicts = order.iter().map(|&i| match found(i) {
        _ if report.series[i].program.control => GridCell::new("control").paint(Paint::Dim),
        Some(c) => verdict(c),
        None if the_reference == Some(i) => GridCell::new("reference").paint(Paint::Dim),
        None => GridCell::new(absent()),
    });
    let pm = page.g.plus_minus;
    let strong = pt.into_iter().map(|t| GridCell::new(t).paint(Paint::Strong)).collect();
    Columns {
        number: col("".into(), Align::Right, order.iter().map(|i| (i + 1).to_string()).collect()),
        program: col("program".into(), Align::Left, rows.iter().map(|s| page.style.show(&s.program.label)).collect()),
        pt: GridColumn::new(format!("PT {pm} s.d. [{}]", sign(pt_unit)), Align::Right, strong),
        et: col(format!("ET [{}]", sign(et_unit)), Align::Right, et),
        ratio: col("ratio [95%]".into(), Align::Left, ratios.collect()),
        verdict: GridColumn::new("verdict", Align::Left, verdicts.collect()),
    }
}

/// Makes the second column narrower until all fit; false if too little of it would remain.
fn fit(page: &ScreenText<'_>, report: &RunReport, order: &[usize], columns: &mut [GridColumn], least: usize) -> bool {
    let over = grid::total(columns, 2).saturating_sub(page.width());
    if over == 0 {
        return true;
    }
    let have = columns[1].width();
    let Some(width) = have.checked_sub(over).filter(|w| *w >= 7) else {
        return false;
    };
    let by_parameters: Vec<String> = order.iter().map(|&i| parameters(page, &report.series[i])).collect();
    if by_parameters.iter().all(|p| !p.is_empty() && text::columns(p) <= width) {
        for (cell, p) in columns[1].cells.iter_mut().zip(by_parameters) {
            cell.text = p;
        }
        return true;
    }
    let enough = width >= least.min(have);
    if enough {
        grid::shrink(&mut columns[1], width, page.g.dots);
    }
    enough
}

/// Draws the columns that fit; the last ones are omitted first.
fn draw_fitting(
    page: &mut ScreenText<'_>,
    report: &RunReport,
    order: &[usize],
    mut columns: Vec<GridColumn>,
    keep: usize,
) {
    while !fit(page, report, order, &mut columns, 10) && columns.len() > keep {
        columns.pop();
    }
    let over = grid::total(&columns, 2).saturating_sub(page.width());
    if over > 0 {
        let width = columns[1].width().saturating_sub(over).max(7);
        grid::shrink(&mut columns[1], width, page.g.dots);
    }
    grid::draw(page, &columns, 0, 2);
}

/// Draws the table.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport) {
    let order = order(report, page.style.sort);
    page.gap();
    let c = columns(page, report, &order);
    let compared = !report.comparisons.is_empty();
    let times = vec![c.number.clone(), c.program.clone(), c.pt, c.et];
    let mut whole = times.clone();
    whole.extend([c.ratio.clone(), c.verdict.clone()]);
    if compared && fit(page, report, &order, &mut whole, 16) {
        grid::draw(page, &whole, 0, 2);
    } else {
        draw_fitting(page, report, &order, times, 3);
        if compared {
            page.gap();
            let mut ratios = vec![c.number, c.program, c.ratio, c.verdict];
            if !fit(page, report, &order, &mut ratios, 10) {
                for cell in &mut ratios[2].cells {
                    cell.text.truncate(cell.text.find(' ').unwrap_or(cell.text.len()));
                }
                "ratio".clone_into(&mut ratios[2].head);
            }
            draw_fitting(page, report, &order, ratios, 4);
        }
    }
    page.gap();
    comparison_notes(page, report);
}

fn comparison_notes(page: &mut ScreenText<'_>, report: &RunReport) {
    let Some(first) = report.comparisons.first() else {
        return;
    };
    let mixed = report.comparisons.iter().any(|c| c.measure != first.measure);
    let what = match first.number() {
        Some(number) => counted::name_of(number, |n| page.style.show(n).into()).into_owned(),
        None if mixed => "PT (ET where PT is absent)".to_owned(),
        None if report.comparisons.iter().any(|c| c.ratio_measure() != first.ratio_measure()) => {
            "CPU time (net where all duets have it)".to_owned()
        }
        None => measure(first.ratio_measure()).to_owned(),
    };
    let to = u64::from(first.reference) + 1;
    let pairs = (
        report.comparisons.iter().map(|c| c.pairs).min().unwrap_or(0),
        report.comparisons.iter().map(|c| c.pairs).max().unwrap_or(0),
    );
    let pairs = if pairs.0 == pairs.1 { pairs.0.to_string() } else { format!("{}-{}", pairs.0, pairs.1) };
    let by_duets = report.comparisons.iter().filter(|c| c.basis == RatioBasis::Duets).count();
    let repeated = matches!(report.run.plan.runs, RunCount::Detect { .. });
    let in_duets = report.comparisons.iter().any(|c| matches!(c.duets, Some(Ok(_))));
    let how = match by_duets {
        _ if first.number().is_some() => {
            let alone = if in_duets { " of executions alone" } else { "" };
            format!("median of {pairs} pairs{alone}, 95% sign-test interval")
        }
        n if repeated => {
            let what = if n == report.comparisons.len() { "duets" } else { "duets or pairs" };
            format!("of {pairs} {what}, 95% signed-rank interval for all looks together")
        }
        0 => format!("median of {pairs} pairs, 95% sign-test interval"),
        n if n == report.comparisons.len() => format!("of {pairs} duets, 95% signed-rank interval"),
        _ => format!("of {pairs} duets or pairs, 95% interval"),
    };
    let text = format!("ratio: {what} of the program divided by {what} of program {to}; {how}");
    page.hang(&[], Paint::Dim, &text);
    let mut reasons = Reasons::default();
    for c in &report.comparisons {
        if let Err(why) = &c.interval {
            reasons.add(&(u64::from(c.series) + 1).to_string(), why);
        }
    }
    for line in reasons.lines(page) {
        page.hang(&[], Paint::Dim, &format!("no interval for program {line}"));
    }
    duets::notes(page, report);
    if report.comparisons.iter().any(|c| !c.paired_in_time) {
        let why = match report.run.plan.order {
            Order::Sequential => "the programs ran one after the other",
            Order::Rounds | Order::Random | Order::Auto | Order::Duet => {
                "the samples of a pair were not taken one after the other"
            }
        };
        let text = format!(
            "{why}: a drift of the machine may look like a difference{}",
            page.style.hints.aside(&Hint::Interleave)
        );
        page.hang(&[], Paint::Warn, &text);
    }
}
