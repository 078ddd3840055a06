//! A study of samples on the terminal.

use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::view::StudyView;
use tarebench_report::cell::Cell;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;

/// The study's facts, answers and tables; `published` are the papers' values, if they are asked for.
pub fn study_text(view: &StudyView<'_>, published: &[Table], style: &Style) -> String {
    drawn(view, &view.sheet(), published, style)
}

fn drawn(view: &StudyView<'_>, sheet: &StudySheet, published: &[Table], style: &Style) -> String {
    let full = Style { full: true, ..style.clone() };
    let mut page = ScreenText::new(&full);
    page.title(&style.prose(&view.title()));
    let mut before = "";
    for (name, text) in view.facts() {
        let paint = if name == "not held" { Paint::Warn } else { Paint::Plain };
        page.painted_field(if name == before { "" } else { name }, paint, &style.prose(&text));
        before = name;
    }
    page.gap();
    for answer in &sheet.answers {
        page.hang(&[], Paint::Strong, &style.prose(answer));
    }
    for remark in view.warnings().iter().chain(&sheet.remarks) {
        let mark = page.g.warning;
        page.hang(&[(Paint::Warn, format!("{mark} "))], Paint::Plain, &style.prose(remark));
    }
    for section in &sheet.sections {
        draw_section(&mut page, section);
    }
    draw_published(&mut page, published);
    page.finish()
}

/// A sheet that is of no single study: its answers, remarks and tables below a title.
pub fn sheet_text(title: &str, sheet: &StudySheet, style: &Style) -> String {
    let full = Style { full: true, ..style.clone() };
    let mut page = ScreenText::new(&full);
    page.hang(&[], Paint::Title, &style.prose(title));
    for answer in &sheet.answers {
        page.hang(&[], Paint::Strong, &style.prose(answer));
    }
    for remark in &sheet.remarks {
        let mark = page.g.warning;
        page.hang(&[(Paint::Warn, format!("{mark} "))], Paint::Plain, &style.prose(remark));
    }
    for section in &sheet.sections {
        draw_section(&mut page, section);
    }
    page.finish()
}

/// The papers' values alone, below what is printed of this machine.
pub fn published_text(published: &[Table], style: &Style) -> String {
    let full = Style { full: true, ..style.clone() };
    let mut page = ScreenText::new(&full);
    draw_published(&mut page, published);
    let text = page.finish();
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn draw_published(page: &mut ScreenText<'_>, published: &[Table]) {
    if published.is_empty() {
        return;
    }
    page.gap();
    page.title("Published values");
    for table in published {
        draw(page, table);
    }
}

fn draw_section(page: &mut ScreenText<'_>, section: &SheetSection) {
    let tables: Vec<&Table> = section.tables.iter().filter(|t| !t.rows.is_empty()).collect();
    if tables.is_empty() {
        return;
    }
    let style = page.style;
    // A table that is its whole section has the section's title.
    let only = matches!(tables.as_slice(), [table] if table.title.is_empty() || table.title == section.title.as_str());
    if !only {
        page.gap();
        page.hang(&[], Paint::Title, &style.prose(&section.title));
        if !section.note.is_empty() {
            page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Dim, &style.prose(&section.note));
        }
    }
    for table in tables {
        let mut table = table.clone();
        if only {
            table.title = Cell::text(&section.title);
            if table.note.is_empty() {
                table.note = Cell::text(&section.note);
            }
        }
        draw(page, &table);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::cells::StudyPreset;
    use crate::data::series::{
        SampleStudy, SampleStudyPlan, StudyGap, StudyLeftOut, StudyProgram, StudyRunPart, StudyRunPlan, StudyWork,
    };
    use std::collections::BTreeMap;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};

    /// A study without samples, of a hostile title.
    pub(crate) struct GapView {
        head: DocumentHead,
        plan: SampleStudyPlan,
        parts: Vec<StudyRunPart>,
        left_out: Vec<StudyLeftOut>,
    }

    pub(crate) fn gap_view() -> GapView {
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

    pub(crate) fn with_view(stored: &GapView, use_it: impl FnOnce(&StudyView<'_>)) {
        use_it(&StudyView {
            head: &stored.head,
            plan: &stored.plan,
            parts: &stored.parts,
            left_out: &stored.left_out,
            report: Err(StudyGap::NoSamples),
        });
    }

    fn sheet() -> StudySheet {
        let mut alone = Table::new("Process time (EMP table VI)", "Of all samples.", &["program", ">mean"]);
        alone.row(vec!["INC\u{1b}1".to_owned(), "1.05 µs".to_owned()], Vec::new());
        let mut second = Table::new("Again", "", &["program"]);
        second.row(vec!["INC2".to_owned()], Vec::new());
        let section = |id: &str, title: &str, tables| SheetSection {
            id: id.to_owned(),
            title: title.to_owned(),
            note: "How to read it.".to_owned(),
            tables,
            figures: Vec::new(),
        };
        StudySheet {
            answers: vec!["Spread falls by 30 %.".to_owned()],
            remarks: vec!["Few samples.".to_owned()],
            sections: vec![
                section("one", "Process time (EMP table VI)", vec![alone.clone()]),
                section("both", "Two tables", vec![alone, second]),
                section("none", "Only a figure", Vec::new()),
            ],
        }
    }

    #[test]
    fn the_terminal_has_facts_answers_remarks_and_tables() {
        with_view(&gap_view(), |view| {
            let style = Style { width: 100, ..Style::default() };
            let mut published = Table::new("EMP table IV: INC8", "", &["program"]);
            published.row(vec!["INC8".to_owned()], Vec::new());
            let text = drawn(view, &sheet(), &[published], &style);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines[0].starts_with(r"Study s3: ntp\x1b"), "{text}");
            let at = |what: &str| {
                let found = lines.iter().position(|l| l.contains(what));
                found.unwrap_or_else(|| panic!("no {what:?} in\n{text}"))
            };
            let order = [
                "  paper",
                "  question",
                "0 of 2 runs",
                "Spread falls by 30 %.",
                "! The study is not finished: 1 of 2 runs are missing.",
                "! There is no result: there are no samples.",
                "! `NTP on` was left out: there is no daemon.",
                "! Few samples.",
                "Process time (EMP table VI)",
                "Two tables",
                "Again",
                "Published values",
                "EMP table IV: INC8",
            ];
            let places: Vec<usize> = order.into_iter().map(at).collect();
            assert!(places.is_sorted(), "{places:?}\n{text}");
            assert!(!text.contains("Only a figure") && !text.contains('\u{1b}'), "{text}");
        });
    }

    #[test]
    fn units_are_spelled_in_ascii() {
        with_view(&gap_view(), |view| {
            let style = Style { unicode: false, ..Style::default() };
            let text = drawn(view, &sheet(), &[], &style);
            assert!(text.is_ascii() && text.contains("1.05 us"), "{text}");
        });
    }
}
