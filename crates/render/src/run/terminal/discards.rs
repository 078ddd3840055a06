//! What was discarded, and why: grouped by reason.

use crate::profile::effect::process_time;
use crate::words::measure;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::ProcessTimeEffect;
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::data::{Discard, Measure, SeriesReport};
use tarebench_report::number::TimeScale;
use tarebench_report::screen::ScreenText;
use tarebench_report::words::{time, value};

struct DiscardCutoff<'a> {
    daemon: &'a str,
    limit: f64,
    samples: Vec<(u32, f64, Vec<Measure>)>,
}

struct DiscardEffect<'a> {
    daemon: &'a str,
    /// The program waited for it; else it ran elsewhere.
    waited_for: bool,
    process_time: Option<ProcessTimeEffect>,
    samples: Vec<(u32, Nanos, Vec<Measure>)>,
}

struct Sigma {
    measure: Measure,
    low: f64,
    high: f64,
    samples: Vec<(u32, f64)>,
}

/// The samples that check 1 discarded by the effect of each daemon.
fn by_effect(discards: &[Discard]) -> Vec<DiscardEffect<'_>> {
    let mut all: Vec<DiscardEffect<'_>> = Vec::new();
    for d in discards {
        let DiscardReason::Effect { daemon, waited, cpu, process_time } = &d.reason else { continue };
        let waited_for = waited.0 > 0;
        let took = if waited_for { waited } else { cpu };
        if !all.iter().any(|e| e.daemon == daemon && e.waited_for == waited_for) {
            all.push(DiscardEffect { daemon, waited_for, process_time: *process_time, samples: Vec::new() });
        }
        let Some(effect) = all.iter_mut().find(|e| e.daemon == daemon && e.waited_for == waited_for) else { continue };
        match effect.samples.iter_mut().find(|s| s.0 == d.index) {
            Some(sample) => sample.2.push(d.measure),
            None => effect.samples.push((d.index, *took, vec![d.measure])),
        }
    }
    all
}

/// `ET, check 1: waited for zz (PT +0.4 ± 2%): samples 3 (250 ms), 17 (251 ms)`.
fn effect_line(page: &ScreenText<'_>, e: &DiscardEffect<'_>) -> String {
    let mut samples: Vec<&(u32, Nanos, Vec<Measure>)> = e.samples.iter().collect();
    samples.sort_by_key(|s| s.0);
    let listing: Vec<(u32, String)> = samples.iter().map(|s| (s.0, time(page, s.1.as_f64()))).collect();
    let only_elapsed = samples.iter().all(|s| s.2 == [Measure::Et]);
    let which = if only_elapsed { format!("{}, ", measure(Measure::Et)) } else { String::new() };
    let daemon = page.style.show(e.daemon);
    let effect = process_time(e.process_time.as_ref(), page.style.unicode);
    let did = if e.waited_for { "waited for" } else { "CPU time of" };
    format!("{which}check 1: {did} {daemon} ({effect}): {}", listed(&listing))
}

fn group(discards: &[Discard]) -> (Vec<DiscardCutoff<'_>>, Vec<Sigma>) {
    let (mut cutoffs, mut sigmas): (Vec<DiscardCutoff<'_>>, Vec<Sigma>) = (Vec::new(), Vec::new());
    for d in discards {
        match &d.reason {
            DiscardReason::Cutoff { daemon, cpu, cutoff } => {
                let same = |c: &&mut DiscardCutoff<'_>| c.daemon == daemon && c.limit == *cutoff;
                if !cutoffs.iter_mut().any(|c| same(&c)) {
                    cutoffs.push(DiscardCutoff { daemon, limit: *cutoff, samples: Vec::new() });
                }
                if let Some(c) = cutoffs.iter_mut().find(same) {
                    match c.samples.iter_mut().find(|s| s.0 == d.index) {
                        Some(s) => s.2.push(d.measure),
                        None => c.samples.push((d.index, cpu.as_f64(), vec![d.measure])),
                    }
                }
            }
            DiscardReason::Effect { .. } => {}
            DiscardReason::Sigma { value, low, high } => {
                let at = sigmas.iter().position(|s| s.measure == d.measure && s.low == *low && s.high == *high);
                let sample = (d.index, *value);
                match at {
                    Some(i) => sigmas[i].samples.push(sample),
                    None => sigmas.push(Sigma { measure: d.measure, low: *low, high: *high, samples: vec![sample] }),
                }
            }
        }
    }
    (cutoffs, sigmas)
}

/// `sample 3 (12.1 ms)`, `samples 3 (12.1 ms), 7 (9.00 ms)`.
fn listed(samples: &[(u32, String)]) -> String {
    let s = if samples.len() > 1 { "samples" } else { "sample" };
    let parts: Vec<String> = samples.iter().map(|(i, t)| format!("{} ({t})", u64::from(*i) + 1)).collect();
    format!("{s} {}", parts.join(", "))
}

fn cutoff_line(page: &ScreenText<'_>, c: &DiscardCutoff<'_>) -> String {
    let mut samples = c.samples.clone();
    samples.sort_by_key(|s| s.0);
    let listing: Vec<(u32, String)> = samples.iter().map(|s| (s.0, time(page, s.1))).collect();
    // Check 1 concerns the sample; it is the same for both measures unless one of them has no value.
    let only = match samples.first().map(|s| s.2.as_slice()) {
        Some([m]) if samples.iter().all(|s| s.2 == [*m]) => format!("{}, ", measure(*m)),
        _ => String::new(),
    };
    let daemon = page.style.show(c.daemon);
    let limit = time(page, c.limit);
    format!("{only}check 1: {daemon} over its cutoff of {limit}: {}", listed(&listing))
}

fn sigma_line(page: &ScreenText<'_>, s: &Sigma) -> String {
    let middle = f64::midpoint(s.low, s.high);
    let scale = TimeScale::of(middle, Some((s.high - s.low) / 2.0), page.style.unit);
    let unit = scale.unit.sign(page.style.unicode);
    let mut samples = s.samples.clone();
    samples.sort_by_key(|x| x.0);
    let listing: Vec<(u32, String)> =
        samples.iter().map(|x| (x.0, format!("{} {unit}", value(page, scale, x.1)))).collect();
    format!(
        "{}, check 2: outside {} {} {} {unit}: {}",
        measure(s.measure),
        value(page, scale, s.low),
        page.g.dots,
        value(page, scale, s.high),
        listed(&listing)
    )
}

/// The discards of a series.
pub(crate) fn field(page: &mut ScreenText<'_>, s: &SeriesReport) {
    let (cutoffs, sigmas) = group(&s.discards);
    let mut lines: Vec<String> = cutoffs.iter().map(|c| cutoff_line(page, c)).collect();
    lines.extend(by_effect(&s.discards).iter().map(|e| effect_line(page, e)));
    lines.extend(sigmas.iter().map(|s| sigma_line(page, s)));
    page.field_lines("discarded", &lines);
}
