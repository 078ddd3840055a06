//! The runs of an imported study: every study of samples is computed from them, and shown in every form within the width and without
//! control characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::date::TimeZone;
use tarebench_papers::data::cells::StudyPreset;
use tarebench_papers::data::samples::report;
use tarebench_papers::data::series::{SampleStudy, SampleStudyPlan, StudyRunPart};
use tarebench_papers::sheets::outputs::{csv_files, study_page, study_text};
use tarebench_papers::sheets::view::{StudyView, study_json};
use tarebench_report::style::Style;
use tarebench_report::svg::figures::figures;
use tarebench_report::web::html;
use unicode_width::UnicodeWidthStr;

fuzz_target!(|data: &[u8]| {
    let Ok(parts) = serde_json::from_slice::<Vec<StudyRunPart>>(data) else { return };
    let Some(first) = parts.first() else { return };
    for study in SampleStudy::all() {
        let plan = SampleStudyPlan {
            sample_study: study,
            preset: StudyPreset::Minutes,
            cpus: Vec::new(),
            seed: 1,
            runs: Vec::new(),
        };
        let view =
            StudyView { head: &first.head, plan: &plan, parts: &parts, left_out: &[], report: report(study, &parts) };
        let sheet = view.sheet(&TimeZone::UTC, "");
        for (width, unicode, full) in [(40, true, false), (84, false, true), (113, true, true)] {
            let text = study_text(&sheet, &Style { width, unicode, full, ..Style::default() });
            for line in text.lines() {
                let columns = line.width();
                assert!(columns <= width, "{columns} columns, {width} wanted: {line:?}");
                assert!(!line.chars().any(char::is_control), "control character in {line:?}");
                assert!(unicode || line.is_ascii(), "not ASCII: {line:?}");
            }
        }
        study_json(&view, Vec::new()).expect("figures that are not finite are absent");
        csv_files(&sheet.sections).expect("memory takes it");
        let page = study_page(sheet, &view.command());
        figures(&page).expect("memory takes it");
        if let Ok(data) = html::data(&page) {
            assert!(!data.contains('<'));
        }
    }
});
