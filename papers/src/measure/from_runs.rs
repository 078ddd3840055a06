//! Studies of samples from runs that are stored already, whatever they were made for.

use crate::data::cells::StudyPreset;
use crate::data::samples::report;
use crate::data::series::{SampleStudy, SampleStudyPlan, StudyProgram, StudyRunPart, StudyWork};
use crate::measure::error::StudyError;
use crate::measure::samples::{SampleStudied, cutoffs, load};
use std::collections::BTreeMap;
use tarebench::documents;
use tarebench::documents::{DocumentError, MeasureOptions};
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::machine::data::Factor;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Command, Program};
use tarebench_store::{DocumentPart, Store, content};

/// The tag of a run that names its condition in studies.
pub const CONDITION_TAG: &str = "condition";

/// What a study takes samples from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudySource {
    /// A run, or a study of samples, all of whose runs are taken.
    pub stored: Id,
    /// What its samples have in common and those of others don't; `None`: the run's tag, or its machine's factors.
    pub condition: Option<String>,
}

/// Makes a study of stored runs and stores it, finished.
///
/// # Errors
/// [`StudyError::Gap`] if the samples do not answer its question, and those of the store; then nothing is stored.
pub fn from_runs(
    store: &mut dyn Store,
    sources: &[StudySource],
    study: SampleStudy,
    tags: BTreeMap<String, String>,
) -> Result<SampleStudied, StudyError> {
    let mut parts = Vec::new();
    for source in sources {
        let first = parts.len();
        match source.stored {
            Id { kind: DocumentKind::Run, number: id } => parts.push(part_of_run(store, id, study)?),
            id if id.kind == DocumentKind::Study => parts.extend(load(store, id)?.parts),
            id => {
                let cause = format!("it is a {}, expected a run or a study of samples", id.kind.noun());
                return Err(DocumentError::Content { id, cause }.into());
            }
        }
        if let Some(condition) = &source.condition {
            parts.iter_mut().skip(first).for_each(|part: &mut StudyRunPart| part.condition.clone_from(condition));
        }
    }
    report(study, &parts).map_err(|gap| StudyError::Gap { study, gap })?;
    let id = keep(store, study, &parts, &MeasureOptions { tags })?;
    load(store, id)
}

fn keep(
    store: &mut dyn Store,
    study: SampleStudy,
    parts: &[StudyRunPart],
    options: &MeasureOptions,
) -> Result<Id, StudyError> {
    // It has no preset of its own; nothing of it is measured.
    let plan = SampleStudyPlan {
        sample_study: study,
        preset: StudyPreset::Minutes,
        cpus: Vec::new(),
        seed: 1,
        runs: Vec::new(),
    };
    let title = match parts.len() {
        1 => format!("{} (of a stored run)", study.name()),
        n => format!("{} (of {n} stored runs)", study.name()),
    };
    let (id, claim) = documents::begin(store, DocumentKind::Study, &title, &plan, options)?;
    for part in parts {
        store.append_part(id, &DocumentPart { doc: content(part)?, blob: None })?;
    }
    documents::end(store, id, Status::Finished, &claim)?;
    Ok(id)
}

fn part_of_run(store: &dyn Store, id: i64, study: SampleStudy) -> Result<StudyRunPart, StudyError> {
    let run = store.run(id)?;
    Ok(StudyRunPart {
        condition: condition(&run, study),
        programs: run.plan.programs.iter().map(program).collect(),
        head: run.head(),
        samples: store.samples(id)?,
        cutoffs: cutoffs(store, id)?,
        ignore_failure: run.plan.ignore_failure.clone(),
    })
}

/// The condition of a run: its tag, else what the study compares, as the machine's factors say.
fn condition(run: &Run, study: SampleStudy) -> String {
    if let Some(named) = run.plan.tags.get(CONDITION_TAG) {
        return named.clone();
    }
    let value = |name: &str| {
        let factor = run.factors.iter().find(|f: &&Factor| f.name == name)?;
        factor.value.clone()
    };
    match study {
        SampleStudy::Ntp => match value("ntp") {
            Some(v) if v.starts_with("synchronised by ") => "NTP on".to_owned(),
            Some(v) if v == "not synchronised" => "NTP off".to_owned(),
            // Without a visible daemon the clock stays synchronised for hours; with one it may be about to be.
            _ => String::new(),
        },
        SampleStudy::ClockSpeed => {
            let known = ["turbo", "governor"].into_iter().filter_map(|name| Some(format!("{name} {}", value(name)?)));
            known.collect::<Vec<_>>().join(", ")
        }
        SampleStudy::Scaling => format!("Linux {}", run.host.kernel),
        _ => String::new(),
    }
}

fn program(program: &Program) -> StudyProgram {
    StudyProgram { label: program.label.clone(), work: StudyWork::Stored, size: size(program) }
}

/// The task length in s, or the size: the only parameter that is a number, or what tare's own programs are told to do.
fn size(program: &Program) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    let mut parameters = program.parameters.values().filter_map(|text| number(text));
    if let (Some(only), None) = (parameters.next(), parameters.next()) {
        return Some(only);
    }
    let named = ["INC", "SORT", "MATC", "MATR", "DUAL"].into_iter().find_map(|name| program.label.strip_prefix(name));
    if let Some(rest) = named.map(|rest| rest.trim().trim_start_matches("of ").trim_end_matches(" s"))
        && let Some(size) = number(rest)
    {
        return Some(size);
    }
    let words: Vec<String> = match &program.command {
        Command::Argv(words) => words.iter().map(ToString::to_string).collect(),
        Command::Shell { .. } => return None,
    };
    match words.as_slice() {
        [.., inc, seconds] if inc == "inc" => number(seconds),
        [.., inc, option, seconds] if inc == "inc" && ["-q", "--quiet", "--split"].contains(&option.as_str()) => {
            number(seconds)
        }
        [.., work, _, n] if work == "work" => number(n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::base::name::Name;

    fn named(label: &str, words: &[&str], parameters: &[(&str, &str)]) -> Program {
        Program {
            parameters: parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Program::new(label.to_owned(), Command::Argv(words.iter().map(|w| Name::from(*w)).collect()))
        }
    }

    #[test]
    fn sizes_are_parameters_or_those_of_our_programs() {
        assert_eq!(size(&named("x", &["prog", "5"], &[("n", "500")])), Some(500.0));
        assert_eq!(size(&named("x", &["prog"], &[("n", "500"), ("m", "3")])), None);
        assert_eq!(size(&named("x", &["prog"], &[("n", "500"), ("mode", "fast")])), Some(500.0));
        assert_eq!(size(&named("INC8", &["tare", "inc", "--count", "9"], &[])), Some(8.0));
        assert_eq!(size(&named("INC of 0.25 s", &["tare", "inc", "--quiet", "--count", "9"], &[])), Some(0.25));
        assert_eq!(size(&named("SORT 20000", &["tare", "work", "sort", "20000"], &[])), Some(20_000.0));
        assert_eq!(size(&named("tare inc 0.5", &["tare", "inc", "0.5"], &[])), Some(0.5));
        assert_eq!(size(&named("tare work matc 90", &["tare", "work", "matc", "90"], &[])), Some(90.0));
        assert_eq!(size(&named("gzip -9", &["gzip", "-9"], &[])), None);
    }
}
