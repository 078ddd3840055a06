//! The runs that a study of samples measures, as plans of ordinary runs.

use crate::data::series::{SampleStudy, SampleStudyPlan, StudyProgram, StudyRunPlan, StudyWork};
use std::collections::BTreeMap;
use tarebench_core::base::name::Name;
use tarebench_core::run::plan::{Command, MetricPlan, Order, Program, RunCount, RunPlan, setups_differ};

/// The tag that finds the runs of a study again: its uuid.
pub const STUDY_TAG: &str = "study";
/// The tag of a run's place in the study, from 0.
pub const STUDY_RUN_TAG: &str = "study-run";

/// What the programs of a study are started with.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyTools {
    /// The words that start tare.
    pub tare: Vec<Name>,
    /// This machine's calibration of INC.
    pub increments_per_second: f64,
    /// Working folder of commands, absolute.
    pub cwd: Name,
}

/// What `tare inc --split` prints of its halves: process time, s.
const HALVES: [(&str, &str); 2] =
    [("first", r"half 1: .* process time ([0-9.]+) s"), ("second", r"half 2: .* process time ([0-9.]+) s")];

/// The tags of a run of a study.
pub fn tags(uuid: &str, index: usize) -> BTreeMap<String, String> {
    BTreeMap::from([(STUDY_TAG.to_owned(), uuid.to_owned()), (STUDY_RUN_TAG.to_owned(), index.to_string())])
}

/// The `index`-th run of the study of this uuid.
pub fn run_plan(
    study: &SampleStudyPlan,
    uuid: &str,
    index: usize,
    planned: &StudyRunPlan,
    tools: &StudyTools,
) -> RunPlan {
    let halves = planned.programs.iter().any(|p| matches!(p.work, StudyWork::Halves { .. }));
    let metric = |(name, pattern): (&str, &str)| MetricPlan { name: name.to_owned(), pattern: pattern.to_owned() };
    let programs: Vec<Program> = planned.programs.iter().map(|p| program(p, tools)).collect();
    // A setup may undo that of another program.
    let order = if setups_differ(&programs) { Order::Sequential } else { Order::Random };
    RunPlan {
        order,
        seed: study.seed.wrapping_add(index as u64),
        warmup: planned.warmup,
        runs: RunCount::Fixed(planned.samples),
        cpus: study.cpus.clone(),
        cwd: tools.cwd.clone(),
        // Only this study asks where the time went; tracing would disturb the others.
        account: study.sample_study == SampleStudy::Variance,
        tags: tags(uuid, index),
        metrics: if halves { HALVES.into_iter().map(metric).collect() } else { Vec::new() },
        ..RunPlan::of(programs)
    }
}

fn program(planned: &StudyProgram, tools: &StudyTools) -> Program {
    let (setup, cleanup) = match &planned.work {
        StudyWork::Shell { setup, cleanup, .. } => (setup.clone(), cleanup.clone()),
        _ => (None, None),
    };
    Program { setup, cleanup, ..Program::new(planned.label.clone(), command(&planned.work, tools)) }
}

fn command(work: &StudyWork, tools: &StudyTools) -> Command {
    let tare = |words: &[String]| {
        let own = words.iter().map(|w| Name::from(w.as_str()));
        Command::Argv(tools.tare.iter().cloned().chain(own).collect())
    };
    let count = |seconds: f64| ((tools.increments_per_second * seconds).round().max(1.0) as u64).to_string();
    match work {
        StudyWork::Inc { seconds } => {
            tare(&["inc".to_owned(), "--quiet".to_owned(), "--count".to_owned(), count(*seconds)])
        }
        StudyWork::Halves { seconds } => {
            tare(&["inc".to_owned(), "--split".to_owned(), "--count".to_owned(), count(*seconds)])
        }
        StudyWork::Work { name, size } => tare(&["work".to_owned(), name.clone(), size.to_string()]),
        StudyWork::Shell { command, .. } => {
            Command::Shell { shell: vec![Name::from("/bin/sh")], script: Name::from(command.as_str()) }
        }
        // Refused when a plan is read: nothing is known of it but its name.
        StudyWork::Stored => Command::Argv(vec![Name::from("false")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::StudyPreset;

    #[test]
    fn every_kind_of_work_has_its_words() {
        let program = |label: &str, work| StudyProgram { label: label.to_owned(), work, size: None };
        let planned = StudyRunPlan {
            condition: String::new(),
            setting: None,
            programs: vec![
                program("INC8", StudyWork::Inc { seconds: 8.0 }),
                program("DUAL2", StudyWork::Halves { seconds: 2.0 }),
                program("SORT 10", StudyWork::Work { name: "sort".to_owned(), size: 10 }),
                program(
                    "gzip",
                    StudyWork::Shell {
                        command: "gzip -k x".to_owned(),
                        setup: Some("touch x".to_owned()),
                        cleanup: None,
                    },
                ),
            ],
            samples: 3,
            warmup: 1,
        };
        let study = SampleStudyPlan {
            sample_study: SampleStudy::EtPt,
            preset: StudyPreset::Minutes,
            cpus: vec![1],
            seed: 5,
            runs: vec![planned.clone()],
        };
        let tools =
            StudyTools { tare: vec![Name::from("tare")], increments_per_second: 100.0, cwd: Name::from("/tmp") };
        let plan = run_plan(&study, "abc", 2, &planned, &tools);
        let words: Vec<String> = plan
            .programs
            .iter()
            .map(|p| p.command.words().iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "tare inc --quiet --count 800",
            "tare inc --split --count 200",
            "tare work sort 10",
            "/bin/sh -c gzip -k x",
        ];
        assert_eq!(words, expected);
        assert_eq!((plan.seed, plan.metrics.len(), plan.account), (7, 2, false));
        assert_eq!(plan.tags, tags("abc", 2));
        assert_eq!(plan.programs[3].setup.as_deref(), Some("touch x"));
        assert!(plan.check_order().is_ok());
    }
}
