//! How far a study is: executions over all its runs, and the time that is left.

use crate::data::series::{StudyRunPart, StudyRunPlan};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_core::sample::data::Sample;
use tarebench_sys::clock;

/// Shortest time between two reports: short samples follow each other without one.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// Executions of a program, in one run.
struct ProgramTime {
    left: u64,
    /// Elapsed so far: number and sum, ns.
    seen: (u64, f64),
    /// Before anything was seen, ns.
    planned: Option<f64>,
}

/// Counts the executions of a study.
pub(crate) struct StudyTimeLeft {
    runs: Vec<Vec<ProgramTime>>,
    done: u64,
    total: u64,
    reported: Option<Nanos>,
}

impl StudyTimeLeft {
    pub(crate) fn new(runs: &[StudyRunPlan]) -> StudyTimeLeft {
        let programs = |run: &StudyRunPlan| {
            let left = u64::from(run.samples) + u64::from(run.warmup);
            let time = run.programs.iter().map(|p| ProgramTime {
                left,
                seen: (0, 0.0),
                planned: p.work.expected_seconds().map(|s| s * 1e9),
            });
            time.collect::<Vec<_>>()
        };
        let runs: Vec<Vec<ProgramTime>> = runs.iter().map(programs).collect();
        let total = runs.iter().flatten().map(|p| p.left).sum();
        StudyTimeLeft { runs, done: 0, total, reported: None }
    }

    /// A run that is stored already.
    pub(crate) fn stored(&mut self, run: usize, part: &StudyRunPart) {
        part.samples.iter().for_each(|s| self.executed(run, s));
        self.skipped(run);
    }

    /// A run whose remaining executions do not take place.
    pub(crate) fn skipped(&mut self, run: usize) {
        for program in self.runs.get_mut(run).into_iter().flatten() {
            self.done += std::mem::take(&mut program.left);
        }
    }

    pub(crate) fn executed(&mut self, run: usize, sample: &Sample) {
        let Some(program) = self.runs.get_mut(run).and_then(|r| r.get_mut(sample.series as usize)) else { return };
        if program.left > 0 {
            program.left -= 1;
            self.done += 1;
        }
        program.seen = (program.seen.0 + 1, program.seen.1 + sample.elapsed().as_f64());
    }

    /// Time of the executions to come; `None` while nothing is known of some of them.
    fn left(&self) -> Option<Nanos> {
        let mut sum = 0.0;
        for (i, program) in self.runs.iter().flat_map(|run| run.iter().enumerate()) {
            if program.left == 0 {
                continue;
            }
            // The same place in another run is the same program under another condition.
            let elsewhere = || self.runs.iter().filter_map(|r| r.get(i)).find_map(ProgramTime::mean);
            sum += program.mean().or(program.planned).or_else(elsewhere)? * program.left as f64;
        }
        Some(Nanos(sum as i64))
    }

    /// The next step, unless one was reported just before.
    pub(crate) fn step(&mut self) -> Option<MeasuringStep> {
        let now = clock::monotonic();
        if self.reported.is_some_and(|then| now - then < INTERVAL) {
            return None;
        }
        self.reported = Some(now);
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Some(MeasuringStep::Cells { done: count(self.done), of: count(self.total), left: self.left() })
    }
}

impl ProgramTime {
    fn mean(&self) -> Option<f64> {
        (self.seen.0 > 0).then(|| self.seen.1 / self.seen.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::series::{StudyProgram, StudyWork};

    #[test]
    fn time_is_known_from_the_plan_or_not_at_all() {
        let run = |work| StudyRunPlan {
            condition: String::new(),
            setting: None,
            programs: vec![StudyProgram { label: String::new(), work, size: None }],
            samples: 9,
            warmup: 1,
        };
        let mut time =
            StudyTimeLeft::new(&[run(StudyWork::Inc { seconds: 2.0 }), run(StudyWork::Inc { seconds: 1.0 })]);
        assert_eq!(time.left(), Some(Nanos::from_millis(30_000)));
        time.skipped(0);
        let step = time.step();
        let left = Some(Nanos::from_millis(10_000));
        assert_eq!(step, Some(MeasuringStep::Cells { done: 10, of: 20, left }));
        // Not again within the interval.
        assert_eq!(time.step(), None);
        let shell = StudyWork::Shell { command: "true".to_owned(), setup: None, cleanup: None };
        assert_eq!(StudyTimeLeft::new(&[run(shell)]).left(), None);
    }
}
