//! The main figures as SVG, without a browser.

use crate::RenderError;
use crate::web::page::Page;

/// Figures of a page: file name and text.
///
/// # Errors
/// [`RenderError`] if a figure cannot be drawn.
pub fn figures(_page: &Page) -> Result<Vec<(String, String)>, RenderError> {
    Ok(Vec::new())
}
