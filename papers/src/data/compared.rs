//! The same study on several machines or kernels (CS:APP figures 9.17 to 9.19 beside 9.14 and 9.16): errors at equal lengths and
//! loads, and up to which length each machine can be trusted.

use crate::data::cells::{Study, StudyPlan};
use crate::data::report::{CpuTimeCounting, Errors, Results, StudyReport};
use serde::Serialize;

/// Errors up to this are accurate, as the book has it of its machines.
pub const ACCURATE: f64 = 0.01;

/// Of what the errors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", content = "counted", rename_all = "snake_case")]
pub enum ComparedTiming {
    /// K-best as the book's library has it.
    Kbest,
    /// The same, compensated for timer interrupts.
    Compensated,
    /// K-best with the thread's CPU time.
    ThreadCpu,
    Gettimeofday,
    /// CPU time, against the expected.
    Interval(CpuTimeCounting),
}

/// A length, with the median error of each study; `None` where it was not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// ns.
    pub length: f64,
    pub medians: Vec<Option<f64>>,
}

/// Errors of one way to measure under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedErrors {
    pub timing: ComparedTiming,
    /// Active processes on the CPU.
    pub load: u32,
    pub rows: Vec<ComparedRow>,
    /// For each study the longest length, ns, up to which no median is above [`ACCURATE`]; `None` if the shortest already is.
    pub accurate: Vec<Option<f64>>,
}

/// Studies beside each other, in the order given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedStudies {
    pub study: Study,
    pub errors: Vec<ComparedErrors>,
}

/// Why studies cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    #[error("one study alone has nothing to compare with")]
    OneStudy,
    #[error("they are different studies: {} and {}", first.name(), other.name())]
    Different { first: Study, other: Study },
    #[error("errors of the study {} cannot be compared: it has none", study.name())]
    NoErrors { study: Study },
    #[error("no load was measured in two of them")]
    NoCommonLoad,
}

/// Compares studies of one kind.
pub fn compared(studies: &[(&StudyPlan, &StudyReport)]) -> Result<ComparedStudies, NotComparable> {
    let [(plan, _), rest @ ..] = studies else { return Err(NotComparable::OneStudy) };
    if rest.is_empty() {
        return Err(NotComparable::OneStudy);
    }
    let study = plan.study;
    if let Some((other, _)) = rest.iter().find(|(other, _)| other.study != study) {
        return Err(NotComparable::Different { first: study, other: other.study });
    }
    let timings = timings(study);
    if timings.is_empty() {
        return Err(NotComparable::NoErrors { study });
    }
    let errors: Vec<ComparedErrors> = timings
        .into_iter()
        .flat_map(|timing| {
            let all: Vec<&[Errors]> = studies.iter().map(|(_, report)| errors(report, timing)).collect();
            common_loads(&all).into_iter().map(move |load| beside(timing, load, &all)).collect::<Vec<_>>()
        })
        .collect();
    if errors.is_empty() { Err(NotComparable::NoCommonLoad) } else { Ok(ComparedStudies { study, errors }) }
}

/// What of a study is compared.
fn timings(study: Study) -> Vec<ComparedTiming> {
    match study {
        Study::Kbest => vec![
            ComparedTiming::Kbest,
            ComparedTiming::Compensated,
            ComparedTiming::ThreadCpu,
            ComparedTiming::Gettimeofday,
        ],
        Study::IntervalCounting => CpuTimeCounting::ALL.into_iter().map(ComparedTiming::Interval).collect(),
        Study::Caching => Vec::new(),
    }
}

fn errors(report: &StudyReport, timing: ComparedTiming) -> &[Errors] {
    match (&report.results, timing) {
        (Results::Kbest(found), ComparedTiming::Kbest) => &found.book,
        (Results::Kbest(found), ComparedTiming::Compensated) => &found.compensated,
        (Results::Kbest(found), ComparedTiming::ThreadCpu) => &found.thread_cpu,
        (Results::Kbest(found), ComparedTiming::Gettimeofday) => &found.gettimeofday,
        (Results::IntervalCounting(found), ComparedTiming::Interval(counted)) => {
            found.iter().find(|r| r.counted == counted).map_or(&[][..], |r| r.expected.as_slice())
        }
        _ => &[],
    }
}

/// Loads of which at least two studies have errors, ascending.
fn common_loads(all: &[&[Errors]]) -> Vec<u32> {
    let mut loads: Vec<u32> = all.iter().flat_map(|e| e.iter()).map(|e| e.load).collect();
    loads.sort_unstable();
    loads.dedup();
    loads.retain(|load| all.iter().filter(|e| e.iter().any(|e| e.load == *load && e.median.is_some())).count() > 1);
    loads
}

fn beside(timing: ComparedTiming, load: u32, all: &[&[Errors]]) -> ComparedErrors {
    let mut lengths: Vec<f64> =
        all.iter().flat_map(|e| e.iter()).filter(|e| e.load == load).map(|e| e.length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let median = |errors: &&[Errors], length: f64| {
        errors.iter().find(|e| e.load == load && e.length == length).and_then(|e| e.median)
    };
    let row = |length: &f64| ComparedRow {
        length: *length,
        medians: all.iter().map(|errors| median(errors, *length)).collect(),
    };
    let rows: Vec<ComparedRow> = lengths.iter().map(row).collect();
    let accurate = (0..all.len()).map(|i| accurate(&rows, i)).collect();
    ComparedErrors { timing, load, rows, accurate }
}

/// The longest length up to which a study's errors are small; lengths that it did not measure do not count.
fn accurate(rows: &[ComparedRow], study: usize) -> Option<f64> {
    let known = rows.iter().filter_map(|r| Some((r.length, r.medians.get(study).copied().flatten()?)));
    known.take_while(|(_, median)| median.abs() <= ACCURATE).last().map(|(length, _)| length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::StudyPreset;
    use crate::data::report::KbestResults;

    fn error(load: u32, length: f64, median: f64) -> Errors {
        Errors {
            load,
            length,
            measured: 3,
            median: Some(median),
            range: Some((median, median)),
            refused: 0,
            converged: 3,
            claimed: Some(0.001),
            trials: Some(3.0),
        }
    }

    fn kbest(errors: &[Errors]) -> StudyReport {
        let all = errors.to_vec();
        let found = KbestResults {
            book: all.clone(),
            compensated: all.clone(),
            checked: all.clone(),
            patient: all.clone(),
            thread_cpu: Vec::new(),
            gettimeofday: all,
            by_k: Vec::new(),
        };
        StudyReport { measured: errors.len(), line_error: None, results: Results::Kbest(found) }
    }

    fn plan(study: Study) -> StudyPlan {
        StudyPlan::new(study, StudyPreset::Minutes, 0)
    }

    /// As the book's figures 9.18 and 9.19 differ: under load one machine is accurate up to 48 ms, the other up to 10 ms.
    #[test]
    fn two_machines_under_load() {
        let nt = kbest(&[error(1, 1e7, 0.01), error(11, 1e7, 0.005), error(11, 4.8e7, 0.009), error(11, 1e8, 0.4)]);
        let alpha = kbest(&[error(11, 1e7, 0.002), error(11, 4.8e7, 0.3), error(11, 1e8, 0.001)]);
        let plan = plan(Study::Kbest);
        let found = compared(&[(&plan, &nt), (&plan, &alpha)]).unwrap();
        // Nothing was measured with the thread's CPU time; load 1 on one machine only.
        let all: Vec<(ComparedTiming, u32)> = found.errors.iter().map(|e| (e.timing, e.load)).collect();
        let timings = [ComparedTiming::Kbest, ComparedTiming::Compensated, ComparedTiming::Gettimeofday];
        assert_eq!(all, timings.map(|t| (t, 11)));
        let first = &found.errors[0];
        assert_eq!(first.accurate, [Some(4.8e7), Some(1e7)]);
        assert_eq!(first.rows[1], ComparedRow { length: 4.8e7, medians: vec![Some(0.009), Some(0.3)] });
    }

    /// A length that one machine lacks leaves its cell empty.
    #[test]
    fn what_was_not_measured_is_absent() {
        let plan = plan(Study::Kbest);
        let (a, b) = (kbest(&[error(1, 1e4, 0.02)]), kbest(&[error(1, 2e4, 0.0), error(1, 1e6, 0.5)]));
        let found = compared(&[(&plan, &a), (&plan, &b)]).unwrap();
        let medians: Vec<_> = found.errors[0].rows.iter().map(|r| r.medians.clone()).collect();
        assert_eq!(medians, [[Some(0.02), None], [None, Some(0.0)], [None, Some(0.5)]]);
        assert_eq!(found.errors[0].accurate, [None, Some(2e4)]);
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let (a, b) = (kbest(&[error(1, 1e4, 0.0)]), kbest(&[error(2, 1e4, 0.0)]));
        let (kbest, caching) = (plan(Study::Kbest), plan(Study::Caching));
        assert_eq!(compared(&[]), Err(NotComparable::OneStudy));
        assert_eq!(compared(&[(&kbest, &a)]), Err(NotComparable::OneStudy));
        assert_eq!(compared(&[(&kbest, &a), (&kbest, &b)]), Err(NotComparable::NoCommonLoad));
        let different = NotComparable::Different { first: Study::Kbest, other: Study::Caching };
        assert_eq!(compared(&[(&kbest, &a), (&caching, &b)]), Err(different));
        assert!(different.to_string().contains("kbest and caching"));
        let none = NotComparable::NoErrors { study: Study::Caching };
        assert_eq!(compared(&[(&caching, &a), (&caching, &b)]), Err(none));
    }
}
