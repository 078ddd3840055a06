//! The remarks of a report as sentences: what, and what to do. The terminal, the page and JSON say the same.

use crate::compare::design;
use crate::compare::sentence::{short, word};
use crate::profile::doubts;
use crate::run::program::time_of;
use tarebench_core::base::hint::Hint;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::compare::ratio::{RatioBasis, Verdict};
use tarebench_core::documents::head::Status;
use tarebench_core::run::notes::{FactorChange, ReadingTime, ShellStart};
use tarebench_core::run::report::data::Measure;
use tarebench_core::run::report::findings::{NameCount, Remark, RemarkKind as Kind};
use tarebench_core::sample::cgroup_limits::OutOfMemory;
use tarebench_core::sample::data::Outcome;
use tarebench_core::sample::process_time::{PtSource, Shortfall};
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_core::statistics::steadiness::Unsteadiness;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::words;

/// The sentences of a remark.
pub fn text(remark: &Remark, hints: &Hints) -> String {
    match &remark.kind {
        Kind::Strays { samples } => format!("{samples} samples belong to no program of this run and are ignored."),
        Kind::Incomplete { status, run, counted } => incomplete(*status, *run, *counted, hints),
        Kind::Source { source, notes } => process_time_source(*source, notes),
        Kind::Tuned { what } => format!("The machine was tuned for this run: {what}."),
        Kind::Changed { changes } => {
            format!("The machine changed during the measurement: {}.", self::changes(changes))
        }
        Kind::Profile { profile, doubt } => doubts::sentence(profile, doubt, hints),
        Kind::Sequential => {
            let what =
                "The programs ran one after the other, so a drift of the machine looks like a difference between them.";
            format!("{what}{}", hints.sentence(&Hint::Interleave))
        }
        Kind::SequentialForSetups => {
            let what = "The programs ran one after the other, each after its setup command, because one setup may undo \
                        another's: a drift of the machine looks like a difference between them.";
            format!("{what}{}", hints.sentence(&Hint::IndependentSetups))
        }
        Kind::Shell { starts, words } => {
            let all: Vec<String> = starts.iter().map(shell_start).chain(words.iter().cloned()).collect();
            format!("The start of a shell is part of the time of each sample: {}.", all.join("; "))
        }
        Kind::ShortBlocks { executions, programs } => {
            let blocks = design::blocks(*executions, *programs);
            format!("The programs are short: they ran in {blocks}. Each pair is a block, by its geometric means.")
        }
        Kind::NotComparable => {
            "It cannot be compared, because no round has a retained sample of both programs.".to_owned()
        }
        Kind::ByElapsed { reference, ratio, interval, elapsed, process } => {
            by_elapsed(*reference, *ratio, interval, [*elapsed, *process])
        }
        Kind::NoSamples => "There is no counted sample.".to_owned(),
        Kind::Failures { failed, accepted, of, first } => failures(*failed, *accepted, *of, first, hints),
        Kind::NoProcessTime { missing, of, why } => format!("{missing} of {of} samples have no CPU time; {why}."),
        Kind::Replaced { samples, of, first } => replaced(*samples, *of, first),
        Kind::LeftCgroup { samples, of, to } => format!(
            "The program moved to another cgroup ({to}) in {samples} of {of} samples. CPU time that it used there is known by \
             wait4 only."
        ),
        Kind::Throttled { samples, of, time, cgroup } => throttled(*samples, *of, *time, cgroup),
        Kind::OutOfMemory { samples, of, first } => out_of_memory(*samples, *of, first),
        Kind::NotTrustworthy { measure, retained, of } => {
            let what = format!("Only {retained} of {of} samples are retained for {} time", short(*measure));
            format!("{what}: the result is not trustworthy.{}", hints.sentence(&Hint::QuietMachine))
        }
        Kind::NoTime { measure, why } => no_time(*measure, why, hints),
        Kind::NoIntervals { measures, retained, needed } => no_intervals(measures, *retained, *needed, hints),
        Kind::Unsteady { measure, blocks, found } => unsteady(*measure, *blocks, found, hints),
        Kind::Detect { asked, reached, basis, blocks, most, looks } => {
            detect(*asked, *reached, *basis, [*blocks, *most, *looks], remark.warning(), hints)
        }
        Kind::ControlDiffers { reference, ratio, interval } => control_differs(*reference, *ratio, interval),
        Kind::Precision { samples, asked, measure, reached } => {
            precision(*samples, *asked, (*measure, *reached), remark.warning(), hints)
        }
        Kind::DaemonsIncomplete { samples, of, why } => {
            let what = format!("In {samples} of {of} samples the list of daemons may be incomplete ({why}).");
            format!("{what} Run as root (CAP_NET_ADMIN) to record all of them.")
        }
        Kind::NotEnded { names } => {
            let names = list(names);
            format!("Leftover processes could not be killed: {names}. They may disturb later measurements.")
        }
        Kind::Ended { names } => {
            format!("Leftover processes were killed: {}.{}", list(names), hints.sentence(&Hint::LeaveRunning))
        }
        Kind::LeftRunning { names } => {
            format!("Leftover processes still ran after their samples, as requested: {}.", list(names))
        }
        Kind::AccountIncomplete { samples, of, why } => {
            format!("In {samples} of {of} samples the account is incomplete ({why}); these samples have no net time.")
        }
        Kind::Unattributed { time, share } => unattributed(*time, *share),
        Kind::Waiting { ratio, accounted, daemons, steal } => waiting(*ratio, *accounted, daemons, steal),
        Kind::Steal { time, share } => steal_of(*time, *share),
        Kind::GateLimit { samples, of } => gate_limit(samples, *of),
        Kind::Paused { samples, of, time } => paused(*samples, *of, *time),
        Kind::Suspended { samples, time } => suspended(samples, *time),
        Kind::ClockSet { samples, step } => clock_set(samples, *step),
    }
}

fn gate_limit(samples: &[u32], of: u32) -> String {
    let ran_on = "the pauses reached their limit, and the program ran on a busy machine";
    format!("In {} of {of} samples {ran_on}: {}.", samples.len(), numbered(samples))
}

fn paused(samples: u32, of: u32, time: f64) -> String {
    format!(
        "The program was paused in {samples} of {of} samples, for {} in all, while the machine was busy. Elapsed time includes \
         the pauses; CPU time and net time do not.",
        Cell::time(time)
    )
}

fn suspended(samples: &[u32], time: f64) -> String {
    format!(
        "The machine was suspended for {} during {}. Elapsed time does not include that, but the program may have been slower \
         afterwards (cold caches and CPUs): measure again.",
        Cell::time(time),
        numbered(samples)
    )
}

fn clock_set(samples: &[u32], step: f64) -> String {
    format!(
        "The machine's clock was set {} during {}. Elapsed time is not affected; dates are, and a program that reads the \
         date may be.",
        set_by(step),
        numbered(samples)
    )
}

fn list(names: &[NameCount]) -> String {
    names.iter().map(|n| format!("{} ({}×)", n.name, n.count)).collect::<Vec<_>>().join(", ")
}

/// `sample 4`, `samples 4-7, 9`; numbers are shown from 1.
fn numbered(samples: &[u32]) -> String {
    const RANGES: usize = 5;
    format!("{} {}", if samples.len() == 1 { "sample" } else { "samples" }, words::numbers(samples, RANGES))
}

/// `forward by 2.00 s`.
pub(crate) fn set_by(step: f64) -> String {
    format!("{} by {}", if step < 0.0 { "back" } else { "forward" }, Cell::time(step.abs()))
}

fn incomplete(status: Status, run: i64, counted: u64, hints: &Hints) -> String {
    let what = match status {
        Status::Interrupted => "was interrupted",
        Status::Unfinished | Status::Finished => "was not finished",
    };
    match run {
        0 => format!("The run {what} after {counted} counted samples. It was not stored: measure again."),
        id => {
            let resume = hints.sentence(&Hint::Resume(id));
            format!("The run {what}; {counted} counted samples are stored.{resume}")
        }
    }
}

/// A change of the machine, and between which readings it was seen if the run had more than two of them.
/// Changes of factors, with the readings that they were seen between.
pub(crate) fn changes<'a>(changes: impl IntoIterator<Item = &'a FactorChange>) -> String {
    changes.into_iter().map(change).collect::<Vec<_>>().join("; ")
}

fn change(change: &FactorChange) -> String {
    use ReadingTime as T;
    let when = |t: T| match t {
        T::BeforeFirst => "before the first sample".to_owned(),
        T::BeforeProgram(n) => format!("before program {n}"),
        T::AfterLast => "after the last sample".to_owned(),
    };
    match change.between {
        None | Some((T::BeforeFirst, T::AfterLast)) => change.what.clone(),
        Some((from, to)) => format!("{} (from {} to {})", change.what, when(from), when(to)),
    }
}

fn shell_start(start: &ShellStart) -> String {
    let words: Vec<String> = start.shell.iter().map(ToString::to_string).collect();
    let time = Cell::time(start.median().as_f64());
    format!("`{} -c :` takes {time} (median of {} starts)", words.join(" "), start.elapsed.len())
}

fn process_time_source(source: PtSource, notes: &[String]) -> String {
    let misses = source.misses().map_or_else(String::new, |m| format!(", which misses {m}"));
    let better = if notes.is_empty() { String::new() } else { format!(" Better sources: {}.", notes.join("; ")) };
    format!("CPU time is from {}{misses}.{better}", source.name())
}

fn replaced(samples: u32, of: u32, first: &Shortfall) -> String {
    let source = first.source.name();
    let (counted, seen) = (Cell::time(first.counted.as_f64()), Cell::time(first.seen.as_f64()));
    let why = match first.source {
        PtSource::TaskClock => {
            "It may be a program that changed its privileges (set-user-ID), at which the kernel ends that count, or many short \
             processes, of whose starts and ends it leaves out a part. "
        }
        PtSource::Cgroup => "A part of the program may have run in another cgroup. ",
        PtSource::ExitRecords | PtSource::Wait4 => "",
    };
    let misses = PtSource::Wait4.misses().unwrap_or_default();
    format!(
        "CPU time is from wait4, because {source} counted only {counted} of {seen} ({samples} of {of} samples). {why}CPU time \
         by wait4 misses {misses}."
    )
}

fn throttled(samples: u32, of: u32, time: f64, cgroup: &str) -> String {
    let mean = Cell::time(time / f64::from(samples.max(1)));
    format!(
        "The quota of CPU time of cgroup {cgroup} was used up in {samples} of {of} samples, for {mean} of each on average: the \
         program had to wait, and elapsed time depends on the quota. Raise it (cpu.max, in cgroup v1 cpu.cfs_quota_us)."
    )
}

fn out_of_memory(samples: u32, of: u32, first: &OutOfMemory) -> String {
    let killed = words::plural(first.kills, "process");
    let place = if first.in_cgroup { "of the program's cgroup" } else { "of this machine, perhaps the program's," };
    let limit = first.limit.as_ref().map_or_else(String::new, |l| format!(" at the limit of cgroup {l}"));
    let more = if samples > 1 { " in the first of them" } else { "" };
    format!(
        "Memory ran out{limit} in {samples} of {of} samples, which count: the kernel killed {killed} {place}{more}. The program \
         did less than it should."
    )
}

fn by_elapsed(
    reference: u32,
    ratio: f64,
    interval: &Result<Interval, NoInterval>,
    [elapsed, process]: [Verdict; 2],
) -> String {
    let word = |v: Verdict| if v == Verdict::Same { "the same within the margin" } else { word(v) };
    format!(
        "By elapsed time it is {} {} program {}: ratio {}. By CPU time: {}.",
        word(elapsed),
        if elapsed == Verdict::Same { "as" } else { "than" },
        u64::from(reference) + 1,
        Cell::from(Figure::new(Unit::Ratio, ratio).with_interval(interval)),
        word(process)
    )
}

fn failures(failed: u64, accepted: u64, samples: u64, first: &Outcome, hints: &Hints) -> String {
    match failed.saturating_sub(accepted) {
        0 => format!("{failed} of {samples} samples failed and count, because failures are accepted (first: {first})."),
        not => {
            let hint = hints.sentence(&Hint::Failures);
            format!("{not} of {samples} samples failed and do not count (first: {first}).{hint}")
        }
    }
}

fn no_time(measure: Measure, why: &Absent, hints: &Hints) -> String {
    format!("There is no {} time; {why}.{}", short(measure), hints.sentence(&Hint::QuietMachine))
}

/// Samples to take beyond those that intervals need, since some are discarded.
const SPARE: u32 = 4;

fn no_intervals(measures: &[Measure], retained: u32, needed: u32, hints: &Hints) -> String {
    let names: Vec<_> = measures.iter().map(|m| short(*m)).collect();
    let more = hints.sentence(&Hint::Samples(needed.saturating_add(SPARE)));
    format!("No intervals of {} time: {retained} retained samples, {needed} are needed.{more}", names.join(", "))
}

/// What is not steady, what that does to the figures, and what to do.
fn unsteady(measure: Measure, blocks: bool, found: &Unsteadiness, hints: &Hints) -> String {
    use Unsteadiness as U;
    let time = Cell::time;
    let name = if measure == Measure::Pt { "CPU time".to_owned() } else { format!("{} time", short(measure)) };
    let share = |from: f64, to: f64| Cell::of(Unit::Share, (to / from - 1.0).abs());
    let unit = |n: u32| words::plural(n, if blocks { "block" } else { "sample" });
    let (what, hint) = match found {
        U::WarmUp { samples, first, later } => (
            format!(
                "The first {} took {} longer than the later ones ({}, later {}), and the mean contains them.",
                words::plural(*samples, "sample"),
                share(*later, *first),
                time(*first),
                time(*later)
            ),
            Some(Hint::WarmUps(*samples)),
        ),
        U::Step { at, before, after } => (
            format!(
                "From sample {} on, {name} was {} {} ({} instead of {}): the mean depends on how many samples are on each side.",
                at.saturating_add(1),
                share(*before, *after),
                if after > before { "longer" } else { "shorter" },
                time(*after),
                time(*before)
            ),
            Some(Hint::SpeedChanges),
        ),
        U::Drift { from, to } => (
            format!(
                "{} {} by {} during the run, from {} to {}: the mean depends on how long it was measured.",
                words::capital(&name),
                if to > from { "rose" } else { "fell" },
                share(*from, *to),
                time(*from),
                time(*to)
            ),
            Some(Hint::SpeedChanges),
        ),
        U::Modes { fast, slow, slow_share } => (
            format!(
                "{} has two modes: {} in {} of the samples, {} in the others. The mean lies between them, where few \
                 samples are.",
                words::capital(&name),
                time(*fast),
                Cell::of(Unit::Share, 1.0 - slow_share),
                time(*slow)
            ),
            Some(Hint::SeeSamples),
        ),
        U::SerialCorrelation { r, values, independent } => (
            format!(
                "Successive {}s are alike (correlation {}): {} say as much about the mean as {} independent ones.",
                if blocks { "block" } else { "sample" },
                Cell::of(Unit::Correlation, *r),
                unit(*values),
                independent.round()
            ),
            Some(Hint::Samples(values.saturating_mul(4))),
        ),
        U::Ticks { tick, distinct, values } => (
            format!(
                "{} has only {} in {}, and they differ by multiples of {}: smaller differences do not show. Measure more \
                 work in each execution.",
                words::capital(&name),
                words::plural(*distinct, "value"),
                words::plural(*values, "sample"),
                time(*tick)
            ),
            None,
        ),
    };
    format!("{what}{}", hint.map_or_else(String::new, |h| hints.sentence(&h)))
}

fn precision(
    samples: u64,
    asked: f64,
    (measure, reached): (Measure, Option<f64>),
    missed: bool,
    hints: &Hints,
) -> String {
    let share = |share| Cell::of(Unit::Share, share);
    let (asked, of) = (share(asked), time_of(measure));
    match reached.map(share) {
        Some(reached) if !missed => {
            format!(
                "Precision reached: after {samples} samples mean and median of the {of} are known within ± {reached} \
                 (requested: ± {asked})."
            )
        }
        reached => {
            let reached = reached.map_or_else(String::new, |r| format!("; reached: ± {r}"));
            let more = hints.sentence(&Hint::MoreForPrecision);
            format!(
                "Precision not reached: requested ± {asked} of mean and median of the {of} with at most {samples} \
                 samples{reached}.{more}"
            )
        }
    }
}

fn detect(
    asked: f64,
    reached: Option<f64>,
    basis: RatioBasis,
    [blocks, most, looks]: [u32; 3],
    missed: bool,
    hints: &Hints,
) -> String {
    let what = match basis {
        RatioBasis::Duets => words::plural(blocks, "duet"),
        RatioBasis::Alone => words::plural(blocks, "round"),
    };
    let share = |share| Cell::of(Unit::Share, share);
    let (asked, reached) = (share(asked), reached.map(share));
    let looks = words::plural(looks, "look");
    match reached {
        Some(reached) if !missed => format!(
            "A difference of {asked} would be seen: after {what} the 95% intervals of the ratios are within ± {reached}. \
             They hold for all {looks} at the results together."
        ),
        reached => {
            let reached = reached.map_or_else(String::new, |r| format!("; reached: ± {r}"));
            let more = hints.sentence(&Hint::MoreForPrecision);
            format!("A difference of {asked} may not be seen: {what} of at most {most} were not enough{reached}.{more}")
        }
    }
}

fn control_differs(reference: u32, ratio: f64, interval: &Interval) -> String {
    format!(
        "The control differs from program {}, which is the same program: ratio {}. What causes this may also be \
         the cause of other differences of this size.",
        u64::from(reference) + 1,
        Cell::from(Figure::new(Unit::Ratio, ratio).with_interval(&Ok(interval.clone())))
    )
}

fn unattributed(ns: f64, share: Option<f64>) -> String {
    let share = share.map_or_else(String::new, |s| format!(" ({})", Cell::of(Unit::Share, s)));
    format!("{}{share} of the elapsed time is unattributed.", Cell::time(ns))
}

fn waiting(ratio: f64, accounted: bool, daemons: &Reading<f64>, steal: &Reading<f64>) -> String {
    let ratio = Cell::of(Unit::Ratio, ratio);
    if accounted {
        return format!("Elapsed time is {ratio} times CPU time; the account shows where it went.");
    }
    let part = |name: &str, r: &Reading<f64>| {
        r.value().map_or_else(|| format!("{name} unknown"), |ns| format!("{name} {}", Cell::time(*ns)))
    };
    format!(
        "Elapsed time is {ratio} times CPU time: the program waited (input, output, locks, sleep) or had to wait for a \
         CPU. On all CPUs, in each sample: {}, {}.",
        part("daemons", daemons),
        part("steal time", steal)
    )
}

fn steal_of(stolen: f64, share: f64) -> String {
    format!(
        "The hypervisor took {} during the samples, {} of the CPUs' time, perhaps for other guests of this host or by a limit of \
         this one. Compare only samples of the same rounds, and repeat at another hour or on a dedicated host.",
        Cell::time(stolen),
        Cell::of(Unit::Share, share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::profile::data::Doubt;

    /// With the hint's name for its words.
    fn said(kind: Kind) -> String {
        text(&Remark { series: None, kind }, &Hints::new(|h| format!("{h:?}")))
    }

    #[test]
    fn figures_and_hints_are_in_the_sentence() {
        let incomplete = |status, run| Kind::Incomplete { status, run, counted: 4 };
        let names = vec![NameCount { name: "sh".to_owned(), count: 2 }];
        let cases = [
            (incomplete(Status::Interrupted, 7), "The run was interrupted; 4 counted samples are stored. Resume(7)."),
            (
                incomplete(Status::Unfinished, 0),
                "The run was not finished after 4 counted samples. It was not stored: measure again.",
            ),
            (
                Kind::Profile { profile: "b@2".to_owned(), doubt: Doubt::Old { days: 31 } },
                "The profile b@2 is 31 days old. CheckProfile(\"b\").",
            ),
            (
                Kind::NoIntervals { measures: vec![Measure::Pt, Measure::Net], retained: 4, needed: 6 },
                "No intervals of CPU, net time: 4 retained samples, 6 are needed. Samples(10).",
            ),
            (Kind::Ended { names }, "Leftover processes were killed: sh (2×). LeaveRunning."),
            (
                Kind::Suspended { samples: vec![3], time: 61e9 },
                "The machine was suspended for 61.0 s during sample 4. Elapsed time does not include that, but the program may have \
                 been slower afterwards (cold caches and CPUs): measure again.",
            ),
            (
                Kind::ClockSet { samples: vec![0, 1, 2, 3, 4, 8], step: -2e9 },
                "The machine's clock was set back by 2.00 s during samples 1-5, 9. Elapsed time is not \
                 affected; dates are, and a program that reads the date may be.",
            ),
            (
                Kind::Unattributed { time: 1.5e6, share: Some(0.012) },
                "1.50 ms (1.2 %) of the elapsed time is unattributed.",
            ),
        ];
        for (kind, expected) in cases {
            assert_eq!(said(kind), expected);
        }
    }

    #[test]
    fn failures_say_whether_they_count() {
        let kind = |accepted| Kind::Failures { failed: 3, accepted, of: 10, first: Outcome::Exited { code: 4 } };
        assert_eq!(
            said(kind(3)),
            "3 of 10 samples failed and count, because failures are accepted (first: exit status 4)."
        );
        assert_eq!(said(kind(1)), "2 of 10 samples failed and do not count (first: exit status 4). Failures.");
    }

    #[test]
    fn precision_is_reached_or_not() {
        let kind = |reached| Kind::Precision { samples: 20, asked: 0.005, measure: Measure::Et, reached };
        let reached = said(kind(Some(0.0038)));
        assert!(reached.contains("elapsed time are known within ± 0.38 % (requested: ± 0.50 %)."), "{reached}");
        let missed = said(kind(Some(0.0061)));
        assert!(missed.starts_with("Precision not reached") && missed.contains("± 0.61 %. MoreForPrecision."));
        assert!(said(kind(None)).contains("with at most 20 samples. MoreForPrecision."));
    }

    #[test]
    fn what_is_not_steady_is_said_with_its_consequence_and_cure() {
        use Unsteadiness as U;
        let correlation = |blocks| Kind::Unsteady {
            measure: Measure::Pt,
            blocks,
            found: U::SerialCorrelation { r: 0.652, values: 100, independent: 21.2 },
        };
        let unsteady = |measure, found| Kind::Unsteady { measure, blocks: false, found };
        let cases = [
            (
                unsteady(Measure::Pt, U::Drift { from: 101e6, to: 131.3e6 }),
                "CPU time rose by 30 % during the run, from 101 ms to 131 ms: the mean depends on how long it was measured. \
                 SpeedChanges.",
            ),
            (
                unsteady(Measure::Et, U::Step { at: 20, before: 120e6, after: 100e6 }),
                "From sample 21 on, elapsed time was 17 % shorter (100 ms instead of 120 ms): the mean depends on how many samples \
                 are on each side. SpeedChanges.",
            ),
            (
                unsteady(Measure::Pt, U::WarmUp { samples: 10, first: 120e6, later: 100e6 }),
                "The first 10 samples took 20 % longer than the later ones (120 ms, later 100 ms), and the mean contains them. \
                 WarmUps(10).",
            ),
            (
                unsteady(Measure::Pt, U::Modes { fast: 100e6, slow: 105e6, slow_share: 0.2 }),
                "CPU time has two modes: 100 ms in 80 % of the samples, 105 ms in the others. The mean lies between them, \
                 where few samples are. SeeSamples.",
            ),
            (
                correlation(false),
                "Successive samples are alike (correlation 0.65): 100 samples say as much about the mean as 21 independent \
                 ones. Samples(400).",
            ),
            (
                correlation(true),
                "Successive blocks are alike (correlation 0.65): 100 blocks say as much about the mean as 21 independent ones. \
                 Samples(400).",
            ),
            (
                unsteady(Measure::Pt, U::Ticks { tick: 1e7, distinct: 3, values: 40 }),
                "CPU time has only 3 values in 40 samples, and they differ by multiples of 10.0 ms: smaller differences do not \
                 show. Measure more work in each execution.",
            ),
        ];
        for (kind, expected) in cases {
            assert_eq!(said(kind), expected);
        }
    }

    #[test]
    fn elapsed_time_above_process_time() {
        let absent = || Reading::Absent(Absent::NotAsked("x".to_owned()));
        let kind =
            |accounted| Kind::Waiting { ratio: 3.01, accounted, daemons: Reading::Value(2.5e6), steal: absent() };
        assert!(said(kind(true)).starts_with("Elapsed time is 3.01 times CPU time; the account"));
        assert!(said(kind(false)).ends_with("in each sample: daemons 2.50 ms, steal time unknown."));
        let interval = Ok(Interval { low: 1.46, high: 1.55, level: 0.95 });
        let (elapsed, process) = (Verdict::Slower, Verdict::Undecided);
        let kind = Kind::ByElapsed { reference: 0, ratio: 1.5, interval, elapsed, process };
        let expected =
            "By elapsed time it is slower than program 1: ratio 1.500 [1.460, 1.550]. By CPU time: undecided.";
        assert_eq!(said(kind), expected);
    }

    #[test]
    fn without_words_there_is_no_hint() {
        let remark = Remark { series: None, kind: Kind::Sequential };
        assert!(text(&remark, &Hints::default()).ends_with("between them."));
        assert!(said(Kind::Sequential).ends_with("between them. Interleave."));
    }
}
