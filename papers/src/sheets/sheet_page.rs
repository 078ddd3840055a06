//! The page of a study of samples: a part for each section, with its figures and tables, and the papers' values last.

use crate::sheets::about::about;
use crate::sheets::published::published_section;
use crate::sheets::published_curves::add_published;
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::view::StudyView;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_report::error::RenderError;
use tarebench_report::svg::figures::figures;
use tarebench_report::table::Table;
use tarebench_report::text::escape;
use tarebench_report::web::page::{Page, PageFigure, PageKind, PagePart, PageRemark};

/// The page of a study, finished or not.
pub fn study_page(view: &StudyView<'_>, zone: &TimeZone, foot: String) -> Page {
    let sheet = view.sheet();
    let mut facts: Vec<(String, String)> =
        view.facts().into_iter().map(|(name, text)| (capital(name), clean(&text))).collect();
    facts.push(("Started".to_owned(), date(view.head.created, zone)));
    let remark = |warning: bool| move |text: &String| PageRemark { warning, text: clean(text).into() };
    let remarks = sheet.answers.iter().map(remark(false));
    let warnings = view.warnings();
    let remarks = remarks.chain(warnings.iter().map(remark(true))).chain(sheet.remarks.iter().map(remark(false)));
    let published = published_section(&view.command());
    let mut page = Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Study,
        title: clean(&view.title()).into(),
        subtitle: about(view.plan.sample_study).question.to_owned().into(),
        facts: facts.into_iter().map(|(label, text)| (label, text.into())).collect(),
        remarks: remarks.collect(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts: sheet.sections.iter().chain(&published).filter_map(part).collect(),
        tables: Vec::new(),
        foot: foot.into(),
    };
    add_published(&view.command(), &mut page);
    page
}

/// File name and SVG of each figure of a sheet that is of no single study.
///
/// # Errors
/// [`RenderError`] if a figure cannot be drawn.
pub fn sheet_figures(title: &str, sheet: &StudySheet) -> Result<Vec<(String, String)>, RenderError> {
    figures(&Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Study,
        title: clean(title).into(),
        subtitle: String::new().into(),
        facts: Vec::new(),
        remarks: Vec::new(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts: sheet.sections.iter().filter_map(part).collect(),
        tables: Vec::new(),
        foot: String::new().into(),
    })
}

fn clean(text: &str) -> String {
    escape(text).into_owned()
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A section as a part; `None` if there is nothing in it. Its figures are named after it, so that their files are, too.
pub(crate) fn part(section: &SheetSection) -> Option<PagePart> {
    let drawn = section.figures.iter().filter(|f| f.curves.iter().any(|c| !c.x.is_empty()));
    let figures: Vec<PageFigure> = drawn.enumerate().map(|(i, f)| figure(&section.id, i, f)).collect();
    let tables: Vec<Table> = section.tables.iter().filter(|t| !t.rows.is_empty()).cloned().collect();
    (!figures.is_empty() || !tables.is_empty()).then(|| PagePart {
        id: section.id.clone(),
        title: clean(&section.title).into(),
        note: clean(&section.note).into(),
        figures,
        tables,
    })
}

fn figure(section: &str, i: usize, figure: &PageFigure) -> PageFigure {
    let mut figure = figure.clone();
    let named = figure.id.strip_prefix(section).is_some_and(|rest| rest.starts_with('-'));
    if !named {
        figure.id = if i == 0 { section.to_owned() } else { format!("{section}-{}", i + 1) };
    }
    figure.title = clean(&figure.title);
    figure.note = clean(&figure.note);
    figure.x.title = clean(&figure.x.title);
    figure.y.title = clean(&figure.y.title);
    for curve in &mut figure.curves {
        curve.title = clean(&curve.title);
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheets::sheet_terminal::tests::{gap_view, with_view};
    use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageQuantity, PageScale};

    fn axis(title: &str, quantity: PageQuantity, scale: PageScale) -> PageAxis {
        PageAxis { title: title.to_owned(), quantity, scales: vec![scale], floor: None, shown: None }
    }

    fn curve(title: &str, join: Join, x: Vec<f64>, y: Vec<f64>, band: Option<Band>) -> PageCurve {
        PageCurve { title: title.to_owned(), look: 0, thin: false, join, x, y, band }
    }

    fn section() -> SheetSection {
        let band = Band { title: "95 %", low: vec![Some(1.0), None], high: vec![Some(3.0), None] };
        let figure = |curves| PageFigure {
            id: "any".to_owned(),
            title: "spread \u{1b}[2J".to_owned(),
            note: String::new(),
            x: axis("Task length", PageQuantity::Time, PageScale::Log),
            y: axis("Standard deviation", PageQuantity::Time, PageScale::Log),
            curves,
        };
        let drawn = vec![
            curve("<straight>", Join::Straight, vec![1e9, 1e10], vec![2e6, 3e6], Some(band)),
            curve("steps", Join::Before, vec![1e9, 1e10], vec![2e6, 3e6], None),
            curve("steps after", Join::After, vec![1e9, 1e10], vec![2e6, 3e6], None),
            curve("points", Join::Points, vec![1e9, 1e9, 1e10], vec![2e6, 4e6, 3e6], None),
        ];
        SheetSection {
            id: "growth".to_owned(),
            title: "Growth (EMP figure 17)".to_owned(),
            note: String::new(),
            tables: Vec::new(),
            figures: vec![figure(Vec::new()), figure(drawn.clone()), figure(drawn)],
        }
    }

    #[test]
    fn figures_are_named_after_their_section() {
        let made = part(&section()).unwrap();
        let ids: Vec<&str> = made.figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["growth", "growth-2"]);
        assert!(!made.figures[0].title.contains('\u{1b}'));
        assert!(part(&SheetSection { figures: Vec::new(), ..section() }).is_none());
    }

    #[test]
    fn every_kind_of_curve_is_drawn() {
        with_view(&gap_view(), |view| {
            let mut page = study_page(view, &TimeZone::UTC, "foot".to_owned());
            assert!(
                page.remarks.iter().any(|r| r.warning && r.text.plain().contains("There is no result")),
                "{page:?}"
            );
            assert!(page.title.plain().contains(r"\x1b") && !page.title.plain().contains('\u{1b}'), "{}", page.title);
            page.parts = part(&section()).into_iter().collect();
            let files = figures(&page).unwrap();
            let names: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
            assert_eq!(names, ["growth.svg", "growth-2.svg"]);
            for (name, svg) in &files {
                let tree = roxmltree::Document::parse(svg).unwrap();
                let classes = |class: &str| tree.descendants().filter(|n| n.attribute("class") == Some(class)).count();
                assert_eq!((classes("curve"), classes("points")), (3, 4), "{name}");
            }
        });
    }
}
