//! Why stored runs cannot be compared.

use tarebench_core::documents::head::Id;
use tarebench_store::StoreError;

/// Reasons: what was named is not there, or not comparable.
#[derive(Debug, thiserror::Error)]
pub enum StoredCompareError {
    /// The store; also if there is no such run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored result of another kind.
    #[error("{0} is a {noun}, expected a run or a program of one", noun = .0.kind.noun())]
    NotARun(Id),
    /// No run has this tag.
    #[error("no run is stored with {0}")]
    NoTag(String),
    /// It times no programs.
    #[error("run {0} is a recording of the machine, without programs")]
    Recording(i64),
    /// The run has other programs.
    #[error("run {run} has no program {program:?}, expected {}", listed(.labels))]
    NoProgram {
        /// The run.
        run: i64,
        /// As it was named.
        program: String,
        /// Labels of those that it has.
        labels: Vec<String>,
    },
    /// Several programs of the run fit.
    #[error("run {run} has several programs {program:?}")]
    Ambiguous {
        /// The run.
        run: i64,
        /// As it was named.
        program: String,
        /// Their numbers, from 1.
        numbers: Vec<u32>,
    },
    /// A comparison needs two.
    #[error("one run or program is named, expected at least two")]
    TooFew,
    /// A run is named twice, or as a whole and by one of its programs.
    #[error("run {0} is named twice: it cannot be compared with itself")]
    SameRun(i64),
    /// Both names mean the same program.
    #[error("program {program} of run {run} is named twice: it cannot be compared with itself")]
    SameProgram {
        /// The run.
        run: i64,
        /// From 1.
        program: u32,
    },
    /// Two runs have no program in common.
    #[error("run {run} has no program of run {reference}: {} against {}", listed(.labels), listed(.reference_labels))]
    NoCounterpart {
        /// The run.
        run: i64,
        /// Labels of its programs that are meant.
        labels: Vec<String>,
        /// The run that it is compared with.
        reference: i64,
        /// The same of that.
        reference_labels: Vec<String>,
    },
    /// The report of a run does not have a program of its plan.
    #[error("run {run} has no samples of its program {program}")]
    NoReport {
        /// The run.
        run: i64,
        /// From 1.
        program: u32,
    },
    /// More pairs than can be shown.
    #[error("there are more than {most} pairs of programs to compare")]
    TooMany {
        /// As many as can be compared.
        most: usize,
    },
}

/// So many labels are named in a sentence, with so many characters each.
const NAMED: usize = 5;
const WIDE: usize = 40;

/// `"a", "b" or 3 others`.
fn listed(labels: &[String]) -> String {
    let quoted = |label: &String| match label.char_indices().nth(WIDE) {
        Some((end, _)) => format!("{:?}…", label.get(..end).unwrap_or_default()),
        None => format!("{label:?}"),
    };
    let mut all: Vec<String> = labels.iter().take(NAMED).map(quoted).collect();
    match labels.len().saturating_sub(NAMED) {
        0 => {}
        1 => all.push("another one".to_owned()),
        rest => all.push(format!("{rest} others")),
    }
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "none".to_owned(),
    }
}
