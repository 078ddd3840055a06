//! What the commands do with stored documents of a kind: each kind has an entry in one table
//! ([`crate::documents::kinds`]), to which a larger program adds its own.

use crate::args::exports::Exports;
use crate::args::style::Show;
use crate::exit::Exit;
use crate::exit::Failure;
use crate::machine::tune::TuneAround;
use tarebench::compare::gate::GateError;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::documents::DocumentError;
use tarebench::report::hints::Hints;
use tarebench::report::web::page::Page;
use tarebench::run::session::ImportTrust;
use tarebench::store::{Store, StoreError};

/// The entry of a kind.
#[derive(Clone, Copy)]
pub struct KindCommands {
    pub kind: DocumentKind,
    /// Prints a document, and writes the requested files.
    pub show: fn(&dyn Store, Id, &ShowRequest<'_>) -> Result<(), Failure>,
    pub page: fn(&dyn Store, Id, &Hints) -> Result<DocumentPage, PageError>,
    /// Measures what is left of a document, and prints it; `None`: it cannot be resumed.
    pub resume: Option<ResumeDocument>,
    /// Whether samples can be discarded at other standard deviations when it is shown.
    pub has_sigma: bool,
    /// Why a document that is not finished cannot be exported; `None`: it can be.
    pub unfinished: Option<fn(Id) -> Failure>,
}

/// Resumes a document of a store.
pub type ResumeDocument = fn(Box<dyn Store>, Id, &ResumeRequest<'_>) -> Result<Exit, Failure>;

/// How a document is shown.
pub struct ShowRequest<'a> {
    /// Discard samples at this many standard deviations.
    pub sigma: Option<f64>,
    pub exports: &'a Exports,
    pub show: &'a Show,
}

/// How a document is resumed.
pub struct ResumeRequest<'a> {
    /// Whether commands that were imported may be run.
    pub trust: ImportTrust,
    pub tuning: &'a TuneAround,
    pub exports: &'a Exports,
    pub show: &'a Show,
}

/// The page of a document.
pub struct DocumentPage {
    pub page: Page,
    /// Its figures as SVG, each with the name of its file; `None`: those of the page.
    pub figures: Option<Vec<(String, String)>>,
    /// What its file is named after; `None`: its kind and number.
    pub stem: Option<String>,
}

impl From<Page> for DocumentPage {
    fn from(page: Page) -> DocumentPage {
        DocumentPage { page, figures: None, stem: None }
    }
}

/// Why a document has no page.
pub enum PageError {
    /// The store: the same may succeed over another connection.
    Store(StoreError),
    Other(Failure),
}

impl From<StoreError> for PageError {
    fn from(e: StoreError) -> PageError {
        PageError::Store(e)
    }
}

impl From<Failure> for PageError {
    fn from(e: Failure) -> PageError {
        PageError::Other(e)
    }
}

impl From<DocumentError> for PageError {
    fn from(e: DocumentError) -> PageError {
        match e {
            DocumentError::Store(e) => e.into(),
            other => PageError::Other(other.into()),
        }
    }
}

impl From<GateError> for PageError {
    fn from(e: GateError) -> PageError {
        match e {
            GateError::Document(e) => e.into(),
            other => PageError::Other(other.into()),
        }
    }
}

impl From<PageError> for Failure {
    fn from(e: PageError) -> Failure {
        match e {
            PageError::Store(e) => e.into(),
            PageError::Other(e) => e,
        }
    }
}
