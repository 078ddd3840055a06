//! The same study on several machines or kernels, as tables and figures (CS:APP figures 9.14, 9.16 to 9.19 and 9.22).

use crate::data::compared::{ACCURATE, ComparedErrors, ComparedStudies, ComparedTiming};
use crate::sheets::cells::{FLOOR, counted};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::logarithmic;
use tarebench_core::documents::head::DocumentHead;
use tarebench_render::documents::machine::described;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::{Column, Table};
use tarebench_report::text::escape;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

/// What a study is called beside others: its number, machine and kernel.
fn label(head: &DocumentHead) -> String {
    let kernel = head.conditions.as_deref().map(|c| format!(", Linux {}", c.host().kernel)).unwrap_or_default();
    let id = if head.number == 0 { String::new() } else { format!("{}: ", head.id()) };
    format!("{id}{}", escape(&format!("{}{kernel}", head.machine)))
}

fn title(timing: ComparedTiming) -> String {
    match timing {
        ComparedTiming::Kbest => "K-best (CS:APP figures 9.14, 9.17 to 9.19)".to_owned(),
        ComparedTiming::Compensated => "K-best, compensated for timer interrupts (CS:APP figure 9.16)".to_owned(),
        ComparedTiming::ThreadCpu => "K-best with the thread's CPU time".to_owned(),
        ComparedTiming::Gettimeofday => "K-best with gettimeofday (CS:APP figure 9.22)".to_owned(),
        ComparedTiming::Interval(how) => format!("CPU time by {} (CS:APP figure 9.8)", counted(how)),
    }
}

fn stem(timing: ComparedTiming) -> &'static str {
    use crate::data::report::CpuTimeCounting as By;
    match timing {
        ComparedTiming::Kbest => "kbest",
        ComparedTiming::Compensated => "compensated",
        ComparedTiming::ThreadCpu => "thread-cpu",
        ComparedTiming::Gettimeofday => "gettimeofday",
        ComparedTiming::Interval(By::Ticks) => "interval-counting",
        ComparedTiming::Interval(By::Times) => "times",
        ComparedTiming::Interval(By::Rusage) => "getrusage",
        ComparedTiming::Interval(By::Cpu) => "exact",
    }
}

/// Median errors by length, a column for each study.
fn table(errors: &ComparedErrors, labels: &[String]) -> Table {
    let columns = labels.iter().map(|label| Column { right: true, ..Column::new(Cell::foreign(label)) });
    let title = format!("Median error under load {}", errors.load);
    let mut table = Table::of(title, "", [">length".into()].into_iter().chain(columns));
    for row in &errors.rows {
        let medians = row.medians.iter().map(|median| Cell::of(Unit::Share, *median));
        table.row([Cell::time(row.length)].into_iter().chain(medians), Vec::new());
    }
    table
}

fn figure(errors: &ComparedErrors, labels: &[String]) -> Option<PageFigure> {
    let of_kbest = !matches!(errors.timing, ComparedTiming::Interval(_));
    let curve = |(look, label): (usize, &String)| {
        let known = errors.rows.iter().filter_map(|r| Some((r.length, r.medians.get(look).copied().flatten()?)));
        let (x, y): (Vec<f64>, Vec<f64>) = known.unzip();
        let title = label.clone();
        (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: None })
    };
    let curves: Vec<PageCurve> = labels.iter().enumerate().filter_map(curve).collect();
    // Errors of counting have both signs.
    let (scales, floor, below): (&[PageScale], _, _) = if of_kbest {
        (&[PageScale::Log, PageScale::Linear], Some(FLOOR), " Less than 0.1 % is drawn as 0.1 %, as in the book.")
    } else {
        (&[PageScale::Linear], None, "")
    };
    (!curves.is_empty()).then(|| PageFigure {
        id: format!("{}-load-{}", stem(errors.timing), errors.load),
        title: format!("{}, load {}", title(errors.timing), errors.load),
        note: format!("Median of (measured - T(r)) / T(r), a curve for each study.{below}"),
        x: logarithmic("Expected length", PageQuantity::Time),
        y: PageAxis { floor, ..PageAxis::scaled("Error as a multiple of T(r)", PageQuantity::Ratio, scales) },
        curves,
    })
}

/// Up to which length each machine can be trusted.
fn answer(errors: &ComparedErrors, labels: &[String]) -> String {
    let measured = |i: usize| errors.rows.iter().any(|r| r.medians.get(i).copied().flatten().is_some());
    let each = labels.iter().zip(&errors.accurate).enumerate().map(|(i, (label, accurate))| match accurate {
        Some(length) => format!("{label} up to {}", Cell::time(*length)),
        None if measured(i) => format!("{label} at no length"),
        None => format!("{label} not measured"),
    });
    let each: Vec<String> = each.collect();
    let within = number::percent(ACCURATE).unwrap_or_default();
    format!("{}, load {}: within {within} are {}.", title(errors.timing), errors.load, each.join("; "))
}

/// Tables and figures of studies beside each other, whose heads are in the same order.
pub fn sheet(compared: &ComparedStudies, heads: &[&DocumentHead]) -> Sheet {
    let labels: Vec<String> = heads.iter().map(|h| label(h)).collect();
    let section = |errors: &ComparedErrors| {
        Section::new(
            format!("{}-load-{}", stem(errors.timing), errors.load),
            format!("{}, load {}", title(errors.timing), errors.load),
            "",
            figures_and_tables(figure(errors, &labels), [table(errors, &labels)]),
        )
    };
    let machine = |head: &&DocumentHead| {
        let facts =
            described(head).map_or_else(|| "its machine is not recorded".to_owned(), |m| escape(&m).into_owned());
        format!("{}: {facts}.", label(head))
    };
    study_sheet(
        compared.errors.iter().map(|e| answer(e, &labels)),
        heads.iter().map(machine),
        compared.errors.iter().map(section),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::Study;
    use crate::data::compared::ComparedRow;
    use crate::sheets::sheet::tests::remarks;
    use std::collections::BTreeMap;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::{DocumentKind, Status};

    fn head(number: i64, machine: &str) -> DocumentHead {
        DocumentHead {
            kind: DocumentKind::Study,
            number,
            uuid: "0".repeat(32),
            title: "kbest".to_owned(),
            created: Nanos(0),
            status: Status::Finished,
            tool: "0.1.0".to_owned(),
            machine: machine.to_owned(),
            conditions: None,
            tags: BTreeMap::new(),
        }
    }

    #[test]
    fn machines_have_a_column_and_a_curve_each() {
        let row = |length, a, b| ComparedRow { length, medians: vec![a, b] };
        let errors = ComparedErrors {
            timing: ComparedTiming::Kbest,
            load: 11,
            rows: vec![
                row(1e7, Some(0.005), Some(0.002)),
                row(4.8e7, Some(0.009), Some(0.3)),
                row(1e8, None, Some(0.4)),
            ],
            accurate: vec![Some(4.8e7), None],
        };
        let compared = ComparedStudies { study: Study::Kbest, errors: vec![errors] };
        let (first, second) = (head(1, "nt"), head(2, "alpha\u{1b}"));
        let sheet = sheet(&compared, &[&first, &second]);
        assert!(
            sheet.answers[0].plain().contains("within 1.0 % are s1: nt up to 48.0 ms; s2: alpha"),
            "{}",
            sheet.answers[0]
        );
        assert!(sheet.answers[0].plain().contains("at no length") && !sheet.answers[0].plain().contains('\u{1b}'));
        let [section] = sheet.sections.as_slice() else { panic!("{sheet:?}") };
        assert_eq!(section.id, "kbest-load-11");
        let table = &section.tables().next().unwrap();
        assert_eq!(table.rows[1].cells, ["48.0 ms", "0.90 %", "30 %"]);
        assert_eq!(table.rows[2].numbers(), [Some(1e8), None, Some(0.4)]);
        let curves: Vec<usize> = section.figures().next().unwrap().curves.iter().map(|c| c.x.len()).collect();
        assert_eq!(curves, [2, 3]);
        assert!(remarks(&sheet)[0].contains("not recorded"), "{:?}", sheet.remarks);
    }
}
