//! What goes wrong when something is written.

use std::convert::Infallible;
use std::io;

/// A document could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The JSON writer failed.
    #[error("the JSON document could not be written: {0}")]
    Json(#[from] serde_json::Error),
    /// The CSV writer failed.
    #[error("the CSV table could not be written: {0}")]
    Csv(#[from] ::csv::Error),
    /// The writer given by the caller failed.
    #[error("the document could not be written: {0}")]
    Io(#[from] io::Error),
}

/// A document with all samples of a run could not be written.
#[derive(Debug)]
pub enum SamplesError<E> {
    /// The samples could not be read.
    Unread(E),
    Unwritten(RenderError),
}

impl<E> From<RenderError> for SamplesError<E> {
    fn from(e: RenderError) -> SamplesError<E> {
        SamplesError::Unwritten(e)
    }
}

impl From<SamplesError<Infallible>> for RenderError {
    fn from(e: SamplesError<Infallible>) -> RenderError {
        match e {
            SamplesError::Unwritten(e) => e,
            SamplesError::Unread(never) => match never {},
        }
    }
}

impl From<RenderError> for io::Error {
    /// The writer's own error, if that is the cause.
    fn from(e: RenderError) -> io::Error {
        match e {
            RenderError::Io(e) => e,
            RenderError::Json(e) => e.into(),
            RenderError::Csv(e) => {
                let text = e.to_string();
                match e.into_kind() {
                    ::csv::ErrorKind::Io(e) => e,
                    _ => io::Error::other(text),
                }
            }
        }
    }
}
