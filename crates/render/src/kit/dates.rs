//! Dates.

/// A point in time since 1970 as text, in UTC.
pub(crate) fn utc(ns: i64) -> String {
    let secs = ns.div_euclid(1_000_000_000);
    let (days, in_day) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    // Days to civil date, in eras of 400 years that begin on 1 March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (in_day / 3_600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
}
