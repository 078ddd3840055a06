//! The line that says how far a measurement is, for the steps of any stored result.

use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::{GateStep, MeasuringStep};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::form::Form;
use tarebench_report::number;
use tarebench_report::progress;
use tarebench_report::progress::Done;
use tarebench_report::style::Style;
use tarebench_report::text;
use tarebench_report::words::plural;

/// Widest name of a benchmark.
const NAME: usize = 40;

/// One line without its newline, with the document's number if it is kept.
pub fn line(id: Option<Id>, step: &MeasuringStep, style: &Style) -> String {
    let time = |t: Nanos| number::time(t.as_f64(), None, style.unicode).unwrap_or_default();
    let (done, remaining, next) = match *step {
        MeasuringStep::Calibration => (None, None, "calibration".to_owned()),
        MeasuringStep::Phases { grain, expected } => (None, Some(expected), format!("phases of {}", time(grain))),
        MeasuringStep::Cells { done, of, left } => {
            (Some(Done::Count { done: done as u64, total: of as u64, adaptive: false }), left, String::new())
        }
        MeasuringStep::Recorded { done, total, interval } => {
            let every = format!("a snapshot every {}", number::long_time(interval, style.unicode));
            (Some(Done::Time { done, total }), Some(total - done), every)
        }
        MeasuringStep::Trace { duration } => (None, Some(duration), "trace".to_owned()),
    };
    let remaining = remaining.map(Nanos::as_f64);
    progress::line(
        &progress::ProgressParts { id, done, remaining, next: &next, ..progress::ProgressParts::default() },
        style,
    )
}

/// The same for a gate: `benchmark 2 of 5: sort, 24 blocks, +0.3 % ± 0.4`.
pub fn gate_line(id: Option<Id>, step: &GateStep<'_>, style: &Style) -> String {
    let GateStep { benchmark, of, name, blocks, planned, ratio, left } = *step;
    let found = ratio.filter(|(ratio, _)| ratio.is_finite()).map(|(ratio, half)| {
        let change = Cell::figure(Figure::new(Unit::Change, ratio).with_spread(half));
        format!(", {}", change.write(&Form::terminal(style)))
    });
    let measured = match (blocks, planned) {
        (0, 0) => ", probe".to_owned(),
        _ => format!(", {}", plural(blocks, "block")),
    };
    // The name is cut, not what was found.
    let name = text::cut_middle(&style.show(name), NAME, style.glyphs().dots).into_owned();
    let next = format!("benchmark {benchmark} of {of}: {name}{measured}{}", found.unwrap_or_default());
    let count = Done::Count { done: u64::from(blocks), total: u64::from(planned), adaptive: false };
    let parts = progress::ProgressParts {
        id,
        done: (planned > 0).then_some(count),
        remaining: left.map(Nanos::as_f64),
        next: &next,
        ..progress::ProgressParts::default()
    };
    progress::line(&parts, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_says_which_benchmark_and_what_was_found() {
        let style = Style { width: 120, ..Style::default() };
        let step = GateStep {
            benchmark: 2,
            of: 5,
            name: "sort",
            blocks: 24,
            planned: 36,
            ratio: Some((1.003, Some(0.004))),
            left: Some(Nanos::from_millis(90_000)),
        };
        let gate = Some(Id { kind: DocumentKind::Gate, number: 3 });
        let at = |step: &GateStep<'_>| gate_line(gate, step, &style);
        let bar = "━━━━━━━━━━──────";
        let line = at(&step);
        assert_eq!(line, format!("g3  {bar} 24/36  90 s left  benchmark 2 of 5: sort, 24 blocks, +0.3 % ± 0.4"));
        let probe = GateStep { blocks: 0, planned: 0, ratio: None, left: None, ..step };
        assert_eq!(at(&probe), "g3    benchmark 2 of 5: sort, probe");
        let faster = GateStep { ratio: Some((0.95, None)), left: None, ..step };
        assert!(at(&faster).ends_with("sort, 24 blocks, −5.0 %"), "{}", at(&faster));
        // Names are anybody's.
        let name = format!("\x1b[2J{}", "x".repeat(500));
        let hostile = GateStep { name: &name, ratio: Some((f64::NAN, Some(f64::INFINITY))), ..step };
        let line = at(&hostile);
        assert!(!line.chars().any(char::is_control) && line.contains("24 blocks"), "{line}");
    }
    use tarebench_core::documents::head::DocumentKind;

    #[test]
    fn every_step_has_a_line() {
        let s = |seconds: i64| Nanos::from_millis(1000 * seconds);
        let study = |number| Some(Id { kind: DocumentKind::Study, number });
        let at = |id, step: MeasuringStep| line(id, &step, &Style { width: 80, ..Style::default() });
        let cells = MeasuringStep::Cells { done: 3, of: 10, left: Some(s(4)) };
        assert_eq!(at(study(2), cells), "s2  ━━━━──────────── 3/10  4 s left");
        assert_eq!(at(study(0), MeasuringStep::Cells { done: 0, of: 10, left: None }), "──────────────── 0/10");
        assert_eq!(at(None, MeasuringStep::Calibration), "calibration");
        let phases = MeasuringStep::Phases { grain: Nanos::from_micros(100), expected: s(10) };
        assert_eq!(at(None, phases), "10 s left  phases of 100 µs");
        let recorded = MeasuringStep::Recorded { done: s(7200), total: s(10_800), interval: s(1) };
        assert_eq!(at(None, recorded), "━━━━━━━━━━────── 2.0 h of 3.0 h  60 min 00 s left  a snapshot every 1.00 s");
        assert_eq!(at(None, MeasuringStep::Trace { duration: s(9) }), "9 s left  trace");
    }
}
