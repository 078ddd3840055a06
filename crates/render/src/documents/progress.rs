//! The line that says how far a measurement is, for the steps of any stored result.

use crate::kit::number;
use crate::kit::progress;
use crate::kit::progress::Done;
use crate::kit::style::Style;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::Progress;

/// One line without its newline, with the document's number if it is kept.
pub fn line(id: Option<Id>, step: &Progress, style: &Style) -> String {
    let time = |t: Nanos| number::time(t.as_f64(), None, style.unicode).unwrap_or_default();
    let (done, remaining, next) = match *step {
        Progress::Calibration => (None, None, "calibration".to_owned()),
        Progress::Phases { grain, expected } => (None, Some(expected), format!("phases of {}", time(grain))),
        Progress::Cells { done, of, left } => {
            (Some(Done::Count { done: done as u64, total: of as u64, adaptive: false }), left, String::new())
        }
        Progress::Recorded { done, total, interval } => {
            let every = format!("a snapshot every {}", number::long_time(interval, style.unicode));
            (Some(Done::Time { done, total }), Some(total - done), every)
        }
        Progress::Trace { duration } => (None, Some(duration), "trace".to_owned()),
    };
    let remaining = remaining.map(Nanos::as_f64);
    progress::line(&progress::Progress { id, done, remaining, next: &next, ..progress::Progress::default() }, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::documents::head::Kind;

    #[test]
    fn every_step_has_a_line() {
        let s = |seconds: i64| Nanos::from_millis(1000 * seconds);
        let study = |number| Some(Id { kind: Kind::Study, number });
        let at = |id, step: Progress| line(id, &step, &Style { width: 80, ..Style::default() });
        let cells = Progress::Cells { done: 3, of: 10, left: Some(s(4)) };
        assert_eq!(at(study(2), cells), "s2  ━━━━──────────── 3/10  4 s left");
        assert_eq!(at(study(0), Progress::Cells { done: 0, of: 10, left: None }), "──────────────── 0/10");
        assert_eq!(at(None, Progress::Calibration), "calibration");
        let phases = Progress::Phases { grain: Nanos::from_micros(100), expected: s(10) };
        assert_eq!(at(None, phases), "10 s left  phases of 100 µs");
        let recorded = Progress::Recorded { done: s(7200), total: s(10_800), interval: s(1) };
        assert_eq!(at(None, recorded), "━━━━━━━━━━────── 2.0 h of 3.0 h  60 min left  a snapshot every 1.00 s");
        assert_eq!(at(None, Progress::Trace { duration: s(9) }), "9 s left  trace");
    }
}
