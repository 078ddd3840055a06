//! Durations and events as bytes, exactly.
//!
//! Durations are kept as what they are over the shortest, in as many groups of seven bits as they need (LEB128): two
//! bytes below 16,384 units of the counter, some microseconds, and never more than four below 268 million, about a tenth of a
//! second. A general compressor would save less than its library weighs: the lower bits, which most of this is, are noise.

use crate::base::units::Nanos;
use crate::trace::timeline::{CpuEvent, CpuOccupant, Stolen};
use std::collections::HashMap;

/// First byte of durations, of events, and of what a hypervisor took.
const DURATIONS: u8 = 1;
const EVENTS: u8 = 2;
const STOLEN: u8 = 3;

/// Bytes that are no durations, or no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBlob {
    #[error("the first byte is {found:?}, expected {expected}")]
    Format {
        /// The byte, if there is one.
        found: Option<u8>,
        expected: u8,
    },
    /// It ends within a number, or has fewer numbers than it says.
    #[error("it ends early")]
    Short,
    /// A number has more than 64 bits.
    #[error("a number has more than 64 bits")]
    Number,
    /// There is more behind the end.
    #[error("it has {0} bytes too many at its end")]
    Left(usize),
    /// An event is of nothing that is named.
    #[error("event number {0} has no name")]
    Unnamed(u64),
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign become small ones.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

struct BlobReader<'a>(&'a [u8]);

impl<'a> BlobReader<'a> {
    fn new(bytes: &'a [u8], expected: u8) -> Result<BlobReader<'a>, BadBlob> {
        match bytes.split_first() {
            Some((first, rest)) if *first == expected => Ok(BlobReader(rest)),
            other => Err(BadBlob::Format { found: other.map(|(first, _)| *first), expected }),
        }
    }

    fn next(&mut self) -> Result<u64, BadBlob> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(BadBlob::Short)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(BadBlob::Number);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(BadBlob::Number)
    }

    fn signed(&mut self) -> Result<i64, BadBlob> {
        let value = self.next()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// How many items follow, of at least `bytes` bytes each.
    fn count(&mut self, bytes: usize) -> Result<usize, BadBlob> {
        let count = usize::try_from(self.next()?).map_err(|_| BadBlob::Short)?;
        if count > self.0.len() / bytes { Err(BadBlob::Short) } else { Ok(count) }
    }

    fn end(self) -> Result<(), BadBlob> {
        if self.0.is_empty() { Ok(()) } else { Err(BadBlob::Left(self.0.len())) }
    }
}

/// Durations, or other numbers that are about alike, as bytes.
pub fn durations(all: &[u64]) -> Vec<u8> {
    let least = all.iter().copied().min().unwrap_or(0);
    let mut out = Vec::with_capacity(all.len() * 2 + 16);
    out.push(DURATIONS);
    put(&mut out, least);
    put(&mut out, all.len() as u64);
    all.iter().for_each(|d| put(&mut out, d - least));
    out
}

/// Reads what [`durations`] made.
pub fn read_durations(bytes: &[u8]) -> Result<Vec<u64>, BadBlob> {
    let mut reader = BlobReader::new(bytes, DURATIONS)?;
    let least = reader.next()?;
    let count = reader.count(1)?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(least.checked_add(reader.next()?).ok_or(BadBlob::Number)?);
    }
    reader.end()?;
    Ok(all)
}

/// Events as what they are of, each once, and bytes.
pub fn events(all: &[CpuEvent]) -> (Vec<CpuOccupant>, Vec<u8>) {
    let mut numbers: HashMap<&CpuOccupant, u64> = HashMap::new();
    let mut whats = Vec::new();
    let mut out = vec![EVENTS];
    put(&mut out, all.len() as u64);
    let mut last = Nanos::ZERO;
    for e in all {
        let number = *numbers.entry(&e.what).or_insert_with(|| {
            whats.push(e.what.clone());
            whats.len() as u64 - 1
        });
        put(&mut out, number << 1 | u64::from(e.complete));
        put_signed(&mut out, e.start.0.wrapping_sub(last.0));
        put_signed(&mut out, e.end.0.wrapping_sub(e.start.0));
        put_signed(&mut out, e.own.0);
        last = e.start;
    }
    (whats, out)
}

/// Reads what [`events`] made.
pub fn read_events(whats: &[CpuOccupant], bytes: &[u8]) -> Result<Vec<CpuEvent>, BadBlob> {
    let mut reader = BlobReader::new(bytes, EVENTS)?;
    let count = reader.count(4)?;
    let mut all = Vec::with_capacity(count);
    let mut last = 0_i64;
    for _ in 0..count {
        let first = reader.next()?;
        let what = usize::try_from(first >> 1).ok().and_then(|n| whats.get(n)).ok_or(BadBlob::Unnamed(first >> 1))?;
        let start = last.wrapping_add(reader.signed()?);
        let end = start.wrapping_add(reader.signed()?);
        let own = Nanos(reader.signed()?);
        all.push(CpuEvent { what: what.clone(), start: Nanos(start), end: Nanos(end), own, complete: first & 1 == 1 });
        last = start;
    }
    reader.end()?;
    Ok(all)
}

/// What a hypervisor took, as bytes.
pub fn stolen(all: &[Stolen]) -> Vec<u8> {
    let mut out = vec![STOLEN];
    put(&mut out, all.len() as u64);
    let mut last = Nanos::ZERO;
    for s in all {
        put_signed(&mut out, s.from.0.wrapping_sub(last.0));
        put_signed(&mut out, s.until.0.wrapping_sub(s.from.0));
        put_signed(&mut out, s.time.0);
        last = s.from;
    }
    out
}

/// Reads what [`stolen`] made.
pub fn read_stolen(bytes: &[u8]) -> Result<Vec<Stolen>, BadBlob> {
    let mut reader = BlobReader::new(bytes, STOLEN)?;
    let count = reader.count(3)?;
    let mut all = Vec::with_capacity(count);
    let mut last = 0_i64;
    for _ in 0..count {
        let from = last.wrapping_add(reader.signed()?);
        let until = from.wrapping_add(reader.signed()?);
        all.push(Stolen { from: Nanos(from), until: Nanos(until), time: Nanos(reader.signed()?) });
        last = from;
    }
    reader.end()?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_take_few_bytes() {
        // Of a million phases: 4 MB at most, as long as none is a tenth of a second over the shortest.
        let worst: Vec<u64> = (0..1_000).map(|i| 3_000_000 + i % 2 * ((1 << 28) - 1)).collect();
        assert!(durations(&worst).len() <= 4 * worst.len());
        let usual: Vec<u64> = (0..1_000).map(|i| 2_600_000 + i * 16).collect();
        assert!(durations(&usual).len() <= 2 * usual.len() + 16);
        assert_eq!(durations(&[]), [DURATIONS, 0, 0]);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let good = durations(&[5, 700, u64::MAX]);
        assert_eq!(read_durations(&good), Ok(vec![5, 700, u64::MAX]));
        for cut in 1..good.len() {
            assert_eq!(read_durations(&good[..cut]), Err(BadBlob::Short), "{cut}");
        }
        assert_eq!(read_durations(&[]), Err(BadBlob::Format { found: None, expected: DURATIONS }));
        assert_eq!(read_durations(&[good.as_slice(), &[0]].concat()), Err(BadBlob::Left(1)));
        // Claims more than there is room for in any memory.
        let mut many = vec![DURATIONS, 0];
        put(&mut many, u64::MAX);
        assert_eq!(read_durations(&many), Err(BadBlob::Short));
        let over = [&[DURATIONS, 0, 1][..], &[0xff; 10]].concat();
        assert_eq!(read_durations(&over), Err(BadBlob::Number));
        assert_eq!(read_events(&[], &[EVENTS, 1, 0, 0, 0, 0]), Err(BadBlob::Unnamed(0)));
    }

    proptest! {
        #[test]
        fn durations_are_read_back(all in proptest::collection::vec(any::<u64>(), 0..50)) {
            prop_assert_eq!(read_durations(&durations(&all)), Ok(all));
        }

        #[test]
        fn events_are_read_back(
            all in proptest::collection::vec((any::<bool>(), any::<i64>(), any::<i64>(), any::<i64>(), "[ab]"), 0..30)
        ) {
            let event = |(complete, start, end, own, name): (bool, i64, i64, i64, String)| {
                let what = if complete { CpuOccupant::Timer } else { CpuOccupant::Softirq { name } };
                CpuEvent { what, start: Nanos(start), end: Nanos(end), own: Nanos(own), complete }
            };
            let all: Vec<CpuEvent> = all.into_iter().map(event).collect();
            let (whats, bytes) = events(&all);
            prop_assert!(whats.len() <= 3);
            prop_assert_eq!(read_events(&whats, &bytes), Ok(all));
        }

        #[test]
        fn stolen_time_is_read_back(all in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<i64>()), 0..30)) {
            let stolen_between = |(from, until, time)| Stolen { from: Nanos(from), until: Nanos(until), time: Nanos(time) };
            let all: Vec<Stolen> = all.into_iter().map(stolen_between).collect();
            prop_assert_eq!(read_stolen(&stolen(&all)), Ok(all));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = read_durations(&bytes);
            let _ = read_events(&[CpuOccupant::Timer], &bytes);
            let _ = read_stolen(&bytes);
        }
    }
}
