//! Files of campaigns: read, or refused with a place in the file; the tasks of what was read are stored without a change.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tarebench::core::base::units::Nanos;
use tarebench_lab::data::campaign::Campaign;
use tarebench_lab::data::tasks::{LabTaskPlan, expand};
use tarebench_lab::work::campaign_file::parse;

/// A campaign of the longest kind would take seconds.
const MOST_REPETITIONS: u32 = 100;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // No suite is in this folder.
    let campaign = match parse(text, Path::new("/nonexistent/campaign.toml")) {
        Ok(campaign) => campaign,
        Err(refused) => {
            assert!(!refused.what.is_empty());
            if let Some((line, column)) = refused.place {
                assert!(line <= text.split('\n').count() && line > 0 && column > 0, "{refused}");
            }
            return;
        }
    };
    let stored = serde_json::to_string(&campaign).expect("a campaign as JSON");
    assert_eq!(serde_json::from_str::<Campaign>(&stored).expect("a stored campaign"), campaign);
    if campaign.repeat.times() > MOST_REPETITIONS {
        return;
    }
    let now = Nanos(1_700_000_000_000_000_000);
    let mut uuids = (0_u64..).map(|n| format!("{n:032x}"));
    let Ok(tasks) = expand(&campaign, &[], now, now, &mut || uuids.next().expect("endless")) else { return };
    assert!(!tasks.is_empty());
    for (ordinal, task) in (0..).zip(&tasks).take(100) {
        assert_eq!(task.ordinal, ordinal);
        assert!(task.not_before >= now);
        let stored = serde_json::to_string(task).expect("a task as JSON");
        assert_eq!(&serde_json::from_str::<LabTaskPlan>(&stored).expect("a stored task"), task);
    }
});
