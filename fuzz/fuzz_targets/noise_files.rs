//! Files of noise by other tools, and the bytes that phases are stored as. Anything may be in them; what is read can be replayed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::blob::{durations, read_durations as read_blob, read_events, read_stolen};
use tarebench_core::noise::detour::replayed;
use tarebench_core::noise::files::{DurationUnit, read_detours, read_durations};
use tarebench_core::trace::timeline::CpuOccupant;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for unit in [DurationUnit::Whole, DurationUnit::Micros] {
        if let Ok(all) = read_durations(&text, unit) {
            assert_eq!(read_blob(&durations(&all)).as_ref(), Ok(&all));
        }
    }
    if let Ok(all) = read_detours(&text) {
        // A long end and a short grain would take the machine's memory, not tare's care: the command checks them.
        let _ = replayed(&all, Nanos(1_000_000), Nanos(1_000));
    }
    let _ = read_blob(data);
    let _ = read_events(&[CpuOccupant::Timer, CpuOccupant::Idle], data);
    let _ = read_stolen(data);
});
