//! Runs and programs in them, as the user names them.

use crate::compare::stored_error::StoredCompareError;
use std::collections::BTreeMap;
use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_core::run::compared::program_identity;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Command, Program};
use tarebench_store::{DocumentFilter, Store, StoreError};

/// A run, or a program in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedRun {
    pub run: Run,
    /// Index of the program; `None`: the run as a whole.
    pub series: Option<u32>,
}

impl NamedRun {
    /// The programs that are meant: of a run as a whole all but its control, which is its reference once more.
    pub fn programs(&self) -> Vec<u32> {
        match self.series {
            Some(series) => vec![series],
            None => (0..).zip(&self.run.plan.programs).filter(|(_, p)| !p.control).map(|(i, _)| i).collect(),
        }
    }

    pub fn label(&self, series: u32) -> &str {
        self.program(series).map_or("", |p| p.label.as_str())
    }

    /// [`program_identity`]; `None` if there is no such program.
    pub fn identity(&self, series: u32) -> Option<String> {
        self.program(series).map(|p| program_identity(&self.run.plan, p))
    }

    fn program(&self, series: u32) -> Option<&Program> {
        self.run.plan.programs.get(series as usize)
    }

    /// Whether both are of the same run, and of the same program of it.
    pub fn is_same(&self, other: &NamedRun) -> bool {
        self.run.id == other.run.id && self.programs() == other.programs()
    }
}

/// Finds what a text names: a run by its number, `last`, at least the first four digits of its uuid, or `tag:KEY=VALUE` for the newest
/// with that tag; after a dot, a program of it by its label, its number from 1, or the name of its file. Labels and values may hold dots
/// themselves: the longest beginning that is a run counts.
///
/// # Errors
/// If there is no such run or program, or several fit.
pub(crate) fn resolve(store: &dyn Store, text: &str) -> Result<NamedRun, StoredCompareError> {
    if let Some(id) = find_run(store, text)? {
        return Ok(NamedRun { run: timed_run(store, id)?, series: None });
    }
    let mut missing = None;
    for (dot, _) in text.rmatch_indices('.') {
        let (Some(before), Some(after)) = (text.get(..dot), text.get(dot + 1..)) else { continue };
        let Some(id) = find_run(store, before)? else { continue };
        let run = timed_run(store, id)?;
        match program(&run, after)? {
            Some(series) => return Ok(NamedRun { run, series: Some(series) }),
            // A shorter run may have a program with the rest of the text as its label.
            None => missing = missing.or(Some((run, after.to_owned()))),
        }
    }
    if let Some((run, program)) = missing {
        let labels = run.plan.programs.into_iter().map(|p| p.label).collect();
        return Err(StoredCompareError::NoProgram { run: run.id, program, labels });
    }
    match text.parse::<Id>() {
        Ok(id) if id.kind != DocumentKind::Run => Err(StoredCompareError::NotARun(id)),
        _ if text.starts_with(TAG) => Err(StoredCompareError::NoTag(text.to_owned())),
        _ => Err(StoreError::NoSuch { path: store.path().to_owned(), what: format!("run {text:?}") }.into()),
    }
}

const TAG: &str = "tag:";

fn find_run(store: &dyn Store, text: &str) -> Result<Option<i64>, StoreError> {
    if let Some((key, value)) = text.strip_prefix(TAG).and_then(|tag| tag.split_once('=')) {
        let tags = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let newest =
            store.list(&DocumentFilter { tags, limit: Some(1), ..DocumentFilter::of_kind(DocumentKind::Run) })?;
        return Ok(newest.first().map(|r| r.head.number));
    }
    Ok(store.find_kind(DocumentKind::Run, text)?.map(|id| id.number))
}

fn timed_run(store: &dyn Store, id: i64) -> Result<Run, StoredCompareError> {
    let run = store.run(id)?;
    if run.plan.programs.is_empty() { Err(StoredCompareError::Recording(id)) } else { Ok(run) }
}

/// A program of a run by its label, its number, or its file's name: the first of these that fits.
fn program(run: &Run, text: &str) -> Result<Option<u32>, StoredCompareError> {
    let by = |fits: &dyn Fn(&Program) -> bool| -> Vec<u32> {
        (0..).zip(&run.plan.programs).filter(|(_, p)| fits(p)).map(|(i, _)| i).collect()
    };
    let number = || {
        let number: u32 = text.parse().ok().filter(|n: &u32| *n > 0 && n.to_string() == text)?;
        run.plan.programs.get(number as usize - 1).map(|_| vec![number - 1])
    };
    let labelled = by(&|p| p.label == text);
    let found = match labelled.is_empty() {
        true => number().unwrap_or_else(|| by(&|p| file_name(p).as_deref() == Some(text))),
        false => labelled,
    };
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        several => {
            let numbers = several.iter().map(|i| i + 1).collect();
            Err(StoredCompareError::Ambiguous { run: run.id, program: text.to_owned(), numbers })
        }
    }
}

/// `gzip` of `/bin/gzip -6`.
fn file_name(program: &Program) -> Option<String> {
    let Command::Argv(words) = &program.command else { return None };
    let name = words.first()?.to_string();
    name.rsplit('/').next().filter(|n| !n.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::document::tests::run_plan;
    use crate::run::session::new_run;
    use tarebench_core::sample::process_time::PtSource;
    use tarebench_store::SqliteStore;

    /// A run with these labels, started as `/bin/LABEL`; returns its number.
    fn stored(store: &mut dyn Store, labels: &[&str], tags: &[(&str, &str)]) -> i64 {
        let mut plan = run_plan("true", ["/", "/"], false);
        let first = plan.programs[0].clone();
        plan.programs = labels
            .iter()
            .map(|label| Program {
                label: (*label).to_owned(),
                command: Command::Argv(vec![format!("/bin/{label}").as_str().into(), "-6".into()]),
                ..first.clone()
            })
            .collect();
        plan.tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        store.begin_run(&new_run(plan, PtSource::Wait4, Vec::new())).unwrap()
    }

    fn found(store: &dyn Store, text: &str) -> (i64, Option<u32>) {
        let named = resolve(store, text).unwrap();
        (named.run.id, named.series)
    }

    #[test]
    fn runs_and_programs_have_names() {
        let mut store = SqliteStore::in_memory().unwrap();
        stored(&mut store, &["gzip", "2", "a.out"], &[("branch", "v1.2")]);
        stored(&mut store, &["gzip"], &[("branch", "v1"), ("x", "1.gzip")]);
        let uuid = store.run(1).unwrap().uuid;
        assert_eq!((found(&store, "1"), found(&store, "last")), ((1, None), (2, None)));
        assert_eq!(found(&store, &uuid[..8]), (1, None));
        assert_eq!(found(&store, &format!("{}.gzip", &uuid[..8])), (1, Some(0)));
        assert_eq!((found(&store, "1.gzip"), found(&store, "last.1")), ((1, Some(0)), (2, Some(0))));
        // A label counts before a number, and may hold dots.
        for (text, series) in [("1.2", 1), ("1.3", 2), ("1.a.out", 2)] {
            assert_eq!(found(&store, text), (1, Some(series)), "{text}");
        }
        // So may the value of a tag: the longest one that is there counts.
        assert_eq!(
            (found(&store, "tag:branch=v1.2"), found(&store, "tag:branch=v1.2.gzip")),
            ((1, None), (1, Some(0)))
        );
        assert_eq!((found(&store, "tag:branch=v1"), found(&store, "tag:branch=v1.gzip")), ((2, None), (2, Some(0))));
        assert_eq!(found(&store, "tag:x=1.gzip"), (2, None));
        // Of several runs with a tag, the newest.
        stored(&mut store, &["xz"], &[("branch", "v1")]);
        assert_eq!(found(&store, "tag:branch=v1"), (3, None));
    }

    #[test]
    fn a_program_is_found_by_the_name_of_its_file() {
        let mut store = SqliteStore::in_memory().unwrap();
        store.begin_run(&new_run(run_plan("true", ["/", "/"], false), PtSource::Wait4, Vec::new())).unwrap();
        // Both are `sh -c true`, called base and head.
        assert_eq!(found(&store, "1.head"), (1, Some(1)));
        let Err(StoredCompareError::Ambiguous { numbers, .. }) = resolve(&store, "1.sh") else { panic!("two fit") };
        assert_eq!(numbers, [1, 2]);
        stored(&mut store, &["gzip"], &[]);
        assert_eq!(found(&store, "2.gzip"), (2, Some(0)));
    }

    #[test]
    fn wrong_names_are_named() {
        let mut store = SqliteStore::in_memory().unwrap();
        stored(&mut store, &["gzip", "x\u{1b}"], &[]);
        let said = |text: &str| resolve(&store, text).unwrap_err().to_string();
        assert_eq!(said("1.xz"), r#"run 1 has no program "xz", expected "gzip" or "x\u{1b}""#);
        assert!(said("1.0").starts_with(r#"run 1 has no program "0""#) && said("1.3").contains(r#""3""#));
        assert!(said("7").starts_with(r#"there is no run "7""#), "{}", said("7"));
        assert!(said("7.gzip").starts_with(r#"there is no run "7.gzip""#));
        assert!(said("").starts_with("there is no run"));
        assert_eq!(said("tag:a=b"), "no run is stored with tag:a=b");
        assert_eq!(said("n1"), "n1 is a measurement of noise, expected a run or a program of one");
        let many = vec!["y".repeat(100); 9];
        let labels: Vec<&str> = many.iter().map(String::as_str).collect();
        let id = stored(&mut store, &labels, &[]);
        let long = resolve(&store, &format!("{id}.z")).unwrap_err().to_string();
        assert!(long.len() < 400 && long.ends_with("4 others"), "{long}");
    }
}
