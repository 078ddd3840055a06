//! A trace with what is known of it, and its JSON.

use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::trace::activity::{ActivitySummary, InactivityCause, Trace};
use tarebench_core::trace::explained::Explained;
use tarebench_core::trace::ticks::{TraceTick, ticks};
use tarebench_report::error::RenderError;

/// Where a trace was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    pub cpu: u32,
    /// Active processes on it, the tracing one included.
    pub load: u32,
    /// A step of more cycles is an inactive period.
    pub threshold: u64,
    /// The trace ended early because the buffer was full.
    pub full: bool,
}

/// A trace, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    pub trace: Trace,
    pub summary: ActivitySummary,
    /// Where it was made.
    pub made: Made,
    /// What the inactive periods were by the recorded kernel events, or why there are none.
    pub explained: Reading<Explained>,
}

impl Activity {
    /// The tick is taken from the recorded kernel events, if any, because they show it at all times.
    pub fn new(trace: Trace, made: Made, explained: Reading<Explained>) -> Activity {
        let mut summary = trace.summary();
        if let Some(tick) = explained.value().and_then(|e| e.tick.clone()) {
            summary.tick = Some(tick);
        }
        Activity { trace, summary, made, explained }
    }

    /// All timer interrupts, those included that came while the process had no CPU; none if no tick was detected.
    pub(crate) fn ticks(&self) -> Vec<TraceTick> {
        self.summary.tick.as_ref().map_or_else(Vec::new, |tick| ticks(&self.trace, tick))
    }

    /// Converts cycles to nanoseconds.
    pub(crate) fn ns(&self, cycles: f64) -> f64 {
        cycles / self.trace.hz() * 1e9
    }
}

#[derive(Serialize)]
struct TraceDocument<'a> {
    format: &'static str,
    version: u32,
    made: &'a Made,
    trace: &'a Trace,
    causes: Vec<InactivityCause>,
    summary: &'a ActivitySummary,
    ticks: Vec<TraceTick>,
    explained: &'a Reading<Explained>,
}

/// As JSON; `docs/trace.md` says what is in it.
pub fn json(a: &Activity) -> Result<String, RenderError> {
    let Activity { trace, summary, made, explained } = a;
    let causes = trace.causes(summary);
    let ticks = a.ticks();
    let document = TraceDocument { format: "tare-trace", version: 1, made, trace, causes, summary, ticks, explained };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}
