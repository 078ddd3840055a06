//! CSV tables: one row per program, or one per sample. An empty cell is an absent value.

use crate::run::csv_cells::{NamedCell, named};
use crate::run::duet_csv::compared;
use crate::run::{counters, metrics, quiet_csv};
use std::collections::{BTreeSet, HashMap};
use std::io;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::account::{AccountReport, EntryKind};
use tarebench_core::run::report::data::{Discard, Measure, MeasureReport, Resources, RunReport};
use tarebench_core::run::samples::SampleSource;
use tarebench_core::sample::account::Ledger;
use tarebench_core::sample::cgroup_limits::Waits;
use tarebench_core::sample::daemons::{Daemon, TaskKind};
use tarebench_core::sample::data::{Phase, Sample};
use tarebench_report::csv::cell;
use tarebench_report::csv::secs;
use tarebench_report::csv::{number, text, write};
use tarebench_report::error::{RenderError, SamplesError};
use tarebench_report::text::escape;

const SAMPLES: [&str; 56] = [
    "series",
    "command",
    "phase",
    "index",
    "seq",
    "wall_clock_ns",
    "start_monotonic_ns",
    "end_monotonic_ns",
    "start_raw_ns",
    "end_raw_ns",
    "start_cycles",
    "end_cycles",
    "outcome",
    "exit_code",
    "et_ns",
    "pt_ns",
    "user_ns",
    "system_ns",
    "cgroup_ns",
    "task_clock_ns",
    "exit_records_ns",
    "wait4_ns",
    "peak_memory_byte",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "daemons_ns",
    "daemons_complete",
    "largest_daemon",
    "largest_daemon_ns",
    "tare_ns",
    "steal_ns",
    // 0 where the readings cannot tell it from none.
    "suspended_ns",
    "clock_set_ns",
    // On each CPU at most, by the longest of the quotas.
    "throttled_ns",
    // Processes killed for lack of memory: in the program's cgroup, else on the machine.
    "oom_kills",
    "net_ns",
    // Of the main thread; these and elapsed time add up.
    "launch_ns",
    "main_net_ns",
    "main_interrupts_ns",
    "main_softirqs_ns",
    "main_stolen_ns",
    "main_throttled_ns",
    "main_waited_for_others_ns",
    "main_waited_for_own_tasks_ns",
    "main_waited_for_cpu_ns",
    "main_asleep_ns",
    "reap_ns",
    "unattributed_ns",
    // Of its other tasks, summed.
    "others_net_ns",
    "others_tare_ns",
    "account_complete",
    "pt_discarded",
    "et_discarded",
    "net_discarded",
];

fn parameter_names(report: &RunReport) -> BTreeSet<&str> {
    report.series.iter().flat_map(|s| s.program.parameters.keys().map(String::as_str)).collect()
}

/// One row per program: hyperfine's columns first, then PT's and the discards, then the ratios to the reference, then
/// what the programs printed, what was counted of them where anything was, then the parameters.
///
/// Times are in seconds. hyperfine's columns are of elapsed time, over the samples retained for ET.
///
/// # Errors
/// [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn series(report: &RunReport) -> Result<String, RenderError> {
    let parameters = parameter_names(report);
    let printed = metrics::names(report);
    let row = |i: usize| program(report, i, &printed, &parameters);
    // The names do not depend on the program.
    let heads = row(usize::MAX).into_iter().map(|(name, _)| name).collect();
    let cells = |i: usize| row(i).into_iter().map(|(_, cell)| cell).collect();
    write([heads].into_iter().chain((0..report.series.len()).map(cells)).collect())
}

/// The cells of a program by its position; empty ones if there is none.
fn program(report: &RunReport, i: usize, printed: &[&str], parameters: &BTreeSet<&str>) -> Vec<NamedCell> {
    let s = report.series.get(i);
    let [et, pt, net] = [s.map(|s| &s.et), s.map(|s| &s.pt), s.map(|s| &s.net)].map(|m| m.and_then(Reading::value));
    let time = |m: Option<&MeasureReport>, f: fn(&MeasureReport) -> f64| cell(m, |m| secs(f(m)));
    let optional = |m: Option<&MeasureReport>, f: fn(&MeasureReport) -> Option<f64>, text: fn(f64) -> String| {
        cell(m.and_then(f), text)
    };
    let count = |m: Option<&MeasureReport>, f: fn(&MeasureReport) -> u32| cell(m, |m| f(m).to_string());
    let used = |f: fn(&Resources) -> &Reading<f64>| cell(s.and_then(|s| f(&s.resources).value()), |v| secs(*v));
    let mut row = named([
        // As hyperfine has them: seconds, of elapsed time.
        ("command", cell(s, |s| text(&s.program.label))),
        ("mean", time(et, |m| m.mean)),
        ("stddev", optional(et, |m| m.std_dev, secs)),
        ("median", time(et, |m| m.median)),
        ("user", used(|r| &r.user)),
        ("system", used(|r| &r.system)),
        ("min", time(et, |m| m.min)),
        ("max", time(et, |m| m.max)),
        // Tare's own, seconds.
        ("et_relative_error", optional(et, |m| m.relative_error, number)),
        ("et_retained", count(et, |m| m.retained)),
        ("et_discarded_cutoff", count(et, |m| m.discarded_by_cutoff)),
        ("et_discarded_sigma", count(et, |m| m.discarded_by_sigma)),
        ("pt_mean", time(pt, |m| m.mean)),
        ("pt_stddev", optional(pt, |m| m.std_dev, secs)),
        ("pt_relative_error", optional(pt, |m| m.relative_error, number)),
        ("pt_median", time(pt, |m| m.median)),
        ("pt_min", time(pt, |m| m.min)),
        ("pt_max", time(pt, |m| m.max)),
        ("net_mean", time(net, |m| m.mean)),
        ("net_stddev", optional(net, |m| m.std_dev, secs)),
        ("net_relative_error", optional(net, |m| m.relative_error, number)),
        ("net_median", time(net, |m| m.median)),
    ]);
    let account = s.and_then(|s| s.account.value());
    row.extend(ACCOUNT.map(|(name, kinds)| (name.to_owned(), cell(account.and_then(|a| spent(a, kinds)), secs))));
    row.extend(named([
        // Counts, of PT.
        ("samples", count(pt, |m| m.samples)),
        ("retained", count(pt, |m| m.retained)),
        ("discarded_cutoff", count(pt, |m| m.discarded_by_cutoff)),
        ("discarded_sigma", count(pt, |m| m.discarded_by_sigma)),
    ]));
    row.extend(compared(report, i));
    row.extend(printed.iter().flat_map(|name| metrics::series_cells(report, i, name)));
    row.extend(counters::series_cells(report, i));
    row.extend(quiet_csv::series_cells(report, s));
    let value = |p: &&str| cell(s.and_then(|s| s.program.parameters.get(*p)), |v| text(v));
    row.extend(parameters.iter().map(|p| (format!("parameter_{}", escape(p)), value(p))));
    row
}

/// One row per sample, warm-ups included: raw readings in nanoseconds, `index` and `series` from 0.
///
/// # Errors
/// [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn samples(report: &RunReport, samples: &[Sample]) -> Result<String, RenderError> {
    let mut out = Vec::new();
    write_samples(&mut out, report, samples)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// As [`samples`], into a writer, a row at a time.
///
/// # Errors
/// That of the source; [`RenderError::Csv`] or [`RenderError::Io`] if the table cannot be written.
pub fn write_samples<S: SampleSource + ?Sized>(
    out: impl io::Write,
    report: &RunReport,
    samples: &S,
) -> Result<(), SamplesError<S::Error>> {
    let parameters = parameter_names(report);
    let discards: Vec<SampleDiscards> = report.series.iter().map(|s| by_sample(&s.discards)).collect();
    let none = SampleDiscards::new();
    let printed = metrics::names(report);
    let mut w = ::csv::WriterBuilder::new().from_writer(out);
    let heads = printed.iter().map(|name| format!("metric_{}", escape(name)));
    let heads = heads.chain(counters::sample_heads(report)).chain(quiet_csv::sample_heads(report));
    let heads = SAMPLES.iter().map(|name| (*name).to_owned()).chain(heads);
    let heads = heads.chain(parameters.iter().map(|p| format!("parameter_{}", escape(p))));
    let mut written = w.write_record(heads.collect::<Vec<_>>());
    let read = samples.each(&mut |s| {
        let series = report.series.get(s.series as usize);
        let mut row = identity(s, series.map_or("", |r| &r.program.label));
        row.extend(times(s));
        row.extend(surroundings(s));
        row.extend(account(s));
        let discards = discards.get(s.series as usize).unwrap_or(&none);
        row.extend([Measure::Pt, Measure::Et, Measure::Net].map(|m| discarded(s, discards, m)));
        row.extend(metrics::sample_cells(s, &printed));
        row.extend(counters::sample_cells(report, s));
        row.extend(quiet_csv::sample_cells(report, s));
        let values = series.map(|r| &r.program.parameters);
        row.extend(parameters.iter().map(|p| cell(values.and_then(|v| v.get(*p)), |v| text(v))));
        if written.is_ok() {
            written = w.write_record(row);
        }
    });
    read.map_err(SamplesError::Unread)?;
    written.map_err(RenderError::from)?;
    w.flush().map_err(RenderError::from)?;
    Ok(())
}

/// Why a series' samples were discarded, by their numbers.
type SampleDiscards<'a> = HashMap<(u32, Measure), &'a DiscardReason>;

fn by_sample(discards: &[Discard]) -> SampleDiscards<'_> {
    discards.iter().map(|d| ((d.index, d.measure), &d.reason)).collect()
}

/// Where the elapsed time went; these add up to it.
const ACCOUNT: [(&str, &[EntryKind]); 9] = [
    ("account_net", &[EntryKind::Net]),
    ("account_launch", &[EntryKind::Launch]),
    ("account_interrupts", &[EntryKind::Interrupt]),
    ("account_softirqs", &[EntryKind::Softirq]),
    ("account_stolen", &[EntryKind::Stolen]),
    ("account_waited", &[EntryKind::Preempted, EntryKind::Own, EntryKind::Waiting, EntryKind::Throttled]),
    ("account_asleep", &[EntryKind::Blocked]),
    ("account_reap", &[EntryKind::Reap]),
    ("account_unattributed", &[EntryKind::Unattributed]),
];

/// Nothing where it is unknown, which only steal time can be.
fn spent(a: &AccountReport, kinds: &[EntryKind]) -> Option<f64> {
    let some = a.elapsed.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.time);
    let unknown = kinds == [EntryKind::Stolen] && some.clone().next().is_none();
    // An empty sum is -0.
    (!unknown).then(|| some.sum::<f64>() + 0.0)
}

fn identity(s: &Sample, label: &str) -> Vec<String> {
    let phase = match s.phase {
        Phase::Warmup => "warmup",
        Phase::Counted => "counted",
    };
    vec![
        s.series.to_string(),
        text(label),
        phase.to_owned(),
        s.index.to_string(),
        s.seq.to_string(),
        s.wall_clock.0.to_string(),
        s.start.monotonic.0.to_string(),
        s.end.monotonic.0.to_string(),
        s.start.monotonic_raw.0.to_string(),
        s.end.monotonic_raw.0.to_string(),
        cell(s.start.cycles, |c| c.0.to_string()),
        cell(s.end.cycles, |c| c.0.to_string()),
        text(&s.outcome.to_string()),
        cell(s.outcome.shell_code(), |c| c.to_string()),
        s.elapsed().0.to_string(),
    ]
}

fn times(s: &Sample) -> Vec<String> {
    let p = s.process_times.value();
    let split = p.and_then(|p| p.split());
    let usage = s.usage.value();
    vec![
        cell(s.process_time().ok(), |t| t.0.to_string()),
        cell(split, |c| c.user.0.to_string()),
        cell(split, |c| c.system.0.to_string()),
        cell(p.and_then(|p| p.cgroup.value()), |c| c.total.0.to_string()),
        cell(p.and_then(|p| p.task_clock.value()), |t| t.0.to_string()),
        cell(p.and_then(|p| p.exit_records.value()), |t| t.0.to_string()),
        cell(p.and_then(|p| p.wait4.value()), |c| c.total.0.to_string()),
        cell(s.peak_memory.value(), |m| m.to_string()),
        cell(usage, |u| u.minor_faults.to_string()),
        cell(usage, |u| u.major_faults.to_string()),
        cell(usage, |u| u.voluntary_switches.to_string()),
        cell(usage, |u| u.involuntary_switches.to_string()),
    ]
}

fn surroundings(s: &Sample) -> Vec<String> {
    let d = s.daemons.value();
    let others = |d: &tarebench_core::sample::daemons::Daemons| -> Vec<Daemon> {
        d.list.iter().filter(|x| x.kind != TaskKind::Tare).cloned().collect()
    };
    let others = d.map(others);
    let largest = others.as_ref().and_then(|o| o.iter().max_by_key(|x| x.cpu));
    vec![
        cell(others.as_ref(), |o| o.iter().map(|x| x.cpu).sum::<Nanos>().0.to_string()),
        cell(d, |d| d.incomplete.is_none().to_string()),
        cell(largest, |x| text(&x.name.to_string())),
        cell(largest, |x| x.cpu.0.to_string()),
        s.own.cpu.0.to_string(),
        cell(s.steal.value(), |t| t.0.to_string()),
        cell(s.clock_shift.value(), |c| c.suspend().unwrap_or_default().0.to_string()),
        cell(s.clock_shift.value(), |c| c.step().unwrap_or_default().0.to_string()),
        cell(s.cgroup_limits.value(), |_| s.throttled().time.0.to_string()),
        cell(s.cgroup_limits.value(), |l| l.out_of_memory().map_or(0, |oom| oom.kills).to_string()),
    ]
}

fn account(s: &Sample) -> Vec<String> {
    let ns = |t: Nanos| t.0.to_string();
    let a = s.account.value();
    let of_main = |f: &dyn Fn(&Ledger) -> Nanos| cell(a, |a| ns(f(&a.main)));
    let waits = s.waits();
    let waited = |f: &dyn Fn(&Waits) -> Nanos| cell(waits.as_ref(), |[main, _]| ns(f(main)));
    vec![
        cell(s.net_time().ok(), ns),
        cell(s.launch(), ns),
        of_main(&Ledger::net),
        of_main(&|l| l.interrupts.values().map(|s| s.time).sum()),
        of_main(&|l| l.softirqs.values().map(|s| s.time).sum()),
        cell(a.and_then(|a| a.main.stolen.value()), |s| ns(s.time)),
        waited(&|w| w.throttled.time),
        waited(&|w| w.preempted(false)),
        waited(&|w| w.preempted(true)),
        waited(&|w| w.unnamed),
        of_main(&Ledger::asleep),
        cell(s.reap(), ns),
        cell(s.unattributed(), ns),
        cell(a, |a| ns(a.others.net())),
        cell(a, |a| ns(a.others.total() - a.others.net())),
        cell(a, |a| a.incomplete().is_none().to_string()),
    ]
}

/// `cutoff`, `effect`, `sigma`, or nothing.
fn discarded(s: &Sample, discards: &SampleDiscards<'_>, measure: Measure) -> String {
    if s.phase != Phase::Counted {
        return String::new();
    }
    cell(discards.get(&(s.index, measure)), |reason| {
        match reason {
            DiscardReason::Cutoff { .. } => "cutoff",
            DiscardReason::Effect { .. } => "effect",
            DiscardReason::Sigma { .. } => "sigma",
        }
        .to_owned()
    })
}
