//! Statistics of numbers that Python has measured.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::gate::{
    BenchmarkReport, Gate, GateBenchmark, GatePlan, GateSide, GateVerdict, MeasuredBenchmark,
};
use tarebench::core::compare::gate_rule;
use tarebench::core::compare::ratio::RatioBasis;
use tarebench::core::sample::measure::Measure;
use tarebench::core::statistics::intervals::mean_interval;
use tarebench::core::statistics::series::{Values, median, summary};

/// Probability of calling any benchmark of a suite slower if none is, as in `tare gate`.
const FAMILY_ERROR: f64 = 0.01;
/// Seed of the interval's resamples: the same numbers have the same interval.
const SEED: u64 = 1;

fn numbers(values: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    values.try_iter()?.map(|value| value?.extract::<f64>()).collect()
}

fn checked(numbers: Vec<f64>) -> PyResult<Values> {
    Values::new(numbers).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Medians of the lower and of the upper half, without the value in the middle of an odd number.
fn quartiles(values: &Values) -> Option<(f64, f64)> {
    let sorted = values.sorted();
    let half = sorted.len() / 2;
    let middle = |part: Option<&[f64]>| median(&Values::new(part?.iter().copied()).ok()?);
    middle(sorted.get(..half)).zip(middle(sorted.get(sorted.len() - half..)))
}

/// Summary statistics of numbers in any unit: count, mean, stddev, median, minimum, maximum, q1, q3, interval (low and high of the 95%
/// interval of the mean, by bootstrap) and level. None where it is not defined: stddev and quartiles below 2 values, the interval below 6.
#[pyfunction]
pub fn summarise<'py>(py: Python<'py>, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let values = checked(numbers(values)?)?;
    // Without standard deviations to discard by: the plain mean's.
    let interval = py.detach(|| mean_interval(&values, 0.0, SEED, 0)).ok();
    let (found, quartiles) = (summary(&values), quartiles(&values));
    let given = PyDict::new(py);
    given.set_item("count", values.len())?;
    given.set_item("mean", found.as_ref().map(|s| s.mean))?;
    given.set_item("stddev", found.as_ref().and_then(|s| s.std_dev))?;
    given.set_item("median", found.as_ref().map(|s| s.median))?;
    given.set_item("minimum", found.as_ref().map(|s| s.min))?;
    given.set_item("maximum", found.as_ref().map(|s| s.max))?;
    given.set_item("q1", quartiles.map(|q| q.0))?;
    given.set_item("q3", quartiles.map(|q| q.1))?;
    given.set_item("interval", interval.as_ref().map(|i| (i.low, i.high)))?;
    given.set_item("level", interval.map(|i| i.level))?;
    Ok(given)
}

/// Logarithms of new / base of one benchmark, and its threshold.
struct Blocks {
    logs: Vec<f64>,
    budget: f64,
}

impl Blocks {
    fn new(logs: Vec<f64>, budget: f64) -> PyResult<Blocks> {
        if !(budget.is_finite() && budget >= 0.0) {
            return Err(PyValueError::new_err(format!("the budget is {budget}, expected a share such as 0.01")));
        }
        Ok(Blocks { logs, budget })
    }
}

/// The gate's report of benchmarks that were measured together. The design looks as often as the longest has blocks for.
fn judged(all: Vec<Blocks>) -> Vec<BenchmarkReport> {
    let most = all.iter().map(|b| b.logs.len()).max().unwrap_or(0);
    let planned = |(i, blocks): (usize, &Blocks)| GateBenchmark {
        name: i.to_string(),
        command: String::new(),
        threshold: blocks.budget,
        weight: 1.0,
        measure: None,
        budget: None,
    };
    let plan = GatePlan {
        suite: String::new(),
        base: GateSide::default(),
        head: GateSide::default(),
        benchmarks: all.iter().enumerate().map(planned).collect(),
        budget: None,
        max_blocks: u32::try_from(most).unwrap_or(u32::MAX).max(1),
        control: false,
        family_error: FAMILY_ERROR,
    };
    let measured = |blocks: Blocks| MeasuredBenchmark {
        basis: RatioBasis::Alone,
        measure: Some(Measure::Et),
        logs: blocks.logs,
        took: Nanos::ZERO,
        ..MeasuredBenchmark::default()
    };
    gate_rule::report(&Gate { plan, measured: all.into_iter().map(measured).collect() }).benchmarks
}

fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Regression => "slower",
        GateVerdict::Improvement => "faster",
        GateVerdict::Pass => "same",
        GateVerdict::Inconclusive | GateVerdict::Failed => "inconclusive",
    }
}

/// Compares values of blocks, paired in their order, as `tare gate` compares two builds. `budget` is the largest slowdown that passes,
/// e.g. 0.01; without `detect`, smallest_detectable is None.
///
/// Returns ratio (new / base), interval (low and high, or None), level, smallest_detectable, verdict ("slower", "faster", "same" or
/// "inconclusive"), budget, blocks, logs (of the ratios), p_slower, p_faster and p_beyond.
#[pyfunction]
#[pyo3(signature = (new, base, budget, detect = true))]
pub fn compare_blocks<'py>(
    py: Python<'py>,
    new: &Bound<'py, PyAny>,
    base: &Bound<'py, PyAny>,
    budget: f64,
    detect: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (new, base) = (numbers(new)?, numbers(base)?);
    if new.len() != base.len() {
        let (news, bases) = (new.len(), base.len());
        let text = format!("{news} values of the new one and {bases} of the base: expected one of each block");
        return Err(PyValueError::new_err(text));
    }
    let logs: Vec<f64> = new.iter().zip(&base).map(|(new, base)| new.ln() - base.ln()).collect();
    if logs.iter().any(|log| !log.is_finite()) {
        return Err(PyValueError::new_err("a value is not positive and finite: it has no ratio"));
    }
    let blocks = Blocks::new(logs.clone(), budget)?;
    let found = py.detach(move || judged(vec![blocks]));
    let Some(report) = found.first() else {
        return Err(PyValueError::new_err("there is nothing to compare"));
    };
    let interval = report.interval.as_ref().ok();
    let given = PyDict::new(py);
    given.set_item("ratio", report.ratio)?;
    given.set_item("interval", interval.map(|i| (i.low, i.high)))?;
    given.set_item("level", interval.map(|i| i.level))?;
    given.set_item("smallest_detectable", report.detectable.filter(|_| detect))?;
    given.set_item("verdict", word(report.verdict))?;
    given.set_item("budget", budget)?;
    given.set_item("blocks", report.blocks)?;
    given.set_item("logs", logs)?;
    given.set_item("p_slower", report.p_slower)?;
    given.set_item("p_faster", report.p_faster)?;
    given.set_item("p_beyond", report.p_beyond)?;
    Ok(given)
}

/// Verdicts of the benchmarks of one suite, of what `compare_blocks` returned for each: as `tare gate` decides them together, so that
/// the more benchmarks there are, the clearer a difference must be (Holm's method over the suite).
#[pyfunction]
pub fn gate_verdicts(py: Python<'_>, results: Vec<Bound<'_, PyDict>>) -> PyResult<Vec<&'static str>> {
    let blocks = |result: &Bound<'_, PyDict>| {
        let part = |name: &str| {
            let text = || format!("a result has no `{name}`: expected those of compare_blocks()");
            let missing = || PyValueError::new_err(text());
            result.get_item(name)?.ok_or_else(missing)
        };
        Blocks::new(numbers(&part("logs")?)?, part("budget")?.extract()?)
    };
    let all = results.iter().map(blocks).collect::<PyResult<Vec<Blocks>>>()?;
    let found = py.detach(move || judged(all));
    Ok(found.iter().map(|report| word(report.verdict)).collect())
}
