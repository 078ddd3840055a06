//! The progress of any measurement, as one line on standard error.
//!
//! It is drawn between samples only: nothing wakes tare while a program runs.

use crate::args::style::Show;
use std::io::Write;
use std::time::{Duration, Instant};
use tarebench::core::base::units::Nanos;
use tarebench::core::run::data::Run;
use tarebench::core::run::plan::{Plan, RunCount};
use tarebench::core::sample::data::Phase;
use tarebench::render::kit::progress::{Done, Progress, line};
use tarebench::render::kit::style::Style;
use tarebench::run::session::Event;

/// Draws at most so often; short samples follow each other without it.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line; it is removed when this is dropped.
pub struct ProgressLine {
    style: Option<Style>,
    drawn: Option<Instant>,
    shown: bool,
}

impl ProgressLine {
    pub fn new(show: &Show) -> ProgressLine {
        ProgressLine { style: show.progress.then(|| show.progress_style.clone()), drawn: None, shown: false }
    }

    /// Whether a line would be drawn now.
    fn due(&self) -> bool {
        self.style.is_some() && self.drawn.is_none_or(|d| d.elapsed() >= INTERVAL)
    }

    /// Draws the line anew.
    pub fn draw(&mut self, progress: &Progress<'_>) {
        let Some(style) = &self.style else { return };
        let text = line(progress, style);
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
        self.drawn = Some(Instant::now());
        self.shown = true;
    }

    /// Removes it, so that something else can be written.
    pub fn clear(&mut self) {
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
pub struct RunProgress {
    line: ProgressLine,
    programs: Vec<String>,
    adaptive: bool,
    total: u64,
    done: u64,
    failures: u64,
    /// Elapsed times of the samples so far, by program: count, mean, sum of squared differences (Welford).
    seen: Vec<(f64, f64, f64)>,
    /// What comes after the plan, ns.
    after: f64,
}

impl RunProgress {
    /// Something else follows, which takes so long.
    pub fn then(mut self, after: Nanos) -> RunProgress {
        self.after = after.as_f64();
        self
    }

    /// For a plan.
    pub fn new(show: &Show, plan: &Plan) -> RunProgress {
        let per_program = u64::from(plan.warmup) + u64::from(plan.max_runs());
        RunProgress {
            line: ProgressLine::new(show),
            programs: plan.programs.iter().map(|p| p.label.clone()).collect(),
            adaptive: matches!(plan.runs, RunCount::Adaptive { .. }),
            total: per_program * plan.programs.len() as u64,
            done: 0,
            failures: 0,
            seen: vec![(0.0, 0.0, 0.0); plan.programs.len()],
            after: 0.0,
        }
    }

    /// Takes note of an event.
    pub fn on(&mut self, _run: &Run, event: &Event<'_>) {
        match event {
            Event::Starting { slot } => self.draw(slot.series as usize, slot.phase == Phase::Warmup),
            Event::Done { sample } => {
                self.done += 1;
                self.failures += u64::from(!sample.outcome.success());
                if let Some((n, mean, m2)) = self.seen.get_mut(sample.series as usize) {
                    let x = sample.elapsed().as_f64();
                    *n += 1.0;
                    let d = x - *mean;
                    *mean += d / *n;
                    *m2 += d * (x - *mean);
                }
            }
            Event::Warning(text) => {
                self.line.clear();
                eprintln!("tare: warning: {}", tarebench::render::kit::text::escape(text));
            }
        }
    }

    fn draw(&mut self, series: usize, warmup: bool) {
        if !self.line.due() {
            return;
        }
        let Some((n, mean, m2)) = self.seen.get(series).copied() else { return };
        // The time left: what is to be done, at each program's own mean.
        let known: Vec<f64> = self.seen.iter().filter(|s| s.0 > 0.0).map(|s| s.1).collect();
        let per_sample = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let left = (!known.is_empty()).then(|| per_sample * self.total.saturating_sub(self.done) as f64 + self.after);
        let label = self.programs.get(series).map_or("", String::as_str);
        let next = if warmup { format!("warm-up of {label}") } else { label.to_owned() };
        self.line.draw(&Progress {
            id: None,
            done: Some(Done::Count { done: self.done, total: self.total, adaptive: self.adaptive }),
            estimate: (n > 0.0).then(|| (mean, (n > 1.0).then(|| (m2 / (n - 1.0)).sqrt()))),
            failures: self.failures,
            remaining: left,
            next: &next,
        });
    }
}
