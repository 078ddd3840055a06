//! An activity trace as a sheet: its timeline and the causes of its inactive periods.

use crate::trace::activity::Activity;
use crate::trace::said::{doubts, hidden_ticks};
use crate::trace::timeline::timeline;
use tarebench_core::base::hint::Hint;
use tarebench_core::base::reading::Reading;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::{PageKind, PageTimeline};

pub fn trace(a: &Activity, hints: &Hints, foot: String) -> Sheet {
    let timeline = timeline(a);
    let doubts = a.explained.value().map(doubts).unwrap_or_default();
    let full = a.made.full.then(|| {
        let raise = hints.sentence(&Hint::Threshold);
        format!("The trace ended early: the buffer for periods is full.{raise}")
    });
    let title = format!("Activity of a process on CPU {} at load {}", a.made.cpu, a.made.load);
    let causes = Item::Table(causes(&timeline));
    Sheet {
        subtitle: "When a computing process had its CPU, and what else ran on it".into(),
        facts: facts(a),
        remarks: doubts.into_iter().chain(full).map(SheetRemark::warning).collect(),
        sections: vec![Section::result([causes, Item::Timeline(Box::new(timeline))])],
        foot: foot.into(),
        ..Sheet::new(PageKind::Trace, title)
    }
}

fn facts(a: &Activity) -> Vec<SheetFact> {
    let (s, time) = (&a.summary, |cycles: f64| Cell::time(a.ns(cycles)));
    let active = Cell::of(Unit::Share, s.active).and(" of ").and(time(a.trace.length() as f64));
    let longest = s.longest.map(|l| Cell::text(", the longest ").and(time(l as f64)));
    let inactive = Cell::text(format!("{} periods over {} cycles", s.gaps, a.made.threshold));
    let mut all = vec![
        SheetFact::new("active", active),
        SheetFact::new("inactive", longest.into_iter().fold(inactive, Cell::and)),
    ];
    match &s.tick {
        Some(t) => {
            let every = Cell::text("every ").and(time(t.period)).and(format!(": {} a second", t.hz));
            all.push(SheetFact::new("tick", every));
            all.extend(t.min_cost.zip(t.median_cost).map(|(min, median)| {
                let least = time(min as f64).and(" at least, ");
                SheetFact::new("its cost", least.and(time(median)).and(" in the median"))
            }));
            all.extend(hidden_ticks(&a.ticks()).map(|said| SheetFact::new("ticks", said)));
        }
        None => all.push(SheetFact::new("tick", "not detected")),
    }
    let mhz = number::fixed(a.trace.hz() / 1e6, 1).unwrap_or_default();
    all.push(SheetFact::full("counter", format!("{mhz} MHz")));
    if let Reading::Absent(why) = &a.explained {
        let why = format!("{why}; causes are inferred from period and length");
        all.push(SheetFact::new("explained", Cell::text(why).paint(Paint::Dim)));
    }
    all
}

fn causes(t: &PageTimeline) -> Table {
    let note = "Each inactive period has one cause: the other task that had the CPU; otherwise the timer interrupt, \
                otherwise another interrupt.";
    let columns = ["cause", "periods", "time", "share", "each"].map(Column::new);
    let mut table = Table::of("Causes of inactive periods", note, columns);
    for c in &t.causes {
        let cells = [
            c.title.clone(),
            Cell::count(c.gaps),
            Cell::time(c.time),
            Cell::of(Unit::Share, c.share),
            Cell::time((c.gaps > 0).then(|| c.time / f64::from(c.gaps))),
        ];
        table.row(cells, Vec::new());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::{Made, json};
    use tarebench_core::base::reading::Absent;
    use tarebench_core::trace::activity::{Gap, Trace};
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;

    /// The inactive periods of CS:APP figure 9.5: start and duration, cycles since the beginning.
    const INACTIVE: [(u64, u64); 8] = [
        (5_224_961, 247_557),
        (6_331_089, 8_297),
        (10_696_823, 5_718_758),
        (18_462_699, 7_153),
        (21_640_502, 5_726_129),
        (32_584_174, 5_718_135),
        (40_661_590, 7_096),
        (43_527_913, 5_718_793),
    ];

    fn unexplained(trace: Trace) -> Activity {
        let made = Made { cpu: 0, load: 1, threshold: 1, full: false };
        let why = Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".to_owned());
        Activity::new(trace, made, Reading::Absent(why))
    }

    /// Practice problem 9.2: figure 9.5 has nine timer interrupts, four of them while another process had the CPU.
    #[test]
    fn ticks_without_a_period_of_their_own_are_counted() {
        let gaps = INACTIVE.map(|(start, duration)| Gap { start, duration }).to_vec();
        let a = unexplained(Trace::new(549.9e6, gaps.last().unwrap().end(), gaps).unwrap());
        let shown = sheet_text(&trace(&a, &Hints::default(), String::new()), &Style::default());
        let line = "9 in all: 5 interrupted the process, 4 came while it had no CPU";
        assert!(shown.lines().any(|l| l.ends_with(line)), "{shown}");
        let document: serde_json::Value = serde_json::from_str(&json(&a).unwrap()).unwrap();
        let found: Vec<&str> =
            document["ticks"].as_array().unwrap().iter().map(|t| t["sight"]["found"].as_str().unwrap()).collect();
        assert_eq!((found.len(), found.iter().filter(|f| **f == "inactive").count()), (9, 4));
        assert_eq!(hidden_ticks(&[]), None);
    }
}
