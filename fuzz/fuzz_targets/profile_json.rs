//! A profile from anywhere: what is read is learned from and shown, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::units::Nanos;
use tarebench_render::profile::sheet::profile;
use tarebench_report::hints::Hints;
use tarebench_report::style::Style;
use tarebench_report::svg::figures as svg;
use tarebench_report::terminal::sheet_text;
use tarebench_report::web::html as web;
use tarebench_store::ProfileArchive;

fuzz_target!(|text: &[u8]| {
    let Ok(archive) = ProfileArchive::read(&mut &text[..]) else { return };
    let Ok(learned) = archive.profile.learned() else { return };
    let doubts = archive.profile.doubts(Nanos::ZERO, &archive.profile.machine, "other", 0);
    let sheet = profile(&archive.profile, &learned, &doubts, &Hints::default(), &TimeZone::UTC, String::new());
    let shown = sheet_text(&sheet, &Style::default());
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "control character in {shown:?}");
    let page = sheet.into_page();
    if let Ok(data) = web::data(&page) {
        assert!(!data.contains('<'));
    }
    let _ = svg::figures(&page);
});
