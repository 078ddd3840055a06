//! The studies of CS:APP chapter 9: what each measures, cell by cell, and what a cell is observed to be. The tables are computed from
//! these by [`crate::data::report`].

use crate::data::about::StudyAbout;
use serde::{Deserialize, Serialize};
use tarebench_core::kbest::timing::Timing;
use tarebench_core::statistics::fit::LineFit;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// Figure 9.8: CPU time counted at timer interrupts, against exact time.
    IntervalCounting,
    /// Figures 9.14 to 9.19 and 9.22: the error of K-best by length, load, K, compensation and clock.
    Kbest,
    /// Figures 9.11 to 9.13: long and short procedures under load; two equal procedures with cold and warm caches.
    Caching,
}

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudyPreset {
    /// Some minutes: shorter lengths, few repetitions.
    Minutes,
    Hour,
    /// The paper's lengths and loads, thirty repetitions: an hour and more.
    Paper,
}

/// One thing to measure. The order of cells mixes what is compared, so that a drift of the machine affects all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cell", rename_all = "snake_case")]
pub enum StudyCell {
    /// K-best of a computation of about this many ns.
    Kbest {
        /// Active processes on the CPU, the measured one included.
        load: u32,
        /// Wanted length, ns.
        length: f64,
    },
    /// CPU time of a computation of about this many ns, counted in several ways.
    Interval {
        load: u32,
        /// Wanted length, ns.
        length: f64,
    },
    /// Executions of a procedure in a row.
    Procedure {
        load: u32,
        /// Wanted length, ns.
        length: f64,
    },
    /// The book's sequence of six calls of two equal procedures.
    Equal,
}

/// What was observed in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPart {
    pub cell: StudyCell,
    /// Round of the cells, from 0.
    pub round: u32,
    /// What came of it.
    pub seen: CellData,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum CellData {
    /// Of [`StudyCell::Kbest`].
    Kbest {
        /// Line through short measurements of the same second, ns over repetitions.
        line: LineFit,
        /// Repetitions of the computation.
        repetitions: u64,
        /// The trials, with a timing for each clock.
        timings: Vec<Timing>,
    },
    /// Of [`StudyCell::Interval`].
    Interval {
        line: LineFit,
        repetitions: u64,
        /// User time of the CPU, counted at timer interrupts (`/proc/stat`), ns.
        ticks: Option<u64>,
        /// times(2), user and system, ns.
        times: u64,
        /// getrusage(2), user and system, ns.
        rusage: u64,
        /// CLOCK_PROCESS_CPUTIME_ID, ns.
        cpu: u64,
    },
    /// Of [`StudyCell::Procedure`]: time of each execution, ns.
    Procedure { elapsed: Vec<f64> },
    /// Of [`StudyCell::Equal`]: ns of procA(b1), procA(b2), procA(b3), procA(b1), procB(b1), procB(b2), for each sequence.
    Equal { calls: Vec<[f64; 6]> },
}

/// A study, as it is stored; its parts are stored one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPlan {
    pub study: Study,
    /// How much of it.
    pub preset: StudyPreset,
    pub cpu: u32,
    /// Rounds of all cells, from 1.
    pub rounds: u32,
    /// Active processes on the CPU, the measured one included: each of these.
    pub loads: Vec<u32>,
    /// Lengths up to this one, ns.
    pub longest: f64,
}

/// The book's loads.
pub const LOADS: [u32; 4] = [1, 2, 4, 11];
/// Trials at most: the book's M, and what a machine that changes its speed needs.
pub const M: u32 = 30;
pub const PATIENT: u32 = 200;
/// Largest K that is examined.
pub const MOST_K: u32 = 5;

impl Study {
    /// All of them, in the order of the book.
    pub const ALL: [Study; 3] = [Study::IntervalCounting, Study::Caching, Study::Kbest];

    pub fn name(self) -> &'static str {
        match self {
            Study::IntervalCounting => "interval-counting",
            Study::Kbest => "kbest",
            Study::Caching => "caching",
        }
    }
}

impl StudyCell {
    /// About how long it takes to measure, s, before anything was measured: with the book's 30 trials by each clock. A machine whose
    /// speed changes may need three times as many. With other processes on the CPU, everything takes as many times as long.
    pub fn expected_seconds(self) -> f64 {
        // One measurement of each of 1 to 10 repetitions of 10 µs, with a repetition before each: the line is fitted to these.
        const SHORT: f64 = 650e3;
        // By three clocks, M trials each.
        const TRIALS: f64 = 3.0 * M as f64;
        // 18 executions of a procedure, and those that find the size of its array.
        const EXECUTIONS: f64 = 28.0;
        let (load, ns) = match self {
            StudyCell::Kbest { load, length } => (load, TRIALS * (length + SHORT) + 40.0 * SHORT),
            StudyCell::Interval { load, length } => (load, length + 100.0 * SHORT),
            StudyCell::Procedure { load, length } => (load, EXECUTIONS * length),
            // 200 sequences of six calls, with caches emptied.
            StudyCell::Equal => (1, 10e6),
        };
        f64::from(load) * ns / 1e9
    }
}

impl StudyPreset {
    /// All of them, the shortest first.
    pub const ALL: [StudyPreset; 3] = [StudyPreset::Minutes, StudyPreset::Hour, StudyPreset::Paper];

    pub fn name(self) -> &'static str {
        match self {
            StudyPreset::Minutes => "minutes",
            StudyPreset::Hour => "hour",
            StudyPreset::Paper => "paper",
        }
    }
}

impl StudyPlan {
    /// As the preset has it.
    pub fn new(study: Study, preset: StudyPreset, cpu: u32) -> StudyPlan {
        let (rounds, longest) = match (preset, study) {
            (StudyPreset::Minutes, Study::Kbest) => (5, 10e6),
            (StudyPreset::Minutes, Study::IntervalCounting) => (3, 200e6),
            (StudyPreset::Minutes, Study::Caching) => (2, f64::MAX),
            (StudyPreset::Hour, Study::Kbest) => (15, f64::MAX),
            // The book's lengths end before an hour is over.
            (StudyPreset::Hour | StudyPreset::Paper, Study::Caching) => (10, f64::MAX),
            (StudyPreset::Hour | StudyPreset::Paper, _) => (30, f64::MAX),
        };
        let loads = match study {
            Study::Kbest => LOADS.to_vec(),
            Study::IntervalCounting => vec![1, 11],
            Study::Caching => vec![1, 4],
        };
        StudyPlan { study, preset, cpu, rounds, loads, longest }
    }

    /// The cells of one round, in their order.
    pub fn cells(&self) -> Vec<StudyCell> {
        let grid = |lengths: &[f64], cell: fn(u32, f64) -> StudyCell| {
            let lengths = lengths.iter().filter(|l| **l <= self.longest);
            let across = |length: &f64| self.loads.iter().map(|load| cell(*load, *length)).collect::<Vec<_>>();
            lengths.flat_map(across).collect::<Vec<_>>()
        };
        match self.study {
            Study::Kbest => {
                let lengths = [10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 10e6, 20e6, 50e6];
                grid(&lengths, |load, length| StudyCell::Kbest { load, length })
            }
            Study::IntervalCounting => {
                let lengths = [5e6, 10e6, 20e6, 50e6, 100e6, 200e6, 500e6, 1e9];
                grid(&lengths, |load, length| StudyCell::Interval { load, length })
            }
            Study::Caching => {
                let mut cells = grid(&[36e6, 8e6], |load, length| StudyCell::Procedure { load, length });
                cells.push(StudyCell::Equal);
                cells
            }
        }
    }

    /// The part that is measured as the n-th, from 0: its cell and round. `None` after the last.
    pub fn part(&self, n: usize) -> Option<(StudyCell, u32)> {
        let cells = self.cells();
        let round = u32::try_from(n.checked_div(cells.len())?).ok().filter(|r| *r < self.rounds)?;
        Some((*cells.get(n % cells.len())?, round))
    }

    /// How many there are.
    pub fn parts(&self) -> usize {
        self.cells().len() * self.rounds as usize
    }

    /// About how long all of them take, s.
    pub fn expected_seconds(&self) -> f64 {
        let round: f64 = self.cells().into_iter().map(StudyCell::expected_seconds).sum();
        round * f64::from(self.rounds)
    }
}

impl Study {
    pub fn about(self) -> StudyAbout {
        let words = |shows, question| StudyAbout { paper: "CS:APP", shows, question };
        match self {
            Study::IntervalCounting => {
                words("figure 9.8", "How wrong are CPU times that are counted at timer interrupts?")
            }
            Study::Caching => {
                words("figures 9.11 to 9.13", "What do other processes and cold caches cost a procedure?")
            }
            Study::Kbest => words(
                "figures 9.14 to 9.19, 9.22",
                "How wrong is the K-best scheme by length, load, K, compensation and clock?",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_it() {
        let mut plan = StudyPlan::new(Study::Kbest, StudyPreset::Minutes, 0);
        assert_eq!(plan.cells().len(), 40);
        (plan.rounds, plan.loads, plan.longest) = (2, vec![3], 20e3);
        let cell = |length| StudyCell::Kbest { load: 3, length };
        let all: Vec<_> = (0..).map_while(|n| plan.part(n)).collect();
        assert_eq!(all, [(cell(10e3), 0), (cell(20e3), 0), (cell(10e3), 1), (cell(20e3), 1)]);
        plan.longest = 1.0;
        assert_eq!((plan.parts(), plan.part(0)), (0, None));
    }

    #[test]
    fn the_presets_take_as_long_as_they_are_named_after() {
        let seconds = |study, preset| StudyPlan::new(study, preset, 0).expected_seconds();
        for study in Study::ALL {
            assert!((5.0..400.0).contains(&seconds(study, StudyPreset::Minutes)), "{study:?}");
            assert!((30.0..4_000.0).contains(&seconds(study, StudyPreset::Hour)), "{study:?}");
            assert!(seconds(study, StudyPreset::Paper) >= seconds(study, StudyPreset::Hour), "{study:?}");
        }
        let kbest = [StudyPreset::Minutes, StudyPreset::Hour].map(|preset| seconds(Study::Kbest, preset));
        assert!(kbest[0] > 120.0 && kbest[1] > 1_800.0, "{kbest:?}");
        // A computation of 50 ms beside ten others: about a minute.
        let long = StudyCell::Kbest { load: 11, length: 50e6 }.expected_seconds();
        assert!((45.0..60.0).contains(&long), "{long}");
    }

    #[test]
    fn every_cell_in_every_round() {
        for study in [Study::IntervalCounting, Study::Kbest, Study::Caching] {
            for preset in StudyPreset::ALL {
                let plan = StudyPlan::new(study, preset, 0);
                let all: Vec<_> = (0..).map_while(|n| plan.part(n)).collect();
                assert_eq!(all.len(), plan.parts());
                for cell in plan.cells() {
                    assert_eq!(all.iter().filter(|(c, _)| *c == cell).count(), plan.rounds as usize);
                }
                assert!(plan.parts() < 2000);
            }
        }
    }
}
