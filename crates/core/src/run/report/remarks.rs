//! What must be said beside the figures: what it is, and what to do about it.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::compare::ratio::Verdict;
use crate::documents::head::Status;
use crate::profile::data::Profile;
use crate::run::data::Run;
use crate::run::plan::{Order, RunCount};
use crate::run::report::account::EntryKind;
use crate::run::report::data::{Comparison, Measure, Remark, SeriesReport};
use crate::run::report::grouping::{Group, Grouped, Kept};
use crate::run::report::grouping::{count, reference};
use crate::run::stopping::relative_half_width;
use crate::sample::data::{Outcome, Sample};
use crate::statistics::intervals::FEWEST;
use crate::statistics::series::Values;

/// Elapsed time above so many times process time is remarked upon.
const FAR_ABOVE: f64 = 1.5;
/// Share of the gross that may be unattributed without a remark.
const UNATTRIBUTED: f64 = 0.001;
/// Share of all CPUs' time that may be stolen without a remark.
const STEAL_SHARE: f64 = 0.005;

/// All that remarks are made from.
pub(crate) struct Context<'a> {
    pub run: &'a Run,
    pub grouped: &'a Grouped<'a>,
    pub series: &'a [SeriesReport],
    pub comparisons: &'a [Comparison],
    pub kept: &'a [Kept],
    pub profile: Option<&'a Profile>,
}

/// Collects remarks; `series` is what they are about.
struct Pad {
    series: Option<u32>,
    remarks: Vec<Remark>,
}

impl Pad {
    fn warn(&mut self, text: String) {
        self.remarks.push(Remark { series: self.series, warning: true, text });
    }

    fn inform(&mut self, text: String) {
        self.remarks.push(Remark { series: self.series, warning: false, text });
    }
}

/// Remarks on the whole run, then on each series in order.
pub(crate) fn all(c: &Context) -> Vec<Remark> {
    let mut pad = Pad { series: None, remarks: Vec::new() };
    completeness(c, &mut pad);
    process_time_source(c.run, &mut pad);
    tuning(c.run, &mut pad);
    profile(c, &mut pad);
    comparison(c, &mut pad);
    for (group, report) in c.grouped.series.iter().zip(c.series) {
        pad.series = Some(count(group.index));
        outcomes(group, report, &mut pad);
        retained(group, report, &mut pad);
        adaptive(c.run, group, &mut pad);
        daemons(group, report, &mut pad);
        survivors(report, &mut pad);
        waiting(group, report, &mut pad);
        account(report, &mut pad);
        steal(c.run, group, &mut pad);
    }
    pad.remarks
}

fn completeness(c: &Context, pad: &mut Pad) {
    if c.grouped.strays > 0 {
        pad.warn(format!("{} samples belong to no program of this run and are left out.", c.grouped.strays));
    }
    let how = if c.run.id == 0 {
        "It was not stored; measure again.".to_owned()
    } else {
        format!("Go on with it: tare resume {}", c.run.id)
    };
    let taken: usize = c.grouped.series.iter().map(|g| g.counted.len()).sum();
    let what = match c.run.status {
        Status::Finished => return,
        Status::Unfinished => "was begun and not ended",
        Status::Interrupted => "was interrupted",
    };
    pad.warn(format!("The run {what}; {taken} counted samples are there. {how}"));
}

fn process_time_source(run: &Run, pad: &mut Pad) {
    let Some(misses) = run.pt_source.misses() else { return };
    let notes = if run.pt_source_notes.is_empty() {
        String::new()
    } else {
        format!(" Better sources: {}.", run.pt_source_notes.join("; "))
    };
    pad.inform(format!("Process time is from {}, which misses {misses}.{notes}", run.pt_source.name()));
}

fn tuning(run: &Run, pad: &mut Pad) {
    if let Some(what) = run.notes.get("tuned") {
        pad.inform(format!("The machine was tuned for this run: {what}."));
    }
    if let Some(what) = run.notes.get("shell") {
        pad.inform(format!("A shell starts in each sample, as part of its time: {what}."));
    }
    if let Some(what) = run.notes.get("changed") {
        pad.warn(format!("The machine changed while it was measured: {what}."));
    }
}

fn profile(c: &Context, pad: &mut Pad) {
    let Some(p) = c.profile else { return };
    let host = &c.run.host;
    for doubt in p.doubts(c.run.created, &host.machine, &host.kernel, host.cpus) {
        pad.warn(doubt);
    }
}

fn comparison(c: &Context, pad: &mut Pad) {
    if c.series.len() < 2 {
        return;
    }
    if c.run.plan.sequential_for_setups() {
        pad.warn(
            "The programs ran one after the other, each after its own setup command, as a setup may undo another's: a drift of \
             the machine looks like a difference between them. If the setups are independent, use --independent-setup."
                .to_owned(),
        );
    } else if c.run.plan.order == Order::Sequential {
        pad.warn(
            "The programs ran one after the other, so that a drift of the machine looks like a difference between them. \
             Leave out --order sequential, or use --order random."
                .to_owned(),
        );
    }
    let base = reference(c.run);
    for (i, kept) in c.kept.iter().enumerate() {
        let done = c.comparisons.iter().any(|x| x.series as usize == i);
        if i != base && !done && !kept.et.is_empty() {
            pad.series = Some(count(i));
            pad.warn("It cannot be compared: no round has a retained sample of both programs.".to_owned());
        }
    }
    for comparison in c.comparisons {
        pad.series = Some(comparison.series);
        by_elapsed(comparison, pad);
    }
    pad.series = None;
}

/// Programs that wait may differ in elapsed time alone, and parallel ones in the other direction.
fn by_elapsed(c: &Comparison, pad: &mut Pad) {
    let Some(other) = c.by(Measure::Et).filter(|e| e.verdict != c.verdict && e.verdict != Verdict::Undecided) else {
        return;
    };
    let word = |v: Verdict| match v {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Undecided => "undecided",
    };
    let interval = other.interval.as_ref().map_or(String::new(), |i| format!(" [{:.3}, {:.3}]", i.low, i.high));
    pad.inform(format!(
        "By elapsed time it is {} than program {}: ratio {:.3}{interval}. By process time: {}.",
        word(other.verdict),
        u64::from(c.reference) + 1,
        other.ratio,
        word(c.verdict)
    ));
}

fn outcomes(group: &Group, report: &SeriesReport, pad: &mut Pad) {
    if group.counted.is_empty() {
        pad.warn("There is no counted sample.".to_owned());
        return;
    }
    let failed = |s: &&&Sample| !s.outcome.success() && s.outcome != Outcome::Interrupted;
    let all: Vec<&&Sample> = group.counted.iter().filter(failed).collect();
    if let Some(first) = all.first() {
        let ignored = report.failures.iter().filter(|f| f.ignored && !f.warmup).count();
        let (n, of) = (all.len(), group.counted.len());
        if ignored == n {
            pad.inform(format!("{n} of {of} samples failed and count, as asked (first: {}).", first.outcome));
        } else {
            pad.warn(format!(
                "{} of {of} samples failed and do not count (first: {}). See what it prints with --output inherit; \
                 -i accepts failures.",
                n - ignored.min(n),
                first.outcome
            ));
        }
    }
    let missing = group.good.iter().filter_map(|s| s.process_time().err()).collect::<Vec<_>>();
    if let Some(why) = missing.first() {
        pad.warn(format!("{} of {} samples have no process time; {why}.", missing.len(), group.good.len()));
    }
}

fn retained(group: &Group, report: &SeriesReport, pad: &mut Pad) {
    let advice = "Quiet the machine (tare doctor, tare tune) and measure again, or take more samples (--runs).";
    for (name, reading) in [("process", &report.pt), ("elapsed", &report.et)] {
        match reading {
            Reading::Value(m) if !m.trustworthy => pad.warn(format!(
                "Only {} of {} samples are retained for {name} time: the result is not trustworthy. {advice}",
                m.retained, m.samples
            )),
            Reading::Absent(why) if !group.good.is_empty() && report.et.value().is_none() => {
                pad.warn(format!("There is no {name} time; {why}. {advice}"));
            }
            _ => {}
        }
    }
    let measures = [("process", &report.pt), ("elapsed", &report.et), ("net", &report.net)];
    let few = measures.into_iter().filter_map(|(name, r)| Some((name, r.value()?.retained))).filter(|m| m.1 < FEWEST);
    let (names, counts): (Vec<&str>, Vec<u32>) = few.unzip();
    if let Some(n) = counts.iter().min() {
        let names = names.join(", ");
        pad.inform(format!("No intervals of {names} time: {n} retained samples, {FEWEST} are needed (--runs 10)."));
    }
}

/// By the same figure that ended the series: of all successful samples, not only of the retained ones.
fn adaptive(run: &Run, group: &Group, pad: &mut Pad) {
    let RunCount::Adaptive { precision, .. } = run.plan.runs else { return };
    let taken = group.counted.len();
    let mut times = Values::from_nanos(group.good.iter().filter_map(|s| s.process_time().ok()));
    if times.is_empty() {
        times = Values::from_nanos(group.good.iter().map(|s| s.elapsed()));
    }
    let width = relative_half_width(&times);
    match width {
        Some(w) if w < precision => pad.inform(format!(
            "adaptive: {taken} samples, after which the median was known to ± {:.2} % (asked: {:.2} %).",
            100.0 * w,
            100.0 * precision
        )),
        _ => pad.warn(format!(
            "adaptive: the precision asked for, ± {:.2} %, is not reached with {taken} samples{}. Allow more (-M), or quiet the \
             machine (tare doctor).",
            100.0 * precision,
            width.map_or(String::new(), |w| format!(" (± {:.2} %)", 100.0 * w))
        )),
    }
}

fn daemons(group: &Group, report: &SeriesReport, pad: &mut Pad) {
    if let Some((n, why)) = &report.daemons_incomplete {
        pad.inform(format!(
            "In {n} of {} samples the list of daemons may lack some ({why}). Root (CAP_NET_ADMIN) sees them all.",
            group.good.len()
        ));
    }
}

fn survivors(report: &SeriesReport, pad: &mut Pad) {
    let list = |n: fn(&crate::run::report::data::SurvivorSummary) -> u32| {
        let some = report.survivors.iter().filter(|s| n(s) > 0).map(|s| format!("{} ({}×)", s.name, n(s)));
        Some(some.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    };
    if let Some(names) = list(|s| s.not_ended) {
        pad.warn(format!("Outlived the program and could not be ended: {names}. They disturb what is measured next."));
    }
    if let Some(names) = list(|s| s.count.saturating_sub(s.left).saturating_sub(s.not_ended)) {
        pad.inform(format!("Outlived the program and were ended: {names}. Keep them with --leave-running."));
    }
    if let Some(names) = list(|s| s.left) {
        pad.inform(format!("Outlived the program and were left running, as asked: {names}."));
    }
}

/// What makes an account say less than it seems to.
fn account(report: &SeriesReport, pad: &mut Pad) {
    let Reading::Value(a) = &report.account else { return };
    if let Some((n, why)) = &a.incomplete {
        pad.warn(format!(
            "In {n} of {} samples the account is not complete ({why}); these have no net time.",
            a.samples
        ));
    }
    let rest = a.elapsed.iter().find(|e| e.kind == EntryKind::Unattributed).map_or(0.0, |e| e.time);
    if rest.abs() > (UNATTRIBUTED * a.gross).max(20e3) {
        let share = 100.0 * rest / a.gross;
        pad.warn(format!("{share:.2} % of the elapsed time, {}, could not be attributed.", time(rest)));
    }
}

fn waiting(group: &Group, report: &SeriesReport, pad: &mut Pad) {
    let both = group.good.iter().filter_map(|s| Some((s.elapsed(), s.process_time().ok()?)));
    let (et, pt) = both.fold((0.0, 0.0), |(e, p), (et, pt)| (e + et.as_f64(), p + pt.as_f64()));
    if pt <= 0.0 || et <= FAR_ABOVE * pt {
        return;
    }
    let d = &report.difference;
    let part = |name: &str, r: &Reading<f64>| {
        r.value().map_or(format!("{name} not known"), |ns| format!("{name} {}", time(*ns)))
    };
    if report.account.value().is_some() {
        pad.inform(format!(
            "Elapsed time is {:.1} times process time; the account says what it was spent on.",
            et / pt
        ));
        return;
    }
    pad.inform(format!(
        "Elapsed time is {:.1} times process time: the program waited (input, output, locks, sleep) or had to wait for a CPU. \
         Meanwhile, per sample: {}, {}.",
        et / pt,
        part("daemons", &d.daemons),
        part("stolen by the hypervisor", &d.steal)
    ));
}

fn steal(run: &Run, group: &Group, pad: &mut Pad) {
    let known = group.good.iter().filter_map(|s| Some((s.elapsed(), s.steal.value()?)));
    let (et, stolen) = known.fold((Nanos::ZERO, Nanos::ZERO), |(e, t), (et, steal)| (e + et, t + *steal));
    let capacity = et.as_f64() * f64::from(run.host.cpus.max(1));
    if capacity > 0.0 && stolen.as_f64() > STEAL_SHARE * capacity {
        pad.warn(format!(
            "The hypervisor took {:.1} % of the CPUs' time during the samples: other guests of this host share them. Compare only \
             samples of the same rounds, and repeat at another hour or on a host of its own.",
            100.0 * stolen.as_f64() / capacity
        ));
    }
}

/// A time as text with a fitting unit.
fn time(ns: f64) -> String {
    let (scaled, unit) = match ns.abs() {
        a if a < 1e3 => return format!("{ns:.0} ns"),
        a if a < 1e6 => (ns / 1e3, "µs"),
        a if a < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{scaled:.1} {unit}")
}
