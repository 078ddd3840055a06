//! The progress of any measurement, as one line on standard error.
//!
//! It is drawn between samples only: nothing wakes tare while a program runs.

use crate::args::style::Show;
use crate::builds::say;
use std::io::Write;
use std::time::{Duration, Instant};
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::duet::{AloneEvidence, AloneTimes};
use tarebench::core::documents::head::Id;
use tarebench::core::run::block_size::BlockEvidence;
use tarebench::core::run::data::Run;
use tarebench::core::run::plan::{RunCount, RunPlan, RunPurpose};
use tarebench::core::run::schedule::executions;
use tarebench::core::sample::data::Phase;
use tarebench::event::Event;
use tarebench::render::documents::progress::{gate_line, line as step_line};
use tarebench::report::progress::{Done, ProgressParts, line};
use tarebench::report::style::Style;
use tarebench::run::session::RunEvent;

/// Shortest time between two drawings; short samples follow each other without one.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line; it is removed when this is dropped.
struct ProgressLine {
    style: Option<Style>,
    drawn: Option<Instant>,
    shown: bool,
}

impl ProgressLine {
    fn new(show: &Show) -> ProgressLine {
        ProgressLine { style: show.progress.then(|| show.progress_style.clone()), drawn: None, shown: false }
    }

    /// Whether a line would be drawn now.
    fn due(&self) -> bool {
        self.style.is_some() && self.drawn.is_none_or(|d| d.elapsed() >= INTERVAL)
    }

    /// Draws the line, which its argument words, again.
    fn draw(&mut self, text: impl FnOnce(&Style) -> String) {
        let Some(style) = &self.style else { return };
        let text = text(style);
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
        self.drawn = Some(Instant::now());
        self.shown = true;
    }

    /// Removes it, so that something else can be written.
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The progress of a run.
struct RunProgress {
    line: ProgressLine,
    programs: Vec<String>,
    adaptive: bool,
    plan: RunPlan,
    /// By program: what decides whether it has duets.
    alone: Vec<AloneEvidence>,
    /// What decides how many executions of each program a block holds.
    block_size: BlockEvidence,
    done: u64,
    failures: u64,
    /// Elapsed times of the samples so far, by program: count, mean, sum of squared differences (Welford).
    seen: Vec<(f64, f64, f64)>,
    /// What comes after the plan, ns.
    after: f64,
}

impl RunProgress {
    /// Something else follows, which takes so long.
    fn then(mut self, after: Nanos) -> RunProgress {
        self.after = after.as_f64();
        self
    }

    /// For a plan.
    fn new(show: &Show, plan: &RunPlan) -> RunProgress {
        RunProgress {
            line: ProgressLine::new(show),
            programs: plan.programs.iter().map(|p| p.label.clone()).collect(),
            adaptive: matches!(plan.runs, RunCount::Adaptive { .. } | RunCount::Detect { .. }),
            plan: plan.clone(),
            alone: vec![AloneEvidence::default(); plan.programs.len()],
            block_size: BlockEvidence::new(plan),
            done: 0,
            failures: 0,
            seen: vec![(0.0, 0.0, 0.0); plan.programs.len()],
            after: 0.0,
        }
    }

    /// Takes note of an event.
    fn on(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Starting { slot } => self.draw(slot.series as usize, slot.phase == Phase::Warmup),
            RunEvent::Done { sample } => {
                self.done += 1;
                self.failures += u64::from(!sample.outcome.success());
                self.block_size.add(&self.plan, sample);
                if let Some(alone) = self.alone.get_mut(sample.series as usize) {
                    alone.add(sample, self.plan.ignore_failure.accepts(&sample.outcome));
                }
                if let Some((n, mean, m2)) = self.seen.get_mut(sample.series as usize) {
                    let x = sample.elapsed().as_f64();
                    *n += 1.0;
                    let d = x - *mean;
                    *mean += d / *n;
                    *m2 += d * (x - *mean);
                }
            }
            RunEvent::StartingDuet { slot } => self.draw_duet(slot.series as usize, slot.reference as usize),
            RunEvent::DoneDuet { duet } => {
                self.done += 1;
                let failed = duet.void.is_none() && duet.sides.iter().any(|s| !s.outcome.success());
                self.failures += u64::from(failed);
            }
            RunEvent::Warning(text) => {
                self.line.clear();
                eprintln!("tare: warning: {}", tarebench::report::text::escape(text));
            }
        }
    }

    fn draw_duet(&mut self, series: usize, reference: usize) {
        let label = |i: usize| self.programs.get(i).map_or("", String::as_str);
        let both = format!("{} with {}", label(series), label(reference));
        self.draw_next(series, &both);
    }

    fn draw(&mut self, series: usize, warmup: bool) {
        let label = self.programs.get(series).map_or("", String::as_str);
        let next = if warmup { format!("warm-up of {label}") } else { label.to_owned() };
        self.draw_next(series, &next);
    }

    fn draw_next(&mut self, series: usize, next: &str) {
        if !self.line.due() {
            return;
        }
        let Some((n, mean, m2)) = self.seen.get(series).copied() else { return };
        // The time to go: the remaining samples at the mean of each program.
        let known: Vec<f64> = self.seen.iter().filter(|s| s.0 > 0.0).map(|s| s.1).collect();
        let per_sample = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let alone: Vec<Option<AloneTimes>> = self.alone.iter().map(AloneEvidence::times).collect();
        let total = executions(&self.plan, &alone, self.block_size.executions());
        let left = (!known.is_empty()).then(|| per_sample * total.saturating_sub(self.done) as f64 + self.after);
        let progress = ProgressParts {
            id: None,
            done: Some(Done::Count { done: self.done, total, adaptive: self.adaptive }),
            estimate: (n > 0.0).then(|| (mean, (n > 1.0).then(|| (m2 / (n - 1.0)).sqrt()))),
            failures: self.failures,
            remaining: left,
            next,
        };
        self.line.draw(|style| line(&progress, style));
    }
}

/// The progress of any measurement.
pub struct Display<'a> {
    show: &'a Show,
    /// The run that is measured now.
    run: Option<(i64, RunProgress)>,
    /// The number of the document, once it has one.
    id: Option<Id>,
    line: ProgressLine,
}

impl<'a> Display<'a> {
    pub fn new(show: &'a Show) -> Display<'a> {
        Display { show, run: None, id: None, line: ProgressLine::new(show) }
    }

    /// Number of the document, if it is kept.
    pub fn id(&self) -> Option<Id> {
        self.id.filter(|id| id.number > 0)
    }

    /// Takes note of an event.
    pub fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Run(run, event) => {
                // A warning would be written into another line.
                if matches!(event, RunEvent::Warning(_)) {
                    self.line.clear();
                }
                self.of_run(run).on(&event);
            }
            Event::Gate(id, step) => {
                self.id = id.or(self.id);
                // Executions may follow each other closely.
                if self.line.due() {
                    self.line.draw(|style| gate_line(id, &step, style));
                }
            }
            Event::Build(news) => {
                self.line.clear();
                say(&news);
            }
            Event::Step(id, step) => {
                self.id = id.or(self.id);
                let id = self.id;
                self.line.draw(|style| step_line(id, &step, style));
            }
        }
    }

    fn of_run(&mut self, run: &Run) -> &mut RunProgress {
        if self.run.as_ref().is_some_and(|(id, _)| *id != run.id) {
            self.run = None;
        }
        let new = || {
            let then = match &run.plan.purpose {
                Some(RunPurpose::Learn(l)) => l.then.map_or(0, |(length, n)| length.0.saturating_mul(i64::from(n))),
                _ => 0,
            };
            (run.id, RunProgress::new(self.show, &run.plan).then(Nanos(then)))
        };
        &mut self.run.get_or_insert_with(new).1
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        self.run = None;
        self.line.clear();
    }
}
