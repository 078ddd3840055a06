//! A line of progress, drawn between samples only: nothing wakes tare while a program runs.

use crate::args::style::Show;
use std::io::Write;
use std::time::{Duration, Instant};
use tarebench::core::base::units::Nanos;
use tarebench::core::run::data::Run;
use tarebench::core::run::plan::{Plan, RunCount};
use tarebench::core::sample::data::Phase;
use tarebench::render::kit::style::Style;
use tarebench::render::run::progress::{Progress as Line, line};
use tarebench::run::session::Event;

/// Shortest time between two drawings; short samples follow each other without one.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of a run on standard error.
pub struct Progress {
    style: Option<Style>,
    programs: Vec<String>,
    adaptive: bool,
    total: u64,
    done: u64,
    failures: u64,
    /// Elapsed times of the samples so far, by program: count, mean, sum of squared differences (Welford).
    seen: Vec<(f64, f64, f64)>,
    drawn: Option<Instant>,
    shown: bool,
    /// Time of what follows the plan, ns.
    after: f64,
}

impl Progress {
    /// Adds the time of what follows the plan.
    pub fn then(mut self, after: Nanos) -> Progress {
        self.after = after.as_f64();
        self
    }

    pub fn new(show: &Show, plan: &Plan) -> Progress {
        let per_program = u64::from(plan.warmup) + u64::from(plan.max_runs());
        Progress {
            style: show.progress.then(|| show.progress_style.clone()),
            programs: plan.programs.iter().map(|p| p.label.clone()).collect(),
            adaptive: matches!(plan.runs, RunCount::Adaptive { .. }),
            total: per_program * plan.programs.len() as u64,
            done: 0,
            failures: 0,
            seen: vec![(0.0, 0.0, 0.0); plan.programs.len()],
            drawn: None,
            shown: false,
            after: 0.0,
        }
    }

    /// Updates the line with an event.
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
                self.clear();
                eprintln!("tare: warning: {}", tarebench::render::kit::text::escape(text));
            }
        }
    }

    fn draw(&mut self, series: usize, warmup: bool) {
        let Some(style) = &self.style else { return };
        if self.drawn.is_some_and(|d| d.elapsed() < INTERVAL) {
            return;
        }
        let Some((n, mean, m2)) = self.seen.get(series).copied() else { return };
        // The time to go: the remaining samples at the mean of each program.
        let known: Vec<f64> = self.seen.iter().filter(|s| s.0 > 0.0).map(|s| s.1).collect();
        let per_sample = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let left = (!known.is_empty()).then(|| per_sample * self.total.saturating_sub(self.done) as f64 + self.after);
        let label = self.programs.get(series).map_or("", String::as_str);
        let text = line(
            &Line {
                label,
                warmup,
                done: self.done,
                total: self.total,
                adaptive: self.adaptive,
                estimate: (n > 0.0).then(|| (mean, (n > 1.0).then(|| (m2 / (n - 1.0)).sqrt()))),
                remaining: left,
                failures: self.failures,
            },
            style,
        );
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
        self.drawn = Some(Instant::now());
        self.shown = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
