//! Reads the archive of a run piece by piece, so that memory bounds the size of a piece only, not that of the file.

use crate::error::StoreError;
use crate::format::RUN;
use crate::rows::is_uuid;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use tarebench_core::compare::duet::Duet;
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::run::data::Run;
use tarebench_core::sample::data::Sample;

/// Maximum size of a run without its samples, 256 MiB: over 100,000 readings of the machine's factors.
const RUN_LIMIT: u64 = 256 << 20;

/// Maximum size of a sample, or of ten seconds of a recording, 64 MiB: over 100,000 daemons.
const PIECE_LIMIT: u64 = 64 << 20;

/// A part of an archive, in the order in which they are given: the run comes first.
pub(crate) enum RunPiece {
    /// Its notes are as the archive has them; `notes_of` gives the typed ones.
    Run(Box<Run>),
    Sample(Box<Sample>),
    Duet(Box<Duet>),
    Chunk(RecordingChunk),
}

/// Reads an archive and checks its pieces; gives each of them to `take`, whose first error ends the reading. Returns its version.
/// That two samples have the same number is for `take` to find.
pub(crate) fn stream_run<E: From<StoreError>>(
    reader: &mut dyn Read,
    take: &mut dyn FnMut(RunPiece) -> Result<(), E>,
) -> Result<u32, E> {
    let beginning = RUN.beginning(reader)?;
    let allowance = Allowance { piece: Cell::new(PIECE_LIMIT), file: Cell::new(RUN.limit), passed: Cell::new(None) };
    let metered = MeteredReader { inner: BufReader::new(beginning.as_slice().chain(reader)), allowance: &allowance };
    let mut json = serde_json::Deserializer::from_reader(metered);
    let mut refused = None;
    let visitor = RunVisitor { allowance: &allowance, take, refused: &mut refused };
    let read = json.deserialize_map(visitor).and_then(|version| json.end().map(|()| version));
    let e = match read {
        Ok(version) => return Ok(version),
        Err(e) => e,
    };
    Err(match (refused, allowance.passed.get()) {
        (Some(refused), _) => refused,
        (None, Some(limit)) => limit.error().into(),
        (None, None) if e.is_io() => RUN.bad(format!("cannot be read: {e}")).into(),
        (None, None) => RUN.json(&e).into(),
    })
}

/// A limit that was passed.
#[derive(Clone, Copy)]
enum PassedLimit {
    Piece,
    File,
}

impl PassedLimit {
    fn error(self) -> StoreError {
        match self {
            PassedLimit::Piece => RUN.bad("one of its parts, as the run or a sample, is longer than allowed"),
            PassedLimit::File => RUN.too_long(),
        }
    }
}

/// How many more bytes may be read, of the current piece and of the file.
struct Allowance {
    piece: Cell<u64>,
    file: Cell<u64>,
    passed: Cell<Option<PassedLimit>>,
}

impl Allowance {
    fn spend(&self, bytes: u64) -> io::Result<()> {
        for (left, limit) in [(&self.piece, PassedLimit::Piece), (&self.file, PassedLimit::File)] {
            let Some(less) = left.get().checked_sub(bytes) else {
                self.passed.set(Some(limit));
                return Err(io::Error::other("too long"));
            };
            left.set(less);
        }
        Ok(())
    }
}

/// The JSON reader takes single bytes, so that the count is exact.
struct MeteredReader<'a, R> {
    inner: BufReader<R>,
    allowance: &'a Allowance,
}

impl<R: Read> Read for MeteredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.allowance.spend(n as u64)?;
        Ok(n)
    }
}

/// The reading was ended; why is in [`RunVisitor::refused`], because the JSON reader cannot carry it.
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

struct RunVisitor<'a, E> {
    allowance: &'a Allowance,
    take: &'a mut dyn FnMut(RunPiece) -> Result<(), E>,
    /// Why it was ended, if not by the JSON reader.
    refused: &'a mut Option<E>,
}

impl<E: From<StoreError>> RunVisitor<'_, E> {
    fn refuse(&mut self, why: impl Into<E>) -> Refused {
        *self.refused = Some(why.into());
        Refused
    }

    fn give(&mut self, piece: RunPiece) -> Result<(), Refused> {
        (self.take)(piece).map_err(|e| self.refuse(e))
    }

    fn run(&mut self, run: Run) -> Result<(), Refused> {
        if !is_uuid(&run.uuid) {
            let cause = format!("its uuid is {:?}, expected 32 hex digits in lower case", run.uuid);
            return Err(self.refuse(RUN.bad(cause)));
        }
        self.give(RunPiece::Run(Box::new(run)))
    }

    fn sample(&mut self, sample: Sample, programs: usize) -> Result<(), Refused> {
        if usize::try_from(sample.series).is_ok_and(|s| s >= programs) {
            let Sample { seq, series, .. } = sample;
            let cause = format!("sample {seq} is of series {series}, but there are {programs} programs");
            return Err(self.refuse(RUN.bad(cause)));
        }
        self.give(RunPiece::Sample(Box::new(sample)))
    }

    fn duet(&mut self, duet: Duet, programs: usize) -> Result<(), Refused> {
        let out = |series: u32| usize::try_from(series).is_ok_and(|s| s >= programs);
        if let Some(side) = duet.sides.iter().find(|s| out(s.series)) {
            let cause = format!("duet {} is of series {}, but there are {programs} programs", duet.seq, side.series);
            return Err(self.refuse(RUN.bad(cause)));
        }
        self.give(RunPiece::Duet(Box::new(duet)))
    }

    fn chunk(&mut self, chunk: RecordingChunk) -> Result<(), Refused> {
        let out = |task: u32| usize::try_from(task).is_ok_and(|t| t >= chunk.tasks.len());
        if let Some((task, _)) = chunk.slices.iter().flat_map(|s| &s.ran).find(|(t, _)| out(*t)) {
            let cause = format!("the recording names process {task} of {}", chunk.tasks.len());
            return Err(self.refuse(RUN.bad(cause)));
        }
        self.give(RunPiece::Chunk(chunk))
    }
}

impl<'de, E: From<StoreError>> Visitor<'de> for RunVisitor<'_, E> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<u32, A::Error> {
        let (mut format, mut version, mut programs) = (None, None, None);
        let (mut samples, mut duets, mut recording) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            self.allowance.piece.set(PIECE_LIMIT);
            match (key.as_str(), programs) {
                ("format", _) => {
                    let found: String = once("format", &mut format, map.next_value()?)?;
                    RUN.check_format(&found).map_err(|e| A::Error::custom(self.refuse(e)))?;
                }
                ("version", _) => {
                    let found: u64 = once("version", &mut version, map.next_value()?)?;
                    RUN.check_version(found).map_err(|e| A::Error::custom(self.refuse(e)))?;
                }
                ("run", _) => {
                    self.allowance.piece.set(RUN_LIMIT);
                    let run: Run = map.next_value()?;
                    once("run", &mut programs, run.plan.programs.len())?;
                    self.run(run).map_err(A::Error::custom)?;
                }
                ("samples", Some(programs)) => {
                    once("samples", &mut samples, ())?;
                    let allowance = self.allowance;
                    map.next_value_seed(Elements::new(allowance, |sample| self.sample(sample, programs)))?;
                }
                ("duets", Some(programs)) => {
                    once("duets", &mut duets, ())?;
                    let allowance = self.allowance;
                    map.next_value_seed(Elements::new(allowance, |duet| self.duet(duet, programs)))?;
                }
                ("recording", Some(_)) => {
                    once("recording", &mut recording, ())?;
                    let allowance = self.allowance;
                    map.next_value_seed(Elements::new(allowance, |chunk| self.chunk(chunk)))?;
                }
                ("samples" | "duets" | "recording", None) => {
                    return Err(A::Error::custom(format!("its {key} come before its run, expected them after it")));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            self.allowance.piece.set(PIECE_LIMIT);
        }
        format.ok_or_else(|| A::Error::missing_field("format"))?;
        programs.ok_or_else(|| A::Error::missing_field("run"))?;
        samples.ok_or_else(|| A::Error::missing_field("samples"))?;
        let version = version.ok_or_else(|| A::Error::missing_field("version"))?;
        u32::try_from(version).map_err(A::Error::custom)
    }
}

/// Keeps the value of a member that may stand only once.
fn once<T: Clone, J: serde::de::Error>(name: &'static str, place: &mut Option<T>, value: T) -> Result<T, J> {
    match place.replace(value.clone()) {
        None => Ok(value),
        Some(_) => Err(J::duplicate_field(name)),
    }
}

/// A list whose elements are given on one by one.
struct Elements<'a, T, F> {
    allowance: &'a Allowance,
    give: F,
    element: PhantomData<T>,
}

impl<'a, T, F> Elements<'a, T, F> {
    fn new(allowance: &'a Allowance, give: F) -> Elements<'a, T, F> {
        Elements { allowance, give, element: PhantomData }
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> Result<(), Refused>> DeserializeSeed<'de> for Elements<'_, T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> Result<(), Refused>> Visitor<'de> for Elements<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.allowance.piece.set(PIECE_LIMIT);
        while let Some(element) = list.next_element()? {
            (self.give)(element).map_err(A::Error::custom)?;
            self.allowance.piece.set(PIECE_LIMIT);
        }
        Ok(())
    }
}
