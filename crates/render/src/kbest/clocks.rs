//! The machine's timing mechanisms as a sheet (CS:APP figure 9.21), and the advice for a measurement, with its reasons.

use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{ClockChoice, ClockMethod, ClockReason};
use tarebench_core::kbest::clocks::{ClockCounts, ClockKind, Clocks, Mechanism, ReadingMethod, Steering};
use tarebench_core::kbest::interval_counting::ClockTickRate;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetNote, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::table::Table;
use tarebench_report::web::page::PageKind;

/// The name of a mechanism as the reader sees it.
pub fn name(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Counter => "cycle counter, fenced",
        ClockKind::CounterUnfenced => "cycle counter",
        ClockKind::CounterAfter => "cycle counter, after (rdtscp)",
        ClockKind::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
        ClockKind::Monotonic => "CLOCK_MONOTONIC",
        ClockKind::MonotonicCoarse => "CLOCK_MONOTONIC_COARSE",
        ClockKind::Boottime => "CLOCK_BOOTTIME",
        ClockKind::Realtime => "CLOCK_REALTIME",
        ClockKind::RealtimeCoarse => "CLOCK_REALTIME_COARSE",
        ClockKind::Tai => "CLOCK_TAI",
        ClockKind::Gettimeofday => "gettimeofday",
        ClockKind::ThreadCpu => "CLOCK_THREAD_CPUTIME_ID",
        ClockKind::ProcessCpu => "CLOCK_PROCESS_CPUTIME_ID",
        ClockKind::Getrusage => "getrusage",
        ClockKind::Clock => "clock",
        ClockKind::Times => "times",
        ClockKind::Schedstat => "/proc/PID/schedstat",
        ClockKind::Stat => "/proc/PID/stat",
        ClockKind::Taskstats => "taskstats",
        ClockKind::Rdpmc => "cycles by rdpmc",
    }
}

/// What a mechanism is good for.
pub fn purpose(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Counter => "code of a few ns up to a tick; a trial's beginning and end",
        ClockKind::CounterUnfenced => "traces: many readings in a loop, where an error of a few ns does not matter",
        ClockKind::CounterAfter => "the end of a trial; later instructions may start before the reading",
        ClockKind::MonotonicRaw => "elapsed times, not adjusted by NTP; if there is no usable counter",
        ClockKind::Monotonic => "elapsed times of seconds and more; rate adjusted by NTP",
        ClockKind::MonotonicCoarse | ClockKind::RealtimeCoarse => {
            "time stamps in logs; its resolution is the tick, too coarse for measurements"
        }
        ClockKind::Boottime => "elapsed times across suspends",
        ClockKind::Realtime => "dates; may be set back, so not for durations",
        ClockKind::Tai => "dates without leap seconds; may be set, so not for durations",
        ClockKind::Gettimeofday => "the book's portable clock: CLOCK_REALTIME in microseconds",
        ClockKind::ThreadCpu => "code from about a millisecond on a loaded machine; one thread",
        ClockKind::ProcessCpu => "the same for all threads of a process",
        ClockKind::Getrusage => "user and system time separately; the sum is exact, the division is estimated by ticks",
        ClockKind::Clock => "the CPU time of a process, in portable C",
        ClockKind::Times => "CPU time in ticks of 10 ms, as by interval counting",
        ClockKind::Schedstat => "the CPU time of one thread of another process",
        ClockKind::Stat => "the CPU time of another process in ticks of 10 ms",
        ClockKind::Taskstats => "the CPU time of another process, and of processes that have ended",
        ClockKind::Rdpmc => "core cycles, whatever the clock speed",
    }
}

fn way(way: ReadingMethod) -> &'static str {
    match way {
        ReadingMethod::Instruction => "instruction",
        ReadingMethod::Vdso => "vDSO",
        ReadingMethod::Call => "system call",
        ReadingMethod::File => "file, system call",
    }
}

fn steering(s: Steering) -> &'static str {
    match s {
        Steering::Raw => "raw",
        Steering::Slewed => "slewed",
        Steering::Stepped => "may be set",
    }
}

/// `2.300 GHz`.
pub(crate) fn rate(hz: f64) -> String {
    number::fixed(hz / 1e9, 3).map_or_else(String::new, |ghz| format!("{ghz} GHz"))
}

/// `100 ticks a second (98.0 to 102): 50 during a sleep of 500 ms`.
fn tick_rate(r: &ClockTickRate) -> Cell {
    let rate = |v: f64| number::fixed(v, number::decimals_for(v, 3)).unwrap_or_default();
    let [estimate, low, high] = [r.estimate, r.low, r.high].map(rate);
    let slept = Cell::time(r.slept * 1e9);
    Cell::text(format!("{estimate} ticks a second ({low} to {high}): {} during a sleep of ", r.ticks)).and(slept)
}

/// The advice, the properties of the counter and of times(2), the table, and what each mechanism is good for.
pub fn sheet(clocks: &Clocks, ticks: Option<&ClockTickRate>, advice: Option<(&ClocksRequest, &ClockChoice)>) -> Sheet {
    let source = match &clocks.source {
        Reading::Value(source) => Cell::foreign(source),
        Reading::Absent(why) => Cell::text(why.to_string()),
    };
    let facts = [SheetFact::new("source", source), SheetFact::new("counter", counter(clocks))];
    let measured = |m: &&Mechanism| m.measured.value().is_some();
    let absent = |m: &Mechanism| Some(format!("{}: {}", name(m.kind), m.measured.absent()?));
    let asked = |(asked, choice): (&ClocksRequest, &ClockChoice)| sentences(asked, choice);
    Sheet {
        answers: advice.map(asked).unwrap_or_default(),
        facts: facts.into_iter().chain(ticks.map(|r| SheetFact::new("times", tick_rate(r)))).collect(),
        notes: clocks
            .mechanisms
            .iter()
            .filter(measured)
            .map(|m| SheetNote::new(name(m.kind), purpose(m.kind)))
            .collect(),
        remarks: clocks.mechanisms.iter().filter_map(absent).map(SheetRemark::information).collect(),
        sections: vec![Section::result([Item::Table(mechanisms(clocks))])],
        ..Sheet::new(PageKind::Machine, "Clocks")
    }
}

fn mechanisms(clocks: &Clocks) -> Table {
    let note = "Resolution: the smallest step between two readings. Latency: the time of one.";
    let columns = ["mechanism", "counts", "read by", "rate", ">resolution", ">latency"];
    let mut table = Table::new("", note, &columns);
    for m in &clocks.mechanisms {
        let Reading::Value(v) = &m.measured else { continue };
        let counts = match m.kind.counts() {
            ClockCounts::Elapsed => "elapsed",
            ClockCounts::Cpu => "CPU",
        };
        let cells = [
            name(m.kind).into(),
            counts.into(),
            way(v.way).into(),
            if v.went_back { "went back" } else { steering(m.kind.steering()) }.into(),
            v.resolution.map_or_else(|| "did not move".into(), |ns| Cell::of(Unit::Time, ns)),
            Cell::time(v.latency),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn counter(c: &Clocks) -> Cell {
    let Reading::Value(hz) = &c.counter_hz else {
        return c.counter_hz.absent().map(ToString::to_string).unwrap_or_default().into();
    };
    let constant = match &c.constant {
        Reading::Value(true) => "constant rate, as reported by the CPU",
        Reading::Value(false) => "no constant rate, as reported by the CPU: do not use it",
        Reading::Absent(_) => "the CPU does not report whether its rate is constant",
    };
    let said = Cell::text(format!("{}, {constant}", rate(*hz)));
    match &c.apart {
        Reading::Value(ns) => said.and("; the counters of the CPUs differ by at most ").and(Cell::time(*ns)),
        Reading::Absent(_) => said,
    }
}

/// What advice is requested for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClocksRequest {
    /// Expected duration of the code.
    pub duration: Nanos,
    /// Active processes on its CPU, itself included.
    pub load: u32,
}

/// The advice in sentences, the most important first.
pub fn sentences(asked: &ClocksRequest, c: &ClockChoice) -> Vec<Cell> {
    let clock = name(c.clock);
    let method = match c.method {
        ClockMethod::RepeatedKBest => format!(
            "K-best with the {clock}, the code {} times in each trial: a trial then takes a thousand times as long as reading the clock.",
            c.repetitions
        ),
        ClockMethod::KBest => format!("K-best with the {clock}."),
        ClockMethod::CompensatedKBest => format!("K-best with the {clock}, compensated for timer interrupts."),
        ClockMethod::CpuKBest => format!("K-best with {clock}, which excludes the time of other processes."),
        ClockMethod::Runs => {
            "use `tare run`: ten or more executions, their CPU time, and what the machine added.".to_owned()
        }
    };
    let what = Cell::text("For ").and(Cell::time(asked.duration.as_f64())).and(format!(" at load {}: ", asked.load));
    let mut said = vec![what.and(method).paint(Paint::Strong)];
    let with_time = |before: &str, ns: f64, after: &str| Cell::text(before).and(Cell::time(ns)).and(after);
    said.extend(c.reasons.iter().map(|r| match r {
        ClockReason::TooShortForTheClock => "A single execution is too short: reading the clock would be over 1% of it.".into(),
        ClockReason::FitsBetweenInterruptions => with_time(
            "Most trials fit between two ticks (", c.tick, " apart), so the fastest trials contain none."
        ),
        ClockReason::TicksInEveryTrial => with_time(
            "A tick comes every ", c.tick, ": each trial contains at least one, always of nearly the same cost."
        ),
        ClockReason::OthersInTrials => with_time(
            "Another process gets the CPU after ",
            c.slice,
            " at the latest, so a clock of elapsed time would include the time of that process. The kernel accounts CPU time to \
             the nanosecond.",
        ),
        ClockReason::LaunchesDiffer => {
            "From one second on, executions differ by more than the clocks, and daemons run in between: measure it as a program.".into()
        }
        ClockReason::NoCounter => "This machine has no cycle counter with a constant rate.".into(),
    }));
    if asked.load > 1 && !matches!(c.method, ClockMethod::CpuKBest | ClockMethod::Runs) {
        said.push(match c.trials {
            Some(trials) => Cell::text("At this load ")
                .and(Cell::of(Unit::Share, c.undisturbed))
                .and(" of the trials are undisturbed; three undisturbed trials need ")
                .and(Cell::of(Unit::Count, trials))
                .and(" trials on average."),
            None => "At this load no trial is undisturbed: time a shorter piece of code, or reduce the load.".into(),
        });
    }
    said
}

#[derive(Serialize)]
struct ClocksJson<'a> {
    format: &'static str,
    version: u32,
    clocks: &'a Clocks,
    /// Absent if times(2) cannot be read.
    times: Option<&'a ClockTickRate>,
    asked: Option<&'a ClocksRequest>,
    choice: Option<&'a ClockChoice>,
}

/// The same as JSON.
pub fn json(
    clocks: &Clocks,
    times: Option<&ClockTickRate>,
    advice: Option<(&ClocksRequest, &ClockChoice)>,
) -> Result<String, RenderError> {
    let (asked, choice) = advice.unzip();
    let document = ClocksJson { format: "tare-clocks", version: 1, clocks, times, asked, choice };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}
