//! The study of the variance of process time as tables and figures.

use crate::data::variance::{KnownShare, ShareOrigin, VarianceCause, VarianceReport, VarianceRow, VarianceSplit};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::{by_length, length_figure, logarithmic, named};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity};

/// Programs in one table: so many columns fit on a screen.
const PROGRAMS: usize = 5;

/// The question of EMP section 8.
pub fn sheet(report: &VarianceReport) -> Sheet {
    let mut sections = vec![shares_section(report, false)];
    if report.rows.iter().any(|r| r.trimmed.is_some()) {
        sections.push(shares_section(report, true));
    }
    sections.extend([spread_section(report), halves_section(report)]);
    study_sheet(report.rows.iter().map(answer), remarks(report), sections)
}

fn name(row: &VarianceRow) -> String {
    named(&row.label, &row.condition)
}

fn title(cause: VarianceCause) -> &'static str {
    match cause {
        VarianceCause::Interrupts => "interrupts",
        VarianceCause::Steal => "steal",
        VarianceCause::Preemptions => "after preemptions",
        VarianceCause::Faults => "page faults",
        VarianceCause::ClockSpeed => "clock speed",
        VarianceCause::Drift => "drift",
        VarianceCause::Layout => "stack layout",
        VarianceCause::PagePlacement => "page placement",
        VarianceCause::Unexplained => "unexplained",
    }
}

/// The split without outliers where there is one, else that of all samples.
fn split(row: &VarianceRow, trimmed: bool) -> &VarianceSplit {
    row.trimmed.as_ref().filter(|_| trimmed).unwrap_or(&row.all)
}

fn share_figure(known: &KnownShare) -> Cell {
    let figure = Figure::new(Unit::Share, known.share);
    known.interval.iter().fold(figure, |figure, i| figure.with_interval(&Ok(i.clone()))).into()
}

/// The causes whose share is surely above 0, and what is left.
fn answer(row: &VarianceRow) -> Cell {
    let known = row.all.shares.iter().filter_map(|s| Some((s.cause, s.share.value()?)));
    let (mut sure, mut left) = (Vec::new(), None);
    for (cause, share) in known {
        if cause == VarianceCause::Unexplained {
            left = Some(share);
        } else if share.interval.as_ref().is_some_and(|i| i.low > 0.0) {
            sure.push((cause, share));
        }
    }
    sure.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    let begin = Cell::text(format!("{}, standard deviation of process time ", name(row)));
    let mut said = begin.and(Cell::time(row.all.std_dev)).and(": ");
    for (i, (cause, share)) in sure.iter().enumerate() {
        let between = if i == 0 { "" } else { ", " };
        said = said.and(format!("{between}{} ", title(*cause))).and(share_figure(share));
    }
    if sure.is_empty() {
        said = said.and("no known cause has a share above 0 beyond chance");
    }
    left.into_iter().fold(said, |said, left| said.and("; unexplained ").and(share_figure(left))).and(".")
}

fn remarks(report: &VarianceReport) -> Vec<String> {
    let mut remarks = vec![
        "Shares of interrupts and steal that process time contains are exact: their covariance with process time over its variance. \
         The others are estimates by regression, over executions of one program: an association is not a cause."
            .to_owned(),
        "The shares that are known add up to 100 %. A share is negative where process time is shorter when there is more of it, \
         or, in a regression, by chance."
            .to_owned(),
        "A longer execution is preempted more often and meets more of everything, so that part of such a share may be its effect."
            .to_owned(),
    ];
    remarks.extend(unknown(report));
    if report
        .rows
        .iter()
        .any(|r| r.all.shares.iter().any(|s| s.cause == VarianceCause::ClockSpeed && s.share.value().is_none()))
    {
        remarks.push(
            "Without counted cycles, changes of the clock speed are in drift as far as they are slower than a few samples, and \
             in what is unexplained otherwise."
                .to_owned(),
        );
    }
    if !report.without.is_empty() {
        remarks.push(format!("Too few samples, or a process time that does not vary: {}.", report.without.join(", ")));
    }
    let left_out: Vec<String> =
        report.rows.iter().filter(|r| r.left_out > 0).map(|r| format!("{} of {}", r.left_out, name(r))).collect();
    if !left_out.is_empty() {
        remarks.push(format!("Samples without a complete account are left out: {}.", left_out.join(", ")));
    }
    remarks
}

/// Shares that cannot be known here, each reason once.
fn unknown(report: &VarianceReport) -> Vec<String> {
    let mut reasons: Vec<(VarianceCause, &Absent)> = Vec::new();
    for share in report.rows.iter().flat_map(|r| &r.all.shares) {
        if let Reading::Absent(why) = &share.share
            && !reasons.contains(&(share.cause, why))
        {
            reasons.push((share.cause, why));
        }
    }
    reasons.into_iter().map(|(cause, why)| format!("The share of {} is {why}.", title(cause))).collect()
}

fn share_cell(share: &Reading<KnownShare>) -> Cell {
    match share {
        Reading::Value(known) => match known.origin {
            ShareOrigin::NotCharged => Cell::of(Unit::Share, 0.0).and(" (not charged)"),
            ShareOrigin::Constant => Cell::of(Unit::Share, 0.0).and(" (constant)"),
            ShareOrigin::Exact | ShareOrigin::Regression | ShareOrigin::Remainder => share_figure(known),
        },
        Reading::Absent(_) => "not known".into(),
    }
}

/// A row for each cause, a column for each program.
fn shares_section(report: &VarianceReport, trimmed: bool) -> Section {
    let (id, what) = if trimmed { ("variance-trimmed", ", without outliers") } else { ("variance", "") };
    let curves: Vec<PageCurve> = VarianceCause::ALL
        .iter()
        .filter(|c| **c != VarianceCause::PagePlacement)
        .enumerate()
        .filter_map(|(look, cause)| curve(report, *cause, look, trimmed))
        .collect();
    let figure = (!curves.is_empty()).then(|| PageFigure {
        id: id.to_owned(),
        title: format!("Shares of the variance of process time by task length{what}"),
        note: "With 95 % intervals.".to_owned(),
        x: logarithmic("Task length", PageQuantity::Time),
        y: PageAxis::linear("Share of the variance", PageQuantity::Share),
        curves,
    });
    let title = format!("What the variance of process time is made of{what} (EMP section 8)");
    let tables = report.rows.chunks(PROGRAMS).map(|rows| shares_table(&title, rows, report.s, trimmed));
    Section::new(id, title.as_str(), "", figures_and_tables(figure, tables))
}

fn shares_table(heading: &str, rows: &[VarianceRow], s: f64, trimmed: bool) -> Table {
    let outliers = if trimmed {
        format!(" Outliers are beyond {s} standard deviations; a program without any has the shares of all samples.")
    } else {
        String::new()
    };
    let note = format!("Shares of the variance over samples, with 95 % intervals by a bootstrap of blocks.{outliers}");
    let columns = [Column::new("cause")].into_iter().chain(rows.iter().map(|r| Column::new(Cell::foreign(name(r)))));
    let mut table = Table::of(heading, note, columns);
    for cause in VarianceCause::ALL {
        let cells = rows.iter().map(|row| {
            let share = split(row, trimmed).shares.iter().find(|s| s.cause == cause);
            share.map(|s| share_cell(&s.share)).unwrap_or_default()
        });
        table.row([Cell::text(title(cause))].into_iter().chain(cells), Vec::new());
    }
    table
}

/// The share of one cause by task length; `None` where it is nowhere known, and where it is 0 by construction.
fn curve(report: &VarianceReport, cause: VarianceCause, look: usize, trimmed: bool) -> Option<PageCurve> {
    let found = report.rows.iter().filter_map(|row| {
        let share = split(row, trimmed).shares.iter().find(|s| s.cause == cause)?;
        let known = share.share.value()?;
        Some((row.size.filter(|s| *s > 0.0)? * 1e9, known))
    });
    let mut found: Vec<(f64, &KnownShare)> = found.collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    if found.iter().all(|(_, known)| known.interval.is_none()) {
        return None;
    }
    let low = found.iter().map(|(_, known)| known.interval.as_ref().map(|i| i.low)).collect();
    let high = found.iter().map(|(_, known)| known.interval.as_ref().map(|i| i.high)).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = found.iter().map(|(x, known)| (*x, known.share)).unzip();
    let band = Some(Band { title: "95 % interval", low, high });
    Some(PageCurve { title: title(cause).to_owned(), look, thin: false, join: Join::Straight, x, y, band })
}

/// Standard deviations of process time and its exact parts by task length.
fn spread_section(report: &VarianceReport) -> Section {
    let title = "Standard deviation of process time and of its parts";
    let note = "Charged: interrupts, softirqs and steal time that the kernel charged to the program. Net: process time \
                without them.";
    let columns = ["program", ">samples", ">process time", ">net time", ">charged", ">mean process time"];
    let mut table = Table::new(title, note, &columns);
    for row in &report.rows {
        let s = &row.all;
        let time = |ns: Option<f64>| ns.map_or_else(|| "not known".into(), Cell::time);
        let times = [Some(s.std_dev), s.net_std_dev, s.charged_std_dev, Some(s.mean)].map(time);
        table.row([Cell::foreign(name(row)), Cell::count(s.samples)].into_iter().chain(times), Vec::new());
    }
    let by_size = |pick: fn(&VarianceSplit) -> Option<f64>| {
        report.rows.iter().filter_map(move |r| r.size.zip(pick(&r.all))).collect::<Vec<(f64, f64)>>()
    };
    let curves = [
        by_length("process time".to_owned(), 0, by_size(|s| Some(s.std_dev))),
        by_length("net time".to_owned(), 1, by_size(|s| s.net_std_dev)),
        by_length("charged interrupts and steal".to_owned(), 2, by_size(|s| s.charged_std_dev)),
    ];
    let curves = curves.into_iter().flatten().collect();
    let y = ("Standard deviation", PageQuantity::Time);
    let figure = length_figure("variance-spread", "Standard deviation by task length (EMP figure 17)", "", y, curves);
    Section::new("variance-spread", title, "", figures_and_tables(figure, [table]))
}

/// Between executions and within them, where programs print their halves.
fn halves_section(report: &VarianceReport) -> Section {
    let title = "Between executions and within them";
    let note = "Share of the variance of the whole that both halves of an execution have in common (layout, placement, slow drift), \
                and what differs between the halves.";
    let columns = ["program", "between executions [95%]", ">within"];
    let mut table = Table::new(title, note, &columns);
    for row in &report.rows {
        let Some(between) = &row.all.between else { continue };
        let within = Cell::of(Unit::Share, 1.0 - between.share);
        table.row([Cell::foreign(name(row)), share_figure(between), within], Vec::new());
    }
    Section::new("variance-halves", title, "", [table])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::variance::VarianceShare;
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use tarebench_core::statistics::intervals::Interval;

    fn known(share: f64, origin: ShareOrigin) -> Reading<KnownShare> {
        let interval = match origin {
            ShareOrigin::NotCharged | ShareOrigin::Constant => None,
            _ => Some(Interval { low: share - 0.05, high: share + 0.05, level: 0.95 }),
        };
        Reading::Value(KnownShare { share, interval, origin })
    }

    fn row(size: f64) -> VarianceRow {
        let no_counters = || Reading::Absent(Absent::NotSupported("no PMU".to_owned()));
        let share = |cause| VarianceShare {
            cause,
            share: match cause {
                VarianceCause::Interrupts => known(0.4, ShareOrigin::Exact),
                VarianceCause::Steal => known(0.0, ShareOrigin::NotCharged),
                VarianceCause::Preemptions => known(0.02, ShareOrigin::Regression),
                VarianceCause::Faults | VarianceCause::Layout => known(0.0, ShareOrigin::Constant),
                VarianceCause::ClockSpeed | VarianceCause::PagePlacement => no_counters(),
                VarianceCause::Drift => known(0.3, ShareOrigin::Regression),
                VarianceCause::Unexplained => known(0.28, ShareOrigin::Remainder),
            },
        };
        let all = VarianceSplit {
            samples: 150,
            mean: size * 1e9,
            std_dev: 2e6,
            net_std_dev: Some(1.5e6),
            charged_std_dev: None,
            shares: VarianceCause::ALL.into_iter().map(share).collect(),
            between: known(0.6, ShareOrigin::Exact).value().cloned(),
        };
        VarianceRow {
            condition: String::new(),
            label: format!("INC{size}"),
            size: Some(size),
            all,
            trimmed: None,
            removed: 0,
            left_out: 1,
        }
    }

    #[test]
    fn shares_that_are_known_and_those_that_are_not() {
        let s = sheet(&VarianceReport { s: 5.0, rows: vec![row(1.0), row(2.0)], without: Vec::new() });
        assert_eq!(
            s.answers[0],
            "INC1, standard deviation of process time 2.00 ms: interrupts 40 % [35, 45], drift 30 % [25, 35]; unexplained 28 % \
             [23, 33]."
        );
        let table = &s.sections[0].tables().next().unwrap();
        let cells = |row: usize| table.rows[row].cells.as_slice();
        assert_eq!(cells(0), ["interrupts", "40 % [35, 45]", "40 % [35, 45]"]);
        assert_eq!(
            (cells(1)[1].plain().as_str(), cells(2)[1].plain().as_str()),
            ("0 % (not charged)", "2.0 % [−3.0, 7.0]")
        );
        assert_eq!((cells(3)[1].plain().as_str(), cells(4)[1].plain().as_str()), ("0 % (constant)", "not known"));
        assert_eq!((table.rows[4].numbers()[1], table.rows[0].numbers()[1]), (None, Some(0.4)));
        rows_fit(&s);
        // Interrupts, preemptions, drift, unexplained; nothing of what is 0 by construction or not known.
        let curves: Vec<&str> =
            s.sections[0].figures().next().unwrap().curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(curves, ["interrupts", "after preemptions", "drift", "unexplained"]);
        assert_eq!(
            s.sections.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
            ["variance", "variance-spread", "variance-halves"]
        );
        let said = |text: &str| remarks(&s).iter().filter(|r| r.contains(text)).count();
        assert_eq!((said("The share of clock speed is not available: no PMU."), said("1 of INC1, 1 of INC2")), (1, 1));
        assert_eq!(s.sections[2].tables().next().unwrap().rows[0].cells, ["INC1", "60 % [55, 65]", "40 %"]);
    }

    #[test]
    fn without_outliers_beside() {
        let mut with_outliers = row(1.0);
        with_outliers.trimmed = Some(with_outliers.all.clone());
        let s = sheet(&VarianceReport { s: 5.0, rows: vec![with_outliers], without: vec!["INC9".to_owned()] });
        assert_eq!(s.sections[1].id, "variance-trimmed");
        assert!(remarks(&s).iter().any(|r| r.ends_with("INC9.")));
    }
}
