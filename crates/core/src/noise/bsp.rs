//! The measurement of a bulk-synchronous job, and its file: written by the MPI program `mpi/tare-bsp.c`, described in
//! `docs/noise.md`.

use crate::base::units::Nanos;
use serde::Serialize;
use std::io::{BufRead, Read};

/// Every number of the file is below, so that sums of two do not overflow.
const LIMIT: u64 = 1 << 62;
/// Longest line that is read: a name and its value.
const LONGEST: u64 = 4096;

/// A job; all times are ns by CLOCK_MONOTONIC of the rank's node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bsp {
    /// The MPI library, by itself.
    pub mpi: String,
    /// When it began, UTC (`2026-11-21T20:00:00Z`), by rank 0's clock.
    pub created: String,
    /// Wanted length of an undisturbed phase.
    pub grain: Nanos,
    /// Iterations of the loop in it, on all ranks.
    pub iterations: u64,
    /// Timings of the calibration.
    pub calibrations: u64,
    /// Phases of each kind, on each rank.
    pub phases: u64,
    /// By their number; one at least.
    pub ranks: Vec<Rank>,
}

/// What one rank measured: series of equal length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rank {
    /// The node, as the MPI names it.
    pub host: String,
    pub cpu: u32,
    /// On how many CPUs it might run.
    pub allowed: u32,
    /// What an iteration took there by its own calibration, ns.
    pub per_iteration: f64,
    /// What a reading of the clock took, ns; it is in every phase.
    pub overhead: f64,
    /// When each phase of `alone` began.
    #[serde(skip)]
    pub start: Vec<u64>,
    /// Phases back to back on all ranks at once, without a barrier.
    #[serde(skip)]
    pub alone: Vec<u64>,
    /// Phases with a barrier after each: until the rank's own work was done.
    #[serde(skip)]
    pub work: Vec<u64>,
    /// The same until the rank had passed the barrier.
    #[serde(skip)]
    pub whole: Vec<u64>,
    #[serde(skip)]
    pub empty: Vec<u64>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBsp {
    /// The system's error.
    #[error("line {line}: {cause}")]
    Read {
        /// Which, from 1.
        line: u64,
        cause: String,
    },
    /// Something else than expected.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Which, from 1.
        line: u64,
        /// What it should be.
        expected: String,
        /// What it is, its beginning.
        found: String,
    },
    /// The job did not finish, or the file was truncated.
    #[error("line {line}: the file is incomplete, expected {expected}: it was truncated, or the job did not finish")]
    Ends {
        /// The first that is missing, from 1.
        line: u64,
        /// What it should be.
        expected: String,
    },
}

struct BspLines<R> {
    from: R,
    number: u64,
    line: String,
}

impl<R: BufRead> BspLines<R> {
    /// The next line; `None` after the last.
    fn next(&mut self) -> Result<Option<&str>, BadBsp> {
        self.number += 1;
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let read = self.from.by_ref().take(LONGEST).read_until(b'\n', &mut bytes);
        let n = read.map_err(|e| BadBsp::Read { line: self.number, cause: e.to_string() })?;
        self.line = String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Ok((n > 0).then(|| self.line.trim_end_matches(['\n', '\r'])))
    }

    fn expected(&self, what: impl Into<String>) -> BadBsp {
        let found = self.line.trim_end().chars().take(40).collect();
        BadBsp::Line { line: self.number, expected: what.into(), found }
    }

    /// The text after `key` and a space.
    fn text(&mut self, key: &str, what: &str) -> Result<String, BadBsp> {
        let value = match self.next()? {
            None => {
                return Err(BadBsp::Ends { line: self.number, expected: format!("`{key}` and {what}") });
            }
            Some(line) => line.strip_prefix(key).and_then(|v| v.strip_prefix(' ')).map(str::to_owned),
        };
        value.filter(|v| !v.is_empty()).ok_or_else(|| self.expected(format!("`{key}` and {what}")))
    }

    fn exactly(&mut self, wanted: &str) -> Result<(), BadBsp> {
        match self.next()? {
            Some(line) if line == wanted => Ok(()),
            Some(_) => Err(self.expected(format!("`{wanted}`"))),
            None => Err(BadBsp::Ends { line: self.number, expected: format!("`{wanted}`") }),
        }
    }

    fn number(&mut self, key: &str, least: u64, most: u64) -> Result<u64, BadBsp> {
        let what = format!("a whole number from {least} to {most}");
        let value = self.text(key, &what)?.parse().ok().filter(|n| (least..=most).contains(n));
        value.ok_or_else(|| self.expected(format!("`{key}` and {what}")))
    }

    fn decimal(&mut self, key: &str) -> Result<f64, BadBsp> {
        let what = "a number of nanoseconds";
        let value = self.text(key, what)?.parse().ok().filter(|v| (0.0..1e15).contains(v));
        value.ok_or_else(|| self.expected(format!("`{key}` and {what}")))
    }

    /// The five numbers of a phase.
    fn row(&mut self) -> Result<[u64; 5], BadBsp> {
        const WHAT: &str = "five whole numbers of nanoseconds: start, alone, work, whole, empty";
        let mut row = [0; 5];
        let good = match self.next()? {
            None => return Err(BadBsp::Ends { line: self.number, expected: WHAT.to_owned() }),
            Some(line) => {
                let mut words = line.split_ascii_whitespace();
                let fits = row.iter_mut().all(|place| {
                    let value = words.next().and_then(|w| w.parse().ok()).filter(|v| *v < LIMIT);
                    value.map(|v| *place = v).is_some()
                });
                fits && words.next().is_none()
            }
        };
        if good { Ok(row) } else { Err(self.expected(WHAT)) }
    }
}

/// Reads such a file. Memory grows with what is read, not with the numbers that the file states.
///
/// # Errors
/// [`BadBsp`], which names the line.
pub fn read(from: impl BufRead) -> Result<Bsp, BadBsp> {
    let mut lines = BspLines { from, number: 0, line: String::new() };
    lines.exactly("tare-bsp 1")?;
    let mpi = lines.text("mpi", "the name of a library")?;
    let created = lines.text("created", "a time")?;
    lines.exactly("clock CLOCK_MONOTONIC")?;
    lines.exactly("unit ns")?;
    let grain = Nanos(i64::try_from(lines.number("grain", 1, LIMIT - 1)?).unwrap_or(i64::MAX));
    let iterations = lines.number("iterations", 1, u64::MAX)?;
    let calibrations = lines.number("calibrations", 1, u64::MAX)?;
    let phases = lines.number("phases", 1, u64::MAX)?;
    let number = lines.number("ranks", 1, u64::MAX)?;
    let mut ranks = Vec::new();
    for r in 0..number {
        ranks.push(rank(&mut lines, r, phases)?);
    }
    lines.exactly("end")?;
    match lines.next()? {
        None => Ok(Bsp { mpi, created, grain, iterations, calibrations, phases, ranks }),
        Some(_) => Err(lines.expected("nothing after `end`")),
    }
}

fn rank<R: BufRead>(lines: &mut BspLines<R>, number: u64, phases: u64) -> Result<Rank, BadBsp> {
    lines.exactly(&format!("rank {number}"))?;
    let host = lines.text("host", "the name of a node")?;
    let cpus = u64::from(u32::MAX);
    let cpu = u32::try_from(lines.number("cpu", 0, cpus)?).unwrap_or(u32::MAX);
    let allowed = u32::try_from(lines.number("allowed", 1, cpus)?).unwrap_or(u32::MAX);
    let per_iteration = lines.decimal("per_iteration")?;
    let overhead = lines.decimal("overhead")?;
    lines.exactly("rows start alone work whole empty")?;
    let mut rank = Rank {
        host,
        cpu,
        allowed,
        per_iteration,
        overhead,
        start: Vec::new(),
        alone: Vec::new(),
        work: Vec::new(),
        whole: Vec::new(),
        empty: Vec::new(),
    };
    let mut before = 0;
    for _ in 0..phases {
        let [start, alone, work, whole, empty] = lines.row()?;
        if start < before {
            return Err(lines.expected(format!("a start at {before} or later, the end of the phase before")));
        }
        if whole < work {
            return Err(lines.expected("a whole phase at least as long as its work"));
        }
        before = start + alone;
        rank.start.push(start);
        rank.alone.push(alone);
        rank.work.push(work);
        rank.whole.push(whole);
        rank.empty.push(empty);
    }
    Ok(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "tare-bsp 1
mpi Open MPI v4.1.4
created 2026-11-21T20:00:00Z
clock CLOCK_MONOTONIC
unit ns
grain 1000
iterations 2500
calibrations 100
phases 2
ranks 2
rank 0
host a
cpu 0
allowed 1
per_iteration 0.400000
overhead 20.5
rows start alone work whole empty
100 1000 1001 1500 300
1100 1002 1003 1600 301
rank 1
host b
cpu 7
allowed 2
per_iteration 0.41
overhead 0
rows start alone work whole empty
5 1010 1011 1011 0
1100 1012 1013 1610 311
end
";

    fn of(text: &str) -> Result<Bsp, BadBsp> {
        read(text.as_bytes())
    }

    #[test]
    fn all_of_it_is_read() {
        let b = of(GOOD).unwrap();
        assert_eq!((b.mpi.as_str(), b.created.as_str()), ("Open MPI v4.1.4", "2026-11-21T20:00:00Z"));
        assert_eq!((b.grain, b.iterations, b.calibrations, b.phases), (Nanos(1000), 2500, 100, 2));
        let [a, c] = b.ranks.as_slice() else { panic!("{}", b.ranks.len()) };
        assert_eq!((a.host.as_str(), a.cpu, a.allowed, a.per_iteration, a.overhead), ("a", 0, 1, 0.4, 20.5));
        assert_eq!((c.host.as_str(), c.cpu, c.allowed, c.per_iteration, c.overhead), ("b", 7, 2, 0.41, 0.0));
        assert_eq!((&a.start[..], &a.alone[..], &a.work[..]), (&[100, 1100][..], &[1000, 1002][..], &[1001, 1003][..]));
        assert_eq!((&a.whole[..], &a.empty[..], &c.work[..]), (&[1500, 1600][..], &[300, 301][..], &[1011, 1013][..]));
        // As an editor of another system leaves it.
        assert_eq!(of(&GOOD.replace('\n', "\r\n")), Ok(b));
    }

    /// The error of the file in which `from` is `to`.
    fn damaged(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        of(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn damage_is_told_with_its_line() {
        for (from, to, line, says) in [
            ("tare-bsp 1", "tare-bsp 2", 1, "expected `tare-bsp 1`, found `tare-bsp 2`"),
            ("tare-bsp 1", "{\"format\":1}", 1, "expected `tare-bsp 1`, found `{\"format\":1}`"),
            ("unit ns", "unit cycles", 5, "`unit ns`"),
            ("grain 1000", "grain 0", 6, "a whole number from 1"),
            ("grain 1000", "grain", 6, "`grain` and a whole number"),
            ("phases 2", "phases 3", 20, "five whole numbers"),
            ("phases 2", "phases 1", 19, "`rank 1`"),
            ("ranks 2", "ranks 3", 29, "`rank 2`"),
            ("ranks 2", "ranks 1", 20, "`end`"),
            ("rank 1", "rank 2", 20, "`rank 1`, found `rank 2`"),
            ("0.400000", "nan", 15, "a number of nanoseconds"),
            ("0.400000", "-1", 15, "a number of nanoseconds"),
            ("1001 1500 300", "1001 1500", 18, "five whole numbers"),
            ("1001 1500 300", "1001 1500 300 4", 18, "five whole numbers"),
            ("1001 1500 300", "1001 1500 -300", 18, "five whole numbers"),
            ("1001 1500 300", "1001 1500 9223372036854775807", 18, "five whole numbers"),
            ("1001 1500 300", "1001 1000 300", 18, "at least as long as its work"),
            ("1100 1002", "1099 1002", 19, "a start at 1100 or later"),
            ("end\n", "", 29, "the file is incomplete, expected `end`"),
            ("end\n", "end\nmore\n", 30, "nothing after `end`"),
        ] {
            let said = damaged(from, to);
            assert!(said.starts_with(&format!("line {line}: ")) && said.contains(says), "{from} {to}: {said}");
        }
        assert!(of("").unwrap_err().to_string().starts_with("line 1: the file is incomplete"));
        // What is shown of a line is short, however long it is; and a file of zeros is no reason to read all of it.
        assert!(of(&"x".repeat(100_000)).unwrap_err().to_string().len() < 100);
        assert!(read(std::io::BufReader::new(std::io::repeat(0).take(1 << 40))).is_err());
    }

    proptest! {
        /// Cut anywhere, it is refused with the number of the line that is missing or incomplete.
        #[test]
        fn a_file_that_was_cut_is_refused(at in 0..GOOD.len() - 1) {
            let line = GOOD[..at].matches('\n').count() as u64 + 1;
            match of(&GOOD[..at]) {
                Err(BadBsp::Ends { line: told, .. } | BadBsp::Line { line: told, .. }) => {
                    // A line whose value was only shortened may be right; then what follows is missing.
                    prop_assert!(told == line || told == line + 1, "{told} {line}");
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0..GOOD.len()) {
            let mut all = GOOD.as_bytes()[..at].to_vec();
            all.extend(bytes);
            let _ = read(all.as_slice());
        }
    }
}
