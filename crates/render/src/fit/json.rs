//! Growth as one JSON document.

use serde::Serialize;
use tarebench_core::fit::SizeFit;
use tarebench_core::statistics::complexity::Expectation;
use tarebench_core::statistics::growth::Growth;
use tarebench_report::error::RenderError;

#[derive(Serialize)]
struct FitJson<'a> {
    format: &'static str,
    version: u32,
    fit: &'a SizeFit,
    simplest: Growth,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Growth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Expectation>,
}

/// `{"format":"tare-fit","version":1,"fit":…,"simplest":…,"expected":…,"verdict":…}`, one line; times in ns.
pub fn json(fit: &SizeFit, expected: Option<Growth>) -> Result<String, RenderError> {
    let document = FitJson {
        format: "tare-fit",
        version: 1,
        fit,
        simplest: fit.complexity.simplest(),
        expected,
        verdict: expected.map(|e| fit.complexity.expects(e)),
    };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}
