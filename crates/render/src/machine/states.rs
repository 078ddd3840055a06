//! What probes have seen of a machine so far, and what to expect of runs that wait for its quiet state.

use serde::Serialize;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::hint::Hint;
use tarebench_core::quiet::data::{MachineStates, QuietLevels};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::hints::Hints;
use tarebench_report::json;
use tarebench_report::sheet::{Sheet, SheetFact};
use tarebench_report::web::page::PageKind;
use tarebench_report::words::plural;

/// Name of the format of [`json()`].
pub const FORMAT: &str = "tare-machine";

/// Version of the format of [`json()`].
pub const VERSION: u32 = 1;

/// What is known of a machine.
#[derive(Clone, Copy, Debug)]
pub struct KnownMachine<'a> {
    pub machine: &'a str,
    /// `None` if no probes ran on it yet, or too few.
    pub states: Option<&'a MachineStates>,
    pub levels: Option<&'a QuietLevels>,
    /// Number of programs of which it is known how their time follows the probes.
    pub programs: usize,
}

impl KnownMachine<'_> {
    /// How many times as long executions take if they run in the quiet state only, by what was seen; `None` if it was never quiet,
    /// or nothing is known.
    pub fn gated_factor(&self) -> Option<f64> {
        let quiet = self.states?.quiet;
        (quiet > 0.0).then(|| 1.0 / quiet)
    }
}

#[derive(Serialize)]
struct MachineDocument<'a> {
    format: &'static str,
    version: u32,
    machine: &'a str,
    states: Option<&'a MachineStates>,
    levels: Option<&'a QuietLevels>,
    gated_factor: Option<f64>,
    programs: usize,
}

/// `{"format":"tare-machine","version":1,"machine":…,"states":…,"levels":…,"gated_factor":…,"programs":…}`, indented; what
/// is not known is `null`.
pub fn json(known: &KnownMachine<'_>) -> Result<String, RenderError> {
    let KnownMachine { machine, states, levels, programs } = *known;
    let gated_factor = known.gated_factor();
    let document =
        MachineDocument { format: FORMAT, version: VERSION, machine, states, levels, gated_factor, programs };
    Ok(json::pretty(&document)? + "\n")
}

/// What is known, as a sheet; `hints` say how to learn it.
pub fn sheet(known: &KnownMachine<'_>, hints: &Hints, zone: &TimeZone) -> Sheet {
    let machine = SheetFact::new("machine", Cell::foreign(known.machine));
    let sheet = Sheet::new(PageKind::Machine, "States of this machine");
    let Some(states) = known.states else {
        let how = hints.phrase(&Hint::LearnStates).map_or_else(String::new, |how| format!(": {how}"));
        let nothing = format!("Nothing is known of this machine's states yet{how}.");
        return Sheet { answers: vec![nothing.into()], facts: vec![machine], ..sheet };
    };
    let programs = match known.programs {
        0 => "none was measured with enough samples yet".to_owned(),
        n => format!("{} with known coefficients", plural(n as u64, "program")),
    };
    let programs = SheetFact::new("programs", programs);
    Sheet {
        answers: vec![expected(known.gated_factor())],
        facts: [machine].into_iter().chain(seen(states, zone)).chain([programs]).collect(),
        ..sheet
    }
}

fn seen(s: &MachineStates, zone: &TimeZone) -> [SheetFact; 4] {
    let period = |length: Option<f64>| length.map_or_else(|| "a time not known yet".into(), Cell::time);
    let quiet = Cell::of(Unit::Share, s.quiet).and(" of the time; quiet for ").and(period(s.quiet_period));
    let [low, median, high] = s.clock.map(slower);
    let clock = low.and(" to ").and(high).and(" than its quiet level in 90% of the wake-ups; median ").and(median);
    let stolen =
        s.stolen.map(|share| Cell::of(Unit::Share, share).and(" of one CPU's time, by the hypervisor from all CPUs"));
    let (first, last) = s.span;
    let span = Cell::text(format!("{} of probes, from ", plural(s.wakes, "wake-up"))).and(Cell::date(first, zone));
    [
        SheetFact::new("quiet", quiet.and(", busy for ").and(period(s.busy_period)).and(" (medians)")),
        SheetFact::new("clock", clock),
        SheetFact::new("stolen", stolen.unwrap_or_else(|| "not known".into())),
        SheetFact::new("known from", span.and(" to ").and(Cell::date(last, zone))),
    ]
}

/// `7.0 % slower`; of a latency divided by its quiet level.
fn slower(ratio: f64) -> Cell {
    let word = if ratio < 1.0 { " faster" } else { " slower" };
    Cell::of(Unit::Share, (ratio - 1.0).abs()).and(word)
}

fn expected(factor: Option<f64>) -> Cell {
    match factor {
        Some(f) if f < 1.05 => {
            "The machine is nearly always quiet: runs that wait for that take hardly longer than others.".into()
        }
        Some(f) => Cell::text("A run that waits for the quiet state takes about ")
            .and(Cell::of(Unit::Count, f))
            .and(" times as long as its programs, unless it reaches the limit of its pauses."),
        None => "The machine was never quiet: a run that waits for that reaches the limit of its pauses.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::quiet_fixtures;
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;
    use tarebench_report::text::columns;

    fn shown(known: &KnownMachine<'_>, width: usize) -> String {
        let hints = Hints::new(|_| "run `x`".to_owned());
        sheet_text(&sheet(known, &hints, &TimeZone::UTC), &Style { width, ..Style::default() })
    }

    fn joined(known: &KnownMachine<'_>, width: usize) -> String {
        let text = shown(known, width);
        assert!(text.lines().all(|l| columns(l) <= width && l.trim_end() == l), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_seen_and_what_follows() {
        let (states, levels) = (quiet_fixtures::states(), quiet_fixtures::levels());
        let known = KnownMachine { machine: "box\x1b[31m", states: Some(&states), levels: Some(&levels), programs: 3 };
        for width in [60, 80, 100] {
            let text = joined(&known, width);
            for said in [
                "quiet 41 % of the time; quiet for 38.0 ms, busy for 52.0 ms (medians)",
                "clock 1.0 % faster to 7.0 % slower than its quiet level in 90% of the wake-ups; median 1.0 % slower",
                "stolen 0.21 % of one CPU's time",
                "known from 90000 wake-ups of probes, from 2025-11-20 00:53:20 +00:00 to 2025-11-21 01:36:40 +00:00",
                "programs 3 programs with known coefficients",
                "takes about 2.4 times as long as its programs",
            ] {
                assert!(text.contains(said), "{said}\n{text}");
            }
            assert!(!text.contains('\x1b'));
        }
        let value: serde_json::Value = serde_json::from_str(&json(&known).unwrap()).unwrap();
        assert_eq!((&value["format"], &value["states"]["wakes"]), (&"tare-machine".into(), &90_000.into()));
        assert_eq!((&value["programs"], &value["machine"]), (&3.into(), &"box\x1b[31m".into()));
        assert!(value["gated_factor"].as_f64().is_some_and(|f| (f - 1.0 / 0.41).abs() < 1e-9));
        assert!(!json(&known).unwrap().contains('\x1b'));
    }

    #[test]
    fn nothing_yet_is_one_sentence() {
        let known = KnownMachine { machine: "box", states: None, levels: None, programs: 0 };
        let text = "Nothing is known of this machine's states yet: run `x`.\n  machine     box\n";
        assert_eq!(shown(&known, 80), text);
        let value: serde_json::Value = serde_json::from_str(&json(&known).unwrap()).unwrap();
        assert!(value["states"].is_null() && value["gated_factor"].is_null());
    }

    #[test]
    fn machines_that_are_always_or_never_quiet() {
        let says = |states: &MachineStates| {
            joined(&KnownMachine { machine: "box", states: Some(states), levels: None, programs: 0 }, 100)
        };
        let always = MachineStates { quiet: 0.99, busy_period: None, stolen: None, ..quiet_fixtures::states() };
        let text = says(&always);
        assert!(text.contains("busy for a time not known yet") && text.contains("stolen not known"), "{text}");
        assert!(
            text.contains("nearly always quiet") && text.contains("none was measured with enough samples"),
            "{text}"
        );
        let never = MachineStates { quiet: 0.0, ..quiet_fixtures::states() };
        assert!(says(&never).contains("The machine was never quiet"));
    }
}
