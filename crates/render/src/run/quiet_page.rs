//! The time on the quiet machine on the page: samples before and after the correction, what the probes saw, and why.

use crate::run::quiet;
use tarebench_core::quiet::data::{ProbesSummary, QuietLevels, QuietTime, SlowdownCause};
use tarebench_core::quiet::features::features;
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::probes::{CpuProbes, GateRule, ProbeKind, SampleProbes};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::table::Table;
use tarebench_report::web::page::{
    Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageQuiet, PageQuietPart,
};
use tarebench_report::words::plural;

/// The most points of a curve.
const POINTS: usize = 4_000;

/// What is said and drawn of the probes of a program; `None` if the run had none. `all` are its counted samples.
pub(crate) fn quiet(
    i: usize,
    s: &SeriesReport,
    all: &[&Sample],
    report: &RunReport,
    hints: &Hints,
) -> Option<PageQuiet> {
    let plan = report.run.plan.probes.as_ref()?;
    let found = s.quiet.as_ref().and_then(|q| q.as_ref().ok());
    let levels = report.quiet_levels.as_ref();
    let rule = plan.gate.as_ref();
    let figures = [samples(i, all, found, levels), levels.and_then(|levels| course(i, all, levels, rule))];
    Some(PageQuiet {
        answer: answer(s, hints).plain(),
        note: note(levels),
        parts: found.map(parts).unwrap_or_default(),
        doubts: found.iter().flat_map(|q| &q.doubts).map(|d| quiet::doubt(d, hints)).collect(),
        figures: figures.into_iter().flatten().collect(),
        tables: tables(report, s),
    })
}

/// The corrected time, or why there is none.
pub(crate) fn answer(s: &SeriesReport, hints: &Hints) -> Cell {
    match &s.quiet {
        Some(Ok(q)) => Cell::text("CPU time on the quiet machine: ")
            .and(corrected(q))
            .and(format!("; {} (uncorrected ", quiet::corrected_by(q, "−")))
            .and(uncorrected(q))
            .and(")."),
        Some(Err(why)) => match quiet::refusal(why) {
            Some(reason) => {
                let advice = quiet::advice(why, hints).map_or_else(String::new, |a| format!("; {a}"));
                format!("The CPU time is {reason}{advice}.").into()
            }
            None => "The CPU time is not corrected, as was asked.".into(),
        },
        None => "The CPU time is not corrected.".into(),
    }
}

fn corrected(q: &QuietTime) -> Figure {
    let spread = Some(q.value * q.residual);
    Figure::new(Unit::Time, q.value).with_spread(spread).with_interval(&Ok(q.interval.clone()))
}

fn uncorrected(q: &QuietTime) -> Cell {
    Cell::figure(Figure { digits: Some(q.value * q.residual), ..Figure::new(Unit::Time, q.uncorrected) })
}

fn note(levels: Option<&QuietLevels>) -> String {
    let what = "Short pieces of exactly fixed work ran on the program's CPU while it ran. How much slower they were than on the quiet \
                machine says how much slower the machine made the program.";
    match levels {
        Some(l) => format!("{what} The quiet machine is known from {}.", plural(l.wakes, "wake-up")),
        None => format!("{what} No quiet machine is known yet, so that the probes' course cannot be drawn."),
    }
}

/// What each cause takes from the time.
fn parts(q: &QuietTime) -> Vec<PageQuietPart> {
    let decimals = quiet::change_decimals(quiet::change(q));
    let part = |(cause, log): &(SlowdownCause, f64)| {
        let share = (-log).exp_m1();
        let text = format!("{} %", quiet::signed(share, decimals, "−"));
        PageQuietPart { title: quiet::cause_in_full(*cause), share, text }
    };
    q.parts.iter().filter(|(_, log)| log.is_finite()).map(part).collect()
}

/// `clock of the core −1.9 %, sibling hyper-thread −0.7 %`.
pub(crate) fn parts_text(q: &QuietTime) -> String {
    parts(q).iter().map(|part| format!("{} {}", part.title, part.text)).collect::<Vec<_>>().join(", ")
}

/// The correction, and what gate and probes did; none without probes.
pub(crate) fn tables(report: &RunReport, s: &SeriesReport) -> Vec<Table> {
    let found = s.quiet.as_ref().and_then(|q| q.as_ref().ok());
    let all = [found.map(estimates), s.probes.as_ref().map(|summary| probes_table(report, summary))];
    all.into_iter().flatten().filter(|t| !t.rows.is_empty()).collect()
}

fn estimates(q: &QuietTime) -> Table {
    let columns = [
        "corrected ± residual [95%]",
        ">uncorrected",
        ">residual",
        ">held-out error",
        ">without correction",
        ">samples",
        "coefficients from",
    ];
    let mut t = Table::new(
        "Correction",
        "Residual: robust standard deviation of the corrected samples. Held-out error: how far each sample is from what the others \
         predict, with the correction and without it.",
        &columns,
    );
    let shares = [q.residual, q.held_out.corrected, q.held_out.plain].map(|share| Cell::of(Unit::Share, share));
    let rest = [Cell::count(q.samples), Cell::text(quiet::prior(q.prior))];
    t.row([corrected(q).into(), uncorrected(q)].into_iter().chain(shares).chain(rest), Vec::new());
    t
}

fn probes_table(report: &RunReport, summary: &ProbesSummary) -> Table {
    let mut t = Table::new("Gate and probes", "Of all counted samples.", &["what", "how much"]);
    for (name, cell) in [("gate", quiet::gate(summary, quiet::wants_gate(report))), ("probes", quiet::cost(summary))] {
        if let Some(cell) = cell {
            t.row([Cell::text(name), cell], Vec::new());
        }
    }
    t
}

fn curve(title: &str, look: usize, join: Join, points: Vec<(f64, f64)>) -> PageCurve {
    let (x, y) = points.into_iter().unzip();
    PageCurve { title: title.to_owned(), look, thin: false, join, x, y, band: None }
}

/// So many of them at most, as evenly spaced as may be.
fn thinned<T: Copy>(points: &[T], most: usize) -> Vec<T> {
    let count = points.len().min(most);
    (0..count).filter_map(|i| points.get(i * points.len() / count)).copied().collect()
}

/// Number of a sample, from 1.
fn place(s: &Sample) -> f64 {
    f64::from(s.index) + 1.0
}

/// The process times, before and after the correction.
fn samples(i: usize, all: &[&Sample], q: Option<&QuietTime>, levels: Option<&QuietLevels>) -> Option<PageFigure> {
    let times = all.iter().filter_map(|s| Some((*s, s.process_time().ok()?)));
    let times: Vec<_> = times.filter(|(s, _)| s.probes.value().is_some()).collect();
    let times = thinned(&times, POINTS);
    let (first, last) = (place(times.first()?.0), place(times.last()?.0));
    let raw = times.iter().map(|(s, pt)| (place(s), pt.as_f64())).collect();
    let mut curves = vec![curve("as measured", 0, Join::Points, raw)];
    if let (Some(q), Some(levels)) = (q, levels) {
        let corrected = times.iter().filter_map(|(s, pt)| {
            let ns = q.corrected(*pt, &features(s.probes.value()?, levels)?);
            ns.is_finite().then(|| (place(s), ns))
        });
        curves.push(curve("corrected", 1, Join::Points, corrected.collect()));
        // A line has two ends.
        let ends = if first < last { [first, last] } else { [first - 0.5, last + 0.5] };
        let value = curve("corrected value", 2, Join::Straight, ends.map(|x| (x, q.value)).to_vec());
        let band =
            Band { title: "95% interval", low: vec![Some(q.interval.low); 2], high: vec![Some(q.interval.high); 2] };
        curves.push(PageCurve { band: Some(band), ..value });
    }
    curves.retain(|c| !c.x.is_empty());
    Some(PageFigure {
        id: format!("quiet-samples-{}", i + 1),
        title: "Samples before and after the correction".to_owned(),
        note: "A point is the CPU time of a sample; samples without probes are not drawn.".to_owned(),
        x: PageAxis::linear("Sample", PageQuantity::Count),
        y: PageAxis::linear("CPU time", PageQuantity::Time),
        curves,
    })
}

/// A wake-up as it is drawn: time, latency and issue ratio, each divided by its quiet level.
type SeenWake = (f64, f64, f64);

fn seen(at: f64, latency: u32, issue: u32, levels: &QuietLevels) -> Option<SeenWake> {
    let latency = f64::from(latency);
    let quiet_ratio = levels.levels[ProbeKind::Issue as usize];
    let seen = (at, latency / levels.latency, f64::from(issue) / latency / quiet_ratio);
    (seen.1.is_finite() && seen.2.is_finite()).then_some(seen)
}

fn while_running(cpu: &CpuProbes, start: f64, levels: &QuietLevels) -> Vec<SeenWake> {
    let [latency, issue] = [ProbeKind::Latency as usize, ProbeKind::Issue as usize];
    let all = cpu.wakes.iter().map(|w| (w.at, w.ticks[latency], w.ticks[issue]));
    let watched = cpu.watched.iter().map(|w| (w.at, w.latency, w.issue));
    let both = all.chain(watched).filter_map(|(at, latency, issue)| seen(start + at.as_f64(), latency, issue, levels));
    let mut found: Vec<SeenWake> = both.collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn while_paused(cpu: &CpuProbes, start: f64, levels: &QuietLevels) -> Vec<SeenWake> {
    cpu.paused.iter().filter_map(|w| seen(start + w.at.as_f64(), w.latency, w.issue, levels)).collect()
}

/// What the probes saw over the time of the samples, one sample after the other.
fn course(i: usize, all: &[&Sample], levels: &QuietLevels, rule: Option<&GateRule>) -> Option<PageFigure> {
    let probed: Vec<(&Sample, &SampleProbes)> = all.iter().filter_map(|s| Some((*s, s.probes.value()?))).collect();
    let most = (POINTS / probed.len().max(1)).max(2);
    // More samples than points: some of them.
    let probed = thinned(&probed, POINTS / 2);
    let (mut ran, mut paused): (Vec<SeenWake>, Vec<SeenWake>) = (Vec::new(), Vec::new());
    let mut start = 0.0;
    for (sample, probes) in probed {
        for cpu in &probes.cpus {
            ran.extend(thinned(&while_running(cpu, start, levels), most));
            paused.extend(thinned(&while_paused(cpu, start, levels), most));
        }
        start += sample.elapsed().as_f64().max(0.0);
    }
    // Those of several CPUs lie in each other, and waits before a start in the sample before.
    for all in [&mut ran, &mut paused] {
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let (ran, paused) = (thinned(&ran, POINTS), thinned(&paused, POINTS));
    let (first, last) = (ran.first()?.0, ran.last()?.0);
    let latency = ran.iter().map(|s| (s.0, s.1)).collect();
    let issue = ran.iter().map(|s| (s.0, s.2)).collect();
    let waiting = paused.iter().map(|s| (s.0, s.2)).collect();
    let limit = rule.filter(|_| first < last).map(|r| PageCurve {
        thin: true,
        ..curve("busy above", 1, Join::Straight, vec![(first, r.busy), (last, r.busy)])
    });
    let mut curves = vec![
        curve("latency (clock)", 0, Join::Points, latency),
        curve("issue ratio (sibling)", 1, Join::Points, issue),
        curve("issue ratio while paused", 2, Join::Points, waiting),
    ];
    curves.retain(|c| !c.x.is_empty());
    curves.extend(limit);
    Some(PageFigure {
        id: format!("quiet-course-{}", i + 1),
        title: "What the probes saw".to_owned(),
        note: "Each wake-up of the probes, divided by the level of the quiet machine: 1 is quiet. A higher latency is a slower clock; a \
               higher issue ratio is a busy sibling hyper-thread. Long runs are thinned out evenly."
            .to_owned(),
        x: PageAxis::linear("Time of the samples, one after the other", PageQuantity::Time),
        y: PageAxis::linear("Slower than quiet", PageQuantity::Ratio),
        curves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{fixtures, quiet_fixtures};
    use tarebench_core::quiet::data::NoQuietTime;
    use tarebench_core::sample::data::Phase;

    fn made(report: &RunReport, samples: &[Sample]) -> Option<PageQuiet> {
        let counted: Vec<&Sample> = samples.iter().filter(|s| s.phase == Phase::Counted).collect();
        quiet(0, &report.series[0], &counted, report, &fixtures::hints())
    }

    fn titles(figure: &PageFigure) -> Vec<&str> {
        figure.curves.iter().map(|c| c.title.as_str()).collect()
    }

    #[test]
    fn samples_stand_before_and_after() {
        let page = made(&quiet_fixtures::one(), &quiet_fixtures::samples()).unwrap();
        assert_eq!(
            page.answer,
            "CPU time on the quiet machine: 286.40 ms ± 0.40 [285.90, 286.90]; corrected by −2.6 % (uncorrected 294.10 ms)."
        );
        let [samples, course] = page.figures.as_slice() else { panic!("{:?}", page.figures) };
        assert_eq!(titles(samples), ["as measured", "corrected", "corrected value"]);
        // The last sample has no probes.
        let [raw, corrected, value] = samples.curves.as_slice() else { panic!() };
        assert_eq!((raw.x.as_slice(), corrected.x.len()), (&[1.0, 2.0][..], 2));
        assert!(raw.y.iter().zip(&corrected.y).all(|(raw, less)| less < raw), "the machine was slow: {corrected:?}");
        assert_eq!(value.y, [286.4e6; 2]);
        assert_eq!(
            titles(course),
            ["latency (clock)", "issue ratio (sibling)", "issue ratio while paused", "busy above"]
        );
        let [latency, issue, ..] = course.curves.as_slice() else { panic!() };
        assert_eq!((latency.y[0], issue.y[0]), (1.0, 1.0), "quiet at first");
        let (low, high) = (0.0, 1e10);
        assert!(latency.x.is_sorted() && latency.x.iter().all(|x| (low..high).contains(x)));
        assert!(latency.y.iter().any(|y| (y - 1.2).abs() < 1e-9) && issue.y.iter().any(|y| (y - 2.0).abs() < 1e-9));
        let shares: Vec<&str> = page.parts.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(shares, ["−1.9 %", "−0.7 %", "0.0 %", "0.0 %"]);
        assert_eq!(page.tables.len(), 2);
        let columns = page.tables[0].columns.len();
        assert_eq!(page.tables[0].rows[0].cells.len(), columns);
    }

    #[test]
    fn a_refusal_has_its_reason_and_no_correction() {
        let mut report = quiet_fixtures::one();
        report.series[0].quiet = Some(Err(NoQuietTime::NeverQuiet));
        report.quiet_levels = None;
        let page = made(&report, &quiet_fixtures::samples()).unwrap();
        assert_eq!(
            page.answer,
            "The CPU time is not corrected: the machine was never seen quiet; do something about it."
        );
        let [samples] = page.figures.as_slice() else { panic!("{:?}", page.figures) };
        assert_eq!(titles(samples), ["as measured"]);
        assert!(page.parts.is_empty() && page.doubts.is_empty() && page.note.contains("No quiet machine is known yet"));
        report.series[0].quiet = Some(Err(NoQuietTime::NotAsked));
        assert_eq!(made(&report, &[]).unwrap().answer, "The CPU time is not corrected, as was asked.");
        assert!(made(&report, &[]).unwrap().figures.is_empty());
    }

    #[test]
    fn without_probes_there_is_no_section() {
        assert_eq!(made(&fixtures::one(), &fixtures::samples()), None);
    }

    #[test]
    fn many_wakes_and_many_samples_are_thinned() {
        let report = quiet_fixtures::one();
        let mut samples = quiet_fixtures::samples();
        samples.truncate(2);
        samples[1].probes = tarebench_core::base::reading::Reading::Value(quiet_fixtures::probes(30_000));
        let page = made(&report, &samples).unwrap();
        let course = page.figures.last().unwrap();
        assert!(course.curves.iter().all(|c| c.x.len() <= POINTS), "{}", course.curves[0].x.len());
        assert!(course.curves[0].x.len() > POINTS / 2);
        let one = samples[1].clone();
        let many: Vec<Sample> = (0..9_000)
            .map(|index| Sample {
                index,
                probes: tarebench_core::base::reading::Reading::Value(quiet_fixtures::probes(10)),
                ..one.clone()
            })
            .collect();
        let page = made(&report, &many).unwrap();
        let most = page.figures.iter().flat_map(|f| &f.curves).map(|c| c.x.len()).max();
        assert_eq!(most, Some(POINTS));
    }
}
