//! Numbers for people: one unit, and no more digits than the spread justifies.

use std::fmt;
use tarebench_core::base::units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

impl TimeUnit {
    /// The unit in which a time of `ns` nanoseconds has one to three digits before its point.
    pub fn of(ns: f64) -> TimeUnit {
        // What is rounded to 1000 of a unit belongs to the next one.
        match ns.abs() {
            x if x < 999.5 => TimeUnit::Nanosecond,
            x if x < 999.5e3 => TimeUnit::Microsecond,
            x if x < 999.5e6 => TimeUnit::Millisecond,
            _ => TimeUnit::Second,
        }
    }

    pub fn nanos(self) -> f64 {
        match self {
            TimeUnit::Nanosecond => 1.0,
            TimeUnit::Microsecond => 1e3,
            TimeUnit::Millisecond => 1e6,
            TimeUnit::Second => 1e9,
        }
    }

    /// Decimals of a nanosecond in this unit: more are never shown.
    pub fn finest(self) -> usize {
        match self {
            TimeUnit::Nanosecond => 0,
            TimeUnit::Microsecond => 3,
            TimeUnit::Millisecond => 6,
            TimeUnit::Second => 9,
        }
    }

    /// Its sign; `µs` is `us` without Unicode.
    pub fn sign(self, unicode: bool) -> &'static str {
        match self {
            TimeUnit::Nanosecond => "ns",
            TimeUnit::Microsecond if unicode => "µs",
            TimeUnit::Microsecond => "us",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Second => "s",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.sign(true))
    }
}

/// Decimals that show `value` with `digits` significant digits; none left of the point are dropped.
pub fn decimals_for(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (digits - 1 - magnitude).max(0);
    // Rounding may add a digit: 0.0996 with two digits is 0.10, not 0.100.
    let rounded = (value.abs() * 10f64.powi(decimals)).round();
    let over = rounded >= 10f64.powi(digits) && decimals > 0;
    (decimals - i32::from(over)) as usize
}

/// Decimals for a value and its spread: the spread with two significant digits, the value with at least three.
pub fn decimals(value: f64, spread: Option<f64>) -> usize {
    let by_value = decimals_for(value, 3);
    match spread {
        Some(s) if s > 0.0 && s.is_finite() => decimals_for(s, 2).max(by_value),
        _ => by_value,
    }
}

/// A fixed number of decimals; minus zero is zero, and what is not a number is `None`.
pub fn fixed(value: f64, decimals: usize) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:.decimals$}");
    let zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    Some(if zero { text.trim_start_matches('-').to_owned() } else { text })
}

/// How the times of one row or table are written: a unit, and decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale {
    pub unit: TimeUnit,
    pub decimals: usize,
}

impl TimeScale {
    /// For a mean and its spread (ns), in `unit` if the user chose one.
    pub fn of(mean: f64, spread: Option<f64>, unit: Option<TimeUnit>) -> TimeScale {
        let unit = unit.unwrap_or_else(|| TimeUnit::of(mean));
        let decimals = decimals(mean / unit.nanos(), spread.map(|s| s / unit.nanos()));
        TimeScale { unit, decimals: decimals.min(unit.finest()) }
    }

    /// The same for a time that may have decimals of a nanosecond; five digits at most.
    pub fn fine(mean: f64, spread: Option<f64>, unit: Option<TimeUnit>) -> TimeScale {
        let unit = unit.unwrap_or_else(|| TimeUnit::of(mean));
        let value = mean / unit.nanos();
        let decimals = decimals(value, spread.map(|s| s / unit.nanos())).min(decimals_for(value, 5));
        TimeScale { unit, decimals: decimals.min(unit.finest() + 3) }
    }

    /// A time of `ns` nanoseconds, without its unit.
    pub fn value(self, ns: f64) -> Option<String> {
        fixed(ns / self.unit.nanos(), self.decimals)
    }
}

/// A single time with its unit, three significant digits: `12.3 ms`; no time at all is `0`, unless a unit was chosen.
pub fn time(ns: f64, unit: Option<TimeUnit>, unicode: bool) -> Option<String> {
    if ns == 0.0 && unit.is_none() {
        return Some("0".to_owned());
    }
    let scale = TimeScale::of(ns, None, unit);
    Some(format!("{} {}", scale.value(ns)?, scale.unit.sign(unicode)))
}

/// A long time: `3.2 h`, `4.0 min`, `12.3 s`.
pub fn long_time(t: Nanos, unicode: bool) -> String {
    let s = t.secs();
    let shown =
        |value: f64, unit: &str| format!("{} {unit}", fixed(value, decimals_for(value, 3).min(1)).unwrap_or_default());
    match s.abs() {
        x if x >= 48.0 * 3600.0 => shown(s / 86_400.0, "d"),
        x if x >= 3600.0 => shown(s / 3600.0, "h"),
        x if x >= 120.0 => shown(s / 60.0, "min"),
        _ => time(t.as_f64(), None, unicode).unwrap_or_default(),
    }
}

/// The time that something still takes, in whole seconds: `8 s`, `3 min 20 s`, `2 h 05 min`.
pub fn time_left(ns: f64) -> Option<String> {
    if !ns.is_finite() || ns < 0.0 {
        return None;
    }
    let secs = (ns / 1e9).ceil();
    Some(match secs {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), ((s % 3600.0) / 60.0).floor()),
    })
}

/// A relative figure in per cent with two significant digits: `0.38 %`.
pub fn percent(fraction: f64) -> Option<String> {
    let value = fraction * 100.0;
    Some(format!("{} %", fixed(value, decimals_for(value, 2).min(4))?))
}

/// A share that somebody chose: `2 %`, with no digit more than it has.
pub fn limit(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// A ratio as a change in per cent, without the sign of the unit: `4.1`, `-0.3`.
pub fn percent_of_change(ratio: f64, decimals: usize) -> Option<String> {
    let percent = (ratio - 1.0) * 100.0;
    match percent.abs() {
        size if (1e7..f64::INFINITY).contains(&size) => Some(format!("{percent:.1e}")),
        _ => fixed(percent, decimals),
    }
}

/// How numbers of no known unit are written.
#[derive(Clone, Copy)]
pub struct PlainScale {
    decimals: usize,
    /// With a power of ten, as they are very large or very small.
    power: bool,
}

impl PlainScale {
    /// By a value, its spread, and the largest size among the numbers that are written alike.
    pub fn new(value: f64, spread: Option<f64>, largest: f64) -> PlainScale {
        let power = largest >= 1e12 || (largest > 0.0 && largest < 1e-4);
        PlainScale { decimals: decimals(value, spread).min(9), power }
    }

    pub fn value(self, v: f64) -> String {
        match self.power {
            true => format!("{v:.3e}"),
            false => fixed(v, self.decimals).unwrap_or_default(),
        }
    }
}

/// Decimals of a ratio: two significant digits of the interval's half width, at least three of the ratio.
pub fn ratio_decimals(ratio: f64, half_width: Option<f64>) -> usize {
    decimals(ratio, half_width).min(6)
}

/// A ratio of durations: five significant digits.
pub fn ratio(value: f64) -> String {
    fixed(value, decimals_for(value, 5)).unwrap_or_default()
}

/// A probability: in per cent, or as a power of ten if it is small.
pub fn chance(p: f64) -> String {
    match p {
        0.0 => "0".to_owned(),
        p if p < 1e-4 => format!("{p:.1e}"),
        p => percent(p).unwrap_or_default(),
    }
}

/// A length that was chosen: in its unit, with no digit more than it has.
pub fn exact(length: Nanos, unicode: bool) -> String {
    let unit = TimeUnit::of(length.as_f64());
    format!("{} {}", length.as_f64() / unit.nanos(), unit.sign(unicode))
}

/// An amount of memory: `12.3 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.*} {unit}", decimals_for(value, 3))
}

/// A mean of counts: whole if it is or if it is large, else two significant digits.
pub fn count(mean: f64) -> Option<String> {
    if mean.fract() == 0.0 {
        return fixed(mean, 0);
    }
    fixed(mean, decimals_for(mean, 2).min(2))
}

/// The unit of a column: that of the middle one of its means.
pub fn unit(means: impl Iterator<Item = f64>, chosen: Option<TimeUnit>) -> TimeUnit {
    let mut means: Vec<f64> = means.collect();
    means.sort_by(f64::total_cmp);
    chosen.unwrap_or_else(|| means.get(means.len() / 2).map_or(TimeUnit::Second, |m| TimeUnit::of(*m)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(TimeUnit::of(999.0), TimeUnit::Nanosecond);
        assert_eq!(TimeUnit::of(999.6), TimeUnit::Microsecond);
        assert_eq!(TimeUnit::of(1e6), TimeUnit::Millisecond);
        assert_eq!(TimeUnit::of(-1e12), TimeUnit::Second);
        assert_eq!(TimeUnit::Microsecond.sign(false), "us");
    }

    #[test]
    fn digits_follow_the_spread() {
        let text = |mean: f64, sd| {
            let s = TimeScale::of(mean, sd, None);
            format!("{} {}", s.value(mean).unwrap(), s.unit)
        };
        assert_eq!(text(812.4321e6, Some(3.12e6)), "812.4 ms");
        assert_eq!(text(812.4321e6, Some(0.0312e6)), "812.432 ms");
        assert_eq!(text(812.4321e6, Some(310e6)), "812 ms");
        assert_eq!(text(1.234_567e9, Some(0.000_996e9)), "1.2346 s");
        assert_eq!(text(1.234_567e9, None), "1.23 s");
        assert_eq!(text(5.0e6, Some(0.0)), "5.00 ms");
        assert_eq!(text(412.0, Some(0.2)), "412 ns");
        assert_eq!(text(1_234.0, Some(0.1)), "1.234 µs");
    }

    #[test]
    fn a_chosen_unit_keeps_the_digits() {
        let s = TimeScale::of(812.4e3, Some(3.1e3), Some(TimeUnit::Second));
        assert_eq!(s.value(812.4e3).as_deref(), Some("0.0008124"));
    }

    /// The page's own script passes the same cases. There and on a terminal, a minus sign is U+2212.
    #[test]
    fn the_page_writes_the_same() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("../tests/numbers.json")).unwrap();
        let mut seen = 0;
        let mut check = |kind: &str, text: &dyn Fn(f64, usize) -> Option<String>| {
            for case in cases[kind].as_array().unwrap() {
                let case = case.as_array().unwrap();
                let digits = case[1].as_u64().unwrap_or_default() as usize;
                let text = text(case[0].as_f64().unwrap(), digits).map(|t| t.replacen('-', "−", 1));
                assert_eq!(text.as_deref(), case[case.len() - 1].as_str(), "{kind} {case:?}");
                seen += 1;
            }
        };
        check("time", &|ns, _| time(ns, None, true));
        check("percent", &|share, _| percent(share));
        check("fixed", &fixed);
        check("digits", &|value, digits| fixed(value, decimals_for(value, digits as i32)));
        assert!(seen > 40, "{seen}");
    }

    #[test]
    fn what_is_no_number_is_absent() {
        assert_eq!(fixed(f64::NAN, 2), None);
        assert_eq!(time(f64::INFINITY, None, true), None);
        assert_eq!(percent(f64::NAN), None);
        assert_eq!(fixed(-0.0001, 2).as_deref(), Some("0.00"));
    }

    #[test]
    fn other_figures() {
        assert_eq!(time(12_345_678.0, None, true).as_deref(), Some("12.3 ms"));
        assert_eq!(time(0.0, None, true).as_deref(), Some("0"));
        assert_eq!(time(-2.5e9, None, true).as_deref(), Some("-2.50 s"));
        assert_eq!(percent(0.003_81).as_deref(), Some("0.38 %"));
        assert_eq!(percent(0.123).as_deref(), Some("12 %"));
        assert_eq!(percent(0.099_96).as_deref(), Some("10 %"));
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(12_900_000), "12.3 MiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(time_left(200.5e9).as_deref(), Some("3 min 21 s"));
        assert_eq!(time_left(7500e9).as_deref(), Some("2 h 05 min"));
        assert_eq!(time_left(f64::NAN), None);
        assert_eq!(count(3.0).as_deref(), Some("3"));
        assert_eq!(count(3.125).as_deref(), Some("3.1"));
        assert_eq!(count(314.159).as_deref(), Some("314"));
    }
}
