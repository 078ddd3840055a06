//! The sheet of a study in its outputs: everything is shown in each.

use crate::sheets::published::published_section;
use crate::sheets::published_curves::add_published;
use tarebench_report::csv;
use tarebench_report::error::RenderError;
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::style::{Paint, Style};
use tarebench_report::terminal;
use tarebench_report::web::page::Page;

/// Its title, answers, facts, remarks and tables.
pub fn study_text(sheet: &Sheet, style: &Style) -> String {
    let full = Style { full: true, ..style.clone() };
    let text = terminal::sheet_text(sheet, &full);
    if sheet.answers.is_empty() {
        return text;
    }
    let mut title = ScreenText::new(&full);
    title.hang(&[], Paint::Title, &sheet.title.write(&Form::terminal(&full)));
    title.finish() + &text
}

/// With the values that the papers printed: `study scaling`.
pub fn study_page(mut sheet: Sheet, command: &str) -> Page {
    sheet.sections.extend(published_section(command));
    let mut page = sheet.into_page();
    add_published(command, &mut page);
    page
}

/// A file name and the text of each table that has rows: the section's id, with a number from the second table on.
///
/// Numbers are not rounded, in the base unit of their column (ns, bytes, 1 for shares); other cells are as they are shown.
pub fn csv_files(sections: &[Section]) -> Result<Vec<(String, String)>, RenderError> {
    let mut files = Vec::new();
    for section in sections {
        for (i, table) in section.tables().enumerate() {
            let name = if i == 0 { format!("{}.csv", section.id) } else { format!("{}-{}.csv", section.id, i + 1) };
            files.push((name, csv::table(table)?));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::StudyPreset;
    use crate::data::series::{
        SampleStudy, SampleStudyPlan, StudyGap, StudyLeftOut, StudyProgram, StudyRunPart, StudyRunPlan, StudyWork,
    };
    use crate::sheets::published::published_text;
    use crate::sheets::sheet::{figures_and_tables, study_sheet};
    use crate::sheets::view::StudyView;
    use std::collections::BTreeMap;
    use tarebench_core::base::date::TimeZone;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
    use tarebench_report::cell::Cell;
    use tarebench_report::svg::figures::figures;
    use tarebench_report::table::Table;
    use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

    /// A study without samples, of a hostile title.
    struct GapView {
        head: DocumentHead,
        plan: SampleStudyPlan,
        parts: Vec<StudyRunPart>,
        left_out: Vec<StudyLeftOut>,
    }

    fn gap_view() -> GapView {
        let head = DocumentHead {
            kind: DocumentKind::Study,
            number: 3,
            uuid: "0".repeat(32),
            title: "ntp\u{1b}[2J (minutes)".to_owned(),
            created: Nanos(0),
            status: Status::Interrupted,
            tool: "0.1.0".to_owned(),
            machine: "box".to_owned(),
            conditions: None,
            tags: BTreeMap::new(),
        };
        let program = StudyProgram { label: "INC1".to_owned(), work: StudyWork::Inc { seconds: 1.0 }, size: Some(1.0) };
        let run = |condition: &str| StudyRunPlan {
            condition: condition.to_owned(),
            setting: None,
            programs: vec![program.clone()],
            samples: 5,
            warmup: 1,
        };
        let plan = SampleStudyPlan {
            sample_study: SampleStudy::Ntp,
            preset: StudyPreset::Minutes,
            cpus: Vec::new(),
            seed: 1,
            runs: vec![run("NTP off"), run("NTP on")],
        };
        let left = StudyLeftOut { condition: "NTP on".to_owned(), left_out: "there is no daemon".to_owned() };
        GapView { head, plan, parts: Vec::new(), left_out: vec![left] }
    }

    /// Of a study without samples, with what a report would say.
    fn sheet() -> Sheet {
        let stored = gap_view();
        let view = StudyView {
            head: &stored.head,
            plan: &stored.plan,
            parts: &stored.parts,
            left_out: &stored.left_out,
            report: Err(StudyGap::NoSamples),
        };
        let mut alone = Table::new("Process time (EMP table VI)", "Of all samples.", &["program", ">mean"]);
        alone.row([Cell::foreign("INC\u{1b}1"), Cell::time(1050.0)], Vec::new());
        let mut second = Table::new("Again", "", &["program"]);
        second.row([Cell::foreign("INC2")], Vec::new());
        let note = "How to read it.";
        let sections = [
            Section::new("one", "Process time (EMP table VI)", note, [alone.clone()]),
            Section::new("both", "Two tables", "", [alone, second]),
            Section::new("growth", "Only figures", "", figures_and_tables(growth(), [])),
            Section::new("none", "Nothing", "", [Table::default()]),
        ];
        let found = study_sheet(["Spread falls by 30 %."], ["Few samples."], sections);
        let own = view.sheet(&TimeZone::UTC, "foot");
        Sheet {
            answers: found.answers,
            remarks: own.remarks.into_iter().chain(found.remarks).collect(),
            sections: found.sections,
            ..own
        }
    }

    /// One figure without a curve, and one with every kind of curve.
    fn growth() -> [PageFigure; 2] {
        let curve = |title: &str, join, x: Vec<f64>, y: Vec<f64>, band| PageCurve {
            title: title.to_owned(),
            look: 0,
            thin: false,
            join,
            x,
            y,
            band,
        };
        let band = Band { title: "95 %", low: vec![Some(1.0), None], high: vec![Some(3.0), None] };
        let axis = |title| PageAxis::scaled(title, PageQuantity::Time, &[PageScale::Log]);
        let curves = vec![
            curve("<straight>", Join::Straight, vec![1e9, 1e10], vec![2e6, 3e6], Some(band)),
            curve("steps", Join::Before, vec![1e9, 1e10], vec![2e6, 3e6], None),
            curve("steps after", Join::After, vec![1e9, 1e10], vec![2e6, 3e6], None),
            curve("points", Join::Points, vec![1e9, 1e9, 1e10], vec![2e6, 4e6, 3e6], None),
        ];
        let figure = PageFigure {
            id: "growth".to_owned(),
            title: "spread \u{1b}[2J".to_owned(),
            note: String::new(),
            x: axis("Task length"),
            y: axis("Standard deviation"),
            curves,
        };
        [PageFigure { curves: Vec::new(), ..figure.clone() }, figure]
    }

    #[test]
    fn the_terminal_has_answers_facts_remarks_and_tables() {
        let text = study_text(&sheet(), &Style { width: 100, ..Style::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(r"Study s3: ntp\x1b"), "{text}");
        let at = |what: &str| {
            let found = lines.iter().position(|l| l.contains(what));
            found.unwrap_or_else(|| panic!("no {what:?} in\n{text}"))
        };
        let order = [
            "Spread falls by 30 %.",
            "  paper",
            "  question",
            "0 of 2 runs",
            "! The study is not finished: 1 of 2 runs are missing.",
            "! There is no result: there are no samples.",
            "! `NTP on` was left out: there is no daemon.",
            "Few samples.",
            "Process time (EMP table VI)",
            "Two tables",
            "Again",
        ];
        let places: Vec<usize> = order.into_iter().map(at).collect();
        assert!(places.is_sorted(), "{places:?}\n{text}");
        assert!(!text.contains("Only figures") && !text.contains("Nothing") && !text.contains('\u{1b}'), "{text}");
        let ascii = study_text(&sheet(), &Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii() && ascii.contains("1.05 us"), "{ascii}");
    }

    #[test]
    fn published_values_stand_alone() {
        let mut table = Table::new("EMP table IV: INC8", "", &["program"]);
        table.row(["INC8"], Vec::new());
        let text = published_text(&[table], &Style::default());
        assert!(text.starts_with("\nPublished values\n") && text.contains("EMP table IV: INC8"), "{text}");
        assert_eq!(published_text(&[], &Style::default()), "");
    }

    #[test]
    fn every_kind_of_curve_is_drawn() {
        let page = study_page(sheet(), "study ntp");
        let said = |text: &str| page.remarks.iter().any(|r| r.warning && r.text.plain().contains(text));
        assert!(said("There is no result"), "{page:?}");
        assert!(page.title.plain().contains(r"\x1b") && !page.title.plain().contains('\u{1b}'), "{}", page.title);
        let files = figures(&page).unwrap();
        let [(name, svg)] = files.as_slice() else { panic!("{files:?}") };
        assert!(name == "growth.svg" && !svg.contains('\u{1b}'));
        let tree = roxmltree::Document::parse(svg).unwrap();
        let classes = |class: &str| tree.descendants().filter(|n| n.attribute("class") == Some(class)).count();
        assert_eq!((classes("curve"), classes("points")), (3, 4), "{svg}");
        let ids: Vec<&str> = page.parts.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids[..3], ["one", "both", "growth"], "nothing is no part");
    }

    #[test]
    fn numbers_are_whole_and_formulas_are_texts() {
        let mut table = Table::new("t", "", &["program", ">mean", ">share"]);
        table.row([Cell::foreign("=1+1"), Cell::time(1_234_567.5), "5 %".into()], Vec::new());
        table.row([Cell::foreign("a,\"b\""), Cell::absent()], Vec::new());
        let empty = Table::new("nothing", "", &["x"]);
        let files = csv_files(&[Section::new("s", "", "", [empty, table.clone(), table])]).unwrap();
        let names: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(names, ["s.csv", "s-2.csv"]);
        assert_eq!(files[0].1, "program,mean,share\n'=1+1,1234567.5,5 %\n\"a,\"\"b\"\"\",,\n");
    }
}
