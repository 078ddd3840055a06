//! The study of the worst samples as tables.

use crate::data::worst::{ERROR, WorstFamily, WorstReport, WorstSample};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{linear, ms, named};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageCurve, PageFigure, PageQuantity};

/// Tables 5 and 9 to 12 of the report on program execution time.
pub fn sheet(report: &WorstReport) -> StudySheet {
    let first = report.samples.iter().filter(|s| s.rank == 1);
    let mut sections = vec![overview(report)];
    sections.extend(report.samples.iter().enumerate().map(|(i, s)| section(i + 1, s)));
    StudySheet { answers: first.map(answer).collect(), remarks: remarks(report), sections }
}

fn name(s: &WorstSample) -> String {
    named(&s.label, &s.condition)
}

fn time(ns: f64) -> String {
    number::time(ns, None, true).unwrap_or_default()
}

fn answer(s: &WorstSample) -> String {
    let unusual: Vec<&WorstFamily> = s.families.iter().filter(|f| f.unusual).collect();
    let over = time(s.process_time - s.usual_process_time);
    let begin = format!("{}: the worst sample, number {}, took {over} more than the median", name(s), s.number);
    // The smallest chance that n others can show is 1 / (n + 1).
    if unusual.is_empty() && ERROR * (f64::from(s.others) + 1.0) < s.families.len() as f64 {
        let families = s.families.len();
        return format!(
            "{begin}; {} other samples are too few to call one of {families} families of daemons unusual.",
            s.others
        );
    }
    if unusual.is_empty() {
        return format!("{begin}; no daemon used unusually much CPU time in it.");
    }
    let each = unusual.iter().map(|f| {
        let most = if f.most > 0.0 { format!("at most {}", time(f.most)) } else { "none".to_owned() };
        format!("{} used {} ({most} in the {} others)", f.name, time(f.time), s.others)
    });
    format!("{begin}; {}.", each.collect::<Vec<String>>().join(", "))
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
fn overview(report: &WorstReport) -> SheetSection {
    let title = "Worst samples";
    let columns =
        ["program", ">rank", ">sample", ">process time", ">median", ">over it", ">daemons", ">usual", ">over it"];
    let note = "Times in ms. Daemons: their CPU time together, and its median in the other samples.";
    let mut table = Table::new(title, note, &columns);
    for s in &report.samples {
        let values = [
            s.process_time,
            s.usual_process_time,
            s.process_time - s.usual_process_time,
            s.total,
            s.usual_total,
            s.total - s.usual_total,
        ];
        let head = [name(s), s.rank.to_string(), s.number.to_string()];
        table.row(head.into_iter().chain(values.into_iter().map(ms)), Vec::new());
        let numbers = [None, Some(f64::from(s.rank)), Some(f64::from(s.number))];
        table.values(numbers.into_iter().chain(values.into_iter().map(Some)).collect());
    }
    SheetSection {
        id: "worst".to_owned(),
        title: title.to_owned(),
        note: String::new(),
        tables: vec![table],
        figures: excess_figure(report).into_iter().collect(),
    }
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
        x: linear("Daemons' time over the usual", PageQuantity::Time),
        y: linear("Process time over the median", PageQuantity::Time),
        curves: vec![curve],
    })
}

/// The daemons of one sample: unfolded as the report's tables, and by family beside the other samples.
fn section(number: usize, s: &WorstSample) -> SheetSection {
    let name = name(s);
    SheetSection {
        id: format!("worst-{number}"),
        title: format!("{name}, sample {}: {} ms", s.number, ms(s.process_time)),
        note: String::new(),
        tables: vec![unfolded(&name, s), folded(&name, s)],
        figures: Vec::new(),
    }
}

fn unfolded(name: &str, s: &WorstSample) -> Table {
    let title = format!("Daemons in sample {} of {name} (the report's tables 5, 9 to 12)", s.number);
    let mut table =
        Table::new(title, "Each process by its name; CPU time in ms.", &["daemon process", "kind", ">program time"]);
    for p in &s.processes {
        let kind = if p.kind == TaskKind::Kernel { "kernel" } else { "user" };
        table.row(vec![p.name.clone(), kind.to_owned(), ms(p.time)], Vec::new());
        table.values(vec![None, None, Some(p.time)]);
    }
    table.row(vec!["Total".to_owned(), String::new(), ms(s.total)], Vec::new());
    table.values(vec![None, None, Some(s.total)]);
    table
}

fn folded(name: &str, s: &WorstSample) -> Table {
    let title = format!("Families of daemons in sample {} of {name}, and in the {} others", s.number, s.others);
    let note = "CPU time in ms. Usual: the median of the other samples, 0 if it ran in fewer than half of them.";
    let columns =
        ["family", ">processes", ">time", ">usual", ">most", ">ran in others", ">as long in others", "unusual"];
    let mut table = Table::new(title, note, &columns);
    for f in &s.families {
        let counts = [f.ran_in, f.as_long_in];
        let cells = vec![
            f.name.clone(),
            f.processes.to_string(),
            ms(f.time),
            ms(f.usual),
            ms(f.most),
            f.ran_in.to_string(),
            f.as_long_in.to_string(),
            if f.unusual { "yes".to_owned() } else { String::new() },
        ];
        table.row(cells, Vec::new());
        let times = [f.time, f.usual, f.most].map(Some);
        let head = [None, Some(f64::from(f.processes))];
        let values = head.into_iter().chain(times).chain(counts.map(|n| Some(f64::from(n)))).chain([None]);
        table.values(values.collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::worst::WorstProcess;

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
        let unfolded = &s.sections[1].tables[0];
        assert_eq!(unfolded.rows.len(), 4);
        assert_eq!(unfolded.rows[3].cells, ["Total", "", "659"]);
        assert_eq!(unfolded.rows[3].numbers(), [None, None, Some(659e6)]);
        for table in s.sections.iter().flat_map(|s| &s.tables) {
            assert!(
                table.rows.iter().all(|r| r.cells.len() == table.columns.len() && r.numbers().len() == r.cells.len())
            );
        }
        assert_eq!(s.sections[0].tables[0].rows[0].cells[5..], ["74.0", "659", "198", "461"]);
    }

    #[test]
    fn nothing_unusual_is_said_to_be_so() {
        let mut sample = worst();
        sample.families.iter_mut().for_each(|f| f.unusual = false);
        let s = sheet(&WorstReport { samples: vec![sample], without: vec!["INC4".to_owned()] });
        assert!(s.answers[0].ends_with("no daemon used unusually much CPU time in it."), "{:?}", s.answers);
        assert!(s.remarks.iter().any(|r| r.ends_with("INC4.")));
    }
}
