//! The study of the worst samples as tables.

use crate::data::worst::{ERROR, WorstFamily, WorstReport, WorstSample};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::named;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity};

/// Tables 5 and 9 to 12 of the report on program execution time.
pub fn sheet(report: &WorstReport) -> Sheet {
    let first = report.samples.iter().filter(|s| s.rank == 1);
    let mut sections = vec![overview(report)];
    sections.extend(report.samples.iter().enumerate().map(|(i, s)| section(i + 1, s)));
    study_sheet(first.map(answer), remarks(report), sections)
}

fn name(s: &WorstSample) -> String {
    named(&s.label, &s.condition)
}

fn answer(s: &WorstSample) -> Cell {
    let unusual: Vec<&WorstFamily> = s.families.iter().filter(|f| f.unusual).collect();
    let begin = Cell::text(format!("{}: the worst sample, number {}, took ", name(s), s.number))
        .and(Cell::time(s.process_time - s.usual_process_time))
        .and(" more than the median; ");
    // The smallest chance that n others can show is 1 / (n + 1).
    if unusual.is_empty() && ERROR * (f64::from(s.others) + 1.0) < s.families.len() as f64 {
        let families = s.families.len();
        let few = "other samples are too few to call one of";
        return begin.and(format!("{} {few} {families} families of daemons unusual.", s.others));
    }
    if unusual.is_empty() {
        return begin.and("no daemon used unusually much CPU time in it.");
    }
    let used = |said: Cell, (i, f): (usize, &&WorstFamily)| {
        let said =
            said.and(if i == 0 { "" } else { ", " }).and(Cell::foreign(&f.name)).and(" used ").and(Cell::time(f.time));
        let most = if f.most > 0.0 { Cell::text("at most ").and(Cell::time(f.most)) } else { "none".into() };
        said.and(" (").and(most).and(format!(" in the {} others)", s.others))
    };
    unusual.iter().enumerate().fold(begin, used).and(".")
}

fn remarks(report: &WorstReport) -> Vec<String> {
    let mut remarks = vec![
        "A family of daemons is unusual if it used more than in almost all other samples, with an error of 5 % for all families of \
         a sample together (Holm). That it ran does not say that it made the sample longer."
            .to_owned(),
    ];
    if !report.without.is_empty() {
        remarks.push(format!("No process times or snapshots of all processes: {}.", report.without.join(", ")));
    }
    let incomplete: Vec<String> =
        report.samples.iter().filter(|s| s.incomplete).map(|s| format!("{} {}", name(s), s.number)).collect();
    if !incomplete.is_empty() {
        remarks.push(format!("Lists of daemons that may lack some: {}.", incomplete.join(", ")));
    }
    remarks
}

/// A row for each worst sample.
fn overview(report: &WorstReport) -> Section {
    let title = "Worst samples";
    let columns =
        ["program", ">rank", ">sample", ">process time", ">median", ">over it", ">daemons", ">usual", ">over it"];
    let note = "Daemons: their CPU time together, and its median in the other samples.";
    let mut table = Table::new(title, note, &columns);
    for s in &report.samples {
        let over = s.process_time - s.usual_process_time;
        // With the digits in which they differ.
        let program = |ns| Cell::figure(Figure { digits: Some(over.abs()), ..Figure::new(Unit::Time, ns) });
        let daemons = [s.total, s.usual_total, s.total - s.usual_total].map(Cell::time);
        let head = [Cell::foreign(name(s)), Cell::count(s.rank), Cell::count(s.number)].into_iter();
        let times = [program(s.process_time), program(s.usual_process_time), Cell::time(over)].into_iter();
        table.row(head.chain(times).chain(daemons), Vec::new());
    }
    Section::new("worst", title, "", figures_and_tables(excess_figure(report), [table]))
}

/// What the worst samples took over the median, against what the daemons did.
fn excess_figure(report: &WorstReport) -> Option<PageFigure> {
    let mut points: Vec<(f64, f64)> =
        report.samples.iter().map(|s| (s.total - s.usual_total, s.process_time - s.usual_process_time)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    let title = "worst samples".to_owned();
    let curve = PageCurve { title, look: 0, thin: false, join: Join::Points, x, y, band: None };
    (!curve.x.is_empty()).then(|| PageFigure {
        id: "worst".to_owned(),
        title: "What the worst samples and the daemons in them took over the usual".to_owned(),
        note: "A point for each of the worst samples.".to_owned(),
        x: PageAxis::linear("Daemons' time over the usual", PageQuantity::Time),
        y: PageAxis::linear("Process time over the median", PageQuantity::Time),
        curves: vec![curve],
    })
}

/// The daemons of one sample: unfolded as the report's tables, and by family beside the other samples.
fn section(number: usize, s: &WorstSample) -> Section {
    let name = name(s);
    Section::new(
        format!("worst-{number}"),
        Cell::foreign(&name).and(format!(", sample {}: ", s.number)).and(Cell::time(s.process_time)),
        "",
        [unfolded(&name, s), folded(&name, s)],
    )
}

fn unfolded(name: &str, s: &WorstSample) -> Table {
    let title = format!("Daemons in sample {} of {name} (the report's tables 5, 9 to 12)", s.number);
    let mut table =
        Table::new(title, "Each process by its name; CPU time.", &["daemon process", "kind", ">program time"]);
    for p in &s.processes {
        let kind = if p.kind == TaskKind::Kernel { "kernel" } else { "user" };
        table.row([Cell::foreign(&p.name), kind.into(), Cell::time(p.time)], Vec::new());
    }
    table.row([Cell::text("Total"), Cell::empty(), Cell::time(s.total)], Vec::new());
    table
}

fn folded(name: &str, s: &WorstSample) -> Table {
    let title = format!("Families of daemons in sample {} of {name}, and in the {} others", s.number, s.others);
    let note = "CPU time. Usual: the median of the other samples, 0 if it ran in fewer than half of them.";
    let columns =
        ["family", ">processes", ">time", ">usual", ">most", ">ran in others", ">as long in others", "unusual"];
    let mut table = Table::new(title, note, &columns);
    for f in &s.families {
        let cells = [
            Cell::foreign(&f.name),
            Cell::count(f.processes),
            Cell::time(f.time),
            Cell::time(f.usual),
            Cell::time(f.most),
            Cell::count(f.ran_in),
            Cell::count(f.as_long_in),
            if f.unusual { "yes" } else { "" }.into(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::worst::WorstProcess;
    use crate::sheets::sheet::tests::{remarks, rows_fit};

    fn worst() -> WorstSample {
        let process = |name: &str, kind, time| WorstProcess { name: name.to_owned(), kind, time };
        let family = |name: &str, time, usual, as_long_in, unusual| WorstFamily {
            name: name.to_owned(),
            processes: 1,
            time,
            usual,
            most: usual,
            ran_in: if usual > 0.0 { 299 } else { 0 },
            as_long_in,
            unusual,
        };
        // The report's table 5.
        WorstSample {
            condition: String::new(),
            label: "INC2".to_owned(),
            size: Some(2.0),
            number: 5276,
            rank: 1,
            process_time: 2078e6,
            usual_process_time: 2004e6,
            processes: vec![
                process("rhn_check", TaskKind::User, 460e6),
                process("proc_monitor", TaskKind::User, 198e6),
                process("md0_raid1", TaskKind::Kernel, 1e6),
            ],
            families: vec![
                family("rhn_check", 460e6, 0.0, 0, true),
                family("proc_monitor", 198e6, 197e6, 120, false),
                family("md0_raid1", 1e6, 1e6, 280, false),
            ],
            total: 659e6,
            usual_total: 198e6,
            others: 299,
            incomplete: false,
        }
    }

    #[test]
    fn the_reports_table_5() {
        let s = sheet(&WorstReport { samples: vec![worst()], without: Vec::new() });
        assert_eq!(
            s.answers,
            [
                "INC2: the worst sample, number 5276, took 74.0 ms more than the median; rhn_check used 460 ms (none in the 299 \
              others)."
            ]
        );
        let unfolded = &s.sections[1].tables().next().unwrap();
        assert_eq!(unfolded.rows.len(), 4);
        assert_eq!(unfolded.rows[3].cells, ["Total", "", "659 ms"]);
        assert_eq!(unfolded.rows[3].numbers(), [None, None, Some(659e6)]);
        rows_fit(&s);
        assert_eq!(
            s.sections[0].tables().next().unwrap().rows[0].cells[5..],
            ["74.0 ms", "659 ms", "198 ms", "461 ms"]
        );
    }

    #[test]
    fn nothing_unusual_is_said_to_be_so() {
        let mut sample = worst();
        sample.families.iter_mut().for_each(|f| f.unusual = false);
        let s = sheet(&WorstReport { samples: vec![sample], without: vec!["INC4".to_owned()] });
        assert!(s.answers[0].plain().ends_with("no daemon used unusually much CPU time in it."), "{:?}", s.answers);
        assert!(remarks(&s).iter().any(|r| r.ends_with("INC4.")));
    }
}
