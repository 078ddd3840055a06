//! The machine's timing mechanisms as a table (CS:APP figure 9.21), and the advice for a measurement, with its reasons.

use crate::kit::error::RenderError;
use crate::kit::number;
use crate::kit::screen::Page;
use crate::kit::style::{Paint, Style};
use crate::kit::table::{Table, draw};
use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{Choice, Method, Reason};
use tarebench_core::kbest::clocks::{Clocks, Counts, Kind, Steering, Way};

/// The name of a mechanism as the reader sees it.
pub fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "cycle counter, fenced",
        Kind::CounterUnfenced => "cycle counter",
        Kind::CounterAfter => "cycle counter, after (rdtscp)",
        Kind::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
        Kind::Monotonic => "CLOCK_MONOTONIC",
        Kind::MonotonicCoarse => "CLOCK_MONOTONIC_COARSE",
        Kind::Boottime => "CLOCK_BOOTTIME",
        Kind::Realtime => "CLOCK_REALTIME",
        Kind::RealtimeCoarse => "CLOCK_REALTIME_COARSE",
        Kind::Tai => "CLOCK_TAI",
        Kind::Gettimeofday => "gettimeofday",
        Kind::ThreadCpu => "CLOCK_THREAD_CPUTIME_ID",
        Kind::ProcessCpu => "CLOCK_PROCESS_CPUTIME_ID",
        Kind::Getrusage => "getrusage",
        Kind::Clock => "clock",
        Kind::Times => "times",
        Kind::Schedstat => "/proc/PID/schedstat",
        Kind::Stat => "/proc/PID/stat",
        Kind::Taskstats => "taskstats",
        Kind::Rdpmc => "cycles by rdpmc",
    }
}

/// What a mechanism is good for.
pub fn purpose(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "code of a few ns up to a tick; a trial's beginning and end",
        Kind::CounterUnfenced => "traces: many readings in a loop, where an error of a few ns does not matter",
        Kind::CounterAfter => "the end of a trial; later instructions may start before the reading",
        Kind::MonotonicRaw => "elapsed times, not adjusted by NTP; if there is no usable counter",
        Kind::Monotonic => "elapsed times of seconds and more; rate adjusted by NTP",
        Kind::MonotonicCoarse | Kind::RealtimeCoarse => {
            "time stamps in logs; its resolution is the tick, too coarse for measurements"
        }
        Kind::Boottime => "elapsed times across suspends",
        Kind::Realtime => "dates; may be set back, so not for durations",
        Kind::Tai => "dates without leap seconds; may be set, so not for durations",
        Kind::Gettimeofday => "the book's portable clock: CLOCK_REALTIME in microseconds",
        Kind::ThreadCpu => "code from about a millisecond on a loaded machine; one thread",
        Kind::ProcessCpu => "the same for all threads of a process",
        Kind::Getrusage => "user and system time separately; the sum is exact, the division is estimated by ticks",
        Kind::Clock => "the CPU time of a process, in portable C",
        Kind::Times => "CPU time in ticks of 10 ms, as by interval counting",
        Kind::Schedstat => "the CPU time of one thread of another process",
        Kind::Stat => "the CPU time of another process in ticks of 10 ms",
        Kind::Taskstats => "the CPU time of another process, and of processes that have ended",
        Kind::Rdpmc => "core cycles, whatever the clock speed",
    }
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Instruction => "instruction",
        Way::Vdso => "vDSO",
        Way::Call => "system call",
        Way::File => "file, system call",
    }
}

fn steering(s: Steering) -> &'static str {
    match s {
        Steering::Raw => "raw",
        Steering::Slewed => "slewed",
        Steering::Stepped => "may be set",
    }
}

fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

/// The properties of the counter, the table, and the advice.
pub fn terminal(clocks: &Clocks, advice: Option<(&Asked, &Choice)>, style: &Style) -> String {
    let u = style.unicode;
    let mut page = Page::new(style);
    page.title("Clocks");
    page.field(
        "source",
        &match &clocks.source {
            Reading::Value(s) => style.show(s).to_string(),
            Reading::Absent(why) => style.prose(&why.to_string()),
        },
    );
    page.field("counter", &style.prose(&counter(clocks, u)));
    let note = "Resolution: the smallest step between two readings. Latency: the time of one.";
    let columns = ["mechanism", "counts", "read by", "rate", ">resolution", ">latency"];
    let mut t = Table::new("Mechanisms", note, &columns);
    let mut absent = Vec::new();
    for m in &clocks.mechanisms {
        let Reading::Value(v) = &m.measured else {
            absent.extend(m.measured.absent().map(|why| format!("{}: {why}", name(m.kind))));
            continue;
        };
        let counts = match m.kind.counts() {
            Counts::Elapsed => "elapsed",
            Counts::Cpu => "CPU",
        };
        let rate = if v.went_back { "went back" } else { steering(m.kind.steering()) };
        let resolution = v.resolution.map_or("did not move".to_owned(), |r| time(r, u));
        let cells = [name(m.kind), counts, way(v.way), rate, &resolution, &time(v.latency, u)];
        t.row(cells.iter().map(|c| (*c).to_owned()).collect(), Vec::new());
    }
    draw(&mut page, &t);
    page.gap();
    page.title("Uses");
    for m in clocks.mechanisms.iter().filter(|m| m.measured.value().is_some()) {
        let head = [(Paint::Plain, "  ".to_owned()), (Paint::Dim, format!("{}: ", name(m.kind)))];
        page.hang(&head, Paint::Plain, &style.prose(purpose(m.kind)));
    }
    if !absent.is_empty() {
        page.gap();
        page.title("Not available");
        for why in absent {
            page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Plain, &style.prose(&why));
        }
    }
    if let Some((asked, choice)) = advice {
        page.gap();
        page.title(&style.prose(&format!("For {} at load {}", time(asked.duration.as_f64(), u), asked.load)));
        for sentence in sentences(asked, choice, u) {
            page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Plain, &style.prose(&sentence));
        }
    }
    page.finish()
}

fn counter(c: &Clocks, unicode: bool) -> String {
    let Reading::Value(hz) = &c.counter_hz else {
        return c.counter_hz.absent().map(ToString::to_string).unwrap_or_default();
    };
    let constant = match &c.constant {
        Reading::Value(true) => "constant rate, as reported by the CPU".to_owned(),
        Reading::Value(false) => "no constant rate, as reported by the CPU: do not use it".to_owned(),
        Reading::Absent(_) => "the CPU does not report whether its rate is constant".to_owned(),
    };
    let apart = match &c.apart {
        Reading::Value(ns) => format!("; the counters of the CPUs differ by at most {}", time(*ns, unicode)),
        Reading::Absent(_) => String::new(),
    };
    format!("{} GHz, {constant}{apart}", number::fixed(hz / 1e9, 3).unwrap_or_default())
}

/// What advice is requested for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Expected duration of the code.
    pub duration: Nanos,
    /// Active processes on its CPU, itself included.
    pub load: u32,
}

/// The advice in sentences, the most important first.
pub fn sentences(asked: &Asked, c: &Choice, unicode: bool) -> Vec<String> {
    let clock = name(c.clock);
    let mut said = vec![match c.method {
        Method::RepeatedKBest => format!(
            "K-best with the {clock}, the code {} times in each trial: a trial then takes a thousand times as long as reading the clock.",
            c.repetitions
        ),
        Method::KBest => format!("K-best with the {clock}."),
        Method::CompensatedKBest => format!("K-best with the {clock}, compensated for timer interrupts."),
        Method::CpuKBest => format!("K-best with {clock}, which excludes the time of other processes."),
        Method::Runs => {
            "Use `tare run`: ten or more executions, their CPU time, and what the machine added.".to_owned()
        }
    }];
    said.extend(c.reasons.iter().map(|r| match r {
        Reason::TooShortForTheClock => "A single execution is too short: reading the clock would be over 1% of it.".to_owned(),
        Reason::FitsBetweenInterruptions => {
            format!("Most trials fit between two ticks ({} apart), so the fastest trials contain none.", time(c.tick, unicode))
        }
        Reason::TicksInEveryTrial => {
            format!("A tick comes every {}: each trial contains at least one, always of nearly the same cost.", time(c.tick, unicode))
        }
        Reason::OthersInTrials => format!(
            "Another process gets the CPU after {} at the latest, so a clock of elapsed time would include the time of that \
             process. The kernel accounts CPU time to the nanosecond.",
            time(c.slice, unicode)
        ),
        Reason::LaunchesDiffer => {
            "From one second on, executions differ by more than the clocks, and daemons run in between: measure it as a program.".to_owned()
        }
        Reason::NoCounter => "This machine has no cycle counter with a constant rate.".to_owned(),
    }));
    if asked.load > 1 && !matches!(c.method, Method::CpuKBest | Method::Runs) {
        said.push(match c.trials {
            Some(trials) => format!(
                "At this load {} of the trials are undisturbed; three undisturbed trials need {} trials on average.",
                number::percent(c.undisturbed).unwrap_or_default(),
                number::fixed(trials, 1).unwrap_or_default()
            ),
            None => {
                "At this load no trial is undisturbed: time a shorter piece of code, or reduce the load.".to_owned()
            }
        });
    }
    said
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    clocks: &'a Clocks,
    asked: Option<&'a Asked>,
    choice: Option<&'a Choice>,
}

/// The same as JSON.
///
/// # Errors
/// [`RenderError`].
pub fn json(clocks: &Clocks, advice: Option<(&Asked, &Choice)>) -> Result<String, RenderError> {
    let (asked, choice) = advice.unzip();
    Ok(crate::kit::json::pretty(&Document { format: "tare-clocks", version: 1, clocks, asked, choice })? + "\n")
}
