//! Gates: making and measuring them, and what they say.

use crate::error::raised;
use crate::process::alone;
use crate::store::place;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tarebench::builds::sides::GateBase;
use tarebench::compare::gate::{MeasuredGate, load};
use tarebench::compare::gate_request::GateRequest;
use tarebench::core::base::written::{duration, share};
use tarebench::core::compare::gate::{Gate as GateData, GateReport};
use tarebench::core::compare::gate_rule;
use tarebench::core::documents::head::{DocumentHead, Id};
use tarebench::documents::Stopped;
use tarebench::event::Event;
use tarebench::render::compare::gate::json::json;
use tarebench::render::compare::gate::sheet;
use tarebench::report::document::document;
use tarebench::report::sheet::Sheet;
use tarebench::report::style::Style;
use tarebench::report::terminal::sheet_text;
use tarebench::run::session::StorePlace;
use tarebench::store::SqliteStore;
use tarebench::suite::{self, GateMeasure, Suite, SuiteOptions};
use tarebench::sys::clock;
use tarebench::sys::procfs::parse_cpu_list;
use tarebench::sys::signals::Signals;
use tarebench_cli::api::Failure;

/// A gate with its report.
#[pyclass(frozen, module = "tarebench._native")]
pub struct Gate {
    head: DocumentHead,
    gate: GateData,
    report: GateReport,
    interrupted: Option<i32>,
    warnings: Vec<String>,
}

impl Gate {
    fn new(measured: MeasuredGate, warnings: Vec<String>) -> Gate {
        let interrupted = match measured.stopped {
            Stopped::Interrupted(signal) => Some(signal),
            Stopped::Finished => None,
        };
        let report = measured.report();
        Gate { head: measured.head, gate: measured.gate, report, interrupted, warnings }
    }

    /// A gate of a store.
    pub fn stored(store: &SqliteStore, id: Id) -> Result<Gate, Failure> {
        let (head, gate) = load(store, id)?;
        let report = gate_rule::report(&gate);
        Ok(Gate { head, gate, report, interrupted: None, warnings: Vec::new() })
    }
}

#[pymethods]
impl Gate {
    /// Number in the store; 0 if it is not stored.
    #[getter]
    fn number(&self) -> i64 {
        self.head.number
    }

    /// Number of the signal that ended the measurement.
    #[getter]
    fn interrupted(&self) -> Option<i32> {
        self.interrupted
    }

    /// Why the builds may not be what the caller wants to compare.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The document, as `tare gate --json` has it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let text = || json(&self.head, &self.gate, &self.report).map_err(Failure::system);
        py.detach(text).map_err(|failure| raised(py, &failure))
    }

    /// The result as the command prints it, without colours.
    #[pyo3(signature = (width = 100))]
    fn text(&self, width: usize) -> String {
        sheet_text(&self.sheet(), &Style { width, ..Style::default() })
    }

    /// The summary of `tare gate --summary`.
    fn markdown(&self) -> String {
        document(&self.sheet())
    }
}

impl Gate {
    fn sheet(&self) -> Sheet {
        sheet::gate(&self.head, &self.gate, &self.report, &clock::zone(), String::new())
    }
}

/// Makes and measures a gate of commands or of a suite file. `base` is a revision, `base_dir` a folder, `head` the folder of the head;
/// without `db` the store is that of TARE_DB, else the user's.
///
/// Settings, all by name: names, build, setup, prepare, conclude, cleanup, threshold, budget, timeout, cpus, measure, max_blocks,
/// control, env, tags. A value that is None counts as not given; shares, times and CPUs are texts as the command has them.
#[pyfunction]
#[pyo3(signature = (commands, suite, base, base_dir, head, db, **given))]
#[expect(clippy::too_many_arguments, reason = "they are those of the Python function")]
pub fn gate(
    py: Python<'_>,
    commands: Vec<String>,
    suite: Option<PathBuf>,
    base: Option<String>,
    base_dir: Option<PathBuf>,
    head: PathBuf,
    db: Option<PathBuf>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Gate> {
    let GateSettings { names, options, tags } = settings(given)?;
    let made = || {
        let suite = match suite {
            Some(file) => suite::read(&file)?,
            None => suite::of_commands(&commands, &names)?,
        };
        let base = base_of(base, base_dir, &suite)?;
        alone(|| measure(GateRequest { suite: suite.with(options), base, head, tags }, db))
    };
    py.detach(made).map_err(|failure| raised(py, &failure))
}

fn base_of(base: Option<String>, folder: Option<PathBuf>, suite: &Suite) -> Result<GateBase, Failure> {
    let none =
        || Failure::usage("there is no base to compare with").hint("give base, a revision, or base_dir, a folder");
    match folder {
        Some(folder) => Ok(GateBase::Folder(folder)),
        None => base.or_else(|| suite.base.clone()).map(GateBase::Revision).ok_or_else(none),
    }
}

fn measure(request: GateRequest, db: Option<PathBuf>) -> Result<Gate, Failure> {
    let gate = request.check()?;
    let mut place = match place(db)? {
        Some(file) => StorePlace::Store(Box::new(SqliteStore::open(&file)?)),
        None => StorePlace::Nowhere,
    };
    let signals = Signals::install().map_err(Failure::system)?;
    let mut warnings = Vec::new();
    let measured = gate.measure(&mut place, &signals, &mut |event| {
        if let Event::Build(news) = event
            && news.is_warning()
        {
            warnings.push(news.to_string());
        }
    });
    Ok(Gate::new(measured?, warnings))
}

/// What the caller's keywords say.
#[derive(Default)]
struct GateSettings {
    names: Vec<String>,
    options: SuiteOptions,
    tags: BTreeMap<String, String>,
}

fn settings(given: Option<&Bound<'_, PyDict>>) -> PyResult<GateSettings> {
    let mut all = GateSettings::default();
    let GateSettings { names, options, tags } = &mut all;
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        if value.is_none() {
            continue;
        }
        let written = |expected: String| PyValueError::new_err(format!("{key}={value}: {expected}"));
        match key.as_str() {
            "names" => *names = value.extract()?,
            "tags" => *tags = value.extract()?,
            "build" => options.build = Some(value.extract()?),
            "setup" => options.setup = Some(value.extract()?),
            "prepare" => options.prepare = Some(value.extract()?),
            "conclude" => options.conclude = Some(value.extract()?),
            "cleanup" => options.cleanup = Some(value.extract()?),
            "max_blocks" => options.max_blocks = Some(value.extract()?),
            "control" => options.control = Some(value.extract()?),
            "env" => options.conditions.env = value.extract()?,
            "budget" => options.budget = Some(duration(&value.extract::<String>()?).map_err(written)?),
            "timeout" => options.conditions.timeout = Some(duration(&value.extract::<String>()?).map_err(written)?),
            "threshold" => options.conditions.threshold = Some(share(&value.extract::<String>()?).map_err(written)?),
            "cpus" => {
                let cpus = parse_cpu_list(&value.extract::<String>()?).filter(|cpus| !cpus.is_empty());
                let cpus = cpus.ok_or_else(|| written("expected a list such as 1 or 0-3,8".to_owned()))?;
                options.conditions.cpus = Some(cpus);
            }
            "measure" => {
                let measure = match value.extract::<String>()?.as_str() {
                    "cpu" => GateMeasure::Cpu,
                    "elapsed" => GateMeasure::Elapsed,
                    _ => return Err(written("expected cpu or elapsed".to_owned())),
                };
                options.conditions.measure = Some(measure);
            }
            other => return Err(PyTypeError::new_err(format!("gate() got an unexpected setting '{other}'"))),
        }
    }
    Ok(all)
}
