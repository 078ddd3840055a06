//! A profile from anywhere: what is read is learned from and shown, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_render::style::Style;
use tare_render::{profile, svg, web};
use tare_store::ProfileArchive;

fuzz_target!(|text: &[u8]| {
    let Ok(archive) = ProfileArchive::read(&mut &text[..]) else { return };
    let Ok(learned) = archive.profile.learned() else { return };
    let shown = profile::terminal(&archive.profile, &learned, &[], "", &Style::default());
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "control character in {shown:?}");
    let page = web::profile(&archive.profile, &learned, &[], String::new());
    if let Ok(data) = web::data(&page) {
        assert!(!data.contains('<'));
    }
    let _ = svg::figures(&page);
});
