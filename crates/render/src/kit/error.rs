//! What goes wrong when something is written.

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
    Io(#[from] std::io::Error),
}
