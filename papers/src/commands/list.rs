//! The list of all studies.

use crate::data::cells::{Study, StudyPlan, StudyPreset};
use crate::data::samples::{PlannedTime, plan, planned_time};
use crate::data::series::{SampleStudy, StudyProgram};
use crate::measure::suite_file;
use crate::sheets::list::{ListedStudy, list, list_json};
use tarebench_cli::args::style::PlainStyleArgs;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::output::print;

/// Prints paper, question and time of each study.
pub fn print_list(json: bool, style: &PlainStyleArgs) -> Result<Exit, Failure> {
    let show = style.show()?;
    // Installed or not.
    let suite = suite_file::open_suite().map_err(Failure::system)?;
    let suite: Vec<StudyProgram> = suite.programs.into_iter().map(|p| p.program).collect();
    let of_samples = SampleStudy::all().map(|study| ListedStudy {
        name: study.name(),
        about: study.entry().about,
        times: StudyPreset::ALL
            .into_iter()
            .map(|preset| (preset, planned_time(&plan(study, preset, &suite))))
            .collect(),
    });
    let of_cells = Study::ALL.into_iter().map(|study| ListedStudy {
        name: study.name(),
        about: study.about(),
        times: StudyPreset::ALL.into_iter().map(|preset| (preset, cells_time(study, preset))).collect(),
    });
    let all: Vec<ListedStudy> = of_samples.chain(of_cells).collect();
    if json {
        print(&list_json(&all).map_err(Failure::system)?);
    } else if !show.is_quiet() {
        print(&list(&all, &show.style));
        print("\nmeasure one with: tare study NAME; compute one from stored runs with: tare study NAME --from RUN\n");
    }
    Ok(Exit::Done)
}

/// Time of a study of CS:APP, whichever the CPU is. A cell is measured once a round.
fn cells_time(study: Study, preset: StudyPreset) -> PlannedTime {
    let plan = StudyPlan::new(study, preset, 0);
    PlannedTime { seconds: plan.expected_seconds(), executions: plan.parts() as u64, unknown: 0 }
}
