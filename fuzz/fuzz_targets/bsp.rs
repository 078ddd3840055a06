//! Results of the MPI program of `tare noise bsp`: what is read is compared and shown, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::noise::bsp::read;
use tarebench_core::noise::bsp_report::compare;
use tarebench_render::noise::bsp::{json, sheet};
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;

fuzz_target!(|text: &[u8]| {
    let job = match read(text) {
        Ok(job) => job,
        Err(error) => {
            assert!(error.to_string().len() < 500, "a long message: {error}");
            return;
        }
    };
    assert_eq!(job.ranks.iter().filter(|r| r.work.len() as u64 != job.phases).count(), 0);
    let Ok(compared) = compare(&job, 1) else { return };
    let shown = sheet_text(&sheet(&job, &compared), &Style::default());
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "control character in {shown:?}");
    assert!(json(&job, &compared).is_ok());
});
