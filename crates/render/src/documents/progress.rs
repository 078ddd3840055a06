//! The line that says how far a measurement is, for the steps of any stored result.

use crate::kit::number;
use crate::kit::progress;
use crate::kit::progress::Done;
use crate::kit::style::Style;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::MeasuringStep;

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

#[cfg(test)]
mod tests {
    use super::*;
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
