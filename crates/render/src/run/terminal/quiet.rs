//! The time on the quiet machine: one line of the default output.

use crate::run::hints::speed_may_vary;
use crate::run::quiet;
use tarebench_core::base::hint::Hint;
use tarebench_core::quiet::data::{NoQuietTime, QuietTime};
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_report::form::Form;
use tarebench_report::number::TimeScale;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::{interval, time, value};

/// How the times of a corrected value are written: as exact as what the correction leaves of the scatter.
pub(crate) fn scale(page: &ScreenText<'_>, q: &QuietTime) -> TimeScale {
    TimeScale::of(q.value, Some(spread(q)), page.style.unit)
}

/// Standard deviation of the corrected samples, ns.
pub(crate) fn spread(q: &QuietTime) -> f64 {
    q.value * q.residual
}

/// What stands behind the corrected time in its line: as much as there is room for.
pub(crate) fn rest(page: &ScreenText<'_>, q: &QuietTime, room: usize) -> String {
    let by = quiet::corrected_by(q, page.g.minus);
    let parts = quiet::parts(q, page.g.minus);
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let doubts = doubts(q);
    let plain = format!("; uncorrected: {}", time(page, q.uncorrected));
    let forms = [
        format!("{doubts}{by}{parts}{plain}"),
        format!("{doubts}{by}{parts}"),
        format!("{doubts}{by}"),
        doubts.trim_end_matches("; ").to_owned(),
        by.trim_start_matches("corrected ").to_owned(),
    ];
    forms.into_iter().find(|f| !f.is_empty() && text::columns(f) <= room).unwrap_or_default()
}

/// `doubtful (steal time, pauses); `, or nothing.
fn doubts(q: &QuietTime) -> String {
    let mut names: Vec<&str> = q.doubts.iter().map(quiet::doubt_in_short).collect();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("doubtful ({}); ", names.join(", ")) }
}

/// Why there is no corrected time; with what to do, if that fits into a line of this width.
fn refused(page: &ScreenText<'_>, why: &NoQuietTime, room: usize) -> Option<String> {
    let reason = page.style.prose(&quiet::refusal(why)?);
    let advice = quiet::advice(why, &page.style.hints).map(|a| page.style.prose(&a));
    let whole = advice.map(|a| format!("{reason}; {a}")).filter(|l| text::columns(l) <= room);
    Some(whole.unwrap_or(reason))
}

/// What is said where there is no corrected time: why, or what the gate did if only that was wanted.
pub(crate) fn instead(page: &ScreenText<'_>, report: &RunReport, s: &SeriesReport, room: usize) -> Option<String> {
    match &s.quiet {
        Some(Ok(_)) => None,
        Some(Err(why)) if *why != NoQuietTime::NotAsked => refused(page, why, room),
        _ => Some(quiet::gate(s.probes.as_ref()?, quiet::wants_gate(report))?.write(&Form::terminal(page.style))),
    }
}

/// The lines of programs that have a row each in the table above.
pub(crate) fn rows(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let known = |s: &SeriesReport| matches!(s.quiet, Some(Ok(_))) || instead(page, report, s, usize::MAX).is_some();
    let widest = page.width() / 3;
    let cut = |name: &String| text::cut_middle(name, widest, page.g.dots).into_owned();
    let all: Vec<(String, &SeriesReport)> =
        names.iter().map(cut).zip(&report.series).filter(|(_, s)| known(s)).collect();
    if all.is_empty() {
        return;
    }
    let wide = all.iter().map(|(name, _)| text::columns(name)).max().unwrap_or(0);
    page.line(&[(Paint::Title, "CPU time on the quiet machine".to_owned())]);
    for (name, s) in &all {
        let lead = format!("  {name}{}  ", " ".repeat(wide - text::columns(name)));
        let room = page.width().saturating_sub(text::columns(&lead));
        if let Some(Ok(q)) = &s.quiet {
            let row = row(page, q, room);
            page.line(&[(Paint::Strong, lead), (Paint::Plain, row)]);
        } else if let Some(why) = instead(page, report, s, room) {
            page.hang(&[(Paint::Strong, lead)], Paint::Dim, &why);
        }
    }
}

fn row(page: &ScreenText<'_>, q: &QuietTime, room: usize) -> String {
    let scale = scale(page, q);
    let unit = scale.unit.sign(page.style.unicode);
    let mean = format!("{} {unit}", value(page, scale, q.value));
    let head = format!("{mean}  {}", interval(page, scale, &q.interval));
    if text::columns(&head) > room {
        return mean;
    }
    let rest = rest(page, q, room.saturating_sub(text::columns(&head) + 3));
    if rest.is_empty() { head } else { format!("{head}   {rest}") }
}

/// Times that differ by less (s.d. / mean) would not be more exact after a correction.
const SPREAD: f64 = 0.003;

/// One line on the machine's speed, where it may have changed the times and no probes ran.
pub(crate) fn hint(page: &mut ScreenText<'_>, report: &RunReport) {
    let spread = |s: &SeriesReport| s.pt.value().and_then(|m| m.relative_error).is_some_and(|e| e >= SPREAD);
    let differ = report.series.iter().any(spread);
    let varies = report.run.factors.iter().any(|f| speed_may_vary(&f.name, f.standing));
    if report.run.plan.probes.is_some() || !differ || !varies {
        return;
    }
    if let Some(text) = page.style.hints.phrase(&Hint::Quiet) {
        let text = page.style.prose(&text);
        page.hang(&[], Paint::Dim, &text);
    }
}

#[cfg(test)]
mod tests {
    use crate::run::terminal::report::run_report;
    use crate::run::{fixtures, quiet_fixtures};
    use tarebench_core::base::hint::Hint;
    use tarebench_core::base::reading::Reading;
    use tarebench_core::machine::data::{Factor, Standing};
    use tarebench_core::quiet::data::NoQuietTime;
    use tarebench_core::run::report::data::RunReport;
    use tarebench_report::hints::Hints;
    use tarebench_report::style::Style;

    fn drawn(report: &RunReport, width: usize, full: bool) -> String {
        run_report(report, &Style { width, full, hints: fixtures::hints(), ..Style::default() })
    }

    fn quiet_line(report: &RunReport, width: usize) -> String {
        let text = drawn(report, width, false);
        text.lines().find(|l| l.starts_with("  quiet")).unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    #[test]
    fn the_corrected_time_is_one_line_of_every_width() {
        let report = quiet_fixtures::one();
        for (width, expected) in [
            (60, "  quiet    286.40 ms ± 0.40  [285.90, 286.90]  by −2.6 %"),
            (80, "  quiet    286.40 ms ± 0.40   95% [285.90, 286.90]   corrected by −2.6 %"),
            (100, "  quiet    286.40 ms ± 0.40   95% [285.90, 286.90]   corrected by −2.6 %: clock −1.9, sibling −0.7"),
            (
                140,
                "  quiet    286.40 ms ± 0.40   95% [285.90, 286.90]   corrected by −2.6 %: clock −1.9, sibling −0.7; \
                 uncorrected: 294 ms",
            ),
        ] {
            assert_eq!(quiet_line(&report, width), expected, "at {width}");
        }
        let text = drawn(&report, 100, false);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("run 12, on CPU 1 · "), "{text}");
    }

    #[test]
    fn doubts_come_first() {
        let line = quiet_line(&quiet_fixtures::two(), 100);
        assert!(line.ends_with("   doubtful (shared memory, steal time)"), "{line}");
        let line = quiet_line(&quiet_fixtures::two(), 140);
        assert!(line.contains("doubtful (shared memory, steal time); corrected by −2.6 %: clock"), "{line}");
    }

    #[test]
    fn a_refusal_has_its_advice_where_there_is_room() {
        let mut report = quiet_fixtures::two();
        report.series.remove(0);
        report.comparisons.clear();
        report.remarks.clear();
        let reason = "  quiet    not corrected: it used 1.9 CPUs, and probes ran on 1";
        assert_eq!(quiet_line(&report, 100), format!("{reason}; do something about it"));
        assert_eq!(quiet_line(&report, 80), reason);
        let narrow = drawn(&report, 60, false);
        assert!(
            narrow.contains("  quiet    not corrected: it used 1.9 CPUs, and probes ran\n           on 1\n"),
            "{narrow}"
        );
    }

    #[test]
    fn programs_in_rows_have_theirs_below() {
        let text = drawn(&quiet_fixtures::three(), 140, false);
        let at = text.lines().position(|l| l == "CPU time on the quiet machine").unwrap_or_else(|| panic!("{text}"));
        let lines: Vec<&str> = text.lines().skip(at + 1).take(3).collect();
        assert!(lines[0].contains("  286.40 ms  [285.90, 286.90]   corrected by −2.6 %"), "{text}");
        assert!(
            lines[1].contains(r"  not corrected: the probes could not run (not known: needs \x1b[31mCAP_SYS"),
            "{text}"
        );
        assert!(lines[2].contains("  42 pauses in 10 samples, paused for 1.36 s, waited 210 ms"), "{text}");
    }

    #[test]
    fn nothing_is_said_without_probes_or_where_it_was_not_wanted() {
        assert!(!drawn(&fixtures::one(), 100, false).contains("quiet"));
        let mut report = quiet_fixtures::one();
        report.series[0].quiet = Some(Err(NoQuietTime::NotAsked));
        let line = quiet_line(&report, 100);
        assert!(line.starts_with("  quiet    42 pauses in 10 samples, paused for 1.36 s"), "{line}");
        report.series[0].probes = None;
        assert!(!drawn(&report, 100, false).contains("  quiet"));
    }

    #[test]
    fn where_the_speed_may_vary_one_line_says_so() {
        let hints = Hints::new(|hint| if *hint == Hint::Quiet { "use it".to_owned() } else { "other".to_owned() });
        let lines = |report: &RunReport| {
            let style = Style { hints: hints.clone(), ..Style::default() };
            let text = run_report(report, &style);
            text.lines().filter(|l| l.contains("use it")).count()
        };
        let with = |mut report: RunReport, name: &str, standing| {
            report.run.factors.push(Factor::new(0, name, standing, "found"));
            report
        };
        for report in [fixtures::one(), fixtures::two(), fixtures::ten()] {
            assert_eq!(lines(&report), 0);
            let guest = with(report, "hypervisor", Standing::NotHeld);
            assert_eq!(lines(&guest), 1);
            // However many reasons there are.
            assert_eq!(lines(&with(guest, "turbo", Standing::NotHeld)), 1);
        }
        assert_eq!(lines(&with(fixtures::one(), "governor", Standing::NotHeld)), 1);
        assert_eq!(lines(&with(fixtures::one(), "governor", Standing::Unknown)), 0);
        assert_eq!(lines(&with(fixtures::one(), "swap", Standing::NotHeld)), 0);
        // Not where times hardly differ.
        let mut equal = with(fixtures::one(), "hypervisor", Standing::NotHeld);
        let Reading::Value(pt) = &mut equal.series[0].pt else { panic!("{equal:?}") };
        (pt.std_dev, pt.relative_error) = (Some(0.0), Some(0.0));
        assert_eq!(lines(&equal), 0);
        // Not where probes ran, nor where nothing was measured.
        assert_eq!(lines(&with(quiet_fixtures::one(), "hypervisor", Standing::NotHeld)), 0);
        assert_eq!(lines(&with(fixtures::report(Vec::new()), "hypervisor", Standing::NotHeld)), 0);
    }

    #[test]
    fn the_full_output_has_all_of_it() {
        let text = drawn(&quiet_fixtures::two(), 140, true);
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "286.40 ms ± 0.40 [285.90, 286.90]; corrected by −2.6 % (uncorrected 294.10 ms).",
            "correction clock of the core −1.9 %, sibling hyper-thread −0.7 %, kernel's paths 0.0 %",
            "286.40 ms ± 0.40 [285.90, 286.90] 294.10 ms 0.14 % 0.16 % 2.1 % 10 earlier runs of this program",
            "coefficients of 0.61 in sum",
            "In 3 samples the hypervisor took CPU time from the machine",
            "gate 42 pauses in 10 samples, paused for 1.36 s, waited 210 ms before the starts, limit reached in 1 sample",
            "probes 2.10 ms of CPU time a sample, 1432 wake-ups, 3 of them late",
            "not corrected: it used 1.9 CPUs, and probes ran on 1",
            "kept on CPU 1, with probes",
        ] {
            assert!(joined.contains(said), "{said}\n{text}");
        }
    }
}
