//! When an agent starts tasks: hours of the day, and the load of the machine.

use crate::work::campaign_values::parse_clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;
use std::str::FromStr;
use tarebench_core::base::units::Nanos;

/// Hours of the day, in local time; they may span midnight. The end is not in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentHours {
    from: (u8, u8),
    to: (u8, u8),
}

impl FromStr for AgentHours {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<AgentHours, &'static str> {
        let expected = "expected hours such as 20:00-06:00";
        let (from, to) = text.split_once('-').ok_or(expected)?;
        let clock = |text: &str| parse_clock(text.trim()).map_err(|_| expected);
        let hours = AgentHours { from: clock(from)?, to: clock(to)? };
        if hours.from == hours.to {
            Err("expected hours with two different times, such as 20:00-06:00")
        } else {
            Ok(hours)
        }
    }
}

impl fmt::Display for AgentHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AgentHours { from: (a, b), to: (c, d) } = self;
        write!(f, "{a:02}:{b:02}-{c:02}:{d:02}")
    }
}

impl AgentHours {
    /// Whether this time of day is in them.
    pub fn contain(&self, time: (u8, u8)) -> bool {
        if self.from < self.to { self.from <= time && time < self.to } else { self.from <= time || time < self.to }
    }
}

/// Hour and minute of a time since 1970.
pub fn time_of_day(now: Nanos, zone: &TimeZone) -> (u8, u8) {
    let time = zone.to_datetime(timestamp(now)).time();
    let part = |n: i8| u8::try_from(n).unwrap_or_default();
    (part(time.hour()), part(time.minute()))
}

/// Start of the local day that a time since 1970 is in.
pub fn local_midnight(now: Nanos, zone: &TimeZone) -> Nanos {
    let start = timestamp(now).to_zoned(zone.clone()).start_of_day();
    start.map_or(now, |day| Nanos(i64::try_from(day.timestamp().as_nanosecond()).unwrap_or(now.0)))
}

fn timestamp(t: Nanos) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(t.0)).unwrap_or_default()
}

/// A time since 1970 in local time, as sbatch's `--begin` takes it.
pub(crate) fn begin_time(t: Nanos, zone: &TimeZone) -> String {
    let t = zone.to_datetime(timestamp(t));
    let (h, m, s) = (t.hour(), t.minute(), t.second());
    format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}", t.year(), t.month(), t.day())
}

/// Load average of the last minute, in runnable tasks, from the text of /proc/loadavg.
pub(crate) fn load_average(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_span_midnight() {
        let night: AgentHours = "20:00-06:00".parse().unwrap();
        assert_eq!(night.to_string(), "20:00-06:00");
        let inside = [(20, 0), (23, 59), (0, 0), (5, 59), (6, 0), (12, 0), (19, 59)].map(|t| night.contain(t));
        assert_eq!(inside, [true, true, true, true, false, false, false]);
        let day: AgentHours = "08:30-17:00".parse().unwrap();
        assert_eq!([(8, 29), (8, 30), (16, 59), (17, 0)].map(|t| day.contain(t)), [false, true, true, false]);
        for bad in ["", "20:00", "20:00-20:00", "24:00-06:00", "a-b", "20:00-06:00-07:00"] {
            assert!(bad.parse::<AgentHours>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_of_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        // 1970-01-02 23:30 UTC.
        let now = Nanos((86_400 + 23 * 3_600 + 1_800) * 1_000_000_000);
        assert_eq!(time_of_day(now, &zone), (1, 30));
        assert_eq!(local_midnight(now, &zone), Nanos((2 * 86_400 - 2 * 3_600) * 1_000_000_000));
        assert_eq!(begin_time(now, &zone), "1970-01-03T01:30:00");
    }

    #[test]
    fn the_load_is_the_first_number() {
        assert_eq!(load_average("0.52 0.58 0.59 1/977 31279\n"), Some(0.52));
        assert_eq!([load_average(""), load_average("nan 1 2"), load_average("x")], [None; 3]);
    }
}
