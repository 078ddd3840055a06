//! The store of runs, profiles and measurements of noise.

use crate::error::raised;
use crate::gate::Gate;
use crate::run::Run;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::profile::data::Profile;
use tarebench::listed::ListEntry;
use tarebench::render::noise::json::noise as noise_json;
use tarebench::render::profile::sheet::json as profile_json;
use tarebench::run::session::store_path;
use tarebench::store::{DocumentFilter, DocumentSummary, SqliteStore, Store as _, StoreError, is_server};
use tarebench_cli::api::Failure;

/// A store, opened for reading for each question, so that other processes may write to it meanwhile.
#[pyclass(frozen, module = "tarebench._native")]
pub struct Store {
    path: PathBuf,
}

/// The given file, else that of TARE_DB, else the default one; `None` for the name `none`.
pub fn place(given: Option<PathBuf>) -> Result<Option<PathBuf>, Failure> {
    let named = given.or_else(|| std::env::var_os("TARE_DB").map(PathBuf::from));
    let named = named.filter(|path| !path.as_os_str().is_empty());
    if named.as_ref().is_some_and(|path| path.as_os_str() == "none") {
        return Ok(None);
    }
    if named.as_ref().is_some_and(|path| is_server(path.as_os_str())) {
        return Err(Failure::usage("the store is a server, expected a file"));
    }
    Ok(Some(store_path(named.as_deref())?))
}

fn readable_place(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    place(given)?.ok_or_else(|| {
        let what = "there is no store: the given path or TARE_DB is `none`";
        Failure::usage(what).hint("give a file, or unset TARE_DB")
    })
}

fn wrong_kind(named: Id, expected: DocumentKind) -> Failure {
    Failure::usage(format!("{} is not a {}", named.phrase(), expected.noun()))
}

impl Store {
    fn open(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open_read_only(&self.path)?)
    }

    /// No store yet is an empty list.
    fn listed(&self, filter: &DocumentFilter) -> Result<Vec<DocumentSummary>, Failure> {
        match SqliteStore::open_read_only(&self.path) {
            Ok(store) => Ok(store.list(filter)?),
            Err(StoreError::Missing { .. }) => Ok(Vec::new()),
            Err(e) => Err(e.into()),
        }
    }

    /// As `tare list` has them.
    fn runs_listed(&self, filter: &DocumentFilter) -> Result<String, Failure> {
        let runs = self.listed(filter)?;
        serde_json::to_string(&runs.iter().map(ListEntry::new).collect::<Vec<_>>()).map_err(Failure::system)
    }

    fn documents_listed(&self, filter: &DocumentFilter) -> Result<String, Failure> {
        // The limit is of those that are no runs.
        let all = self.listed(&DocumentFilter { limit: None, ..filter.clone() })?.into_iter();
        let limit = filter.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let documents: Vec<_> = all.filter(|d| d.head.kind != DocumentKind::Run).take(limit).collect();
        serde_json::to_string(&documents).map_err(Failure::system)
    }

    fn found_run(&self, name: &str) -> Result<Run, Failure> {
        match self.open()?.find(name)? {
            Id { kind: DocumentKind::Run, number: id } => Run::stored(self.path.clone(), id),
            other => Err(wrong_kind(other, DocumentKind::Run)),
        }
    }

    fn found_gate(&self, name: &str) -> Result<Gate, Failure> {
        let store = self.open()?;
        match store.find(name)? {
            id if id.kind == DocumentKind::Gate => Gate::stored(&store, id),
            other => Err(wrong_kind(other, DocumentKind::Gate)),
        }
    }

    fn found_noise(&self, name: &str) -> Result<String, Failure> {
        let store = self.open()?;
        let id = match store.find(name)? {
            id if id.kind == DocumentKind::Noise => id,
            other => return Err(wrong_kind(other, DocumentKind::Noise)),
        };
        let (head, noise) = tarebench::noise::measure::load(&store, id)?;
        let grains = tarebench::noise::measure::reported(&noise, &[]);
        noise_json(&head, &noise, &grains).map_err(Failure::system)
    }

    fn found_profile(&self, name: Option<&str>) -> Result<Option<String>, Failure> {
        let store = self.open()?;
        let profile: Option<Profile> = match name {
            None => store.newest_profile(&tarebench::machine::identity())?,
            Some(name) => match store.find(name)? {
                id if id.kind == DocumentKind::Profile => Some(finished(&store, id)?),
                other => return Err(wrong_kind(other, DocumentKind::Profile)),
            },
        };
        let Some(profile) = profile else { return Ok(None) };
        let learned = tarebench::profile::learned(&profile)?;
        profile_json(&profile, &learned).map(Some).map_err(Failure::system)
    }
}

fn finished(store: &SqliteStore, id: Id) -> Result<Profile, Failure> {
    let unfinished = || {
        let text = format!("{id} is not finished: there is no profile yet");
        Failure::usage(text).hint(format!("resume with: `tare resume {id}`"))
    };
    tarebench::profile::load(store, id)?.ok_or_else(unfinished)
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path = None))]
    fn new(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Store> {
        let path = readable_place(path).map_err(|failure| raised(py, &failure))?;
        Ok(Store { path })
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The runs that have these tags, newest first, at most `limit` of them: a JSON list.
    fn runs_json(&self, py: Python<'_>, limit: Option<u32>, tags: BTreeMap<String, String>) -> PyResult<String> {
        let filter = DocumentFilter { tags, limit, ..DocumentFilter::of_kind(DocumentKind::Run) };
        py.detach(|| self.runs_listed(&filter)).map_err(|failure| raised(py, &failure))
    }

    /// Other results than runs, newest first: a JSON list; of one kind, if that is named.
    fn documents_json(
        &self,
        py: Python<'_>,
        kind: Option<String>,
        limit: Option<u32>,
        tags: BTreeMap<String, String>,
    ) -> PyResult<String> {
        let kind = kind.map(|name| {
            let unknown = || Failure::usage(format!("`{name}` is not a kind of result"));
            DocumentKind::named(&name).ok_or_else(unknown)
        });
        let kind = kind.transpose().map_err(|failure| raised(py, &failure))?;
        let filter = DocumentFilter { kind, tags, limit };
        py.detach(|| self.documents_listed(&filter)).map_err(|failure| raised(py, &failure))
    }

    /// A run: its number, `last`, or at least four digits of its uuid.
    fn run(&self, py: Python<'_>, name: String) -> PyResult<Run> {
        py.detach(|| self.found_run(&name)).map_err(|failure| raised(py, &failure))
    }

    /// A gate, e.g. `g1`.
    fn gate(&self, py: Python<'_>, name: String) -> PyResult<Gate> {
        py.detach(|| self.found_gate(&name)).map_err(|failure| raised(py, &failure))
    }

    /// A measurement of noise, e.g. `n1`: JSON as of `tare show --json`.
    fn noise_json(&self, py: Python<'_>, name: String) -> PyResult<String> {
        py.detach(|| self.found_noise(&name)).map_err(|failure| raised(py, &failure))
    }

    /// A profile by its name or number, or this machine's newest: JSON as of `tare show --json`; None if there is none.
    fn profile_json(&self, py: Python<'_>, name: Option<String>) -> PyResult<Option<String>> {
        py.detach(|| self.found_profile(name.as_deref())).map_err(|failure| raised(py, &failure))
    }
}
