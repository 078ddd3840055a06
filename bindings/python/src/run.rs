//! Runs: measuring them, and what they say.

use crate::error::raised;
use crate::process::alone;
use crate::samples::{SampleColumns, Samples};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use tarebench::core::compare::duet::Duet;
use tarebench::core::profile::data::Profile;
use tarebench::core::run::data::Run as RunData;
use tarebench::core::run::report::build::build_from;
use tarebench::core::run::report::data::{Comparison, RunReport};
use tarebench::core::run::report::duals::duals;
use tarebench::core::run::samples::{Kept, SampleSource};
use tarebench::core::run::shown::ShownRun;
use tarebench::core::sample::data::Sample;
use tarebench::render::run::json;
use tarebench::render::run::sheet::{self, DrawnSamples};
use tarebench::render::run::terminal::report::run_report;
use tarebench::report::hints::Hints;
use tarebench::report::style::Style;
use tarebench::report::svg::figures::figures;
use tarebench::report::web::html::html;
use tarebench::report::web::page::Page;
use tarebench::run::session::{StopReason, StorePlace, load, store_path};
use tarebench::store::SqliteStore;
use tarebench::sys::clock;
use tarebench_cli::api::{self, Failure, Timed};

/// Where the samples are.
enum SampleSite {
    Store {
        path: PathBuf,
        id: i64,
    },
    /// Of a run that is not in a store, or not all of it.
    Memory {
        samples: Vec<Sample>,
        duets: Vec<Duet>,
        profile: Option<Box<Profile>>,
    },
}

/// How a measurement ended, where it did not just finish.
#[derive(Default)]
struct RunEnd {
    /// The signal that ended it.
    interrupted: Option<i32>,
    /// Why it stopped.
    stopped: Option<String>,
    /// Why the machine is not as it was before.
    not_restored: Option<String>,
    failed_cleanups: Vec<String>,
}

/// A run with its report.
#[pyclass(frozen, module = "tarebench._native")]
pub struct Run {
    report: RunReport,
    site: SampleSite,
    end: RunEnd,
}

impl Run {
    fn measured(timed: Timed) -> Result<Run, Failure> {
        let report = timed.report()?;
        let Timed { measured, place, restored, .. } = timed;
        let (interrupted, stopped) = match &measured.why {
            StopReason::Finished => (None, None),
            StopReason::Interrupted(signal) => (Some(*signal), None),
            StopReason::NotKept(e) => {
                (None, Some(format!("the last sample could not be stored; the run stopped: {e}")))
            }
            StopReason::Failed(e) => (None, Some(format!("measuring stopped: {e}"))),
        };
        let site = match &place {
            StorePlace::Store(store) if !matches!(measured.why, StopReason::NotKept(_)) => {
                SampleSite::Store { path: store.path().to_owned(), id: measured.run.id }
            }
            StorePlace::Store(_) | StorePlace::Nowhere => {
                let all = measured.samples(&place);
                let profile = measured.profile.clone().map(Box::new);
                SampleSite::Memory { samples: all.all()?, duets: all.duets()?, profile }
            }
        };
        let end = RunEnd {
            interrupted,
            stopped,
            not_restored: restored.err().map(|failure| failure.message),
            failed_cleanups: measured.failed_cleanups.iter().map(|c| c.message.clone()).collect(),
        };
        Ok(Run { report, site, end })
    }

    /// A run of a store.
    pub fn stored(path: PathBuf, id: i64) -> Result<Run, Failure> {
        let store = SqliteStore::open_read_only(&path)?;
        let report = load(&store, id)?.report()?;
        Ok(Run { report, site: SampleSite::Store { path, id }, end: RunEnd::default() })
    }

    fn columns(&self) -> Result<Samples, Failure> {
        let mut columns = SampleColumns::new(&self.report);
        match &self.site {
            SampleSite::Store { path, id } => {
                let store = SqliteStore::open_read_only(path)?;
                load(&store, *id)?.samples.each(&mut |sample| columns.add(sample))?;
            }
            SampleSite::Memory { samples, .. } => samples.iter().for_each(|sample| columns.add(sample)),
        }
        columns.finish().map_err(Failure::system)
    }

    /// The comparison of the report, or with another program as the reference.
    fn compared(&self, series: u32, reference: u32) -> Result<Option<Comparison>, Failure> {
        let found = |report: &RunReport| {
            let is_asked = |c: &&Comparison| c.series == series && c.reference == reference;
            report.comparisons.iter().chain(&report.control).find(is_asked).cloned()
        };
        if let Some(comparison) = found(&self.report) {
            return Ok(Some(comparison));
        }
        let mut report = match &self.site {
            SampleSite::Store { path, id } => {
                let store = SqliteStore::open_read_only(path)?;
                let mut stored = load(&store, *id)?;
                refer_to(&mut stored.run, reference);
                stored.report()?
            }
            SampleSite::Memory { samples, duets, profile } => {
                let mut run = self.report.run.clone();
                refer_to(&mut run, reference);
                let Ok(report) = build_from(&run, &Kept { samples, duets }, profile.as_deref());
                report
            }
        };
        // By what the run's own comparisons are made, where these two programs have it.
        if let Some(own) = self.report.comparisons.first() {
            match own.number() {
                Some(number) => {
                    let _ = report.compare_by_number(number);
                }
                None => {
                    let _ = report.compare_by(own.measure);
                }
            }
        }
        Ok(found(&report))
    }

    /// Hints name the store where it is not the default one.
    fn hints(&self) -> Hints {
        let SampleSite::Store { path, .. } = &self.site else { return api::hints(None) };
        let usual = store_path(None).is_ok_and(|usual| usual == *path);
        api::hints(Some(path.as_path()).filter(|_| !usual))
    }

    fn drawn(&self) -> Result<Page, Failure> {
        if self.report.run.plan.programs.is_empty() {
            let text = format!("run {} is a recording of the machine, without programs", self.report.run.id);
            return Err(Failure::usage(text));
        }
        let draw = |shown: &ShownRun| {
            let clusters = duals(&self.report.run, shown);
            let foot = format!("tare {}, report of {}", tarebench::VERSION, clock::local_time(clock::realtime()));
            let drawn = DrawnSamples { shown, clusters: &clusters };
            sheet::run(&self.report, Some(drawn), &self.hints(), &clock::zone(), foot).into_page()
        };
        match &self.site {
            SampleSite::Store { path, id } => {
                let store = SqliteStore::open_read_only(path)?;
                let stored = load(&store, *id)?;
                Ok(draw(&ShownRun::read(&stored.run, &stored.samples)?))
            }
            SampleSite::Memory { samples, duets, .. } => {
                let Ok(shown) = ShownRun::read(&self.report.run, &Kept { samples, duets });
                Ok(draw(&shown))
            }
        }
    }
}

fn refer_to(run: &mut RunData, reference: u32) {
    for (i, program) in (0..).zip(&mut run.plan.programs) {
        program.reference = i == reference;
    }
}

/// Measures as `tare run` with these words after `run`. Signals that end it leave what was measured.
#[pyfunction]
#[pyo3(name = "run")]
pub fn measured_run(py: Python<'_>, arguments: Vec<OsString>, show_progress: bool) -> PyResult<Run> {
    let measured = move || Run::measured(alone(|| api::run(arguments, show_progress))?);
    py.detach(measured).map_err(|failure| raised(py, &failure))
}

#[pymethods]
impl Run {
    /// Number in the store; 0 if it is not stored.
    #[getter]
    fn id(&self) -> i64 {
        self.report.run.id
    }

    /// File of the store; None if the run is not in one.
    #[getter]
    fn store(&self) -> Option<PathBuf> {
        match &self.site {
            SampleSite::Store { path, .. } => Some(path.clone()),
            SampleSite::Memory { .. } => None,
        }
    }

    /// Number of the signal that ended the measurement.
    #[getter]
    fn interrupted(&self) -> Option<i32> {
        self.end.interrupted
    }

    /// Why the measurement stopped before its end, other than by a signal.
    #[getter]
    fn stopped(&self) -> Option<String> {
        self.end.stopped.clone()
    }

    /// Why the machine, which was tuned for the run, is not as it was before.
    #[getter]
    fn not_restored(&self) -> Option<String> {
        self.end.not_restored.clone()
    }

    /// The cleanup commands that failed, and how.
    #[getter]
    fn failed_cleanups(&self) -> Vec<String> {
        self.end.failed_cleanups.clone()
    }

    /// The report as JSON, as `tare show --json` prints it, without samples.
    fn report_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json::full(&self.report, &[], &self.hints()).map_err(Failure::system)).map_err(|f| raised(py, &f))
    }

    /// A program against another one, as JSON; None if there is no ratio.
    fn compare_json(&self, py: Python<'_>, series: u32, reference: u32) -> PyResult<Option<String>> {
        let text = || {
            let found = self.compared(series, reference)?;
            found.map(|c| serde_json::to_string(&c).map_err(Failure::system)).transpose()
        };
        py.detach(text).map_err(|failure| raised(py, &failure))
    }

    /// The result as the command prints it, without colours.
    #[pyo3(signature = (width = 100, full = false))]
    fn text(&self, py: Python<'_>, width: usize, full: bool) -> String {
        let style = Style { width, full, zone: clock::zone(), hints: self.hints(), ..Style::default() };
        py.detach(|| run_report(&self.report, &style))
    }

    /// All samples.
    fn samples(&self, py: Python<'_>) -> PyResult<Samples> {
        py.detach(|| self.columns()).map_err(|failure| raised(py, &failure))
    }

    /// The page of `tare report`: one HTML document that loads nothing.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let text = || html(&self.drawn()?).map_err(Failure::system);
        py.detach(text).map_err(|failure| raised(py, &failure))
    }

    /// The figures of `tare report --svg`: file name and SVG of each.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let all = || figures(&self.drawn()?).map_err(Failure::system);
        py.detach(all).map_err(|failure| raised(py, &failure))
    }
}
