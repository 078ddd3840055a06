//! Words and figures that reports share.

use crate::number;
use crate::number::TimeScale;
use crate::screen::ScreenText;
use std::fmt::Display;
use tarebench_core::statistics::intervals::Interval;

/// `1 sample`, `2 samples`.
pub fn plural(n: impl Into<u64>, noun: &str) -> String {
    let n = n.into();
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// With a capital letter at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A time with its unit, or the sign for absent.
pub fn time(page: &ScreenText<'_>, ns: f64) -> String {
    let text = number::time(ns, page.style.unit, page.style.unicode);
    text.map_or_else(|| page.g.absent.to_owned(), |t| t.replacen('-', page.g.minus, 1))
}

/// A time in a scale, or the sign for absent.
pub fn value(page: &ScreenText<'_>, scale: TimeScale, ns: f64) -> String {
    let text = scale.value(ns);
    text.map_or_else(|| page.g.absent.to_owned(), |t| t.replacen('-', page.g.minus, 1))
}

/// `[low, high]` in a scale.
pub fn interval(page: &ScreenText<'_>, scale: TimeScale, i: &Interval) -> String {
    format!("[{}, {}]", value(page, scale, i.low), value(page, scale, i.high))
}

/// Sample numbers, from 1, in ranges: `1-3, 7`; cut after some.
pub fn numbers(indices: &[u32], absent_more: usize) -> String {
    let mut sorted: Vec<u64> = indices.iter().map(|&i| u64::from(i) + 1).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for n in sorted {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == n => *end = n,
            _ => ranges.push((n, n)),
        }
    }
    let total = ranges.len();
    let mut parts: Vec<String> = Vec::new();
    for &(a, b) in ranges.iter().take(absent_more) {
        match b - a {
            0 => parts.push(a.to_string()),
            1 => parts.push(format!("{a}, {b}")),
            _ => parts.push(format!("{a}-{b}")),
        }
    }
    if total > absent_more {
        let rest: u64 = ranges[absent_more..].iter().map(|(a, b)| b - a + 1).sum();
        parts.push(format!("and {rest} more"));
    }
    parts.join(", ")
}

/// Reasons, each once, with those it applies to: `user, system: not known: …`.
#[derive(Default)]
pub struct Reasons(Vec<(Vec<String>, String)>);

impl Reasons {
    pub fn add(&mut self, what: &str, why: &impl Display) {
        let why = why.to_string();
        let why = why.strip_prefix("no interval: ").unwrap_or(&why).to_owned();
        match self.0.iter_mut().find(|(_, w)| *w == why) {
            Some((whats, _)) if whats.iter().any(|w| w == what) => {}
            Some((whats, _)) => whats.push(what.to_owned()),
            None => self.0.push((vec![what.to_owned()], why)),
        }
    }

    pub fn lines(&self, page: &ScreenText<'_>) -> Vec<String> {
        let line = |(whats, why): &(Vec<String>, String)| format!("{}: {}", whats.join(", "), page.style.prose(why));
        self.0.iter().map(line).collect()
    }
}
