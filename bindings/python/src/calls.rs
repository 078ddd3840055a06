//! Calls of Python functions, timed in loops that are not Python's.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tarebench::sys::clock;
use tarebench_kbest::{Clock, Kbest, KbestError, Nanos, Parameters, Repetitions, Timing, TimingStanding};

/// Calls between two looks for signals: builtin functions do not look themselves, and a look at each call would be a part of its time.
const UNWATCHED: u64 = 1 << 16;

/// What is called.
struct Callee<'a, 'py> {
    function: &'a Bound<'py, PyAny>,
    args: &'a Bound<'py, PyTuple>,
    /// None where there are none, which is faster than an empty dictionary.
    kwargs: Option<&'a Bound<'py, PyDict>>,
}

impl<'a, 'py> Callee<'a, 'py> {
    fn new(
        function: &'a Bound<'py, PyAny>,
        args: &'a Bound<'py, PyTuple>,
        kwargs: Option<&'a Bound<'py, PyDict>>,
    ) -> Callee<'a, 'py> {
        Callee { function, args, kwargs: kwargs.filter(|k| !k.is_empty()) }
    }

    #[inline(always)]
    fn call(&self) -> PyResult<()> {
        self.function.call(self.args, self.kwargs).map(drop)
    }
}

/// Calls `function(*args, **kwargs)` so often in one go. Returns elapsed time and the thread's CPU time of all calls together, ns.
///
/// An exception of the function passes through; nothing is returned then.
#[pyfunction]
#[pyo3(signature = (function, args, kwargs, iterations))]
pub fn time_calls<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    iterations: u64,
) -> PyResult<(i64, i64)> {
    let callee = Callee::new(function, args, kwargs);
    let mut left = iterations;
    let cpu = clock::thread_cpu();
    let start = clock::monotonic();
    loop {
        for _ in 0..left.min(UNWATCHED) {
            callee.call()?;
        }
        left = left.saturating_sub(UNWATCHED);
        if left == 0 {
            break;
        }
        py.check_signals()?;
    }
    let elapsed = clock::monotonic() - start;
    Ok((elapsed.0, (clock::thread_cpu() - cpu).0))
}

/// What an empty measurement calls.
#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn nothing(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) {
    let _ = (args, kwargs);
}

/// How to measure, as the caller's keywords have it. A value that is None counts as not given.
fn settings(given: Option<&Bound<'_, PyDict>>) -> PyResult<Kbest> {
    let book = Parameters::default();
    let (mut k, mut epsilon, mut most, mut least) = (book.k(), book.epsilon(), book.most(), book.least());
    let mut kbest = Kbest::new();
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        if value.is_none() {
            continue;
        }
        match key.as_str() {
            "k" => k = value.extract()?,
            "epsilon" => epsilon = value.extract()?,
            "max_trials" => most = value.extract()?,
            "min_trials" => least = value.extract()?,
            "clock" => kbest = kbest.clock(clock_named(&value.extract::<String>()?)?),
            "repetitions" => kbest = kbest.repetitions(Repetitions::Fixed(value.extract()?)),
            "apart" => kbest = kbest.apart(Nanos(value.extract()?)),
            "cold" => {
                let cold: bool = value.extract()?;
                kbest = if cold { kbest.cold() } else { kbest };
            }
            "compensate" => kbest = kbest.compensated(value.extract()?),
            "less_overhead" => kbest = kbest.less_overhead(value.extract()?),
            other => return Err(PyTypeError::new_err(format!("kbest() got an unexpected setting '{other}'"))),
        }
    }
    let parameters = Parameters::new(k, epsilon, most, least).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(kbest.parameters(parameters))
}

fn clock_named(name: &str) -> PyResult<Clock> {
    serde_json::from_value(serde_json::Value::from(name)).map_err(|_| {
        let expected = "counter, monotonic_raw, monotonic, gettimeofday, thread_cpu, process_cpu or times";
        PyValueError::new_err(format!("'{name}' is not a clock, expected {expected}"))
    })
}

/// Ends a measurement from within: the exception is kept beside it.
struct Ended;

/// Measures `function(*args, **kwargs)` by K-best; times in ns for one call. An exception of the function ends the measurement and
/// passes through.
///
/// Settings, all by name: k, epsilon, max_trials, min_trials, clock, repetitions (calls in a trial), apart (ns between the starts of two
/// trials), cold, compensate, less_overhead.
#[pyfunction]
#[pyo3(signature = (function, args, kwargs, **given))]
pub fn kbest<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let kbest = settings(given)?;
    let empty_function = wrap_pyfunction!(nothing, py)?.into_any();
    let (callee, empty) = (Callee::new(function, args, kwargs), Callee::new(&empty_function, args, kwargs));
    let raised: RefCell<Option<PyErr>> = RefCell::new(None);
    let watch = |done: PyResult<()>| {
        if let Err(e) = done {
            *raised.borrow_mut() = Some(e);
            // Past the trials that are left; without a message, as nothing is wrong with the measurement.
            resume_unwind(Box::new(Ended));
        }
    };
    let (mut code, mut idle) = (|| watch(callee.call()), || watch(empty.call()));
    let mut between = || watch(py.check_signals());
    let measured = catch_unwind(AssertUnwindSafe(|| kbest.measure_beside(&mut code, &mut idle, &mut between)));
    if let Some(e) = raised.take() {
        return Err(e);
    }
    match measured {
        Ok(Ok(timing)) => outcome(py, &timing),
        Ok(Err(e @ (KbestError::Memory(_) | KbestError::System(_)))) => Err(PyRuntimeError::new_err(e.to_string())),
        Ok(Err(e)) => Err(PyValueError::new_err(e.to_string())),
        Err(panic) => resume_unwind(panic),
    }
}

fn outcome<'py>(py: Python<'py>, timing: &Timing) -> PyResult<Bound<'py, PyDict>> {
    let standing = match timing.standing() {
        TimingStanding::Converged => "converged",
        TimingStanding::NotConverged => "not_converged",
        TimingStanding::TooShort => "too_short",
        TimingStanding::SliceTooShort { .. } => "slice_too_short",
    };
    let (value, found) = (timing.value(), timing.outcome());
    let times: Vec<f64> = timing.trials.iter().map(|trial| timing.time(trial)).collect();
    let clock = serde_json::to_value(timing.clock).ok().and_then(|name| name.as_str().map(str::to_owned));
    let given = PyDict::new(py);
    given.set_item("ns", value.value())?;
    given.set_item("reason", value.absent().map(ToString::to_string))?;
    given.set_item("standing", standing)?;
    given.set_item("converged", found.as_ref().is_some_and(|o| o.converged))?;
    given.set_item("fastest_ns", found.as_ref().map(|o| o.value))?;
    given.set_item("spread", found.as_ref().map(|o| o.spread))?;
    given.set_item("best_ns", found.map(|o| o.best))?;
    given.set_item("trials", times.len())?;
    given.set_item("times_ns", times)?;
    given.set_item("repetitions", timing.repetitions)?;
    given.set_item("overhead_ns", timing.overhead as f64 / timing.hz * 1e9)?;
    given.set_item("clock", clock)?;
    given.set_item("clock_hz", timing.hz)?;
    Ok(given)
}
