//! Values in the file of a campaign: times, and lists of texts.

use tarebench::written::BadWritten;
use tarebench_core::base::units::Nanos;
use toml::{Spanned, Value};

/// Longest time, in seconds: a hundred years.
const LONGEST: f64 = 3.2e9;

/// A time with a unit, `90s`, `2h`, `7d`; a bare number is seconds.
pub fn parse_time(text: &str) -> Result<Nanos, &'static str> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return Err("expected a time such as 90s, 10min, 2h or 7d"),
    };
    match digits.trim().parse::<f64>() {
        Ok(n) if n * unit >= 1e-3 && n * unit < LONGEST => Ok(Nanos::from_secs_f64(n * unit)),
        Ok(_) => Err("expected a positive time such as 90s, 10min, 2h or 7d"),
        Err(_) => Err("expected a time such as 90s, 10min, 2h or 7d"),
    }
}

/// A time that is written as text or as a number of seconds.
pub(crate) fn time(key: &str, value: Spanned<Value>) -> Result<Nanos, BadWritten> {
    let at = Some(value.span().start);
    let text = match value.into_inner() {
        Value::String(text) => text,
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        _ => {
            return Err(BadWritten::new(at, format!("{key} is no time, expected e.g. \"2h\" or a number of seconds")));
        }
    };
    parse_time(&text).map_err(|expected| BadWritten::new(at, format!("{key} is `{text}`, {expected}")))
}

/// Hour and minute of `HH:MM`.
pub fn parse_clock(text: &str) -> Result<(u8, u8), &'static str> {
    let parts = text.split_once(':').and_then(|(h, m)| Some((h.parse::<u8>().ok()?, m.parse::<u8>().ok()?)));
    parts.filter(|(h, m)| *h < 24 && *m < 60).ok_or("expected a time of day such as 02:00")
}

pub(crate) fn clock_time(value: &Spanned<String>) -> Result<(u8, u8), BadWritten> {
    let text = value.get_ref();
    parse_clock(text)
        .map_err(|expected| BadWritten::new(Some(value.span().start), format!("at is `{text}`, {expected}")))
}

/// The values of a parameter, as texts.
pub(crate) fn texts(name: &str, values: Spanned<Vec<Value>>) -> Result<Vec<String>, BadWritten> {
    let at = Some(values.span().start);
    let values = values.into_inner();
    if values.is_empty() {
        return Err(BadWritten::new(at, format!("the parameter `{name}` has no values, expected at least one")));
    }
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        Value::Integer(n) => Ok(n.to_string()),
        Value::Float(n) => Ok(n.to_string()),
        _ => Err(BadWritten::new(at, format!("`{name}` is a list of texts or numbers, expected e.g. [\"a\", \"b\"]"))),
    };
    values.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("7d"), Ok(Nanos(604_800_000_000_000)));
        assert_eq!((parse_time("90"), parse_time("1.5min")), (parse_time("90s"), parse_time("90")));
        for bad in ["", "x", "-1s", "0", "1y", "1e99", "NaN", "inf"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
        assert_eq!((parse_clock("02:05"), parse_clock("23:59")), (Ok((2, 5)), Ok((23, 59))));
        for bad in ["", "2", "24:00", "12:60", "-1:00", "a:b"] {
            assert!(parse_clock(bad).is_err(), "{bad}");
        }
    }
}
