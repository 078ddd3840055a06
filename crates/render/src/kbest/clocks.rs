//! The machine's timing mechanisms as a table (CS:APP figure 9.21), and the advice for a measurement, with its reasons.

use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{ClockChoice, ClockMethod, ClockReason};
use tarebench_core::kbest::clocks::{ClockCounts, ClockKind, Clocks, ReadingMethod, Steering};
use tarebench_core::kbest::interval_counting::ClockTickRate;
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;

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

fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

/// `100 ticks a second (98.0 to 102): 50 during a sleep of 500 ms`.
fn tick_rate(r: &ClockTickRate, unicode: bool) -> String {
    let rate = |v: f64| number::fixed(v, number::decimals_for(v, 3)).unwrap_or_default();
    format!(
        "{} ticks a second ({} to {}): {} during a sleep of {}",
        rate(r.estimate),
        rate(r.low),
        rate(r.high),
        r.ticks,
        time(r.slept * 1e9, unicode)
    )
}

/// The properties of the counter and of times(2), the table, and the advice.
pub fn terminal(
    clocks: &Clocks,
    ticks: Option<&ClockTickRate>,
    advice: Option<(&ClocksRequest, &ClockChoice)>,
    style: &Style,
) -> String {
    let u = style.unicode;
    let mut page = ScreenText::new(style);
    page.title("Clocks");
    page.field(
        "source",
        &match &clocks.source {
            Reading::Value(s) => style.show(s).to_string(),
            Reading::Absent(why) => style.prose(&why.to_string()),
        },
    );
    page.field("counter", &style.prose(&counter(clocks, u)));
    if let Some(rate) = ticks {
        page.field("times", &style.prose(&tick_rate(rate, u)));
    }
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
            ClockCounts::Elapsed => "elapsed",
            ClockCounts::Cpu => "CPU",
        };
        let rate = if v.went_back { "went back" } else { steering(m.kind.steering()) };
        let resolution = v.resolution.map_or("did not move".to_owned(), |r| time(r, u));
        let cells = [name(m.kind), counts, way(v.way), rate, &resolution, &time(v.latency, u)];
        t.row(cells, Vec::new());
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
pub struct ClocksRequest {
    /// Expected duration of the code.
    pub duration: Nanos,
    /// Active processes on its CPU, itself included.
    pub load: u32,
}

/// The advice in sentences, the most important first.
pub fn sentences(asked: &ClocksRequest, c: &ClockChoice, unicode: bool) -> Vec<String> {
    let clock = name(c.clock);
    let mut said = vec![match c.method {
        ClockMethod::RepeatedKBest => format!(
            "K-best with the {clock}, the code {} times in each trial: a trial then takes a thousand times as long as reading the clock.",
            c.repetitions
        ),
        ClockMethod::KBest => format!("K-best with the {clock}."),
        ClockMethod::CompensatedKBest => format!("K-best with the {clock}, compensated for timer interrupts."),
        ClockMethod::CpuKBest => format!("K-best with {clock}, which excludes the time of other processes."),
        ClockMethod::Runs => {
            "Use `tare run`: ten or more executions, their CPU time, and what the machine added.".to_owned()
        }
    }];
    said.extend(c.reasons.iter().map(|r| match r {
        ClockReason::TooShortForTheClock => "A single execution is too short: reading the clock would be over 1% of it.".to_owned(),
        ClockReason::FitsBetweenInterruptions => {
            format!("Most trials fit between two ticks ({} apart), so the fastest trials contain none.", time(c.tick, unicode))
        }
        ClockReason::TicksInEveryTrial => {
            format!("A tick comes every {}: each trial contains at least one, always of nearly the same cost.", time(c.tick, unicode))
        }
        ClockReason::OthersInTrials => format!(
            "Another process gets the CPU after {} at the latest, so a clock of elapsed time would include the time of that \
             process. The kernel accounts CPU time to the nanosecond.",
            time(c.slice, unicode)
        ),
        ClockReason::LaunchesDiffer => {
            "From one second on, executions differ by more than the clocks, and daemons run in between: measure it as a program.".to_owned()
        }
        ClockReason::NoCounter => "This machine has no cycle counter with a constant rate.".to_owned(),
    }));
    if asked.load > 1 && !matches!(c.method, ClockMethod::CpuKBest | ClockMethod::Runs) {
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
