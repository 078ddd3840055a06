//! What the kernel did on a CPU, in the order of time: interrupts, softirqs and tasks by name, with beginning and end.
//!
//! The kernel reports where each begins and ends ([`Edge`]); [`pair`] makes [`CpuEvent`]s of them. Times are
//! CLOCK_MONOTONIC.

use crate::base::name::Name;
use crate::base::units::Nanos;
use crate::sample::daemons::TaskKind;
use serde::{Deserialize, Serialize};

/// What had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CpuOccupant {
    /// The local timer's interrupt: the tick, and timers that others have set.
    Timer,
    Interrupt {
        /// `reschedule`, `virtio3-tx (IRQ 42)`.
        name: String,
    },
    /// Deferred work of interrupts.
    Softirq {
        /// `TIMER`, `NET_RX`.
        name: String,
    },
    Task(TraceTask),
    /// Nobody: the CPU's idle task.
    Idle,
}

impl CpuOccupant {
    /// An interrupt or a softirq: it comes over a task, or over another one.
    pub fn interrupts(&self) -> bool {
        !matches!(self, CpuOccupant::Task(_) | CpuOccupant::Idle)
    }
}

/// A task that had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TraceTask {
    /// Name of its process's main thread.
    pub name: Name,
    /// The kernel's or a user's.
    pub by: TaskKind,
    pub pid: i32,
    pub tid: i32,
}

/// A moment at which something begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// An interrupt or a softirq begins.
    Begin(CpuOccupant),
    End(CpuOccupant),
    /// A task gets the CPU, or it becomes idle.
    Switch {
        to: CpuOccupant,
        /// It got the CPU some time before, and the kernel did not report it.
        late: bool,
    },
}

/// Something that had the CPU from one moment to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEvent {
    #[serde(flatten)]
    pub what: CpuOccupant,
    pub start: Nanos,
    /// When it ended; what had started within it has ended, too.
    pub end: Nanos,
    /// Self time: from beginning to end, excluding nested interruptions (of a softirq the interrupts, of a task both).
    pub own: Nanos,
    /// Both ends were reported. If not, it began earlier or ended later than is said: the recording began or ended within
    /// it, or the kernel left a switch out.
    pub complete: bool,
}

/// What a hypervisor took of the CPU. The kernel knows how much, and sees it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stolen {
    /// It was after this moment …
    pub from: Nanos,
    /// … and before this one, in one piece or several.
    pub until: Nanos,
    pub time: Nanos,
}

/// An event that has started.
struct Open {
    what: CpuOccupant,
    start: Nanos,
    nested: Nanos,
    complete: bool,
}

impl Open {
    fn new(what: CpuOccupant, start: Nanos, complete: bool) -> Open {
        Open { what, start, nested: Nanos::ZERO, complete }
    }

    fn close(self, end: Nanos, complete: bool) -> CpuEvent {
        // Clocks of one CPU do not go back; what was not in order was put in order.
        let whole = end - self.start;
        CpuEvent {
            what: self.what,
            start: self.start,
            end,
            own: Nanos((whole - self.nested).0.max(0)),
            complete: complete && self.complete,
        }
    }
}

/// What has started and not ended: a task below, interrupts and softirqs above it, the innermost last.
#[derive(Default)]
struct OpenEvents {
    task: Option<Open>,
    over: Vec<Open>,
    done: Vec<CpuEvent>,
}

impl OpenEvents {
    /// Ends the innermost; its time is not part of the event around it.
    fn end_innermost(&mut self, at: Nanos, complete: bool) {
        let Some(open) = self.over.pop() else { return };
        let whole = at - open.start;
        let around = self.over.last_mut().or(self.task.as_mut());
        if let Some(around) = around {
            around.nested += whole;
        }
        self.done.push(open.close(at, complete));
    }

    fn take(&mut self, at: Nanos, edge: Edge) {
        match edge {
            Edge::Begin(what) => self.over.push(Open::new(what, at, true)),
            // One that began before the recording has left nothing.
            Edge::End(what) => {
                if let Some(depth) = self.over.iter().rposition(|o| o.what == what) {
                    // The ends of those above it are unreported.
                    while self.over.len() > depth + 1 {
                        self.end_innermost(at, false);
                    }
                    self.end_innermost(at, true);
                }
            }
            Edge::Switch { to, late } => {
                // A late one is found within an interruption of the task. Other switches are never within an interrupt.
                if !late {
                    while !self.over.is_empty() {
                        self.end_innermost(at, false);
                    }
                }
                if let Some(task) = self.task.take() {
                    self.done.push(task.close(at, !late));
                }
                self.task = Some(Open::new(to, at, !late));
            }
        }
    }
}

/// Pairs beginnings with ends. The edges may be slightly out of order, as an interrupt may come over the making of a
/// record; those of one moment keep their order. `end` is when the recording ended. The events are sorted by their
/// beginnings, the outer one first.
pub fn pair(mut edges: Vec<(Nanos, Edge)>, end: Nanos) -> Vec<CpuEvent> {
    edges.sort_by_key(|(at, _)| *at);
    let mut stack = OpenEvents::default();
    let end = edges.last().map_or(end, |(last, _)| end.max(*last));
    for (at, edge) in edges {
        stack.take(at, edge);
    }
    while !stack.over.is_empty() {
        stack.end_innermost(end, false);
    }
    if let Some(task) = stack.task.take() {
        stack.done.push(task.close(end, false));
    }
    let mut events = stack.done;
    events.sort_by_key(|e| (e.start, std::cmp::Reverse(e.end), e.what.interrupts()));
    events
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockPair {
    /// The counter, in cycles from the beginning of the trace.
    pub cycles: f64,
    /// CLOCK_MONOTONIC.
    pub clock: Nanos,
    /// The moment is known to so much.
    pub within: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(name: &str, tid: i32) -> CpuOccupant {
        CpuOccupant::Task(TraceTask { name: Name::from(name), by: TaskKind::User, pid: tid, tid })
    }

    fn softirq(name: &str) -> CpuOccupant {
        CpuOccupant::Softirq { name: name.to_owned() }
    }

    fn switch(at: i64, to: CpuOccupant) -> (Nanos, Edge) {
        (Nanos(at), Edge::Switch { to, late: false })
    }

    fn begin(at: i64, what: CpuOccupant) -> (Nanos, Edge) {
        (Nanos(at), Edge::Begin(what))
    }

    fn end(at: i64, what: CpuOccupant) -> (Nanos, Edge) {
        (Nanos(at), Edge::End(what))
    }

    fn shape(events: &[CpuEvent]) -> Vec<(&CpuOccupant, i64, i64, i64, bool)> {
        events.iter().map(|e| (&e.what, e.start.0, e.end.0, e.own.0, e.complete)).collect()
    }

    #[test]
    fn a_hard_interrupt_inside_of_a_softirq_is_not_counted_twice() {
        let edges = vec![
            switch(0, task("a", 7)),
            begin(10, CpuOccupant::Timer),
            end(14, CpuOccupant::Timer),
            begin(15, softirq("TIMER")),
            begin(17, CpuOccupant::Timer),
            end(20, CpuOccupant::Timer),
            end(25, softirq("TIMER")),
            switch(40, CpuOccupant::Idle),
        ];
        let events = pair(edges, Nanos(50));
        let (a, t) = (task("a", 7), softirq("TIMER"));
        assert_eq!(
            shape(&events),
            [
                (&a, 0, 40, 40 - 4 - 10, true),
                (&CpuOccupant::Timer, 10, 14, 4, true),
                (&t, 15, 25, 7, true),
                (&CpuOccupant::Timer, 17, 20, 3, true),
                (&CpuOccupant::Idle, 40, 50, 10, false),
            ]
        );
    }

    #[test]
    fn what_lacks_an_end_is_marked() {
        let edges = vec![
            end(1, CpuOccupant::Timer),
            begin(5, softirq("RCU")),
            begin(6, CpuOccupant::Timer),
            end(9, softirq("RCU")),
            begin(12, CpuOccupant::Timer),
        ];
        let events = pair(edges, Nanos(20));
        assert_eq!(
            shape(&events),
            [
                (&softirq("RCU"), 5, 9, 1, true),
                (&CpuOccupant::Timer, 6, 9, 3, false),
                (&CpuOccupant::Timer, 12, 20, 8, false),
            ]
        );
    }

    /// The record of an interrupt that nested in the making of another record stands before it.
    #[test]
    fn records_out_of_order_are_put_in_order() {
        let edges = vec![
            begin(11, CpuOccupant::Timer),
            end(14, CpuOccupant::Timer),
            begin(10, softirq("SCHED")),
            end(20, softirq("SCHED")),
        ];
        let events = pair(edges, Nanos(20));
        assert_eq!(shape(&events), [(&softirq("SCHED"), 10, 20, 7, true), (&CpuOccupant::Timer, 11, 14, 3, true)]);
    }

    #[test]
    fn a_task_found_late_ends_the_one_before() {
        let late = |at: i64, to: CpuOccupant| (Nanos(at), Edge::Switch { to, late: true });
        let edges = vec![
            switch(0, task("a", 1)),
            late(30, task("b", 2)),
            begin(30, CpuOccupant::Timer),
            end(33, CpuOccupant::Timer),
            switch(40, task("a", 1)),
        ];
        let (a, b) = (task("a", 1), task("b", 2));
        assert_eq!(
            shape(&pair(edges, Nanos(60))),
            [
                (&a, 0, 30, 30, false),
                (&b, 30, 40, 7, false),
                (&CpuOccupant::Timer, 30, 33, 3, true),
                (&a, 40, 60, 20, false),
            ]
        );
    }

    fn any_what() -> impl Strategy<Value = CpuOccupant> {
        prop_oneof![
            Just(CpuOccupant::Timer),
            "[ab]".prop_map(|name| CpuOccupant::Interrupt { name }),
            "[AB]".prop_map(|name| CpuOccupant::Softirq { name }),
        ]
    }

    fn any_edge() -> impl Strategy<Value = Edge> {
        prop_oneof![
            any_what().prop_map(Edge::Begin),
            any_what().prop_map(Edge::End),
            (0..3_i32, any::<bool>()).prop_map(|(tid, late)| Edge::Switch { to: task("t", tid), late }),
        ]
    }

    proptest! {
        /// Whatever is reported, in whatever order: no event is outside of the time, none is longer than that, and the
        /// events' own times do not overlap.
        #[test]
        fn own_times_are_shares_of_the_time(
            edges in proptest::collection::vec((0..1_000_i64, any_edge()), 0..60),
            more in 0..100_i64
        ) {
            let edges: Vec<_> = edges.into_iter().map(|(at, e)| (Nanos(at), e)).collect();
            let begins = edges.iter().filter(|(_, e)| !matches!(e, Edge::End(_))).count();
            let events = pair(edges, Nanos(1_000 + more));
            prop_assert_eq!(events.len(), begins);
            for e in &events {
                prop_assert!(e.start.0 >= 0 && e.start <= e.end && e.end.0 <= 1_000 + more);
                prop_assert!(e.own.0 >= 0 && e.own <= e.end - e.start);
            }
            prop_assert!(events.is_sorted_by_key(|e| e.start));
            // A late switch may end a task within an interrupt, whose time is then charged to the next.
            let own: i64 = events.iter().filter(|e| e.what.interrupts()).map(|e| e.own.0).sum();
            prop_assert!(own <= 1_000 + more);
        }
    }
}
