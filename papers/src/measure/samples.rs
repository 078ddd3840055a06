//! The studies of samples on this machine: run by run, each an ordinary stored run, whose samples are copied into the study when it is
//! complete. A run that was begun is found again by its tags, so that a study can be resumed after a kill or a reboot.

use crate::data::samples::{SampleStudyReport, report};
use crate::data::series::{SampleStudyPlan, StudyGap, StudyLeftOut, StudyRunPart, StudyRunPlan, StudyWork};
use crate::measure::error::{ImportedStudy, StudyError};
use crate::measure::planned::{StudyTools, run_plan, tags};
use crate::measure::run::finish_document;
use crate::measure::setting;
use crate::measure::setting::{Condition, StudyMachine};
use crate::measure::time_left::StudyTimeLeft;
use std::collections::BTreeMap;
use tarebench::documents;
use tarebench::documents::{DocumentError, MeasureOptions, Stopped};
use tarebench::event::{Event, Watch};
use tarebench::run::session;
use tarebench::run::session::{ImportTrust, RunEvent, RunOptions, StopReason, StorePlace};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_host::state::TuneError;
use tarebench_store::{DocumentFilter, DocumentPart, SqliteStore, Store, StoredDocument, content};
use tarebench_sys::signals::Signals;

/// Most runs, programs of a run, and samples of a program: what a study of another machine's store may ask for.
const MOST_RUNS: usize = 10_000;
const MOST_PROGRAMS: usize = 10_000;
const MOST_SAMPLES: u32 = 10_000_000;

/// A stored study of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleStudied {
    pub head: DocumentHead,
    /// What was asked for.
    pub plan: SampleStudyPlan,
    /// What is there of it.
    pub parts: Vec<StudyRunPart>,
    /// Runs that this machine could not be brought into the condition of.
    pub left_out: Vec<StudyLeftOut>,
}

impl SampleStudied {
    /// What it comes to.
    ///
    /// # Errors
    /// [`StudyGap`] if the samples do not answer its question.
    pub fn report(&self) -> Result<SampleStudyReport, StudyGap> {
        report(self.plan.sample_study, &self.parts)
    }

    /// Whether an execution failed.
    pub fn has_failures(&self) -> bool {
        self.parts.iter().any(|p| p.samples.iter().any(|s| !p.ignore_failure.accepts(&s.outcome)))
    }
}

/// How to measure, beyond the plan.
pub struct SampleStudyOptions<'a> {
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
    /// What its programs are started with.
    pub tools: StudyTools,
    /// How the machine is brought into the condition of a run.
    pub machine: StudyMachine<'a>,
}

/// Result of a session.
#[derive(Debug)]
pub struct MeasuredSamples {
    /// The study, including the runs of earlier sessions.
    pub study: SampleStudied,
    pub stopped: Stopped,
}

/// Measures what the plan says. Without a store all is held in memory, and only returned.
///
/// # Errors
/// [`StudyError`]; what was measured is kept.
pub fn measure(
    plan: &SampleStudyPlan,
    place: &mut StorePlace,
    options: &SampleStudyOptions<'_>,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredSamples, StudyError> {
    if place.store().is_none() {
        let mut memory = StorePlace::Store(Box::new(SqliteStore::in_memory()?));
        let mut measured = begin(plan, &mut memory, false, options, signals, watch)?;
        measured.study.head.number = 0;
        measured.study.parts.iter_mut().for_each(|p| p.head.number = 0);
        return Ok(measured);
    }
    begin(plan, place, true, options, signals, watch)
}

fn need_store(place: &mut StorePlace, id: Id) -> Result<&mut dyn Store, StudyError> {
    Ok(place.store().ok_or(DocumentError::NoStore(id))?)
}

fn begin(
    plan: &SampleStudyPlan,
    place: &mut StorePlace,
    kept: bool,
    options: &SampleStudyOptions<'_>,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredSamples, StudyError> {
    let store = need_store(place, Id { kind: DocumentKind::Study, number: 0 })?;
    let title = format!("{} ({})", plan.sample_study.name(), plan.preset.name());
    let tags = MeasureOptions { tags: options.tags.clone() };
    let (id, claim) = documents::begin(store, DocumentKind::Study, &title, plan, &tags)?;
    let uuid = store.document(id)?.head.uuid;
    let shown = if kept { id } else { Id { number: 0, ..id } };
    let session = StudySession { id, shown, uuid: &uuid, plan, options, signals };
    let stopped = session.measure(&StoredParts::default(), place, watch);
    finished(place, id, &claim, stopped)
}

/// Resumes a study where it ended.
///
/// # Errors
/// [`StudyError`]; also if it is finished, of another machine, or another process measures it; [`StudyError::Imported`].
pub fn resume(
    id: Id,
    place: &mut StorePlace,
    options: &SampleStudyOptions<'_>,
    trust: ImportTrust,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredSamples, StudyError> {
    let store = need_store(place, id)?;
    if let (ImportTrust::Refuse, Some(imported)) = (trust, imported_study(store, id, &options.tools)?) {
        return Err(StudyError::Imported(Box::new(imported)));
    }
    let (document, claim) = documents::claim_for_resume(store, id)?;
    let uuid = document.head.uuid.clone();
    let stopped = match read(id, document) {
        Ok(study) if study.plan.runs.is_empty() => {
            let cause = "copying the stored runs was interrupted; compute it again with --from".to_owned();
            Err(DocumentError::Content { id, cause }.into())
        }
        Ok(study) => {
            let there = StoredParts { parts: study.parts, left_out: study.left_out };
            let session = StudySession { id, shown: id, uuid: &uuid, plan: &study.plan, options, signals };
            session.measure(&there, place, watch)
        }
        Err(e) => Err(e),
    };
    finished(place, id, &claim, stopped)
}

fn finished(
    place: &mut StorePlace,
    id: Id,
    claim: &tarebench_store::Claimant,
    done: Result<Stopped, StudyError>,
) -> Result<MeasuredSamples, StudyError> {
    let store = need_store(place, id)?;
    let stopped = finish_document(store, id, claim, done)?;
    Ok(MeasuredSamples { study: load(store, id)?, stopped })
}

/// What resuming a study would run, if it was imported; nothing if it was begun here, or is finished.
///
/// # Errors
/// Those of the store; if the study is damaged.
pub fn imported_study(store: &dyn Store, id: Id, tools: &StudyTools) -> Result<Option<ImportedStudy>, StudyError> {
    let Some(imported) = store.imported(id)? else { return Ok(None) };
    let study = load(store, id)?;
    if study.head.status == Status::Finished {
        return Ok(None);
    }
    let missing = study.plan.runs.iter().enumerate().skip(study.parts.len() + study.left_out.len());
    let plans = missing.map(|(i, planned)| run_plan(&study.plan, &study.head.uuid, i, planned, tools)).collect();
    Ok(Some(ImportedStudy { study: id, imported, plans }))
}

/// What a study has so far.
#[derive(Default)]
struct StoredParts {
    parts: Vec<StudyRunPart>,
    left_out: Vec<StudyLeftOut>,
}

/// What the runs of a study share.
struct StudySession<'a> {
    id: Id,
    /// With number 0 if it is not kept.
    shown: Id,
    uuid: &'a str,
    plan: &'a SampleStudyPlan,
    options: &'a SampleStudyOptions<'a>,
    signals: &'a Signals,
}

impl StudySession<'_> {
    fn measure(&self, there: &StoredParts, place: &mut StorePlace, watch: Watch<'_>) -> Result<Stopped, StudyError> {
        let mut time = StudyTimeLeft::new(&self.plan.runs);
        let done = there.parts.len() + there.left_out.len();
        for run in 0..done {
            time.skipped(run);
        }
        for part in &there.parts {
            // By its condition: parts have no number of their own.
            let run = self.plan.runs.iter().position(|r| r.condition == part.condition && r.programs == part.programs);
            run.into_iter().for_each(|run| time.stored(run, part));
        }
        for (index, planned) in self.plan.runs.iter().enumerate().skip(done) {
            if let Some(signal) = self.signals.caught() {
                return Ok(Stopped::Interrupted(signal));
            }
            match self.under_its_condition(index, planned, place, &mut time, watch)? {
                Stopped::Finished => {}
                interrupted => return Ok(interrupted),
            }
        }
        Ok(Stopped::Finished)
    }

    /// Measures a run and stores its part; restores the machine before anything else, whatever happened.
    fn under_its_condition(
        &self,
        index: usize,
        planned: &StudyRunPlan,
        place: &mut StorePlace,
        time: &mut StudyTimeLeft,
        watch: Watch<'_>,
    ) -> Result<Stopped, StudyError> {
        let begun = self.begun(need_store(place, self.id)?, index, planned)?;
        // Nothing of a complete run is measured again.
        let brought = match begun.as_ref().is_some_and(|run| run.status == Status::Finished) {
            true => Ok(Condition::AsItIs),
            false => setting::bring_about(&self.options.machine, planned, self.signals),
        };
        let condition = match brought {
            Err(StudyError::Tune(TuneError::Interrupted { .. })) => {
                return Ok(Stopped::Interrupted(self.signals.caught().unwrap_or_default()));
            }
            other => other?,
        };
        if let Condition::Impossible(why) = condition {
            // Its samples are not given up: a session with the rights can resume it.
            if begun.is_some() {
                return Err(StudyError::Stopped(why));
            }
            time.skipped(index);
            let left = StudyLeftOut { condition: planned.condition.clone(), left_out: why };
            let part = DocumentPart { doc: content(&left)?, blob: None };
            need_store(place, self.id)?.append_part(self.id, &part)?;
            return Ok(Stopped::Finished);
        }
        let notes = condition.notes();
        let measured = self.run(index, planned, notes, place, time, watch);
        let restored = setting::restore(condition);
        let (run, why) = match (measured, restored) {
            (Ok(done), Ok(())) => done,
            // That the machine stays changed comes first.
            (_, Err(e)) | (Err(e), Ok(())) => return Err(e),
        };
        match why {
            StopReason::Interrupted(signal) => return Ok(Stopped::Interrupted(signal)),
            StopReason::NotKept(e) => return Err(StudyError::Stopped(format!("a sample could not be stored: {e}"))),
            StopReason::Failed(e) => return Err(StudyError::Stopped(e.to_string())),
            StopReason::Finished => {}
        }
        let store = need_store(place, self.id)?;
        let part = StudyRunPart {
            condition: planned.condition.clone(),
            programs: planned.programs.clone(),
            head: run.head(),
            samples: store.samples(run.id)?,
            cutoffs: cutoffs(store, run.id)?,
            ignore_failure: run.plan.ignore_failure.clone(),
        };
        store.append_part(self.id, &DocumentPart { doc: content(&part)?, blob: None })?;
        // A program that failed has no further executions.
        time.skipped(index);
        Ok(Stopped::Finished)
    }

    /// The run, measured, resumed, or found complete.
    fn run(
        &self,
        index: usize,
        planned: &StudyRunPlan,
        notes: Vec<Note>,
        place: &mut StorePlace,
        time: &mut StudyTimeLeft,
        watch: Watch<'_>,
    ) -> Result<(Run, StopReason), StudyError> {
        let store = need_store(place, self.id)?;
        let begun = self.begun(store, index, planned)?;
        if let Some(run) = &begun {
            store.each_sample(run.id, &mut |sample| time.executed(index, &sample))?;
        }
        let shown = self.shown;
        let mut on = |event: Event<'_>| match event {
            Event::Run(run, RunEvent::Warning(text)) => watch(Event::Run(run, RunEvent::Warning(text))),
            Event::Run(_, RunEvent::Done { sample }) => time.executed(index, sample),
            Event::Run(_, RunEvent::Starting { .. }) => {
                if let Some(step) = time.step() {
                    watch(Event::Step(Some(shown), step));
                }
            }
            Event::Run(..) => {}
            other => watch(other),
        };
        let measured = match begun {
            Some(run) if run.status == Status::Finished => return Ok((run, StopReason::Finished)),
            // Only runs that were begun here are found.
            Some(run) => session::resume(run.id, place, ImportTrust::Refuse, self.signals, &mut on)?,
            None => {
                let plan = run_plan(self.plan, self.uuid, index, planned, &self.options.tools);
                session::measure(plan, place, RunOptions { notes, ..RunOptions::default() }, self.signals, &mut on)?
            }
        };
        Ok((measured.run, measured.why))
    }

    /// A run of an earlier session that holds a part of this study. An imported one may be anything.
    fn begun(&self, store: &dyn Store, index: usize, planned: &StudyRunPlan) -> Result<Option<Run>, StudyError> {
        for summary in store
            .list(&DocumentFilter { tags: tags(self.uuid, index), ..DocumentFilter::of_kind(DocumentKind::Run) })?
        {
            if summary.imported.is_some() {
                continue;
            }
            let run = store.run(summary.head.number)?;
            if run.plan.programs.len() == planned.programs.len() {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}

/// The cutoffs of the profile that applies to a run.
pub(crate) fn cutoffs(store: &dyn Store, run: i64) -> Result<Vec<Cutoff>, StudyError> {
    Ok(session::load(store, run)?.profile.map(|p| p.cutoffs).unwrap_or_default())
}

/// A stored study, finished or not.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<SampleStudied, StudyError> {
    read(id, documents::of_kind(store, id, DocumentKind::Study)?)
}

fn read(id: Id, document: StoredDocument) -> Result<SampleStudied, StudyError> {
    let bad = |cause: String| StudyError::from(DocumentError::Content { id, cause });
    let plan: SampleStudyPlan = serde_json::from_value(document.doc).map_err(|e| bad(e.to_string()))?;
    check(&plan).map_err(bad)?;
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for part in document.parts {
        if part.doc.get("left_out").is_some() {
            left_out.push(serde_json::from_value(part.doc).map_err(|e| bad(e.to_string()))?);
        } else {
            parts.push(serde_json::from_value(part.doc).map_err(|e| bad(e.to_string()))?);
        }
    }
    Ok(SampleStudied { head: document.head, plan, parts, left_out })
}

/// Refuses what resuming could not measure, or not in any time.
fn check(plan: &SampleStudyPlan) -> Result<(), String> {
    let many = plan.runs.len() > MOST_RUNS
        || plan
            .runs
            .iter()
            .any(|r| r.programs.len() > MOST_PROGRAMS || r.samples > MOST_SAMPLES || r.warmup > MOST_SAMPLES);
    if many {
        return Err(format!(
            "expected at most {MOST_RUNS} runs of {MOST_PROGRAMS} programs with {MOST_SAMPLES} samples each"
        ));
    }
    let works = plan.runs.iter().flat_map(|r| &r.programs).map(|p| &p.work);
    for work in works {
        match work {
            StudyWork::Inc { seconds } | StudyWork::Halves { seconds }
                if !tarebench::inc::calibration::LENGTHS.contains(seconds) =>
            {
                return Err(format!("task length {seconds} s, expected 0.001 to 16384 s"));
            }
            StudyWork::Work { name, .. } if !["sort", "matc", "matr"].contains(&name.as_str()) => {
                return Err(format!("there is no work {name:?}, expected sort, matc or matr"));
            }
            StudyWork::Stored => return Err("a program of a stored run cannot be measured".to_owned()),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::StudyPreset;
    use crate::data::series::{SampleStudy, StudyProgram};

    fn plan(work: StudyWork, samples: u32) -> SampleStudyPlan {
        let programs = vec![StudyProgram { label: "p".to_owned(), work, size: None }];
        let run = StudyRunPlan { condition: String::new(), setting: None, programs, samples, warmup: 1 };
        SampleStudyPlan {
            sample_study: SampleStudy::EtPt,
            preset: StudyPreset::Minutes,
            cpus: Vec::new(),
            seed: 1,
            runs: vec![run],
        }
    }

    #[test]
    fn a_stored_study_asks_for_limited_work() {
        let inc = |seconds| StudyWork::Inc { seconds };
        let named = |name: &str| StudyWork::Work { name: name.to_owned(), size: 5 };
        assert_eq!(check(&plan(inc(1.0), 100)), Ok(()));
        assert_eq!(check(&plan(named("sort"), 100)), Ok(()));
        for (bad, says) in [
            (plan(inc(1.0), u32::MAX), "expected at most"),
            (plan(inc(1e9), 1), "expected 0.001 to 16384"),
            (plan(inc(f64::NAN), 1), "expected 0.001 to 16384"),
            (plan(named("rm"), 1), "expected sort"),
            (plan(StudyWork::Stored, 1), "cannot be measured"),
        ] {
            let said = check(&bad).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn runs_that_were_left_out_are_kept_beside_the_others() {
        let mut store = SqliteStore::in_memory().unwrap();
        let asked = plan(StudyWork::Inc { seconds: 1.0 }, 3);
        let (id, claim) =
            documents::begin(&mut store, DocumentKind::Study, "ntp (minutes)", &asked, &MeasureOptions::default())
                .unwrap();
        let left = StudyLeftOut { condition: "off".to_owned(), left_out: "there is no control".to_owned() };
        store.append_part(id, &DocumentPart { doc: content(&left).unwrap(), blob: None }).unwrap();
        documents::end(&mut store, id, Status::Interrupted, &claim).unwrap();
        let there = load(&store, id).unwrap();
        assert_eq!((there.plan.clone(), there.left_out.clone(), there.parts.len()), (asked, vec![left], 0));
        assert_eq!(there.report(), Err(StudyGap::NoSamples));
        assert!(crate::measure::run::load(&store, id).is_err());
    }
}
