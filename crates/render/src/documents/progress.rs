//! The line that says how far a measurement is; drawn between its steps.

use crate::kit::number;
use crate::profile::terminal::long_time;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::Progress;

/// One line without its newline, with the document's number if it is kept.
pub fn line(id: Option<Id>, progress: &Progress, unicode: bool) -> String {
    let name = id.filter(|id| id.number > 0).map(|id| format!("{id}: ")).unwrap_or_default();
    let time = |t: Nanos| number::time(t.as_f64(), None, unicode).unwrap_or_default();
    let text = match *progress {
        Progress::Calibration => "calibrating".to_owned(),
        Progress::Phases { grain, expected } => format!("phases of {}, for about {}", time(grain), time(expected)),
        Progress::Cells { done, of, left } => {
            let left = left.map(|l| format!(", about {} left", time(l))).unwrap_or_default();
            format!("{done} of {of}{left}")
        }
        Progress::Recorded { done, total, interval } => {
            let [done, left, interval] = [done, total - done, interval].map(|t| long_time(t, unicode));
            format!("recorded {done}, {left} left (a snapshot every {interval})")
        }
        Progress::Trace { duration } => format!("tracing for {}", time(duration)),
    };
    name + &text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::documents::head::Kind;

    #[test]
    fn every_step_has_a_line() {
        let s = |seconds: i64| Nanos::from_millis(1000 * seconds);
        let study = |number| Some(Id { kind: Kind::Study, number });
        let cells = Progress::Cells { done: 3, of: 10, left: Some(s(4)) };
        assert_eq!(line(study(2), &cells, true), "s2: 3 of 10, about 4.00 s left");
        assert_eq!(line(study(0), &Progress::Cells { done: 0, of: 10, left: None }, true), "0 of 10");
        assert_eq!(line(None, &Progress::Calibration, true), "calibrating");
        let phases = Progress::Phases { grain: Nanos::from_micros(100), expected: s(10) };
        assert_eq!(line(None, &phases, false), "phases of 100 us, for about 10.0 s");
        let recorded = Progress::Recorded { done: s(7200), total: s(10_800), interval: s(1) };
        assert_eq!(line(None, &recorded, true), "recorded 2.0 h, 1.0 h left (a snapshot every 1.00 s)");
        assert_eq!(line(None, &Progress::Trace { duration: Nanos::from_millis(90) }, true), "tracing for 90.0 ms");
    }
}
