//! What was discarded, and why: grouped by reason.

use crate::kit::number::Scale;
use crate::kit::screen::Page;
use crate::run::terminal::words::{measure, numbers, time, value};
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::report::data::{Discard, Measure, SeriesReport};

/// Lines shown unless all is asked for.
const LINES: usize = 5;

struct Cutoff<'a> {
    daemon: &'a str,
    limit: f64,
    samples: Vec<(u32, f64, Vec<Measure>)>,
}

struct Sigma {
    measure: Measure,
    low: f64,
    high: f64,
    samples: Vec<(u32, f64)>,
}

fn group(discards: &[Discard]) -> (Vec<Cutoff<'_>>, Vec<Sigma>) {
    let (mut cutoffs, mut sigmas): (Vec<Cutoff<'_>>, Vec<Sigma>) = (Vec::new(), Vec::new());
    for d in discards {
        match &d.reason {
            DiscardReason::Cutoff { daemon, cpu, cutoff } => {
                let same = |c: &&mut Cutoff<'_>| c.daemon == daemon && c.limit == *cutoff;
                if !cutoffs.iter_mut().any(|c| same(&c)) {
                    cutoffs.push(Cutoff { daemon, limit: *cutoff, samples: Vec::new() });
                }
                if let Some(c) = cutoffs.iter_mut().find(same) {
                    match c.samples.iter_mut().find(|s| s.0 == d.index) {
                        Some(s) => s.2.push(d.measure),
                        None => c.samples.push((d.index, cpu.as_f64(), vec![d.measure])),
                    }
                }
            }
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

/// `sample 3 (12.1 ms)`, `samples 3 (12.1 ms), 7 (9.00 ms)`; many are numbered only.
fn listed(samples: &[(u32, String)], full: bool) -> String {
    let s = if samples.len() > 1 { "samples" } else { "sample" };
    if samples.len() > 4 && !full {
        let indices: Vec<u32> = samples.iter().map(|x| x.0).collect();
        return format!("{s} {}", numbers(&indices, 12));
    }
    let parts: Vec<String> = samples.iter().map(|(i, t)| format!("{} ({t})", u64::from(*i) + 1)).collect();
    format!("{s} {}", parts.join(", "))
}

fn cutoff_line(page: &Page<'_>, c: &Cutoff<'_>) -> String {
    let mut samples = c.samples.clone();
    samples.sort_by_key(|s| s.0);
    let of: Vec<(u32, String)> = samples.iter().map(|s| (s.0, time(page, s.1))).collect();
    // Check 1 concerns the sample; it is the same for both measures unless one of them has no value.
    let only = match samples.first().map(|s| s.2.as_slice()) {
        Some([m]) if samples.iter().all(|s| s.2 == [*m]) => format!("{}, ", measure(*m)),
        _ => String::new(),
    };
    let daemon = page.style.show(c.daemon);
    let limit = time(page, c.limit);
    format!("{only}check 1: {daemon} over its cutoff of {limit}: {}", listed(&of, page.style.full))
}

fn sigma_line(page: &Page<'_>, s: &Sigma) -> String {
    let middle = f64::midpoint(s.low, s.high);
    let scale = Scale::of(middle, Some((s.high - s.low) / 2.0), page.style.unit);
    let unit = scale.unit.sign(page.style.unicode);
    let mut samples = s.samples.clone();
    samples.sort_by_key(|x| x.0);
    let of: Vec<(u32, String)> = samples.iter().map(|x| (x.0, format!("{} {unit}", value(page, scale, x.1)))).collect();
    format!(
        "{}, check 2: outside {} {} {} {unit}: {}",
        measure(s.measure),
        value(page, scale, s.low),
        page.g.dots,
        value(page, scale, s.high),
        listed(&of, page.style.full)
    )
}

/// The discards of a series; true if all are shown.
pub(crate) fn field(page: &mut Page<'_>, s: &SeriesReport) -> bool {
    if s.discards.is_empty() {
        return true;
    }
    let (cutoffs, sigmas) = group(&s.discards);
    let mut lines: Vec<(String, usize)> = Vec::new();
    lines.extend(cutoffs.iter().map(|c| (cutoff_line(page, c), c.samples.len())));
    lines.extend(sigmas.iter().map(|s| (sigma_line(page, s), s.samples.len())));
    let limit = if page.style.full { usize::MAX } else { LINES };
    let rest: usize = lines.iter().skip(limit).map(|l| l.1).sum();
    let mut shown: Vec<String> = lines.into_iter().take(limit).map(|l| l.0).collect();
    if rest > 0 {
        shown.push(format!("{} and {rest} more discards", page.g.dots));
    }
    page.field_lines("discarded", &shown);
    rest == 0
}
