//! Dates as text, in one form for all output.

use crate::base::units::Nanos;
pub use jiff::tz::TimeZone;

/// A time since 1970 as `2026-11-21 20:01:33 +01:00`: local time of a zone, with its offset from UTC.
pub fn date(at: Nanos, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_nanosecond(at.0.into()).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// The first moment of a day such as `2026-11-21` in a zone, since 1970; `None` if the text is no such day.
pub fn midnight(day: &str, zone: &TimeZone) -> Option<Nanos> {
    // Times and other forms of dates could be meant otherwise than they are read.
    let day: jiff::civil::Date = day.parse().ok().filter(|_| day.len() == "2026-11-21".len())?;
    let first = day.to_zoned(zone.clone()).ok()?.timestamp().as_nanosecond();
    i64::try_from(first).ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(seconds: i64) -> String {
        date(Nanos(seconds * 1_000_000_000), &TimeZone::UTC)
    }

    #[test]
    fn dates_have_their_offset() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 +00:00");
        assert_eq!(utc(1_709_210_096), "2024-02-29 12:34:56 +00:00");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 +00:00");
        let india = TimeZone::fixed(jiff::tz::offset(5).saturating_add(jiff::Span::new().minutes(30)));
        assert_eq!(date(Nanos(0), &india), "1970-01-01 05:30:00 +05:30");
        assert_eq!(date(Nanos(0), &TimeZone::fixed(jiff::tz::offset(-7))), "1969-12-31 17:00:00 -07:00");
    }

    /// CS:APP practice problem 9.8: a signed count of seconds in 32 bits ends on 2038-01-19; here it does not.
    #[test]
    fn dates_after_32_bits_of_seconds() {
        assert_eq!(utc(1 << 31), "2038-01-19 03:14:08 +00:00");
        assert_eq!(utc(1 << 32), "2106-02-07 06:28:16 +00:00");
        assert!(date(Nanos(i64::MAX), &TimeZone::UTC).starts_with("2262-04-11 23:47:16"));
        assert!(date(Nanos(i64::MIN), &TimeZone::UTC).starts_with("1677-09-21 00:12:4"));
    }

    #[test]
    fn days_begin_at_midnight_of_their_zone() {
        assert_eq!(midnight("1970-01-02", &TimeZone::UTC), Some(Nanos(86_400_000_000_000)));
        let west = TimeZone::fixed(jiff::tz::offset(-7));
        let at = midnight("2024-02-29", &west).unwrap();
        assert_eq!(date(at, &west), "2024-02-29 00:00:00 -07:00");
        for bad in
            ["", "2023-02-29", "2024-2-9", "20240229", "2024-02-29T10:00", "yesterday", "-000001-01", "9999-12-31"]
        {
            assert_eq!(midnight(bad, &TimeZone::UTC), None, "{bad}");
        }
    }
}
