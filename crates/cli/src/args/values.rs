//! Values that several commands take.

use crate::exit::Failure;
pub use tarebench::core::base::written::{duration, share};

/// `KEY=VALUE`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((k, v)) if !k.is_empty() => Ok((k.to_owned(), v.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Standard deviations of check 2: a positive number, or `none`, which is 0.
pub fn sigma(text: &str) -> Result<f64, String> {
    if text == "none" {
        return Ok(0.0);
    }
    let number = text.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
    number.ok_or_else(|| "expected a positive number, e.g. 2 (strict) or 5 (relaxed), or none".to_owned())
}

/// A list of CPUs, such as `1` or `0-3,8`.
pub fn cpu_list(list: &str) -> Result<Vec<u32>, Failure> {
    let cpus = tarebench::sys::procfs::parse_cpu_list(list).filter(|c| !c.is_empty());
    cpus.ok_or_else(|| Failure::usage(format!("--cpus {list}: expected a list such as 1 or 0-3,8")))
}
