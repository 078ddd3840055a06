//! The corrected time in words: what it was corrected for, why it is doubtful, why there is none.

use tarebench_core::base::hint::Hint;
use tarebench_core::quiet::data::{
    HeldOut, NoQuietTime, PriorSource, ProbesSummary, QuietDoubt, QuietTime, SlowdownCause,
};
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::probes::ProbeKind;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::words::plural;

/// Fewest samples with which coefficients are fitted to a program of which nothing is known.
const FEWEST_SAMPLES: u32 = 6;

pub(crate) fn cause(cause: SlowdownCause) -> &'static str {
    match cause {
        SlowdownCause::Clock => "clock",
        SlowdownCause::Sibling => "sibling",
        SlowdownCause::Kernel => "kernel",
        SlowdownCause::Memory => "memory",
        SlowdownCause::Eviction => "eviction",
        SlowdownCause::Stops => "pauses",
    }
}

/// What the cause is, for those who meet the word for the first time.
pub(crate) fn cause_in_full(cause: SlowdownCause) -> &'static str {
    match cause {
        SlowdownCause::Clock => "clock of the core",
        SlowdownCause::Sibling => "sibling hyper-thread",
        SlowdownCause::Kernel => "kernel's paths",
        SlowdownCause::Memory => "shared caches and memory",
        SlowdownCause::Eviction => "evicted caches",
        SlowdownCause::Stops => "refilling after pauses",
    }
}

/// A probe's name in columns and documents.
pub(crate) fn probe(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Latency => "latency",
        ProbeKind::Issue => "issue",
        ProbeKind::Loads => "loads",
        ProbeKind::Stores => "stores",
        ProbeKind::Branches => "branches",
        ProbeKind::SystemCalls => "system_calls",
        ProbeKind::FirstLevel => "first_level",
        ProbeKind::MemoryLatency => "memory_latency",
        ProbeKind::MemoryThroughput => "memory_throughput",
        ProbeKind::Evicted => "evicted",
        ProbeKind::Code => "code",
    }
}

pub(crate) fn prior(source: PriorSource) -> &'static str {
    match source {
        PriorSource::SameProgram => "earlier runs of this program",
        PriorSource::OtherPrograms => "the median of other programs on this machine",
        PriorSource::Physical => {
            "physics alone: nothing was known of this program or of others, and only the clock counts"
        }
    }
}

fn percent(share: f64) -> Cell {
    Cell::of(Unit::Share, share)
}

/// By which share the time became shorter (negative) or longer through the correction.
pub(crate) fn change(q: &QuietTime) -> f64 {
    q.value / q.uncorrected - 1.0
}

/// A signed change in per cent; `minus` is the sign of negative ones.
pub(crate) fn signed(share: f64, decimals: usize, minus: &str) -> String {
    match number::fixed(share * 100.0, decimals) {
        Some(text) if text.starts_with('-') => text.replacen('-', minus, 1),
        Some(text) if text.bytes().any(|b| (b'1'..=b'9').contains(&b)) => format!("+{text}"),
        Some(text) => text,
        None => "?".to_owned(),
    }
}

/// Decimals of a correction and its parts, in per cent.
pub(crate) fn change_decimals(change: f64) -> usize {
    if change.abs() < 0.01 { 2 } else { 1 }
}

/// `corrected by −2.6 %`.
pub(crate) fn corrected_by(q: &QuietTime, minus: &str) -> String {
    let change = change(q);
    format!("corrected by {} %", signed(change, change_decimals(change), minus))
}

/// `clock −1.9`, `sibling −0.6`: what each cause takes from the time, in per cent, the largest first; nothing of those that
/// vanish at these decimals.
pub(crate) fn parts(q: &QuietTime, minus: &str) -> Vec<String> {
    let decimals = change_decimals(change(q));
    let mut all: Vec<(SlowdownCause, f64)> = q.parts.iter().map(|(c, log)| (*c, (-log).exp_m1())).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let shown = |(c, share): (SlowdownCause, f64)| {
        let text = signed(share, decimals, minus);
        text.bytes().any(|b| (b'1'..=b'9').contains(&b)).then(|| format!("{} {text}", cause(c)))
    };
    all.into_iter().filter_map(shown).collect()
}

/// `not corrected: REASON`, without a period; nothing where the user wanted no correction.
pub(crate) fn refusal(why: &NoQuietTime) -> Option<String> {
    let reason = match why {
        NoQuietTime::NotAsked => return None,
        NoQuietTime::NoProbes { why } => format!("the probes could not run ({why})"),
        NoQuietTime::TooFew { samples } => {
            format!("only {} with at least five wake-ups of the probes", plural(*samples, "sample"))
        }
        NoQuietTime::Sleeps { share } => format!("it used its CPU for {} of its time only", percent(*share)),
        NoQuietTime::MoreCpus { used, probed } => {
            format!("it used {} CPUs, and probes ran on {probed}", Cell::of(Unit::Count, *used))
        }
        NoQuietTime::NeverQuiet => "the machine was never seen quiet".to_owned(),
        NoQuietTime::Unseen { samples } => {
            format!("{} ran in states never seen before", plural(*samples, "sample"))
        }
        NoQuietTime::NoBetter { held_out } => no_better(held_out),
    };
    Some(format!("not corrected: {reason}"))
}

fn no_better(held_out: &HeldOut) -> String {
    let [with, without] = [held_out.corrected, held_out.plain].map(percent);
    format!("it would not repeat better (held-out error {with}, without {without})")
}

/// What to do where there is no corrected time, as a phrase.
pub(crate) fn advice(why: &NoQuietTime, hints: &Hints) -> Option<String> {
    hints.phrase(&match why {
        NoQuietTime::NotAsked => return None,
        NoQuietTime::NoProbes { .. } => Hint::RunProbes,
        NoQuietTime::TooFew { .. } => Hint::Samples(FEWEST_SAMPLES),
        NoQuietTime::Sleeps { .. } => Hint::CompareElapsed,
        NoQuietTime::MoreCpus { .. } => Hint::ProbeCpus,
        NoQuietTime::NeverQuiet => Hint::OtherTimeOrDuet,
        NoQuietTime::Unseen { .. } | NoQuietTime::NoBetter { .. } => Hint::MoreSamplesOrDuet,
    })
}

/// A doubt in a word or two, for the default output.
pub(crate) fn doubt_in_short(doubt: &QuietDoubt) -> &'static str {
    match doubt {
        QuietDoubt::Residual { .. } => "scatter",
        QuietDoubt::Memory { .. } => "shared memory",
        QuietDoubt::Stops { .. } => "pauses",
        QuietDoubt::Eviction { .. } => "eviction",
        QuietDoubt::Large { .. } => "large correction",
        QuietDoubt::LimitReached { .. } => "pause limit",
        QuietDoubt::Steal { .. } => "steal time",
    }
}

/// A doubt with its consequence, as a sentence.
pub(crate) fn doubt(doubt: &QuietDoubt, hints: &Hints) -> String {
    let (what, hint) = match doubt {
        QuietDoubt::Residual { residual } => (
            format!(
                "The samples differ by {} after the correction, by something that no probe sees, such as the layout of memory: the \
                 value is no better than their number makes it.",
                percent(*residual)
            ),
            Some(Hint::MoreSamplesOrDuet),
        ),
        QuietDoubt::Memory { coefficients } => (
            format!(
                "The time follows the shared caches and the memory closely (coefficients of {} in sum), which other guests may use, too: \
                 days later the value may differ by several per cent.",
                Cell::of(Unit::Count, *coefficients)
            ),
            Some(Hint::MoreSamplesOrDuet),
        ),
        QuietDoubt::Stops { coefficient } => (
            format!(
                "Each pause of the gate makes the program slower (coefficient of {} for 100 pauses): the value depends on how well that \
                 is known.",
                Cell::of(Unit::Count, *coefficient)
            ),
            Some(Hint::WithoutGate),
        ),
        QuietDoubt::Eviction { part } => (
            format!(
                "By the correction, evicted caches made it {} slower: that depends on which parts of the caches it uses, and is known \
                 less well than the rest.",
                percent(part.exp_m1())
            ),
            Some(Hint::MoreSamplesOrDuet),
        ),
        QuietDoubt::Large { correction } => (
            format!(
                "The correction is large ({}): an error of the coefficients counts as much.",
                percent((-correction).exp_m1().abs())
            ),
            Some(Hint::OtherTimeOrDuet),
        ),
        QuietDoubt::LimitReached { samples } => (
            format!(
                "In {} the pauses reached their limit, and the program ran on a busy machine.",
                plural(*samples, "sample")
            ),
            Some(Hint::LongerPauses),
        ),
        QuietDoubt::Steal { samples } => (
            format!(
                "In {} the hypervisor took CPU time from the machine, on any of its CPUs, which no probe measures.",
                plural(*samples, "sample")
            ),
            None,
        ),
    };
    format!("{what}{}", hint.map_or_else(String::new, |hint| hints.sentence(&hint)))
}

/// What the gate did: `12 pauses in 10 samples`, …; `None` if there was none and none was `wanted`.
pub(crate) fn gate(s: &ProbesSummary, wanted: bool) -> Option<Cell> {
    if s.gated == 0 {
        return (wanted && s.samples > 0).then(|| "the program could not be paused".into());
    }
    let said = Cell::text(format!("{} in {}, paused for ", plural(s.stops, "pause"), plural(s.gated, "sample")))
        .and(Cell::time(s.paused.as_f64()))
        .and(", waited ")
        .and(Cell::time(s.waited.as_f64()))
        .and(" before the starts");
    Some(match s.limit_reached {
        0 => said,
        n => said.and(format!(", limit reached in {}", plural(n, "sample"))),
    })
}

/// Whether the plan wants programs to be paused.
pub(crate) fn wants_gate(report: &RunReport) -> bool {
    report.run.plan.probes.is_some_and(|plan| plan.gate.is_some())
}

/// What the probes cost; `None` if there were none.
pub(crate) fn cost(s: &ProbesSummary) -> Option<Cell> {
    let mean = (s.samples > 0).then(|| s.cpu.as_f64() / f64::from(s.samples))?;
    let late = if s.late > 0 { format!(", {} of them late", s.late) } else { String::new() };
    Some(Cell::time(mean).and(format!(" of CPU time a sample, {}{late}", plural(s.wakes, "wake-up"))))
}

/// `on CPU 1`: probes are only of the CPUs that the programs were kept to.
pub(crate) fn kept_to(report: &RunReport) -> Option<String> {
    let plan = &report.run.plan;
    plan.probes.as_ref()?;
    match plan.cpus.as_slice() {
        [] => None,
        [cpu] => Some(format!("on CPU {cpu}")),
        several => Some(format!("on {} CPUs", several.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{fixtures, quiet_fixtures};

    fn all_doubts() -> Vec<QuietDoubt> {
        vec![
            QuietDoubt::Residual { residual: 0.028 },
            QuietDoubt::Memory { coefficients: 0.61 },
            QuietDoubt::Stops { coefficient: 0.42 },
            QuietDoubt::Eviction { part: 0.041 },
            QuietDoubt::Large { correction: 0.21 },
            QuietDoubt::LimitReached { samples: 1 },
            QuietDoubt::Steal { samples: 3 },
        ]
    }

    fn all_refusals() -> Vec<NoQuietTime> {
        vec![
            NoQuietTime::NoProbes { why: "not known: needs CAP_SYS_NICE".to_owned() },
            NoQuietTime::TooFew { samples: 4 },
            NoQuietTime::Sleeps { share: 0.62 },
            NoQuietTime::MoreCpus { used: 1.94, probed: 1 },
            NoQuietTime::NeverQuiet,
            NoQuietTime::Unseen { samples: 2 },
            NoQuietTime::NoBetter { held_out: HeldOut { plain: 0.012, corrected: 0.0131 } },
        ]
    }

    #[test]
    fn a_correction_names_its_parts() {
        let q = quiet_fixtures::quiet_time();
        assert_eq!(corrected_by(&q, "−"), "corrected by −2.6 %");
        assert_eq!(parts(&q, "−"), ["clock −1.9", "sibling −0.7"]);
        let mut longer = q.clone();
        (longer.value, longer.parts) = (q.uncorrected * 1.004, vec![(SlowdownCause::Clock, -0.004)]);
        assert_eq!(
            (corrected_by(&longer, "-"), parts(&longer, "-")),
            ("corrected by +0.40 %".into(), vec!["clock +0.40".into()])
        );
        let none = QuietTime { value: 1.0, uncorrected: 1.0, parts: Vec::new(), ..q.clone() };
        assert_eq!(corrected_by(&none, "-"), "corrected by 0.00 %");
        let broken = QuietTime { value: f64::NAN, ..q };
        assert_eq!(corrected_by(&broken, "-"), "corrected by ? %");
    }

    #[test]
    fn refusals_have_a_reason_and_an_advice() {
        for why in all_refusals() {
            let said = refusal(&why).unwrap();
            assert!(said.starts_with("not corrected: ") && !said.ends_with('.'), "{said}");
            assert!(advice(&why, &fixtures::hints()).is_some(), "{why:?}");
            assert_eq!(advice(&why, &Hints::default()), None);
        }
        assert_eq!((refusal(&NoQuietTime::NotAsked), advice(&NoQuietTime::NotAsked, &fixtures::hints())), (None, None));
        let said = refusal(&NoQuietTime::MoreCpus { used: 1.94, probed: 1 }).unwrap();
        assert_eq!(said, "not corrected: it used 1.9 CPUs, and probes ran on 1");
        let said = refusal(&NoQuietTime::NoBetter { held_out: HeldOut { plain: 0.012, corrected: 0.0131 } }).unwrap();
        assert_eq!(said, "not corrected: it would not repeat better (held-out error 1.3 %, without 1.2 %)");
    }

    #[test]
    fn doubts_are_sentences() {
        for d in all_doubts() {
            let said = doubt(&d, &Hints::default());
            assert!(said.ends_with('.') && said.starts_with(|c: char| c.is_uppercase()), "{said}");
            assert!(!doubt_in_short(&d).is_empty());
        }
        let said = doubt(&QuietDoubt::Large { correction: 0.21 }, &Hints::default());
        assert!(said.contains("(19 %)"), "{said}");
    }

    #[test]
    fn the_gate_and_the_cost_are_told_where_there_are_any() {
        let s = quiet_fixtures::probes_summary();
        let said =
            "42 pauses in 10 samples, paused for 1.36 s, waited 210 ms before the starts, limit reached in 1 sample";
        assert_eq!(gate(&s, true).unwrap(), said);
        assert_eq!(cost(&s).unwrap(), "2.10 ms of CPU time a sample, 1432 wake-ups, 3 of them late");
        let none = ProbesSummary::default();
        assert_eq!((gate(&none, true), cost(&none)), (None, None));
        let ungated = ProbesSummary { gated: 0, ..s };
        assert_eq!(gate(&ungated, false), None);
        assert_eq!(gate(&ungated, true).unwrap(), "the program could not be paused");
    }
}
