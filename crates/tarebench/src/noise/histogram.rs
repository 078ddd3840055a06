//! The HDR histogram of the phases' excess over the calibrated length, in the common format (V2) of other programs.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use std::fmt::Write;

/// Significant digits.
const DIGITS: u8 = 3;

/// Of the excess over `undisturbed`; shorter phases count as 0.
pub(crate) fn of(durations: &[u64], undisturbed: u64) -> Histogram<u64> {
    // It grows with its values; three digits are always accepted.
    let mut histogram = Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("three digits are accepted"));
    for d in durations {
        let excess = d.saturating_sub(undisturbed);
        // It grows by itself, but not over half of the numbers; the last of these then stands for more.
        if histogram.record(excess).is_err() {
            histogram.saturating_record(excess);
        }
    }
    histogram
}

pub(crate) fn bytes(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = V2Serializer::new().serialize(histogram, &mut out);
    out
}

/// The first bytes of the common format, version 2, not compressed.
const COOKIE: u32 = 0x1c84_9303 | 0x10;

/// Length of its header: cookie, length of the counts, offset, digits (4 bytes each), lowest and highest value, ratio (8 each).
const HEADER: usize = 40;

/// Checks a header as [`bytes`] writes it: the library takes as much memory as the header says.
fn check_header(bytes: &[u8]) -> Result<(), String> {
    let header = bytes.get(..HEADER).ok_or_else(|| format!("a histogram of {} bytes", bytes.len()))?;
    let word = |at: usize| header.iter().skip(at).take(4).fold(0, |value: u64, b| value << 8 | u64::from(*b));
    let long = |at: usize| word(at) << 32 | word(at + 4);
    let counts = (bytes.len() - HEADER) as u64;
    let expected = [
        ("begin", word(0), u64::from(COOKIE)),
        ("length", word(4), counts),
        ("offset", word(8), 0),
        ("number of digits", word(12), u64::from(DIGITS)),
        ("lowest value", long(16), 1),
        ("ratio", long(32), 1.0_f64.to_bits()),
    ];
    match expected.into_iter().find(|(_, found, expected)| found != expected) {
        Some((what, found, expected)) => {
            Err(format!("a damaged histogram: its {what} is {found:#x}, expected {expected:#x}"))
        }
        None => Ok(()),
    }
}

/// Refuses counts with which the library's sums overflow: -2^63 as a number of empty places, which it negates, and counts of more than
/// 2^63 in all. Numbers have 7 bits a byte, lowest first, with the highest bit set in all bytes but the last; the ninth byte is always
/// the last, and has 8. Even ones are twice a count, odd ones stand for empty places.
fn check_counts(mut counts: &[u8]) -> Result<(), String> {
    let mut total: u64 = 0;
    while let Some(last) = counts.iter().take(8).position(|b| *b < 0x80).or(counts.len().checked_sub(1)) {
        let (number, rest) = counts.split_at(last.min(8) + 1);
        let bits = |(i, b): (usize, &u8)| u64::from(if i < 8 { b & 0x7f } else { *b }) << (7 * i);
        let value: u64 = number.iter().enumerate().map(bits).fold(0, |all, b| all | b);
        if value == u64::MAX {
            return Err("a damaged histogram: it has 2^63 empty places".to_owned());
        }
        if value.is_multiple_of(2) {
            total = total.saturating_add(value / 2);
        }
        counts = rest;
    }
    if total > i64::MAX as u64 {
        Err("a damaged histogram: it counts more than 2^63 phases".to_owned())
    } else {
        Ok(())
    }
}

/// Reads a histogram as it is stored with a measurement.
///
/// # Errors
/// What is wrong with it. Its header is checked first: no more memory is taken than the bytes need.
pub fn read(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    check_header(bytes)?;
    check_counts(bytes.get(HEADER..).unwrap_or_default())?;
    let bad = |e: hdrhistogram::serialization::DeserializeError| format!("a damaged histogram: {e:?}");
    Deserializer::new().deserialize(&mut std::io::Cursor::new(bytes)).map_err(bad)
}

/// Percentiles, in the columns that HdrHistogram's own plotter reads; values times `unit` in ns.
pub fn lines(histogram: &Histogram<u64>, unit: f64) -> String {
    let mut out = format!("{:>14} {:>16} {:>12} {:>16}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut count = 0;
    for v in histogram.iter_quantiles(5) {
        count += v.count_since_last_iteration();
        let quantile = v.quantile_iterated_to();
        let value = v.value_iterated_to() as f64 * unit;
        // Writing to a String cannot fail.
        let _ = write!(out, "{value:>14.3} {quantile:>16.12} {count:>12}");
        let _ = if quantile < 1.0 { writeln!(out, " {:>16.2}", 1.0 / (1.0 - quantile)) } else { writeln!(out) };
    }
    let (mean, deviation) = (histogram.mean() * unit, histogram.stdev() * unit);
    let _ = writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let (max, total) = (histogram.max() as f64 * unit, histogram.len());
    let _ = writeln!(out, "#[Max     = {max:>12.3}, Total count    = {total:>12}]");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_three_digits_and_every_phase() {
        let durations: Vec<u64> = (0..10_000).map(|i| if i % 1000 == 7 { 1_234_567 } else { 990 + i % 20 }).collect();
        let h = of(&durations, 1_000);
        assert_eq!((h.len(), h.value_at_quantile(0.25), h.sigfig()), (10_000, 0, 3));
        let largest = h.max();
        assert!((largest as f64 / 1_233_567.0 - 1.0).abs() < 1e-3, "{largest}");
        assert_eq!(read(&bytes(&h)).unwrap(), h);
        assert!(read(&bytes(&h)[..20]).is_err() && read(b"").is_err());
        let text = lines(&h, 0.5);
        assert!(text.contains("Total count    =        10000"), "{text}");
        // Ten of ten thousand.
        let slow = text.lines().filter(|l| l.trim_start().starts_with("616")).count();
        assert!(slow >= 1, "{text}");
    }

    /// Found by fuzzing: the library panics where sums are checked.
    #[test]
    fn a_number_that_cannot_be_negated_is_refused() {
        let mut damaged = bytes(&of(&[1, 2, 3], 0));
        damaged.truncate(HEADER);
        // The numbers 8 and 8, the lowest number, and 1.
        damaged.extend([&[0x10, 0x10][..], &[0xff; 9], &[2]].concat());
        let length = u32::try_from(damaged.len() - HEADER).unwrap();
        damaged[4..8].copy_from_slice(&length.to_be_bytes());
        assert_eq!(read(&damaged).unwrap_err(), "a damaged histogram: it has 2^63 empty places");
        // One less is only too many.
        damaged[HEADER + 2] = 0xfd;
        assert!(read(&damaged).unwrap_err().contains("a damaged histogram"));
        for cut in [&[0xff; 9][..8], &[0xff; 3], &[0x80; 8], &[]] {
            assert!(check_counts(cut).is_ok());
        }
        assert!(check_counts(&[0xff; 9]).is_err());
        // Two counts of 2^62 are one more than what fits.
        let half = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
        assert!(check_counts(&half).is_ok());
        assert!(check_counts(&[half, half].concat()).unwrap_err().contains("more than 2^63"));
    }

    /// Set for the process that [`no_header_takes_much_memory`] starts.
    const CHILD: &str = "TARE_HISTOGRAM_TEST_CHILD";

    /// With each bit of the header changed, in a process that can have 1 GiB of memory.
    #[test]
    fn no_header_takes_much_memory() {
        if std::env::var_os(CHILD).is_some() {
            let good = bytes(&of(&[1, 5, 1_000_000], 0));
            for bit in 0..8 * HEADER {
                let mut changed = good.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                if let Ok(h) = read(&changed) {
                    assert_eq!(h.len(), 3, "bit {bit}");
                    assert!(!lines(&h, 1.0).is_empty());
                }
            }
            // Compressed, which tare does not write.
            let mut compressed = good.clone();
            compressed[3] += 1;
            assert!(read(&compressed).is_err());
            return;
        }
        let out = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 1048576; exec \"$0\" --exact noise::histogram::tests::no_header_takes_much_memory"])
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.contains("1 passed"), "{}: {said}", out.status);
    }

    #[test]
    fn longest_and_shortest_are_kept() {
        let h = of(&[0, 1 << 60, u64::MAX], 5);
        assert_eq!((h.len(), h.min()), (3, 0));
        assert!(h.max() >= 1 << 60, "{}", h.max());
    }
}
