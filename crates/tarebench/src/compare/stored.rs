//! Programs of stored runs against each other: named by the user, read from the store with what other runs say of them, and stored.

use crate::compare::named::{NamedRun, resolve};
pub use crate::compare::stored_error::StoredCompareError;
use crate::documents::{DocumentError, whole};
use crate::run::past::past_runs;
use crate::run::session::{load as load_run, new_uuid};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::compare::stored::{
    BlockMetric, BlockRatio, ComparedRun, LeftOutProgram, PastRun, StoredComparison, StoredPair, StoredPlan, StoredSide,
};
use tarebench_core::compare::stored_check::{MOST_PAIRS, MOST_PAST_RUNS};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::compared::{block_counters, block_metrics, block_ratios, compared_run, side};
use tarebench_core::run::data::Run;
use tarebench_core::run::report::data::RunReport;
use tarebench_store::{Store, StoreError, content};
use tarebench_sys::clock;

/// A comparison of stored runs to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRequest {
    /// Runs, or programs in them: `12`, `12.gzip`, `15.2`, `last`, the first digits of a uuid, `tag:KEY=VALUE`.
    pub names: Vec<String>,
    /// The one that the others are compared with, by the same kinds of names; `None`: the first.
    pub reference: Option<String>,
    /// What is asked for.
    pub plan: StoredPlan,
}

/// Compares what is named.
///
/// # Errors
/// [`StoredCompareError`]; nothing is changed.
pub fn compare(store: &dyn Store, request: &StoredRequest) -> Result<StoredComparison, StoredCompareError> {
    let named: Vec<NamedRun> = request.names.iter().map(|name| resolve(store, name)).collect::<Result<_, _>>()?;
    let (reference, others) = match &request.reference {
        Some(name) => {
            let reference = resolve(store, name)?;
            let others: Vec<NamedRun> = named.into_iter().filter(|n| !n.is_same(&reference)).collect();
            (reference, others)
        }
        None => {
            let mut all = named.into_iter();
            (all.next().ok_or(StoredCompareError::TooFew)?, all.collect())
        }
    };
    if others.is_empty() {
        return Err(StoredCompareError::TooFew);
    }
    let mut made = ComparisonMaker::new(store);
    // The reference's run is the first one.
    made.run(reference.run.id)?;
    for other in &others {
        made.add(other, &reference)?;
    }
    for base in reference.programs() {
        if !made.matched.contains(&(reference.run.id, base)) {
            made.leave_out(&reference, base)?;
        }
    }
    made.finish(request.plan.clone())
}

/// Collects the sides and pairs of a comparison.
struct ComparisonMaker<'a> {
    store: &'a dyn Store,
    /// By run: its index in `runs`, and its report.
    reports: BTreeMap<i64, (u32, RunReport)>,
    runs: Vec<ComparedRun>,
    sides: Vec<StoredSide>,
    pairs: Vec<StoredPair>,
    left_out: Vec<LeftOutProgram>,
    /// Programs that others are compared with: run and index.
    matched: BTreeSet<(i64, u32)>,
}

impl<'a> ComparisonMaker<'a> {
    fn new(store: &'a dyn Store) -> ComparisonMaker<'a> {
        ComparisonMaker {
            store,
            reports: BTreeMap::new(),
            runs: Vec::new(),
            sides: Vec::new(),
            pairs: Vec::new(),
            left_out: Vec::new(),
            matched: BTreeSet::new(),
        }
    }

    /// Compares what is named with the reference: program with program, or each with its counterpart.
    fn add(&mut self, other: &NamedRun, reference: &NamedRun) -> Result<(), StoredCompareError> {
        let (theirs, ours) = (other.programs(), reference.programs());
        if other.is_same(reference) || (other.run.id == reference.run.id && reference.series.is_none()) {
            return Err(StoredCompareError::SameRun(other.run.id));
        }
        if let ([program], [base]) = (theirs.as_slice(), ours.as_slice()) {
            return self.pair((other.run.id, *program), (reference.run.id, *base));
        }
        let mut found = false;
        for program in &theirs {
            match counterpart(other, *program, reference, &ours) {
                Some(base) if (other.run.id, *program) != (reference.run.id, base) => {
                    self.pair((other.run.id, *program), (reference.run.id, base))?;
                    found = true;
                }
                Some(_) => {}
                None => self.leave_out(other, *program)?,
            }
        }
        if found { Ok(()) } else { Err(no_counterpart(other, reference)) }
    }

    fn leave_out(&mut self, named: &NamedRun, series: u32) -> Result<(), StoredCompareError> {
        // A program was named by the user, not left out, if it is compared with all of a run.
        if named.series.is_some() {
            return Ok(());
        }
        let run = self.run(named.run.id)?;
        let left = LeftOutProgram { run, label: named.label(series).to_owned() };
        if !self.left_out.contains(&left) {
            self.left_out.push(left);
        }
        Ok(())
    }

    fn pair(&mut self, program: (i64, u32), reference: (i64, u32)) -> Result<(), StoredCompareError> {
        if program == reference {
            return Err(StoredCompareError::SameProgram { run: program.0, program: program.1 + 1 });
        }
        let within = match program.0 == reference.0 {
            true => self.within(program.0, program.1, reference.1)?,
            false => WithinRun::default(),
        };
        let (base, program) = (self.side(reference)?, self.side(program)?);
        self.matched.insert(reference);
        if self.pairs.iter().any(|p| (p.program, p.reference) == (program, base)) {
            return Ok(());
        }
        let WithinRun { blocks, metrics, counters, paired_in_time } = within;
        self.pairs.push(StoredPair { program, reference: base, blocks, metrics, counters, paired_in_time });
        match self.pairs.len() > MOST_PAIRS {
            true => Err(StoredCompareError::TooMany { most: MOST_PAIRS }),
            false => Ok(()),
        }
    }

    /// The index of a run, whose report is read at its first use.
    fn run(&mut self, id: i64) -> Result<u32, StoredCompareError> {
        if let Some((index, _)) = self.reports.get(&id) {
            return Ok(*index);
        }
        let stored = load_run(self.store, id)?;
        let report = stored.report()?;
        let index = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        self.runs.push(compared_run(&stored.run, tarebench_host::factors::states(&stored.run.factors)));
        self.reports.insert(id, (index, report));
        Ok(index)
    }

    /// The index of a program of a run.
    fn side(&mut self, (id, series): (i64, u32)) -> Result<u32, StoredCompareError> {
        let run = self.run(id)?;
        let known = self.sides.iter().position(|s| s.run == run && s.series == series);
        let index = match known {
            Some(index) => index,
            None => {
                let report = self.reports.get(&id).map(|(_, report)| report);
                let made = report.and_then(|report| side(run, report, series));
                self.sides.push(made.ok_or(StoredCompareError::NoReport { run: id, program: series + 1 })?);
                self.sides.len() - 1
            }
        };
        Ok(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn within(&mut self, id: i64, program: u32, reference: u32) -> Result<WithinRun, StoredCompareError> {
        self.run(id)?;
        let known = self.reports.get(&id).and_then(|(_, report)| comparison_of(report, program, reference));
        if let Some(found) = known {
            return Ok(found);
        }
        // Against another program than the one that the run was made with.
        let mut stored = load_run(self.store, id)?;
        for (place, program) in (0..).zip(&mut stored.run.plan.programs) {
            program.reference = place == reference;
        }
        let report = stored.report()?;
        Ok(comparison_of(&report, program, reference).unwrap_or_default())
    }

    fn finish(self, plan: StoredPlan) -> Result<StoredComparison, StoredCompareError> {
        let apart = self.pairs.iter().any(|pair| self.run_of(pair.program) != self.run_of(pair.reference));
        let history = if apart { history(self.store, &self.runs)? } else { Vec::new() };
        let ComparisonMaker { runs, sides, pairs, left_out, .. } = self;
        Ok(StoredComparison { plan, runs, sides, pairs, left_out, history })
    }

    fn run_of(&self, side: u32) -> Option<u32> {
        self.sides.get(side as usize).map(|s| s.run)
    }
}

/// What a run says of two of its programs.
#[derive(Default)]
struct WithinRun {
    blocks: Vec<BlockRatio>,
    metrics: Vec<BlockMetric>,
    counters: Vec<BlockMetric>,
    /// The samples of a block were neighbours in time.
    paired_in_time: bool,
}

fn comparison_of(report: &RunReport, program: u32, reference: u32) -> Option<WithinRun> {
    let mut all = report.comparisons.iter().chain(&report.control);
    let found = all.find(|c| c.series == program && c.reference == reference)?;
    let paired_in_time = found.paired_in_time;
    Some(WithinRun {
        blocks: block_ratios(found),
        metrics: block_metrics(found),
        counters: block_counters(found),
        paired_in_time,
    })
}

fn no_counterpart(other: &NamedRun, reference: &NamedRun) -> StoredCompareError {
    let labels = |named: &NamedRun| named.programs().into_iter().map(|i| named.label(i).to_owned()).collect();
    StoredCompareError::NoCounterpart {
        run: other.run.id,
        labels: labels(other),
        reference: reference.run.id,
        reference_labels: labels(reference),
    }
}

/// Which of these programs of the reference a program is compared with: the same one, else the one of the same name; the only one, in
/// the same run.
fn counterpart(other: &NamedRun, program: u32, reference: &NamedRun, ours: &[u32]) -> Option<u32> {
    if let ([only], true) = (ours, other.run.id == reference.run.id) {
        return Some(*only);
    }
    let same_identity = |base: &&u32| other.identity(program) == reference.identity(**base);
    let same_label = |base: &&u32| other.label(program) == reference.label(**base);
    ours.iter().find(same_identity).or_else(|| ours.iter().find(same_label)).copied()
}

/// What the newest other runs of the machines of these runs say of their programs.
fn history(store: &dyn Store, compared: &[ComparedRun]) -> Result<Vec<PastRun>, StoreError> {
    let fingerprints: BTreeSet<&str> = compared.iter().map(|r| r.conditions.fingerprint()).collect();
    let uuids: Vec<&str> = compared.iter().map(|r| r.uuid.as_str()).collect();
    let is_past = |run: &Run| fingerprints.contains(fingerprint(&run.host, &run.factors).as_str());
    past_runs(store, &uuids, MOST_PAST_RUNS, &is_past)
}

/// The head of a comparison that is not stored yet.
pub fn head(comparison: &StoredComparison, request: &StoredRequest, tags: BTreeMap<String, String>) -> DocumentHead {
    let conditions = comparison.runs.first().map(|r| Box::new(r.conditions.clone()));
    DocumentHead {
        kind: DocumentKind::Comparison,
        number: 0,
        uuid: new_uuid(),
        title: title(request),
        created: clock::realtime(),
        status: Status::Finished,
        tool: crate::VERSION.to_owned(),
        machine: conditions.as_ref().map(|c| c.host().name.clone()).unwrap_or_default(),
        conditions,
        tags,
    }
}

/// As the user named them: `15.gzip, 16.gzip against 12.gzip`.
fn title(request: &StoredRequest) -> String {
    let mut names = request.names.as_slice();
    let reference = match &request.reference {
        Some(name) => name.as_str(),
        None => match names.split_first() {
            Some((first, rest)) => {
                names = rest;
                first.as_str()
            }
            None => "",
        },
    };
    let others: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != reference).collect();
    format!("{} against {reference}", others.join(", "))
}

/// Stores a comparison; its number is then in its head.
pub fn keep(
    store: &mut dyn Store,
    head: &DocumentHead,
    comparison: &StoredComparison,
) -> Result<DocumentHead, DocumentError> {
    let id = store.create_document(head, &content(comparison)?)?;
    Ok(DocumentHead { number: id.number, ..head.clone() })
}

/// A stored comparison.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<(DocumentHead, StoredComparison), DocumentError> {
    whole(store, id, DocumentKind::Comparison, StoredComparison::check)
}
