//! Values as users write them, in options and in files.

use crate::base::units::Nanos;

/// A time with a unit: `500ms`, `90s`, `10min`, `2h`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1.0,
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a time such as 500ms, 90s, 10min or 2h".to_owned()),
    };
    match digits.trim().parse::<f64>() {
        Ok(n) if n * unit >= 1e-9 && n * unit < 1e8 => Ok(Nanos::from_secs_f64(n * unit)),
        _ => Err("expected a positive time such as 500ms, 90s, 10min or 2h".to_owned()),
    }
}

/// A share between 0 and 1, as a fraction or in per cent: `0.01`, `1%`.
pub fn share(text: &str) -> Result<f64, String> {
    let found = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|p: f64| p / 100.0),
        None => text.trim().parse(),
    };
    found.ok().filter(|s| *s > 0.0 && *s < 1.0).ok_or_else(|| "expected a share such as 1% or 0.01".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_or_per_cent() {
        for (text, expected) in [("1%", 0.01), ("0.01", 0.01), (" 2.5 % ", 0.025), ("99%", 0.99), ("1e-3", 0.001)] {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for bad in ["", "%", "1", "0", "0%", "100%", "-1%", "x", "NaN", "inf", "1%%", "1 per cent"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms").unwrap(), Nanos::from_millis(500));
        assert_eq!(duration("1.5").unwrap(), Nanos::from_millis(1500));
        assert_eq!(duration("2h").unwrap(), Nanos(7_200_000_000_000));
        assert_eq!((duration("100ns").unwrap(), duration("2us").unwrap()), (Nanos(100), Nanos(2000)));
        for bad in ["", "x", "-1s", "0", "0.1ns", "1d", "1e99"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
